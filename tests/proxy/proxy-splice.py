#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-splice - stepback-proxy copies what the checks pass, and nothing else.

The test plays the supervisor and stepback-net (proxy_world.py). TAP on standard
output. One test: proxy-splice.py ITS_FUNCTION.
"""
import contextlib
import hashlib
import http.client
import http.server
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from sanitizer import is_sanitized  # noqa: E402
from proxy_world import *  # noqa: E402,F403


@contextlib.contextmanager
def proxy(world, policy=None, **options):
    """A proxy that must end in order and keep no connection."""
    running = Proxy(world, policy, **options)
    try:
        yield running
        wait_for(lambda: running.status()["connections"] == 0,
                 "all connections end")
        equal(running.close(), 0, "the exit status")
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


@contextlib.contextmanager
def server(talk, **where):
    running = Server(talk, **where)
    try:
        yield running
    finally:
        running.close()


# ---- copying ----------------------------------------------------------------

def test_bytes_pass_both_ways(world):
    with proxy(world) as running, server(echo) as to:
        guest, number = running.connect(to.port)
        guest.sendall(b"hello")
        equal(read_some(guest, 5), b"hello", "the echo")
        guest.close()
        event = running.ended(number)
        equal((event["name"], event["port"], event["address"],
               event["verdict"], event["from_guest"], event["to_guest"]),
              (NAME, to.port, PUBLIC, "closed", 5, 5), "the event")


def test_ipv6_is_reached(world):
    with proxy(world) as running, server(echo, address=PUBLIC6) as to:
        running.addresses = [PUBLIC6]
        guest, _ = running.connect(to.port)
        guest.sendall(b"hello")
        equal(read_some(guest, 5), b"hello", "the echo")
        guest.close()


def test_each_direction_ends_by_itself(world):
    def answer_at_end(connection):
        found = b""
        while data := connection.recv(65536):
            found += data
        connection.sendall(b"got " + found)

    def end_first(connection):
        connection.sendall(b"bye")
        connection.shutdown(socket.SHUT_WR)
        found.append(read_all(connection))

    found = []
    with proxy(world) as running, server(answer_at_end) as to, \
            server(end_first) as first:
        guest, number = running.connect(to.port)
        guest.sendall(b"question")
        guest.shutdown(socket.SHUT_WR)
        equal(read_all(guest), (b"got question", False), "the answer")
        equal(running.ended(number)["verdict"], "closed", "the verdict")
        guest, number = running.connect(first.port)
        equal(read_all(guest), (b"bye", False), "the server's bytes")
        guest.sendall(b"and more")
        guest.close()
        running.ended(number)
        wait_for(lambda: found, "the server sees the end")
        equal(found, [(b"and more", False)], "the guest's bytes")


def test_a_reset_ends_both_directions(world):
    def reset(connection):
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              struct.pack("ii", 1, 0))

    def listen(connection):
        connection.sendall(b"x")
        found.append(read_all(connection))

    found = []
    with proxy(world) as running, server(reset) as to, \
            server(listen) as listener:
        guest, number = running.connect(to.port)
        guest.sendall(b"x")
        read_all(guest)
        running.ended(number)
        # The guest's system sends a reset for bytes that come after its end.
        guest, number = running.connect(listener.port)
        equal(guest.recv(0), b"", "nothing")
        wait_for(lambda: running.status()["bytes"]["to_guest"] == 1, "a byte")
        guest.close()  # with an unread byte
        running.ended(number)
        wait_for(lambda: found, "the server sees it")
        equal(found, [(b"", True)], "the server's end")


def test_64_MiB_arrive_unchanged_in_bounded_memory(world):
    block = os.urandom(1 << 20)
    sums = {}

    def send(connection, key):
        told = hashlib.sha256()
        for number in range(64):
            data = bytes([number]) + block[1:]
            told.update(data)
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        sums[key] = told.hexdigest()

    def receive(connection):
        found = hashlib.sha256()
        while data := connection.recv(1 << 18):
            found.update(data)
        return found.hexdigest()

    def talk(connection):
        thread = threading.Thread(target=send, args=(connection, "server"))
        thread.start()
        sums["to server"] = receive(connection)
        thread.join()

    with proxy(world) as running, server(talk) as to:
        guest, number = running.connect(to.port)
        before = running.memory()
        thread = threading.Thread(target=send, args=(guest, "guest"))
        thread.start()
        sums["to guest"] = receive(guest)
        thread.join()
        event = running.ended(number)
        equal(event["from_guest"], 64 << 20, "bytes to the server")
        equal(event["to_guest"], 64 << 20, "bytes to the guest")
        wait_for(lambda: len(sums) == 4, "the server gets everything")
        equal(sums["to server"], sums["guest"], "the guest's sum")
        equal(sums["to guest"], sums["server"], "the server's sum")
        check(is_sanitized(running.process.pid) or
              running.memory() - before < 1024, "memory grows")


def fill(sender):
    """Send until nothing has gone for a while. Return the number of bytes."""
    sender.settimeout(0.2)
    count = 0
    try:
        while count < 64 << 20:
            count += sender.send(bytes(65536))
    except TimeoutError:
        pass
    sender.settimeout(PATIENCE)
    return count


def test_a_reader_that_sleeps_stops_the_sender(world):
    ready, counts = threading.Event(), []

    def sleep(connection):
        ready.wait(PATIENCE)
        counts.append(len(read_all(connection)[0]))

    with proxy(world) as running, server(sleep) as to:
        before = running.memory()
        guest, _ = running.connect(to.port)
        sent = fill(guest)
        check(sent < 32 << 20, f"the guest could send {sent} bytes")
        check(is_sanitized(running.process.pid) or
              running.memory() - before < 1024, "memory grows")
        used = cpu(running)
        time.sleep(0.3)
        check(cpu(running) - used < 0.1, "the proxy is busy")
        ready.set()
        guest.shutdown(socket.SHUT_WR)
        wait_for(lambda: counts, "the server gets everything")
        equal(counts, [sent], "bytes that arrive")
        guest.close()


def cpu(running):
    """Seconds of the processor."""
    with open(f"/proc/{running.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ends_of_blocked_connections_do_not_keep_the_proxy_busy(world):
    """A guest or a server that is gone while its bytes wait."""
    ready = threading.Event()

    def sleep(connection):
        ready.wait(PATIENCE)

    with proxy(world) as running, server(sleep) as to:
        guest, number = running.connect(to.port)
        fill(guest)
        guest.close()
        used = cpu(running)
        time.sleep(0.3)
        check(cpu(running) - used < 0.1, "the proxy is busy")
        ready.set()
        running.ended(number)


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
            with relay(guest) as port:
                found = subprocess.run(
                    ["openssl", "s_client", "-quiet", "-connect",
                     f"127.0.0.1:{port}", "-servername", name],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, check=False,
                    timeout=PATIENCE).stdout
            equal(found, wanted, name)
            running.ended(number)


@contextlib.contextmanager
def relay(guest):
    """A port of the loopback that leads to the guest's side, byte by byte."""
    listener = socket.create_server(("127.0.0.1", 0))

    def copy(source, target, size):
        with contextlib.suppress(OSError):
            while data := source.recv(size):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def run():
        connection, _ = listener.accept()
        back = threading.Thread(target=copy, args=(guest, connection, 65536))
        back.start()
        copy(connection, guest, 16)
        back.join()
        connection.close()
        guest.close()

    thread = threading.Thread(target=run)
    thread.start()
    yield listener.getsockname()[1]
    thread.join()
    listener.close()


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
        check("--network=evil.example.org" in text and NAME in text, text)
        guest.close()
        equal(running.ended(number)["from_guest"], 0, "bytes to the server")
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


