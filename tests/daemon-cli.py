#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The file servers' command lines, and what they say: as those who know other
virtio-fs daemons meet them. No VM, and no mount but where it says so."""
import os
import re
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_case import Daemon  # noqa: E402
from stdio_client import (BUILDDIR, Skip, contains, equal,  # noqa: E402
                          eventually, main, test)

VIRTIOFSD = "stepback-virtiofsd"


def says(*options, program=VIRTIOFSD, **more):
    """How a daemon with these options ends, and its last line."""
    done = subprocess.run([BUILDDIR + "/" + program, *options],
                          capture_output=True, timeout=20, text=True, **more)
    return done.returncode, (done.stderr.splitlines() or [""])[-1]


class Server:
    """A daemon that listens on a socket."""

    def __init__(self, place, *options, program=VIRTIOFSD, **more):
        self.path = place.root + "/fs.sock"
        self.log = place.root + "/log.txt"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [BUILDDIR + "/" + program, "--shared-dir=" + place.share,
                 "--socket-path=" + self.path, *options], stderr=log, **more)
        if not eventually(lambda: "ready: " in self.said() or
                          self.process.poll() is not None, 20):
            raise AssertionError("neither ready nor at its end")

    def said(self):
        with open(self.log) as file:
            return file.read()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


def connect(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    return sock


@test
def socket_in_use(place):
    """a second daemon on a socket is refused, and the first one serves on"""
    for program in (VIRTIOFSD, "stepback-9pd"):
        server = Server(place, program=program)
        status, line = says("--shared-dir=" + place.share,
                            "--socket-path=" + server.path, program=program)
        equal(status, 1)
        contains(line, "another process listens on socket")
        connect(server.path).close()  # it still listens
        if program == VIRTIOFSD:  # which serves one
            equal(server.process.wait(20), 0)
        equal(server.end(), 0)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(server.path)
        server = Server(place, program=program)
        connect(server.path).close()
        equal(server.end(), 0)


@test
def front_end(place):
    """the log says when the front-end comes and goes"""
    server = Server(place)
    front = connect(server.path)
    eventually(lambda: "front-end" in server.said(), 10)
    contains(server.said(), "the front-end has connected")
    front.close()
    equal(server.process.wait(20), 0)
    contains(server.said(), "the front-end has closed the connection")


@test
def few_files_on_mount(place):
    """a mount that cannot be served is an error"""
    import resource
    seen = place.root + "/seen"
    os.mkdir(seen)
    if not os.access("/dev/fuse", os.W_OK):
        raise Skip("/dev/fuse cannot be used")
    status, line = says("--shared-dir=" + place.share, "--mount=" + seen,
                        "--rlimit-nofile=0", preexec_fn=lambda:
                        resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10)))
    equal(status, 1)
    contains(line, "Too many open files")
    equal(os.path.ismount(seen), False)


@test
def dead_mount(place):
    """a dead mount is told as such also when its attributes are not known"""
    daemon = Daemon(place)
    try:
        daemon.process.kill()
        daemon.process.wait(20)
        # What stat(2) knows of the mount is for a second.
        eventually(lambda: not os.path.exists(daemon.seen), 10)
        status, line = says("--shared-dir", place.share,
                            "--mount", daemon.seen)
        equal(status, 1)
        contains(line, "fusermount3 -u " + daemon.seen)
    finally:
        daemon.end()


main()
