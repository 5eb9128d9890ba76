"""Forged messages of a learner's process: each is refused, or unpacked, within a second or two."""

import io
import json
import os
import time

import numpy as np
import pytest
import safetensors.torch
import torch

from vit_course.config import ViTConfig
from vit_course.teaching.classroom import grade_submission
from vit_course.teaching.classroom.apart import rpc, serialization
from vit_course.teaching.classroom.apart.channel import GradingEnd
from vit_course.teaching.classroom.apart.modules import as_vit, built_vit
from vit_course.teaching.classroom.apart.proxies import ObjectPacker, ObjectUnpacker
from vit_course.teaching.classroom.apart.rpc import Session
from vit_course.teaching.classroom.apart.serialization import (
    MOST_BYTES,
    MOST_HASHED,
    MOST_HASHED_IN_ALL,
    MOST_ITEMS,
    MOST_JSON,
    Packer,
    Unpacker,
    WireError,
    read_message,
    write_message,
)
from vit_course.teaching.classroom.learner_process import Ended, LearnerProcess
from vit_course.vit import ViT

SECONDS = 5.0  # on a busy machine; each was minutes to hours, or all of the memory
MERSENNE = 2**61 - 1  # what Python's hash of a number is taken modulo: multiples collide


def message(text: str) -> io.BytesIO:
    """A message with this JSON, whatever it is, and one tensor of four zeros."""
    tree = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
    data = safetensors.torch.save({"tree": tree, "0": torch.zeros(4)})
    return io.BytesIO(len(data).to_bytes(8, "little") + data)


def taken(stream):
    """What unpacking gives, or the error; fails where it takes long."""
    before = time.process_time()
    try:
        result = Unpacker().unpack(read_message(stream))
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
        f'{{"k": "tensor", "dtype": "float32", "shape": {repeated("1", 100_000)}}}',
        f'{{"k": "tensor", "numbers": "0", "order": {repeated("0", 100_000)}}}',
        '{"k": "tensor", "dtype": "float32", "shape": [1099511627775, 1099511627775]}',
        '{"k": "range", "v": [0, 1000000000000, 1]}',
        "9" * 10_000,
    ],
    ids=["set", "dict", "long", "list", "nested", "deep", "axes", "order", "huge", "range", "digits"],
)
def test_what_would_take_long_is_refused_at_once(text):
    assert isinstance(taken(message(text)), WireError)


def test_the_most_that_is_allowed_takes_no_long_time():
    number = MOST_HASHED_IN_ALL // MOST_HASHED
    assert len(taken(message(node("list", repeated(node("set", COLLIDING), number))))) == number
    assert isinstance(taken(message(node("list", repeated(node("set", COLLIDING), number + 1)))), WireError)


def test_sets_whose_items_are_sets_that_collide_are_refused_at_once():
    inner = [node("frozenset", json.dumps([i * MERSENNE for i in (*range(240), 10**4 + j)])) for j in range(370)]
    assert isinstance(taken(message(node("set", "[" + ",".join(inner) + "]"))), WireError)


def test_a_text_of_hundreds_of_megabytes_is_refused(monkeypatch):
    monkeypatch.setattr(serialization, "MOST_TEXT", 2**20)
    assert len(Unpacker().unpack({"k": "text", "numbers": torch.zeros(2**20, dtype=torch.uint8)})) == 2**20
    with pytest.raises(WireError, match="too long"):
        Unpacker().unpack({"k": "text", "numbers": torch.zeros(2**20 + 1, dtype=torch.uint8)})


def test_lone_surrogates_in_names_do_not_come_through():
    forged = {"k": "function", "id": "u1", "name": "\ud800"}
    assert ObjectUnpacker(Session(None, trusted=True)).unpack(forged).__name__ == "?"


def test_a_tensor_is_used_once():
    tensor = '{"k": "tensor", "numbers": "0"}'
    assert len(taken(message(node("list", repeated(tensor, 1))))) == 1
    assert isinstance(taken(message(node("list", repeated(tensor, 2)))), WireError)


