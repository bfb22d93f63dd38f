#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""net-names - a policy of names, frame by frame: queries, and connections that
go to the proxy, which this test plays.

As net-filter.py.
"""
import array
import json
import os
import socket
import struct
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import net_lab as lab  # noqa: E402
from net_checks import check, equal, is_shut, main, says  # noqa: E402
from net_guest import *  # noqa: E402,F403

A, AAAA, HTTPS, TXT, SRV, NS = 1, 28, 65, 16, 33, 2
OK, NXDOMAIN = 0, 3
NAMES = {"allow": ["api.example.org", "*.pkg.example.net:5432", lab.LISTED,
                   "deny:bad.pkg.example.net"]}
SERVER = "10.0.2.3"


def query(name, kind=A, id=7):
    labels = b"".join(bytes([len(one)]) + one.encode()
                      for one in name.split("."))
    return struct.pack("!HHHHHH", id, 0x100, 1, 0, 0, 0) + labels + \
        struct.pack("!BHH", 0, kind, 1)


def read_answer(data, asked):
    """The code and the addresses."""
    id, flags, _, count = struct.unpack("!HHHH", data[:8])
    equal((id, flags & 0x8000, data[12:len(asked)]), (7, 0x8000, asked[12:]),
          "the answer's head")
    addresses = [socket.inet_ntoa(data[len(asked) + 12 + at:][:4])
                 for at in range(0, 16 * count, 16)]
    return flags & 15, addresses


def resolve(guest, name, kind=A):
    asked = query(name, kind)
    guest.send(udp(SERVER, 53, asked))
    found = guest.wait(lambda found: found.protocol == UDP and
                       found.sport == 53)
    check(found, f"{name}: no answer")
    equal(found.source, SERVER, "the server")
    return read_answer(found.data, asked)


def address_of(guest, name):
    code, addresses = resolve(guest, name)
    equal((code, len(addresses)), (OK, 1), name)
    check(addresses[0].startswith(("198.18.", "198.19.")), addresses)
    return addresses[0]


def take(guest):
    """The next connection that the proxy gets: the message and the socket."""
    guest.names.settimeout(3)
    data, ancillary, _, _ = guest.names.recvmsg(4096, 64)
    fds = array.array("i", ancillary[0][2])
    equal(len(fds), 1, "sockets")
    return json.loads(data), socket.socket(fileno=fds[0])


def nothing_comes(guest):
    guest.names.settimeout(0)
    try:
        raise Failed(guest.names.recvmsg(4096, 64)[0])
    except BlockingIOError:
        pass


def exchange(connection, proxied):
    connection.write(b"to the server")
    proxied.settimeout(3)
    equal(proxied.recv(100), b"to the server", "out")
    proxied.sendall(b"to the guest")
    equal(connection.read(), b"to the guest", "in")


# ---- queries -----------------------------------------------------------------

def test_queries():
    guest = Guest(NAMES, lab.DNS)
    address = address_of(guest, "api.example.org")
    equal(address_of(guest, "API.Example.ORG"), address, "another case")
    check(address_of(guest, "a.b.pkg.example.net") != address, "the same")
    for kind in (AAAA, HTTPS, TXT):
        equal(resolve(guest, "api.example.org", kind), (OK, []), kind)
    # Names may be below them (RFC 8020).
    for name in ("example.org", "net", "pkg.example.net",
                 "bad.pkg.example.net"):
        equal(resolve(guest, name), (OK, []), name)
    for name in ("other.example.org", "x.api.example.org",
                 "localhost", "xapi.example.org"):
        equal(resolve(guest, name), (NXDOMAIN, []), name)
    found = {one["destination"]: one["reason"] for one in guest.refused()
             if one["protocol"] == "dns"}
    equal(found, {"example.org": "not_listed", "net": "not_listed",
                  "pkg.example.net": "above_wildcard",
                  "bad.pkg.example.net": "excepted",
                  "other.example.org": "not_listed",
                  "x.api.example.org": "not_listed",
                  "localhost": "not_listed",
                  "xapi.example.org": "not_listed"}, "reasons")
    guest.close()


def test_other_types_are_not_reported():
    guest = Guest(NAMES, lab.DNS)
    for kind in (HTTPS, TXT, SRV, NS):
        equal(resolve(guest, "other.example.org", kind), (NXDOMAIN, []), kind)
        equal(resolve(guest, "pkg.example.net", kind), (OK, []), kind)
    equal(resolve(guest, "last.example.org", AAAA), (NXDOMAIN, []), "AAAA")
    equal([one["destination"] for one in guest.refused()],
          ["last.example.org"], "reported")
    guest.close()


def test_queries_over_tcp():
    guest = Guest(NAMES, lab.DNS)
    address = address_of(guest, "api.example.org")
    connection = guest.connect(SERVER, port=53)
    check(isinstance(connection, Connection), connection)
    for name, wanted in (("api.example.org", (OK, [address])),
                         ("other.example.org", (NXDOMAIN, []))):
        asked = query(name)
        whole = struct.pack("!H", len(asked)) + asked
        connection.write(whole[:5])
        connection.write(whole[5:])
        data = connection.read()
        equal(struct.unpack("!H", data[:2])[0], len(data) - 2, "the length")
        equal(read_answer(data[2:], asked), wanted, name)
    guest.close()


def test_dns_of_the_host():
    """With "dns" other names are asked of the host's name server."""
    guest = Guest({**NAMES, "dns": True}, lab.DNS)
    address_of(guest, "api.example.org")
    guest.send(udp(SERVER, 53, query("other.example.org")))
    found = guest.wait(lambda found: found.protocol == UDP)
    check(found and found.data.startswith(b"dns!"), "no answer")
    equal(resolve(guest, "bad.pkg.example.net"), (OK, []), "denied")
    guest.close()
    guest = Guest({**NAMES, "dns": True})
    guest.send(udp(SERVER, 53, query("other.example.org")))
    check(guest.wait(lambda found: found.is_refusal()), "no server")
    address_of(guest, "api.example.org")
    # A host whose server has the guest's address for its own, from now on.
    guest.configure(dns_server=SERVER)
    guest.send(udp(SERVER, 53, query("other.example.org")))
    check(guest.wait(lambda found: found.is_refusal()), "the guest's own")
    guest.close()


