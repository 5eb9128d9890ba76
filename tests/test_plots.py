import numpy as np
import pytest
import torch
from conftest import cases
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


@cases("name", ALL)
def test_a_figure_with_words_on_it(name):
    figure = drawn(ALL[name]())
    assert isinstance(figure, Figure)
    words = [a.get_xlabel() + a.get_ylabel() + a.get_title() for a in figure.axes]
    assert any([figure.get_suptitle() and figure.get_supxlabel(), *words])


@cases("name", ["image_with_grid", "attention_over_image", "curves"])
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


def test_attention_is_shown_unscaled_over_the_picture_in_colour():
    attention = torch.rand(2, 3)
    figure = plots.attention_over_image(IMAGE, attention)
    plain, under, shown = *pictures(figure.axes[0]), *pictures(figure.axes[1])
    np.testing.assert_array_equal(under, plain)
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
    assert [a.get_xlabel() for a in figure.axes[:3]] == ["", "", "wrong: is y"]
    assert figure.axes[2].get_title() == "z 100%"


def test_colour_map_rises_in_lightness():
    from matplotlib import colormaps

    lightness = colormaps[plots.COLOUR_MAP](np.linspace(0, 1, 20))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(lightness) > 0).all()


@cases(
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


# ---- what cannot be drawn

NAN = float("nan")
PICTURES = {  # each takes an image, patches, a table or maps; and some of it
    "to_picture": (plots.to_picture, IMAGE),
    "image_with_grid": (lambda image: plots.image_with_grid(image, 4), IMAGE),
    "patch_grid": (lambda patches: plots.patch_grid(patches, (2, 3)), PATCHES),
    "patch_sequence": (plots.patch_sequence, PATCHES),
    "position_similarity": (lambda table: plots.position_similarity(table, (2, 3)), torch.randn(6, 8)),
    "attention_over_image, image": (lambda image: plots.attention_over_image(image, torch.rand(2, 3)), IMAGE),
    "attention_over_image, map": (lambda map: plots.attention_over_image(IMAGE, map), torch.rand(2, 3)),
    "attention_grid, image": (lambda image: plots.attention_grid(image, torch.rand(1, 2, 2, 3)), IMAGE),
    "attention_grid, maps": (lambda maps: plots.attention_grid(IMAGE, maps), torch.rand(2, 4, 2, 3)),
    "overlay, image": (lambda image: plots.overlay(Figure().subplots(), image, torch.rand(2, 3)), IMAGE[0]),
    "overlay, map": (lambda map: plots.overlay(Figure().subplots(), IMAGE[0], map), torch.rand(2, 3)),
    "predictions, images": (lambda images: plots.predictions(images, torch.eye(2), "ab"), torch.rand(2, 3, 8, 12)),
    "predictions, probabilities": (lambda rows: plots.predictions(IMAGE[None], rows, "ab"), torch.tensor([[0.2, 0.8]])),
}


@cases("name", PICTURES)
@cases(
    ("spoil", "message"),
    [
        (lambda x: None, "must be an array of numbers, got None"),
        (lambda x: "picture", "must be an array of numbers, got 'picture'"),
        (lambda x: [[1, 2], [3]], "must be an array of numbers, got list"),
        (lambda x: x.to(torch.complex64), r"must be an array of numbers, got Tensor of shape .* of torch\.complex64"),
        (lambda x: x.to("meta"), "must be an array of numbers, got Tensor"),
        (lambda x: x[:0], r"must not be empty, got shape \(0, "),
        (lambda x: x * NAN, r"must be finite, (\d+) of \1 numbers are NaN or infinite"),
        (lambda x: x[None, None], r"got shape \(1, 1, "),
        (lambda x: x.flatten(), r"got shape \(\d+,\)"),
    ],
)
def test_arrays_that_are_no_picture(name, spoil, message):
    draw, right = PICTURES[name]
    with pytest.raises(ValueError, match=message):
        draw(spoil(right))


@cases(
    ("call", "message"),
    [
        (lambda: plots.to_picture(torch.full((3, 8, 12), 200)), "uint8 or .* from 0 to 1, got int64"),
        (lambda: plots.image_with_grid(IMAGE, 0), "patch_size must be at least 1, got 0"),
        (lambda: plots.image_with_grid(IMAGE, 2.5), "patch_size must be an int of at least 1, got 2.5"),
        (lambda: plots.patch_grid(PATCHES, (2, 0)), r"grid must be \(rows, columns\), two ints of at least 1"),
        (lambda: plots.patch_grid(PATCHES[:, :2], (2, 3)), r"patches to show are .* got shape \(6, 2, 4, 4\)"),
        (lambda: plots.patch_sequence(PATCHES, first=0), "first must be at least 1, got 0"),
        (lambda: plots.patch_sequence(PATCHES, labels=6), "labels must be words in a row, got 6"),
        (lambda: plots.patch_sequence(PATCHES, labels=["a"]), "6 patches are shown, there are 1 labels"),
        (lambda: plots.position_similarity(torch.eye(6)[:, :5], (2, 3)), "row 5 of the table is 0 everywhere"),
        (lambda: plots.attention_over_image(IMAGE, torch.rand(2, 3), query=(2, 0)), "patch of 2 x 3, got \\(2, 0\\)"),
        (lambda: plots.attention_over_image(IMAGE, torch.rand(2, 3), query=(0.5, 0)), "query must be the .* got"),
        (lambda: plots.attention_grid(IMAGE, torch.rand(1, 1, 2, 3), query=4), "query must be the .* got 4"),
        (lambda: plots.attention_grid(IMAGE, torch.rand(1, 1, 2, 3), first_layer=-1), "first_layer must be at least 0"),
        (lambda: plots.overlay(Figure().subplots(), IMAGE, torch.rand(2, 3)), r"\(H, W, 3\) or \(H, W\), got shape"),
        (lambda: plots.curves({}, "x", "y"), "at least one line, got {}"),
        (lambda: plots.curves([1, 2], "x", "y"), r"series must be a dict .* got \[1, 2\]"),
        (lambda: plots.curves({"a": []}, "x", "y"), "series 'a' must not be empty"),
        (lambda: plots.curves({"a": [[1, 2]]}, "x", "y"), r"series 'a' must have 1 axes, got shape \(1, 2\)"),
        (lambda: plots.curves({"a": [NAN, NAN]}, "x", "y"), "series 'a' has no finite number"),
        (lambda: plots.curves({"a": [1, 2]}, "x", "y", x=[1, 2, 3]), "x has 3 values, the series 'a' has 2"),
        (lambda: plots.curves({"a": [1, 2]}, "x", "y", log="z"), "log must be '', 'x', 'y' or 'xy', got 'z'"),
        (lambda: plots.expected_and_received(torch.zeros(2, 3), torch.zeros(3, 2)), r"shape \(2, 3\), received has"),
        (lambda: plots.expected_and_received(torch.zeros(0), torch.zeros(0)), "expected must not be empty"),
    ],
)
def test_arguments_that_do_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@cases(
    ("changes", "message"),
    [
        ({"probabilities": torch.eye(3)}, "there are 2 images and 3 rows of probabilities"),
        ({"probabilities": torch.tensor([[-2.0, 5.0], [1.0, 0.0]])}, "from 0 to 1, got -2 to 5: .* the softmax first"),
        ({"class_names": "a"}, "there are 2 classes and 1 class names"),
        ({"class_names": "abc"}, "there are 2 classes and 3 class names"),
        ({"class_names": 2}, "class_names must be names in a row, got 2"),
        ({"class_names": {"a", "b"}}, "class_names must be names in a row, got {"),
        ({"labels": [0, 1, 1]}, "there are 2 images and 3 labels"),
        ({"labels": [0, 2]}, r"labels must be whole numbers from 0 to 1, got \[0, 2\]"),
        ({"labels": [0, 1.5]}, "labels must be whole numbers from 0 to 1"),
        ({"columns": 0}, "columns must be at least 1, got 0"),
    ],
)
def test_predictions_that_do_not_fit(changes, message):
    right = dict(images=torch.rand(2, 3, 8, 12), probabilities=torch.eye(2), class_names="ab")
    with pytest.raises(ValueError, match=message):
        plots.predictions(**{**right, **changes})


def test_what_is_no_figure():
    with pytest.raises(TypeError, match="figure must be a matplotlib Figure, got Tensor"):
        plots.show(IMAGE, "no figure")


def test_nan_in_what_was_received_is_marked_and_leaves_the_scale_alone():
    received = torch.tensor([[0.0, NAN, 3.0]])
    right = drawn(plots.expected_and_received(torch.zeros(1, 3), received)).axes[1]
    assert [line.get_xydata().tolist() for line in right.lines] == [[[1, 0], [2, 0]]] * 2
    assert right.get_images()[0].get_clim() == (0, 3)
    assert drawn(plots.expected_and_received(torch.zeros(2) * NAN, torch.zeros(2) * NAN)).axes


def test_a_gap_in_a_curve_and_bfloat16():
    values = torch.tensor([1.0, NAN, 3.0], dtype=torch.bfloat16)
    (line,) = drawn(plots.curves({"a": values}, "x", "y")).axes[0].get_lines()
    np.testing.assert_array_equal(line.get_ydata(), [1, NAN, 3])


@cases(
    ("rows", "error", "message"),
    [
        ([("patches", "(B, N, D)", [1])], TypeError, "patches must be a torch.Tensor, got list"),
        ([("patches", "(B, N, D)")], ValueError, r"a row of the ledger is \(step, shape in letters, tensor\), got"),
        ([("patches", 3, torch.zeros(3))], ValueError, "a row of the ledger is"),
        ([torch.zeros(3)], ValueError, "a row of the ledger is"),
        (zip("a", "b", strict=True), ValueError, "the ledger takes a list of rows, got zip"),
        (3, ValueError, "the ledger takes a list of rows, got 3"),
        ([("patches", "(B, N, D)", torch.zeros(2, 3))], ValueError, r"names 3 axes, the tensor has shape \(2, 3\)"),
    ],
)
def test_rows_of_the_ledger(rows, error, message):
    with pytest.raises(error, match=message):
        plots.ledger(rows)


@cases("word", [None, 3, ["a"], torch.zeros(2)])
def test_words_that_are_no_text(word):
    for draw in (
        lambda: plots.image_with_grid(IMAGE, 4, word),
        lambda: plots.patch_grid(PATCHES, (2, 3), word),
        lambda: plots.patch_sequence(PATCHES, word),
        lambda: plots.position_similarity(torch.eye(6), (2, 3), word),
        lambda: plots.attention_over_image(IMAGE, torch.rand(2, 3), word),
        lambda: plots.attention_grid(IMAGE, torch.rand(1, 1, 2, 3), word),
        lambda: plots.curves({"a": [1]}, word, "y"),
        lambda: plots.curves({"a": [1]}, "x", word),
        lambda: plots.curves({"a": [1]}, "x", "y", title=word),
    ):
        with pytest.raises(ValueError, match=r"(title|xlabel|ylabel) must be text, got "):
            draw()


def test_axes_that_are_none_and_frames_that_are_no_patch():
    axes = Figure().subplots()
    for draw in (lambda: plots.overlay(IMAGE, IMAGE[0], IMAGE[0]), lambda: plots.outline(None, (0, 0), 4, 4)):
        with pytest.raises(TypeError, match=r"axes must be matplotlib Axes, got (Tensor|NoneType)"):
            draw()
    for draw, message in (
        (lambda: plots.overlay(axes, IMAGE[0], IMAGE[0], NAN), "high must be a number, got nan"),
        (lambda: plots.outline(axes, (-1, 0), 4, 4), r"query must be the .* got \(-1, 0\)"),
        (lambda: plots.outline(axes, (0, 0), 0, 4), "patch_height must be greater than 0, got 0"),
        (lambda: plots.outline(axes, (0, 0), 4, "4"), "patch_width must be a number, got '4'"),
        (lambda: plots.patch_grid(PATCHES, (2, 3), numbers=1), "numbers must be True or False, got 1"),
        (lambda: plots.patch_sequence(PATCHES, labels=6), "labels must be words in a row, got 6"),
        (lambda: plots.ledger(torch.tensor(3)), "the ledger takes a list of rows, got"),
    ):
        with pytest.raises(ValueError, match=message):
            draw()


def test_a_curve_without_a_name_has_no_legend():
    values = {"": [1.0, 0.5], "_": [0.5, 0.2]}
    assert plots.curves(values, "step", "loss").axes[0].get_legend() is None
    assert plots.curves(values | {"a": [0.1]}, "step", "loss").axes[0].get_legend() is not None
