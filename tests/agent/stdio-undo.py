#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where a step ends, edits from outside, and what the next session finds; with
real commands in folders that are mounted on the host.

Ids such as EB-01 are the test plan's.
"""
import base64
import os
import random
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from agent_views import events, steps, write  # noqa: E402
from mcp_client import connect  # noqa: E402
from stdio_client import (Agent, contains, done, equal,  # noqa: E402
                          eventually, main, open_session, sh, snapshot, test,
                          write_late)

QUIET = 0.09  # less than the quiet window, which is 0.1 s


# ---- where a step ends -------------------------------------------------------

@test
def a_command_is_a_step(place):
    """CC-01, CC-08: events come in their order, and changes are the step's"""
    agent = open_session(place)
    id = agent.send("agent.execute", command="sh echo hello; echo x > f")
    agent.response(id)
    equal([m["type"] for m in agent.seen[2:]],
          ["event.step_started", "event.terminal_output",
           "event.step_completed", "response"])
    report = agent.seen[-2]["payload"]
    equal(report, agent.seen[-1]["payload"])
    equal([c["path"] for c in report["changes"]], ["f"])
    equal([s["step_id"] for s in steps(agent)], [1])
    equal(agent.close(), 0)


@test
def quiet_steps_end_soon(place):
    """CC-09: a step closes soon if no process of it is left"""
    agent = open_session(place)
    took = []
    for i in range(5):
        start = time.monotonic()
        done(agent, "echo %d > f" % i)
        took.append(time.monotonic() - start)
    assert sorted(took)[2] < 0.6, took
    equal(agent.close(), 0)


quiet_steps_end_soon.alone = True


@test
def late_writes_belong_to_the_step(place):
    """CC-10: what a command's processes write right after it is its step's"""
    agent = open_session(place)
    before = snapshot(place.share)
    # Without a pause: on a busy host a short one can be a long one.
    report = done(agent, "(for i in $(seq 200); do echo $i > l$i; done)"
                  " >/dev/null 2>&1 & echo x > f")
    equal(sorted(c["path"] for c in report["changes"]),
          sorted(["f"] + ["l%d" % i for i in range(1, 201)]))
    equal(len(steps(agent)), 1)
    agent.ask("undo.rollback")
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)


late_writes_belong_to_the_step.alone = True


@test
def a_step_is_named(place):
    """undo by a step's id undoes later steps too, for every client"""
    agent = open_session(place)
    client = connect(events(agent, "event.ready")[0]["mcp_socket"])
    before = snapshot(place.share)
    os.mkfifo(place.root + "/go")
    for way in (lambda id: agent.ask("undo.rollback", step_id=id)["payload"],
                lambda id: client.tool("undo", step_id=id)):
        id = done(agent, "echo x > f")["step_id"]
        # The step is ended while this still waits.
        done(agent, "(read go < %s/go; echo x > late) > /dev/null 2>&1 &" %
             place.root)
        write_late(place.root + "/go", place.share + "/late")
        equal([s["type"] for s in way(id)["steps"]], ["ambient", "command"])
        equal(snapshot(place.share), before)
    for wrong in ({"step_id": 0}, {"step_id": 1, "steps": 1}, {"step_id": "1"}):
        equal(agent.error("undo.rollback", **wrong)[0], 1004)
    equal(agent.error("undo.rollback", step_id=1)[0], 3000)
    equal(agent.error("undo.redo", step_id=1)[0], 1004)
    contains(client.refusal("undo", step_id=1), "no step 1")
    # A command that was never run has this id in its report.
    done(agent, "echo x > f")
    contains(client.refusal("undo", step_id=0), "must not be 0")
    equal(os.listdir(place.share), ["f"])
    equal(agent.close(), 0)


