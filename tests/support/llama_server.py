#!/usr/bin/env python3
"""llama.cpp's own HTTP server (PyPI: xllamacpp) with a small model of random weights, which is made by
llama.cpp's own writer (PyPI: gguf) where MODEL is not there yet:

    llama_server.py MODEL.gguf --port PORT [--threads N] [--parallel N]

It stays until it is ended."""

import argparse
import os
import re
import signal
import sys

WIDTH, LAYERS, HEADS, MLP, CONTEXT, VOCABULARY = 256, 4, 4, 512, 2048, 2000
PROMPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness", "endpoint", "prompt.c")


def prompt_words():
    """The words that assay makes prompts of."""
    with open(PROMPTS, encoding="utf-8") as file:
        return re.findall('"([a-z]+)"', file.read().split("words[64] = {")[1].split("}")[0])


def make_model(path):
    """A Llama of some 4 million weights. In its vocabulary are the words of prompts, each one token (and what
    they are merged from, one letter after the other), and others of three letters, which it says at random."""
    import gguf
    import numpy

    random = numpy.random.default_rng(19)
    letters = [chr(ord("a") + i) for i in range(26)]
    words = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + ["▁"] + letters
    for word in prompt_words():
        words += ["▁" + word[:i] for i in range(1, len(word) + 1)]
    words += ["▁" + a + b + c for a in "aeiou" for b in letters for c in letters]
    words = list(dict.fromkeys(words))[:VOCABULARY]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256
    kinds += [gguf.TokenType.NORMAL] * (len(words) - len(kinds))
    writer = gguf.GGUFWriter(path + ".part", "llama")
    writer.add_name("random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(MLP)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([-float(i) for i in range(len(words))])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)

    def add(name, *shape):
        writer.add_tensor(name, random.normal(0, 0.05, shape).astype(numpy.float32))

    def add_ones(name):
        writer.add_tensor(name, numpy.ones(WIDTH, numpy.float32))

    add("token_embd.weight", len(words), WIDTH)
    add_ones("output_norm.weight")
    add("output.weight", len(words), WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        add_ones(block + "attn_norm.weight")
        add_ones(block + "ffn_norm.weight")
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"{block}{name}.weight", WIDTH, WIDTH)
        add(block + "ffn_gate.weight", MLP, WIDTH)
        add(block + "ffn_up.weight", MLP, WIDTH)
        add(block + "ffn_down.weight", WIDTH, MLP)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=8)
    options = parser.parse_args()
    if not os.path.exists(options.model):
        make_model(options.model)
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {"random"}
    params.hostnames, params.port = ["127.0.0.1"], options.port
    params.n_parallel, params.n_ctx = options.parallel, options.parallel * CONTEXT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    server = xllamacpp.Server(params)
    print(f"listening on {server.listening_address}", flush=True)
    signal.pause()


if __name__ == "__main__":
    sys.exit(main())
