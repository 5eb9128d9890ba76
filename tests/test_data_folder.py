import json
import shutil
from pathlib import Path

import pytest
import torch
from runs import write_pictures

from vit_course import data


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
    with pytest.raises(ValueError, match="bird"):
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
    with pytest.raises(ValueError, match="not one image of the class 'class1' can be read"):
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
