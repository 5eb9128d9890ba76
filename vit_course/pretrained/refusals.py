"""What is no state dict of a ViT, and how to say so."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import nn

from vit_course.files.validated import need_dense
from vit_course.pretrained.libraries import LIBRARIES, SIGNS, Library, library_of

# Other architectures by the names of their weights, as timm, Hugging Face, torchvision and the authors' own code have
# them: all patterns are found, `~` in front means in no name. The first kind that fits speaks, so the special ones come
# before the general: what a BEiT shares with a Swin Transformer, and what many kinds have.
KINDS = (
    ("a CaiT", r"blocks_token_only\."),
    ("an XCiT", r"local_mp\."),
    ("a LeViT or EfficientFormer", r"attention_biases$"),
    ("a VOLO", r"(^|\.)network\.\d+\.\d+\."),
    ("a CoaT", r"serial_blocks\d\."),
    ("a CvT", r"convolution_projection"),
    ("an EdgeNeXt", r"\.xca\."),
    ("a PoolFormer", r"stages\.\d+\.blocks\.\d+\.layer_scale1\.scale$|block\.\d+\.\d+\.layer_scale_1$"),
    ("a ConViT", r"gating_param$"),
    ("a TNT, a transformer in a transformer", r"pixel_embed\.|attn_in\."),
    ("a CrossViT", r"blocks\.\d+\.blocks\.\d+\."),
    ("a PiT", r"(^|\.)transformers\.\d+\."),
    ("a Twins transformer", r"patch_embeds\.\d+\."),
    ("an MViT", r"attn\.pool_q\."),
    ("a Hiera", r"(^|\.)blocks\.\d+\.proj\.|hiera\.|stages\.\d+\.layers\.\d+\.attn\.qkv\."),
    ("a YOLOS detector", r"detection_tokens$|det_token$"),
    ("SigLIP in the names of its authors", r"MAPHead"),
    ("CLIP in the names of its authors", r"(^|\.)visual\.|resblocks\."),
    ("a model of text, such as BERT", r"word_embeddings\.|token_embedding\.", r"~vision_model\."),
    ("Segment Anything (SAM)", r"rel_pos_h$", r"(^|\.)neck\."),
    ("a ViTDet, for detection", r"rel_pos_h$|(^|\.)embeddings\.projection\.|simfp_"),
    ("a Swin Transformer V2", r"cpb_mlp\.|continuous_position_bias_mlp\.|attn\.meta_mlp\."),
    ("a MaxViT", r"relative_position_bias_table$|attn_grid\.", r"attn_grid\.|grid_attention|partition_attn|conv2_kxk"),
    ("a BEiT or Data2Vec", r"relative_position_bias_table$", r"\.q_bias$|gamma_1$|lambda_1$|attention\.query\."
                           r"|rel_pos_bias\.", r"~layers\.\d+\.blocks\.\d+\."),
    ("a BEiT or Data2Vec", r"\.lambda_1$", r"layernorm_before\."),
    ("a Swin Transformer", r"relative_position_bias_table$"),
    ("a ViT with relative positions", r"rel_pos\.mlp\."),
    ("a Pyramid Vision Transformer (PVT) or SegFormer", r"attn\.sr\.|(sequence|spatial)_reduction|attention\.self\.sr"),
    ("an MLP-Mixer or a relative of it", r"mlp_tokens\.|linear_tokens\.|mlp_channels\."),
    ("a MobileViT", r"running_mean$", r"mobilevit|stages\.\d+\.\d+\.transformer\.|layer\.\d+\.transformer\.layer\."),
    ("a hybrid, a convolutional network before a ViT", r"patch_embed\.backbone\.|embeddings\.backbone\."),
    ("a convolutional network, such as a ResNet", r"running_mean$"),
    ("a ConvNeXt", r"conv_dw\.|dwconv\.|features\.\d+\.\d+\.layer_scale$"),
    ("a FocalNet", r"modulation\."),
    ("an I-JEPA", r"^ijepa\."),
    ("an I-JEPA, or another ViT without a class token",
     r"embeddings\.position_embeddings$", r"layernorm_before\.", r"~cls_token$", r"~patch_embeddings\.\d"),
    ("a VideoMAE, for films", r"videomae\.|encoder_to_decoder"),
    ("DINOv3, or another ViT with registers and rotary positions",
     r"reg_token$|register_tokens$|storage_tokens$", r"~pos_embed$|position_embeddings$"),
    ("DINOv2's giant, whose MLP is a SwiGLU", r"mlp\.(w12|weights_in|gate_proj)\."),
    ("an AIMv2", r"patch_embed\.norm\.", r"fc1_g\."),
    ("an EVA or EVA-02", r"attn\.q_bias$|rope\.freqs|mlp\.(fc1_g|w1)\.|inner_attn_ln\."),
    ("a ViT that norms its queries and keys", r"\.q_norm\.|\.query_norm\.|\.norm_q\."),
    ("a ViT that learns to fill in masked patches", r"mask_token$", r"layernorm_before\."),
    ("DINO with its training head", r"head\.last_layer\."),
    ("a transformer in several stages", r"(^|\.)(stages|levels|layers)\.\d+\.(blocks|layers|transformer_encoder)\.\d+"),
)  # fmt: skip
STILL_RECORDED = "its attention maps can still be recorded from the model itself, with record_attention or explore"
# Of these, each layer of attention looks at the whole picture at one resolution, so that its maps can be recorded.
RECORDED = (
    *("a BEiT or Data2Vec", "a hybrid, a convolutional network before a ViT", "CLIP in the names of its authors"),
    *("a YOLOS detector", "an I-JEPA", "an I-JEPA, or another ViT without a class token", "an AIMv2"),
    *("DINOv3, or another ViT with registers and rotary positions", "DINOv2's giant, whose MLP is a SwiGLU"),
    *("an EVA or EVA-02", "a ViT with relative positions", "a ViT that norms its queries and keys"),
    "a ViT that learns to fill in masked patches",
)


def checked(state_dict: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A copy of the dict, its tensors shared and without gradients, after a look at what it is.

    Raises:
        ValueError: where it is no dict of tensors by name, or an empty one, or a tensor is not dense.
    """
    if not isinstance(state_dict, Mapping):
        raise ValueError(f"give a state dict, as model.state_dict() gives it, not a {type(state_dict).__name__}")
    if not state_dict:
        raise ValueError("the state dict is empty")
    for kind in ((Mapping, nn.Module), object):  # what holds it, if anything does, before what lies beside it
        for key, value in state_dict.items():
            if isinstance(value, kind) and not (isinstance(key, str) and isinstance(value, torch.Tensor)):
                inside = f": is the state dict inside it? Give what lies under {key!r}" if kind is not object else ""
                raise ValueError(f"key {key!r} holds a {type(value).__name__}, not a tensor{inside}")
    need_dense(state_dict)
    return {key: value.detach() for key, value in state_dict.items()}


