import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from runs import write_pictures

from vit_course import data, pretrained
from vit_course.training import TrainingConfig, train
from vit_course.vit import ViT, ViTConfig


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(ValueError, match="must be a folder with a sub-folder of images for each class"):
        data.folder(tmp_path / "nowhere")
    shutil.rmtree(write_pictures(tmp_path / "one") / "class1")
    with pytest.raises(ValueError, match="has 1 class, but at least 2 are needed"):
        data.folder(tmp_path / "one")
    with pytest.raises(ValueError, match="has 4 images, but at least 10 are needed"):
        data.folder(write_pictures(tmp_path / "few", 4))
    root = write_pictures(tmp_path / "damaged")
    (root / "class0" / "04.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"04\.png is not a readable image"):
        data.folder(root)
    (root / "class0" / "04.png").unlink()
    (root / "bird").mkdir()
    with pytest.raises(ValueError, match=r"the class 'bird' has no picture: .*bird has no files"):
        data.folder(root)
    (root / "bird" / "one.heic").write_bytes(b"picture")
    with pytest.raises(ValueError, match=r"bird has 1 left out .another file type., such as one\.heic"):
        data.folder(root)


def test_a_folder_left_on_disk_is_the_folder_in_memory(tmp_path):
    root = write_pictures(tmp_path / "pictures")
    memory, disk = data.folder(root, image_size=(8, 12)), data.folder(root, image_size=(8, 12), on_disk=True)
    assert (disk.image_size, disk.in_channels, disk.class_names) == ((8, 12), 3, ("class0", "class1"))
    assert (memory.name, [*map(len, (memory.train, memory.validation, memory.test))]) == ("pictures", [20, 2, 2])
    assert (disk.mean, disk.std) == (memory.mean, memory.std)  # of the first thousand, which are all
    for part in ("train", "validation", "test"):
        ours, theirs = getattr(disk, part), getattr(memory, part)
        assert len(ours) == len(theirs) and not hasattr(ours, "images")
        assert [Path(path).parent.name[-1] for path in ours.paths] == [str(label) for label in theirs.labels.tolist()]
        # NumPy takes a tensor with one number for a number: the letters of the name were then opened one by one.
        for index in (slice(None), torch.tensor([0]), torch.arange(len(ours)).flip(0)):
            assert torch.equal(ours[index].images, theirs[index].images)
            assert torch.equal(ours[index].labels, theirs[index].labels)


@pytest.mark.slow
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


def test_a_class_of_damaged_files_is_named(tmp_path):
    root = write_pictures(tmp_path / "pictures")
    for path in (root / "class1").iterdir():
        path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ValueError, match="not one training image of the class 'class1' can be read"):
        data.folder(root, image_size=8, on_disk=True)
    with pytest.raises(ValueError, match=r"class1.*\.png is not a readable image"):
        data.folder(root, image_size=8)


def test_the_source_of_a_folder_makes_it_again(tmp_path, monkeypatch):
    root = write_pictures(tmp_path / "shapes")
    made = data.folder(root, image_size=(9, 11), seed=3, on_disk=True)
    assert made.source == {"source": str(root), "image_size": [9, 11], "seed": 3, "on_disk": True}
    again = data.from_recipe(json.loads(json.dumps(made.source)))
    assert again.train.paths.tolist() == made.train.paths.tolist() and again.image_size == (9, 11)
    monkeypatch.chdir(tmp_path)
    for given in ("shapes", Path("shapes")):  # a folder of the name of a source stays a folder
        near = data.folder(given, image_size=10)
        assert near.source == {"source": "./shapes", "image_size": 10}
        assert data.from_recipe(near.source).class_names == ("class0", "class1")


def counts(dataset) -> list[int]:
    return [len(part) for part in (dataset.train, dataset.validation, dataset.test)]


@pytest.fixture
def split_folder(tmp_path) -> Path:
    """train, val and test with 12, 4 and 4 different pictures of each of two classes."""
    pictures = sorted(write_pictures(tmp_path / "all", 40).rglob("*.png"))
    for i, path in enumerate(pictures):
        split = ("train", "val", "test")[(i % 20 > 11) + (i % 20 > 15)]
        place = tmp_path / "photographs" / split / path.parent.name / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        path.rename(place)
    return tmp_path / "photographs"


