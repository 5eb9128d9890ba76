import hashlib
import io
import pickle
import struct
import tarfile
import threading
import time
import zlib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.datasets import CIFAR10

from vit_course import data
from vit_course.training import linear_baseline


@pytest.fixture(scope="module")
def shapes():
    return data.shapes(600, 100, 100, image_size=(24, 32))


def test_shapes_are_the_same_on_every_machine():
    d = data.shapes(300, 20, 10, image_size=(16, 24), seed=5)
    digest = hashlib.sha256()
    for part in (d.train, d.validation, d.test):
        for tensor in (part.images, part.labels, part.masks):
            digest.update(tensor.numpy().tobytes())
    assert digest.hexdigest() == "069a57a0c53cd083f58c3643a22c5c6217e0007b175fd8853bf4339a5b5395e0"


def test_shapes_parts_and_sizes(shapes):
    assert shapes.train.images.shape == (600, 3, 24, 32) and shapes.train.images.dtype == torch.uint8
    assert shapes.train.masks.shape == (600, 24, 32) and shapes.train.masks.dtype == torch.bool
    assert (len(shapes.train), len(shapes.validation), len(shapes.test)) == (600, 100, 100)
    assert shapes.image_size == (24, 32) and shapes.in_channels == 3
    assert set(shapes.train.labels.tolist()) == set(range(5)) and len(shapes.class_names) == 5
    assert not torch.equal(shapes.validation.images, shapes.test.images)
    assert not torch.equal(data.shapes(10, 1, 1, seed=1).train.images, data.shapes(10, 1, 1).train.images)


def test_the_mask_is_the_object(shapes):
    # Without noise an object has one colour: inside its mask the image is constant, and the mask is never empty.
    clean = data.shapes(50, 1, 1, image_size=(24, 32), noise=0, clutter=0).train
    for image, mask in zip(clean.images, clean.masks, strict=True):
        inside = image[:, mask]
        assert inside.shape[1] > 10
        assert (inside == inside[:, :1]).all()
        assert (image[:, ~mask] != inside[:, :1]).any(dim=0).float().mean() > 0.95
    area = shapes.train.masks.float().mean().item()
    assert 0.05 < area < 0.3


