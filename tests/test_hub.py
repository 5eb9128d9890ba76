"""Published models by name: folders that the real libraries saved here, and a stand-in for their servers."""

import hashlib
import json
import os
import pickle
import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub
import pytest
import timm
import torch
import transformers
from matplotlib.cbook import get_sample_data
from PIL import Image
from safetensors.torch import load_file, save_file
from torchvision import models
from torchvision.models import VisionTransformer, ViT_B_16_Weights

from vit_course import pretrained
from vit_course.pretrained import Preprocessing, download, from_pretrained

HOPPER = str(get_sample_data("grace_hopper.jpg", asfileobj=False))
NAMES = ["circle", "square", "triangle", "cross", "ring"]
SMALL = {
    **{"hidden_size": 36, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20},
    **{"image_size": 24, "patch_size": 8},
}
TINY = {"img_size": 32, "patch_size": 8, "embed_dim": 36, "depth": 2, "num_heads": 3, "num_classes": 5}


def shaken(model: torch.nn.Module) -> torch.nn.Module:
    """The model in eval mode with no zeros and no ones in it, so that a swap shows."""
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model.eval()


def huggingface(folder: Path, kind=transformers.ViTForImageClassification, shards="1GB", **config):
    """A model and its processor, saved by transformers; -> the model."""
    labels = {"id2label": dict(enumerate(NAMES)), "label2id": {name: i for i, name in enumerate(NAMES)}}
    model = shaken(kind(transformers.ViTConfig(**{**SMALL, **labels, **config})))
    model.save_pretrained(folder, max_shard_size=shards)
    transformers.ViTImageProcessor(size={"height": 24, "width": 24}).save_pretrained(folder)
    return model


def timm_folder(folder: Path, name="vit_tiny_patch16_224", safe=True, model_config=None, **arguments):
    """A model of timm, saved by timm; -> the model."""
    model = shaken(timm.create_model(name, **{**TINY, **arguments}))
    timm.models.save_for_hf(model, folder, model_config=model_config, safe_serialization=safe)
    return model


def change(path: Path, **values) -> None:
    """Other values in a JSON file; None takes one out."""
    content = json.loads(path.read_text()) | values
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def same(ours, theirs):
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"hidden_act": "gelu_new", "layer_norm_eps": 0.3},
        {"hidden_act": "gelu_pytorch_tanh", "qkv_bias": False},
        {"num_attention_heads": 4, "patch_size": 4, "num_hidden_layers": 3},
    ],
)
def test_a_folder_of_huggingface(config, tmp_path):
    theirs = huggingface(tmp_path, **config)
    model, preprocess, class_names = from_pretrained(tmp_path)
    images = preprocess(HOPPER)
    same(images, transformers.ViTImageProcessor.from_pretrained(tmp_path)(Image.open(HOPPER))["pixel_values"][0][None])
    same(model(images), theirs(images).logits)
    assert class_names == NAMES and not model.training and not hasattr(model, "vit")


