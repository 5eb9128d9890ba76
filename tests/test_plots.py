import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from vit_course import plots
from vit_course.patches import patchify

IMAGE = torch.rand(3, 8, 12)
PATCHES = patchify(IMAGE[None], 4)[0].unflatten(1, (4, 4, 3)).permute(0, 3, 1, 2)  # (N, C, P, P)


def drawn(figure: Figure) -> Figure:
    figure.canvas.draw()
    return figure


def pictures(axes) -> list[np.ndarray]:
    return [np.asarray(image.get_array()) for image in axes.get_images()]


ALL = {
    "image_with_grid": lambda: plots.image_with_grid(IMAGE, 4),
    "patch_grid": lambda: plots.patch_grid(PATCHES, (2, 3)),
    "patch_sequence": lambda: plots.patch_sequence(PATCHES),
    "position_similarity": lambda: plots.position_similarity(torch.randn(6, 8), (2, 3)),
    "attention_over_image": lambda: plots.attention_over_image(IMAGE, torch.rand(2, 3), query=(1, 2)),
    "attention_grid": lambda: plots.attention_grid(IMAGE, torch.rand(2, 4, 2, 3), query=(1, 2)),
    "curves": lambda: plots.curves({"a": [1, 2, 3], "b": [3, 2, 1]}, xlabel="epoch", ylabel="loss", log="y"),
    "expected_and_received": lambda: plots.expected_and_received(torch.zeros(2, 3, 4), torch.ones(2, 3, 4)),
    "predictions": lambda: plots.predictions(IMAGE[None].repeat(3, 1, 1, 1), torch.eye(3), "xyz", labels=[0, 1, 1]),
}


@pytest.mark.parametrize("name", ALL)
def test_a_figure_with_words_on_it(name):
    figure = drawn(ALL[name]())
    assert isinstance(figure, Figure)
    words = [a.get_xlabel() + a.get_ylabel() + a.get_title() for a in figure.axes]
    assert any([figure.get_suptitle() and figure.get_supxlabel(), *words])


@pytest.mark.parametrize("name", ["image_with_grid", "attention_over_image", "curves"])
def test_axes_have_labels(name):
    axes = drawn(ALL[name]()).axes[0]
    assert axes.get_xlabel() and axes.get_ylabel()


def test_patches_stand_in_their_places():
    figure = plots.patch_grid(PATCHES, (2, 3))
    for index, axes in enumerate(figure.axes):
        row, column = divmod(index, 3)
        expected = IMAGE[:, row * 4 : row * 4 + 4, column * 4 : column * 4 + 4].permute(1, 2, 0).numpy()
        (picture,) = pictures(axes)
        np.testing.assert_allclose(picture, (expected - IMAGE.min().item()) / np.ptp(IMAGE.numpy()), atol=1e-6)


def test_similarity_of_a_patch_with_itself_is_one():
    figure = plots.position_similarity(torch.randn(6, 8), (2, 3))
    for index in range(6):
        (picture,) = pictures(figure.axes[index])
        assert picture.shape == (2, 3) and picture[divmod(index, 3)] == pytest.approx(1)


def test_attention_is_shown_unscaled_over_a_grey_image():
    attention = torch.rand(2, 3)
    figure = plots.attention_over_image(IMAGE, attention)
    grey, shown = pictures(figure.axes[1])
    assert grey.ndim == 2
    np.testing.assert_array_equal(shown, attention.numpy())


def test_grid_has_layers_down_heads_across_on_one_scale():
    maps = torch.rand(2, 4, 2, 3)
    figure = plots.attention_grid(IMAGE, maps)
    for index in range(8):
        layer, head = divmod(index, 4)
        image = figure.axes[index].get_images()[1]
        np.testing.assert_array_equal(image.get_array(), maps[layer, head].numpy())
        assert image.get_clim() == (0, maps.max().item())


def test_curves_differ_by_more_than_colour():
    lines = ALL["curves"]().axes[0].get_lines()
    assert len({line.get_linestyle() for line in lines}) == len({line.get_marker() for line in lines}) == 2


def test_a_wrong_prediction_says_so():
    figure = ALL["predictions"]()
    assert [a.get_xlabel() for a in figure.axes[:3]] == ["", "", "wrong: y"]
    assert figure.axes[2].get_title() == "z 100%"


def test_colour_map_rises_in_lightness():
    from matplotlib import colormaps

    lightness = colormaps[plots.COLOUR_MAP](np.linspace(0, 1, 20))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(lightness) > 0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plots.patch_grid(PATCHES, (2, 4)), "2 x 4 has 8 patches, got 6"),
        (lambda: plots.position_similarity(torch.zeros(7, 8), (2, 3)), "2 x 3 has 6 patches, got 7"),
        (lambda: plots.to_picture(torch.zeros(4, 8, 12)), r"got shape \(4, 8, 12\)"),
        (lambda: plots.to_picture(torch.zeros(1, 3, 8, 12)), r"got shape \(1, 3, 8, 12\)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_expected_and_received_show_the_plane_where_they_part_and_mark_it():
    expected = torch.zeros(2, 3, 4, 5)
    received = expected.clone()
    received[1, 2, 3, 4] = 7
    figure = plots.expected_and_received(expected, received)
    left, right = figure.axes[:2]
    assert pictures(left)[0].shape == (4, 5) and pictures(left)[0].max() == 0 and pictures(right)[0][3, 4] == 7
    assert "[1, 2, :, :]" in right.get_title()
    assert left.get_images()[0].get_clim() == right.get_images()[0].get_clim() == (0, 7)
    assert not left.lines and [line.get_xydata().tolist() for line in right.lines] == [[[4, 3]]] * 2
    assert plots.expected_and_received(torch.zeros(3), torch.ones(3)).axes
