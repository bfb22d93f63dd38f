# SPDX-License-Identifier: Apache-2.0
"""MCP over HTTP in front of a server's Unix socket, for the conformance suite.

It carries lines to and fro and knows no more of them than the transport asks
for: a connection for each session up to 2025-11-25, one for each request from
2026-07-28 on; headers that must match the body; statuses that errors have.
"""
import http.server
import json
import queue
import re
import socket
import threading
import uuid

META = "io.modelcontextprotocol/"
LOCAL = re.compile(r"^(https?://)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$")
STATUS = {-32601: 404, -32020: 400, -32021: 400, -32022: 400}


class Session:
    """A connection to the server, shared by the requests of a session."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
        self.lock = threading.Lock()
        self.waiting = {}  # id of a request -> its stream
        self.others = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.sock.makefile("rb"):
            message = json.loads(line)
            with self.lock:
                id = message.get("id")
                if "method" not in message and id in self.waiting:
                    self.waiting.pop(id).put(message)
                elif "method" not in message and len(self.waiting) == 1:
                    # An error whose request could not be told.
                    self.waiting.popitem()[1].put(message)
                elif self.waiting:
                    # It belongs to what was asked last.
                    list(self.waiting.values())[-1].put(message)
                else:
                    self.others.put(message)
        with self.lock:
            for stream in self.waiting.values():
                stream.put(None)

    def send(self, body, id=None):
        stream = queue.Queue()
        if id is not None:
            with self.lock:
                self.waiting[id] = stream
        self.sock.sendall(json.dumps(body).encode() + b"\n")
        return stream

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body=None, **headers):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, code, text, id=None):
        message = {"jsonrpc": "2.0", "error": {"code": code, "message": text}}
        if id is not None:
            message["id"] = id
        self.reply(status, message)

    def is_local(self):
        return all(LOCAL.match(self.headers[name]) for name in
                   ("Host", "Origin") if self.headers[name])

    # ---- streams ----

    def begin_stream(self, **headers):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True

    def event(self, message):
        self.wfile.write(b"event: message\ndata: " +
                         json.dumps(message).encode() + b"\n\n")
        self.wfile.flush()

    def stream(self, messages, id, **headers):
        """All until the answer; a plain answer if nothing comes before it."""
        begun = False
        while True:
            message = messages.get()
            if message is None:
                return
            is_answer = "method" not in message
            if not begun and is_answer:
                code = message.get("error", {}).get("code")
                self.reply(self.status(code), message, **headers)
                return
            if not begun:
                self.begin_stream(**headers)
                begun = True
            self.event(message)
            if is_answer:
                return

    def status(self, code):
        if not self.modern:
            return 200
        return 400 if code == -32602 and not self.complete else \
            STATUS.get(code, 200)

    # ---- requests ----

    def mismatch(self, body, meta):
        """Which header contradicts the body, or None."""
        params = body.get("params") or {}
        name = params.get("name", params.get("uri"))
        for header, value in (
                ("MCP-Protocol-Version", meta.get(META + "protocolVersion")),
                ("Mcp-Method", body.get("method")),
                ("Mcp-Name", name if body.get("method") in (
                    "tools/call", "resources/read", "prompts/get") else None)):
            given = self.headers[header]
            if isinstance(value, str) and given != value:
                return header
        return None

    def do_POST(self):
        length = int(self.headers["Content-Length"] or 0)
        data = self.rfile.read(length)
        if not self.is_local():
            self.refuse(403, -32600, "not for other origins")
            return
        try:
            body = json.loads(data)
        except ValueError:
            self.refuse(400, -32700, "not JSON")
            return
        if not isinstance(body, dict):
            self.refuse(400, -32600, "a message must be an object")
            return
        meta = (body.get("params") or {}).get("_meta") or {}
        version = self.headers["MCP-Protocol-Version"]
        self.modern = META + "protocolVersion" in meta or (
            version or "") >= "2026" or body.get("method") == "server/discover"
        if self.modern:
            self.post_stateless(body, meta)
        else:
            self.post_session(body)

    def post_stateless(self, body, meta):
        self.complete = isinstance(meta.get(META + "protocolVersion"), str) \
            and isinstance(meta.get(META + "clientCapabilities"), dict)
        header = self.mismatch(body, meta)
        if header:
            self.refuse(400, -32020, "the header %s does not match" % header,
                        body.get("id"))
            return
        session = Session(self.server.path)
        try:
            if "id" not in body:
                session.send(body)
                self.reply(202)
            else:
                self.stream(session.send(body, body["id"]), body["id"])
        finally:
            session.close()

    def post_session(self, body):
        id = self.headers["Mcp-Session-Id"]
        headers = {}
        if body.get("method") == "initialize":
            id = uuid.uuid4().hex
            self.server.sessions[id] = Session(self.server.path)
            headers["Mcp_Session_Id"] = id
        session = self.server.sessions.get(id)
        if not session:
            self.refuse(404 if id else 400, -32600, "there is no such session",
                        body.get("id"))
        elif "method" not in body or "id" not in body:
            session.send(body)
            self.reply(202)
        else:
            self.stream(session.send(body, body["id"]), body["id"], **headers)

    def do_GET(self):
        session = self.server.sessions.get(self.headers["Mcp-Session-Id"])
        if not session or not self.is_local():
            self.refuse(405, -32600, "there is nothing to be got")
            return
        self.begin_stream()
        try:
            while self.headers["Mcp-Session-Id"] in self.server.sessions:
                try:
                    self.event(session.others.get(timeout=0.5))
                except queue.Empty:
                    self.wfile.write(b":\n\n")
                    self.wfile.flush()
        except OSError:
            pass

    def do_DELETE(self):
        session = self.server.sessions.pop(self.headers["Mcp-Session-Id"], None)
        if session:
            session.close()
        self.reply(200 if session else 404)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        pass  # a client that went away


def serve(path):
    """A server in front of the socket at path, on a port of its own."""
    server = Server(("127.0.0.1", 0), Handler)
    server.path = path
    server.sessions = {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
