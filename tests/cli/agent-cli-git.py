#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An undo log within a git repository."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon, call, steps  # noqa: E402
from stdio_client import Skip, contains, equal, main, test  # noqa: E402


def git(place, *words, status=0):
    """What git prints in the folder that holds the share and the log."""
    done = subprocess.run(
        ["git", *words], cwd=place.root, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null",
             "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a",
             "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
             "GIT_COMMITTER_EMAIL": "a@b"})
    equal((words, done.returncode), (words, status))
    return done.stdout


def repository(place):
    """The share has a file that is committed, and a step that changes it."""
    with open(place.share + "/f", "w") as file:
        file.write("a\n")
    git(place, "init", "-q")
    git(place, "add", "share")
    git(place, "commit", "-qm", "a")
    steps(place, "echo b > f")
    # What else the test's own folder has.
    with open(place.root + "/.git/info/exclude", "a") as file:
        for name in os.listdir(place.root):
            if name not in ("share", ".stepback", ".git"):
                file.write("/%s\n" % name)


def undo(place):
    status, out, err = call(place, "undo", "-C", place.share)
    equal((status, err), (0, ""))
    with open(place.share + "/f") as file:
        equal(file.read(), "a\n")


@test
def log_is_hidden(place):
    """git status and git add pass the log by"""
    repository(place)
    equal(git(place, "status", "--porcelain"), " M share/f\n")
    git(place, "add", "-A")
    equal(git(place, "diff", "--cached", "--name-only"), "share/f\n")
    git(place, "reset", "-q")
    undo(place)


@test
def log_survives_clean(place):
    """git clean -fdx and git stash -a leave the log where it is"""
    repository(place)
    for path in (), (".stepback",), (".stepback/share",):
        out = git(place, "clean", "-fdx", "-e", "/seen", "-e", "/*.sock",
                  *path)
        if path != (".stepback/share",): # of which git says nothing
            contains(out, "Skipping repository .stepback/share\n")
    call(place, "history", "-C", place.share)
    equal(git(place, "status", "--porcelain"), " M share/f\n")
    undo(place)
    equal(call(place, "redo", "-C", place.share)[0], 0)
    contains(git(place, "stash", "-a", "-q"), "Ignoring path .stepback/share")
    git(place, "stash", "pop", "-q")
    contains(call(place, "history", "-C", place.share)[1], b"echo b > f")


@test
def log_is_no_repository(place):
    """git does nothing in the log"""
    repository(place)
    log = place.root + "/.stepback/share"
    for words in (["status"], ["clean", "-fdx"], ["add", "-A"], ["gc"]):
        git(place, "-C", log, *words, status=128)
    undo(place)


@test
def old_log_is_hidden(place):
    """a log from before is hidden when it is opened"""
    repository(place)
    log = place.root + "/.stepback/share"
    subprocess.run(["rm", "-r", log + "/.git", log + "/../.gitignore"],
                   check=True)
    equal(git(place, "status", "--porcelain"), " M share/f\n?? .stepback/\n")
    call(place, "history", "-C", place.share)
    equal(git(place, "status", "--porcelain"), " M share/f\n")
    contains(git(place, "clean", "-fdxn"),
             "Would skip repository .stepback/share\n")
    # What the user wrote there stays.
    with open(log + "/../.gitignore", "w") as file:
        file.write("*.x\n")
    undo(place)
    with open(log + "/../.gitignore") as file:
        equal(file.read(), "*.x\n")


@test
def other_places_stay(place):
    """nothing is written beside a log at another place, or of another user"""
    for path, uid in (("/logs/share", 0), ("/.stepback/share", 1234)):
        top = os.path.dirname(place.root + path)
        os.mkdir(top)
        if uid and os.geteuid() != 0:
            raise Skip("only root can make another user's")
        os.chown(top, uid or os.geteuid(), -1)
        with Daemon(place, "--undo-dir", place.root + path) as daemon:
            daemon.step(1, "echo b > f")
        call(place, "history", "-C", place.share, "--undo-dir",
             place.root + path)
        equal((path, os.listdir(top)), (path, ["share"]))
        equal(".git" in os.listdir(place.root + path), False)


main()
