"""Photographs in colour: spotlights and principal components."""

import numpy as np
import pytest
import torch
from conftest import cases
from matplotlib.figure import Figure
from sklearn.decomposition import PCA

from vit_course import plots
from vit_course.data import photographs
from vit_course.plots.attention import HEAT

# Linear RGB as it is seen without one of the three kinds of cone (Machado, Oliveira and Fernandes 2009, table 1).
SEEN = {
    "all cones": np.eye(3),
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no middle": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def seen(colours: np.ndarray, cones: str) -> np.ndarray:
    """sRGB colours (..., 3) as somebody with these cones sees them."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    linear = (linear @ np.transpose(SEEN[cones])).clip(0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


@cases("cones", SEEN)
@cases("name", photographs())
def test_heat_is_seen_on_a_photograph_with_any_cones(name, cones):
    picture = np.asarray(photographs()[name].open().convert("RGB").resize((64, 64))) / 255
    *colour, opacity = HEAT(1.0)
    hot = (1 - opacity) * picture + opacity * np.array(colour)
    apart = np.linalg.norm(seen(hot, cones) - seen(picture, cones), axis=-1)
    assert np.quantile(apart, 0.1) > 0.1, "nine pixels in ten"


def test_a_spotlight_leaves_the_brightest_patches_as_they_are_and_the_others_dark():
    image, attention = np.full((10, 15, 3), 0.8), np.zeros((2, 3))
    attention[1, 2], attention[0, 1] = 0.4, 0.1
    axes = Figure().subplots()
    drawn = np.asarray(plots.spotlight(axes, image, attention, high=0.4).get_array())  # (10, 15, 3)
    assert drawn[5:, 10:] == pytest.approx(0.8) and drawn[:5, :5] == pytest.approx(0.8 * 0.15)
    assert drawn[:5, 5:10] == pytest.approx(0.8 * (0.15 + 0.85 / 4))
    smooth = plots.spotlight(axes, image[..., 0], attention, high=0.4, smooth=True).get_array()
    assert smooth.shape == (10, 15, 3) and len(np.unique(smooth)) > 20
    many = np.arange(100).reshape(10, 10) / 100
    own = plots.spotlight(axes, np.ones((10, 10)), many).get_array()[..., 0]
    assert (own > 0.9999).sum() == 2, "the 98th percentile and above"


def test_principal_colours_are_those_of_pca_and_the_same_in_all_pictures():
    tokens = torch.randn(2, 3, 5, 7) * torch.arange(7, 0, -1)
    tokens[1, 0, 0] = tokens[0, 2, 4]
    colours = plots.principal_colours(tokens)
    assert colours.shape == (2, 3, 5, 3) and colours.min() == 0 and colours.max() == 1
    assert colours[1, 0, 0] == pytest.approx(colours[0, 2, 4])
    theirs = PCA(3).fit_transform(tokens.reshape(-1, 7).numpy())
    inside = (colours.reshape(-1, 3) > 0) & (colours.reshape(-1, 3) < 1)
    for component in range(3):
        kept = inside[:, component]
        straight = np.corrcoef(colours.reshape(-1, 3)[kept, component], theirs[kept, component])[0, 1]
        assert abs(straight) == pytest.approx(1, abs=1e-6)
    assert plots.principal_colours(tokens.double()) == pytest.approx(colours, abs=1e-4)


@cases(
    ("call", "message"),
    [
        (lambda axes: plots.spotlight(axes, np.ones((4, 4, 2)), np.ones((2, 2))), "image must be"),
        (lambda axes: plots.spotlight(axes, np.ones((4, 4)), np.ones((2, 2, 1))), "attention"),
        (lambda axes: plots.spotlight(axes, np.ones((4, 4)), np.ones((2, 2)), high=0), "high"),
        (lambda axes: plots.spotlight(axes, np.ones((4, 4)), np.ones((2, 2)), smooth=1), "smooth"),
        (lambda axes: plots.principal_colours(torch.randn(1, 2, 2, 2)), "three numbers"),
        (lambda axes: plots.principal_colours(torch.randn(1, 2, 8)), "tokens"),
    ],
)
def test_photographs_that_do_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call(Figure().subplots())