@test
def what_follows_waits_for_a_named_step(place):
    """what is asked right after an undo to a step does not get before it"""
    agent = open_session(place)
    for i in range(2):
        done(agent, "echo %d > f%d" % (i, i))
    undo, execute = agent.send_all(
        ("undo.rollback", {"step_id": 2}),
        ("agent.execute", {"command": "sh echo x > new"}))
    equal([s["step_id"] for s in agent.response(undo)["payload"]["steps"]],
          [2])
    equal(agent.response(execute)["error"]["number"], 6000)
    equal(os.listdir(place.share), ["f0"])
    ids = agent.send_all(("undo.preview", {"step_id": 1}),
                         ("session.stop", {}))
    equal(agent.response(ids[1])["status"], "ok")
    equal(agent.close(), 0)


def longest_pause(place):
    """Between two of the files l1, l2 ..., in seconds."""
    times = sorted(os.stat(f"{place.share}/l{i}").st_mtime_ns
                   for i in range(1, 151))
    return max(b - a for a, b in zip(times, times[1:])) / 1e9


@test
def writes_without_end_do_not_hold_a_step(place):
    """CC-11, CC-12: after 2 s it closes; what comes later is an ambient step"""
    agent = open_session(place)
    before = snapshot(place.share)
    for _ in range(5):
        start = time.monotonic()
        report = done(agent, "(for i in $(seq 150); do echo $i > l$i;"
                      " sleep 0.02; done) >/dev/null 2>&1 & echo x > f")
        took = time.monotonic() - start
        assert eventually(lambda: os.path.exists(place.share + "/l150"), 20)
        # A writer that did not get to run for so long was quiet.
        if took > 1.9 or longest_pause(place) < QUIET:
            break
        agent.ask("undo.rollback", steps=2)
        equal(snapshot(place.share), before)
    assert 1.9 < took < 4, took
    mine = len(report["changes"])
    assert 10 < mine < 151, mine
    # A new step closes the ambient one.
    done(agent, "echo y > g")
    kinds = [(s["type"], s["step_id"] > 0) for s in steps(agent)]
    equal(kinds, [("command", True), ("ambient", False), ("command", True)])
    equal(steps(agent)[1]["affected"] >= 151 - mine, True)
    agent.ask("undo.rollback", steps=3)
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)


writes_without_end_do_not_hold_a_step.alone = True


@test
def others_writes_do_not_hold_a_step(place):
    """a command without processes is over, however much others write"""
    agent = open_session(place)
    # Its own process is left, so what that writes at first is its step's.
    done(agent, "(while [ ! -e stop ]; do echo x > noise; sleep 0.01; done)"
         " > /dev/null 2>&1 &")
    assert eventually(lambda: os.path.exists(place.share + "/noise"), 10)
    took = []
    for i in range(5):
        start = time.monotonic()
        report = done(agent, "for i in $(seq 50); do echo %d > f$i; done" % i)
        took.append(time.monotonic() - start)
        paths = [c["path"] for c in report["changes"]]
        equal([p for p in paths if p != "noise"],
              sorted("f%d" % n for n in range(1, 51)))
    write(place.share + "/stop", "")
    assert sorted(took)[2] < 1, took
    # By its id: what the writer did after it may be a step of its own.
    agent.ask("undo.rollback", step_id=report["step_id"], force=True)
    equal(open(place.share + "/f1").read(), "3\n")
    equal(agent.close(), 0)


others_writes_do_not_hold_a_step.alone = True


@test
def cancelled_steps_can_be_undone(place):
    """CC-07: a cancelled command's step is closed, and can be undone"""
    agent = open_session(place)
    before = snapshot(place.share)
    id = agent.send("agent.execute", command="sh echo x > f; sleep 100")
    assert eventually(lambda: os.path.exists(place.share + "/f"), 10)
    equal(agent.ask("agent.cancel")["payload"], {"cancelled": True})
    error = agent.response(id)["error"]
    equal((error["number"], error["data"]["step_id"]), (6001, 1))
    equal([c["path"] for c in steps(agent)[0]["changes"]], ["f"])
    agent.ask("undo.rollback")
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)


