"""A plain convolutional network, for comparison: as many parameters as the small ViT, another idea of an image."""

import torch
from torch import nn

from vit_course._support.inputs.arguments import MOST_CLASSES, WIDTH, check_arguments
from vit_course._support.inputs.rules import shown, whole
from vit_course._support.inputs.tensors import check_axes, check_images

CLASSES = whole(1, MOST_CLASSES)


class ConvNet(nn.Module):
    """(B, C, H, W) -> (B, num_classes)

    Three stages of two 3 x 3 convolutions, each followed by batch norm and ReLU; between stages the larger of each
    2 x 2 pixels is kept; at the end the mean over all places.

    Args:
        widths: channels of the three stages. The default has the parameters of the preset "tiny-cifar" to 1 %.
        in_channels: C
        num_classes: how many logits.

    Raises:
        TypeError: in forward, not a tensor.
        ValueError: when built, widths that are not three ints of at least 1, or another impossible size; in forward,
            images of fewer than 4 pixels per side, of another number of channels, or of another type or device than the
            weights.

    Source: Simonyan & Zisserman 2014 (arXiv:1409.1556) for the stages, Ioffe & Szegedy 2015 (arXiv:1502.03167) for the
    norm, Lin et al. 2013 (arXiv:1312.4400) for the mean at the end.
    """

    def __init__(self, widths: tuple[int, int, int] = (24, 48, 74), in_channels: int = 3, num_classes: int = 10):
        super().__init__()
        if not isinstance(widths, (tuple, list)) or len(widths) != 3:
            raise ValueError(f"widths must be three ints of at least 1, got {shown(widths)}")
        for stage, width in enumerate(widths):
            WIDTH(f"the width of stage {stage}", width)
        check_arguments(in_channels=in_channels)
        CLASSES("num_classes", num_classes)
        self.in_channels = in_channels
        stages = []
        for before, width in zip((in_channels, *widths), widths, strict=False):
            stages += [_convolution(before, width), _convolution(width, width), nn.MaxPool2d(2)]
        self.stages = nn.Sequential(*stages[:-1])  # no pooling after the last stage
        self.head = nn.Linear(widths[-1], num_classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        check_axes("images", images, "(B, C, H, W)")
        if not len(images) or min(images.shape[2:]) < 4:
            raise ValueError(f"images must be at least 1 and of at least 4 x 4 pixels, got shape {tuple(images.shape)}")
        check_images(images, self.in_channels, self.stages[0][0])
        x = self.stages(images)  # (B, widths[-1], H/4, W/4)
        return self.head(x.mean(dim=(2, 3)))  # (B, num_classes)


def _convolution(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU())
