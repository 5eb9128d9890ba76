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
from vit_course.checks.tools.mistakes import Known, Slip, by_value, named_by_details, refuse
from vit_course.checks.tools.modules import alone, build, count, feed, feed_any_batch, repeats, scatter, trained_by
from vit_course.checks.tools.parts import normed
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
            with named_by_details(*BUILT):
                return build(answer, *given.get("", ()), **{name: one for name, one in given.items() if name})

        model = built()
        images = draw.normal(batch, sizes["in_channels"], *sizes["image_size"])
        tokens = images[0, 0].numel() // sizes["patch_size"] ** 2 + 1
        with named_by_details(*_fed(tokens)):
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
    taken_for = by_value(LOGITS, dict(tokens=tokens, batch=batch, classes=classes, width=width))
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
    counted(
        model,
        right,
        PARAMETERS,
        dict(
            patches_only=patches_only,
            width=width,
            layers=layers,
            inner=inner,
            classes=classes,
            whole=whole,
            one_block=one_block,
            tokens=tokens,
        ),
        f"D = {width}, L = {layers}, N = {tokens - 1}",
    )
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
    refuse(SEEN, dict(out=out))
    alone(model, images, axes)
    images, patch = images.clone().requires_grad_(), sizes["patch_size"]
    out = feed(model, images)
    (slopes,) = torch.autograd.grad(out.square().sum(), images, materialize_grads=True)
    reached = F.max_pool2d(slopes.abs().amax(dim=1), patch) > 0  # (B, rows, columns)
    lost = [*(~reached).nonzero()[:, 1:].tolist(), None][0]
    refuse(PATCHES, dict(model=model, images=images, out=out, reached=reached, lost=lost))


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
        refuse(
            READ,
            dict(
                given=given,
                x=x,
                expected=expected,
                nothing=nothing,
                head=head,
                reads=reads,
                positions_act=positions_act,
            ),
        )
        context = ["Input:    matrices of 0 in all blocks, so a token is its row of positions"]
        sentence = "With silent blocks, the head does not get the class token after the last norm."
        equal(given, expected, "wrong-behaviour", sentence, axes="(K)", context=context)


BUILT = [
    Known(
        r"must be tuple of ints, ?but (got|found element of type) float|got \(float",
        "count-not-int",
        "A tensor is created with a number of patches or tokens that is not an int.",
    ),
]


def _fed(tokens: int) -> list[Known]:
    return [
        Known(
            "the position table has",
            "a-token-missing",
            "The positions are added to a sequence of a different length: a token is missing, such as the class token.",
        ),
        Known(
            rf"tensor a \({tokens}\) must match the size of tensor b \((?!{tokens}\b)\d+\) at non-singleton dimen",
            "table-of-another-length",
            (
                "Something that is added to the tokens, such as the positions, has the wrong length: the tokens are N "
                "patches and the class token."
            ),
        ),
        Known(
            r"size of \d+ channels|to have \d+ channels, but got",
            "channels-of-ones-own",
            "The module does not take images with in_channels channels.",
        ),
    ]


