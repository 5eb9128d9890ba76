"""Answers to exercise class_token.reached."""

import numpy as np
import torch

from answers import UNKNOWN, Answers

answers = Answers("class_token.reached")

answers.edits(
    ("only-what-is-read", '"one_patch_in": T', '"one_patch_in": 1'),
    ("unread-token-counted", '"patch_mean_out": N', '"patch_mean_out": T'),
    ("way-through-closed-block", '"last_off_between": 1', '"last_off_between": T'),
    ("more-than-there-are", '"one_patch_in": T', '"one_patch_in": 8'),
    ("float-count", '"one_patch_in": T', '"one_patch_in": 7.0'),
    ("wrong-type", '"one_patch_in": T', '"one_patch_in": "all"'),
    (UNKNOWN, '"one_patch_in": T', '"one_patch_in": 4'),
)


@answers.right
def by_sets():
    everything, patches = set(range(7)), set(range(1, 7))

    def back(tokens, *exchange):
        for on in reversed(exchange):
            tokens = everything if on else tokens
        return len(tokens)

    return {
        "one_patch_in": back({3}, True, True, True),
        "patch_mean_out": back(patches),
        "patch_mean_in": back(patches, True, True, True),
        "all_off_patch_mean_in": back(patches, False, False, False),
        "last_off_between": back({0}, False),
        "last_off_in": back({0}, True, True, False),
    }


@answers.right
def by_matrices():
    on, off = torch.ones(7, 7), torch.eye(7)  # which tokens a token that comes out of a block depends on
    class_token, patch, patches = off[0], off[4], 1 - off[0]
    return {
        "one_patch_in": (patch @ on @ on @ on).count_nonzero(),
        "patch_mean_out": patches.count_nonzero(),
        "patch_mean_in": (patches @ on @ on @ on).count_nonzero(),
        "all_off_patch_mean_in": (patches @ off @ off @ off).count_nonzero(),
        "last_off_between": (class_token @ off).count_nonzero(),
        "last_off_in": (class_token @ off @ on @ on).count_nonzero(),
    }


@answers.right
def typed():
    one, six, seven = np.array([1, 6, 7])
    return {
        "last_off_in": seven,
        "last_off_between": one,
        "all_off_patch_mean_in": six,
        "patch_mean_in": seven,
        "patch_mean_out": six,
        "one_patch_in": seven,
    }
