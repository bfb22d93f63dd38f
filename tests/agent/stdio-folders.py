#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions whose commands are real: the daemons mount on the host, where the
guest of the fake QEMU runs them. Several folders and their undo.

Ids such as SL-02 are the test plan's.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from agent_views import redoable  # noqa: E402
from cli_case import call  # noqa: E402
from stdio_client import (PROGRAM, SRCDIR, Agent, contains, done,  # noqa: E402
                          equal, main, open_session, sh, snapshot, test)


def changes(report):
    return [(c["directory"], c["path"], c["change"])
            for c in report["changes"]]


@test
def folders_have_tags_and_places(place):
    """SL-02: several folders: labels, tags, places, a daemon and a log each"""
    os.makedirs(place.root + "/x/share")
    place.mounting()
    agent = Agent(place)
    started = agent.start(working_directories=[
        {"path": place.share}, {"path": place.root + "/x/share"},
        {"path": place.image, "label": "the image", "access": "read_only"}])
    folders = started["payload"]["working_directories"]
    equal([(f["label"], f["tag"], f["guest_path"], f["access"])
           for f in folders],
          [("share", "working0", "/mnt/working/0", "read_write"),
           ("share-2", "working1", "/mnt/working/1", "read_write"),
           ("the image", "working2", "/mnt/working/2", "read_only")])
    equal([f["undo_dir"] for f in folders],
          [place.root + "/.stepback/.git/share", place.root + "/x/.stepback/.git/share",
           None])
    equal(len(agent.children()), 5)  # QEMU, its network, three daemons
    for directory in (1, "share-2", place.root + "/x/share"):
        status = agent.ask("fs.status", directory=directory)["payload"]
        equal((status["directory"], status["share"]),
              ("share-2", place.root + "/x/share"))
    for wrong in (3, -1, "nowhere", True, {}):
        equal(agent.error("fs.status", directory=wrong)[0], 1004)
    open(place.root + "/x/share/f", "w").write("text")
    equal(agent.ask("fs.read", path="f", directory=1)["payload"]["data"],
          "text")
    equal(agent.error("fs.read", path="f")[0], 4001)
    equal(agent.ask("fs.list", directory="share-2")["payload"]["entries"][0]
          ["name"], "f")
    equal(agent.close(), 0)
    equal(place.sessions(), [])


@test
def logs_lie_apart(place):
    """no log lies in another folder or another log, whichever way it is named"""
    a, b, link = (place.root + "/" + name for name in ("a", "b", "link"))
    os.mkdir(a)
    os.mkdir(b)
    os.symlink(b, link)
    os.mkdir(place.root + "/outside")
    os.symlink(place.root + "/outside", b + "/out")

    def check(part, *folders):
        code, text = agent.error("session.start", vm={"accel": "tcg"},
                                 working_directories=list(folders))
        equal(code, 2002)
        contains(text, part)

    agent = Agent(place)
    for log in (b, b + "/log", link, link + "/log", link + "/x/y/log"):
        check("in the working folder", {"path": a, "undo_dir": log},
              {"path": b})
        check("in the working folder", {"path": b},
              {"path": a, "undo_dir": log})
    log = place.root + "/log"
    for other in (log, log + "/sub"):
        for one, two in ((log, other), (other, log)):
            check("undo log", {"path": a, "undo_dir": one},
                  {"path": b, "undo_dir": two})
    os.symlink(log, place.root + "/loglink")
    os.mkdir(log)
    check("undo log", {"path": a, "undo_dir": log},
          {"path": b, "undo_dir": place.root + "/loglink/sub"})
    check("undo log", {"path": a, "undo_dir": place.root + "/c"},
          {"path": b, "undo_dir": place.root + "/d/../c/d"})
    os.mkdir(log + "/folder")
    check("undo log", {"path": a, "undo_dir": log}, {"path": log + "/folder"})
    # Its own folder is no place either, nor what is above it.
    for own in (a, a + "/log", link + "/../a/x/y"):
        check("undo_dir", {"path": a, "undo_dir": own})
        check("must lie outside", {"path": a, "undo_dir": own}, {"path": b})
    check("lies in its own undo log", {"path": a, "undo_dir": place.root})
    equal((os.listdir(a), place.sessions()), ([], []))
    # The default place, too.
    os.symlink(b, place.root + "/.stepback")
    check("a symbolic link, which is not followed", {"path": b})
    check("a symbolic link, which is not followed", {"path": a},
          {"path": b, "undo_dir": place.root + "/log-b"})
    os.unlink(place.root + "/.stepback")
    os.mkdir(place.root + "/.stepback")
    os.symlink(place.root, place.root + "/.stepback/.git")
    check("/.stepback/.git: a symbolic link, which is not followed", {"path": b})
    os.unlink(place.root + "/.stepback/.git")
    os.mkdir(place.root + "/.stepback/.git")
    os.symlink(log, place.root + "/.stepback/.git/b")
    check("/.stepback/.git/b: a symbolic link, which is not followed", {"path": b})
    shutil.rmtree(place.root + "/.stepback/.git")
    with open(place.root + "/.stepback/.git", "w"):
        pass
    check("/.stepback/.git: not a folder", {"path": b})
    shutil.rmtree(place.root + "/.stepback")
    equal((os.listdir(b), os.listdir(log)), (["out"], ["folder"]))
    # A link that the guest can turn leads there once.
    started = agent.start(working_directories=[
        {"path": a, "undo_dir": link + "/out/log"},
        {"path": b, "undo_dir": place.root + "/log-b"}])
    equal(started["payload"]["working_directories"][0]["undo_dir"],
          place.root + "/outside/log")
    equal(agent.close(), 0)


