"""Further answers to patchify.embedding: those that take other sizes than they should."""

from torch import nn

from answers import wrong
from answers.patchify.embedding import Convolved


@wrong("patchify.embedding", "border-added")
class WithBorder(Convolved):
    def make(self):
        super().make()
        self.conv = nn.Conv2d(self.C, self.D, self.P, self.P, padding=self.P // 2)


@wrong("patchify.embedding", "square-images-only")
class SquaresOnly(Convolved):
    def forward(self, images):
        if images.shape[2] != images.shape[3]:
            raise ValueError("a square is needed")
        return super().forward(images)


@wrong("patchify.embedding", "good-size-refused")
class OfOneDataset(Convolved):
    def forward(self, images):
        assert images.shape[2:] == (224, 224), "224 x 224 expected"
        return super().forward(images)


@wrong("patchify.embedding", "three-channels-only")
class Colour(Convolved):
    def make(self):
        super().make()
        self.conv = nn.Conv2d(3, self.D, self.P, self.P)
