#!/usr/bin/env python3
"""One server, two clients: assay and GuideLLM send the same numbers of requests at the same rate to llama.cpp's
server (tests/support/llama_server.py), in turns, and their figures are printed side by side, each by both tools'
formulas where the tool's own log of requests has what it takes.

    python3 -m venv ENV; ENV/bin/pip install xllamacpp gguf guidellm
    python3 tests/bench/endpoint_compare.py --assay build/release/bin/assay --python ENV/bin/python

Nothing is installed by it. README.md in this folder says what differs."""

import argparse
import json
import os
import random
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(HERE, "..", "support")
SERVER = os.path.join(SUPPORT, "llama_server.py")
sys.path.insert(0, SUPPORT)
from llama_server import prompt_words  # noqa: E402

OK = 0
DECLARED = """workload: compared
version: 1
kind: endpoint
description: The server that both clients measure
scenario: server
endpoint: {url: "http://127.0.0.1:%(port)d/v1", model: random, ignore_eos: true}
load:
  arrivals: {process: deterministic}
  rates: [%(rate)g]
  lengths: {prompt: {law: fixed, mean: %(prompt)d}, output: {law: fixed, mean: %(output)d}}
slo: {e2e: 10s, attain: 0.9}
"""
PROTOCOL = """extends: serving_look
name: compared
version: 1
trials: 1
warmup: {iterations: 4, time: 1ms}
serving: {requests: %(requests)d, drain: 60s}
telemetry: {interval: 0s}
required: [device.memory, host.os]
trial_timeout: 500s
"""
# What a client's log says of a request, in ms; `n` output tokens.
FIGURES = (("lag: sending after the scheduled time", lambda r: r["sent"] - r["scheduled"]),
           ("ttft from the scheduled time (assay's)", lambda r: r["first"] - r["scheduled"]),
           ("ttft from sending (GuideLLM's)", lambda r: r["first"] - r["sent"]),
           ("e2e from the scheduled time (assay's)", lambda r: r["done"] - r["scheduled"]),
           ("latency from sending to the end of the response (GuideLLM's)",
            lambda r: r["ended"] - r["sent"] if r["ended"] else None),
           ("tpot, (done - first) / (n - 1) (assay's; GuideLLM's ITL)",
            lambda r: (r["done"] - r["first"]) / (r["n"] - 1)),
           ("tpot, latency / n (GuideLLM's)", lambda r: ((r["ended"] or r["done"]) - r["sent"]) / r["n"]))


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Served:
    """The server while it is measured."""

    def __init__(self, options, folder):
        self.port = free_port()
        self.log = open(os.path.join(folder, "server.log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([options.python, SERVER, os.path.join(folder, "random.gguf"), "--port",
                                         str(self.port)], stdout=self.log, stderr=self.log)

    def __enter__(self):
        for _ in range(1200):
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                    return self
            except OSError:
                time.sleep(0.1)
        self.log.seek(0)
        sys.exit("endpoint_compare: the server does not answer:\n" + self.log.read()[-2000:])

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()


def assay_requests(options, folder, port, number):
    """The log of one trial: a list of {"scheduled", "sent", "first", "done", "ended", "n", "prompt"}, in ms."""
    values = {"port": port, **vars(options)}
    paths = {}
    for name, text in (("compared.yaml", DECLARED), ("few.yaml", PROTOCOL)):
        paths[name] = os.path.join(folder, name)
        with open(paths[name], "w", encoding="utf-8") as file:
            file.write(text % values)
    database = os.path.join(folder, f"pair{number}.db")
    subprocess.run([options.assay, "run", paths["compared.yaml"], "--protocol", paths["few.yaml"], "--db", database],
                   check=True, stdout=subprocess.DEVNULL, stderr=None if options.verbose else subprocess.DEVNULL)
    log = {}
    with sqlite3.connect(database) as opened:
        for series, value in opened.execute("SELECT series, value FROM samples WHERE series LIKE 'request:%'"
                                            " ORDER BY series, number"):
            log.setdefault(series.removeprefix("request:"), []).append(value)
    return [{"scheduled": log["scheduled_ns"][i] / 1e6, "sent": log["sent_ns"][i] / 1e6,
             "first": log["first_ns"][i] / 1e6, "done": log["done_ns"][i] / 1e6, "ended": None,
             "n": log["output_tokens"][i], "prompt": log["prompt_tokens"][i]}
            for i in range(len(log["status"])) if log["status"][i] == OK]


