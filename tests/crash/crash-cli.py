#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kill the command line before each change that it makes to an undo log.

Needs a build with fault injection. STEPBACK_CRASH_STRIDE: see crash_ways.h."""
import copy
import os
import shutil
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon, call  # noqa: E402
from stdio_client import contains, equal, main, test  # noqa: E402

# A point needs one or two starts of the daemon; there are about fifty.
STRIDE = max(1, int(os.environ.get("STEPBACK_CRASH_STRIDE", "1")) // 8)
MOST = 1000


def tree(place):
    found = {}
    for name in os.listdir(place.share):
        with open(place.share + "/" + name) as file:
            found[name] = file.read()
    return found


def own_place(place, number):
    """Return a place for one point, with a step in it."""
    place = copy.copy(place)
    place.root += "/%d" % number
    place.share = place.root + "/share"
    os.makedirs(place.share)
    with open(place.share + "/file", "w") as file:
        file.write("old")
    daemon = Daemon(place)
    daemon.step(1, "echo 1 > file; echo 1 > one")
    return place, daemon


def each_point(place, prepare, words, look, folder="share"):
    """Until the command comes to its end. look(place): what must hold."""
    number = 1
    while number < MOST:
        here = prepare(place, number)
        status, _, err = call(here, *words, "-C", os.path.join(here.root, folder),
                              STEPBACK_FAULT="kill-before:%d" % number)
        look(here)
        if status != -signal.SIGKILL:
            equal((status, number > 1), (0, True))
            return
        number += STRIDE
    raise AssertionError("it never ends")


@test
def discard(place):
    """undo --discard: the newest goes last, and what is left can be undone"""
    after = {"file": "1\n", "one": "1\n"}

    def prepare(place, number):
        here, daemon = own_place(place, number)
        os.unlink(daemon.seen + "/file")
        with open(daemon.seen + "/two", "w"):
            pass
        daemon.end(signal.SIGKILL)
        return here

    def look(here):
        trees = [tree(here)]
        while call(here, "undo", "--ambient", "-C", here.share)[0] == 0:
            trees.append(tree(here))
        # No step remains that undo refuses for lost records.
        contains(call(here, "undo", "--ambient", "-C", here.share)[2], "nothing to undo")
        equal(trees in ([{"one": "1\n", "two": ""}, after, {"file": "old"}],
                        [{"one": "1\n", "two": ""}, after],
                        [{"one": "1\n", "two": ""}]), True)

    each_point(place, prepare, ["undo", "--discard"], look)


def with_stranger(place, number, kill):
    """A log with a step of another folder, which is gone, on top."""
    here, daemon = own_place(place, number)
    daemon.end()
    os.rename(here.share, here.root + "/away")
    os.mkdir(here.share)
    daemon = Daemon(here)
    if kill:
        daemon.ask("step.open", step_id=2, type="command", command="x")
        with open(daemon.seen + "/file", "w") as file:
            file.write("2")
        daemon.end(signal.SIGKILL)
    else:
        daemon.step(2, "echo 2 > file")
        daemon.end()
    os.rename(here.share, here.root + "/gone")
    os.rename(here.root + "/away", here.share)
    return here


def undone_in_the_end(here):
    gone = here.root + "/gone/file"
    with open(gone) as file:
        before = file.read()
    while call(here, "undo", "--force", "-C", here.share)[0] == 0:
        pass
    contains(call(here, "undo", "--force", "-C", here.share)[2],
             "nothing to undo")
    equal(tree(here), {"file": "old"})
    with open(gone) as file:
        equal(file.read(), before)


@test
def pass_by(place):
    """undo --force over a stranger's step: the folder's own is not lost"""
    each_point(place, lambda place, n: with_stranger(place, n, False),
               ["undo", "--force"], undone_in_the_end)


@test
def pass_by_unfinished(place):
    """undo --force over a stranger's step that did not end: likewise"""
    each_point(place, lambda place, n: with_stranger(place, n, True),
               ["undo", "--force"], undone_in_the_end)


def tree_of_logs(place):
    """The files of all undo logs below the place's folder of logs."""
    logs = place.root + "/.stepback/.git"
    return sorted(os.path.relpath(os.path.join(base, name), logs)
                  for base, dirs, files in os.walk(logs) for name in dirs + files)


def prune(here, **env):
    return call(here, "prune", "--logs", "-f", "-C", here.root, **env)


def with_orphan(place, number):
    """A log whose folder is gone, beside one whose folder exists."""
    here, daemon = own_place(place, number)
    daemon.end()
    os.rename(here.share, here.root + "/stays")
    os.rename(here.root + "/.stepback/.git/share", here.root + "/.stepback/.git/stays")
    os.mkdir(here.share)
    with open(here.share + "/file", "w") as file:
        file.write("old")
    daemon = Daemon(here)
    daemon.step(1, "rm file")
    daemon.end()
    shutil.rmtree(here.share)
    return here


@test
def prune_logs(place):
    """prune --logs: a log is whole or out of the way, and the next prune ends it"""
    whole = []

    def prepare(place, number):
        here = with_orphan(place, number)
        whole.append(tree_of_logs(here))
        return here

    def look(here):
        left = tree_of_logs(here)
        parts = {name.split("/")[0] for name in left} - {"stays"}
        if "share" in parts:
            equal(left, whole[-1])
        equal([name for name in parts
               if name != "share" and not name.startswith(".removing-")], [])
        # The name is free for a new folder's log, which prune keeps.
        if "share" not in parts:
            os.mkdir(here.share)
            daemon = Daemon(here)
            daemon.step(1, "echo new > file")
            daemon.end()
            equal(prune(here)[0], 0)
            equal(call(here, "undo", "-C", here.share)[0], 0)
            equal(tree(here), {})
            shutil.rmtree(here.share)
        equal(prune(here)[0], 0)
        equal(os.listdir(here.root + "/.stepback/.git"), ["stays"])
        here.share = here.root + "/stays"
        equal(call(here, "undo", "-C", here.share)[0], 0)
        equal(tree(here), {"file": "old"})
        here.share = here.root + "/share"

    each_point(place, prepare, ["prune", "--logs", "-f"], look, folder=".")


main(mounts=True)
