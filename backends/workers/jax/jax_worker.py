#!/usr/bin/env python3
"""A worker of assay that runs JAX: products, convolutions; prefill, tokens and training of GPT-2."""

import os

import numpy

import assay_worker
from assay_worker import Unsupported, from_numpy, reading, to_numpy

PRECISIONS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp64": "float64"}


class Jax(assay_worker.Work):
    """What every work by JAX has in common."""

    framework, devices, precisions = "jax", ("cpu", "cuda", "tpu"), tuple(PRECISIONS)

    def __init__(self, trial, tensors):
        super().__init__(trial, tensors)
        # Its threads are as many as the processors that it may use when it begins.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:self.threads])
        os.environ["JAX_PLATFORMS"] = self.backend
        import jax

        self.jax, self.np, self.count = jax, jax.numpy, 0
        jax.config.update("jax_enable_x64", self.precision == "fp64")
        jax.config.update("jax_default_matmul_precision", "highest")  # fp32 is not tf32 or bf16
        jax.monitoring.register_event_duration_secs_listener(self.note)
        try:
            self.at = jax.devices(self.backend)[self.index]
        except (RuntimeError, IndexError) as reason:
            raise Unsupported(f"this JAX has no device {trial['device']}: {reason}") from None
        jax.config.update("jax_default_device", self.at)
        self.dtype = self.np.dtype(PRECISIONS[self.precision])
        self.result = None

    def note(self, event, _, **__):
        self.count += event == "/jax/core/compile/backend_compile_duration"

    def compilations(self):
        return self.count

    def compiled(self, function, *donated):
        return self.jax.jit(function, donate_argnums=donated)

    def load(self, entry, dtype=None):
        return self.jax.device_put(self.np.asarray(to_numpy(entry), dtype), self.at)

    def store(self, array):
        return from_numpy(self.jax.device_get(array))

    def synchronize(self):
        self.jax.block_until_ready(self.result)

    def device(self):
        if self.backend == "cpu":
            return super().device()
        limit = (self.at.memory_stats() or {}).get("bytes_limit")
        readings = {"device.driver_version": reading(self.at.client.platform_version, "JAX")}
        if limit:
            readings["device.memory"] = reading(limit, "JAX", "bytes")
        return {"backend": self.backend, "index": self.index, "name": self.at.device_kind,
                "vendor": "Google" if self.backend == "tpu" else "NVIDIA", "uuid": None,
                "type": "gpu" if self.backend == "cuda" else "accelerator", "simulated": False, "readings": readings}

    def reports(self):
        return {"version": self.jax.__version__, "dtype": self.dtype.name,
                "threads": len(os.sched_getaffinity(0))}

    def cache(self):
        return self.jax.config.jax_compilation_cache_dir


class Gemm(assay_worker.Gemm, Jax):
    def product(self, transposed):
        return lambda a, b: self.np.matmul(a, b.T if transposed else b)


class Convolution(assay_worker.Convolution, Jax):
    def layer(self, shape):
        return lambda x, w: self.jax.lax.conv_general_dilated(
            x, w, window_strides=[shape.get("stride", 1)] * 2, padding=[[shape.get("padding", 0)] * 2] * 2,
            rhs_dilation=[shape.get("dilation", 1)] * 2, feature_group_count=shape.get("groups", 1),
            dimension_numbers=("NHWC", "OHWI", "NHWC"))


class Gpt2(Jax):
    """The model as workloads/models/gpt2.h describes it."""

    def norm(self, x, gain, bias):
        wide = x.astype(self.np.float32)
        centred = wide - wide.mean(-1, keepdims=True)
        scale = self.jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
        return (centred * scale).astype(x.dtype) * gain + bias

    def transform(self, w, x, attend):
        """The layers; `attend` makes values of (layer, query, key, value), each (sequences, length, heads, ...)."""
        sequences, length, width = x.shape
        for i in range(self.layers):
            h = f"h{i}."
            qkv = self.norm(x, w[h + "ln1.g"], w[h + "ln1.b"]) @ w[h + "attn.w"] + w[h + "attn.b"]
            q, k, v = (part.reshape(sequences, length, self.heads, -1) for part in self.np.split(qkv, 3, -1))
            values = attend(i, q, k, v).reshape(sequences, length, width)
            x = x + (values @ w[h + "attn_proj.w"] + w[h + "attn_proj.b"])
            n = self.norm(x, w[h + "ln2.g"], w[h + "ln2.b"]) @ w[h + "fc.w"] + w[h + "fc.b"]
            x = x + (self.jax.nn.gelu(n, approximate=True) @ w[h + "fc_proj.w"] + w[h + "fc_proj.b"])
        return x

    def head(self, w, x):
        return self.norm(x, w["lnf.g"], w["lnf.b"]) @ w["wte"].T

    def causal(self, _, q, k, v):
        return self.jax.nn.dot_product_attention(q, k, v, is_causal=True)

    def forward(self, w, tokens):
        x = w["wte"][tokens] + w["wpe"][:tokens.shape[1]]
        return self.head(w, self.transform(w, x, self.causal))


