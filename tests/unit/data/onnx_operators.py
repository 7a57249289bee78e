#!/usr/bin/env python3
"""Writes onnx_operators.jsonl: what ONNX's own reference and ONNX Runtime compute for a node each.

    python3 onnx_operators.py > onnx_operators.jsonl    (needs onnx and onnxruntime; run once, by hand)

A line is a case: the file of a model of one node (in hexadecimal digits), its inputs, and its outputs. What
is no input is an initializer, so that the shapes of the outputs follow from the file. A case that both compute must
come out the same by both; where one does not take it, the other one's values stand, and `by` says whose they are.
"""
import json
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

warnings.simplefilter("ignore")
onnxruntime.set_default_logger_severity(4)
RANDOM = np.random.default_rng(20261127)
CASES = []
END = 2**63 - 1


def f(*shape):
    return RANDOM.normal(size=shape).astype(np.float32) * 2


def ints(*values):
    return np.array(values, np.int64)


def case(name, operator, version, inputs, constants=(), outputs=1, by=None, **attributes):
    """`inputs`: arrays that are given; `constants`: (position, array or None) of further inputs; `by`: who alone is
    asked, where the other one does not do what the operator's text says.
    """
    CASES.append((name, operator, version, inputs, dict(constants), outputs, by, attributes))


