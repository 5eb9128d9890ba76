"""Answers to exercise vit.independent."""

import math

import torch
import torch.nn.functional as F

from answers import UNKNOWN, Answers

answers = Answers("vit.independent")


def alone_and_together(model, images):
    return torch.cat([model(image[None]) for image in images]), model(images)


def is_close(one, other):
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5)


@answers.right
def largest_difference(model, images):
    alone, together = alone_and_together(model, images)
    return (alone - together).abs().max() < 1e-5


@answers.right
def beside_nan(model, images):
    for i in range(len(images)):
        spoilt = torch.full_like(images, math.nan)
        spoilt[i] = images[i]
        if not torch.allclose(model(spoilt)[i], model(images)[i], rtol=1e-5):
            return False
    return True


@answers.right
def by_gradient(model, images):
    for i in range(len(images)):
        inputs = images.clone().requires_grad_()
        (slopes,) = torch.autograd.grad(model(inputs)[i].square().sum(), inputs)
        if slopes[torch.arange(len(images)) != i].abs().max() > 0:
            return False
    return True


@answers.right
def in_double_precision(model, images):
    alone, together = alone_and_together(model.double(), images.double())
    return (alone - together).abs().max() < 1e-9 * together.abs().max()


@answers.wrong("accepts-everything")
def shapes(model, images):
    alone, together = alone_and_together(model, images)
    return alone.shape == together.shape


@answers.wrong("refuses-everything")
def against_nan(model, images):
    return torch.allclose(model(images * math.nan), model(images))


@answers.wrong("verdict-inverted")
def inverted(model, images):
    return not is_close(*alone_and_together(model, images))


@answers.wrong("order-only")
def turned_round(model, images):
    return is_close(model(images.flip(0)).flip(0), model(images))


@answers.wrong("classes-only")
def winners(model, images):
    alone, together = alone_and_together(model, images)
    return torch.equal(alone.argmax(1), together.argmax(1))


@answers.wrong("one-class-untested")
def first_class(model, images):
    alone, together = alone_and_together(model, images)
    return is_close(alone[:, 0], together[:, 0])


@answers.wrong("one-image-untested")
def first_image(model, images):
    return is_close(model(images[:1]), model(images)[:1])


@answers.wrong("one-image-untested")
def first_and_last_image(model, images):
    together = model(images)
    return is_close(model(images[:1])[0], together[0]) and is_close(model(images[-1:])[0], together[-1])


@answers.wrong("parts-of-the-batch")
def halves(model, images):
    return is_close(torch.cat([model(half) for half in images.split(len(images) // 2)]), model(images))


@answers.wrong("doubled-batch")
def doubled(model, images):
    return is_close(model(torch.cat([images, images]))[: len(images)], model(images))


@answers.wrong("any-for-all")
def any_number(model, images):
    return torch.isclose(*alone_and_together(model, images), rtol=1e-4, atol=1e-5).any()


@answers.wrong("sign-counts")
def without_abs(model, images):
    alone, together = alone_and_together(model, images)
    return (alone - together).max() < 1e-4


@answers.wrong("only-sums-compared")
def means(model, images):
    alone, together = alone_and_together(model, images)
    return is_close(alone.mean(0), together.mean(0))


@answers.wrong("one-image-untested")
def not_a_number_in_one_image(model, images):
    spoilt = images.clone()
    spoilt[1] = math.nan
    others = torch.arange(len(images)) != 1
    return not model(spoilt)[others].isnan().any()


@answers.wrong("rounding-refused")
def every_digit(model, images):
    return torch.equal(*alone_and_together(model, images))


@answers.wrong("tolerance-too-wide")
def mean_square(model, images):
    return F.mse_loss(*alone_and_together(model, images)) < 0.001


@answers.wrong("train-mode-left-on")
def in_training(model, images):
    return is_close(*alone_and_together(model.train(), images))


@answers.wrong("no-batch-axis")
def without_batch_axis(model, images):
    return is_close(torch.stack([model(image) for image in images]), model(images))


@answers.wrong(UNKNOWN)
def in_pairs(model, images):
    alone = torch.cat([model(images[[i - 1, i]])[1:] for i in range(len(images))])
    return is_close(alone, model(images))
