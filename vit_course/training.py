"""Training: the loop, the schedule and the optimiser's two groups, on one process or on many."""

import math
import sys
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from tqdm import tqdm

from vit_course.checkpoints import add_names, remove_leftovers, restore_state, save_state, save_weights, write_csv
from vit_course.data import (
    Dataset,
    ImageFiles,
    Images,
    ImageSet,
    cut_out,
    load_batches,
    random_places,
    random_shifts,
    seed_everything,
    shift_images,
    unreadable,
)
from vit_course.processes import (
    Alone,
    dropout_states,
    engine_for,
    mine,
    need_the_same_folder,
    restore_dropout,
    sum_over_processes,
)

if TYPE_CHECKING:
    from accelerate import Accelerator


@dataclass(frozen=True)
class TrainingConfig:
    """A recipe, whatever the model.

    Args:
        epochs: passes over the training set.
        batch_size: images a step; the last batch of an epoch may be shorter.
        learning_rate: the peak, reached after the warm-up.
        warmup: the share of all steps in which the rate climbs from 0; the rest is half a cosine down to 0.
        weight_decay: on matrices only (`parameter_groups`).
        optimiser: "adamw" for all parameters (Loshchilov & Hutter 2017, arXiv:1711.05101), or "muon" for the matrices
            of all linear layers but the last, and AdamW for the rest (Liu et al. 2025, arXiv:2502.16982).
        beta2: AdamW's second momentum; its first is 0.9.
        label_smoothing: the share of the target that is spread over all classes.
        clip_norm: gradients longer than this are shortened to it; 0 for no clipping.
        padding: augmentation by random shifts of up to so many pixels.
        flip: augmentation by mirroring left and right.
        cutout: augmentation by blanking a square of so many pixels a side at a random place; 0 for none.
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
    optimiser: str = "adamw"
    beta2: float = 0.99
    label_smoothing: float = 0.0
    clip_norm: float = 1.0
    padding: int = 0
    flip: bool = False
    cutout: int = 0
    average: float = 0.0
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self):
        for name, low in (("epochs", 1), ("batch_size", 1), ("padding", 0), ("cutout", 0), ("clip_norm", 0),
                          ("weight_decay", 0)):  # fmt: skip
            if getattr(self, name) < low:
                raise ValueError(f"{name} must be at least {low}, got {getattr(self, name)}")
        if self.learning_rate <= 0:
            raise ValueError(f"learning_rate must be greater than 0, got {self.learning_rate}")
        for name, choices in (("precision", ("float32", "bfloat16")), ("optimiser", ("adamw", "muon"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be {choices[0]!r} or {choices[1]!r}, got {getattr(self, name)!r}")
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


def optimisers(model: nn.Module, config: TrainingConfig) -> list[torch.optim.Optimizer]:
    """AdamW for all parameters, or Muon for the hidden matrices and AdamW for what is left.

    Muon turns the momentum of a matrix into the nearest orthogonal one, so that a step changes all directions alike;
    its steps are scaled to the size of AdamW's, so that one learning rate serves both.
    """
    decay, rest = parameter_groups(model, config.weight_decay)
    # Not the last layer, nor what is no matrix, such as a convolution: there Muon is not meant to be used.
    hidden = {id(m.weight) for m in [m for m in model.modules() if isinstance(m, nn.Linear)][:-1]}
    hidden = [p for p in decay["params"] if id(p) in hidden] if config.optimiser == "muon" else []
    taken = {id(p) for p in hidden}
    decay["params"] = [p for p in decay["params"] if id(p) not in taken]
    adamw = torch.optim.AdamW([decay, rest], betas=(0.9, config.beta2))
    if not hidden:
        return [adamw]
    return [torch.optim.Muon(hidden, weight_decay=config.weight_decay, adjust_lr_fn="match_rms_adamw"), adamw]


@torch.no_grad()
def evaluate(
    model: nn.Module,
    images: Images,
    dataset: Dataset,
    batch_size: int = 500,
    engine: "Accelerator | Alone | None" = None,
    workers: int = 0,
) -> tuple[float, float]:
    """-> (mean cross-entropy, accuracy) of `model` on a part of `dataset`, in eval mode; its own mode is put back.

    Args:
        model: takes (B, C, H, W), gives (B, num_classes).
        images: such as `dataset.validation`.
        dataset: normalises the images.
        batch_size: images at a time.
        engine: of several processes, which then share the images.
        workers: processes that read images ahead, where they are on disk.

    Raises:
        ValueError: not one of the images could be read, or a worker that died.
        OSError: where the system, and not the file, is the cause that one could not be read.
    """
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    loss = correct = seen = 0.0
    batches = torch.arange(len(images)).split(batch_size)
    for batch in load_batches(images, [part[mine(engine)] for part in batches], workers):
        if len(batch) == 0:
            continue
        labels = batch.labels.to(device)
        logits = model(dataset.normalise(batch.images.to(device)))  # (B, num_classes)
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        correct += (logits.argmax(dim=1) == labels).sum().item()
        seen += len(labels)
    model.train(was_training)
    loss, correct, seen = sum_over_processes(engine, loss, correct, seen)
    if len(images) and not seen:
        raise _none_read(images, "the evaluation")
    return loss / max(1, seen), correct / max(1, seen)


def images_at_once(images: Images, batch_size: int, accumulate: int) -> int:
    """-> how many images an evaluation takes at a time during a run: 500, which costs little memory without gradients.

    No more than a part of a batch where that is cut by `accumulate`, or where the images are read from disk.
    """
    sparing = accumulate > 1 or isinstance(images, ImageFiles)
    return min(500, -(-batch_size // accumulate)) if sparing else 500


def train(
    model: nn.Module,
    dataset: Dataset,
    config: TrainingConfig,
    run_dir: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
    *,
    accumulate: int = 1,
    compiled: bool = False,
    workers: int = 0,
) -> list[dict]:
    """Trains `model` in place, on the device where it is.

    With a `run_dir`, `last.safetensors` (everything needed to go on) and `log.csv` are written after every epoch,
    and `best.safetensors` (weights alone) whenever the validation accuracy is the highest so far; a crash at any
    moment leaves whole files behind. Files of images that could not be read are listed in `unreadable.txt`; a batch
    then is the mean over those that could.

    Where the recipe has an average, `model` holds the averaged weights after the last epoch: those that were validated.
    `last.safetensors` has both.

    Started by `torchrun` or `accelerate launch`, every process takes its share of each batch, so that the batch, and
    with it the result, is that of one process, but for dropout and for batch norm, which see only a share. The first
    process alone writes, all read: the run folder must be the same for all, on several machines on a disk they share.

    Args:
        model: takes (B, C, H, W), gives (B, num_classes).
        dataset: from `vit_course.data`.
        config: the recipe. Its seed rules order and augmentation; call `seed_everything` before building the model.
        run_dir: a folder for the checkpoints, made if missing.
        resume: go on from `run_dir`'s `last.safetensors`; the result is that of the run without the break. Only
            dropout draws anew where the run goes on on another kind of device, or in more processes.
        progress: a bar and a line an epoch on standard output.
        accumulate: in how many parts a batch goes through the model, for less memory; the step is the same, but for
            dropout and for batch norm, which see only a part.
        compiled: run the model through `torch.compile`. Needs a C++ compiler; the first step takes a minute.
        workers: processes that read images ahead, where the dataset leaves them on disk.

    Returns:
        One dict an epoch: epoch, learning_rate, train_loss, train_accuracy (as seen in training, augmented),
        validation_loss, validation_accuracy.

    Raises:
        ValueError: nothing to resume, a run folder of another recipe, model or dataset, or one that not all processes
            see, a loss or gradient that is no longer a number, an epoch in which not one image could be read, a worker
            that died, or a model that cannot be compiled here.
        OSError: a checkpoint that cannot be written, the last one is intact; or an image that cannot be read for a
            cause that lies not in its file.
    """
    if accumulate < 1 or workers < 0:
        raise ValueError(f"accumulate must be at least 1 and workers at least 0, got {accumulate} and {workers}")
    device = next(model.parameters()).device
    engine = engine_for(device)
    last = Path(run_dir) / "last.safetensors" if run_dir else None
    steps_an_epoch = math.ceil(len(dataset.train) / config.batch_size)
    total_steps = config.epochs * steps_an_epoch
    steppers = optimisers(model, config)
    generator = torch.Generator().manual_seed(config.seed)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(config.average)) if config.average else None
    modules = {"model": model} | ({} if average is None else {"average": average})
    seed_everything(config.seed + engine.process_index)  # dropout draws from the global generator
    history: list[dict] = []
    described = _describe(dataset)
    if last is not None:
        need_the_same_folder(last.parent, engine)
    if resume:
        if last is None:
            raise ValueError("resume=True needs the run_dir of the run to go on with, got None")
        random, history = restore_state(last, modules, steppers, config, described)
        generator.set_state(random["order"])
        restore_dropout(random["dropout"], engine, device)
    if last is not None and engine.is_main_process:
        remove_leftovers(last.parent)
        if history:
            write_csv(last.with_name("log.csv"), history)
        if not resume:
            last.with_name("unreadable.txt").unlink(missing_ok=True)

    replica, *steppers = engine.prepare(model, *steppers)
    if compiled:
        replica = torch.compile(replica)
    model.train()
    for epoch in range(len(history), config.epochs):
        losses = correct = seen = 0.0
        label = f"epoch {epoch + 1}/{config.epochs}"
        batches = torch.randperm(len(dataset.train), generator=generator).split(config.batch_size)
        parts = [part[mine(engine)] for batch in batches for part in batch.chunk(accumulate)]
        loaded = load_batches(dataset.train, parts, workers)
        show = progress and engine.is_main_process
        for i, chosen in enumerate(tqdm(batches, label, leave=False, file=sys.stdout, disable=not show)):
            rate = config.learning_rate * warmup_cosine(epoch * steps_an_epoch + i, total_steps, config.warmup)
            for stepper in steppers:
                stepper.zero_grad()
                for group in stepper.param_groups:
                    group["lr"] = rate
            draws = random_shifts(len(chosen), config.padding, config.flip, generator)  # (B, 3)
            if config.cutout:
                draws = torch.cat([draws, random_places(len(chosen), dataset.image_size, generator)], dim=1)  # (B, 5)
            try:
                batch_loss, right, count = _gradients(replica, dataset, loaded, draws.chunk(accumulate), config, engine)
            except RuntimeError as error:
                if not compiled or not isinstance(error, torch._dynamo.exc.BackendCompilerFailed):
                    raise
                raise ValueError(
                    f"the model cannot be compiled ({str(error).splitlines()[0]}): compiled needs a C++ compiler, "
                    "without it training is the same and takes longer"
                ) from error
            if not math.isfinite(batch_loss):
                raise _diverged(f"the loss is {batch_loss} in {label}, step {i + 1}", config)
            if config.clip_norm:
                length = nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
            else:
                length = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
            if not length.isfinite():  # a finite loss can have such a gradient, and the step would spoil all weights
                found = f"the loss is finite, but the length of the gradient {length.item()}"
                raise _diverged(f"{found} in {label}, step {i + 1}", config)
            for stepper in steppers:
                stepper.step()
            if average is not None:
                average.update_parameters(model)
            losses, correct, seen = losses + batch_loss, correct + right, seen + count
        correct, seen = sum_over_processes(engine, correct, seen)
        if not seen:
            raise _none_read(dataset.train, label)
        kept = model if average is None else average.module
        at_once = images_at_once(dataset.validation, config.batch_size, accumulate)
        validation_loss, validation_accuracy = evaluate(
            kept, dataset.validation, dataset, at_once, engine=engine, workers=workers
        )
        if not math.isfinite(validation_loss):  # the last step of the epoch can have spoilt the weights
            raise _diverged(f"the validation loss is {validation_loss} after {label}", config)
        best = max((row["validation_accuracy"] for row in history), default=-1.0)
        history.append(
            {
                "epoch": epoch + 1,
                "learning_rate": rate,
                "train_loss": losses / max(1, seen),
                "train_accuracy": correct / max(1, seen),
                "validation_loss": validation_loss,
                "validation_accuracy": validation_accuracy,
            }
        )
        if show:
            tqdm.write(f"{label}: train loss {losses / max(1, seen):.3f}, validation {validation_accuracy:.1%}")
        if last is not None:
            random = {"order": generator.get_state(), "dropout": dropout_states(engine, device)}
            names = unreadable(dataset, engine)
            if engine.is_main_process:
                add_names(last.with_name("unreadable.txt"), names)
                if validation_accuracy > best:
                    save_weights(last.with_name("best.safetensors"), kept)
                save_state(last, modules, steppers, random, config, described, history)
                write_csv(last.with_name("log.csv"), history)
            engine.wait_for_everyone()
    if average is not None:
        model.load_state_dict(average.module.state_dict())
    return history


def _gradients(
    model: nn.Module,
    dataset: Dataset,
    loaded: Iterator[ImageSet],
    draws: tuple[torch.Tensor, ...],
    config: TrainingConfig,
    engine: "Accelerator | Alone",
) -> tuple[float, int, int]:
    """Sets the gradients of one batch, which goes through in as many parts as there are `draws`.

    Returns:
        The sum of the losses over all processes, and of this process how many answers were right, of how many.
    """
    device = next(model.parameters()).device
    batch_size = sum(len(part) for part in draws)
    total, correct, seen = torch.zeros((), device=device), 0, 0
    for i, draw in enumerate(draws):
        batch = next(loaded)
        # All processes draw for the whole batch, so that each image changes as it would in one process.
        draw = draw[mine(engine)]
        if batch.kept is not None:
            draw = draw[batch.kept]
        images = dataset.normalise(shift_images(batch.images, draw[:, :3], config.padding).to(device))
        if config.cutout:
            images = cut_out(images, draw[:, 3:], config.cutout)
        labels = batch.labels.to(device)
        if len(batch) == 0:  # an image that counts for nothing: every process takes part in the exchange
            images, labels = images.new_zeros(1, *images.shape[1:]), labels.new_zeros(1)
        # The processes exchange their gradients once a batch, with its last part.
        with engine.no_sync(model) if i < len(draws) - 1 else nullcontext():
            with torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bfloat16"):
                logits = model(images)  # (B, num_classes)
            loss = F.cross_entropy(logits.float(), labels, label_smoothing=config.label_smoothing)
            # Makes the mean over the whole batch: the exchange divides by the number of processes.
            engine.backward(loss * (engine.num_processes * len(batch) / batch_size))
        total += loss.detach() * len(batch)
        correct += (logits.argmax(dim=1)[: len(batch)] == labels[: len(batch)]).sum().item()
        seen += len(batch)
    total, read = engine.reduce(torch.stack([total, total.new_tensor(seen)])).tolist()
    if 0 < read < batch_size:  # some could not be read, and only now is it known how many: the mean over the others
        for gradient in [p.grad for p in model.parameters() if p.grad is not None]:
            gradient *= batch_size / read
    return total, correct, seen


def _diverged(what: str, config: TrainingConfig) -> ValueError:
    return ValueError(
        f"{what}: a smaller learning_rate than {config.learning_rate} is needed; checkpoints of earlier epochs are kept"
    )


def _none_read(images: Images, when: str) -> ValueError:
    such = f", such as {min(images.unreadable)}" if isinstance(images, ImageFiles) and images.unreadable else ""
    return ValueError(f"not one of {len(images)} images could be read in {when}{such}: is their disk still there?")


def _describe(dataset: Dataset) -> dict:
    """What tells one dataset from another, as JSON has it."""
    known = {
        "training_images": len(dataset.train),
        "image_size": list(dataset.image_size),
        "class_names": list(dataset.class_names),
    }
    if isinstance(dataset.train, ImageFiles):  # not the mean, which a file that is damaged later changes
        names = ("/".join(Path(path).parts[-2:]) for path in dataset.train.paths)
        return known | {"checksum_of_file_names": zlib.crc32("\n".join(names).encode("utf-8", "surrogateescape"))}
    return known | {name: [float(value) for value in getattr(dataset, name)] for name in ("mean", "std")}


def linear_baseline(dataset: Dataset, epochs: int = 10, seed: int = 0, device: str | torch.device = "cpu") -> float:
    """-> the test accuracy of a linear classifier on the pixels, trained by the same loop: the figure to beat."""
    seed_everything(seed)
    inputs = dataset.in_channels * math.prod(dataset.image_size)
    model = nn.Sequential(nn.Flatten(), nn.Linear(inputs, len(dataset.class_names))).to(device)
    train(model, dataset, TrainingConfig(epochs=epochs, seed=seed), progress=False)
    return evaluate(model, dataset.test, dataset)[1]
