"""The names that four code bases give to the parts of one network."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """Where a code base keeps each part of a ViT.

    Args:
        name: as in error messages.
        tokens: our name -> theirs, of what is no layer: the class token and the position table.
        layers: our layer -> theirs, `{}` standing for weight or bias.
        block: how the name of a layer in block `{}` begins.
        in_block: as `layers`, within a block. Three names are query, key and value apart, where we keep them in one.
        norm_epsilon: of the norms of its published models; no shape tells it.
    """

    name: str
    tokens: dict[str, str]
    layers: dict[str, str]
    block: str
    in_block: dict[str, str | tuple[str, str, str]]
    norm_epsilon: float

    def keys(self, ours: str) -> tuple[str, ...]:
        """The name of one of our parameters -> theirs: one name, or three for query, key and value."""
        if ours in self.tokens:
            return (self.tokens[ours],)
        layer, kind = ours.rsplit(".", 1)
        names, begin = self.layers, ""
        if layer.startswith("encoder.blocks."):
            _, _, number, layer = layer.split(".", 3)
            names, begin = self.in_block, self.block.format(number)
        theirs = names[layer]
        return tuple(begin + name.format(kind) for name in ((theirs,) if isinstance(theirs, str) else theirs))


TORCHVISION = Library(
    name="torchvision",
    tokens={"class_token.token": "class_token", "positions.table": "encoder.pos_embedding"},
    layers={
        "patch_embedding.projection": "conv_proj.{}",
        "encoder.norm": "encoder.ln.{}",
        "pre_logits.0": "heads.pre_logits.{}",
        "head": "heads.head.{}",
    },
    block="encoder.layers.encoder_layer_{}.",
    in_block={
        "norm1": "ln_1.{}",
        "attention.qkv": "self_attention.in_proj_{}",
        "attention.projection": "self_attention.out_proj.{}",
        "norm2": "ln_2.{}",
        "mlp.expand": "mlp.0.{}",
        "mlp.contract": "mlp.3.{}",
    },
    norm_epsilon=1e-6,
)

TIMM = Library(
    name="timm",
    tokens={"class_token.token": "cls_token", "positions.table": "pos_embed"},
    layers={
        "patch_embedding.projection": "patch_embed.proj.{}",
        "encoder.norm": "norm.{}",
        "pre_logits.0": "pre_logits.fc.{}",
        "head": "head.{}",
    },
    block="blocks.{}.",
    in_block={
        "norm1": "norm1.{}",
        "attention.qkv": "attn.qkv.{}",
        "attention.projection": "attn.proj.{}",
        "norm2": "norm2.{}",
        "mlp.expand": "mlp.fc1.{}",
        "mlp.contract": "mlp.fc2.{}",
    },
    norm_epsilon=1e-6,
)

HUGGINGFACE = Library(
    name="Hugging Face",
    tokens={"class_token.token": "vit.embeddings.cls_token", "positions.table": "vit.embeddings.position_embeddings"},
    layers={
        "patch_embedding.projection": "vit.embeddings.patch_embeddings.projection.{}",
        "encoder.norm": "vit.layernorm.{}",
        "pre_logits.0": "vit.pooler.dense.{}",
        "head": "classifier.{}",
    },
    block="vit.layers.{}.",
    in_block={
        "norm1": "layernorm_before.{}",
        "attention.qkv": ("attention.q_proj.{}", "attention.k_proj.{}", "attention.v_proj.{}"),
        "attention.projection": "attention.o_proj.{}",
        "norm2": "layernorm_after.{}",
        "mlp.expand": "mlp.fc1.{}",
        "mlp.contract": "mlp.fc2.{}",
    },
    norm_epsilon=1e-12,
)

# The names before version 5 of transformers, which the published files still have.
HUGGINGFACE_4 = Library(
    name="Hugging Face",
    tokens=HUGGINGFACE.tokens,
    layers=HUGGINGFACE.layers,
    block="vit.encoder.layer.{}.",
    in_block={
        "norm1": "layernorm_before.{}",
        "attention.qkv": tuple(f"attention.attention.{part}.{{}}" for part in ("query", "key", "value")),
        "attention.projection": "attention.output.dense.{}",
        "norm2": "layernorm_after.{}",
        "mlp.expand": "intermediate.dense.{}",
        "mlp.contract": "output.dense.{}",
    },
    norm_epsilon=1e-12,
)

VIT_PYTORCH = Library(
    name="vit-pytorch",
    tokens={"class_token.token": "cls_token", "positions.table": "pos_embedding"},
    layers={
        "patch_embedding.norm1": "to_patch_embedding.1.{}",
        "patch_embedding.projection": "to_patch_embedding.2.{}",
        "patch_embedding.norm2": "to_patch_embedding.3.{}",
        "encoder.norm": "transformer.norm.{}",
        "head": "mlp_head.{}",
    },
    block="transformer.layers.{}.",
    in_block={
        "norm1": "0.norm.{}",
        "attention.qkv": "0.to_qkv.{}",
        "attention.projection": "0.to_out.0.{}",
        "norm2": "1.net.0.{}",
        "mlp.expand": "1.net.1.{}",
        "mlp.contract": "1.net.4.{}",
    },
    norm_epsilon=1e-5,
)
