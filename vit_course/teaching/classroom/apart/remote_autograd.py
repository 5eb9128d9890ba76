"""Gradients through calls to the other process."""

import weakref

import torch

from vit_course.teaching.classroom.apart.proxies import Receiving, Sending


class Link:
    """A call whose gradients can still be requested; when it is deleted, the other side may forget its graph."""

    def __init__(self, session, kept: int, numbers: list[int]):
        self.session, self.kept, self.numbers = session, kept, numbers
        weakref.finalize(self, session.gone.append, kept)


class Across(torch.autograd.Function):
    """Connects the results of a remote call to its inputs: the backward pass runs on the other side."""

    @staticmethod
    def forward(ctx, link, results, *inputs):
        ctx.link = link
        ctx.set_materialize_grads(False)
        return tuple(results)

    @staticmethod
    def backward(ctx, *gradients):
        session, sending = ctx.link.session, Sending(ctx.link.session)
        tree = {
            "op": "backward",
            "kept": ctx.link.kept,
            "out": ctx.link.numbers,
            "gradients": [sending.pack(gradient) for gradient in gradients],
        }
        reply = session.ask(tree)
        if "error" in reply:
            raise session.error_of(reply["error"])
        receiving = Receiving(session)
        return None, None, *(receiving.unpack(node) for node in reply["gradients"])
