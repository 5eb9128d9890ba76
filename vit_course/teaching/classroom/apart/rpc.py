"""Remote calls between the two processes; both sides run the same code.

A call sends its arguments, and gets back the result and the changes made to the arguments; gradients are requested
later. Each side keeps its own objects and gives the other a key for each. A message holds the whole state of every
module in it, so that both sides agree before and after a call: the networks of the checks are small.
"""

import contextlib
import copy
import io
from collections.abc import Callable

import torch
from torch import nn

from vit_course.checks.tools.watched_steps import add_steps, watched_steps
from vit_course.teaching.classroom.apart.errors import rebuilt, told
from vit_course.teaching.classroom.apart.modules import same
from vit_course.teaching.classroom.apart.proxies import Receiving, Sending
from vit_course.teaching.classroom.apart.remote_autograd import Across, Link
from vit_course.teaching.classroom.apart.serialization import MOST_ITEMS, WireError

MOST_PRINTED, MOST_RATES = 100_000, 10_000
# Kept for the other side: exceptions, objects, and bytes of tensors for gradients or of parameters.
MOST_ERRORS, MOST_OBJECTS, MOST_KEPT = 100, 10**5, 2**29


class Session:
    """One side of the conversation.

    Args:
        channel: has `send(message)` and `receive()`, which raises an error where the other process has ended.
        side: a letter that begins the keys of this side's objects.
        careful: True where the other side is not trusted: no class is imported because it says so.
        library: for the untrusted side only: () -> an object whose `restore()` puts back library functions that a call
            has replaced, and returns the name of the first, or None.
        changed: for the trusted side only: name -> the error to raise where a call has replaced that function.
    """

    def __init__(
        self,
        channel,
        side: str,
        careful: bool,
        library: Callable | None = None,
        changed: Callable[[str], Exception] | None = None,
    ):
        self.channel, self.side, self.careful = channel, side, careful
        self._library, self._changed = library, changed
        self.operations = {"call": self._called, "backward": self._backward}
        # On the careful side, exceptions that end a check, such as its timeout, are not sent to the other side.
        self._caught = Exception if careful else BaseException
        self._count = 0
        self.reset()

    def reset(self) -> None:
        """Forgets all objects of both sides. The numbering of keys continues, so that no old key is used again."""
        # The objects of both sides that have a key; each is kept until the next check, so that its id stays its own.
        self.objects: dict[str, object] = {}
        self.keys: dict[int, str] = {}
        self.places: dict[int, int] = {}  # of parameters and buffers: where their memory begins
        self.size = 0  # bytes of the other side's parameters and buffers
        self.kept: dict[int, tuple[list, list, int]] = {}
        self.gone: list[int] = []
        self.errors: dict[int, BaseException] = {}

    def key_of(self, thing) -> str:
        """The key by which both sides know an object; an object of this side gets one on first use."""
        if id(thing) not in self.keys:
            self.keep(f"{self.side}{self.number()}", thing)
        return self.keys[id(thing)]

    def keep(self, key: str, thing):
        """Keeps an object under its key, and returns it."""
        if self.careful and len(self.objects) >= MOST_OBJECTS:
            raise WireError("too many objects")
        self.objects[key], self.keys[id(thing)] = thing, key
        return thing

    def find(self, key: str):
        """The object of a key; None where the other side sends one of its own for the first time."""
        found = self.objects.get(key)
        if found is None and key[:1] == self.side:
            raise WireError("an object that this side does not have")
        return found

    def set(self, tensor: torch.Tensor, value: torch.Tensor, wants: bool, moved: bool) -> None:
        """Gives a parameter or buffer the numbers that it has on the other side, where its memory may have moved."""
        self.size += value.nbytes - (tensor.nbytes if id(tensor) in self.places else 0)
        if self.careful and self.size > MOST_KEPT:
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
        if tensor.requires_grad != wants:
            tensor.requires_grad_(wants)
        self.places[id(tensor)] = tensor.data_ptr()

    def has_moved(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor lies elsewhere in memory than when the other side last set it."""
        return self.places.get(id(tensor), tensor.data_ptr()) != tensor.data_ptr()

    def number(self) -> int:
        """A new number, unique among the calls and objects of this side."""
        self._count += 1
        return self._count

    def call(self, target, arguments, keywords, method: str = ""):
        """Calls an object of the other side; an exception that is raised there is raised here too."""
        sending = Sending(self, wanted=True)
        tree = {
            "op": "call",
            "target": sending.pack(target),
            "arguments": sending.pack(list(arguments)),
            "keywords": sending.pack(dict(keywords)),
            "method": method,
            "grad": torch.is_grad_enabled(),
            "inputs": len(sending.inputs),
            "gone": [self.gone.pop() for _ in range(len(self.gone))],
        }
        reply, receiving = self.ask(tree), Receiving(self)
        if reply.get("printed"):
            print(str(reply["printed"])[:MOST_PRINTED], end="")
        if "after" in reply:
            change([list(arguments), keywords], receiving.unpack(reply["after"]))
            receiving.unpack(reply["target"])
        if reply.get("grad", tree["grad"]) != tree["grad"]:
            torch.set_grad_enabled(not tree["grad"])  # the learner's code changed it, and the check looks at that
        if "steps" in reply:
            add_steps(*reply["steps"])
        if "error" in reply:
            raise self.error_of(reply["error"])
        if reply.get("replaced") and self._changed:
            raise self._changed(str(reply["replaced"])[:200])
        if reply.get("kept") is not None and sending.inputs:
            self._connect(reply, receiving, sending.inputs)
        return receiving.unpack(reply["result"])

    def ask(self, tree: dict) -> dict:
        """Sends a request, and answers the other side's requests until the reply comes."""
        self.channel.send(tree)
        while True:
            tree = self.channel.receive()
            if not isinstance(tree, dict):
                raise WireError("not a message")
            if "op" not in tree:
                return tree
            self.answer(tree)

    def error_of(self, node) -> BaseException:
        """The exception that a message describes; the original object, if it was first raised on this side."""
        own = self.errors.get(node.get("yours"))
        return own if own is not None else rebuilt(node)

    def _connect(self, reply: dict, receiving: Receiving, inputs: list) -> None:
        # Connects the results that require a gradient to the inputs, by a backward pass on the other side.
        nodes = [node for node in receiving.results(reply["result"]) if node.get("out") is not None]
        numbers = [node["out"] for node in nodes]
        if numbers:
            link = Link(self, reply["kept"], numbers)
            outputs = Across.apply(link, [receiving.tensor(node) for node in nodes], *inputs)
            receiving.outputs = dict(zip(numbers, outputs, strict=True))

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
        if not self.careful:
            return told(error)
        # An error of a check's function that the learner's code called: it must come back as the same object. What
        # its frames hold, such as a long message, is let go.
        number, node = self.number(), told(error)
        error.learners_line, error.__context__, error.__cause__ = node["line"], None, None
        self.errors[number] = error.with_traceback(None)
        self.errors.pop(number - MOST_ERRORS, None)
        return {**node, "yours": number}

    def _called(self, tree: dict) -> dict:
        for number in tree["gone"]:
            self.kept.pop(number, None)
        receiving = Receiving(self, wanted=True)
        target = receiving.unpack(tree["target"])
        arguments, keywords = receiving.unpack(tree["arguments"]), receiving.unpack(tree["keywords"])
        function = self._function(target, tree["method"])
        printed, reply = io.StringIO(), {}
        output = contextlib.nullcontext() if self.careful else contextlib.redirect_stdout(printed)
        result, library = None, self._library() if self._library else None
        with output, watched_steps() as steps, torch.set_grad_enabled(bool(tree["grad"])):
            try:
                result = function(*arguments, **keywords)
            except self._caught as error:
                reply["error"] = self._told(error)
            reply["grad"] = torch.is_grad_enabled()
        if steps.number and not self.careful:
            share = steps.share_of(result) if isinstance(result, nn.Module) else 0.0
            reply["steps"] = [steps.number, steps.without, steps.rates[-MOST_RATES:], share]
        reply["replaced"] = library.restore() if library else None
        sending = Sending(self, results=True)
        reply["result"] = sending.pack(result)
        sending.gather_no_more()
        reply["after"], reply["target"] = sending.pack([arguments, keywords]), sending.pack(target)
        reply["printed"] = printed.getvalue()[:MOST_PRINTED]
        if sending.outputs and receiving.inputs:
            if type(tree["inputs"]) is not int or not 0 <= tree["inputs"] <= MOST_ITEMS:
                raise WireError("not a number of inputs")
            size = sending.size + receiving.size
            if self.careful and size + sum(size for *_, size in self.kept.values()) > MOST_KEPT:
                raise WireError("the gradients of too many calls are kept")
            reply["kept"] = self.number()
            inputs = [receiving.inputs.get(i) for i in range(tree["inputs"])]
            self.kept[reply["kept"]] = sending.outputs, inputs, size
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
        outputs, inputs, _ = self.kept[tree["kept"]]
        receiving = Receiving(self)
        gradients = [receiving.unpack(node) for node in tree["gradients"]]
        chosen = [(outputs[i], gradient) for i, gradient in zip(tree["out"], gradients, strict=True)]
        chosen = [(output, gradient) for output, gradient in chosen if gradient is not None]
        found = dict.fromkeys(range(len(inputs)))
        there = [index for index, tensor in enumerate(inputs) if tensor is not None]
        if chosen and there:
            ours, theirs = zip(*chosen, strict=True)
            every = torch.autograd.grad(
                ours, [inputs[index] for index in there], theirs, allow_unused=True, retain_graph=True
            )
            found |= dict(zip(there, every, strict=True))
        sending = Sending(self)
        return {"gradients": [sending.pack(gradient) for gradient in found.values()]}


def change(old, new) -> bool:
    """Copies the changes that a call made into the caller's tensors, dicts and lists.

    Returns:
        False where `old` and `new` are not both tensors, dicts or sequences; then nothing is copied.
    """
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
        if not same(old.detach(), new.detach()):
            old.data = new.detach()
        if old.is_leaf and new.requires_grad != old.requires_grad:
            old.requires_grad_(new.requires_grad)
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() - new.keys():
            del old[key]
        for key, value in new.items():
            if key not in old or not change(old[key], value):
                old[key] = value
    elif isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        values = [was if change(was, value) else value for was, value in zip(old, new, strict=False)]
        if isinstance(old, list):
            old[:] = [*values, *new[len(values) :]]
    else:
        return False
    return True
