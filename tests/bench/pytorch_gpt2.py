#!/usr/bin/env python3
"""One process of pytorch_compare.py on PyTorch's side: reads a case as JSON from standard input,
trains or serves the same GPT-2 and writes the times of its steps as JSON.

The model is the one of workloads/models: pre-norm layers, causal attention through
scaled_dot_product_attention, GELU in the tanh form, tied embeddings, biases everywhere but in the
head; AdamW with decay on matrices and embeddings only.
"""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    def __init__(self, width, heads, mlp_width):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.proj = nn.Linear(width, mlp_width), nn.Linear(mlp_width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.ln1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.proj(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, model):
        super().__init__()
        width = model["width"]
        self.wte = nn.Embedding(model["vocabulary"], width)
        self.wpe = nn.Embedding(model["context"], width)
        self.layers = nn.ModuleList(Layer(width, model["heads"], model["mlp_ratio"] * width)
                                    for _ in range(model["layers"]))
        self.norm = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                scale = (2 * model["layers"]) ** -0.5 if name.endswith(
                    ("out.weight", "proj.weight")) else 1.0
                nn.init.normal_(parameter, std=0.02 * scale)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens, targets=None):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x)
        logits = F.linear(self.norm(x), self.wte.weight)
        if targets is None:
            return logits
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def adamw(parameters, optimizer):
    groups = [{"params": [p for p in parameters if p.dim() == 2],
               "weight_decay": optimizer["weight_decay"]},
              {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=optimizer["learning_rate"],
                             betas=(optimizer["beta1"], optimizer["beta2"]),
                             eps=optimizer["epsilon"], fused=True)


def trainer(case, model, run):
    """A function that makes one step. `narrow` keeps fp32 master weights as well as bf16 ones."""
    narrow, autocast = case["recipe"] == "narrow", case["recipe"] == "autocast"
    own = list(model.parameters())
    moved = [p.detach().float().clone().requires_grad_() for p in own] if narrow else own
    if narrow:
        for master in moved:
            master.grad = torch.zeros_like(master)
    optimizer = adamw(moved, case["optimizer"])

    def step(tokens, targets):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss = run(tokens, targets)
        loss.backward()
        if narrow:
            torch._foreach_copy_([p.grad for p in moved], [p.grad for p in own])
        optimizer.step()
        if narrow:
            with torch.no_grad():
                torch._foreach_copy_(own, moved)
        model.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def server(run):
    def step(tokens, _targets):
        with torch.inference_mode():
            return run(tokens)

    return step


def main():
    case = json.load(sys.stdin)
    torch.manual_seed(case["seed"])
    torch.set_num_threads(case["threads"])
    torch.set_flush_denormal(True)
    model = Gpt2(case["model"])
    if case["recipe"] == "narrow":
        model = model.to(torch.bfloat16)
    run = torch.compile(model) if case["compiled"] else model
    step = trainer(case, model, run) if case["kind"] == "training_step" else server(run)
    shape = (case["batch"], case["length"] + 1)
    pool = [torch.randint(case["model"]["vocabulary"], shape) for _ in range(8)]
    times, warm, started, window = [], 0, 0, None
    while True:
        tokens = pool[(warm + len(times)) % len(pool)]
        begin = time.monotonic_ns()
        step(tokens[:, :-1], tokens[:, 1:])
        end = time.monotonic_ns()
        if window is None:
            warm += 1
            if warm == 1:
                started = end  # compiling does not count as warmup
            if warm > case["warmup_steps"] and end - started >= case["warmup_ns"]:
                window = end
            continue
        times.append(end - begin)
        if end - window >= case["window_ns"] and len(times) >= case["min_samples"]:
            break
    json.dump({"times_ns": times, "torch": torch.__version__, "threads": torch.get_num_threads(),
               "parameters": sum(p.numel() for p in model.parameters()),
               "isa": torch.backends.cpu.get_cpu_capability()}, sys.stdout)


if __name__ == "__main__":
    main()
