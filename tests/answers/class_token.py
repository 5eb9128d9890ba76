"""Answers to the exercises of chapter 02."""

import torch
import torch.nn.functional as F
from einops import einsum, pack, rearrange, reduce, repeat
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.checks.draw import Draw
from vit_course.embeddings import ClassToken

# ---- prepend


@right("class_token.prepend")
def with_expand(x, token):
    return torch.cat([token.expand(len(x), -1, -1), x], dim=1)


@right("class_token.prepend")
def with_repeat(x, token):
    return torch.cat((token.repeat(x.size(0), 1, 1), x), 1)


@right("class_token.prepend")
def with_loop(x, token):
    return torch.stack([torch.vstack([token[0], image]) for image in x])


@right("class_token.prepend")
def by_writing(x, token):
    B, N, D = x.shape
    out = x.new_empty(B, N + 1, D)
    out[:, :1] = token
    out[:, 1:] = x
    return out


@right("class_token.prepend")
def by_padding(x, token):
    place = F.one_hot(torch.tensor(0), x.shape[1] + 1).to(x.dtype)  # (T,)
    return F.pad(x, (0, 0, 1, 0)) + place[None, :, None] * token


@right("class_token.prepend")
def with_einops(x, token):
    return pack([repeat(token, "1 1 d -> b 1 d", b=len(x)), x], "b * d")[0]


@wrong("class_token.prepend", "appended-last")
def behind(x, token):
    return torch.cat([x, token.expand(len(x), 1, x.shape[2])], dim=1)


@wrong("class_token.prepend", "added-to-every-token")
def added(x, token):
    return token + x


@wrong("class_token.prepend", "first-patch-replaced")
def replaced(x, token):
    out = x.clone()
    out[:, 0] = token[0]
    return out


@wrong("class_token.prepend", "joined-along-batch")
def on_the_batch(x, token):
    return torch.cat([token.repeat(1, x.shape[1], 1), x])


@wrong("class_token.prepend", "joined-along-width")
def on_the_width(x, token):
    return torch.cat([token.expand(x.shape[0], x.shape[1], -1), x], dim=-1)


@wrong("class_token.prepend", "not-spread")
def without_expand(x, token):
    return torch.cat([token, x], dim=1)


@wrong("class_token.prepend", "not-spread")
def without_expand_behind(x, token):
    return torch.cat([x, token], dim=1)


@wrong("class_token.prepend", "first-image-only")
def only_the_first(x, token):
    rest = torch.zeros(len(x) - 1, 1, x.shape[2])
    return torch.cat([torch.cat([token, rest]), x], dim=1)


@wrong("class_token.prepend", "one-for-each-patch")
def doubled(x, token):
    return torch.cat([token.expand(*x.shape), x], dim=1)


@wrong("class_token.prepend", "gradient-cut")
def token_as_data(x, token):
    return torch.cat([token.data.expand(len(x), -1, -1), x], dim=1)


@wrong("class_token.prepend", "gradient-cut")
def patches_as_data(x, token):
    return torch.cat([token.expand(len(x), -1, -1), x.detach()], dim=1)


@wrong("class_token.prepend", "gradient-cut")
def without_grad(x, token):
    with torch.no_grad():
        return with_expand(x, token)


@wrong("class_token.prepend", "input-changed")
def in_place(x, token):
    out = torch.cat([token.expand(len(x), -1, -1), x], dim=1)
    x[:, 0] = token[0]
    return out


@wrong("class_token.prepend", "hard-coded-size")
def one_batch(x, token):
    return torch.cat([token.expand(Draw(0).sizes(3)[0], -1, -1), x], dim=1)


@wrong("class_token.prepend", "returned-nothing")
def no_return(x, token):
    torch.cat([token.expand(len(x), -1, -1), x], dim=1)


@unforeseen("class_token.prepend")
def halved(x, token):
    return torch.cat([token.expand(len(x), -1, -1) / len(x), x], dim=1)


@unforeseen("class_token.prepend")
def on_a_new_axis(x, token):
    return torch.stack([token.expand_as(x), x], dim=1)


@unforeseen("class_token.prepend")
def twice(x, token):
    return with_expand(with_expand(x, token), token)


# ---- module


@right("class_token.module")
class Finished(ClassToken):
    pass