# ---- what the next session finds ---------------------------------------------

@test
def cut_steps_are_taken_back(place):
    """CR-01, CR-06: killed in a step: the next start takes it back, once"""
    agent = open_session(place)
    done(agent, "echo x > kept")
    before = snapshot(place.share)
    agent.send("agent.execute", command="sh echo y > f; rm kept; sleep 100")
    assert eventually(lambda: os.path.exists(place.share + "/f") and not
                      os.path.exists(place.share + "/kept"), 10)
    agent.kill()
    place.unmount()
    agent = Agent(place)
    agent.start()
    recovery = agent.first("event.recovery")
    equal((recovery["directory"], recovery["step_id"],
           recovery["taken_back"]), ("share", 2, True))
    assert recovery["restored_paths"] >= 2
    equal(snapshot(place.share), before)
    equal([s["step_id"] for s in steps(agent)], [1])
    # Its number is not used again.
    equal(done(agent, "true")["step_id"], 3)
    agent.ask("session.stop")
    place.unmount()
    before = len(agent.seen)
    agent.start()
    equal([m for m in agent.seen[before:] if m["type"] == "event.recovery"],
          [])
    equal(agent.close(), 0)


@test
def whole_ends_need_no_recovery(place):
    """CR-05, CR-07: after session.stop nothing is recovered"""
    agent = open_session(place)
    done(agent, "echo x > f")
    agent.ask("session.stop")
    log = place.root + "/.stepback/.git/share"
    equal((os.path.exists(log + "/wal/in_progress"),
           len(os.listdir(log + "/steps"))), (False, 1))
    place.unmount()
    agent.start()
    equal(events(agent, "event.recovery"), [])
    agent.ask("undo.rollback")
    equal(os.listdir(place.share), [])
    equal(agent.close(), 0)


@test
def diff(place):
    """undo.diff: what a step changed in a folder's files, as before and after"""
    agent = open_session(place, "a", "b")
    done(agent, "echo one > f; echo two > /mnt/working/1/g")
    step = done(agent, "echo 2 >> f; rm /mnt/working/1/g")["step_id"]
    done(agent, "rm f")
    equal(agent.error("undo.diff", step_id=step)[0], 1003)
    equal(agent.error("undo.diff", directory="a")[0], 1003)
    equal(agent.error("undo.diff", step_id=99, directory="a")[0], 1004)
    answer = agent.ask("undo.diff", step_id=step, directory="a")["payload"]
    file, = answer["files"]
    equal((answer["next"], file["path"], file["change"]),
          (None, "f", "modified"))
    equal([base64.b64decode(file[side]["content"])
           for side in ("before", "after")], [b"one\n", b"one\n2\n"])
    file, = agent.ask("undo.diff", step_id=step,
                      directory="b")["payload"]["files"]
    equal((file["change"], file["after"],
           base64.b64decode(file["before"]["content"])),
          ("deleted", None, b"two\n"))
    equal(agent.close(), 0)


