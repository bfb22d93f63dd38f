# SPDX-License-Identifier: Apache-2.0
"""Common helpers of the benchmarks of bench/run: contestants, samples, the daemon."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import time


class Skipped(Exception):
    """This machine cannot run the contestant; the text is the reason."""


class Settings:
    """flushes: whether settle() waits for the disk. A quick run measures nothing,
    and each wait includes what other processes wrote."""
    flushes = True

    def __init__(self, build, work, rounds, quick):
        self.build, self.work = build, work
        self.rounds, self.quick = rounds, quick
        Settings.flushes = not quick

    def scaled(self, number, least=1):
        """Return a size, much smaller in a quick run."""
        return max(number // 100, least) if self.quick else number


class Samples:
    """The samples of one contestant: a list of numbers for each metric."""

    def __init__(self):
        self.metrics = {}

    def add(self, numbers):
        for name, value in numbers.items():
            self.metrics.setdefault(name, []).append(value)

    def median(self, name):
        values = self.metrics.get(name)
        return statistics.median(values) if values else None

    def to_json(self):
        return {name: {"median": statistics.median(values),
                       "min": min(values), "max": max(values),
                       "samples": values}
                for name, values in self.metrics.items()}


class Result:
    """A case's samples by contestant, its ratios and its targets."""

    def __init__(self, name, what):
        self.name, self.what = name, what
        self.rows, self.skipped = {}, {}
        self.ratios, self.targets = [], []

    def row(self, label):
        return self.rows.setdefault(label, Samples())

    def median(self, label, metric):
        row = self.rows.get(label)
        return row.median(metric) if row else None

    def ratio(self, label, metric, other, other_metric=None, least=None,
              most=None):
        """Add the median of the per-round ratios, which load on the machine
        affects little, as it slows both contestants. A target if a limit is
        given. The quartiles show the noise."""
        other_metric = other_metric or metric
        if label not in self.rows or other not in self.rows:
            return
        rounds = sorted(a / b for a, b
                        in zip(self.rows[label].metrics[metric],
                               self.rows[other].metrics[other_metric]) if b > 0)
        if not rounds:
            return
        value = statistics.median(rounds)
        name = f"{label} {metric} / {other} {other_metric}"
        self.ratios.append({"name": name, "value": value,
                            "quartiles": [rounds[len(rounds) // 4],
                                          rounds[len(rounds) * 3 // 4]]})
        self._target(name, value, least, most)

    def difference(self, label, metric, other, most):
        """Add a target: the most by which a metric may exceed another row's."""
        mine, theirs = self.median(label, metric), self.median(other, metric)
        if mine is not None and theirs is not None:
            self._target(f"{label} {metric} - {other} {metric}", mine - theirs,
                         None, most)

    def limit(self, label, metric, most):
        value = self.median(label, metric)
        if value is not None:
            self._target(f"{label} {metric}", value, None, most)

    def _target(self, name, value, least, most):
        if least is None and most is None:
            return
        met = (least is None or value >= least) and (most is None or
                                                     value <= most)
        self.targets.append({"name": name, "value": value, "least": least,
                             "most": most, "met": met})

    def to_json(self):
        return {"what": self.what, "skipped": self.skipped,
                "ratios": self.ratios, "targets": self.targets,
                "rows": {label: row.to_json()
                         for label, row in self.rows.items()}}


def in_turn(result, contestants, rounds, turns=1):
    """Run contestants (label -> function that returns numbers) in rounds of
    `turns` turns; a round's numbers are the means over its turns. Each turn
    begins with another contestant, so that none always follows the same one."""
    names = list(contestants)
    for _ in range(rounds):
        found = {label: [] for label in names}
        for _ in range(turns):
            for label in names:
                if label in result.skipped:
                    continue
                try:
                    found[label].append(contestants[label]())
                except Skipped as reason:
                    result.skipped[label] = str(reason)
                    result.rows.pop(label, None)
            names = names[1:] + names[:1]
        for label in contestants:
            if label not in result.skipped:
                result.row(label).add(mean_of(found[label]))


def mean_of(samples):
    """Return the mean of each named number."""
    return {name: statistics.fmean(sample[name] for sample in samples)
            for name in samples[0]}


# ---- the clock ---------------------------------------------------------------

def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def process_cpu(pid):
    """Return the CPU seconds of all threads of a process, to the nanosecond, by
    the clock id of clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


class Spans:
    """The numbers of one round: time spans by name."""

    def __init__(self, daemon=None):
        self.numbers, self.daemon = {}, daemon

    @contextlib.contextmanager
    def span(self, name):
        settle()
        cpu = process_cpu(self.daemon.pid) if self.daemon else children_cpu()
        start = time.perf_counter()
        yield
        self.numbers[name] = time.perf_counter() - start
        now = process_cpu(self.daemon.pid) if self.daemon else children_cpu()
        self.numbers[name + "_cpu"] = now - cpu


def settle():
    """Flush the disk, so that earlier writes do not disturb the next span."""
    if Settings.flushes:
        os.sync()


def run(*command, **options):
    subprocess.run([str(part) for part in command], check=True,
                   stdin=subprocess.DEVNULL, **options)


def fresh_folder(path):
    remove(path)
    os.makedirs(path)
    return path


def unless_gone(function, path, info):
    """Ignore a missing file: a daemon removes its socket itself at its exit."""
    if not issubclass(info[0], FileNotFoundError):
        raise info[1]


def remove(path):
    shutil.rmtree(path, onerror=unless_gone)


def wait_for_socket(path, server, seconds):
    """Wait until a server that was started listens."""
    deadline = time.monotonic() + seconds
    while not os.path.exists(path):
        if server.poll() is not None or time.monotonic() > deadline:
            raise Skipped("the server does not start")
        time.sleep(0.01)
    time.sleep(0.05)  # between bind(2) and listen(2)


def numbers_of_lines(pattern, text):
    """Parse lines of a name, wall-clock and CPU time in us. Return seconds by name."""
    found = {}
    for match in filter(None, map(pattern.match, text.splitlines())):
        found[match[1]] = float(match[2]) / 1e6
        found[match[1] + "_cpu"] = float(match[3]) / 1e6
    return found


# ---- the programs ------------------------------------------------------------

def engine(settings, *arguments):
    """Run bench-engine. Return the printed lines."""
    command = [os.path.join(settings.build, "bench", "bench-engine")]
    command += [str(argument) for argument in arguments]
    done = subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Daemon:
    """stepback-virtiofsd serving share at mount; undo may be None."""

    def __init__(self, settings, base, undo):
        self.mount = os.path.join(base, "mount")
        self.share = os.path.join(base, "share")
        self.steps = 0
        socket_path = os.path.join(base, "s")
        os.makedirs(self.mount, exist_ok=True)
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            raise Skipped("no access to /dev/fuse")
        command = [os.path.join(settings.build, "stepback-virtiofsd"),
                   "--shared-dir", self.share, "--mount", self.mount,
                   "--interceptor-socket", socket_path, "--cache", "never",
                   "--log-level", "error"]
        if undo:
            command += ["--undo-dir", os.path.join(base, "undo")]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.connection = self._connect(socket_path)
        self.lines = self.connection.makefile("r")
        while not os.path.ismount(self.mount):
            self._check_alive()
            time.sleep(0.01)

    def _check_alive(self):
        if self.process.poll() is not None:
            raise RuntimeError("stepback-virtiofsd exited at start-up")

    def _connect(self, path):
        while True:
            self._check_alive()
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(path)
                return connection
            except OSError:
                connection.close()
                time.sleep(0.01)

    def request(self, kind, **payload):
        message = {"type": kind, "request_id": "1", "payload": payload}
        self.connection.sendall((json.dumps(message) + "\n").encode())
        while True:
            answer = json.loads(self.lines.readline())
            if answer["type"] != "response":
                continue
            if answer["status"] != "ok":
                raise RuntimeError(f"{kind}: {answer}")
            return answer["payload"]

    def step_open(self):
        self.steps += 1
        self.request("step.open", step_id=self.steps)

    def step_close(self):
        self.request("step.close", step_id=self.steps, quiet_ms=0, max_ms=0)

    def stop(self):
        self.lines.close()
        self.connection.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
