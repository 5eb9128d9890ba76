"""What every widget of the course is built on: data for the browser, saved pages, stills, a state with its table."""
