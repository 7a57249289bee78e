#!/usr/bin/env python3
"""A worker of assay that runs PyTorch: products, convolutions; prefill, tokens and training of GPT-2."""

import sys

import assay_worker
from assay_worker import Unsupported, reading


PRECISIONS = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp64": "float64"}


class Torch(assay_worker.Work):
    """What every work by PyTorch has in common."""

    framework, devices, precisions = "pytorch", ("cpu", "cuda"), tuple(PRECISIONS)

    def __init__(self, trial, tensors):
        import torch

        super().__init__(trial, tensors)
        self.torch, self.mode = torch, self.mode or "eager"
        # Its compilers in this process: others would run beside the samples.
        import torch._inductor.config
        torch._inductor.config.compile_threads = 1
        if self.backend == "cuda" and not torch.cuda.is_available():
            raise Unsupported("this PyTorch finds no CUDA device")
        if self.precision == "tf32" and self.backend == "cpu":
            raise Unsupported("PyTorch is not asked for tf32 on processors")
        self.at = torch.device(self.backend, self.index) if self.backend == "cuda" else torch.device("cpu")
        self.dtype = getattr(torch, PRECISIONS[self.precision])
        torch.set_num_threads(self.threads)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.precision == "tf32"
        torch.set_flush_denormal(trial["protocol"]["flush_denormals"])
        torch.set_grad_enabled(False)

    def load(self, entry, dtype=None):
        names = {"F64": "float64", "F32": "float32", "BF16": "bfloat16", "F16": "float16", "I32": "int32"}
        kind, shape, data = entry
        if kind not in names:
            raise Unsupported(f"PyTorch is handed no {kind}")
        tensor = self.torch.frombuffer(bytearray(data), dtype=getattr(self.torch, names[kind]))
        return tensor.reshape(shape).to(self.at, dtype=dtype, copy=True)

    def store(self, tensor):
        names = {"float64": "F64", "float32": "F32", "bfloat16": "BF16", "float16": "F16", "int32": "I32"}
        plain = tensor.detach().cpu().contiguous()
        return (names[str(plain.dtype).split(".")[1]], plain.shape,
                plain.view(self.torch.uint8).numpy().tobytes() if "numpy" in sys.modules
                else bytes(plain.reshape(-1).view(self.torch.uint8).tolist()))

    def synchronize(self):
        if self.backend == "cuda":
            self.torch.cuda.synchronize(self.at)

    def compiled(self, function):
        return self.torch.compile(function) if self.mode == "compile" else function

    def compilations(self):
        if self.mode != "compile":
            return 0
        from torch._dynamo.utils import counters

        return counters["stats"]["unique_graphs"]

    def device(self):
        if self.backend == "cpu":
            return super().device()
        properties = self.torch.cuda.get_device_properties(self.at)
        return {"backend": self.backend, "index": self.index, "name": properties.name, "vendor": "NVIDIA",
                "uuid": str(getattr(properties, "uuid", "")) or None, "type": "gpu", "simulated": False,
                "readings": {
                    "device.driver_version": reading(f"PyTorch {self.torch.__version__}", "PyTorch"),
                    "device.memory": reading(properties.total_memory, "PyTorch", "bytes")}}

    def cache(self):
        if self.mode != "compile":
            return None
        from torch._inductor.runtime.runtime_utils import cache_dir

        return cache_dir()

    def computes_in(self, dtype):
        wide = self.backend == "cuda" and self.torch.backends.cuda.matmul.allow_tf32
        return "tf32" if wide and dtype == "float32" else super().computes_in(dtype)

    def reports(self):
        return {"version": self.torch.__version__, "dtype": str(self.dtype).split(".")[1],
                "threads": self.torch.get_num_threads()}


class Gemm(assay_worker.Gemm, Torch):
    def product(self, transposed):
        return ((lambda a, b: self.torch.nn.functional.linear(a, b)) if transposed
                else (lambda a, b: self.torch.matmul(a, b)))


