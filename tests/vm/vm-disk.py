#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A machine that keeps its disk, for real: what it writes is there in the next
one, whether that boots or continues from a template, and gone after session.reset.

SL-03 to SL-05 of the test plan. It is skipped without QEMU, qemu-img or the
image debian, the one with a disk (STEPBACK_TEST_IMAGE names another).
"""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
from stdio_client import (Agent, Skip, contains, equal,  # noqa: E402
                          eventually, main, test)

IMAGE = os.environ.get("STEPBACK_TEST_IMAGE", "debian")
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))


def disks(place):
    return [os.path.join(base, name) for base, _, names in
            os.walk(place.root + "/state") for name in names
            if name.endswith(".qcow2")]


def output(agent, command):
    answer, text = agent.execute(command)
    assert answer["status"] == "ok", answer
    return text


def begin(agent, wanted):
    equal(agent.start(**wanted)["status"], "ok")
    guest_start.check(agent.process.pid, wanted["vm"])


@test
def disks_stay_and_go(place):
    """SL-03 to SL-05: a file in the machine outlives a boot, and no reset"""
    disk = os.path.join(CACHE, "stepback/guest", IMAGE, "rootfs.ext4")
    if not (shutil.which("qemu-system-x86_64") and shutil.which("qemu-img") and
            os.path.exists(disk)):
        raise Skip("there is no QEMU, no qemu-img or no image with a disk")
    agent = Agent(place, STEPBACK_QEMU=None, XDG_CACHE_HOME=CACHE)
    image = os.stat(disk).st_mtime_ns
    wanted = {"vm": guest_start.plan(agent.env, IMAGE, network=False,
                                     keeps_disk=True),
              "vm_mode": "persistent", "network_policy": "disabled"}
    begin(agent, wanted)
    output(agent, "echo kept > /root/mark")
    agent.ask("session.stop")
    # A boot changes the disk after a template was made.
    begin(agent, dict(wanted, vm=dict(wanted["vm"], template=False)))
    equal(output(agent, "cat /root/mark"), "kept\n")
    output(agent, "cp -a /usr/share/perl5 /root/tree; echo more >> /root/mark; "
           "rm /etc/shells")
    agent.ask("session.stop")
    begin(agent, wanted)
    equal(output(agent, "cat /root/mark; ls /etc/shells 2>&1; "
                 "diff -r /usr/share/perl5 /root/tree; which step"),
          "kept\nmore\nls: cannot access '/etc/shells': No such file or directory\n"
          "/usr/local/bin/step\n")
    # It was left clean: the kernel had nothing to mend.
    equal(output(agent, "dmesg | grep -ci 'recovery complete'"), "0\n")
    # A machine that is killed leaves what was on the disk.
    output(agent, "echo synced > /root/mark; sync; echo x > /root/later")
    agent.kill()
    assert eventually(lambda: not place.processes(), 20)
    agent = Agent(place, STEPBACK_QEMU=None, XDG_CACHE_HOME=CACHE)
    begin(agent, wanted)
    equal(output(agent, "cat /root/mark; dmesg | grep -c 'EXT4-fs error'"),
          "synced\n0\n")
    equal(agent.ask("session.reset")["status"], "ok")
    contains(output(agent, "cat /root/mark 2>&1; true"), "No such file")
    kept = disks(place)
    output(agent, "echo kept > /root/mark")
    agent.ask("session.stop")
    # SL-04
    vm = guest_start.plan(agent.env, IMAGE)
    equal(agent.start(vm=vm)["status"], "ok")
    guest_start.check(agent.process.pid, vm)
    # The first command waits for the network, which no start does.
    contains(output(agent, "busybox ip -4 addr show dev eth0"), "inet 10.")
    equal(output(agent, "ls /run/stepback-network-pending 2>&1 | grep -c No"),
          "1\n")
    contains(output(agent, "cat /root/mark 2>&1; true"), "No such file")
    output(agent, "echo lost > /root/mark")
    agent.ask("session.stop")
    equal((disks(place), place.sessions()), (kept, []))
    equal(agent.close(), 0)
    equal(place.left(), [])
    equal(os.stat(disk).st_mtime_ns, image)


main()
