"""The control of permuted labels in chapter 08: python res/permuted_labels/train.py

Two models of one size, one seed and one recipe learn the same 1,000 shapes: one with the right labels, one with the
labels permuted among the images, so that there is nothing to learn but the images themselves (Adebayo et al. 2018,
arXiv:1810.03292, section 4). Both are trained until they know their training set by heart. Writes for each a folder
beside this one with best.safetensors (half precision), config.json, log.csv and result.json.
"""

from dataclasses import asdict, replace
from pathlib import Path

from vit_course import data, pretrained, training
from vit_course._support.files.atomic import write_json
from vit_course._support.files.weights import save_weights
from vit_course.config import ViTConfig
from vit_course.data import Dataset
from vit_course.maps import controls
from vit_course.vit import ViT

FOLDER = Path(__file__).parents[1]
RECIPE = training.TrainingConfig(epochs=300, batch_size=50, learning_rate=2e-3, weight_decay=0.0)


def main() -> None:
    """Trains both and prints what they know of their training set and of new images."""
    shapes = data.shapes(num_train=1_000)
    labels = controls.permute_labels(shapes.train.labels)
    permuted = replace(shapes, train=replace(shapes.train, labels=labels))
    config = pretrained.load("shapes").config
    for name, dataset in (("shapes-1000-right", shapes), ("shapes-1000-permuted", permuted)):
        data.seed_everything(RECIPE.seed)
        model = ViT(config)
        history = training.train(model, dataset, RECIPE, run_dir=FOLDER / name)
        result = {
            "train_accuracy": training.evaluate(model, dataset.train, dataset)[1],
            "test_accuracy": training.evaluate(model, dataset.test, dataset)[1],
        }
        # The last weights: the best on validation images would be those of a model that has learnt nothing yet.
        save_weights(FOLDER / name / "best.safetensors", model.half())
        write_json(FOLDER / name / "result.json", result)
        write_config(name, config, dataset)
        (FOLDER / name / "last.safetensors").unlink()
        print(name, result, f"last training loss {history[-1]['train_loss']:.4f}", flush=True)


def write_config(name: str, config: ViTConfig, dataset: Dataset) -> None:
    """Writes beside the weights what is needed to show the model a picture, and how it was trained."""
    images = {"class_names": dataset.class_names, "mean": dataset.mean, "std": dataset.std}
    source = {"source": dataset.name, "num_train": len(dataset.train), "labels": name.rpartition("-")[2]}
    content = {"data": source, "images": images, "model": config.to_dict(), "training": asdict(RECIPE)}
    write_json(FOLDER / name / "config.json", content)


if __name__ == "__main__":
    main()
