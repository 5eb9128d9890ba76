"""The strategies of the fuzz tests, and how they judge the outcome.

The examples are the same in each run: every day a quarter of what --thorough tries. For a long run by hand,
VIT_COURSE_FUZZ=20 in the environment makes twenty times as many as that.
"""

import io
import json
import linecache
import os
import tempfile
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, configuration, settings
from hypothesis import strategies as st
from PIL import Image

import vit_course
from vit_course.data.pictures import FORMATS

# Hypothesis keeps tables in a folder; this one is deleted with the process.
_HOME = tempfile.TemporaryDirectory()
configuration.set_hypothesis_home_dir(_HOME.name)
MANY = float(os.environ["VIT_COURSE_FUZZ"])
# Examples are small anyway, and shrinking a failing one would take minutes where it draws a figure.
PROFILE = settings(
    deadline=None, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
PACKAGE = Path(vit_course.__file__).parent
REFUSED = object()
# Where the damage hits the checksum's name, a warning says that there is no checksum.
UNKNOWN_CHECKSUM = pytest.mark.filterwarnings("ignore:.* was written by a version without checksums")


def fuzz(examples: int) -> settings:
    """The settings of a test with so many examples."""
    return settings(PROFILE, max_examples=max(5, round(examples * MANY)))


def outcome(call, *arguments, **options):
    """The result of the call, or `REFUSED` where it raised an error of ours; any other error is passed on."""
    try:
        return call(*arguments, **options)
    except (ValueError, TypeError, OSError) as error:
        if not is_ours(error):
            raise
        return REFUSED


def is_ours(error: BaseException) -> bool:
    """Whether an error was raised by a `raise` of the package, with a sentence in it."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_filename
    line = linecache.getline(name, trace.tb_lineno).strip()
    words = str(error).split()
    return PACKAGE in Path(name).parents and line.startswith("raise ") and len(words) > 2


# --- values
NUMBERS = st.one_of(
    st.integers(-3, 24),
    st.sampled_from([10**9, 2**31, 2**63, -(2**63), 10**400]),
    st.floats(),
    st.sampled_from([float("nan"), float("inf"), -float("inf"), -0.0, 0.5, 1.0, 1e-320, 1e308]),
)
FOREIGN = st.sampled_from(
    [
        *(None, True, False, "", "3", "cls", "no", "a\0b", "\ud800", "a\nb", b"", b"3", (), [], [3], [3, 4], (8, -8)),
        *((8, 12, 3), {}, {"a": 1}, set(), object(), object, 1j, Decimal("NaN"), Decimal(3), Fraction(1, 3), Path("x")),
        *(np.int64(3), np.uint8(3), np.float32(0.5), np.float64("nan"), np.bool_(True), np.str_("cls"), np.arange(3)),
        *(np.array(3), np.array(["a"]), np.array(None), np.zeros((0, 2)), range(3), len, slice(None), Ellipsis),
        *(torch.tensor(3), torch.tensor(0.5), torch.tensor(True), torch.ones(2), torch.float32, torch.ones(2, 2, 2)),
        *(torch.nn.Identity(), torch.nn.Linear(2, 3), torch.Generator(), io.BytesIO(b"x"), io.StringIO("x")),
    ]
)  # fmt: skip
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=6)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
ANYTHING = st.one_of(NUMBERS, FOREIGN, st.text(max_size=6), JSON)


@st.composite
def given_by_name(draw, **right) -> dict:
    """A value for each name: all from these strategies, or one or two of them from `ANYTHING`."""
    wrong = draw(st.one_of(st.just(()), st.lists(st.sampled_from(sorted(right)), min_size=1, max_size=2)))
    return {name: draw(ANYTHING if name in wrong else strategy) for name, strategy in right.items()}


def mostly(right: st.SearchStrategy) -> st.SearchStrategy:
    """A strategy that is right three times out of four, and anything otherwise."""
    return st.integers(0, 3).flatmap(lambda number: ANYTHING if number == 3 else right)


# --- tensors
DTYPES = st.sampled_from(
    [torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int8, torch.int64, torch.bool, torch.complex64]
)
CHANGES = ("none", "none", "axes", "size", "size", "dtype", "values", "strides", "gradient", "meta", "sparse", "kind")


@st.composite
def tensors(draw, *shape: int, dtype: torch.dtype = torch.float32, make=None):
    """A tensor of this shape and dtype, another one, or something else; `make` turns random numbers into right ones."""
    shape, change = list(shape), draw(st.sampled_from(CHANGES))
    if change == "axes":
        shape = draw(st.lists(st.integers(0, 5), max_size=6))
    elif change == "size" and shape:
        shape[draw(st.integers(0, len(shape) - 1))] = draw(st.integers(0, 13))
    elif change == "dtype":
        dtype = draw(DTYPES)
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(draw(st.integers(0, 99))))
    x = numbers if make is None else make(numbers)
    if change == "values" and x.is_floating_point():
        x = x * draw(st.sampled_from([0.0, -1.0, 1e30, 1e-30, float("nan"), float("inf")]))
    x = x.to(dtype)
    if change == "kind":
        return draw(st.one_of(ANYTHING, st.sampled_from([x.tolist(), x.numpy(force=True), list(x) if x.ndim else x])))
    return _placed(x, change)


def _placed(x: torch.Tensor, change: str) -> torch.Tensor:
    if change == "strides" and x.ndim > 1:
        return x.transpose(0, -1).contiguous().transpose(0, -1)
    if change == "gradient" and (x.is_floating_point() or x.is_complex()):
        return x.requires_grad_()
    return x.to("meta") if change == "meta" else x.to_sparse() if change == "sparse" else x


def softmaxed(numbers: torch.Tensor) -> torch.Tensor:
    """Rows that sum to 1."""
    return numbers.softmax(dim=-1) if numbers.ndim else numbers


def bytes_of(numbers: torch.Tensor) -> torch.Tensor:
    """Whole numbers from 0 to 255, spread over all of them."""
    return (128 + 60 * numbers).clamp(0, 255)


def is_tame(x) -> bool:
    """Whether all numbers are of ordinary size, so that no result may be NaN or infinite."""
    return isinstance(x, torch.Tensor) and not x.is_meta and bool((x.abs() < 1e3).all())


def sums_to_one(x: torch.Tensor) -> bool:
    """Whether each row sums to 1, within the precision of the dtype."""
    sums = x.detach().double().sum(dim=-1)
    return bool(((sums - 1).abs() < (1e-4 if x.dtype in (torch.float32, torch.float64) else 5e-2)).all())


# --- files


@st.composite
def damaged(draw, content: bytes) -> bytes:
    """The content with some bytes changed, taken out or put in, or cut short."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        # The header, which says how the rest is read, is damaged as often as the rest.
        end = draw(st.sampled_from([min(len(found), 40), min(len(found), 400), len(found)]))
        place = draw(st.integers(0, max(0, end - 1)))
        how = draw(st.sampled_from(["flip", "flip", "byte", "cut", "insert", "remove"]))
        if how == "cut":
            del found[place:]
        elif how == "insert":
            found[place:place] = draw(st.binary(min_size=1, max_size=9))
        elif how == "remove":
            del found[place : place + draw(st.integers(1, 9))]
        elif found[place : place + 1]:
            found[place] = found[place] ^ (1 << draw(st.integers(0, 7))) if how == "flip" else draw(st.integers(0, 255))
    return bytes(found)


@st.composite
def edited(draw, content) -> object:
    """JSON content with one of its values, at any depth, replaced, removed or renamed."""
    if not isinstance(content, (dict, list)) or not content or draw(st.integers(0, 9)) == 9:
        return draw(JSON)
    found = dict(content) if isinstance(content, dict) else list(content)
    place = draw(st.sampled_from(list(found) if isinstance(found, dict) else range(len(found))))
    how = draw(st.sampled_from(["deeper"] * 6 + ["out", "renamed"]))
    if how == "out":
        del found[place]
    elif how == "renamed" and isinstance(found, dict):
        found[draw(st.text(max_size=9))] = found.pop(place)
    else:
        found[place] = draw(edited(found[place]))
    return found


@st.composite
def damaged_json(draw, content: dict) -> bytes:
    """A file of JSON with another value in it, or other bytes."""
    if draw(st.integers(0, 3)) == 3:
        return draw(damaged(json.dumps(content).encode()))
    return json.dumps(draw(edited(content))).encode("utf-8", "surrogatepass")


@st.composite
def damaged_safetensors(draw, content: bytes) -> bytes:
    """A file of tensors with another header, or other bytes."""
    size = int.from_bytes(content[:8], "little")
    head, body = content[8 : 8 + size], content[8 + size :]
    how = draw(st.sampled_from(["bytes", "head", "fields", "metadata", "metadata", "numbers", "nan"]))
    if how == "numbers":
        return content[: 8 + size] + draw(damaged(body))
    if how == "nan":  # or infinity, in float32
        place = 4 * draw(st.integers(0, len(body) // 4 - 1))
        number = draw(st.sampled_from([b"\0\0\xc0\x7f", b"\0\0\x80\x7f"]))
        return content[: 8 + size] + body[:place] + number + body[place + 4 :]
    if how == "bytes":
        return draw(damaged(content))
    if how == "head":
        head = draw(damaged(head))
    else:
        fields = json.loads(head)
        if how == "fields":
            fields = draw(edited(fields))
        else:  # the metadata of this package
            ours = json.loads(fields["__metadata__"]["vit_course"])
            fields["__metadata__"]["vit_course"] = json.dumps(draw(edited(ours)))
        head = json.dumps(fields).encode("utf-8", "surrogatepass")
    return len(head).to_bytes(8, "little") + head + body


@cache
def pictures() -> dict[str, bytes]:
    """A small picture in every format that Pillow writes and reads, by the name of the format and the mode."""
    Image.init()
    numbers = np.random.RandomState(0).randint(0, 256, (5, 7, 4), dtype=np.uint8)
    rgba, found = Image.fromarray(numbers), {}
    # Without ICNS, which writes ten sizes of up to 1,024 pixels and takes a second.
    for name in sorted({*FORMATS, "MPO"} & set(Image.SAVE) - {"ICNS"}):
        for mode in ("RGB", "P", "1", "L", "RGBA", "CMYK", "I;16", "F"):
            image, buffer = Image.new(mode, (7, 5), 9) if mode in ("I;16", "F") else rgba.convert(mode), io.BytesIO()
            try:
                image.save(buffer, name)
                Image.open(io.BytesIO(buffer.getvalue())).load()
            except Exception:  # the format lacks this mode, or can only be written
                continue
            found[f"{name} {mode}"] = buffer.getvalue()
    return found
