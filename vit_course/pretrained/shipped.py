"""The checkpoints that come with the course, and those of a learner's own runs."""

from pathlib import Path

import torch

from vit_course.checkpoints import load_weights
from vit_course.config import ViTConfig
from vit_course.vit import ViT

# In a checkout the checkpoints lie in res/, one folder a training run; a built wheel carries them inside the package.
_FOLDERS = (Path(__file__).parents[2] / "res", Path(__file__).parents[1] / "checkpoints")


def load(name: str) -> ViT:
    """A trained `ViT`, in eval mode: by the name of a shipped checkpoint ("shapes") or by the path of one of yours.

    Raises:
        ValueError: no such checkpoint (the shipped ones are listed), a damaged one, or one that is not a ViT's.
    """
    runs = {path.parent.name: path for folder in _FOLDERS for path in sorted(folder.glob("*/best.safetensors"))}
    path = runs.get(name, Path(name))
    if not path.is_file():
        raise ValueError(f"there is no checkpoint {name!r}; shipped are {', '.join(map(repr, runs)) or 'none'}")
    state, metadata = load_weights(path)
    if "config" not in metadata:
        raise ValueError(f"{path} holds no ViTConfig, so it is not a checkpoint of a vit_course ViT")
    return _fill(ViT(ViTConfig(**metadata["config"])), state)


def _fill(model: ViT, state: dict[str, torch.Tensor]) -> ViT:
    for key, ours in model.state_dict().items():
        if key not in state:
            raise ValueError(f"key {key!r} is missing")
        if state[key].shape != ours.shape:
            raise ValueError(f"key {key!r} has shape {tuple(state[key].shape)}, {tuple(ours.shape)} is needed")
    model.load_state_dict(state)
    return model.eval()
