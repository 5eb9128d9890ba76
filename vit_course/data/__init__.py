"""Images to train on and to look at: shapes with masks, digits, CIFAR-10, a folder of your own, photographs."""

from vit_course._support.files.course_files import stored
from vit_course.data.augment import cut_out, random_places, random_shifts, shift_and_flip, shift_images
from vit_course.data.dataset import Dataset
from vit_course.data.folder import folder
from vit_course.data.from_recipe import KNOWN, from_recipe
from vit_course.data.loading import load_batches, unreadable
from vit_course.data.photographs import Photograph, photographs
from vit_course.data.pictures import open_image, open_picture
from vit_course.data.seed import seed_everything
from vit_course.data.sets import ImageFiles, Images, ImageSet
from vit_course.data.shapes import SHAPES
from vit_course.data.stored_runs import stored_runs

globals().update(KNOWN)  # each source's function: shapes, digits, ...
__all__ = [
    *KNOWN,
    "SHAPES",
    "Dataset",
    "ImageFiles",
    "ImageSet",
    "Images",
    "Photograph",
    "cut_out",
    "folder",
    "from_recipe",
    "load_batches",
    "open_image",
    "open_picture",
    "photographs",
    "random_places",
    "random_shifts",
    "seed_everything",
    "shift_and_flip",
    "shift_images",
    "stored",
    "stored_runs",
    "unreadable",
]
