#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Undo and redo of several folders at once: whole, or not at all.

Ids such as SL-02 are the test plan's.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from agent_views import redoable  # noqa: E402
from stdio_client import (contains, done, equal, eventually,  # noqa: E402
                          main, open_session, snapshot, test, write_late)


@test
def redo_is_whole_or_says_why(place):
    """undo.redo over folders: after a restart, and where one has changed"""
    agent = open_session(place, "a", "b")
    a, b = place.root + "/a", place.root + "/b"
    before = snapshot(a, b)
    done(agent, "echo 1 > f; echo 1 > /mnt/working/1/f")
    done(agent, "echo 2 > f")
    after = snapshot(a, b)
    agent.ask("undo.rollback", steps=2)
    equal(redoable(agent), (2, {"a": 2, "b": 1}))
    equal(agent.close(), 0)
    place.unmount()
    agent = open_session(place, "a", "b")
    equal(redoable(agent), (2, {"a": 2, "b": 1}))
    equal([s["step_id"] for s in agent.ask("undo.redo")["payload"]["steps"]],
          [1])
    equal((open(a + "/f").read(), open(b + "/f").read()), ("1\n", "1\n"))
    agent.ask("undo.rollback")
    equal(snapshot(a, b), before)
    agent.ask("undo.redo", directory="b")
    agent.ask("undo.redo", steps=2)
    equal(snapshot(a, b), after)
    number, text = agent.error("undo.redo")
    equal((number, text), (3007, "there is nothing to redo"))
    # Something in the guest, of no command, writes in one of the folders.
    agent.ask("undo.rollback", steps=2)
    equal(redoable(agent), (2, {"a": 2, "b": 1}))
    with open(place.mounts + "/fs1/other", "w") as file:
        file.write("x")
    equal(redoable(agent), (0, {"a": 2, "b": 0}))
    error = agent.ask("undo.redo")["error"]
    equal((error["number"], error["data"]["redoable"]),
          (3007, {"a": 2, "b": 0}))
    contains(error["message"], "name a directory")
    equal((os.listdir(a), os.listdir(b)), ([], ["other"]))
    agent.ask("undo.redo", directory="a")
    equal(open(a + "/f").read(), "1\n")
    agent.ask("undo.redo", directory="a")
    equal(open(a + "/f").read(), "2\n")
    equal(agent.close(), 0)


@test
def all_go_back_or_none(place):
    """EB-02, EB-03: an outside edit in one folder stops the undo in all"""
    agent = open_session(place, "a", "b")
    a, b = place.root + "/a", place.root + "/b"
    before = snapshot(a, b)
    done(agent, "echo 1 > f; echo 1 > /mnt/working/1/f")
    open(b + "/f", "w").write("mine")
    error = agent.ask("undo.rollback")["error"]
    equal(error["number"], 3001)
    equal((error["data"]["directory"], error["data"]["paths"]), ("b", ["f"]))
    equal(error["data"]["barriers"][0]["directory"], "b")
    equal(error["data"]["steps"], [])
    equal((os.listdir(a), open(b + "/f").read()), (["f"], "mine"))
    answer = agent.ask("undo.rollback", force=True)["payload"]
    equal([s["step_id"] for s in answer["steps"]], [1])
    equal(snapshot(a, b), before)
    equal(agent.close(), 0)


@test
def what_comes_in_between_is_seen(place):
    """undo over folders: what one of them got since the last step counts"""
    agent = open_session(place, "a", "b")
    a, b = place.root + "/a", place.root + "/b"
    before = snapshot(a, b)
    # The step is ended while this still waits, so it is an ambient step's,
    # which is open when undo is asked for.
    done(agent, "echo 1 > f; echo 1 > /mnt/working/1/f")
    after = snapshot(a, b)
    os.mkfifo(place.root + "/go")
    done(agent, "(read go < %s/go; echo 2 > late) > /dev/null 2>&1 &" %
         place.root)
    write_late(place.root + "/go", a + "/late")
    answer = agent.ask("undo.rollback")["payload"]
    equal([(s["type"], s["step_id"] < 0) for s in answer["steps"]],
          [("ambient", True)])
    equal(snapshot(a, b), after)
    equal([s["step_id"] for s in
           agent.ask("undo.rollback")["payload"]["steps"]], [1])
    equal(snapshot(a, b), before)
    equal(agent.close(), 0)


@test
def a_writer_does_not_split_an_undo(place):
    """undo over folders succeeds while a guest process writes without end"""
    agent = open_session(place, "a", "b")
    a, b = place.root + "/a", place.root + "/b"
    done(agent, "echo 1 > f; echo 1 > /mnt/working/1/f; (for i in $(seq 1000);"
         " do echo $i > log; sleep 0.005; done) > /dev/null 2>&1 &")
    # What it wrote before the command ended is the command's.
    log = os.stat(a + "/log") if os.path.exists(a + "/log") else None
    assert eventually(lambda: os.path.exists(a + "/log") and (
        log is None or os.stat(a + "/log").st_mtime_ns > log.st_mtime_ns), 10)
    would = agent.ask("undo.preview", step_id=1)["payload"]["steps"]
    answer = agent.ask("undo.rollback", step_id=1)["payload"]
    equal((os.path.exists(a + "/f"), os.path.exists(b + "/f")), (False, False))
    for steps in (would, answer["steps"]):
        equal((steps[0]["type"], steps[-1]["step_id"]), ("ambient", 1))
        equal([d["directory"] for d in steps[-1]["directories"]], ["a", "b"])
    code, text = agent.error("undo.rollback", step_id=1)
    equal(code, 3000)
    contains(text, "no step 1")
    code, text = agent.error("undo.rollback", step_id=-1)
    equal(code, 1004)
    contains(text, "name the directory")
    equal(agent.close(), 0)


main(mounts=True)
