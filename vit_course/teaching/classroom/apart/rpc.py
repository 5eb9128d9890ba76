"""Remote calls between the two processes; both sides run the same code.

A call sends its arguments, and gets back the result and the changes made to the arguments; gradients are requested
later. Each side keeps its own objects and gives the other a key for each. A message holds the whole state of every
module in it, so that both sides agree before and after a call: the networks of the checks are small.
"""

import contextlib
import copy
import io
from collections.abc import Callable
from itertools import zip_longest
from types import NoneType

import torch
from torch import nn

from vit_course.checks.snapshot import Left, Library
from vit_course.checks.tools.watched_steps import add_steps, watched_steps
from vit_course.teaching.classroom.apart.errors import rebuilt, told
from vit_course.teaching.classroom.apart.modules import same
from vit_course.teaching.classroom.apart.proxies import ObjectPacker, ObjectUnpacker
from vit_course.teaching.classroom.apart.remote_autograd import RemoteCall
from vit_course.teaching.classroom.apart.serialization import WireError

MOST_PRINTED, MOST_RATES = 100_000, 10_000
# Kept for the other side: exceptions, objects, and bytes of tensors for gradients or of parameters.
MOST_ERRORS, MOST_OBJECTS, MOST_KEPT = 100, 10**5, 2**29


