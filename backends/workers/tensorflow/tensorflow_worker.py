#!/usr/bin/env python3
"""A worker of assay that runs TensorFlow: products, convolutions; prefill, tokens and training of GPT-2."""

import os

import numpy

import assay_worker
from assay_worker import from_numpy, to_numpy

PRECISIONS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp64": "float64"}


class TensorFlow(assay_worker.Work):
    """What every work by TensorFlow has in common."""

    framework, precisions = "tensorflow", tuple(PRECISIONS)

    def __init__(self, trial, tensors):
        super().__init__(trial, tensors)
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        import tensorflow

        self.tf, self.functions = tensorflow, []
        tensorflow.config.threading.set_intra_op_parallelism_threads(self.threads)
        tensorflow.config.threading.set_inter_op_parallelism_threads(1)
        self.dtype = getattr(tensorflow, PRECISIONS[self.precision])

    def compiled(self, function):
        self.functions.append(self.tf.function(function, jit_compile=self.mode == "xla"))
        return self.functions[-1]

    def compilations(self):
        return sum(function.experimental_get_tracing_count() for function in self.functions)

    def load(self, entry, dtype=None):
        return self.tf.constant(to_numpy(entry).astype((dtype or self.dtype).as_numpy_dtype))

    def store(self, tensor):
        return from_numpy(tensor.numpy())

    def reports(self):
        return {"version": self.tf.__version__, "dtype": self.dtype.name,
                "threads": self.tf.config.threading.get_intra_op_parallelism_threads()}


class Gemm(assay_worker.Gemm, TensorFlow):
    def product(self, transposed):
        return lambda a, b: self.tf.matmul(a, b, transpose_b=transposed)


class Convolution(assay_worker.Convolution, TensorFlow):
    """Filters are last, too."""

    def filters(self, entry):
        return self.tf.transpose(self.load(entry), (1, 2, 3, 0))

    def layer(self, shape):
        beside = [shape.get("padding", 0)] * 2
        return lambda x, w: self.tf.nn.conv2d(x, w, strides=shape.get("stride", 1),
                                              padding=[[0, 0], beside, beside, [0, 0]],
                                              dilations=shape.get("dilation", 1))


