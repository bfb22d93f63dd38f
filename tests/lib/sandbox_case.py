# SPDX-License-Identifier: Apache-2.0
"""Sandboxes over a fake QEMU: their verbs, and clients of their API."""
import functools
import glob
import json
import os
import queue
import signal
import socket
import subprocess

from stdio_client import Agent, PROGRAM, contains, equal, eventually, test

VM = ("--accel", "tcg")
QUIET = ("exec", "-q", "--step=none")

CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUWMFFfR6lwCQHP41lbBkyv2MxK+UwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEVGVzdDAgFw0yNjExMjYxMzIzMzNaGA8yMTI2MTEwMjEzMjMz
M1owDzENMAsGA1UEAwwEVGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNVU
5qlhNTSox/jLD++MNgey3eSpOjb+OfJ0DMtf8Tz8e19R2Zj9337mzQukueNBgT9h
/fdd22/9Rz8fHh5Tm2ujUzBRMB0GA1UdDgQWBBSDV5uM90JWX8kT9I8FN3D6m+Qs
czAfBgNVHSMEGDAWgBSDV5uM90JWX8kT9I8FN3D6m+QsczAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCIHb6Vd0YjA1vAe4b5GIna17D77y7MMCuBQMh
Mi3VfXWxAiBwgWVz/wq5dwjUNiulH9702dX8Zul0qx5bcKHD8HCqkA==
-----END CERTIFICATE-----
"""


def sandbox_test(function):
    """A test after which no process of its place is left."""
    @functools.wraps(function)
    def run(place):
        try:
            function(place)
        finally:
            kill_all(place)
    return test(run)


def kill_all(place):
    for pid in place.processes():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    eventually(lambda: not place.processes(), 10)


def call(place, *words, cwd=None, stdin=None, **env):
    """Exit code, standard output and standard error of a command, in the
    shared folder."""
    done = subprocess.run([PROGRAM, *words], env=place.environment(**env),
                          cwd=cwd or place.share, capture_output=True,
                          timeout=120, input=stdin,
                          stdin=subprocess.DEVNULL if stdin is None else None)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def good(place, *words, **more):
    """The output of a command that must succeed."""
    status, out, err = call(place, *words, **more)
    equal((words, status, err), (words, 0, err))
    return out


def refused(place, *words, part, status=1, **more):
    """Check that a command fails with this part of a message."""
    code, out, err = call(place, *words, **more)
    equal((words, code, out), (words, status, ""))
    contains(err, part)
    return err


def up(place, *words, **more):
    """Start a sandbox; its name."""
    return good(place, "up", *VM, *words, **more).strip()


def listed(place):
    """All sandboxes by name, as ps lists them."""
    return {entry["name"]: entry
            for entry in json.loads(good(place, "ps", "-a", "--json"))}


def status(place, name):
    return listed(place).get(name, {}).get("status")


def state(place, name, file=""):
    return os.path.join(place.root, "state/stepback/sandboxes", name, file)


def pid_of(place, name):
    with open(state(place, name, "run.json")) as file:
        return json.load(file)["pid"]


class Client(Agent):
    """A client of a sandbox's API socket, whose lines are checked against the
    schemas."""

    def __init__(self, place, name, reading=True):
        self.place = place
        self.messages = queue.Queue()
        self.seen = []
        self.last_id = 0
        self.requests = {}
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(listed(place)[name]["api_socket"])
        self.reader = self.socket.makefile("rb")
        if reading:
            self.process = self
            self.stdout = self.reader
            self.read()
            self.ready = self.event("event.ready")

    def write(self, data):
        self.socket.sendall(data)

    def close(self):
        # Not the reader: its thread holds it.
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def guest_root(place, **env):
    """The folder in which the shim writes the guest's system files. It does so
    before it runs a command; the fake QEMU answers for mounts."""
    if env:
        good(place, *QUIET, "--", "true", **env)
    found = glob.glob(place.root + "/guest-*.root")
    return max(found, key=os.path.getmtime)
