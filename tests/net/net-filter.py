#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""net-filter - what stepback-net lets a guest reach, frame by frame.

The test plays QEMU and the agent; the world is in network namespaces
(net_lab.py). TAP on standard output. One test: net-filter.py ITS_FUNCTION.
"""
import json
import os
import random
import select
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import net_lab as lab  # noqa: E402
from net_checks import (check, connections, equal, is_shut,  # noqa: E402
                        main, memory, opened, says)
from net_guest import *  # noqa: E402,F403

LIST = {"allow": ["198.51.100.7", "2001:db8:1::/48"]}


# ---- the name server --------------------------------------------------------

def ask_dns(guest, **more):
    answer = guest.ask_udp("10.0.2.3", 53, **more)
    if isinstance(answer, Packet):
        equal(answer.source, "10.0.2.3", "the source")
        return answer.data[:4]
    return answer


def test_dns():
    guest = Guest("open", lab.DNS)
    equal(ask_dns(guest), b"dns!", "UDP")
    connection = guest.connect("10.0.2.3", 53)
    equal(connection.read(), b"dns!", "TCP")
    equal(guest.ask_udp("10.0.2.3", 54), "refused", "port 54")
    # The same server by its own name, from the same port.
    guest.send(udp("10.0.2.3", 53, b"?" * 40, 777))
    equal(guest.wait(lambda found: found.protocol == UDP).source, "10.0.2.3",
          "by the alias")
    guest.send(udp(lab.DNS, 53, b"?" * 40, 777))
    equal(guest.wait(lambda found: found.protocol == UDP).source, lab.DNS,
          "by its own address")


def test_dns_only_if_asked_for():
    guest = Guest(LIST, lab.DNS)
    equal(ask_dns(guest), "refused", "without dns")
    guest.configure(network_policy=dict(LIST, dns=True))
    equal(ask_dns(guest), b"dns!", "with dns")
    equal(guest.ask_udp(lab.DNS, 53), "refused", "the server itself")
    connection = guest.connect("10.0.2.3", 53)
    equal(connection.read(), b"dns!", "TCP")
    guest.configure(network_policy=LIST)
    equal(ask_dns(guest), "refused", "without it again")
    connection.write(b"question")
    check(connection.read(1) in (b"", None), "the connection is still there")
    guest.configure(network_policy=dict(LIST, dns=True), dns_server=None)
    equal(ask_dns(guest), "refused", "no server")
    guest.configure(dns_server="127.0.0.1")
    check(guest.ask_udp("10.0.2.3", 53, patience=0.5) != "refused", "a server")


def test_dns_of_a_host_that_is_such_a_guest():
    """Its name server is 10.0.2.3, which slirp would take for its own."""
    lab.sh("ip addr add 10.0.2.15/24 dev near")
    try:
        guest = Guest("open", "10.0.2.3")
        guest.send(arp(1, IP, "10.0.2.4"))
        check(guest.wait(lambda found: found.kind == 0x0806), "no 10.0.2.4")
        guest.send(udp("10.0.2.4", 53, b"?" * 40))
        check(guest.quiet(lambda found: found.is_refusal()), "refused")
        equal(guest.status()["frames"]["refused"], 0, "refused")
    finally:
        lab.sh("ip addr del 10.0.2.15/24 dev near")


# ---- what slirp answers -----------------------------------------------------

def test_gateway():
    guest = Guest({"allow": []})
    for target in ("10.0.2.2", "10.0.2.3"):
        guest.send(arp(1, IP, target))
        check(guest.wait(lambda found: found.kind == 0x0806), f"ARP {target}")
    guest.send(echo("10.0.2.2"))
    check(guest.wait(lambda found: found.protocol == ICMP and
                     found.payload[0] == 0), "an echo of the gateway")
    discover = struct.pack("!BBBBIHH4s4s4s4s16s192s4s", 1, 1, 6, 0, 7, 0, 0,
                           bytes(4), bytes(4), bytes(4), bytes(4),
                           MAC + bytes(10), bytes(192), b"\x63\x82\x53\x63")
    guest.send(udp("255.255.255.255", 67, discover + b"\x35\1\1\xff", 68,
                   source="0.0.0.0"))
    offer = guest.wait(lambda found: found.protocol == UDP)
    check(offer and packed(IP) in offer.data, "no DHCP offer")
    solicit = with_sum(struct.pack("!BBHI", 133, 0, 0, 0), 2, ICMP6, IP6,
                       "ff02::2")
    guest.send(ipv6(ICMP6, solicit, "ff02::2", hops=255))
    check(guest.wait(lambda found: found.protocol == ICMP6 and
                     found.payload[0] == 134), "no router advertisement")


def test_echo():
    """Where the host lets its users ping; of IPv6 slirp may not know how."""
    lab.sh("echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range")
    guest = Guest(LIST)
    guest.send(echo(lab.LISTED))
    found = guest.wait(lambda found: found.protocol == ICMP)
    check(found and found.payload[0] == 0 and found.source == lab.LISTED,
          "no echo")
    guest.send(echo(lab.LISTED6))
    guest.drain(0.2)
    guest.send(echo(lab.UNLISTED), echo(lab.UNLISTED6))
    check(guest.quiet(lambda found: found.protocol in (ICMP, ICMP6) and
                      not found.is_refusal()), "an echo that is not listed")
    lab.sh("echo 1 0 >/proc/sys/net/ipv4/ping_group_range")
    guest.send(echo(lab.LISTED), echo(lab.LISTED6))
    guest.drain(0.3)
    says(guest, lab.LISTED)


# ---- a hostile root ---------------------------------------------------------

def test_sources():
    """Other addresses of the guest get no further, wrong ones nowhere."""
    guest = Guest(LIST)
    other = bytes.fromhex("0200000000ff")
    for source in ("10.0.2.16", "10.0.2.30"):
        says(guest, lab.LISTED, source=source, mac=other)
        is_shut(guest, lab.UNLISTED, source=source, mac=other)
    says(guest, lab.LISTED6, source="fec0::99", mac=other)
    is_shut(guest, lab.UNLISTED6, source="fec0::99", mac=other)
    for source in ("10.0.2.2", "10.0.2.3", "10.0.2.31", "10.0.2.255", "0.0.0.0",
                   "192.0.2.1", "127.0.0.1", lab.LISTED, "255.255.255.255"):
        guest.send(udp(lab.LISTED, 8000, b"x" * 40, source=source))
        check(guest.quiet(lambda found: found.protocol is not None), source)
        guest.send(arp(1, source, "10.0.2.2"))
        check(source == "0.0.0.0" or guest.quiet(), f"ARP of {source}")
    for source in ("::", "::1", "fec0::2", "fe80::2", "2001:db8:1::7",
                   "ff02::1"):
        guest.send(udp(lab.LISTED6, 8000, b"x" * 40, source=source))
        check(guest.quiet(lambda found: found.protocol == UDP), source)
    guest.send(arp(1, IP, "10.0.2.2", claimed=other))
    check(guest.quiet(), "ARP for another's hardware")
    guest.send(udp(lab.LISTED, 8000, b"x" * 40, mac=b"\1\2\3\4\5\6"))
    check(guest.quiet(), "a frame from many")


def test_odd_packets():
    guest = Guest(LIST)
    syn = tcp(lab.LISTED, 8000, 1, SYN)[34:]
    for frame in (
            ipv4(TCP, syn, lab.LISTED, options=b"\x83\7\4" + packed(
                lab.UNLISTED) + b"\0"),                # a source route
            ipv4(UDP, bytes(40), lab.LISTED, options=b"\1\1\1\0"),
            ipv4(47, bytes(40), lab.LISTED),           # GRE
            ipv4(41, bytes(60), lab.LISTED),           # IPv6 in IPv4
            ipv4(4, bytes(60), lab.LISTED),            # IPv4 in IPv4
            packet(ICMP, b"\5\1\0\0" + bytes(32), lab.LISTED),  # a redirect
            packet(ICMP, b"\15\0\0\0" + bytes(32), lab.LISTED),
            ipv6(0, bytes(40), lab.LISTED6),           # options
            ipv6(44, bytes(40), lab.LISTED6),          # a fragment
            ipv6(43, bytes(40), lab.LISTED6),          # a route
            ipv6(TCP, bytes(4), lab.LISTED6),          # too short
            ipv4(TCP, bytes(19), lab.LISTED),
            ipv4(UDP, bytes(7), lab.LISTED),
            ipv4(UDP, bytes(30), lab.LISTED, total=1400),
            ipv4(UDP, bytes(30), lab.LISTED, total=19),
            ethernet(0x8100, b"\0\1\x08\0" + syn),     # a VLAN
            ethernet(0x88f8, bytes(60)),               # NC-SI
            ethernet(0x0800, bytes(40)),
            ethernet(0x0800, b"\x60" + bytes(60)),
            ethernet(0x86dd, b"\x45" + bytes(60)),
            b"", b"\0", bytes(13), bytes(14), MAC * 2):
        before = guest.status()["frames"]
        guest.send(frame)
        check(guest.quiet(), f"an answer to {frame.hex()[:60]}")
        after = guest.status()["frames"]
        equal(after["dropped"], before["dropped"] + 1, frame.hex()[:80])
        equal(after["from_guest"], before["from_guest"], frame.hex()[:80])
    guest.send(bytes(1515), bytes(9000), bytes(60000))
    before = guest.status()
    syn = tcp(lab.LISTED, 8000, 5, SYN)
    guest.send(syn)
    check(guest.wait(lambda found: found.protocol == TCP), "after long frames")
    after = guest.status()
    frames, out, back = (
        after[of][way] - before[of][way]
        for of, way in (("frames", "from_guest"), ("bytes", "from_guest"),
                        ("bytes", "to_guest")))
    check(out >= len(syn) and frames > 0 and back >= 54, "bytes are counted")


def test_long_frames():
    """Only of what needs them: slirp's own answers are all short."""
    guest = Guest(LIST)
    for address in (lab.LISTED, lab.LISTED6):
        data = address.encode() + os.urandom(9000)
        guest.send(udp(address, 8000, data))
        found = guest.whole(UDP)
        check(found and found[0][8:] == data, f"{address}: a long datagram")
    for frame in (echo("fec0::2", 4000), echo(lab.LISTED6, 4000),
                  arp(1, IP, "10.0.2.2") + bytes(1473),
                  udp("10.0.2.2", 67, bytes(4000), 68),
                  packet(ICMP6, b"\205" + bytes(4000), "ff02::2", hops=255)):
        before = guest.status()["frames"]
        guest.send(frame)
        check(guest.quiet(), f"an answer to {frame.hex()[:60]}")
        equal(guest.status()["frames"]["dropped"], before["dropped"] + 1,
              frame.hex()[:80])
    guest.send(udp(lab.LISTED, 8000, bytes(16385 - 28)))
    check(guest.quiet(), "a frame beyond the MTU")
    for address, mss in ((lab.LISTED, 16344), (lab.LISTED6, 16324)):
        connection = guest.connect(address, mss=mss)
        equal(connection.read(), address.encode(), address)
        data, got = os.urandom(mss), b""
        connection.write(data)
        while len(got) < mss:
            got += connection.read()
        check(got == data, f"{address}: a long segment")


