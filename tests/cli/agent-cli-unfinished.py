#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps that are open or were interrupted: undo and discard of them, recovery."""
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon, call  # noqa: E402
from stdio_client import PROGRAM, contains, equal, main, test  # noqa: E402


@test
def killed_after_a_command(place):
    """what is no step yet goes with the command before it, as if it were"""
    with Daemon(place, end_signal=signal.SIGKILL) as daemon:
        daemon.step(1, "echo 1 > one")
        daemon.write_outside("mine")
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "--yes")
    equal(sorted(os.listdir(place.share)), ["mine", "one"])
    out = call(place, "undo", "--yes", "-C", place.share)[1].decode()
    equal((out.count("undid step"), os.listdir(place.share)), (2, []))


@test
def discard_open_ambient(place):
    """changes that are no step yet count among those that are forgotten"""
    with Daemon(place) as daemon:
        daemon.step(1, "echo 1 > one")
        with open(daemon.seen + "/two", "w") as file:
            file.write("2")
        status, out, _ = call(place, "undo", "--discard", "-C", place.share)
        equal((status, out),
              (0, b"2 steps forgotten. The undo log is empty now.\n"))


@test
def discard_unfinished(place):
    """with no daemon, --discard gives up a step that cannot be rolled back"""
    log = place.root + "/.stepback/.git/share"
    with Daemon(place, end_signal=signal.SIGKILL) as daemon:
        daemon.step(1, "echo 1 > one")
        daemon.ask("step.open", step_id=2, type="command", command="x")
        subprocess.run(["sh", "-c", "echo 2 > one"], cwd=daemon.seen, check=True)
    # A file where the rollback wants a folder.
    with open(log + "/wal/in_progress/staging", "w"):
        pass
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "stepback undo --discard")
    status, out, err = call(place, "undo", "--discard", "-C", place.share)
    equal((status, out), (0, b"2 steps forgotten. The undo log is empty now.\n"))
    contains(err, log + "/damaged")
    equal(os.listdir(log + "/damaged"), ["0"])
    with open(place.share + "/one") as one:
        equal(one.read(), "2\n")


@test
def discard_changes_nothing(place):
    """--discard does not roll back an unfinished step, and "no" keeps it"""
    interrupted(place)
    master, slave = os.openpty()
    process = subprocess.Popen(
        [PROGRAM, "undo", "--discard", "-C", place.share], stdin=slave,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment())
    os.write(master, b"n\n")
    err = process.communicate(timeout=30)[1].decode()
    contains(err, "Forget 2 steps?")
    contains(err, "nothing was forgotten")
    os.close(master)
    os.close(slave)
    equal(sorted(os.listdir(place.share)), ["half", "one"])
    status, out, err = call(place, "undo", "--discard", "-C", place.share)
    equal((status, out), (0, b"2 steps forgotten. The undo log is empty now.\n"))
    contains(err, "step 2, which was unfinished or half rolled back, was "
             "given up")
    equal(sorted(os.listdir(place.share)), ["half", "one"])
    daemon = Daemon(place)  # of changes outside steps nothing is kept
    try:
        os.unlink(daemon.seen + "/one")
    finally:
        daemon.end(signal.SIGKILL)
    status, out, err = call(place, "undo", "--discard", "-C", place.share)
    equal((status, out, "given up" in err),
          (0, b"1 step forgotten. The undo log is empty now.\n", False))
    equal(os.path.exists(place.root + "/.stepback/.git/share/damaged"), False)
    equal(os.listdir(place.share), ["half"])


@test
def looking_forgets_nothing(place):
    """history and undo do not apply limits that the server did not have"""
    with Daemon(place, "--undo-max-steps=500") as daemon:
        for i in range(1, 104):
            daemon.step(i, "echo %d > one" % i)
    for words in (["history"], ["preview"], ["diff"], ["undo"], ["redo"]):
        equal(call(place, *words, "-C", place.share)[0], 0)
    out = call(place, "history", "--limit=200", "-C", place.share)[1]
    equal(len(out.splitlines()), 103)