# ---- addresses --------------------------------------------------------------

def test_internal_addresses_are_refused(world):
    with proxy(world) as running, server(echo, address="0.0.0.0") as to:
        for address in (PRIVATE, METADATA, OWN, "127.0.0.1", "::1", "0.0.0.0",
                        "::ffff:198.51.100.7", "64:ff9b::a4d:7", "2001:db8::1",
                        "fd00::1", "fe80::1", "10.0.2.2", "198.18.0.1"):
            running.addresses = [address]
            guest, number = running.connect(to.port)
            event = running.ended(number)
            equal((event["verdict"], event["address"]), ("refused", None),
                  address)
            check(str(address) in event["reason"], event["reason"])
            equal(read_all(guest), (b"", False), "the guest's end")
        running.addresses = ["127.0.0.1", PRIVATE, PUBLIC]
        guest, _ = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "the public one of several")
        guest.close()
        # Address entries of the policy open them.
        running.request("configure",
                        {"network_policy": {"allow": ["10.77.0.0/16"]}})
        running.addresses = [PRIVATE]
        guest, number = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "a listed one")
        guest.close()
        equal(running.ended(number)["address"], PRIVATE, "the address")


def test_other_addresses_are_tried(world):
    with proxy(world) as running, server(echo) as to:
        # The first refuses; nothing answers at the second.
        running.addresses = [OTHER, SILENT, PUBLIC6, PUBLIC]
        guest, number = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "the echo")
        guest.close()
        equal(running.ended(number)["address"], PUBLIC, "the address")
        running.addresses = [OTHER]
        guest, number = running.connect(to.port)
        event = running.ended(number)
        equal((event["verdict"], event["address"]), ("closed", None), "refused")
        check("Connection refused" in event["reason"], event["reason"])