def test_noise():
    """Mutated frames of all kinds, in a stream of odd pieces."""
    guest = Guest(dict(LIST, dns=True), lab.DNS)
    dice = random.Random(5)
    seeds = [arp(1, IP, "10.0.2.2"), udp(lab.LISTED, 8000, b"x" * 60),
             tcp(lab.LISTED, 8000, 9, SYN), tcp(lab.LISTED6, 8000, 9, SYN),
             udp("10.0.2.3", 53, b"x" * 40), echo(lab.LISTED),
             echo("fec0::2"), udp("255.255.255.255", 67, bytes(300), 68,
                                  source="0.0.0.0"),
             ipv4(UDP, bytes(800), lab.LISTED, more=True),
             ipv6(ICMP6, bytes(64), "fec0::2", hops=255)]
    for _ in range(300):
        frames = []
        for _ in range(40):
            frame = bytearray(dice.choice(seeds))
            for _ in range(dice.randrange(6)):
                frame[dice.randrange(12, len(frame))] = dice.randrange(256)
            frames.append(bytes(frame[:dice.randrange(14, len(frame) + 1)]
                                if dice.random() < .2 else frame))
        data = b"".join(struct.pack("!I", len(f)) + f for f in frames)
        cut = dice.randrange(len(data))
        guest.stream.sendall(data[:cut])
        guest.stream.sendall(data[cut:])
        for _ in guest.frames(0):
            pass
    guest.drain(1.1)  # until it answers refusals again
    says(guest, lab.LISTED)
    is_shut(guest, lab.UNLISTED)


