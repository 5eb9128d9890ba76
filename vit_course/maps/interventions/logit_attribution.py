"""Direct attribution of a logit: the sum of what each head, each MLP, the embeddings and the biases add to it."""

from dataclasses import dataclass

import torch
from torch import nn

from vit_course._support.inputs.tensors import check_axes
from vit_course.maps.active_interventions import unrecorded
from vit_course.maps.attention_gradients import check_classes
from vit_course.maps.hooks import HookSpec, hooked
from vit_course.maps.interventions.activation_cache import EMBEDDINGS
from vit_course.maps.interventions.added_by_heads import cached, check_sum, through_projections
from vit_course.maps.interventions.forward_pass import ForwardPass
from vit_course.maps.models.description import Description
from vit_course.maps.run_model import logits_of, run


@dataclass(frozen=True)
class Attribution:
    """The parts of one logit of each of B images, which add up to it.

    Args:
        heads: (B, L, h), what each head adds.
        attention_bias: (B, L), what the bias of each output projection adds.
        mlps: (B, L), what each MLP adds.
        embeddings: (B,), what the tokens that enter the first layer add.
        bias: (B,), what the biases of the last norm and of the head add.
    """

    heads: torch.Tensor
    attention_bias: torch.Tensor
    mlps: torch.Tensor
    embeddings: torch.Tensor
    bias: torch.Tensor

    def total(self) -> torch.Tensor:
        """Returns the sum of all parts, (B,): the logit."""
        return self.heads.sum((1, 2)) + self.attention_bias.sum(1) + self.mlps.sum(1) + self.embeddings + self.bias


def head_attribution(model: nn.Module, images: torch.Tensor, classes: torch.Tensor) -> Attribution:
    """(B, C, H, W), (B,) -> `Attribution`: what each head, (B, L, h), and each other part adds to one logit

    The tokens after the last layer are a sum: of those that enter the first layer, and of what each head, each bias and
    each MLP adds. What follows, the last norm and the head, is linear, if the scale of the norm is fixed at its value
    for this image. So the logit is the sum of what is read from each part. This is the direct contribution only: what a
    head changes in later layers counts for those layers. For the difference of two logits, subtract the parts of one
    from those of the other. Takes h + 5 forward passes and a backward one through what follows the layers.

    Args:
        model: as in `intervene`, in eval mode.
        images: as the model takes them.
        classes: the index of one logit for each image, int64.

    Raises:
        TypeError, ValueError: as `value_weighted`; a model without logits, or a class out of range; layers that do
            more than add attention and MLP; or a model in which something other than norms, means and linear layers
            follows them, such as a pooling by attention.

    Source: Elhage et al. 2021, "A mathematical framework for transformer circuits" (transformer-circuits.pub); Nanda &
        Bloom 2022, TransformerLens.
    """
    check_axes("classes", classes, "(B,)")
    with torch.no_grad():
        cache, layers = cached(model, images, "heads", "attention", "mlp")
        attention = [cache[f"blocks.{layer}.attention"] for layer in range(layers)]
        mlps = [cache[f"blocks.{layer}.mlp"] for layer in range(layers)]
        heads = [cache[f"blocks.{layer}.heads"] for layer in range(layers)]
        added, bias = through_projections(model, images, heads, cache)
        for layer, f in enumerate(added):
            what = f"the attention of layer {layer} is not the sum of what its heads add"
            check_sum(what, f.sum(dim=1) + bias[layer], attention[layer])
    last, reading, rest = _read_linearly(model, images, classes)
    parts = torch.stack([cache[EMBEDDINGS], *attention, *mlps]).sum(dim=0)
    check_sum("the layers add more to the tokens than attention and MLP", parts, last)

    def read(part: torch.Tensor) -> torch.Tensor:  # (B, T, D) or (B, h, T, D) -> (B,) or (B, h)
        return torch.einsum("b...td,btd->b...", part, reading)

    return Attribution(
        torch.stack([read(f) for f in added], dim=1),
        torch.stack([read(one) for one in bias], dim=1),
        torch.stack([read(one) for one in mlps], dim=1),
        read(cache[EMBEDDINGS]),
        rest,
    )


class _FixedScales:
    """Hooks by which norms keep the scales of their first pass, so that they are linear in what they are given."""

    def __init__(self, model: nn.Module, description: Description):
        layers = {module for block in description.blocks.values() for module in block.modules()}
        self.norms: list[nn.LayerNorm | nn.RMSNorm] = [
            module
            for module in model.modules()
            if isinstance(module, (nn.LayerNorm, nn.RMSNorm)) and module not in layers
        ]
        self.scales: dict[nn.Module, torch.Tensor] = {}

    def hooks(self) -> list[HookSpec]:
        """Returns the hooks, to be registered."""
        return [(norm.register_forward_hook, self._normalise, {}) for norm in self.norms]

    def _normalise(
        self, norm: nn.LayerNorm | nn.RMSNorm, args: tuple[torch.Tensor], output: torch.Tensor
    ) -> torch.Tensor:
        (x,), axes = args, tuple(range(-len(norm.normalized_shape), 0))
        if isinstance(norm, nn.LayerNorm):
            x = x - x.mean(axes, keepdim=True)
        if norm not in self.scales:
            eps = torch.finfo(x.dtype).eps if norm.eps is None else norm.eps
            self.scales[norm] = (x.pow(2).mean(axes, keepdim=True) + eps).rsqrt().detach()
        x = x * self.scales[norm]
        x = x if norm.weight is None else x * norm.weight
        return x + norm.bias if isinstance(norm, nn.LayerNorm) and norm.bias is not None else x


def _read_linearly(
    model: nn.Module, images: torch.Tensor, classes: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    # The tokens x after the last layer and a linear reading of them, both (B, T, D), and the rest (B,): the logits are
    # (reading * x).sum() + rest.
    seen = ForwardPass(model)
    fixed = _FixedScales(model, seen.description)
    with torch.inference_mode(False), unrecorded():
        images = images.clone()
        with torch.no_grad(), seen.listening():
            logits = logits_of(run(model, images))
        check_classes(classes, logits)

        def read(tokens: torch.Tensor, pictures: torch.Tensor = images) -> torch.Tensor:
            with hooked(fixed.hooks()):
                return logits_of(seen.read(pictures, tokens)).gather(1, classes.clone()[:, None])[:, 0]

        last = seen.tokens()[-1].clone()
        with torch.enable_grad():
            logit = read(last.requires_grad_())
            (reading,) = torch.autograd.grad(logit.sum(), last)
        with torch.no_grad():
            last, rest = last.detach(), read(torch.zeros_like(last))
            noise = torch.randn(images.shape, generator=torch.Generator().manual_seed(0)).to(images)
            check_sum(
                "the head reads more than the tokens after the last layer", read(torch.zeros_like(last), noise), rest
            )
            what = (
                "with fixed scales of the norms, the logit is not a linear function of the tokens after the last layer"
            )
            check_sum(what, (reading * last).sum((1, 2)) + rest, logit)
    return last, reading, rest
