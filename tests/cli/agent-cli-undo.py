#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line over real logs: history, preview, undo and redo."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import (Daemon, answer_on_terminal, call,  # noqa: E402
                      on_terminal, steps)
from stdio_client import PROGRAM, contains, equal, main, test  # noqa: E402


@test
def no_history(place):
    """a folder without a log: an empty history, and none is made"""
    status, out, err = call(place, "history", "-C", place.share)
    equal((status, out), (0, b"There is nothing to undo.\n"))
    contains(err, "/.stepback/.git/share does not exist")
    status, out, err = call(place, "history", "--json", "-C", place.share)
    equal(json.loads(out), {"steps": [], "barriers": [], "last_step_id": 0,
                            "redoable": 0, "redo_steps": [],
                            "open_step": None,
                            "unfinished": None})
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "no undo log")
    status, _, err = call(place, "undo", "-C", place.share, "--undo-dir",
                          PROGRAM)
    equal(status, 1)
    contains(err, PROGRAM + ": not an undo log directory")
    status, _, err = call(place, "diff", "-1", "-C", place.share)
    equal(status, 2)
    contains(err, "write -- before a number below 0")
    status, _, err = call(place, "undo", "-1", "-C", place.share)
    equal((status, "write --" in err), (2, False))
    contains(err, "name a step below 0 with --step, as in --step=-1")
    status, _, err = call(place, "redo", "-1", "-C", place.share)
    equal((status, "below 0" in err), (2, False))
    for verb in ("undo", "preview"):
        for word in ("0", "x", "1x", ""):
            status, _, err = call(place, verb, "--step=" + word, "-C",
                                  place.share)
            equal((status, word), (2, word))
            contains(err, "--step: '%s' is not a step number" % word)
        status, _, err = call(place, verb, "0", "-C", place.share)
        equal(status, 2)
        contains(err, "'0' is not a step count; 'stepback %s 2' takes" % verb)
    equal(os.path.exists(place.root + "/.stepback"), False)


def weakly(place, command):
    """call() of one whom modes stop: root without the right to pass by them"""
    weak = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    done = subprocess.run([*(weak if os.geteuid() == 0 else []), PROGRAM,
                           command, "-C", place.share],
                          env=place.environment(), capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode()


@test
def no_folder(place):
    """what is no folder, or may not be read, has no empty history"""
    with open(place.root + "/file", "w"):
        pass
    for there in ("/none", "/file"):
        status, out, err = call(place, "history", "-C", place.root + there)
        equal((there, status, out), (there, 1, b""))
    os.chmod(place.share, 0)
    status, out, err = weakly(place, "history")
    os.chmod(place.share, 0o755)
    equal((status, out), (1, b""))
    contains(err, "Permission denied")


@test
def closed_log(place):
    """an unreadable log is reported as such, not as a missing one"""
    steps(place, "echo a > a")
    log = place.root + "/.stepback/.git/share"
    os.chmod(log, 0)
    for command in ("history", "undo"):
        status, out, err = weakly(place, command)
        equal((command, status, out), (command, 1, b""))
        contains(err, "cannot open the undo log's folder, which only its "
                 "owner can open")
        contains(err, log)
    os.chmod(log, 0o700)


@test
def open_steps(place):
    """history does not say "nothing" of a step that undo would undo"""
    with Daemon(place, end_signal=signal.SIGKILL) as daemon:
        with open(daemon.seen + "/ambient", "w"):
            pass
        answer = json.loads(call(place, "history", "--json", "-C",
                                 place.share)[1])
        equal((answer["steps"], answer["open_step"] < 0,
               answer["unfinished"]), ([], True, None))
        out = call(place, "history", "-C", place.share)[1].decode()
        contains(out, "changes outside commands")
        equal("nothing to undo" in out, False)
        daemon.ask("step.open", step_id=1, type="command", command="x")
        with open(daemon.seen + "/half", "w"):
            pass
        out = call(place, "history", "-C", place.share)[1].decode()
        contains(out.splitlines()[0], "    1  (not over yet)  x")
        equal(len(out.splitlines()), 2)
        equal(json.loads(call(place, "history", "--json", "-C", place.share)[1])
              ["open_command"], "x")
        status, out, err = call(place, "undo", "-C", place.share)
        equal((status, out), (1, b""))
        contains(err, "Its command: x\n")
        contains(err, "stop the command")


@test
def killed_outside_a_step(place):
    """changes outside commands before a kill are reported"""
    with Daemon(place, end_signal=signal.SIGKILL) as daemon:
        with open(daemon.seen + "/ambient", "w"):
            pass
    status, out, err = call(place, "history", "-C", place.share)
    equal((status, out), (0, b""))
    contains(err, "changes outside commands")
    contains(err, "'undo --ambient' undoes them")
    answer = json.loads(call(place, "history", "--json", "-C", place.share)[1])
    equal((answer["steps"], answer["open_step"]), ([], None))
    equal(answer["unfinished"]["type"], "ambient")
    equal(os.listdir(place.share), ["ambient"])
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, out, os.listdir(place.share)), (1, b"", ["ambient"]))
    contains(err, "stepback undo -C %s --ambient" % place.share)
    equal(call(place, "undo", "--ambient", "-C", place.share)[0], 0)
    equal(os.listdir(place.share), [])


