"""Checks of chapter 11: the whole Vision Transformer, part by part, then trained."""

from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.attention import SelfAttention
from vit_course.checks import attention as chapter_04
from vit_course.checks import patchify as chapter_01
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools import agree, build, call, count, equal, fill, tensor
from vit_course.config import ViTConfig
from vit_course.data import digits
from vit_course.encoder import MLP
from vit_course.vit import ViT


@exercise("Patches to tokens", difficulty=2, minutes=8)
def patches(answer, draw):
    """`answer(patch_size, in_channels, hidden_dim)` -> a module (B, C, H, W) -> (B, N, D)."""
    chapter_01.embedding.__wrapped__(answer, draw)


@exercise("Class token and positions", difficulty=2, minutes=8)
def tokens(answer, draw):
    """`answer(num_patches, hidden_dim)` -> a module (B, N, D) -> (B, N + 1, D), both parts learned."""
    for _ in range(2):
        batch, number, width = draw.sizes(3)
        module = build(answer, number, width)
        x = draw.normal(batch, number, width)
        tensor(call(module, x), (batch, number + 1, width), "(B, N + 1, D)", "the output")
        _token_parameters(module, number, width)
        with torch.no_grad():  # random, because learned parts may well start at 0
            for parameter in module.parameters():
                parameter.copy_(draw.normal(*parameter.shape))
        module.eval()
        out, shifted = call(module, x), call(module, x + 1)
        if agree(shifted[:, -1], out[:, -1]) and agree(shifted[:, :-1], out[:, :-1] + 1):
            raise Wrong("class-token-last", "The class token stands behind the patches.")
        equal(
            shifted[:, 0],
            out[:, 0],
            "class-token-from-image",
            "The first token changes with the image: it belongs to every image alike.",
            axes="(B, D)",
        )
        equal(
            out[:1, 0].expand(batch, -1), out[:, 0], "class-token-per-image", "The class token differs between images."
        )
        added = out[:, 1:] - x
        equal(
            shifted[:, 1:] - out[:, 1:],
            torch.ones_like(x),
            "not-added",
            "The patch tokens do not come through as they were with something added.",
            axes="(B, N, D)",
        )
        equal(
            added[:1].expand_as(added), added, "position-per-image", "What is added to a patch differs between images."
        )
        if agree(added[:, 0], added[:, 1]):
            raise Wrong("no-positions", "Two patches get the same added: nothing tells one place from another.")
        zero = call(module, torch.zeros(1, number, width))
        stored = [p.detach().flatten() for p in module.parameters() if p.numel() == width]
        if any(agree(zero[0, 0], token) for token in stored):
            raise Wrong(
                "class-token-without-position",
                "The class token comes out as it is stored: it was put in front after the positions were added.",
            )


@exercise("Self-attention", difficulty=3, minutes=15)
def attention(answer, draw):
    """`answer(hidden_dim, num_heads)` -> a module (B, T, D) -> (B, T, D)."""
    chapter_04.module.__wrapped__(answer, draw)


@exercise("The encoder block", difficulty=3, minutes=10)
def block(answer, draw):
    """`answer(hidden_dim, num_heads, mlp_dim)` -> a module (B, T, D) -> (B, T, D)."""
    for _ in range(2):
        batch, number = draw.sizes(2, low=3)
        heads, head_width = draw.choose([(2, 5), (3, 4), (4, 3), (5, 2)])
        width, inner = heads * head_width, 4 * heads * head_width - head_width
        module = build(answer, width, heads, inner).eval()
        x = 10 * draw.normal(batch, number, width)  # so large that the epsilon of a norm, 1e-5 or 1e-6, does not show
        tensor(call(module, x), x.shape, "(B, T, D)", "the output")
        _block_parameters(module, width, inner)
        parts = nn.ModuleDict(
            {"attention": SelfAttention(width, heads), "mlp": MLP(width, inner), "n1": nn.LayerNorm(width, eps=1e-6),
             "n2": nn.LayerNorm(width, eps=1e-6)}
        ).eval()  # fmt: skip
        _fill_keeping_norms(module, head_width)
        _fill_keeping_norms(parts, head_width)
        with torch.no_grad():
            received = call(module, x)
            expected = _block_by(parts, x, "pre-norm")
            for mistake, sentence in BLOCK_MISTAKES.items():
                theirs = _block_by(parts, x, mistake)
                if (received - theirs).norm() < 0.02 * theirs.norm():  # a norm of little variance shows its epsilon
                    equal(received, expected, mistake, sentence, axes="(B, T, D)")
            equal(received, expected, axes="(B, T, D)", context=["All matrices were set to known values."])