def test_forms_by_their_area():
    """A circle fills more of its bounding box than a triangle, a ring has a hole at its centre."""
    d = data.shapes(200, 1, 1, image_size=96, noise=0, clutter=0).train
    for label, name in enumerate(data.SHAPES):
        for mask in d.masks[d.labels == label]:
            rows, columns = mask.any(1).nonzero(), mask.any(0).nonzero()
            box = mask[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
            centre = box[box.shape[0] // 2, box.shape[1] // 2].item()
            assert centre == (name != "ring")
            if name == "circle":
                assert 0.7 < box.float().mean() < 0.87


def test_a_linear_classifier_fails_on_shapes():
    accuracy = linear_baseline(data.shapes(4000, 200, 1000), epochs=5)
    print(f"linear classifier on the shapes: {accuracy:.3f}, chance 0.200")
    assert accuracy < 0.35


def test_shapes_are_fast():
    started = time.perf_counter()
    data.shapes(10_000, 1, 1)
    seconds = time.perf_counter() - started
    print(f"10,000 shapes in {seconds:.1f} s")
    assert seconds < 60  # the figure is printed; only an accident of complexity fails here


def test_digits_are_real_and_complete():
    d = data.digits()
    assert (len(d.train), len(d.validation), len(d.test)) == (1197, 200, 400)
    assert d.train.images.shape[1:] == (1, 8, 8) and d.class_names == tuple("0123456789")
    every = torch.cat([part.images.flatten(1) for part in (d.train, d.validation, d.test)])
    from sklearn.datasets import load_digits

    assert sorted(map(tuple, every.tolist())) == sorted(
        map(tuple, (load_digits().data * 255 / 16).round().astype(int).tolist())
    )


@pytest.mark.parametrize("dataset", [data.digits(), data.shapes(200, 5, 5, image_size=(16, 24))])
def test_normalisation(dataset):
    x = dataset.normalise(dataset.train.images)
    assert x.dtype == torch.float32
    torch.testing.assert_close(x.mean((0, 2, 3)), torch.zeros(dataset.in_channels), atol=1e-3, rtol=0)
    torch.testing.assert_close(x.std((0, 2, 3)), torch.ones(dataset.in_channels), atol=1e-3, rtol=0)
    torch.testing.assert_close(dataset.denormalise(x) * 255, dataset.train.images.float(), atol=1e-3, rtol=0)


def test_normalise_refuses_what_it_does_not_know(shapes):
    with pytest.raises(ValueError, match=r"takes images as torch.uint8 .* got torch.float32"):
        shapes.normalise(torch.rand(2, 3, 24, 32))
    with pytest.raises(ValueError, match=r"takes images \(B, 3, H, W\), got shape \(2, 1, 24, 32\)"):
        shapes.normalise(torch.zeros(2, 1, 24, 32, dtype=torch.uint8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_test": 0}, r"at least 1 image, got \(10000, 1000, 0\)"),
        ({"image_size": (7, 32)}, "at least 8 x 8 .* got 7 x 32"),
        ({"noise": -1}, "must not be negative, got -1 and 6"),
    ],
)
def test_bad_shapes(arguments, message):
    with pytest.raises(ValueError, match=message):
        data.shapes(**arguments)


def test_shift_and_flip_by_hand():
    images = torch.arange(2 * 3 * 8 * 12).reshape(2, 3, 8, 12)
    assert torch.equal(data.shift_and_flip(images, 0, False), images)
    generator = torch.Generator().manual_seed(1)
    out = data.shift_and_flip(images.repeat(50, 1, 1, 1), 0, True, generator)
    flipped = sum(torch.equal(o, i.flip(2)) for o, i in zip(out, images.repeat(50, 1, 1, 1), strict=True))
    straight = sum(torch.equal(o, i) for o, i in zip(out, images.repeat(50, 1, 1, 1), strict=True))
    assert flipped + straight == 100 and 30 < flipped < 70


def test_shifts_are_crops_of_the_reflected_image():
    image = torch.randn(1, 3, 8, 12)
    padded = torch.nn.functional.pad(image, (2, 2, 2, 2), mode="reflect")
    crops = [padded[:, :, i : i + 8, j : j + 12] for i in range(5) for j in range(5)]
    seen = set()
    for out in data.shift_and_flip(image.repeat(300, 1, 1, 1), 2, False):
        matches = [i for i, crop in enumerate(crops) if torch.equal(out[None], crop)]
        assert len(matches) == 1
        seen |= set(matches)
    assert len(seen) == 25


@pytest.mark.parametrize("padding", [8, -1])
def test_padding_that_does_not_fit(padding, odd_images):
    with pytest.raises(ValueError, match=f"padding {padding} does not fit an image of 8 x 12"):
        data.shift_and_flip(odd_images, padding, False)


@pytest.fixture
def stand_in_cifar(tmp_path, monkeypatch):
    """A server on this machine with an archive of CIFAR-10's layout and random pixels; -> its folder."""
    folder = tmp_path / "source" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    rng = np.random.RandomState(0)
    lists = {"train_list": [f"data_batch_{i}" for i in range(1, 6)], "test_list": ["test_batch"]}
    for attribute, names in lists.items():
        entries = []
        for name in names:
            batch = {"data": rng.randint(0, 256, (20, 3072), dtype=np.uint8), "labels": list(range(10)) * 2}
            (folder / name).write_bytes(pickle.dumps(batch))
            entries.append([name, hashlib.md5((folder / name).read_bytes()).hexdigest()])
        monkeypatch.setattr(CIFAR10, attribute, entries)
    words = [f"class {i}" for i in range(10)]
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": words}))
    meta_md5 = hashlib.md5((folder / "batches.meta").read_bytes()).hexdigest()
    monkeypatch.setattr(CIFAR10, "meta", {"filename": "batches.meta", "key": "label_names", "md5": meta_md5})
    archive = tmp_path / "source" / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, "cifar-10-batches-py")
    monkeypatch.setattr(CIFAR10, "tgz_md5", hashlib.md5(archive.read_bytes()).hexdigest())

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=archive.parent))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(CIFAR10, "url", f"http://127.0.0.1:{server.server_port}/cifar-10-python.tar.gz")
    yield folder
    server.shutdown()
    server.server_close()


def test_cifar10_downloads_once_and_keeps_pixels_and_labels_together(stand_in_cifar, tmp_path):
    d = data.cifar10(tmp_path / "here")
    assert (len(d.train), len(d.validation), len(d.test)) == (90, 10, 20)
    assert d.train.images.shape == (90, 3, 32, 32) and d.class_names[3] == "class 3"
    source = pickle.loads((stand_in_cifar / "test_batch").read_bytes())
    assert torch.equal(d.test.images, torch.from_numpy(source["data"]).reshape(20, 3, 32, 32))
    assert d.test.labels.tolist() == source["labels"]
    again = data.cifar10(tmp_path / "here", download=False)
    assert torch.equal(again.train.images, d.train.images)


