"""The parameters of a module as one flat vector, so that their names and shapes do not matter."""

from collections.abc import Sequence

import torch
from torch import nn


class FlatParameters:
    """The trainable parameters, flattened and concatenated to one row of numbers.

    Args:
        parameters: of the learner's module, or some of them.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]):
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        sizes = [parameter.numel() for parameter in self.parameters]
        self.total = sum(sizes)
        places = zip(torch.arange(self.total).split(sizes), self.parameters, strict=True)
        self._places = [those.reshape(parameter.shape) for those, parameter in places]

    def places(self, parameter: nn.Parameter) -> torch.Tensor:
        """Where the numbers of a parameter lie in the row, in its shape."""
        return next(places for one, places in zip(self.parameters, self._places, strict=True) if one is parameter)

    def get(self) -> torch.Tensor:
        """The row, a copy."""
        return torch.cat([parameter.detach().flatten() for parameter in self.parameters])

    def set(self, row: torch.Tensor) -> None:
        """Writes the row into the parameters."""
        with torch.no_grad():
            for parameter, places in zip(self.parameters, self._places, strict=True):
                parameter.copy_(row[places])

    def slopes(self, scalar: torch.Tensor) -> torch.Tensor:
        """The gradient of a scalar with respect to the row; 0 for numbers on which the scalar does not depend."""
        found = torch.autograd.grad(scalar, self.parameters, materialize_grads=True)
        return torch.cat([slope.flatten() for slope in found])
