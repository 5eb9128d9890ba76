"""Answers to exercise positions.mended."""

import torch
import torch.nn.functional as F
from einops import pack, repeat

from answers import UNKNOWN, Answers

answers = Answers("positions.mended")
(faulty_input,) = answers.given("faulty_input")

answers.edits(
    ("multiplied", "tokens + table", "tokens * table"),
    ("subtracted", "tokens + table", "tokens - table"),
)


@answers.right
def each_with_its_rows(patch_tokens, class_token, table):
    B = patch_tokens.shape[0]
    return torch.cat([(class_token + table[:, :1]).repeat(B, 1, 1), patch_tokens + table[:, 1:]], dim=1)


@answers.right
def packed(patch_tokens, class_token, table):
    tokens = repeat(class_token, "1 1 d -> b 1 d", b=len(patch_tokens))
    return pack([tokens, patch_tokens], "b * d")[0] + table


@answers.right
def padded(patch_tokens, class_token, table):
    tokens = F.pad(patch_tokens, (0, 0, 1, 0))
    return tokens + table + F.pad(class_token, (0, 0, 0, patch_tokens.shape[1]))


@answers.right
def loop(patch_tokens, class_token, table):
    images = []
    for image in patch_tokens:
        rows = [class_token[0, 0] + table[0, 0]]
        rows += [token + table[0, 1 + n] for n, token in enumerate(image)]
        images.append(torch.stack(rows))
    return torch.stack(images)


@answers.right
def filled(patch_tokens, class_token, table):
    B, N, D = patch_tokens.shape
    out = torch.zeros(B, N + 1, D)
    out[:, :1] = class_token
    out[:, 1:] = patch_tokens
    return out.add(table)


answers.wrong("still-faulty")(faulty_input)


@answers.wrong("class-token-without-row")
def only_the_shift_repaired(patch_tokens, class_token, table):
    patch_tokens = patch_tokens + table[:, 1:]
    class_tokens = class_token.expand(len(patch_tokens), -1, -1)
    return torch.cat([class_tokens, patch_tokens], dim=1)


@answers.wrong("rows-shifted")
def only_the_class_token_repaired(patch_tokens, class_token, table):
    patch_tokens = patch_tokens + table[:, :-1]
    class_tokens = (class_token + table[:, :1]).expand(len(patch_tokens), -1, -1)
    return torch.cat([class_tokens, patch_tokens], dim=1)


@answers.wrong(UNKNOWN)
def class_token_with_the_last_row(patch_tokens, class_token, table):
    class_tokens = (class_token + table[:, -1:]).expand(len(patch_tokens), -1, -1)
    return torch.cat([class_tokens, patch_tokens + table[:, 1:]], dim=1)
