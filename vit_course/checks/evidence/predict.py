"""Exercise evidence.predict: predictions of what the maps cannot know."""

import copy

import torch

from vit_course.attention import attention_weights
from vit_course.checks.exercise import exercise
from vit_course.checks.maps.shared import fill, small_model
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import by_answer
from vit_course.maps.recording import record_attention
from vit_course.vit import ViT


@exercise("9.3", "What the maps cannot know", section="Does the attention matter?", difficulty=3, minutes=10)
def predict(answer, draw, parts):
    """`answer()` -> {"head", "mlp_2", "values_4", "values_4_logits", "patch_rows_4_logits", "patch_rows_3_logits"}."""
    received = call(answer)
    model = small_model(draw, draw.sizes(2, 2, 4), 5, 3, 4)
    images = draw.normal(3, 3, *model.config.image_size)

    def look(model: ViT) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad(), record_attention(model) as recorded:
            logits = model(images)
        return recorded.stacked().unbind(dim=1), logits  # L times (B, h, T, T), (B, K)

    def changed(change) -> tuple[int, bool]:
        # How many layers' maps change, and whether the logits do.
        other = copy.deepcopy(model)
        change(other.encoder.blocks, other.head)
        (maps, logits), (new_maps, new_logits) = look(model), look(other)
        return sum(not _same(*both) for both in zip(maps, new_maps, strict=True)), not _same(logits, new_logits)

    def new_values(blocks, head):
        values = blocks[4].attention.qkv.weight.chunk(3)[2]
        values.data.copy_(draw.normal(*values.shape))

    expected = {
        "head": changed(lambda blocks, head: fill(draw, head))[0],
        "mlp_2": changed(lambda blocks, head: fill(draw, blocks[2].mlp))[0],
        **dict(zip(("values_4", "values_4_logits"), changed(new_values), strict=True)),
        "patch_rows_4_logits": changed(lambda blocks, head: _even_patch_rows(blocks[4].attention))[1],
        "patch_rows_3_logits": changed(lambda blocks, head: _even_patch_rows(blocks[3].attention))[1],
    }
    same_answers(received, expected, parts, by_answer(__name__, "by-hand"))


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def _even_patch_rows(layer) -> None:
    def hook(attention, inputs, output):
        q, k, v = attention.split_heads(inputs[0])  # (B, h, T, d) each
        weights = attention_weights(q, k)  # (B, h, T, T)
        weights[:, :, 1:] = 1 / weights.shape[-1]
        return attention.projection((weights @ v).transpose(1, 2).flatten(2))  # (B, T, D)

    layer.register_forward_hook(hook)
