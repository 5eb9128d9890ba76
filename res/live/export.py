"""The graphs that a browser computes, in three parts for each model, without the weights: embed, block and head.

    python -m pip install -e ".[extract]"
    python res/live/export.py

A graph holds no number that is learned: each weight is an input, by the name that it has in the safetensors file of
the model, and the browser hands over a piece of that file as it is, so that the weights are there once. The block is
the same graph for every layer; its names are those of the file without "encoder.layer.0." in front. Matrices in half
precision become single precision within the graph, but for vit-s14-block-float32: its weights are single precision as
they come in, for graphics cards of which some have no half precision.

    embed   images (1, 3, H, W), normalised     -> embedded (T, D)
    block   tokens (T, D), which enter the layer -> after (T, D), which leave it
            heads (h), means (h)                    queries, keys (h, T, d)
            attention (1), mlp (1)                  sums (h, T): log of the sum of exp(q k / sqrt(d)) over the keys, so
            mask (T)                                that a weight is exp(score - sum)
    head    tokens (T, D) after the last layer   -> features (T, D), after the last norm
            class_tokens (L + 1, D)                 lens (L + 1, K): the head's scores for the class token before the
                                                    first layer and after each

A block computes the model as it is with 1 for heads, attention and mlp, and 0 for means and mask. The output of head i,
before the projection, is heads[i] times itself plus means[i] times its mean over the tokens; the mask is added to every
query's scores, so that minus infinity hides a key; attention and mlp are factors of what these two branches add.

vit-s14 takes every H and W that 14 divides: positions are interpolated in the graph, as `interpolate_positions` does.
"""

import json
import struct
from collections import Counter
from pathlib import Path

from onnx import TensorProto, helper

HERE = Path(__file__).parent
RES = HERE.parent
OPSET, IR = 20, 10
TYPES = {"F32": TensorProto.FLOAT, "F16": TensorProto.FLOAT16}