@right("class_token.module")
class OneAxis(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.cls = nn.Parameter(torch.zeros(hidden_dim))

    def forward(self, x):
        return torch.cat([self.cls.repeat(x.shape[0], 1, 1), x], dim=1)


@right("class_token.module")
class FromEmbedding(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.words = nn.Embedding(1, hidden_dim)

    def forward(self, x):
        return torch.cat([self.words(torch.zeros(len(x), 1, dtype=torch.long)), x], dim=1)


@right("class_token.module")
class FromBias(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.token = nn.Linear(1, hidden_dim, bias=False)

    def forward(self, x):
        return torch.cat([self.token(x.new_ones(len(x), 1, 1)), x], dim=1)


@right("class_token.module")
class Written(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.register_parameter("t", nn.Parameter(torch.randn(1, hidden_dim)))

    def forward(self, x):
        z = x.new_empty(len(x), 1 + x.shape[1], x.shape[2])
        z[:, 0], z[:, 1:] = self.t, x
        return z


class Variant(nn.Module):
    """Right as it stands; each wrong answer changes one thing."""

    def __init__(self, hidden_dim):
        super().__init__()
        self.token = self.make(hidden_dim)

    def make(self, hidden_dim):
        return nn.Parameter(0.02 * torch.randn(1, 1, hidden_dim))

    def spread(self, x):
        return self.token.expand(len(x), -1, x.shape[2])

    def join(self, token, x):
        return torch.cat([token, x], dim=1)

    def forward(self, x):
        return self.join(self.spread(x), x)


right("class_token.module")(Variant)


@wrong("class_token.module", "appended-last")
class Behind(Variant):
    def join(self, token, x):
        return torch.cat([x, token], dim=1)


@wrong("class_token.module", "last-patch-lost")  # one of the two faults of the exercise
class Overwritten(Variant):
    def join(self, token, x):
        z = x.new_zeros(len(x), 1 + x.shape[1], x.shape[2])
        z[:, 1:] = x
        z[:, -1] = token[:, 0]
        return z


@wrong("class_token.module", "last-patch-lost")  # the exercise's class as it is given
class AsGiven(Overwritten):
    def make(self, hidden_dim):
        return torch.full((1, 1, hidden_dim), -1.0, requires_grad=True)


@wrong("class_token.module", "nothing-to-learn")  # the other fault
class NoParameter(Variant):
    def make(self, hidden_dim):
        return torch.full((1, 1, hidden_dim), -1.0, requires_grad=True)


@wrong("class_token.module", "first-patch-lost")
class FirstLost(Variant):
    def join(self, token, x):
        z = x.new_zeros(len(x), 1 + x.shape[1], x.shape[2])
        z[:, 1:] = x
        z[:, :2] = token
        return z


@wrong("class_token.module", "patches-reversed")
class Flipped(Variant):
    def join(self, token, x):
        return torch.cat([x, token], dim=1).flip(1)


@wrong("class_token.module", "nothing-to-learn")
class Buffer(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.register_buffer("token", torch.randn(1, 1, hidden_dim))

    def forward(self, x):
        return torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)


@wrong("class_token.module", "nothing-to-learn")
class Frozen(Variant):
    def make(self, hidden_dim):
        return nn.Parameter(torch.zeros(1, 1, hidden_dim), requires_grad=False)


@wrong("class_token.module", "nothing-to-learn")
class InAList(Variant):
    def make(self, hidden_dim):
        return [nn.Parameter(torch.zeros(1, 1, hidden_dim))]

    def spread(self, x):
        return self.token[0].expand(len(x), -1, -1)


@wrong("class_token.module", "one-number")
class OneNumber(Variant):
    def make(self, hidden_dim):
        return nn.Parameter(torch.zeros(1, 1, 1))


@wrong("class_token.module", "wrong-parameters")
class TwoVectors(Variant):
    def make(self, hidden_dim):
        self.more = nn.Parameter(torch.zeros(hidden_dim))
        return super().make(hidden_dim)

    def spread(self, x):
        return super().spread(x) + self.more


@wrong("class_token.module", "one-batch-size")
class NotExpanded(Variant):
    def spread(self, x):
        return self.token


@wrong("class_token.module", "one-batch-size")
class ForSixtyFour(Variant):
    def make(self, hidden_dim):
        return nn.Parameter(torch.zeros(64, 1, hidden_dim))

    def spread(self, x):
        return self.token


@wrong("class_token.module", "one-batch-size")
class SizedByTheFirstBatch(Variant):
    def make(self, hidden_dim):
        return None

    def spread(self, x):
        if self.token is None:
            self.token = nn.Parameter(torch.zeros(len(x), 1, x.shape[2]))
        return self.token


@wrong("class_token.module", "token-for-each-place")
class LargestBatch(Variant):
    def make(self, hidden_dim):
        return nn.Parameter(torch.zeros(64, 1, hidden_dim))

    def spread(self, x):
        return self.token[: len(x)]


@wrong("class_token.module", "token-from-the-image")
class MeanInFront(Variant):
    def spread(self, x):
        return self.token + x.mean(dim=1, keepdim=True)


@wrong("class_token.module", "token-drawn-anew")
class Anew(nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.hidden_dim = hidden_dim

    def forward(self, x):
        return torch.cat([torch.randn(1, 1, self.hidden_dim).expand(len(x), -1, -1), x], dim=1)


@wrong("class_token.module", "no-longer-sequence")
class Added(Variant):
    def join(self, token, x):
        return x + token


@wrong("class_token.module", "token-gradient-cut")
class AsData(Variant):
    def spread(self, x):
        return self.token.data.expand(len(x), -1, -1)


@wrong("class_token.module", "patch-gradient-cut")
class PatchesDetached(Variant):
    def join(self, token, x):
        return torch.cat([token, x.detach()], dim=1)


@wrong("class_token.module", "gradient-cut")
class NoGrad(Variant):
    @torch.no_grad()
    def forward(self, x):
        return super().forward(x)


@wrong("class_token.module", "unused-parameters")
class OnlyTheFirst(Variant):
    def spread(self, x):
        return self.token[:, :, :1].expand(len(x), -1, x.shape[2])


@wrong("class_token.module", "input-changed")
class InPlace(Variant):
    def join(self, token, x):
        x[:, :1] += token
        return torch.cat([token, x], dim=1)


@wrong("class_token.module", "no-super-init")
class NoSuper(nn.Module):
    def __init__(self, hidden_dim):
        self.token = nn.Parameter(torch.zeros(1, 1, hidden_dim))


@wrong("class_token.module", "returned-nothing")
class NoReturn(Variant):
    def forward(self, x):
        self.join(self.spread(x), x)


@unforeseen("class_token.module")
class Doubled(Variant):
    def join(self, token, x):
        return torch.cat([token, 2 * x], dim=1)


@unforeseen("class_token.module")
class InFrontTwice(Variant):
    def join(self, token, x):
        return torch.cat([token, token, x], dim=1)


@unforeseen("class_token.module")
class WithHead(Variant):
    def __init__(self, hidden_dim):
        super().__init__(hidden_dim)
        self.head = nn.Linear(hidden_dim, 10)


# ---- readout


@right("class_token.readout")
def indexed(z, pool):
    return z[:, 0] if pool == "cls" else z[:, 1:].mean(dim=1)


@right("class_token.readout")
def with_reduce(z, pool):
    if pool == "cls":
        return rearrange(z[:, :1], "b 1 d -> b d")
    return reduce(z[:, 1:], "b n d -> b d", "mean")


@right("class_token.readout")
def with_weights(z, pool):
    weights = torch.zeros(z.shape[1])
    if pool == "cls":
        weights[0] = 1
    else:
        weights[1:] = 1 / (z.shape[1] - 1)
    return einsum(z, weights, "b t d, t -> b d")


@right("class_token.readout")
def with_loops(z, pool):
    tokens = [0] if pool == "cls" else range(1, z.shape[1])
    return torch.stack([sum(image[t] for t in tokens) / len(tokens) for image in z])


@right("class_token.readout")
def with_pooling(z, pool):
    first, rest = z.split([1, z.shape[1] - 1], dim=1)
    return {"cls": first, "mean": F.adaptive_avg_pool1d(rest.mT, 1).mT}[pool].squeeze(1)


def _readout(slug, cls=lambda z: z[:, 0], mean=lambda z: z[:, 1:].mean(1)):
    wrong("class_token.readout", slug)(lambda z, pool: cls(z) if pool == "cls" else mean(z))


_readout("last-token", cls=lambda z: z[:, -1])
_readout("first-patch", cls=lambda z: z.select(1, 1))
_readout("first-image", cls=lambda z: z[0])
_readout("first-number", cls=lambda z: z[..., 0])
_readout("axis-kept", cls=lambda z: z[:, [0]])
_readout("mean-for-cls", cls=lambda z: z.mean(1))
_readout("mean-for-cls", cls=lambda z: z[:, 1:].mean(1))
_readout("class-token-in-mean", mean=lambda z: z.mean(1))
_readout("class-token-in-divisor", mean=lambda z: z[:, 1:].sum(1) / z.size(1))
_readout("last-patch-left-out", mean=lambda z: z[:, :-1].mean(1))
_readout("mean-over-numbers", mean=lambda z: z[:, 1:].mean(-1))
_readout("mean-over-numbers", mean=lambda z: z.mean(2))
_readout("mean-over-images", mean=lambda z: z[:, 1:].mean(0))
_readout("mean-over-images", mean=lambda z: z.mean(0))
_readout("sum-of-patches", mean=lambda z: z.sum(1) - z[:, 0])
_readout("largest-of-patches", mean=lambda z: z[:, 1:].max(dim=1).values)
_readout("axis-kept", mean=lambda z: z[:, 1:].mean(1, keepdim=True))
_readout("cls-for-mean", mean=lambda z: z[:, 0])
_readout("last-token", cls=lambda z: z[:, -1], mean=lambda z: z.mean(1))  # the first of two mistakes
_readout("wrong-type", mean=lambda z: z[:, 1:].max(dim=1))
_readout("gradient-cut", cls=lambda z: z[:, 0].detach())
_readout("gradient-cut", mean=lambda z: z[:, 1:].mean(1).detach())
_readout("hard-coded-size", mean=lambda z: z[:, 1:].sum(1) / (Draw(0).sizes(3, low=3)[1] - 1))


@wrong("class_token.readout", "mean-for-cls")
def words_swapped(z, pool):
    return indexed(z, "mean" if pool == "cls" else "cls")


@wrong("class_token.readout", "cls-for-mean")
def other_word(z, pool):
    return indexed(z, "mean" if pool == "average" else "cls")


@wrong("class_token.readout", "input-changed")
def emptied(z, pool):
    if pool == "mean":
        z[:, 0] = 0
        return z.sum(1) / (z.shape[1] - 1)
    return z[:, 0]


@unforeseen("class_token.readout")
def median(z, pool):
    return z[:, 0] if pool == "cls" else z[:, 1:].median(dim=1).values


@unforeseen("class_token.readout")
def one_dimension(z, pool):
    return indexed(z, pool).flatten()


@unforeseen("class_token.readout")
def normalised(z, pool):
    return F.normalize(indexed(z, pool), dim=-1)


# ---- costs

RIGHT_COSTS = {
    "expand_bytes": 0,
    "repeat_bytes": 262_144,
    "parameters_more": 2_048,
    "gradient_shape": (1, 1, 1024),
    "batches_before_stop": 15,
}


@right("class_token.costs")
def as_numbers():
    return RIGHT_COSTS


@right("class_token.costs")
def as_products():
    B, D = 64, 1024
    return {
        "expand_bytes": 0,
        "repeat_bytes": B * 1 * D * 4,
        "parameters_more": D + D,
        "gradient_shape": [1, 1, D],
        "batches_before_stop": 1000 // B,
    }


@right("class_token.costs")
def measured():
    token = nn.Parameter(torch.zeros(1, 1, 1024))
    token.repeat(64, 1, 1).sum().backward()
    return {
        "expand_bytes": token.expand(64, -1, -1).untyped_storage().nbytes() - token.nbytes,
        "repeat_bytes": token.repeat(64, 1, 1).nbytes,
        "parameters_more": torch.tensor(2 * token.numel()),
        "gradient_shape": token.grad.shape,
        "batches_before_stop": len(range(0, 1000 - 63, 64)),
    }


def _costs(slug, **changes):
    wrong("class_token.costs", slug)(lambda: RIGHT_COSTS | changes)


_costs("a-copy-for-each-image", expand_bytes=64 * 1024 * 4)
_costs("token-counted-again", expand_bytes=4096)
_costs("a-number-for-each-image", expand_bytes=256)
_costs("numbers-not-bytes", repeat_bytes=64 * 1024)
_costs("one-copy-only", repeat_bytes=4096)
_costs("first-copy-left-out", repeat_bytes=63 * 4096)
_costs("whole-sequence", repeat_bytes=64 * 197 * 4096)
_costs("nothing-copied", repeat_bytes=0)
_costs("position-forgotten", parameters_more=1024)
_costs("a-token-for-each-image", parameters_more=64 * 1024)
_costs("tokens-not-numbers", parameters_more=1)
_costs("tokens-not-numbers", parameters_more=2)
_costs("whole-position-table", parameters_more=197 * 1024)
_costs("whole-position-table", parameters_more=198 * 1024)
_costs("token-has-no-parameters", parameters_more=0)
_costs("a-gradient-for-each-image", gradient_shape=(64, 1, 1024))
_costs("whole-sequence", gradient_shape=(64, 197, 1024))
_costs("axes-dropped", gradient_shape=(1024,))
_costs("axes-dropped", gradient_shape=(1, 1024))
_costs("last-batch-counted", batches_before_stop=16)
_costs("stops-at-once", batches_before_stop=0)
_costs("stops-at-once", batches_before_stop=1)
_costs("float-count", parameters_more=2048.0)
_costs("wrong-type", gradient_shape=1024)
wrong("class_token.costs", "wrong-keys")(lambda: {"expand_bytes": 0})
unforeseen("class_token.costs")(lambda: RIGHT_COSTS | {"batches_before_stop": 12})
unforeseen("class_token.costs")(lambda: RIGHT_COSTS | {"gradient_shape": (1024, 1, 1)})


# ---- reached

RIGHT_REACHED = {
    "one_patch_in": 7,
    "patch_mean_out": 6,
    "patch_mean_in": 7,
    "all_off_patch_mean_in": 6,
    "last_off_between": 1,
    "last_off_in": 7,
}


@right("class_token.reached")
def predicted():
    return RIGHT_REACHED


@right("class_token.reached")
def by_reasoning():
    N = 6
    return dict(
        one_patch_in=N + 1,
        patch_mean_out=N,
        patch_mean_in=N + 1,
        all_off_patch_mean_in=N,
        last_off_between=1,
        last_off_in=N + 1,
    )


@right("class_token.reached")
def by_following_the_ways():
    # Which tokens a set of tokens depends on, block by block from the end: all with the exchange, itself without.
    everything, patches = set(range(7)), set(range(1, 7))

    def back(tokens, *exchange):
        for on in reversed(exchange):
            tokens = everything if on else tokens
        return len(tokens)

    return {
        "one_patch_in": back({3}, True, True, True),
        "patch_mean_out": back(patches),
        "patch_mean_in": back(patches, True, True, True),
        "all_off_patch_mean_in": back(patches, False, False, False),
        "last_off_between": back({0}, False),
        "last_off_in": back({0}, True, True, False),
    }


def _reached(slug, **changes):
    wrong("class_token.reached", slug)(lambda: RIGHT_REACHED | changes)


_reached("only-what-is-read", one_patch_in=1)
_reached("two-tokens-only", one_patch_in=2)
_reached("class-token-left-out", one_patch_in=6)
_reached("unread-token-counted", patch_mean_out=7)
_reached("mean-as-one-token", patch_mean_out=1)
_reached("only-what-is-read", patch_mean_in=6)
_reached("mean-as-one-token", patch_mean_in=1)
_reached("way-through-closed-block", all_off_patch_mean_in=7)
_reached("direct-way-forgotten", all_off_patch_mean_in=0)
_reached("mean-as-one-token", all_off_patch_mean_in=1)
_reached("way-through-closed-block", last_off_between=7)
_reached("patches-for-class-token", last_off_between=6)
_reached("direct-way-forgotten", last_off_between=0)
_reached("one-block-cuts-all", last_off_in=1)
_reached("class-token-left-out", last_off_in=6)
_reached("direct-way-forgotten", last_off_in=0)
_reached("float-count", one_patch_in=7.0)
_reached("wrong-type", one_patch_in="all")
unforeseen("class_token.reached")(lambda: RIGHT_REACHED | {"one_patch_in": 4})