@test
def undo_with_and_without_daemon(place):
    """history and undo work alike with and without a server"""
    with open(place.share + "/old", "w") as file:
        file.write("old")
    with Daemon(place) as daemon:
        daemon.step(1, "echo new > old; mkdir d; echo x > d/x")
        daemon.step(2, "rm old")
        daemon.step(3, "mv d e")
        owned = call(place, "history", "--json", "-C", place.share)
        equal(owned[0], 0)
        status, out, err = call(place, "undo", "-C", place.share)
        equal((status, err), (0, ""))
        contains(out.decode(), "undid step 3: renamed e back to d")
        equal(sorted(os.listdir(place.share)), ["d"])
    status, out, err = call(place, "history", "--json", "-C", place.share)
    equal([s["step_id"] for s in json.loads(out)["steps"]], [2, 1])
    equal([s["step_id"] for s in json.loads(owned[1])["steps"]], [3, 2, 1])
    equal(json.loads(out)["steps"], json.loads(owned[1])["steps"][1:])
    out = call(place, "history", "--limit", "1", "-C", place.share)[1].decode()
    contains(out, "rm old")
    contains(out, "1 path changed (1 deleted)")
    equal(len(out.splitlines()), 2)
    contains(out.splitlines()[0],
             "1 undone step can be redone: stepback redo -C")
    equal(call(place, "undo", "3", "-C", place.share)[0], 1)
    equal(os.listdir(place.share), ["d"])
    equal(call(place, "undo", "2", "-C", place.share)[0], 0)
    equal(os.listdir(place.share), ["old"])
    equal(open(place.share + "/old").read(), "old")


@test
def changes_from_outside(place):
    """undo stops at an outside edit, and says so"""
    with open(place.share + "/old", "w") as file:
        file.write("old")
    with Daemon(place) as daemon:
        daemon.step(1, "echo new > old")
        with open(place.share + "/old", "w") as file:
            file.write("mine")
        out = call(place, "history", "-C", place.share)[1].decode()
        contains(out.splitlines()[0], "changed from outside: old")
        status, out, err = call(place, "undo", "-C", place.share)
        equal((status, out), (1, b""))
        contains(err, "changed from outside: old")
        contains(err, "--force")
    # Nobody watches now, and it is not forgotten.
    status, out, err = call(place, "undo", "-C", place.share)
    equal(status, 1)
    contains(err, "changed from outside: old")
    equal(open(place.share + "/old").read(), "mine")
    status, out, err = call(place, "undo", "--force", "-C", place.share)
    equal(status, 0)
    contains(out.decode(), "undid step 1: restored old")
    equal(err.count("warning: "), 1)
    contains(err, "overriding outside edits: old")
    equal(open(place.share + "/old").read(), "old")


@test
def table(place):
    """history on a terminal is a table with a head"""
    steps(place, "echo 1 > one", "echo 2 > two; rm one")
    lines = on_terminal(place, "history", "-C", place.share,
                        columns=100, NO_COLOR="1").splitlines()
    equal(lines[0].split(), ["STEP", "TIME", "CHANGES", "COMMAND"])
    equal(lines[1].index("echo 2"), lines[0].index("COMMAND"))
    equal(lines[2].index("echo 1"), lines[0].index("COMMAND"))
    out = call(place, "history", "-C", place.share)[1].decode()
    equal(out.splitlines(), lines[1:])


@test
def preview(place):
    """preview is undo that does nothing"""
    steps(place, "echo 1 > one")
    told = call(place, "preview", "-C", place.share)
    equal(told, call(place, "undo", "--dry-run", "-C", place.share))
    contains(told[1].decode(), "would be undone: step 1")
    contains(told[1].decode(), "deleted  one")
    equal(os.listdir(place.share), ["one"])
    answer = json.loads(call(place, "preview", "--json", "-C", place.share)[1])
    equal(answer["steps"][0]["step_id"], 1)
    equal(call(place, "preview", "2", "-C", place.share)[0], 1)
    equal(call(place, "preview", "x", "-C", place.share)[0], 2)


