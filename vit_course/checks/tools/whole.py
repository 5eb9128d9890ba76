"""Whether a module is a Vision Transformer, whatever it is made of."""

import contextlib
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.block import right_block
from vit_course.checks.tools.blocks import pre_norm_blocks
from vit_course.checks.tools.heads import close
from vit_course.checks.tools.modules import alone, build, count, feed, feed_any_batch, repeats, scatter, trained_by
from vit_course.checks.tools.parts import normed
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse, values
from vit_course.checks.tools.tensors import agree, equal, tensor
from vit_course.checks.tools.whole_embedding import by_one_matrix, patches_apart
from vit_course.checks.tools.whole_parts import WholeParts, distinct_sizes
from vit_course.config import ViTConfig
from vit_course.vit import ViT

FUNCTIONS = (torch.relu, F.gelu, torch.tanh, torch.sigmoid)


def right_model(answer, arguments: Callable[[dict], dict], draw, biases: bool, axes: str) -> None:
    """Raises `Wrong` unless the learner's class makes a Vision Transformer of any sizes.

    Args:
        answer: the learner's class.
        arguments: sizes -> what the class is called with, by name or, under "", by place.
        draw: of the check.
        biases: whether the attention needs its biases.
        axes: of the output, as the exercise calls them.
    """
    for layers, batch in ((3, 3), (2, 2)):
        sizes, _ = distinct_sizes(draw, layers)
        given = arguments(sizes)

        def built(given=given) -> nn.Module:
            with named_by_details(*known(__name__, "built")):
                return build(answer, *given.get("", ()), **{name: one for name, one in given.items() if name})

        model = built()
        images = draw.normal(batch, sizes["in_channels"], *sizes["image_size"])
        tokens = images[0, 0].numel() // sizes["patch_size"] ** 2 + 1
        with named_by_details(*known(__name__, "fed", {"tokens": tokens})):
            _logits(feed_any_batch(model, images), images, sizes, axes)
        model.eval()
        one_block = _right_count(model, sizes, biases)
        parts = WholeParts(model, sizes)
        with _inside_first(built, sizes, one_block, draw):
            scatter(model, draw)
            repeats(model, images)
            _seen(model, images, sizes, axes)
            _class_token_read(parts, images, draw)
            _places_told(model, images, sizes["patch_size"])
            trained_by(model, images, draw)
            if not parts.known:
                continue
            patches_apart(parts, images, draw)
            by_one_matrix(parts, images, draw)
            if layers > 2:  # once is enough, for it takes a second
                pre_norm_blocks(parts, sizes["num_heads"], draw)


def _logits(received, images: torch.Tensor, sizes: dict, axes: str) -> torch.Tensor:
    # What the model gave for the images, where it is a tensor (B, K); else a `Wrong` that says what it may be.
    batch, classes, width = len(images), sizes["num_classes"], sizes["hidden_dim"]
    tokens = images.shape[2] * images.shape[3] // sizes["patch_size"] ** 2 + 1
    taken_for = values(__name__, "logits", locals())
    try:
        return tensor(received, (batch, classes), axes, "the output")
    except Wrong as wrong:
        shape = tuple(getattr(received, "shape", ()))
        if wrong.mistake == "wrong-shape" and shape in ((batch, 10), (batch, 1000)):
            sentence = f"There are {shape[1]} logits for an image, whatever the number of classes is."
            raise Wrong("classes-of-ones-own", sentence, wrong.details) from None
        if wrong.mistake != "wrong-shape" or shape not in taken_for:
            raise
        raise Wrong(*taken_for[shape], wrong.details) from None


def _right_count(model: nn.Module, sizes: dict, biases: bool) -> int:
    # -> how many numbers one block has, with all biases.
    width, layers, inner = sizes["hidden_dim"], sizes["num_layers"], sizes["mlp_dim"]
    classes, config = sizes["num_classes"], ViTConfig(**sizes)
    reference = ViT(config)
    whole, one_block, tokens = count(reference), count(reference.encoder.blocks[0]), config.num_tokens
    right = [whole - missing * layers * width for missing in ((0,) if biases else (0, 3, 4, 1, 2))]
    shapes = {tuple(size for size in p.shape if size > 1) for p in model.parameters()}
    patches_only = (tokens - 1, width) in shapes and (tokens, width) not in shapes
    counted(model, right, __name__, locals(), f"D = {width}, L = {layers}, N = {tokens - 1}")
    return one_block


