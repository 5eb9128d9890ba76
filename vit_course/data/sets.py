"""Images with their labels, in memory or on disk."""

from dataclasses import dataclass, field

import numpy as np
import torch

from vit_course._support.inputs.arguments import height_and_width
from vit_course._support.inputs.rules import shown
from vit_course._support.inputs.tensors import check_axes, check_numbers, check_tensor
from vit_course.data.pictures import open_image


@dataclass(frozen=True)
class ImageSet:
    """Images with their labels, in memory.

    If some of the requested images could not be opened, `unreadable` names them, and `kept` (n,) indexes the others.

    Args:
        images: (n, C, H, W) uint8.
        labels: (n,) int64.
        masks: (n, H, W) bool, True on the object; only `shapes` has them.

    Raises:
        TypeError: not tensors.
        ValueError: other axes or dtypes, or sizes that do not fit together.
    """

    images: torch.Tensor
    labels: torch.Tensor
    masks: torch.Tensor | None = None
    unreadable: tuple[str, ...] = ()
    kept: torch.Tensor | None = None

    def __post_init__(self):
        check_axes("images", self.images, "(n, C, H, W)", torch.uint8)
        check_axes("labels", self.labels, "(n,)", torch.int64)
        check_numbers("labels", self.labels)
        if len(self.images) != len(self.labels):
            raise ValueError(
                f"there are {len(self.images)} images but {len(self.labels)} labels: one for each is needed"
            )
        if 0 in self.images.shape[1:]:
            raise ValueError(f"images need at least one channel and one pixel, got shape {tuple(self.images.shape)}")
        if self.kept is not None:
            check_axes("kept", self.kept, "(n,)", torch.int64)
        if self.masks is not None:
            check_axes("masks", self.masks, "(n, H, W)", torch.bool)
            wanted = (len(self.images), *self.image_size)
            if self.masks.shape != wanted:
                raise ValueError(f"the images need masks of shape {wanted}, got {tuple(self.masks.shape)}")

    def __len__(self) -> int:
        return len(self.images)

    @property
    def image_size(self) -> tuple[int, int]:
        """(H, W)."""
        return tuple(self.images.shape[2:])

    @property
    def in_channels(self) -> int:
        """C, the number of channels."""
        return self.images.shape[1]

    def __getitem__(self, index: slice | torch.Tensor) -> "ImageSet":
        """Some of the images, by slice, by indices, or by a mask.

        Raises:
            ValueError: a single number, which would not be a batch; indices that are out of range or of another kind.
        """
        index = chosen(index, len(self), "train.images[{0}] and train.labels[{0}]")
        return ImageSet(self.images[index], self.labels[index], None if self.masks is None else self.masks[index])


@dataclass(frozen=True)
class ImageFiles:
    """Images on disk that are opened when they are indexed, for sets that do not fit into memory.

    A file that is damaged or missing is left out, and its name is put into `unreadable`.

    Args:
        paths: n files.
        labels: (n,) int64.
        image_size: in pixels, to which each is resized and cropped (`pictures.open_image`); one int means a square, a
            pair is (height, width). Stored as (height, width).
        bits: of whole numbers in the files, as `pictures.open_picture` takes it.

    Raises:
        TypeError: labels that are not a tensor.
        ValueError: paths that are not an array of names, labels of another kind or number, or an invalid image size.
    """

    paths: np.ndarray
    labels: torch.Tensor
    image_size: tuple[int, int]
    unreadable: set[str] = field(default_factory=set)
    bits: int | None = None

    def __post_init__(self):
        # A list could be indexed by slices, but not by tensors.
        if not isinstance(self.paths, np.ndarray) or self.paths.ndim != 1 or self.paths.dtype.kind not in "UO":
            raise ValueError(f"paths must be a NumPy array (n,) of file names, got {shown(self.paths)}")
        check_axes("labels", self.labels, "(n,)", torch.int64)
        check_numbers("labels", self.labels)
        if len(self.paths) != len(self.labels):
            raise ValueError(f"there are {len(self.paths)} paths but {len(self.labels)} labels: one for each is needed")
        object.__setattr__(self, "image_size", height_and_width("image_size", self.image_size))

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def in_channels(self) -> int:
        """C: every picture is made RGB."""
        return 3

    def __getitem__(self, index: slice | torch.Tensor) -> ImageSet:
        """Some of the images, opened: at most as many as were asked for.

        Raises:
            ValueError: as of an `ImageSet`.
            OSError: as `pictures.open_picture`, for a reason other than a damaged file.
        """
        index = chosen(index, len(self), "train.paths[{0}] and train.labels[{0}]")
        # As an array: NumPy would take a tensor with one index for a number, and return a single name.
        paths, labels = self.paths[index if isinstance(index, slice) else index.numpy()], self.labels[index]
        images, kept, unreadable = [], [], []
        for i, path in enumerate(paths):
            try:
                images.append(open_image(str(path), self.image_size, self.bits))
                kept.append(i)
            except ValueError:
                unreadable.append(str(path))
        self.unreadable.update(unreadable)
        kept = torch.tensor(kept, dtype=torch.int64)
        stacked = torch.stack(images) if images else torch.empty(0, 3, *self.image_size, dtype=torch.uint8)
        return ImageSet(stacked, labels[kept], unreadable=tuple(unreadable), kept=kept)

    __getitems__ = __getitem__  # a worker of PyTorch's DataLoader asks for a whole batch by this name


Images = ImageSet | ImageFiles


def chosen(index, count: int, instead: str) -> slice | torch.Tensor:
    """Returns `index` as a slice or a tensor (m,) int64, checked to be within `count` images; a mask becomes indices.

    Args:
        index: a slice; or integers, or `count` truth values, as a tensor, an array or a list.
        count: how many images there are.
        instead: for the message, the code that gives a single image and its label, with {0} for its index.

    Raises:
        ValueError: any other index. Not an IndexError, which Python would take for the end of a loop.
    """
    wanted = "images are chosen by a slice, a tensor of indices or a mask"
    if isinstance(index, torch.Tensor):
        check_tensor("indices", index)
        check_numbers("indices", index)
    try:
        given = index.detach().cpu().numpy() if isinstance(index, torch.Tensor) else index
        found = np.arange(count, dtype=np.int64)[given]
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{wanted}, got {shown(index)}: {error}") from error
    if found.ndim == 0:
        number = int(index)
        raise ValueError(
            f"{wanted}, got {number}: write train[{number}:{number + 1 or ''}] for a batch of one, "
            f"or {instead.format(number)}"
        )
    # uint8 values are indices for NumPy, but a mask for PyTorch.
    if found.ndim != 1 or str(getattr(index, "dtype", "")).endswith("uint8"):
        raise ValueError(f"{wanted}, got {shown(index)}")
    if not isinstance(index, slice):
        return torch.from_numpy(found)
    if index.step is not None and index.step < 0:
        raise ValueError(
            f"a slice of images must go forwards, got step {index.step}: for another order give a tensor of indices"
        )
    return index