def test_the_old_files_of_huggingface(tmp_path):
    # The published ones: names of version 4 in the weights, a bare size, no entry for what is usual.
    theirs = huggingface(tmp_path)
    renames = {
        **{"vit.layers": "vit.encoder.layer", "q_proj": "attention.query", "k_proj": "attention.key"},
        **{"v_proj": "attention.value", "attention.o_proj": "attention.output.dense"},
        **{"mlp.fc1": "intermediate.dense", "mlp.fc2": "output.dense"},
    }
    state = {}
    for key, value in load_file(tmp_path / "model.safetensors").items():
        for new, old in renames.items():
            key = key.replace(new, old)
        state[key] = value
    save_file(state, tmp_path / "model.safetensors")
    change(tmp_path / "config.json", num_channels=None, qkv_bias=None, dtype=None, pooler_act=None)
    old = {"do_normalize": True, "do_resize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "size": 24}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(old))
    published, images = from_pretrained(tmp_path), torch.randn(2, 3, 24, 24)
    same(published.model(images), theirs(images).logits)


def test_weights_in_parts(tmp_path):
    theirs = huggingface(tmp_path, shards="5KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2 and not (tmp_path / "model.safetensors").exists()
    images = torch.randn(2, 3, 24, 24)
    same(from_pretrained(tmp_path).model(images), theirs(images).logits)
    part = sorted(tmp_path.glob("*.safetensors"))[1]
    part.rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=f"the part '{part.name}' of the weights, which model.safetensors.index.json"):
        from_pretrained(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    (tmp_path.parent / "outside.safetensors").write_bytes((tmp_path / "elsewhere").read_bytes())
    change(index, weight_map={"a": "../outside.safetensors"})
    with pytest.raises(ValueError, match=r"the part '\.\./outside\.safetensors' of the weights, .* is missing"):
        from_pretrained(tmp_path)
    change(index, weight_map=None)
    with pytest.raises(ValueError, match=r"index\.json lists no parts: it has no weight_map"):
        from_pretrained(tmp_path)


def test_a_backbone_without_a_head(tmp_path):
    theirs = huggingface(tmp_path, transformers.ViTModel)
    with pytest.raises(ValueError, match="give num_classes"):
        from_pretrained(tmp_path)
    model, _, class_names = from_pretrained(tmp_path, num_classes=7)
    images = torch.randn(2, 3, 24, 24)
    result = theirs(images)
    same(model.features(images), result.last_hidden_state)
    same(model.pre_logits(model.features(images)[:, 0]), result.pooler_output)
    assert model(images).shape == (2, 7) and class_names == [f"class {i}" for i in range(7)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("vit_tiny_patch16_224", {}),
        ("vit_base_patch16_224_miil", {}),
        ("deit_small_patch16_224", {"num_heads": 4, "drop_path_rate": 0.1}),
        ("vit_tiny_patch16_224", {"class_token": False, "global_pool": "avg", "fc_norm": False}),
        ("vit_tiny_patch16_224", {"act_layer": "gelu_tanh", "in_chans": 1}),
    ],
)
@pytest.mark.parametrize("safe", [True, False])
def test_a_folder_of_timm(name, arguments, safe, tmp_path):
    theirs = timm_folder(tmp_path, name, safe, **arguments)
    assert [path.suffix for path in tmp_path.glob("*model*")] == [".safetensors" if safe else ".bin"]
    model, preprocess, class_names = from_pretrained(tmp_path)
    images = torch.randn(2, model.config.in_channels, 32, 32)
    same(model(images), theirs(images))
    assert preprocess(HOPPER).shape == images[:1].shape and class_names == [f"class {i}" for i in range(5)]
    if "in_chans" not in arguments:
        reloaded = timm.create_model(f"local-dir:{tmp_path}", pretrained=True)
        transform = timm.data.create_transform(**timm.data.resolve_model_data_config(reloaded))
        same(preprocess(HOPPER), transform(Image.open(HOPPER))[None])


def test_class_names_of_timm(tmp_path):
    timm_folder(tmp_path, model_config={"label_names": NAMES})
    assert from_pretrained(tmp_path).class_names == NAMES
    change(tmp_path / "config.json", label_descriptions={"ring": "a ring, a circle with a hole"})
    assert from_pretrained(tmp_path).class_names == [*NAMES[:4], "a ring, a circle with a hole"]
    timm_folder(tmp_path, num_classes=1000)
    change(tmp_path / "config.json", label_names=None, label_descriptions=None)
    names = from_pretrained(tmp_path).class_names
    assert len(names) == 1000 and names[0] == "tench" and names[652] == "military uniform"
    timm_folder(tmp_path, num_classes=0)  # as the weights of MAE and DINO come
    with pytest.raises(ValueError, match="give num_classes"):
        from_pretrained(tmp_path)
    assert from_pretrained(tmp_path, num_classes=1000).class_names[0] == "class 0"


def test_another_head(tmp_path):
    theirs = huggingface(tmp_path, hidden_act="gelu_new")
    model, _, class_names = from_pretrained(tmp_path, num_classes=3)
    images = torch.randn(2, 3, 24, 24)
    same(model.features(images), theirs.vit(images).last_hidden_state)
    assert model(images).shape == (2, 3) and class_names == ["class 0", "class 1", "class 2"]
    assert model.config.num_classes == 3 and not model.training
    assert from_pretrained(tmp_path, num_classes=5).class_names == NAMES


def test_the_top_classes(tmp_path):
    theirs = huggingface(tmp_path)
    published = from_pretrained(tmp_path)
    best = published.top(HOPPER, count=3)
    probabilities = theirs(published.preprocess(HOPPER)).logits.softmax(dim=1)[0]
    order = probabilities.argsort(descending=True)[:3].tolist()
    assert [name for name, _ in best] == [NAMES[i] for i in order]
    assert [p for _, p in best] == pytest.approx(probabilities[order].tolist(), abs=1e-5)
    assert len(published.top(Image.open(HOPPER), count=99)) == 5
    assert repr(published).startswith("Pretrained(ViTConfig(") and "5 class names" in repr(published)
    published.model.double()
    assert published.top(HOPPER)[0][0] == best[0][0]


class Payload:
    """What runs when it is unpickled freely."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_nothing_is_unpickled_freely(tmp_path):
    huggingface(tmp_path)
    weights, trace = tmp_path / "pytorch_model.bin", tmp_path / "it ran"
    state = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    torch.save({**state, "extra": Payload(trace)}, weights)
    with pytest.raises(ValueError, match=r"pytorch_model\.bin is refused: .* more in it than tensors"):
        from_pretrained(tmp_path)
    weights.write_bytes(pickle.dumps(Payload(trace)))
    with pytest.raises(ValueError, match=r"pytorch_model\.bin is refused"):
        from_pretrained(tmp_path)
    assert not trace.exists()
    pickle.loads(weights.read_bytes())
    assert trace.exists()  # so the trap works
    torch.save(state, weights)
    assert from_pretrained(tmp_path).class_names == NAMES
    torch.save({"state_dict": state}, weights)
    with pytest.raises(ValueError, match="holds no state dict"):
        from_pretrained(tmp_path)


def test_safetensors_before_pickles(tmp_path):
    huggingface(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"worse")
    assert from_pretrained(tmp_path).class_names == NAMES


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_truncated_weights(share, safe, tmp_path):
    timm_folder(tmp_path, safe=safe)
    path = tmp_path / ("model.safetensors" if safe else "pytorch_model.bin")
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match=rf"{path.name} is (no whole checkpoint|refused: it is damaged)"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (transformers.SwinConfig(architectures=["SwinForImageClassification"]), "SwinForImageClassification"),
        (transformers.ResNetConfig(), "resnet"),
        (transformers.Dinov2Config(architectures=["Dinov2Model"]), "Dinov2Model"),
        (transformers.BertConfig(architectures=["BertForMaskedLM"]), "BertForMaskedLM"),
        (transformers.DeiTConfig(architectures=["DeiTForImageClassification"]), "DeiTForImageClassification"),
        (transformers.ViTConfig(architectures=["ViTForMaskedImageModeling"]), "ViTForMaskedImageModeling"),
    ],
)
def test_other_architectures_of_huggingface(config, message, tmp_path):
    config.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=f"this is a {message}, and only ViTForImageClassification and ViTModel"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *("swin_tiny_patch4_window7_224", "resnet18", "vit_small_patch14_reg4_dinov2", "beit_base_patch16_224"),
        *("deit_tiny_distilled_patch16_224", "deit3_small_patch16_224", "vit_base_patch16_clip_quickgelu_224"),
    ],
)
def test_other_architectures_of_timm(name, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"architecture": name, "pretrained_cfg": {}}))
    with pytest.raises(ValueError, match=f"this is a '{name}', and of timm only the plain"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"num_hidden_layers": 3}, "config.json says num_layers 3, the weights have 2"),
        ({"image_size": [32, 24]}, r"config.json says image_size \(32, 24\), the weights have \(24, 24\)"),
        ({"num_attention_heads": 5}, "hidden_dim 36 is not a multiple of num_heads 5"),
        ({"num_attention_heads": "3"}, "num_heads must be an int of at least 1, got '3'"),
        ({"hidden_act": "relu"}, "the activation is 'relu', and our ViT has a GELU only"),
        ({"id2label": {"0": "one"}}, "there are 1 class names for 5 classes"),
        ({"id2label": ["one"]}, "a configuration file holds what cannot be used"),
        ({"layer_norm_eps": "small"}, "a configuration file holds what cannot be used"),
    ],
)
def test_a_config_that_does_not_fit_the_weights(values, message, tmp_path):
    huggingface(tmp_path)
    change(tmp_path / "config.json", **values)
    with pytest.raises(ValueError, match=f"{tmp_path.name}: .*{message}"):
        from_pretrained(tmp_path)


def test_another_pooler(tmp_path):
    huggingface(tmp_path, transformers.ViTModel, pooler_act="relu")
    with pytest.raises(ValueError, match="pooler_act must be 'tanh', got 'relu'"):
        from_pretrained(tmp_path, num_classes=2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"global_pool": "avg"}, "global_pool is 'avg', which our ViT with pool='cls' does not do"),
        ({"model_args": {**TINY, "depth": 3}}, "config.json says num_layers 3, the weights have 2"),
        ({"model_args": {**TINY, "qkv_bias": False}}, "config.json says qkv_bias False, the weights have True"),
        ({"model_args": {**TINY, "init_values": 0.1}}, "nothing like timm's argument init_values=0.1"),
        ({"model_args": {**TINY, "act_layer": "silu"}}, "the activation is 'silu'"),
        ({"model_args": [1]}, "a configuration file holds what cannot be used"),
        (
            {"pretrained_cfg": {"input_size": (3, 48, 48)}},
            r"gives images .* \(3, 48, 48\), the model takes \(3, 32, 32",
        ),
        ({"architecture": "vit_tiny_patch16_rpn_224"}, "this is a 'vit_tiny_patch16_rpn_224'"),
    ],
)
def test_a_config_of_timm_that_ours_cannot_be(values, message, tmp_path):
    timm_folder(tmp_path)
    change(tmp_path / "config.json", **values)
    with pytest.raises(ValueError, match=f"{tmp_path.name}: .*{message}"):
        from_pretrained(tmp_path)


def test_files_that_are_missing_or_no_json(tmp_path):
    huggingface(tmp_path)
    for name, message in (
        ("model.safetensors", r"there are no weights: looked for model\.safetensors, .*, pytorch_model\.bin"),
        ("preprocessor_config.json", r"there is no preprocessor_config\.json, which says what the model takes"),
        ("config.json", r"there is no config\.json, which says what kind of model it is"),
    ):
        (tmp_path / name).unlink()
        with pytest.raises(ValueError, match=message):
            from_pretrained(tmp_path)
    for text, message in (("{", "is no valid JSON"), ("[1]", "must hold an object in curly brackets, got list")):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match=rf"config\.json {message}"):
            from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="this is a model of an unnamed architecture"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "there is no folder 'nothing', and it is no name of published weights, such as 'vit_b_16'"),
        ("./no/such/folder", "there is no folder './no/such/folder'"),
        ("vit_base_patch16_224", "timm's name 'vit_base_patch16_224' needs the tag of its weights"),
        ("resnet18", "torchvision's resnet18 is no plain Vision Transformer"),
        ("vit_b_16.OLD", "torchvision's vit_b_16 has no weights 'OLD', only IMAGENET1K_V1, IMAGENET1K_SWAG_E2E_V1"),
    ],
)
def test_names_that_nobody_has(name, message):
    with pytest.raises(ValueError, match=message):
        from_pretrained(name)


# Servers, on this machine.


class Hub(BaseHTTPRequestHandler):
    """Serves `server.files`, path -> content, with the headers of the Hugging Face hub."""

    def do_GET(self):
        self.do_HEAD()
        self.wfile.write(self.server.files.get(self.path, b""))

    def do_HEAD(self):
        content = self.server.files.get(self.path)
        self.server.asked.append(self.path)
        if self.server.code:
            self.send_response(403)
            self.send_header("X-Error-Code", self.server.code)
            content = b""
        elif content is None:
            known = any(path.startswith(self.path.split("/resolve/")[0]) for path in self.server.files)
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound" if known else "RepoNotFound")
            content = b""
        else:
            self.send_response(200)
            large = Path(self.path).suffix in (".safetensors", ".bin", ".pth")
            digest = hashlib.sha256(content) if large else hashlib.sha1(content)
            self.send_header("ETag", f'"{self.server.tag or digest.hexdigest()}"')
            self.send_header("X-Repo-Commit", "0123456789" * 4)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def serving(files: dict[str, bytes], tag: str | None = None, code: str | None = None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.files, server.asked, server.tag, server.code = files, [], tag, code
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def silence():
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def use_hub(monkeypatch, tmp_path):
    """A function: from then on the hub is at this address, and its cache empty but for what this test downloads."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    constants = huggingface_hub.constants
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)  # or it asks for more than files
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)

    def use(address: str) -> None:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        template = address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)

    return use


