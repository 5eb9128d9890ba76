"""Loads the whole objective of a run without labels: its model, and the parts that only training needs."""

from pathlib import Path

from vit_course._support.files.check_tensors import check_shapes
from vit_course._support.files.json_files import naming, need_object, read_json
from vit_course._support.files.weights import load_weights
from vit_course.pretrained.bundled import find, load
from vit_course.training.contrastive import Contrastive
from vit_course.training.masked import MaskedAutoencoder
from vit_course.training.objective import Objective
from vit_course.training.recipe import OBJECTIVES
from vit_course.training.run_folder import REST
from vit_course.training.self_distilled import SelfDistillation

KINDS = {kind.name: kind for kind in (MaskedAutoencoder, SelfDistillation, Contrastive)}


def load_objective(name: str | Path) -> Objective:
    """A trained `MaskedAutoencoder`, `SelfDistillation` or `Contrastive` in eval mode, shipped or from a run folder.

    Args:
        name: "mae-cifar", "clip-scenes", or the folder of one of your runs without labels. Of "dino-cifar" only the
            teacher is shipped; `pretrained.load` loads it.

    Raises:
        ValueError: as `pretrained.load`; a run with labels, which has nothing but its model, or a folder without the
            other weights of its objective.
    """
    weights = find(name)
    folder = weights.parent
    if not (folder / "config.json").is_file() or "objective" not in (content := read_json(folder / "config.json")):
        raise ValueError(f"{str(name)!r} was trained with labels, so it has only a model: load it by pretrained.load")
    rest, _ = load_weights(folder / REST)
    with naming(folder / "config.json"):
        options = dict(need_object("objective", content["objective"]))
        name = options.pop("name", None)
        if name not in KINDS or set(options) - set(OBJECTIVES[name]):
            raise ValueError(
                f"objective must be one of {', '.join(KINDS)} with its options, got {content['objective']}"
            )
        objective = KINDS[name](load(weights), **options)
    with naming(folder / REST):
        check_shapes(rest, {key: value.shape for key, value in objective.rest().items()})
    objective.load_state_dict(rest, strict=False)
    return objective.eval()
