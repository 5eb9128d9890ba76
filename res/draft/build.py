"""Builds notebooks/11_without_labels.ipynb from the cells below."""
import json, sys
from pathlib import Path

CELLS = []
def md(id, text): CELLS.append(("markdown", id, {}, text.strip("\n")))
def code(id, text, **meta): CELLS.append(("code", id, meta, text.strip("\n")))
PAINT = {"jupyter": {"source_hidden": True}}
PREDICT = {"collapsed": True, "jupyter": {"outputs_hidden": True}}
PREDICTPAINT = {"collapsed": True, "jupyter": {"outputs_hidden": True, "source_hidden": True}}
def tags(*names): return {"tags": list(names)}

md("11-00", '''
# 11 Learning without labels

**The question.** Figure 1 shows a photograph of a cat with three quarters of its patches hidden, and what a small model puts in their places. Nobody ever told this model what a cat is: it was trained on images alone, without one label. How can that work, and is what it learned good for anything else?

| | |
|---|---|
| **You will be able to** | write a masked autoencoder and say why its encoder is cheap; write the loss of a student and a teacher, and say what keeps them from collapsing; compare features that were learned without labels with random ones |
| **Time** | 40 min for the main path, 60 min of exercises, 5 min for the *Deeper* sections |
| **You need** | [07 Training](07_training.ipynb) and [10 Pretrained](10_pretrained.ipynb) |
| **Paper** | [He et al. 2021](https://arxiv.org/abs/2111.06377), sections 3 and 4.1; [Caron et al. 2021](https://arxiv.org/abs/2104.14294), section 3.1 and Fig. 7 |
''')
code("11-01", '''
%matplotlib inline
import csv
import math
from statistics import mean

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import nn

from vit_course import checks, data, plots, pretrained, training
from vit_course.config import ViTConfig
from vit_course.embeddings import SinCos2DPositions
from vit_course.encoder import Encoder
from vit_course.files.stored import stored
from vit_course.patches import patchify, unpatchify
from vit_course.training.self_distilled import pooled, views
from vit_course.vit import ViT

plots.use_style()
torch.set_num_threads(1)  # everything here is small
''')
code("11-02", '''
mae = training.load_objective("mae-cifar")  # a ViT and a small decoder
normalise = pretrained.load_run("mae-cifar").preprocess.normalise
names = list(data.photographs())
photographs = [data.open_image(data.photographs()[name].path, 32) for name in names]
photographs = normalise(torch.stack(photographs))  # (B, C, H, W), eleven small photographs


@torch.no_grad()
def fill(model, images, seed=0):
    """(B, C, H, W) -> patches and guesses, both (B, N, P*P*C), and which are hidden, (B, N)."""
    noise = torch.rand(len(images), 64, generator=torch.Generator().manual_seed(seed))
    order = noise.argsort(dim=1)  # patches with the smallest numbers stay visible
    visible, restore = order[:, : model.num_visible], order.argsort(dim=1)
    guesses = model.decode(model.encode(images, visible), restore)
    return patchify(images, 4), guesses, restore >= model.num_visible


patches, guesses, hidden = fill(mae, photographs)
print("photographs, patches, numbers of a patch:", tuple(patches.shape))
print("hidden in each:", hidden.sum(dim=1).unique().tolist())
''')
code("11-03", '''
place = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0))  # (N, 2)
nearness = torch.exp(-(place[:, None] - place).square().sum(dim=2) / 2)  # (N, N)


def neighbours(patches, hidden):
    """-> (B, N, P*P*C): for each patch the mean colour of the visible ones, the near ones first."""
    colour = patches.unflatten(2, (16, 3)).mean(dim=2)  # (B, N, C)
    weight = nearness * ~hidden[:, None]  # (B, N, N)
    return (weight / weight.sum(dim=2, keepdim=True) @ colour).repeat(1, 1, 16)


def errors(model, images, seeds=range(5)):
    """-> (B, 2): the mean squared error over the hidden patches, of the model and of the neighbours."""
    found = []
    for seed in seeds:
        patches, guesses, hidden = fill(model, images, seed)
        both = torch.stack([guesses, neighbours(patches, hidden)])  # (2, B, N, P*P*C)
        error = (both - patches).square().mean(dim=3) * hidden  # (2, B, N)
        found.append(error.sum(dim=2).T / hidden.sum(dim=1, keepdim=True))
    return torch.stack(found).mean(dim=0)


found = errors(mae, photographs)
of_model, of_neighbours = found.mean(dim=0).tolist()
print(f"mean squared error: model ≈ {of_model:.2f}, neighbours ≈ {of_neighbours:.2f}")
print(f"the model is better on ≈ {(found[:, 0] < found[:, 1]).sum()} of {len(found)} photographs")
''', **tags("about:10%"))
code("11-03-paint", '''
def picture(patches, dataset):
    """(N, P*P*C) -> (H, W, C), with mean and standard deviation of the images put back"""
    mean, std = (torch.tensor(part).view(3, 1, 1) for part in (dataset.mean, dataset.std))
    return plots.to_picture(unpatchify(patches[None], 4, (32, 32))[0] * std + mean)


def filled(patches, guesses, hidden):
    """-> four of (B, N, P*P*C): what is seen, filled by neighbours, filled by the model, what it was."""
    for part in (torch.zeros(1), neighbours(patches, hidden), guesses, patches):
        yield torch.where(hidden[..., None], part, patches)


cifar = pretrained.load_run("mae-cifar").preprocess  # mean and standard deviation of its images
fig = Figure(figsize=(8.4, 6.4))
axes = fig.subplots(3, 4)
titles = ("what the model sees", "filled by neighbours", "filled by the model", "the photograph")
for column, (title, part) in enumerate(zip(titles, filled(patches, guesses, hidden), strict=True)):
    for row, name in enumerate(("cat", "rocket", "pagoda")):
        axes[row, column].imshow(picture(part[names.index(name)], cifar))
        axes[row, column].set(xticks=[], yticks=[], title=title if row == 0 else "")
plots.show(
    fig,
    "A cat, a rocket and a pagoda in small squares. First column: scattered patches on grey. Second: the gaps filled "
    "by mean colours of neighbours, in blocks. Third: filled by the model, softer. Fourth: the photographs",
)
''', **PAINT)
md("11-04", '''
*Figure 1. Three photographs of 32 x 32 pixels, each cut into 64 patches of which 48 are hidden. Second column: every hidden patch gets the mean colour of the visible patches, and near ones count more. Third column: the guesses of a model.*

The second column is our control: a rule of two lines that knows only that colours change slowly. To have a smaller error than this rule, a model must know more about images than that. On most of the eleven photographs ours does, though not by much.

## Hide and guess

A label is one word for a whole image. But an image is full of questions with known answers: hide a part of it, and ask what was there. A model that answers well must know that fur goes on as fur, and that a face with one eye has another. This is **self-supervised** learning: the image supervises itself. BERT was trained so, on hidden words. For images, He et al. found three things that make it work:

- **Hide most of the image**, 75 %. Pixels repeat their neighbours far more than words do.
- **The encoder sees the visible patches only.** A **mask token**, one learned vector for all hidden places, comes in after the encoder.
- **The decoder is small, and thrown away.** It turns tokens into pixels. What we want is the encoder.

Such a model is a **masked autoencoder** (MAE).

**Predict.** Four patches got the numbers 0.7, 0.1, 0.9, 0.4, and the two smallest stay visible. The encoder gets patches 1 and 3, and the decoder puts two mask tokens behind them: 1, 3, mask, mask. To bring this row back into the order of the image, we say for each of the four places where in the row its token stands. Which four numbers are that? Write them as one number, such as 1023.
''')
code("11-05", '''
guess = None  # your number, then run
noise = torch.tensor([[0.7, 0.1, 0.9, 0.4]])  # (B, N)
order = noise.argsort(dim=1)
restore = order.argsort(dim=1)
print("order of the row:", order[0].tolist(), " where each patch stands in it:", restore[0].tolist())
print(checks.guessed(guess, int("".join(map(str, restore[0].tolist())))))
''', **PREDICT, **tags("predict"))
md("11-06", '''
<details><summary>One sort and its inverse</summary>

The row is 1, 3, 0, 2: first the two that stay visible, then the two hidden ones, in the order of their numbers. Patch 0 stands at place 2, patch 1 at place 0, patch 2 at place 3, patch 3 at place 1: 2031. Sorting the order gives its inverse. To use the order itself instead is the classic bug: shapes fit, the loss falls a little, and each guess lands in another patch's place.

</details>

Here is the whole model. `pick` takes another set of tokens from each image. The positions are added *before* patches are left out, so that a visible token knows where it was.
''')
code("11-07", '''
def pick(tokens, places):
    """(B, N, D), (B, M) -> (B, M, D)"""
    return tokens.gather(1, places[:, :, None].expand(-1, -1, tokens.shape[2]))


class MyMaskedAutoencoder(nn.Module):
    """(B, C, H, W), (B, N) -> (): hides the patches with the largest numbers, and guesses them"""

    def __init__(self, vit, num_visible=16, decoder_dim=64):
        super().__init__()
        D, patch = vit.config.hidden_dim, vit.config.patch_size**2 * vit.config.in_channels
        self.model, self.num_visible = vit, num_visible
        self.narrow = nn.Linear(D, decoder_dim)
        self.mask_token = nn.Parameter(0.02 * torch.randn(1, 1, decoder_dim))
        self.positions = SinCos2DPositions(vit.config.grid, decoder_dim, class_token=False)
        self.decoder = Encoder(2, decoder_dim, num_heads=2, mlp_dim=4 * decoder_dim)
        self.to_pixels = nn.Linear(decoder_dim, patch)

    def encode(self, images, visible):
        z = self.model.embed(images)  # (B, 1 + N, D), with class token and positions
        z = torch.cat([z[:, :1], pick(z[:, 1:], visible)], dim=1)  # (B, 1 + V, D)
        return self.model.encoder(z)

    def decode(self, z, restore):
        z = self.narrow(z)  # (B, 1 + V, decoder_dim)
        masks = self.mask_token.expand(len(z), restore.shape[1] - self.num_visible, -1)
        row = torch.cat([z[:, 1:], masks], dim=1)  # (B, N, decoder_dim)
        z = torch.cat([z[:, :1], self.positions(pick(row, restore))], dim=1)
        return self.to_pixels(self.decoder(z)[:, 1:])  # (B, N, P*P*C)

    def forward(self, images, noise):
        order = noise.argsort(dim=1)
        restore = order.argsort(dim=1)
        predicted = self.decode(self.encode(images, order[:, : self.num_visible]), restore)
        hidden = (restore >= self.num_visible).float()  # (B, N)
        error = (predicted - patchify(images, 4)).square().mean(dim=2)  # (B, N)
        return (error * hidden).sum() / hidden.sum()  # the visible ones do not count
''')
code("11-08", '''
mine = MyMaskedAutoencoder(ViT(mae.model.config))
mine.load_state_dict(mae.state_dict())
images, noise = photographs, torch.rand(11, 64)
with torch.no_grad():
    theirs, _ = mae(images, None, noise, 11)
    torch.testing.assert_close(mine(images, noise), theirs)  # ours and the package's agree
    visible = noise.argsort(dim=1)[:, :16]  # (B, V)
    print("all tokens", tuple(mine.model.embed(images).shape))
    print("through the encoder", tuple(mine.encode(images, visible).shape))
''')
md("11-09", '''
**Estimate.** 17 tokens instead of 65 go through the six blocks of the encoder. By what factor does the number of multiplications in a block fall? Remember that attention compares every token with every other one.
''')
code("11-10", '''
guess = None  # a number, then run


def multiplications(T, D=96):
    """Of one block: the matrices of attention and MLP, and the scores and mixtures of all pairs of tokens."""
    return 12 * T * D**2 + 2 * T**2 * D


factor = multiplications(65) / multiplications(17)
pairs = 2 * 65**2 * 96 / multiplications(65)
print(f"{multiplications(65):,} / {multiplications(17):,} = {factor:.2f}")
print(f"pairs of tokens make up {pairs:.0%} of the larger number")
print(checks.guessed(guess, factor))
''', **PREDICT, **tags("predict"))
md("11-11", '''
<details><summary>Nearly four, and why not sixteen</summary>

65 / 17 is 3.8, and the result is little more. The pairs of tokens fall by a factor of 15, but with so few tokens they are a small part of the work. In a large model with long sequences they weigh more. He et al. report that their training took a third of the time or less.

</details>

## Half a minute of training

Now train one from random weights. `data.crops` cuts crops of 32 x 32 from the left two thirds of the course's eleven photographs, and others, for validation, from the right third, which training never sees. The loop is that of chapter 07: it also takes an **objective**, a module that holds a model and computes a loss from images. This one needs no labels.
''')
code("11-12", '''
crops = data.crops(512, 110, 110)
config = ViTConfig(32, 4, 0, hidden_dim=48, num_layers=2, num_heads=3, mlp_dim=96, position="sincos2d")
recipe = training.TrainingConfig(
    epochs=30, batch_size=64, optimiser="muon", learning_rate=4e-3, warmup=0.1, flip=True
)
data.seed_everything(0)
small = training.MaskedAutoencoder(ViT(config), normalise_patches=False)
history = training.train(small, crops, recipe, progress=False)

held_out = crops.normalise(crops.validation.images)  # (n, C, H, W)
of_small, of_neighbours = errors(small, held_out).mean(dim=0).tolist()
print(f"error on crops never seen: epoch 1 ≈ {history[0]['validation_loss']:.2f}, ", end="")
print(f"epoch 30 ≈ {of_small:.2f}, neighbours ≈ {of_neighbours:.2f}")
''', **tags("about:15%"))
code("11-12-paint", '''
asked = (1, 4, 7, 9, 10)  # one crop of each of five photographs
parts = fill(small, held_out)
fig = Figure(figsize=(8.4, 6.2))
axes = fig.subplots(4, 5)
for row, (title, part) in enumerate(zip(titles, filled(*parts), strict=True)):
    for column, n in enumerate(asked):
        axes[row, column].imshow(picture(part[n], crops))
        axes[row, column].set(xticks=[], yticks=[])
    axes[row, 0].set_ylabel(title if row < 3 else "the crop")
plots.show(
    fig,
    "Five crops in four rows: the visible patches; filled by mean colours of neighbours; filled by the small model; "
    "and as they are. The model's lines go on where the neighbours' colours end in blocks, and its edges are blurred",
)
''', **PAINT, **tags("picture-drifts"))
md("11-13", '''
*Figure 2. Crops from the right thirds of five photographs after half a minute of training on the left two thirds. From top to bottom: what the model sees, filled by mean colours of neighbours, filled by the model, the crop.*

After half a minute the model is about as good as the rule that needs no training, on parts of the photographs that it never saw. Its guesses look blurred, and training for longer does not cure that. The loss is a squared error. Where an edge could be here or there, the guess with the smallest error is the mean of both, which is a blur. So the model is not asked for *a* likely picture, but for the mean of all likely ones.

In real runs, each patch of the target is shifted and scaled to mean 0 and variance 1 by its own numbers. What remains to be guessed is the pattern, and He et al. found that the features get better. Such guesses cannot be looked at. That is why `mae-cifar` was trained that way, and then got the decoder of Figure 1 ([how](../res/mae-cifar/README.md)).

### Why so much is hidden

The ViT of Figure 1 was trained with 75 % hidden. At other shares, is it still better than the neighbours?
''')
code("11-14", '''
print("hidden      model  neighbours")
for hide in (16, 32, 48, 58):
    mae.num_visible = 64 - hide
    of_model, of_neighbours = errors(mae, photographs).mean(dim=0).tolist()
    print(f"{hide / 64:.0%} of the patches ≈ {of_model:.2f}   {of_neighbours:.2f}")
mae.num_visible = 16
''', **tags("about:10%"))
md("11-15", '''
With a quarter hidden, the rule does as well as the model: there is nearly always a visible patch next door. The more is hidden, the less the rule can do, and the further the model is ahead. So it is the hard task that asks for more than copying. (All four rows are of one model, trained with 75 % hidden. What other shares do to the *features*, He et al. show in their Fig. 5.)

## Student and teacher

Filling in pixels asks for a lot that nobody needs, such as every blade of grass. Here is another question without labels: *do two views show the same image?* Cut two large parts and some small ones out of an image, at random, and change their colours. Whatever the model answers should be the same for all of them, as the object is the same.

Caron et al. (**DINO**) let a network learn from itself. The **student** sees all views. The **teacher** is a moving average of the student, sees the two large views, and is not trained. Each turns a view into K numbers (the logits of K classes that nobody has named) and these into shares, by softmax. The student's loss is the cross-entropy with the teacher's shares for *another* view. This is **self-distillation**.
''')
code("11-16", '''
def distillation_loss(student, teacher, centre, temperature=0.1, teacher_temperature=0.04):
    """V of (B, K), 2 of (B, K), (K,) -> (): the first two views of the student are the teacher's"""
    losses = []
    for i, of_teacher in enumerate(teacher):
        target = ((of_teacher - centre) / teacher_temperature).softmax(dim=1)  # (B, K)
        for j, of_student in enumerate(student):
            if i != j:  # the same view would be too easy
                log_shares = (of_student / temperature).log_softmax(dim=1)  # (B, K)
                losses.append(-(target * log_shares).sum(dim=1).mean())
    return sum(losses) / len(losses)


@torch.no_grad()
def after_each_step(student, teacher, of_teacher, centre, momentum=0.996, centring=0.9):
    """The teacher follows the student; the centre follows the teacher's outputs. Both in place."""
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.lerp_(fast, 1 - momentum)  # slow + (1 - momentum) * (fast - slow)
    centre.lerp_(torch.cat(of_teacher).mean(dim=0), 1 - centring)
''')
code("11-17", '''
torch.manual_seed(0)
pair = training.SelfDistillation(ViT(config), outputs=64)
images = held_out[:16]  # (B, C, H, W)
draws = pair.draws(16, torch.Generator().manual_seed(0))
large, small_views = views(images, draws, patch_size=4)
print("large views", tuple(large[0].shape), " small ones", tuple(small_views[0].shape), len(small_views))
with torch.no_grad():
    student = [pair.head(pooled(pair.model, view)) for view in (*large, *small_views)]  # V of (B, K)
    teacher = [pair.teacher_head(pooled(pair.teacher, view)) for view in large]  # 2 of (B, K)
    theirs, _ = pair(images, None, draws, 16)
torch.testing.assert_close(distillation_loss(student, teacher, pair.centre), theirs)
''')
code("11-17-paint", '''
titles = ("the crop", "large view", "large view", *("small view",) * 4)
mean, std = (torch.tensor(part).view(3, 1, 1) for part in (crops.mean, crops.std))
fig = Figure(figsize=(8.4, 2.8))
axes = fig.subplots(2, 7)
for row, n in enumerate((3, 9)):
    for column, of_all in enumerate((images, *large, *small_views)):
        axes[row, column].imshow(plots.to_picture(of_all[n] * std + mean))
        axes[row, column].set(xticks=[], yticks=[])
        axes[0, column].set_title(titles[column], fontsize=9)
plots.show(
    fig, "Two crops, and of each two large views and four small ones in other colours, some of them mirrored or grey"
)
''', **PAINT)
md("11-18", '''
*Figure 3. Two crops, and of each the six views that one step uses. The teacher sees the large views only.*

There is a way to make this loss small without learning anything: the same answer for every image. Nothing in the loss forbids it. Such a **collapse** has two forms. The K shares can be all on one answer, or all equal. DINO has a remedy for each:

- **Centring** subtracts the teacher's mean output over the last batches. An answer that everybody gets is taken away.
- **Sharpening**: the teacher's softmax has a lower temperature (0.04) than the student's (0.1). Equal shares become unequal.

How can we see a collapse? By how much an answer *tells about which image was shown*: the entropy of the mean of all answers, less the mean entropy of each answer. If all answers are the same, it is 0, in both forms.
''')
code("11-19", '''
def distil(seed, **options):
    """-> a trained SelfDistillation, and its history"""
    data.seed_everything(seed)
    pair = training.SelfDistillation(ViT(config), outputs=64, momentum=0.98, local_crops=2, **options)
    recipe = training.TrainingConfig(
        epochs=8, batch_size=64, optimiser="muon", learning_rate=2e-3, warmup=0.2, seed=seed
    )
    return pair, training.train(pair, crops, recipe, progress=False)


def entropy(shares):
    """(..., K) -> (...): 0 where one share is 1, ln K where all are equal."""
    return torch.special.entr(shares).sum(dim=-1)


@torch.no_grad()
def answers(pair):
    """-> (n, K): the teacher's shares for the crops that were not trained on."""
    outputs = pair.teacher_head(pooled(pair.teacher, held_out))
    return ((outputs - pair.centre) / pair.options["teacher_temperature"]).softmax(dim=1)


def told(pair):
    """-> in nats, how much the teacher's answer tells about which crop was shown; 0 after a collapse"""
    shares = answers(pair)
    return (entropy(shares.mean(dim=0)) - entropy(shares).mean()).item()
''')
md("11-20", '''
**Predict.** We train three times for 64 steps: as it should be, without centring (the centre stays 0), and without sharpening (both temperatures 0.1). The validation set has 110 crops, and K is 64. To how many of the 64 answers does the teacher *without centring* give the largest share for at least one crop?
''')
code("11-21", '''
guess = None  # your number, then run
settings = {"both": {}, "no centring": {"centring": 1.0}, "no sharpening": {"teacher_temperature": 0.1}}
pairs = {name: distil(0, **options) for name, options in settings.items()}
for name, (pair, _) in pairs.items():
    shares = answers(pair)  # (n, K)
    used = shares.argmax(dim=1).unique().numel()
    print(f"{name}: answers in use ≈ {used}, ", end="")
    print(f"entropy of one ≈ {entropy(shares).mean():.1f}, tells ≈ {told(pair):.2f}")
print(f"ln 64 = {math.log(64):.2f}; with one crop for each answer it could tell that much")
print(checks.guessed(guess, answers(pairs["no centring"][0]).argmax(dim=1).unique().numel()))
''', **PREDICT, **tags("predict", "about:0.5"))
code("11-21-paint", '''
fig = Figure(figsize=(8.4, 2.4))
left, right = fig.subplots(1, 2)
for i, (name, (pair, history)) in enumerate(pairs.items()):
    left.plot(range(1, 9), [row["train_entropy"] for row in history], marker=plots.MARKERS[i], label=name)
    share = answers(pair).mean(dim=0).sort(descending=True).values  # (K,)
    right.plot(range(1, 65), share, marker=plots.MARKERS[i], markevery=8, label=name)
left.axhline(math.log(64), color="0.6", linestyle=":")
left.text(1, math.log(64) - 0.15, "ln 64", va="top", fontsize=9)
left.set(xlabel="epoch", ylabel="entropy of one answer", ylim=(0, 4.5))
right.set(xlabel="the 64 answers, largest first", ylabel="mean share", yscale="log", ylim=(1e-6, 1))
right.legend()
plots.show(
    fig,
    "Left: the entropy of one answer by epoch. Without sharpening it goes up to ln 64, without centring down towards "
    "0, with both it stays between. Right: the mean share of the 64 answers: equal, or nearly all on a few, or between",
)
''', **PREDICTPAINT, **tags("predict", "picture-drifts"))
md("11-22", '''
*Figure 4. Left: the entropy of the teacher's answer for one view, mean over each epoch. Right: the mean of all answers for the 110 crops, its 64 shares sorted.*

<details><summary>Two ways to collapse</summary>

Without centring, the teacher uses 3 of its 64 answers, and they become sharper with every epoch. Without sharpening it is the other way round: each answer approaches equal shares. Its entropy is 4.0 of at most 4.16, and hardly anything can be read from it, even if some share is always the largest. With both, the answers stay between the two, and they tell the most: 1.2 nats are enough to tell three kinds of crops apart without an error (e to the power of 1.2 is 3.3). This is one seed; Exercise 11.5 trains more.

Neither remedy works alone, because each pushes towards the other's collapse: centring makes the answers more equal, and sharpening makes them less equal.

</details>

### What DINOv2 adds, and what vit-s14 is

![Student and teacher: all views of one image go to the student, the large views only to the teacher; cross-entropy compares their shares, each for another view; the gradient goes back through the student alone, and the teacher is a moving average of the student. Beneath, DINOv2 adds iBOT, Sinkhorn-Knopp and KoLeo, then distils ViT-S from the finished ViT-g](../res/diagrams/student-teacher.svg)

[DINOv2](https://arxiv.org/abs/2304.07193) (Oquab et al. 2023) puts this together with the first idea of this chapter. Some patches are hidden from the student, and for each of them it has to give the answer that the teacher gives for the patch itself ([iBOT](https://arxiv.org/abs/2111.07832)). The centre becomes an algorithm that balances the answers within a batch, and the features of a batch are pushed apart. It was trained on 142 million images. Its small models were not trained like that at all: their teacher is the finished ViT-g, with 1.1 billion parameters. From one of these small models comes our `vit-s14`. Somebody trained it further, to mark what stands out in a picture; so what chapters 08 to 10 measured with it holds for this model, not for self-supervision.

## What did they learn?

So a model of our own is worth comparing, with exact controls. `mae-cifar` saw the 45,000 training images of CIFAR-10 TODOEPOCHS times, and none of their labels. Its 192 features of an image are the class token and the mean of the patch tokens. We keep them fixed and train a linear classifier on them (a **probe**), with all the labels or a few. The control is the same network with its random starting weights.

**Predict.** With 1,000 labels the random network's features reach an accuracy of TODORANDOM (guessing: 0.10). What do the trained ones reach?
''')
code("11-23", '''
guess = None  # your number, from 0 to 1, then run
with stored("without_labels/probe.csv").open() as file:
    table = list(csv.DictReader(file))


def accuracies(features, labels):
    """-> one accuracy for each draw of the labels, and for each seed of random weights"""
    lines = [line for line in table if line["features"].startswith(features)]
    return [float(line["accuracy"]) for line in lines if line["labels"] == str(labels)]


counts = (100, 500, 1000, 45000)
kinds = ("pixels", "random", "masked")
print("labels   ", *(f"{kind:>18}" for kind in kinds))
for count in counts:
    cells = []
    for kind in kinds:
        values = accuracies(kind, count)
        cells.append(f"{mean(values):.2f} ({min(values):.2f} to {max(values):.2f})")
    print(f"{count:<9}", *(f"{cell:>18}" for cell in cells))
print(checks.guessed(guess, mean(accuracies("masked", 1000))))
''', **PREDICT, **tags("predict"))
md("11-24", '''
<details><summary>TODO24TITLE</summary>

TODO24

</details>

What do such features find similar? We cut all eleven photographs into squares of 32 x 32, and look for the square that is most similar to each of them, by pixels, by features of the random network, and by those of `mae-cifar`.
''')
code("11-25", '''
tiles = []  # 36 squares of each photograph
for name in names:
    whole = data.open_image(data.photographs()[name].path, 192)[None]  # (1, C, H, W)
    tiles.append(patchify(whole, 32)[0].view(-1, 32, 32, 3).permute(0, 3, 1, 2))
tiles = normalise(torch.cat(tiles))  # (n, C, H, W)
photograph_of = torch.arange(len(names)).repeat_interleave(36)  # (n,)


@torch.no_grad()
def described(model):
    """-> (n, 2 D): class token and mean of the patch tokens of each square"""
    z = model.features(tiles)  # (n, T, D)
    return torch.cat([z[:, 0], z[:, 1:].mean(dim=1)], dim=1)


data.seed_everything(0)
spaces = {
    "pixels": tiles.flatten(1),
    "random": described(ViT(mae.model.config)),
    "masked": described(mae.model),
}
nearest = {}
for name, space in spaces.items():
    cosines = F.normalize(space - space.mean(dim=0), dim=1)
    cosines = (cosines @ cosines.T).fill_diagonal_(-1)  # (n, n), not itself
    nearest[name] = cosines.argmax(dim=1)
    same = (photograph_of[nearest[name]] == photograph_of).double().mean().item()
    print(f"{name}: the nearest square is of the same photograph ≈ {same:.2f}")
print(f"by chance: {35 / 395:.2f}")
''', **tags("about:0.05"))
code("11-25-paint", '''
asked = [48, 85, 150, 260, 300, 370]
fig = Figure(figsize=(8.4, 4.6))
axes = fig.subplots(4, len(asked))
for column, n in enumerate(asked):
    for row, k in enumerate((n, *(nearest[name][n] for name in spaces))):
        axes[row, column].imshow(picture(patchify(tiles[k][None], 4)[0], cifar))
        axes[row, column].set(xticks=[], yticks=[])
for row, label in enumerate(("asked", *spaces)):
    axes[row, 0].set_ylabel(label, rotation=0, ha="right", va="center")
plots.show(fig, "Six squares of photographs in the first row, and beneath each its nearest square by three kinds of features")
''', **PAINT)
md("11-26", '''
*Figure 5. Six squares, and for each the most similar of the other 395: by its pixels, by features of the network with random weights, and by those of `mae-cifar`.*

TODO26
''')
