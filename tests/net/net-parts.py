#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""net-parts - packets of a guest that come in parts (IP fragments), and answers
that do.

As net-filter.py, whose other half it is.
"""
import os
import random
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import net_lab as lab  # noqa: E402
from net_checks import check, equal, main, memory, says  # noqa: E402
from net_guest import *  # noqa: E402,F403

LIST = {"allow": ["198.51.100.7", "2001:db8:1::/48"]}
PORTS = {"allow": ["198.51.100.7:8000", "[2001:db8:1::7]:8000"]}


def is_echoed(guest, address, length, who=None, **more):
    """A datagram of that length gets there in parts, and back."""
    who = (who or address).encode()
    data = os.urandom(length)
    guest.send(*in_parts(udp(address, 8000, data, **more)))
    found = guest.whole(UDP)
    check(found, f"{address}, {length} bytes: no answer")
    equal(found[1], str(ipaddress.ip_address(address)), "the source")
    check(found[0][8:] == who + data[len(who):], f"{address}: other bytes")


def is_refused(guest, frames, what):
    """The guest gets an error, and nothing else arrives."""
    guest.send(*frames)
    found = list(guest.frames(0.1))
    check(len(found) == 1 and found[0].is_refusal(),
          f"{what}: {[one.protocol for one in found]}")


# ---- what users expect ------------------------------------------------------

def test_datagrams():
    """By address and by port, in both families."""
    for policy in ("open", LIST, PORTS):
        guest = Guest(policy)
        for length in (1473, 2953, 4000, 8900, 60000, 65507):
            is_echoed(guest, lab.LISTED, length)
        for length in (1453, 2889, 4000, 8900):
            is_echoed(guest, lab.LISTED6, length)
        counts = guest.status()["frames"]
        equal((counts["dropped"], counts["refused"]), (0, 0), "lost")
        guest.close()


def test_any_order():
    guest = Guest(PORTS)
    for address in (lab.LISTED, lab.LISTED6):
        data = os.urandom(4000)
        parts = in_parts(udp(address, 8000, data), 1000)
        guest.send(*parts[::-1])
        check(guest.whole(UDP), "backwards")
        guest.send(parts[2], parts[0], parts[4], parts[3], parts[1])
        check(guest.whole(UDP), "mixed")
    # Two at once, whose parts take turns.
    both = [in_parts(udp(lab.LISTED, 8000, bytes([n]) * 4000, 600 + n), id=n)
            for n in (1, 2)]
    guest.send(*[one for pair in zip(*both) for one in pair])
    check(guest.whole(UDP) and guest.whole(UDP), "two at once")


def test_hosts_loopback():
    guest = Guest({"allow": ["10.0.2.2:8000", "fec0::2"]})
    is_echoed(guest, "10.0.2.2", 5000, "loopback")
    is_echoed(guest, "fec0::2", 5000, "loopback6")


def test_echo():
    """ping -s 4000."""
    lab.sh("echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range")
    guest = Guest(LIST)
    for length in (1473, 4000, 20000):
        guest.send(*in_parts(echo(lab.LISTED, length)))
        found = guest.whole(ICMP)
        check(found and found[0][0] == 0 and found[1] == lab.LISTED and
              found[0][8:] == b"x" * length, f"{length} bytes")
    guest.send(*in_parts(echo("10.0.2.2", 4000)))
    check(guest.whole(ICMP), "the gateway")
    is_refused(guest, in_parts(echo(lab.UNLISTED, 4000)), "not listed")
    # A port is no right to ping.
    guest.configure(network_policy=PORTS)
    is_refused(guest, in_parts(echo(lab.LISTED, 4000)), "a port")


def test_big_answers():
    """To a small question."""
    guest = Guest({"allow": [f"{lab.LISTED}:8000", lab.LISTED6]})
    for address in (lab.LISTED, lab.LISTED6):
        guest.send(udp(address, 8000, b"big" + bytes(40), 501))
        found = guest.whole(UDP)
        check(found and len(found[0]) == 8 + len(address) + 2800, address)


def test_ports_of_big_answers():
    """Parts of an answer have no ports, and come all the same."""
    guest = Guest({"allow": [f"{lab.DNS}:53"]}, lab.DNS)
    guest.send(udp(lab.DNS, 53, b"big" + bytes(40), 501))
    parts = [found for found in guest.frames(0.3) if found.protocol == UDP]
    check(len(parts) > 1, f"{len(parts)} parts")
    equal(sum(len(found.payload) for found in parts), 8 + 4 + 2800, "length")
    guest.configure(network_policy={"allow": [f"{lab.DNS}:54"]})
    equal(guest.ask_udp(lab.DNS, 53), "refused", "another port")


def test_dns_big_answers():
    """Of which the second part has no ports."""
    guest = Guest("open", lab.DNS)
    data, ports = os.urandom(1400), struct.pack("!HH", 500, 53)
    question = with_sum(ports + struct.pack("!HH", 8 + 2800, 0) + data + data,
                        6, UDP, IP, "10.0.2.3")
    guest.send(ipv4(UDP, question[:1400], "10.0.2.3", more=True),
               ipv4(UDP, question[1400:], "10.0.2.3", offset=1400))
    found = guest.whole(UDP)
    check(found and found[1] == "10.0.2.3" and
          found[0][8:] == b"dns!" + (data + data)[4:], "a question in parts")
    guest.send(udp("10.0.2.3", 53, b"big" + bytes(40), 501))
    parts = [found for found in guest.frames(0.3) if found.protocol == UDP]
    equal([found.source for found in parts], ["10.0.2.3"] * len(parts), "parts")
    equal(sum(len(found.payload) for found in parts), 8 + 4 + 2800, "length")
    whole = b"".join(found.payload for found in parts)
    equal(checksum(packed("10.0.2.3") + packed(IP) + struct.pack(
        "!BBH", 0, UDP, len(whole)) + whole), 0, "the sum")


def test_a_real_system():
    """Linux splits what it sends, and puts together what comes."""
    if not os.access("/dev/net/tun", os.W_OK):
        print("# /dev/net/tun cannot be used")
        return
    lab.sh("echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range")
    guest = Guest(LIST)
    fd = guest.stream.fileno()
    out = subprocess.run(
        ["unshare", "-n", sys.executable, os.path.join(
            os.path.dirname(os.path.abspath(__file__)), "net_tap.py"),
         str(fd), lab.LISTED, lab.LISTED6, lab.UNLISTED, lab.UNLISTED6],
        pass_fds=[fd], stdout=subprocess.PIPE, text=True, check=True).stdout
    tries = [line.split() for line in out.splitlines()]
    equal(len(tries), 2 * (4 + 2), "tries")
    for what, address, outcome in tries:
        # A refused packet is reported at once, by ICMP.
        wanted = ("answered",) if address in (lab.LISTED, lab.LISTED6) else (
            "OSError", "PermissionError")
        check(outcome in wanted, f"{what}, {address}: {outcome}")
    equal(guest.status()["frames"]["refused"], 6, "refused")


# ---- a hostile root ---------------------------------------------------------

def test_policies():
    """Parts get no further than the whole would."""
    for policy, addresses in (
            (LIST, (lab.NEAR_LISTED, lab.UNLISTED, lab.UNLISTED6, lab.OWN,
                    lab.METADATA, "10.0.2.2", "fec0::2")),
            ("open", ("10.0.2.2", "fec0::2", lab.OWN, lab.METADATA,
                      "2001:db8::1")),
            ("disabled", (lab.LISTED, lab.LISTED6))):
        guest = Guest(policy, lab.DNS)
        for address in addresses:
            is_refused(guest, in_parts(udp(address, 8000, bytes(4000))),
                       f"{policy}, {address}")
        check(len(guest.refused()) == len(addresses), "what is told")
    guest = Guest(PORTS)
    for address in (lab.LISTED, lab.LISTED6):
        for port in (7999, 53, 0):
            is_refused(guest, in_parts(udp(address, port, bytes(4000))),
                       f"{address}, port {port}")
    guest = Guest(LIST, lab.DNS)
    is_refused(guest, in_parts(udp("10.0.2.3", 53, bytes(4000))), "no dns")


def test_ports_that_are_overwritten():
    """RFC 1858, RFC 5722: what overlaps is nothing, whichever came first."""
    guest = Guest(PORTS)
    for address in (lab.LISTED, lab.LISTED6):
        good, bad = (udp(address, port, bytes(4000), 700)
                     for port in (8000, 9000))
        for n, order in enumerate((
                ((good, 0, 8), (bad, 0, 8), (good, 8, 4008)),
                ((bad, 0, 8), (good, 0, 8), (bad, 8, 4008)),
                ((good, 0, 1400), (bad, 0, 8), (good, 1400, 4008)),
                ((good, 8, 1400), (good, 0, 1400), (good, 1400, 4008)),
                ((good, 2800, 4008), (bad, 0, 8), (good, 0, 1400),
                 (good, 1400, 2800)))):
            guest.send(*[part(frame, begin, min(last, begin + 1400), 10 * n + 1)
                         for frame, first, last in order
                         for begin in range(first, last, 1400)])
            counts = guest.status()["frames"]
            check(guest.quiet(lambda found: found.protocol == UDP or
                              found.is_refusal(), 0.1),
                  f"{address}, order {n}")
            equal(counts["from_guest"], 1, "frames")
        says(guest, address).guest.drain()
        guest = Guest(PORTS)
        equal(guest.refused(), [], "refused")


def test_ends_that_are_none():
    guest = Guest(LIST)
    whole = udp(lab.LISTED, 8000, bytes(4000), 701)
    whole6 = udp(lab.LISTED6, 8000, bytes(4000), 701)
    for n, frames in enumerate((
            in_parts(whole)[:-1],                        # the last is missing
            in_parts(whole)[1:],                         # the first
            [part(whole, 0, 1400, 3), part(whole, 1400, 2800, 3, False),
             part(whole, 2800, 4008, 3)],                # two ends
            [part(whole, 0, 1404, 4), part(whole, 1400, 4008, 4)],
            [ipv4(UDP, bytes(40), lab.LISTED, id=5, offset=65528)],
            in_parts(whole6)[:-1], in_parts(whole6)[1:])):
        guest.send(*frames)
        check(guest.quiet(lambda found: found.protocol is not None, 0.1),
              f"case {n}")
    is_echoed(guest, lab.LISTED, 4000)
    is_echoed(guest, lab.LISTED6, 4000)


def test_what_does_not_come_in_parts():
    """TCP, ICMPv6 and all that slirp answers itself."""
    guest = Guest(dict(LIST, dns=True), lab.DNS)
    solicit = with_sum(struct.pack("!BBHI", 133, 0, 0, 0), 2, ICMP6, IP6,
                       "ff02::2")
    discover = struct.pack("!BBBBIHH4s4s4s4s16s192s4s", 1, 1, 6, 0, 7, 0, 0,
                           bytes(4), bytes(4), bytes(4), bytes(4),
                           MAC + bytes(10), bytes(192), b"\x63\x82\x53\x63")
    for what, frame in (
            ("TCP", tcp(lab.LISTED, 8000, 702, SYN)),
            ("TCP over IPv6", tcp(lab.LISTED6, 8000, 702, SYN)),
            ("DNS over TCP", tcp("10.0.2.3", 53, 702, SYN)),
            ("ping over IPv6", echo("fec0::2", 4000)),
            ("ping over IPv6", echo("fec0::2", 8)),
            ("discovery", ipv6(ICMP6, solicit, "ff02::2", hops=255)),
            ("DHCP", udp("255.255.255.255", 67, discover + b"\x35\1\1\xff",
                         68, source="0.0.0.0"))):
        before = guest.status()["frames"]["from_guest"]
        guest.send(*in_parts(frame, 16))
        check(guest.quiet(lambda found: found.protocol is not None, 0.1), what)
        equal(guest.status()["frames"]["from_guest"], before, what)
    # All of a packet in one part, with the header of parts.
    solo = udp(lab.LISTED6, 8000, b"x" * 40)
    guest.send(part(solo, 0, 48, 9))
    check(guest.whole(UDP), "one part")
    for frame in (tcp(lab.LISTED6, 8000, 702, SYN), echo("fec0::2"),
                  ipv6(ICMP6, solicit, "ff02::2", hops=255)):
        guest.send(part(frame, 0, 2000, 10))
        check(guest.quiet(lambda found: found.protocol is not None),
              "one part of another kind")
    is_refused(guest, [part(udp(lab.UNLISTED6, 8000, b"x" * 40), 0, 48, 9)],
               "one part to elsewhere")


def test_changed_policy():
    """What counts is the policy when the last part comes."""
    guest = Guest(LIST)
    parts = in_parts(udp(lab.LISTED, 8000, bytes(4000)))
    guest.send(*parts[:-1])
    guest.status()
    guest.configure(network_policy={"allow": []})
    is_refused(guest, parts[-1:], "not allowed any more")


def test_mixed():
    """What slirp has not survived."""
    guest = Guest(LIST)
    dice = random.Random(1)
    for _ in range(40):
        guest.send(*[ipv4(dice.choice([TCP, UDP, ICMP]),
                          dice.randbytes(dice.choice([8, 24, 64, 1400])),
                          lab.LISTED, id=dice.randrange(6),
                          offset=8 * dice.randrange(8189),
                          more=dice.random() < .5) for _ in range(50)])
    says(guest, lab.LISTED)


def test_many():
    """More packets than there is room for, none of which is ever complete."""
    guest = Guest(LIST)
    for kind in (in_parts(udp(lab.LISTED, 8000, bytes(60000))),
                 in_parts(udp(lab.LISTED6, 8000, bytes(60000)))):
        for n in range(2000):
            at = n % (len(kind) - 1)
            frame = bytearray(kind[at])
            where = 58 if frame[12] == 0x86 else 18
            if where == 18:
                frame[18:20] = struct.pack("!H", n)
            else:
                frame[58:62] = struct.pack("!I", n)
            guest.send(bytes(frame))
            if n % 50 == 0:
                guest.drain(0)
    guest.drain(0.2)
    counts = guest.status()["frames"]
    check(counts["dropped"] >= 4000 - 8, counts)
    is_echoed(guest, lab.LISTED, 4000)
    check(memory(guest) < 48, f"{memory(guest)} MB")


if __name__ == "__main__":
    sys.exit(main(globals()))
