#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies in a real virtual machine, in one boot: a big file and a tree of many
files travel into the guest's own file system and back, and
tests/lib/tree-snapshot must see the same trees.

Prints throughput, beside that of `tar | base64` as a command's output.
STEPBACK_TEST_COPY_MIB is the size of the file (128), STEPBACK_TEST_COPY_FILES
how many files the tree has (2000), STEPBACK_TEST_IMAGE the image (minimal). It
is skipped without QEMU or the image.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
from stdio_client import (BUILDDIR, Agent, Skip, contains,  # noqa: E402
                          equal, main, snapshot, test)

IMAGE = os.environ.get("STEPBACK_TEST_IMAGE", "minimal")
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
MIB = int(os.environ.get("STEPBACK_TEST_COPY_MIB", "128"))
FILES = int(os.environ.get("STEPBACK_TEST_COPY_FILES", "2000"))
HOST_COPY = os.path.join(BUILDDIR, "tests/lib/host-copy")


def make_tree(root):
    chance = random.Random(7)
    for i in range(FILES):
        folder = "%s/d%d/e%d" % (root, i % 20, i % 400 // 20)
        os.makedirs(folder, exist_ok=True)
        with open("%s/f%d" % (folder, i), "wb") as file:
            file.write(chance.randbytes(chance.randrange(6000)))
        os.chmod(file.name, chance.choice([0o644, 0o755, 0o600, 0o444]))
    for i in range(500):
        at = "%s/d%d/e%d" % (root, i % 20, i // 20 % 20)
        os.link("%s/f%d" % (at, i % 400), "%s/hard%d" % (root, i))
        os.symlink("../" * (i % 4) + "f%d" % i, "%s/sym%d" % (at, i))
        with open(os.fsencode("%s/" % at) + b"odd\xff \n%d" % i, "w") as file:
            file.write("odd")
    for i in range(20):
        with open("%s/holes%d" % (root, i), "wb") as file:
            file.truncate(64 << 20)
            os.pwrite(file.fileno(), b"x" * 9000, i << 20)
    os.mkfifo(root + "/fifo")
    for i in range(20):
        os.utime("%s/d%d" % (root, i), ns=(0, 10 ** 18 + i))


def copy(agent, *arguments):
    """One copy by the host's side of the command line; its seconds."""
    type, payload = json_of(*arguments)
    begun = time.monotonic()
    answer = agent.ask(type, **payload)
    assert answer["status"] == "ok", answer
    run = subprocess.run([HOST_COPY, answer["payload"]["socket"], *arguments],
                         stderr=subprocess.PIPE, text=True)
    done = agent.event("event.copy_completed")
    equal(("error" in done, run.returncode, run.stderr[-200:] if
           run.returncode else ""), (False, 0, ""))
    return time.monotonic() - begun


def json_of(*arguments):
    return json.loads(subprocess.run([HOST_COPY, "-", *arguments], check=True,
                                     stdout=subprocess.PIPE).stdout)


def output(agent, command):
    answer, text = agent.execute(command)
    assert answer["status"] == "ok", answer
    equal((command, answer["payload"]["exit_code"]), (command, 0))
    return text


@test
def files_travel(place):
    """a big file and many files come back from the guest as they were"""
    if not (shutil.which("qemu-system-x86_64") and os.path.exists(
            os.path.join(CACHE, "stepback/guest", IMAGE))):
        raise Skip("there is no QEMU or no image")
    tree, big = place.root + "/tree", place.root + "/big"
    make_tree(tree)
    with open(big, "wb") as file:
        for _ in range(MIB):
            file.write(os.urandom(1 << 20))
    agent = Agent(place, STEPBACK_QEMU=None, XDG_CACHE_HOME=CACHE)
    big_guest = {"memory": MIB + 1400, "alone": True} if MIB > 128 else {}
    vm = guest_start.plan(agent.env, IMAGE, **big_guest)
    equal(agent.start(vm=vm)["status"], "ok")
    guest_start.check(agent.process.pid, vm)
    output(agent, "mkdir /copied")
    times = [("%d MiB in" % MIB, copy(agent, big, "box:/copied/big")),
             ("%d MiB out" % MIB, copy(agent, "box:/copied/big",
                                      place.root + "/back")),
             ("tree in", copy(agent, "-a", tree, "box:/copied")),
             ("tree out", copy(agent, "-a", "box:/copied/tree",
                               place.root + "/returned"))]
    subprocess.run(["cmp", big, place.root + "/back"], check=True)
    equal(snapshot(place.root + "/returned"), snapshot(tree))
    holes = os.stat(place.root + "/returned/holes3")
    assert holes.st_blocks * 512 < 1 << 20, holes
    used = int(output(agent, "du -sk /copied/tree").split()[0])
    assert used < 20 * FILES, "holes were filled in the guest: %d KiB" % used
    output(agent, "test \"$(stat -c %U /copied/big)\" = root")
    # A part of it as base64 in a command's output.
    begun = time.monotonic()
    text = output(agent, "cd /copied && head -c 16777216 big | base64")
    base64 = time.monotonic() - begun
    assert len(text) > 20 << 20, len(text)
    for what, seconds in times:
        print("# %s: %.1f s%s" % (what, seconds, ", %.0f MiB/s" %
                                  (MIB / seconds) if "MiB" in what else ""))
    print("# 16 MiB by base64: %.1f s, %.1f MiB/s" % (base64, 16 / base64))
    contains(agent.error("file.copy_out", path="/no/such")[1], "/no/such")
    equal(agent.close(), 0)
    equal(place.left(), [])


main()