@pytest.mark.parametrize("on_disk", [False, True])
def test_folders_of_splits_are_the_splits(on_disk, split_folder):
    dataset = data.folder(split_folder, image_size=8, on_disk=on_disk)
    assert counts(dataset) == [24, 8, 8] and dataset.class_names == ("class0", "class1")
    assert dataset.summary["classes"]["class1"] == {"train": 12, "validation": 4, "test": 4}
    shutil.rmtree(split_folder / "test")
    (split_folder / "val").rename(split_folder / "Valid")
    dataset = data.folder(split_folder, image_size=8, on_disk=on_disk)
    assert counts(dataset) == [22, 8, 2] and dataset.summary["splits"] == ["train", "validation"], "a tenth is drawn"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda root: (root / "train" / "class0").rename(root / "cats"), "and next to them 'cats': move it elsewhere"),
        (lambda root: shutil.copytree(root / "val", root / "dev"), "are both named as the validation split"),
        (lambda root: (root / "train").rename(root / "pictures"), "has folders of splits .test, val., but none named"),
        (lambda root: (root / "val" / "class0").rename(root / "val" / "cat"), "val has the class 'cat', which .*train"),
        (lambda root: [shutil.rmtree(root / name / "class0") for name in ("train", "val", "test")], "has 1 class, but"),
    ],
)
def test_splits_that_do_not_fit_are_refused(change, message, split_folder):
    change(split_folder)
    with pytest.raises(ValueError, match=message):
        data.folder(split_folder, image_size=8)


def test_classes_that_are_named_as_splits_are_asked_for(tmp_path):
    root = write_pictures(tmp_path / "pictures")
    (root / "class0").rename(root / "train")
    assert data.folder(root, image_size=8).class_names == ("class1", "train"), "one such name is a class: of trains"
    (root / "class1").rename(root / "test")
    with pytest.raises(ValueError, match="test and train, which are named as splits but have no folders of classes"):
        data.folder(root, image_size=8)


def test_what_is_hidden_or_another_file_is_no_class_and_no_picture(tmp_path, capsys):
    root = write_pictures(tmp_path / "pictures")
    wanted = data.folder(root, image_size=8)
    capsys.readouterr()
    for name in (".ipynb_checkpoints", ".git", "@eaDir", "__MACOSX"):
        for folder in (root / name, root / "class0" / name):
            shutil.copytree(root / "class1", folder)
    (root / "class0" / "._00.png").write_bytes(b"of a Mac")
    (root / "class0" / "notes.txt").write_text("no picture")
    (root / "loose.png").write_bytes((root / "class0" / "00.png").read_bytes())
    dataset = data.folder(root, image_size=8)
    assert dataset.class_names == wanted.class_names and dataset.train.images.equal(wanted.train.images)
    assert {reason: count for reason, (count, _) in dataset.summary["left_out"].items()} == {
        "hidden": 9, "another file type": 1, "in no class's folder": 1,
    }  # fmt: skip
    said = capsys.readouterr().out
    assert said.startswith("pictures: 24 images of 2 classes, split at random\n")
    assert "left out, another file type: 1, such as class0/notes.txt" in said


def test_links_are_followed_once(tmp_path):
    root = write_pictures(tmp_path / "pictures")
    elsewhere = tmp_path / "elsewhere"
    (root / "class1").rename(elsewhere)
    (root / "class1").symlink_to(elsewhere)
    assert counts(data.folder(root, image_size=8)) == [20, 2, 2], "a class may be a link"
    for name, target in (("again", root / "class0"), ("up", root), ("there", elsewhere)):
        (root / "class1" / name).symlink_to(target)
    with pytest.raises(ValueError, match=r"class0 has 12 left out .the same picture in two classes."):
        data.folder(root, image_size=8)
    (root / "class1" / "again").unlink()
    assert counts(data.folder(root, image_size=8)) == [20, 2, 2]


def test_identical_files_never_stand_on_both_sides_of_a_split(split_folder, tmp_path):
    train, test = split_folder / "train" / "class0", split_folder / "test" / "class0"
    first = sorted(train.iterdir())[0]
    shutil.copy(first, test / "copy.png")
    shutil.copy(first, train / "copy.png")
    dataset = data.folder(split_folder, image_size=8, on_disk=True)
    assert counts(dataset) == [23, 8, 9] and dataset.summary["left_out"]["a copy of another picture"][0] == 2
    assert str(test / "copy.png") in dataset.test.paths and str(first) not in dataset.train.paths
    shutil.copy(first, split_folder / "train" / "class1" / "other.png")
    dataset = data.folder(split_folder, image_size=8, on_disk=True)
    assert counts(dataset) == [23, 8, 8] and dataset.summary["left_out"]["the same picture in two classes"][0] == 4
    root = write_pictures(tmp_path / "once", 40)
    for path in [*root.rglob("*.png")]:
        shutil.copy(path, path.with_name(f"copy of {path.name}"))
    dataset = data.folder(root, image_size=8)
    everything = torch.cat([part.images for part in (dataset.train, dataset.validation, dataset.test)]).flatten(1)
    assert counts(dataset) == [32, 4, 4] and len(everything.unique(dim=0)) == 40


ENDINGS = ("png", "jpg", "jfif", "gif", "avif", "webp", "tif", "bmp")