def test_cifar10_without_network_says_what_to_do(stand_in_cifar, tmp_path, monkeypatch):
    monkeypatch.setattr(CIFAR10, "url", "http://127.0.0.1:9/cifar-10-python.tar.gz")  # nobody listens there
    for download in (True, False):
        with pytest.raises(ValueError, match=r"CIFAR-10 is not in .* call cifar10\(download=True\); without one, copy"):
            data.cifar10(tmp_path / "nothing", download=download)


def test_cifar10_with_damaged_files(stand_in_cifar, tmp_path):
    data.cifar10(tmp_path / "here")
    batch = tmp_path / "here" / "cifar-10-batches-py" / "data_batch_2"
    batch.write_bytes(batch.read_bytes()[:-1])
    with pytest.raises(ValueError, match="CIFAR-10 is not in"):
        data.cifar10(tmp_path / "here", download=False)


def make_folder(root, classes=("cat", "dog"), count=8):
    for index, name in enumerate(classes):
        (root / name).mkdir(parents=True)
        for i in range(count):
            pixels = np.full((20 + i, 30, 3), 40 * index + i, dtype=np.uint8)
            Image.fromarray(pixels).save(root / name / f"{i}.png")
    return root


def test_folder(tmp_path):
    d = data.folder(make_folder(tmp_path / "pets"), image_size=(8, 12))
    assert d.class_names == ("cat", "dog") and d.name == "pets" and d.image_size == (8, 12)
    assert (len(d.train), len(d.validation), len(d.test)) == (14, 1, 1)
    for part in (d.train, d.validation, d.test):
        for image, label in zip(part.images, part.labels, strict=True):
            assert (image.float().mean() >= 40) == bool(label)


def test_folder_turns_photographs_upright(tmp_path):
    pixels = np.zeros((10, 20, 3), dtype=np.uint8)
    pixels[:, :10] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # stored lying down: to be turned by 90 degrees clockwise
    Image.fromarray(pixels).save(tmp_path / "photo.jpg", exif=exif, quality=95)
    image = data.open_image(tmp_path / "photo.jpg")
    assert image.shape == (3, 20, 10)
    assert image[:, :8].float().mean() > 240 and image[:, 12:].float().mean() < 15


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1", "I;16"])
def test_every_mode_becomes_rgb(mode, tmp_path):
    image = Image.new("L" if mode == "I;16" else "RGB", (12, 8)).convert("I;16" if mode == "I;16" else mode)
    path = tmp_path / ("image.tiff" if mode in ("CMYK", "I;16") else "image.png")
    image.save(path)
    assert data.open_image(path, (4, 6)).shape == (3, 4, 6)


def encoded(image, **options):
    """The bytes of a file: a PNG unless `options` name another format."""
    buffer = io.BytesIO()
    image.save(buffer, **{"format": "PNG", **options})
    return buffer.getvalue()


def test_a_picture_from_bytes_and_from_a_file_object(tmp_path):
    pixels = np.random.RandomState(0).randint(0, 256, (5, 7, 3), dtype=np.uint8)
    content = encoded(Image.fromarray(pixels))
    (tmp_path / "image.png").write_bytes(content)
    for given in (content, io.BytesIO(content), tmp_path / "image.png", str(tmp_path / "image.png")):
        assert torch.equal(data.open_image(given), torch.from_numpy(pixels).permute(2, 0, 1))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_ends_upright(orientation):
    # A red corner at the top left, as it should be seen; stored as a camera held otherwise would.
    upright = Image.new("RGB", (12, 8))
    upright.paste("red", (0, 0, 6, 4))
    turns = Image.Transpose
    inverse = {2: turns.FLIP_LEFT_RIGHT, 3: turns.ROTATE_180, 4: turns.FLIP_TOP_BOTTOM, 5: turns.TRANSPOSE,
               6: turns.ROTATE_90, 7: turns.TRANSVERSE, 8: turns.ROTATE_270}  # fmt: skip
    stored = upright.transpose(inverse[orientation]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = data.open_image(encoded(stored, exif=exif))
    assert torch.equal(image, torch.from_numpy(np.array(upright)).permute(2, 0, 1))


@pytest.mark.parametrize("kind", ["I;16", "I;16B", "I"])
def test_sixteen_bits_keep_their_tones(kind):
    tones = np.array([[0, 256, 32768, 65535]])
    image = Image.fromarray(tones.astype({"I;16": "<u2", "I;16B": ">u2", "I": "<i4"}[kind]))
    assert image.mode == kind
    opened = data.open_image(encoded(image, format="TIFF"))
    assert opened.tolist() == [[[0, 1, 128, 255]]] * 3


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(mode):
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 255))
    image.putpixel((1, 0), (0, 0, 0, 0))  # the colour beneath is black
    if mode == "P":
        image = Image.new("P", (2, 1))
        image.putpalette([0, 0, 0, 10, 10, 10])
        image.putpixel((1, 0), 1)
        content = encoded(image, transparency=1)
    else:
        content = encoded(image.convert(mode))
    assert data.open_image(content)[:, 0].tolist() == [[0, 255]] * 3