@pytest.fixture
def torch_home(monkeypatch, tmp_path) -> Path:
    """Where torch.hub keeps its files in this test."""
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "torch"))
    return tmp_path / "torch" / "checkpoints"


def files_of(folder: Path, repository: str) -> dict[str, bytes]:
    return {f"/{repository}/resolve/main/{path.name}": path.read_bytes() for path in folder.iterdir()}


def test_a_download_from_the_hub_is_kept(tmp_path, use_hub, capsys, monkeypatch):
    monkeypatch.setenv("TQDM_POSITION", "-1")  # a bar although nobody looks
    theirs, images = huggingface(tmp_path / "made"), torch.randn(2, 3, 24, 24)
    with serving(files_of(tmp_path / "made", "someone/small-vit")) as server:
        use_hub(server.address)
        same(from_pretrained("someone/small-vit").model(images), theirs(images).logits)
        files = {Path(path).name for path in server.asked}
        assert files == {"config.json", "preprocessor_config.json", "model.safetensors"}
        assert "model.safetensors" in capsys.readouterr().err  # the bar
        asked = len(server.asked)
        from_pretrained("someone/small-vit")
        assert len(server.asked) == asked
    # The server is gone.
    same(from_pretrained("someone/small-vit").model(images), theirs(images).logits)