@test
def one_step_spans_all_folders(place):
    """a command is one step in each folder that it changes, and one to undo"""
    agent = open_session(place, "a", "b", "c")
    a, b, c = (place.root + "/" + name for name in "abc")
    before = snapshot(a, b, c)
    report = done(agent, "echo 1 > one; echo 2 > /mnt/working/1/two; pwd")
    equal(changes(report), [("a", "one", "created"), ("b", "two", "created")])
    equal(report["affected"], 2)
    equal(report["directories"], [
        {"directory": "a", "affected": 1, "undoable": True},
        {"directory": "b", "affected": 1, "undoable": True}])
    equal(report["changes"][0]["size_after"], 2)
    equal("size_before" in report["changes"][0], False)
    equal(done(agent, "mv one 1", cwd=".")["changes"], [
        {"path": "1", "from": "one", "change": "renamed", "size_before": 2,
         "size_after": 2, "by": "?", "directory": "a"}])
    equal(changes(done(agent, "rm two", cwd="/mnt/working/1")),
          [("b", "two", "deleted")])
    equal(changes(done(agent, "true")), [])
    for log, ids in (("a", [2, 1]), ("b", [3, 1]), ("c", [])):
        steps = agent.ask("undo.history", directory=log)["payload"]["steps"]
        equal([s["step_id"] for s in steps], ids)
    equal([s["step_id"] for s in agent.ask("undo.history")["payload"]
           ["steps"]], [3, 2, 1])
    equal([s["step_id"] for s in agent.ask("undo.history", limit=1)["payload"]
           ["steps"]], [3])
    after = snapshot(a, b, c)
    seen = agent.ask("undo.preview", steps=3)["payload"]["steps"]
    equal([s["step_id"] for s in seen], [3, 2, 1])
    equal(snapshot(a, b, c), after)
    equal(agent.error("undo.preview", steps=5),
          (3000, "there are 3 steps to undo, not 5"))
    # The newest two are in two folders, one in each.
    steps = agent.ask("undo.rollback", steps=2)["payload"]["steps"]
    equal([s["step_id"] for s in steps], [3, 2])
    equal((os.listdir(a), os.listdir(b)), (["one"], ["two"]))
    equal(agent.error("undo.rollback", steps=3),
          (3000, "there is 1 step to undo, not 3"))
    agent.ask("undo.rollback")
    equal(snapshot(a, b, c), before)
    equal(agent.error("undo.rollback"), (3000, "there is nothing to undo"))
    equal(agent.ask("undo.history")["payload"]["redoable"], 3)
    equal(agent.error("undo.redo", steps=4),
          (3007, "there are 3 steps to redo, not 4"))
    equal([s["step_id"] for s in
           agent.ask("undo.redo", steps=3)["payload"]["steps"]], [1, 2, 3])
    equal(snapshot(a, b, c), after)
    equal(agent.error("undo.redo"), (3007, "there is nothing to redo"))
    agent.ask("undo.rollback")
    equal(agent.error("undo.redo", steps=2),
          (3007, "there is 1 step to redo, not 2"))
    equal(agent.close(), 0)


