"""Self-distillation: a student predicts the output of its own moving average for another view of the image."""

import math
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course.training.checking import check_kind
from vit_course.training.objective import Objective, full_precision
from vit_course.training.processes import Engine
from vit_course.vit import ViT

# The share of the image's area that a view may show, and the side of the view as a share of the image's side: small,
# because on a CPU each patch costs time. In the paper the sides are 224 and 96 pixels.
GLOBAL_AREA, GLOBAL_SIDE = (0.4, 1.0), 3 / 4
LOCAL_AREA, LOCAL_SIDE = (0.1, 0.4), 3 / 8
NUMBERS_A_VIEW = 8


class SelfDistillation(Objective):
    """(B, C, H, W), labels, (B, 8 V) -> (), {name: (B,)}

    From images and eight random numbers for each of V views to the mean cross-entropy of the student's outputs, with
    the teacher's as targets, over pairs of views. The measures are the entropy of the teacher's outputs, and how much
    the cross-entropy exceeds it. If both models give the same output for every image, they have collapsed.

    Args:
        vit: the student. The result is the teacher, its moving average. The ViT needs no head, and with several
            processes it must not have one.
        outputs: K, the width of the outputs that are compared.
        temperature: of the student's softmax.
        teacher_temperature: of the teacher's softmax; lower, so that it is sharper.
        momentum: of the teacher at the start; it grows to 1 along half a cosine.
        centring: the momentum of the centre; 1 leaves it at 0, so that nothing is centred.
        local_crops: how many views of half the side show small parts of the image, for the student alone.

    Raises:
        TypeError, ValueError: not a `ViT`, an impossible number, or in forward images of another size than the ViT's.

    Source: Caron et al. 2021, "Emerging Properties in Self-Supervised Vision Transformers" (arXiv:2104.14294),
    section 3.1 and Algorithm 1.
    """

    name = "self-distilled"
    keeps = "teacher"
    unused = ("head.", "pre_logits.")
    measures = ("entropy", "divergence")

    def __init__(
        self,
        vit: ViT,
        outputs: int = 1024,
        temperature: float = 0.1,
        teacher_temperature: float = 0.04,
        momentum: float = 0.996,
        centring: float = 0.9,
        local_crops: int = 4,
    ):
        check_kind("vit", vit, ViT)
        options = dict(outputs=outputs, temperature=temperature, teacher_temperature=teacher_temperature)
        options |= dict(momentum=momentum, centring=centring, local_crops=local_crops)
        check_arguments(**options)
        super().__init__(vit, **options)
        self.head = ProjectionHead(vit.config.hidden_dim, outputs)
        self.teacher, self.teacher_head = deepcopy(vit).requires_grad_(False), deepcopy(self.head).requires_grad_(False)
        self.register_buffer("centre", torch.zeros(outputs))
        self._new_centre, self._count = 0.0, 0

    def forward(self, images, labels, draws, count):
        if images.shape[2:] != self.model.config.image_size:
            raise ValueError(
                f"the model takes images of size {self.model.config.image_size}, got {tuple(images.shape[2:])}"
            )
        sizes = views(images, draws, self.model.config.patch_size)
        # All views of one size go through at once.
        student = [output for same in sizes for output in answers(self.model, self.head, same)]  # V of (B, K)
        with torch.no_grad():
            teacher = answers(self.teacher.eval(), self.teacher_head, sizes[0])  # 2 of (B, K)
        temperature, sharper = self.options["temperature"], self.options["teacher_temperature"]
        targets = [((t - self.centre) / sharper).softmax(dim=1) for t in teacher]
        pairs = [(t, s) for i, t in enumerate(targets) for j, s in enumerate(student) if i != j]
        loss = sum(cross_entropy(t, s, temperature) for t, s in pairs) / len(pairs)  # (B,)
        if self.training:
            self._new_centre = self._new_centre + torch.stack(teacher).mean(dim=0)[:count].sum(dim=0)  # (K,)
            self._count += count
        entropy = sum(torch.special.entr(t).sum(dim=1) for t in targets) / len(targets)
        return loss.mean(), {"entropy": entropy, "divergence": (loss - entropy).detach()}

    def draws(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Returns (count, 8 V): eight random numbers per view, for its crop, mirroring and colours."""
        return torch.rand(count, (2 + self.options["local_crops"]) * NUMBERS_A_VIEW, generator=generator)

    @torch.no_grad()
    def after_step(self, share: float, engine: Engine) -> None:
        """Moves the centre towards the teacher's mean output of this batch, and the teacher towards the student."""
        momentum = 1 - (1 - self.options["momentum"]) * (1 + math.cos(math.pi * share)) / 2
        for part, like in ((self.teacher, self.model), (self.teacher_head, self.head)):
            for slow, fast in zip(part.parameters(), like.parameters(), strict=True):
                slow.lerp_(fast, 1 - momentum)
        count = engine.reduce(self.centre.new_tensor(self._count))
        if count:
            self.centre.lerp_(engine.reduce(self._new_centre) / count, 1 - self.options["centring"])  # Eq. 4
        self._new_centre, self._count = 0.0, 0


class ProjectionHead(nn.Module):
    """(B, D) -> (B, K)

    Three layers, then the cosines with K learned directions.

    Args:
        hidden_dim: D
        outputs: K

    Source: Caron et al. 2021, section 3.1 and appendix C; narrower here.
    """

    def __init__(self, hidden_dim: int, outputs: int):
        super().__init__()
        width = 4 * hidden_dim
        self.layers = nn.Sequential(
            nn.Linear(hidden_dim, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, hidden_dim)
        )
        self.directions = nn.Linear(hidden_dim, outputs, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(F.normalize(self.layers(x), dim=1), F.normalize(self.directions.weight, dim=1))


def cross_entropy(target: torch.Tensor, output: torch.Tensor, temperature: float) -> torch.Tensor:
    """(B, K), (B, K) -> (B,): the cross-entropy of the output's softmax at this temperature with the target (Eq. 1)."""
    return -(target * (output / temperature).log_softmax(dim=1)).sum(dim=1)


def pooled(vit: ViT, images: torch.Tensor) -> torch.Tensor:
    """(B, C, h, w) -> (B, D): what the head of the ViT reads, also for smaller images than it was made for.

    The position table is resized to the smaller grid, as in DINO: here bilinear and antialiased, in their code bicubic.
    """
    config = vit.config
    z = vit.class_token(vit.patch_embedding(images))
    rows, columns = images.shape[2] // config.patch_size, images.shape[3] // config.patch_size
    if config.position == "none" or (rows, columns) == config.grid:
        z = vit.positions(z)
    else:
        of_tokens, of_patches = vit.positions.table.tensor_split([config.num_positions - config.num_patches], dim=1)
        grid = of_patches.transpose(1, 2).unflatten(2, config.grid)  # (1, D, rows, columns)
        grid = F.interpolate(grid, (rows, columns), mode="bilinear", antialias=True).flatten(2).transpose(1, 2)
        z = z + torch.cat([of_tokens, grid], dim=1)
    z = vit.encoder(vit.dropout(vit.registers(z)))
    return z[:, 0] if config.pool == "cls" else z[:, config.num_prefix :].mean(dim=1)


def answers(vit: ViT, head: nn.Module, same: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """v of (B, C, h, w) -> v of (B, K): the outputs for v views of one size, in float32 at least."""
    return full_precision(head(pooled(vit, torch.cat(same)))).chunk(len(same)) if same else ()


def views(images: torch.Tensor, draws: torch.Tensor, patch_size: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """(B, C, H, W), (B, 8 V) -> 2 of (B, C, h, w), V - 2 of (B, C, h/2, w/2): large and small crops.

    Each is a random crop of the image, resized to whole patches, mirrored at random, with changed colours.
    """
    each = draws.split(NUMBERS_A_VIEW, dim=1)
    large, small = (
        tuple(max(1, round(share * side / patch_size)) * patch_size for side in images.shape[2:])
        for share in (GLOBAL_SIDE, LOCAL_SIDE)
    )
    with torch.autocast(images.device.type, enabled=False):  # autocast would round the coordinates
        globals_ = [changed(crop(images, one, GLOBAL_AREA, large), one) for one in each[:2]]
        return globals_, [changed(crop(images, one, LOCAL_AREA, small), one) for one in each[2:]]


def crop(images: torch.Tensor, draw: torch.Tensor, area: tuple[float, float], size: tuple[int, int]) -> torch.Tensor:
    """(B, C, H, W), (B, 8) -> (B, C, h, w): a random part between these shares of the area, resized."""
    share, shape, down, right, mirror = draw[:, :5].unbind(1)
    share, shape = area[0] + (area[1] - area[0]) * share, (4 / 3) ** (2 * shape - 1)
    tall, wide = (share / shape).sqrt().clamp(max=1), (share * shape).sqrt().clamp(max=1)  # shares of the sides
    zero, sign = torch.zeros_like(share), torch.where(mirror < 0.5, -1.0, 1.0)
    rows = [sign * wide, zero, (1 - wide) * (2 * right - 1), zero, tall, (1 - tall) * (2 * down - 1)]
    places = F.affine_grid(torch.stack(rows, dim=1).unflatten(1, (2, 3)), [*images.shape[:2], *size], False)
    return F.grid_sample(images, places, padding_mode="border", align_corners=False)


def changed(images: torch.Tensor, draw: torch.Tensor) -> torch.Tensor:
    """(B, C, h, w), (B, 8) -> (B, C, h, w): random changes of brightness, contrast and colour; one in five is grey."""
    light, contrast, colour = draw[:, 5:, None, None, None].unbind(1)  # each (B, 1, 1, 1)
    mean = images.mean(dim=(1, 2, 3), keepdim=True)
    images = mean + (images - mean) * (0.6 + 0.8 * contrast) + 0.8 * (light - 0.5)
    grey = images.mean(dim=1, keepdim=True)
    return grey + (images - grey) * torch.where(colour < 0.2, 0.0, 0.4 + colour)