@pytest.mark.parametrize("name", ["vit_tiny_patch16_224.mine", "timm/vit_tiny_patch16_224.mine"])
@pytest.mark.parametrize("safe", [True, False])
def test_the_names_of_timm_lie_under_timm(name, safe, tmp_path, use_hub):
    theirs, images = timm_folder(tmp_path / "made", safe=safe), torch.randn(2, 3, 32, 32)
    with serving(files_of(tmp_path / "made", "timm/vit_tiny_patch16_224.mine")) as server:
        use_hub(server.address)
        same(from_pretrained(name).model(images), theirs(images))
    same(from_pretrained(name).model(images), theirs(images))  # also a .bin, without asking for better


def test_parts_from_the_hub(tmp_path, use_hub):
    theirs, images = huggingface(tmp_path / "made", shards="5KB"), torch.randn(2, 3, 24, 24)
    with serving(files_of(tmp_path / "made", "someone/parts")) as server:
        use_hub(server.address)
        same(from_pretrained("someone/parts").model(images), theirs(images).logits)


def test_a_download_with_a_wrong_checksum(tmp_path, use_hub):
    huggingface(tmp_path / "made")
    files = files_of(tmp_path / "made", "someone/vit")
    with serving({**files, "/someone/vit/resolve/main/config.json": b"{}"}, tag="0" * 64) as server:
        use_hub(server.address)
        with pytest.raises(ValueError, match=r"someone/vit: config\.json came damaged \(its SHA-256 is .*, not 0000"):
            from_pretrained("someone/vit")
    with serving(files) as server:  # nothing damaged was kept
        use_hub(server.address)
        assert from_pretrained("someone/vit").class_names == NAMES