# ---- connections -------------------------------------------------------------

def test_connections():
    guest = Guest(NAMES, lab.DNS)
    address = address_of(guest, "api.example.org")
    connection = guest.connect(address, port=443)
    message, proxied = take(guest)
    equal(message, {"id": 1, "name": "api.example.org", "port": 443,
                    "check": "web"}, "the message")
    exchange(connection, proxied)
    other = guest.connect(address, port=80)
    message, second = take(guest)
    equal((message["id"], message["port"]), (2, 80), "the second")
    exchange(other, second)
    exchange(connection, proxied)
    connection = guest.connect(address_of(guest, "x.pkg.example.net"),
                               port=5432)
    message, third = take(guest)
    equal((message["name"], message["check"]), ("x.pkg.example.net", "port"),
          "the third")
    exchange(connection, third)
    # Addresses of the list are as before.
    says(guest, lab.LISTED)
    is_shut(guest, lab.UNLISTED)
    guest.close()


def test_intercepted_connections():
    guest = Guest({"allow": ["GET:api.example.org", "*.example.net",
                             "deny:a.example.net/v1"]}, lab.DNS)
    for name, expected in (("api.example.org", "http"),
                           ("a.example.net", "http"),
                           ("b.example.net", "web")):
        connection = guest.connect(address_of(guest, name), port=443)
        message, proxied = take(guest)
        equal((message["name"], message["check"]), (name, expected), "check")
        exchange(connection, proxied)
    guest.close()


