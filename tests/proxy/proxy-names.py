#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-names - what clients of TLS, HTTP and other protocols get through
stepback-proxy, by the name that they ask for.

As proxy-splice.py, which has the rest.
"""
import contextlib
import http.client
import http.server
import socket
import ssl
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from proxy_world import *  # noqa: E402,F403


# ---- TLS --------------------------------------------------------------------

def make_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
         f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout",
         folder + "/key", "-out", folder + "/certificate"],
        check=True, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def tls_server(then=echo):
    """Greets in a TLS session, then echoes."""
    with tempfile.TemporaryDirectory() as folder:
        make_certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder + "/certificate", folder + "/key")

        def talk(connection):
            with context.wrap_socket(connection, server_side=True) as session:
                session.sendall(b"hello")
                then(session)

        with server(talk) as running:
            yield running, folder + "/certificate"


def shake_hands(guest, certificate, name):
    """The session's first bytes, or the error."""
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    try:
        with context.wrap_socket(guest, server_hostname=name) as session:
            found = read_some(session, 5)
            session.sendall(b"again")
            return found + read_some(session, 5)
    except OSError as error:
        return error


def test_tls_passes_with_the_right_name_only(world):
    with tls_server() as (to, certificate), proxy(world) as running:
        for kind in ("web", "port"):
            for name in (NAME, NAME.upper()):
                guest, number = running.connect(to.port, kind)
                equal(shake_hands(guest, certificate, name), b"helloagain",
                      "the session")
                equal(running.ended(number)["verdict"], "closed", name)
            for name in ("evil.example.org", None):
                guest, number = running.connect(to.port, kind)
                found = shake_hands(guest, certificate, name)
                check(isinstance(found, ssl.SSLError) and
                      "access denied" in str(found), f"{name}: {found}")
                event = running.ended(number)
                equal((event["verdict"], event["from_guest"]), ("refused", 0),
                      name)
                check((name or "no server name") in event["reason"],
                      event["reason"])
        guest, _ = running.connect(to.port, "raw")
        equal(shake_hands(guest, certificate, None), b"helloagain", "raw")


def test_openssl_s_client_passes(world):
    """A client with its own way to write a ClientHello, in small segments."""
    def leave(session):
        pass

    with tls_server(leave) as (to, _), proxy(world) as running:
        for name, wanted in ((NAME, b"hello"), ("evil.example.org", b"")):
            guest, number = running.connect(to.port, "web")
            with port_of(guest, 16) as port:
                found = subprocess.run(
                    ["openssl", "s_client", "-quiet", "-connect",
                     f"127.0.0.1:{port}", "-servername", name],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, check=False,
                    timeout=PATIENCE).stdout
            equal(found, wanted, name)
            running.ended(number)


# ---- HTTP -------------------------------------------------------------------

class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hosts = []

    def answer(self):
        length = int(self.headers.get("Content-Length", 0))
        body = f"{self.path} {self.rfile.read(length).decode()}".encode()
        self.hosts.append(self.headers["Host"])
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def serve_http(connection):
    Answers(connection, connection.getpeername(), None)


def client(guest):
    found = http.client.HTTPConnection(NAME)
    found.sock = guest
    return found


