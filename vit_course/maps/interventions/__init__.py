"""Changes of a model while it runs, and what is computed with them: effects, means, caches, lenses, attributions."""