def test_of_an_animation_the_first_picture():
    first, second = Image.new("RGB", (6, 4), "red"), Image.new("RGB", (6, 4), "blue")
    content = encoded(first, format="GIF", save_all=True, append_images=[second])
    assert data.open_image(content)[:, 0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize("size", [(1, 1), (20_000, 10), (10, 20_000)])
def test_odd_sizes_are_covered_and_cropped(size):
    image = Image.new("RGB", size, "blue")
    left, top = size[0] * 3 // 10, size[1] * 3 // 10
    image.paste("red", (left, top, size[0] - left, size[1] - top))
    opened = data.open_image(encoded(image), (8, 12))
    assert opened.shape == (3, 8, 12)
    assert opened[:, 4, 6].tolist() == [255, 0, 0], "the middle stays"
    edge = opened[:, 4, 0] if size[0] > size[1] else opened[:, 0, 6]
    assert edge.tolist() == [255, 0, 0], "the ends of the longer side are gone"


def bomb():
    # A PNG that says it has 30,000 x 30,000 pixels, in a few bytes.
    content = bytearray(encoded(Image.new("1", (1, 1))))
    content[16:24] = struct.pack(">II", 30_000, 30_000)
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"Dear diary, today I renamed a text.", "no image format that is known here"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC photograph, which cannot be read here; save it as JPEG"),
        (encoded(Image.effect_noise((64, 64), 90), format="JPEG")[:900], "truncated"),
        (bomb(), r"too many pixels: Image size \(900000000 pixels\) exceeds limit of \d+ pixels$"),
        (b"P6 4 \xa5 255 ", "no readable image"),  # Pillow's error is a ValueError of another kind here
    ],
    ids=["empty", "text", "heic", "truncated", "bomb", "number"],
)
def test_files_that_cannot_be_used(content, message, tmp_path):
    named, path = io.BytesIO(content), tmp_path / "mine.jpg"
    named.name = "mine.jpg"
    path.write_bytes(content)
    for given, name in ((content, "the picture"), (named, r"mine\.jpg"), (path, r"\S+mine\.jpg")):
        with pytest.raises(ValueError, match=f"^{name} (is|has) .*{message}") as caught:
            data.open_image(given)
        assert "0x" not in str(caught.value), "no address of an object"


