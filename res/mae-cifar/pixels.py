"""A decoder for pictures: objective.safetensors, beside the encoder of recipe mae-cifar, which stays as it is.

    python res/mae-cifar/pixels.py --data data   # about ten minutes on one core

The decoder of the recipe guesses patches without their mean and contrast, and such guesses cannot be looked at. Its
log is in log.csv, that of this decoder in pixels.csv.
"""

import argparse
from pathlib import Path

from vit_course import data, pretrained, training
from vit_course._support.files.atomic import write_csv, write_json
from vit_course._support.files.json_files import read_json
from vit_course._support.files.weights import write_tensors
from vit_course.training.run_folder import REST

FOLDER = Path(__file__).parent
RECIPE = training.TrainingConfig(
    epochs=6, batch_size=256, optimiser="muon", learning_rate=3e-3, padding=4, flip=True, precision="bfloat16"
)


def main() -> None:
    """Trains the decoder and writes it in half precision."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="data", help="the folder that holds cifar-10-batches-py")
    cifar = data.cifar10(parser.parse_args().data, download=False)
    data.seed_everything(RECIPE.seed)
    vit = pretrained.load(FOLDER / "best.safetensors").requires_grad_(False)
    objective = training.MaskedAutoencoder(vit, normalise_patches=False)
    history = training.train(objective, cifar, RECIPE)
    write_csv(FOLDER / "pixels.csv", history)
    write_tensors(FOLDER / REST, {name: value.half() for name, value in objective.rest().items()}, {})
    content = read_json(FOLDER / "config.json")
    content["objective"]["normalise_patches"] = False
    write_json(FOLDER / "config.json", content)


if __name__ == "__main__":
    main()
