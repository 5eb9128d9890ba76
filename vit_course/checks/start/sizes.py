"""Exercise start.sizes: the numbers and shapes of ViT-L/32, worked out by hand."""

from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Slip, by_answer
from vit_course.config import ViTConfig


def sizes(answer, parts):
    """`answer()` -> {"patches", "numbers_per_patch", "patch_tokens", "into_the_encoder", "logits", ...}."""
    batch, base = 8, ViTConfig.preset("vit-b/16")
    large = ViTConfig.preset("vit-l/16", patch_size=32, image_size=384)
    N, T, D, K = large.num_patches, large.num_tokens, large.hidden_dim, large.num_classes
    numbers, side, other = large.patch_size**2 * large.in_channels, large.grid[0], base.num_patches
    same_answers(
        call(answer),
        {
            "patches": N,
            "numbers_per_patch": numbers,
            "patch_tokens": (batch, N, D),
            "into_the_encoder": (batch, T, D),
            "logits": (batch, K),
            "patches_at_768": ViTConfig.preset("vit-l/16", patch_size=32, image_size=768).num_patches,
        },
        parts,
        mistakes=by_answer(BY_HAND, dict(batch=batch, N=N, T=T, D=D, K=K, numbers=numbers, side=side, other=other)),
        follows={
            "patch_tokens": [("patches", lambda n: (batch, n, D))],
            "into_the_encoder": [
                ("patch_tokens", lambda shape: (shape[0], shape[1] + 1, shape[2])),
                ("patches", lambda n: (batch, n + 1, D)),
            ],
            "logits": [(name, lambda shape: (shape[0], K)) for name in ("patch_tokens", "into_the_encoder")],
            "patches_at_768": [("patches", lambda n: 4 * n)],
        },
    )


BY_HAND = {
    "patches": [
        Slip("one-side-only", "These are the patches in one row; there are rows below it.", lambda side: side),
        Slip("sides-added", "These are the patches of one row and one column, added.", lambda side: 2 * side),
        Slip("class-token-counted", "The class token is counted: it is a token, but not a patch.", lambda T: T),
        Slip("other-image-size", "This would be right for an image of 224 x 224.", (224 // 32) ** 2),
        Slip("other-patch-size", "This would be right for patches of 16 x 16.", (384 // 16) ** 2),
        Slip(
            "sizes-of-vit-b-16",
            "This is the number for ViT-B/16, whose image and patch are smaller.",
            lambda other: other,
        ),
        Slip(
            "all-images-counted",
            "These are the patches of all eight images; the exercise asks for one image.",
            lambda batch, N: batch * N,
        ),
        Slip(
            "divided-once",
            "The pixels of the image are divided by the side of a patch, not by its area.",
            384 * 384 // 32,
        ),
    ],
    "numbers_per_patch": [
        Slip(
            "channels-forgotten",
            "This is the number of pixels in a patch; one number is not enough for a pixel.",
            32 * 32,
        ),
        Slip("one-row-of-the-patch", "These are the numbers in one row of pixels of the patch.", 32 * 3),
        Slip("one-row-of-the-patch", "This is one side of the patch.", 32),
        Slip("sizes-of-vit-b-16", "This is the number for ViT-B/16, whose patch is smaller.", 768),
    ],
    "patch_tokens": [
        Slip(
            "batch-forgotten",
            "This is the shape for one image; eight go in at once.",
            lambda N, D: (N, D),
            lambda N, D: (1, N, D),
        ),
        Slip(
            "sizes-of-vit-b-16",
            "This is the width of ViT-B/16, whose tokens are shorter.",
            lambda batch, N: (batch, N, 768),
        ),
        Slip(
            "class-token-too-early",
            "The class token is counted here, but it is not there yet.",
            lambda batch, T, D: (batch, T, D),
        ),
        Slip(
            "not-multiplied-yet",
            "These are the flattened patches, before they are multiplied by the matrix.",
            lambda batch, N, numbers: (batch, N, numbers),
        ),
        Slip(
            "axes-swapped",
            "The last two axes are swapped: a token is a column here.",
            lambda batch, D, N: (batch, D, N),
        ),
        Slip("axes-swapped", "The batch is not the first axis here.", lambda N, batch, D: (N, batch, D)),
        Slip(
            "no-sequence",
            "This is still a picture with rows and columns of patches.",
            lambda batch, D, side: (batch, D, side, side),
            lambda batch, side, D: (batch, side, side, D),
        ),
    ],
    "into_the_encoder": [
        Slip(
            "batch-forgotten",
            "This is the shape for one image; eight go in at once.",
            lambda T, D: (T, D),
            lambda T, D: (1, T, D),
        ),
        Slip("class-token-forgotten", "These are the patch tokens alone.", lambda batch, N, D: (batch, N, D)),
        Slip(
            "class-token-on-the-batch",
            "The class token is counted as one more image.",
            lambda batch, N, D: (batch + 1, N, D),
        ),
        Slip(
            "class-token-in-the-width",
            "The class token has made each token longer.",
            lambda batch, N, D: (batch, N, D + 1),
        ),
        Slip(
            "positions-as-a-token",
            "There is one token too many: positions are added to the tokens, not placed next to them.",
            lambda batch, T, D: (batch, T + 1, D),
        ),
        Slip(
            "positions-appended",
            "The tokens are twice as long; positions are added to them, number by number.",
            lambda batch, T, D: (batch, T, 2 * D),
        ),
        Slip(
            "axes-swapped",
            "The last two axes are swapped: a token is a column here.",
            lambda batch, D, T: (batch, D, T),
        ),
        Slip("sizes-of-vit-b-16", "These are the sizes of ViT-B/16.", lambda batch: (batch, 197, 768)),
    ],
    "logits": [
        Slip(
            "batch-forgotten", "This is the shape for one image; eight go in at once.", lambda K: (K,), lambda K: (1, K)
        ),
        Slip(
            "every-token-read",
            "Here every token has logits; the head reads only one of them.",
            lambda batch, T, K: (batch, T, K),
        ),
        Slip(
            "every-token-read",
            "Here every patch has logits; the head reads only one token.",
            lambda batch, N, K: (batch, N, K),
        ),
        Slip(
            "token-axis-kept",
            "The axis of the tokens is still there, with one token on it.",
            lambda batch, K: (batch, 1, K),
        ),
        Slip("before-the-head", "This is the class token as it leaves the encoder.", lambda batch, D: (batch, D)),
        Slip(
            "only-the-winner",
            "This is the winning class; the logits come before it is chosen.",
            lambda batch: (batch, 1),
            lambda batch: (batch,),
        ),
    ],
    "patches_at_768": [
        Slip(
            "grows-with-the-side",
            "Doubling the side gives more than twice as many patches.",
            lambda N: 2 * N,
            lambda N: 2 * N + 1,
        ),
        Slip(
            "no-change",
            "A patch keeps its side of 32 pixels, so a larger image has more patches.",
            lambda N: N,
            lambda N: N + 1,
        ),
        Slip("class-token-counted", "The class token is counted: it is a token, but not a patch.", lambda N: 4 * N + 1),
        Slip(
            "class-token-counted",
            "The class token is not a patch, and a larger image does not have more of them.",
            lambda T: 4 * T,
        ),
        Slip("one-side-only", "These are the patches in one row; there are rows below it.", 768 // 32),
        Slip("sizes-of-vit-b-16", "This is the number for ViT-B/16 at 224 x 224.", lambda other: other),
    ],
}