@test
def recovery_is_told(place):
    """a step that a crash interrupted is rolled back, and that is reported"""
    with Daemon(place, end_signal=signal.SIGKILL) as daemon:
        daemon.ask("step.open", step_id=1, type="command", command="break it")
        open(daemon.seen + "/half", "w").close()
    equal(os.listdir(place.share), ["half"])
    status, out, err = call(place, "redo", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "interrupted step: break it (1 path restored)")
    equal(os.listdir(place.share), [])


@test
def recovery_is_complete(place):
    """a recovery that put all back does not say that something is missing"""
    with Daemon(place, end_signal=signal.SIGKILL) as daemon:
        daemon.step(1, "echo 1 > one")
        daemon.ask("step.open", step_id=2, type="command", command="x")
        with open(daemon.seen + "/one", "w") as one:
            one.write("2")
    status, out, err = call(place, "undo", "-C", place.share)
    equal(status, 0)
    equal("not all of it" in err, False)
    if os.path.exists(place.root + "/.stepback/.git/share/damaged"):
        contains(err, "step 2: rolled back; content that another process may "
                 "have written there is in ")
    with open(place.share + "/one") as one:
        equal(one.read(), "1\n")


def interrupted(place):
    """A folder with one step, and one that a kill interrupted."""
    with Daemon(place, end_signal=signal.SIGKILL) as daemon:
        daemon.step(1, "echo 1 > one")
        daemon.ask("step.open", step_id=2, type="command", command="break it")
        open(daemon.seen + "/half", "w").close()
    equal(sorted(os.listdir(place.share)), ["half", "one"])


@test
def looking_recovers_nothing(place):
    """history, preview, diff and --dry-run leave an interrupted step alone"""
    interrupted(place)
    lock = place.root + "/.stepback/.git/share/lock"
    before = (os.stat(lock).st_mtime_ns, open(lock).read())
    for words in (["history"], ["preview"], ["undo", "--dry-run"],
                  ["preview", "2"], ["diff"], ["diff", "1"]):
        status, out, err = call(place, *words, "-C", place.share)
        equal(status, 1 if words[0] == "diff" else 0)
        contains(err, "interrupted step: break it; the next undo, redo or "
                 "run rolls it back")
        if words[0] in ("preview", "undo"):
            contains(out.decode(), "would be undone: step 2")
            contains(out.decode(), "deleted  half")
        equal(out.decode().count("would be undone: step 1"),
              1 if words[-1] == "2" else 0)
        equal(sorted(os.listdir(place.share)), ["half", "one"])
    equal((os.stat(lock).st_mtime_ns, open(lock).read()), before)
    equal(call(place, "preview", "3", "-C", place.share)[0], 1)
    answer = json.loads(call(place, "history", "--json", "-C", place.share)[1])
    equal([step["step_id"] for step in answer["steps"]], [1])
    equal((answer["unfinished"]["step_id"], answer["unfinished"]["command"],
           answer["open_step"]), (2, "break it", None))


@test
def undo_counts_the_interrupted(place):
    """a step rolled back at the start counts as the first that undo undoes"""
    interrupted(place)
    status, out, err = call(place, "undo", "-C", place.share)
    equal(status, 0)
    contains(out.decode(), "undid step 2: removed ")
    contains(err, "rolled back an interrupted step: break it")
    equal(os.listdir(place.share), ["one"])
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, os.listdir(place.share)), (0, []))


@test
def undo_of_the_interrupted_and_more(place):
    """with N, it is one of the N"""
    interrupted(place)
    status, out, err = call(place, "undo", "2", "--json", "-C", place.share)
    equal(status, 0)
    equal([s["step_id"] for s in json.loads(out)["steps"]], [2, 1])
    equal(os.listdir(place.share), [])


@test
def undo_of_too_many_interrupted(place):
    """more steps than exist: only the interrupted one is rolled back"""
    interrupted(place)
    status, out, err = call(place, "undo", "9", "-C", place.share)
    equal(status, 1)
    contains(out.decode(), "undid step 2: removed ")
    contains(err, "only 1 step can be undone")
    equal(os.listdir(place.share), ["one"])


main()
