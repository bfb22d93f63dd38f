#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs of sandboxes over state files that are damaged, planted or of another
version."""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from sandbox_case import (VM, call, good, listed, refused,  # noqa: E402
                          sandbox_test, state, up)
from stdio_client import PROGRAM, contains, equal, main  # noqa: E402


@sandbox_test
def other_version(place):
    """a sandbox of another version is listed with the reason, not started, and
    can be removed"""
    up(place)
    good(place, "stop")
    path = state(place, "share", "config.json")
    with open(path) as file:
        config = json.load(file)
    config["version"] = 2
    with open(path, "w") as file:
        json.dump(config, file)
    entry = listed(place)["share"]
    equal(entry["status"], "error")
    contains(entry["problem"], "config.json: version 2 was written by another "
                               "version of Stepback; this one reads version 1")
    contains(good(place, "ps", "-a"), "version 2")
    refused(place, "up", "share", part="version 2")
    code, _, err = call(place, "supervise", "share")
    equal(code, 1)
    equal(os.path.exists(state(place, "share", "end.json")), True)
    with open(path, "w") as file:
        file.write("[]")
    contains(listed(place)["share"]["problem"], "not a state file")
    equal(good(place, "rm", "share"), "share\n")
    equal(listed(place), {})


@sandbox_test
def unsafe_state(place):
    """a state directory with another mode, a symlink in its place, and one in
    the shared folder are refused"""
    up(place)
    good(place, "stop")
    base = os.path.dirname(state(place, "share").rstrip("/"))
    os.chmod(base, 0o755)
    refused(place, "ps", part="with mode 0755; it must be yours with mode 0700")
    refused(place, "up", "new", *VM, part="it must be yours with mode 0700")
    os.chmod(base, 0o700)
    os.rename(base + "/share", place.root + "/moved")
    os.symlink(place.root + "/moved", base + "/share")
    equal(listed(place), {})
    refused(place, "up", "share", part="cannot open it")
    inside = place.share + "/state"
    refused(place, "up", *VM, part="set XDG_STATE_HOME to a folder outside",
            XDG_STATE_HOME=inside)
    equal(os.path.exists(inside), False)


@sandbox_test
def full_disk(place):
    """a configuration that cannot be written whole is an error, and leaves
    nothing; the one that exists stays"""
    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    done = subprocess.run([PROGRAM, "up", *VM], cwd=place.share, timeout=60,
                          env=place.environment(), preexec_fn=limited,
                          capture_output=True)
    equal((done.returncode, done.stdout), (1, b""))
    contains(done.stderr.decode(), "config.json: cannot write it: File too "
                                   "large")
    contains(done.stderr.decode(), "make room on that disk")
    equal((listed(place), place.processes(), place.left()), ({}, [], []))
    equal(os.listdir(place.root + "/state/stepback/sandboxes"), [])


@sandbox_test
def planted_state(place):
    """a state directory in a folder that a guest could write to is not used"""
    os.mkdir(place.share + "/state")
    equal(call(place, "run", *VM, "--", "exit 3")[0], 3)  # makes the log
    up(place)
    good(place, "stop")
    shutil.copytree(place.root + "/state", place.share + "/state",
                    dirs_exist_ok=True)
    env = {"XDG_STATE_HOME": place.share + "/state"}
    for words in (("ps", "-a"), ("stop", "share"), ("up", "share"),
                  ("rm", "share"), ("inspect",), ("prune", "-f"),
                  ("up", *VM, "-C", place.image)):
        refused(place, *words, part="XDG_STATE_HOME", **env)
    equal(call(place, "run", *VM, "--", "exit 4", **env)[0], 4)
    equal(os.listdir(place.share + "/state/stepback/sandboxes"), ["share"])


@sandbox_test
def unwritable_state(place):
    """a state directory that cannot be created is an error with its path"""
    with open(place.root + "/file", "w"):
        pass
    for path, part in ((place.root + "/file", "open the state directory: Not"),
                       ("/proc/none", "create the state directory: No such")):
        refused(place, "up", *VM, part="%s/stepback/sandboxes: cannot %s" %
                (path, part), XDG_STATE_HOME=path)
    equal(place.processes(), [])


main()
