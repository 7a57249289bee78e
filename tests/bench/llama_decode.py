#!/usr/bin/env python3
"""The other arm of llama_compare.py: decode steps of a GPT-2 in llama.cpp, by its C API as llama-cpp-python has it.

usage: llama_decode.py MODEL PRECISION BATCH THREADS STEPS own|plain

MODEL is a GGUF file of the shape of workloads/declared/gpt2_124m_decode.yaml with drawn weights, made first where it
is not there. One line of JSON says what runs; then each line on stdin is answered with the nanoseconds of a step, from
STEPS of them: a token of each of BATCH sequences behind 32 to 62 others, as in that workload. `plain`: weights stay as
they are in the file, else llama.cpp arranges them as its kernels for this processor want them.
"""
import ctypes
import json
import os
import sys
import time

LAYERS, HEADS, WIDTH, CONTEXT, VOCABULARY = 12, 12, 768, 1024, 50257
PROMPT, OUTPUT = 32, 32
# Of weights, and of keys and values: of the latter, as many bytes as assay's.
TYPES = {"fp32": ("F32", "F32"), "bf16": ("BF16", "F16"), "int8": ("Q8_0", "F16")}


def make_model(path, precision):
    import gguf
    import numpy

    draw = numpy.random.default_rng(1)
    kind = gguf.GGMLQuantizationType[TYPES[precision][0]]
    writer = gguf.GGUFWriter(path + ".part", "gpt2")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(4 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("none")

    def matrix(name, rows, columns, stored=kind):
        values = draw.standard_normal((rows, columns), numpy.float32) * numpy.float32(0.02)
        writer.add_tensor(name + ".weight", gguf.quantize(values, stored), raw_dtype=stored)

    def vector(name, width, value):
        writer.add_tensor(name, numpy.full(width, value, numpy.float32))

    def norm(name):
        vector(name + ".weight", WIDTH, 1)
        vector(name + ".bias", WIDTH, 0)

    matrix("token_embd", VOCABULARY, WIDTH)  # the head's weight, too
    matrix("position_embd", CONTEXT, WIDTH, gguf.GGMLQuantizationType.F32)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        for name in ("attn_norm", "ffn_norm"):
            norm(block + name)
        for name, rows, columns in (("attn_qkv", 3 * WIDTH, WIDTH), ("attn_output", WIDTH, WIDTH),
                                    ("ffn_up", 4 * WIDTH, WIDTH), ("ffn_down", WIDTH, 4 * WIDTH)):
            matrix(block + name, rows, columns)
            vector(f"{block}{name}.bias", rows, 0)
    norm("output_norm")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(path + ".part", path)


class Decoder:
    def __init__(self, path, precision, batch, threads, plain):
        import llama_cpp

        self.api, self.count, self.made = llama_cpp, batch, 0
        self.silent = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self.silent, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.use_extra_bufts = not plain
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), params)
        if not self.model:
            sys.exit(f"llama_decode: llama.cpp does not load {path}")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = batch * 2 * (PROMPT + OUTPUT)
        params.n_batch = params.n_ubatch = max(batch * PROMPT, 32)
        params.n_seq_max = batch
        params.n_threads = params.n_threads_batch = threads
        params.type_k = params.type_v = getattr(llama_cpp, "GGML_TYPE_" + TYPES[precision][1])
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        if not self.context:
            sys.exit("llama_decode: llama.cpp makes no context of these parameters")
        self.memory = llama_cpp.llama_get_memory(self.context)
        self.batch = llama_cpp.llama_batch_init(batch * PROMPT, 0, 1)
        self.run(0, PROMPT)

    def run(self, first, rows):
        """Tokens at positions [first, first + rows) of every sequence; the logits of the last of each are wanted."""
        batch, at = self.batch, 0
        for sequence in range(self.count):
            for position in range(first, first + rows):
                batch.token[at] = (7919 * position + 104729 * sequence) % VOCABULARY
                batch.pos[at], batch.n_seq_id[at], batch.seq_id[at][0] = position, 1, sequence
                batch.logits[at] = position == first + rows - 1
                at += 1
        batch.n_tokens = at
        if self.api.llama_decode(self.context, batch) != 0:
            sys.exit("llama_decode: llama.cpp refuses a step")
        self.api.llama_synchronize(self.context)

    def step(self):
        self.run(PROMPT + self.made, 1)
        self.made += 1
        if self.made == OUTPUT - 1:
            for sequence in range(self.count):
                self.api.llama_memory_seq_rm(self.memory, sequence, PROMPT, -1)
            self.made = 0


def main():
    if len(sys.argv) != 7 or sys.argv[2] not in TYPES:
        sys.exit(__doc__)
    path, precision, batch, threads, steps = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    if not os.path.exists(path):
        make_model(path, precision)
    decoder = Decoder(path, precision, batch, threads, sys.argv[6] == "plain")
    weights, cache = TYPES[precision]
    print(json.dumps({"version": decoder.api.__version__, "weights": weights, "cache": cache,
                      "system": decoder.api.llama_print_system_info().decode().strip(" |")}), flush=True)
    for _ in sys.stdin:
        start = time.monotonic_ns()
        for _ in range(steps):
            decoder.step()
        print((time.monotonic_ns() - start) // steps, flush=True)


if __name__ == "__main__":
    main()