@test
def undo_means_the_newest_command(place):
    """what came after a command goes with it if the user says so"""
    with Daemon(place) as daemon:
        daemon.step(1, "echo 1 > one")
        daemon.step(2, "echo 2 > two")
        daemon.write_outside("mine")
        everything = ["mine", "one", "two"]
        for words in ([], ["1"], ["2"]):
            status, out, err = call(place, "undo", *words, "-C", place.share)
            equal((status, out), (1, b""))
            contains(err, "ambient  undo would change 1 path (1 deleted)")
            contains(err, "--yes")
            equal(sorted(os.listdir(place.share)), everything)
        status, out, err = call(place, "undo", "--json", "-C", place.share)
        error = json.loads(out)["error"]
        equal((status, error["code"], err), (1, "undo_barrier", ""))
        equal([s["step_id"] for s in error["data"]["steps"]], [-1])
        for words in (["preview"], ["undo", "-n"]):
            out = call(place, *words, "-C", place.share)[1].decode()
            equal(out.count("would be undone:"), 2)
        out = answer_on_terminal(place, b"n\n", "undo", "-C", place.share)
        contains(out, "the steps after the command")
        contains(out, "nothing was undone")
        equal(sorted(os.listdir(place.share)), everything)
        out = answer_on_terminal(place, b"y\n", "undo", "-C", place.share)
        equal(out.count("undid step"), 2)
        equal(os.listdir(place.share), ["one"])
        equal(call(place, "redo", "2", "-C", place.share)[0], 0)
        equal(sorted(os.listdir(place.share)), everything)
        status, out, err = call(place, "undo", "--yes", "-C", place.share)
        equal((status, os.listdir(place.share)), (0, ["one"]))
        equal(call(place, "redo", "2", "-C", place.share)[0], 0)
        status, out, err = call(place, "undo", "--ambient", "-C", place.share)
        equal((status, sorted(os.listdir(place.share))), (0, ["one", "two"]))
        # Nothing followed the command: there is no question.
        out = answer_on_terminal(place, b"", "undo", "-C", place.share)
        equal(out.count("undid step"), 1)
        equal(os.listdir(place.share), ["one"])


@test
def undo_to_a_step(place):
    """--step: this step and all that are newer, as in the API"""
    with Daemon(place) as daemon:
        daemon.step(1, "echo 1 > one")
        daemon.step(2, "echo 2 > two")
        daemon.write_outside("mine")
        daemon.step(3, "echo 3 > three")
    for id, gone in ((3, ["3"]), (-1, ["3", "-1"]), (2, ["3", "-1", "2"])):
        out = call(place, "preview", "--step", str(id), "-C",
                   place.share)[1].decode()
        equal([line.split("undone: step ")[1].split()[0] for line in
               out.splitlines() if "undone: step " in line], gone)
    contains(call(place, "diff", "3", "-C", place.share)[1].decode(), "+3")
    contains(call(place, "diff", "-C", place.share, "--", "-1")[1].decode(),
             "+outside commands")
    for words in (["--step", "2", "1"], ["--step", "2", "--ambient"],
                  ["--step", "x"], ["--discard", "--step", "2"]):
        equal(call(place, "undo", *words, "-C", place.share)[0], 2)
    status, out, err = call(place, "undo", "--step", "9", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "step 9 is not in the history")
    out = answer_on_terminal(place, b"n\n", "undo", "--step", "2", "-C",
                             place.share)
    contains(out, "the steps after this step")
    equal(sorted(os.listdir(place.share)), ["mine", "one", "three", "two"])
    status, out, err = call(place, "undo", "--step", "2", "-C", place.share)
    equal((status, err, os.listdir(place.share)), (0, "", ["one"]))


@test
def a_step_without_effect(place):
    """git status only rewrites its index: undo undoes the step before"""
    with Daemon(place) as daemon:
        daemon.step(1, "echo 1 > index")
        daemon.step(2, "echo 2 > two")
        daemon.step(3, "cp index index.lock; mv index.lock index")
        out = call(place, "history", "-C", place.share)[1].decode()
        contains(out.splitlines()[0],
                 "wrote 1 path with the same content as before")
        for command, word in (("undo -n", "undone:"), ("undo", "undid")):
            out = call(place, *command.split(), "-C", place.share)[1].decode()
            equal([line.split(word + " step ")[1].split()[0].strip(":")
                   for line in out.splitlines() if word + " step " in line],
                  ["3", "2"])
        equal(os.listdir(place.share), ["index"])
        out = call(place, "redo", "-C", place.share)[1].decode()
        equal(out.count("redid step"), 2)
        equal(sorted(os.listdir(place.share)), ["index", "two"])
        equal(call(place, "undo", "2", "-C", place.share)[0], 0)
        equal(os.listdir(place.share), [])


