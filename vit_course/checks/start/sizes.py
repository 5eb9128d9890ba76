"""Exercise start.sizes: the numbers and shapes of ViT-L/32, worked out by hand."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Mistake, by_answer

B, N, D, K = 8, 12 * 12, 1024, 1000  # images, patches, width and classes

RIGHT = {
    "patches": N,
    "numbers_per_patch": 32 * 32 * 3,
    "patch_tokens": (B, N, D),
    "into_the_encoder": (B, N + 1, D),
    "logits": (B, K),
    "patches_at_768": 24 * 24,
}


def sizes(answer, parts):
    """`answer()` -> {"patches", "numbers_per_patch", "patch_tokens", "into_the_encoder", "logits", ...}."""
    same_answers(call(answer), RIGHT, parts, by_answer(MISTAKES), FOLLOWS)


FOLLOWS = {
    "patch_tokens": [("patches", lambda n: (B, n, D))],
    "into_the_encoder": [
        ("patch_tokens", lambda shape: (shape[0], shape[1] + 1, shape[2])),
        ("patches", lambda n: (B, n + 1, D)),
    ],
    "logits": [(name, lambda shape: (shape[0], K)) for name in ("patch_tokens", "into_the_encoder")],
    "patches_at_768": [("patches", lambda n: 4 * n)],
}

MISTAKES = {
    "patches": [
        Mistake("one-side-only", "These are the patches in one row; there are rows below it.", 12),
        Mistake("class-token-counted", "The class token is counted: it is a token, but not a patch.", N + 1),
        Mistake("other-image-size", "This would be right for an image of 224 x 224.", 7 * 7),
        Mistake("other-patch-size", "This would be right for patches of 16 x 16.", 24 * 24),
        Mistake("sizes-of-vit-b-16", "This is the number for ViT-B/16, whose image and patch are smaller.", 196),
        Mistake(
            "all-images-counted",
            "These are the patches of all eight images; the exercise asks for one image.",
            B * N,
        ),
    ],
    "numbers_per_patch": [
        Mistake(
            "channels-forgotten",
            "This is the number of pixels in a patch; one number is not enough for a pixel.",
            32 * 32,
        ),
        Mistake("one-row-of-the-patch", "These are the numbers in one row of pixels of the patch.", 32 * 3),
        Mistake("one-row-of-the-patch", "This is one side of the patch.", 32),
        Mistake("sizes-of-vit-b-16", "This is the number for ViT-B/16, whose patch is smaller.", 768),
    ],
    "patch_tokens": [
        Mistake("batch-forgotten", "This is the shape for one image; eight go in at once.", (N, D), (1, N, D)),
        Mistake("sizes-of-vit-b-16", "This is the width of ViT-B/16, whose tokens are shorter.", (B, N, 768)),
        # taught
        Mistake("class-token-too-early", "The class token is counted here, but it is not there yet.", (B, N + 1, D)),
        Mistake(
            "not-multiplied-yet",
            "These are the flattened patches, before they are multiplied by the matrix.",
            (B, N, 3072),
        ),
        Mistake("axes-swapped", "The last two axes are swapped: a token is a column here.", (B, D, N)),
        Mistake("axes-swapped", "The batch is not the first axis here.", (N, B, D)),
    ],
    "into_the_encoder": [
        Mistake("batch-forgotten", "This is the shape for one image; eight go in at once.", (N + 1, D), (1, N + 1, D)),
        Mistake("class-token-forgotten", "These are the patch tokens alone.", (B, N, D)),
        Mistake("class-token-on-the-batch", "The class token is counted as one more image.", (B + 1, N, D)),
        Mistake("class-token-in-the-width", "The class token has made each token longer.", (B, N, D + 1)),
        Mistake("axes-swapped", "The last two axes are swapped: a token is a column here.", (B, D, N + 1)),
        Mistake("sizes-of-vit-b-16", "These are the sizes of ViT-B/16.", (B, 197, 768)),
    ],
    "logits": [
        Mistake("batch-forgotten", "This is the shape for one image; eight go in at once.", (K,), (1, K)),
        Mistake(
            "every-token-read",
            "Here every token has logits; the head reads only one of them.",
            (B, N + 1, K),
        ),
        Mistake("every-token-read", "Here every patch has logits; the head reads only one token.", (B, N, K)),
        Mistake("before-the-head", "This is the class token as it leaves the encoder.", (B, D)),
    ],
    "patches_at_768": [
        Mistake("grows-with-the-side", "Doubling the side gives more than twice as many patches.", 2 * N, 2 * N + 1),
        Mistake("no-change", "A patch keeps its side of 32 pixels, so a larger image has more patches.", N, N + 1),
        Mistake("class-token-counted", "The class token is counted: it is a token, but not a patch.", 4 * N + 1),
        Mistake(
            "class-token-counted",
            "The class token is not a patch, and a larger image does not have more of them.",
            4 * (N + 1),
        ),
        Mistake("one-side-only", "These are the patches in one row; there are rows below it.", 24),
        Mistake("sizes-of-vit-b-16", "This is the number for ViT-B/16 at 224 x 224.", 196),
    ],
}
