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
    (rows, columns), batch = draw.sizes(2, 2, 4), 3
    model = small_model(draw, (rows, columns), 5, 3, 4)
    images = draw.normal(batch, 3, *model.config.image_size)
    logits, maps = _look(model, images)

    def changed(change):
        """How many layers' maps change, and whether the logits do."""
        other = copy.deepcopy(model)
        change(other)
        new_logits, new_maps = _look(other, images)
        layers = sum(not _same(maps[:, layer], new_maps[:, layer]) for layer in range(maps.shape[1]))
        return layers, not _same(logits, new_logits)

    def new_values(other):
        with torch.no_grad():
            values = other.encoder.blocks[4].attention.qkv.weight[-other.config.hidden_dim :]
            values.copy_(draw.normal(*values.shape))

    values = changed(new_values)
    same_answers(
        received,
        {
            "head": changed(lambda other: fill(draw, other.head))[0],
            "mlp_2": changed(lambda other: fill(draw, other.encoder.blocks[2].mlp))[0],
            "values_4": values[0],
            "values_4_logits": values[1],
            "patch_rows_4_logits": changed(lambda other: _even_patch_rows(other, 4))[1],
            "patch_rows_3_logits": changed(lambda other: _even_patch_rows(other, 3))[1],
        },
        parts,
        mistakes=by_answer(__name__, "by-hand"),
    )


def _look(model: ViT, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad(), record_attention(model) as recorded:
        logits = model(images)
    return logits, recorded.stacked()  # (B, K), (B, L, h, T, T)


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def _even_patch_rows(model: ViT, layer: int) -> None:
    def hook(attention, inputs, output):
        q, k, v = attention.split_heads(inputs[0])  # (B, h, T, d) each
        weights = attention_weights(q, k)  # (B, h, T, T)
        weights[:, :, 1:] = 1 / weights.shape[-1]
        return attention.projection((weights @ v).transpose(1, 2).flatten(2))  # (B, T, D)

    model.encoder.blocks[layer].attention.register_forward_hook(hook)