class Convolution(assay_worker.Convolution, Torch):
    """Channels last are strides to PyTorch."""

    def layer(self, shape):
        return lambda x, w: self.torch.nn.functional.conv2d(
            x, w, stride=shape.get("stride", 1), padding=shape.get("padding", 0), dilation=shape.get("dilation", 1),
            groups=shape.get("groups", 1))

    def images(self, entry):
        return self.load(entry).permute(0, 3, 1, 2)

    filters = images

    def laid_out(self, y):
        return y.permute(0, 2, 3, 1)


class Gpt2(Torch):
    """The model as workloads/models/gpt2.h describes it."""

    def read_model(self, dtype):
        weights = super().read_model(dtype)
        # A linear layer keeps (outputs, inputs).
        self.turned = [name for name in weights if name.startswith("h") and name.endswith(".w")]
        for name in self.turned:
            weights[name] = weights[name].t().contiguous()
        return weights

    def pool(self, entry):
        _, shape, data = entry
        return self.torch.frombuffer(bytearray(data), dtype=self.torch.int32).reshape(shape).long()

    def embed(self, tokens, position=0):
        w = self.weights
        return self.torch.nn.functional.embedding(tokens, w["wte"]) + w["wpe"][position:position + tokens.shape[1]]

    def transform(self, x, attend):
        """The layers; `attend` makes values of (layer, query, key, value), each (sequences, heads, length, ...)."""
        f, w = self.torch.nn.functional, self.weights
        sequences, length, width = x.shape
        for i in range(self.layers):
            h = f"h{i}."
            n = f.layer_norm(x, (width,), w[h + "ln1.g"], w[h + "ln1.b"], 1e-5)
            qkv = f.linear(n, w[h + "attn.w"], w[h + "attn.b"])
            q, k, v = (part.view(sequences, length, self.heads, -1).transpose(1, 2)
                       for part in qkv.split(width, dim=2))
            values = attend(i, q, k, v).transpose(1, 2).reshape(sequences, length, width)
            x = x + f.linear(values, w[h + "attn_proj.w"], w[h + "attn_proj.b"])
            n = f.layer_norm(x, (width,), w[h + "ln2.g"], w[h + "ln2.b"], 1e-5)
            n = f.gelu(f.linear(n, w[h + "fc.w"], w[h + "fc.b"]), approximate="tanh")
            x = x + f.linear(n, w[h + "fc_proj.w"], w[h + "fc_proj.b"])
        return x

    def head(self, x):
        f, w = self.torch.nn.functional, self.weights
        return f.linear(f.layer_norm(x, x.shape[-1:], w["lnf.g"], w["lnf.b"], 1e-5), w["wte"])

    def causal(self, _, q, k, v):
        return self.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, tokens):
        return self.head(self.transform(self.embed(tokens), self.causal))


class Prefill(Gpt2):
    """Logits of every position."""

    def prepare(self):
        self.weights = self.read_model(self.dtype)
        self.take(self.tensors)
        self.model = self.compiled(self.forward)
        self.logits = None

    def take(self, tensors):
        self.batches = self.pool(tensors["tokens"])

    def iterate(self, number):
        self.logits = self.model(self.batches[number % len(self.batches)].to(self.at))

    def outputs(self):
        return {"logits": self.store(self.logits)}


