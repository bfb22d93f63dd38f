#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process of a local sandbox is killed while a command writes: nothing of the
sandbox is left (a namespace ends with its last process), and the next start brings
the folder back, or undoes the step exactly."""
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import LOCAL, call, left_of, need, run  # noqa: E402
from sandbox_case import pid_of, sandbox_test  # noqa: E402
from stdio_client import (PROGRAM, Agent, contains, descendants,  # noqa: E402
                          equal, eventually, main, snapshot)

WORK = "i=0; while :; do i=$((i+1)); echo $i >f$((i % 50)); rm -f old/$((i % 40)); done"


def host_mounts(place):
    """Mounts on the host that may be the sandbox's."""
    with open("/proc/self/mounts") as file:
        return [line for line in file if place.root in line]


def name_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return os.path.basename(file.read().split(b"\0")[0]).decode()
    except OSError:
        return ""


def check(place, victim):
    need()
    os.mkdir(place.share + "/old")
    for i in range(40):
        with open(place.share + "/old/%d" % i, "w") as file:
            file.write("old %d" % i)
    before = snapshot(place.share)
    started = subprocess.Popen(
        [PROGRAM, "run", *LOCAL, "--no-network", "--", "sh", "-c", WORK],
        cwd=place.share, env=place.environment(STEPBACK_QEMU=None),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert eventually(lambda: os.path.exists(place.share + "/f7"), 20)
    family = descendants(started.pid)
    equal(host_mounts(place), [])  # none is on the host, ever
    if victim:
        chosen = [pid for pid in family if name_of(pid) == victim]
        assert chosen, (victim, [name_of(pid) for pid in family])
        for pid in chosen:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # it ends with the first
                pass
    else:
        started.send_signal(signal.SIGKILL)
    started.wait(30)
    assert eventually(lambda: not any(name_of(pid) for pid in family), 20), \
        [name_of(pid) for pid in family]
    assert eventually(lambda: not left_of(place), 20), left_of(place)
    equal(host_mounts(place), [])
    equal(run(place, "true")[0], 0)  # recovers
    if snapshot(place.share) != before:  # recovery keeps a step that had ended
        equal(call(place, "undo", "--yes")[0], 0)
    equal(snapshot(place.share), before)


@sandbox_test
def up_tells(place):
    """up after a kill says that it has rolled the interrupted step back"""
    need()
    words = (*LOCAL, "--no-network")
    equal(call(place, "up", *words)[0], 0)
    equal(call(place, "exec", "-d", "--", "sh", "-c", "echo > new; sleep 1000")[0], 0)
    assert eventually(lambda: os.path.exists(place.share + "/new"), 20)
    os.kill(pid_of(place, "share"), signal.SIGKILL)
    assert eventually(lambda: not left_of(place), 20), left_of(place)
    status, out, err = call(place, "up")
    equal((status, out), (0, "share\n"))
    contains(err, "rolled back an interrupted step: sh -c 'echo > new; sleep 1000'")
    equal(os.listdir(place.share), [])
    equal(call(place, "rm", "-f", "share")[0], 0)


@sandbox_test
def supervisor(place):
    """the supervisor is killed"""
    check(place, None)


@sandbox_test
def daemon(place):
    """the file server is killed"""
    check(place, "stepback-virtiofsd")


@sandbox_test
def daemon_ends(place):
    """a file server that ends by itself is reported, and no QEMU is"""
    need()
    agent = Agent(place, STEPBACK_QEMU=None)
    answer = agent.ask("session.start", isolation="local", network_policy="disabled",
                       working_directories=[{"path": place.share}])
    equal(answer["status"], "ok")
    for pid in descendants(agent.process.pid):
        if name_of(pid) == "stepback-virtiofsd":
            os.kill(pid, signal.SIGTERM)
    contains(agent.event("event.error")["message"],
             "the file system daemon has ended while the sandbox runs")
    agent.close()
    assert eventually(lambda: not left_of(place), 20), left_of(place)


@sandbox_test
def bubblewrap(place):
    """bubblewrap is killed"""
    check(place, "bwrap")


@sandbox_test
def shim(place):
    """the shim is killed"""
    check(place, "shim")


@sandbox_test
def early(place):
    """the supervisor is killed at any time of a start"""
    need()
    for wait in (0.02, 0.06, 0.1, 0.15, 0.2, 0.3):
        started = subprocess.Popen(
            [PROGRAM, "run", *LOCAL, "--no-network", "--", "true"], cwd=place.share,
            env=place.environment(STEPBACK_QEMU=None), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        started.kill()
        started.wait(30)
    assert eventually(lambda: not left_of(place), 20), left_of(place)
    equal(host_mounts(place), [])
    equal(run(place, "true")[0], 0)


main()
