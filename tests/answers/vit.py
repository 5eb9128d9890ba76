"""Answers to the exercises of chapter 06."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.config import ViTConfig
from vit_course.embeddings import ClassToken, LearnedPositions
from vit_course.encoder import Encoder, EncoderBlock
from vit_course.patches import PatchEmbedding, patchify
from vit_course.vit import ViT

# ---- logits


@right("vit.logits")
def in_order(images, patch_embedding, class_token, positions, blocks, norm, head):
    z = torch.cat([class_token.expand(len(images), -1, -1), patch_embedding(images)], dim=1) + positions
    for block in blocks:
        z = block(z)
    return head(norm(z[:, 0]))


@right("vit.logits")
def with_sequential(images, patch_embedding, class_token, positions, blocks, norm, head):
    x = patch_embedding(images)
    z = torch.cat((repeat(class_token, "1 1 d -> b 1 d", b=x.shape[0]), x), 1)
    return nn.Sequential(*blocks, norm, head)(z + positions)[:, 0]


@right("vit.logits")
def image_by_image(images, patch_embedding, class_token, positions, blocks, norm, head):
    out = []
    for image in images:
        x = patch_embedding(image[None])[0]
        z = torch.vstack([class_token[0] + positions[0, :1], x + positions[0, 1:]])[None]
        for block in blocks:
            z = block.attention(block.norm1(z)) + z
            z = block.mlp(block.norm2(z)) + z
        y = F.layer_norm(z[0, 0], norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        out.append(y @ head.weight.T + head.bias)
    return torch.stack(out)


@right("vit.logits")
def filled_in(images, patch_embedding, class_token, positions, blocks, norm, head):
    x = patch_embedding(images)
    z = positions.repeat(len(x), 1, 1)
    z[:, :1] += class_token
    z[:, 1:] += x
    for i in range(len(blocks)):
        z = blocks[i](z)
    return head(norm(z)).select(1, 0)


def variant(**options):
    def forward(images, patch_embedding, class_token, positions, blocks, norm, head):
        x = patch_embedding(images)
        token = class_token.repeat(len(x), 1, 1)
        place = options.get("place", "right")
        if place == "last":
            z = torch.cat([x, token], 1) + positions
        elif place == "patches":
            z = torch.cat([token, x + positions[:, 1:]], 1)
        elif place == "shifted":
            z = torch.cat([token, x + positions[:, : x.shape[1]]], 1)
        elif place == "none":
            z = torch.cat([token, x], 1)
        else:
            z = torch.cat([token, x], 1) + positions
        if options.get("norm") == "before":
            z = norm(z)
        order = blocks[::-1] if options.get("reversed") else blocks[: options.get("blocks")]
        first = z
        for block in order:
            if options.get("residual"):
                z = block(z) + z
            elif options.get("unchained"):
                z = block(first)
            else:
                z = block(z)
            if options.get("norm") == "each":
                z = norm(z)
        if "norm" not in options:
            z = norm(z)
        out = head(options.get("read", lambda z: z[:, 0])(z))
        return options.get("last", lambda out: out)(out)

    return forward


right("vit.logits")(variant())
for slug, options in (
    ("class-token-last", {"place": "last"}),
    ("class-token-last", {"place": "last", "read": lambda z: z[:, -1]}),
    ("positions-on-patches-only", {"place": "patches"}),
    ("positions-shifted", {"place": "shifted"}),
    ("no-positions", {"place": "none"}),
    ("residual-twice", {"residual": True}),
    ("blocks-not-chained", {"unchained": True}),
    ("first-block-only", {"blocks": 1}),
    ("blocks-skipped", {"blocks": 0}),
    ("blocks-reversed", {"reversed": True}),
    ("norm-after-every-block", {"norm": "each"}),
    ("norm-before-the-blocks", {"norm": "before"}),
    ("no-last-norm", {"norm": None}),
    ("last-token-read", {"read": lambda z: z[:, -1]}),
    ("first-patch-read", {"read": lambda z: z[:, 1]}),
    ("mean-read", {"read": lambda z: z.mean(1)}),
    ("mean-read", {"read": lambda z: z[:, 1:].mean(1)}),
    ("first-image-read", {"read": lambda z: z[0]}),
    ("all-tokens-read", {"read": lambda z: z}),
    ("softmax-added", {"last": lambda out: F.softmax(out, 1)}),
    ("class-not-logits", {"last": lambda out: out.max(1).indices}),
):
    wrong("vit.logits", slug)(variant(**options))


@wrong("vit.logits", "raised-error")
def token_not_expanded(images, patch_embedding, class_token, positions, blocks, norm, head):
    z = torch.cat([class_token, patch_embedding(images)], dim=1) + positions
    return head(norm(nn.Sequential(*blocks)(z))[:, 0])


@wrong("vit.logits", "gradient-cut")
def no_gradient(*arguments):
    with torch.no_grad():
        return variant()(*arguments)


@wrong("vit.logits", "input-changed")
def positions_changed(images, patch_embedding, class_token, positions, blocks, norm, head):
    positions[:, :1] += class_token
    z = torch.cat([positions[:, :1].expand(len(images), -1, -1), patch_embedding(images) + positions[:, 1:]], 1)
    return head(norm(nn.Sequential(*blocks)(z))[:, 0])


unforeseen("vit.logits")(variant(last=lambda out: out.abs()))
unforeseen("vit.logits")(variant(read=lambda z: z[:, 0] + z[:, 1]))
unforeseen("vit.logits")(variant(read=lambda z: z[:, :2]))

# ---- parameters


@right("vit.parameters")
def by_parts(image_size, p, c, d, layers, m, k):
    height, width = image_size
    tokens = height * width // p**2 + 1
    embedding = (p * p * c + 1) * d
    block = 4 * (d + 1) * d + (d + 1) * m + (m + 1) * d + 2 * 2 * d
    return embedding + d + tokens * d + layers * block + 2 * d + (d + 1) * k


@right("vit.parameters")
def by_building(image_size, patch_size, in_channels, hidden_dim, num_layers, mlp_dim, num_classes):
    config = ViTConfig(image_size, patch_size, num_classes, hidden_dim, num_layers, 1, mlp_dim, in_channels)
    return sum(p.numel() for p in ViT(config).parameters())


@right("vit.parameters")
def by_shapes(image_size, patch_size, in_channels, hidden_dim, num_layers, mlp_dim, num_classes):
    tokens = 1 + (image_size[0] // patch_size) * (image_size[1] // patch_size)

    def linear(inputs, outputs):
        return sum(p.numel() for p in nn.Linear(inputs, outputs).parameters())

    total = linear(patch_size**2 * in_channels, hidden_dim) + hidden_dim * (1 + tokens)
    for _ in range(num_layers):
        total += sum(p.numel() for p in EncoderBlock(hidden_dim, 1, mlp_dim).parameters())
    return total + 2 * hidden_dim + linear(hidden_dim, num_classes)


@right("vit.parameters")
def by_torch(image_size, p, c, d, layers, m, k):
    layer = nn.TransformerEncoderLayer(d, 1, m)
    total = torch.tensor(0)
    for parameter in layer.parameters():
        total += layers * parameter.numel()
    for shape in ((d, c, p, p), (d,), (d,), (1 + image_size[0] // p * (image_size[1] // p), d), (2, d), (k, d), (k,)):
        total += math.prod(shape)
    return total.item()


def counted(image_size, p, c, d, layers, m, k, **change):
    n = change.get("n", lambda n: n)((image_size[0] // p) * (image_size[1] // p))
    bias, norms, shared = change.get("bias", 1), change.get("norms", 2 * layers + 1), change.get("copies", layers)
    attention = change.get("matrices", 4) * (d * d + bias * d)
    mlp = d * m + bias * m + change.get("contract", 1) * (d * m + bias * d)
    if "copies" in change:
        norms = 3
    embedding = change.get("embeddings", lambda n: 1)(n) * (change.get("side", p) ** 2 * c * d + bias * d)
    return (
        embedding
        + change.get("tokens", 1) * d
        + change.get("table", lambda n: n + 1)(n) * d
        + shared * (attention + mlp)
        + norms * change.get("per_norm", 2) * d
        + change.get("head", 1) * (d * k + bias * k)
    )


right("vit.parameters")(counted)
for slug, change in (
    ("one-vector-missing", {"table": lambda n: n}),
    ("one-vector-missing", {"tokens": 0}),
    ("two-vectors-missing", {"table": lambda n: n, "tokens": 0}),
    ("biases-forgotten", {"bias": 0}),
    ("norms-forgotten", {"norms": 0}),
    ("norms-half-counted", {"per_norm": 1}),
    ("positions-forgotten", {"table": lambda n: 0}),
    ("projection-forgotten", {"matrices": 3}),
    ("half-an-mlp", {"contract": 0}),
    ("one-layer-only", {"copies": 1}),
    ("head-forgotten", {"head": 0}),
    ("embedding-per-patch", {"embeddings": lambda n: n}),
):
    wrong("vit.parameters", slug)(lambda *sizes, change=change: counted(*sizes, **change))
wrong("vit.parameters", "two-vectors-missing")(
    lambda size, p, c, d, layers, m, k: counted(size, p, c, d, layers, m, k, norms=2 * layers)
)
wrong("vit.parameters", "one-norm-a-layer")(
    lambda size, p, c, d, layers, m, k: counted(size, p, c, d, layers, m, k, norms=layers + 1)
)
wrong("vit.parameters", "channels-forgotten")(lambda size, p, c, d, layers, m, k: counted(size, p, 1, d, layers, m, k))
wrong("vit.parameters", "float-count")(lambda *sizes: counted(*sizes) / 1)
wrong("vit.parameters", "returned-nothing")(lambda *sizes: None)
unforeseen("vit.parameters")(lambda *sizes: counted(*sizes, matrices=5))
unforeseen("vit.parameters")(lambda *sizes: counted(*sizes) - 1)
unforeseen("vit.parameters")(lambda size, p, c, d, layers, m, k: counted(size, p, c, d, layers, 4 * d, k))

# ---- predicted

RIGHT_PREDICTIONS = {
    "features": (4, 25, 96),
    "first_loss": 2.9957,
    "large_head": "larger",
    "parameters": "a little more",
    "multiply_adds": "more than four times",
}


@right("vit.predicted")
def as_written():
    return RIGHT_PREDICTIONS


@right("vit.predicted")
def as_formulas():
    return dict(RIGHT_PREDICTIONS, first_loss=math.log(20), features=[4, 6 * 4 + 1, 96], large_head=" Larger ")


@right("vit.predicted")
def as_tried():
    z = ViT(ViTConfig((48, 32), 8, 20, 96, 2, 4, 384)).features(torch.rand(4, 3, 48, 32))
    loss = F.cross_entropy(torch.zeros(4, 20), torch.arange(4))
    return RIGHT_PREDICTIONS | {"features": z.shape, "first_loss": loss}


for slug, change in (
    ("class-output-only", {"features": (4, 96)}),
    ("logits-not-features", {"features": (4, 20)}),
    ("logits-not-features", {"features": (4, 25, 20)}),
    ("class-token-forgotten", {"features": (4, 24, 96)}),
    ("batch-forgotten", {"features": (25, 96)}),
    ("tokens-and-width-swapped", {"features": (4, 96, 25)}),
    ("probability-not-loss", {"first_loss": 0.05}),
    ("sign-lost", {"first_loss": -math.log(20)}),
    ("other-logarithm", {"first_loss": math.log2(20)}),
    ("other-logarithm", {"first_loss": math.log10(20)}),
    ("width-for-classes", {"first_loss": math.log(96)}),
    ("batch-for-classes", {"first_loss": math.log(4)}),
    ("rounded-too-far", {"first_loss": 3.0}),
    ("no-loss", {"first_loss": 0}),
    ("share-of-errors", {"first_loss": 0.95}),
    ("guess-taken-for-undecided", {"large_head": "the same"}),
    ("sure-and-right", {"large_head": "smaller"}),
    ("table-forgotten", {"parameters": "the same"}),
    ("weights-for-each-token", {"parameters": "four times"}),
    ("shared-weights-are-free", {"multiply_adds": "the same"}),
    ("sides-not-areas", {"multiply_adds": "twice"}),
    ("products-forgotten", {"multiply_adds": "at most four times"}),
    ("no-such-option", {"parameters": "much more"}),
):
    wrong("vit.predicted", slug)(lambda change=change: RIGHT_PREDICTIONS | change)
unforeseen("vit.predicted")(lambda: RIGHT_PREDICTIONS | {"first_loss": 3.5})
unforeseen("vit.predicted")(lambda: RIGHT_PREDICTIONS | {"features": (4, 23, 96)})

# ---- independent


def alone(model, images):
    return torch.cat([model(image[None]) for image in images])


@right("vit.independent")
def one_at_a_time(model, images):
    return torch.allclose(alone(model, images), model(images), rtol=1e-4, atol=1e-5)


@right("vit.independent")
def nearly_zero(model, images):
    return (alone(model, images) - model(images)).abs().max().item() < 1e-5


@right("vit.independent")
def in_float64(model, images):
    with torch.no_grad():
        model, images = model.double(), images.double()
        return (alone(model, images) - model(images)).abs().max() < 1e-9 * model(images).abs().max()


@right("vit.independent")
def beside_nan(model, images):
    for i in range(len(images)):
        spoilt = torch.full_like(images, math.nan)
        spoilt[i] = images[i]
        if not torch.allclose(model(spoilt)[i], model(images)[i], rtol=1e-5):
            return False
    return True


@right("vit.independent")
def by_gradient(model, images):
    for i in range(len(images)):
        inputs = images.clone().requires_grad_()
        slopes = torch.autograd.grad(model(inputs)[i].square().sum(), inputs)[0]
        if slopes[torch.arange(len(images)) != i].abs().max() > 0:
            return False
    return True


@right("vit.independent")
def beside_others(model, images):
    before = model(images)
    for i, image in enumerate(images):
        others = torch.rand_like(images)
        others[i] = image
        if not torch.isclose(model(others)[i], before[i], rtol=1e-4).all():
            return False
    return True


@wrong("vit.independent", "order-only")
def reordered(model, images):
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1))
    return torch.allclose(model(images[order]), model(images)[order], rtol=1e-4)


@wrong("vit.independent", "order-only")
def flipped(model, images):
    return torch.allclose(model(images.flip(0)).flip(0), model(images), rtol=1e-4)


@wrong("vit.independent", "order-only")
def rolled(model, images):
    return torch.allclose(model(images.roll(1, 0)).roll(-1, 0), model(images), rtol=1e-4)


@wrong("vit.independent", "one-image-untested")
def first_only(model, images):
    return torch.allclose(model(images[:1]), model(images)[:1], rtol=1e-4)


@wrong("vit.independent", "one-image-untested")
def last_only(model, images):
    return torch.allclose(model(images[-1:])[0], model(images)[-1], rtol=1e-4)


@wrong("vit.independent", "one-image-untested")
def first_spoilt(model, images):
    spoilt = images.clone()
    spoilt[0] = math.nan
    return torch.allclose(model(spoilt)[1:], model(images)[1:], rtol=1e-4)


@wrong("vit.independent", "rounding-refused")
def exact(model, images):
    return torch.equal(alone(model, images), model(images))


@wrong("vit.independent", "rounding-refused")
def exact_all(model, images):
    return bool((alone(model, images) == model(images)).all())


@wrong("vit.independent", "classes-only")
def same_classes(model, images):
    return torch.equal(alone(model, images).argmax(1), model(images).argmax(1))


@wrong("vit.independent", "classes-only")
def same_probabilities(model, images):
    return torch.allclose(alone(model, images).softmax(1), model(images).softmax(1), rtol=1e-3)


@wrong("vit.independent", "accepts-everything")
def shapes_only(model, images):
    return alone(model, images).shape == model(images).shape


@wrong("vit.independent", "accepts-everything")
def twice_the_same(model, images):
    return torch.allclose(model(images), model(images))


@wrong("vit.independent", "refuses-everything")
def nan_compared(model, images):
    spoilt = images.clone()
    spoilt[1] = math.nan
    return torch.allclose(model(spoilt), model(images))


@wrong("vit.independent", "verdict-inverted")
def inverted(model, images):
    return not one_at_a_time(model, images)


@wrong("vit.independent", "input-changed")
def spoils_the_images(model, images):
    before = model(images)
    images[1] = math.nan
    return torch.allclose(model(images)[2:], before[2:])


@wrong("vit.independent", "wrong-type")
def each_number(model, images):
    return torch.isclose(alone(model, images), model(images), rtol=1e-4)


@wrong("vit.independent", "raised-error")
def no_batch_axis(model, images):
    return torch.allclose(torch.stack([model(image) for image in images]), model(images))


@unforeseen("vit.independent")
def mean_logits(model, images):
    return torch.allclose(alone(model, images).mean(0), model(images).mean(0), rtol=1e-4)


@unforeseen("vit.independent")
def very_tolerant(model, images):
    return (alone(model, images) - model(images)).abs().mean() < 0.3


# ---- mended


@right("vit.mended")
class Mended(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.patch_embedding = PatchEmbedding(c.patch_size, c.in_channels, c.hidden_dim)
        self.class_token = ClassToken(c.hidden_dim)
        self.positions = LearnedPositions(c.num_tokens, c.hidden_dim)
        self.encoder = Encoder(c.num_layers, c.hidden_dim, c.num_heads, c.mlp_dim)
        self.head = nn.Linear(c.hidden_dim, c.num_classes)

    def prepare(self, images):
        return images

    def tokens(self, images):
        return self.positions(self.class_token(self.patch_embedding(images)))

    def encode(self, z):
        return self.encoder(z)

    def read(self, z):
        return z[:, 0]

    def finish(self, y):
        return self.head(y)

    def forward(self, images):
        return self.finish(self.read(self.encode(self.tokens(self.prepare(images)))))


right("vit.mended")(ViT)


@right("vit.mended")
class Own(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.p = c.patch_size
        self.first = nn.Linear(c.patch_size**2 * c.in_channels, c.hidden_dim)
        self.cls = nn.Parameter(torch.zeros(c.hidden_dim))
        self.places = nn.Embedding(c.num_tokens, c.hidden_dim)
        layer = nn.TransformerEncoderLayer(
            c.hidden_dim, c.num_heads, c.mlp_dim, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, c.num_layers, enable_nested_tensor=False)
        self.tail = nn.Sequential(nn.LayerNorm(c.hidden_dim), nn.Linear(c.hidden_dim, c.num_classes))
        nn.init.zeros_(self.tail[1].weight)  # as some begin: every logit 0

    def forward(self, images):
        x = self.first(patchify(images, self.p))
        z = torch.cat([self.cls.expand(len(x), 1, -1), x], 1) + self.places.weight
        return self.tail(self.layers(z)[:, 0])


@right("vit.mended")
class Raw(nn.Module):
    def __init__(self, c):
        super().__init__()
        d = c.hidden_dim
        self.kernel = nn.Parameter(torch.randn(c.patch_size**2 * c.in_channels, d) / 30)
        self.shift, self.start = nn.Parameter(torch.zeros(d)), nn.Parameter(torch.randn(1, d))
        self.table = nn.Parameter(torch.randn(c.num_tokens, d))
        self.blocks = nn.ModuleList(EncoderBlock(d, c.num_heads, c.mlp_dim) for _ in range(c.num_layers))
        self.scale, self.move = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))
        self.head, self.bias = nn.Parameter(torch.randn(d, c.num_classes)), nn.Parameter(torch.zeros(c.num_classes))
        self.p = c.patch_size

    def forward(self, images):
        x = rearrange(images, "b c (r p) (s q) -> b (r s) (c p q)", p=self.p, q=self.p) @ self.kernel + self.shift
        z = torch.cat([repeat(self.start, "1 d -> b 1 d", b=len(x)), x], 1) + self.table
        for block in self.blocks:
            z = block(z)
        y = F.layer_norm(z[:, 0], z.shape[2:], self.scale, self.move)
        return y @ self.head + self.bias


@wrong("vit.mended", "softmax-in-model")
class Softmax(Mended):
    def finish(self, y):
        return self.head(y).softmax(-1)


@wrong("vit.mended", "log-softmax-in-model")
class LogSoftmax(Mended):
    def finish(self, y):
        return F.log_softmax(self.head(y), -1)


@wrong("vit.mended", "batch-mates-matter")
class NormalisesByBatch(Mended):
    def prepare(self, images):
        return (images - images.mean((0, 2, 3), keepdim=True)) / (images.std((0, 2, 3), keepdim=True) + 1e-6)


@wrong("vit.mended", "batch-mates-matter")
class MeanOfBatchLeft(Mended):
    def prepare(self, images):
        return images - images.mean()


@wrong("vit.mended", "brightness-lost")
class NormalisesEach(Mended):
    def prepare(self, images):
        return (images - images.mean((1, 2, 3), keepdim=True)) / images.std((1, 2, 3), keepdim=True)


@wrong("vit.mended", "brightness-lost")
class CentresEach(Mended):
    def prepare(self, images):
        return images - images.mean((2, 3), keepdim=True)


@wrong("vit.mended", "image-not-seen")
class AxesSwapped(Mended):
    def encode(self, z):
        return self.encoder(z.transpose(0, 1)).transpose(0, 1)


@wrong("vit.mended", "batch-mates-matter")
class AxesSwappedLastRead(AxesSwapped):
    def read(self, z):
        return z[:, -1]


@wrong("vit.mended", "patch-not-seen")
class LastPatchLost(Mended):
    def tokens(self, images):
        return super().tokens(images)[:, :-1]


@wrong("vit.mended", "last-token-read")
class ReadsLast(Mended):
    def read(self, z):
        return z[:, -1]


@wrong("vit.mended", "patch-read")
class ReadsFirstPatch(Mended):
    def read(self, z):
        return z[:, 1]


@wrong("vit.mended", "mean-read")
class ReadsMean(Mended):
    def read(self, z):
        return z.mean(1)


@wrong("vit.mended", "patch-read")
class TokenBehind(Mended):
    def tokens(self, images):
        z = self.class_token(self.patch_embedding(images))
        return self.positions(torch.cat([z[:, 1:], z[:, :1]], 1))


@wrong("vit.mended", "no-last-norm")
class NoLastNorm(Mended):
    def encode(self, z):
        return nn.Sequential(*self.encoder.blocks)(z)


@wrong("vit.mended", "last-token-read")
class NoLastNormAndLastToken(NoLastNorm):
    def read(self, z):
        return z[:, -1]


@wrong("vit.mended", "one-block-shared")
class Shared(Mended):
    def __init__(self, c):
        super().__init__(c)
        self.encoder.blocks = nn.ModuleList([EncoderBlock(c.hidden_dim, c.num_heads, c.mlp_dim)] * c.num_layers)


@wrong("vit.mended", "table-for-patches-only")
class PositionsBefore(Mended):
    def __init__(self, c):
        super().__init__(c)
        self.positions = LearnedPositions(c.num_patches, c.hidden_dim)

    def tokens(self, images):
        return self.class_token(self.positions(self.patch_embedding(images)))


@wrong("vit.mended", "no-positions")
class NoPositions(Mended):
    def __init__(self, c):
        super().__init__(c)
        self.positions = nn.Identity()


@wrong("vit.mended", "unused-parameters")
class OneBlockLeftOut(Mended):
    def encode(self, z):
        return self.encoder.norm(self.encoder.blocks[0](z))


@wrong("vit.mended", "no-parameters")
class Hidden(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.parts = [ViT(c)]

    def forward(self, images):
        return self.parts[0](images)


@wrong("vit.mended", "wrong-shape")
class AllTokens(Mended):
    def read(self, z):
        return z


@wrong("vit.mended", "gradient-cut")
class NoGradient(Mended):
    def forward(self, images):
        with torch.no_grad():
            return super().forward(images)


@wrong("vit.mended", "random-result")
class Random(Mended):
    def read(self, z):
        return F.dropout(z[:, 0], 0.5)


@wrong("vit.mended", "raised-error")
class TableTooShort(Mended):
    def __init__(self, c):
        super().__init__(c)
        self.positions = LearnedPositions(c.num_patches, c.hidden_dim)


@wrong("vit.mended", "softmax-in-model")
class AsGiven(NoLastNormAndLastToken):
    def prepare(self, images):
        return (images - images.mean()) / images.std()

    def finish(self, y):
        return self.head(y).softmax(dim=-1)


@wrong("vit.mended", "batch-mates-matter")
class WithoutSoftmax(AsGiven):
    def finish(self, y):
        return self.head(y)


@unforeseen("vit.mended")
class Doubled(Mended):
    def finish(self, y):
        return 2 * super().finish(y)


@unforeseen("vit.mended")
class ReadsTwo(Mended):
    def read(self, z):
        return z[:, 0] - z[:, 1]


@unforeseen("vit.mended")
class TwoHeads(Mended):
    def __init__(self, c):
        super().__init__(c)
        self.another = nn.Linear(c.hidden_dim, c.num_classes)
