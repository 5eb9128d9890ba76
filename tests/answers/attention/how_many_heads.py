"""Answers to exercise attention.how_many_heads."""

import torch

from answers import UNKNOWN, Answers

answers = Answers("attention.how_many_heads")

ZEROS = [0.0, 0.0, 0.0]
TWO_THINGS_ONE_HEAD = [0.491, 0.495, 0.498]  # measured by the worked solution


def report(two_things_one_head=TWO_THINGS_ONE_HEAD, seeds=(0, 1, 2), conclusion="enough"):
    errors = {(things, heads): ZEROS for things in (1, 2) for heads in (1, 2, 4)}
    errors[2, 1] = two_things_one_head
    return {"seeds": seeds, "errors": errors, "conclusion": conclusion}


@answers.right
def rounded():
    return report([0.49, 0.5, 0.5], conclusion=" Enough ")


@answers.right
def in_another_order():
    return report(torch.tensor([0.4976, 0.4954, 0.4907]), seeds=range(2, -1, -1))


@answers.right
def three_things_too():
    found = report()
    found["errors"][3, 1] = [0.66, 0.67, 0.66]
    return found


@answers.wrong("wrong-keys")
def without_seeds():
    return {"errors": report()["errors"], "conclusion": "enough"}


@answers.wrong("wrong-type")
def one_error_for_a_setting():
    return report(0.5)


@answers.wrong("wrong-type")
def errors_in_a_list():
    return report() | {"errors": [ZEROS, TWO_THINGS_ONE_HEAD]}


@answers.wrong("settings-missing")
def keys_exchanged():
    found = report()
    return found | {"errors": {(heads, things): runs for (things, heads), runs in found["errors"].items()}}


@answers.wrong("does-not-follow")
def more_than_measured():
    return report(conclusion="more")


@answers.wrong("not-repeated")
def as_if_heads_made_no_difference():
    return report(ZEROS, conclusion="never")


@answers.wrong(UNKNOWN)
def other_numbers():
    return report([0.5, 0.52, 0.48])
