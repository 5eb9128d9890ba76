"""Answers to exercise capstone.trained."""

import torch
from torch import nn

from answers import UNKNOWN, Answers
from vit_course.config import ViTConfig
from vit_course.vit import ViT

answers = Answers("capstone.trained")

answers.edits(
    ("no-step", "range(15)", "range(0)"),
    ("few-steps", "range(15)", "range(1)"),
)


def small_vit():
    return ViT(ViTConfig(8, 4, 10, 48, num_layers=2, num_heads=4, mlp_dim=96, in_channels=1))


def mlp(*between, classes=10):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), *between, nn.Linear(128, classes))


def train(model, images, labels, epochs=8, optimiser=torch.optim.AdamW, lr=2e-3, **settings):
    torch.manual_seed(0)
    optimiser = optimiser(model.parameters(), lr=lr, **settings)
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model


@answers.right
def vit_by_adam(images, labels):
    return train(small_vit(), images, labels, 10, torch.optim.Adam).eval()


@answers.right
def mlp_by_adamw(images, labels):
    return train(mlp(nn.GELU()), images, labels).eval()


@answers.right
def mlp_by_momentum(images, labels):
    return train(mlp(nn.GELU()), images, labels, optimiser=torch.optim.SGD, lr=0.1, momentum=0.9).eval()


@answers.wrong("untrained")
def rate_too_large(images, labels):
    return train(small_vit(), images, labels, 3, lr=1.0).eval()


@answers.wrong("half-trained")
def rate_too_small(images, labels):
    return train(small_vit(), images, labels, 2, lr=5e-4).eval()


@answers.wrong("few-images")
def one_batch(images, labels):
    return train(small_vit(), images[:64], labels[:64], 60).eval()


@answers.wrong("below-guessing")
def labels_shifted(images, labels):
    return train(mlp(nn.GELU()), images, (labels + 1) % 10).eval()


@answers.wrong("returned-nothing")
def nothing(images, labels):
    train(mlp(nn.GELU()), images, labels, 1).eval()


@answers.wrong("not-a-module")
def logits(images, labels):
    return train(mlp(nn.GELU()), images, labels, 1)(images)


@answers.wrong("one-number-an-image")
def class_numbers(images, labels):
    class Classes(nn.Sequential):
        def forward(self, x):
            return super().forward(x).argmax(1)

    return Classes(train(mlp(nn.GELU()), images, labels)).eval()


@answers.wrong("random-result")
def with_dropout(images, labels):
    return train(mlp(nn.GELU(), nn.Dropout(0.5)), images, labels)


@answers.wrong("batch-mates-matter")
def with_batch_norm(images, labels):
    return train(nn.Sequential(nn.BatchNorm2d(1), mlp(nn.GELU())), images, labels)


@answers.wrong("softmax-in-model")
def probabilities(images, labels):
    return nn.Sequential(train(mlp(nn.GELU()), images, labels), nn.Softmax(1)).eval()


@answers.wrong(UNKNOWN)
def eleven_classes(images, labels):
    return train(mlp(nn.GELU(), classes=11), images, labels).eval()
