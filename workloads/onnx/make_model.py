#!/usr/bin/env python3
"""Makes ONNX models with random weights, and the declarations to run them with.

usage: make_model.py NAME [--folder FOLDER] [--batch N]

NAME: resnet50 (He et al. 2015, images of 224 x 224), bert_base (Devlin et al. 2018, 128 tokens),
resnet_tiny, bert_tiny, of the same operators and small, or detector_tiny, of what networks that find things
in images have besides. Writes NAME.onnx and NAME.yaml; every run writes the same bytes. Python 3.9 or later,
nothing else.
"""

import argparse
import hashlib
import math
import os
import random
import struct

IR_VERSION, OPERATORS = 8, 17
FLOAT, INT64 = 1, 7
SEED = 20261124
CHUNK = 1 << 20


# Protocol Buffers and the messages of onnx.proto, by field number.
def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    head = data(1, name)
    if isinstance(value, float):
        return head + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return head + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return head + data(4, value) + number(20, 3)
    return head + b"".join(number(8, each) for each in value) + number(20, 7)


def tensor(name, kind, shape, raw):
    return b"".join(number(1, side) for side in shape) + number(2, kind) + data(8, name) + data(9, raw)


def array(name, kind, shape):
    sides = b"".join(data(1, number(1, side)) for side in shape)
    return data(1, name) + data(2, data(1, number(1, kind) + data(2, sides)))


class Model:
    """A graph being written; `power` of an array is the mean of its squares, as it is expected."""

    def __init__(self, name):
        self.name, self.random = name, random.Random(SEED)
        self.nodes, self.tensors, self.inputs, self.outputs = [], [], [], []

    def node(self, operator, inputs, output, **attributes):
        """`output`: a name, or a list of them."""
        outputs = [output] if isinstance(output, str) else output
        names = b"".join(data(1, each) for each in inputs) + b"".join(data(2, each) for each in outputs)
        self.nodes.append(data(1, names + data(3, outputs[0]) + data(4, operator)
                               + b"".join(data(5, attribute(*pair)) for pair in attributes.items())))
        return output

    def constant(self, name, kind, shape, values):
        self.tensors.append(data(5, tensor(name, kind, shape, struct.pack(
            f"<{len(values)}{'f' if kind == FLOAT else 'q'}", *values))))
        return name

    def weights(self, name, shape, deviation):
        """Floats of one power of two, of random sign and fraction; returns the mean of their squares."""
        exponent = round(math.log2(deviation / 1.5275252))  # sqrt(7 / 3): of numbers in [1, 2)
        biased = exponent + 127
        high = bytes(byte & 0x80 | biased >> 1 for byte in range(256))
        low = bytes(byte & 0x7F | (biased & 1) << 7 for byte in range(256))
        count, parts = math.prod(shape), []
        for first in range(0, count, CHUNK):
            part = bytearray(self.random.randbytes(4 * min(CHUNK, count - first)))
            part[3::4] = part[3::4].translate(high)
            part[2::4] = part[2::4].translate(low)
            parts.append(bytes(part))
        self.tensors.append(data(5, tensor(name, FLOAT, shape, b"".join(parts))))
        return 7 / 3 * 4.0**exponent

    def write(self, path):
        graph = b"".join(self.nodes) + data(2, self.name) + b"".join(self.tensors)
        graph += b"".join(data(11, each) for each in self.inputs) + b"".join(data(12, each) for each in self.outputs)
        model = number(1, IR_VERSION) + data(2, "assay") + data(7, graph) + data(8, number(2, OPERATORS))
        with open(path, "wb") as file:
            file.write(model)
        return hashlib.sha256(model).hexdigest()


