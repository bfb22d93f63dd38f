#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-relayed - the bytes of intercepted connections, and attacks on them.

As proxy-splice.py otherwise.
"""
import contextlib
import hashlib
import os
import socket
import ssl
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from proxy_tls import *  # noqa: E402,F403
from sanitizer import is_sanitized  # noqa: E402


# ---- bytes ------------------------------------------------------------------

def test_an_end_is_passed_on_as_it_came(world):
    def talk_cleanly(session):
        session.recv(65536)
        session.sendall(b"whole")
        session.unwrap()

    def talk_cut(session):
        session.recv(65536)
        session.sendall(b"cut")
        session.shutdown(socket.SHUT_RDWR)

    with pass_proxy(world) as running:
        for talk, data, clean in ((talk_cleanly, b"whole", True),
                                  (talk_cut, b"cut", False)):
            with server(TlsServer(talk)) as to:
                guest, number = running.connect(to.port, "http")
                session = shake(guest)
                session.sendall(b"GET / ")
                equal(read_some(session, len(data)), data, "the answer")
                try:
                    equal(session.recv(1), b"", "the end")
                    found = True
                except ssl.SSLError as error:
                    check("EOF" in str(error), error)
                    found = False
                equal(found, clean, f"{data}: close_notify")
                session.close()
                running.ended(number)


def test_each_direction_ends_by_itself(world):
    """The guest closes its direction, then gets the answer."""
    def talk(session):
        seen.append(read_all(session))
        session.sendall(b"answer")

    seen = []
    with pass_proxy(world) as running, server(talk) as to:
        guest, _ = running.connect(to.port, "http")
        guest.sendall(REQUEST)
        guest.shutdown(socket.SHUT_WR)
        equal(read_all(guest), (b"answer", False), "the answer")
        equal(seen, [(REQUEST, False)], "what arrives")
        guest.close()
    with pass_proxy(world) as running, server(TlsServer(talk)) as to:
        guest, _ = running.connect(to.port, "http")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = guest_context().wrap_bio(incoming, outgoing,
                                           server_hostname=NAME)
        shake_bio(session, guest, incoming, outgoing)

        def run(call, *words):
            while True:
                try:
                    found = call(*words)
                except ssl.SSLWantReadError:
                    found = None
                guest.sendall(outgoing.read())
                if found is not None or call == session.unwrap:
                    return found
                incoming.write(guest.recv(65536))

        run(session.write, REQUEST)
        run(session.unwrap)
        equal(run(session.read, 100), b"answer", "the answer")
        guest.close()


def test_a_slow_guest_stops_the_server(world):
    size, sent = 16 << 20, []
    block = os.urandom(1 << 16)

    def talk(session):
        session.recv(65536)
        for _ in range(size // len(block)):
            session.sendall(block)
            sent.append(len(block))

    with pass_proxy(world) as running, server(TlsServer(talk)) as to:
        before = running.memory()
        guest, _ = running.connect(to.port, "http")
        session = shake(guest)
        session.sendall(REQUEST)
        last = [-1]

        def stands():
            found, last[0] = last[0], len(sent)
            time.sleep(0.1)
            return last[0] > 0 and found == last[0]

        wait_for(stands, "the server waits")
        check(sum(sent) < size, "the server sends all without a reader")
        found = hashlib.sha256()
        for _ in range(size // len(block)):
            found.update(read_some(session, len(block)))
        wanted = hashlib.sha256(block * (size // len(block)))
        equal(found.digest(), wanted.digest(), "the bytes")
        check(is_sanitized(running.process.pid) or
              running.memory() - before < 4096, "the proxy's memory grows")
        session.close()


def test_a_slow_guest_is_waited_for(world):
    """Its hello comes byte by byte."""
    with pass_proxy(world) as running, server(TlsServer()) as to:
        guest, _ = running.connect(to.port, "http")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = guest_context().wrap_bio(incoming, outgoing,
                                           server_hostname=NAME)
        with contextlib.suppress(ssl.SSLWantReadError):
            session.do_handshake()
        for byte in outgoing.read():
            guest.sendall(bytes([byte]))
        incoming.write(guest.recv(65536))
        shake_bio(session, guest, incoming, outgoing)
        session.write(REQUEST)
        for byte in outgoing.read():
            guest.sendall(bytes([byte]))
        wait_for(lambda: running.named("event.request"), "the request")
        guest.close()


def test_plain_http_is_relayed(world):
    greeted = []

    def talk(connection):
        with contextlib.suppress(OSError):
            connection.sendall(b"early")
        greeted.append(1)
        echo(connection)

    with pass_proxy(world) as running, server(talk) as to:
        guest, number = running.connect(to.port, "http")
        wait_for(lambda: greeted, "the server's first bytes")
        equal(running.status()["bytes"]["to_guest"], 0, "bytes to the guest")
        guest.sendall(REQUEST)
        equal(read_some(guest, 5 + len(REQUEST)), b"early" + REQUEST, "bytes")
        guest.close()
        equal(running.ended(number)["verdict"], "closed", "the verdict")
        equal(running.named("event.certificate"), [], "certificates")


def test_a_refused_request_is_answered(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        guest, number = running.connect(to.port, "http")
        session = shake(guest)
        session.sendall(b"GET /refused HTTP/1.1\r\n\r\n")
        found, _ = read_all(session)
        check(found.startswith(b"HTTP/1.1 403 "), f"the answer: {found}")
        session.close()
        event = running.ended(number)
        equal((event["verdict"], event["reason"], event["allow"]),
              ("refused", "refused in a test", "GET:allowed.example/"),
              "the end")
        equal(running.named("event.request")[0]["verdict"], "refused",
              "the request")


def test_requests_beyond_20_a_second_are_counted(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        guest, _ = running.connect(to.port, "http")
        begin = time.monotonic()
        with shake(guest) as session:
            for _ in range(100):
                exchange(session)

        def counted():
            return len(running.named("event.request")) + \
                sum(entry["count"] for entry in
                    running.named("event.requests_untold"))

        wait_for(lambda: counted() == 100, "all requests are counted")
        most = 20 * (2 + time.monotonic() - begin)
        check(len(running.named("event.request")) <= most, "too many events")


# ---- the policy -------------------------------------------------------------

def policy_for(port, entry="intercept:"):
    return {"allow": [f"{entry}{NAME}:{port}", f"{PUBLIC}/32"]}


def test_the_policy_is_asked_again(world):
    """stepback-net may have been taken over."""
    with pass_proxy(world) as running, server(TlsServer()) as to:
        running.request("configure", {"network_policy": policy_for(to.port)})
        for kind in ("raw", "port", "web", "http"):
            guest, _ = running.connect(to.port, kind)
            with shake(guest) as session:
                exchange(session)
        running.request("configure",
                        {"network_policy": policy_for(to.port, "")})
        guest, number = running.connect(to.port, "raw")
        guest.sendall(b"GET / HTTP/1.1\r\nHost: evil.example.org\r\n\r\n")
        check(read_all(guest)[0].startswith(b"HTTP/1.1 403 "), "port for raw")
        guest.close()
        equal(running.ended(number)["verdict"], "refused", "the verdict")


def test_a_new_policy_ends_what_it_would_intercept(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        spliced, number = running.connect(to.port, "web")
        session = shake(spliced, guest_context(
            cafile=authority("servers").certificate))
        exchange(session)
        guest, _ = running.connect(to.port, "http")
        intercepted = shake(guest)
        running.request("configure", {"network_policy": policy_for(to.port)})
        event = running.ended(number)
        equal((event["verdict"], event["reason"]),
              ("refused", "the policy now checks the name more; connect again"),
              "the end")
        exchange(intercepted)
        session.close()
        running.request("configure", {"network_policy": {"allow": []}})
        check(read_all_or_fail(intercepted), "it goes on")
        intercepted.close()


def read_all_or_fail(session):
    try:
        return read_all(session)[0] == b""
    except OSError:
        return True


# ---- attacks ----------------------------------------------------------------

def test_a_guest_cannot_renegotiate(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        with guest_port(running, to.port) as port:
            found = s_client(port, "-tls1_2", lines=b"R\nhello\n")
        check(b"no renegotiation" in found, found)
        check(b"Verify return code: 0 (ok)" in found, found)


def test_a_guest_without_a_usable_key_share_is_asked_again(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        with guest_port(running, to.port) as port:
            found = s_client(port, "-groups", "X448:P-256", "-msg")
        check(found.count(b", ClientHello") == 2 and
              b"Verify return code: 0 (ok)" in found, found)


def test_early_data_does_not_arrive(world):
    def talk(session):
        received.append(session.recv(65536))
        session.sendall(received[0])

    received = []
    made = authority("sandbox")
    session, early = made.path("session"), made.path("early")
    with open(early, "wb") as file:
        file.write(b"early")
    make_session(made, session)
    with pass_proxy(world) as running, server(TlsServer(talk)) as to:
        with guest_port(running, to.port) as port:
            found = s_client(port, "-sess_in", session, "-early_data", early,
                             "-ign_eof", lines=b"late")
        check(b"Early data was rejected" in found, found)
        equal(received, [b"late"], "bytes at the server")


def make_session(made, path):
    """Write a session to a file, of a server that accepts early data."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with subprocess.Popen(
            ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert",
             made.issue(NAME), "-key", made.key, "-early_data"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL) as running:
        wait_for(lambda: is_open(port), "the server")
        client = subprocess.Popen(client_words(port, "-sess_out", path),
                                  stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: os.path.exists(path) and
                     "END SSL SESSION" in read(path), "a session")
        finally:
            client.kill()
            client.communicate()
            running.kill()


def is_open(port):
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


# ---- many -------------------------------------------------------------------

def test_idle_sessions_take_little_memory(world):
    """So many that 1,000 are far below the limit."""
    def talk(session):
        session.recv(65536)

    count = 150
    with pass_proxy(world) as running, server(TlsServer(talk)) as to:
        context = guest_context()
        guests = []
        before = running.memory()
        for _ in range(count):
            guest, _ = running.connect(to.port, "http")
            guests.append(shake(guest, context))
        for guest in guests:
            check(isinstance(guest, ssl.SSLSocket), guest)
        equal(running.status()["connections"], count, "connections")
        check(is_sanitized(running.process.pid) or
              running.memory() - before < 200 * count,
              f"memory: {before}, then {running.memory()} KiB")
        print(f"# {(running.memory() - before) // count} KiB each", flush=True)
        for guest in guests:
            guest.close()


if __name__ == "__main__":
    run(globals())
