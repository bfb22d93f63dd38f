#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The virtio-fs daemon and mounts: its own, and those that it is to serve."""
import errno
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon  # noqa: E402
from daemon_case import Server, says  # noqa: E402
from stdio_client import (Skip, contains, equal, eventually,  # noqa: E402
                          freeze, main, test)


@test
def few_files_on_mount(place):
    """a mount that cannot be served is an error"""
    import resource
    seen = place.root + "/seen"
    os.mkdir(seen)
    if not os.access("/dev/fuse", os.W_OK):
        raise Skip("/dev/fuse cannot be used")
    # dash, which may run libtool's wrapper, needs two more than the daemon.
    status, line = says("--shared-dir=" + place.share, "--mount=" + seen,
                        "--rlimit-nofile=0", preexec_fn=lambda:
                        resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)))
    equal(status, 1)
    contains(line, "Too many open files")
    equal(os.path.ismount(seen), False)


@test
def dead_mount(place):
    """a dead mount is reported as such even if its attributes are unknown"""
    with Daemon(place) as daemon:
        daemon.process.kill()
        daemon.process.wait(20)
        # What stat(2) knows of the mount is for a second.
        eventually(lambda: not os.path.exists(daemon.seen), 10)
        status, line = says("--shared-dir", place.share,
                            "--mount", daemon.seen)
        equal(status, 1)
        contains(line, "fusermount3 -u " + daemon.seen)


@test
def live_mount(place):
    """a second mount at the same place is refused, and the first one stays"""
    with Daemon(place) as daemon:
        os.mkdir(place.root + "/other")
        status, line = says("--shared-dir", place.root + "/other",
                            "--mount", daemon.seen)
        equal(status, 1)
        contains(line, "a stepback daemon is mounted there")
        os.symlink("seen", place.root + "/link")
        # Whoever asks a mount whose daemon hangs, hangs.
        freeze(daemon.process.pid)
        try:
            status, line = says("--shared-dir", place.root + "/other",
                                "--mount", daemon.seen + "/")
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        equal(status, 1)
        contains(line, "a stepback daemon is mounted there")
        status, line = says("--shared-dir", place.root + "/other",
                            "--mount", place.root + "/link")
        equal(status, 1)
        contains(line, "a stepback daemon is mounted there")
        daemon.step(1, "echo 1 > one")
        equal(os.listdir(place.share), ["one"])


@test
def mount_point_missing(place):
    """a mount point that is not there is refused before a log is made"""
    for log, mount in (("pp/log", "pp"), ("pp", "pp"), ("pp", "pp/steps")):
        status, line = says("--shared-dir=" + place.share,
                            "--undo-dir=%s/%s" % (place.root, log),
                            "--mount=%s/%s" % (place.root, mount))
        equal(status, 1)
        contains(line, "--mount=%s/%s: No such file" % (place.root, mount))
        equal(os.path.exists(place.root + "/pp"), False)


@test
def mount_point_by_links(place):
    """what is mounted on is the folder that was looked at"""
    for path in ("share/b/seen", "share/seen", "seen"):
        os.makedirs(place.root + "/" + path)
    os.symlink("share/b", place.root + "/link")
    status, line = says("--shared-dir=" + place.share,
                        "--mount=%s/link/../seen" % place.root)
    equal(status, 1)
    contains(line, "is inside the shared folder")
    place.share += "/b"
    for end in ("", "/", "/."):
        with Daemon(place, "--mount", place.root + "/seen" + end) as daemon:
            equal(os.listdir(daemon.seen), ["seen"])
    daemon = Daemon(place)
    os.symlink("seen", place.root + "/to-seen")
    freeze(daemon.process.pid)
    try:
        for end in ("", "/", "/."):
            status, line = says("--shared-dir=" + place.share,
                                "--mount=%s/to-seen%s" % (place.root, end))
            equal(status, 1)
            contains(line, "a stepback daemon is mounted there")
    finally:
        daemon.process.send_signal(signal.SIGCONT)
        daemon.end()


@test
def mounted_below(place):
    """with a log a mount below is read-only, and that is reported once"""
    below = place.share + "/below"
    os.mkdir(below)
    if subprocess.run(["mount", "-t", "tmpfs", "below", below],
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip("nothing can be mounted")
    try:
        with Daemon(place) as daemon:
            for name in ("one", "two"):
                refused = 0
                try:
                    with open(daemon.seen + "/below/" + name, "w"):
                        pass
                except OSError as error:
                    refused = error.errno
                equal(refused, errno.EROFS)
            daemon.control.settimeout(20)
            warning = json.loads(daemon.answers.readline())
            equal(warning["type"], "event.warning")
            contains(warning["payload"]["message"],
                     "mounts below " + place.share)
            daemon.control.sendall(b'{"type":"status","request_id":"1"}\n')
            equal(json.loads(daemon.answers.readline())["type"], "response")
    finally:
        subprocess.run(["umount", below], check=True)


@test
def overlay_without_numbers(place):
    """overlayfs over several file systems is refused where nothing could be kept"""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 3):
        raise Skip("this kernel does not show it")
    top, over = place.root + "/top", place.root + "/over"
    for path in (top, over, place.root + "/lower", place.root + "/seen"):
        os.mkdir(path)
    if subprocess.run(["mount", "-t", "tmpfs", "top", top],
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip("nothing can be mounted")
    try:
        for path in (top + "/upper", top + "/work"):
            os.mkdir(path)
        for xino in ("off", "on"):
            mount = ["mount", "-t", "overlay", "overlay", "-o",
                     "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work,"
                     "xino=%s" % (place.root, top, top, xino), over]
            if subprocess.run(mount, stderr=subprocess.DEVNULL).returncode:
                raise Skip("there is no overlayfs here")
            try:
                place.share = over
                if xino == "off":
                    status, line = says("--shared-dir=" + over,
                                        "--socket-path=%s/s" % place.root,
                                        "--undo-dir=%s/log" % place.root)
                    equal(status, 1)
                    contains(line, "needs the mount option xino=on")
                else:
                    equal(Server(place, "--undo-dir=%s/log" % place.root).end(),
                          0)
            finally:
                subprocess.run(["umount", over], check=True)
    finally:
        subprocess.run(["umount", top], check=True)


main()
