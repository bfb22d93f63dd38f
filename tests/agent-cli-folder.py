#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line where folder and undo log do not belong together."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_case import Daemon, call, run  # noqa: E402
from stdio_client import Skip, contains, equal, main, test  # noqa: E402


@test
def log_of_another_folder(place):
    """a log whose steps were made elsewhere: each command says so"""
    log = place.root + "/.stepback/share"
    other = place.root + "/other"
    os.mkdir(other)
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo 1 > one")
        for words in (["history"], ["undo"], ["undo", "--discard"],
                      ["preview"]):
            status, out, err = call(place, *words, "-C", other, "--undo-dir",
                                    log)
            equal((status, out), (1, b""))
            contains(err, "another folder than " + other)
            contains(err, "serves " + place.share)
        os.symlink("share", place.root + "/link")
        status, out, err = call(place, "history", "-C", place.root + "/link",
                                "--undo-dir", log)
        equal((status, err), (0, ""))
        contains(out.decode(), "echo 1 > one")
    finally:
        daemon.end()
    equal(os.listdir(place.share), ["one"])
    # Likewise without a daemon, and of a folder that is made anew: its number
    # may be the same again.
    shutil.rmtree(place.share)
    os.mkdir(place.share)
    for words in (["-C", other, "--undo-dir", log], ["-C", place.share]):
        out = call(place, "history", *words)[1].decode()
        contains(out, "echo 1 > one  [of another folder: cannot be undone "
                      "here]")
        out = json.loads(call(place, "history", "--json", *words)[1])
        equal((out["steps"][0]["other_folder"], out["steps"][0]["undoable"]),
              (True, False))
        status, out, err = call(place, "diff", "1", *words)
        equal((status, out), (1, b""))
        contains(err, "step 1 changed another folder than " + words[1])
        status, out, err = call(place, "preview", *words)
        equal((status, out),
              (1, b"cannot be undone: 1; what it changed stays\n"))
        contains(err, "step 1 changed another folder than " + words[1])
        status, out, err = call(place, "undo", *words)
        equal((status, out), (1, b""))
        contains(err, "step 1 changed another folder than " + words[1])
    daemon = Daemon(place)
    try:
        daemon.control.settimeout(20)
        warning = json.loads(daemon.answers.readline())
        equal(warning["type"], "event.warning")
        contains(warning["payload"]["message"],
                 "has steps of another folder than")
    finally:
        daemon.end()


@test
def other_folder_stays(place):
    """what is a folder's is neither taken back nor brought back in another"""
    log = place.root + "/.stepback/share"
    other = place.root + "/other"
    os.mkdir(other)
    wrong = ("-C", other, "--undo-dir", log)
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo 1 > one")
        daemon.ask("step.open", step_id=2, type="command", command="x")
        with open(daemon.seen + "/two", "w"):
            pass
    finally:
        daemon.end(signal.SIGKILL)
    for path in ("/one", "/two"):
        with open(other + path, "w") as file:
            file.write("theirs")
    for command in ("undo", "redo"):
        status, out, err = call(place, command, *wrong)
        equal((status, out), (1, b""))
        contains(err, "did not end, of another folder than " + other)
    status, out, err = call(place, "preview", *wrong)
    equal((status, out), (1, b""))
    contains(err, "step 2 changed another folder than " + other)
    status, out, _ = call(place, "undo", "2", "-C", place.share)
    equal((status, len(out.splitlines())), (0, 2))
    equal(os.listdir(place.share), [])
    status, out, err = call(place, "redo", "--force", *wrong)
    equal((status, out), (1, b""))
    contains(err, "changed another folder than " + other)
    for path in ("/one", "/two"):
        with open(other + path) as file:
            equal(file.read(), "theirs")
    equal(call(place, "redo", "-C", place.share)[0], 0)
    equal(os.listdir(place.share), ["one"])


@test
def recovery_elsewhere(place):
    """what a kill interrupted is not taken back in a folder that is made anew"""
    # Where the time of a folder's birth says nothing.
    over = place.root + "/over"
    parts = [place.root + "/" + name for name in ("lower", "upper", "work")]
    for path in (over, *parts):
        os.mkdir(path)
    if subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                       "lowerdir=%s,upperdir=%s,workdir=%s" % tuple(parts),
                       over], stderr=subprocess.DEVNULL).returncode:
        raise Skip("there is no overlayfs here")
    try:
        place.share = over + "/share"
        os.mkdir(place.share)
        daemon = Daemon(place)
        daemon.ask("step.open", step_id=1, type="command", command="x")
        with open(daemon.seen + "/made", "w"):
            pass
        daemon.end(signal.SIGKILL)
        os.rename(place.share, place.share + ".former")
        os.mkdir(place.share)
        with open(place.share + "/made", "w") as file:
            file.write("mine")
        daemon = Daemon(place)
        daemon.end()
        with open(place.share + "/made") as file:
            equal(file.read(), "mine")
        equal(os.listdir(place.share + ".former"), ["made"])
    finally:
        subprocess.run(["umount", over], check=True)


@test
def log_above(place):
    """in a folder below one that has a log, that is said"""
    below = place.share + "/below"
    os.mkdir(below)
    daemon = Daemon(place)
    try:
        daemon.step(1, "echo 1 > one")
    finally:
        daemon.end()
    for command in ("history", "undo", "redo"):
        status, out, err = call(place, command, "-C", below)
        equal((command, status, out), (command, 1, b""))
        contains(err, "A folder above it has a log: " + place.share)
    status, out, err = run(place, "-C", below, "--", "echo x")
    equal((status, out), (0, b"x\n"))
    contains(err, "warning: " + place.share)
    status, out, err = run(place, "--", "echo x")
    equal((status, out, "warning" in err), (0, b"x\n", True))
    contains(err, "warning: %s/.stepback/below is the undo log of a folder in "
             "this one" % place.share)
    shutil.rmtree(place.share + "/.stepback")
    status, out, err = run(place, "--", "echo x")
    equal((status, out, "warning" in err), (0, b"x\n", False))


main()