def test_what_the_hub_refuses(tmp_path, use_hub):
    huggingface(tmp_path / "made")
    files = files_of(tmp_path / "made", "someone/vit")
    with serving(files) as server:
        use_hub(server.address)
        with pytest.raises(ValueError, match="nobody/nothing: the hub has no public model of this name"):
            from_pretrained("nobody/nothing")
        del files["/someone/vit/resolve/main/model.safetensors"]
        with pytest.raises(ValueError, match=r"someone/vit: there are no weights: looked for model\.safetensors"):
            from_pretrained("someone/vit")
    with serving(files, code="GatedRepo") as server:
        use_hub(server.address)
        with pytest.raises(ValueError, match="someone/gated: the model asks for an agreement first"):
            from_pretrained("someone/gated")


def check_offline(name: str, what: str, seconds: float = 8) -> None:
    start = time.perf_counter()
    with pytest.raises(ValueError, match=rf"{what} is not in the cache \(.*\) and could not be downloaded") as raised:
        from_pretrained(name)
    assert time.perf_counter() - start < seconds
    for advice in ("needs a network", "Connect once", "a local folder", "pretrained.load('shapes')"):
        assert advice in str(raised.value)
    assert "\n" not in str(raised.value)
    assert socket.getdefaulttimeout() is None


