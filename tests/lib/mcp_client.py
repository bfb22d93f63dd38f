# SPDX-License-Identifier: Apache-2.0
"""A client of an MCP server, for its tests: on a program's stdin and stdout, or
on a socket."""
import json
import os
import queue
import socket
import subprocess
import tempfile
import threading

from stdio_client import PATIENCE, PROGRAM, Agent

LATEST = "2025-11-25"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


class Client:
    """version: a date; up to 2025-11-25 it opens by "initialize"."""

    def __init__(self, reader, writer, version=LATEST, capabilities=None,
                 opening=True):
        self.writer = writer
        self.version = version
        self.capabilities = capabilities or {}
        self.last_id = 0
        self.messages = queue.Queue()
        self.seen = []
        threading.Thread(target=self.read, args=(reader,), daemon=True).start()
        if opening and version != MODERN:
            self.initialize()

    def read(self, reader):
        try:
            for line in reader:
                self.messages.put(json.loads(line))
        except (OSError, ValueError) as error:
            self.messages.put(error)
        self.messages.put(None)

    def initialize(self):
        self.opened = self.ask("initialize", protocolVersion=self.version,
                               capabilities=self.capabilities,
                               clientInfo={"name": "test", "version": "1"})
        self.notify("notifications/initialized")
        return self.opened

    def raw(self, data):
        self.writer.write(data)
        self.writer.flush()

    def message(self, **members):
        self.raw(json.dumps(dict(members, jsonrpc="2.0")).encode() + b"\n")

    def notify(self, method, **params):
        self.message(method=method, params=params)

    def meta(self, **more):
        if self.version != MODERN:
            return more
        return {META + "protocolVersion": MODERN,
                META + "clientInfo": {"name": "test", "version": "1"},
                META + "clientCapabilities": self.capabilities, **more}

    def send(self, method, meta=None, **params):
        self.last_id += 1
        meta = self.meta(**(meta or {}))
        if meta:
            params["_meta"] = meta
        self.message(id=self.last_id, method=method, params=params)
        return self.last_id

    def next(self, patience=PATIENCE):
        message = self.messages.get(timeout=patience)
        if isinstance(message, Exception):
            raise message
        if message is not None:
            self.seen.append(message)
        return message

    def until(self, wanted, patience=PATIENCE):
        while True:
            message = self.next(patience)
            if message is None or wanted(message):
                return message

    def answer(self, id):
        def wanted(message):
            return isinstance(message, dict) and message.get("id") == id and (
                "result" in message or "error" in message)
        for message in self.seen:
            if wanted(message):
                return message
        return self.until(wanted)

    def notification(self, method):
        return self.until(lambda m: m.get("method") == method)["params"]

    def ask(self, method, **params):
        return self.answer(self.send(method, **params))

    def result(self, method, **params):
        answer = self.ask(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method, **params):
        answer = self.ask(method, **params)
        assert "error" in answer, answer
        return answer["error"]["code"], answer["error"]["message"]

    def call(self, name, **arguments):
        """The result of a tool."""
        return self.result("tools/call", name=name, arguments=arguments)

    def tool(self, name, **arguments):
        """The structured result of a tool that must succeed."""
        result = self.call(name, **arguments)
        assert not result.get("isError"), result
        assert result["content"][0]["text"].strip(), result
        return result["structuredContent"]

    def text(self, name, **arguments):
        """What the model reads of a tool that must succeed."""
        result = self.call(name, **arguments)
        assert not result.get("isError"), result
        item, = result["content"]
        return item["text"]

    def refusal(self, name, **arguments):
        """The sentence of a tool that must fail."""
        result = self.call(name, **arguments)
        assert result.get("isError"), result
        return result["content"][0]["text"]


class Server:
    """stepback mcp, with the client that started it."""

    def __init__(self, place, *options, env=None, **client):
        self.errors = tempfile.TemporaryFile()
        accel = () if "--isolation=local" in options else ("--accel=tcg",)
        self.process = subprocess.Popen(
            [PROGRAM, "mcp", "-C", place.share, *accel, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            env=place.environment(**(env or {})))
        self.client = Client(self.process.stdout, self.process.stdin, **client)

    def close(self, patience=PATIENCE):
        """End of input; the exit status."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return self.process.wait(patience)

    def log(self):
        self.errors.seek(0)
        return self.errors.read().decode()


def connect(path, **client):
    """A client on a socket."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    client = Client(sock.makefile("rb"), sock.makefile("wb"), **client)
    client.sock = sock
    return client


# ---- for tests ---------------------------------------------------------------

def read(place, name):
    with open(os.path.join(place.share, name), "rb") as file:
        return file.read()


def write(place, name, data):
    with open(os.path.join(place.share, name), "wb") as file:
        file.write(data)


def agent_with_client(place, **client):
    agent = Agent(place)
    path = agent.event("event.ready")["mcp_socket"]
    agent.start()
    return agent, connect(path, **client)


def NoMachine(place, **client):
    """For tests that need none: its failure is quicker than its end."""
    return Server(place, env={"STEPBACK_LIBEXECDIR": place.root}, **client)