def ask(connection, host, path="/", body=None):
    connection.request("POST" if body else "GET", path, body,
                       {"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_each_http_request_is_checked(world):
    Answers.hosts.clear()
    with proxy(world) as running, server(serve_http) as to:
        guest, number = running.connect(to.port, "web")
        connection = client(guest)
        equal(ask(connection, NAME, "/1"), (200, "/1 "), "the first")
        equal(ask(connection, f"{NAME}:{to.port}", "/2", "body"),
              (200, "/2 body"), "the second")
        try:
            found = ask(connection, "evil.example.org", "/3")
        except (http.client.HTTPException, OSError):
            found = None
        equal(found, None, "another host in the third request")
        event = running.ended(number)
        equal(event["verdict"], "refused", "the verdict")
        check("evil.example.org" in event["reason"], event["reason"])
        guest, number = running.connect(to.port, "web")
        status, text = ask(client(guest), "evil.example.org")
        equal(status, 403, "another host in the first request")
        check("--network" not in text and f"to {NAME}:" in text, text)
        guest.close()
        event = running.ended(number)
        equal((event["from_guest"], event["allow"]), (0, None),
              "bytes to the server, and an entry that the guest chose")
        equal(Answers.hosts, [NAME, f"{NAME}:{to.port}"], "what arrived")


def test_a_head_passes_when_it_is_whole(world):
    seen = []

    def talk(connection):
        while data := connection.recv(65536):
            seen.append(data)
        connection.sendall(b"end")

    head = f"GET / HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode()
    with proxy(world) as running, server(talk) as to:
        guest, _ = running.connect(to.port, "web")
        for byte in head[:-1]:
            guest.sendall(bytes([byte]))
        equal(running.status()["bytes"]["from_guest"], 0, "bytes before")
        guest.sendall(head[-1:])
        guest.shutdown(socket.SHUT_WR)
        equal(read_all(guest), (b"end", False), "the answer")
        equal(b"".join(seen), head, "what arrives")


UPGRADE = (f"GET / HTTP/1.1\r\nHost: {NAME}\r\nUpgrade: websocket\r\n"
           "Connection: Upgrade\r\n\r\n").encode()


def test_an_upgrade_opens_the_connection_with_101_only(world):
    def talk_as(status):
        def talk(connection):
            read_some(connection, len(UPGRADE))
            with contextlib.suppress(TimeoutError):
                connection.settimeout(0.1)
                early.append(connection.recv(1))
            connection.settimeout(None)
            connection.sendall(f"HTTP/1.1 {status}\r\n"
                               "Content-Length: 0\r\n\r\n".encode())
            echo(connection)
        return talk

    early = []
    frame = b"\x81\x85\1\2\3\4abcde\n"
    with proxy(world) as running, server(talk_as("101 Switching")) as good, \
            server(talk_as("200 OK")) as bad:
        guest, _ = running.connect(good.port, "web")
        guest.sendall(UPGRADE + frame)
        found = b""
        while not found.endswith(frame):
            found += guest.recv(65536)
        guest.sendall(frame)
        equal(read_some(guest, len(frame)), frame, "a frame of WebSocket")
        guest.close()
        guest, number = running.connect(bad.port, "web")
        guest.sendall(UPGRADE + frame)
        check(frame not in read_all(guest)[0], "a frame passes")
        guest.close()
        equal(running.ended(number)["verdict"], "refused", "the verdict")
        equal(early, [], "bytes before the status")


# ---- other protocols --------------------------------------------------------

def test_only_a_port_or_raw_passes_another_protocol(world):
    def greet(connection):
        connection.sendall(b"220 hello\r\n")
        echo(connection)

    evil = b"GET / HTTP/1.1\r\nHost: evil.example.org\r\n\r\n"
    with proxy(world) as running, server(greet) as first, \
            server(echo) as second:
        for kind in ("port", "raw"):
            guest, _ = running.connect(first.port, kind)
            equal(read_some(guest, 11), b"220 hello\r\n", "the greeting")
            guest.sendall(b"EHLO x\r\n")
            equal(read_some(guest, 8), b"EHLO x\r\n", "the echo")
            guest.sendall(evil)  # it is no request to a server that began
            equal(read_some(guest, len(evil)), evil, "the echo")
            guest.close()
            guest, _ = running.connect(second.port, kind)
            guest.sendall(b"\0\1\2")
            equal(read_some(guest, 3), b"\0\1\2", "bytes")
            guest.close()
        guest, number = running.connect(first.port, "web")
        guest.sendall(b"EHLO x\r\n")
        read_all(guest)
        guest.close()
        equal(running.ended(number)["verdict"], "refused", "web")
        guest, number = running.connect(second.port, "port")
        guest.sendall(evil)
        equal(read_all(guest)[0][:12], b"HTTP/1.1 403", "HTTP at a port")
        guest.close()
        equal(running.ended(number)["verdict"], "refused", "HTTP at a port")
        guest, _ = running.connect(second.port, "raw")
        guest.sendall(evil)
        equal(read_some(guest, len(evil)), evil, "raw")
        guest.close()


if __name__ == "__main__":
    sys.exit(main(globals()))
