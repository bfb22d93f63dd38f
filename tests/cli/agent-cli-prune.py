#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
""""stepback prune": which undo logs, caches and disks it removes, and which undo
logs it must keep. Over a fake QEMU whose folders are mounted."""
import fcntl
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pty_client import Terminal  # noqa: E402
from sandbox_case import VM, call, good, refused, sandbox_test  # noqa: E402
from stdio_client import PROGRAM, contains, equal, main  # noqa: E402


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def folder_with_log(place, name):
    """Make a folder in work/ with a step in its log; the log's path."""
    folder = place.root + "/work/" + name
    write(folder + "/a", "before")
    good(place, "run", *VM, "-C", folder, "--", "sh rm a")
    log = place.root + "/work/.stepback/.git/" + name
    equal((os.path.exists(folder + "/a"), os.listdir(log + "/steps")), (False, ["1"]))
    return log


def prune(place, *words):
    return call(place, "prune", "--logs", "-C", place.root + "/work", *words)


def kept(place, *logs, note=""):
    """Check that prune keeps these logs, and that their steps can be undone."""
    status, out, err = prune(place, "-f")
    equal((status, out), (0, ""))
    contains(err, note)
    for log in logs:
        equal((log, os.path.exists(log + "/steps/1")), (log, True))


@sandbox_test
def logs_of_folders_that_are_gone(place):
    """prune removes an undo log only if its folder is gone, and --logs is given"""
    place.mounting()
    mine, gone = (folder_with_log(place, name) for name in ("mine", "gone"))
    shutil.rmtree(place.root + "/work/gone")
    equal(good(place, "prune", "-f", cwd=place.root + "/work"), "")
    equal(os.path.isdir(gone), True)
    out = good(place, "prune", "--logs", "-n", cwd=place.root + "/work")
    contains(out, "  %s (1." % gone)
    equal(mine in out, False)
    equal(os.path.isdir(gone), True)
    refused(place, "prune", "--logs", "-C", place.root + "/work",
            part="add --force", status=2)
    with Terminal([PROGRAM, "prune", "--logs", "-C", place.root + "/work"],
                  place.environment(), cwd=place.share, columns=200) as terminal:
        terminal.expect("Undo logs whose folder is gone")
        terminal.expect("the logs of those that exist, stay. \\[y/N\\] ")
        terminal.send("n\r")
        equal(terminal.wait(), 1)
    equal(os.path.isdir(gone), True)
    equal(prune(place, "-f"), (0, "undo log %s\n" % gone, ""))
    equal(os.listdir(place.root + "/work/.stepback/.git"), ["mine"])
    good(place, "undo", "-C", place.root + "/work/mine")
    equal(open(place.root + "/work/mine/a").read(), "before")


@sandbox_test
def logs_that_must_stay(place):
    """prune keeps the log of a folder that was renamed, that is now a link or a
    file, that exists where a step knew it, or whose steps cannot be read"""
    place.mounting()
    work = place.root + "/work"
    log = folder_with_log(place, "a")
    folder = work + "/a"
    os.rename(folder, work + "/b")
    kept(place, log, note="undo log %s: stays; its folder may be b now" % log)
    for make in (lambda: os.symlink("nowhere", folder), lambda: write(folder, "")):
        make()
        kept(place, log)
        os.unlink(folder)
    # The log went elsewhere, and the folder did not.
    os.rename(work + "/b", folder)
    os.makedirs(place.root + "/other/.stepback/.git")
    os.rename(log, place.root + "/other/.stepback/.git/a")
    equal(call(place, "prune", "-f", "--logs", "-C", place.root + "/other"),
          (0, "", ""))
    os.rename(place.root + "/other/.stepback/.git/a", log)
    # A step that may be another folder's.
    shutil.rmtree(folder)
    manifest = log + "/steps/1/manifest.jsonl"
    text = open(manifest).read()
    for broken in (text.replace('"root"', '"roof"', 1), "", "{}\n"):
        write(manifest, broken)
        kept(place, log, note="stays; a step cannot be read")
    write(manifest, text)
    write(log + "/version", "2\n")
    kept(place, log)
    write(log + "/version", "1\n")
    # A process that uses it.
    with open(log + "/lock") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        kept(place, log)
    # No log at all; and one that a link leads to.
    write(work + "/.stepback/.git/notes/version", "1\n")
    os.rename(log, place.root + "/elsewhere")
    os.symlink(place.root + "/elsewhere", log)
    equal(prune(place, "-f"), (0, "", ""))
    equal(os.path.exists(work + "/.stepback/.git/notes/version"), True)
    os.unlink(log)
    os.rename(place.root + "/elsewhere", log)
    equal(prune(place, "-f"), (0, "undo log %s\n" % log, ""))


@sandbox_test
def links_lead_nowhere(place):
    """prune follows no symbolic link to a folder of logs, at either level"""
    work, other = place.root + "/work", place.root + "/other"
    write(other + "/.git/.removing-0badcafe/steps/1/x", "content")
    os.makedirs(work)
    os.symlink(other, work + "/.stepback")
    equal(prune(place, "-f"), (0, "", ""))
    os.unlink(work + "/.stepback")
    os.mkdir(work + "/.stepback")
    os.symlink(other + "/.git", work + "/.stepback/.git")
    equal(prune(place, "-f"), (0, "", ""))
    equal(os.path.exists(other + "/.git/.removing-0badcafe/steps/1/x"), True)


@sandbox_test
def killed_removals_go_on(place):
    """prune goes on with the removal of a log that was killed"""
    work = place.root + "/work"
    half = work + "/.stepback/.git/.removing-0badcafe"
    write(half + "/steps/1/blobs/i5", "content")
    contains(prune(place, "-n")[1], half)
    equal(prune(place, "-f"), (0, "undo log %s\n" % half, ""))
    # Such a name can be a folder's, too.
    write(half + "/steps/1/blobs/i5", "content")
    os.mkdir(work + "/.removing-0badcafe")
    equal(prune(place, "-f"), (0, "", ""))
    equal(os.path.exists(half), True)


@sandbox_test
def caches(place):
    """prune --caches removes templates and packages, and no image"""
    images = place.root + "/cache/stepback/guest"
    write(images + "/.templates/a.template", "x" * 5000)
    write(images + "/apt/archives/a_1_amd64.deb", "x" * 5000)
    write(images + "/apt/archives/lock", "")
    out = good(place, "prune", "--caches", "--dry-run")
    equal([line.split(":")[0] for line in out.splitlines()],
          ["Templates of machines", "Packages that builds of images have fetched"])
    with open(images + "/.build.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, out, err = call(place, "prune", "--caches", "-f")
        equal((status, out), (1, "templates 1\n"))
        contains(err, "an image is being built; try again")
    equal(good(place, "prune", "--caches", "-f"), "packages\n")
    equal(sorted(os.listdir(images)), [".build.lock", ".templates", "apt", "minimal"])
    equal(os.listdir(images + "/apt/archives"), ["lock"])
    for folder in (images, place.root + "/images"):  # as root, those of all users
        write(folder + "/apt/archives/a_1_amd64.deb", "x" * 5000)
    equal(good(place, "prune", "--caches", "-f"), "packages\n")
    equal([os.path.exists(folder + "/apt/archives/a_1_amd64.deb")
           for folder in (images, place.root + "/images")], [False, os.geteuid() != 0])
    refused(place, "prune", "-C", place.root, part="-C needs --logs", status=2)
    refused(place, "prune", "--logs", "-C", place.root + "/x", part="not a folder")


main(mounts=True)
