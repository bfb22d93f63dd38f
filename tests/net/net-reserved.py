#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""net-reserved - metadata services of clouds are reached by exact address only,
also by way of an IPv6 address that embeds theirs.

As net-filter.py, which has the rest of the policy.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import net_lab as lab  # noqa: E402
from net_checks import equal, is_shut, main, says  # noqa: E402
from net_guest import Guest  # noqa: E402

RESERVED = [lab.METADATA, *lab.CLOUDS, *lab.EMBEDDED, lab.OWN_EMBEDDED]
EVERYTHING = ["0.0.0.0/0", "::/0"]


def test_open_policy_does_not_reach_metadata_services():
    guest = Guest("open")
    for address in RESERVED:
        is_shut(guest, address)


def test_a_network_around_a_metadata_service_does_not_reach_it():
    guest = Guest({"allow": EVERYTHING + [
        "100.100.100.0/24", "168.63.129.16/31", "fd00::/8", "64:ff9b::/96",
        "64:ff9b:1::/48", "2002:a9fe:a9fe::/48"]})
    for address in RESERVED:
        is_shut(guest, address)


def test_an_exact_address_reaches_a_metadata_service():
    guest = Guest({"allow": EVERYTHING + RESERVED})
    for address in RESERVED:
        says(guest, address)


def test_an_ipv4_entry_does_not_open_addresses_that_embed_it():
    guest = Guest({"allow": EVERYTHING + [lab.METADATA]})
    says(guest, lab.METADATA)
    for address in lab.EMBEDDED:
        is_shut(guest, address)


def test_translated_addresses_of_other_hosts_are_reached():
    guest = Guest("open")
    for address in lab.UNLISTED_EMBEDDED:
        says(guest, address)


def test_a_refused_metadata_service_is_reported():
    guest = Guest("open")
    is_shut(guest, "fd00:ec2::254")
    equal([one["destination"] for one in guest.refused()], ["fd00:ec2::254"],
          "refused")


if __name__ == "__main__":
    sys.exit(main(globals()))