@contextlib.contextmanager
def _inside_first(built: Callable[[], nn.Module], sizes: dict, one_block: int, draw) -> Iterator[None]:
    # Where something is wrong and the model has a module with as many parameters as a block: what is wrong with that.
    try:
        yield
    except Wrong as wrong:
        width, model = sizes["hidden_dim"], built().eval()
        counts = [one_block - missing * width for missing in range(5)]
        found = next((m for m in model.modules() if m is not model and count(m) in counts), None)
        if found is None:
            raise
        try:
            right_block(found, 3 * draw.normal(3, 5, width), sizes["num_heads"], sizes["mlp_dim"], draw)
        except Wrong as inside:
            if not inside.mistake.startswith(("wrong-", "raised-")):
                sentence = f"Inside the blocks: {inside.args[0][0].lower()}{inside.args[0][1:]}"
                raise Wrong(inside.mistake, sentence, inside.details, inside.expected, inside.received) from None
        raise wrong from None


def _seen(model: nn.Module, images: torch.Tensor, sizes: dict, axes: str) -> None:
    out = _logits(feed(model, images), images, sizes, axes)
    refuse(__name__, "seen", locals())
    alone(model, images, axes)
    images, patch = images.clone().requires_grad_(), sizes["patch_size"]
    out = feed(model, images)
    (slopes,) = torch.autograd.grad(out.square().sum(), images, materialize_grads=True)
    reached = F.max_pool2d(slopes.abs().amax(dim=1), patch) > 0  # (B, rows, columns)
    lost = [*(~reached).nonzero()[:, 1:].tolist(), None][0]
    refuse(__name__, "patches", locals())


def _places_told(model: nn.Module, images: torch.Tensor, patch: int) -> None:
    shuffled = images.unflatten(2, (-1, patch)).flip(2).flatten(2, 3)
    if agree(feed(model, shuffled), feed(model, images)):
        raise Wrong("no-positions", "Swapping rows of patches does not change the logits: the model ignores places.")


def _class_token_read(parts: WholeParts, images: torch.Tensor, draw) -> None:
    row, model = parts.flat.get(), parts.module
    if parts.known:
        _read_behind_the_norm(parts, draw)
    for matrix in parts.matrices:  # with silent blocks the class token knows nothing of the image
        row[matrix] = 0
    parts.flat.set(row)
    before, after = feed(model, images), feed(model, images + draw.normal(*images.shape))
    slug, words = ("patch-read", "The head reads the token of a patch")
    if not parts.known:
        slug, words = "wrong-token-read", "The logits are not read from the class token"
    equal(after, before, slug, f"{words}: with silent blocks, the logits still change with the image.")
    scatter(model, draw)


def _read_behind_the_norm(parts: WholeParts, draw) -> None:
    # With silent blocks and vectors of 1, the token that is read is its row of positions, behind the last norm; a head
    # whose rows sum to 0 takes away what vectors of 1 add to a token.
    weights, x = draw.normal(parts.classes, parts.width), draw.normal(parts.tokens, parts.width)
    weights -= weights.mean(1, keepdim=True)
    row, places = parts.row(1.0), parts.flat.places(parts.head[0]).squeeze()
    row[places if places.shape[0] == parts.classes else places.T] = weights
    parts.flat.set(row)
    given = parts.output(x).detach()

    def head(token: torch.Tensor) -> torch.Tensor:
        return weights @ token

    def reads(*tokens: torch.Tensor) -> bool:
        return any(close(given, head(token)) for token in tokens)

    def positions_act() -> bool:
        scatter(parts.module, draw)
        table = parts.table()
        moved = torch.cat([table[:1], table[1:] + draw.normal(parts.tokens - 1, parts.width)])
        return not close(parts.output(table).detach(), parts.output(moved).detach())

    expected, nothing = head(normed(x[0])), not given.abs().max() > 1e-4
    if not close(given, expected):
        refuse(__name__, "read", locals())
        context = ["Input:    matrices of 0 in all blocks, so a token is its row of positions"]
        sentence = "With silent blocks, the head does not get the class token after the last norm."
        equal(given, expected, "wrong-behaviour", sentence, axes="(K)", context=context)
