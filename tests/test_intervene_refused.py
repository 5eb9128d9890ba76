"""What cannot be changed is refused by name: no such layer, head, patch or token, and layers of another kind."""

import by_hand
import families
import pytest
import torch
from by_hand import OURS, TIMM
from test_recording import hooks
from torch import nn

from vit_course.maps import (
    cut,
    describe,
    hide,
    intervene,
    patched,
    record_attention,
    reweighted,
    without_branch,
    without_head,
    without_layer,
)
from vit_course.maps.active_interventions import active_mode


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: without_head(-1, 0), "layer must be an int of at least 0, several such ints or a slice, got -1"),
        (lambda: without_head(0, True), "head must be an int of at least 0, several such ints or a slice, got True"),
        (lambda: without_head(0, 1, by="median"), "by must be 'token mean' or 'zero', got 'median'"),
        (lambda: without_head(0, 1, by=torch.zeros(3, 14, 21)), r"by must have 4 axes \(B, C, H, W\), got shape"),
        (lambda: without_branch(0, "MLP"), "branch must be 'attention' or 'mlp', got 'MLP'"),
        (lambda: without_layer(1.0), "layer must be an int of at least 0, several such ints or a slice, got 1.0"),
        (lambda: hide([]), r"patch must be an int of at least 0, several such ints or a slice, got \[\]"),
        (lambda: hide([2, -3]), "patch must be an int of at least 0"),
        (
            lambda: hide(torch.rand(3)),
            "patch must be an int of at least 0, several such ints or a slice, got Tensor of shape",
        ),
        (
            lambda: cut("class token", 1),
            "token must be an int of at least 0, several such ints or a slice, got 'class token'",
        ),
        (
            lambda: cut(slice(0, 4, 0), 1),
            r"must be a slice of ints, with a step other than 0, got slice\(0, 4, 0\)",
        ),
        (lambda: hide(slice("a", None)), "patch must be a slice of ints"),
        (lambda: hide(torch.zeros(3, dtype=torch.long, device="meta")), "patch must hold numbers, got .* device meta"),
        (lambda: hide(torch.zeros(3, dtype=torch.long).to_sparse()), "patch must be a dense tensor, got a sparse"),
        (lambda: without_head(0, 1, by=torch.zeros(1, 3, 14, 21, device="meta")), "by must hold numbers, got a tensor"),
        (lambda: without_layer(0, by=torch.zeros(1, 3, 14, 21).to_sparse()), "by must be a dense tensor, got a sparse"),
        (lambda: patched(0, 1, from_=torch.zeros(1, 7, 36, device="meta")), "from_ must hold numbers, got a tensor"),
        (lambda: patched(0, 1, from_=torch.zeros(7, 36)), r"from_ must be a picture \(B, C, H, W\) or tokens"),
        (lambda: patched(0, 1, from_=torch.zeros(1, 7, 36).long()), "from_ must be floating-point numbers, got int64"),
    ],
)
def test_no_place_and_no_value(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("library", [OURS, TIMM, by_hand.LIBRARIES["torchvision"]])
def test_places_that_the_model_does_not_have(library):
    model, images, tokens = library.model(), library.images(), library.num_tokens
    for one, message in (
        (without_head(3, 0), r"without_head\(3, 0\): layer must be from 0 to 2, got 3"),
        (hide(0, layers=slice(3, None)), r"hide\(0\): slice\(3, None, None\) must choose at least one layer of 3"),
        (without_head(2, 3), r"without_head\(2, 3\): head must be from 0 to 2, got 3"),
        (
            hide([0, tokens - 1]),
            rf"hide\(\[0, {tokens - 1}\]\): patch must be from 0 to {tokens - 2}, got {tokens - 1}",
        ),
        (cut(tokens, 0), f"token must be from 0 to {tokens - 1}, got {tokens}"),
        (cut(0, tokens), f"token must be from 0 to {tokens - 1}, got {tokens}"),
        (patched(tokens, 1, from_=torch.ones(1, tokens, 36)), f"token must be from 0 to {tokens - 1}, got {tokens}"),
        (patched(0, 1, from_=torch.ones(1, 5, 36)), r"from_ has shape \(1, 5, 36\), but the tokens are \(2, "),
        (patched(0, 1, from_=library.images(3)), r"the other picture gives shape \(3, .* in layer 1, but \(2, "),
        (
            without_head(0, 1, by=library.images(3)),
            r"the other picture gives shape \(3, 3, .*\) in layer 0, but \(2, 3, ",
        ),
        (cut([1, 2], slice(None), layers=1), r"cut\(.*\) leaves token 1 without a key in layer 1"),
    ):
        with pytest.raises(ValueError, match=message), intervene(model, [one]):
            model(images)
        assert hooks(model) == 0 and active_mode(model) is None


def test_what_is_no_model_or_no_intervention():
    model = OURS.model()
    with (
        pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got Tensor"),
        intervene(torch.zeros(2), []),
    ):
        pass
    for alone in (without_head(0, 1), 3):
        with pytest.raises(TypeError, match="interventions must be a list, such as"), intervene(model, alone):
            pass
    for one in ("without_head", (11, 3), hide):
        message = "interventions must be made by without_head, hide and so on, got"
        with pytest.raises(TypeError, match=message), intervene(model, [one]):
            pass
    assert hooks(model) == 0


def test_models_without_layers_that_could_be_told():
    masked = families.OF_HUGGINGFACE["MAE"].make()
    for model, message in (
        (nn.Linear(2, 2), r"it is not known where Linear keeps its layers: say it by maps\.describe\(Linear, "),
        (OURS.model().encoder.blocks[0], "it is not known where EncoderBlock keeps its layers"),
        (nn.ModuleList([OURS.model(), TIMM.model()]), "ModuleList holds several Vision Transformers, 0, 1: give one"),
        (masked, "ViTMAEModel leaves patches out at random"),
    ):
        with pytest.raises(ValueError, match=message), intervene(model, [without_head(0, 0)]):
            pass


class Attention(nn.Module):
    """Three heads of width 12 over (B, T, 36), one step of which goes by `how`."""

    def __init__(self, how):
        super().__init__()
        self.how = how
        self.qkv = nn.Linear(36, 108)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 3, 12)).permute(2, 0, 3, 1, 4)  # each (B, h, T, d)
        if self.how == "relu":
            weights = (q @ k.mT).relu()
        elif self.how == "by hand":
            weights = (q @ k.mT).exp()
            weights = weights / weights.sum(-1, keepdim=True)
        elif self.how == "flat":
            weights = (q @ k.mT).flatten(0, 1).softmax(-1).unflatten(0, (-1, 3))
        elif self.how == "einsum":
            weights = torch.einsum("bhid, bhjd -> bhij", q, k).softmax(-1)
            return torch.einsum("... i j, ... j d -> ... i d", weights, v).transpose(1, 2).flatten(2)
        else:
            weights = (q @ k.mT).softmax(-1)
        if self.how == "twice":
            weights = (weights + (k @ k.mT).softmax(-1)) / 2
        if self.how == "values twice":
            return (weights @ v + weights @ k).transpose(1, 2).flatten(2)
        if self.how == "values first":
            return (v.mT @ weights.mT).mT.transpose(1, 2).flatten(2)
        return (weights @ v).transpose(1, 2).flatten(2)