class Generation(assay_worker.Generation, Gpt2):
    """Keys and values of a request in one array of each layer, of which a step reads what is there."""

    def begin(self):
        sequences, room, width = self.trial["batch"], self.prompt + self.output, self.weights["wte"].shape[1]
        shape = (self.layers, 2, sequences, self.heads, room, width // self.heads)
        self.pairs = self.torch.zeros(shape, dtype=self.dtype, device=self.at)
        self.text = self.torch.zeros((sequences, room), dtype=self.torch.int64, device=self.at)
        self.first_pass, self.next_pass = self.compiled(self.pass_over_prompts), self.compiled(self.pass_over_token)

    def pass_over_prompts(self, prompts):
        def attend(layer, q, k, v):
            self.pairs[layer, 0, :, :, :self.prompt] = k
            self.pairs[layer, 1, :, :, :self.prompt] = v
            return self.causal(layer, q, k, v)

        self.text[:, :self.prompt] = prompts
        return self.choose(self.transform(self.embed(prompts), attend), self.prompt - 1)

    def pass_over_token(self, position):
        def attend(layer, q, k, v):
            keys, values = self.pairs[layer, :, :, :, :position + 1]
            keys[:, :, position] = k[:, :, 0]
            values[:, :, position] = v[:, :, 0]
            return self.torch.nn.functional.scaled_dot_product_attention(q, keys, values)

        tokens = self.text[:, position:position + 1]
        return self.choose(self.transform(self.embed(tokens, position), attend), position)

    def choose(self, x, position):
        logits = self.head(x[:, -1])
        self.text[:, position + 1] = logits.argmax(-1)
        return logits

    def first(self, prompts):
        self.logits = self.first_pass(prompts.to(self.at))

    def next(self, position):
        self.logits = self.next_pass(position)

    def made(self, count):
        return self.text[:, self.prompt:self.prompt + count].int()


class Training(Gpt2):
    """A step: forward, backward, AdamW on weights in fp32, of which narrower precisions use a copy."""

    def prepare(self):
        torch = self.torch
        torch.set_grad_enabled(True)
        self.weights = self.read_model(torch.float32)
        self.masters = {name: weight.requires_grad_() for name, weight in self.weights.items()}
        self.narrow = self.dtype != torch.float32
        if self.narrow:
            self.weights = {name: weight.detach().to(self.dtype).requires_grad_()
                            for name, weight in self.masters.items()}
        settings = self.trial["workload"]["optimizer"]
        decays = [weight for name, weight in self.masters.items() if weight.dim() == 2]
        others = [weight for name, weight in self.masters.items() if weight.dim() != 2]
        self.optimizer = torch.optim.AdamW(
            [{"params": decays, "weight_decay": settings["weight_decay"]},
             {"params": others, "weight_decay": 0.0}], lr=settings["learning_rate"], eps=settings["epsilon"],
            betas=(settings["beta1"], settings["beta2"]), fused=True)
        self.steps = 0
        self.take(self.tensors)
        self.model = self.compiled(self.loss_of)

    def take(self, tensors):
        self.batches, self.targets = self.pool(tensors["tokens"]), self.pool(tensors["targets"])

    def loss_of(self, tokens, targets):
        logits = self.forward(tokens).float()
        return self.torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def iterate(self, number):
        at = number % len(self.batches)
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = assay_worker.learning_rate(self.trial, self.steps)
        for weight in self.weights.values():
            weight.grad = None
        self.loss = self.model(self.batches[at].to(self.at), self.targets[at].to(self.at))
        self.loss.backward()
        if self.narrow:
            for name, master in self.masters.items():
                master.grad = self.weights[name].grad.float()
        self.optimizer.step()
        if self.narrow:
            with self.torch.no_grad():
                for name, master in self.masters.items():
                    self.weights[name].copy_(master)

    def arrays(self, lead):
        """Weights and moments as they are now, in the layout of the file."""
        out = {}
        for name, master in self.masters.items():
            state = self.optimizer.state.get(master) or {}
            zeros = self.torch.zeros_like(master)
            for kind, array in (("w.", master), ("m.", state.get("exp_avg", zeros)),
                                ("v.", state.get("exp_avg_sq", zeros))):
                out[lead + kind + name] = self.laid_out(name, array)
        return out

    def laid_out(self, name, array):
        return self.store(array.detach().t().contiguous() if name in self.turned else array.detach())

    def before(self):
        self.kept = self.arrays("")

    def outputs(self):
        gradients = {"g." + name: self.laid_out(name, master.grad) for name, master in self.masters.items()}
        return {**self.kept, **gradients, **self.arrays("next."), "loss": self.store(self.loss.detach().reshape(1))}


KINDS = {"gemm": Gemm, "convolution": Convolution, "batched_inference": Prefill, "generation": Generation,
         "training_step": Training}

if __name__ == "__main__":
    assay_worker.serve("pytorch 1", KINDS)
