#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Access to further folders in local isolation: asked for by a process in the
sandbox, granted while it waits, at the folder's own path."""
import json
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_agent import begin  # noqa: E402
from local_case import LOCAL, call, need  # noqa: E402
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import (contains, equal, eventually, main,  # noqa: E402
                          folder, ok)

STEP = "/run/stepback/step"


def ask(agent, command):
    """The request's number, and the event of what its command asks for."""
    id = agent.send("agent.execute", command=command)
    return id, agent.event("event.approval_requested")


def answer(agent, id):
    """The exit code of a command, and what it has printed."""
    report = ok(agent.response(id))
    text = "".join(m["payload"]["data"] for m in agent.seen
                   if m["type"] == "event.terminal_output" and
                   m["payload"]["step_id"] == report["step_id"])
    return report, text


# Prints how long after the answer the folder was there.
WAIT = """
python3 -c 'import os, time
while not os.path.exists("%(part)s/file"):
    time.sleep(0.001)
print("seen", time.time(), flush=True)' &
%(step)s grant %(whole)s --rw "to $(printf "\\033[31m")read" || exit 3
wait
cat %(part)s/file || exit 4
echo no >%(part)s/new && exit 5
test -e %(whole)s/secret && exit 6
echo here >own
"""


def granted(place, user):
    whole, part = folder(place, "data"), folder(place, "data/part")
    for path in (whole + "/secret", part + "/file"):
        with open(path, "w") as file:
            file.write("content\n")
    agent = begin(place, user)
    id, event = ask(agent, WAIT % {"whole": whole, "part": part, "step": STEP})
    equal((event["path"], event["access"], event["origin"], event["reason"]),
          (whole, "read_write", "guest", "to \x1b[31mread"))
    before = time.time()
    given = ok(agent.ask("approval.decide", id=event["id"], decision="allow", path=part,
                         access="read_only", duration="always"))["folder"]
    equal((given["guest_path"], given["access"]), (part, "read_only"))
    report, text = answer(agent, id)
    equal((report["exit_code"], text.replace("\r", "")), (0, text.replace("\r", "")))
    contains(text, "%s\tread-only\n" % part)
    contains(text, "content\n")
    seen = float(text.split("seen ")[1].split()[0]) - before
    print("# visible after %.0f ms" % (seen * 1000))
    equal(agent.close(), 0)
    agent = begin(place, user)
    kept = agent.ask("session.status")["payload"]["working_directories"][1]
    equal((kept["path"], kept["access"], kept["grant"]["origin"],
           kept["grant"]["duration"], kept["grant"]["reason"]),
          (part, "read_only", "guest", "always", "to \x1b[31mread"))
    report, _ = answer(agent, agent.send("agent.execute", command="cat %s/file" % part))
    equal(report["exit_code"], 0)
    equal(agent.close(), 0)


@sandbox_test
def narrowed_and_kept(place):
    """a part, read-only, at its own path at once; and again at the next start"""
    granted(place, False)


@sandbox_test
def of_an_ordinary_user(place):
    """the same as an ordinary user, in a second user namespace"""
    granted(place, True)


@sandbox_test
def within_an_open_step(place):
    """what a command changes in a folder that it has asked for is of its step"""
    two = folder(place, "two")
    agent = begin(place)
    id, event = ask(agent, "%s grant %s --rw && echo x >%s/file; echo y >own" %
                    (STEP, two, two))
    ok(agent.ask("approval.decide", id=event["id"], decision="allow"))
    report, _ = answer(agent, id)
    equal((report["exit_code"], sorted(p["directory"] for p in report["directories"])),
          (0, ["share", "two"]))
    equal((os.listdir(two), os.listdir(place.share)), (["file"], ["own"]))
    ok(agent.ask("undo.rollback"))
    equal((os.listdir(two), os.listdir(place.share)), ([], []))
    ok(agent.ask("undo.redo"))
    equal((os.listdir(two), os.listdir(place.share)), (["file"], ["own"]))
    equal(agent.close(), 0)


@sandbox_test
def into_a_log_that_is_ahead(place):
    """in a folder with more steps than the sandbox, the command's part is a
    step of its own, and each step is undone"""
    two = folder(place, "two")
    for name in ("a", "b", "c"):
        equal(call(place, "run", *LOCAL, "-C", two, "--", "echo %s >%s" % (name, name)
                   )[0], 0)
    agent = begin(place)
    id, event = ask(agent, "%s grant %s --rw && echo x >%s/file; echo y >own" %
                    (STEP, two, two))
    ok(agent.ask("approval.decide", id=event["id"], decision="allow"))
    report, _ = answer(agent, id)
    equal((report["exit_code"], sorted(p["directory"] for p in report["directories"])),
          (0, ["share", "two"]))
    ok(agent.ask("undo.rollback", steps=2))
    equal((sorted(os.listdir(two)), os.listdir(place.share)), (["a", "b", "c"], []))
    report = ok(agent.ask("agent.execute", command="echo z >%s/z; echo z >z" % two))
    equal((report["step_id"], report["affected"]), (5, 2))
    ok(agent.ask("undo.rollback"))
    equal((sorted(os.listdir(two)), os.listdir(place.share)), (["a", "b", "c"], []))
    equal(agent.close(), 0)