@test
def times_alone_come_back_too(place):
    """a step that left only a folder's times goes along with the one before it"""
    agent = open_session(place, "a", "b")
    a, b = place.root + "/a", place.root + "/b"
    before = snapshot(a, b)
    report = done(agent, "touch x; rm x; echo 1 > /mnt/working/1/f")
    equal(report["directories"], [
        {"directory": "a", "affected": 0, "undoable": True},
        {"directory": "b", "affected": 1, "undoable": True}])
    done(agent, "touch x; rm x")
    done(agent, "echo 2 > f")
    after = snapshot(a, b)
    agent.ask("undo.rollback", steps=3)
    equal(snapshot(a, b), before)
    equal(redoable(agent), (3, {"a": 3, "b": 1}))
    for ids, left in (([1, 2], 1), ([3], 0)):
        equal([s["step_id"] for s in
               agent.ask("undo.redo")["payload"]["steps"]], ids)
        equal(redoable(agent), (left, {"a": left, "b": 0}))
    equal(snapshot(a, b), after)
    equal(agent.error("undo.redo")[0], 3007)
    equal(agent.close(), 0)


@test
def one_folder_goes_back_alone(place):
    """undo with a directory: that folder's steps, whatever else they changed"""
    agent = open_session(place, "a", "b")
    a, b = place.root + "/a", place.root + "/b"
    done(agent, "echo 1 > f; echo 1 > /mnt/working/1/f")
    done(agent, "echo 2 > f")
    steps = agent.ask("undo.rollback", directory="b")["payload"]["steps"]
    equal([(s["step_id"], changes(s)) for s in steps],
          [(1, [("b", "f", "created")])])
    equal((os.listdir(a), os.listdir(b)), (["f"], []))
    equal(open(a + "/f").read(), "2\n")
    equal(agent.error("undo.rollback", directory="b")[0], 3000)
    agent.ask("undo.redo", directory="b")
    equal(os.listdir(b), ["f"])
    equal(agent.error("undo.redo")[0], 3007)
    agent.ask("undo.rollback", steps=2)
    equal((os.listdir(a), os.listdir(b)), ([], []))
    number, text = agent.error("undo.discard")
    equal((number, "directory" in text), (1003, True))
    agent.ask("undo.discard", directory=1)
    agent.ask("undo.configure", directory=1, max_step_count=2)
    agent.ask("undo.configure", max_step_count=2)
    equal(agent.error("undo.configure", max_step_count="x")[0], 1004)
    equal(agent.close(), 0)


@test
def others_are_told_of(place):
    """undo, redo and discard by another process are reported to the session"""
    agent = open_session(place, "a", "b")
    a, b = place.root + "/a", place.root + "/b"

    def other(word, *options, folder):
        status, out, err = call(place, word, "-C", folder, *options)
        equal((status, err), (0, ""))
        return agent.event("event.history_changed")

    first = done(agent, "echo 1 > f; echo 1 > /mnt/working/1/f")["step_id"]
    second = done(agent, "echo 2 > f")["step_id"]
    moved = other("undo", folder=b)
    equal(moved["operation"], "rollback")
    equal([(s["step_id"], changes(s), [d["directory"] for d in
                                       s["directories"]])
           for s in moved["steps"]],
          [(first, [("b", "f", "created")], ["b"])])
    moved = other("undo", "2", folder=a)
    equal([(s["step_id"], changes(s)) for s in moved["steps"]],
          [(second, [("a", "f", "modified")]),
           (first, [("a", "f", "created")])])
    equal((os.listdir(a), os.listdir(b)), ([], []))
    # It is this session's redo as if it had taken them back itself.
    equal(redoable(agent), (2, {"a": 2, "b": 1}))
    moved = other("redo", folder=b)
    equal((moved["operation"], [s["step_id"] for s in moved["steps"]]),
          ("redo", [first]))
    equal(redoable(agent), (2, {"a": 2, "b": 0}))
    # The session's own undos are reported once, and all together.
    mark = len(agent.seen)
    agent.ask("undo.redo", steps=2)
    agent.ask("undo.rollback", steps=2)
    moved = [m["payload"] for m in agent.seen[mark:]
             if m["type"] == "event.history_changed"]
    equal([(m["operation"], [s["step_id"] for s in m["steps"]])
           for m in moved], [("redo", [first, second]),
                             ("rollback", [second, first])])
    # A part that another process brings back is no whole any more, but what
    # it takes back is.
    other("redo", folder=a)
    other("undo", folder=a)
    equal(redoable(agent), (2, {"a": 2, "b": 1}))
    with open(place.mounts + "/fs1/other", "w") as file:
        file.write("x")
    equal(redoable(agent), (0, {"a": 2, "b": 0}))
    moved = other("undo", "--discard", folder=a)
    equal(moved, {"operation": "discard", "steps": []})
    equal(redoable(agent), (0, {"a": 0, "b": 0}))
    equal(call(place, "undo", "-C", a)[0], 1)
    equal(agent.close(), 0)


def quiet(agent):
    """Wait until the agent has no more events, by its counters in the log."""
    def events():
        agent.process.send_signal(signal.SIGUSR1)
        time.sleep(0.3)
        told = [line for line in map(json.loads, agent.log())
                if line["message"] == "counters"]
        return told[-1]["events"] if told else -1
    before = -1
    while (now := events()) != before or now < 0:
        before = now