class Graph:
    """Nodes one after the other; a method a kind of node, each returns the name of what it gives.

    Args:
        file: the safetensors file that holds the weights.
        front: what its keys begin with, and the names in the graph do not.
        single: weights come in as single precision, however they are stored.
        inputs: the shape of each input that is no weight, by its name.
    """

    def __init__(self, file: Path, front: str = "", single: bool = False, **inputs: tuple):
        self.nodes, self.initializers, self.outputs = [], [], []
        self.cast, self.counts = {}, Counter()
        self.inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
        with file.open("rb") as opened:
            entries = json.loads(opened.read(struct.unpack("<Q", opened.read(8))[0]))
        self.stored = {key.removeprefix(front): entry for key, entry in entries.items() if key.startswith(front)}
        if single:
            self.stored = {key: entry | {"dtype": "F32"} for key, entry in self.stored.items()}

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes) -> str | list[str]:
        """Any node of one output or more."""
        self.counts[kind] += 1
        names = [f"{kind}.{self.counts[kind]}" + (f".{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names if outputs > 1 else names[0]

    def weight(self, key: str) -> str:
        """A stored tensor, in single precision."""
        if key not in self.cast:
            entry = self.stored[key]
            self.inputs.append(helper.make_tensor_value_info(key, TYPES[entry["dtype"]], entry["shape"]))
            self.cast[key] = key if entry["dtype"] == "F32" else self.add("Cast", key, to=TensorProto.FLOAT)
        return self.cast[key]

    def constant(self, values: list, kind=TensorProto.INT64) -> str:
        """Numbers that are not learned: shapes, places."""
        tensor = helper.make_tensor(f"constant.{len(self.initializers)}", kind, [len(values)], values)
        self.initializers.append(tensor)
        return tensor.name

    def linear(self, x: str, *keys: str) -> str:
        """(T, in) -> (T, out); weights are stored (out, in)."""
        weight, bias = (self.weight(".".join((*keys, part))) for part in ("weight", "bias"))
        return self.add("Gemm", x, weight, bias, transB=1)

    def norm(self, x: str, key: str) -> str:
        """LayerNorm over the last axis."""
        weights = self.weight(f"{key}.weight"), self.weight(f"{key}.bias")
        return self.add("LayerNormalization", x, *weights, axis=-1, epsilon=1e-6)

    def reshape(self, x: str, *shape: int) -> str:
        """To a shape with 0 for "as it is" and -1 for "the rest"."""
        return self.add("Reshape", x, self.constant(shape))

    def output(self, x: str, name: str, shape: tuple) -> None:
        """Gives a result out under a name."""
        self.nodes.append(helper.make_node("Identity", [x], [name], name=name))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def attend(self, q: str, k: str, v: str, heads: int, width: int) -> str:
        """Three of (T, D) -> (T, D) before the projection; gives out queries, keys and sums."""
        split = [self.reshape(x, 0, heads, width) for x in (q, k, v)]  # (T, h, d)
        q, k, v = (self.add("Transpose", x, perm=[1, 0, 2]) for x in split)  # (h, T, d)
        scaled = self.add("Mul", q, self.constant([width**-0.5], TensorProto.FLOAT))
        scores = self.add("MatMul", scaled, self.add("Transpose", k, perm=[0, 2, 1]))  # (h, T, T)
        scores = self.add("Add", scores, "mask")
        weights = self.add("Softmax", scores, axis=-1)
        # The largest weight of a row is exp(largest score - sum): two maxima and T logarithms, not T x T exponentials.
        highest, top = (self.add("ReduceMax", x, self.constant([-1]), keepdims=0) for x in (scores, weights))
        self.output(q, "queries", (heads, "T", width))
        self.output(k, "keys", (heads, "T", width))
        self.output(self.add("Sub", highest, self.add("Log", top)), "sums", (heads, "T"))
        own = self.add("MatMul", weights, v)  # (h, T, d)
        mean = self.add("ReduceMean", own, self.constant([1]), keepdims=1)  # (h, 1, d)
        kept, filled = (self.reshape(x, heads, 1, 1) for x in ("heads", "means"))
        own = self.add("Add", self.add("Mul", own, kept), self.add("Mul", mean, filled))
        return self.reshape(self.add("Transpose", own, perm=[1, 0, 2]), 0, heads * width)

    def branch(self, x: str, y: str, factor: str, scale: str = "") -> str:
        """(T, D), and what a branch adds to it, by a factor that is given and by the layer's own, where it has one."""
        by = self.add("Mul", self.weight(scale), factor) if scale else factor
        return self.add("Add", x, self.add("Mul", y, by))

    def write(self, path: Path) -> None:
        """Writes the graph; the same graph gives the same bytes."""
        graph = helper.make_graph(self.nodes, path.stem, self.inputs, self.outputs, self.initializers)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, producer_name="res/live/export.py", ir_version=IR, opset_imports=[opset])
        path.write_bytes(model.SerializeToString(deterministic=True))
        print(f"{path.name}: {len(self.nodes)} nodes, {path.stat().st_size:,} bytes")


def block_graph(file: Path, front: str, heads: int, width: int, single: bool = False) -> Graph:
    """A block that waits for its nodes."""
    one = {name: (1,) for name in ("attention", "mlp")}
    each = {name: (heads,) for name in ("heads", "means")}
    return Graph(file, front, single, tokens=("T", heads * width), mask=("T",), **each, **one)


def head_graph(file: Path, norm: str, width: int, head: Path, *key: str) -> Graph:
    """The last norm, and the head on the class token of each layer; the head may lie in a file of its own."""
    g = Graph(file, tokens=("T", width), class_tokens=("layers", width))
    g.output(g.norm("tokens", norm), "features", ("T", width))
    rows = g.norm("class_tokens", norm)
    g.stored |= Graph(head).stored
    classes = g.stored[".".join((*key, "bias"))]["shape"][0]
    g.output(g.linear(rows, *key), "lens", ("layers", classes))
    return g


def vit_s14_block(file: Path, heads: int, width: int, single: bool = False) -> Graph:
    """A layer of vit-s14, by the names of the first."""
    g = block_graph(file, "encoder.layer.0.", heads, width, single)
    y = g.norm("tokens", "norm1")
    q, k, v = (g.linear(y, f"attention.attention.{part}") for part in ("query", "key", "value"))
    y = g.linear(g.attend(q, k, v, heads, width), "attention.output.dense")
    x = g.branch("tokens", y, "attention", "layer_scale1.lambda1")
    y = g.linear(g.add("Gelu", g.linear(g.norm(x, "norm2"), "mlp.fc1")), "mlp.fc2")
    g.output(g.branch(x, y, "mlp", "layer_scale2.lambda1"), "after", ("T", heads * width))
    return g


def vit_s14() -> dict[str, Graph]:
    """Hugging Face's names of a DINOv2, and the head of vit-s14-cifar10."""
    config = json.loads((RES / "vit-s14" / "config.json").read_text())
    width, heads = config["hidden_size"], config["num_attention_heads"]
    side = config["image_size"] // config["patch_size"]
    file = RES / "vit-s14" / "model.safetensors"
    g = embed = Graph(file, images=(1, 3, "H", "W"))
    patches = "embeddings.patch_embeddings.projection"
    stride = [config["patch_size"]] * 2
    x = g.add("Conv", "images", g.weight(f"{patches}.weight"), g.weight(f"{patches}.bias"), strides=stride)
    table = g.weight("embeddings.position_embeddings")
    own, others = g.add("Split", table, g.constant([1, side**2]), outputs=2, axis=1)
    picture = g.add("Transpose", g.reshape(others, 1, side, side, width), perm=[0, 3, 1, 2])
    shape = g.add("Shape", x, start=2)
    cubic = dict(mode="cubic", cubic_coeff_a=-0.75, coordinate_transformation_mode="half_pixel", axes=[2, 3])
    x = g.add("Add", x, g.add("Resize", picture, "", "", shape, **cubic))  # (1, D, rows, columns)
    x = g.add("Transpose", g.reshape(x, width, -1), perm=[1, 0])  # (N, D)
    token = g.add("Add", g.reshape(g.weight("embeddings.cls_token"), 1, width), g.reshape(own, 1, width))
    g.output(g.add("Concat", token, x, axis=0), "embedded", ("T", width))
    return {
        "embed": embed,
        "block": vit_s14_block(file, heads, width // heads),
        "block-float32": vit_s14_block(file, heads, width // heads, single=True),
        "head": head_graph(file, "layernorm", width, RES / "vit-s14-cifar10" / "head.safetensors"),
    }


def tiny_cifar() -> dict[str, Graph]:
    """The names of this course."""
    config = json.loads((RES / "tiny-cifar" / "config.json").read_text())["model"]
    width, heads = config["hidden_dim"], config["num_heads"]
    file = RES / "tiny-cifar" / "best.safetensors"
    g = embed = Graph(file, images=(1, 3, "H", "W"))
    patches = "patch_embedding.projection"
    stride = [config["patch_size"]] * 2
    x = g.add("Conv", "images", g.weight(f"{patches}.weight"), g.weight(f"{patches}.bias"), strides=stride)
    x = g.add("Transpose", g.reshape(x, width, -1), perm=[1, 0])  # (N, D)
    x = g.add("Concat", g.reshape(g.weight("class_token.token"), 1, width), x, axis=0)
    g.output(g.add("Add", x, g.reshape(g.weight("positions.table"), -1, width)), "embedded", ("T", width))
    g = block = block_graph(file, "encoder.blocks.0.", heads, width // heads)
    q, k, v = g.add("Split", g.linear(g.norm("tokens", "norm1"), "attention.qkv"), outputs=3, axis=1, num_outputs=3)
    x = g.branch("tokens", g.linear(g.attend(q, k, v, heads, width // heads), "attention.projection"), "attention")
    y = g.linear(g.add("Gelu", g.linear(g.norm(x, "norm2"), "mlp.expand")), "mlp.contract")
    g.output(g.branch(x, y, "mlp"), "after", ("T", width))
    return {"embed": embed, "block": block, "head": head_graph(file, "encoder.norm", width, file, "head")}


def main() -> None:
    """Writes the parts of both models."""
    for name, model in (("vit-s14", vit_s14()), ("tiny-cifar", tiny_cifar())):
        for part, graph in model.items():
            graph.write(HERE / f"{name}-{part}.onnx")


if __name__ == "__main__":
    main()
