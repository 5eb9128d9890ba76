"""One process or many: who takes which images, what they add up, and where they write."""

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import nn

from vit_course._support.files.atomic import write_atomically
from vit_course._support.inputs.extras import extra

if TYPE_CHECKING:
    from accelerate import Accelerator

# A network disk may show a new file to other machines only after half a minute.
PATIENCE_SECONDS = 40.0


@dataclass(frozen=True)
class Alone:
    """What Accelerate is to many processes, for a single one: it shares nothing, and keeps no state between calls.

    Accelerate keeps device and precision for the whole life of a process, so that a second run could not have others.

    Args:
        device: where the model is.
    """

    device: torch.device
    process_index = 0
    num_processes = 1
    is_main_process = True

    def prepare(self, *objects):
        return objects

    def no_sync(self, model):
        return nullcontext()

    def backward(self, loss: torch.Tensor) -> None:
        loss.backward()

    def reduce(self, values: torch.Tensor) -> torch.Tensor:
        return values

    def gather(self, values: torch.Tensor) -> torch.Tensor:
        return values

    def main_process_first(self):
        return nullcontext()

    def local_main_process_first(self):
        return nullcontext()

    def wait_for_everyone(self) -> None:
        pass

    def end_training(self) -> None:
        pass


Engine: TypeAlias = "Accelerator | Alone"


def engine_for(device: torch.device) -> Engine:
    """Hugging Face's Accelerate where torchrun, `accelerate launch` or mpirun has started several processes.

    Precision and accumulation are the recipe's and the caller's, whatever `accelerate launch` was told of them.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        count = torch.distributed.get_world_size()
    else:
        names = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")  # those Accelerate looks at
        count = next((int(os.environ[name]) for name in names if os.environ.get(name)), 1)
    if count == 1:
        return Alone(device)
    with extra("train", "training in several processes"):
        from accelerate import Accelerator
        from accelerate.utils import GradientAccumulationPlugin

    once = GradientAccumulationPlugin(num_steps=1)
    return Accelerator(
        cpu=device.type == "cpu", device_placement=False, mixed_precision="no", gradient_accumulation_plugin=once
    )


def device_of(model: nn.Module) -> torch.device:
    """The device where a model is: that of its first parameter.

    Raises:
        ValueError: a model without parameters.
    """
    first = next(model.parameters(), None)
    if first is None:
        raise ValueError(f"this {type(model).__name__} has no parameters, so there is nothing to train or to evaluate")
    return first.device


def mine(engine: "Engine | None") -> slice:
    """What this process takes of anything that all of them share."""
    return slice(None) if engine is None else slice(engine.process_index, None, engine.num_processes)


def sum_over_processes(engine: "Engine | None", *values: float) -> list[float]:
    """-> the sum of each value over all processes, in all of them."""
    if engine is None or engine.num_processes == 1:
        return list(values)
    return engine.reduce(torch.tensor(values, dtype=torch.float64, device=engine.device)).tolist()


def first_alone(engine: Engine, action: Callable[[], None]) -> None:
    """The first process does something while the others wait; where it is refused, all of them are.

    Raises:
        ValueError, OSError: what `action` raised, in all processes.
    """
    error = None
    if engine.is_main_process:
        try:
            action()
        except (ValueError, OSError) as refusal:
            error = refusal
    if engine.num_processes > 1:
        from accelerate.utils import broadcast_object_list

        (error,) = broadcast_object_list([error])
    if error is not None:
        raise error


def need_the_same_folder(folder: str | Path, engine: Engine) -> None:
    """Makes sure that every process sees what the first one writes into a folder, which is made if missing.

    Raises:
        ValueError: some do not, in all processes.
    """
    if engine.num_processes == 1:
        return
    from accelerate.utils import broadcast_object_list

    file = Path(folder) / ".shared"
    (mark,) = broadcast_object_list([os.urandom(8).hex()])
    if engine.is_main_process:
        write_atomically(file, mark.encode())
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (seen := file.is_file() and file.read_text() == mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    (count,) = sum_over_processes(engine, seen)
    if engine.is_main_process:
        file.unlink()
    if count < engine.num_processes:
        raise ValueError(
            f"{engine.num_processes - round(count)} of {engine.num_processes} processes do not see the run folder "
            f"{folder} that the first one writes to: all of them need the same folder, on a disk that they share"
        )


def dropout_states(engine: Engine, device: torch.device) -> torch.Tensor:
    """-> (processes, bytes) uint8: the states of the generators from which each process draws on `device`."""
    return engine.gather(_generator_state(device)[None].to(engine.device)).cpu()


def restore_dropout(states: torch.Tensor, engine: Engine, device: torch.device) -> None:
    """Puts back this process's row of `dropout_states`.

    A process that had none, or one of another kind of device, keeps the generator as it is: it draws anew.
    """
    if engine.process_index >= len(states) or states.shape[1] != len(_generator_state(device)):
        return
    # A row of a table is a view into it, and `set_rng_state` reads the whole of what lies beneath.
    own = states[engine.process_index].clone()
    if device.type == "cuda":
        torch.cuda.set_rng_state(own, device)
    else:
        (torch.mps if device.type == "mps" else torch).set_rng_state(own)


def _generator_state(device: torch.device) -> torch.Tensor:
    if device.type == "cuda":
        return torch.cuda.get_rng_state(device)
    return (torch.mps if device.type == "mps" else torch).get_rng_state()
