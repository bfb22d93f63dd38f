#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions of a real virtual machine that come to a bad end: what is left, and
whether the next one finds the folder as it was.

SL-06, SL-07 and SL-08 of the test plan. STEPBACK_VM_KILLS says how many
sessions are killed, each at a random time before or a while after its machine
is up (default: 3; 100 before a release), STEPBACK_VM_KILLS_SEED at which. It is
skipped without QEMU or an image.
"""
import os
import queue
import random
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
from stdio_client import (Agent, Skip, contains, equal,  # noqa: E402
                          eventually, main, snapshot, test)

IMAGE = os.environ.get("STEPBACK_TEST_MINIMAL", "minimal")
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
KILLS = int(os.environ.get("STEPBACK_VM_KILLS", "3"))
ENVIRONMENT = {"STEPBACK_QEMU": None, "XDG_CACHE_HOME": CACHE}
SEED = int(os.environ.get("STEPBACK_VM_KILLS_SEED", random.randrange(1 << 30)))
COMMAND = ("i=0; while :; do i=$((i+1)); echo $i > new$i; rm -f old$i;"
           " echo x >> kept; done")


def machine(place):
    kernel = os.path.join(CACHE, "stepback/guest", IMAGE, "vmlinuz")
    if not shutil.which("qemu-system-x86_64") or not os.path.exists(kernel):
        raise Skip("there is no QEMU or no guest image")
    return Agent(place, **ENVIRONMENT)


def live_for(agent, vm, seconds):
    """Start a session and a command in it; how far it has come by then."""
    end = time.monotonic() + seconds
    start = agent.send("session.start", vm=vm, network_policy="open",
                       working_directories=[{"path": agent.place.share}])
    stage = "starting"
    while (rest := end - time.monotonic()) > 0:
        try:
            message = agent.next(rest)
        except queue.Empty:
            break
        if message.get("request_id") == start:
            equal(message["status"], "ok")
            agent.send("agent.execute", command=COMMAND)
            stage = "running"
        elif message["type"] == "event.step_started":
            stage = "in a step"
    return stage


def stuck(place):
    """Who still lives, and in what state."""
    found = []
    for pid in place.processes():
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            words = file.read().replace(b"\0", b" ")[:80]
        with open("/proc/%d/stat" % pid) as file:
            found.append((words, file.read().split()[:4]))
    return found


@test
def kills_leave_nothing(place):
    """SL-07, SL-08: a panic is reported; kill -9 at any time leaves nothing"""
    chance = random.Random(SEED)
    print("# STEPBACK_VM_KILLS_SEED=%d" % SEED)
    for i in range(50):
        with open("%s/old%d" % (place.share, i), "w") as file:
            file.write("old %d\n" % i)
    open(place.share + "/kept", "w").close()
    before = snapshot(place.share)
    vm = guest_start.plan(place.environment(**ENVIRONMENT), IMAGE)
    latest = 1.6 * guest_panics(machine(place), vm)
    equal((place.left(), place.sessions()), ([], []))
    stages = {}
    for number in range(KILLS):
        agent = machine(place)
        stage = live_for(agent, vm, chance.uniform(0, latest))
        stages[stage] = stages.get(stage, 0) + 1
        agent.kill()
        assert eventually(lambda: not place.processes(), 5), stuck(place)
        assert eventually(lambda: place.left() == [], 5), place.left()
        equal(place.sessions(), [])
    print("# in the first %.1f s: %s" % (latest, stages))
    # Each has rolled back what the previous one began, and so does this one.
    agent = machine(place)
    equal(agent.start(vm=vm)["status"], "ok")
    guest_start.check(agent.process.pid, vm)
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)
    equal((place.left(), place.sessions()), ([], []))


def guest_panics(agent, vm):
    """SL-07: the kernel dies under a command: an error, and session.stop. How
    long the session took to start."""
    started = time.monotonic()
    equal(agent.start(vm=vm)["status"], "ok")
    took = time.monotonic() - started
    id = agent.send("agent.execute", command="echo c > /proc/sysrq-trigger")
    equal(agent.event("event.error")["number"], 2005)
    equal(agent.response(id)["error"]["number"], 2005)
    equal(agent.ask("session.status")["payload"]["state"], "error")
    equal(agent.ask("session.stop")["payload"], {"state": "stopped"})
    equal((agent.children(), agent.place.sessions()), ([], []))
    equal(agent.close(), 0)
    return took


@test
def a_kernel_that_is_none_is_told(place):
    """SL-06: QEMU does not begin: 2003, its words, and nothing is left"""
    agent = machine(place)
    kernel = place.root + "/kernel"
    with open(kernel, "w") as file:
        file.write("no kernel")
    error = agent.start(vm={"image": IMAGE, "kernel": kernel})["error"]
    equal(error["number"], 2003)
    contains(error["message"].lower(), "kernel")
    equal(agent.ask("session.status")["payload"]["state"], "stopped")
    equal((agent.children(), place.sessions()), ([], []))
    equal(agent.close(), 0)


main()