def resnet(name, batch, side, width, blocks, classes):
    """ResNet with bottlenecks (3, 4, 6, 3 of them are ResNet-50); normalisation is written out, not folded."""
    model = Model(name)
    model.inputs.append(array("image", FLOAT, (batch, 3, side, side)))

    def convolution(x, power, label, channels, filters, size, stride, gain=1.0):
        squares = model.weights(label + ".w", (filters, channels, size, size), math.sqrt(1 / (channels * size * size)))
        y = model.node("Conv", [x, label + ".w"], label, kernel_shape=[size, size], strides=[stride, stride],
                       pads=[size // 2] * 4)
        for part, value in (("scale", gain), ("bias", 0.0), ("mean", 0.0),
                            ("variance", channels * size * size * squares * power)):
            model.constant(f"{label}.{part}", FLOAT, (filters,), [value] * filters)
        return model.node("BatchNormalization", [y] + [f"{label}.{part}" for part in
                          ("scale", "bias", "mean", "variance")], label + ".norm", epsilon=1e-5)

    def relu(x):
        return model.node("Relu", [x], x + ".relu")

    x = relu(convolution("image", 1.0, "stem", 3, width, 7, 2))
    x = model.node("MaxPool", [x], "pooled", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels, power = width, 1.0
    for stage, count in enumerate(blocks):
        inner, outer = width << stage, 4 * width << stage
        for block in range(count):
            label, stride = f"s{stage}b{block}", 2 if stage > 0 and block == 0 else 1
            y = relu(convolution(x, power, label + ".in", channels, inner, 1, 1))
            y = relu(convolution(y, 0.5, label + ".middle", inner, inner, 3, stride))
            y = convolution(y, 0.5, label + ".out", inner, outer, 1, 1, gain=0.5)
            if block == 0:
                x, power = convolution(x, power, label + ".skip", channels, outer, 1, stride), 1.0
            x, channels = relu(model.node("Add", [x, y], label)), outer
            power = (power + 0.25) / 2 if block == 0 else power + 0.25
    x = model.node("Flatten", [model.node("GlobalAveragePool", [x], "mean")], "features", axis=1)
    model.weights("head.w", (classes, channels), math.sqrt(1 / channels))
    model.constant("head.b", FLOAT, (classes,), [0.0] * classes)
    model.node("Gemm", [x, "head.w", "head.b"], "logits", transB=1)
    model.outputs.append(array("logits", FLOAT, (batch, classes)))
    return (model, f"{{name: image, shape: [{batch}, 3, {side}, {side}], values: normal}}",
            f"{{name: logits, shape: [{batch}, {classes}]}}")


def bert(name, batch, length, layers, heads, width, vocabulary):
    """The encoder of BERT, from tokens to the last layer's rows; biases are zero, gains one."""
    model = Model(name)
    model.inputs.append(array("tokens", INT64, (batch, length)))
    model.weights("words", (vocabulary, width), 0.02)
    model.weights("positions", (length, width), 0.02)

    def norm(x, label):
        model.constant(label + ".g", FLOAT, (width,), [1.0] * width)
        model.constant(label + ".b", FLOAT, (width,), [0.0] * width)
        return model.node("LayerNormalization", [x, label + ".g", label + ".b"], label, axis=-1, epsilon=1e-12)

    def linear(x, label, inputs, outputs):
        model.weights(label + ".w", (inputs, outputs), 0.02)
        model.constant(label + ".b", FLOAT, (outputs,), [0.0] * outputs)
        return model.node("Add", [model.node("MatMul", [x, label + ".w"], label + ".product"), label + ".b"], label)

    model.constant("split", INT64, (4,), [batch, length, heads, width // heads])
    model.constant("rows", INT64, (3,), [batch, length, width])
    for constant, value in (("scale", math.sqrt(width / heads)), ("root2", math.sqrt(2)), ("one", 1.0), ("half", 0.5)):
        model.constant(constant, FLOAT, (), [value])
    x = model.node("Gather", ["words", "tokens"], "looked_up", axis=0)
    x = norm(model.node("Add", [x, "positions"], "embedded"), "embedding")
    for layer in range(layers):
        label = f"l{layer}."
        parts = {}
        for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            y = model.node("Reshape", [linear(x, label + part, width, width), "split"], label + part + ".split")
            parts[part] = model.node("Transpose", [y], label + part + ".heads", perm=order)
        y = model.node("Div", [model.node("MatMul", [parts["q"], parts["k"]], label + "scores"), "scale"], label + "scaled")
        y = model.node("MatMul", [model.node("Softmax", [y], label + "weights", axis=-1), parts["v"]], label + "mixed")
        y = model.node("Reshape", [model.node("Transpose", [y], label + "joined", perm=[0, 2, 1, 3]), "rows"], label + "rows")
        y = linear(y, label + "attention", width, width)
        x = norm(model.node("Add", [x, y], label + "middle"), label + "norm1")
        y = linear(x, label + "wide", width, 4 * width)
        erf = model.node("Erf", [model.node("Div", [y, "root2"], label + "over")], label + "erf")
        y = model.node("Mul", [y, model.node("Add", [erf, "one"], label + "gate")], label + "gated")
        y = linear(model.node("Mul", [y, "half"], label + "gelu"), label + "narrow", 4 * width, width)
        x = norm(model.node("Add", [x, y], label + "end"), label + "norm2")
    model.node("Identity", [x], "rows_out")
    model.outputs.append(array("rows_out", FLOAT, (batch, length, width)))
    return (model, f"{{name: tokens, type: i64, shape: [{batch}, {length}], max: {vocabulary - 1}}}",
            f"{{name: rows_out, shape: [{batch}, {length}, {width}]}}")


def detector(name, batch, side, width, classes):
    """Of two sizes of the picture, joined; gates, parts and shapes as exporters write them."""
    model = Model(name)
    model.inputs.append(array("image", FLOAT, (batch, 3, side, side)))

    def convolution(x, label, channels, filters, size, stride):
        model.weights(label + ".w", (filters, channels, size, size), math.sqrt(1 / (channels * size * size)))
        model.constant(label + ".b", FLOAT, (filters,), [0.125] * filters)
        return model.node("Conv", [x, label + ".w", label + ".b"], label, kernel_shape=[size, size],
                          strides=[stride, stride], auto_pad="SAME_UPPER")

    def whole(label, *values):
        return model.constant(label, INT64, (len(values),), values)

    x = model.node("HardSwish", [convolution("image", "stem", 3, 2 * width, 3, 2)], "stem.act")
    parts = model.node("Split", [x, whole("parts", width, width)], ["near", "far"], axis=1)
    low = model.node("MaxPool", [parts[1]], "low", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    low = convolution(low, "low.conv", width, width, 3, 1)
    low = model.node("Mul", [low, model.node("HardSigmoid", [low], "low.gate", alpha=1 / 6)], "low.act")
    model.constant("none", FLOAT, (0,), [])
    model.constant("twice", FLOAT, (4,), [1.0, 1.0, 2.0, 2.0])
    high = model.node("Resize", [low, "none", "twice"], "high", mode="linear",
                      coordinate_transformation_mode="half_pixel")
    x = model.node("Concat", [parts[0], high, parts[1]], "joined", axis=1)
    bounds = [model.constant("least", FLOAT, (), [0.0]), model.constant("most", FLOAT, (), [6.0])]
    x = model.node("Clip", [x] + bounds, "clipped")
    x = convolution(x, "heads", 3 * width, classes + 4, 1, 1)
    # The shape of the rest from that of the picture: batch, channels, all places.
    shape = model.node("Shape", [x], "shape")
    head = model.node("Slice", [shape, whole("zero", 0), whole("two", 2)], "shape.head")
    rows = model.node("Concat", [head, whole("rest", -1)], "rows.shape", axis=0)
    rows = model.node("Transpose", [model.node("Reshape", [x, rows], "rows")], "places", perm=[0, 2, 1])
    boxes = model.node("Slice", [rows, "zero", whole("four", 4), "two"], "boxes")
    scores = model.node("Slice", [rows, "four", whole("end", 2**63 - 1), "two"], "logits")
    scores = model.node("Sigmoid", [scores], "scores")
    best = model.node("ReduceMax", [scores], "best", axes=[2], keepdims=0)
    best = model.node("Unsqueeze", [best, "two"], "best.column")
    places = (side // 2) ** 2
    ramp = model.constant("ramp", FLOAT, (1, places, 1), [float(place) for place in range(places)])
    sure = model.node("Greater", [ramp, model.constant("half", FLOAT, (), [places / 2])], "sure")
    boxes = model.node("Where", [sure, boxes, model.node("Expand", [best, whole("wide", 1, 1, 4)], "spread")], "kept")
    # The rows backwards, and what is found first.
    ends = [whole("last", -1), whole("first", -(2**63) + 1), whole("one", 1), whole("minus", -1)]
    back = model.node("Slice", [boxes] + ends, "backwards")
    model.node("Concat", [back, scores], "found", axis=2)
    model.outputs.append(array("found", FLOAT, (batch, places, classes + 4)))
    return (model, f"{{name: image, shape: [{batch}, 3, {side}, {side}], values: normal}}",
            f"{{name: found, shape: [{batch}, {places}, {classes + 4}]}}")


MODELS = {
    "resnet50": (resnet, (224, 64, (3, 4, 6, 3), 1000), "ResNet-50"),
    "resnet_tiny": (resnet, (32, 8, (1, 1), 10), "a little residual network"),
    "bert_base": (bert, (128, 12, 12, 768, 30522), "the encoder of BERT-base"),
    "detector_tiny": (detector, (16, 4, 5), "a little detector"),
    "bert_tiny": (bert, (16, 2, 2, 32, 96), "a little encoder"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("name", choices=sorted(MODELS))
    parser.add_argument("--folder", default=".")
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    make, shape, words = MODELS[options.name]
    model, inputs, outputs = make(options.name, options.batch, *shape)
    digest = model.write(os.path.join(options.folder, options.name + ".onnx"))
    with open(os.path.join(options.folder, options.name + ".yaml"), "w", encoding="utf-8") as file:
        file.write(f"# Written with {options.name}.onnx by workloads/onnx/make_model.py.\n"
                   f"workload: {options.name}_b{options.batch}\nversion: 1\nkind: onnx\n"
                   f"description: {words} with random weights, by an ONNX file\nprecisions: [fp32, bf16]\n"
                   f"model:\n  path: {options.name}.onnx\n  sha256: {digest}\n"
                   f"inputs:\n  - {inputs}\noutputs:\n  - {outputs}\nitems: {options.batch}\n")


if __name__ == "__main__":
    main()
