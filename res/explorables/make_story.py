"""The numbers of the story on the site's first page: python res/explorables/make_story.py (half a minute on one core).

Runs `vit-s14` with the head of `vit-s14-cifar10` on the photograph of the cat, and stores what each step shows in
story.npz beside this file; vit_course/explorables/story.py reads it, and says which square and which head are shown.
Printed are the controls that the story's notes speak of.
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from vit_course import data, maps, pretrained
from vit_course.explorables.story import HEAD, LAYER, OTHERS, PARTNER, PHOTOGRAPH, QUERY
from vit_course.patches import patchify, unpatchify

SIZE, SIDE, PATCH = 224, 16, 14


def to_bytes(values: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """-> each row as bytes in shares of its largest, and the largest of each row."""
    largest = values.amax(dim=-1, keepdim=True)
    return (255 * values / largest).round().byte().numpy(), largest.squeeze(-1).float().numpy()


@torch.no_grad()
def main() -> None:
    """Measures everything and writes story.npz."""
    model, preprocess, words = pretrained.load_run("vit-s14-cifar10", image_size=SIZE)
    photographs = data.photographs()
    photo = preprocess(photographs[PHOTOGRAPH].path)  # (1, C, H, W)
    stream = [model.embed(photo)]  # L + 1 times (1, T, D)
    for block in model.encoder.blocks:
        stream.append(block(stream[-1]))
    with maps.record_attention(model) as recorded:
        features = model.features(photo)  # (1, T, D)
    weights = recorded.stacked()[0]  # (L, h, T, T)
    patches = torch.stack([one[0, 1:] for one in stream])  # (L + 1, N, D)
    centred = patches - patches.mean(dim=1, keepdim=True)
    alike = F.cosine_similarity(centred, centred[:, QUERY, None], dim=-1)  # (L + 1, N)
    rows, largest = to_bytes(weights[LAYER, HEAD, 1:])
    grid, brightest = to_bytes(weights[:, :, QUERY + 1].flatten(0, 1))
    lists = model.patch_embedding(photo)[0]  # (N, D), before the positions
    first = QUERY - QUERY % SIDE

    torch.manual_seed(0)  # as in chapter 03
    orders = [torch.randperm(SIDE * SIDE) for _ in range(5)]
    pieces = patchify(photo, PATCH)
    images = torch.cat([photo, *(unpatchify(pieces[:, order], PATCH, (SIZE, SIZE)) for order in orders)])
    places = model.positions.table.clone()
    places[:, 0] = 0  # the class token keeps its own
    shuffled = torch.stack(
        [model.head(model.encoder(tokens)[:, 0]) for tokens in (model.embed(images), model.embed(images) - places)]
    ).softmax(dim=-1)  # (2, 6, K), with places and without, in order and in five others
    print("cat, with places and without", shuffled[:, :, words.index(PHOTOGRAPH)].tolist())

    changed = {}
    for by in ("token mean", "zero", preprocess(photographs["astronaut"].path)):
        name = by if isinstance(by, str) else "another photograph"
        found = maps.effects(model, photo, "heads", of="class token", by=by, progress=False).values
        changed[name] = found.flatten()
        print(f"{name}: most {divmod(int(found.argmax()), found.shape[1])}, shown {found[LAYER, HEAD]:.4f}, "
              f"median {found.median():.4f}")  # fmt: skip
    nearest, near = [], []
    for name in OTHERS:
        others = model.features(preprocess(photographs[name].path))[0, 1:]  # (N, D)
        found = F.cosine_similarity(features[0, 1 + QUERY, None], others)
        nearest.append(int(found.argmax()))
        near.append(float(found.max()))
        print(name, nearest[-1], near[-1])
    pixels = 255 * (photo[0] * torch.tensor(preprocess.std).view(3, 1, 1) + torch.tensor(preprocess.mean).view(3, 1, 1))
    square = pixels.unfold(1, PATCH, PATCH).unfold(2, PATCH, PATCH)[:, QUERY // SIDE, QUERY % SIDE]  # (C, P, P)
    print("alike to the other eye", alike[:, PARTNER].tolist())
    np.savez_compressed(
        Path(__file__).with_name("story.npz"),
        square=square.permute(1, 2, 0).round().clamp(0, 255).byte().numpy(),
        lists=(127 * lists[first : first + SIDE] / lists.abs().max()).round().to(torch.int8).numpy(),
        rows=rows,
        largest=largest,
        grid=grid,
        brightest=brightest,
        alike=(127 * alike).round().to(torch.int8).numpy(),
        orders=torch.stack(orders).byte().numpy(),
        shuffled=shuffled.float().numpy(),
        changed=torch.stack(list(changed.values())).float().numpy(),
        nearest=np.array(nearest, np.uint8),
        near=np.array(near, np.float32),
    )


if __name__ == "__main__":
    main()
