"""What regenerating stores: only what differs by more than the tests allow, and by how much a number may."""

import base64

import about
import nbformat
import numpy as np
import pytest
import torch
from conftest import cases
from pictures import encoded
from PIL import Image
from regenerate import VIEW, as_stored, same_explorer

from vit_course.explorer import AttentionExplorer, embedded

TAGS = ["about:0.05"]


def printed(text: str) -> dict:
    return nbformat.v4.new_output("stream", name="stdout", text=text)


def shown(noise: int = 0, mark: bool = False, alt: str = "a curve", **more) -> dict:
    """A picture of a slope, with noise that nobody sees or a mark that everybody sees."""
    pixels = np.tile(np.linspace(40, 200, 60), (40, 1)) + np.random.RandomState(noise).rand(40, 60) * bool(noise)
    pixels[10:20, 10:20] = 0 if mark else pixels[10:20, 10:20]
    picture = encoded(Image.fromarray(pixels.astype(np.uint8)))
    data = {"image/png": base64.b64encode(picture).decode(), "text/plain": "<Figure>", **more}
    return nbformat.v4.new_output("display_data", data=data, metadata={"image/png": {"alt": alt}})


def packed(change: float = 0.0, **state) -> dict:
    """An explorer as a notebook keeps it."""
    q, k = torch.randn(2, 2, 3, 7, 4, generator=torch.Generator().manual_seed(0)) * (1 + change)
    return embedded.pack(AttentionExplorer((q, k), torch.zeros(3, 8, 12), grid=(2, 3), **state).everything())


def test_a_number_is_stored_where_it_is_beyond_its_tolerance():
    stored = [printed("a ≈ 0.90\nb ≈ 0.50\n")]
    assert as_stored(stored, [printed("a ≈ 0.92\nb ≈ 0.70\n")], TAGS)[0].text == "a ≈ 0.90\nb ≈ 0.70\n"
    assert as_stored(stored, [printed("a ≈ 0.92\nb ≈ 0.50\n")], [])[0].text == "a ≈ 0.92\nb ≈ 0.50\n", "no tolerance"


def test_a_picture_is_stored_where_something_else_is_seen():
    stored = shown()
    assert as_stored([stored], [shown(noise=1)], []) == [stored]
    for fresh in (shown(mark=True), shown(alt="another")):
        assert as_stored([stored], [fresh], []) == [fresh]
    assert as_stored([stored], [shown(), shown()], []) == [shown(), shown()], "another number of them"


@pytest.mark.slow
def test_an_explorer_is_stored_where_its_data_differ():
    stored = packed()
    assert same_explorer(*map(embedded.unpack, (stored, packed())))
    assert same_explorer(*map(embedded.unpack, (stored, packed(change=1e-6)))), "as two machines round"
    for other in (packed(head=1), packed(change=0.5), packed(scale="layer")):
        assert not same_explorer(*map(embedded.unpack, (stored, other)))
    kept, fresh = shown(**{VIEW: stored}), shown(**{VIEW: packed(head=1)})
    assert as_stored([kept], [shown(noise=1, **{VIEW: packed(change=1e-6)})], []) == [kept]
    assert as_stored([kept], [fresh], []) == [fresh]


CASES = {
    # tags, stored, fresh, whether they agree
    "within a difference": ("about:0.05", "accuracy ≈ 0.97 of 400", "accuracy ≈ 0.93 of 400", True),
    "beyond a difference": ("about:0.05", "accuracy ≈ 0.97", "accuracy ≈ 0.90", False),
    "within a share": ("about:10%", "loss ≈ 2.00", "loss ≈ 1.81", True),
    "beyond a share": ("about:10%", "loss ≈ 2.00", "loss ≈ 1.79", False),
    "within a factor": ("about:x5", "seconds ≈ 2", "seconds ≈ 9", True),
    "beyond a factor": ("about:x5", "seconds ≈ 2", "seconds ≈ 11", False),
    "a factor keeps the sign": ("about:x5", "slope ≈ 0.10", "slope ≈ -0.10", False),
    "every number of the line": ("about:0.05", "≈ 0.97 0.50", "≈ 0.97 0.90", False),
    "columns that move": ("about:10%", "steps ≈ 99  (first)", "steps ≈ 101 (first)", True),
    "small numbers": ("about:x100", "largest difference ≈ 2e-07", "largest difference ≈ 9e-06", True),
    "a rounding error that is none": ("about:x100", "largest difference ≈ 2e-07", "largest difference ≈ 0e+00", True),
    "a rounding error that grows": ("about:x100", "largest difference ≈ 4e-09", "largest difference ≈ 8e-06", False),
    "more than rounding": ("about:x100", "largest difference ≈ 0e+00", "largest difference ≈ 2e-05", False),
    "numbers before the sign": ("about:0.05", "16 patches ≈ 0.97", "15 patches ≈ 0.97", False),
    "other words": ("about:0.05", "accuracy ≈ 0.97 good", "accuracy ≈ 0.97 bad", False),
    "no number": ("about:0.05", "loss ≈ 0.97", "loss ≈ nan", False),
    "lines without the sign": ("about:0.05", "accuracy 0.97", "accuracy 0.96", False),
    "a line less": ("about:0.05", "a ≈ 0.97\nb ≈ 0.97", "a ≈ 0.97", False),
}


@cases("name", CASES)
def test_lines_agree_within_the_tolerance(name):
    tag, stored, fresh, agree = CASES[name]
    assert (about.settled(stored, fresh, about.tolerance(["predict", tag])) == stored) is agree


@cases("tags", [["about:5 %"], ["about:"], ["about:0.1", "about:10%"]], ids=str)
def test_a_tag_that_states_no_tolerance_is_refused(tags):
    with pytest.raises(ValueError, match="a cell has one tag such as"):
        about.tolerance(tags)
