#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""net-flows - a guest with more flows than stepback-net carries keeps the ones
that it uses, and TCP and DNS.

As net-filter.py; the agent's side is a warning (net_in_guest.py).
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import net_lab as lab  # noqa: E402
from net_checks import check, equal, main, memory, says  # noqa: E402
from net_guest import *  # noqa: E402,F403

LIST = {"allow": [lab.LISTED, lab.LISTED6], "dns": True}


def flood(guest, count, target=lab.LISTED, port=8000, first=10000):
    """Datagrams of so many source ports. The number of answers."""
    answered = 0
    for at in range(0, count, 20):
        guest.send(*(udp(target, port, b"fill", first + at + n)
                     for n in range(min(20, count - at))))
        answered += sum(found.protocol == UDP for found in guest.frames(0.01))
    return answered + sum(found.protocol == UDP
                          for found in guest.frames(0.3))


def open_files(guest):
    return len(os.listdir(f"/proc/{guest.process.pid}/fd"))


def limited(guest):
    """The payloads of event.limited so far."""
    guest.refused()
    return [event["payload"] for event in guest.events
            if event["type"] == "event.limited"]


def dns_works(guest):
    answer = guest.ask_udp("10.0.2.3", 53)
    check(isinstance(answer, Packet), f"DNS: {answer}")
    equal(answer.data[:4], b"dns!", "DNS")
    connection = guest.connect("10.0.2.3", 53)
    check(isinstance(connection, Connection), f"DNS by TCP: {connection}")
    equal(connection.read(), b"dns!", "DNS by TCP")


# ---- UDP --------------------------------------------------------------------

def test_udp_flows_leave_tcp_and_dns():
    guest = Guest(LIST, lab.DNS)
    flood(guest, 1100)
    says(guest, lab.LISTED)
    says(guest, lab.LISTED6)
    dns_works(guest)
    check(open_files(guest) < 700, f"{open_files(guest)} open files")


def test_a_udp_flow_in_use_outlives_idle_ones():
    """A socket of the host's has a port, which tells whether it is the same."""
    guest = Guest(LIST)
    guest.send(udp(lab.LISTED, 8001, b"port", 5555))
    before = guest.wait(lambda found: found.protocol == UDP)
    for round in range(60):
        guest.send(*(udp(lab.LISTED, 8000, b"fill", 10000 + 20 * round + n)
                     for n in range(20)))
        guest.drain(0.01)
        guest.send(udp(lab.LISTED, 8001, b"port", 5555))
        after = guest.wait(lambda found: found.protocol == UDP and
                           found.dport == 5555)
        check(after, f"no answer in round {round}")
        equal(after.data, before.data, "the port on the host")


def test_a_udp_flow_that_only_receives_is_in_use():
    guest = Guest(LIST)
    guest.send(*[udp(lab.LISTED, 8000, b"flow", 5555)] * 3)  # for 2.4 s
    for at in range(0, 600, 50):
        guest.send(*(udp(lab.LISTED, 8001, b"fill", 10000 + at + n)
                     for n in range(50)))
        guest.drain(0.01)
    guest.drain(0.05)
    check(guest.wait(lambda found: found.protocol == UDP and
                     found.dport == 5555 and found.data == b"tick"),
          "it is evicted")


def test_all_families_share_the_limit():
    guest = Guest(LIST)
    flood(guest, 600)
    flood(guest, 600, lab.LISTED6)
    check(open_files(guest) < 700, f"{open_files(guest)} open files")
    for n in range(0, 600, 40):
        guest.send(udp(lab.LISTED6, 8000, b"?", 7000, source=f"fec0::{n:x}9"))
    guest.drain(0.1)
    says(guest, lab.LISTED6)


def test_the_limit_is_reported_once():
    guest = Guest(LIST)
    flood(guest, 400)
    equal(limited(guest), [], "below the limit")
    flood(guest, 1100)
    told = limited(guest)
    equal([(one["kind"], one["limit"]) for one in told], [("udp", 512)],
          "events")
    check(told[0]["count"] >= 1, told)
    flood(guest, 600, first=30000)
    equal(len(limited(guest)), 1, "events")
    guest.configure(network_policy=LIST)
    flood(guest, 600)
    equal(len(limited(guest)), 2, "events after another configure")


# ---- DNS --------------------------------------------------------------------

def test_answered_dns_lookups_take_nothing():
    guest = Guest(LIST, lab.DNS)
    before = open_files(guest)
    equal(flood(guest, 600, "10.0.2.3", 53), 600, "answers")
    equal(open_files(guest), before, "open files")
    equal(limited(guest), [], "events")
    # As glibc asks for addresses of both families.
    guest.send(*[udp("10.0.2.3", 53, b"?" * 40, 7777)] * 2)
    equal(sum(found.protocol == UDP for found in guest.frames(0.2)), 2,
          "answers of one port")


