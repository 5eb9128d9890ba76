"""Contrastive learning: each image finds its caption among those of its batch, and each caption its image."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course.data import Dataset
from vit_course.data.captions import WORDS
from vit_course.data.scenes import Scenes
from vit_course.data.sets import ImageSet
from vit_course.pretrained.probing import with_head
from vit_course.training.checking import check_kind
from vit_course.training.objective import Objective, full_precision
from vit_course.training.processes import device_of
from vit_course.training.text_transformer import TextTransformer
from vit_course.vit import ViT

LONGEST = 14  # words of a caption: "a small red ring to the left of a large blue cross" has 13
# What the logits are at the start, as in the papers: a scale of 1 / 0.07; or a scale of 10 and a bias of -10.
START = {"softmax": (1 / 0.07, 0.0), "sigmoid": (10.0, -10.0)}
LARGEST_SCALE = 100.0


class Contrastive(Objective):
    """(B, C, H, W), (B, L), draws -> (), {"matched": (B,)}

    From images and the words of their captions to the mean loss. The measure is 1 for each image whose own caption
    is the most similar to it of all captions in the batch. Only the batch makes a caption right or wrong, so the loss
    of a larger batch is higher, and a batch cannot be computed in parts.

    Args:
        vit: reads the images, and is the result. It needs no head, and with several processes it must not have one.
        loss: "softmax", as in CLIP, or "sigmoid", as in SigLIP.
        text_layers: layers of the text Transformer; its other sizes are those of the ViT.
        embedding_dim: E, the width in which images and captions are compared.

    Raises:
        TypeError, ValueError: not a `ViT`, an impossible size or loss, or in training images without captions.

    Source: Radford et al. 2021 (arXiv:2103.00020), Fig. 3; Zhai et al. 2023 (arXiv:2303.15343), Algorithm 1.
    """

    name = "contrastive"
    unused = ("head.", "pre_logits.")
    measures = ("matched",)
    whole_batches = True
    changes_meaning = ("flip", "randaugment")

    def __init__(self, vit: ViT, loss: str = "softmax", text_layers: int = 2, embedding_dim: int = 64):
        check_kind("vit", vit, ViT)
        options = dict(loss=loss, text_layers=text_layers, embedding_dim=embedding_dim)
        check_arguments(**options)
        super().__init__(vit, **options)
        config = vit.config
        self.text = TextTransformer(WORDS, LONGEST, config.hidden_dim, text_layers, config.num_heads, config.mlp_dim)
        self.image_projection = nn.Linear(config.hidden_dim, embedding_dim, bias=False)
        self.text_projection = nn.Linear(config.hidden_dim, embedding_dim, bias=False)
        scale, bias = START[loss]
        self.log_scale = nn.Parameter(torch.tensor(math.log(scale)))
        self.bias = nn.Parameter(torch.tensor(bias)) if loss == "sigmoid" else None

    def forward(self, images, labels, draws, count):
        rows = max(count, 1)
        image, text = self.embed_images(images)[:rows], self.embed_tokens(labels)[:rows]  # (B, E) each
        images_there, texts_there, first = image, text, 0
        if self.training and torch.distributed.is_available() and torch.distributed.is_initialized():
            (images_there, texts_there), first = gathered(image, text, count=count)
        # A placeholder has no caption of its own; its loss does not count.
        own = (first + torch.arange(rows, device=image.device)).clamp(max=len(texts_there) - 1)
        to_text, to_image = self.logits(image, texts_there), self.logits(text, images_there)  # (B, all), (B, all)
        loss = softmax_loss if self.options["loss"] == "softmax" else sigmoid_loss
        matched = F.pad((to_text.argmax(dim=1) == own).double(), (0, len(images) - rows))
        return loss(to_text, to_image, own), {"matched": matched}

    def targets(self, images: ImageSet) -> torch.Tensor:
        """Returns (B, L): the words of the captions."""
        if not isinstance(images, Scenes):
            raise ValueError("the objective contrastive needs images with captions: of the course's data, scenes")
        return self.text.tokenise(images.captions)

    def embed_images(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, E): vectors of length 1."""
        z = self.model.features(images)  # (B, T, D)
        pooled = z[:, 0] if self.model.config.pool == "cls" else z[:, self.model.config.num_prefix :].mean(dim=1)
        return F.normalize(full_precision(self.image_projection(pooled)), dim=1)

    @torch.no_grad()
    def classifier(self, sentences: tuple[str, ...] | list[str]) -> ViT:
        """A ViT with one class for each of S sentences, and so with all that the course does with classes.

        The vectors of the sentences become the rows of its head: pooling and projection are linear. Its logits are
        the cosines up to one factor for each image, the length of the image's vector, which the head cannot know.

        Raises:
            TypeError, ValueError: as `TextTransformer.tokenise`.

        Source: Radford et al. 2021, section 3.1.2.
        """
        weight = self.embed_sentences(sentences) @ self.image_projection.weight  # (S, D)
        head = nn.Linear(*reversed(weight.shape))
        head.weight.copy_(weight)
        nn.init.zeros_(head.bias)
        return with_head(self.model, head)

    @torch.no_grad()
    def patch_scores(self, images: torch.Tensor, sentences: tuple[str, ...] | list[str]) -> torch.Tensor:
        """(B, C, H, W), S sentences -> (B, S, rows, columns): what each patch adds to the cosine.

        Pooling and projection are linear, so the cosine of an image and a sentence is the mean of these numbers.

        Raises:
            TypeError, ValueError: as `TextTransformer.tokenise`; or a ViT that pools by a class token, so that no patch
                has a part of its own.
        """
        config = self.model.config
        if config.pool != "mean":
            raise ValueError(f"patch_scores needs a ViT with pool='mean', got pool={config.pool!r}")
        z = self.model.features(images)[:, config.num_prefix :]  # (B, N, D)
        parts = full_precision(self.image_projection(z))  # (B, N, E)
        length = parts.mean(dim=1).norm(dim=1)[:, None, None]  # (B, 1, 1)
        scores = parts @ self.embed_sentences(sentences).T / length  # (B, N, S)
        return scores.transpose(1, 2).unflatten(2, config.grid)

    @torch.no_grad()
    def token_cosines(self, features: torch.Tensor, sentences: tuple[str, ...] | list[str]) -> dict[str, torch.Tensor]:
        """(T, D), S sentences -> {sentence: (T,)}: the cosine of each token, projected, with each sentence.

        Args:
            features: the tokens of one image after the last norm, as `ViT.features` gives them.

        Raises:
            TypeError, ValueError: as `TextTransformer.tokenise`.
        """
        vectors = F.normalize(full_precision(self.image_projection(features)), dim=1)  # (T, E)
        return dict(zip(sentences, (vectors @ self.embed_sentences(sentences).T).T, strict=True))

    def embed_sentences(self, sentences: tuple[str, ...] | list[str]) -> torch.Tensor:
        """B sentences -> (B, E): vectors of length 1.

        Raises:
            TypeError, ValueError: as `TextTransformer.tokenise`.
        """
        return self.embed_tokens(self.text.tokenise(sentences).to(self.log_scale.device))

    def embed_tokens(self, tokens: torch.Tensor) -> torch.Tensor:
        """(B, L) -> (B, E): vectors of length 1."""
        return F.normalize(full_precision(self.text_projection(self.text(tokens))), dim=1)

    def logits(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """(A, E), (B, E) -> (A, B): the cosine of each pair, times a learned scale (CLIP), plus a bias (SigLIP)."""
        scaled = self.log_scale.exp().clamp(max=LARGEST_SCALE) * (a @ b.T)
        return scaled if self.bias is None else scaled + self.bias


def softmax_loss(to_text: torch.Tensor, to_image: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    """(B, A), (B, A), (B,) -> (): each image chooses among A captions, each caption among A images; `own` is right."""
    return (F.cross_entropy(to_text, own) + F.cross_entropy(to_image, own)) / 2


def sigmoid_loss(to_text: torch.Tensor, to_image: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    """(B, A), (B, A), (B,) -> (): for each of B x A pairs of an image and a caption, whether they belong together."""
    sign = 2 * F.one_hot(own, to_text.shape[1]) - 1  # 1 for the own caption, -1 for all others
    return -F.logsigmoid(sign * to_text).sum(dim=1).mean()


def gathered(*parts: torch.Tensor, count: int) -> tuple[list[torch.Tensor], int]:
    """The rows of all processes, in order, with gradients; and the index of this process's first row.

    Args:
        parts: each (B, E), the same B in one process, but not in all.
        count: B, or 0 if the only row is a placeholder, which nobody else sees.
    """
    from torch.distributed.nn.functional import all_gather

    counts = torch.zeros(torch.distributed.get_world_size(), dtype=torch.int64, device=parts[0].device)
    rank = torch.distributed.get_rank()
    counts[rank] = count
    torch.distributed.all_reduce(counts)
    most = int(counts.max())  # every process sends as many rows
    found = []
    for part in parts:
        rows = all_gather(F.pad(part[:count], (0, 0, 0, most - count)))
        found.append(torch.cat([row[:number] for row, number in zip(rows, counts.tolist(), strict=True)]))
    return found, int(counts[:rank].sum())


@torch.no_grad()
def embed_all(objective: Contrastive, images: Scenes, dataset: Dataset, batch_size: int = 500) -> torch.Tensor:
    """Returns (n, E): the vectors of all images, a batch at a time."""
    device, parts = device_of(objective), images.images.split(batch_size)
    return torch.cat([objective.embed_images(dataset.normalise(part.to(device))) for part in parts])


@torch.no_grad()
def retrieval_accuracy(
    objective: Contrastive, images: Scenes, dataset: Dataset, batch_size: int = 500
) -> tuple[float, float]:
    """Returns the share of the captions of `images` that are true of the image found for them, and the share by chance.

    For each caption the image with the highest cosine is found among all. It need not be the image of the caption: what
    counts is that the caption is true of it.
    """
    found = (objective.embed_sentences(images.captions) @ embed_all(objective, images, dataset, batch_size).T).argmax(1)
    true = torch.stack([images.is_true(caption) for caption in images.captions])  # (captions, images)
    return true.gather(1, found.cpu()[:, None]).double().mean().item(), true.double().mean().item()
