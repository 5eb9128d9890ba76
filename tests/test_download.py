"""Published models out of a cache or from a server: a stand-in for the hub and for torchvision's, on this machine."""

import hashlib
import socket
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import huggingface_hub
import pytest
import torch
from PIL import Image
from published import old_torchvision_names
from saved import HOPPER, NAMES, Payload, huggingface, same, shaken, timm_folder
from served import answering
from torchvision import models
from torchvision.models import VisionTransformer, ViT_B_16_Weights

from vit_course.pretrained import Preprocessing, download, from_pretrained


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
    with answering(Hub) as server:
        server.files, server.tag, server.code = files, tag, code
        yield server


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


@pytest.mark.slow
def test_a_download_from_the_hub_is_kept(tmp_path, use_hub, capsys, monkeypatch):
    monkeypatch.setenv("TQDM_POSITION", "-1")  # a bar although nobody looks
    theirs, images = huggingface(tmp_path / "made", shards="5KB"), torch.randn(2, 3, 24, 24)  # in several parts
    with serving(files_of(tmp_path / "made", "someone/small-vit")) as server:
        use_hub(server.address)
        same(from_pretrained("someone/small-vit").model(images), theirs(images).logits)
        files = {Path(path).name for path in server.asked}
        assert {"config.json", "preprocessor_config.json", "model.safetensors.index.json"} <= files
        assert not any(name.endswith(".bin") for name in files) and len(files) > 6  # with the parts
        assert ".safetensors" in capsys.readouterr().err  # the bar
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


def test_a_download_with_a_wrong_checksum(tmp_path, use_hub):
    huggingface(tmp_path / "made")
    files = files_of(tmp_path / "made", "someone/vit")
    with serving({**files, "/someone/vit/resolve/main/config.json": b"{}"}, tag="0" * 64) as server:
        use_hub(server.address)
        with pytest.raises(
            ValueError, match=r"someone/vit: config\.json arrived damaged \(its SHA-256 is .*, not 0000"
        ):
            from_pretrained("someone/vit")
    with serving(files) as server:  # nothing damaged was kept
        use_hub(server.address)
        assert from_pretrained("someone/vit").class_names == NAMES


def check_offline(name: str, what: str) -> None:
    start = time.perf_counter()
    with pytest.raises(ValueError, match=rf"{what} is not in the cache \(.*\) and could not be downloaded") as raised:
        from_pretrained(name)
    assert time.perf_counter() - start < 120, "it tries again and again"
    for advice in ("needs a network", "Connect once", "a local folder", "pretrained.load('shapes')"):
        assert advice in str(raised.value)
    assert "\n" not in str(raised.value)
    assert socket.getdefaulttimeout() is None


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
    check_offline("someone/vit", "someone/vit: model.safetensors")  # the rest is in the cache
    with serving(files, code="GatedRepo") as server:
        use_hub(server.address)
        with pytest.raises(ValueError, match="someone/gated: the model asks for an agreement first"):
            from_pretrained("someone/gated")


def test_the_hub_out_of_reach(use_hub, monkeypatch):
    use_hub("http://127.0.0.1:9")  # nobody listens
    check_offline("google/vit-base-patch16-224", "google/vit-base-patch16-224: config.json")
    check_offline("deit_small_patch16_224.fb_in1k", "timm/deit_small_patch16_224.fb_in1k: config.json")
    with silence() as address:
        monkeypatch.setattr(download, "SECONDS", 0.5)
        use_hub(address)
        check_offline("google/vit-base-patch16-224", "config.json")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    check_offline("google/vit-base-patch16-224", "config.json")


@pytest.fixture(scope="module")
def small_torchvision():
    """A small ViT of torchvision's for images of 224 and the classes of ImageNet, with the names of the old files."""
    sizes = dict(image_size=224, patch_size=56, num_layers=2, num_heads=3, hidden_dim=192, mlp_dim=16)
    model = shaken(VisionTransformer(**sizes))
    return model, old_torchvision_names(model.state_dict())


@pytest.mark.slow
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
    entry = ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1  # made for larger images than these weights
    torch.save(old, torch_home / Path(entry.url).name)
    with pytest.raises(ValueError, match=rf"{entry}: .* gives images .* = \(3, 384, 384\), but the model takes \(3"):
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
    torch.save({"conv_proj.weight": Payload(tmp_path / "it ran")}, torch_home / right[1:])
    with pytest.raises(ValueError, match=r"small-.*\.pth is refused"):
        from_pretrained("vit_b_16")
    assert not (tmp_path / "it ran").exists()
    (torch_home / right[1:]).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"small-.*\.pth is (not a complete checkpoint|refused)"):
        from_pretrained("vit_b_16")


def test_torchvision_out_of_reach(torch_home, monkeypatch):
    entry = ViT_B_16_Weights.IMAGENET1K_V1.value
    monkeypatch.setattr(entry, "url", "http://127.0.0.1:9/vit_b_16-c867db91.pth")
    check_offline("vit_b_16", r"ViT_B_16_Weights.IMAGENET1K_V1: vit_b_16-c867db91\.pth")
    with silence() as address:
        monkeypatch.setattr(download, "SECONDS", 0.5)
        monkeypatch.setattr(entry, "url", f"{address}/vit_b_16-c867db91.pth")
        check_offline("vit_b_16", "pth")
