"""A Transformer that reads sentences: the encoder of the ViT, with words in place of patches."""

import torch
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import shown
from vit_course.embeddings import ClassToken, LearnedPositions
from vit_course.encoder import Encoder

PADDING = 0


class TextTransformer(nn.Module):
    """(B, L) -> (B, D)

    From the indices of words to one vector for each sentence: the output for a class token, as in the ViT. Shorter
    sentences end in padding, which is read like a word (as in SigLIP, arXiv:2303.15343).

    Args:
        words: the vocabulary; index 0 is the padding, index 1 the first of these.
        length: L, the longest sentence in words.
        hidden_dim, num_layers, num_heads, mlp_dim: of the encoder.

    Raises:
        ValueError: an impossible size.

    Source: Radford et al. 2021, "Learning Transferable Visual Models From Natural Language Supervision"
    (arXiv:2103.00020), section 2.4; there the tokens are pieces of words, and the vector is that of the last token.
    """

    def __init__(
        self, words: tuple[str, ...], length: int, hidden_dim: int, num_layers: int, num_heads: int, mlp_dim: int
    ):
        super().__init__()
        check_arguments(num_tokens=length, hidden_dim=hidden_dim)
        self.words, self.length = words, length
        self._index = {word: index for index, word in enumerate(words, PADDING + 1)}
        self.embedding = nn.Embedding(len(words) + 1, hidden_dim)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.class_token = ClassToken(hidden_dim)
        self.positions = LearnedPositions(length + 1, hidden_dim)
        self.encoder = Encoder(num_layers, hidden_dim, num_heads, mlp_dim)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        z = self.positions(self.class_token(self.embedding(tokens)))  # (B, L + 1, D)
        return self.encoder(z)[:, 0]  # (B, D)

    def tokenise(self, sentences: tuple[str, ...] | list[str]) -> torch.Tensor:
        """Returns (B, L) int64: the index of each word, then padding.

        Raises:
            TypeError: not a list or tuple of sentences.
            ValueError: a word that is not in the vocabulary, or more words than the model takes.
        """
        if not isinstance(sentences, (list, tuple)) or not all(isinstance(one, str) for one in sentences):
            raise TypeError(f"sentences must be a list of str, got {shown(sentences)}")
        tokens = torch.full((len(sentences), self.length), PADDING)
        for row, sentence in zip(tokens, sentences, strict=True):
            words = sentence.split()
            if unknown := [word for word in words if word not in self._index]:
                raise ValueError(
                    f"the model was trained without the word {unknown[0]!r}: it knows {', '.join(self.words)}"
                )
            if not 0 < len(words) <= self.length:
                raise ValueError(f"a sentence must have 1 to {self.length} words, got {len(words)}: {shown(sentence)}")
            row[: len(words)] = torch.tensor([self._index[word] for word in words])
        return tokens
