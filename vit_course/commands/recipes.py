"""Recipes: a .toml file and the flags put over it, looked at before PyTorch is imported and before data are made."""

import tomllib
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import one_of
from vit_course._support.inputs.sources import need_source
from vit_course.config import ViTConfig
from vit_course.training.recipe import OBJECTIVES, RECIPES, TrainingConfig

# What the data decide, and so neither a flag nor a recipe does.
FROM_DATA = ("image_size", "in_channels", "num_classes")
OF_THE_DATA = ("image_size", "num_train", "on_disk")  # the flags
DEFAULT = {
    "data": {"source": "shapes"},
    "model": {"patch_size": 4, "hidden_dim": 64, "num_layers": 4, "num_heads": 4, "mlp_dim": 128},
    "training": {},
}


@dataclass(frozen=True)
class Recipe:
    """What a run trains, on what, and how.

    Args:
        name: of the file, or of the data.
        data: for `data.from_recipe`.
        model: fields of a `ViTConfig`, without those that the data decide.
        training: the rest.
        objective: one of `OBJECTIVES`.
        options: of the objective, those that differ from its defaults.
    """

    name: str
    data: dict
    model: dict
    training: TrainingConfig
    objective: str
    options: dict


def read_recipe(given: dict) -> Recipe:
    """-> the recipe that the flags name, with the flags put over it.

    Args:
        given: flags by name, those alone that the user gave.

    Raises:
        ValueError: no such recipe, no valid TOML, a part or a name too many or too few, a value out of its range, a
            folder of images that is not there.
    """
    if "recipe" in given:
        path = _find(given["recipe"])
        name, parts = path.stem, _read(path)
    else:
        name, parts = Path(given.get("data", DEFAULT["data"]["source"])).name, DEFAULT
    data, model, training = (dict(parts[part]) for part in DEFAULT)
    objective, options = _objective(parts.get("objective", {}), given)
    if "data" in given and given["data"] != data.get("source"):
        data = {"source": given["data"]}
    data |= {key: given[key] for key in OF_THE_DATA if key in given}
    model |= {key: given[key] for key in fields_of_a_recipe(ViTConfig) if key in given}
    training |= {key: given[key] for key in fields_of_a_recipe(TrainingConfig) if key in given}
    _need_fields("model", ViTConfig, model)
    _need_fields("training", TrainingConfig, training)
    source = data.get("source")  # what else a [data] may say, `data.from_recipe` knows
    need_source(source, is_folder=isinstance(source, str) and Path(source).is_dir())
    # What is wrong with the model whatever the data are; 1 stands for what they decide and no flag has said.
    ViTConfig(**model, image_size=data.get("image_size", 1), num_classes=1)
    if objective != "supervised" and model.get("representation_size"):
        raise ValueError(f"representation_size is of the head, and the objective {objective} has none: leave it at 0")
    return Recipe(name, data, model, TrainingConfig(**training), objective, options)


def known_recipes() -> str:
    """The names of those that come with the course."""
    return ", ".join(sorted(path.stem for path in RECIPES.glob("*.toml")))


def fields_of_a_recipe(config: type) -> dict:
    """-> the fields of a `ViTConfig` or `TrainingConfig` that a recipe and the flags can set, by name."""
    return {field.name: field for field in fields(config) if field.name not in FROM_DATA}


def _objective(part: dict, given: dict) -> tuple[str, dict]:
    options = dict(part)
    name = given.get("objective", options.pop("name", "supervised"))
    one_of(*OBJECTIVES)("objective", name)
    if name != part.get("name", name):
        options = {}  # they belong to another one
    options |= {key: given[key] for each in OBJECTIVES.values() for key in each if key in given}
    for key in options:
        if key not in OBJECTIVES[name]:
            raise ValueError(
                f"the objective {name} has no {key!r}; it has {', '.join(OBJECTIVES[name]) or 'no options'}"
            )
    check_arguments(**options)
    return name, options


def _find(name: str) -> Path:
    for path in (RECIPES / f"{name}.toml", Path(name)):
        if path.is_file():
            return path
    raise ValueError(f"there is no recipe {name!r}; the recipes are {known_recipes()}; or give the path of a file")


def _read(path: Path) -> dict:
    try:
        parts = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from error
    if set(parts) - {"objective"} != set(DEFAULT):
        raise ValueError(
            f"{path} has the parts {sorted(parts)}, a recipe has {sorted(DEFAULT)}, and may have objective"
        )
    for part, values in parts.items():
        if not isinstance(values, dict):
            raise ValueError(f"a recipe's {part} is a table, [{part}]; {path} has {part} = {values!r}")
    return parts


def _need_fields(part: str, config: type, values: dict) -> None:
    known = fields_of_a_recipe(config)
    for name in values:
        if name not in known:
            raise ValueError(f"a recipe's [{part}] has no {name!r}; it has {', '.join(known)}")
    if missing := [name for name, field in known.items() if field.default is MISSING and name not in values]:
        raise ValueError(f"a recipe's [{part}] needs {', '.join(missing)}")