class Block(nn.Module):
    """Attention and MLP, put together by `how`."""

    def __init__(self, how):
        super().__init__()
        self.how, self.attention, self.mlp = how, Attention(how), nn.Linear(36, 36)
        self.norm = nn.LayerNorm(36)

    def forward(self, x):
        if self.how == "parallel":
            return x + (self.attention(self.norm(x)) + self.mlp(self.norm(x)))
        if self.how == "norm behind":
            x = self.norm(x + self.attention(x))
            return self.norm(x + self.mlp(x))
        if self.how == "two":
            x = x + self.mlp(self.norm(x))
        if self.how == "in place":
            x += self.attention(self.norm(x))
            x += self.mlp(self.norm(x))
            return x
        x = x + self.attention(self.norm(x))
        return x + self.mlp(self.norm(x))


class Net(nn.Module):
    """Two layers over tokens (B, T, 36), the second of another kind; or only the first of them runs."""

    def __init__(self, how):
        super().__init__()
        self.how, self.layers = how, nn.ModuleList([Block(""), Block(how)])

    def forward(self, x):
        for layer in self.layers[:1] if self.how == "half" else self.layers:
            x = layer(x)
        return x


CUT, HEAD, ROWS = cut(0, 2), without_head(slice(None), 1), reweighted(slice(None), 1)
ATTENTION, MLP = without_branch(slice(None), "attention"), without_branch(slice(None), "mlp")
WAYS = {"scores": "not let keys be hidden", "weights": "not let weights be replaced", "heads": "not show its heads",
        "attention": "does not add its attention", "mlp": "does not add its MLP"}  # fmt: skip


