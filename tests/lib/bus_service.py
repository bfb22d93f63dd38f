# SPDX-License-Identifier: Apache-2.0
"""A session bus of the host, with services that answer each call."""
import os
import shutil
import socket
import struct
import subprocess
import threading

from bus_client import ANSWER, BUS, BUS_PATH, CALL, SIGNAL, Connection, pad, text
from local_case import USER, with_files
from stdio_client import Skip, eventually

PATH = os.environ.get("STEPBACK_PROGRAM_PATH", "/usr/bin:/bin")
PROXY = shutil.which("xdg-dbus-proxy", path=PATH)

# Eavesdropping is allowed, as on the session bus of Debian: the proxy must refuse it.
CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
    <allow user="*"/>
  </policy>
</busconfig>
"""


def need_bus():
    if not shutil.which("dbus-daemon", path=PATH):
        raise Skip("dbus-daemon is not installed")
    if not PROXY:
        raise Skip("xdg-dbus-proxy is not installed")


def listens(path):
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(path)
        except OSError:
            return False
    return True


class Service:
    """A program that owns names, and answers each call. A member "Emit" emits its
    signals first."""

    def __init__(self, path, *names, signals=()):
        self.calls = []
        self.heard = []
        self.signals = signals
        self.connection = Connection(path)
        for name in names:
            body = pad(text(name), 4) + struct.pack("<I", 4)
            self.connection.send(CALL, body, destination=BUS, path=BUS_PATH, interface=BUS,
                                 member="RequestName", signature="su")
            while self.connection.read()[0] != ANSWER:
                pass
        self.name = self.connection.name
        self.connection.ask(BUS, BUS_PATH, BUS, "AddMatch", "type='signal',path='/heard'")
        self.connection.socket.settimeout(None)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            kind, fields, _ = self.connection.read()
            if kind == 0:
                return
            call = tuple(fields.get(name) for name in ("path", "interface", "member"))
            if kind == SIGNAL and fields["path"] == "/heard":
                self.heard.append(call)
            if kind != CALL:
                continue
            self.calls.append(call)
            for path, interface, member in self.signals if call[2] == "Emit" else ():
                self.connection.send(SIGNAL, path=path, interface=interface, member=member)
            self.connection.send(ANSWER, answers=fields["serial"],
                                 destination=fields["sender"])


class Bus:
    """A dbus-daemon of the ordinary user, in a folder of that user. files: for with_files(),
    with that user's name."""

    def __init__(self, folder, files):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chown(folder, USER, USER)
        self.path = folder + "/bus"
        self.address = "unix:path=" + self.path
        with open(folder + "/bus.conf", "w") as file:
            file.write(CONFIG % self.path)
        # PATH is not in its command line: tests look for processes of their place.
        self.daemon = subprocess.Popen(
            [*with_files(files), "setpriv", "--reuid", str(USER), "--regid", str(USER),
             "--clear-groups", "dbus-daemon", "--config-file=bus.conf", "--nofork",
             "--nopidfile"],
            cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not eventually(lambda: listens(self.path), 20):
            self.close()
            raise AssertionError("dbus-daemon has not started")

    def service(self, *names, signals=()):
        return Service(self.path, *names, signals=signals)

    def close(self):
        self.daemon.kill()  # which ends the services
        self.daemon.wait()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
