#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""net-ports - published ports: the host reaches the guest, and the guest gets
no way out.

As net-filter.py: frames by hand for what a hostile guest does, and a real system
behind a tap device for what users expect.
"""
import hashlib
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import net_lab as lab  # noqa: E402
from net_checks import check, equal, main  # noqa: E402
from net_guest import *  # noqa: E402,F403

LIST = {"allow": [lab.LISTED]}
POLICIES = ("open", LIST, {"allow": []}, "disabled")


def client(port, address="127.0.0.1"):
    found = socket.create_connection((address, port), 3)
    found.settimeout(3)
    return found


def talk(connection, peer):
    """Data goes both ways."""
    peer.sendall(b"to the guest")
    equal(connection.read(), b"to the guest", "the guest received")
    connection.write(b"to the host")
    equal(peer.recv(100), b"to the host", "the host received")


def is_ended(peer):
    try:
        return peer.recv(100) == b""
    except ConnectionResetError:
        return True


def listening(guest):
    """The addresses at which this stepback-net accepts connections."""
    inodes = {os.readlink(f"/proc/{guest.process.pid}/fd/{fd}")
              for fd in os.listdir(f"/proc/{guest.process.pid}/fd")}
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file][1:]
    return {row[1] for row in rows
            if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}


def datagram(port, address="127.0.0.1"):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((address, port))
    sock.settimeout(3)
    return sock


def ask(guest, sock, own_port, data):
    """A datagram gets to the guest; whom it has to answer."""
    sock.send(data)
    found = guest.wait(lambda found: found.protocol == UDP and
                       found.dport == own_port)
    check(found and found.data == data, f"the guest received {found}")
    return found.source, found.sport


# ---- what users expect ------------------------------------------------------

def test_a_connection_reaches_the_guest_under_every_policy():
    for policy in POLICIES:
        guest = Guest(policy)
        _, port = guest.publish(80)
        with client(port) as peer:
            connection = guest.accept(80)
            check(connection, f"{policy}: no connection")
            equal(connection.target, "10.0.2.2", "the client, to the guest")
            equal(connection.port, peer.getsockname()[1], "the client's port")
            talk(connection, peer)
        equal(connection.read(), b"", "the end of the connection")
        equal(guest.refused(), [], "refused")
        guest.close()


def test_the_end_of_the_guests_side_reaches_the_client():
    guest = Guest("disabled")
    _, port = guest.publish(80)
    with client(port) as peer:
        connection = guest.accept(80)
        connection.segment(FIN | ACK)
        equal(peer.recv(100), b"", "the end")


def test_a_closed_port_of_the_guest_ends_the_connection():
    guest = Guest("disabled")
    _, port = guest.publish(80)
    with client(port) as peer:
        found = guest.wait(lambda found: found.protocol == TCP)
        guest.send(tcp(found.source, found.sport, 80, RST | ACK, 0,
                       found.seq + 1))
        check(is_ended(peer), "the connection goes on")


def test_a_guest_that_has_not_spoken_is_found():
    guest = Guest("disabled", configure=False)
    guest.configure(network_policy="disabled", dns_server=None)
    _, port = guest.publish(80)
    with client(port) as peer:
        check(guest.wait(lambda found: found.kind == 0x0806), "no ARP")
        guest.send(arp(2, IP, "10.0.2.2"))
        connection = guest.accept(80)
        check(connection, "no connection")
        talk(connection, peer)


def test_a_client_elsewhere_is_seen_by_its_own_address():
    guest = Guest(LIST)
    _, port = guest.publish(80, address="0.0.0.0")
    with client(port, lab.OWN) as peer:
        connection = guest.accept(80)
        equal(connection.target, lab.OWN, "the client")
        talk(connection, peer)
    _, port = guest.publish(81, "udp", "0.0.0.0")
    with datagram(port, lab.OWN) as sock:
        equal(ask(guest, sock, 81, b"hello")[0], lab.OWN, "the client")


def test_a_port_is_removed_with_its_connections():
    guest = Guest("disabled")
    id, port = guest.publish(80)
    kept, other = guest.publish(81)
    with client(port) as peer, client(other) as other_peer:
        connection, stays = guest.accept(80), guest.accept(81)
        talk(connection, peer)
        guest.unpublish(id)
        check(is_ended(peer), "the client's end goes on")
        found = guest.wait(lambda found: connection.is_mine(found) and
                           found.flags & RST)
        check(found, "the guest's end goes on")
        equal(found.seq, connection.ack, "the place of the reset")
        talk(stays, other_peer)
        # What was under way is reset, and is no news.
        connection.write(b"late")
        check(guest.wait(lambda found: connection.is_mine(found) and
                         found.flags & RST), "a late segment")
    equal(guest.refused(), [], "refused")
    try:
        client(port).close()
        raise Failed("the port is still open")
    except ConnectionRefusedError:
        pass
    with socket.socket() as again:  # and free
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))
    guest.unpublish(kept)
    equal(listening(guest), set(), "listening")


def test_a_change_of_the_policy_keeps_connections():
    guest = Guest("open")
    _, port = guest.publish(80)
    with client(port) as peer:
        connection = guest.accept(80)
        for policy in POLICIES:
            guest.configure(network_policy=policy)
            talk(connection, peer)


def test_datagrams_reach_the_guest_and_its_answers_the_client():
    for policy in POLICIES:
        guest = Guest(policy)
        id, port = guest.publish(53, "udp")
        with datagram(port) as sock, datagram(port) as other:
            peers = [ask(guest, one, 53, b"question")
                     for one in (sock, other)]
            equal({address for address, _ in peers}, {"10.0.2.2"}, "clients")
            for one, (address, source) in zip((other, sock), peers[::-1]):
                guest.send(udp(address, source, b"answer %d" % source, 53))
                equal(one.recv(100), b"answer %d" % source, "the answer")
            guest.unpublish(id)
            sock.send(b"?")
            check(guest.quiet(lambda found: found.protocol == UDP), "removed")
        guest.close()


def test_long_datagrams_come_in_parts():
    guest = Guest("disabled")
    _, port = guest.publish(53, "udp")
    with datagram(port) as sock:
        peer = ask(guest, sock, 53, b"x")
        for length in (0, 1472, 1473, 4000, 65507):
            data = os.urandom(length)
            sock.send(data)
            found = guest.whole(UDP)
            check(found and found[0][8:] == data, f"{length} bytes in")
            guest.send(*in_parts(udp(*peer, data, 53)))
            check(sock.recv(65536) == data, f"{length} bytes out")


def test_segments_have_the_size_that_the_guest_announces():
    guest = Guest("disabled")
    _, port = guest.publish(8000)
    for mss in (1460, 16344):
        with client(port) as sock:
            peer = guest.accept(8000, mss=mss)
            data = os.urandom(3 * mss)
            sock.sendall(data)
            segments = []
            while sum(map(len, segments)) < len(data):
                segments.append(peer.read())
            check(b"".join(segments) == data, f"{mss}: other bytes in")
            equal(max(map(len, segments)), mss, "the longest segment")
            peer.write(data[:mss])
            check(sock.recv(mss, socket.MSG_WAITALL) == data[:mss],
                  f"{mss}: other bytes out")


def test_a_real_system():
    """HTTP with kept connections, many at once, and a long answer."""
    if not os.access("/dev/net/tun", os.W_OK):
        print("# /dev/net/tun cannot be used")
        return
    guest = Guest("disabled")
    fd = guest.stream.fileno()
    with tempfile.TemporaryDirectory() as folder:
        data = os.urandom(32 << 20)
        for name, content in (("big", data), ("small", b"small")):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        with subprocess.Popen(
                ["unshare", "-n", sys.executable, os.path.join(
                    os.path.dirname(os.path.abspath(__file__)),
                    "net_tap_server.py"), str(fd), folder],
                pass_fds=[fd], stdout=subprocess.PIPE) as server:
            equal(server.stdout.readline(), b"up\n", "the server")
            try:
                use_real_system(guest, data)
            finally:
                server.kill()
    equal(guest.refused(), [], "refused")


def get(connection, path):
    connection.request("GET", path)
    answer = connection.getresponse()
    equal(answer.status, 200, path)
    return answer.read()


def use_real_system(guest, data):
    id, port = guest.publish(8000)
    _, udp_port = guest.publish(9000, "udp")
    kept = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    begin = time.monotonic()
    for _ in range(200):
        equal(get(kept, "/small"), b"small", "an answer")
    print(f"# 200 requests: {time.monotonic() - begin:.2f} s")
    many = [http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            for _ in range(60)]
    for one in many:
        one.connect()
    for one in many[::-1]:
        equal(get(one, "/small"), b"small", "one of many")
    begin = time.monotonic()
    equal(hashlib.sha256(get(kept, "/big")).digest(),
          hashlib.sha256(data).digest(), "a long answer")
    print(f"# 32 MiB: {time.monotonic() - begin:.2f} s")
    with datagram(udp_port) as sock:
        for length in (1, 1400, 20000):
            sock.send(data[:length])
            check(sock.recv(65536) == data[:length], f"{length} bytes")
    kept.request("GET", "/big")
    answer = kept.getresponse()
    answer.read(1000)
    guest.unpublish(id)
    try:
        answer.read()
        raise Failed("the download went on")
    except (http.client.IncompleteRead, ConnectionResetError):
        pass


# ---- limits -----------------------------------------------------------------

def test_connections_beyond_the_limit_wait():
    guest = Guest(LIST)
    _, port = guest.publish(80)
    peers, accepted = [], []
    for _ in range(33):
        for _ in range(10):
            peer = socket.socket()
            peer.setblocking(False)
            peer.connect_ex(("127.0.0.1", port))
            peers.append(peer)
        while (connection := guest.accept(80, 0.05)):
            accepted.append(connection)
    while (connection := guest.accept(80, 1.5)):
        accepted.append(connection)
    count = len({one.port for one in accepted})
    check(300 < count <= 320, f"{count} connections")
    # Others are not concerned.
    check(isinstance(guest.connect(lab.LISTED), Connection), "TCP to a network")
    equal(guest.refused(), [], "refused")
    equal([event["payload"]["kind"] for event in guest.events
           if event["type"] == "event.limited"], ["inbound"], "events")
    # The next ones follow as others end.
    by_port = {peer.getsockname()[1]: peer for peer in peers}
    for connection in accepted[:5]:
        by_port[connection.port].close()
        connection.segment(RST | ACK)
    check(guest.accept(80), "no further connection")


def test_requests_are_checked():
    guest = Guest("disabled")

    def code(kind, payload, sock=None):
        if sock:
            socket.send_fds(guest.ports, [b"p"], [sock.fileno()])
        return guest.request(kind, payload)["error"]["code"]
    good = {"id": 5, "protocol": "tcp", "guest_port": 80}
    equal(code("port.add", good), "io_error", "no socket")
    guest.ports.send(b"p")
    equal(code("port.add", good), "io_error", "a message without a socket")
    with socket.socket() as unbound, socket.socketpair()[0] as unix, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as dgram, \
            socket.socket(socket.AF_INET6) as six:
        for sock in (unbound, unix, dgram, six):
            equal(code("port.add", good, sock), "invalid_field", sock)
        equal(code("port.add", {**good, "guest_port": 0}, unbound),
              "invalid_field", "port 0")
    for count in range(64):
        id, _ = guest.publish(1000 + count)
    try:
        guest.publish(2000)
        raise Failed("more than 64 ports")
    except Failed as error:
        check("64" in str(error), error)
    equal(code("port.remove", {"id": 99999}), "not_found", "another id")
    guest.unpublish(id)
    guest.publish(2000)


def test_nothing_else_listens():
    """Not even for a moment: this process cannot bind a socket."""
    for more in ({}, {"seccomp": "none"}):
        guest = Guest("open", **more)
        equal(listening(guest), set(), "before")
        _, port = guest.publish(80)
        _, wide = guest.publish(81, address="0.0.0.0")
        equal(listening(guest), {f"0100007F:{port:04X}", f"00000000:{wide:04X}"},
              "listening")
        guest.close()


# ---- a hostile root ---------------------------------------------------------

def test_a_published_port_opens_no_way_out():
    for policy in (LIST, {"allow": []}, "disabled"):
        guest = Guest(policy)
        _, port = guest.publish(80)
        guest.publish(80, "udp", "0.0.0.0")
        with client(port) as peer:
            connection = guest.accept(80)
            talk(connection, peer)
            host, client_port = connection.target, connection.port
            # From the published port, to anything that listens.
            for target in (lab.UNLISTED, lab.OWN, host, lab.METADATA):
                guest.send(tcp(target, 8000, 80, SYN, 5))
                check(guest.wait(lambda found: found.is_refusal()), target)
                guest.send(udp(target, 8000, b"out", 80))
                check(guest.wait(lambda found: found.is_refusal()), target)
            # A SYN in the place of the connection.
            guest.send(tcp(host, client_port, 80, SYN, 5))
            check(guest.wait(lambda found: found.is_refusal()), "the same")
            # Segments of no connection: another port, address and guest.
            for target, at, own, more in (
                    (host, client_port + 1, 80, {}),
                    (lab.OWN, client_port, 80, {}),
                    (host, client_port, 81, {}),
                    (host, client_port, 80, {"source": "10.0.2.16"})):
                guest.send(tcp(target, at, own, ACK | PSH, connection.seq,
                               connection.ack, b"forged", **more))
            guest.drain()
            talk(connection, peer)
        guest.close()


def test_only_recent_peers_get_datagrams():
    guest = Guest({"allow": []})
    _, port = guest.publish(53, "udp", "0.0.0.0")
    victim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    victim.bind(("127.0.0.1", 0))
    victim.settimeout(0.2)
    with datagram(port) as sock:
        address, source = ask(guest, sock, 53, b"hello")
        for target, at, own, more in (
                (address, victim.getsockname()[1], 53, {}),
                (address, source, 54, {}),
                (lab.OWN, source, 53, {}),
                (address, source, 53, {"source": "10.0.2.16"})):
            guest.send(udp(target, at, b"forged", own, **more))
            check(guest.wait(lambda found: found.is_refusal()), f"{target}:{at}")
        guest.send(udp(address, source, b"answer", 53))
        equal(sock.recv(100), b"answer", "the answer")
        try:
            raise Failed(f"received {victim.recv(100)}")
        except TimeoutError:
            pass
        # More clients than are kept: the first ones are forgotten.
        others = [datagram(port) for _ in range(256)]
        for other in others:
            ask(guest, other, 53, b"hello")
        guest.send(udp(address, source, b"answer", 53))
        check(guest.wait(lambda found: found.is_refusal()), "forgotten")


def test_equal_clients_are_kept_apart():
    """The guest sees 127.0.0.1 and 127.0.0.2 as one; the second is reset."""
    guest = Guest("disabled")
    _, port = guest.publish(80, address="0.0.0.0")
    with client(port) as peer:
        connection = guest.accept(80)
        talk(connection, peer)
        with socket.socket() as other:
            other.bind(("127.0.0.2", peer.getsockname()[1]))
            other.settimeout(3)
            other.connect(("127.0.0.2", port))
            check(is_ended(other), "the second goes on")
        guest.drain()
        talk(connection, peer)


if __name__ == "__main__":
    sys.exit(main(globals()))