class Prefill(Gpt2):
    """Logits of every position."""

    def prepare(self):
        self.weights = self.read_model(self.dtype)
        self.take(self.tensors)
        self.model = self.compiled(self.forward)

    def take(self, tensors):
        self.batches = self.pool(tensors["tokens"])

    def iterate(self, number):
        self.result = self.model(self.weights, self.batches[number % len(self.batches)])

    def outputs(self):
        return {"logits": self.store(self.result)}


class Generation(assay_worker.Generation, Gpt2):
    """Keys and values in arrays as long as a request, given to each step for good, which masks what is ahead."""

    def begin(self):
        sequences, room, width = self.trial["batch"], self.prompt + self.output, self.weights["wte"].shape[1]
        keys = self.np.zeros((sequences, room, self.heads, width // self.heads), self.dtype)
        self.pairs = [(keys + 0, keys + 0) for _ in range(self.layers)]
        self.text = self.np.zeros((sequences, room), self.np.int32)
        self.first_pass = self.compiled(self.pass_over_prompts, 1, 2)
        self.next_pass = self.compiled(self.pass_over_token, 1, 2)

    def pass_over_prompts(self, w, cache, text, prompts):
        def attend(layer, q, k, v):
            cache[layer] = tuple(old.at[:, :self.prompt].set(new) for old, new in zip(cache[layer], (k, v)))
            return self.causal(layer, q, k, v)

        x = self.transform(w, w["wte"][prompts] + w["wpe"][:self.prompt], attend)
        return self.choose(w, cache, text.at[:, :self.prompt].set(prompts), x, self.prompt)

    def pass_over_token(self, w, cache, text, position):
        seen = (self.np.arange(text.shape[1]) <= position)[None, None, None]

        def attend(layer, q, k, v):
            cache[layer] = tuple(self.jax.lax.dynamic_update_slice_in_dim(old, new, position, 1)
                                 for old, new in zip(cache[layer], (k, v)))
            return self.jax.nn.dot_product_attention(q, *cache[layer], mask=seen)

        token = self.jax.lax.dynamic_slice_in_dim(text, position, 1, 1)
        x = self.transform(w, w["wte"][token] + w["wpe"][position], attend)
        return self.choose(w, cache, text, x, position + 1)

    def choose(self, w, cache, text, x, behind):
        logits = self.head(w, x[:, -1])
        return cache, text.at[:, behind].set(logits.argmax(-1).astype(text.dtype)), logits

    def keep(self, result):
        self.result = self.pairs, self.text, self.logits = result

    def first(self, prompts):
        self.keep(self.first_pass(self.weights, self.pairs, self.text, prompts))

    def next(self, position):
        self.keep(self.next_pass(self.weights, self.pairs, self.text, position))

    def made(self, count):
        return self.text[:, self.prompt:self.prompt + count]


class Training(Gpt2):
    """A step: forward, backward, AdamW on weights in fp32, of which narrower precisions use a copy."""

    def prepare(self):
        weights = self.read_model(self.np.float32)
        self.state = {"w": weights, "m": {name: self.np.zeros_like(w) for name, w in weights.items()},
                      "v": {name: self.np.zeros_like(w) for name, w in weights.items()}}
        self.steps = 0
        self.take(self.tensors)
        self.model = self.compiled(self.step, 0)

    def take(self, tensors):
        self.batches, self.targets = self.pool(tensors["tokens"]), self.pool(tensors["targets"])

    def loss_of(self, weights, tokens, targets):
        logits = self.forward({name: w.astype(self.dtype) for name, w in weights.items()}, tokens)
        logits = self.jax.nn.log_softmax(logits.astype(self.np.float32))
        return -self.np.take_along_axis(logits, targets[..., None], -1).mean()

    def step(self, state, tokens, targets, step):
        loss, gradients = self.jax.value_and_grad(self.loss_of)(state["w"], tokens, targets)
        new = {"w": {}, "m": {}, "v": {}}
        for name, gradient in gradients.items():
            new["w"][name], new["m"][name], new["v"][name] = assay_worker.adamw(
                self.trial["workload"]["optimizer"], step, self.np.sqrt, state, name, gradient)
        return new, gradients, loss

    def iterate(self, number):
        at = number % len(self.batches)
        self.steps += 1
        step = numpy.array(assay_worker.adamw_step(self.trial, self.steps), numpy.float32)
        self.result = self.model(self.state, self.batches[at], self.targets[at], step)
        self.state, self.gradients, self.loss = self.result

    def arrays(self, lead):
        return {f"{lead}{kind}.{name}": self.store(array)
                for kind, arrays in self.state.items() for name, array in arrays.items()}

    def before(self):
        self.kept = self.arrays("")

    def outputs(self):
        gradients = {"g." + name: self.store(array) for name, array in self.gradients.items()}
        return {**self.kept, **gradients, **self.arrays("next."), "loss": self.store(self.loss.reshape(1))}


KINDS = {"gemm": Gemm, "convolution": Convolution, "batched_inference": Prefill, "generation": Generation,
         "training_step": Training}

if __name__ == "__main__":
    assay_worker.serve("jax 1", KINDS)