@pytest.mark.parametrize("lengths", [(MOST_BYTES + 1,), (16, MOST_JSON + 1)])
def test_a_message_that_is_too_long_is_not_read(lengths):
    with pytest.raises(WireError, match="too long"):
        read_message(io.BytesIO(b"".join(length.to_bytes(8, "little") for length in lengths) + bytes(8)))


@pytest.mark.parametrize("number", [20_000, 200_000])
def test_a_message_of_many_tensors_takes_no_long_time(number):
    header = {str(i): {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for i in range(number)}
    header = json.dumps(header | {"tree": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}).encode()
    data = len(header).to_bytes(8, "little") + header + b"1"
    found = taken(io.BytesIO(len(data).to_bytes(8, "little") + data))
    assert found == 1 if len(header) <= MOST_JSON else isinstance(found, WireError)


def test_a_message_that_would_be_too_long_is_not_sent():
    for value in (["x" * 400] * 9000, [torch.zeros(2**18)] * 257, [torch.zeros(1)] * 40_000, 10**5000):
        with pytest.raises(WireError, match=r"too long|digits"):
            write_message(io.BytesIO(), Packer().pack(value))


def test_long_texts_cross_and_lone_surrogates_do_not():
    file = io.BytesIO()
    text = "é\n" * 10**6
    write_message(file, Packer().pack([text, text]))
    file.seek(0)
    assert taken(file) == [text, text]
    assert taken(message(r'"\ud800"')) == "?"


def test_a_vit_of_a_billion_layers_is_not_built():
    config = {"image_size": 8, "patch_size": 4, "num_classes": 2, "hidden_dim": 8, "num_layers": 10**4, "num_heads": 2}
    with pytest.raises(ValueError):
        built_vit({"config": config | {"mlp_dim": 8}, "state": {}, "modes": []})


def test_a_vit_without_numbers_is_not_built():
    with torch.device("meta"):
        model = ViT(ViTConfig(8, 4, 2, hidden_dim=8, num_layers=1, num_heads=2, mlp_dim=8))
    with pytest.raises(ValueError, match="no numbers"):
        built_vit(as_vit(model))


class Answering:
    """A channel to a learner's process that only keeps what it is sent."""

    def __init__(self):
        self.sent = []

    def send(self, tree):
        """Keeps one message."""
        self.sent.append(tree)


def asking(session, **changes) -> dict:
    """A learner's request to call a function of the check with a tensor of a megabyte that requires a gradient."""
    packer = ObjectPacker(Session(None, trusted=False), role="in")
    arguments = packer.pack([torch.zeros(2**18, requires_grad=True)])
    call = {"op": "call", "target": {"k": "function", "id": session.key_of(torch.sin), "name": "sin"}, "method": ""}
    call |= {"arguments": arguments, "keywords": packer.pack({}), "grad": True, "released": []}
    return call | changes


@pytest.mark.parametrize("number", [10**9, 1.5, None, [], {}])
def test_a_request_for_strange_gradients_is_refused_at_once(number):
    session, before = Session(Answering(), trusted=True), time.process_time()
    request = asking(session)
    session.answer(request)
    kept = session.channel.sent[0]["graph"]
    request["arguments"]["v"][0]["in"] = number
    for graph, gradients in ((number, []), (kept, [[number, None]]), (kept, number)):
        session.answer({"op": "backward", "graph": graph, "gradients": gradients})
    session.answer(request)
    errors = ["error" in reply for reply in session.channel.sent]
    assert errors[:3] == [False, True, True] and time.process_time() - before < SECONDS


def test_what_is_kept_for_a_learner_is_limited(monkeypatch):
    monkeypatch.setattr(rpc, "MOST_KEPT", 10 * 2**20)
    session = Session(Answering(), trusted=True)
    for number in range(300):
        session.answer({"op": "no such"} if number % 3 == 1 else asking(session))
    assert len(session.graphs) < 10 and len(session.errors) == rpc.MOST_ERRORS
    assert all(error.__traceback__ is None for error in session.errors.values())
    assert session.channel.sent[0].keys() > {"graph"} and "too many" in session.channel.sent[-1]["error"]["words"]


def test_objects_that_a_learner_sends_are_limited(monkeypatch):
    monkeypatch.setattr(rpc, "MOST_KEPT", 10 * 2**20)
    monkeypatch.setattr(rpc, "MOST_OBJECTS", 100)
    ours, theirs = Session(None, trusted=True), Session(None, trusted=False)

    def come(thing) -> None:
        for _ in range(200):
            ObjectUnpacker(ours).unpack(ObjectPacker(theirs).pack(thing()))

    one = torch.nn.Parameter(torch.zeros(2**18))
    come(lambda: one)
    assert len(ours.objects) == 1, "the same one over and over is no more than one"
    with pytest.raises(WireError, match="parameters"):
        come(lambda: torch.nn.Parameter(torch.zeros(2**18)))
    assert len(ours.objects) <= 11
    with pytest.raises(WireError, match="objects"):
        come(lambda: lambda: 0)


def counting(count: str, monkeypatch, outputs: str = node("list", "[]")) -> tuple[list, int]:
    """What a learner's process returns for a cell, where it says that so many have run."""
    process = object.__new__(LearnerProcess)
    process._channel = Answering()
    reply = json.loads(f'{{"outputs": {outputs}, "count": {count}}}')
    monkeypatch.setattr(process, "_ask", lambda *_: reply, False)
    return process.run("1", 1)


@pytest.mark.parametrize("count", ["Infinity", "-1", "1.5", "null", "[]"])
def test_a_strange_number_of_cells_ends_the_process_and_nothing_else(count, monkeypatch):
    assert counting("3", monkeypatch) == ([], 3)
    with pytest.raises(Ended, match="no outputs"):
        counting(count, monkeypatch)


def test_a_tensor_in_place_of_outputs_is_not_looked_through(monkeypatch):
    before = time.process_time()
    with pytest.raises(Ended, match="no outputs"):
        counting("1", monkeypatch, '{"k": "tensor", "dtype": "uint8", "shape": [100000000]}')
    assert time.process_time() - before < SECONDS


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
    channel = GradingEnd(stream, io.BytesIO(), lambda: EOFError())
    assert channel.receive(10) == 1
    time.sleep(0.5)
    assert stream.number == 1


def test_a_pipe_that_a_program_holds_open_is_left_alone():
    incoming, held = os.pipe()
    channel = GradingEnd(os.fdopen(incoming, "rb"), io.BytesIO(), lambda: EOFError())
    with pytest.raises(TimeoutError):
        channel.receive(0.1)
    channel.close()
    with pytest.raises(EOFError):
        channel.send({})
    os.close(held)


@pytest.mark.parametrize("item", [torch.zeros(3), np.zeros(2), {"output_type": np.zeros(2)}, 3, None])
def test_outputs_that_are_none_are_left_out(item):
    good, odd = {"output_type": "stream", "name": "stdout", "text": "x"}, torch.zeros((6,) * 9, dtype=torch.uint8)
    before = time.process_time()
    made, _ = grade_submission._outputs([item, good | {"text": odd}, good], 1)
    assert [one.text for one in made] == ["", "x"] and time.process_time() - before < SECONDS


def test_a_million_outputs_of_a_cell_are_cut_at_once():
    good = {"output_type": "stream", "name": "stdout", "text": "x"}
    made, _ = grade_submission._outputs([good] * 10**6, 1)
    assert len(made) == grade_submission.MOST_OUTPUTS


def test_outputs_of_a_cell_are_cut_where_they_are_long():
    long = {"output_type": "stream", "name": "stdout", "text": "x" * 10**7}
    made, _ = grade_submission._outputs([long] * 10, 1)
    assert sum(len(one.text) for one in made) == grade_submission.MOST_OF_A_CELL
