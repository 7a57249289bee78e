#!/usr/bin/env python3
"""A worker of assay that runs PyTorch: products, prefill and training of GPT-2, eager or compiled.

The upper half speaks the worker protocol (harness/runner/PROTOCOL.md) for any work, with Python's
standard library alone; the lower half is PyTorch's. Weights and inputs come from assay's files, the
outputs go back, and assay compares them with its reference.
"""

import json
import math
import mmap
import os
import select
import struct
import sys
import time

SECOND_NS = 10**9
SIZES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "I32": 4, "I8": 1}


class Unsupported(Exception):
    """What this worker cannot do, as the trial's reason."""


# ---- files of tensors (https://github.com/huggingface/safetensors#format) ----

def read_tensors(path):
    """{name: (dtype, shape, memoryview of the data)}; the file stays mapped as long as they live."""
    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    length, = struct.unpack_from("<Q", data)
    header = json.loads(bytes(data[8:8 + length]))
    return {name: (entry["dtype"], entry["shape"],
                   data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]])
            for name, entry in header.items() if name != "__metadata__"}


def write_tensors(path, tensors):
    """`tensors`: {name: (dtype, shape, bytes)}."""
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        size = memoryview(data).nbytes
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


# ---- the protocol ----

class Link:
    """Descriptors 3 and 4, a JSON object a line."""

    def __init__(self):
        self.out = os.fdopen(4, "w", encoding="utf-8")
        self.heard = b""

    def say(self, **message):
        self.out.write(json.dumps(message) + "\n")
        self.out.flush()

    def hear(self, wait=True):
        """The harness's next message; None: there is none yet."""
        while b"\n" not in self.heard:
            if not select.select([3], [], [], None if wait else 0)[0]:
                return None
            data = os.read(3, 1 << 16)
            if not data:
                sys.exit(2)
            self.heard += data
        line, self.heard = self.heard.split(b"\n", 1)
        return json.loads(line)