def test_a_stream_that_is_none():
    guest = Guest("open")
    guest.stream.sendall(b"\xff\xff\xff\xff" + bytes(100))
    equal(guest.process.wait(5), 1, "the exit status")


def test_flood():
    """A guest that sends as fast as it can and takes nothing."""
    guest = Guest(dict(LIST, dns=True), lab.DNS)
    guest.stream.setblocking(False)
    before = memory(guest)
    kinds = {
        "packets": [udp(lab.LISTED, 8000, bytes(1400), 1000 + n)
                    for n in range(60)],
        "refused": [udp(lab.UNLISTED, 8000, bytes(1400))] * 60,
        "parts": [ipv4(UDP, bytes(1400), lab.LISTED, id=n, more=True)
                      for n in range(60)],
        "connections": [tcp(lab.LISTED, 8000, 1000 + n, SYN)
                        for n in range(600)],
        "sources": [tcp(lab.LISTED6, 8000, n, SYN, source=f"fec0::{n + 16:x}",
                        mac=bytes([2, 0, 0, 0, n >> 8, n & 255]))
                    for n in range(600)],
    }
    sent = 0
    for name, frames in kinds.items():
        data = b"".join(struct.pack("!I", len(f)) + f for f in frames)
        end = time.monotonic() + 0.6
        rest = b""
        while time.monotonic() < end:
            rest = rest or data
            try:
                n = guest.stream.send(rest)
            except BlockingIOError:
                select.select([], [guest.stream], [], 0.05)
                if name == "packets":  # its answers, or it would stop here
                    continue
                for _ in guest.frames(0):
                    pass
                continue
            sent += n
            rest = rest[n:]
        while rest:  # up to the end of a frame
            try:
                rest = rest[guest.stream.send(rest):]
            except BlockingIOError:
                for _ in guest.frames(0.01):
                    pass
        print(f"# {name}: {memory(guest)} MB", flush=True)
    print(f"# {sent >> 20} MB in 3 s, memory {before} -> {memory(guest)} MB")
    check(memory(guest) < 96, f"{memory(guest)} MB")
    guest.stream.setblocking(True)
    guest.drain(0.5)
    guest.send(echo("10.0.2.2"))
    check(guest.wait(lambda found: found.protocol == ICMP and
                     found.payload[0] == 0, 10), "it lives no more")
    equal(guest.close(), 0, "its end")  # other tests count connections