@test
def half_way(place):
    """undo of several steps that stops says what was undone and goes on"""
    steps(place, "echo 1 > one", "echo 2 > two")
    with open(place.share + "/one", "w") as file:
        file.write("from outside")
    status, out, err = call(place, "undo", "-n", "2", "-C", place.share)
    equal((status, err), (0, ""))
    contains(out.decode(), "only after the")
    status, out, err = call(place, "undo", "2", "-C", place.share)
    equal(status, 1)
    contains(out.decode(), "undid step 2: removed ")
    contains(err, "1 of 2 steps undone")
    contains(err, "undo: stopped at changes from outside:\n")
    contains(err, "'stepback redo' brings your edits back")
    equal("GIT_OPTIONAL_LOCKS" in err, False)
    contains(err, "To go on: stepback undo -C %s 1 --force\n" % place.share)
    status, out, err = call(place, "undo", "--json", "-C", place.share)
    equal((status, err), (1, ""))
    error = json.loads(out)["error"]
    equal((error["code"], error["data"]["paths"]), ("undo_barrier", ["one"]))
    status, out, err = call(place, "undo", "1", "--force", "-C", place.share)
    equal((status, os.listdir(place.share)), (0, []))


@test
def edits_beside_the_step(place):
    """an edit beside the step is reported, and undo goes on"""
    os.mkdir(place.share + "/.git")
    with Daemon(place) as daemon:
        daemon.step(1, "echo 1 > one")
        with open(place.share + "/.git/index", "w") as file:
            file.write("from outside")
        # The daemon notes what has happened until then.
        equal(len(daemon.ask("history")["barriers"]), 1)
    for words in (("preview",), ("undo", "-n"), ("undo",)):
        status, out, err = call(place, *words, "-C", place.share)
        equal(status, 0)
        contains(err, "edited from outside since, left as it is: .git/index")
    equal(os.listdir(place.share), [".git"])
    status, out, err = call(place, "redo", "--json", "-C", place.share)
    equal((status, err), (0, ""))
    equal(json.loads(out)["barriers"], [])
    equal(open(place.share + "/.git/index").read(), "from outside")


@test
def a_look_by_git_in_the_way(place):
    """undo that a new .git/index stops says how git leaves it alone"""
    os.mkdir(place.share + "/.git")
    steps(place, "echo 1 > .git/index")
    with open(place.share + "/.git/index", "w") as file:
        file.write("from outside")
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "changed from outside: .git/index (while no file server ran)")
    contains(err, "GIT_OPTIONAL_LOCKS=0")
    equal(call(place, "undo", "--force", "-C", place.share)[0], 0)
    equal(os.listdir(place.share + "/.git"), [])


@test
def unreadable_step(place):
    """a step that cannot be read is passed by, loudly"""
    steps(place, "echo 1 > one")
    step = place.root + "/.stepback/.git/share/steps/1"
    shutil.rmtree(step)
    os.mkdir(step)
    out = call(place, "history", "-C", place.share)[1].decode()
    equal(out, "    1  (damaged: its record cannot be read)\n")
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "add --force")
    out = call(place, "undo", "-n", "--force", "-C", place.share)[1]
    equal(out, b"would be skipped: step 1; its changes stay\n")
    status, out, err = call(place, "undo", "--force", "-C", place.share)
    equal((status, out), (0, b"skipped: step 1; its changes stay\n"))
    contains(err, "warning: step 1")
    equal(os.listdir(place.share), ["one"])


@test
def step_over_the_limit(place):
    """a step that changed too much says so, and what ends it"""
    with open(place.share + "/big", "wb") as file:
        file.write(os.urandom(3 << 20))
    with Daemon(place, "--undo-max-step-size", "1M") as daemon:
        daemon.step(1, "echo x > small")
        daemon.step(2, "dd if=/dev/zero of=big bs=1M count=3 conv=notrunc "
                    "2>/dev/null")
    out = call(place, "history", "-C", place.share)[1].decode()
    contains(out, "  changed more than could be kept  dd if=/dev/zero")
    lines = out.splitlines()
    equal(lines[0].endswith("  [cannot be undone]"), True)
    equal(lines[1].endswith("  [cannot be undone: below step 2]"), True)
    status, out, err = call(place, "undo", "--force", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "--discard")
    status, out, err = call(place, "undo", "--discard", "--json", "-C",
                            place.share)
    equal((status, json.loads(out)["discarded_steps"], err), (0, 2, ""))
    equal(call(place, "history", "-C", place.share)[1],
          b"There is nothing to undo.\n")
    # The message names the log that was used by default.
    for command in ("undo", "redo"):
        status, out, err = call(place, command, "-C", place.share)
        equal((status, out), (1, b""))
        contains(err, "looked in the undo log %s/.stepback/.git/share; " % place.root)


main()