class Trial:
    """
    A trial of a work: an object with device(), take(), iterate(), synchronize() and outputs(), and with
    before() where outputs() are of one iteration and of what was before it.
    """

    def __init__(self, link, trial, work):
        self.link, self.work, self.protocol = link, work, trial["protocol"]
        self.each = trial["scenario"] == "single_stream"
        self.iterations = self.handed = self.block = self.count = 0
        self.window_first = -1
        self.unsent = {"wall_ns": [], "gap_ns": []}
        self.sent = 0
        self.end_ns = self.told_ns = self.spot_ns = 0

    def phase(self, name, begin_ns, **more):
        self.link.say(type="phase", name=name, begin_ns=begin_ns, end_ns=time.monotonic_ns(), **more)

    def run_block(self, count):
        for _ in range(count):
            self.work.iterate(self.iterations)
            self.iterations += 1
            if self.each:
                self.work.synchronize()
        self.work.synchronize()

    def send(self):
        if not self.unsent["wall_ns"]:
            return
        for at in range(0, len(self.unsent["wall_ns"]), 16384):
            for series, values in self.unsent.items():
                self.link.say(type="samples", series=series, first=self.sent + at, values=values[at:at + 16384])
        self.sent += len(self.unsent["wall_ns"])
        self.unsent = {series: [] for series in self.unsent}
        self.told_ns = time.monotonic_ns()

    def hand_over(self, message):
        """The outputs of the latest iteration go; other inputs come."""
        begin_ns = time.monotonic_ns()
        if hasattr(self.work, "before"):  # what is compared is one whole step
            self.work.before()
            self.run_block(1)
        elif self.iterations == self.handed:  # on the inputs of the request before, none has run yet
            self.run_block(1)
        self.handed = self.iterations
        write_tensors(message["outputs"], self.work.outputs())
        iteration = self.iterations
        self.work.take(read_tensors(message["inputs"]))
        took_ns = time.monotonic_ns() - begin_ns
        self.spot_ns += took_ns
        self.link.say(type="handed_over", number=message["number"], iteration=iteration, took_ns=took_ns)

    def sync(self, at):
        self.link.say(type="sync", at=at)
        while (message := self.link.hear())["type"] != "go":
            if message["type"] != "hand_over":
                raise RuntimeError(f"the harness sent {message['type']}")
            self.hand_over(message)

    def calibrate(self):
        begin_ns, wanted, block = time.monotonic_ns(), self.protocol["sample"]["min_time_ns"], 1
        while True:
            best = None
            for _ in range(3):
                start = time.monotonic_ns()
                self.run_block(block)
                took = max(1, time.monotonic_ns() - start)
                best = min(best or took, took)
                if took > 10 * wanted:
                    break
            if best >= wanted:
                break
            block = block * 2 if best * 2 > wanted else block * (wanted + wanted // 4) // best + 1
        self.block = block
        self.phase("calibrate", begin_ns)

    def samples(self, least, least_ns, most_ns, in_window):
        """Until there are so many and so long ones, or longest; between them what the harness asks."""
        begin_ns, taken, first_ns, spot_ns = time.monotonic_ns(), 0, 0, self.spot_ns
        raw_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        self.told_ns = begin_ns
        while self.count < self.protocol["window"]["max_samples"]:
            elapsed = self.end_ns - first_ns - (self.spot_ns - spot_ns) if taken else 0
            if (taken >= least and elapsed >= least_ns) or elapsed >= most_ns:
                break
            while in_window and taken and (message := self.link.hear(wait=False)):
                self.hand_over(message)
            start_ns = time.monotonic_ns()
            self.run_block(self.block)
            end_ns = time.monotonic_ns()
            self.unsent["wall_ns"].append(end_ns - start_ns)
            self.unsent["gap_ns"].append(start_ns - self.end_ns if self.end_ns else 0)
            self.end_ns, first_ns = end_ns, first_ns or start_ns
            taken, self.count = taken + 1, self.count + 1
            if end_ns - self.told_ns > SECOND_NS:
                self.send()
        self.phase("window" if in_window else "warmup", begin_ns, **({"clocks": {
            "raw_ns": time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - raw_ns, "ticks": None,
            "device_ns": None}} if in_window else {}))
        self.send()

    def run(self):
        begin_ns = time.monotonic_ns()
        self.work.prepare()
        self.link.say(type="device", device=self.work.device())
        self.phase("setup", begin_ns)
        self.run_block(1)
        self.sync("verify_before")
        self.calibrate()
        warmup, window = self.protocol["warmup"], self.protocol["window"]
        self.samples(-(-warmup["iterations"] // self.block), warmup["time_ns"], math.inf, False)
        self.sync("window_start")
        self.window_first = self.count
        self.samples(window["min_samples"], window["time_ns"], window["max_time_ns"], True)
        self.sync("window_end")
        self.sync("verify_after")
        self.link.say(type="facts", facts=self.work.facts())

    def end(self, status, message=None):
        self.send()
        self.link.say(type="end", status=status, message=message, iterations_per_sample=self.block,
                      window_first=self.window_first, samples=self.count)


def serve(name, make_work):
    """A worker's life: `make_work` makes the work of a trial, or raises Unsupported."""
    link = Link()
    link.say(type="hello", protocol=2, worker=name, handover=True)
    trial = link.hear()["trial"]
    run = None
    try:
        if "handover" not in trial:
            raise Unsupported("assay hands over no inputs of this workload, precision or scenario")
        run = Trial(link, trial, None)
        run.work = make_work(trial, read_tensors(trial["handover"]["path"]))
        if trial["protocol"]["cache"]["state"] != "hot":
            raise Unsupported("this worker measures with a hot cache alone")
        run.run()
        run.end("ok")
    except Unsupported as reason:
        (run or Trial(link, trial, None)).end("unsupported", str(reason))
    except MemoryError:
        run.end("no_memory", "out of memory")
    link.out.close()
    os._exit(0)  # a framework's threads and compilers may take long to end, or never do


# ---- PyTorch ----

PRECISIONS = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp64": "float64"}


class Torch:
    """What every work by PyTorch has in common."""

    def __init__(self, trial, tensors):
        import torch

        self.torch, self.trial, self.tensors = torch, trial, tensors
        # Its compilers in this process: others would run beside the samples.
        import torch._inductor.config
        torch._inductor.config.compile_threads = 1
        backend, index = trial["device"].split(":")
        if backend not in ("cpu", "cuda"):
            raise Unsupported(f"PyTorch opens the devices cpu and cuda, not {backend}")
        if backend == "cuda" and not torch.cuda.is_available():
            raise Unsupported("this PyTorch finds no CUDA device")
        if trial["precision"] not in PRECISIONS or (trial["precision"] == "tf32" and backend == "cpu"):
            raise Unsupported(f"PyTorch is not asked for {trial['precision']} on {backend}")
        self.backend, self.index = backend, int(index)
        self.at = torch.device(backend, self.index) if backend == "cuda" else torch.device("cpu")
        self.dtype = getattr(torch, PRECISIONS[trial["precision"]])
        settings = trial.get("worker") or {}
        self.mode = settings.get("mode") or os.environ.get("ASSAY_PYTORCH_MODE", "eager")
        torch.set_num_threads(settings.get("threads") or len(os.sched_getaffinity(0)))
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = trial["precision"] == "tf32"
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
        names = {"float64": "F64", "float32": "F32", "bfloat16": "BF16", "float16": "F16"}
        plain = tensor.detach().cpu().contiguous()
        return (names[str(plain.dtype).split(".")[1]], plain.shape,
                plain.view(self.torch.uint8).numpy().tobytes() if "numpy" in sys.modules
                else bytes(plain.reshape(-1).view(self.torch.uint8).tolist()))

    def synchronize(self):
        if self.backend == "cuda":
            self.torch.cuda.synchronize(self.at)

    def compiled(self, function):
        return self.torch.compile(function) if self.mode == "compile" else function

    def device(self):
        def reading(value, unit=None):
            return {"status": "measured", "value": value, "unit": unit, "source": "PyTorch", "reason": None}

        # As assay says of processors: no driver is between them and code.
        name, vendor, uuid, driver = cpu_word("model name"), cpu_word("vendor_id"), None, {
            "status": "not_applicable", "value": None, "unit": None, "source": "PyTorch",
            "reason": "no driver is between a processor and its code"}
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if self.backend == "cuda":
            properties = self.torch.cuda.get_device_properties(self.at)
            name, vendor, uuid = properties.name, "NVIDIA", str(getattr(properties, "uuid", "")) or None
            driver, memory = reading(f"PyTorch {self.torch.__version__}"), properties.total_memory
        return {"backend": self.backend, "index": self.index, "name": name, "vendor": vendor, "uuid": uuid,
                "type": "gpu" if self.backend == "cuda" else "cpu", "simulated": False,
                "readings": {"device.driver_version": driver, "device.memory": reading(memory, "bytes")}}

    def facts(self):
        return {"framework": {"name": "pytorch", "version": self.torch.__version__, "mode": self.mode,
                              "precision": str(self.dtype).split(".")[1],
                              "threads": self.torch.get_num_threads()}}


def cpu_word(key):
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith(key))
    except (OSError, StopIteration):
        return os.uname().machine


class Gemm(Torch):
    """C = A B, in every declared shape."""

    def prepare(self):
        count = sum(name.startswith("a") for name in self.tensors)
        self.names = [""] if count == 1 else [f"[{i}]" for i in range(count)]
        section = self.trial["workload"]["gemm"]
        if section.get("result", "storage") != "storage":
            raise Unsupported("PyTorch stores C in the type of the operands")
        self.transposed = section.get("weights", "transposed") == "transposed"
        self.b = {name: self.load(self.tensors["b" + name]) for name in self.names}
        self.take(self.tensors)
        self.c = {}
        self.multiply = self.compiled(
            (lambda a, b: self.torch.nn.functional.linear(a, b)) if self.transposed
            else (lambda a, b: self.torch.matmul(a, b)))

    def take(self, tensors):
        self.a = {name: self.load(tensors["a" + name]) for name in self.names}

    def iterate(self, _):
        for name in self.names:
            self.c[name] = self.multiply(self.a[name], self.b[name])

    def outputs(self):
        return {"c" + name: self.store(c) for name, c in self.c.items()}


class Gpt2(Torch):
    """The model as workloads/models/gpt2.h describes it."""

    def read_model(self, dtype):
        model = self.trial["workload"]["model"]
        self.layers, self.heads = model["layers"], model["heads"]
        self.weights = {name: self.load(entry, dtype) for name, entry in self.tensors.items()
                        if name not in ("tokens", "targets")}
        # A linear layer keeps (outputs, inputs).
        self.turned = [name for name in self.weights if name.startswith("h") and name.endswith(".w")]
        for name in self.turned:
            self.weights[name] = self.weights[name].t().contiguous()

    def pool_of(self, entry):
        _, shape, data = entry
        pool = self.torch.frombuffer(bytearray(data), dtype=self.torch.int32)
        return pool.reshape(shape).long()  # on the host: uploading a batch is part of the work

    def forward(self, tokens):
        f, w = self.torch.nn.functional, self.weights
        sequences, length = tokens.shape
        width = w["wte"].shape[1]
        x = f.embedding(tokens, w["wte"]) + w["wpe"][:length]
        for i in range(self.layers):
            h = f"h{i}."
            n = f.layer_norm(x, (width,), w[h + "ln1.g"], w[h + "ln1.b"], 1e-5)
            qkv = f.linear(n, w[h + "attn.w"], w[h + "attn.b"])
            q, k, v = (part.view(sequences, length, self.heads, -1).transpose(1, 2)
                       for part in qkv.split(width, dim=2))
            values = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            values = values.transpose(1, 2).reshape(sequences, length, width)
            x = x + f.linear(values, w[h + "attn_proj.w"], w[h + "attn_proj.b"])
            n = f.layer_norm(x, (width,), w[h + "ln2.g"], w[h + "ln2.b"], 1e-5)
            n = f.gelu(f.linear(n, w[h + "fc.w"], w[h + "fc.b"]), approximate="tanh")
            x = x + f.linear(n, w[h + "fc_proj.w"], w[h + "fc_proj.b"])
        x = f.layer_norm(x, (width,), w["lnf.g"], w["lnf.b"], 1e-5)
        return f.linear(x, w["wte"])


class Prefill(Gpt2):
    """Logits of every position."""

    def prepare(self):
        self.read_model(self.dtype)
        self.take(self.tensors)
        self.model = self.compiled(self.forward)
        self.logits = None

    def take(self, tensors):
        self.pool = self.pool_of(tensors["tokens"])

    def iterate(self, number):
        self.logits = self.model(self.pool[number % len(self.pool)].to(self.at))

    def outputs(self):
        return {"logits": self.store(self.logits)}


class Training(Gpt2):
    """A step: forward, backward, AdamW on weights in fp32, of which narrower precisions use a copy."""

    def prepare(self):
        torch = self.torch
        torch.set_grad_enabled(True)
        self.read_model(torch.float32)
        self.masters = {name: weight.requires_grad_() for name, weight in self.weights.items()}
        self.narrow = self.dtype != torch.float32
        if self.narrow:
            self.weights = {name: weight.detach().to(self.dtype).requires_grad_()
                            for name, weight in self.masters.items()}
        settings = self.trial["workload"]["optimizer"]
        self.rate, self.warmup = settings["learning_rate"], settings.get("warmup_steps", 0)
        decays = [weight for name, weight in self.masters.items() if weight.dim() == 2]
        others = [weight for name, weight in self.masters.items() if weight.dim() != 2]
        self.optimizer = torch.optim.AdamW(
            [{"params": decays, "weight_decay": settings["weight_decay"]},
             {"params": others, "weight_decay": 0.0}], lr=self.rate, eps=settings["epsilon"],
            betas=(settings["beta1"], settings["beta2"]), fused=True)
        self.steps = 0
        self.take(self.tensors)
        self.model = self.compiled(self.loss_of)

    def take(self, tensors):
        self.pool, self.targets = self.pool_of(tensors["tokens"]), self.pool_of(tensors["targets"])

    def loss_of(self, tokens, targets):
        logits = self.forward(tokens).float()
        return self.torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def iterate(self, number):
        at = number % len(self.pool)
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * min(1.0, self.steps / self.warmup if self.warmup else 1.0)
        for weight in self.weights.values():
            weight.grad = None
        self.loss = self.model(self.pool[at].to(self.at), self.targets[at].to(self.at))
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


KINDS = {"gemm": Gemm, "batched_inference": Prefill, "training_step": Training}


def make_work(trial, tensors):
    kind = trial["workload"]["kind"]
    if kind not in KINDS:
        raise Unsupported(f"this worker does not run {kind}")
    return KINDS[kind](trial, tensors)


if __name__ == "__main__":
    serve("pytorch 1", make_work)
