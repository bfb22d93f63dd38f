#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random cycles of up, run, exec, cp, port, stop and rm in which processes are
killed at random moments; in every other one the guest is the real shim. CYCLES
and SEED are taken from the environment."""
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from sandbox_case import VM, call, good, kill_all, listed  # noqa: E402
from sandbox_case import sandbox_test, state, status, up  # noqa: E402
from stdio_client import (PROGRAM, contains, equal, eventually, main,  # noqa: E402
                          snapshot, words_of)

CYCLES = int(os.environ.get("CYCLES", "20"))
SEED = int(os.environ.get("SEED", "0")) or random.randrange(1 << 30)


def start(place, *words, guest=""):
    return subprocess.Popen([PROGRAM, *words], cwd=place.share,
                            env=place.environment(STEPBACK_FAKE_QEMU=guest),
                            stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def kill_one(place, chance):
    """Kill any process of the place."""
    pids = place.processes()
    if not pids:
        return
    try:
        os.kill(chance.choice(sorted(pids)), signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_guest(place):
    """Kill what the shim has started: a machine's end would end it, too."""
    for pid in place.processes():
        try:
            with open("/proc/%d/environ" % pid, "rb") as file:
                if b"STEPBACK_STEP_SOCKET=" in file.read():
                    os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def check_truth(place):
    """What ps says is so: a sandbox that runs can be asked."""
    for name, entry in listed(place).items():
        contains(("running", "starting", "stopping", "stopped", "crashed",
                  "error"), entry["status"])
        if entry["status"] == "running":
            code, out, _ = call(place, "inspect", name)
            equal(code, 0)
            # It may have ended since; the lock says so, too.
            equal('"state": "running"' in out or
                  eventually(lambda: status(place, name) != "running", 20),
                  True)


def make_tree(path):
    os.makedirs(path + "/sub")
    for name in ("a", "b", "sub/c"):
        with open(path + "/" + name, "wb") as file:
            file.write(os.urandom(3 << 20))
    os.symlink("a", path + "/link")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def is_free(port):
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def copies(place):
    return ("cp", place.root + "/tree", "share:" + place.root + "/guest"), \
        ("cp", "share:" + place.root + "/tree", place.root + "/host")


def temporary(place):
    return [name for folder in ("guest", "host")
            for _, folders, files in os.walk(place.root + "/" + folder)
            for name in folders + files if name.startswith(".stepback-cp-")]


COMMANDS = {
    "": [("run", "--", "echo", "x"), ("run", "--timeout=5", "--", "hang")],
    "shim": [("exec", "--", "echo", "x"), ("exec", "-d", "sleep", "99"),
             ("run", "--timeout=5", "--", "sleep 99")],
}


def cycle(place, chance, ports, guest):
    workers = [start(place, "up", *VM, "-p", "%d:8000" % ports[0],
                     guest=guest)]
    time.sleep(chance.uniform(0, 1.2))
    for words in chance.sample([("stop",), ("kill",), ("up",), ("ps", "-a"),
                                ("rm", "-f", "share"), *COMMANDS[guest],
                                ("port", "share", "add", "%d:80" % ports[1]),
                                *copies(place), *copies(place)], 5):
        if chance.random() < 0.7:
            workers.append(start(place, *words, guest=guest))
        time.sleep(chance.uniform(0, 0.3))
    for _ in range(chance.randrange(1, 4)):
        kill_one(place, chance)
        time.sleep(chance.uniform(0, 0.1))
    check_truth(place)
    call(place, "kill", "--all")
    for worker in workers:
        try:
            worker.wait(60)
        except subprocess.TimeoutExpired as error:
            raise AssertionError("%s hangs" % error.cmd) from error


def leftovers(place):
    return [path for path in place.left() if "/.stepback/" not in path] + \
        os.listdir(os.path.dirname(state(place, "x").rstrip("/"))) + \
        os.listdir(place.runtime + "/stepback") + \
        [name for name in os.listdir(place.runtime) if name != "stepback"]


@sandbox_test
def killed_at_random(place):
    """after a kill of any process at any moment, ps tells the truth, no process,
    file or port is left after prune, and the undo log can be used"""
    print("# SEED=%d" % SEED)
    chance = random.Random(SEED)
    ports = free_port(), free_port()
    for folder in ("guest", "host"):
        os.mkdir(place.root + "/" + folder)
    make_tree(place.root + "/tree")
    up(place)
    for number in range(CYCLES):
        cycle(place, chance, ports, ("", "shim")[number % 2])
        call(place, "kill", "--all")
        end_guest(place)
        if not eventually(lambda: not place.processes(), 30):
            raise AssertionError((number, [words_of(pid)
                                           for pid in place.processes()]))
        good(place, "prune", "-f")
        equal((number, leftovers(place), listed(place)), (number, [], {}))
        equal((number, *map(is_free, ports)), (number, True, True))
        good(place, "history", "-C", place.share)
    equal(up(place), "share")
    equal(call(place, "run", "--", "exit 3")[0], 3)
    print("# temporary files: %d" % len(temporary(place)))
    for again in (True, False):
        for words in copies(place):
            good(place, *words)
        equal(temporary(place), [])
        if again:  # folders that a killed copy has left keep their attributes
            shutil.rmtree(place.root + "/guest/tree")
    equal(*(snapshot(place.root + path)[0].splitlines()[1:]
            for path in ("/tree", "/guest/tree")))
    kill_all(place)


killed_at_random.alone = True
main()