@test
def diff_as_a_patch(place):
    """undo.diff, format patch: git applies it; parts, paths, bytes, no stall"""
    agent = open_session(place, "a", "b")
    done(agent, "printf 'a\\377\\n' > bytes; echo one > f; mkdir d; echo x > d/g")
    step = done(agent, "echo two >> f; rm d/g; printf 'b\\377\\n' > bytes;"
                " echo new > 'a b'")["step_id"]
    ask = dict(step_id=step, directory="a", format="patch")
    answer = agent.ask("undo.diff", **ask)["payload"]
    equal((answer["step_id"], answer["next"], answer["cut"],
           answer["encoding"]), (step, None, 0, "base64"))
    patch = base64.b64decode(answer["patch"])
    for line in (b"+two\n", b"deleted file mode 100644\n", b"-a\377\n",
                 b"+++ b/a b\t\n"):
        assert line in patch, (line, patch)
    # Only some paths, with all below; a renamed file by its old name, too.
    answer = agent.ask("undo.diff", paths=["d", "./f"], **ask)["payload"]
    contains(answer["patch"], "+two\n")
    contains(answer["patch"], "deleted file")
    equal("a b" in answer["patch"] or "bytes" in answer["patch"], False)
    equal(agent.ask("undo.diff", paths=["none"], **ask)["payload"]["patch"], "")
    for more in ({"format": "html"}, {"paths": []}, {"paths": "f"}):
        equal(agent.error("undo.diff", **{**ask, **more})[0], 1004)
    equal(agent.error("undo.diff", step_id=step, directory="a",
                      paths=["f"])[0], 1004)
    equal(agent.error("undo.diff", step_id=step, format="patch")[0], 1003)
    equal(agent.error("undo.diff", **{**ask, "step_id": 99})[0], 1004)
    agent.ask("undo.rollback")
    subprocess.run(["git", "apply", "-"], cwd=place.root + "/a", check=True,
                   input=patch)
    with open(place.root + "/a/f") as file:
        equal(file.read(), "one\ntwo\n")
    equal(os.path.exists(place.root + "/a/d/g"), False)
    equal(agent.close(), 0)


@test
def large_patches_come_in_parts(place):
    """a patch of more than 4 MiB comes in parts; others are answered meanwhile"""
    agent = open_session(place, "a")
    step = done(agent, "i=0; while [ $i -lt 7 ]; do yes $i | head -c 1000000 >"
                " f$i; i=$((i+1)); done; yes '' | head -c 2000000 > g")["step_id"]
    first, sizes, whole = 0, [], ""
    while first is not None:
        answer = agent.ask("undo.diff", step_id=step, format="patch",
                           first=first)["payload"]
        sizes.append(len(answer["patch"]))
        whole += answer["patch"]
        first = answer["next"]
    equal((len(sizes) > 1, max(sizes) <= 4 << 20), (True, True))
    equal(whole.count("diff --git"), 8)
    # diff(1) needs seconds for these two, which a guest can write.
    random.seed(1)
    for name in ("before", "after"):
        write(place.root + "/" + name, "".join(
            random.choice("abcdefgh") + "\n" for _ in range(80000)))
    done(agent, "cp %s/before f" % place.root)
    step = done(agent, "cp %s/after f" % place.root)["step_id"]
    id = agent.send("undo.diff", step_id=step, format="patch")
    started = time.monotonic()
    agent.ask("session.status")
    quick = time.monotonic() - started
    contains(agent.response(id)["payload"]["patch"], "@@")
    slow = time.monotonic() - started
    assert quick < slow / 3, (quick, slow)
    equal(agent.close(), 0)


@test
def another_version_is_told(place):
    """UL-04, UL-05: a log of another version: told, no undo until discard"""
    agent = open_session(place, "a", "b")
    done(agent, "echo x > f; echo y > /mnt/working/1/f")
    agent.ask("session.stop")
    place.unmount()
    version = place.root + "/.stepback/.git/a/version"
    write(version, "99\n")
    agent = Agent(place)
    folders = [{"path": place.root + "/" + name} for name in "ab"]
    equal(agent.start(working_directories=folders)["status"], "ok")
    event = agent.first("event.undo_version_mismatch")
    equal((event["directory"], event["undo_dir"]),
          ("a", place.root + "/.stepback/.git/a"))
    equal(agent.ask("fs.status", directory="a")["payload"]["undo"], False)
    equal(agent.error("undo.rollback", directory="a")[0], 3003)
    equal(agent.error("undo.history", directory="a")[0], 3003)
    # Commands run, and the other folder's changes are kept.
    report = done(agent, "echo new > g; echo new > /mnt/working/1/g")
    equal([(c["directory"], c["path"]) for c in report["changes"]],
          [("b", "g")])
    agent.ask("undo.rollback")
    equal((sorted(os.listdir(place.root + "/a")),
           os.listdir(place.root + "/b")), (["f", "g"], ["f"]))
    # Nothing of the old log is touched unasked.
    equal(open(version).read(), "99\n")
    agent.ask("undo.discard", directory="a")
    equal(open(version).read() != "99\n", True)
    report = done(agent, "echo 2 > g; echo 2 > /mnt/working/1/g")
    equal(len(report["changes"]), 2)
    agent.ask("undo.rollback")
    equal(open(place.root + "/a/g").read(), "new\n")
    equal(sorted(os.listdir(place.root + "/b")), ["f"])
    equal(agent.close(), 0)


