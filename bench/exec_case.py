# SPDX-License-Identifier: Apache-2.0
"""Executions in a running sandbox: what one costs, and how output and input flow.

Numbers are medians over many executions. "plain" is the same without Stepback: a
client of a socket, whose server runs `true` or passes a line through `cat`.

    info  a request that the supervisor answers itself
    line  a line to a command that runs, and back
    true  a command that does nothing, from the request to its end
    step  the same as a step of the undo log
    cli true, cli step  the same by `stepback exec`, which is a process
    first run, second run  `stepback run` with a boot, and in the running sandbox

The bulk case sends bytes through an execution whose reader sleeps: a client's that
reads output, a command's that reads its input. "other" is `stepback exec` of another
client meanwhile, and "idle" when nothing else runs. The digests must be equal."""

import hashlib
import os
import socket
import statistics
import subprocess
import time

from measure import Result, in_turn
from sandbox import Sandbox

PAUSE_S = 3  # for which a reader sleeps, while other clients are measured


def median_of(function, count):
    """Return the median of the seconds that a call takes."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class Peer:
    """A program at the other end of a socket."""

    def __init__(self, *command):
        self.socket, other = socket.socketpair()
        self.process = subprocess.Popen(command, stdin=other, stdout=other)
        other.close()

    def line(self):
        self.socket.sendall(b"\n")
        if self.socket.recv(1) != b"\n":
            raise RuntimeError("no echo")

    def stop(self):
        self.socket.close()
        self.process.wait()


def measure_plain(settings, count):
    spawner = Peer(os.path.join(settings.build, "bench", "quick-guest"),
                   "--spawn")
    echo = Peer("cat")
    numbers = {"line": median_of(echo.line, count),
               "true": median_of(spawner.line, count),
               "cli true": median_of(lambda: subprocess.run("true"), count)}
    spawner.stop()
    echo.stop()
    return numbers


def measure_latency(box, count, cwd):
    client = box.client()
    echo = client.ask("exec.start", argv=["cat"], stdin=True, step="none",
                      **cwd)["exec_id"]

    def line():
        client.send("exec.input", exec_id=echo, data="\n")
        client.until(lambda m: m["type"] == "event.exec_output")

    numbers = {
        "info": median_of(lambda: client.ask("sandbox.info"), count),
        "line": median_of(line, count),
        "true": median_of(lambda: client.run(argv=["true"], step="none",
                                             **cwd), count),
        "step": median_of(lambda: client.run(argv=["true"], step="one",
                                             **cwd), count),
        "cli true": median_of(lambda: box.exec("true"), count),
        "cli step": median_of(lambda: box.exec("true", step="one"), count),
    }
    client.close()
    return numbers


def measure_host(settings, count):
    box = Sandbox(settings)
    try:
        return measure_latency(box, count, {"cwd": box.base})
    finally:
        box.stop()


# ---- bulk flows --------------------------------------------------------------

def other_client(box, seconds):
    """Return the median of `exec -- true` for this time, or of 20."""
    times, end = [], time.monotonic() + seconds
    while len(times) < 20 or time.monotonic() < end:
        times.append(median_of(lambda: box.exec("true"), 1))
    return statistics.median(times)


def digest_of(read):
    digest = hashlib.sha256()
    while data := read(1 << 20):
        digest.update(data)
    return digest.hexdigest()


def make_bytes(path, size):
    """Make a file of random bytes. Return its digest."""
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        while size > 0:
            data = os.urandom(min(size, 1 << 20))
            digest.update(data)
            file.write(data)
            size -= len(data)
    return digest.hexdigest()


def send_output(box, path, pause):
    """A command's output to a client that sleeps."""
    start = time.perf_counter()
    sender = box.start(*box.exec_words("cat", path), stdout=subprocess.PIPE)
    sender.stdout.read(1)
    other = other_client(box, pause)
    slept = time.perf_counter() - start
    with open(path, "rb") as file:
        first = file.read(1)
    digest = hashlib.sha256(first)
    while data := sender.stdout.read(1 << 20):
        digest.update(data)
    took = time.perf_counter() - start - slept
    if sender.wait() != 0:
        raise RuntimeError("the command's output broke off")
    return digest.hexdigest(), other, took


def send_input(box, path, pause):
    """A client's input to a command that sleeps."""
    start = time.perf_counter()
    with open(path, "rb") as file:
        sender = box.start(*box.exec_words(
            "sh", "-c", "head -c 1 >/dev/null; sleep %d; sha256sum" % pause,
            options=["-i"]), stdin=file, stdout=subprocess.PIPE)
        time.sleep(0.2)
        other = other_client(box, pause - 1 if pause > 1 else 0)
        text = sender.stdout.read().decode()
    took = time.perf_counter() - start - pause
    if sender.wait() != 0:
        raise RuntimeError("the command's input broke off")
    return text.split()[0], other, took


def flow(settings, send, skip):
    """Send bytes to a reader that sleeps. skip: how many it drops first."""
    size = settings.scaled(500 << 20)
    box = Sandbox(settings)
    path = box.base + "/bytes"
    try:
        digest = make_bytes(path, size)
        idle = other_client(box, 0)
        found, other, took = send(box, path, 0 if settings.quick else PAUSE_S)
        if skip:
            with open(path, "rb") as file:
                file.seek(skip)
                digest = digest_of(file.read)
        if found != digest:
            raise RuntimeError("the digests differ")
        return {"transfer": took, "idle": idle, "other": other,
                "peak_bytes": box.peak_bytes()}
    finally:
        box.stop()


def bulk(settings, result):
    in_turn(result, {
        "output": lambda: flow(settings, send_output, 0),
        "input": lambda: flow(settings, send_input, 1),
    }, 1)
    for label in ("output", "input"):
        result.ratio(label, "other", label, "idle",
                     most=None if settings.quick else 2)
        result.limit(label, "peak_bytes", 64 << 20)


# ---- in a VM -----------------------------------------------------------------

def measure_vm(settings, count):
    box = None
    start = time.perf_counter()
    try:
        box = Sandbox(settings, vm=True)
        first = time.perf_counter() - start
        second = median_of(lambda: box.run(
            "run", "--", "true", stderr=subprocess.DEVNULL), 5)
        numbers = measure_latency(box, count, {})
    finally:
        if box:
            box.stop()
    return dict(numbers, **{"first run": first + second,
                            "second run": second})


def case_exec(settings):
    result = Result("exec", "an execution in a running sandbox, over the shim "
                    "on the host, and in an emulated VM (TCG)")
    count = settings.scaled(200, 2)
    in_turn(result, {
        "plain": lambda: measure_plain(settings, count),
        "sandbox": lambda: measure_host(settings, count),
    }, settings.rounds)
    if not settings.quick:
        in_turn(result, {"vm": lambda: measure_vm(settings, count)}, 1)
    result.limit("sandbox", "info", 1e-3)
    result.difference("sandbox", "line", "plain", 1e-3)
    result.difference("sandbox", "true", "plain", 1e-3)
    result.ratio("sandbox", "cli true", "plain")
    result.ratio("sandbox", "cli step", "sandbox", "cli true")
    result.ratio("vm", "cli step", "vm", "cli true")
    result.ratio("vm", "second run", "vm", "first run")
    bulk(settings, result)
    return result
