"""The numbers of the story on the site's first page: python res/explorables/make_story.py (some minutes on one core).

Runs `vit-s14` with the head of `vit-s14-cifar10` on the photograph of the cat, and stores what each step shows in
story.npz beside this file; vit_course/explorables/story.py reads it. Printed are the controls that the story's notes
speak of.
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from scipy.stats import spearmanr

from vit_course import data, pretrained
from vit_course.encoder import Encoder
from vit_course.patches import patchify, unpatchify

PHOTOGRAPH, OTHERS = "cat", ("grace_hopper", "astronaut", "dahlia")
QUERY, PARTNER = 101, 124  # the patches with the pupils of the left and the right eye
LAYER, HEAD = 8, 3  # of the map that is shown large: of all 72 one of those that attend most to the other eye
SIZE, SIDE, PATCH = 224, 16, 14
LAYERS, HEADS, DIM = 12, 6, 64


def attend(block, tokens, replaced=None):
    """-> the tokens after a block, its attention weights (B, h, T, T), and what each head gives (B, h, T, d).

    replaced: a function from what the heads give to what is used in its place.
    """
    attention = block.attention
    queries, keys, values = attention.qkv(block.norm1(tokens)).unflatten(-1, (3, HEADS, DIM)).permute(2, 0, 3, 1, 4)
    weights = (queries @ keys.mT / DIM**0.5).softmax(dim=-1)
    given = weights @ values
    used = replaced(given) if replaced else given
    tokens = tokens + attention.projection(used.transpose(1, 2).flatten(2))
    return tokens + block.mlp(block.norm2(tokens)), weights, given


def without_each_head(encoder: Encoder, stream: list, baseline: list) -> torch.Tensor:
    """-> (L, h, D): the class token at the end, when in each head its baseline (1, h, T or 1, d) is used."""
    found = []
    for layer in range(LAYERS):

        def replaced(given, layer=layer):
            heads = torch.arange(HEADS)
            used = given.clone()
            used[heads, heads] = baseline[layer][0]  # picture h of the batch lacks head h
            return used

        tokens, *_ = attend(encoder.blocks[layer], stream[layer].expand(HEADS, -1, -1), replaced)
        for block in encoder.blocks[layer + 1 :]:
            tokens, *_ = attend(block, tokens)
        found.append(encoder.norm(tokens)[:, 0])
    return torch.stack(found)


def through(model, tokens):
    """-> the stream before and after each block, the weights and the heads' outputs of each, and the features."""
    stream, maps, outputs = [tokens], [], []
    for block in model.encoder.blocks:
        after, weights, given = attend(block, stream[-1])
        stream.append(after)
        maps.append(weights)
        outputs.append(given)
    return stream, maps, outputs, model.encoder.norm(stream[-1])


def to_bytes(values: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """-> each row as bytes in shares of its largest, and the largest of each row."""
    largest = values.amax(dim=-1, keepdim=True)
    return (255 * values / largest).round().byte().numpy(), largest.squeeze(-1).float().numpy()


@torch.no_grad()
def main() -> None:
    model, preprocess, words = pretrained.load_run("vit-s14-cifar10", image_size=SIZE)
    photographs = data.photographs()
    photo = preprocess(photographs[PHOTOGRAPH].path)  # (1, C, H, W)
    stream, maps, outputs, features = through(model, model.embed(photo))
    assert torch.allclose(features, model.features(photo), atol=1e-4)
    patches = torch.stack([one[0, 1:] for one in stream])  # (L + 1, N, D)
    centred = patches - patches.mean(dim=1, keepdim=True)
    alike = F.cosine_similarity(centred, centred[:, QUERY, None], dim=-1)  # (L + 1, N)
    rows, largest = to_bytes(maps[LAYER][0, HEAD, 1:])
    grid, brightest = to_bytes(torch.cat(maps)[:, :, QUERY + 1].flatten(0, 1))
    lists = model.patch_embedding(photo)[0]  # (N, D), before the positions
    first = QUERY - QUERY % SIDE
    step = lists.abs().max() / 127

    torch.manual_seed(0)  # as in chapter 03
    orders = [torch.randperm(SIDE * SIDE) for _ in range(5)]
    pieces = patchify(photo, PATCH)
    images = torch.cat([photo, *(unpatchify(pieces[:, order], PATCH, (SIZE, SIZE)) for order in orders)])
    places = model.positions.table.clone()
    places[:, 0] = 0  # the class token keeps its own
    with_places = model.embed(images)
    without = with_places - places
    shuffled = []
    for tokens in (with_places, without):
        ends = through(model, tokens)[-1][:, 0]
        shuffled.append((model.head(ends).softmax(dim=-1), F.cosine_similarity(ends, ends[:1], dim=-1)))

    last = features[:, 0]
    means = [given.mean(dim=2, keepdim=True) for given in outputs]
    other = through(model, model.embed(preprocess(photographs["astronaut"].path)))[2]
    removed = {}
    for name, baseline in (("mean", means), ("zero", [0 * one for one in means]), ("other photograph", other)):
        ends = without_each_head(model.encoder, stream, baseline)
        removed[name] = 1 - F.cosine_similarity(ends, last, dim=-1).flatten(), model.head(ends).softmax(dim=-1)
        top = removed[name][0].topk(3)
        print(f"{name}: most {[(divmod(int(i), HEADS), round(float(v), 3)) for v, i in zip(*top, strict=True)]}, shown "
              f"{removed[name][0][LAYER * HEADS + HEAD]:.4f}, median {removed[name][0].median():.4f}")  # fmt: skip
        print("   agrees with the mean", spearmanr(removed[name][0], removed["mean"][0])[0], "with brightness",
              spearmanr(removed[name][0], torch.from_numpy(brightest))[0])  # fmt: skip
    nearest, near = [], []
    for name in OTHERS:
        found = F.cosine_similarity(
            features[0, 1 + QUERY, None], model.features(preprocess(photographs[name].path))[0, 1:]
        )
        nearest.append(int(found.argmax()))
        near.append(float(found.max()))
        print(name, nearest[-1], near[-1])
    pixels = 255 * (photo[0] * torch.tensor(preprocess.std).view(3, 1, 1) + torch.tensor(preprocess.mean).view(3, 1, 1))
    square = pixels.unfold(1, PATCH, PATCH).unfold(2, PATCH, PATCH)[:, QUERY // SIDE, QUERY % SIDE]  # (C, P, P)
    print("alike to the other eye", alike[:, PARTNER].tolist())
    for probabilities, summary in shuffled:
        print("cat", probabilities[:, words.index("cat")].tolist(), "alike", summary.tolist())
    np.savez_compressed(
        Path(__file__).with_name("story.npz"),
        square=square.permute(1, 2, 0).round().clamp(0, 255).byte().numpy(),
        lists=(lists[first : first + SIDE] / step).round().to(torch.int8).numpy(),
        step=np.float32(step),
        rows=rows,
        largest=largest,
        grid=grid,
        brightest=brightest,
        alike=(127 * alike).round().to(torch.int8).numpy(),
        orders=torch.stack(orders).byte().numpy(),
        shuffled=torch.stack([probabilities for probabilities, _ in shuffled]).float().numpy(),
        changed=torch.stack([changes for changes, _ in removed.values()]).float().numpy(),
        removed=removed["mean"][1].flatten(0, 1).float().numpy(),
        nearest=np.array(nearest, np.uint8),
        near=np.array(near, np.float32),
    )


if __name__ == "__main__":
    main()