@test
def a_frontend_that_does_not_read(place):
    """SA-09: others' undo and redo take no memory without bound for it"""
    place.mounting()
    agent = Agent(place, reading=False)

    def wait(id):
        line = b""
        while b'"%s"' % id.encode() not in line:
            line = agent.process.stdout.readline()

    wait(agent.send("session.start", vm={"accel": "tcg"},
                    working_directories=[{"path": place.share}]))
    wait(agent.send("agent.execute", command="sh for i in $(seq 1000); do "
                    ": > ${i}%s; done" % ("x" * 240)))
    for i in range(9):
        equal(call(place, "undo", "-C", place.share)[::2], (0, ""))
        equal(call(place, "redo", "-C", place.share)[0], 0)
    quiet(agent)
    agent.read()
    steps = agent.ask("undo.history")["payload"]["steps"]
    moved = [m["payload"] for m in agent.seen
             if m["type"] == "event.history_changed"]
    assert 3 < len(moved) < 12, len(moved)
    equal([len(m["steps"]) for m in moved], [1] * (len(moved) - 1) + [0])
    equal([m.get("truncated", False) for m in moved],
          [False] * (len(moved) - 1) + [True])
    equal([s["step_id"] for s in steps], [1])
    # From then on it is reported as usual.
    equal(call(place, "undo", "-C", place.share)[0], 0)
    equal(len(agent.event("event.history_changed")["steps"]), 1)
    equal(agent.close(), 0)


@test
def the_example_of_a_frontend(place):
    """contrib/examples/frontend.py: a command is kept, undone, or denied"""
    place.mounting()
    two = place.root + "/two"
    os.mkdir(two)
    open(two + "/old", "w").write("text")

    def frontend(answers, command, status=0):
        example = os.path.join(SRCDIR, "contrib", "examples", "frontend.py")
        ended = subprocess.run(
            [example, "sh " + command, place.share, two], input=answers,
            env=place.environment(STEPBACK=PROGRAM), text=True, timeout=60,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert ended.returncode == status, ended.stdout
        return ended.stdout

    told = frontend("y\n", "echo hi; touch a; rm /mnt/working/1/old")
    for part in ("hi\n", "exit code 0", "created share: a",
                 "deleted two: old"):
        contains(told, part)
    contains(frontend("n\n", "echo 1 > a; touch b; exit 3"), "undone")
    equal((os.listdir(place.share), os.path.getsize(place.share + "/a")),
          (["a"], 0))
    for name in "123":
        open(two + "/" + name, "w").close()
    contains(frontend("n\n", "rm /mnt/working/1/?", 1), "denied")
    equal(sorted(os.listdir(two)), ["1", "2", "3"])
    equal(frontend("y\ny\n", "rm /mnt/working/1/?").count("deleted two"), 3)
    equal(os.listdir(two), [])


@test
def read_only_folders_stay(place):
    """access read_only: the guest changes nothing, and there is no log"""
    os.makedirs(place.root + "/lib")
    open(place.root + "/lib/f", "w").write("text")
    agent = open_session(place, "a", "lib", read_only=("lib",))
    before = snapshot(place.root + "/lib")
    report = sh(agent, "cat /mnt/working/1/f > copy;"
                " echo x > /mnt/working/1/f; rm -f /mnt/working/1/f;"
                " mkdir /mnt/working/1/d; chmod 0 /mnt/working/1")["payload"]
    equal((report["exit_code"] != 0, changes(report)),
          (True, [("a", "copy", "created")]))
    equal(snapshot(place.root + "/lib"), before)
    equal(agent.error("undo.rollback", directory="lib")[0], 3000)
    agent.ask("undo.rollback")
    equal(os.listdir(place.root + "/a"), [])
    equal(agent.ask("fs.status", directory="lib")["payload"]["read_only"],
          True)
    equal(os.path.exists(place.root + "/.stepback/.git/lib"), False)
    equal(agent.close(), 0)


@test
def eight_folders_work(place):
    """eight folders: one step over all of them"""
    names = ["f%d" % i for i in range(8)]
    agent = open_session(place, *names)
    report = done(agent, "; ".join("echo x > /mnt/working/%d/x" % i
                                   for i in range(8)))
    equal(len(report["changes"]), 8)
    start = time.monotonic()
    agent.ask("undo.rollback")
    equal([os.listdir(place.root + "/" + name) for name in names], [[]] * 8)
    assert time.monotonic() - start < 5
    equal(agent.close(), 0)
    equal(place.sessions(), [])


main(mounts=True)
