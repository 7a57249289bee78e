"""What workers in Python share: the worker protocol (harness/runner/PROTOCOL.md) for any work.

It needs Python's standard library alone, and numpy where a work asks for arrays of it. Weights and
inputs come from assay's files, the outputs go back, and assay compares them with its reference.
Installed with every worker in Python; a program calls `serve` with its works (`Work`) by kind.
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


class Compiled(Exception):
    """The window was not of the work alone."""


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


def both_clocks():
    """CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW at one moment, in ns: of a few readings the one that took least."""
    best = None
    for _ in range(8):
        begin_ns = time.monotonic_ns()
        raw_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        took_ns = time.monotonic_ns() - begin_ns
        if best is None or took_ns < best[0]:
            best = took_ns, begin_ns + took_ns // 2, raw_ns
    return best[1:]



class Trial:
    """
    A trial of a work: an object such as Work, with prepare(), take(), iterate(), synchronize(), outputs(),
    device() and facts(), and with before() where outputs() are of one iteration and of what was before it.
    """

    def __init__(self, link, trial, work):
        self.link, self.work, self.protocol = link, work, trial["protocol"]
        self.each = trial["scenario"] == "single_stream"
        self.computes_alone = trial["device"].split(":")[0] in ("cuda", "hip", "tpu")
        self.iterations = self.handed = self.block = self.count = 0
        self.window_first = -1
        self.unsent = {"wall_ns": [], "gap_ns": []}
        self.sent = 0
        self.end_ns = self.told_ns = self.spot_ns = 0

    def phase(self, name, begin_ns, end_ns=None, **more):
        self.link.say(type="phase", name=name, begin_ns=begin_ns, end_ns=end_ns or time.monotonic_ns(), **more)

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

    def time_block(self, block):
        """The best of a few, in ns; one that is long enough by far is not repeated."""
        best = None
        for _ in range(3):
            start = time.monotonic_ns()
            self.run_block(block)
            took = max(1, time.monotonic_ns() - start)
            best = min(best or took, took)
            if took > 10 * self.protocol["sample"]["min_time_ns"]:
                break
        return best

    def lengthen(self, block):
        """As assay's own worker (worker_measure.c): the wait at a sample's end is at most 0.5 % of it."""
        longest = 50 * self.protocol["sample"]["min_time_ns"]
        once = self.time_block(block)
        if once * 2 > longest:
            return block
        twice = self.time_block(2 * block)
        each, wait = (twice - once) / block, 2 * once - twice
        if each <= 0 or wait <= 0:
            return block
        return max(block, int(min(wait / 0.005, longest) / each) + 1)

    def calibrate(self):
        begin_ns, wanted, block = time.monotonic_ns(), self.protocol["sample"]["min_time_ns"], 1
        while (best := self.time_block(block)) < wanted:
            block = block * 2 if best * 2 > wanted else block * (wanted + wanted // 4) // best + 1
        self.block = self.lengthen(block) if self.computes_alone and not self.each else block
        self.phase("calibrate", begin_ns)

    def samples(self, least, least_ns, most_ns, in_window):
        """Until there are so many and so long ones, or longest; between them what the harness asks."""
        (begin_ns, raw_ns), taken, first_ns, spot_ns = both_clocks(), 0, 0, self.spot_ns
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
        # From the first sample to the last: before and after them this process may have waited for a processor.
        now_ns, now_raw_ns = both_clocks()
        first_ns, last_ns = (first_ns, self.end_ns) if taken else (begin_ns, now_ns)
        edges_ns = first_ns - begin_ns + now_ns - last_ns
        self.phase("window" if in_window else "warmup", first_ns, last_ns, **({"clocks": {
            "raw_ns": now_raw_ns - raw_ns - edges_ns, "ticks": None, "device_ns": None}} if in_window else {}))
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
        self.window_first, compiled = self.count, self.work.compilations()
        self.samples(window["min_samples"], window["time_ns"], window["max_time_ns"], True)
        if self.work.compilations() != compiled:
            raise Compiled(f"the framework compiled {self.work.compilations() - compiled} times in the window, "
                           "whose samples are therefore of more than the work")
        self.sync("window_end")
        self.sync("verify_after")
        self.link.say(type="facts", facts=self.work.facts())

    def end(self, status, message=None):
        self.send()
        self.link.say(type="end", status=status, message=message, iterations_per_sample=self.block,
                      window_first=self.window_first, samples=self.count)


def serve(name, works):
    """A worker's life: `works` has the class of each kind's work, which may raise Unsupported."""
    link = Link()
    link.say(type="hello", protocol=2, worker=name, handover=True)
    trial = link.hear()["trial"]
    run = None
    try:
        if "handover" not in trial:
            raise Unsupported("assay hands over no inputs of this workload, precision or scenario")
        run = Trial(link, trial, None)
        kind = trial["workload"]["kind"]
        if kind not in works:
            raise Unsupported(f"this worker does not run {kind}")
        run.work = works[kind](trial, read_tensors(trial["handover"]["path"]))
        if trial["protocol"]["cache"]["state"] != "hot":
            raise Unsupported("this worker measures with a hot cache alone")
        run.run()
        run.end("ok")
    except Unsupported as reason:
        (run or Trial(link, trial, None)).end("unsupported", str(reason))
    except Compiled as reason:
        run.end("invalid", str(reason))
    except MemoryError:
        run.end("no_memory", "out of memory")
    link.out.close()
    os._exit(0)  # a framework's threads and compilers may take long to end, or never do


# ---- what a work is ----

def reading(value, source, unit=None):
    return {"status": "measured", "value": value, "source": source} | ({"unit": unit} if unit else {})


def cpu_word(key):
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith(key))
    except (OSError, StopIteration):
        return os.uname().machine


class Work:
    """
    What the works of a framework have in common. `framework` and `devices`, its backends, are the
    class's; the constructor sets `backend`, `index`, `precision`, `mode` and `threads` from the trial.
    """

    framework, devices, precisions = "", ("cpu",), ()

    def __init__(self, trial, tensors):
        self.trial, self.tensors, self.precision = trial, tensors, trial["precision"]
        self.backend, index = trial["device"].split(":")
        self.index = int(index)
        if self.backend not in self.devices:
            raise Unsupported(f"{self.framework} opens the devices {', '.join(self.devices)}, not {self.backend}")
        if self.precision not in self.precisions:
            raise Unsupported(f"{self.framework} is not asked for {self.precision}")
        settings = trial.get("worker") or {}
        self.mode = settings.get("mode")
        self.threads = settings.get("threads") or len(os.sched_getaffinity(0))

    def read_model(self, dtype):
        """Weights of the handover's file by name, loaded as `dtype`; sets the numbers of layers and heads."""
        model = self.trial["workload"]["model"]
        self.layers, self.heads = model["layers"], model["heads"]
        return {name: self.load(entry, dtype) for name, entry in self.tensors.items()
                if name not in ("tokens", "targets")}

    def pool(self, entry):
        """Batches of tokens, on the host: uploading one is part of the work."""
        return to_numpy(entry)

    def section(self, name):
        """Of the declaration, whose results must be stored as the operands are."""
        section = self.trial["workload"][name]
        if section.get("result", "storage") != "storage":
            raise Unsupported(f"{self.framework} is asked for results in the type of the operands")
        return section

    def synchronize(self):
        pass

    def compilations(self):
        """How often it has compiled so far: in the window it must not."""
        return 0

    def reports(self):
        """{"version", "threads", "dtype"} as the framework says, the last by numpy's name."""
        raise NotImplementedError

    def computes_in(self, dtype):
        """The precision of a framework's type, in assay's words."""
        return {"float64": "fp64", "float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}.get(dtype, dtype)

    def cache(self):
        """Where it keeps what it compiles for other processes; None: nowhere."""
        return None

    def facts(self):
        reports = self.reports()
        reports["precision"] = self.computes_in(reports.pop("dtype"))
        return {"framework": {"name": self.framework, "mode": self.mode, **reports},
                "compile": {"count": self.compilations(), "cache": self.cache()}}

    def device(self):
        """Of a processor as assay says: no driver is between it and code."""
        driver = {"status": "not_applicable", "source": self.framework,
                  "reason": "no driver is between a processor and its code"}
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return {"backend": self.backend, "index": self.index, "name": cpu_word("model name"),
                "vendor": cpu_word("vendor_id"), "uuid": None, "type": "cpu", "simulated": False,
                "readings": {"device.driver_version": driver,
                             "device.memory": reading(memory, self.framework, "bytes")}}


# ---- works of any framework, before its own class of Work, which has load(), store() and compiled() ----

class Gemm:
    """C = A B in every declared shape. A framework brings `product(transposed)`: the function of A and B."""

    def prepare(self):
        self.names, self.result = shapes_of(self.tensors), {}
        self.multiply = self.compiled(self.product(self.section("gemm").get("weights", "transposed") == "transposed"))
        self.b = {name: self.load(self.tensors["b" + name]) for name in self.names}
        self.take(self.tensors)

    def take(self, tensors):
        self.a = {name: self.load(tensors["a" + name]) for name in self.names}

    def iterate(self, _):
        for name in self.names:
            self.result[name] = self.multiply(self.a[name], self.b[name])

    def outputs(self):
        return {"c" + name: self.store(c) for name, c in self.result.items()}


class Convolution:
    """
    Images and filters as they lie, channels last. A framework brings `layer(shape)`: the function of both; and where
    its arrays lie otherwise `images(entry)` and `filters(entry)`, which load them, and `laid_out(y)`, the way back.
    """

    def prepare(self):
        self.names, self.result = shapes_of(self.tensors, "input"), {}
        self.run = [self.compiled(self.layer(shape)) for shape in self.section("convolution")["shapes"]]
        self.weights = {name: self.filters(self.tensors["weights" + name]) for name in self.names}
        self.take(self.tensors)

    def images(self, entry):
        return self.load(entry)

    def filters(self, entry):
        return self.load(entry)

    def laid_out(self, y):
        return y

    def take(self, tensors):
        self.x = {name: self.images(tensors["input" + name]) for name in self.names}

    def iterate(self, _):
        for name, run in zip(self.names, self.run):
            self.result[name] = run(self.x[name], self.weights[name])

    def outputs(self):
        return {"output" + name: self.store(self.laid_out(y)) for name, y in self.result.items()}


class Generation:
    """
    Tokens one after the other, the largest logit's, over a cache of keys and values that has room for a whole
    request. A framework brings `begin()` (room for keys, values and text), `first(prompts)` and
    `next(position)`: a pass over the prompts, and one over the token at that position of each sequence; each leaves
    its last logits in `logits` and puts the token that they choose behind it. `made(count)` are the first chosen ones.
    """

    def prepare(self):
        section = self.trial["workload"]["generation"]
        self.prompt, self.measure = section["prompt"], section.get("measure", "request")
        self.output = 1 if self.measure == "prefill" else section["output"]
        self.iterations = 0
        self.weights = self.read_model(self.dtype)
        self.begin()
        self.take(self.tensors)

    def take(self, tensors):
        self.prompts = self.pool(tensors["tokens"])
        if self.measure == "decode":  # what came before the next step, which is no sample
            self.make(self.prompts[0], 1 + self.iterations % (self.output - 1))

    def make(self, prompts, outputs):
        self.first(prompts)
        for position in range(self.prompt, self.prompt + outputs - 1):
            self.next(position)

    def iterate(self, number):
        self.iterations = number + 1
        if self.measure == "decode":
            self.next(self.prompt + number % (self.output - 1))
        else:
            self.make(self.prompts[number % len(self.prompts)], self.output)

    def outputs(self):
        return {"tokens": self.store(self.made(self.output)), "logits": self.store(self.logits)}


# ---- arrays of numpy ----

def to_numpy(entry):
    """A tensor of a file as an array of its own memory; bf16 as ml_dtypes has it."""
    import numpy

    kind, shape, data = entry
    if kind == "BF16":
        import ml_dtypes

        dtype = ml_dtypes.bfloat16
    else:
        dtype = {"F64": "float64", "F32": "float32", "F16": "float16", "I32": "int32", "I8": "int8"}[kind]
    return numpy.frombuffer(bytearray(data), dtype=dtype).reshape(shape)


def from_numpy(array):
    """And back, for write_tensors."""
    import numpy

    names = {"float64": "F64", "float32": "F32", "bfloat16": "BF16", "float16": "F16", "int32": "I32", "int8": "I8"}
    plain = numpy.ascontiguousarray(array)
    return names[plain.dtype.name], plain.shape, plain.tobytes()


def shapes_of(tensors, first="a"):
    """Names behind that of the first operand of products or images: [""], or ["[0]", "[1]", ...]."""
    count = sum(name.startswith(first) for name in tensors)
    return [""] if count == 1 else [f"[{i}]" for i in range(count)]


def learning_rate(trial, step):
    """Of step number `step`, from 1."""
    settings = trial["workload"]["optimizer"]
    warmup = settings.get("warmup_steps", 0)
    return settings["learning_rate"] * min(1.0, step / warmup if warmup else 1.0)


def adamw(settings, step, sqrt, state, name, gradient):
    """
    AdamW in a framework's own arithmetic (workloads/models/adamw.h): the new weight and moments of `name`
    in `state` ({"w", "m", "v"}); `step` is [the rate, 1 - b1^t, 1 - b2^t].
    """
    beta1, beta2 = settings["beta1"], settings["beta2"]
    w, m, v = (state[kind][name] for kind in "wmv")
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient * gradient
    change = (m / step[1]) / (sqrt(v / step[2]) + settings["epsilon"])
    decay = settings["weight_decay"] if len(w.shape) == 2 else 0.0
    return w - step[0] * (change + decay * w), m, v


def adamw_step(trial, step):
    """The three numbers that adamw() takes of step number `step`, from 1."""
    settings = trial["workload"]["optimizer"]
    return [learning_rate(trial, step), 1 - settings["beta1"] ** step, 1 - settings["beta2"] ** step]
