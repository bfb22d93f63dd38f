#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines that continue from one template, for real, and machines of the pool:
what they must not have in common, and that their folders, undo and network work.

A template is made once for each backend; machines then start in about 2 s. The
guest's clock begins in 2020, as if the template were years old. It is skipped
without QEMU or an image (STEPBACK_TEST_IMAGE names another than minimal).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (Agent, PROGRAM, Skip, contains,  # noqa: E402
                          equal, eventually, main, test)

IMAGE = os.environ.get("STEPBACK_TEST_IMAGE", "minimal")
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
QEMU = shutil.which("qemu-system-x86_64")
SLACK = 0.010  # seconds, of the clock


class World:
    """A cache with the image and no template yet."""

    def __init__(self, place):
        image = os.path.join(CACHE, "stepback/guest", IMAGE)
        if not QEMU or not os.path.exists(image + "/image.json"):
            raise Skip(f"there is no QEMU or no image '{IMAGE}'")
        self.place = place
        own = place.root + "/cache/stepback/guest/" + IMAGE
        shutil.rmtree(own, ignore_errors=True)
        os.symlink(image, own)
        self.image = image
        self.qemu = place.root + "/old-clock"
        with open(self.qemu, "w") as file:
            file.write('#!/bin/sh\nexec %s "$@" -rtc base=2020-01-01T00:00:00\n'
                       % QEMU)
        os.chmod(self.qemu, 0o755)
        self.environment = {"STEPBACK_QEMU": self.qemu, "STEPBACK_FAKE_QEMU": None}

    def make(self, backend, cpus=0):
        with open(self.image + "/image.json") as file:
            append = json.load(file)["append"]
        own = self.place.root + "/cache/stepback/guest/" + IMAGE
        disk = own + "/rootfs.ext4"
        done = subprocess.run(
            [PROGRAM, "make-template", self.qemu, own + "/vmlinuz",
             own + "/initrd", disk if os.path.exists(disk) else "", append,
             "tcg", "1024", str(cpus), backend, "1", "0"],
            stderr=subprocess.PIPE, text=True,
            env=self.place.environment(**self.environment))
        if "too old for templates" in done.stderr:
            raise Skip("the image is too old for templates")
        equal((done.returncode, done.stderr), (0, ""))

    def machine(self, backend, pooled=False, **vm):
        return Machine(self, backend, pooled, **vm)

    def pool(self, *options):
        return subprocess.run(
            [PROGRAM, "pool", *options], check=True, stdout=subprocess.PIPE,
            text=True, env=self.place.environment(**self.environment)).stdout

    def wait_for_pool(self):
        assert eventually(lambda: json.loads(
            self.pool("--json"))["waiting"] == 1, 300), self.pool()


class Machine:
    def __init__(self, world, backend, pooled=False, **vm):
        self.started = time.time()
        self.agent = Agent(world.place, **world.environment)
        answer = self.agent.start(
            backend=backend, vm={"image": IMAGE, "accel": "tcg",
                                 "boot_timeout_seconds": 300, **vm})
        equal(answer["status"], "ok")
        equal([m["payload"]["message"] for m in self.agent.seen
               if m["type"] == "event.warning" and
               m["payload"].get("code") in ("template", "pool")], [])
        if not pooled:
            contains(self.agent.command_line(), " -incoming ")

    def run(self, command):
        answer, output = self.agent.execute(command)
        equal((command, answer["payload"]["exit_code"]), (command, 0))
        return output

    def facts(self):
        """What differs between machines; random numbers come first."""
        return {
            "random": self.run("head -c 64 /dev/urandom | od -An -tx1"),
            "uuid": self.run("cat /proc/sys/kernel/random/uuid"),
            "boot_id": self.run("cat /proc/sys/kernel/random/boot_id"),
            "machine_id": self.run("cat /etc/machine-id"),
            "mac": self.run("cat /sys/class/net/eth0/address"),
        }

    def check_clock(self):
        """The time was right as the machine was renewed, and is right now."""
        written = self.run("stat -c %Y /etc/machine-id")
        assert self.started - 1 <= int(written) <= time.time(), written
        least, most = -1e9, 1e9
        for _ in range(5):
            before = time.time()
            text = self.run("adjtimex 2>/dev/null | grep -e tv_sec -e tv_usec "
                            "|| date +%s.%N")
            after = time.time()
            numbers = re.findall(r"\d+", text)
            now = int(numbers[0]) + float("0." + (
                numbers[1] if len(numbers[1]) == 9 else numbers[1].zfill(6)))
            least, most = max(least, now - after), min(most, now - before)
        assert least <= SLACK and most >= -SLACK, (least, most)

    def check_undo(self, share):
        path = os.path.join(share, "kept")
        with open(path, "w") as file:
            file.write("before\n")
        equal(self.run("cat kept; echo after > kept; cat kept"),
              "before\nafter\n")
        equal(self.agent.ask("undo.rollback")["status"], "ok")
        with open(path) as file:
            equal(file.read(), "before\n")
        equal(self.run("cat kept"), "before\n")

    def end(self):
        equal(self.agent.close(), 0)


@test
def machines_of_a_template_differ(place):
    """machines of a template and of the pool share no random number, id or time"""
    world = World(place)
    world.make("virtiofs")
    world.pool("--size=1", "--image=" + IMAGE, "--accel=tcg")
    facts = []
    for pooled in (False, False, True):
        if pooled:
            world.wait_for_pool()
        machine = world.machine("virtiofs", pooled, pool=pooled)
        if pooled:
            equal(json.loads(world.pool("--json"))["taken"], 1)
            world.pool("--size=0")
        facts.append(machine.facts())
        # As in a machine that has booted.
        equal(machine.run("hostname"), "stepback\n")
        machine.check_clock()
        machine.check_undo(place.share)
        contains(machine.run("busybox ip -4 addr show dev eth0"), "inet 10.0.2.15")
        contains(machine.run("busybox ping -c 1 -w 60 10.0.2.2"),
                 "1 packets received")
        equal(machine.run("cat /etc/resolv.conf"), "nameserver 10.0.2.3\n")
        machine.end()
    for name in facts[0]:
        equal((name, len({fact[name] for fact in facts})), (name, len(facts)))
    assert all(re.fullmatch("[0-9a-f]{32}\n", fact["machine_id"])
               for fact in facts), facts
    shutil.rmtree(place.runtime + "/stepback", ignore_errors=True)
    assert eventually(lambda: not place.processes(makers=True), 100)
    equal((place.sessions(), place.left()), ([], []))


@test
def over_9p(place):
    """commands and undo work over 9P with four processors, also from the pool"""
    world = World(place)
    world.make("9p", cpus=4)
    world.pool("--size=1", "--image=" + IMAGE, "--accel=tcg", "--backend=9p",
               "--cpus=4")
    for pooled in (False, True):
        if pooled:
            world.wait_for_pool()
        machine = world.machine("9p", pooled, pool=pooled, cpus=4)
        equal(json.loads(world.pool("--json"))["taken"], int(pooled))
        # On each of them.
        equal(machine.run("for i in 0 1 2 3; do taskset $((1 << i)) "
                          "sh -c 'kill -0 $$ && echo $0' $i; done"),
              "0\n1\n2\n3\n")
        machine.check_undo(place.share)
        machine.end()
    world.pool("--size=0")


main()
