"""An answer to patchify.embedding that is known by its source, which an answer from a table has not."""

from answers import wrong
from vit_course.patches import PatchEmbedding


@wrong("patchify.embedding", "good-size-refused")
class OfOneDataset(PatchEmbedding):
    def forward(self, images):
        assert images.shape[2:] == (224, 224), "224 x 224 expected"
        return super().forward(images)
