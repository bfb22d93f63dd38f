#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-upstream - connections to names through a proxy of the host's network.

The upstream proxy has a private address, and the names none at all.
"""
import contextlib
import socket
import sys
import threading

sys.dont_write_bytecode = True
from proxy_tls import *  # noqa: E402,F403

OK = b"HTTP/1.1 200 Connection established\r\nVia: 1.1 corp\r\n\r\n"
USER = "Basic dXNlcjpwYXNz"


class Upstream:
    """Answers CONNECT with bytes, then leads to the port of PUBLIC."""

    def __init__(self, answer=OK, then=None):
        self.answer, self.then = answer, then
        self.heads = []

    def __call__(self, connection):
        head = read_head(connection)
        if not head:
            return
        self.heads.append(head)
        if self.then:
            self.then(connection)
            return
        connection.sendall(self.answer)
        with socket.create_connection((PUBLIC, connect_port(head)),
                                      PATIENCE) as to:
            join(connection, to)


@contextlib.contextmanager
def through(world, upstream=None, authorization=None, start=proxy, **options):
    """A proxy with an upstream."""
    upstream = upstream or Upstream()
    with server(upstream, address=PRIVATE) as at, \
            start(world, **options) as running:
        running.addresses, running.upstream = [PRIVATE], 0
        set_upstream(running, at.port, authorization)
        running.at = at
        yield running, upstream


def set_upstream(running, port, authorization=None):
    running.request("configure", {"upstreams": [
        {"port": port, "authorization": authorization}]})


def refused(running, port=443, kind="raw"):
    """The record of a connection that must not come about."""
    guest, number = running.connect(port, kind)
    event = running.ended(number)
    equal(read_all(guest)[0], b"", "the guest's bytes")
    guest.close()
    equal((event["verdict"], event["from_guest"]), ("closed", 0), event)
    return event


# ---- the tunnel -------------------------------------------------------------

def test_a_connection_goes_by_name_through_the_upstream(world):
    with server(echo) as to, through(world) as (running, upstream):
        for kind in ("raw", "port"):
            guest, number = running.connect(to.port, kind)
            guest.sendall(b"\x00\x01 bytes")
            equal(read_some(guest, 8), b"\x00\x01 bytes", kind)
            guest.shutdown(socket.SHUT_WR)
            equal(read_all(guest), (b"", False), "the end")
            event = running.ended(number)
            equal((event["address"], event["verdict"], event["reason"]),
                  (PRIVATE, "closed", None), "the record")
        equal(upstream.heads, 2 * [f"CONNECT {NAME}:{to.port} HTTP/1.1\r\n"
                                   f"Host: {NAME}:{to.port}\r\n\r\n"], "CONNECT")
        names = running.named("event.resolve")
        equal([event["port"] for event in names], 2 * [to.port], "the port")


def test_without_an_upstream_a_private_address_stays_refused(world):
    """As for a name that NO_PROXY lists."""
    with server(echo, address=PRIVATE) as to, \
            through(world) as (running, upstream):
        running.upstream = None
        guest, number = running.connect(to.port)
        event = running.ended(number)
        equal((event["verdict"], event["allow"]), ("refused", PRIVATE), event)
        equal(upstream.heads, [], "CONNECT")
        guest.close()


def test_the_server_may_speak_first(world):
    def greet(connection):
        connection.sendall(b"SSH-2.0-world\r\n")
        echo(connection)

    with server(greet) as to, through(world) as (running, _):
        guest, _ = running.connect(to.port, "port")
        equal(read_some(guest, 15), b"SSH-2.0-world\r\n", "the greeting")
        guest.close()


def test_early_bytes_belong_to_the_stream(world):
    def talk(connection):
        connection.sendall(b"HTTP/1.0 200\r\n\r\nearly \r\n\r\n" + b"x" * 9000)
        equal(read_some(connection, 4), b"more", "the guest's bytes")

    with through(world, Upstream(then=talk)) as (running, _):
        guest, _ = running.connect(443)
        equal(read_some(guest, 9010), b"early \r\n\r\n" + b"x" * 9000, "all")
        guest.sendall(b"more")
        equal(read_all(guest)[0], b"", "the end")
        guest.close()


def test_the_answer_may_come_byte_by_byte_and_be_long(world):
    answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n" + \
        b"Content-Length: 5\r\n" + b"X-Y: %b\r\n" % (b"z" * 15000) + b"\r\n"

    def dribble(connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(60):
            connection.sendall(answer[i:i + 1])
        connection.sendall(answer[60:] + b"hello")

    with through(world, Upstream(then=dribble)) as (running, _):
        guest, _ = running.connect(443)
        equal(read_all(guest)[0], b"hello", "the stream")
        guest.close()


def test_the_host_name_is_checked_as_without(world):
    """Nothing of a request for another host reaches the server."""
    seen = []

    def talk(connection):
        seen.append(read_all(connection)[0])

    with server(talk) as to, through(world) as (running, _):
        guest, number = running.connect(to.port, "web")
        guest.sendall(b"GET / HTTP/1.1\r\nHost: evil.example.org\r\n\r\n")
        check(b"403" in read_all(guest)[0], "a refusal")
        equal(running.ended(number)["verdict"], "refused", "the record")
        guest.close()
    equal([data for data in seen if data], [], "the server's bytes")


def test_an_intercepted_name_is_trusted_by_its_own_certificate(world):
    with server(TlsServer()) as to, \
            through(world, start=pass_proxy) as (running, upstream):
        guest, number = running.connect(to.port, "http")
        with shake(guest) as session:
            exchange(session)
        equal(running.ended(number)["verdict"], "closed", "the record")
        equal(len(upstream.heads), 1, "CONNECT")
    leaf = authority("servers").issue("other.example.org")
    with server(TlsServer(leaf=leaf)) as to, \
            through(world, start=pass_proxy) as (running, _):
        expect_alert(running, to.port, "alert", "is for another name")
    with through(world, Upstream(b"HTTP/1.1 502 Bad\r\n\r\n"),
                 start=pass_proxy) as (running, _):
        expect_alert(running, 443, "alert", "answered 502 Bad")


def test_a_policy_that_changes_keeps_the_tunnel(world):
    """The upstream's address is none of the name's."""
    with server(echo) as to, \
            through(world, policy={"allow": [NAME]}) as (running, _):
        running.request("configure", {"network_policy": {
            "allow": [f"raw:{NAME}:{to.port}"]}})
        guest, number = running.connect(to.port)
        guest.sendall(b"one")
        equal(read_some(guest, 3), b"one", "before")
        running.request("configure", {"network_policy": {
            "allow": [f"raw:{NAME}:{to.port}", "other.example.org"]}})
        guest.sendall(b"two")
        equal(read_some(guest, 3), b"two", "after")
        running.request("configure", {"network_policy": {
            "allow": ["other.example.org"]}})
        check("no longer allows" in running.ended(number)["reason"], "the end")
        guest.close()


# ---- credentials ------------------------------------------------------------

def test_credentials_go_to_the_upstream_alone(world):
    seen = []

    def talk(connection):
        seen.append(read_some(connection, 4))
        echo(connection)

    with server(talk) as to, \
            through(world, authorization=USER) as (running, upstream):
        guest, number = running.connect(to.port)
        guest.sendall(b"data")
        guest.shutdown(socket.SHUT_WR)
        read_all(guest)
        running.ended(number)
        guest.close()
        check(f"\r\nProxy-Authorization: {USER}\r\n" in upstream.heads[0],
              upstream.heads)
        running.upstream, running.addresses = None, [PUBLIC]
        guest, number = running.connect(to.port)
        guest.sendall(b"data")
        guest.shutdown(socket.SHUT_WR)
        read_all(guest)
        running.ended(number)
        guest.close()
        for text in (str(running.events), str(running.status())):
            check("dXNl" not in text, text)
    equal(seen, [b"data", b"data"], "the server's bytes")


def test_credentials_cannot_add_lines(world):
    with through(world) as (running, _):
        for text in ("Basic a\r\nX: y", "Basic \x7f"):
            try:
                set_upstream(running, 3128, text)
            except Failed as error:
                check("printable" in str(error), error)
            else:
                raise Failed(text)


# ---- refusals ---------------------------------------------------------------

def test_other_statuses_are_refused_with_their_reason(world):
    for answer, reason in (
            (b"407 Proxy Authentication Required\r\nProxy-Authenticate: Basic",
             "answered 407 Proxy Authentication Required; set HTTPS_PROXY"),
            (b"403 Forbidden", "answered 403 Forbidden; its rules"),
            (b"502 \xe2\x80\xae\xff" + b"x" * 100,
             "answered 502 ????" + "x" * 60),
            (b"301 Moved\r\nLocation: http://x/", "answered 301 Moved"),
            (b"101 Switching", "answered 101 Switching")):
        upstream = Upstream(b"HTTP/1.1 " + answer + b"\r\n\r\n")
        with through(world, upstream) as (running, _):
            event = refused(running)
            check(reason in event["reason"] and len(event["reason"]) < 200,
                  event["reason"])
            check("\x1b" not in event["reason"], event)


def test_malformed_answers_are_refused(world):
    for answer in (b"SSH-2.0-other\r\n", b"HTTP/1.1 200 OK\n\n",
                   b"HTTP/2 200\r\n\r\n", b"HTTP/1.1 20\r\n\r\n",
                   b"HTTP/1.1 099 x\r\n\r\n", b"\r\n\r\n", b"\x00" * 20000,
                   b"HTTP/1.1 200 OK\r\n folded\r\n\r\n",
                   b"HTTP/1.1 200 OK\r\nA\rB: c\r\n\r\n",
                   b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
                   b"HTTP/1.1 200 \x1b[31m\r\n\r\n",
                   b"HTTP/1.1 200 " + b"x" * 16384 + b"\r\n\r\n"):
        with through(world, Upstream(answer)) as (running, _):
            check("malformed" in refused(running)["reason"], answer[:40])


def test_an_endless_answer_is_bounded(world):
    for begin, data in ((b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 1000),
                        (b"HTTP/1.1 200 OK\r\n", b"x" * 65536),
                        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)):
        def flood(connection, begin=begin, data=data):
            connection.sendall(begin)
            while True:
                connection.sendall(data)

        with through(world, Upstream(then=flood)) as (running, _):
            check("too long" in refused(running)["reason"], data[:20])
            check(running.memory() < 64 << 10, running.memory())


def test_an_upstream_that_ends_or_resets_is_reported(world):
    def reset(connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                              b"\1\0\0\0\0\0\0\0")

    def half(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nA: b\r\n")

    for then, reason in ((half, "closed the connection before"),
                         (lambda c: None, "closed the connection before"),
                         (reset, "reset by peer")):
        with through(world, Upstream(then=then)) as (running, _):
            check(reason in refused(running)["reason"], reason)


def test_an_upstream_that_is_not_there_is_reported(world):
    with through(world) as (running, _):
        set_upstream(running, 9)
        check("to the upstream proxy: Connection refused" in
              refused(running)["reason"], "refused")
        running.addresses, running.problem = [], "no such name"
        check("resolve the upstream proxy's name: no such name" in
              refused(running)["reason"], "no address")
        # Another one than was configured.
        running.upstream, running.addresses = 1, [PRIVATE]
        check("the upstream proxy" in refused(running)["reason"], "no server")


def test_a_guest_that_leaves_ends_the_request(world):
    gone = threading.Event()

    def wait(connection):
        read_all(connection)
        gone.set()

    with through(world, Upstream(then=wait)) as (running, upstream):
        before = running.fds()
        guest, number = running.connect(443)
        wait_for(lambda: upstream.heads, "CONNECT")
        guest.close()
        running.ended(number)
        check(gone.wait(PATIENCE), "the upstream sees the end")
        wait_for(lambda: running.fds() == before, "no fd is left")


def test_a_hundred_tunnels_leave_nothing(world):
    with server(echo) as to, through(world) as (running, _):
        before = running.fds()
        guests = [running.connect(to.port)[0] for _ in range(100)]
        for guest in guests:
            guest.sendall(b"x")
        for guest in guests:
            equal(read_some(guest, 1), b"x", "the echo")
            guest.close()
        wait_for(lambda: running.fds() == before, "no fd is left")


if __name__ == "__main__":
    run(dict(globals()))