@sandbox_test
def denied_and_withdrawn(place):
    """a denial is the command's error; a killed command withdraws its request"""
    agent = begin(place)
    two = folder(place, "two")
    id, event = ask(agent, "%s grant %s 2>&1" % (STEP, two))
    ok(agent.ask("approval.decide", id=event["id"], decision="deny"))
    report, text = answer(agent, id)
    equal((report["exit_code"], text.strip()), (1, "step: grant: the request was denied"))
    # What the host has is not told.
    id, event = ask(agent, "%s grant /no/such/folder 2>&1" % STEP)
    contains(event["problem"], "No such file")
    ok(agent.ask("approval.decide", id=event["id"], decision="deny"))
    equal(answer(agent, id)[1], text)
    for signal in ("TERM", "KILL"):
        id, event = ask(agent, "%s grant %s & until test -e go; do sleep 0.01; done; "
                        "kill -%s $!; rm go" % (STEP, two, signal))
        open(place.share + "/go", "w").close()
        decided = agent.event("event.approval_decided")
        equal((decided["id"], decided["outcome"]), (event["id"], "withdrawn"))
        answer(agent, id)
    equal(agent.ask("approval.list")["payload"]["approvals"], [])
    for words in ("", "two", "--all /a", "--rw"):
        report, _ = answer(agent, agent.send(
            "agent.execute", command="%s grant %s" % (STEP, words)))
        equal((words, report["exit_code"]), (words, 2))
    equal(agent.close(), 0)


@sandbox_test
def a_flood_of_requests(place):
    """eight requests can wait; a process that asks in a loop is then refused"""
    agent = begin(place)
    id = agent.send("agent.execute", command="for i in 1 2 3 4 5 6 7 8; do "
                    "%s grant /a$i & pids=\"$pids $!\"; done; until test -e go; do sleep 0.01; done; "
                    "for i in $(seq 30); do %s grant /b$i 2>>err; done; "
                    "kill $pids; wait; grep -c 'requests wait for an answer' err; "
                    "grep -c 'too many requests' err" % (STEP, STEP))
    for _ in range(8):
        agent.event("event.approval_requested")
    open(place.share + "/go", "w").close()
    report, text = answer(agent, id)
    equal((report["exit_code"], text.split()), (0, ["22", "8"]))
    equal(len([m for m in agent.seen if m["type"] == "event.approval_requested"]), 8)
    equal(agent.ask("approval.list")["payload"]["approvals"], [])
    equal(agent.close(), 0)


@sandbox_test
def on_the_command_line(place):
    """stepback approve lists, narrows, keeps and denies; inspect shows the origin"""
    need()
    whole, part = folder(place, "data"), folder(place, "data/part")

    def out(*words, status=0):
        done = call(place, *words)
        equal((words, done[0], done[2] if done[0] != status else ""), (words, status, ""))
        return done[1] if status == 0 else done[2]

    def listed():
        return json.loads(out("approve", name, "--json"))

    name = out("up", *LOCAL, "--no-network").strip()
    equal(out("approve"), "")
    asks = "for i in 1 2; do %s grant %s --rw why\\\033this; done; cat %s/x" % (
        STEP, whole, part)
    out("exec", "-d", "--step=none", name, "--", "sh", "-c", asks)
    assert eventually(listed, 20)
    id = listed()[0]["id"]
    line = out("approve", name)
    contains(line, "%s  grant  guest  read_write  %s  why" % (id, whole))
    assert "\033" not in line
    contains(out("approve", id, "--path", place.root, status=1), "can only narrow")
    contains(out("approve", "--deny", status=2), "name the request")
    contains(out("approve", id, "--deny", "--ro", status=2), "--deny grants nothing")
    contains(out("approve", name, id, "--path", part, "--ro", "--always"),
             "granted: %s at %s (read_only, always)" % (part, part))
    assert eventually(lambda: listed() and listed()[0]["id"] != id, 20)
    equal(out("approve", listed()[0]["id"], "--deny"), "")
    contains(out("approve", id, "--deny", status=1), "is pending")
    for _ in range(2):
        grant = json.loads(out("inspect", name))["live"]["session"]["working_directories"][1]
        equal((grant["path"], grant["access"], grant["grant"]["origin"],
               grant["grant"]["duration"]), (part, "read_only", "guest", "always"))
        out("stop", name)
        out("up", name)
    out("folder", "rm", "part")
    out("stop", name)
    equal(os.listdir(place.root + "/state/stepback/grants"), [])


@sandbox_test
def in_the_record(place):
    """a request that is withdrawn takes little room in the record; a decision has what it
    is about"""
    need()

    def out(*words):
        status, text, err = call(place, *words)
        equal((words, status, err if status else ""), (words, 0, ""))
        return text

    def listed():
        return json.loads(out("approve", name, "--json"))

    path, reason = "/" + "/".join(["\1" * 200] * 15), "\1" * 480 + "x" * 3000
    name = out("up", *LOCAL, "--no-network").strip()
    out("exec", "-d", "--step=none", name, "--", "sh", "-c",
        '%s grant "$0" "$1" & until test -e go; do sleep 0.01; done; kill $!; wait; '
        '%s grant "$0" "$1"' % (STEP, STEP), path, reason)
    assert eventually(listed, 20)
    first = listed()[0]
    equal(first["path"], path)
    open(place.share + "/go", "w").close()
    assert eventually(lambda: listed() and listed()[0]["id"] != first["id"], 20)
    out("approve", listed()[0]["id"], "--deny")
    lines = [line for line in out("audit", name, "--json").splitlines() if '"approval_' in line]
    asked, withdrawn, _, denied = (json.loads(line) for line in lines)
    equal((asked["path"], asked["reason"]), (path[:171], "\1" * 170))
    equal({key: withdrawn[key] for key in withdrawn if key not in ("time", "prev")},
          {"type": "approval_decided", "sandbox": name, "id": first["id"], "kind": "grant",
           "origin": "guest", "outcome": "withdrawn"})
    equal((denied["outcome"], denied["path"]), ("denied", asked["path"]))
    assert max(map(len, lines)) < 3000, [len(line) for line in lines]
    out("stop", name)


if __name__ == "__main__":
    main()
