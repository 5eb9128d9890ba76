"""Forged messages of a learner's process: each is refused, or unpacked, within a second or two."""

import io
import json
import struct
import time

import pytest

from vit_course.teaching.classroom import grade_submission
from vit_course.teaching.classroom.apart.channel import Watched
from vit_course.teaching.classroom.apart.modules import built_vit
from vit_course.teaching.classroom.apart.serialization import (
    MOST_BYTES,
    MOST_HASHED,
    MOST_ITEMS,
    MOST_JSON,
    Packer,
    Unpacker,
    WireError,
    read_frame,
    write_frame,
)

SECONDS = 5.0  # on a busy machine; each was minutes to hours, or all of the memory
MERSENNE = 2**61 - 1  # what Python's hash of a number is taken modulo: multiples collide


def message(text: str, *lengths: int) -> io.BytesIO:
    """A message with this JSON, whatever it is, and pieces of zeros."""
    data = f"[{text},{json.dumps(lengths)}]".encode()
    return io.BytesIO(struct.pack(">QQ", len(data), sum(lengths)) + data + bytes(sum(lengths)))


def taken(stream):
    """What unpacking gives, or the error; fails where it takes long."""
    before = time.process_time()
    try:
        tree, blobs = read_frame(stream)
        result = Unpacker(blobs, lambda node: pytest.fail("foreign")).unpack(tree)
    except WireError as error:
        result = error
    assert time.process_time() - before < SECONDS
    return result


def repeated(item: str, number: int) -> str:
    return "[" + ",".join([item] * number) + "]"


def node(kind: str, items: str) -> str:
    return f'{{"k": "{kind}", "v": {items}}}'


COLLIDING = json.dumps([number * MERSENNE for number in range(MOST_HASHED)])


@pytest.mark.parametrize(
    "text",
    [
        node("set", json.dumps([number * MERSENNE for number in range(60_000)])),
        node("dict", json.dumps([[number * MERSENNE, 0] for number in range(60_000)])),
        node("list", repeated("0", MOST_JSON)),
        node("list", repeated("0", MOST_ITEMS + 1)),
        "[" * 100_000 + "]" * 100_000,
        '{"k": "list", "v": [' * 400 + "]}" * 400,
        f'{{"k": "tensor", "dtype": "float32", "shape": {repeated("1", 100_000)}, "b": 0}}',
        '{"k": "tensor", "dtype": "float32", "shape": [1099511627775, 1099511627775], "b": 0}',
        '{"k": "range", "v": [0, 1000000000000, 1]}',
        "9" * 10_000,
    ],
    ids=["set", "dict", "long", "list", "nested", "deep", "axes", "huge", "range", "digits"],
)
def test_what_would_take_long_is_refused_at_once(text):
    assert isinstance(taken(message(text, 4)), WireError)


def test_the_most_that_is_allowed_takes_no_long_time():
    many = node("list", repeated(node("set", COLLIDING), MOST_JSON // (len(COLLIDING) + 50)))
    assert len(taken(message(many))) > 50


def test_a_piece_of_bytes_is_used_once():
    tensor = '{"k": "tensor", "dtype": "uint8", "shape": [4], "b": 0}'
    assert isinstance(taken(message(node("list", repeated(tensor, 2)), 4)), WireError)


@pytest.mark.parametrize("lengths", [(MOST_JSON + 1, 0), (2, MOST_BYTES + 1)])
def test_a_message_that_is_too_long_is_not_read(lengths):
    with pytest.raises(WireError):
        read_frame(io.BytesIO(struct.pack(">QQ", *lengths)))


def test_a_message_that_would_be_too_long_is_not_sent():
    packer = Packer(lambda thing: pytest.fail("foreign"))
    for tree, blobs in ((packer.pack(["x" * 400] * 9000), []), (None, [bytes(2**20)] * 257)):
        with pytest.raises(WireError, match="too long"):
            write_frame(io.BytesIO(), tree, blobs)


def test_long_texts_cross_and_lone_surrogates_do_not():
    packer, file = Packer(lambda thing: pytest.fail("foreign")), io.BytesIO()
    text = "é\n" * 10**6
    write_frame(file, packer.pack([text, text]), packer.blobs)
    file.seek(0)
    assert taken(file) == [text, text]
    assert taken(message(r'"\ud800"')) == "?"


def test_a_vit_of_a_billion_layers_is_not_built():
    config = {"image_size": 8, "patch_size": 4, "num_classes": 2, "hidden_dim": 8, "num_layers": 10**4, "num_heads": 2}
    with pytest.raises(ValueError):
        built_vit({"config": config | {"mlp_dim": 8}, "state": {}, "modes": []})


class Endless(io.RawIOBase):
    """A stream of small messages without an end."""

    one = message("1").getvalue()

    def __init__(self):
        self.number, self.place = 0, 0

    def read(self, length=-1):
        """The next bytes."""
        found = self.one[self.place : self.place + length]
        self.place += len(found)
        if self.place == len(self.one):
            self.number, self.place = self.number + 1, 0
        return found


def test_a_flood_of_messages_waits_and_fills_no_memory():
    stream = Endless()
    channel = Watched(stream, io.BytesIO(), lambda: EOFError())
    assert channel.receive(10)[0] == 1
    time.sleep(0.5)
    assert stream.number <= 4
    channel.closed = True


def test_a_million_outputs_of_a_cell_are_cut_at_once():
    good = {"output_type": "stream", "name": "stdout", "text": "x"}
    before = time.process_time()
    made, _ = grade_submission._outputs([good] * 10**6, 1)
    assert len(made) == grade_submission.MOST_OUTPUTS and time.process_time() - before < SECONDS
