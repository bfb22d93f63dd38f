# SPDX-License-Identifier: Apache-2.0
"""A pool of machines over the fake QEMU, and the sessions that take from it."""
import glob
import json
import os
import subprocess

from stdio_client import Agent, PROGRAM, alive, equal, eventually

PATIENCE = 60
FILL = 60  # at low priority, one after the other


class Pool:
    """The pool of a place, whose QEMU has a template."""

    def __init__(self, place, size, *options, fill=True, **env):
        self.place = place
        self.env = place.environment(**{"STEPBACK_FAKE_TEMPLATE": "", **env})
        self.command(size if size == "--start" else "--size=%d" % size,
                     "--accel=tcg", *options)
        if fill:
            self.fill(size)

    def command(self, *options):
        return subprocess.run([PROGRAM, "pool", *options], env=self.env, text=True,
                              check=True, stdout=subprocess.PIPE,
                              cwd=self.place.root).stdout

    def status(self):
        return json.loads(self.command("--json"))

    def fill(self, count):
        seen = []
        assert eventually(lambda: seen.append(self.status()) or
                          seen[-1]["waiting"] == count, FILL), seen[-1]
        return seen[-1]

    def until(self, check):
        """The first status with which check() is true."""
        seen = []
        assert eventually(lambda: seen.append(self.status()) or check(seen[-1]),
                          FILL), seen[-1]
        return seen[-1]

    def keeper(self):
        return self.status()["pid"]

    def qemus(self):
        return [machine["qemu_pid"] for machine in self.status()["machines"]]

    def end(self):
        self.command("--size=0")
        nothing_is_left(self.place)


class Machine:
    """A machine that runs, with its warnings about the pool and templates."""

    def __init__(self, place, **payload):
        vm = {"accel": "tcg", **payload.pop("vm", {})}
        self.place = place
        self.agent = Agent(place, STEPBACK_FAKE_TEMPLATE="")
        # Of its own, as a folder is shared once.
        folder = "%s/share-%d" % (place.root, self.agent.process.pid)
        os.mkdir(folder)
        payload.setdefault("working_directories", [{"path": folder}])
        answer = self.agent.start(vm=vm, **payload)
        equal(answer["status"], "ok")
        self.notes = [m["payload"]["message"] for m in self.agent.seen
                      if m["type"] == "event.warning" and
                      m["payload"].get("code") in ("pool", "template")]

    def ask(self, command):
        answer, output = self.agent.execute(command)
        equal(answer["payload"]["exit_code"], 0)
        return output

    def is_pooled(self):
        """Whether its QEMU is not a child of its supervisor."""
        try:
            self.agent.command_line()
        except AssertionError:
            return True
        return False

    def end(self):
        equal(self.agent.close(), 0)
        return self


def processes(place, word):
    found = []
    for pid in place.all_processes():
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                if word in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def lock_users(place):
    """The processes that write a template, or wait until another is written."""
    def has_lock(pid):
        for fd in glob.glob("/proc/%d/fd/*" % pid):
            try:
                if os.readlink(fd).endswith("/.templates/lock"):
                    return True
            except FileNotFoundError:  # closed meanwhile
                pass
        return False

    return [pid for pid in place.makers() if has_lock(pid)]


def nothing_is_left(place):
    assert eventually(lambda: not place.processes(makers=True), PATIENCE)
    equal(eventually(lambda: not place.left(), PATIENCE), True)


def died(pids):
    return eventually(lambda: not any(map(alive, pids)), PATIENCE)
