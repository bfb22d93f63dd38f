#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Command lines of the file servers, as Stepback and users call them."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon, run  # noqa: E402
from stdio_client import BUILDDIR, contains, equal, main, test  # noqa: E402


def daemon_says(place, *options, program="stepback-virtiofsd"):
    """How a daemon with these options ends, and its last line."""
    done = subprocess.run([BUILDDIR + "/" + program, *options],
                          capture_output=True, timeout=20, text=True)
    return done.returncode, (done.stderr.splitlines() or [""])[-1]


@test
def daemon_options(place):
    """the daemon says in plain text what is wrong with its options"""
    share = "--shared-dir=" + place.share
    for words, part in (((share,), "exactly one of"),
                        ((share, "--fd=1", "--mount=/x"), "exactly one of"),
                        ((share, "--fd=77"), "--fd=77: not a listening"),
                        ((share, "--mount=/x", "extra"),
                         "'extra': unexpected argument"),
                        ((share, "--mount=/x", "-o", "source=/etc"),
                         "two folders given"),
                        ((share, "--mount=/x", "--undo-dir="), "--undo-dir")):
        status, line = daemon_says(place, *words)
        equal((words, status), (words, 2))
        contains(line, part)
        contains(line, "stepback-virtiofsd: ")
    status, line = daemon_says(place, "-o",
                               "cache=auto,source=/no\\,such,debug",
                               f"--socket-path={place.root}/socket")
    equal(status, 1)
    contains(line, "/no,such: cannot serve this folder")
    os.mkdir(place.share + "/in")
    for inside in ("", "/in"):
        status, line = daemon_says(place, share,
                                   "--mount=" + place.share + inside)
        equal(status, 1)
        contains(line, "is inside the shared folder")
    status, line = daemon_says(place, share, "--mount=" +
                               os.path.dirname(place.share))
    equal(status, 1)
    contains(line, "would hide the shared folder")


@test
def mounts_that_cannot_be(place):
    """a mount on a file, or one that would hide the log, is refused at once"""
    share, seen = "--shared-dir=" + place.share, place.root + "/seen"
    with open(place.root + "/file", "w"):
        pass
    for words, part in ((("--mount=%s/file" % place.root,), "not a directory"),
                        (("--mount=" + seen, "--undo-dir=" + seen), "overlaps"),
                        (("--mount=" + seen, "--undo-dir=%s/log" % seen),
                         "overlaps"),
                        (("--mount=%s/log" % seen, "--undo-dir=" + seen),
                         "overlaps")):
        os.makedirs(seen + "/log")
        status, line = daemon_says(place, share, *words)
        equal((words, status), (words, 1))
        contains(line, part)
        equal((os.listdir(seen), os.listdir(seen + "/log")), (["log"], []))
        os.rmdir(seen + "/log")
        os.rmdir(seen)


@test
def servers_options(place):
    """what both file servers refuse, as a wrong command line or as an error"""
    socket = "--socket-path=%s/socket" % place.root
    share = "--shared-dir=" + place.share
    with open(place.root + "/file", "w"):
        pass
    for program in ("stepback-virtiofsd", "stepback-9pd"):
        for word in ("--undo-max-steps=0", "--undo-max-steps=-1",
                     "--undo-max-steps=x", "--modcaps=foo",
                     "--modcaps=+chown:-nothing", "--uid-map=1:2:3",
                     "--gid-map=:1:2:0:", "--socket-group=no such"):
            status, line = daemon_says(place, share, socket, word,
                                       program=program)
            equal((word, status, line[:1]), (word, 2, "s"))
            contains(line, word.split("=")[0] if "group" not in word else
                     "unknown group")
        for words, part in ((("--shared-dir=%s/file" % place.root, socket),
                             "cannot serve this folder: Not a directory"),
                            ((share, "--socket-path=%s/file" % place.root),
                             "exists and is not a socket")):
            status, line = daemon_says(place, *words, program=program)
            equal((words, status), (words, 1))
            contains(line, part)
        done = subprocess.run([BUILDDIR + "/" + program, "--help"],
                              env=dict(os.environ, LC_ALL="C.UTF-8"),
                              capture_output=True, timeout=20, text=True)
        equal(("[OPTION?]" in done.stdout, done.returncode), (False, 0))
    equal(os.path.getsize(place.root + "/file"), 0)


@test
def refused_logs(place):
    """a log or an overlay in the folder is refused, and leaves nothing there"""
    socket = "--socket-path=%s/socket" % place.root
    link = place.root + "/link"
    os.symlink(place.share, link)
    for below in (place.share, place.share + "/a/b/log", link + "/x/y"):
        for program in ("stepback-virtiofsd", "stepback-9pd"):
            for words in ((), ("--sandbox=none",)):
                status, line = daemon_says(
                    place, "--shared-dir=" + place.share, socket,
                    "--undo-dir=" + below, *words, program=program)
                equal((below, program, words, status),
                      (below, program, words, 1))
                contains(line, "must lie outside the shared folder")
        status, out, err = run(place, "--undo-dir=" + below, "--", "true")
        equal((status, out), (125, b""))
        contains(err, "must lie outside the shared folder")
        contains(err, "--undo-dir")
        equal(os.listdir(place.share), [])


@test
def mount_of_the_dead(place):
    """a mount whose daemon was killed is reported with the command to end it"""
    with Daemon(place) as daemon:
        daemon.process.kill()
        daemon.process.wait(20)
        status, line = daemon_says(place, "--shared-dir", place.share,
                                   "--mount", daemon.seen)
        equal(status, 1)
        contains(line, "fusermount3 -u " + daemon.seen)


main()
