"""More answers to exercise vit.mended: what happens to the tokens, the blocks and the last norm."""

from torch import nn

from answers import wrong
from answers.vit.mended import Mended


@wrong("vit.mended", "blocks-twice")
class LoopAndEncoder(Mended):
    """The old loop, followed by the whole encoder."""

    def encode(self, z):
        return self.encoder(nn.Sequential(*self.encoder.blocks)(z))


@wrong("vit.mended", "last-norm-twice")
class LastNormTwice(Mended):
    def encode(self, z):
        return self.encoder.norm(self.encoder(z))


@wrong("vit.mended", "unused-parameters")
class TwoBlocksWhateverL(Mended):
    def encode(self, z):
        return self.encoder.norm(self.encoder.blocks[1](self.encoder.blocks[0](z)))


@wrong("vit.mended", "last-norm-after-every-block")
class NormAfterEveryBlock(Mended):
    def encode(self, z):
        for block in self.encoder.blocks:
            z = self.encoder.norm(block(z))
        return z


@wrong("vit.mended", "batch-of-one")
class Squeezed(Mended):
    def finish(self, y):
        return self.head(y).squeeze()


@wrong("vit.mended", "last-norm-twice")
class EncoderTwice(Mended):
    def encode(self, z):
        return self.encoder(self.encoder(z))


@wrong("vit.mended", "positions-behind-blocks")
class PositionsBehind(Mended):
    def tokens(self, images):
        return self.class_token(self.patch_embedding(images))

    def encode(self, z):
        return self.positions(self.encoder(z))


@wrong("vit.mended", "positions-twice")
class PositionsTwice(Mended):
    def tokens(self, images):
        return self.positions(super().tokens(images))


@wrong("vit.mended", "no-positions")
class PositionsUnused(Mended):
    def tokens(self, images):
        return self.class_token(self.patch_embedding(images))


@wrong("vit.mended", "gradient-cut")
class Detached(Mended):
    def encode(self, z):
        return self.encoder(z).detach()


@wrong("vit.mended", "function-before-head")
class TanhBeforeHead(Mended):
    def finish(self, y):
        return self.head(y.tanh())


@wrong("vit.mended", "tokens-added-up")
class SumOfTokens(Mended):
    def read(self, z):
        return z.sum(dim=1)


@wrong("vit.mended", "patches-mixed")
class Mirrored(Mended):
    def prepare(self, images):
        return images.flip(-1)


@wrong("vit.mended", "norm-too-many")
class NormOfItsOwn(Mended):
    def __init__(self, c):
        super().__init__(c)
        self.norm = nn.LayerNorm(c.hidden_dim)

    def encode(self, z):
        return self.norm(self.encoder(z))
