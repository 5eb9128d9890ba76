"""Exercise pretrained.block: a block of an older file, under this course's names."""

from collections.abc import Mapping

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.pretrained.shared import PARTS
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.tensors import agree, equal, tensor
from vit_course.checks.tools.words import describe
from vit_course.config import ViTConfig
from vit_course.pretrained.libraries import HUGGINGFACE_4
from vit_course.vit import ViT


@exercise("A block of an older file", difficulty=2, minutes=12)
def block(answer, draw):
    """`answer(state, number)`: a state dict of Hugging Face's older names -> that of one of our blocks."""
    for number in (2, 1, 11, 0):
        state, blocks = _older(draw)
        received, expected = call(answer, state, number), blocks[number]
        _names(received, expected, number)
        if all(agree(received[key], expected[key]) for key in expected):
            continue
        for slug, sentence, wrong in _foreseen(blocks, number):
            if all(agree(received[key], wrong[key]) for key in expected):
                raise Wrong(slug, sentence, [f"Input:    number = {number}"])
        for key, value in expected.items():
            received_value = tensor(received[key], value.shape, what=f"{key!r}", dtype=None)
            equal(received_value, value, sentence=f"{key!r} has the right shape, and the wrong numbers.", what=key)


def _older(draw) -> tuple[dict, list[dict]]:
    # (a whole state dict under the older names, our block's state dict by number), all numbers drawn.
    heads, head_dim, mlp = draw.sizes(3)
    width = heads * head_dim
    config = ViTConfig(8, 4, 5, width, num_layers=12, num_heads=heads, mlp_dim=mlp + width)
    ours = {key: draw.normal(*value.shape) for key, value in ViT(config).state_dict().items()}
    state = {}
    for key, value in ours.items():
        names = HUGGINGFACE_4.keys(key)
        state.update(zip(names, (part.clone() for part in value.chunk(len(names))), strict=True))
    begin = "encoder.blocks.{}."
    blocks = [
        {key.removeprefix(begin.format(i)): v for key, v in ours.items() if key.startswith(begin.format(i))}
        for i in range(12)
    ]
    return state, blocks


def _names(received, expected: dict, number: int) -> None:
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict is expected.")
    if set(received) == set(expected):
        return
    missing = [key for key in expected if key not in received]
    extra = [key for key in received if key not in expected]
    details = [
        f"Missing:       {missing[0] if missing else 'none'}",
        f"Not asked for: {describe(extra[0]) if extra else 'none'}",
    ]
    words = [key for key in extra if isinstance(key, str)]
    if any(key.startswith("encoder.blocks.") for key in words):
        raise Wrong(
            "names-of-the-whole", "The names are those of a whole model: a block does not know its number.", details
        )
    if any("layernorm_" in key or "dense" in key for key in words):
        raise Wrong("names-kept", "Names of the older file are still in the result.", details)
    if "attention.qkv.weight" in missing and "mlp.expand.weight" not in missing:
        raise Wrong(
            "not-fused", "Our block has one tensor for query, key and value; the result has none of its name.", details
        )
    if missing and all(key.endswith(".bias") for key in missing):
        raise Wrong("biases-forgotten", "Weights came over, and biases did not.", details)
    raise Wrong("wrong-names", "The names are not those of our block.", details)


def _foreseen(blocks: list[dict], number: int):
    right, other = blocks[number], blocks[(number + 1) % 12]
    yield "next-block", "These are the tensors of the next block: blocks are counted from 0.", other
    if number == 1:
        for ten in (10, 11):
            sentence = f"These are the tensors of block {ten}, whose number begins as that of the block asked for."
            yield "a-later-block", sentence, blocks[ten]
    yield "last-block", "Whatever block is asked for, these are the tensors of the last one.", blocks[11]
    yield "first-block", "Whatever block is asked for, these are the tensors of the first one.", blocks[0]
    swapped = {"norm1": "norm2", "norm2": "norm1"}
    moved = {key: right[key.replace(key[:5], swapped.get(key[:5], key[:5]))] for key in right}
    yield "norms-swapped", "The norm before attention and the one after it are exchanged.", moved
    fused = {key: right[key].chunk(3) for key in right if ".qkv." in key}
    for order in ((0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        words = ", ".join(list(PARTS.values())[i] for i in order)
        mixed = {key: torch.cat([parts[i] for i in order]) for key, parts in fused.items()}
        yield "wrong-order", f"The fused tensors hold {words}, in this order.", right | mixed
    alternating = {key: torch.stack(parts, dim=1).flatten(0, 1) for key, parts in fused.items()}
    yield "rows-alternate", "The rows of query, key and value alternate in the fused tensors.", right | alternating
    turned = {key: value.T for key, value in right.items() if key == "attention.projection.weight"}
    yield "projection-transposed", "The weight of attention's output projection is transposed.", right | turned
    turned = {key: torch.cat([part.T for part in parts]) for key, parts in fused.items() if key.endswith("weight")}
    yield "transposed", "The weights of query, key and value are transposed.", right | turned
