#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proxy-splice - stepback-proxy copies what the checks pass, and nothing else.

The test plays the supervisor and stepback-net (proxy_world.py). TAP on standard
output. One test: proxy-splice.py ITS_FUNCTION.
"""
import contextlib
import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from proxy_world import *  # noqa: E402,F403


@contextlib.contextmanager
def proxy(world, policy=None, **options):
    """A proxy that must end in order and keep no connection."""
    running = Proxy(world, policy, **options)
    try:
        yield running
        wait_for(lambda: running.status()["connections"] == 0,
                 "all connections end")
        equal(running.close(), 0, "the exit status")
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


@contextlib.contextmanager
def server(talk, **where):
    running = Server(talk, **where)
    try:
        yield running
    finally:
        running.close()


# ---- copying ----------------------------------------------------------------

def test_bytes_pass_both_ways(world):
    with proxy(world) as running, server(echo) as to:
        guest, number = running.connect(to.port)
        guest.sendall(b"hello")
        equal(read_some(guest, 5), b"hello", "the echo")
        guest.close()
        event = running.ended(number)
        equal((event["name"], event["port"], event["address"],
               event["verdict"], event["from_guest"], event["to_guest"]),
              (NAME, to.port, PUBLIC, "closed", 5, 5), "the event")


def test_ipv6_is_reached(world):
    with proxy(world) as running, server(echo, address=PUBLIC6) as to:
        running.addresses = [PUBLIC6]
        guest, _ = running.connect(to.port)
        guest.sendall(b"hello")
        equal(read_some(guest, 5), b"hello", "the echo")
        guest.close()


if __name__ == "__main__":
    sys.exit(main(globals()))
