"""Answers to exercise capstone.trained."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.config import ViTConfig
from vit_course.vit import ViT


def train(images, labels, epochs=8, rate=2e-3, make=None, sign=1, mode=False):
    torch.manual_seed(0)
    config = ViTConfig(image_size=8, patch_size=4, in_channels=1, num_classes=10, hidden_dim=48, num_layers=2,
                       num_heads=4, mlp_dim=96)  # fmt: skip
    model = make() if make else ViT(config)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            loss = sign * F.cross_entropy(model(images[batch]), labels[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model.train(mode)


right("capstone.trained")(train)


@right("capstone.trained")
def with_the_package_loop(images, labels):
    model = ViT(ViTConfig(image_size=8, patch_size=2, in_channels=1, num_classes=10, hidden_dim=32, num_layers=2,
                          num_heads=2, mlp_dim=64))  # fmt: skip
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(600):
        batch = slice(64 * (step % 18), 64 * (step % 18) + 64)
        optimiser.zero_grad(set_to_none=False)
        nn.CrossEntropyLoss()(model(images[batch]), labels[batch]).backward()
        optimiser.step()
    return model


@right("capstone.trained")
def no_transformer_at_all(images, labels):  # the check is on what it does
    return train(
        images, labels, make=lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10))
    )


wrong("capstone.trained", "no-step")(lambda x, y: train(x, y, epochs=0))
wrong("capstone.trained", "untrained")(lambda x, y: train(x, y, rate=1.0, epochs=3))
wrong("capstone.trained", "half-trained")(lambda x, y: train(x, y, epochs=2, rate=5e-4))
wrong("capstone.trained", "half-trained")(lambda x, y: copy.deepcopy(train(x, y, epochs=2, rate=5e-4)))
wrong("capstone.trained", "few-steps")(lambda x, y: train(x, y, epochs=1))
wrong("capstone.trained", "below-guessing")(
    lambda x, y: train(x, y, epochs=2, sign=-1, rate=2e-3, make=lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 10)))
)
wrong("capstone.trained", "random-result")(
    lambda x, y: train(x, y, epochs=3, mode=True,
                       make=lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.Dropout(0.5), nn.Linear(64, 10)))
)  # fmt: skip
wrong("capstone.trained", "returned-nothing")(lambda x, y: None)


class ByHeart(nn.Module):
    def __init__(self, images, labels):
        super().__init__()
        self.images, self.labels = images.flatten(1), labels

    def forward(self, x):
        distance, nearest = torch.cdist(x.flatten(1), self.images).min(1)
        return F.one_hot(torch.where(distance < 1e-2, self.labels[nearest], 0), 10) * 5.0


wrong("capstone.trained", "learnt-by-heart")(ByHeart)
unforeseen("capstone.trained")(lambda x, y: nn.Sequential(nn.Flatten(), nn.Linear(64, 9)))


@wrong("capstone.trained", "softmax-in-model")
def with_softmax(images, labels):
    return nn.Sequential(train(images, labels, epochs=1), nn.Softmax(1))


wrong("capstone.trained", "few-images")(lambda x, y: train(x[:64], y[:64], epochs=60))


@wrong("capstone.trained", "one-number-an-image")
class Answers(nn.Module):
    def __init__(self, images, labels):
        super().__init__()

    def forward(self, x):
        return torch.zeros(len(x))


@wrong("capstone.trained", "below-guessing")
def labels_moved_by_one(images, labels):
    make = lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 10))  # noqa: E731
    return train(images, (labels + 1) % 10, epochs=4, make=make)


def _loop(mistake, of=lambda model: model.parameters(), every=1, clear=False, back=lambda model: model, decay=None):
    @wrong("capstone.trained", mistake)
    def answer(images, labels):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 10))
        optimiser = torch.optim.AdamW(of(model), lr=2e-3)
        for step, batch in enumerate(i for _ in range(6) for i in torch.randperm(len(images)).split(64)):
            loss = F.cross_entropy(model(images[batch]), labels[batch])
            optimiser.zero_grad()
            loss.backward()
            if clear:
                optimiser.zero_grad()
            if step % every == 0:
                optimiser.step()
            if decay:
                optimiser.param_groups[0]["lr"] *= decay
        return back(model)


_loop("step-without-gradients", clear=True)
_loop("trained-in-part", of=lambda model: model[3].parameters())
_loop("few-steps", every=19)
_loop("rate-vanished", decay=0.7)
_loop(
    "other-model-trained",
    back=lambda model: nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)),
)