def test_a_name_without_addresses_ends_the_connection(world):
    with proxy(world) as running:
        running.addresses, running.problem = [], "no such name"
        guest, number = running.connect(80)
        event = running.ended(number)
        equal(event["verdict"], "closed", "the verdict")
        check("no such name" in event["reason"], event["reason"])
        equal(read_all(guest), (b"", False), "the guest's end")
        # One that leaves while its name is resolved.
        running.addresses = None
        guest, number = running.connect(80)
        guest.close()
        running.ended(number)
        running.request("resolved", {"id": number, "addresses": [PUBLIC],
                                     "error": None})


# ---- limits and hostile messages --------------------------------------------

def test_1000_connections_and_no_more(world):
    with proxy(world) as running, server(echo) as to:
        fds = running.fds()
        guests = [running.connect(to.port)[0] for _ in range(1000)]
        for guest in guests:
            guest.sendall(b"x")
        for guest in guests:
            equal(read_some(guest, 1), b"x", "the echo")
        guest, number = running.connect(to.port)
        equal(read_all(guest), (b"", False), "one too many")
        equal(running.status()["connections"], 1000, "open connections")
        equal(running.status()["refused"], 1, "refused connections")
        guests.pop().close()
        wait_for(lambda: running.status()["connections"] == 999, "one ends")
        guest, _ = running.connect(to.port)
        guest.sendall(b"x")
        equal(read_some(guest, 1), b"x", "a new one")
        guest.close()
        for guest in guests:
            guest.close()
        wait_for(lambda: running.fds() == fds, "all sockets are closed")
        told = [kind for kind, _ in running.events]
        check(told.count("event.connection") < 200, "too many events")
        wait_for(lambda: "event.connections_untold" in
                 [kind for kind, _ in running.events], "the others are counted")


def test_malformed_messages_are_dropped(world):
    good = {"id": 1 << 40, "name": NAME, "port": 80, "check": "raw"}
    with proxy(world) as running, server(echo) as to:
        fds = running.fds()
        pair = socket.socketpair()
        numbers = [pair[0].fileno()]
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with open(os.devnull, "rb") as null:
            for change, carried in (
                    ({"name": ""}, numbers), ({"name": "x" * 300}, numbers),
                    ({"name": 7}, numbers), ({"name": "x" * 2000}, numbers),
                    ({"port": 0}, numbers), ({"port": 65536}, numbers),
                    ({"check": "none"}, numbers), ({"id": -1}, numbers),
                    ({"id": "1"}, numbers), ({}, []), ({}, numbers * 2),
                    ({}, numbers * 9), ({}, [null.fileno()]),
                    ({}, [udp.fileno()])):
                socket.send_fds(running.intake,
                                [json.dumps({**good, **change}).encode()],
                                carried)
            for text in (b"{", b"\0", b"[]", b"null", b"{} x"):
                socket.send_fds(running.intake, [text], numbers)
            guest, number = running.connect(to.port)
            guest.sendall(b"x")
            equal(read_some(guest, 1), b"x", "a good one afterwards")
            guest.close()
            running.ended(number)
        running.last_id -= 1  # a number that was used
        _, number = running.connect(to.port)
        wait_for(lambda: running.status()["refused"] == 1, "a refusal")
        wait_for(lambda: running.fds() == fds, "all sockets are closed")
        udp.close()
        for end in pair:
            end.close()


def test_unknown_requests_get_errors(world):
    with proxy(world) as running:
        for kind, payload in (("nonsense", {}), ("resolved", {}),
                              ("resolved", {"id": 1, "addresses": ["x"]}),
                              ("configure", {"network_policy": "x"})):
            try:
                running.request(kind, payload)
                found = True
            except Failed:
                found = False
            check(not found, f"{kind} {payload}")


def test_it_ends_with_either_channel(world):
    for channel in ("control", "intake"):
        running = Proxy(world)
        with server(echo) as to:
            guest, _ = running.connect(to.port)
            guest.sendall(b"x")
            equal(read_some(guest, 1), b"x", "the echo")
            getattr(running, channel).shutdown(socket.SHUT_RDWR)
            equal(running.process.wait(PATIENCE), 0, channel)
            equal(read_all(guest), (b"", False), "the guest's end")


def test_a_wrong_command_line_is_refused(_):
    for words in ([], ["--connections-fd=0"], ["--nonsense"],
                  ["--connections-fd=0", "--control-fd=1", "--seccomp=x"]):
        found = subprocess.run([PROGRAM, *words], stderr=subprocess.PIPE,
                               check=False)
        equal(found.returncode, 2, words)
        check(found.stderr.startswith(b"stepback-proxy: "), found.stderr)
    found = subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE,
                           check=True)
    check(found.stdout.startswith(b"stepback-proxy "), found.stdout)


if __name__ == "__main__":
    sys.exit(main(globals()))
