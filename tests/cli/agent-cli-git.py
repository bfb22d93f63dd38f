#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An undo log within a git repository."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon, call, steps  # noqa: E402
from stdio_client import contains, equal, main, test  # noqa: E402


def git(place, *words, status=0, data=""):
    """What git prints in the folder that holds the share and the log."""
    done = subprocess.run(
        ["git", *words], cwd=place.root, text=True, input=data,
        stdout=subprocess.PIPE,
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
    for how, *path in (["-fdx"], ["-fd"], ["-fdx", ".stepback"],
                       ["-fdx", ".stepback/.git/share"]):
        out = git(place, "clean", how, "-e", "/seen", "-e", "/*.sock", *path)
        if path != [".stepback/.git/share"]: # of which git says nothing
            contains(out, "Skipping repository .stepback/.git/share\n")
    call(place, "history", "-C", place.share)
    equal(git(place, "status", "--porcelain"), " M share/f\n")
    undo(place)
    equal(call(place, "redo", "-C", place.share)[0], 0)
    equal(git(place, "stash", "-a", "-q"), "")
    git(place, "stash", "pop", "-q")
    contains(call(place, "history", "-C", place.share)[1], b"echo b > f")


@test
def log_is_no_repository(place):
    """git does nothing in the log"""
    repository(place)
    log = place.root + "/.stepback/.git/share"
    for words in (["status"], ["clean", "-fdx"], ["add", "-A"], ["gc"]):
        git(place, "-C", log, *words, status=128)
    undo(place)


@test
def commit_cannot_forge_a_log(place):
    """git checks no file of a hostile commit out into a log"""
    repository(place)
    manifest = "/.stepback/.git/share/steps/99/manifest.jsonl"
    tree = "100644 blob %s\tmanifest.jsonl\n" % \
        git(place, "hash-object", "-w", "share/f").strip()
    for name in reversed(manifest.split("/")[1:-1]):
        tree = "040000 tree %s\t%s\n" % (git(
            place, "mktree", data=tree).strip(), name)
    commit = git(place, "commit-tree", "-m", "x",
                 git(place, "mktree", data=tree).strip()).strip()
    contains(git(place, "checkout", "-fq", commit, status=128),
             "invalid path '%s'" % manifest[1:])
    equal(os.path.exists(place.root + manifest), False)
    equal(os.listdir(place.root + "/.stepback/.git/share/steps"), ["1"])


@test
def lost_marker_comes_back(place):
    """a log whose marker was removed gets another when it is opened"""
    repository(place)
    log = place.root + "/.stepback/.git/share"
    subprocess.run(["rm", "-r", log + "/.git"], check=True)
    call(place, "history", "-C", place.share)
    equal(git(place, "status", "--porcelain"), " M share/f\n")
    contains(git(place, "clean", "-fdxn"),
             "Would skip repository .stepback/.git/share\n")
    undo(place)


@test
def other_places_stay(place):
    """nothing is written beside or in a log at another place"""
    log = place.root + "/logs/share"
    os.mkdir(place.root + "/logs")
    with Daemon(place, "--undo-dir", log) as daemon:
        daemon.step(1, "echo b > f")
    call(place, "history", "-C", place.share, "--undo-dir", log)
    equal(os.listdir(place.root + "/logs"), ["share"])
    equal(".git" in os.listdir(log), False)


main()
