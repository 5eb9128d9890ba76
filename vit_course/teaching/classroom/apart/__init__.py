"""Runs a learner's code in a separate process, and gives the checks proxies for the objects in it.

The modules:
- `learner`: the program of the learner's process; `shell` runs the notebook's cells there.
- `channel`: messages over a pair of pipes; `serialization`: the message format, a safetensors file with a JSON tree.
- `rpc`: calls in both directions; `remote_autograd`: gradients through these calls; `errors`: exceptions as text.
- `proxies`: proxies for objects of the other process; `modules`: proxies for networks, and copies of the check's own
  networks in the learner's process.
"""
