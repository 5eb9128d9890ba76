"""Training: the loop, the schedule, the optimiser's two groups, and checkpoints that a crash cannot harm."""

import csv
import io
import json
import math
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from tqdm import tqdm

from vit_course.data import Dataset, ImageSet, seed_everything, shift_and_flip

METADATA_KEY = "vit_course"


@dataclass(frozen=True)
class TrainingConfig:
    """A recipe, whatever the model.

    Args:
        epochs: passes over the training set.
        batch_size: images a step; the last batch of an epoch may be shorter.
        learning_rate: the peak, reached after the warm-up.
        warmup: the share of all steps in which the rate climbs from 0; the rest is half a cosine down to 0.
        weight_decay: on matrices only (`parameter_groups`).
        beta2: AdamW's second momentum; its first is 0.9.
        label_smoothing: the share of the target that is spread over all classes.
        clip_norm: gradients longer than this are shortened to it; 0 for no clipping.
        padding: augmentation by random shifts of up to so many pixels.
        flip: augmentation by mirroring left and right.
        average: the decay a step of a running average of the weights, such as 0.999, which then is what is validated
            and kept as best; 0 for none (Polyak & Juditsky 1992).
        precision: "float32", or "bfloat16" for mixed precision: matrix products in bfloat16, sums and weights in
            float32. Faster where the processor has it.
        seed: of initialisation, order and augmentation.

    Raises:
        ValueError: a value out of its range.
    """

    epochs: int = 10
    batch_size: int = 128
    learning_rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.05
    beta2: float = 0.99
    label_smoothing: float = 0.0
    clip_norm: float = 1.0
    padding: int = 0
    flip: bool = False
    average: float = 0.0
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self):
        for name, low in (("epochs", 1), ("batch_size", 1), ("padding", 0), ("clip_norm", 0), ("weight_decay", 0)):
            if getattr(self, name) < low:
                raise ValueError(f"{name} must be at least {low}, got {getattr(self, name)}")
        if self.learning_rate <= 0:
            raise ValueError(f"learning_rate must be greater than 0, got {self.learning_rate}")
        if self.precision not in ("float32", "bfloat16"):
            raise ValueError(f"precision must be 'float32' or 'bfloat16', got {self.precision!r}")
        for name in ("warmup", "label_smoothing", "beta2", "average"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and less than 1, got {getattr(self, name)}")


def warmup_cosine(step: int, total_steps: int, warmup: float) -> float:
    """The share of the peak learning rate at `step`: a line from 0 up to 1, then half a cosine down to 0.

    Source: Loshchilov & Hutter 2016 (arXiv:1608.03983), Eq. 5, without restarts; Dosovitskiy et al. 2020, Table 3.
    """
    warmup_steps = max(1, round(warmup * total_steps))
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return 0.5 * (1 + math.cos(math.pi * (step - warmup_steps) / max(1, total_steps - warmup_steps)))


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two groups for AdamW: the matrices of linear layers and convolutions decay, all other parameters do not.

    A bias or a norm's scale pulled towards 0 only loses its function; so does a position table.
    """
    matrices = {id(m.weight) for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d))}
    decay = [p for p in model.parameters() if id(p) in matrices]
    rest = [p for p in model.parameters() if id(p) not in matrices]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


@torch.no_grad()
def evaluate(model: nn.Module, images: ImageSet, dataset: Dataset, batch_size: int = 500) -> tuple[float, float]:
    """-> (mean cross-entropy, accuracy) of `model` on a part of `dataset`, in eval mode; its own mode is put back."""
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    loss = correct = 0.0
    for start in range(0, len(images), batch_size):
        batch = images[start : start + batch_size]
        labels = batch.labels.to(device)
        logits = model(dataset.normalise(batch.images.to(device)))  # (B, num_classes)
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        correct += (logits.argmax(dim=1) == labels).sum().item()
    model.train(was_training)
    return loss / len(images), correct / len(images)


def train(
    model: nn.Module,
    dataset: Dataset,
    config: TrainingConfig,
    run_dir: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
) -> list[dict]:
    """Trains `model` in place, on the device where it is.

    With a `run_dir`, `last.safetensors` (everything needed to go on) and `log.csv` are written after every epoch,
    and `best.safetensors` (weights alone) whenever the validation accuracy is the highest so far; a crash at any
    moment leaves whole files behind.

    Args:
        model: takes (B, C, H, W), gives (B, num_classes).
        dataset: from `vit_course.data`.
        config: the recipe. Its seed rules order and augmentation; call `seed_everything` before building the model.
        run_dir: a folder for the checkpoints, made if missing.
        resume: go on from `run_dir`'s `last.safetensors`; the result is that of the run without the break.
        progress: a bar and a line an epoch on standard output.

    Returns:
        One dict an epoch: epoch, learning_rate, train_loss, train_accuracy (as seen in training, augmented),
        validation_loss, validation_accuracy.

    Raises:
        ValueError: nothing to resume, a run folder of another recipe or model, or a loss that is no longer a number.
    """
    device = next(model.parameters()).device
    last = Path(run_dir) / "last.safetensors" if run_dir else None
    steps_an_epoch = math.ceil(len(dataset.train) / config.batch_size)
    total_steps = config.epochs * steps_an_epoch
    optimiser = torch.optim.AdamW(parameter_groups(model, config.weight_decay), betas=(0.9, config.beta2))
    generator = torch.Generator().manual_seed(config.seed)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(config.average)) if config.average else None
    seed_everything(config.seed)  # dropout draws from the global generator
    history: list[dict] = []
    if resume:
        if last is None:
            raise ValueError("resume=True needs the run_dir of the run to go on with, got None")
        history = _restore(last, model, average, optimiser, generator, config)

    mixed = torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bfloat16")
    model.train()
    for epoch in range(len(history), config.epochs):
        losses = correct = 0.0
        batches = torch.randperm(len(dataset.train), generator=generator).split(config.batch_size)
        label = f"epoch {epoch + 1}/{config.epochs}"
        for i, chosen in enumerate(tqdm(batches, label, leave=False, file=sys.stdout, disable=not progress)):
            rate = config.learning_rate * warmup_cosine(epoch * steps_an_epoch + i, total_steps, config.warmup)
            for group in optimiser.param_groups:
                group["lr"] = rate
            batch = dataset.train[chosen]
            images = shift_and_flip(batch.images, config.padding, config.flip, generator).to(device)
            labels = batch.labels.to(device)
            with mixed:
                logits = model(dataset.normalise(images))  # (B, num_classes)
            loss = F.cross_entropy(logits.float(), labels, label_smoothing=config.label_smoothing)
            if not loss.isfinite():
                raise ValueError(
                    f"the loss is {loss.item()} in {label}, step {i + 1}: a smaller learning_rate than "
                    f"{config.learning_rate} is needed; checkpoints of earlier epochs are kept"
                )
            optimiser.zero_grad()
            loss.backward()
            if config.clip_norm:
                nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
            optimiser.step()
            if average is not None:
                average.update_parameters(model)
            losses += loss.item() * len(labels)
            correct += (logits.argmax(dim=1) == labels).sum().item()
        kept = model if average is None else average.module
        validation_loss, validation_accuracy = evaluate(kept, dataset.validation, dataset)
        best = max((row["validation_accuracy"] for row in history), default=-1.0)
        history.append(
            {
                "epoch": epoch + 1,
                "learning_rate": rate,
                "train_loss": losses / len(dataset.train),
                "train_accuracy": correct / len(dataset.train),
                "validation_loss": validation_loss,
                "validation_accuracy": validation_accuracy,
            }
        )
        if progress:
            tqdm.write(f"{label}: train loss {losses / len(dataset.train):.3f}, validation {validation_accuracy:.1%}")
        if last is not None:
            if validation_accuracy > best:
                save_weights(last.with_name("best.safetensors"), kept)
            _save_state(last, model, average, optimiser, generator, config, history)
            write_csv(last.with_name("log.csv"), history)
    return history


def linear_baseline(dataset: Dataset, epochs: int = 10, seed: int = 0) -> float:
    """-> the test accuracy of a linear classifier on the pixels, trained by the same loop: the figure to beat."""
    seed_everything(seed)
    inputs = dataset.in_channels * math.prod(dataset.image_size)
    model = nn.Sequential(nn.Flatten(), nn.Linear(inputs, len(dataset.class_names)))
    train(model, dataset, TrainingConfig(epochs=epochs, seed=seed), progress=False)
    return evaluate(model, dataset.test, dataset)[1]


def save_weights(path: str | Path, model: nn.Module, **metadata) -> None:
    """Writes a model's weights as safetensors, whole or not at all; a ViT's config goes along, as do `metadata`."""
    if hasattr(model, "config"):
        metadata = {"config": model.config.to_dict(), **metadata}
    _write(path, model.state_dict(), metadata)


def load_weights(path: str | Path) -> tuple[dict[str, torch.Tensor], dict]:
    """-> (state dict, metadata) of a safetensors file.

    Raises:
        ValueError: no such file, or a damaged one.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata = json.loads((file.metadata() or {}).get(METADATA_KEY, "{}"))
            return {key: file.get_tensor(key) for key in file.keys()}, metadata  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise ValueError(f"there is no checkpoint {path}") from None
    except (SafetensorError, OSError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no whole checkpoint: {error}") from error


def write_atomically(path: str | Path, content: bytes) -> None:
    """Writes a file so that a reader, or a crash, finds the old content or the new, never a part."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_csv(path: str | Path, rows: list[dict]) -> None:
    """Writes rows of equal keys as CSV, numbers to 6 decimals, whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=rows[0], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: round(value, 6) if isinstance(value, float) else value for key, value in row.items()})
    write_atomically(path, text.getvalue().encode())


