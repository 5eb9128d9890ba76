"""Checks of chapter 05: norm, MLP, block, stack, what a change does."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.attention import SelfAttention
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools import (
    Mistake,
    agree,
    build,
    call,
    count,
    equal,
    fill,
    same_answers,
    same_function,
    tensor,
)
from vit_course.encoder import MLP, NORM_EPSILON, EncoderBlock


@exercise("LayerNorm by hand", difficulty=1, minutes=8)
def layer_norm(answer, draw):
    """`answer(x, scale, shift, epsilon)`: (B, T, D), (D,), (D,), a float -> (B, T, D)."""
    draws = []
    for batch, tokens, width in (draw.sizes(3, low=3), draw.sizes(3, low=3)):
        x = 2 * draw.normal(batch, tokens, width) + draw.normal(batch, tokens, 1)
        # An epsilon this large shows where it stands.
        draws.append((x, draw.normal(width), draw.normal(width), draw.choose([0.3, 0.5, 0.8])))

    def variant(
        dims=(-1,), correction=0, inside=1, outside=0, centre=True, divide=True, affine=lambda n, a, b: n * a + b
    ):
        def norm(x, scale, shift, epsilon):
            centred = x - x.mean(dims, keepdim=True)
            variance = x.var(dims, correction=correction, keepdim=True)
            divisor = (variance + inside * epsilon).sqrt() + outside * epsilon if divide else 1
            return affine((centred if centre else x) / divisor, scale, shift)

        return norm

    def without_root(x, scale, shift, epsilon):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + epsilon) * scale + shift

    def by_mean_square(x, scale, shift, epsilon):
        return x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * scale + shift

    ignored = "The result does not depend on epsilon."
    outside = "Epsilon is added to the standard deviation, after the root."
    same_function(
        answer,
        variant(),
        draws,
        axes="(B, T, D)",
        mistakes=[
            Mistake(
                "norm-over-tokens",
                "Mean and variance are taken over the tokens, so the tokens of an image change each other.",
                variant(dims=(1,)),
            ),
            Mistake(
                "norm-over-images",
                "Mean and variance are taken over the images, so an image alone would give another result.",
                variant(dims=(0,)),
            ),
            Mistake(
                "batch-norm",
                "Mean and variance of each feature are taken over all tokens of all images.",
                variant(dims=(0, 1)),
            ),
            Mistake(
                "one-mean-for-an-image",
                "Mean and variance are taken over all numbers of an image, tokens and features alike.",
                variant(dims=(1, 2)),
            ),
            Mistake(
                "one-mean-for-all",
                "There is one mean and one variance for the whole batch.",
                variant(dims=(0, 1, 2)),
            ),
            Mistake(
                "divided-by-one-less",
                "The sum of the squared deviations is divided by one less than the numbers there are.",
                variant(correction=1),
            ),
            Mistake("epsilon-outside-root", outside, variant(inside=0, outside=1)),
            Mistake(
                "std-of-torch",
                "Two things are off: the squares are divided by one less than their number, "
                "and epsilon is added after the root.",
                variant(correction=1, inside=0, outside=1),
            ),
            Mistake(
                "std-of-torch",
                "Two things are off: the squares are divided by one less than their number, "
                "and the result does not depend on epsilon.",
                variant(correction=1, inside=0),
            ),
            Mistake("epsilon-ignored", ignored, variant(inside=0)),
            Mistake(
                "no-scale-and-shift",
                "The tokens are normalised and nothing comes after: scale and shift have no part in the result.",
                variant(affine=lambda n, a, b: n),
            ),
            Mistake("no-scale", "The scale has no part in the result.", variant(affine=lambda n, a, b: n + b)),
            Mistake("no-shift", "The shift has no part in the result.", variant(affine=lambda n, a, b: n * a)),
            Mistake(
                "shift-before-scale",
                "The shift comes before the scale, and is multiplied by it.",
                variant(affine=lambda n, a, b: (n + b) * a),
            ),
            Mistake(
                "scale-and-shift-swapped",
                "Scale and shift have changed places.",
                variant(affine=lambda n, a, b: n * b + a),
            ),
            Mistake("not-centred", "The tokens are divided, and still have their means.", variant(centre=False)),
            Mistake(
                "not-centred",
                "The tokens still have their means, and are divided by the root of their mean square.",
                by_mean_square,
            ),
            Mistake("not-divided", "The mean is taken away, and the spread stays as it was.", variant(divide=False)),
            Mistake("root-missing", "The deviations are divided by their variance.", without_root),
        ],
    )


@exercise("The MLP as a module", difficulty=2, minutes=10)
def mlp(answer, draw):
    """`answer(hidden_dim, mlp_dim)` -> a module (B, T, D) -> (B, T, D)."""
    sizes = [(2, 6, 14), (3, 6, 15), (2, 10, 16), (3, 9, 21), (2, 4, 14)]
    for _ in range(2):
        batch, tokens = draw.sizes(2)
        period, hidden, inner = draw.choose(sizes)
        sizes.remove((period, hidden, inner))
        layer = build(answer, hidden, inner)
        x = draw.normal(batch, tokens, hidden)
        try:
            out = call(layer, x)
        except Wrong as wrong:
            if wrong.mistake == "raised-error" and _takes(layer, draw.normal(batch, tokens, inner)):
                raise Wrong(
                    "widths-swapped",
                    "The module takes tokens of the width that was meant for its inside.",
                    [f"Input:    tokens of width D = {hidden}, with M = {inner}", *wrong.details],
                ) from None
            raise
        if isinstance(out, torch.Tensor) and out.shape == (batch, tokens, inner):
            raise Wrong(
                "stays-wide",
                "The tokens come out with the inner width.",
                [f"Expected: {tuple(x.shape)} (B, T, D)", f"Received: {tuple(out.shape)}"],
            )
        tensor(out, x.shape, "(B, T, D)", "the output")
        layer.eval()
        _repeats(layer, x)
        other = torch.cat([x[:, :-1], draw.normal(batch, 1, hidden)], dim=1)
        equal(
            call(layer, other)[:, :-1],
            call(layer, x)[:, :-1],
            "tokens-mixed",
            "With another last token, the output for the tokens before it changes: here tokens meet.",
            axes="(B, T, D)",
        )
        _alone(layer, x)
        _mlp_parameters(count(layer), hidden, inner)
        _trains(layer, x)
        _mlp_values(layer, x, period, hidden, inner)


@exercise("A block from two branches", difficulty=2, minutes=10)
def block(answer, draw):
    """`answer(hidden_dim, attention, mlp)` -> a module (B, T, D) -> (B, T, D), with two norms of its own."""
    for _ in range(2):
        batch, tokens = draw.sizes(2)
        heads, width = draw.choose([(2, 5), (3, 4), (4, 3), (5, 2)])
        hidden = heads * width
        parts = (SelfAttention(hidden, heads), MLP(hidden, 2 * hidden))
        for parameter in (p for part in parts for p in part.parameters()):
            parameter.data = 2 * hidden**-0.5 * draw.normal(*parameter.shape)
        layer = build(answer, hidden, *parts)
        x = 10 * draw.normal(batch, tokens, hidden)  # so large that epsilon does not matter
        tensor(call(layer, x), x.shape, "(B, T, D)", "the output")
        if agree(call(layer, x), call(layer, x)):  # in training, and there is no dropout
            _alone(layer, x)
        layer.eval()
        _repeats(layer, x)
        if not all(part in set(layer.modules()) for part in parts):
            raise Wrong(
                "parts-not-registered",
                "The attention and the MLP that the block was given are not both parts of the module, "
                "so an optimiser would not find their parameters.",
            )
        _block_values(layer, x, parts, 0.5 + draw.uniform(hidden))
        _trains(layer, x)


@exercise("A stack of blocks, mended", difficulty=2, minutes=10)
def stack(answer, draw):
    """`answer(make_block, num_layers, hidden_dim)` -> a module (B, T, D) -> (B, T, D); make_block() gives a block."""
    for layers in (3, 4):
        batch, tokens = draw.sizes(2)
        heads, width = draw.choose([(2, 5), (3, 4), (4, 3), (5, 2)])
        hidden = heads * width
        made = []

        def make_block(heads=heads, hidden=hidden, made=made):
            made.append(EncoderBlock(hidden, heads, 2 * hidden))
            for parameter in made[-1].parameters():
                parameter.data = 2 * hidden**-0.5 * draw.normal(*parameter.shape)
            return made[-1]

        module = _build_stack(answer, make_block, layers, hidden)
        before = len(made)
        x = 10 * draw.normal(batch, tokens, hidden)
        tensor(call(module, x), x.shape, "(B, T, D)", "the output")
        if len(made) > before:
            raise Wrong("blocks-made-in-forward", "New blocks are made each time that tokens pass.")
        module.eval()
        _repeats(module, x)
        _stack_parameters(module, made, layers, hidden)
        _stack_values(module, x, made, 0.5 + draw.uniform(hidden))
        _trains(module, x)


@exercise("What a change does", difficulty=3, minutes=12)
def predict(answer, draw, parts):
    """`answer()` -> {"equal_numbers", "pre_norm_plus_5", "post_norm_plus_5", "pre_norm_times_10", ...}."""
    received = call(answer)
    x, pre_norm = 2 * draw.normal(3, 7, 12), EncoderBlock(12, 3, 48)
    for parameter in pre_norm.parameters():
        parameter.data = 0.3 * draw.normal(*parameter.shape)
    dropped = F.dropout(torch.ones(1000), 0.6)

    def post_norm(x):
        x = pre_norm.norm1(x + pre_norm.attention(x))
        return pre_norm.norm2(x + pre_norm.mlp(x))

    def change(block, changed, **options):
        # The name of what became of the output.
        new, old = block(changed), block(x)
        options = {"same": old} | {name.replace("_", " "): option(old) for name, option in options.items()}
        return next((name for name, output in options.items() if agree(new, output)), "other")

    equal_numbers = nn.LayerNorm(12, eps=NORM_EPSILON)(torch.full((12,), 7.0))
    names = {0.0: "zeros", 1.0: "ones", 7.0: "sevens"}
    silent = _silent(pre_norm)
    same_answers(
        received,
        {
            "equal_numbers": names.get(equal_numbers.mean().item(), "nan"),
            "pre_norm_plus_5": change(pre_norm, x + 5, plus_5=lambda old: old + 5),
            "post_norm_plus_5": change(post_norm, x + 5, plus_5=lambda old: old + 5),
            "pre_norm_times_10": change(pre_norm, 10 * x, times_10=lambda old: 10 * old),
            "silent_without_residuals": _what_is_left(silent, x),
            "tokens_moved": _tokens_moved(pre_norm, x),
            "survivor": round(dropped.max().item(), 4),
        },
        parts,
        mistakes={
            "equal_numbers": {
                "ones": ("norm-gives-ones", "This is what a number divided by itself gives; look at what is divided."),
                "sevens": ("norm-lets-mean-through", "This keeps a mean that the norm takes away."),
                "nan": ("epsilon-forgotten", "This divides by a spread of 0 and leaves out what stands beside it."),
            },
            "pre_norm_plus_5": {
                "same": ("stream-forgotten", "This follows the branches only."),
                "other": ("branch-sees-the-mean", "This has the branches answer to something that they cannot see."),
            },
            "post_norm_plus_5": {
                "same": ("branch-input-forgotten", "This looks at the norms, and not at what each branch reads."),
                "plus 5": ("norm-lets-mean-through", "This keeps a mean that the norm takes away."),
            },
            "pre_norm_times_10": {
                "same": ("stream-forgotten", "This follows the branches only."),
                "times 10": ("branch-sees-the-length", "This has the branches grow with the length of what comes in."),
            },
            "silent_without_residuals": {
                "same": ("residual-still-there", "This takes a path for the tokens that was taken out."),
                "other": ("silent-branch-speaks", "This lets a branch whose output is 0 add something."),
            },
            "tokens_moved": {
                7: ("tokens-meet", "This lets tokens meet although the branch in which they meet is silent."),
                0: ("nothing-moves", "This says that even the changed token comes out as before."),
                2: ("one-for-each-block", "This counts a token for each block."),
                6: ("changed-token-left-out", "This counts the tokens that were not changed."),
            },
            "survivor": {
                1.0: ("survivors-unchanged", "This leaves the rest as it was, so the mean would shrink."),
                0.4: ("survivors-multiplied", "This makes the rest smaller, so the mean would shrink twice."),
                1 / 0.6: ("divided-by-p", "This divides by the share that is dropped."),
                0.0: ("all-dropped", "This is a number that was dropped."),
            },
        },
    )  # fmt: skip


# ---- for all modules


def _takes(layer: nn.Module, x: torch.Tensor) -> bool:
    try:
        return call(layer, x).shape == x.shape
    except (Wrong, AttributeError):
        return False


def _repeats(layer: nn.Module, x: torch.Tensor) -> None:
    if not agree(tensor(call(layer, x), x.shape, "(B, T, D)", "the output"), call(layer, x)):
        raise Wrong("random-in-evaluation", "After eval(), the same tokens give two results.")


def _alone(layer: nn.Module, x: torch.Tensor) -> None:
    equal(
        call(layer, x[:1]),
        call(layer, x)[:1],
        "batch-mates-matter",
        "The output for one image changes with the other images of the batch.",
        axes="(B, T, D)",
    )


def _trains(layer: nn.Module, x: torch.Tensor) -> None:
    inputs = x.clone().requires_grad_()
    layer.zero_grad()
    out = call(layer, inputs)
    if out.requires_grad:
        (out * torch.arange(out.numel()).view(out.shape)).sum().backward()
    if inputs.grad is None:
        raise Wrong("gradient-cut", "No gradient can pass through the module, so nothing before it could be trained.")
    if any(p.grad is None for p in layer.parameters() if p.requires_grad):
        raise Wrong("unused-parameters", "Some of the parameters have no part in the output.")


def _named(received, expected, variants, axes="(B, T, D)", context=()) -> None:
    """Raises unless `received` is `expected`; variants (slug, sentence, output) name the mistake."""
    for mistake, sentence, output in variants:
        if agree(received, output) and not agree(expected, output):
            equal(received, expected, mistake, sentence, axes=axes)
    equal(received, expected, axes=axes, context=context)


def _set_norms(module: nn.Module, known, values: torch.Tensor) -> int:
    """Sets scales and shifts, all to the same D numbers: whatever is not a parameter of the modules in `known`.

    Returns how many numbers these are.
    """
    theirs = {id(p) for part in known for p in part.parameters()}
    rest = [p for p in module.parameters() if id(p) not in theirs]
    for parameter in rest:
        if parameter.ndim and parameter.shape[-1] == len(values):
            parameter.data = values.expand_as(parameter).clone()
    return sum(p.numel() for p in rest)


# ---- the MLP


def _mlp_parameters(found: int, hidden: int, inner: int) -> None:
    biases = (0, hidden, inner, hidden + inner)
    if found - 2 * hidden * inner in biases:
        return
    received = [f"Received: {found} parameters at D = {hidden}, M = {inner}"]
    if found == 0:
        raise Wrong(
            "no-parameters", "The module has no parameters: its layers are not attributes, or lie in a plain list."
        )
    known = [
        (
            "inner-width-ignored",
            "The inner width is not the one that the module was given.",
            [8 * hidden**2 + more * hidden for more in (0, 1, 4, 5)]
            + [2 * hidden**2 + more * hidden for more in (0, 1, 2)],
        ),
        (
            "norm-inside",
            "There is a norm inside the MLP, though the block has one before it.",
            [2 * hidden * inner + bias + 2 * width for bias in biases for width in (hidden, inner)],
        ),
        (
            "one-matrix",
            "There is one matrix, where two linear layers have one each.",
            [hidden * inner + bias for bias in biases],
        ),
    ]
    for mistake, sentence, counts in known:
        if found in counts:
            raise Wrong(mistake, sentence, received)
    raise Wrong(
        "wrong-parameters",
        "The number of parameters is not that of the MLP.",
        [
            f"Expected: {2 * hidden * inner} in matrices and up to {hidden + inner} in biases, "
            f"at D = {hidden}, M = {inner}",
            f"Received: {found}",
        ],
    )


def _mlp_values(layer: nn.Module, x: torch.Tensor, period: int, hidden: int, inner: int) -> None:
    # With all matrices alike, and all biases, the right output is known, whatever the parameters are called.
    bias = torch.linspace(-0.5, 0.7, period)
    ours = MLP(hidden, inner).eval()
    has = count(layer) - 2 * hidden * inner  # which biases there are: 0, D, M or D + M
    for module in (layer, ours):
        fill(module, period, scale=0.5)
        for parameter in module.parameters():
            if parameter.squeeze().ndim == 1:
                parameter.data = bias[torch.arange(parameter.numel()) % period].view(parameter.shape)
    if has in (0, hidden):
        nn.init.zeros_(ours.expand.bias)
    if has in (0, inner):
        nn.init.zeros_(ours.contract.bias)
    first, second = ours.expand, ours.contract

    def inside(function):
        return second(function(first(x))).detach()

    expected, received = inside(F.gelu), call(layer, x)
    with_tanh = inside(lambda y: F.gelu(y, approximate="tanh"))
    if agree(received, with_tanh):
        return
    linear, wide = inside(lambda y: y), second(F.gelu(first(x)))
    residual = ("residual-inside", "The MLP adds its input to its output, and the block will add it again.")
    _named(
        received,
        expected,
        [
            ("relu", "The bend has a corner: numbers below 0 become exactly 0.", inside(torch.relu)),
            ("no-activation", "There is no bend: the two linear layers together are a single one.", linear),
            ("activation-last", "The bend comes after the second layer, and not between the two.", F.gelu(linear)),
            ("activation-last", "A bend comes after the second layer, and not between the two.", torch.relu(linear)),
            ("activation-twice", "There is a second bend, after the second layer.", F.gelu(wide).detach()),
            ("activation-first", "The bend comes before the first layer.", second(first(F.gelu(x))).detach()),
            ("silu", "The bend is x times a sigmoid of x, which is another function than GELU.", inside(F.silu)),
            (
                "gelu-by-sigmoid",
                "The bend is a coarse stand-in for GELU made of a sigmoid.",
                inside(lambda y: y * torch.sigmoid(1.702 * y)),
            ),
            ("sigmoid", "The bend is a sigmoid: large numbers all become 1.", inside(torch.sigmoid)),
            ("tanh", "The bend is a tanh: large numbers all become 1.", inside(torch.tanh)),
            (
                "root-of-two-missing",
                "In the bend, erf gets x as it is, so the distribution is not the standard one.",
                inside(lambda y: y * 0.5 * (1 + torch.erf(y))),
            ),
            (
                "phi-only",
                "The bend gives the share that lies below x, and x itself is not multiplied by it.",
                inside(lambda y: 0.5 * (1 + torch.erf(y / 2**0.5))),
            ),
            (*residual, x + expected),
            (*residual, x + with_tanh),
        ],
        context=["All matrices and biases were set to known values."],
    )


# ---- the block


def _block_values(layer: nn.Module, x: torch.Tensor, parts, values: torch.Tensor) -> None:
    attention, mlp = parts
    hidden = x.shape[-1]
    found = _set_norms(layer, parts, values)

    def f(z):
        return attention(z)

    def g(z):
        return mlp(z)

    def n(z):
        return F.layer_norm(z, (hidden,), values, values, NORM_EPSILON)

    def plain(z):
        return F.layer_norm(z, (hidden,), eps=NORM_EPSILON)

    def right(n1, n2=None, first=f, second=g, around=1, around_second=1):
        y = around * x + first(n1(x))
        return around_second * y + second((n2 or n1)(y))

    def post(n):
        y = n(x + f(x))
        return n(y + g(y))

    def none(z):
        return z

    y, normed = x + f(n(x)), n(x)
    from_norm = normed + f(normed)
    twice = ("residual-twice", "The stream is added twice: in one block it grows by a factor of two or more.")
    missing = "What comes in does not go past the {}: the stream is replaced by what the branch gives."
    with torch.no_grad():
        received, expected = call(layer, x), right(n)
        variants = [
            (*twice, right(n, around=2)),
            (*twice, right(n, around_second=2)),
            (*twice, right(n, around=2, around_second=2)),
            (
                "norm-after",
                "The norms stand after the additions, in the way of the stream, and the branches read it as it is.",
                post(n),
            ),
            (
                "norm-on-branch-output",
                "The norms stand after the branches, where each normalises what its branch gives.",
                x + n(f(x)) + n(g(x + n(f(x)))),
            ),
            ("no-residual", "Nothing goes past the branches.", right(n, around=0, around_second=0)),
            ("no-residual-around-attention", missing.format("attention"), right(n, around=0)),
            ("no-residual-around-mlp", missing.format("MLP"), right(n, around_second=0)),
            (
                "residual-from-normalised",
                "What goes past the branches is the normalised copy.",
                n(from_norm) + g(n(from_norm)),
            ),
            (
                "residual-from-normalised",
                "What goes past the attention is the normalised copy.",
                from_norm + g(n(from_norm)),
            ),
            ("residual-from-normalised", "What goes past the MLP is the normalised copy.", n(y) + g(n(y))),
            ("branches-swapped", "The MLP comes first, and the attention reads what it gives.", right(n, None, g, f)),
            (
                "parallel-branches",
                "Both branches read the block's input: the MLP knows nothing of what the attention found.",
                y + g(n(x)),
            ),
            (
                "attention-lost",
                "What the attention adds is read by the MLP, and is not in the stream at the end.",
                x + g(n(y)),
            ),
            ("no-norm", "Both branches read the stream as it is.", right(none)),
            ("attention-not-normed", "The attention reads the stream as it is.", right(none, n)),
            ("mlp-not-normed", "The MLP reads the stream as it is.", right(n, none)),
            ("one-branch-only", "The MLP has no part in the output.", y),
            ("one-branch-only", "The attention has no part in the output.", x + g(n(x))),
            ("stream-unchanged", "The tokens come out as they went in.", x),
            ("norm-at-the-end", "Once more, at the end of the block, the stream is normalised.", n(right(n))),
        ]
        if found == 0:
            variants.insert(
                0, ("norm-without-parameters", "The norms have no scale and no shift that are learned.", right(plain))
            )
        _named(received, expected, variants, context=["All scales and shifts were set to known values."])
    if found == 2 * hidden:
        raise Wrong(
            "shared-norm",
            "One norm serves both branches, so they must share its scale and shift.",
            [f"Expected: {4 * hidden} parameters beside those of the branches, at D = {hidden}", f"Received: {found}"],
        )
    if found != 4 * hidden:
        raise Wrong(
            "wrong-parameters",
            "The number of parameters is not that of a block.",
            [f"Expected: {4 * hidden} parameters beside those of the branches, at D = {hidden}", f"Received: {found}"],
        )


# ---- the stack


def _build_stack(answer, make_block, layers: int, hidden: int) -> nn.Module:
    try:
        return build(answer, make_block, layers, hidden)
    except Wrong as wrong:
        text = wrong.details[0] if wrong.details else ""
        if "is not a Module subclass" in text:
            if "list is" in text or "generator is" in text:
                mistake, sentence = "list-as-one-module", "A list of blocks is handed over as if it were one module."
            else:
                mistake, sentence = "factory-not-called", "In the place of a block stands the function that makes one."
            raise Wrong(mistake, sentence, wrong.details) from None
        raise


def _stack_parameters(module: nn.Module, made, layers: int, hidden: int) -> None:
    each, norm, found = count(made[0]) if made else 0, 2 * hidden, count(module)
    parts = set(module.modules())
    details = [
        f"Expected: {layers * each + norm} parameters with {layers} blocks of {each}, at D = {hidden}",
        f"Received: {found}",
    ]
    if not made:
        raise Wrong("no-blocks", "No block is made.", details)
    if found in (0, norm):
        raise Wrong(
            "blocks-not-registered",
            "The blocks are no parts of the module: they would not be trained and not be saved.",
            details,
        )
    if found in (each, each + norm):
        if len(made) > 1:
            raise Wrong("blocks-overwritten", "Several blocks are made, and one of them is kept.", details)
        raise Wrong("same-block", "One block is used again and again: all layers share their weights.", details)
    if found in (layers * (each + norm), layers * (each + norm) + norm):
        raise Wrong("norm-for-every-block", "There is a further norm for every block.", details)
    for difference in (-1, 1):
        if found in ((layers + difference) * each, (layers + difference) * each + norm):
            word = "less" if difference < 0 else "more"
            raise Wrong(f"one-block-{word}", f"There is one block {word} than was asked for.", details)
    if found not in (layers * each, layers * each + norm):
        raise Wrong("wrong-parameters", "The number of parameters is not that of the encoder.", details)
    if sum(block in parts for block in made) < layers:
        raise Wrong("copies-start-alike", "The blocks are copies of each other: they start with the same weights.")


def _stack_values(module: nn.Module, x: torch.Tensor, made, values: torch.Tensor) -> None:
    parts = set(module.modules())
    blocks = [block for block in made if block in parts]
    found = _set_norms(module, blocks, values)

    def n(z):
        return F.layer_norm(z, values.shape, values, values, NORM_EPSILON)

    def plain(z):
        return F.layer_norm(z, values.shape, eps=NORM_EPSILON)

    def run(z, before=lambda z: z, after=lambda z: z, around=0, blocks=blocks):
        for block in blocks:
            z = around * z + after(block(before(z)))
        return z

    with torch.no_grad():
        received, expected = call(module, x), n(run(x))
        if agree(received, n(run(x, blocks=blocks[::-1]))):  # made in the other order: as good
            return
        variants = [
            ("no-last-norm", "The stream leaves the last block, and no norm follows.", run(x)),
            (
                "norm-after-every-block",
                "The last norm runs after every block, in the way of the stream.",
                run(x, after=n),
            ),
            ("norm-first", "The last norm runs before the first block.", run(n(x))),
            ("norm-before-every-block", "The last norm runs before every block.", run(x, before=n)),
            ("norm-before-every-block", "The last norm runs before every block too.", n(run(x, before=n))),
            (
                "residual-around-blocks",
                "The input of each block is added to its output, though a block does so itself.",
                n(run(x, around=1)),
            ),
            ("blocks-not-chained", "Every block gets the first tokens, and the last one's output stays.",
             n(blocks[-1](x))),
            ("blocks-not-chained", "Every block gets the first tokens, and their outputs are added up.",
             n(sum(block(x) for block in blocks))),
            ("first-block-only", "Only the first block has a part in the output.", n(blocks[0](x))),
            ("first-block-only", "The first block runs again and again, and the others not at all.",
             n(run(x, blocks=blocks[:1] * len(blocks)))),
            ("no-block-used", "No block has a part in the output.", n(x)),
        ]  # fmt: skip
        if found == 0:
            variants.insert(
                0, ("norm-without-parameters", "The last norm has no scale and no shift that are learned.",
                    plain(run(x)))
            )  # fmt: skip
        _named(received, expected, variants, context=["Scale and shift of the last norm were set to known values."])


# ---- predictions


def _silent(block: EncoderBlock) -> EncoderBlock:
    block = copy.deepcopy(block)
    for layer in (block.attention.projection, block.mlp.contract):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    return block


def _what_is_left(block: EncoderBlock, x: torch.Tensor) -> str:
    # The block without `x +`.
    out = block.mlp(block.norm2(block.attention(block.norm1(x))))
    return "zeros" if agree(out, torch.zeros_like(x)) else "same" if agree(out, x) else "other"


@torch.no_grad()
def _tokens_moved(block: EncoderBlock, x: torch.Tensor) -> int:
    # Two blocks, both with a silent attention.
    block = copy.deepcopy(block)
    nn.init.zeros_(block.attention.projection.weight)
    nn.init.zeros_(block.attention.projection.bias)
    changed = x.clone()
    changed[:, 2] = -changed[:, 2]
    moved = (block(block(changed)) - block(block(x))).abs().amax(dim=(0, 2)) > 1e-5  # (T,)
    return int(moved.sum())
