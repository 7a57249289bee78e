#!/usr/bin/env python3
"""A server of the OpenAI completions API that misbehaves on request; Python's standard library.

usage: endpoint_server.py --port PORT [--gap SECONDS] [--service SECONDS] [--log FILE]
                          [--cert FILE --key FILE] [--die] [--slow SECONDS] [--api NAME]

The model that a request names is the mode in which it is answered (see `MODES`). An honest answer
waits `service`, then sends a token, and the others each `gap` after the one before. The log has a
line of JSON for each completion: when it was received and when each token was sent, in ns of
CLOCK_MONOTONIC. --die ends the server at its start; --slow makes /health wait for so long; --api
answers this one of the two APIs alone, the other by HTTP 404.
"""
import argparse
import gzip
import itertools
import json
import os
import socket
import socketserver
import ssl
import struct
import sys
import threading
import time

OPTIONS = None
COUNTER = itertools.count()
LOG_LOCK = threading.Lock()
BEGUN = time.monotonic()


class Gone(Exception):
    """The client closed the connection, or the mode does."""


class Answer:
    """One answer, sent piece by piece with chunked encoding."""

    def __init__(self, handler, request):
        self.handler, self.request = handler, request
        self.chat = "messages" in request
        self.asked = request.get("max_tokens", 16)
        self.sent = []

    def raw(self, data):
        self.handler.request.sendall(data)

    def head(self, status="200 OK", **headers):
        fields = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked",
                  "Server": "hostile/1"}
        fields.update({name.replace("_", "-"): value for name, value in headers.items()})
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
        self.raw(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode())

    def chunk(self, data):
        self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def event(self, value, end="\n\n"):
        text = value if isinstance(value, str) else json.dumps(value)
        self.chunk(f"data: {text}{end}".encode())

    def choice(self, text, finish=None):
        if self.chat:
            return {"choices": [{"index": 0, "delta": {"content": text} if text else {},
                                 "finish_reason": finish}]}
        return {"choices": [{"index": 0, "text": text, "finish_reason": finish}]}

    def begin(self):
        time.sleep(OPTIONS.service)
        self.head()
        if self.chat:
            self.event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""},
                                     "finish_reason": None}]})

    def tokens(self, count, first=0):
        at = time.monotonic()
        for i in range(first, count):
            if i > first:
                at += OPTIONS.gap
                time.sleep(max(0, at - time.monotonic()))
            self.sent.append(time.monotonic_ns())
            self.event(self.choice(f" word{i}"))

    def finish(self, output=None, done=True, usage=True, prompt=None, reason="length"):
        if reason is not None:
            self.event(self.choice("", reason))
        if usage and self.request.get("stream_options", {}).get("include_usage"):
            self.event({"choices": [], "usage": {
                "prompt_tokens": prompt if prompt is not None else self.words(),
                "completion_tokens": self.asked if output is None else output,
                "total_tokens": 0}})
        if done:
            self.event("[DONE]")
        self.raw(b"0\r\n\r\n")

    def words(self):
        text = self.request["messages"][0]["content"] if self.chat else self.request["prompt"]
        return len(text.split())

    def plain(self, status, body, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.head(status, Content_Type="application/json", Transfer_Encoding="",
                  Content_Length=str(len(data)), **headers)
        self.raw(data)

    def endless(self, piece):
        try:
            while True:
                self.raw(piece)
        except OSError:
            raise Gone from None


def honest(answer):
    answer.begin()
    answer.tokens(answer.asked)
    answer.finish()


def stall(answer):
    answer.begin()
    answer.tokens(answer.asked // 2)
    time.sleep(2)
    answer.tokens(answer.asked, answer.asked // 2)
    answer.finish()


def third_stall(answer):
    (stall if next(COUNTER) % 3 == 0 else honest)(answer)


def quit_later(answer):
    if next(COUNTER) >= 20:
        os._exit(7)
    honest(answer)


def reset(answer):
    answer.begin()
    answer.tokens(2)
    time.sleep(0.05)
    answer.handler.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise Gone


def reset_at_once(answer):
    answer.handler.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise Gone


def quit_all(answer):
    os._exit(0)


def slow_first(answer):
    time.sleep(1)
    honest(answer)


def never(answer):
    time.sleep(60)
    raise Gone


def endless(answer):
    answer.begin()
    event = b"data: " + json.dumps(answer.choice(" more")).encode() + b"\n\n"
    answer.endless(b"%x\r\n%s\r\n" % (64 * len(event), 64 * event))


def endless_comments(answer):
    answer.begin()
    answer.endless(b"1000\r\n" + b": alive\n" * 512 + b"\r\n")


def wrong_usage(answer):
    answer.begin()
    answer.tokens(answer.asked)
    answer.finish(output=answer.asked - 3)


def generous_usage(answer):
    answer.begin()
    answer.tokens(answer.asked)
    answer.finish(output=answer.asked + 5)


def million_usage(answer):
    """A usage far above what was asked for, beside the tokens that were."""
    answer.begin()
    answer.tokens(answer.asked)
    answer.finish(output=1000000)


def usage_without_text(answer):
    """One character, and a usage of as many tokens as were asked for."""
    answer.begin()
    answer.event(answer.choice("x"))
    answer.finish()


def blank_first(answer):
    """A character of no width at once, and what was asked for a while later."""
    answer.begin()
    answer.event(answer.choice("\u200b"))
    time.sleep(0.3)
    answer.tokens(answer.asked, 1)
    answer.finish()


def negative_usage(answer):
    answer.begin()
    answer.tokens(answer.asked)
    answer.finish(output=-1)


def no_usage(answer):
    answer.begin()
    answer.tokens(answer.asked)
    answer.finish(usage=False)


def no_done(answer):
    answer.begin()
    answer.tokens(answer.asked)
    answer.finish(done=False)


def cut_short(answer):
    answer.begin()
    answer.tokens(2)
    answer.raw(b"0\r\n\r\n")


def ended(reason, **more):
    """A mode that gives up after two tokens, with a finish_reason and all that belongs to an end."""
    def mode(answer):
        answer.begin()
        answer.tokens(2)
        answer.finish(output=2, reason=reason, **more)
    return mode


def every_reason(reason):
    """A mode whose events all have that reason, and whose stream stops after two of them."""
    def mode(answer):
        answer.begin()
        for i in range(2):
            answer.event(answer.choice(f" word{i}", reason))
        answer.raw(b"0\r\n\r\n")
    return mode


def seventh_error(answer):
    """Not the first six, which a trial asks for before its window."""
    (ended("error") if next(COUNTER) % 7 == 6 else honest)(answer)


def whole_without_reason(answer):
    answer.begin()
    answer.tokens(answer.asked)
    answer.finish(reason=None)


def more_after_stop(answer):
    answer.begin()
    answer.tokens(1)
    answer.event(answer.choice("", "stop"))
    answer.tokens(2, 1)
    answer.raw(b"0\r\n\r\n")


def closed_in_answer(answer):
    answer.begin()
    answer.tokens(2)
    raise Gone


def short_stop(answer):
    answer.begin()
    answer.tokens(1)
    answer.finish(output=1, reason="stop")


def long_answer(answer):
    answer.begin()
    answer.tokens(answer.asked + 4)
    answer.finish(output=answer.asked + 4)


def usage_of(count):
    """A mode whose usage says this of a good answer, asked for or not."""
    def mode(answer):
        answer.begin()
        answer.tokens(answer.asked)
        answer.event(answer.choice("", "length"))
        answer.event({"choices": [], "usage": {"prompt_tokens": count, "completion_tokens": count}})
        answer.event("[DONE]")
        answer.raw(b"0\r\n\r\n")
    return mode


def in_one_piece(answer):
    answer.begin()
    answer.event(answer.choice(" word" * answer.asked))
    answer.finish()


def in_one_burst(answer):
    answer.begin()
    answer.chunk(b"".join(b"data: " + json.dumps(answer.choice(f" word{i}")).encode() + b"\n\n"
                          for i in range(answer.asked)))
    answer.finish()


def first_piece(answer):
    """Half of the tokens in the first event, the others one by one each 20 ms."""
    answer.begin()
    answer.event(answer.choice(" word" * (answer.asked // 2)))
    for i in range(answer.asked // 2, answer.asked):
        time.sleep(0.02)
        answer.event(answer.choice(f" word{i}"))
    answer.finish()


def first_burst(answer):
    """Half of the events at once, the others one by one each 20 ms."""
    answer.begin()
    answer.chunk(b"".join(b"data: " + json.dumps(answer.choice(f" word{i}")).encode() + b"\n\n"
                          for i in range(answer.asked // 2)))
    for i in range(answer.asked // 2, answer.asked):
        time.sleep(0.02)
        answer.event(answer.choice(f" word{i}"))
    answer.finish()


ended_error, ended_abort, ended_filter = ended("error"), ended("abort"), ended("content_filter")
ended_unknown, ended_done = ended("insufficient\x1bresource", done=False), ended(None)
every_null_text, every_empty = every_reason("null"), every_reason("")
text_usage, fraction_usage, real_usage = usage_of("8"), usage_of(7.5), usage_of(8.0)
null_usage, zero_usage = usage_of(None), usage_of(0)


def no_output(answer):
    answer.begin()
    answer.finish(output=0)


def hang_after_done(answer):
    answer.begin()
    answer.tokens(answer.asked)
    answer.event(answer.choice("", "length"))
    answer.event("[DONE]")
    time.sleep(60)
    raise Gone


def endless_after_done(answer):
    answer.begin()
    answer.tokens(answer.asked)
    answer.event(answer.choice("", "length"))
    answer.event("[DONE]")
    answer.endless(b"1000\r\n" + b"data: {}" * 512 + b"\r\n")


def third_429(answer):
    if next(COUNTER) % 3 == 0:
        answer.plain("429 Too Many Requests", {"error": {"message": "slow down"}}, Retry_After="1")
    else:
        honest(answer)


def third_500(answer):
    if next(COUNTER) % 3 == 0:
        answer.plain("500 Internal Server Error", b"\x1b[31mout of \x00 memory\xff" + b"x" * 2000)
    else:
        honest(answer)


def unavailable(answer):
    answer.plain("503 Service Unavailable", {"error": "loading"})


def echo_key(answer):
    answer.plain("401 Unauthorized",
                 {"error": {"message": "wrong: " + answer.handler.headers.get("authorization", "")}})


def error_in_stream(answer):
    answer.begin()
    answer.tokens(2)
    answer.event({"error": {"message": "out of KV cache", "code": 500}})
    answer.raw(b"0\r\n\r\n")


def garbage(answer):
    answer.begin()
    answer.tokens(1)
    answer.event('{"choices": [{"text": ')
    answer.raw(b"0\r\n\r\n")


def deep(answer):
    answer.begin()
    answer.event("[" * 100000 + "]" * 100000)
    answer.raw(b"0\r\n\r\n")


def not_http(answer):
    answer.raw(b"SSH-2.0-OpenSSH_9.2\r\n" * 20)
    raise Gone


def endless_header(answer):
    answer.raw(b"HTTP/1.1 200 OK\r\nX-Long: ")
    answer.endless(b"a" * 4096)


def endless_headers(answer):
    answer.raw(b"HTTP/1.1 200 OK\r\n")
    answer.endless(b"X-More: abcdefgh\r\n" * 100)


def huge_line(answer):
    answer.begin()
    answer.chunk(b"data: ")
    answer.endless(b"10000\r\n" + b"a" * 65536 + b"\r\n")


def broken_chunks(answer):
    answer.begin()
    answer.tokens(1)
    answer.raw(b"zz\r\ndata: x\n\n")
    raise Gone


def closing(answer):
    time.sleep(OPTIONS.service)
    answer.head(Connection="close")
    answer.tokens(answer.asked)
    answer.finish()
    raise Gone


def redirect(answer):
    answer.plain("307 Temporary Redirect", {}, Location="/v1/completions")


def json_answer(answer):
    answer.plain("200 OK", {"choices": [{"text": "all at once", "finish_reason": "stop"}]})


def gzip_bomb(answer):
    answer.head(Content_Encoding="gzip")
    answer.endless(b"1000\r\n%s\r\n" % gzip.compress(bytes(4_000_000))[:4096].ljust(4096, b"\0"))


def crlf(answer):
    answer.begin()
    for i in range(answer.asked):
        answer.sent.append(time.monotonic_ns())
        answer.chunk(b": comment\r\nevent: message\r\nid: 1\r\n")
        answer.event(answer.choice(f" word{i}"), "\r\n\r\n")
    answer.finish()


def bytewise(answer):
    """The whole stream in chunks of one byte."""
    pieces, answer.chunk = [], lambda data: pieces.append(data)
    answer.begin()
    answer.tokens(answer.asked)
    raw, answer.raw = answer.raw, lambda data: None
    answer.finish()
    answer.raw = raw
    for byte in b"".join(pieces):
        answer.raw(b"1\r\n%c\r\n" % byte)
    answer.raw(b"0\r\n\r\n")


MODES = {name: value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", None) == __name__ and name.islower()}
PATHS = {"/v1/completions": "completions", "/v1/chat/completions": "chat"}


class Handler(socketserver.BaseRequestHandler):
    def read_request(self):
        """(method, path, body), or None at the end of the connection."""
        while b"\r\n\r\n" not in self.buffer:
            got = self.request.recv(65536)
            if not got:
                return None
            self.buffer += got
        head, _, rest = self.buffer.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.headers = {name.lower(): value.strip()
                        for name, _, value in (line.partition(":") for line in lines[1:])}
        length = int(self.headers.get("content-length", 0))
        while len(rest) < length:
            got = self.request.recv(65536)
            if not got:
                return None
            rest += got
        self.buffer = rest[length:]
        method, path, _ = lines[0].split(" ")
        return method, path, rest[:length]

    def answer(self, method, path, body):
        if method == "GET":
            answers = {"/v1/models": {"data": [{"id": name} for name in MODES]},
                       "/version": {"version": "1.2.3"}, "/health": {}}
            ready = time.monotonic() - BEGUN >= OPTIONS.slow
            status = ("404 Not Found" if path not in answers else
                      "503 Service Unavailable" if path == "/health" and not ready else "200 OK")
            Answer(self, {}).plain(status, answers.get(path, {}))
            return
        received = time.monotonic_ns()
        request = json.loads(body)
        answer = Answer(self, request)
        if PATHS.get(path, OPTIONS.api) != OPTIONS.api and OPTIONS.api or path not in PATHS:
            answer.plain("404 Not Found", {"detail": "Not Found"})
            return
        assert "accept-encoding" not in self.headers and request["stream"] is True
        try:
            MODES[request["model"]](answer)
        finally:
            if OPTIONS.log:
                with LOG_LOCK, open(OPTIONS.log, "a", encoding="utf-8") as log:
                    print(json.dumps({"received": received, "sent": answer.sent,
                                      "body": request, "agent": self.headers.get("user-agent"),
                                      "authorization": self.headers.get("authorization")}), file=log)

    def handle(self):
        self.buffer = b""
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while (request := self.read_request()) is not None:
                self.answer(*request)
        except (Gone, OSError):
            pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024

    def get_request(self):
        connection, address = super().get_request()
        if OPTIONS.cert:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(OPTIONS.cert, OPTIONS.key)
            connection = context.wrap_socket(connection, server_side=True)
        return connection, address

    def handle_error(self, request, client_address):
        print("request failed:", sys.exc_info()[1], file=sys.stderr, flush=True)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--service", type=float, default=0.0)
    parser.add_argument("--gap", type=float, default=0.0)
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--api", choices=list(PATHS.values()))
    parser.add_argument("--log")
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--die", action="store_true")
    OPTIONS = parser.parse_args()
    if OPTIONS.die:
        print("CUDA error: no kernel image is available", file=sys.stderr)
        return 3
    with Server(("127.0.0.1", OPTIONS.port), Handler) as server:
        print(f"listening on {server.server_address[1]}, process {os.getpid()}", flush=True)
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
