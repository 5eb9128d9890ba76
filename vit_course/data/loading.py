"""Batches of images, one after the other; those on disk are read ahead."""

from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import DataLoader

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import shown
from vit_course.data.dataset import Dataset
from vit_course.data.sets import ImageFiles, Images, ImageSet, chosen


def load_batches(images: Images, batches: Sequence[torch.Tensor], workers: int = 0) -> Iterator[ImageSet]:
    """The images in batches, one after the other; those on disk are read ahead.

    Args:
        images: a part of a dataset.
        batches: the indices of each batch.
        workers: processes that read files; 0 reads in this one.

    Raises:
        ValueError: at once: indices out of range, or workers below 0 or above 1,000; later: a worker that died.
        OSError: a file that cannot be read for a reason outside the file, as `pictures.open_picture`.
    """
    if not isinstance(images, Images):
        raise ValueError(f"images must be an ImageSet or ImageFiles, got {shown(images)}")
    if not isinstance(batches, (list, tuple)) or not all(isinstance(batch, torch.Tensor) for batch in batches):
        raise ValueError(f"batches must be a list of tensors of indices, got {shown(batches)}")
    check_arguments(workers=workers)
    batches = [chosen(batch, len(images), "a batch of one, [{0}]") for batch in batches]
    return (images[batch] for batch in batches) if isinstance(images, ImageSet) else _read(images, batches, workers)


def unreadable(dataset: Dataset, engine=None) -> list[str]:
    """-> the files of `dataset` that could not be read so far, by all processes of `engine` (Accelerate), sorted."""
    if not isinstance(dataset, Dataset):
        raise ValueError(f"unreadable takes a Dataset, got {shown(dataset)}")
    parts = [part for part in (dataset.train, dataset.validation, dataset.test) if isinstance(part, ImageFiles)]
    names = [name for part in parts for name in part.unreadable]
    if parts and engine is not None and engine.num_processes > 1:
        from accelerate.utils import gather_object

        names = gather_object(names)
    return sorted(set(names))


def _read(images: ImageFiles, batches: list[torch.Tensor], workers: int) -> Iterator[ImageSet]:
    # Its own generator: DataLoader would draw from the global one, from which dropout draws.
    loader = DataLoader(
        images,
        batch_sampler=[batch.numpy() for batch in batches],
        num_workers=workers,
        collate_fn=_as_it_is,
        generator=torch.Generator().manual_seed(0),
    )
    iterator = iter(loader)
    try:
        for batch in iterator:
            images.unreadable.update(batch.unreadable)
            yield batch
    except OSError as error:
        if error.errno is not None:
            raise
        # Of a worker's error the loader keeps the class and, as its text, the whole traceback.
        raise OSError(str(error).strip().splitlines()[-1]) from error
    except RuntimeError as error:
        if "worker" not in str(error):
            raise
        raise ValueError(
            f"one of {workers} workers that read images died, often for lack of memory; try fewer: {error}"
        ) from error
    finally:
        # An error's traceback keeps the iterator, and so its workers, alive. They have copies of this process's pipes:
        # whoever waits for the end of one, such as a browser's driver, then waits for ever. There is no public way.
        if workers:
            iterator._shutdown_workers()


def _as_it_is(batch: ImageSet) -> ImageSet:
    return batch  # a function of the module, since workers are handed it by name