@exercise("The whole model", difficulty=3, minutes=15)
def vit(answer, draw):
    """`answer(image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim)`."""
    for _ in range(2):
        rows, columns, patch, channels = draw.sizes(4, low=2, high=5)
        batch, layers = draw.sizes(2, low=2, high=4)
        heads, classes = draw.choose([2, 3, 5]), draw.choose([6, 7, 9])
        width = 4 * heads
        sizes = dict(
            image_size=(rows * patch, columns * patch), patch_size=patch, in_channels=channels, num_classes=classes,
            hidden_dim=width, num_layers=layers, num_heads=heads, mlp_dim=3 * width,
        )  # fmt: skip
        model = build(answer, **sizes)
        images = draw.normal(batch, channels, *sizes["image_size"])
        logits = tensor(call(model, images), (batch, classes), "(B, classes)", "the logits")
        logits.square().sum().backward()
        unused = sum(p.numel() for p in model.parameters() if p.requires_grad and p.grad is None)
        if unused:
            raise Wrong(
                "unused-parameters", "Part of the model has no share in the logits.", [f"Received: {unused} numbers"]
            )
        _vit_parameters(model, sizes)
        _randomise(model, draw)
        model.eval()
        logits = call(model, images)
        equal(call(model, images), logits, "random-result", "In eval mode, one image gives two results.")
        equal(
            call(model, images[:1]), logits[:1], "batch-mates-matter", "An image's logits change with its batch mates."
        )
        _reads_the_class_token(answer, sizes, images, draw)
        _every_patch_counts(model, images, patch)
        shuffled = images.unflatten(2, (rows, patch)).flip(2).flatten(2, 3)
        if agree(call(model, shuffled), logits):
            raise Wrong("no-positions", "Rows of patches can change places and no logit changes: places are not told.")


@exercise("Trained", difficulty=2, minutes=15, seconds=60)
def trained(answer, draw):
    """`answer(images, labels)` -> a trained module (B, 1, 8, 8) -> (B, 10); images and labels of digits."""
    data = digits()
    images, labels = data.normalise(data.train.images), data.train.labels
    model = call(answer, images, labels)
    if model is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(model, nn.Module):
        raise Wrong(
            "not-a-module",
            "Not a model came back.",
            ["Expected: a trained nn.Module", f"Received: {type(model).__name__}"],
        )
    test, truth = data.normalise(data.test.images), data.test.labels
    with torch.no_grad():
        logits = tensor(call(model, test), (len(test), 10), "(B, 10)", "the logits")
        if not agree(call(model, test), logits):
            raise Wrong(
                "random-result", "The model that came back gives two results for one image: it is in training mode."
            )
        right = float((logits.argmax(1) == truth).float().mean())
        learnt = float((call(model, images).argmax(1) == labels).float().mean())
    share = [f"Expected: at least 0.90 of {len(test)} unseen digits", f"Received: {right:.2f}"]
    if right >= 0.9:
        return
    if right < 0.3:
        if right < 0.04:  # guessing has 0.10
            raise Wrong(
                "uphill", "The model is surer of any class than of the right one: its steps went uphill.", share
            )
        if learnt > 0.8:
            raise Wrong("learnt-by-heart", "The training images are known, unseen ones are not.", share)
        raise Wrong("untrained", "The model is about as good as guessing.", share)
    raise Wrong("half-trained", "The model has learnt something and stopped early, or its steps are too small.", share)


BLOCK_MISTAKES = {
    "post-norm": "Each norm stands behind its branch and the addition, where this model has it before the branch.",
    "no-residual": "What went into a branch is not added to what comes out of it.",
    "residual-from-norm": "What is added to a branch's output is its normed input, not the input itself.",
    "residual-twice": "The input of a branch is added twice.",
    "mlp-first": "The MLP comes before the attention.",
    "parallel": "Both branches read the block's input, where the second reads what the first left.",
    "no-norm": "The branches read their input without a norm.",
    "no-second-residual": "The MLP's output replaces its input instead of being added to it.",
    "relu": "Between the MLP's two layers stands a ReLU, and this model has another function there.",
    "no-activation": "Between the MLP's two layers stands nothing, so the two are one matrix.",
}


def _block_by(parts, x: torch.Tensor, kind: str) -> torch.Tensor:
    attention, norm1, norm2 = parts["attention"], parts["n1"], parts["n2"]

    def mlp(z):
        functions = {"relu": F.relu, "no-activation": lambda inner: inner}
        return parts["mlp"].contract(functions.get(kind, F.gelu)(parts["mlp"].expand(z)))

    if kind == "post-norm":
        x = norm1(x + attention(x))
        return norm2(x + mlp(x))
    if kind == "no-residual":
        return mlp(norm2(attention(norm1(x))))
    if kind == "residual-from-norm":
        x = norm1(x) + attention(norm1(x))
        return norm2(x) + mlp(norm2(x))
    if kind == "residual-twice":
        x = 2 * x + attention(norm1(x))
        return 2 * x + mlp(norm2(x))
    if kind == "mlp-first":
        x = x + mlp(norm2(x))
        return x + attention(norm1(x))
    if kind == "parallel":
        return x + attention(norm1(x)) + mlp(norm2(x))
    if kind == "no-norm":
        x = x + attention(x)
        return x + mlp(x)
    x = x + attention(norm1(x))
    return mlp(norm2(x)) if kind == "no-second-residual" else x + mlp(norm2(x))


