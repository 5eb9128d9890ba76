"""Recipes: a .toml file and the flags that override it, checked before PyTorch is imported and data are loaded."""

import tomllib
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

from vit_course._support.files.json_files import check_readable
from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import one_of
from vit_course._support.inputs.source_names import check_source
from vit_course.config import ViTConfig
from vit_course.training.recipe import OBJECTIVES, RECIPES, TrainingConfig

# Fields of the model that follow from the data and cannot be set by a flag or a recipe.
FROM_DATA = ("image_size", "in_channels", "num_classes")
OF_THE_DATA = ("image_size", "num_train", "on_disk")  # the flags that belong to [data]
DEFAULT = {
    "data": {"source": "shapes"},
    "model": {"patch_size": 4, "hidden_dim": 64, "num_layers": 4, "num_heads": 4, "mlp_dim": 128},
    "training": {},
}


@dataclass(frozen=True)
class Recipe:
    """The data, the model, the training and the objective of one run.

    Args:
        name: of the recipe's file, or of the data.
        data: the table [data], as `data.from_recipe` takes it.
        model: fields of a `ViTConfig`, without those that follow from the data.
        training: all settings of the training loop.
        objective: one of `OBJECTIVES`.
        options: options of the objective that were set.
    """

    name: str
    data: dict
    model: dict
    training: TrainingConfig
    objective: str
    options: dict


def read_recipe(given: dict) -> Recipe:
    """Reads the recipe that the flags name, and lets the other flags override it.

    Args:
        given: flags by name, only those that the user gave.

    Raises:
        ValueError: no such recipe, invalid TOML, an unknown or missing table or field, a value out of its range, or a
            folder of images that does not exist.
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
    _check_fields("model", ViTConfig, model)
    _check_fields("training", TrainingConfig, training)
    source = data.get("source")  # `data.from_recipe` checks the other fields
    check_source(source, is_folder=isinstance(source, str) and Path(source).is_dir())
    # Built only to check the model's fields; 1 is a placeholder for a size that follows from the data.
    ViTConfig(**model, image_size=data.get("image_size", 1), num_classes=1)
    if objective != "supervised" and model.get("representation_size"):
        raise ValueError(f"representation_size belongs to a head, but {objective} training has none: leave it at 0")
    return Recipe(name, data, model, TrainingConfig(**training), objective, options)


def known_recipes() -> str:
    """Returns the names of the recipes that come with the course."""
    return ", ".join(sorted(path.stem for path in RECIPES.glob("*.toml")))


def fields_of_a_recipe(config: type) -> dict:
    """Returns the fields of a `ViTConfig` or `TrainingConfig` that a recipe and the flags can set, by name."""
    return {field.name: field for field in fields(config) if field.name not in FROM_DATA}


def _objective(part: dict, given: dict) -> tuple[str, dict]:
    options = dict(part)
    name = given.get("objective", options.pop("name", "supervised"))
    one_of(*OBJECTIVES)("objective", name)
    if name != part.get("name", name):
        options = {}  # the recipe's options are those of another objective
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
    check_readable(path)
    try:
        parts = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from error
    if set(parts) - {"objective"} != set(DEFAULT):
        raise ValueError(
            f"{path} has the tables {sorted(parts)}, but a recipe needs {sorted(DEFAULT)} and may have objective"
        )
    for part, values in parts.items():
        if not isinstance(values, dict):
            raise ValueError(f"a recipe's {part} must be a table, [{part}], but {path} has {part} = {values!r}")
    return parts


def _check_fields(part: str, config: type, values: dict) -> None:
    known = fields_of_a_recipe(config)
    for name in values:
        if name not in known:
            raise ValueError(f"a recipe's [{part}] has no {name!r}; it has {', '.join(known)}")
    if missing := [name for name, field in known.items() if field.default is MISSING and name not in values]:
        raise ValueError(f"a recipe's [{part}] needs {', '.join(missing)}")
