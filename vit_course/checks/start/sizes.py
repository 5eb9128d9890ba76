"""Exercise start.sizes: the numbers and shapes of ViT-L/32, worked out by hand."""

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.config import ViTConfig


@exercise("0.2", "ViT-L/32 by hand", section="ViT-B/16 by hand", difficulty=1, minutes=8)
def sizes(answer, parts):
    """`answer()` -> {"patches", "numbers_per_patch", "patch_tokens", "into_the_encoder", "logits", ...}."""
    batch, base = 8, ViTConfig.preset("vit-b/16")
    large = ViTConfig.preset("vit-l/16", patch_size=32, image_size=384)
    N, T, D, K = large.num_patches, large.num_tokens, large.hidden_dim, large.num_classes
    numbers = large.patch_size**2 * large.in_channels
    side, other = large.grid[0], base.num_patches
    without_batch = "This is the shape for one image; eight go in at once."
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
        mistakes={
            "patches": {
                side: ("one-side-only", "These are the patches in one row; there are rows below it."),
                2 * side: ("sides-added", "These are the patches of one row and one column, added."),
                T: ("class-token-counted", "The class token is counted: it is a token, but no patch."),
                (224 // 32) ** 2: ("other-image-size", "This would be right for an image of 224 x 224."),
                (384 // 16) ** 2: ("other-patch-size", "This would be right for patches of 16 x 16."),
                other: ("sizes-of-vit-b-16", "This is the number of ViT-B/16, whose image and patch are smaller."),
                batch * N: ("all-images-counted", "These are the patches of all eight images; one image is asked for."),
                384 * 384 // 32: (
                    "divided-once",
                    "The pixels of the image are divided by the side of a patch, not by its area.",
                ),
            },
            "numbers_per_patch": {
                32 * 32: (
                    "channels-forgotten",
                    "These are the pixels of a patch; one number is not enough for a pixel.",
                ),
                32 * 3: ("one-row-of-the-patch", "These are the numbers in one row of pixels of the patch."),
                32: ("one-row-of-the-patch", "This is one side of the patch."),
                768: ("sizes-of-vit-b-16", "This is the number of ViT-B/16, whose patch is smaller."),
                N * 3: ("patches-for-pixels", "The patches are counted here, where the pixels inside one are meant."),
                384 * 384 * 3: ("whole-image", "These are the numbers in the whole image."),
            },
            "patch_tokens": {
                (N, D): ("batch-forgotten", without_batch),
                (1, N, D): ("batch-forgotten", without_batch),
                (batch, N, 768): ("sizes-of-vit-b-16", "This is the width of ViT-B/16, whose tokens are shorter."),
                (batch, T, D): ("class-token-too-early", "Here the class token is counted: it is not there yet."),
                (batch, N, numbers): (
                    "not-multiplied-yet",
                    "These are the flattened patches, before they are multiplied by the matrix.",
                ),
                (batch, D, N): ("axes-swapped", "The last two axes have changed places: a token is a column here."),
                (N, batch, D): ("axes-swapped", "The batch is not the first axis here."),
                (batch, D, side, side): ("no-sequence", "This is still a picture with rows and columns of patches."),
                (batch, side, side, D): ("no-sequence", "This is still a picture with rows and columns of patches."),
            },
            "into_the_encoder": {
                (T, D): ("batch-forgotten", without_batch),
                (1, T, D): ("batch-forgotten", without_batch),
                (batch, N, D): ("class-token-forgotten", "These are the patch tokens alone."),
                (batch + 1, N, D): ("class-token-on-the-batch", "The class token is counted as one more image."),
                (batch, N, D + 1): ("class-token-in-the-width", "The class token has made each token longer."),
                (batch, T + 1, D): (
                    "positions-as-a-token",
                    "There is a token too many: positions are added to the tokens, not put beside them.",
                ),
                (batch, T, 2 * D): (
                    "positions-appended",
                    "The tokens are twice as long: positions are added to them, number by number.",
                ),
                (batch, D, T): ("axes-swapped", "The last two axes have changed places: a token is a column here."),
                (batch, 197, 768): ("sizes-of-vit-b-16", "These are the sizes of ViT-B/16."),
            },
            "logits": {
                (K,): ("batch-forgotten", without_batch),
                (1, K): ("batch-forgotten", without_batch),
                (batch, T, K): ("every-token-read", "Here every token has logits; the head reads one of them."),
                (batch, N, K): ("every-token-read", "Here every patch has logits; the head reads one token."),
                (batch, 1, K): ("token-axis-kept", "The axis of the tokens is still there, with one token on it."),
                (batch, D): ("before-the-head", "This is the class token as it leaves the encoder."),
                (batch, 1): ("only-the-winner", "This is the class that wins; logits are there before it is chosen."),
                (batch,): ("only-the-winner", "This is the class that wins; logits are there before it is chosen."),
            },
            "patches_at_768": {
                2 * N: ("grows-with-the-side", "Twice the side has more than twice the patches."),
                2 * N + 1: ("grows-with-the-side", "Twice the side has more than twice the patches."),
                N: ("no-change", "The patch keeps its side of 32 pixels, so a larger image has more of them."),
                N + 1: ("no-change", "The patch keeps its side of 32 pixels, so a larger image has more of them."),
                4 * N + 1: ("class-token-counted", "The class token is counted: it is a token, but no patch."),
                4 * T: ("class-token-counted", "The class token is no patch, and a larger image has no more of it."),
                768 // 32: ("one-side-only", "These are the patches in one row; there are rows below it."),
                other: ("sizes-of-vit-b-16", "This is the number of ViT-B/16 at 224 x 224."),
            },
        },
        follows={
            "patch_tokens": [("patches", lambda n: (batch, n, D))],
            "into_the_encoder": [
                ("patch_tokens", lambda shape: (shape[0], shape[1] + 1, shape[2])),
                ("patches", lambda n: (batch, n + 1, D)),
            ],
            "logits": [
                ("patch_tokens", lambda shape: (shape[0], K)),
                ("into_the_encoder", lambda shape: (shape[0], K)),
            ],
            "patches_at_768": [("patches", lambda n: 4 * n)],
        },
    )
