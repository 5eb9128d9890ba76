"""Answers to exercise class_token.reached."""

from answers import right, unforeseen, wrong

RIGHT_REACHED = {
    "one_patch_in": 7,
    "patch_mean_out": 6,
    "patch_mean_in": 7,
    "all_off_patch_mean_in": 6,
    "last_off_between": 1,
    "last_off_in": 7,
}


@right("class_token.reached")
def predicted():
    return RIGHT_REACHED


@right("class_token.reached")
def by_reasoning():
    N = 6
    return dict(
        one_patch_in=N + 1,
        patch_mean_out=N,
        patch_mean_in=N + 1,
        all_off_patch_mean_in=N,
        last_off_between=1,
        last_off_in=N + 1,
    )


@right("class_token.reached")
def by_following_the_ways():
    # Which tokens a set of tokens depends on, block by block from the end: all with the exchange, itself without.
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


def _reached(slug, **changes):
    wrong("class_token.reached", slug)(lambda: RIGHT_REACHED | changes)


_reached("only-what-is-read", one_patch_in=1)
_reached("two-tokens-only", one_patch_in=2)
_reached("class-token-left-out", one_patch_in=6)
_reached("unread-token-counted", patch_mean_out=7)
_reached("mean-as-one-token", patch_mean_out=1)
_reached("only-what-is-read", patch_mean_in=6)
_reached("mean-as-one-token", patch_mean_in=1)
_reached("way-through-closed-block", all_off_patch_mean_in=7)
_reached("direct-way-forgotten", all_off_patch_mean_in=0)
_reached("mean-as-one-token", all_off_patch_mean_in=1)
_reached("way-through-closed-block", last_off_between=7)
_reached("patches-for-class-token", last_off_between=6)
_reached("direct-way-forgotten", last_off_between=0)
_reached("one-block-cuts-all", last_off_in=1)
_reached("class-token-left-out", last_off_in=6)
_reached("direct-way-forgotten", last_off_in=0)
_reached("float-count", one_patch_in=7.0)
_reached("wrong-type", one_patch_in="all")
_reached("more-than-there-are", one_patch_in=8)
unforeseen("class_token.reached")(lambda: RIGHT_REACHED | {"one_patch_in": 4})