def build(operator, version, inputs, constants, outputs, attributes):
    count = len(inputs) + len(constants)
    given, names, tensors, values = iter(inputs), [], [], []
    feeds = {}
    for place in range(count):
        name = "abcdefgh"[place]
        if place in constants:
            if constants[place] is None:
                names.append("")
                continue
            tensors.append(numpy_helper.from_array(constants[place], name))
        else:
            array = next(given)
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            values.append(helper.make_tensor_value_info(name, kind, array.shape))
            feeds[name] = array
        names.append(name)
    outs = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, outs, name="node", **attributes)
    graph = helper.make_graph([node], "case", values, [onnx.ValueInfoProto(name=out) for out in outs], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    inferred = onnx.shape_inference.infer_shapes(model)
    types = {value.name: value for value in list(inferred.graph.output) + list(inferred.graph.value_info)}
    del model.graph.output[:]
    model.graph.output.extend(types[out] for out in outs)
    return model, feeds, outs


def by_onnx(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds)


def by_runtime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"]).run(None, feeds)


def plain(name, array):
    """Nine digits are all that a number in f32 has."""
    return [name, list(array.shape), [float(f"{float(x):.9g}") for x in array.ravel()]]


def write():
    for name, operator, version, inputs, constants, outputs, alone, attributes in CASES:
        model, feeds, outs = build(operator, version, inputs, constants, outputs, attributes)
        results, why = {}, {}
        for by, compute in (("onnx", by_onnx), ("onnxruntime", by_runtime)):
            if alone not in (None, by):
                continue
            try:
                results[by] = [np.asarray(value) for value in compute(model, feeds)]
            except Exception as error:  # what one of them does not take
                why[by] = str(error).splitlines()[0]
        if not results:
            sys.exit(f"{name}: neither computes it: {why}")
        both = list(results.values())
        same = len(both) == 2 and all(a.shape == b.shape and np.allclose(a.astype(float), b.astype(float), 1e-4, 1e-5)
                                      for a, b in zip(*both))
        if len(both) == 2 and not same:
            sys.exit(f"{name}: they differ: {both}")
        if why:
            print(f"{name}: {why}", file=sys.stderr)
        print(json.dumps({
            "name": name, "by": " and ".join(results), "model": model.SerializeToString().hex(),
            "inputs": [plain(key, value) for key, value in feeds.items()],
            "outputs": [plain(key, value) for key, value in zip(outs, both[0])]}, separators=(",", ":")))


# ---- parts

X = f(2, 6, 3)
case("split by an attribute", "Split", 11, [X], outputs=2, axis=1, split=[2, 4])
case("split evenly before 13", "Split", 11, [X], outputs=3, axis=1)
case("split by an input", "Split", 13, [X], [(1, ints(1, 2, 3))], outputs=3, axis=-2)
case("split of the first axis", "Split", 13, [X], outputs=2)
case("split in a number of parts", "Split", 18, [f(7, 2)], outputs=3, num_outputs=3)
case("split with an empty part", "Split", 13, [f(4)], [(1, ints(4, 0))], outputs=2)
case("slice by attributes", "Slice", 9, [X], starts=[0, 1], ends=[END, -1], axes=[0, 1])
case("slice without axes", "Slice", 9, [X], starts=[1, 2], ends=[2, 1000])
case("slice by inputs", "Slice", 10, [X], [(1, ints(1)), (2, ints(5)), (3, ints(1)), (4, ints(2))])
case("slice backwards", "Slice", 13, [X], [(1, ints(-1)), (2, ints(-END - 1)), (3, ints(1)), (4, ints(-2))])
case("slice back to the second", "Slice", 13, [X], [(1, ints(100)), (2, ints(0)), (3, ints(-2)), (4, ints(-1))])
case("slice of far ends", "Slice", 13, [X], [(1, ints(-100, 1)), (2, ints(100, END)), (3, ints(2, 1))])
case("slice that is empty", "Slice", 13, [X], [(1, ints(4)), (2, ints(2)), (3, ints(1))])
case("slice with a long step", "Slice", 13, [X], [(1, ints(1)), (2, ints(END)), (3, ints(1)), (4, ints(END))])
case("concat", "Concat", 13, [f(2, 1, 3), f(2, 2, 3), f(2, 3, 3)], axis=1)
case("concat of the last axis", "Concat", 11, [f(2, 3), f(2, 1)], axis=-1)
case("gather backwards", "Gather", 13, [X], [(1, ints(-1, 0, 5))], axis=1)
case("gather one", "Gather", 13, [X], [(1, np.array(2, np.int64))], axis=1)

# ---- shapes

case("unsqueeze by an attribute", "Unsqueeze", 11, [f(2, 3)], axes=[0, 3])
case("unsqueeze by an input", "Unsqueeze", 13, [f(2, 3)], [(1, ints(-1, 1))])
case("squeeze by an attribute", "Squeeze", 11, [f(1, 2, 1, 3)], axes=[2])
case("squeeze by an input", "Squeeze", 13, [f(1, 2, 1, 3)], [(1, ints(0, -2))])
case("squeeze all", "Squeeze", 13, [f(1, 2, 1, 3)])
case("expand", "Expand", 13, [f(3, 1)], [(1, ints(2, 1, 4))])
case("expand by a shorter shape", "Expand", 8, [f(2, 3, 1)], [(1, ints(1, 2))])
case("shape", "Shape", 13, [X])
case("a part of a shape", "Shape", 15, [X], start=-2, end=10)
case("the end of a shape", "Shape", 19, [X], start=1)
case("constant of a shape", "ConstantOfShape", 9, [], [(0, ints(2, 3))])
case("constant of a shape with a value", "ConstantOfShape", 9, [], [(0, ints(3))],
     value=helper.make_tensor("v", TensorProto.INT64, [1], [-7]))
case("constant", "Constant", 13, [], value=numpy_helper.from_array(f(2, 2), "v"))
case("constant of floats", "Constant", 13, [], value_floats=[1.5, -2.25, 3.0])
case("constant of whole numbers", "Constant", 13, [], value_ints=[4, -5])
case("constant float", "Constant", 13, [], value_float=0.75)
case("tile", "Tile", 13, [f(2, 3)], [(1, ints(2, 2))])
case("reshape with zeros", "Reshape", 14, [f(2, 0, 3)], [(1, ints(3, 0))], allowzero=1)
case("flatten from behind", "Flatten", 13, [X], axis=-1)

# ---- padding

case("pad by an attribute", "Pad", 10, [f(2, 3)], pads=[0, 1, 2, 0], value=1.5)
case("pad by an input", "Pad", 13, [f(2, 3)], [(1, ints(1, 0, 0, 2)), (2, np.array(-1, np.float32))])
case("pad of some axes", "Pad", 18, [f(2, 3, 4)], [(1, ints(1, 2)), (2, None), (3, ints(-1))])
case("pad by reflection", "Pad", 13, [f(3, 4)], [(1, ints(2, 1, 1, 3))], mode="reflect")
case("pad by the edge", "Pad", 13, [f(3, 4)], [(1, ints(2, 1, 1, 3))], mode="edge")
case("pad by wrapping", "Pad", 19, [f(3, 4)], [(1, ints(2, 1, 1, 3))], mode="wrap")
case("pad that cuts", "Pad", 13, [f(4, 4)], [(1, ints(-1, 1, 0, -2))])

# ---- elements

case("where", "Where", 9, [np.array([[True], [False]]), f(3), f(2, 1)])
case("where of more dimensions", "Where", 16, [np.array([True, False, True]), f(2, 1, 3), f(1, 2, 1)])
case("clip by attributes", "Clip", 10, [f(3, 4)], min=-1.0, max=0.5)
case("clip by an attribute", "Clip", 10, [f(3, 4)], min=0.0)
case("clip by inputs", "Clip", 13, [f(3, 4)], [(1, np.array(-1, np.float32)), (2, np.array(1, np.float32))])
case("clip from above", "Clip", 12, [f(3, 4)], [(1, None), (2, np.array(0.5, np.float32))])
case("clip of nothing", "Clip", 11, [f(3, 4)])
case("clip by crossed bounds", "Clip", 13, [f(3, 4)], [(1, np.array(2, np.float32)), (2, np.array(-1, np.float32))])
case("hard swish", "HardSwish", 14, [f(5, 5) * 3])
case("hard sigmoid", "HardSigmoid", 10, [f(4, 4) * 3])
case("hard sigmoid as in networks", "HardSigmoid", 10, [f(4, 4) * 3], alpha=1 / 6)
case("sigmoid", "Sigmoid", 13, [f(4)])
case("leaky relu", "LeakyRelu", 10, [f(4)], alpha=0.1)
case("softplus", "Softplus", 10, [f(4) * 20])
case("dropout", "Dropout", 12, [f(4)])
for operator in ("Abs", "Floor", "Ceil", "Log", "Sin", "Cos"):
    case(operator, operator, 13, [abs(f(4)) + 1 if operator == "Log" else f(4)])
for operator in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"):
    case(operator, operator, 13, [np.float32([1, 2, 3, 2]), np.float32([[2], [3]])])
for operator in ("And", "Or"):
    case(operator, operator, 7, [np.array([True, True, False, False]), np.array([True, False, True, False])])
case("not", "Not", 10, [np.array([True, False])])
case("max of three", "Max", 13, [f(3), f(2, 1), f(1)])
case("min of two", "Min", 8, [f(3), f(2, 1)])
case("div of whole numbers", "Div", 14, [ints(-7, 7, 8), ints(2)])
case("cast to bool", "Cast", 13, [np.float32([0, 0.5, -3])], to=TensorProto.BOOL)
case("cast to i64", "Cast", 13, [np.float32([1.7, -1.7])], to=TensorProto.INT64)

# ---- rows

for operator in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"):
    old = 11 if operator == "ReduceSum" else 13 if operator == "ReduceMean" else 12
    case(operator + " by an attribute", operator, old, [X], axes=[1, -1], keepdims=0)
    case(operator + " by an input", operator, 18, [X], [(1, ints(0, 2))])
    case(operator + " of all", operator, 18, [X], keepdims=0)
case("mean of an axis of one", "ReduceMean", 13, [f(2, 1, 3)], axes=[1], keepdims=0)
case("sum of nothing", "ReduceSum", 13, [X], noop_with_empty_axes=1)
case("softmax before 13", "Softmax", 11, [f(2, 3, 4)], by="onnxruntime")
case("softmax before 13, of the last axis", "Softmax", 9, [f(2, 3, 4)], axis=2)
case("softmax", "Softmax", 13, [f(2, 3, 4)], axis=1)

# ---- images

IMAGE, RESIZED = f(1, 2, 5, 6), f(1, 1, 5, 6)
for mode in ("nearest", "linear"):
    for place in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"):
        version = 19 if place == "half_pixel_symmetric" else 13
        for label, scales in (("larger", [1, 1, 2, 1.5]), ("smaller", [1, 1, 0.6, 0.5])):
            case(f"resize {label}, {mode}, {place}", "Resize", version, [RESIZED],
                 [(1, None), (2, np.float32(scales))], mode=mode, coordinate_transformation_mode=place)
    case(f"resize to sizes, {mode}", "Resize", 13, [RESIZED], [(1, None), (2, None), (3, ints(1, 1, 8, 4))], mode=mode)
    case(f"resize to one, {mode}, pytorch_half_pixel", "Resize", 13, [RESIZED],
         [(1, None), (2, None), (3, ints(1, 1, 1, 3))], mode=mode, coordinate_transformation_mode="pytorch_half_pixel")
    case(f"resize of version 10, {mode}", "Resize", 10, [f(1, 1, 3, 2)], [(1, np.float32([1, 1, 2, 2]))], mode=mode)
for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
    for place in ("half_pixel", "asymmetric", "align_corners"):
        case(f"resize, nearest, {place}, {rounding}", "Resize", 13, [RESIZED],
             [(1, None), (2, None), (3, ints(1, 1, 10, 3))], mode="nearest", nearest_mode=rounding,
             coordinate_transformation_mode=place)
case("resize, tf_half_pixel_for_nn", "Resize", 11, [RESIZED], [(1, np.float32([])), (2, np.float32([1, 1, 2, 2]))],
     mode="nearest", coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="floor")
case("resize smaller, of version 10", "Resize", 10, [f(1, 1, 2, 4)], [(1, np.float32([1, 1, 0.6, 0.6]))],
     mode="nearest")
case("resize of some axes", "Resize", 18, [RESIZED], [(1, None), (2, np.float32([2, 0.5]))], axes=[2, 3], mode="linear")
for policy in ("not_larger", "not_smaller"):
    case(f"resize, {policy}", "Resize", 18, [RESIZED], [(1, None), (2, None), (3, ints(10, 9))], axes=[2, 3],
         keep_aspect_ratio_policy=policy, mode="nearest")
WEIGHTS = f(3, 2, 3, 3)
for padding in ("SAME_UPPER", "SAME_LOWER", "VALID"):
    case(f"conv, {padding}", "Conv", 11, [IMAGE], [(1, WEIGHTS)], auto_pad=padding, strides=[2, 2])
    case(f"max pool, {padding}", "MaxPool", 12, [IMAGE], by="onnxruntime", auto_pad=padding, kernel_shape=[2, 3],
         strides=[2, 1])
    case(f"average pool, {padding}", "AveragePool", 11, [IMAGE], auto_pad=padding, kernel_shape=[3, 3], strides=[2, 2])
case("max pool, ceil_mode", "MaxPool", 12, [IMAGE], ceil_mode=1, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 0, 0])
case("max pool, ceil_mode and padding", "MaxPool", 12, [IMAGE], ceil_mode=1, kernel_shape=[2, 2], strides=[3, 3],
     pads=[1, 1, 1, 1])
case("average pool, ceil_mode", "AveragePool", 11, [IMAGE], ceil_mode=1, kernel_shape=[3, 3], strides=[2, 2])
case("max pool, dilated", "MaxPool", 12, [IMAGE], dilations=[2, 2], kernel_shape=[2, 2])
case("global max pool", "GlobalMaxPool", 10, [IMAGE])

write()
