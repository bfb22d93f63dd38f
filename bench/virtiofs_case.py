# SPDX-License-Identifier: Apache-2.0
"""Compares the daemon with other virtio-fs daemons, without a VM (bench/vufs.c).

Each contestant serves a fresh folder. Numbers are for one operation: its time, and
as _cpu the CPU time of the daemon and its children. The yardsticks are measured if
installed.

Daemon and driver share one processor ("virtiofs"), or the kernel places them
("virtiofs-spread"). On two processors, waking the other one can dominate the cost
of a short request: an interrupt, which in a virtual machine exits to the
hypervisor, and which is charged to the replying daemon. All contestants pay that
alike, and it hides their own costs."""

import os
import re
import signal
import subprocess

from measure import Result, Skipped, fresh_folder, in_turn, \
    numbers_of_lines, settle, wait_for_socket

OPERATIONS = ["lookup", "getattr", "rename", "read4k", "write4k", "read1m",
              "write1m", "smallfile", "readdirplus", "rmtree"]

# Upper limits relative to the better yardstick's CPU time: with undo, and
# without.
WITH_UNDO = {"lookup": 0.9, "getattr": 0.9, "rename": 0.9, "read4k": 0.9,
             "readdirplus": 0.9, "write4k": 1.0, "read1m": 1.0, "write1m": 1.0,
             "smallfile": 1.0, "rmtree": 1.1}
WITHOUT = {"lookup": 0.85, "getattr": 0.85, "rename": 0.85,
           "readdirplus": 0.85, "rmtree": 0.85}

# Runs that show a thread pool: a name's prefix, options of vufs, operations.
POOL_RUNS = [
    ("", [], ["read4k", "write4k", "read1m", "write1m", "behindsync"]),
    ("deep_", ["--qd=16"], ["read4k", "write4k", "read1m", "write1m"]),
    ("cold_deep_", ["--qd=16", "--share=SHARE"], ["read4k", "read1m"]),
]

C_DAEMON = ["/usr/lib/qemu/virtiofsd", "/usr/libexec/qemu/virtiofsd"]
RUST_DAEMON = ["/usr/libexec/virtiofsd", "/usr/lib/virtiofsd"]
START_SECONDS = 20

# The memory layout of a daemon and the driver changes the CPU time by 5 in 100,
# for as long as both live. So a round consists of several short runs of each
# instead of one long run.
TURNS = 8
RUN_SECONDS = 2
LINE = re.compile(r"(\w+) .* ([0-9.]+) wall-us/op +([0-9.]+) cpu-us/op")


def installed(variable, paths):
    path = os.environ.get(variable)
    for candidate in [path] if path else paths:
        if os.access(candidate, os.X_OK):
            return candidate
    raise Skipped(f"not installed (set {variable} to its path)")


class Contest:
    def __init__(self, settings, spread=False, turns=1):
        self.settings = settings
        self.turns = 1 if settings.quick else turns
        allowed = os.sched_getaffinity(0)
        self.processors = allowed if spread else {max(allowed)}
        self.base = os.path.join(settings.work, "virtiofs")
        self.seconds = 0.05 if settings.quick else RUN_SECONDS / turns

    def measure(self, command, options=(), operations=OPERATIONS):
        """Run the daemon and vufs. Return numbers by operation."""
        fresh_folder(os.path.join(self.base, "share"))
        settle()
        daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL,
                                  preexec_fn=self.settle_down)
        try:
            wait_for_socket(self.socket(), daemon, START_SECONDS)
            done = subprocess.run(
                [os.path.join(self.settings.build, "bench", "vufs"),
                 f"--socket={self.socket()}", f"--pid={daemon.pid}",
                 f"--secs={self.seconds}", *options, *operations], check=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
                preexec_fn=self.settle_down)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
        return self.numbers(done.stdout, operations)

    def settle_down(self):
        os.sched_setaffinity(0, self.processors)

    def socket(self):
        return os.path.join(self.base, "s")

    @staticmethod
    def numbers(text, operations):
        found = numbers_of_lines(LINE, text)
        missing = set(operations) - set(found)
        if missing:
            raise RuntimeError(f"vufs printed no result for {missing}")
        return found

    def our_command(self):
        return [os.path.join(self.settings.build, "stepback-virtiofsd"),
                "--shared-dir", os.path.join(self.base, "share"),
                "--socket-path", self.socket(), "--cache", "never",
                "--log-level", "error"]

    def ours(self, undo):
        command = self.our_command()
        fresh_folder(self.base)
        if undo:
            command += ["--undo-dir", os.path.join(self.base, "undo")]
        return self.measure(command)

    def with_pool(self, size):
        """Return numbers by operation and queue depth for the daemon with a pool
        of this size, also with an empty host cache ("cold_")."""
        command = self.our_command() + [f"--thread-pool-size={size}"]
        found = {}
        fresh_folder(self.base)
        for prefix, options, operations in POOL_RUNS:
            if self.settings.quick:
                # vufs fills 256 MiB for each of the others.
                operations = [name for name in operations
                              if not name.endswith("1m")]
            options = [option.replace("SHARE", self.base + "/share")
                       for option in options]
            numbers = self.measure(command, options, operations)
            found.update((prefix + name, value)
                         for name, value in numbers.items())
        return found

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
    """Add a row with the better yardstick's numbers of each round."""
    rows = [result.rows[label].metrics for label in yardsticks
            if label in result.rows]
    for metric in rows[0] if rows else []:
        for values in zip(*(row[metric] for row in rows)):
            result.row("better yardstick").add({metric: min(values)})


def compare(result, contest, with_undo, without):
    """with_undo, without: upper limits relative to the better yardstick's CPU time,
    by operation."""
    yardsticks = {"virtiofsd (C)": contest.c_daemon,
                  "virtiofsd (Rust)": contest.rust_daemon}
    in_turn(result, {"stepback, undo": lambda: contest.ours(True),
                     "stepback": lambda: contest.ours(False), **yardsticks},
            contest.settings.rounds, contest.turns)
    add_better(result, yardsticks)
    for operation in OPERATIONS:
        result.ratio("stepback, undo", operation + "_cpu", "better yardstick",
                     most=with_undo.get(operation))
        result.ratio("stepback", operation + "_cpu", "better yardstick",
                     most=without.get(operation))
    return result


def case_virtiofs(settings):
    result = Result("virtiofs", "one operation of a guest's driver, interleaved, "
                    "on one processor: " + ", ".join(OPERATIONS))
    return compare(result, Contest(settings, turns=TURNS), WITH_UNDO, WITHOUT)


def case_spread(settings):
    result = Result("virtiofs-spread", "the same, with daemon and driver placed "
                    "by the kernel")
    return compare(result, Contest(settings, spread=True, turns=TURNS), {}, {})


def case_pool(settings):
    result = Result("pool", "one operation of a guest's driver, with a pool for "
                    "long requests and without; deep: 16 at a time")
    contest = Contest(settings, spread=True)
    in_turn(result, {"pool": lambda: contest.with_pool(4),
                     "inline": lambda: contest.with_pool(0)}, settings.rounds)
    for metric in result.rows["pool"].metrics:
        if not metric.startswith("behindsync"):
            result.ratio("pool", metric, "inline")
    result.ratio("pool", "behindsync", "inline", most=0.5)
    return result