def test_the_hub_out_of_reach(use_hub, monkeypatch):
    use_hub("http://127.0.0.1:9")  # nobody listens
    check_offline("google/vit-base-patch16-224", "google/vit-base-patch16-224: config.json")
    check_offline("deit_small_patch16_224.fb_in1k", "timm/deit_small_patch16_224.fb_in1k: config.json")
    with silence() as address:
        monkeypatch.setattr(download, "SECONDS", 0.5)
        use_hub(address)
        check_offline("google/vit-base-patch16-224", "config.json")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    check_offline("google/vit-base-patch16-224", "config.json", seconds=1)


def test_weights_that_are_not_in_the_cache_yet(tmp_path, use_hub):
    huggingface(tmp_path / "made")
    files = files_of(tmp_path / "made", "someone/vit")
    weights = files.pop("/someone/vit/resolve/main/model.safetensors")
    with serving(files) as server:
        use_hub(server.address)
        with pytest.raises(ValueError, match="there are no weights"):
            from_pretrained("someone/vit")
    check_offline("someone/vit", "someone/vit: model.safetensors")
    with serving({**files, "/someone/vit/resolve/main/model.safetensors": weights}) as server:
        use_hub(server.address)
        assert from_pretrained("someone/vit").class_names == NAMES


@pytest.fixture(scope="module")
def small_torchvision():
    """A small ViT of torchvision's for images of 224 and the classes of ImageNet, with the names of the old files."""
    model = shaken(
        VisionTransformer(image_size=224, patch_size=56, num_layers=2, num_heads=2, hidden_dim=128, mlp_dim=16)
    )
    state = {key.replace("mlp.0.", "mlp.linear_1."): value for key, value in model.state_dict().items()}
    return model, {key.replace("mlp.3.", "mlp.linear_2."): value for key, value in state.items()}


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("vit_b_16", ViT_B_16_Weights.IMAGENET1K_V1),
        ("vit_b_16.IMAGENET1K_SWAG_LINEAR_V1", ViT_B_16_Weights.IMAGENET1K_SWAG_LINEAR_V1),
        ("ViT_B_16_Weights.IMAGENET1K_SWAG_LINEAR_V1", ViT_B_16_Weights.IMAGENET1K_SWAG_LINEAR_V1),
        ("vit_l_32", models.ViT_L_32_Weights.DEFAULT),
    ],
)
def test_torchvision_out_of_the_cache(name, entry, small_torchvision, torch_home):
    theirs, old = small_torchvision
    theirs.load_state_dict(old)  # torchvision renames them just so
    torch_home.mkdir(parents=True)
    torch.save(old, torch_home / Path(entry.url).name)
    model, preprocess, class_names = from_pretrained(name)
    images = preprocess(HOPPER)
    same(images, entry.transforms()(Image.open(HOPPER))[None])
    same(model(images), theirs(images))
    assert class_names == entry.meta["categories"] and class_names[652] == "military uniform"
    assert preprocess == Preprocessing.from_torchvision(entry)
    assert from_pretrained(name, num_classes=4).model(images).shape == (1, 4)