# ---- changes ----------------------------------------------------------------

def test_change():
    guest = Guest(LIST)
    is_shut(guest, lab.UNLISTED)
    guest.configure(network_policy={"allow": [lab.UNLISTED]})
    says(guest, lab.UNLISTED)
    is_shut(guest, lab.LISTED)


def test_change_ends_connections():
    guest = Guest({"allow": [lab.LISTED, lab.NEAR_LISTED, "10.0.2.2"]})
    stays = opened(guest, lab.NEAR_LISTED)
    for address in (lab.LISTED, "10.0.2.2"):
        talks, waits = opened(guest, address), opened(guest, address)
        waits.write(b"flow")
        check(b"tick" in waits.read(), "no flow")
        check(connections(address) >= 2, "no connections of the host")
        guest.configure(network_policy={"allow": [lab.NEAR_LISTED]})
        guest.drain()
        talks.write(b"secret")
        found = guest.wait(talks.is_mine)
        check(found and found.flags & RST and not found.data,
              "the connection is not reset")
        check(guest.quiet(lambda found: found.protocol == TCP and found.data),
              "data still come")
        equal(connections(address), 0, "connections of the host")
        guest.configure(network_policy={"allow": [
            lab.LISTED, lab.NEAR_LISTED, "10.0.2.2"]})
    stays.write(b"hello, hello")
    equal(stays.read(), b"hello, hello", "another connection")


