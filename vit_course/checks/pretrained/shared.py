"""The order of queries, keys and values in a fused matrix, in letters and words: for qkv and block."""

PARTS = {"q": "query", "k": "key", "v": "value"}