class Gpt2(TensorFlow):
    """The model as workloads/models/gpt2.h describes it."""

    def norm(self, x, gain, bias):
        tf = self.tf
        wide = tf.cast(x, tf.float32)
        mean, variance = tf.nn.moments(wide, -1, keepdims=True)
        return tf.cast((wide - mean) * tf.math.rsqrt(variance + 1e-5), x.dtype) * gain + bias

    def linear(self, x, w, name):
        width = x.shape[-1]
        flat = self.tf.matmul(self.tf.reshape(x, (-1, width)), w[name + ".w"]) + w[name + ".b"]
        return self.tf.reshape(flat, (*x.shape[:-1], flat.shape[-1]))

    def attention(self, q, k, v, mask):
        tf = self.tf
        scores = tf.cast(tf.matmul(q, k, transpose_b=True), tf.float32) * q.shape[-1] ** -0.5
        return tf.matmul(tf.cast(tf.nn.softmax(scores + mask), v.dtype), v)

    def transform(self, w, x, attend):
        """The layers; `attend` makes values of (layer, query, key, value), each (sequences, heads, length, ...)."""
        tf = self.tf
        sequences, length, width = x.shape
        for i in range(self.layers):
            h = f"h{i}."
            qkv = self.linear(self.norm(x, w[h + "ln1.g"], w[h + "ln1.b"]), w, h + "attn")
            values = attend(i, *tf.unstack(tf.transpose(tf.reshape(
                qkv, (sequences, length, 3, self.heads, width // self.heads)), (2, 0, 3, 1, 4))))
            values = tf.reshape(tf.transpose(values, (0, 2, 1, 3)), (sequences, length, width))
            x = x + self.linear(values, w, h + "attn_proj")
            n = self.linear(self.norm(x, w[h + "ln2.g"], w[h + "ln2.b"]), w, h + "fc")
            x = x + self.linear(tf.nn.gelu(n, approximate=True), w, h + "fc_proj")
        return x

    def head(self, w, x):
        flat = self.tf.reshape(self.norm(x, w["lnf.g"], w["lnf.b"]), (-1, x.shape[-1]))
        logits = self.tf.matmul(flat, w["wte"], transpose_b=True)
        return self.tf.reshape(logits, (*x.shape[:-1], logits.shape[-1]))

    def causal(self, _, q, k, v):
        length = q.shape[-2]
        mask = numpy.triu(numpy.full((length, length), -1e30, numpy.float32), 1)
        return self.attention(q, k, v, self.tf.constant(mask))

    def forward(self, w, tokens):
        x = self.tf.gather(w["wte"], tokens) + w["wpe"][:tokens.shape[1]]
        return self.head(w, self.transform(w, x, self.causal))


class Prefill(Gpt2):
    """Logits of every position."""

    def prepare(self):
        weights = self.read_model(self.dtype)
        self.take(self.tensors)
        self.model = self.compiled(lambda tokens: self.forward(weights, tokens))

    def take(self, tensors):
        self.batches = self.pool(tensors["tokens"])

    def iterate(self, number):
        self.logits = self.model(self.tf.constant(self.batches[number % len(self.batches)]))

    def outputs(self):
        return {"logits": self.store(self.logits)}


class Generation(assay_worker.Generation, Gpt2):
    """Keys and values of a request in variables of its whole length; a step masks what is ahead of it."""

    def begin(self):
        tf = self.tf
        sequences, room, width = self.trial["batch"], self.prompt + self.output, self.weights["wte"].shape[1]
        shape = (sequences, self.heads, room, width // self.heads)
        self.pairs = [[tf.Variable(tf.zeros(shape, self.dtype)) for _ in "kv"] for _ in range(self.layers)]
        self.text = tf.Variable(tf.zeros((sequences, room), tf.int32))
        self.first_pass, self.next_pass = self.compiled(self.pass_over_prompts), self.compiled(self.pass_over_token)

    def pass_over_prompts(self, prompts):
        tf, w = self.tf, self.weights

        def attend(layer, q, k, v):
            for old, new in zip(self.pairs[layer], (k, v)):
                old.assign(tf.pad(new, [[0, 0], [0, 0], [0, self.output], [0, 0]]))
            return self.causal(layer, q, k, v)

        x = self.transform(w, tf.gather(w["wte"], prompts) + w["wpe"][:self.prompt], attend)
        self.text.assign(tf.pad(prompts, [[0, 0], [0, self.output]]))
        return self.choose(x, self.prompt)

    def pass_over_token(self, position):
        tf, w, places = self.tf, self.weights, self.tf.range(self.text.shape[1])
        mask = tf.where(places <= position, 0.0, -1e30)

        def attend(layer, q, k, v):
            here = (places == position)[:, None]
            return self.attention(q, *(old.assign(tf.where(here, new, old)).read_value()
                                       for old, new in zip(self.pairs[layer], (k, v))), mask)

        token = tf.gather(self.text, position, axis=1)[:, None]
        return self.choose(self.transform(w, tf.gather(w["wte"], token) + w["wpe"][position], attend), position + 1)

    def choose(self, x, behind):
        tf = self.tf
        logits = self.head(self.weights, x[:, -1])
        chosen = tf.argmax(logits, -1, tf.int32)[:, None]
        self.text.assign(tf.where(tf.range(self.text.shape[1]) == behind, chosen, self.text))
        return logits

    def first(self, prompts):
        self.logits = self.first_pass(self.tf.constant(prompts))

    def next(self, position):
        self.logits = self.next_pass(self.tf.constant(position))

    def made(self, count):
        return self.text[:, self.prompt:self.prompt + count]


class Training(Gpt2):
    """A step: forward, backward, AdamW on weights in fp32, of which narrower precisions use a copy."""

    def prepare(self):
        tf = self.tf
        self.state = {"w": {name: tf.Variable(w) for name, w in self.read_model(tf.float32).items()}}
        for kind in "mv":
            self.state[kind] = {name: tf.Variable(tf.zeros_like(w)) for name, w in self.state["w"].items()}
        self.steps = 0
        self.take(self.tensors)
        self.model = self.compiled(self.step)

    def take(self, tensors):
        self.batches, self.targets = self.pool(tensors["tokens"]), self.pool(tensors["targets"])

    def step(self, tokens, targets, step):
        tf = self.tf
        names = list(self.state["w"])
        with tf.GradientTape() as tape:
            logits = self.forward({name: tf.cast(w, self.dtype) for name, w in self.state["w"].items()}, tokens)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, tf.cast(logits, tf.float32)))
        gradients = {name: tf.convert_to_tensor(gradient) for name, gradient in
                     zip(names, tape.gradient(loss, [self.state["w"][name] for name in names]))}
        for name in names:
            new = assay_worker.adamw(self.trial["workload"]["optimizer"], step, tf.sqrt, self.state, name,
                                     gradients[name])
            for kind, array in zip("wmv", new):
                self.state[kind][name].assign(array)
        return loss, gradients

    def iterate(self, number):
        at = number % len(self.batches)
        self.steps += 1
        step = self.tf.constant(numpy.array(assay_worker.adamw_step(self.trial, self.steps), numpy.float32))
        self.loss, self.gradients = self.model(self.tf.constant(self.batches[at]), self.tf.constant(self.targets[at]),
                                               step)

    def arrays(self, lead):
        return {f"{lead}{kind}.{name}": self.store(array)
                for kind, arrays in self.state.items() for name, array in arrays.items()}

    def before(self):
        self.kept = self.arrays("")

    def outputs(self):
        gradients = {"g." + name: self.store(array) for name, array in self.gradients.items()}
        return {**self.kept, **gradients, **self.arrays("next."), "loss": self.store(self.tf.reshape(self.loss, [1]))}


KINDS = {"gemm": Gemm, "convolution": Convolution, "batched_inference": Prefill, "generation": Generation,
         "training_step": Training}

if __name__ == "__main__":
    assay_worker.serve("tensorflow 1", KINDS)
