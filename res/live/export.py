"""The graphs that a browser computes: vit-s14.onnx and tiny-cifar.onnx, without the weights.

    python -m pip install -e ".[extract]"
    python res/live/export.py

A graph holds no number that is learned. Each initialiser points, by file, offset and length (ONNX calls it external
data), into the safetensors file of the model as it is, so that the weights are there once and a browser loads that
same file. Matrices in half precision become single precision when a session starts.

Both graphs take `images` (1, 3, H, W), normalised, and give
    tokens      (T, D)       after the last norm
    queries.N   (h, T, d)    of layer N
    keys.N      (h, T, d)
    sums.N      (h, T)       log of the sum of exp(q k / sqrt(d)) over the keys, so that a weight is exp(score - sum)
    lens        (L + 1, K)   the head's scores for the class token before the first layer and after each

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
        files: the safetensors files that hold the weights, by the names under which a browser hands them over.
    """

    def __init__(self, files: dict[str, Path]):
        self.nodes, self.initializers, self.outputs = [], [], []
        self.stored, self.cast, self.counts = {}, {}, Counter()
        for name, path in files.items():
            with path.open("rb") as file:
                size = struct.unpack("<Q", file.read(8))[0]
                entries = json.loads(file.read(size))
            entries.pop("__metadata__", None)
            self.stored |= {key: (name, 8 + size, entry) for key, entry in entries.items()}

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes) -> str | list[str]:
        """Any node of one output or more."""
        self.counts[kind] += 1
        names = [f"{kind}.{self.counts[kind]}" + (f".{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names if outputs > 1 else names[0]

    def weight(self, key: str) -> str:
        """A stored tensor, in single precision."""
        if key not in self.cast:
            name, start, entry = self.stored[key]
            first, end = entry["data_offsets"]
            tensor = TensorProto(name=key, data_type=TYPES[entry["dtype"]], dims=entry["shape"])
            tensor.data_location = TensorProto.EXTERNAL
            for word, value in (("location", name), ("offset", start + first), ("length", end - first)):
                tensor.external_data.add(key=word, value=str(value))
            self.initializers.append(tensor)
            self.cast[key] = key if entry["dtype"] == "F32" else self.add("Cast", key, to=TensorProto.FLOAT)
        return self.cast[key]

    def constant(self, values: list, kind=TensorProto.INT64) -> str:
        """Numbers that are not learned: shapes, places."""
        tensor = helper.make_tensor(f"constant.{len(self.initializers)}", kind, [len(values)], values)
        self.initializers.append(tensor)
        return tensor.name

    def linear(self, x: str, key: str) -> str:
        """(T, in) -> (T, out); weights are stored (out, in)."""
        return self.add("Gemm", x, self.weight(f"{key}.weight"), self.weight(f"{key}.bias"), transB=1)

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

    def attention(self, q: str, k: str, v: str, heads: int, width: int, layer: int) -> str:
        """Three of (T, D) -> (T, D) before the projection; gives out queries, keys and the sums of a layer."""
        split = [self.reshape(x, 0, heads, width) for x in (q, k, v)]  # (T, h, d)
        q, k, v = (self.add("Transpose", x, perm=[1, 0, 2]) for x in split)  # (h, T, d)
        scaled = self.add("Mul", q, self.constant([width**-0.5], TensorProto.FLOAT))
        scores = self.add("MatMul", scaled, self.add("Transpose", k, perm=[0, 2, 1]))  # (h, T, T)
        weights = self.add("Softmax", scores, axis=-1)
        # The largest weight of a row is exp(largest score - sum): two maxima and T logarithms, not T x T exponentials.
        highest, top = (self.add("ReduceMax", x, self.constant([-1]), keepdims=0) for x in (scores, weights))
        self.output(q, f"queries.{layer}", (heads, "T", width))
        self.output(k, f"keys.{layer}", (heads, "T", width))
        self.output(self.add("Sub", highest, self.add("Log", top)), f"sums.{layer}", (heads, "T"))
        mixed = self.add("Transpose", self.add("MatMul", weights, v), perm=[1, 0, 2])  # (T, h, d)
        return self.reshape(mixed, 0, heads * width)

    def finish(self, x: str, class_tokens: list[str], norm: str, head: str, width: int) -> None:
        """The last norm, and the head on the class token of each layer."""
        self.output(self.norm(x, norm), "tokens", ("T", width))
        rows = self.norm(self.add("Concat", *class_tokens, axis=0), norm)  # (L + 1, D)
        classes = self.stored[f"{head}.bias" if head else "bias"][2]["shape"][0]
        self.output(self.linear(rows, head) if head else self.head(rows), "lens", (len(class_tokens), classes))

    def head(self, x: str) -> str:
        """The linear head of a file of its own."""
        return self.add("Gemm", x, self.weight("weight"), self.weight("bias"), transB=1)

    def first(self, x: str) -> str:
        """(T, D) -> (1, D), the class token."""
        return self.add("Slice", x, self.constant([0]), self.constant([1]), self.constant([0]))

    def write(self, path: Path) -> None:
        """Writes the graph; the same graph gives the same bytes."""
        image = helper.make_tensor_value_info("images", TensorProto.FLOAT, (1, 3, "H", "W"))
        graph = helper.make_graph(self.nodes, path.stem, [image], self.outputs, self.initializers)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, producer_name="res/live/export.py", ir_version=IR, opset_imports=[opset])
        path.write_bytes(model.SerializeToString(deterministic=True))
        print(f"{path.name}: {len(self.nodes)} nodes, {path.stat().st_size:,} bytes")


def vit_s14() -> Graph:
    """Hugging Face's names of a DINOv2, and the head of vit-s14-cifar10."""
    config = json.loads((RES / "vit-s14" / "config.json").read_text())
    width, heads = config["hidden_size"], config["num_attention_heads"]
    side = config["image_size"] // config["patch_size"]
    g = Graph(
        {
            "vit-s14.safetensors": RES / "vit-s14" / "model.safetensors",
            "vit-s14-cifar10.safetensors": RES / "vit-s14-cifar10" / "head.safetensors",
        }
    )
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
    x = g.add("Concat", token, x, axis=0)  # (T, D)
    class_tokens = [token]
    for layer in range(config["num_hidden_layers"]):
        block = f"encoder.layer.{layer}"
        y = g.norm(x, f"{block}.norm1")
        q, k, v = (g.linear(y, f"{block}.attention.attention.{part}") for part in ("query", "key", "value"))
        y = g.linear(g.attention(q, k, v, heads, width // heads, layer), f"{block}.attention.output.dense")
        x = g.add("Add", x, g.add("Mul", y, g.weight(f"{block}.layer_scale1.lambda1")))
        y = g.add("Gelu", g.linear(g.norm(x, f"{block}.norm2"), f"{block}.mlp.fc1"))
        x = g.add("Add", x, g.add("Mul", g.linear(y, f"{block}.mlp.fc2"), g.weight(f"{block}.layer_scale2.lambda1")))
        class_tokens.append(g.first(x))
    g.finish(x, class_tokens, "layernorm", "", width)
    return g


def tiny_cifar() -> Graph:
    """The names of this course."""
    config = json.loads((RES / "tiny-cifar" / "config.json").read_text())["model"]
    width, heads = config["hidden_dim"], config["num_heads"]
    g = Graph({"tiny-cifar.safetensors": RES / "tiny-cifar" / "best.safetensors"})
    patches = "patch_embedding.projection"
    stride = [config["patch_size"]] * 2
    x = g.add("Conv", "images", g.weight(f"{patches}.weight"), g.weight(f"{patches}.bias"), strides=stride)
    x = g.add("Transpose", g.reshape(x, width, -1), perm=[1, 0])  # (N, D)
    x = g.add("Concat", g.reshape(g.weight("class_token.token"), 1, width), x, axis=0)
    x = g.add("Add", x, g.reshape(g.weight("positions.table"), -1, width))  # (T, D)
    class_tokens = [g.first(x)]
    for layer in range(config["num_layers"]):
        block = f"encoder.blocks.{layer}"
        qkv = g.linear(g.norm(x, f"{block}.norm1"), f"{block}.attention.qkv")
        q, k, v = g.add("Split", qkv, outputs=3, axis=1, num_outputs=3)
        y = g.attention(q, k, v, heads, width // heads, layer)
        x = g.add("Add", x, g.linear(y, f"{block}.attention.projection"))
        y = g.add("Gelu", g.linear(g.norm(x, f"{block}.norm2"), f"{block}.mlp.expand"))
        x = g.add("Add", x, g.linear(y, f"{block}.mlp.contract"))
        class_tokens.append(g.first(x))
    g.finish(x, class_tokens, "encoder.norm", "head", width)
    return g


def main() -> None:
    """Writes both graphs."""
    vit_s14().write(HERE / "vit-s14.onnx")
    tiny_cifar().write(HERE / "tiny-cifar.onnx")


if __name__ == "__main__":
    main()
