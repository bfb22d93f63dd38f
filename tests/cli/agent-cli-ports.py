#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published ports of "stepback run", over a fake QEMU and the real
stepback-net."""
import os
import re
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (PROGRAM, contains, equal, eventually,  # noqa: E402
                          main, test)


def begin(place, *options, command="wait"):
    return subprocess.Popen(
        [PROGRAM, "run", "-C", place.share, "--accel", "tcg", *options, "--",
         command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, env=place.environment(), text=True)


def can_connect(address, port):
    try:
        socket.create_connection((address, port), 3).close()
        return True
    except ConnectionRefusedError:
        return False


@test
def ports_are_told_and_open(place):
    """run -p prints where each port is; they end with it"""
    process = begin(place, "-p", ":80", "--publish=0.0.0.0:0:81", "-p",
                    "0:53/udp", "--network=")
    found = []
    for line in process.stderr:
        if match := re.match(r"stepback: (.*):(\d+)/(tcp|udp) leads to port "
                             r"(\d+) of the guest$", line):
            found.append(match.groups())
        if len(found) == 3:
            break
    equal([(address, protocol, guest) for address, _, protocol, guest in found],
          [("127.0.0.1", "tcp", "80"), ("0.0.0.0", "tcp", "81"),
           ("127.0.0.1", "udp", "53")])
    ports = [int(port) for _, port, _, _ in found]
    equal([can_connect("127.0.0.1", ports[0]), can_connect(
        "127.0.0.2", ports[0]), can_connect("127.0.0.2", ports[1])],
        [True, False, True])
    process.terminate()
    process.communicate(timeout=30)
    eventually(lambda: not can_connect("127.0.0.1", ports[0]), 10)


@test
def problems_are_told_with_a_remedy(place):
    """run -p: bad syntax, a taken port, a port given twice, no card"""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = str(other.getsockname()[1])
        for options, status, part in (
                (("-p", "80"), 2, "use [ADDRESS:]HOST:GUEST[/udp]"),
                (("-p", "8080:80/sctp"), 2, "use tcp or udp"),
                (("-p", f"{taken}:80"), 125, "choose another one"),
                (("-p", "203.0.113.5:0:80"), 125, "use 127.0.0.1"),
                (("-p", ":80", "--no-network"), 125, "--network=''")):
            process = begin(place, *options, command="exit 0")
            _, err = process.communicate(timeout=60)
            equal((options, process.returncode), (options, status))
            contains(err, part)
    process = begin(place, "-p", f"{taken}:80", "-p", f"{taken}:81",
                    command="exit 0")
    contains(process.communicate(timeout=60)[1], "publishes the port already")


def port(place, *words):
    done = subprocess.run([PROGRAM, "port", *words], env=place.environment(),
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@test
def ports_of_a_sandbox_come_and_go(place):
    """stepback port lists, adds and removes; up -p keeps its ports"""
    env = place.environment()
    started = subprocess.run([PROGRAM, "up", "box", "-C", place.share,
                              "--accel", "tcg", "-p", "0:80"], env=env,
                             check=True, timeout=120, capture_output=True,
                             text=True)
    try:
        status, out, _ = port(place, "box")
        first = re.match(r"127.0.0.1:(\d+) +80/tcp +not listening\n$",
                         out).group(1)
        equal(started.stderr, "stepback: 127.0.0.1:%s/tcp leads to port 80 of "
              "the guest\n" % first)
        equal((status, can_connect("127.0.0.1", int(first))), (0, True))
        status, out, _ = port(place, "box", "add", "0:53/udp")
        added = re.match(r"127.0.0.1:(\d+)/udp\n$", out).group(1)
        contains(port(place, "box")[1], f"127.0.0.1:{added}")
        equal(port(place, "box", "add", f"{first}:81")[0], 1)
        equal(port(place, "box", "rm", f"{added}/udp"), (0, "", ""))
        status, _, err = port(place, "box", "rm", f"{added}/udp")
        equal(status, 1)
        contains(err, "not a published port")
        equal(port(place, "box", "rm", f"{first}:80"), (0, "", ""))
        equal(can_connect("127.0.0.1", int(first)), False)
        for words in (("add",), ("rm",), ("add", "80"), ("rm", "x"),
                      ("add", "1:2", "3:4"), ("box", "fly")):
            equal((words, port(place, *words)[0]), (words, 2))
        equal(port(place, "none")[0], 1)
    finally:
        subprocess.run([PROGRAM, "kill", "box"], env=env, capture_output=True,
                       timeout=60)
        subprocess.run([PROGRAM, "rm", "box"], env=env, capture_output=True,
                       timeout=60)


if __name__ == "__main__":
    main()
