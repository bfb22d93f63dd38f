#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-many - connections in large numbers, and large answers: what they may take of
stepback-proxy, and that they leave nothing.

As proxy-splice.py otherwise. STEPBACK_TEST_CONNECTIONS=100000: that many.
"""
import gzip
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from proxy_tls import *  # noqa: E402,F403
from sanitizer import is_sanitized  # noqa: E402

COUNT = int(os.environ.get("STEPBACK_TEST_CONNECTIONS", "10000"))
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
HEAD = f"GET /path HTTP/1.1\r\nHost: {NAME}\r\nX-Slow: ".encode()


class SerialServer(Server):
    """Answers one request of one connection after the other, which is quick."""

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(PATIENCE)
                connection.recv(65536)
                connection.sendall(ANSWER)


def answer(connection):
    connection.recv(65536)
    connection.sendall(ANSWER)


def resident(running):
    """The memory in use, in KiB."""
    with open(f"/proc/{running.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file
                    if line.startswith("VmRSS"))


def intercepting(port):
    return {"allow": [f"intercept:{NAME}:{port}"]}


# ---- many, one after the other ----------------------------------------------

def use(running, port, count, kind):
    """Connections with a request each, of which every fourth ends early."""
    for number in range(count):
        guest, _ = running.connect(port, kind)
        with guest:
            guest.sendall(REQUEST)
            if number % 4:
                found = read_all(guest)[0]
                check(found.endswith(b"ok"), found)


def shake_hands(running, port, count):
    context = guest_context()
    for number in range(count):
        guest, _ = running.connect(port, "http")
        session = shake(guest, context)
        check(isinstance(session, ssl.SSLSocket), session)
        with session:
            if number % 4:
                exchange(session)


def leaves_nothing(running, work, count):
    """After a tenth of the work, which fills caches, the rest of it adds nothing."""
    def settled():
        wait_for(lambda: running.status()["connections"] == 0, "the ends")
        return running.fds(), resident(running)

    work(count // 10)
    fds, memory = settled()
    before = running.status()["total"]
    work(count - count // 10)
    now, grown = settled()
    equal(now, fds, "open files")
    equal(running.status()["total"] - before, count - count // 10, "connections")
    print(f"# {count} connections: {memory} KiB, then {grown} KiB", flush=True)
    check(is_sanitized(running.process.pid) or grown - memory < 256,
          f"memory: {memory} KiB, then {grown} KiB")


def serial(world, kind):
    to = SerialServer(None)
    try:
        with pass_proxy(world, program=PROGRAM) as running:
            running.request("configure", {"network_policy": {
                "raw": {"allow": [f"raw:{NAME}:{to.port}"]},
                "web": {"allow": [f"{NAME}:{to.port}"]},
                "http": intercepting(to.port)}[kind]})
            leaves_nothing(running, lambda count: use(running, to.port, count, kind),
                           COUNT // 3)
    finally:
        to.close()


def test_connections_without_checks_leave_nothing(world):
    serial(world, "raw")


def test_connections_with_a_checked_host_leave_nothing(world):
    serial(world, "web")


def test_connections_whose_requests_are_read_leave_nothing(world):
    serial(world, "http")


def test_intercepted_sessions_of_tls_leave_nothing(world):
    with pass_proxy(world) as running, server(TlsServer()) as to:
        leaves_nothing(running, lambda count: shake_hands(running, to.port, count),
                       COUNT // 50)


# ---- many at the same time --------------------------------------------------

def slow_requests(world, policy, kind, count):
    """Heads of which a byte comes now and then take no more than their bytes, and hold
    up no other request."""
    with pass_proxy(world, program=PROGRAM) as running, server(answer) as to:
        running.request("configure", {"network_policy": policy(to.port)})
        before = resident(running)
        slow = [running.connect(to.port, kind)[0] for _ in range(count)]
        for part in (HEAD, b"a", b"b" * 1000, b"c"):
            for guest in slow:
                guest.sendall(part)
            guest, _ = running.connect(to.port, kind)
            guest.sendall(REQUEST)
            check(read_all(guest)[0].endswith(b"ok"), "another request")
            guest.close()
        equal(running.status()["connections"], count, "slow connections")
        taken = resident(running) - before
        print(f"# {taken / count:.1f} KiB each", flush=True)
        check(is_sanitized(running.process.pid) or taken < 64 * count,
              f"memory: {taken} KiB")
        for guest in slow:
            guest.close()


def test_slow_requests_hold_up_no_other(world):
    slow_requests(world, lambda port: {"allow": [f"{NAME}:{port}"]}, "web", 999)


def test_slow_requests_that_are_read_hold_up_no_other(world):
    slow_requests(world, intercepting, "http", 200)


# ---- large answers ----------------------------------------------------------

def test_a_compressed_bomb_stays_compressed(world):
    """What would be 32 MiB reaches the guest as it was sent."""
    bomb = gzip.compress(gzip.compress(bytes(32 << 20), 1), 9)
    head = (f"HTTP/1.1 200 OK\r\nContent-Length: {len(bomb)}\r\n"
            "Content-Encoding: gzip, gzip\r\nConnection: close\r\n\r\n").encode()

    def talk(connection):
        connection.recv(65536)
        connection.sendall(head + bomb)

    with pass_proxy(world, program=PROGRAM) as running, server(talk) as to:
        running.request("configure", {"network_policy": intercepting(to.port)})
        before = running.memory()
        guest, _ = running.connect(to.port, "http")
        guest.sendall(REQUEST)
        found = read_all(guest)[0]
        check(b"Content-Encoding: gzip, gzip\r\n" in found, found[:500])
        check(found.endswith(b"\r\n\r\n" + bomb), "the body")
        check(running.memory() - before < 4096, "memory")
        guest.close()


if __name__ == "__main__":
    run(globals())
