"""Gradients through calls to the other process."""

import weakref

import torch

from vit_course.teaching.classroom.apart.proxies import ObjectPacker, ObjectUnpacker


class RemoteCall(torch.autograd.Function):
    """Connects the results of a remote call, in place, to its inputs: the backward pass runs on the other side."""

    @staticmethod
    def forward(ctx, session, graph, numbers, *tensors):
        ctx.session, ctx.graph, ctx.numbers, ctx.inputs = session, graph, numbers, len(tensors) - len(numbers)
        weakref.finalize(ctx, session.released.append, graph)  # then the other side may forget its graph
        ctx.set_materialize_grads(False)
        results = tensors[: len(numbers)]
        ctx.mark_dirty(*results)
        return results

    @staticmethod
    def backward(ctx, *gradients):
        packer, unpacker = ObjectPacker(ctx.session), ObjectUnpacker(ctx.session)
        given = [[n, packer.pack(g)] for n, g in zip(ctx.numbers, gradients, strict=True) if g is not None]
        reply = ctx.session.ask({"op": "backward", "graph": ctx.graph, "gradients": given})
        if "error" in reply:
            raise ctx.session.error_of(reply["error"])
        found = {number: unpacker.unpack(node) for number, node in reply["gradients"]}
        return None, None, None, *(None for _ in ctx.numbers), *(found.get(i) for i in range(ctx.inputs))
