"""What the configuration files of timm and Hugging Face say, and the model that their weights then make."""

from collections.abc import Mapping

from vit_course._support.files.records import naming, need_object, read_json
from vit_course._support.files.validated import check_names
from vit_course._support.inputs.rules import shown
from vit_course.pretrained.convert import load_said
from vit_course.pretrained.download import Find, read_weights
from vit_course.pretrained.factory import changed
from vit_course.pretrained.metadata import TIMM_HARMLESS, TIMM_SIZES, by_huggingface, by_timm_name, check_size
from vit_course.pretrained.preprocessing import Preprocessing
from vit_course.pretrained.variants import new_model
from vit_course.vit import ViT

EMBEDDINGS = (512, 640, 768, 896, 1024, 1280)  # how many numbers the projections of published CLIPs give

Parts = tuple[ViT, Preprocessing, list[str] | None]


def from_timm(config: dict, find: Find) -> Parts:
    """The config.json of a timm model -> (model, preprocessing, class names).

    The names are [] where they are unknown, and None where the head gives no classes.

    Raises:
        ValueError: another architecture than those of `said.TIMM`, an argument that ours has not, or weights that do
            not fit.
    """
    with naming("config.json"):
        published = need_object("pretrained_cfg", config.get("pretrained_cfg", config))  # older files are not nested
        arguments = _timm_arguments(config)
        said = by_timm_name(config["architecture"], arguments, config.get("global_pool"))
        names = _timm_names(config, published)
        preprocess = Preprocessing.from_timm(published)
    state = read_weights(find)
    with naming("the weights"):
        model = load_said(state, said, None, timm=True)
    _compare(model, {ours: arguments.get(key) for key, ours in TIMM_SIZES.items()})
    if not names and "_clip_" in config["architecture"] and model.config.num_classes in EMBEDDINGS:
        return model, preprocess, None  # a projection's numbers are no classes
    if not names and model.config.num_classes == 1000:
        names = imagenet()  # timm itself takes a thousand classes for ImageNet's
    return model, preprocess, names


def _timm_arguments(config: dict) -> dict:
    arguments = need_object("model_args", config.get("model_args") or {})
    unknown = sorted(arguments.keys() - TIMM_SIZES - TIMM_HARMLESS)
    if unknown:
        raise ValueError(f"our ViT has nothing like timm's argument {unknown[0]}={shown(arguments[unknown[0]])}")
    for name, ours in {**TIMM_SIZES, "num_heads": "num_heads"}.items():
        if arguments.get(name) is not None:
            check_size(name, ours, arguments[name])
    return arguments


def _timm_names(config: dict, published: dict) -> list[str]:
    names = config.get("label_names") or published.get("label_names") or []
    check_names(names, len(names) if isinstance(names, list) else 0)
    described = config.get("label_descriptions") or published.get("label_descriptions")
    return [described.get(name, name) if isinstance(described, Mapping) else name for name in names]


def from_huggingface(config: dict, find: Find) -> Parts:
    """As `from_timm`, of the config.json and preprocessor_config.json of a Hugging Face model.

    Raises:
        ValueError: another architecture, a file that is missing, or weights that do not fit.
    """
    with naming("config.json"):
        kinds = config.get("architectures") or [config.get("model_type") or "model of an unnamed architecture"]
        kind = kinds[0] if isinstance(kinds, list) else kinds
        kind = kind if isinstance(kind, str) else shown(kind)
        said, sizes = by_huggingface(config, kind)
    path = find("preprocessor_config.json", "processor_config.json")
    if path is None:
        raise ValueError(
            "there is no preprocessor_config.json, which says what the model takes: save the image processor there "
            "too, or load the weights alone with load_huggingface"
        )
    content = read_json(path)
    with naming(path.name):
        preprocess = Preprocessing.from_huggingface(content)
    state = read_weights(find)
    if any("pooler." in key for key in state) and config.get("pooler_act", "tanh") != "tanh":
        raise ValueError(f"pooler_act must be 'tanh', got {shown(config['pooler_act'])}")
    with naming("the weights"):
        model = load_said(state, said, None, timm=False)
    _compare(model, sizes)
    if "Classification" not in kind:
        return model, preprocess, None  # a projection's numbers are no classes
    with naming("config.json"):
        return model, preprocess, _labels(config.get("id2label"), model.config.num_classes)


def _labels(labels: object, count: int) -> list[str]:
    if not labels:
        return []
    labels = need_object("id2label", labels)
    if len(labels) == count and (absent := [i for i in range(count) if str(i) not in labels]):
        raise ValueError(f"id2label must have the keys '0' to '{count - 1}', and has no {str(absent[0])!r}")
    names = [labels.get(str(i)) for i in range(len(labels))]
    with naming("id2label"):
        check_names(names, count)
    return names


def rebuilt(model: ViT, num_classes: int) -> ViT:
    """The same weights with a fresh head for so many classes, or without one for 0, in eval mode."""
    other = new_model(changed(model.config, num_classes=num_classes)).to(model.patch_embedding.projection.weight)
    kept = {key: value for key, value in model.state_dict().items() if not key.startswith("head.")}
    other.load_state_dict(kept | {f"head.{key}": value for key, value in other.head.state_dict().items()})
    return other.eval()


def imagenet() -> list[str]:
    """The names of the 1,000 classes of ImageNet, as torchvision has them; none where it is not installed."""
    try:
        from torchvision.models import ViT_B_16_Weights
    except ModuleNotFoundError:
        return []
    return list(ViT_B_16_Weights.IMAGENET1K_V1.meta["categories"])


def _compare(model: ViT, said: Mapping) -> None:
    for name, value in said.items():
        found = getattr(model.config, name)
        if name == "image_size" and isinstance(value, int):
            value = (value, value)
        value = tuple(value) if isinstance(value, list) else value
        if value not in (None, found, (found, found)):
            raise ValueError(f"config.json says {name} {value}, but the weights have {found}")