def test_unanswered_dns_lookups_leave_udp_and_dns():
    """Nobody answers 198.51.100.99."""
    guest = Guest(LIST, "198.51.100.99")
    guest.send(udp(lab.LISTED, 8001, b"port", 5555))
    before = guest.wait(lambda found: found.protocol == UDP)
    flood(guest, 600, "10.0.2.3", 53)
    equal([(one["kind"], one["limit"]) for one in limited(guest)],
          [("dns", 256)], "events")
    guest.configure(dns_server=lab.DNS)
    dns_works(guest)
    guest.send(udp(lab.LISTED, 8001, b"port", 5555))
    after = guest.wait(lambda found: found.protocol == UDP)
    equal(after.data, before.data, "the port on the host")


def test_other_ports_of_the_resolver_are_refused_at_once():
    guest = Guest(LIST, lab.DNS)
    for port in (54, 80, 443, 853, 5353):
        equal(guest.connect("10.0.2.3", port, 0.5), "refused", f"TCP {port}")
        equal(guest.ask_udp("10.0.2.3", port, patience=0.5), "refused",
              f"UDP {port}")
    guest.send(echo("10.0.2.3"))
    check(guest.wait(lambda found: found.is_refusal(), 0.5), "an echo")
    # That DNS itself is refused must still be told, with its own port.
    guest.configure(network_policy={"allow": [lab.LISTED]})
    equal(guest.ask_udp("10.0.2.3", 853), "refused", "UDP 853")
    equal(guest.ask_udp("10.0.2.3", 53), "refused", "DNS")
    equal([(one["destination"], one["port"]) for one in guest.refused()],
          [("10.0.2.3", 53)], "refused")


# ---- echo -------------------------------------------------------------------

def test_unanswered_echoes_leave_udp_and_dns():
    """Nobody answers 198.51.100.99; slirp waits for four minutes."""
    lab.sh("echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range")
    guest = Guest("open", lab.DNS)
    for at in range(0, 1100, 20):
        guest.send(*(packet(ICMP, struct.pack("!BBHHH", 8, 0, 0, 7, at + n) +
                            b"x" * 32, "198.51.100.99") for n in range(20)))
        guest.drain(0.005)
    check(open_files(guest) < 200, f"{open_files(guest)} open files")
    guest.send(echo(lab.LISTED))
    found = guest.wait(lambda found: found.protocol == ICMP and
                       found.payload[0] == 0)
    check(found and found.source == lab.LISTED, "no echo")
    says(guest, lab.LISTED)
    dns_works(guest)
    equal([one["kind"] for one in limited(guest)], ["icmp"], "events")


def test_an_echo_that_is_sent_again_takes_no_more():
    lab.sh("echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range")
    guest = Guest("open")
    before = open_files(guest)
    guest.send(*[echo("198.51.100.99")] * 200)
    guest.drain(0.1)
    check(open_files(guest) <= before + 1, f"{open_files(guest)} open files")


# ---- TCP --------------------------------------------------------------------

def test_tcp_connections_leave_udp_and_dns():
    guest = Guest("open", lab.DNS)
    for at in range(0, 1300, 50):
        guest.send(*(tcp("198.51.100.99", 8000, 10000 + at + n, SYN, 1)
                     for n in range(50)))
        guest.drain(0.005)
    check(isinstance(guest.ask_udp(lab.LISTED), Packet), "UDP")
    dns_works(guest)
    told = limited(guest)
    equal([(one["kind"], one["limit"]) for one in told], [("tcp", 1000)],
          "events")


def test_a_tcp_connection_waits_until_others_end():
    guest = Guest("open", files=200)
    first = guest.connect(lab.LISTED)
    first.read()
    made = {}
    while len(made) % 20 == 0:  # until not all of a round are let through
        at = len(made)
        guest.send(*(tcp(lab.LISTED, 8000, 10000 + at + n, SYN, 1)
                     for n in range(20)))
        for found in guest.frames(3):
            if found.protocol == TCP and found.flags & SYN:
                made[found.dport] = found.seq
            if len(made) == at + 20:
                break
    told = limited(guest)
    equal([(one["kind"], one["limit"]) for one in told],
          [("tcp", 1 + len(made))], "events")
    first.write(b"hello, hello")
    equal(first.read(), b"hello, hello", "a connection that was there")
    equal(guest.connect(lab.LISTED, patience=0.3), None, "one more")
    for port, seq in list(made.items())[:20]:
        guest.send(tcp(lab.LISTED, 8000, port, RST | ACK, 2, seq + 1))
    says(guest, lab.LISTED)


# ---- few files --------------------------------------------------------------

def test_shares_shrink_with_the_limit_of_files():
    guest = Guest(LIST, lab.DNS, files=200)
    flood(guest, 300)
    says(guest, lab.LISTED)
    dns_works(guest)
    check(limited(guest)[0]["limit"] < 100, limited(guest))


def test_a_storm_of_flows_stays_within_memory():
    guest = Guest(LIST, lab.DNS)
    for first in range(1, 20):
        for at in range(0, 500, 50):
            guest.send(*(udp(lab.LISTED, 8000, bytes(200),
                             3000 * first + at + n) for n in range(50)))
            guest.drain(0.003)
    dns_works(guest)
    says(guest, lab.LISTED)
    print(f"# {memory(guest)} MB")
    check(memory(guest) < 96, f"{memory(guest)} MB")


if __name__ == "__main__":
    sys.exit(main(globals()))