@test
def limits_are_kept_and_told(place):
    """undo.configure: a step over its limit is reported, not undoable"""
    agent = open_session(place, undo={"max_single_step_size_bytes": 65536})
    write(place.share + "/big", "x" * (1 << 20))
    time.sleep(0.3)
    report = sh(agent, "dd if=/dev/zero of=big bs=1M count=1 conv=notrunc"
                " 2>/dev/null")["payload"]
    equal((report["unprotected"], report["undoable"]), (True, False))
    warning = [w for w in events(agent, "event.warning")
               if w.get("code") == "step_unprotected"]
    equal((warning[0]["directory"], warning[0]["step_id"]), ("share", 1))
    kept = agent.ask("fs.status")["payload"]["warnings"]
    contains([w.get("code") for w in kept], "step_unprotected")
    equal(agent.error("undo.rollback")[0], 3002)
    equal(agent.close(), 0)


@test
def times_alone_are_a_step(place):
    """what undo would count is "undoable" in the report, and nothing else"""
    agent = open_session(place)
    for command, kept in (("true", False), ("touch z; rm z", True),
                          ("touch z", True)):
        report = done(agent, command)
        ids = [step["step_id"] for step in
               agent.ask("undo.history")["payload"]["steps"]]
        equal((command, report["step_id"] in ids, report["undoable"]),
              (command, kept, kept))
    listed = {step["step_id"]: step["undoable"] for step in
              agent.ask("undo.history")["payload"]["steps"]}
    equal(set(listed.values()), {True})
    equal(agent.close(), 0)


REWRITE = "; ".join("cp %sf %slock; mv %slock %sf" % ((p,) * 4)
                    for p in ("", "/mnt/working/1/"))


@test
def a_step_without_effect_is_not_undone_alone(place):
    """undo skips unchanged steps, in one and two folders"""
    for labels in ((), ("a", "b")):
        agent = open_session(place, *labels)
        folders = [place.root + "/" + label for label in labels] or \
            [place.share]
        rewrite = REWRITE if labels else REWRITE[:REWRITE.index("; cp")]
        done(agent, "echo x > f" + ("; echo y > /mnt/working/1/f" if labels
                                    else ""))
        before = [snapshot(folder) for folder in folders]
        real = done(agent, "echo z >> f")["step_id"]
        same = done(agent, rewrite)
        equal((same.get("unchanged"), same["undoable"], same["affected"]),
              (True, True, len(folders)))
        after = [snapshot(folder) for folder in folders]
        equal(["unchanged" in step for step in steps(agent)],
              [True, False, False])
        for _ in range(2):
            answer = agent.ask("undo.rollback")["payload"]
            equal([step["step_id"] for step in answer["steps"]],
                  [same["step_id"], real])
            equal([snapshot(folder) for folder in folders], before)
            answer = agent.ask("undo.redo")["payload"]
            equal([step["step_id"] for step in answer["steps"]],
                  [real, same["step_id"]])
            equal([snapshot(folder) for folder in folders], after)
        answer = agent.ask("undo.rollback", step_id=same["step_id"])
        equal([step["step_id"] for step in answer["payload"]["steps"]],
              [same["step_id"]])
        agent.ask("undo.rollback", steps=2)
        equal(agent.close(), 0)
        place.unmount()


main(mounts=True)
