#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stepback undo -- PATH..., over real logs: undo by path."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon, call, steps  # noqa: E402
from stdio_client import PROGRAM, contains, equal, main, test  # noqa: E402


def read(place, name):
    with open(place.share + "/" + name) as file:
        return file.read()


def write(place, name, text):
    with open(place.share + "/" + name, "w") as file:
        file.write(text)


def call_in(place, folder, *words):
    done = subprocess.run([PROGRAM, *words], env=place.environment(),
                          cwd=folder, capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def fill(place):
    os.makedirs(place.share + "/dir/sub")
    for name in ("a", "b", "dir/one", "dir/sub/two"):
        write(place, name, "old " + name)
    write(place, os.fsdecode(b"odd\xff"), "old odd")


def change(daemon):
    daemon.step(1, "echo changed > a; echo changed > b; rm -r dir; mkdir made;"
                   " echo x > made/x; rm odd*")


def check(place):
    """One file, a folder and what the step made; the rest stays"""
    command = ("undo", "-C", place.share)
    # Words are of the current folder, and -n changes nothing.
    status, out, err = call_in(place, place.share, "undo", "-n", "--", "a",
                               "made")
    equal((status, err), (0, ""))
    equal(out.splitlines(), ["would be restored:", "    modified a",
                             "    deleted  made"])
    equal(read(place, "a"), "changed\n")
    status, out, err = call_in(place, place.share + "/made", *command, "--",
                               "../a", place.share + "/dir/sub/two", ".")
    equal((status, err), (0, ""))
    contains(out, "restored in step 2 (undo with: stepback undo -C ")
    contains(out, "    modified a\n")
    contains(out, "    created  dir/sub/two\n")
    equal((read(place, "a"), read(place, "b"), read(place, "dir/sub/two")),
          ("old a", "changed\n", "old dir/sub/two"))
    equal(sorted(os.listdir(place.share)), ["a", "b", "dir"])
    equal(os.listdir(place.share + "/dir"), ["sub"])
    # It is a step like any other.
    history = json.loads(call(place, "history", "--json", "-C",
                              place.share)[1])
    equal([(step["step_id"], step["type"]) for step in history["steps"]],
          [(2, "api"), (1, "command")])
    contains(history["steps"][0]["command"], "undo --step=1 -- a dir/sub/two")
    equal(call(place, *command)[0], 0)
    equal((read(place, "a"), sorted(os.listdir(place.share))),
          ("changed\n", ["a", "b", "made"]))
    equal(call(place, "redo", "-C", place.share)[0], 0)
    equal((read(place, "a"), sorted(os.listdir(place.share))),
          ("old a", ["a", "b", "dir"]))
    equal(call(place, *command)[0], 0)


def check_more(place):
    """JSON, names that are no text, an older step, and what makes no sense"""
    command = ("undo", "-C", place.share)
    odd = os.fsdecode(b"odd\xff")
    status, out, err = call_in(place, place.share, "undo", "--json", "--step",
                               "1", "--", odd, "b")
    equal((status, err), (0, ""))
    answer = json.loads(out)
    equal([step["affected"] for step in answer["steps"]], [2])
    equal((read(place, odd), read(place, "b")), ("old odd", "old b"))
    status, out, err = call_in(place, place.share, "undo", "--step=1", "--",
                               odd)
    equal((status, out, err), (0, "nothing to restore: the paths are as they "
                               "were\n", ""))
    # The restore is no command: the same again changes nothing, and another
    # path is restored to what it was before the same command.
    status, out, err = call_in(place, place.share, "undo", "--", "b")
    equal((status, out, err), (0, "nothing to restore: the paths are as they "
                               "were\n", ""))
    equal(read(place, "b"), "old b")
    status, out, err = call_in(place, place.share, "undo", "2", "--", "a")
    equal((status, err, read(place, "a")), (0, "", "old a"))
    for words, code, text in (
            (["--", "none"], 1, "none: neither existed"),
            (["--", "/etc/passwd"], 2, "not in the working folder"),
            (["--", "../a"], 2, "not in the working folder"),
            (["--"], 2, "name a path"),
            (["--step=1", "2", "--", "a"], 2, "--step excludes a number"),
            (["--discard", "--", "a"], 2, "--discard undoes no steps"),
            (["x", "--", "a"], 2, "is not a step count"),
            (["99", "--", "a"], 1, "not 99")):
        status, out, err = call_in(place, place.share, "undo", *words)
        equal((words, status, out), (words, code, ""))
        contains(err, text)
    status, out, err = call_in(place, place.share, "undo", "--json", "--",
                               "none")
    equal((status, json.loads(out)["error"]["code"]), (1, "not_found"))
    # "." is all of the folder.
    status, out, err = call_in(place, place.share, "undo", "--step=1", "--",
                               ".")
    equal((status, err), (0, ""))
    equal(sorted(os.listdir(place.share)), ["a", "b", "dir", odd])
    equal(call(place, *command, "4")[0], 0)
    equal(sorted(os.listdir(place.share)), ["a", "b", "dir", odd])
    equal((read(place, "a"), read(place, "b")), ("old a", "old b"))


@test
def without_daemon(place):
    """without a server the command restores the paths itself"""
    fill(place)
    with Daemon(place) as daemon:
        change(daemon)
    check(place)
    check_more(place)


@test
def with_daemon(place):
    """a file server owns the log, and restores them"""
    fill(place)
    with Daemon(place) as daemon:
        change(daemon)
        check(place)
        check_more(place)


@test
def by_symlink(place):
    """the way to the folder may have symlinks in it; those in it are paths"""
    fill(place)
    os.symlink(place.share, place.root + "/way")
    steps(place, "rm -r dir; ln -s nowhere dir; echo new > a")
    status, out, err = call_in(place, place.root, "undo", "-C", "way", "--",
                               "way/dir", place.root + "/way/a")
    equal((status, err), (0, ""))
    equal((read(place, "a"), read(place, "dir/sub/two")),
          ("old a", "old dir/sub/two"))


@test
def folder_above(place):
    """the log of a folder above is found, and paths are of where one is"""
    fill(place)
    steps(place, "echo new > dir/one; echo new > a")
    status, out, err = call_in(place, place.share + "/dir", "undo", "--",
                               "one")
    equal(status, 0)
    contains(err, "using the undo log of " + place.share)
    equal((read(place, "dir/one"), read(place, "a")),
          ("old dir/one", "new\n"))


@test
def outside_edits(place):
    """an edit by another program is only overwritten with --force"""
    fill(place)
    with Daemon(place) as daemon:
        change(daemon)
    write(place, "a", "edited from outside")
    status, out, err = call_in(place, place.share, "undo", "--", "a")
    equal((status, out, read(place, "a")), (1, "", "edited from outside"))
    contains(err, "changed from outside since; nothing was restored:")
    contains(err, "--force")
    equal(call_in(place, place.share, "undo", "--", "b")[0], 0)
    status, out, err = call_in(place, place.share, "undo", "--force",
                               "--step=1", "--", "a")
    equal((status, read(place, "a")), (0, "old a"))
    contains(err, "overriding outside edits: a")
    equal(call_in(place, place.share, "undo")[0], 0)
    equal(read(place, "a"), "edited from outside")


@test
def open_step(place):
    """while a command runs nothing is restored"""
    fill(place)
    with Daemon(place) as daemon:
        change(daemon)
        daemon.ask("step.open", step_id=2, type="command", command="x")
        status, out, err = call_in(place, place.share, "undo", "--", "a")
        equal((status, out), (1, ""))
        contains(err, "stop the command")
        daemon.ask("step.close", step_id=2)


main()
