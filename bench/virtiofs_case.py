# SPDX-License-Identifier: Apache-2.0
"""The daemon beside other virtio-fs daemons, without a VM (bench/vufs.c).

Each contestant serves a fresh folder. Numbers are for one operation: its time,
and as _cpu what the daemon and its children computed. The yardsticks are
measured where they are installed."""

import os
import re
import signal
import subprocess

from measure import Result, Skipped, fresh_folder, in_turn, \
    numbers_of_lines, settle, wait_for_socket

OPERATIONS = ["lookup", "getattr", "rename", "read4k", "write4k", "read1m",
              "write1m", "smallfile", "readdirplus", "rmtree"]

# Of the better yardstick's CPU time, at most: with undo, and without.
WITH_UNDO = {"lookup": 0.9, "getattr": 0.9, "rename": 0.9, "read4k": 0.9,
             "readdirplus": 0.9, "write4k": 1.0, "read1m": 1.0, "write1m": 1.0,
             "smallfile": 1.0, "rmtree": 1.1}
WITHOUT = {"lookup": 0.85, "getattr": 0.85, "rename": 0.85,
           "readdirplus": 0.85, "rmtree": 0.85}

C_DAEMON = ["/usr/lib/qemu/virtiofsd", "/usr/libexec/qemu/virtiofsd"]
RUST_DAEMON = ["/usr/libexec/virtiofsd", "/usr/lib/virtiofsd"]
START_SECONDS = 20
LINE = re.compile(r"(\w+) .* ([0-9.]+) wall-us/op +([0-9.]+) cpu-us/op")


def installed(variable, paths):
    path = os.environ.get(variable)
    for candidate in [path] if path else paths:
        if os.access(candidate, os.X_OK):
            return candidate
    raise Skipped(f"not installed ({variable} says where else)")


class Contest:
    def __init__(self, settings):
        self.settings = settings
        self.base = os.path.join(settings.work, "virtiofs")
        self.seconds = 0.05 if settings.quick else 2

    def measure(self, command):
        """Run the daemon and vufs; numbers by operation."""
        fresh_folder(os.path.join(self.base, "share"))
        settle()
        daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            wait_for_socket(self.socket(), daemon, START_SECONDS)
            done = subprocess.run(
                [os.path.join(self.settings.build, "bench", "vufs"),
                 f"--socket={self.socket()}", f"--pid={daemon.pid}",
                 f"--secs={self.seconds}", *OPERATIONS], check=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
        return self.numbers(done.stdout)

    def socket(self):
        return os.path.join(self.base, "s")

    @staticmethod
    def numbers(text):
        found = numbers_of_lines(LINE, text)
        missing = set(OPERATIONS) - set(found)
        if missing:
            raise RuntimeError(f"vufs does not tell of {missing}")
        return found

    def ours(self, undo):
        command = [os.path.join(self.settings.build, "stepback-virtiofsd"),
                   "--shared-dir", os.path.join(self.base, "share"),
                   "--socket-path", self.socket(), "--cache", "never",
                   "--log-level", "error"]
        fresh_folder(self.base)
        if undo:
            command += ["--undo-dir", os.path.join(self.base, "undo")]
        return self.measure(command)

    def c_daemon(self):
        path = installed("VIRTIOFSD_C", C_DAEMON)
        fresh_folder(self.base)
        return self.measure([path, "-f", f"--socket-path={self.socket()}",
                             "-o", "source=" +
                             os.path.join(self.base, "share"),
                             "-o", "cache=none,xattr"])

    def rust_daemon(self):
        path = installed("VIRTIOFSD_RUST", RUST_DAEMON)
        fresh_folder(self.base)
        return self.measure([path, "--socket-path", self.socket(),
                             "--shared-dir", os.path.join(self.base, "share"),
                             "--cache", "never", "--xattr"])


def add_better(result, yardsticks):
    """A row of what the better yardstick of each round took."""
    rows = [result.rows[label].metrics for label in yardsticks
            if label in result.rows]
    for metric in rows[0] if rows else []:
        for values in zip(*(row[metric] for row in rows)):
            result.row("better yardstick").add({metric: min(values)})


def case_virtiofs(settings):
    result = Result("virtiofs", "one operation of a guest's driver, in turn: "
                    + ", ".join(OPERATIONS))
    contest = Contest(settings)
    yardsticks = {"virtiofsd (C)": contest.c_daemon,
                  "virtiofsd (Rust)": contest.rust_daemon}
    in_turn(result, {"stepback, undo": lambda: contest.ours(True),
                     "stepback": lambda: contest.ours(False), **yardsticks},
            settings.rounds)
    add_better(result, yardsticks)
    for operation in OPERATIONS:
        result.ratio("stepback, undo", operation + "_cpu", "better yardstick",
                     most=WITH_UNDO[operation])
        result.ratio("stepback", operation + "_cpu", "better yardstick",
                     most=WITHOUT.get(operation))
    return result