class Session:
    """One side of the conversation.

    Args:
        channel: has `send(message)` and `receive()`, which raises an error where the other process has ended.
        trusted: True in the grading process: it imports no class because the other side says so.
    """

    def __init__(self, channel, trusted: bool):
        self.channel, self.trusted = channel, trusted
        self.side = "t" if trusted else "u"  # a letter that begins the keys of this side's objects
        self.operations = {"call": self._called, "backward": self._backward}
        # On the trusted side, exceptions that end a check, such as its timeout, are not sent to the other side.
        self._caught = Exception if trusted else BaseException
        self._count = 0
        self.reset()

    def reset(self) -> None:
        """Forgets all objects of both sides. The numbering of keys continues, so that no old key is used again."""
        # The objects of both sides, by key. Each is kept until the next check, so that no id() is used twice.
        self.objects: dict[str, object] = {}
        self.keys: dict[int, str] = {}  # id() -> key
        self.addresses: dict[int, int] = {}  # id() of a parameter or buffer -> where its memory begins
        self.parameter_bytes = 0  # of all that were updated
        # Graphs whose gradients the other side may request: (results, inputs by number, bytes); and by number those of
        # the other side that this one no longer needs.
        self.graphs: dict[int, tuple[list, dict, int]] = {}
        self.released: list[int] = []
        self.errors: dict[int, BaseException] = {}  # that the other side may send back

    def key_of(self, thing) -> str:
        """The key by which both sides know an object; an object of this side gets one on first use."""
        if id(thing) not in self.keys:
            self.keep(f"{self.side}{self.number()}", thing)
        return self.keys[id(thing)]

    def keep(self, key: str, thing):
        """Keeps an object under its key, and returns it."""
        if self.trusted and len(self.objects) >= MOST_OBJECTS:
            raise WireError("too many objects")
        self.objects[key], self.keys[id(thing)] = thing, key
        return thing

    def find(self, key: str, kind: type = object):
        """The object of a key; None if the key is the other side's and new here."""
        found = self.objects.get(key)
        if not isinstance(found, kind if key[:1] == self.side else (kind, NoneType)):
            raise WireError("an object that this side does not have")
        return found

    def update_tensor(self, tensor: torch.Tensor, value: torch.Tensor, requires_grad: bool, moved: bool) -> None:
        """Gives a parameter or buffer the numbers that it has on the other side, where its memory may have moved."""
        self.parameter_bytes += value.nbytes - (tensor.nbytes if id(tensor) in self.addresses else 0)
        if self.trusted and self.parameter_bytes > MOST_KEPT:
            raise WireError("too many parameters and buffers")
        if isinstance(tensor, nn.parameter.UninitializedTensorMixin):
            if not value.numel():
                return  # of a lazy layer that has not run yet
            tensor.materialize(value.shape, dtype=value.dtype)
        if moved or tensor.shape != value.shape or tensor.dtype != value.dtype:
            tensor.data = value
        elif not same(tensor.detach(), value):
            with torch.no_grad():
                tensor.copy_(value)
        if tensor.requires_grad != requires_grad:
            tensor.requires_grad_(requires_grad)
        self.addresses[id(tensor)] = tensor.data_ptr()

    def has_moved(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor lies elsewhere in memory than when the other side last set it."""
        return self.addresses.get(id(tensor), tensor.data_ptr()) != tensor.data_ptr()

    def number(self) -> int:
        """A new number, unique among the calls and objects of this side."""
        self._count += 1
        return self._count

    def call(self, target, arguments, keywords, method: str = ""):
        """Calls an object of the other side; an exception that is raised there is raised here too."""
        packer = ObjectPacker(self, "in")
        tree = {
            "op": "call",
            "target": packer.pack(target),
            "arguments": packer.pack(list(arguments)),
            "keywords": packer.pack(dict(keywords)),
            "method": method,
            "grad": torch.is_grad_enabled(),
            "released": [self.released.pop() for _ in range(len(self.released))],
        }
        reply, unpacker = self.ask(tree), ObjectUnpacker(self)
        if reply.get("printed"):
            print(str(reply["printed"])[:MOST_PRINTED], end="")
        if "after" in reply:
            changed([list(arguments), keywords], unpacker.unpack(reply["after"]))
            unpacker.unpack(reply["target"])
        if reply.get("grad", tree["grad"]) != tree["grad"]:
            torch.set_grad_enabled(not tree["grad"])  # the learner's code changed it, and the check looks at that
        if "steps" in reply:
            add_steps(*reply["steps"])
        if "error" in reply:
            raise self.error_of(reply["error"])
        if reply.get("replaced") and self.trusted:
            raise Left(str(reply["replaced"])[:200])
        result, outputs = unpacker.unpack(reply["result"]), unpacker.outputs
        if "graph" in reply and packer.found and outputs:
            RemoteCall.apply(self, reply["graph"], [*outputs], *outputs.values(), *packer.found)
        else:
            for tensor in outputs.values():
                tensor.requires_grad_()
        return result

    def ask(self, tree: dict) -> dict:
        """Sends a request, and answers the other side's requests until the reply comes."""
        try:
            self.channel.send(tree)
            while True:
                tree = self.channel.receive()
                if not isinstance(tree, dict):
                    raise WireError("not a message")
                if "op" not in tree:
                    return tree
                self.answer(tree)
        except BaseException:  # the other side is left in the middle of a call
            self.channel.broken = True
            raise

    def error_of(self, node) -> BaseException:
        """The exception that a message describes; the original object, if it was first raised on this side."""
        own = self.errors.get(node.get("kept_as"))
        return own if own is not None else rebuilt(node)

    def answer(self, tree: dict) -> None:
        """Handles one request of the other side and sends the reply."""
        try:
            reply = self.operations[tree["op"]](tree)
        except self._caught as error:
            reply = {"error": self._told(error)}
        try:
            self.channel.send(reply)
        except WireError as error:  # it is too long
            self.channel.send({"error": self._told(error)})

    def _told(self, error: BaseException) -> dict:
        if not self.trusted:
            return told(error)
        # An error of a check's function that the learner's code called: it must come back as the same object. What
        # its frames hold, such as a long message, is let go.
        number, node = self.number(), told(error)
        error.learners_line, error.__context__, error.__cause__ = node["line"], None, None
        self.errors[number] = error.with_traceback(None)
        if len(self.errors) > MOST_ERRORS:
            del self.errors[next(iter(self.errors))]
        return {**node, "kept_as": number}

    def _called(self, tree: dict) -> dict:
        for number in tree["released"]:
            self.graphs.pop(number, None)
        unpacker = ObjectUnpacker(self)
        target = unpacker.unpack(tree["target"])
        arguments, keywords = unpacker.unpack(tree["arguments"]), unpacker.unpack(tree["keywords"])
        function = self._function(target, tree["method"])
        printed, reply = io.StringIO(), {}
        output = contextlib.nullcontext() if self.trusted else contextlib.redirect_stdout(printed)
        result, library = None, None if self.trusted else Library()
        with output, watched_steps() as steps, torch.set_grad_enabled(bool(tree["grad"])):
            try:
                result = function(*arguments, **keywords)
            except self._caught as error:
                reply["error"] = self._told(error)
            reply["grad"] = torch.is_grad_enabled()
        if steps.number and not self.trusted:
            share = steps.share_of(result) if isinstance(result, nn.Module) else 0.0
            reply["steps"] = [steps.number, steps.without, steps.rates[-MOST_RATES:], share]
        reply["replaced"] = library.restore() if library else None
        packer = ObjectPacker(self)
        reply["after"], reply["target"] = packer.pack([arguments, keywords]), packer.pack(target)
        packer.role = "out"
        reply["result"] = packer.pack(result)
        reply["printed"] = printed.getvalue()[:MOST_PRINTED]
        if packer.found and unpacker.inputs:
            size = packer.size + unpacker.size + 1000  # for what a graph takes without its tensors
            if self.trusted and size + sum(size for *_, size in self.graphs.values()) > MOST_KEPT:
                raise WireError("the gradients of too many calls are kept")
            reply["graph"] = self.number()
            self.graphs[reply["graph"]] = packer.found, unpacker.inputs, size
        return reply

    def _function(self, target, method: str) -> Callable:
        # The other side may call the objects that it was given, but of their methods only these two.
        if method == "step" and isinstance(target, torch.optim.Optimizer):
            return target.step
        if method == "copy" and isinstance(target, nn.Module):
            return lambda: copy.deepcopy(target)
        if method or not callable(target) or self.key_of(target)[0] != self.side:
            raise WireError("this cannot be called")
        return target

    def _backward(self, tree: dict) -> dict:
        outputs, inputs, _ = self.graphs[tree["graph"]]
        unpacker, packer = ObjectUnpacker(self), ObjectPacker(self)
        given = [(outputs[number], unpacker.unpack(node)) for number, node in tree["gradients"]]
        if not given:
            return {"gradients": []}
        ours, theirs = zip(*given, strict=True)
        found = torch.autograd.grad(ours, [*inputs.values()], theirs, allow_unused=True, retain_graph=True)
        return {"gradients": [[number, packer.pack(one)] for number, one in zip(inputs, found, strict=True)]}


def changed(old, new):
    """Copies the changes that a call made into the caller's tensors, dicts and lists.

    Returns:
        `old`, changed in place; `new` where that is not possible.
    """
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
        if not same(old.detach(), new.detach()):
            old.data = new.detach()
        if old.is_leaf and new.requires_grad != old.requires_grad:
            old.requires_grad_(new.requires_grad)
        return old
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() - new.keys():
            del old[key]
        old.update({key: changed(old.get(key), value) for key, value in new.items()})
        return old
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        values = [changed(was, value) for was, value in zip_longest(old[: len(new)], new)]
        if isinstance(old, tuple):
            return type(new)(values)
        old[:] = values
        return old
    return new
