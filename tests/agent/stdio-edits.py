#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Edits from outside beside real commands, in folders that are mounted on the
host.

Ids such as EB-01 are the test plan's.
"""
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from agent_views import events, write  # noqa: E402
from stdio_client import (Agent, Skip, contains, done, equal,  # noqa: E402
                          freeze, main, open_session, snapshot, test)

EDITED = "event.external_modification"


@test
def outside_edits_are_told(place):
    """EB-01, EB-05: an edit from outside is an event; a command's is none"""
    agent = open_session(place, "a", "b")
    done(agent, "echo x > f; mkdir d; mv f d; echo y > /mnt/working/1/f")
    equal(events(agent, EDITED), [])
    write(place.root + "/b/mine", "text")
    event = agent.event(EDITED)
    equal((event["directory"], event["paths"]), ("b", ["mine"]))
    equal(agent.close(), 0)


@test
def barriers_stop_undo(place):
    """EB-02, EB-03, EB-04: a barrier is in the history; force goes over it"""
    agent = open_session(place)
    before = snapshot(place.share)
    done(agent, "echo x > f")
    write(place.share + "/f", "mine")
    agent.event(EDITED)
    barrier, = agent.ask("undo.history")["payload"]["barriers"]
    equal((barrier["type"], barrier["paths"], barrier["after_step"],
           barrier["directory"]), ("barrier", ["f"], 1, "share"))
    contains(barrier["timestamp"], "T")
    error = agent.ask("undo.rollback")["error"]
    equal((error["number"], error["code"]), (3001, "undo_barrier"))
    equal((error["data"]["paths"], error["data"]["steps"],
           error["data"]["directory"]), (["f"], [], "share"))
    contains(error["message"], "f")
    equal(agent.error("undo.preview")[0], 3001)
    answer = agent.ask("undo.rollback", force=True)["payload"]
    equal([b["paths"] for b in answer["barriers"]], [["f"]])
    assert answer["warnings"], answer
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)


@test
def the_nearest_barrier_counts(place):
    """EB-06: several barriers are listed; undo goes as far as the nearest"""
    agent = open_session(place)
    for i in (1, 2, 3):
        done(agent, "echo x > f%d" % i)
        if i < 3:
            # One event, where a write would be several.
            write(place.root + "/mine", "mine")
            os.rename(place.root + "/mine", place.share + "/f%d" % i)
            agent.event(EDITED)
    barriers = agent.ask("undo.history")["payload"]["barriers"]
    equal([b["after_step"] for b in barriers], [2, 1])
    agent.ask("undo.rollback")
    error = agent.ask("undo.rollback")["error"]
    equal((error["number"], error["data"]["paths"]), (3001, ["f2"]))
    equal(sorted(os.listdir(place.share)), ["f1", "f2"])
    equal(agent.close(), 0)


@test
def unseen_edits_are_found(place):
    """EB-07: what no watcher told of is found when it matters"""
    agent = open_session(place)
    done(agent, "echo x > f")
    agent.ask("session.stop")
    place.unmount()
    write(place.share + "/f", "mine")
    agent.start()
    error = agent.ask("undo.rollback")["error"]
    equal((error["number"], error["data"]["paths"]), (3001, ["f"]))
    agent.ask("undo.rollback", force=True)
    equal(os.listdir(place.share), [])
    equal(agent.close(), 0)


def daemons(agent):
    """The processes that serve the folders, below their stand-ins."""
    found, rest = [], agent.children()
    while rest:
        pid = rest.pop()
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            rest += map(int, file.read().split())
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            if b"--mount\0" in file.read():
                found.append(pid)
    return found


def limited(place):
    """An agent whose daemon's watcher has a queue with an end, which root's has
    not."""
    wrapper = ["unshare", "--user", "--map-root-user", "--mount"]
    if os.geteuid() != 0:
        wrapper = []
    elif subprocess.run(wrapper + ["true"],
                        stderr=subprocess.DEVNULL).returncode:
        raise Skip("no user namespace can be made")
    place.mounting()
    agent = Agent(place, wrapper=wrapper)
    equal(agent.start()["status"], "ok")
    return agent


@test
def a_watcher_that_is_overrun_is_told(place):
    """EB-07: events are lost: a warning, and undo stops until it is forced"""
    with open("/proc/sys/fs/fanotify/max_queued_events") as file:
        limit = int(file.read())
    if limit > 100000:
        raise Skip("the kernel keeps %d events" % limit)
    agent = limited(place)
    before = snapshot(place.share)
    done(agent, "echo x > f")
    stopped = daemons(agent)
    freeze(*stopped)
    try:
        # An event each, whatever happens to it later.
        for i in range(limit + 1000):
            os.mknod("%s/%d" % (place.share, i))
        for i in range(limit + 1000):
            os.unlink("%s/%d" % (place.share, i))
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    warning = agent.event("event.warning")
    equal(warning["directory"], "share")
    contains(warning["message"], "too many changes")
    event = agent.first(EDITED)
    assert event["more"] > 0, event
    contains([w["message"] for w in agent.ask("fs.status")["payload"]
              ["warnings"]], warning["message"])
    barrier, = agent.ask("undo.history")["payload"]["barriers"]
    assert barrier["more"] > 0, barrier
    equal(agent.error("undo.rollback")[0], 3001)
    equal(os.listdir(place.share), ["f"])
    agent.ask("undo.rollback", force=True)
    equal(snapshot(place.share)[0].split(b"\n")[1:],
          before[0].split(b"\n")[1:])
    # It goes on to watch.
    done(agent, "echo x > f")
    write(place.share + "/f", "mine")
    equal(agent.event(EDITED)["paths"], ["f"])
    equal(agent.error("undo.rollback")[0], 3001)
    equal(agent.close(), 0)


@test
def edits_may_only_warn(place):
    """EB-08, EB-09: policy warn: told, and no barrier; lock is refused"""
    agent = open_session(place, external_modification_policy="warn")
    before = snapshot(place.share)
    done(agent, "echo x > f")
    write(place.share + "/g", "mine")
    agent.event(EDITED)
    agent.ask("undo.rollback")
    os.unlink(place.share + "/g")
    equal(snapshot(place.share)[0].split(b"\n")[1:],
          before[0].split(b"\n")[1:])
    agent.ask("session.stop")
    number, text = (agent.start(external_modification_policy="lock")["error"]
                    [key] for key in ("number", "message"))
    equal(number, 1004)
    contains(text, "lock")
    equal(agent.close(), 0)


main(mounts=True)
