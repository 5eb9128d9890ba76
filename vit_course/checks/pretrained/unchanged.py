"""Exercise pretrained.unchanged: which changes of the numbers leave a network what it was."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import values
from vit_course.config import ViTConfig
from vit_course.vit import ViT

BLOCK = "encoder.blocks.1."
QKV, EXPAND = BLOCK + "attention.qkv.", BLOCK + "mlp.expand."
NORM, CONTRACT = BLOCK + "norm1.", BLOCK + "mlp.contract.weight"


@exercise("10.3", "Other numbers, the same network?", section="Six faults in a correct model", difficulty=3, minutes=10)
def unchanged(answer, draw, parts):
    """`answer()` -> {"key_bias", "scaled", "heads", "hidden", "gelu", "norm"}, a bool each."""
    received = call(answer)
    config = ViTConfig(8, 4, num_classes=5, hidden_dim=12, num_layers=3, num_heads=3, mlp_dim=20)
    state = {key: draw.normal(*value.shape, dtype=torch.float64) for key, value in ViT(config).state_dict().items()}
    images = draw.normal(4, 3, 8, 8, dtype=torch.float64)

    def output(numbers: dict) -> torch.Tensor:
        model = ViT(config).double().eval()
        model.load_state_dict(numbers)
        with torch.no_grad():
            return model(images)

    right = output(state)
    changes = _changes(state, draw, config)
    expected = {name: torch.allclose(output(state | change), right, atol=1e-8) for name, change in changes.items()}
    wrong = {name: {not expected[name]: why} for name, why in values(__name__, "wrong").items()}
    same_answers(received, expected, parts, wrong)


def _changes(state: dict, draw, config: ViTConfig) -> dict[str, dict]:
    # What each change puts in the place of the model's tensors.
    width, head = config.hidden_dim, config.hidden_dim // config.num_heads
    weight, bias = state[QKV + "weight"], state[QKV + "bias"]
    constant = torch.cat([torch.zeros(width), draw.normal(width), torch.zeros(width)])
    factors = torch.tensor([2.0, 0.5, 1.0], dtype=weight.dtype).repeat_interleave(width)
    exchanged = torch.arange(3 * width).view(3, config.num_heads, head)[:, [1, 0, *range(2, config.num_heads)]]
    order = draw.permutation(config.mlp_dim)
    expand = {EXPAND + kind: state[EXPAND + kind] for kind in ("weight", "bias")}
    return {
        "key_bias": {QKV + "bias": bias + constant},
        "scaled": {QKV + "weight": factors[:, None] * weight, QKV + "bias": factors * bias},
        "heads": {QKV + "weight": weight[exchanged.flatten()], QKV + "bias": bias[exchanged.flatten()]},
        "hidden": {key: value[order] for key, value in expand.items()} | {CONTRACT: state[CONTRACT][:, order]},
        "gelu": {key: 2 * value for key, value in expand.items()} | {CONTRACT: state[CONTRACT] / 2},
        "norm": {
            QKV + "weight": weight / 2,
            **{NORM + kind: 2 * state[NORM + kind] for kind in ("weight", "bias")},
        },
    }