def _fill_keeping_norms(module: nn.Module, head_width: int) -> None:
    # A vector of ones is the scale of a norm; `fill` would set it to 0.
    scales = [p for p in module.parameters() if p.ndim == 1 and bool((p == 1).all())]
    fill(module, head_width, scale=0.3)
    with torch.no_grad():
        for scale in scales:
            scale.fill_(1)


def _counted(module: nn.Module, right: set[int], known: dict[int, tuple[str, str]], sizes: str) -> None:
    found = count(module)
    if found in right:
        return
    details = [f"Expected: {max(right)} parameters at {sizes}", f"Received: {found}"]
    if found in known:
        raise Wrong(*known[found], details)
    raise Wrong("wrong-parameters", "The number of parameters is not the right one.", details)


def _token_parameters(module: nn.Module, number: int, width: int) -> None:
    right = (number + 2) * width
    _counted(
        module,
        {right},
        {
            right - width: ("positions-for-patches-only", "There is a row too few: one token gets no position."),
            0: ("no-parameters", "Nothing here can be learned."),
            width: ("positions-not-learned", "The class token is learned, the positions are not."),
            (number + 1) * width + number * width: ("class-token-per-patch", "There is a class token for each patch."),
        },
        f"N = {number}, D = {width}",
    )


def _block_parameters(module: nn.Module, width: int, inner: int) -> None:
    norms, mlp, attention = 4 * width, 2 * width * inner + inner + width, 4 * width * width + 4 * width
    right = norms + mlp + attention
    _counted(
        module,
        {right, right - 3 * width, right - 4 * width},  # with or without biases in the attention
        {
            **{
                right - bias - 2 * width: ("shared-norm", "There is one norm for two branches.")
                for bias in (0, 3 * width)
            },
            right - mlp: ("no-mlp", "There is no MLP."),
            right - attention: ("no-attention", "There is no attention."),
        },
        f"D = {width}, MLP {inner}",
    )


def _vit_parameters(model: nn.Module, sizes: dict) -> None:
    width, layers = sizes["hidden_dim"], sizes["num_layers"]
    right = count(ViT(ViTConfig(**sizes)))
    one_block = right - count(ViT(ViTConfig(**(sizes | {"num_layers": layers - 1}))))
    bias = 3 * width * layers
    number = (sizes["image_size"][0] // sizes["patch_size"]) * (sizes["image_size"][1] // sizes["patch_size"])
    known = {}
    for whole in (right, right - bias):
        known |= {
            whole - 2 * width: ("no-last-norm", "The norm after the last block is missing, or has no parameters."),
            whole - width: ("a-row-missing", "One vector of width D is missing among class token and positions."),
            whole - (number + 1) * width: ("no-positions", "There are no learned positions."),
            whole - 2 * width - number * width: ("no-positions", "There is neither a class token nor positions."),
        }
    for shared in range(1, layers):
        known[right - shared * one_block] = ("blocks-shared", "The blocks are not L different ones.")
    known[right - layers * one_block] = (
        "blocks-not-registered",
        "The blocks are not part of the module: no parameters.",
    )
    _counted(model, {right, right - bias}, known, f"D = {width}, L = {layers}, N = {number}")


def _randomise(model: nn.Module, draw) -> None:
    # Learned parts may start at 0, which would hide what they do.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * draw.normal(*parameter.shape))


def _reads_the_class_token(answer, sizes: dict, images: torch.Tensor, draw) -> None:
    # With silent blocks no token knows of another, and the class token knows nothing of the image. The matrices of a
    # block are those whose shapes a second block brings.
    model, deeper = (build(answer, **(sizes | {"num_layers": layers})).eval() for layers in (1, 2))
    of_a_block = Counter(p.shape for p in deeper.parameters()) - Counter(p.shape for p in model.parameters())
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.copy_(draw.normal(*parameter.shape) * (parameter.shape not in of_a_block))
            elif not (parameter == 1).all():  # the scales of the norms stay
                parameter.zero_()
    before, after = call(model, images), call(model, images + draw.normal(*images.shape))
    equal(
        after,
        before,
        "wrong-token-read",
        "The logits are not read from the class token: they change with the image although the blocks are silent.",
        axes="(B, classes)",
    )


def _every_patch_counts(model: nn.Module, images: torch.Tensor, patch: int) -> None:
    images = images.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(call(model, images).square().sum(), images)
    reached = gradient.abs().amax((0, 1)).unflatten(0, (-1, patch)).unflatten(2, (-1, patch)).amax((1, 3)) > 0
    if not reached.all():
        raise Wrong(
            "patches-lost",
            "Some patches have no influence on the logits.",
            [f"Expected: all {reached.numel()} patches count", f"Received: {int(reached.sum())} do"],
        )