@contextmanager
def hinting(library: Library, state: Mapping) -> Iterator[None]:
    """Each `ValueError` from within says at its end what these names look like, where they are not the library's."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error}{looks_like(library, state)}") from error


def missing(library: Library, state: Mapping, key: str) -> ValueError:
    """The error that says which key is not there."""
    if library.keys(SIGNS[0])[0] in state:
        return ValueError(f"key {key!r} is missing")
    return ValueError(f"key {key!r} is missing: this is not the state dict of a {library.name} ViT")


def looks_like(library: Library, state: Mapping) -> str:
    """In brackets, what these names look like where they are not the library's, or nothing."""
    kind = next((kind for kind, *patterns in KINDS if all(_found(pattern, state) for pattern in patterns)), None)
    other, prefix = library_of(state), prefix_of(state)
    found = [f"it looks like {kind}"] if kind else []
    if kind in RECORDED:
        found.append(STILL_RECORDED)
    if other is None and prefix:
        found.append(f"its names begin with {prefix!r}" + ("" if kind else ": take that away from each"))
    elif other and other.name != library.name and not kind:
        found.append(f"its names are those of {other.name}")
    return f" ({'; '.join(found)})" if found else ""


def prefix_of(keys: Iterable[str]) -> str | None:
    """What a wrapper, such as "module.", has put in front of the names of a known library, or None."""
    keys = set(keys)
    for first, second in ([library.keys(sign)[0] for sign in SIGNS] for library in LIBRARIES):
        prefixes = (key.removesuffix(first) for key in keys if key.endswith(f".{first}"))
        prefix = next((prefix for prefix in prefixes if prefix + second in keys), None)
        if prefix:
            return prefix
    return None


def _found(pattern: str, keys: Iterable[str]) -> bool:
    absent = pattern.startswith("~")
    return absent != any(re.search(pattern.removeprefix("~"), key) for key in keys)
