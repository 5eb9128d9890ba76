"""Several threads that record one model at once, and other models inside the block: only what is meant counts."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import published
import pytest
import torch
from torch._dynamo import eval_frame

from vit_course.config import ViTConfig
from vit_course.maps.recording import record_attention
from vit_course.vit import ViT

SIZE, THREADS, ROUNDS = (14, 21), 4, 6


def ours():
    torch.manual_seed(1)
    return ViT(ViTConfig(image_size=SIZE, patch_size=7, num_classes=5, hidden_dim=36, num_layers=3, num_heads=3,
                         mlp_dim=20)).eval()  # fmt: skip


def eager_huggingface():
    return published.huggingface_vit(image_size=[*SIZE], attn_implementation="eager").eval()


MODELS = {
    "ours": ours,
    "timm": lambda: published.timm_vit(SIZE).eval(),
    "huggingface": lambda: published.huggingface_vit(image_size=[*SIZE]).eval(),
    "huggingface eager": eager_huggingface,
}


def recorded(model, images, *others):
    with torch.no_grad(), record_attention(model) as maps:
        for other in others:
            published.logits(other, images)
        model(images)
        for other in others:
            published.logits(other, images)
    return maps.stacked()


def hooks(model) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_each_thread_records_its_own_passes(name):
    model = MODELS[name]()
    images = [torch.randn(1 + index, 3, *SIZE) for index in range(THREADS)]
    alone = [recorded(model, batch) for batch in images]
    together, stance = Barrier(THREADS, timeout=20), eval_frame._stance

    def work(index):
        found = []
        for _ in range(ROUNDS):
            together.wait()
            found.append(recorded(model, images[index]))
        return found

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(work, range(THREADS)))
    for expected, found in zip(alone, results, strict=True):
        for one in found:
            torch.testing.assert_close(one, expected)
    assert hooks(model) == 0 and eval_frame._stance == stance


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("other", MODELS)
def test_another_model_inside_the_block_does_not_count(name, other):
    model, second, images = MODELS[name](), MODELS[other](), torch.randn(2, 3, *SIZE)
    expected = recorded(model, images)
    torch.testing.assert_close(recorded(model, images, second), expected)
    with torch.no_grad(), record_attention(model) as maps:  # and what it made may go in
        with record_attention(second) as inner:
            second(images)
        weights = torch.softmax(images @ images.mT, -1) @ images
        model(images)
    torch.testing.assert_close(maps.stacked(), expected)
    assert inner.stacked().shape == expected.shape and weights.shape == images.shape


def test_what_runs_in_another_thread_is_not_recorded():
    for make in MODELS.values():
        model, images = make(), torch.randn(1, 3, *SIZE)
        with record_attention(model) as maps, ThreadPoolExecutor(1) as pool:
            pool.submit(model, images).result()
        with pytest.raises(ValueError, match=r"recorded.*(in the thread that opened it|run the model inside)"):
            maps.stacked()