def test_every_format_that_is_opened_is_found_in_a_folder(tmp_path):
    for path in [*write_pictures(tmp_path / "pictures", 2 * len(ENDINGS) + 4).rglob("*.png")]:
        ending = ENDINGS[int(path.stem) // 2 % len(ENDINGS)]
        Image.open(path).save(tmp_path / f"picture.{ending}")
        path.unlink()
        shutil.move(tmp_path / f"picture.{ending}", path.with_suffix(f".{ending.upper()}"))
    assert counts(data.folder(tmp_path / "pictures", image_size=8)) == [16, 2, 2]
    assert data.folder(tmp_path / "pictures", image_size=8).summary["left_out"] == {}


def write_numbers(folder: Path, highest: int, dtype, ending: str) -> Path:
    """Writes twelve pictures of whole numbers up to `highest`, two of them five times darker; returns the folder."""
    for i in range(12):
        values = np.random.RandomState(i).randint(0, highest // (5 if i < 2 else 1) + 1, (20, 30))
        path = folder / f"class{i % 2}" / f"{i:02}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(values.astype(dtype)).save(path)
    return folder


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize(("dtype", "ending"), [(np.uint16, "png"), (np.int32, "tif")])
@pytest.mark.parametrize(("highest", "bits"), [(255, 8), (4095, 12), (65535, 16)])
def test_whole_numbers_are_read_by_what_the_pictures_of_the_folder_use(highest, bits, dtype, ending, on_disk, tmp_path):
    root = write_numbers(tmp_path / "scans", highest, dtype, ending)
    dataset = data.folder(root, image_size=(20, 30), on_disk=on_disk)
    assert dataset.summary["bits"] == bits
    parts = (dataset.train, dataset.validation, dataset.test)
    means = sorted(mean.item() for part in parts for mean in part[:].images.flatten(1).float().mean(dim=1))
    assert all(20 < mean < 32 for mean in means[:2]) and all(115 < mean < 140 for mean in means[2:]), "all on one scale"


def test_the_picture_of_most_bits_decides_wherever_it_stands(tmp_path):
    root = write_numbers(tmp_path / "scans", 255, np.uint16, "png")
    for path in root.rglob("*.png"):  # whichever is drawn for the test, one of 12 bits is in it
        others = write_numbers(tmp_path / f"other {path.stem}", 255, np.uint16, "png")
        values = np.array(Image.open(others / path.relative_to(root))).astype(np.uint16)
        values[0, 0] = 4000
        Image.fromarray(values).save(others / path.relative_to(root))
        assert data.folder(others, image_size=8).summary["bits"] == 12


def test_a_class_without_a_training_image_is_named_and_not_refused(tmp_path, capsys):
    root = write_pictures(tmp_path / "pictures", 40)
    for seed in range(200):  # until the only picture is drawn for validation or test
        (root / "rare").mkdir(exist_ok=True)
        Image.new("RGB", (30, 20), (200, 100, 30)).save(root / "rare" / "only.png")
        both = [data.folder(root, image_size=8, seed=seed, on_disk=on_disk) for on_disk in (False, True)]
        assert both[0].summary["classes"] == both[1].summary["classes"]
        if not both[0].summary["classes"]["rare"]["train"]:
            break
    assert "no image for train: rare" in capsys.readouterr().out


def test_a_picture_of_few_bits_says_so(tmp_path):
    path = write_numbers(tmp_path / "scans", 4095, np.uint16, "png") / "class0" / "10.png"
    with pytest.warns(UserWarning, match=r"10\.png has values of 12 bits in a file of more bits: read as 12 bits"):
        image = data.open_image(path)
    assert 115 < image.float().mean() < 140
    with pytest.raises(ValueError, match="but whole numbers from 0 to 255 are needed"):
        data.open_image(path, bits=8)


def test_nearly_black_pictures_and_rare_classes_are_named(tmp_path, capsys):
    root = write_pictures(tmp_path / "pictures", 40)
    (root / "rare").mkdir()
    Image.new("RGB", (30, 20), (2, 1, 3)).save(root / "rare" / "only.png")
    dataset = data.folder(root, image_size=8)
    said = capsys.readouterr().out
    assert "nearly black: 1 of the 41 images that were opened, such as rare/only.png" in said
    absent = [split for split, count in dataset.summary["classes"]["rare"].items() if not count]
    assert len(absent) == 2 and all(f"no image for {split}: rare" in said for split in absent)


def test_the_summary_is_kept_with_the_run(split_folder, tmp_path):
    dataset = data.folder(split_folder, image_size=8)
    config = ViTConfig(image_size=8, patch_size=4, num_classes=2, hidden_dim=8, num_layers=1, num_heads=2, mlp_dim=8)
    train(ViT(config), dataset, TrainingConfig(epochs=1), tmp_path / "run", progress=False)
    kept = json.loads((tmp_path / "run" / "config.json").read_text())["images"]["summary"]
    assert kept == dataset.summary and kept["classes"]["class0"]["test"] == 4
    assert pretrained.load_run(tmp_path / "run").class_names == ["class0", "class1"]
