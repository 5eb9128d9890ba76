"""Learners' code in a process of its own, and the objects by which a check sees it from outside.

What crosses, and from where it is believed:
- `learner`: the program of that process; `shell` runs its cells.
- `channel`: messages over a pair of pipes; `serialization`: what a message may hold (numbers, text, tensors).
- `rpc`: calls in both directions; `remote_autograd`: gradients through them; `errors`: exceptions as words.
- `proxies`: what stands for an object of the other side; `modules`: for a network; `copies`: the check's own networks,
  pickled for the learner. Nothing of the learner's is ever unpickled.
"""
