"""The training loop: epochs of batches, each a forward pass, a backward pass and a step; then validation."""

import sys
from pathlib import Path

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from tqdm import tqdm

from vit_course.data import Dataset, seed_everything
from vit_course.training.batches import Batches, Sums
from vit_course.training.checking import check_fit, check_head, check_still_finite, compile_errors, none_read
from vit_course.training.evaluation import images_at_once, measured
from vit_course.training.objective import Objective
from vit_course.training.optimisers import Stepper, warmup_cosine
from vit_course.training.processes import device_of, engine_for
from vit_course.training.recipe import TrainingConfig
from vit_course.training.run_folder import RunFolder
from vit_course.training.run_state import RunState
from vit_course.training.supervised import Supervised


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

    With a `run_dir`, `last.safetensors` (everything needed to continue) and `log.csv` are written after every epoch,
    and `best.safetensors` (weights alone) whenever the validation accuracy is the highest so far, or, without labels,
    after every epoch; a crash at any moment leaves whole files behind. `config.json` describes model and data. Files of
    images that could not be read are listed in `unreadable.txt`; the loss of a batch is then the mean over the others.
    During the run, a lock keeps other processes out of its folder.

    If the recipe has an average, `model` holds the averaged weights after the last epoch, which were validated.
    `last.safetensors` has both.

    Started by `torchrun` or `accelerate launch`, every process takes its share of each batch, so that the
    result is that of a single process, except for dropout, batch norm and mixup, which see only a share.
    Only the first process writes, and all read the same run folder; several machines need a shared disk.

    Args:
        model: takes (B, C, H, W), gives (B, num_classes), and is trained on the labels; or an objective that
            contains its model, such as `MaskedAutoencoder(vit)`.
        dataset: from `vit_course.data`.
        config: the recipe. Its seed fixes order and augmentation; call `seed_everything` before building the model.
        run_dir: a folder for the checkpoints, made if missing.
        resume: continue from `run_dir`'s `last.safetensors`; the result is that of an uninterrupted run. Only
            dropout draws other numbers if the run continues on another kind of device, or in more processes.
        progress: a bar and one line per epoch on standard output.
        accumulate: in how many parts a batch goes through the model, to save memory; the step is the same, except
            for dropout, batch norm and mixup, which see only a part.
        compiled: run the model through `torch.compile`. Needs a C++ compiler; the first step takes a minute.
        workers: processes that read images ahead, where the dataset leaves them on disk.

    Returns:
        One dict per epoch: epoch, learning_rate, train_loss, train_accuracy (as seen in training, augmented),
        validation_loss, validation_accuracy. Other objectives have their own measures instead of accuracy.

    Raises:
        ValueError: arguments that do not fit one another, nothing to resume, a run folder that already holds a
            run, has another recipe, model or dataset, is in use, or is not seen by all processes, a loss
            or gradient that is no longer a number, an epoch in which not one image could be read, a worker that died,
            or a model that cannot be compiled here.
        OSError: a checkpoint that cannot be written, the last one is intact; or an image that cannot be read for a
            reason outside its file.
    """
    options = dict(progress=progress, accumulate=accumulate, compiled=compiled, workers=workers)
    check_fit(model, dataset, config, run_dir, resume, **options)
    objective = model if isinstance(model, Objective) else Supervised(model, dataset, config.label_smoothing)
    engine = engine_for(device_of(objective))
    check_head(objective, engine)
    batches = Batches(dataset, config, objective, engine, accumulate, workers)
    optimiser, all_steps = Stepper(objective, config), config.epochs * len(batches)
    average = AveragedModel(objective, multi_avg_fn=get_ema_multi_avg_fn(config.average)) if config.average else None
    kept = objective if average is None else average.module
    at_once = images_at_once(dataset.validation, config.batch_size, accumulate)
    seed_everything(config.seed + engine.process_index)  # dropout draws from the global generator
    state = RunState(objective, average, optimiser, batches.generator, engine)
    run, show = RunFolder(run_dir, engine, objective, dataset, config), progress and engine.is_main_process
    with run.opened(state, resume) as history, compile_errors(compiled):
        replica = optimiser.prepared(objective.train(), engine, compiled)
        for epoch in range(len(history), config.epochs):
            label, sums = f"epoch {epoch + 1}/{config.epochs}", Sums(engine, objective.measures)
            bar = tqdm(batches.epoch(), label, len(batches), leave=False, file=sys.stdout, disable=not show)
            for step, parts in enumerate(bar):
                when, made = f"{label}, step {step + 1}", epoch * len(batches) + step
                share = warmup_cosine(made, all_steps, config.warmup)
                optimiser.zero_grad()
                for part in parts:
                    with part.exchange(engine, replica):
                        with torch.autocast(part.images.device.type, torch.bfloat16, config.precision == "bfloat16"):
                            loss, measures = replica(part.images, part.labels, part.draws, part.count)
                        engine.backward(loss * part.weight)
                    sums.add(part, loss, measures)
                check_still_finite(sums.end_of_batch(objective), f"the loss is {{}} in {when}", config)
                # A finite loss can have a gradient of NaN or infinity, and the step would ruin all weights.
                gradient = f"the loss is finite, but the length of the gradient {{}} in {when}"
                check_still_finite(optimiser.clip(objective), gradient, config)
                optimiser.step(share * config.learning_rate)
                objective.after_step(made / all_steps, engine)
                if average is not None:
                    average.update_parameters(objective)
            row = {"epoch": epoch + 1, "learning_rate": share * config.learning_rate, **sums.means()}
            if not sums.seen:
                raise none_read(dataset.train, label)
            found = measured(kept, dataset.validation, dataset, at_once, engine, workers)
            # The last step of the epoch may have ruined the weights.
            check_still_finite(torch.tensor(found["loss"]), f"the validation loss is {{}} after {label}", config)
            history.append(row | {f"validation_{name}": value for name, value in found.items()})
            if show:
                tqdm.write(f"{label}: train loss {row['train_loss']:.3f}, validation {said(found)}")
            run.keep(state, history, kept)
    objective.load_state_dict(kept.state_dict())
    return history


def said(found: dict[str, float]) -> str:
    """Formats the validation result of an epoch: the accuracy, or else the loss."""
    return f"{found['accuracy']:.1%}" if "accuracy" in found else f"loss {found['loss']:.3f}"
