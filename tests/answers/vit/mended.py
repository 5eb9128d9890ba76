"""Answers to exercise vit.mended."""

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.embeddings import ClassToken, LearnedPositions
from vit_course.encoder import Encoder, EncoderBlock
from vit_course.patches import PatchEmbedding, patchify
from vit_course.vit import ViT


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


@wrong("vit.mended", "every-token-read")
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


@wrong("vit.mended", "a-token-missing")
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