def test_change_stops_udp():
    guest = Guest({"allow": [lab.LISTED]})
    guest.send(udp(lab.LISTED, 8000, b"flow", 5555))
    for _ in range(3):
        check(guest.wait(lambda found: found.protocol == UDP), "no flow")
    guest.configure(network_policy={"allow": []})
    guest.drain(0.02)
    check(guest.quiet(lambda found: found.protocol == UDP, 0.3),
          "still coming")
    guest.send(udp(lab.LISTED, 8000, b"x" * 40, 5555))
    found = guest.wait(lambda found: found.protocol == UDP or
                       found.is_refusal())
    check(found.is_refusal(), "still there")


# ---- being told -------------------------------------------------------------

def test_told_once():
    guest = Guest(LIST)
    for _ in range(20):
        guest.send(tcp(lab.UNLISTED, 443, 9, SYN))
    guest.send(udp(lab.UNLISTED6, 53, b"x" * 8), echo(lab.NEAR_LISTED))
    told = guest.refused()
    equal(sorted((one["destination"], one["protocol"], one["port"])
                 for one in told),
          sorted([(lab.UNLISTED, "tcp", 443), (lab.UNLISTED6, "udp", 53),
                  (lab.NEAR_LISTED, "icmp", 0)]), "what is told")
    check(all(1 <= one["count"] <= 20 for one in told), told)
    guest.send(tcp(lab.UNLISTED, 80, 9, SYN))
    equal(len(guest.refused()), 3, "told again")
    equal(guest.status()["frames"]["refused"], 23, "refused")


def test_told_not_without_end():
    guest = Guest(LIST)
    for n in range(1000):
        guest.send(udp(f"203.0.{n >> 8}.{n & 255}", 9, b""))
    told = guest.refused()
    equal(len(told), 65, "events")
    equal(told[-1]["destination"], None, "the last")
    check(1 <= told[-1]["count"] <= 936, told[-1])
    guest.send(udp("203.0.113.77", 9, b""))
    equal(len(guest.refused()), 65, "events")
    guest.drain()


# ---- its life ---------------------------------------------------------------

def test_nothing_before_a_policy():
    guest = Guest(None, configure=False)
    guest.send(arp(1, IP, "10.0.2.2"))
    check(guest.quiet(), "an answer without a policy")
    guest.configure(network_policy="open")
    check(guest.wait(lambda found: found.kind == 0x0806), "no answer")


def test_ends():
    guest = Guest("open")
    guest.stream.close()
    equal(guest.process.wait(5), 0, "QEMU's end")
    guest = Guest("open")
    guest.lines.close()
    guest.control.close()
    equal(guest.process.wait(5), 0, "the agent's end")


def test_what_is_open_at_the_end():
    guest = Guest({"allow": [lab.LISTED]})
    talks = opened(guest, lab.LISTED)
    talks.write(b"hello, hello")
    equal(talks.read(), b"hello, hello", "a connection")
    guest.stream.close()
    messages = [json.loads(line) for line in guest.lines.read().splitlines()]
    left = [message["payload"]["connections"] for message in messages
            if message["type"] == "event.connections_left"]
    equal([(one["address"], one["verdict"], one["from_guest"] >= 12) for one in left[0]],
          [(lab.LISTED, "open", True)], "what was open")


def test_locked_in():
    guest = Guest("open")
    with open(f"/proc/{guest.process.pid}/status", encoding="ascii") as file:
        status = dict(line.rstrip("\n").split(":\t") for line in file
                      if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        # Without root the bounds cannot be changed.
        check(int(status[name], 16) == 0 or
              (name == "CapBnd" and os.geteuid() != 0), f"{name} is left")
    equal(status["Seccomp"], "2", "Seccomp")
    equal(status["NoNewPrivs"], "1", "NoNewPrivs")


def test_control_lines():
    guest = Guest("open")
    guest.control.sendall(b"not json\n[1]\n{}\n" + b"x" * 200000 + b"\n")
    answers = [json.loads(guest.lines.readline()) for _ in range(4)]
    equal([answer["status"] for answer in answers], ["error"] * 4, "answers")
    answer = guest.request("configure", {"dns_server": "2001:db8::1"})
    equal(answer["status"], "error", "dns_server")
    says(guest, lab.LISTED)


if __name__ == "__main__":
    sys.exit(main(globals()))