def test_torchvision_at_another_size_than_its_weights(small_torchvision, torch_home):
    entry = ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1
    torch_home.mkdir(parents=True)
    torch.save(small_torchvision[1], torch_home / Path(entry.url).name)
    message = r"ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1: .* gives images .* = \(3, 384, 384\), the model takes \(3, 224"
    with pytest.raises(ValueError, match=message):
        from_pretrained("vit_b_16.IMAGENET1K_SWAG_E2E_V1")


def test_torchvision_downloaded_and_checked(small_torchvision, torch_home, tmp_path, monkeypatch, capsys):
    theirs, old = small_torchvision
    torch.save(old, tmp_path / "weights")
    content, images = (tmp_path / "weights").read_bytes(), torch.randn(1, 3, 224, 224)
    right = f"/small-{hashlib.sha256(content).hexdigest()[:8]}.pth"
    entry = ViT_B_16_Weights.IMAGENET1K_V1.value
    with serving({right: content, "/small-00000000.pth": content}) as server:
        monkeypatch.setattr(entry, "url", f"{server.address}/small-00000000.pth")
        with pytest.raises(ValueError, match=r"small-00000000\.pth .* could not be downloaded.*invalid hash value"):
            from_pretrained("vit_b_16")
        assert not (torch_home / "small-00000000.pth").exists()
        monkeypatch.setattr(entry, "url", server.address + right)
        same(from_pretrained("vit_b_16").model(images), theirs(images))
        assert "100%" in capsys.readouterr().err  # the bar
    same(from_pretrained("vit_b_16").model(images), theirs(images))  # the server is gone
    (torch_home / right[1:]).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"small-.*\.pth is (no whole checkpoint|refused)"):
        from_pretrained("vit_b_16")


def test_torchvision_out_of_reach(torch_home, monkeypatch):
    entry = ViT_B_16_Weights.IMAGENET1K_V1.value
    monkeypatch.setattr(entry, "url", "http://127.0.0.1:9/vit_b_16-c867db91.pth")
    check_offline("vit_b_16", r"ViT_B_16_Weights.IMAGENET1K_V1: vit_b_16-c867db91\.pth")
    with silence() as address:
        monkeypatch.setattr(download, "SECONDS", 0.5)
        monkeypatch.setattr(entry, "url", f"{address}/vit_b_16-c867db91.pth")
        check_offline("vit_b_16", "pth")


def test_a_hostile_pickle_for_torchvision(torch_home, tmp_path, monkeypatch):
    trace = tmp_path / "it ran"
    torch.save({"conv_proj.weight": Payload(trace)}, tmp_path / "weights")
    content = (tmp_path / "weights").read_bytes()
    entry = ViT_B_16_Weights.IMAGENET1K_V1.value
    name = f"bad-{hashlib.sha256(content).hexdigest()[:8]}.pth"
    with serving({f"/{name}": content}) as server:
        monkeypatch.setattr(entry, "url", f"{server.address}/{name}")
        for _ in range(2):  # downloaded, then out of the cache
            with pytest.raises(ValueError, match=name):
                from_pretrained("vit_b_16")
    assert not trace.exists()


def test_the_names_are_exported():
    assert pretrained.from_pretrained is from_pretrained and issubclass(pretrained.Pretrained, tuple)
