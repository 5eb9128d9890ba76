"""Answers to exercise vit.mended."""

import torch
import torch.nn.functional as F

from answers import UNKNOWN, Answers
from vit_course.vit import ViT

answers = Answers("vit.mended")
(FaultyViT,) = answers.given("FaultyViT")

answers.edits(
    ("last-token-read", "z[:, 0]", "z[:, -1]"),
    ("other-shapes", "c.num_tokens", "c.num_patches"),
    ("other-names", "self.encoder", "self.blocks"),
    (UNKNOWN, "z[:, 0]", "z[:, 1]"),
)
answers.right(ViT)
answers.wrong("still-faulty")(FaultyViT)


@answers.right
class Functional(FaultyViT):
    def forward(self, images):
        projection = self.patch_embedding.projection
        x = F.conv2d(images, projection.weight, projection.bias, stride=projection.stride)
        z = torch.cat([self.class_token.token.repeat(len(x), 1, 1), x.flatten(2).mT], 1) + self.positions.table
        for block in self.encoder.blocks:
            z = z + block.attention(block.norm1(z))
            z = z + block.mlp(block.norm2(z))
        return self.head(self.encoder.norm(z[:, 0]))


@answers.right
class BlockByBlock(FaultyViT):
    def forward(self, images):
        z = self.class_token(self.patch_embedding(images))
        z = self.positions(z)
        for block in self.encoder.blocks:
            z = block(z)
        z = self.encoder.norm(z)
        return self.head(z.select(1, 0))


@answers.wrong("bugs-left")
class FirstBugRepaired(FaultyViT):
    def forward(self, images):
        z = self.class_token(self.patch_embedding(images))
        z = self.positions(z)
        for block in self.encoder.blocks:
            z = block(z)
        y = z[:, -1]
        return self.head(y).softmax(dim=-1)


@answers.wrong("batch-mates-matter")
class ImagesOfTheBatch(FaultyViT):
    def forward(self, images):
        z = self.positions(self.class_token(self.patch_embedding(images - images.mean(0))))
        return self.head(self.encoder(z)[:, 0])


@answers.wrong("brightness-lost")
class EachImage(FaultyViT):
    def forward(self, images):
        mean, std = images.mean((1, 2, 3), keepdim=True), images.std((1, 2, 3), keepdim=True)
        z = self.positions(self.class_token(self.patch_embedding((images - mean) / std)))
        return self.head(self.encoder(z)[:, 0])
