# SPDX-License-Identifier: Apache-2.0
"""Compares the 9P server with diod, by one client in one run (bench/p9bench.c).

Each contestant serves a fresh folder on a Unix socket. Numbers are for one
operation: its time, and as _cpu the server's CPU time. All use messages of
64 KiB, which is diod's maximum, except one row with 1 MiB."""

import os
import re
import shutil
import signal
import subprocess
import time

from measure import Result, Skipped, fresh_folder, in_turn, \
    numbers_of_lines, settle, wait_for_socket

OPERATIONS = ["getattr", "walk", "open", "create", "rename", "read4k",
              "write4k", "read_large", "write_large", "getattr_deep",
              "read_deep", "readdir"]
START_SECONDS = 20
LINE = re.compile(r"(\w+) .* ([0-9.]+) wall-us/op +([0-9.]+) cpu-us/op")


class Contest:
    def __init__(self, settings):
        self.settings = settings
        self.base = os.path.join(settings.work, "9p")
        self.share = os.path.join(self.base, "share")
        self.socket = os.path.join(self.base, "s")
        self.seconds = 0.05 if settings.quick else 1

    def measure(self, command, aname, msize=65536):
        fresh_folder(self.share)
        settle()
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            wait_for_socket(self.socket, server, START_SECONDS)
            done = subprocess.run(
                [os.path.join(self.settings.build, "bench", "p9bench"),
                 f"--socket={self.socket}", f"--pid={server.pid}",
                 f"--aname={aname}", f"--msize={msize}", f"--seconds={self.seconds}",
                 *OPERATIONS], check=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, text=True)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
            self.wait_for_removal()
        return numbers_of_lines(LINE, done.stdout)

    def wait_for_removal(self):
        """Wait for our server's socket, which is removed just after its exit."""
        deadline = time.monotonic() + 1
        while os.path.exists(self.socket) and time.monotonic() < deadline:
            time.sleep(0.01)

    def ours(self, undo, msize=65536, profile=None):
        fresh_folder(self.base)
        command = [os.path.join(self.settings.build, "stepback-9pd"),
                   "--shared-dir", self.share, "--socket-path", self.socket,
                   "--log-level", "error"]
        if undo:
            command += ["--undo-dir", os.path.join(self.base, "undo")]
        if profile:
            command += ["--profile", profile, "--overlay-dir",
                        os.path.join(self.base, "overlay")]
        return self.measure(command, "", msize)

    def diod(self):
        path = shutil.which("diod") or shutil.which("/usr/sbin/diod")
        if not path:
            raise Skipped("diod is not installed")
        fresh_folder(self.base)
        return self.measure([path, "-f", "-n", "-N", "-L", "stderr", "-c",
                             "/dev/null", "-e", self.share, "-l",
                             self.socket], self.share)


def case_9p(settings):
    result = Result("9p", "one operation of a client, interleaved: "
                    + ", ".join(OPERATIONS))
    contest = Contest(settings)
    in_turn(result, {"stepback, undo": lambda: contest.ours(True),
                     "stepback": lambda: contest.ours(False),
                     "stepback, windows":
                         lambda: contest.ours(False, profile="windows"),
                     "stepback, 1 MiB": lambda: contest.ours(False, 1 << 20),
                     "diod": contest.diod}, settings.rounds)
    for operation in OPERATIONS:
        result.ratio("stepback, undo", operation, "diod")
        result.ratio("stepback", operation, "diod", most=1.0)
        result.ratio("stepback", operation + "_cpu", "diod")
    return result
