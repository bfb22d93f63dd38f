#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A safeguard asks about a change of a local sandbox: its processes are paused
until the answer, as those of a machine are, and the change neither fails nor is
lost by the pause."""
import os
import queue
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_agent import begin  # noqa: E402
from local_case import cgroup_of, left_of, run  # noqa: E402
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import Skip, equal, eventually, main, snapshot  # noqa: E402

TRIGGERED = "event.safeguard_triggered"
FILES = 8
# A process beside the one that asks, which shows that time passes for it. The
# shell has a handler, so that a signal would interrupt a system call.
WORK = """
trap : USR1
(while :; do echo tick; sleep 0.02; done) & ticker=$!
rm tree/*; status=$?
kill $ticker; exit $status
"""


def begin_asking(place, user=False, **payload):
    os.mkdir(place.share + "/tree")
    for i in range(FILES):
        with open("%s/tree/%d" % (place.share, i), "w") as file:
            file.write("content %d" % i)
    place.before = snapshot(place.share)
    agent = begin(place, user,
                  safeguard={"delete_threshold": 3, "timeout_seconds": 60},
                  **payload)
    place.cgroup = cgroup_of(agent.process.pid) if not user else None
    if not user and not place.cgroup:
        raise Skip("there is no cgroup version 2 to pause a sandbox by")
    return agent


def trigger(agent, **more):
    id = agent.send("agent.execute", command=WORK, **more)
    return id, agent.event(TRIGGERED)


def ticks(agent, seconds):
    """Lines of output that come in so many seconds."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            message = agent.next(max(0.01, end - time.monotonic()))
        except queue.Empty:
            break
        if message and message["type"] == "event.terminal_output":
            count += message["payload"]["data"].count("tick")
    return count


def decide(agent, event, action):
    equal(agent.ask("safeguard.confirm", safeguard_id=event["safeguard_id"],
                    action=action)["status"], "ok")


@sandbox_test
def allowed(place):
    """all processes wait until the change is allowed, which then succeeds"""
    agent = begin_asking(place)
    # The time of the question is not the command's.
    id, event = trigger(agent, timeout_seconds=4)
    ticks(agent, 0.5)  # what was on its way
    equal(ticks(agent, 1), 0)
    equal(agent.ask("session.status")["payload"]["state"], "running")
    time.sleep(3)
    decide(agent, event, "allow")
    answer = agent.response(id)
    equal((answer["status"], answer["payload"]["exit_code"]), ("ok", 0))
    equal(os.listdir(place.share + "/tree"), [])
    equal(agent.ask("undo.rollback", steps=1)["status"], "ok")
    equal(snapshot(place.share), place.before)
    equal(agent.close(), 0)
    assert not os.path.exists(place.cgroup)


@sandbox_test
def denied(place):
    """a denial rolls the command back, and the sandbox goes on"""
    agent = begin_asking(place)
    id, event = trigger(agent)
    decide(agent, event, "deny")
    equal(agent.response(id)["error"]["code"], "denied")
    equal(snapshot(place.share), place.before)
    answer = agent.ask("agent.execute", command="echo more >>tree/0")
    equal(answer["payload"]["exit_code"], 0)
    equal(agent.close(), 0)


@sandbox_test
def stopped(place):
    """a sandbox that is paused can be stopped"""
    agent = begin_asking(place)
    trigger(agent)
    equal(agent.ask("session.stop")["status"], "ok")
    equal(agent.close(), 0)
    equal(snapshot(place.share), place.before)
    assert eventually(lambda: not left_of(place), 20), left_of(place)


@sandbox_test
def killed(place):
    """the supervisor is killed while the sandbox is paused: nothing is left, and
    the next start recovers the folder and removes the cgroup"""
    agent = begin_asking(place)
    trigger(agent)
    agent.kill()
    assert eventually(lambda: not left_of(place), 20), left_of(place)
    equal(run(place, "true")[0], 0)
    equal(snapshot(place.share), place.before)
    assert not os.path.exists(place.cgroup)


@sandbox_test
def without_cgroups(place):
    """where no cgroup can be made, the change waits alone"""
    agent = begin_asking(place, user=True)
    id, event = trigger(agent)
    ticks(agent, 0.5)
    assert ticks(agent, 1) > 5
    equal(len(os.listdir(place.share + "/tree")) > 0, True)
    decide(agent, event, "allow")
    answer = agent.response(id)
    equal((answer["status"], answer["payload"]["exit_code"]), ("ok", 0))
    equal(agent.close(), 0)


main()