def test_other_ports_and_addresses():
    """Only listed ports, only TCP, and only addresses that stand for names."""
    guest = Guest(NAMES, lab.DNS)
    address = address_of(guest, "api.example.org")
    for port in (22, 53, 8000, 81, 444):
        equal(guest.connect(address, port=port), "refused", port)
    for port in (443, 80, 8000):
        equal(guest.ask_udp(address, port), "refused", f"UDP {port}")
    for other in ("198.18.77.77", "198.19.255.254", "198.18.0.0",
                  "198.19.255.255"):
        for port in (53, 80, 443):
            equal(guest.connect(other, port=port), "refused", other)
            equal(guest.ask_udp(other, port), "refused", other)
    equal(guest.connect(SERVER, port=80), "refused", "the name server")
    nothing_comes(guest)
    guest.close()


def test_policies_that_change():
    guest = Guest(NAMES, lab.DNS)
    address = address_of(guest, "api.example.org")
    connection = guest.connect(address, port=443)
    proxied = take(guest)[1]
    guest.configure(network_policy={"allow": ["api.example.org", "b.org"]})
    exchange(connection, proxied)
    guest.configure(network_policy={"allow": ["b.org"]})
    proxied.settimeout(3)
    equal(proxied.recv(100), b"", "the end")
    equal(guest.connect(address, port=443), "refused", "denied")
    nothing_comes(guest)
    guest.configure(network_policy="disabled")
    equal(guest.connect(address, port=443), "refused", "disabled")
    guest.close()


def test_a_stricter_check():
    """A connection ends if its bytes would now be checked more."""
    guest = Guest({"allow": ["raw:api.example.org:8443"]}, lab.DNS)
    address = address_of(guest, "api.example.org")
    for port, before, policy, check_now in (
            (8443, "raw", {"allow": ["api.example.org:8443"]}, "port"),
            (8443, "port", {"allow": ["intercept:api.example.org:8443"]}, "http"),
            (8443, "http", {"allow": ["raw:api.example.org:443"]}, "none"),
            (443, "raw", {"allow": ["api.example.org:443"]}, "web"),
            (443, "web", {"allow": ["intercept:api.example.org"]}, "http"),
            (443, "http", "open", "raw"), (443, "raw", NAMES, "web")):
        connection = guest.connect(address, port=port)
        message, proxied = take(guest)
        equal(message["check"], before, "the check")
        guest.configure(network_policy=policy)
        if policy == "open":
            exchange(connection, proxied)
        else:
            proxied.settimeout(3)
            equal(proxied.recv(100), b"", f"{before} to {check_now}")
    guest.close()


def test_connections_that_the_proxy_ends_at_once():
    """Each is accepted or reset, even if it ends before libslirp looks at it."""
    guest = Guest(NAMES, lab.DNS)
    address = address_of(guest, "api.example.org")
    ports = range(50000, 50100)
    ends = threading.Thread(target=lambda: [take(guest)[1].close() for _ in ports])
    ends.start()
    guest.send(*[tcp(address, 443, port, SYN, 1000) for port in ports])
    answers = {}
    while len(answers) < len(ports):
        found = guest.wait(lambda found: found.protocol == TCP and
                           found.dport not in answers)
        check(found, f"{len(ports) - len(answers)} have no answer")
        check(found.flags & (SYN | RST) and found.ack == 1001, f"{found.flags:#x}")
        answers[found.dport] = found.flags
    ends.join()
    guest.close()


def test_a_proxy_that_does_not_keep_up():
    """Connections beyond what the channel takes are refused, not kept."""
    guest = Guest(NAMES, lab.DNS)
    guest.names.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    address = address_of(guest, "api.example.org")
    results = [guest.connect(address, port=443) for _ in range(600)]
    count = results.index("reset")
    check(count > 10 and set(results[count:]) == {"reset"}, results)
    for _ in range(count):
        take(guest)[1].close()
    check(isinstance(guest.connect(address, port=443), Connection), "later")
    guest.close()
    guest = Guest(NAMES, lab.DNS)
    guest.names.close()
    address = address_of(guest, "api.example.org")
    equal(guest.connect(address, port=443), "reset", "no proxy")
    guest.close()


if __name__ == "__main__":
    sys.exit(main(globals()))
