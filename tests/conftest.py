"""What several test files share."""

from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same random state."""
    torch.manual_seed(0)


@pytest.fixture
def odd_images():
    """(2, 3, 8, 12): every size different, so that no transposition slips through."""
    return torch.randn(2, 3, 8, 12)
