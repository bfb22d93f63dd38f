#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of real clients and policies of net_clients.py, in a sandbox of local
isolation. vm-names.py has it in a machine.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import local_agent  # noqa: E402
import names_world  # noqa: E402
import net_clients  # noqa: E402
from stdio_client import main  # noqa: E402


def begin(place):
    return local_agent.begin(place, network_policy={"allow": []})


if __name__ == "__main__":
    with names_world.entered("client_servers", needs_trust=True) as world:
        table = net_clients.Table(world, begin)
        net_clients.add_tests(table)
        try:
            with world.trusted():
                main(mounts=True)
        finally:
            table.close()
