"""The rules for arguments, one table by name: for the config, and for every function with an argument of that name."""

from vit_course._support.inputs.rules import check, flag, is_int, one_of, pair, positive, real, share, shown, whole

# The bounds catch mistyped numbers and false headers, not models that are too large for a machine: they lie above
# everything published, so that a width of 10^8 or 10^9 layers are refused before any memory is allocated.
#   widths, image sides   ViT-22B (arXiv:2302.05442) is 6,144 wide, its MLP 24,576; images reach some thousand pixels
#   patches, channels     patches of 4 to 32 pixels; satellites see some hundred bands
#   layers                ViT-22B has 48, DeepNet (arXiv:2203.00555) 1,000
#   tokens                an image of 4,096 x 4,096 in patches of 4 has 2^20
#   registers             4 in all published models, 16 at most in the paper (arXiv:2309.16588, Fig. 8)
#   classes               the largest labelled sets of images have about 30,000; of faces, some 100,000
#   parameters            ViT-22B has 22 * 10^9
MOST_WIDE = 2**16
MOST_OF_A_PATCH = 2**12
MOST_LAYERS = 2**10
MOST_TOKENS = 2**20
MOST_REGISTERS = 2**10
MOST_CLASSES = 2**20
MOST_PARAMETERS = 5 * 10**10
MOST_IMAGES = 2**31 - 1  # the product of two such numbers still fits NumPy's int64
MOST_AT_ONCE = 10**6  # images of a batch

WIDTH = whole(1, MOST_WIDE)
HEIGHT_AND_WIDTH = pair("an int or (height, width)", MOST_WIDE, MOST_WIDE**2)
MEAN = real(0.0, 1.0)
STD = real(1e-4, 1.0)  # below, one step of a pixel's 255 would become larger than any input a model was trained on
RULES = {
    "image_size": pair("(height, width)", MOST_WIDE, MOST_WIDE**2),  # `height_and_width` also takes one int
    "patch_size": whole(1, MOST_OF_A_PATCH),
    "in_channels": whole(1, MOST_OF_A_PATCH),
    "num_classes": whole(0, MOST_CLASSES),  # 0 for no head
    "hidden_dim": WIDTH,
    "num_layers": whole(1, MOST_LAYERS),
    "num_heads": WIDTH,
    "head_dim": WIDTH,
    "mlp_dim": WIDTH,
    "representation_size": whole(0, MOST_WIDE),
    "pool": one_of("cls", "mean"),
    "position": one_of("learned", "sincos2d", "none"),
    "gelu": one_of("none", "tanh"),
    "any_gelu": one_of("none", "tanh", "quick"),
    "qkv_bias": flag,
    "patch_norm": flag,
    "num_registers": whole(0, MOST_REGISTERS),
    "dropout": share,
    "attention_dropout": share,
    "norm_epsilon": real(1e-30, 1.0),  # far below, float32 rounds it to 0, and equal numbers give NaN
    # For variants of published models.
    "reads": one_of("pool", "patches", "cls+patches", "cls+register", "attention"),
    "norm_pooled": flag,
    "pre_norm": flag,
    "quick_gelu": flag,
    # For single parts and functions; a class token is added to the patch tokens.
    "num_tokens": whole(1, MOST_TOKENS + 1),
    "grid": pair("(rows, columns)", MOST_WIDE, MOST_TOKENS),
    "new_grid": pair("(rows, columns)", MOST_WIDE, MOST_TOKENS),
    "num_prefix": whole(0, MOST_TOKENS),
    "class_token": flag,
    "antialias": flag,
    "temperature": positive(1e12),
    "seed": whole(0, 2**32 - 1),  # NumPy takes no others
    # Of data and training.
    "num_train": whole(1, MOST_IMAGES),
    "num_validation": whole(1, MOST_IMAGES),
    "num_test": whole(1, MOST_IMAGES),
    "noise": real(0, 100),  # far more than hides every shape, and far less than float32 holds
    "clutter": whole(0, 1000),  # each dot takes as long to draw as the shape itself
    "download": flag,
    "on_disk": flag,
    "count": whole(0, 10**7),  # random numbers for more images than that would take gigabytes
    "padding": whole(0, MOST_WIDE),
    "flip": flag,
    "side": whole(0, MOST_WIDE),
    "batch_size": whole(1, MOST_AT_ONCE),
    "accumulate": whole(1, MOST_AT_ONCE),
    "workers": whole(0, 1000),  # more processes than any machine of a learner has room for
    "resume": flag,
    "compiled": flag,
    "progress": flag,
    "bfloat16": flag,
    "regularisation": positive(1e12),
    "block": whole(1, MOST_WIDE),
    # Of learning without labels.
    "mask_ratio": share,
    "decoder_dim": WIDTH,
    "decoder_layers": whole(1, MOST_LAYERS),
    "normalise_patches": flag,
    "outputs": whole(2, MOST_WIDE),
    "teacher_temperature": positive(1e12),
    "momentum": share,
    "centring": real(0.0, 1.0),  # with 1 the centre never moves
    "local_crops": whole(0, 100),
    # Of learning from captions.
    "new_combinations": flag,
    "permuted": flag,
    "loss": one_of("softmax", "sigmoid"),
    "text_layers": whole(1, MOST_LAYERS),
    "embedding_dim": WIDTH,
}


def check_arguments(**values) -> None:
    """Checks each argument by the rule of its name.

    Raises:
        ValueError: one sentence with the name, what it must be and what was given.
    """
    check(RULES, values)


def check_statistics(mean: object, std: object, channels: tuple[int, ...] = (1, 3)) -> None:
    """Checks the mean and standard deviation of image channels, on the scale 0 to 1.

    Raises:
        ValueError: no lists or tuples, another number of values than one of `channels`, or a value out of its range.
    """
    count = " or ".join(map(str, channels))
    for name, values in (("mean", mean), ("std", std)):
        if not isinstance(values, (list, tuple)):
            raise ValueError(f"{name} must be a list of {count} numbers, got {shown(values)}")
    if len(mean) != len(std) or len(mean) not in channels:
        raise ValueError(f"mean and std must have {count} values, got {len(mean)} and {len(std)}")
    for name, values, rule in (("mean", mean, MEAN), ("std", std, STD)):
        for channel, value in enumerate(values):
            rule(f"{name} of channel {channel}", value)


def height_and_width(name: str, value: object) -> tuple[int, int]:
    """Returns (height, width) of an image size, for which a single int means a square.

    Raises:
        ValueError: as `check_arguments`.
    """
    if is_int(value):
        WIDTH(name, value)
        return value, value
    HEIGHT_AND_WIDTH(name, value)
    return tuple(value)
