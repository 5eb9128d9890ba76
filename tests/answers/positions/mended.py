"""Answers to exercise positions.mended."""

import torch
import torch.nn.functional as F
from einops import pack, repeat

from answers import right, unforeseen, wrong
from vit_course.checks.draw import Draw


@right("positions.mended")
def as_in_the_paper(patch_tokens, class_token, table):
    return torch.cat([class_token.expand(len(patch_tokens), -1, -1), patch_tokens], dim=1) + table


@right("positions.mended")
def apart(patch_tokens, class_token, table):
    B = patch_tokens.shape[0]
    return torch.cat([(class_token + table[:, :1]).repeat(B, 1, 1), patch_tokens + table[:, 1:]], dim=1)


@right("positions.mended")
def packed(patch_tokens, class_token, table):
    tokens = repeat(class_token, "1 1 d -> b 1 d", b=len(patch_tokens))
    return pack([tokens, patch_tokens], "b * d")[0] + table


@right("positions.mended")
def padded(patch_tokens, class_token, table):
    tokens = F.pad(patch_tokens, (0, 0, 1, 0))
    return tokens + table + F.pad(class_token, (0, 0, 0, patch_tokens.shape[1]))


@right("positions.mended")
def with_loop(patch_tokens, class_token, table):
    images = []
    for image in patch_tokens:
        rows = [class_token[0, 0] + table[0, 0]]
        rows += [token + table[0, 1 + n] for n, token in enumerate(image)]
        images.append(torch.stack(rows))
    return torch.stack(images)


@right("positions.mended")
def filled(patch_tokens, class_token, table):
    B, N, D = patch_tokens.shape
    out = torch.zeros(B, N + 1, D)
    out[:, :1] = class_token
    out[:, 1:] = patch_tokens
    return out.add(table)


def _front(patches, token):
    return torch.cat([token.expand(len(patches), -1, -1), patches], dim=1)


for slug, function in [
    ("still-faulty", lambda p, c, t: _front(p + t[:, :-1], c)),
    ("class-token-without-row", lambda p, c, t: _front(p + t[:, 1:], c)),
    ("rows-shifted", lambda p, c, t: _front(p + t[:, :-1], c + t[:, :1])),
    ("class-row-last", lambda p, c, t: _front(p + t[:, :-1], c + t[:, -1:])),
    ("class-token-last", lambda p, c, t: torch.cat([p, c.expand(len(p), -1, -1)], 1) + t),
    ("class-token-last", lambda p, c, t: torch.cat([p + t[:, 1:], (c + t[:, :1]).expand(len(p), -1, -1)], 1)),
    ("class-token-last", lambda p, c, t: torch.cat([p + t[:, 1:], c.expand(len(p), -1, -1)], 1)),
    ("class-token-last", lambda p, c, t: torch.cat([p + t[:, :-1], c.expand(len(p), -1, -1)], 1)),
    ("patches-without-rows", lambda p, c, t: _front(p, c + t[:, :1])),
    ("no-positions", lambda p, c, t: _front(p, c)),
    ("no-class-token", lambda p, c, t: p + t[:, 1:]),
    ("class-row-for-all", lambda p, c, t: _front(p, c) + t[:, 0]),
    ("multiplied", lambda p, c, t: _front(p, c) * t),
    ("rows-added-twice", lambda p, c, t: _front(p + t[:, 1:], c) + t),
    ("table-before-class-token", lambda p, c, t: _front(p + t, c)),
    ("one-class-token-for-the-batch", lambda p, c, t: torch.cat([c, p], dim=1) + t),
    ("gradient-cut", lambda p, c, t: (_front(p, c) + t).detach()),
    ("random-result", lambda p, c, t: F.dropout(_front(p, c) + t)),
    ("joined-along-another-axis", lambda p, c, t: torch.cat([c, p], dim=0) + t),
    ("subtracted", lambda p, c, t: _front(p, c) - t),
    ("only-the-first-image", lambda p, c, t: (_front(p, c) + t)[0]),
    ("axis-of-one-dropped", lambda p, c, t: (_front(p, c) + t).squeeze()),
    ("class-token-with-last-row", lambda p, c, t: _front(p + t[:, 1:], c + t[:, -1:])),
    ("rows-backwards", lambda p, c, t: _front(p, c) + t.flip(1)),
    ("first-fault-kept", lambda p, c, t: _front(p + t[:, :-1], c) + t),
]:
    wrong("positions.mended", slug)(function)


@wrong("positions.mended", "input-changed")
def added_in_place(patch_tokens, class_token, table):
    patch_tokens += table[:, 1:]
    return _front(patch_tokens, class_token + table[:, :1])


@wrong("positions.mended", "hard-coded-size")
def one_batch(patch_tokens, class_token, table):
    return torch.cat([class_token.expand(Draw(0).sizes(3)[0], -1, -1), patch_tokens], dim=1) + table


unforeseen("positions.mended")(lambda p, c, t: _front(p, c) + t + 1)


@wrong("positions.mended", "joined-along-another-axis")
def wider_with_table(patch_tokens, class_token, table):
    class_tokens = class_token.expand(len(patch_tokens), -1, -1)
    return torch.cat([class_tokens, patch_tokens], dim=2) + table


@wrong("positions.mended", "table-joined")
def rows_as_tokens(patch_tokens, class_token, table):
    return torch.cat([_front(patch_tokens, class_token), table.expand(len(patch_tokens), -1, -1)], dim=1)


@wrong("positions.mended", "class-token-alone-wrong")
def row_of_patch_0(patch_tokens, class_token, table):
    return _front(patch_tokens + table[:, 1:], class_token + table[:, 1:2])