# How many more numbers a model learns than the right one. `one_block` has all biases; with fewer, `right` is smaller.
PARAMETERS = [
    Slip("no-parameters", "The model has no parameters: its parts are not attributes.", lambda right: -right),
    Slip(
        "blocks-not-registered",
        "The blocks are not part of the module, so their parameters are missing.",
        lambda whole, right, layers, one_block: whole - right - layers * one_block,
    ),
    Slip(
        "blocks-shared",
        (
            "The model learns as many numbers as with only one of the L blocks: the others are missing, or one is "
            "used several times."
        ),
        lambda layers, one_block, whole, right: (1 - layers) * (one_block - (whole - right) // layers),
    ),
    Slip(
        "blocks-shared",
        "The model learns as many numbers as with one block fewer than L: one is missing, or one is used twice.",
        lambda whole, right, layers, one_block: (whole - right) // layers - one_block if layers > 2 else None,
    ),
    Slip(
        "one-block-more",
        "The model learns as many numbers as with one block more than L.",
        lambda one_block, whole, right, layers: one_block - (whole - right) // layers,
    ),
    Slip(
        "twice-as-many-blocks",
        "The model learns as many numbers as with twice as many blocks as L.",
        lambda layers, one_block, right, whole: layers * one_block + right - whole if layers > 1 else None,
    ),
    Slip("no-positions", "There are no learned positions.", lambda tokens, width: -tokens * width),
    Slip("no-positions", "There is neither a class token nor positions.", lambda tokens, width: -(tokens + 1) * width),
    Slip(
        "table-for-patches-only",
        "The table of positions has rows for the patches only.",
        lambda width, patches_only: -width if patches_only else None,
    ),
    Slip(
        "a-row-missing",
        (
            "One vector of width D is missing: one from the class token and the positions, or the bias of the "
            "patch embedding."
        ),
        lambda patches_only, width: None if patches_only else -width,
    ),
    Slip(
        "no-last-norm",
        "As many numbers are missing as in the scale and the shift of one norm, such as the one after the last block.",
        lambda width: -2 * width,
    ),
    Slip(
        "norm-too-many",
        "There are as many extra numbers as in the scale and the shift of a norm.",
        lambda width: 2 * width,
    ),
    Slip("a-vector-too-many", "There is one extra vector of width D.", lambda width: width),
    Slip("head-without-bias", "The head has no bias.", lambda classes: -classes),
    Slip("no-head", "The head is missing.", lambda width, classes: -(width + 1) * classes),
    Slip(
        "hidden-layer-in-head", "There is one extra matrix of D x D with its bias.", lambda width: width * width + width
    ),
    Slip(
        "mlp-dim-ignored",
        "Inside, the MLPs are 4 D wide, whatever mlp_dim is.",
        lambda layers, width, inner: layers * (4 * width - inner) * (2 * width + 1),
    ),
    Slip(
        "mlp-dim-ignored",
        "Inside, the MLPs are 2048 wide, which is the default of PyTorch's layer.",
        lambda layers, inner, width: layers * (2048 - inner) * (2 * width + 1),
    ),
]

SEEN = [
    Slip(
        "softmax-in-model",
        "The numbers of each image sum to 1: a softmax follows the head, and the loss would apply it a second time.",
        lambda out: (out >= 0).all() and agree(out.sum(dim=1), torch.ones(len(out))),
    ),
    Slip(
        "log-softmax-in-model",
        "These are logarithms of probabilities: the head is not the last step.",
        lambda out: agree(out.exp().sum(dim=1), torch.ones(len(out))),
    ),
    Slip(
        "gradient-cut",
        "No gradient passes through the model, so it could not be trained.",
        lambda out: not out.requires_grad,
    ),
]

PATCHES = [
    Slip(
        "gradient-cut",
        "The images affect the output, but no gradient flows back to them.",
        lambda reached, model, images, out: (
            not reached.any() and not agree(feed(model, images.detach() + 1), out.detach())
        ),
    ),
    Slip(
        "image-not-seen",
        "The logits ignore all patches: the token that the head reads sees no patch of its image.",
        lambda reached: not reached.any(),
    ),
    Slip(
        "patch-not-seen",
        "The logits ignore the patch in row {lost[0]}, column {lost[1]}.",
        lambda reached: not reached.all(),
    ),
    Slip(
        "brightness-lost",
        "The output is the same for brighter images: each image is normalised separately.",
        lambda model, out, images: any(
            agree(feed(model, changed), out) for changed in (images.detach() + 1, 2 * images.detach())
        ),
    ),
]

# With silent blocks: `x` are the tokens, `given` the logits, and `head` those that it makes of one token.
READ = [
    Slip(
        "class-token-without-position",
        "The class token gets no position: it is put in front after the positions are added to the patches.",
        lambda nothing, positions_act: nothing and positions_act(),
    ),
    Slip("no-positions", "The output ignores the positions, although they are learned.", lambda nothing: nothing),
    Slip("last-token-read", "The head reads the last token.", lambda reads, x: reads(normed(x)[-1], x[-1])),
    Slip(
        "mean-read",
        "The head reads a mean of tokens.",
        lambda reads, x: reads(
            *(z.mean(0) for z in (normed(x), normed(x)[1:], x, x[1:])), normed(x.mean(0)), normed(x[1:].mean(0))
        ),
    ),
    Slip("patch-read", "The head reads the token of a patch.", lambda reads, x: reads(*normed(x)[1:], *x[1:])),
    Slip(
        "tokens-added-up", "The head reads the sum of all tokens.", lambda reads, x: reads(normed(x).sum(0), x.sum(0))
    ),
    Slip(
        "function-before-head",
        "There is a function between the last norm and the head.",
        lambda reads, x: reads(*(function(normed(x[0]) + 1) for function in FUNCTIONS)),
    ),
    Slip(
        "function-behind-head",
        "A function acts on the logits: the head is not the last step.",
        lambda given, head, x: any(close(given, function(head(normed(x[0])))) for function in FUNCTIONS),
    ),
    Slip(
        "positions-behind-blocks",
        "The positions are added after the blocks, so no block knows about them.",
        lambda reads, x, positions_act: reads(x[0]) and not positions_act(),
    ),
    Slip(
        "no-last-norm",
        "The head gets the output of the last block directly: there is no norm between them.",
        lambda reads, x: reads(x[0]),
    ),
    Slip(
        "logits-scaled",
        "The logits are the correct ones times a factor.",
        lambda given, expected: close(given, (given @ expected / expected.square().sum()) * expected),
    ),
]

# The shapes that come in the place of (B, K).
LOGITS = [
    Slip(
        "every-token-read",
        "There are logits for every token, not for every image.",
        lambda batch, tokens, classes: (batch, tokens, classes),
    ),
    Slip(
        "one-image-read",
        "There are logits for every token of one image: the axis of the batch was removed, not that of the tokens.",
        lambda tokens, classes: (tokens, classes),
    ),
    Slip(
        "axis-too-many", "The axis of tokens is still there, with length 1.", lambda batch, classes: (batch, 1, classes)
    ),
    Slip(
        "no-head",
        "There are as many numbers for an image as a token has: the head is missing.",
        lambda batch, width: (batch, width),
    ),
    Slip(
        "no-head",
        "These are the tokens: none of them was selected, and there is no head.",
        lambda batch, tokens, width: (batch, tokens, width),
    ),
    Slip("classes-for-logits", "There is one number for each image, not one for each class.", lambda batch: (batch,)),
]
