"""The names that other code bases give to the parameters of a ViT and its variants."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vit_course.maps.models import families
from vit_course.maps.models.families import CLASS, Family


@dataclass(frozen=True)
class ParameterNames:
    """The names of the parameters of a ViT in one code base.

    Args:
        name: as in error messages.
        tokens: our name -> theirs, for parameters that are not layers: the class token, the position table, and the
            extra tokens of some families.
        layers: our layer -> theirs, `{}` standing for weight or bias.
        block: the beginning of the names in block `{}`.
        in_block: as `layers`, within a block. Three names are separate layers for query, key and value; ours is one.
        norm_epsilon: of the norms in its published models; it cannot be read from the weights.
        fixed: the fields of a `ViTConfig` that have only one value in this library.
        scales: our layer in a block -> their LayerScale after it.
        two_heads: the layers of a distilled model, for the class token and for the distillation token.
        left_out: a pattern for names that do not affect the output for a picture: of masks, decoders, text and buffers.
        head_reads: what the classifier reads, as `VariantConfig.reads`, if it is not what ours reads.
        pooling: the beginning of the names of an attention pooling.
        signs: our names of more parameters that must be there, to tell it from libraries that share `SIGNS`.
    """

    name: str
    tokens: dict[str, str]
    layers: dict[str, str]
    block: str
    in_block: dict[str, str | tuple[str, str, str]]
    norm_epsilon: float
    fixed: dict[str, str | bool | int]
    scales: dict[str, str] = field(default_factory=dict)
    two_heads: tuple[str, str] | None = None
    left_out: str = r"(?!)"
    signs: tuple[str, ...] = ()
    head_reads: str | None = None
    pooling: str = "?"

    def keys(self, ours: str) -> tuple[str, ...]:
        """The name of one of our parameters -> theirs: one name, or three for query, key and value."""
        if ours in self.tokens:
            return (self.tokens[ours],)
        layer, kind = ours.rsplit(".", 1)
        names, begin = self.layers, ""
        if layer.startswith("encoder.blocks."):
            _, _, number, layer = layer.split(".", 3)
            names, begin = self.in_block, self.block.format(number)
        theirs = names[layer]
        return tuple(begin + name.format(kind) for name in ((theirs,) if isinstance(theirs, str) else theirs))

    def depth(self, keys: Iterable[str]) -> int:
        """The number of different blocks in these names; a block that is missing between others is not counted."""
        number = re.compile(re.escape(self.block).replace(r"\{\}", r"(\d+)"))
        return len({found[1] for key in keys if (found := number.match(key))})

    def within(self, prefix: str, old: str = "vit.") -> "ParameterNames":
        """Returns a copy in which the names of the backbone begin with `prefix`, empty for a backbone alone."""

        def renamed(key: str) -> str:
            return prefix + key.removeprefix(old) if key.startswith(old) else key

        tokens = {ours: renamed(key) for ours, key in self.tokens.items()}
        layers = {ours: renamed(key) for ours, key in self.layers.items()}
        return replace(self, tokens=tokens, layers=layers, block=renamed(self.block), pooling=renamed(self.pooling))


def _read() -> dict[str, ParameterNames]:
    # Reads libraries.toml, in which an entry may be `like` an earlier one and state the differences only. What the
    # entry's family says for recording too, its blocks, tokens, patches and norm, stands in `families` alone.
    found: dict[str, ParameterNames] = {}
    for key, given in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items():
        said: dict[str, Any] = dict(vars(found[given.pop("like")])) if "like" in given else {}
        if "family" in given:
            given = _merged(_of_family(getattr(families, given.pop("family")), given.pop("prefix", "")), given)
        for part, value in given.items():
            if isinstance(value, dict):
                entries = said.get(part, {}) | value
                said[part] = {ours: _held(theirs) for ours, theirs in entries.items() if theirs != ""}
            else:
                said[part] = _held(value) or None
        found[key] = ParameterNames(**said)
    return found


def _of_family(family: Family, prefix: str) -> dict[str, Any]:
    # The fields of an entry that follow from a family, where all names begin with `prefix`.
    tokens = {OUR_TOKENS[name]: prefix + path for name, path in family.tokens.items()}
    layers = {"patch_embedding.projection": f"{prefix}{family.patches}.{{}}"}
    layers |= {"encoder.norm": f"{prefix}{family.norm}.{{}}"} if family.norm else {}
    return {"block": f"{prefix}{family.blocks}.{{}}.", "tokens": tokens, "layers": layers}


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    # Two entries, of which the second counts where both say something.
    merged = first | second
    for part in first.keys() & second.keys():
        if isinstance(first[part], dict):
            merged[part] = first[part] | second[part]
    return merged


def _held(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


OUR_TOKENS = {CLASS: "class_token.token", "register": "registers.tokens", "distillation token": "distillation"}
_LIBRARIES = _read()
TORCHVISION, TORCHVISION_1 = _LIBRARIES["TORCHVISION"], _LIBRARIES["TORCHVISION_1"]
TIMM, DINOV2_AUTHORS = _LIBRARIES["TIMM"], _LIBRARIES["DINOV2_AUTHORS"]
HUGGINGFACE, VIT_PYTORCH = _LIBRARIES["HUGGINGFACE"], _LIBRARIES["VIT_PYTORCH"]
OURS = ParameterNames(
    name="vit_course",
    tokens={name: name for name in TIMM.tokens if name != "distillation"},
    layers={name: f"{name}.{{}}" for name in VIT_PYTORCH.layers | TIMM.layers},
    block=f"{families.OURS.blocks}.{{}}.",
    in_block={name: f"{name}.{{}}" for name in TIMM.in_block},
    norm_epsilon=1e-6,
    fixed={},
)
# Hugging Face's kinds of models, each with the possible beginnings of its backbone's names; "" is a backbone alone.
HUGGINGFACE_KINDS = tuple(
    _LIBRARIES[name].within(prefix)
    for name, prefixes in (
        ("HUGGINGFACE", ("vit.", "deit.", "")),
        ("HUGGINGFACE_4", ("vit.", "deit.", "")),
        ("DINOV2", ("dinov2.", "dinov2_with_registers.", "")),
        ("DINOV2_4", ("dinov2.", "dinov2_with_registers.", "")),
        ("SIGLIP", ("vision_model.", "")),
        ("CLIP", ("vision_model.", "")),
    )
    for prefix in prefixes
)
LIBRARIES = (OURS, TORCHVISION, TIMM, *HUGGINGFACE_KINDS, VIT_PYTORCH)

# Our names of two parameters whose names identify a library.
SIGNS = ("patch_embedding.projection.weight", "encoder.blocks.0.norm1.weight")


def names_of(keys: Iterable[str], among: Iterable[ParameterNames] = LIBRARIES) -> ParameterNames | None:
    """The library whose names these parameters or modules have, or None."""
    keys = set(keys)
    return next((each for each in among if all(each.keys(sign)[0] in keys for sign in (*SIGNS, *each.signs))), None)
