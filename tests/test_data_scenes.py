import hashlib
import json

import pytest
import torch

from vit_course import data
from vit_course.data.captions import RELATIONS, SIZES, WORDS, parse
from vit_course.data.scenes import COMBINATIONS, HELD_OUT, Scenes


@pytest.fixture(scope="module")
def scenes():
    return data.scenes(800, 100, 100, image_size=(30, 36))


@pytest.fixture(scope="module")
def new():
    return data.scenes(1, 1, 200, image_size=30, new_combinations=True).test


def test_scenes_are_the_same_on_every_machine():
    d = data.scenes(60, 20, 10, image_size=(24, 30), seed=5)
    digest = hashlib.sha256()
    for part in (d.train, d.validation, d.test):
        for tensor in (part.images, part.labels, part.things, part.places):
            digest.update(tensor.numpy().tobytes())
        digest.update("\n".join(part.captions).encode())
    assert digest.hexdigest() == "d9e910d98ad6226514617d90613a1fa9c9527ca8a417d7710d10bd2fe4d34ae3"


def test_the_parts_of_scenes_and_their_sizes(scenes):
    assert scenes.train.images.shape == (800, 3, 30, 36) and scenes.train.places.shape == (800, 30, 36)
    assert [len(part) for part in (scenes.train, scenes.validation, scenes.test)] == [800, 100, 100]
    assert scenes.class_names == COMBINATIONS and len(COMBINATIONS) == 30 and set(HELD_OUT) < set(COMBINATIONS)
    assert scenes.validation.captions != scenes.test.captions
    few = scenes.train[torch.tensor([7, 3])]
    assert isinstance(few, Scenes) and few.captions == (scenes.train.captions[7], scenes.train.captions[3])
    assert scenes.train[2:5].captions == scenes.train.captions[2:5]


def test_every_caption_is_true_of_its_image_and_of_few_others(scenes):
    train = scenes.train
    true = torch.stack([train.is_true(caption) for caption in train.captions])
    assert true.diagonal().all()
    assert 0.005 < true.double().mean() < 0.05
    kinds = [parse(caption) for caption in train.captions]
    assert 0.2 < sum(one.second is None for one in kinds) / len(kinds) < 0.3
    assert 0.4 < sum(bool(one.first.size) for one in kinds) / len(kinds) < 0.6
    assert {one.relation for one in kinds} == {"", *RELATIONS}
    assert {word for caption in train.captions for word in caption.split()} == set(WORDS)


def test_a_relation_is_what_is_seen(scenes):
    # Independent of the cells: by the mean place of the pixels of each shape.
    for index, caption in enumerate(scenes.train.captions):
        sentence = parse(caption)
        if sentence.second is None:
            continue
        one = scenes.train[index : index + 1]
        ends = [one.masks_of(str(thing))[0].nonzero().double().mean(0) for thing in (sentence.first, sentence.second)]
        down, right = (ends[1] - ends[0]).tolist()
        far = {"to the left of": right, "to the right of": -right, "above": down, "below": -down}
        assert far[sentence.relation] > 4, caption


def test_masks_have_the_colour_and_the_size_that_a_phrase_names():
    clean = data.scenes(300, 1, 1, noise=0).train
    areas = {}
    for size in SIZES:
        masks = clean.masks_of(f"a {size} red square")
        seen = masks.flatten(1).any(1)
        assert seen.any() and torch.equal(seen, clean.is_true(f"a {size} red square"))
        red, green, blue = (clean.images[:, channel][masks].double() for channel in range(3))
        assert (red > 150).all() and (green < 80).all() and (blue < 80).all()
        areas[size] = masks.sum().item() / seen.sum().item()
    assert areas["large"] > 2 * areas["small"]


def test_no_training_caption_names_a_held_out_combination_and_new_ones_all_do(scenes, new):
    def named(part, row):
        sentence = parse(part.captions[row])
        things = [sentence.first, *([sentence.second] if sentence.second else [])]
        return {f"{thing.colour} {thing.shape}" for thing in things}

    for part in (scenes.train, scenes.validation, scenes.test):
        found = {COMBINATIONS[5 * colour + shape] for _, colour, shape, _ in part.things.flatten(0, 1).tolist()
                 if colour >= 0}  # fmt: skip
        assert found == set(COMBINATIONS) - set(HELD_OUT)
    assert all(named(new, row) & set(HELD_OUT) for row in range(len(new)))


def test_permuted_captions_belong_to_other_images_and_to_nobody_in_the_other_parts():
    right, permuted = data.scenes(200, 50, 50), data.scenes(200, 50, 50, permuted=True)
    assert torch.equal(right.train.images, permuted.train.images)
    assert sorted(right.train.captions) == sorted(permuted.train.captions)
    true = [permuted.train.is_true(caption)[row] for row, caption in enumerate(permuted.train.captions)]
    assert sum(true) < 20
    names = [f"{one.colour} {one.shape}" for one in (parse(caption).first for caption in permuted.train.captions)]
    assert permuted.train.labels.tolist() == [COMBINATIONS.index(name) for name in names]
    assert permuted.validation.captions == right.validation.captions


def test_the_source_of_scenes_says_what_was_asked_for():
    source = data.scenes(5, 4, 3, image_size=(24, 30), noise=0.2, permuted=True).source
    assert source == {
        "source": "scenes", "num_train": 5, "num_validation": 4, "num_test": 3, "image_size": [24, 30], "noise": 0.2,
        "permuted": True,
    }  # fmt: skip
    again = data.from_recipe(json.loads(json.dumps(source)))
    assert again.train.captions == data.scenes(5, 4, 3, image_size=(24, 30), noise=0.2, permuted=True).train.captions


@pytest.mark.parametrize("caption", [
    "a red", "red ring", "a ring", "a red ring to the left of", "a tiny red ring", "a red ring under a blue cross", 3,
    "a red ring above a blue cross above a green ring",
])  # fmt: skip
def test_words_that_form_no_caption_are_refused(caption, scenes):
    with pytest.raises(ValueError, match=r"a caption must be like 'a red ring' or .* with the words a, above, .*got"):
        scenes.test.is_true(caption)


def test_scenes_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match=r"image_size must be at least 24 x 24 .*got 16 x 24"):
        data.scenes(1, 1, 1, image_size=(16, 24))
    with pytest.raises(ValueError, match="permuted must be True or False, got 1"):
        data.scenes(1, 1, 1, permuted=1)
    with pytest.raises(ValueError, match=r"scenes of 48 x 48 need .* GB of memory"):
        data.scenes(2**30, 1, 1)


def test_parts_of_scenes_that_do_not_fit_together_are_refused(scenes):
    test = scenes.test
    with pytest.raises(ValueError, match="100 images, but 99 captions"):
        Scenes(test.images, test.labels, captions=test.captions[1:], things=test.things, places=test.places)
    with pytest.raises(ValueError, match=r"write train\[3:4\] for a batch of one, or train.images\[3\] and train.capt"):
        test[3]
