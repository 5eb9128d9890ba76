"""Answers to exercise capstone.vit."""

from torch import nn

from answers import UNKNOWN, Answers
from vit_course.patches import PatchEmbedding

answers = Answers("capstone.vit")
MyBlock, MyPatches, MyTokens = answers.given("MyBlock", "MyPatches", "MyTokens")

answers.edits(
    ("last-token-read", "[:, 0]", "[:, -1]"),
    ("other-shapes", "nn.Linear(hidden_dim, num_classes)", "nn.Linear(hidden_dim, 10)"),
    ("one-head", "hidden_dim, num_heads, mlp_dim)", "hidden_dim, 1, mlp_dim)"),
    ("count-not-int", "(image_size[1] // patch_size)", "(image_size[1] / patch_size)"),
    ("other-names", "self.patches", "self.embedding"),
    (UNKNOWN, "[:, 0]", "[:, 1]"),
)


class Parts(nn.Module):
    def __init__(self, image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim):
        super().__init__()
        num_patches = image_size[0] * image_size[1] // patch_size**2
        self.patches = MyPatches(patch_size, in_channels, hidden_dim)
        self.tokens = MyTokens(num_patches, hidden_dim)
        self.blocks = nn.ModuleList(MyBlock(hidden_dim, num_heads, mlp_dim) for _ in range(num_layers))
        self.norm = nn.LayerNorm(hidden_dim)
        self.head = nn.Linear(hidden_dim, num_classes)

    def encode(self, images):
        x = self.tokens(self.patches(images))
        for block in self.blocks:
            x = block(x)
        return x


@answers.right
class NormOfOneToken(Parts):
    def forward(self, images):
        return self.head(self.norm(self.encode(images)[:, 0]))


@answers.right
class BlocksInSequential(Parts):
    def __init__(self, image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim):
        super().__init__(image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim)
        self.patches = PatchEmbedding(patch_size, in_channels, hidden_dim)
        self.blocks = nn.Sequential(*self.blocks)
        self.norm = nn.LayerNorm(hidden_dim, eps=1e-6)

    def forward(self, images):
        return self.head(self.norm(self.blocks(self.tokens(self.patches(images))))[:, 0])


class TanhBlock(MyBlock):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.contract(nn.functional.gelu(self.expand(self.norm2(x)), approximate="tanh"))


@answers.right
class TanhBlocks(NormOfOneToken):
    def __init__(self, image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim):
        super().__init__(image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim)
        self.blocks = nn.ModuleList(TanhBlock(hidden_dim, num_heads, mlp_dim) for _ in range(num_layers))


@answers.wrong("parameters-missing")
class NoNorm(Parts):
    def __init__(self, *sizes, **named_sizes):
        super().__init__(*sizes, **named_sizes)
        self.norm = nn.Identity()

    def forward(self, images):
        return self.head(self.norm(self.encode(images))[:, 0])


@answers.wrong("shared-parameters")
class OneBlock(NormOfOneToken):
    def __init__(self, *sizes, **named_sizes):
        super().__init__(*sizes, **named_sizes)
        self.blocks = nn.ModuleList([self.blocks[0]] * len(self.blocks))


@answers.wrong("no-last-norm")
class NormUnused(Parts):
    def forward(self, images):
        return self.head(self.encode(images)[:, 0])


@answers.wrong("softmax-in-model")
class Probabilities(NormOfOneToken):
    def forward(self, images):
        return super().forward(images).softmax(dim=-1)


@answers.wrong("mean-read")
class MeanOfTokens(Parts):
    def forward(self, images):
        return self.head(self.norm(self.encode(images)).mean(1))


@answers.wrong("batch-mates-matter")
class BatchNormalised(NormOfOneToken):
    def forward(self, images):
        return super().forward(images - images.mean(0))