@pytest.mark.parametrize(
    ("how", "refused"),
    [
        ("", set()),
        ("in place", set()),
        ("relu", {"scores", "weights", "heads"}),
        ("by hand", {"scores", "weights", "heads"}),
        ("flat", {"scores", "weights", "heads"}),
        ("twice", {"scores", "weights"}),
        ("values twice", {"heads"}),
        ("values first", {"heads"}),
        ("parallel", {"attention", "mlp"}),
        ("norm behind", {"mlp"}),
        ("two", {"mlp"}),
    ],
)
def test_a_layer_of_another_kind(how, refused):
    model, x = Net(how), torch.randn(2, 5, 36)
    with torch.no_grad():
        before = model(x.clone())
        for one in (CUT, HEAD, ROWS, ATTENTION, MLP):
            if one.place in refused:
                message = rf"layer 1 \(layers.1\) .*{WAYS[one.place]}"
                with pytest.raises(ValueError, match=message), intervene(model, [one]):
                    model(x.clone())
            else:
                with intervene(model, [one]):
                    assert not torch.allclose(model(x.clone()), before)
        with intervene(model, [without_layer([0, 1])]):
            assert torch.equal(model(x.clone()), x)
        assert torch.equal(model(x.clone()), before) and hooks(model) == 0


describe(Net, blocks="layers", attention="attention")


class LastAttention(Block):
    """Computes its attention first, and adds it last."""

    def forward(self, x):
        attention, mlp = self.attention(self.norm(x)), self.mlp(self.norm(x))
        return x + mlp + attention


class Scaled(Block):
    def forward(self, x):
        x = torch.add(x, self.attention(self.norm(x)), alpha=0.5)
        return torch.add(x, self.mlp(self.norm(x)), alpha=2)


class Joined(Block):
    """Projects attention and MLP together, as the Transformers with one matrix for both do."""

    def __init__(self, how):
        super().__init__(how)
        self.both = nn.Linear(72, 36)

    def forward(self, x):
        y = self.norm(x)
        return x + self.both(torch.cat([self.attention(y), self.mlp(y)], dim=2))


@pytest.mark.parametrize(("kind", "scale"), [(LastAttention, 1), (Scaled, 0.5)])
def test_a_branch_is_known_by_what_it_was_computed_from(kind, scale):
    model, x, by = Net(""), torch.randn(2, 5, 36), []
    model.layers = model.layers[:1].append(kind(""))
    with torch.no_grad():
        z = model.layers[0](x)
        attention = model.layers[1].attention(model.layers[1].norm(z))
        whole = model(x)
        with intervene(model, [without_branch(1, "attention", lambda a: by.append(a) or a)]):
            torch.testing.assert_close(model(x), whole)
        torch.testing.assert_close(by[0], scale * attention)
        with intervene(model, [without_branch(1, "attention")]):
            mlp = model.layers[1].mlp(model.layers[1].norm(z))
            torch.testing.assert_close(model(x), z + (2 if kind is Scaled else 1) * mlp)


def test_a_matrix_for_both_branches_leaves_neither_alone():
    model = Net("")
    model.layers = model.layers[:1].append(Joined(""))
    for branch in ("attention", "mlp"):
        with pytest.raises(ValueError, match="does not add its"), intervene(model, [without_branch(1, branch)]):
            model(torch.randn(2, 5, 36))


def test_as_many_tokens_as_channels_are_recorded_as_they_are_used():
    model, x = Net(""), torch.randn(2, 12, 36)
    with torch.no_grad(), intervene(model, [CUT]), record_attention(model) as maps:
        model(x)
    assert maps.stacked()[:, :, :, 0, 2].max() == 0 and maps.stacked()[:, :, :, 1:, 2].min() > 0


def test_a_layer_that_does_not_run_or_takes_no_tokens():
    model = Net("")
    with intervene(model, [without_layer(1)]):
        model(x := torch.randn(2, 5, 36))
        model.how = "half"
        with pytest.raises(ValueError, match=r"layer 1 \(layers.1\) did not run"):
            model(x)
    message = r"layer 0 \(layers.0\) takes \(2, 4, 5, 36\), where tokens \(B, T, D\) are needed"
    with intervene(model, [without_layer(0)]), pytest.raises(ValueError, match=message):
        model(torch.randn(2, 4, 5, 36))
