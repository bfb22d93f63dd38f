#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user reads when a sandbox cannot be used: for each verb the exit code
of its kind, one sentence, and what to type next."""
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pty_client import Terminal  # noqa: E402
from sandbox_case import (VM, call, good, listed, pid_of, refused,  # noqa: E402
                          sandbox_test, status, up)
from stdio_client import (PROGRAM, contains, equal, eventually,  # noqa: E402
                          freeze, main, test)

# A command line of each verb that needs a sandbox, with its name for {}, and
# the exit code if there is none.
RUNNING = ((("exec", "{}", "--", "true"), 125), (("attach", "{}", "1"), 125),
           (("jobs", "{}"), 1), (("job", "wait", "{}", "1"), 1),
           (("job", "logs", "{}", "1"), 1), (("job", "kill", "{}", "1"), 1),
           (("cp", "{}:/x", "x"), 1), (("port", "{}"), 1), (("net", "{}"), 1),
           (("net", "{}", "allow", "a.example"), 1),
           (("folder", "{}"), 1), (("folder", "{}", "add", "x"), 1),
           (("folder", "{}", "rm", "x"), 1),
           (("approve", "{}"), 1), (("approve", "{}", "approval-1"), 1),
           (("port", "{}", "add", ":80"), 1),
           (("port", "{}", "rm", "80"), 1))
LIVE = ((("stats", "{}"), 1),)
ANY = ((("inspect", "{}"), 1), (("secret", "{}"), 1), (("logs", "{}"), 1), (("stop", "{}"), 1),
       (("kill", "{}"), 1), (("rm", "{}"), 1))


def each(place, verbs, name, part, cwd=None):
    """Check the error of these verbs, all at once."""
    started = []
    for words, code in verbs:
        named = [word.replace("{}", name) for word in words
                 if name or word != "{}"]
        started.append((named, code, subprocess.Popen(
            [PROGRAM, *named], env=place.environment(),
            cwd=cwd or place.share, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)))
    for named, code, process in started:
        out, err = process.communicate(timeout=60)
        equal((named, process.returncode, out, err.count("\n")),
              (named, code, "", 1))
        contains(err, part)


@sandbox_test
def no_sandbox(place):
    """unknown names, names that cannot be, and a folder without a sandbox or
    with several"""
    every = RUNNING + LIVE + ANY
    each(place, every, "nope",
         "sandbox nope: not found; 'stepback ps -a' lists all")
    each(place, [one for one in every if one[0][0] != "cp"], "No",
         "sandbox name 'No': must begin with a-z or 0-9")
    here = [one for one in RUNNING if one[0][0] != "cp"]
    there = [one for one in ANY if one[0][0] != "rm"]
    none = "stepback: %s; start one with 'stepback up'\n"
    each(place, here, "", none % "no sandbox is running")
    each(place, [one for one in there if one[0][0] in ("inspect", "logs")], "",
         none % "there is no sandbox")
    deep = os.path.join(place.root, "a/deep")
    os.makedirs(deep)
    up(place, "one", "-C", os.path.dirname(deep))
    up(place, "two", "-C", deep)
    each(place, here + there, "", "several sandboxes have this folder; name "
         "one of one and two\n", cwd=deep)
    each(place, here, "", "no running sandbox has this folder; name one of one "
         "and two, or start one with 'stepback up'")
    refused(place, "up", "three", *VM, "-C", deep, part="sandbox two already "
            "runs over this folder; use it, or stop it with 'stepback stop two'")
    refused(place, "up", "one", "--memory=999", part="already runs without "
            "this --memory")
    each(place, ((("rm", "{}"), 1),), "one", "running; stop it first, or add "
         "--force")
    refused(place, "job", "wait", "one", "77", part="execution 77: not found; "
            "'stepback jobs'")
    good(place, "stop", "--all")
    each(place, RUNNING + LIVE, "one",
         "sandbox one: stopped; start it with 'stepback up one'")


@test
def absurd_sizes(place):
    """numbers out of range are refused before anything is done"""
    for words in (("up", "--memory=1"), ("up", "--memory=" + "9" * 30),
                  ("up", "--idle-timeout=9999999999"),
                  ("up", "-p", "1:99999"), ("up", "-p", "-1:80"),
                  ("run", "--timeout=99999999999", "--", "x"),
                  ("exec", "--timeout=-1", "--", "x"),
                  ("exec", "--timeout=2000000000", "--", "x"),
                  ("exec", "--timeout=" + "9" * 30, "--", "x"),
                  ("stop", "--timeout=99999999999"),
                  ("port", "add", "80:65536"), ("port", "rm", "65536"),
                  ("job", "wait", "9" * 30), ("job", "logs", "0"),
                  ("attach", "-1"), ("history", "--limit=0"),
                  ("history", "--limit=" + "9" * 30), ("undo", "9" * 30)):
        code, out, err = call(place, *words)
        equal((words, code, out, err.count("\n") in (1, 2)),
              (words, 2, "", True))
    equal(listed(place), {})


@sandbox_test
def starting(place):
    """a sandbox that starts cannot be used yet, and can be removed by force"""
    with Terminal([PROGRAM, "up", *VM], place.environment(
            STEPBACK_FAKE_QEMU="silent", TERM="xterm"),
            cwd=place.share) as terminal:
        # up shows what it waits for.
        terminal.expect(r"\rstepback: [-/|\\] booting the guest kernel "
                        r"\(\d+ s\)\x1b\[K")
        equal(status(place, "share"), "starting")
        each(place, RUNNING, "share",
             "sandbox share: starting; wait until it runs")
        each(place, ((("rm", "{}"), 1),), "share",
             "sandbox share: starting; stop it first, or add --force")
        good(place, "stats", "share")
        good(place, "kill", "share")
        terminal.expect("\x1b\\[Kstepback: ")
        equal(terminal.wait(), 1)


@sandbox_test
def stopping(place):
    """a sandbox that ends has status stopping, cannot be used, and another stop
    waits for its end"""
    up(place, STEPBACK_FAKE_QEMU="stubborn")
    first = subprocess.Popen([PROGRAM, "stop", "--timeout=60"],
                             env=place.environment(), cwd=place.share,
                             stdout=subprocess.DEVNULL)
    assert eventually(lambda: status(place, "share") == "stopping", 10)
    pid = pid_of(place, "share")
    freeze(pid)
    entry = listed(place)["share"]
    contains(good(place, "ps"), "stopping")
    each(place, RUNNING, "share", "sandbox share: stopping; once it has "
         "stopped, start it again with 'stepback up share'")
    for words in (("up",), ("up", "share")):
        refused(place, *words, part="sandbox share: stopping; wait until it "
                                    "has stopped ('stepback stop share' does)")
    second = subprocess.Popen([PROGRAM, "stop", "share"],
                              env=place.environment(),
                              stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    os.kill(pid, signal.SIGCONT)
    equal((second.wait(60), first.wait(60)), (0, 0))
    after = listed(place)["share"]
    equal((after["status"], after["reason"], after["started"]),
          ("stopped", "stopped", entry["started"]))


main()