def _write(path: str | Path, tensors: dict[str, torch.Tensor], metadata: dict) -> None:
    tensors = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
    # One key: safetensors writes several in random order, and the same run should give the same bytes.
    write_atomically(path, save(tensors, {METADATA_KEY: json.dumps(metadata)}))


def _save_state(path, model, average, optimiser, generator, config, history) -> None:
    # One file, so that weights, optimiser and random state cannot come from different epochs.
    tensors = {f"model.{key}": value for key, value in model.state_dict().items()}
    if average is not None:
        tensors |= {f"average.{key}": value for key, value in average.state_dict().items()}
    for i, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{i}.{key}": value for key, value in state.items()}
    tensors["random.order"] = generator.get_state()
    tensors["random.global"] = torch.get_rng_state()
    _write(path, tensors, {"recipe": asdict(config), "history": history})


def _restore(path, model, average, optimiser, generator, config) -> list[dict]:
    tensors, metadata = load_weights(path)
    for name, wanted in asdict(config).items():
        found = metadata.get("recipe", {}).get(name)
        if found != wanted:
            raise ValueError(f"{path} was trained with {name} {found}, this run has {name} {wanted}")
    parts: dict[str, dict] = {"model": {}, "average": {}, "optimiser": {}, "random": {}}
    for key, tensor in tensors.items():
        part, name = key.split(".", 1)
        parts[part][name] = tensor
    try:
        model.load_state_dict(parts["model"])
    except RuntimeError as error:
        raise ValueError(f"{path} is of another model: {str(error).splitlines()[1].strip()}") from error
    if average is not None:
        average.load_state_dict(parts["average"])
    state: dict[int, dict] = {}
    for key, tensor in parts["optimiser"].items():
        i, name = key.split(".")
        state.setdefault(int(i), {})[name] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
    generator.set_state(parts["random"]["order"])
    torch.set_rng_state(parts["random"]["global"])
    return metadata["history"]
