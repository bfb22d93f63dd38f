#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""net-policies - which addresses and ports a policy lets a guest reach.

As net-filter.py, which has the rest. One test: net-policies.py ITS_FUNCTION.
"""
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import net_lab as lab  # noqa: E402
from net_checks import (check, connections, equal, is_shut,  # noqa: E402
                        main, opened, says)
from net_guest import *  # noqa: E402,F403

LIST = {"allow": ["198.51.100.7", "2001:db8:1::/48"]}
EVERYTHING = ["0.0.0.0/0", "::/0"]


def test_open():
    guest = Guest("open")
    for address in (lab.LISTED, lab.UNLISTED, lab.LISTED6, lab.UNLISTED6):
        says(guest, address)
    equal(guest.refused(), [], "refused")


def test_open_is_not_the_host():
    guest = Guest("open")
    for address in ("10.0.2.2", "fec0::2", lab.OWN, "2001:db8::1",
                    lab.METADATA, "127.0.0.1", "127.8.8.8", "0.0.0.0",
                    "::1", "::ffff:127.0.0.1", "::127.0.0.1",
                    "::ffff:192.0.2.1", "::ffff:0:127.0.0.1",
                    "::2000:1:1", "10.0.2.4", "fec0::7"):
        if address not in ("0.0.0.0",):
            is_shut(guest, address)
        guest.send(udp(address, 8000, b"x" * 40), tcp(address, 8000, 7, SYN))
        check(guest.quiet(lambda found: found.protocol == UDP),
              f"{address} answers")
    for address in ("255.255.255.255", "192.0.2.255", "224.0.0.251",
                    "ff02::1", "ff02::fb", "fe80::1"):
        guest.send(udp(address, 8000, b"x" * 40), tcp(address, 8000, 7, SYN))
        check(guest.quiet(lambda found: found.protocol in (TCP, UDP)),
              f"{address} answers")


def test_disabled():
    guest = Guest("disabled", lab.DNS)
    for address in (lab.LISTED, lab.LISTED6, "10.0.2.2"):
        is_shut(guest, address)
    equal(guest.ask_udp("10.0.2.3", 53), "refused", "DNS")


def test_list():
    guest = Guest(LIST)
    says(guest, lab.LISTED)
    says(guest, lab.LISTED6)
    for address in (lab.NEAR_LISTED, lab.UNLISTED, lab.UNLISTED6, "10.0.2.2",
                    lab.OWN, lab.METADATA):
        is_shut(guest, address)
    guest.configure(network_policy={"allow": ["198.51.100.6/31"]})
    says(guest, lab.LISTED)
    is_shut(guest, lab.NEAR_LISTED)
    guest.configure(network_policy={"allow": ["128.0.0.0/1"]})
    says(guest, lab.UNLISTED)
    is_shut(guest, lab.OWN)
    is_shut(guest, lab.LISTED6)


def is_shut_but(guest, address, who=None):
    """Port 8000 is open, and nothing else is."""
    says(guest, address, who)
    for port in (7999, 8001, 80 << 8, 0, 65535):
        equal(guest.connect(address, port), "refused", f"TCP port {port}")
        equal(guest.ask_udp(address, port), "refused", f"UDP port {port}")
    if address not in ("10.0.2.2", "fec0::2"):
        guest.send(echo(address))
        check(guest.wait(lambda found: found.is_refusal()), f"{address}, echo")


def test_ports():
    guest = Guest({"allow": ["198.51.100.7:8000", "[2001:db8:1::7]:8000"]})
    is_shut_but(guest, lab.LISTED)
    is_shut_but(guest, lab.LISTED6)
    is_shut(guest, lab.NEAR_LISTED)
    is_shut(guest, lab.UNLISTED6)
    guest.configure(network_policy={"allow": [
        "198.51.100.6/31:8000", "[2001:db8:1::/48]:8000", "10.0.2.2:8000",
        f"{lab.OWN}:8000", f"{lab.METADATA}:8000"]})
    for address, who in ((lab.LISTED, None), (lab.LISTED6, None),
                         ("10.0.2.2", "loopback"), (lab.OWN, "own"),
                         (lab.METADATA, None)):
        is_shut_but(guest, address, who)
    is_shut(guest, lab.NEAR_LISTED)
    # The host and what is like it are not had by a network, nor by a port.
    guest.configure(network_policy={"allow": [
        "0.0.0.0/0:8000", "10.0.2.2:8001", f"{lab.OWN}:8001",
        f"{lab.METADATA}:8001"]})
    is_shut_but(guest, lab.UNLISTED)
    for address in ("10.0.2.2", lab.OWN, lab.METADATA, lab.LISTED6):
        is_shut(guest, address)
    # One port of a network, and all of an address in it.
    guest.configure(network_policy={"allow": ["198.51.100.0/24:443",
                                              lab.LISTED]})
    says(guest, lab.LISTED)
    is_shut(guest, lab.NEAR_LISTED)


def test_ports_that_change():
    """A connection to a port that is not allowed any more is ended."""
    both = [f"{lab.LISTED}:8000", f"{lab.NEAR_LISTED}:8000"]
    guest = Guest({"allow": both})
    stays, talks = opened(guest, lab.NEAR_LISTED), opened(guest, lab.LISTED)
    guest.configure(network_policy={"allow": both[1:] + [f"{lab.LISTED}:80"]})
    guest.drain()
    talks.write(b"secret")
    found = guest.wait(talks.is_mine)
    check(found and found.flags & RST and not found.data, "it is not reset")
    equal(connections(lab.LISTED), 0, "connections of the host")
    stays.write(b"hello, hello")
    equal(stays.read(), b"hello, hello", "another connection")


def test_host_by_name_only():
    guest = Guest({"allow": EVERYTHING + ["192.0.2.0/24", "10.0.0.0/8"]})
    for address in ("10.0.2.2", lab.OWN, lab.METADATA):
        is_shut(guest, address)
    guest.configure(network_policy={"allow": [
        "10.0.2.2", "fec0::2", lab.OWN, lab.METADATA]})
    says(guest, "10.0.2.2", "loopback")
    says(guest, "fec0::2", "loopback6")
    says(guest, lab.OWN, "own")
    says(guest, lab.METADATA)
    for address in ("127.0.0.1", "10.0.2.4", "::1", "fec0::4"):
        is_shut(guest, address)
    guest.send(udp("10.0.2.2", 69, struct.pack("!H", 1) + b"x\0octet\0"))
    check(guest.quiet(lambda found: found.protocol == UDP), "TFTP answers")


def test_policies_that_are_none():
    guest = Guest("open")
    for policy, part in (
            ("closed", "must be"), (5, "must be"), ({}, "'allow'"),
            ({"allow": "1.2.3.4"}, "a list"), ({"allow": [7]}, "strings"),
            ({"allow": [], "dsn": True}, "no other members"),
            ({"allow": [], "dns": 1}, "true or false"),
            ({"allow": ["example"]}, "example"),
            ({"allow": ["1.2.3.4/33"]}, "not an address"),
            ({"allow": ["1.2.3.4/"]}, "not an address"),
            ({"allow": ["1.2.3.4/-1"]}, "not an address"),
            ({"allow": ["1.2.3"]}, "not an address"),
            ({"allow": ["10.1.2.3/8"]}, "10.0.0.0/8"),
            ({"allow": ["10.1.2.3/8:80"]}, "10.0.0.0/8:80"),
            ({"allow": ["[2001:db8::1/32]:80"]}, "[2001:db8::/32]:80"),
            ({"allow": ["1.2.3.4:"]}, "not an address"),
            ({"allow": ["1.2.3.4:0"]}, "not an address"),
            ({"allow": ["1.2.3.4:65536"]}, "not an address"),
            ({"allow": ["1.2.3.4:-80"]}, "not an address"),
            ({"allow": ["1.2.3.4: 80"]}, "not an address"),
            ({"allow": ["1.2.3.4:80:80"]}, "not an address"),
            ({"allow": ["1.2.3.4:https"]}, "not an address"),
            ({"allow": ["1.2.3.4:80/8"]}, "not an address"),
            ({"allow": ["1.2.3.4:80-90"]}, "not an address"),
            ({"allow": ["[1.2.3.4]:80"]}, "not an address"),
            ({"allow": ["[2001:db8::1]"]}, "not an address"),
            ({"allow": ["[2001:db8::1]80"]}, "not an address"),
            ({"allow": ["[2001:db8::1]:"]}, "not an address"),
            ({"allow": ["[2001:db8::1:80"]}, "not an address"),
            ({"allow": ["2001:db8::1]:80"]}, "not an address"),
            ({"allow": ["[[2001:db8::1]]:80"]}, "not an address"),
            ({"allow": ["[2001:db8::]:80/32"]}, "not an address"),
            ({"allow": ["[]:80"]}, "not an address"),
            ({"allow": [":80"]}, "not an address"),
            ({"allow": ["*:80"]}, "first label"),
            ({"allow": ["example.org:https"]}, "port"),
            ({"allow": ["127.0.0.1:80"]}, "10.0.2.2"),
            ({"allow": ["[::1]:80"]}, "no guest"),
            ({"allow": ["2001:db8::1/32"]}, "2001:db8::/32"),
            ({"allow": ["127.0.0.1"]}, "10.0.2.2"),
            ({"allow": ["10.0.2.3"]}, "dns"),
            ({"allow": ["::1"]}, "no guest"),
            ({"allow": ["::ffff:1.2.3.4"]}, "no guest"),
            ({"allow": ["224.0.0.0/4"]}, "no guest"),
            ({"allow": ["1.2.3.4"] * 257}, "256")):
        answer = guest.request("configure", {"network_policy": policy})
        equal(answer["status"], "error", str(policy)[:60])
        equal(answer["error"]["code"], "invalid_field", str(policy)[:60])
        check(part in answer["error"]["message"], answer["error"]["message"])
    equal(guest.status()["network_policy"], "open", "the policy")
    for policy in ({"allow": ["10.0.0.0/8", "::/0"], "dns": True},
                   {"allow": ["10.0.0.0/8:1", "1.2.3.4:65535",
                              "[2001:db8::1]:443", "[2001:db8::/32]:80"],
                    "dns": False},
                   {"allow": [], "dns": False}, "disabled"):
        guest.configure(network_policy=policy)
        equal(guest.status()["network_policy"], policy, "the policy")


if __name__ == "__main__":
    sys.exit(main(globals()))