def guidellm_requests(options, folder, port, number):
    words = prompt_words()
    prompts, made = (os.path.join(folder, f"pair{number}.{end}") for end in ("csv", "json"))
    with open(prompts, "w", encoding="utf-8") as file:
        file.write("prompt,output_tokens_count\n")
        for _ in range(options.requests):
            file.write(" ".join(random.choices(words, k=options.prompt)) + f",{options.output}\n")
    command = [options.python, "-m", "guidellm", "run", "--backend",
               f"kind=openai_http,target=http://127.0.0.1:{port},model=random,request_format=/v1/completions",
               "--profile", f"kind=constant,rate={options.rate:g}", "--constraint",
               f"kind=max_requests,count={options.requests}", "--data", f"kind=csv_file,path={prompts}", "--output",
               f"kind=json,path={made}", "--disable-console"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "HF_HUB_OFFLINE": "1"},
                   stderr=None if options.verbose else subprocess.DEVNULL)
    with open(made, encoding="utf-8") as file:
        requests = json.load(file)["benchmarks"][0]["requests"]["successful"]
    found = []
    for request in requests:
        times = request["info"]["timings"]
        found.append({"scheduled": times["targeted_start"] * 1e3, "sent": times["request_start"] * 1e3,
                      "first": times["first_token_iteration"] * 1e3, "done": times["last_token_iteration"] * 1e3,
                      "ended": times["request_end"] * 1e3, "n": request["output_metrics"]["text_tokens"],
                      "prompt": request["input_metrics"]["text_tokens"]})
    return found


SIDES = {"assay": assay_requests, "GuideLLM": guidellm_requests}


def median_of(requests, figure):
    values = [figure(request) for request in requests]
    return None if None in values else statistics.median(values)


def compare(options):
    """{side: [requests of each pair]}."""
    logs = {side: [] for side in SIDES}
    with tempfile.TemporaryDirectory() as folder, Served(options, folder) as served:
        for number in range(options.pairs + 1):  # the first is thrown away: it fills caches
            for side in random.sample(list(SIDES), len(SIDES)):
                logs[side].append(SIDES[side](options, folder, served.port, number))
    return {side: pairs[1:] for side, pairs in logs.items()}


def show(options, logs):
    print(f"{options.pairs} pairs of {options.requests} requests at {options.rate:g}/s, {options.prompt} words in, "
          f"{options.output} tokens out; medians of each run, then the median of the runs (least to largest)\n")
    print("| ms | " + " | ".join(SIDES) + " |\n| --- |" + " --- |" * len(SIDES))
    for name, figure in FIGURES:
        cells = []
        for side in SIDES:
            values = [median_of(requests, figure) for requests in logs[side]]
            cells.append("not recorded" if None in values else
                         f"{statistics.median(values):.3g} ({min(values):.3g} to {max(values):.3g})")
        print(f"| {name} | " + " | ".join(cells) + " |")
    for name, of in (("requests answered", lambda requests: len(requests)),
                     ("prompt tokens by the server", lambda requests: statistics.median(r["prompt"] for r in requests)),
                     ("output tokens by the server", lambda requests: statistics.median(r["n"] for r in requests))):
        print(f"| {name} | " + " | ".join(f"{statistics.median(map(of, logs[side])):g}" for side in SIDES) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", required=True)
    parser.add_argument("--python", required=True, help="that of an environment with xllamacpp, gguf and guidellm")
    parser.add_argument("--rate", type=float, default=5)
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--prompt", type=int, default=64, help="words")
    parser.add_argument("--output", type=int, default=16, help="tokens")
    parser.add_argument("--json", metavar="FILE", help="keep every request of every pair")
    parser.add_argument("--verbose", action="store_true", help="show what the clients say")
    options = parser.parse_args()
    logs = compare(options)
    show(options, logs)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(logs, file)


if __name__ == "__main__":
    sys.exit(main())