def test_folder_errors(tmp_path):
    with pytest.raises(ValueError, match="must be a folder with a sub-folder of images for each class"):
        data.folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="has 1 class, at least 2 are needed"):
        data.folder(make_folder(tmp_path / "one", classes=("cat",), count=12))
    with pytest.raises(ValueError, match="has 4 images, at least 10 are needed"):
        data.folder(make_folder(tmp_path / "few", count=2))
    root = make_folder(tmp_path / "damaged")
    (root / "cat" / "3.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"3\.png is no readable image"):
        data.folder(root)
    (root / "cat" / "3.png").unlink()
    (root / "bird").mkdir()
    with pytest.raises(ValueError, match="bird"):
        data.folder(root)


def test_truncated_and_missing_images(tmp_path):
    path = tmp_path / "photo.jpg"
    Image.fromarray(np.random.RandomState(0).randint(0, 256, (64, 64, 3), dtype=np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(ValueError, match=r"photo\.jpg is no readable image"):
        data.open_image(path)
    with pytest.raises(ValueError, match="there is no file"):
        data.open_image(tmp_path / "gone.jpg")


def test_image_set_checks_its_lengths():
    with pytest.raises(ValueError, match="3 images with 2 labels"):
        data.ImageSet(torch.zeros(3, 1, 2, 2), torch.zeros(2))


def test_cut_out_by_hand():
    images = torch.ones(3, 2, 5, 7)
    places = torch.tensor([[2, 3], [0, 6], [4, 0]])
    out = data.cut_out(images, places, 3)
    expected = torch.ones(3, 5, 7)
    expected[0, 1:4, 2:5] = 0
    expected[1, 0:2, 5:7] = 0  # the rest of the square lies outside
    expected[2, 3:5, 0:2] = 0
    assert torch.equal(out, expected[:, None].expand(3, 2, 5, 7))
    assert torch.equal(data.cut_out(images, places, 0), images) and images.min() == 1
    drawn = data.random_places(500, (5, 7), torch.Generator().manual_seed(0))
    assert drawn.shape == (500, 2) and drawn.min(0).values.tolist() == [0, 0] and drawn.max(0).values.tolist() == [4, 6]


def test_shifts_are_drawn_apart_from_being_made(odd_images):
    def generator():
        return torch.Generator().manual_seed(3)

    shifts = data.random_shifts(2, 3, True, generator())
    assert shifts.shape == (2, 3) and shifts[:, :2].abs().max() <= 3
    whole = data.shift_and_flip(odd_images, 3, True, generator())
    for i in range(2):  # a part of the batch moves as it does in the whole
        assert torch.equal(data.shift_images(odd_images[i : i + 1], shifts[i : i + 1], 3), whole[i : i + 1])
    # The crop begins two rows above the image, and one column further right; the second is mirrored afterwards.
    out = data.shift_images(odd_images, torch.tensor([[-2, 1, 0], [0, 1, 1]]), 2)
    assert torch.equal(out[0, :, 2:, :-1], odd_images[0, :, :-2, 1:])
    assert torch.equal(out[1, :, :, 1:], odd_images[1, :, :, 1:].flip(-1))


def write_pictures(root, count=24):
    for i in range(count):
        path = root / f"class{i % 2}" / f"{i:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.RandomState(i).randint(0, 256, (20, 30, 3), dtype=np.uint8)).save(path)
    return root


def test_a_folder_left_on_disk_is_the_folder_in_memory(tmp_path):
    root = write_pictures(tmp_path / "pictures")
    memory, disk = data.folder(root, image_size=(8, 12)), data.folder(root, image_size=(8, 12), on_disk=True)
    assert (disk.image_size, disk.in_channels, disk.class_names) == ((8, 12), 3, ("class0", "class1"))
    assert (disk.mean, disk.std) == (memory.mean, memory.std)  # of the first thousand, which are all
    for part in ("train", "validation", "test"):
        ours, theirs = getattr(disk, part), getattr(memory, part)
        assert len(ours) == len(theirs) and not hasattr(ours, "images")
        for index in (slice(None), torch.tensor([1, 0])):
            assert torch.equal(ours[index].images, theirs[index].images)
            assert torch.equal(ours[index].labels, theirs[index].labels)


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_from_disk_come_in_order_and_leave_damaged_files_out(workers, tmp_path):
    root = write_pictures(tmp_path / "pictures")
    whole = data.folder(root, image_size=8).train
    files = data.folder(root, image_size=8, on_disk=True).train
    damaged = str(files.paths[4])
    (root / damaged).write_bytes(b"no picture")
    batches = list(torch.arange(len(files)).split(6))
    loaded = list(data.load_batches(files, batches, workers))
    assert [len(batch) for batch in loaded] == [5, 6, 6, 2]
    assert loaded[0].kept.tolist() == [0, 1, 2, 3, 5] and loaded[0].unreadable == (damaged,)
    assert torch.equal(loaded[0].images, whole[torch.tensor([0, 1, 2, 3, 5])].images)
    assert torch.equal(loaded[1].images, whole[6:12].images) and torch.equal(loaded[3].labels, whole[18:].labels)
    assert files.unreadable == {damaged}
    dataset = data.folder(root, image_size=8, on_disk=True)
    assert data.unreadable(dataset) == [damaged]  # found while the mean was computed
    state = torch.get_rng_state()
    list(data.load_batches(files, batches, workers))
    assert torch.equal(torch.get_rng_state(), state)  # dropout's draws do not depend on the reading
