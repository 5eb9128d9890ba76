"""Answers to exercise vit.independent."""

import math

import torch

from answers import right, unforeseen, wrong


def alone(model, images):
    return torch.cat([model(image[None]) for image in images])


@right("vit.independent")
def one_at_a_time(model, images):
    return torch.allclose(alone(model, images), model(images), rtol=1e-4, atol=1e-5)


@right("vit.independent")
def nearly_zero(model, images):
    return (alone(model, images) - model(images)).abs().max().item() < 1e-5


@right("vit.independent")
def in_float64(model, images):
    with torch.no_grad():
        model, images = model.double(), images.double()
        return (alone(model, images) - model(images)).abs().max() < 1e-9 * model(images).abs().max()


@right("vit.independent")
def beside_nan(model, images):
    for i in range(len(images)):
        spoilt = torch.full_like(images, math.nan)
        spoilt[i] = images[i]
        if not torch.allclose(model(spoilt)[i], model(images)[i], rtol=1e-5):
            return False
    return True


@right("vit.independent")
def by_gradient(model, images):
    for i in range(len(images)):
        inputs = images.clone().requires_grad_()
        slopes = torch.autograd.grad(model(inputs)[i].square().sum(), inputs)[0]
        if slopes[torch.arange(len(images)) != i].abs().max() > 0:
            return False
    return True


@right("vit.independent")
def beside_others(model, images):
    before = model(images)
    for i, image in enumerate(images):
        others = torch.rand_like(images)
        others[i] = image
        if not torch.isclose(model(others)[i], before[i], rtol=1e-4).all():
            return False
    return True


@wrong("vit.independent", "order-only")
def reordered(model, images):
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1))
    return torch.allclose(model(images[order]), model(images)[order], rtol=1e-4)


@wrong("vit.independent", "order-only")
def flipped(model, images):
    return torch.allclose(model(images.flip(0)).flip(0), model(images), rtol=1e-4)


@wrong("vit.independent", "order-only")
def rolled(model, images):
    return torch.allclose(model(images.roll(1, 0)).roll(-1, 0), model(images), rtol=1e-4)


@wrong("vit.independent", "one-image-untested")
def first_only(model, images):
    return torch.allclose(model(images[:1]), model(images)[:1], rtol=1e-4)


@wrong("vit.independent", "one-image-untested")
def last_only(model, images):
    return torch.allclose(model(images[-1:])[0], model(images)[-1], rtol=1e-4)


@wrong("vit.independent", "one-image-untested")
def first_spoilt(model, images):
    spoilt = images.clone()
    spoilt[0] = math.nan
    return torch.allclose(model(spoilt)[1:], model(images)[1:], rtol=1e-4)


@wrong("vit.independent", "rounding-refused")
def exact(model, images):
    return torch.equal(alone(model, images), model(images))


@wrong("vit.independent", "rounding-refused")
def exact_all(model, images):
    return bool((alone(model, images) == model(images)).all())


@wrong("vit.independent", "classes-only")
def same_classes(model, images):
    return torch.equal(alone(model, images).argmax(1), model(images).argmax(1))


@wrong("vit.independent", "classes-only")
def same_probabilities(model, images):
    return torch.allclose(alone(model, images).softmax(1), model(images).softmax(1), rtol=1e-3)


@wrong("vit.independent", "accepts-everything")
def shapes_only(model, images):
    return alone(model, images).shape == model(images).shape


@wrong("vit.independent", "accepts-everything")
def twice_the_same(model, images):
    return torch.allclose(model(images), model(images))


@wrong("vit.independent", "refuses-everything")
def nan_compared(model, images):
    spoilt = images.clone()
    spoilt[1] = math.nan
    return torch.allclose(model(spoilt), model(images))


@wrong("vit.independent", "verdict-inverted")
def inverted(model, images):
    return not one_at_a_time(model, images)


@wrong("vit.independent", "input-changed")
def spoils_the_images(model, images):
    before = model(images)
    images[1] = math.nan
    return torch.allclose(model(images)[2:], before[2:])


@wrong("vit.independent", "wrong-type")
def each_number(model, images):
    return torch.isclose(alone(model, images), model(images), rtol=1e-4)


@wrong("vit.independent", "no-batch-axis")
def no_batch_axis(model, images):
    return torch.allclose(torch.stack([model(image) for image in images]), model(images))


def close(one, other):
    return torch.allclose(one, other, rtol=1e-4, atol=1e-5)


@wrong("vit.independent", "only-sums-compared")
def mean_logits(model, images):
    return close(alone(model, images).mean(0), model(images).mean(0))


@wrong("vit.independent", "tolerance-too-wide")
def very_tolerant(model, images):
    return (alone(model, images) - model(images)).abs().mean() < 0.3


@wrong("vit.independent", "tolerance-too-wide")
def tolerance_of_a_tenth(model, images):
    return torch.allclose(alone(model, images), model(images), atol=0.1)


@wrong("vit.independent", "tolerance-too-wide")
def a_share_of_a_tenth(model, images):
    return torch.allclose(alone(model, images), model(images), rtol=0.1)


@wrong("vit.independent", "parts-of-the-batch")
def two_halves(model, images):
    half = len(images) // 2
    return close(torch.cat([model(images[:half]), model(images[half:])]), model(images))


@wrong("vit.independent", "parts-of-the-batch")
def without_the_last(model, images):
    return close(model(images[:-1]), model(images)[:-1])


@wrong("vit.independent", "any-for-all")
def one_number_is_enough(model, images):
    return torch.isclose(alone(model, images), model(images), rtol=1e-4, atol=1e-5).any()


@wrong("vit.independent", "sign-counts")
def differences_upwards(model, images):
    return (alone(model, images) - model(images)).max().item() < 1e-4


@wrong("vit.independent", "doubled-batch")
def beside_a_copy(model, images):
    return close(model(torch.cat([images, images]))[: len(images)], model(images))


@wrong("vit.independent", "train-mode-left-on")
def in_training_mode(model, images):
    model.train()
    return close(alone(model, images), model(images))


@wrong("vit.independent", "tolerance-too-wide")
def mean_difference_of_an_image(model, images):
    return all(
        (model(image[None])[0] - row).abs().mean() < 0.1 for image, row in zip(images, model(images), strict=True)
    )


@wrong("vit.independent", "tolerance-too-wide")
def mean_square(model, images):
    return torch.nn.functional.mse_loss(alone(model, images), model(images)) < 1e-3


@unforeseen("vit.independent")
def beside_the_one_before(model, images):
    pairs = [model(images[[i - 1, i]])[1:] for i in range(len(images))]
    return close(torch.cat(pairs), model(images))
