# SPDX-License-Identifier: Apache-2.0
"""Run a file server by its command line."""
import atexit
import signal
import socket
import subprocess

from stdio_client import BUILDDIR, Skip, contains, eventually

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
        atexit.register(self.end)  # after a test that failed, too
        eventually(lambda: "ready: " in self.said() or
                   self.process.poll() is not None, 20)
        if "namespaces are unavailable" in self.said():
            raise Skip("there are no user namespaces")
        contains(self.said(), "ready: ")

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
