#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits of local sandboxes. What this host cannot limit is refused if it was
asked for; vm-local-limits.py exhausts them, on a kernel that has them all."""
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import LOCAL, call, cgroup_of, controllers, give, need, run  # noqa: E402
from sandbox_case import pid_of, sandbox_test  # noqa: E402
from stdio_client import (Agent, Skip, contains, equal,  # noqa: E402
                          eventually, main)


def up(place, *options):
    """A sandbox's name and its cgroup."""
    need()
    status, out, err = call(place, "up", *LOCAL, "--no-network", *options)
    equal((status, err if status else ""), (0, ""))
    name = out.strip()
    cgroup = cgroup_of(pid_of(place, name))
    if not cgroup:
        raise Skip("there is no cgroup version 2 here")
    return name, cgroup


def processes(cgroup):
    with open(cgroup + "/sandbox/cgroup.procs") as file:
        return file.read().split()


@sandbox_test
def whole(place):
    """all processes of a sandbox are in its cgroup, which ends with it"""
    name, cgroup = up(place)
    call(place, "exec", "-d", name, "--", "sh", "-c", "setsid sleep 1000 & sleep 1000")
    assert eventually(lambda: len(processes(cgroup)) >= 5, 20), processes(cgroup)
    # The supervisor and its file servers are not.
    assert str(pid_of(place, name)) not in processes(cgroup)
    for pid in processes(cgroup):
        with open("/proc/%s/cmdline" % pid, "rb") as file:
            assert b"virtiofsd" not in file.read()
    equal(call(place, "stop", name)[0], 0)
    assert not os.path.exists(cgroup)


@sandbox_test
def hidden(place):
    """a sandbox sees its cgroup as the root, and no file of it"""
    name = up(place)[0]
    out = call(place, "exec", name, "--", "sh", "-c",
               "grep ^0:: /proc/self/cgroup; ls -A /sys 2>/dev/null; grep cgroup "
               "/proc/self/mounts")[1]
    equal(out, "0::/\n")
    equal(call(place, "stop", name)[0], 0)


@sandbox_test
def killed(place):
    """prune, or the next start, removes the cgroup of a killed supervisor"""
    for way in (("prune", "--force"), ("run", *LOCAL, "--no-network", "--new", "true")):
        name, cgroup = up(place)
        os.kill(pid_of(place, name), signal.SIGKILL)
        assert eventually(lambda: '"running"' not in call(
            place, "ps", "-a", "--json")[1], 20)
        # Another sandbox that starts here may have removed it already.
        equal(call(place, *way)[0], 0)
        assert not os.path.exists(cgroup)
        call(place, "rm", name)


@sandbox_test
def kept(place):
    """the next start leaves the cgroup of a running sandbox alone"""
    name, cgroup = up(place)
    equal(run(place, "true", options=("--no-network", "--new", "--undo-dir",
                                      place.root + "/other-log"))[0] in (0, 125), True)
    call(place, "prune", "--force")
    equal(call(place, "exec", name, "--", "echo", "here")[1], "here\n")
    assert os.path.exists(cgroup)
    equal(call(place, "stop", name)[0], 0)


def refused(place, *parts, **more):
    for option in ("--memory=512", "--cpus=1"):
        status, _, err = run(place, "true", options=("--no-network", option), **more)
        equal((option, status), (option, 125))
        for part in (option.split("=")[0] + ": local isolation cannot limit it",
                     "or omit the option, or its line in config.ini", *parts):
            contains(err, part)


@sandbox_test
def asked(place):
    """a limit that was asked for and cannot be had is an error; the default is not"""
    name, cgroup = up(place)
    found = controllers(cgroup)
    call(place, "stop", name)
    if "memory" in found:
        raise Skip("this host has all limits")
    refused(place, "cgroup_no_v1=all")
    agent = Agent(place, STEPBACK_QEMU=None)
    equal(agent.error("session.start", isolation="local", vm={"memory_mb": 512},
                      working_directories=[{"path": place.share}])[0], 2011)
    agent.close()
    equal(run(place, "true")[0], 0)
    out = call(place, "doctor")[1]
    contains(out, "local isolation does not limit memory, processors, the number of "
                  "processes: ")


@sandbox_test
def as_user(place):
    """an ordinary user who may make no cgroup gets no limit, and an error if one
    was asked for"""
    need()
    give(place)
    refused(place, user=True)
    equal(run(place, "true", user=True)[0], 0)


@sandbox_test
def read_only(place):
    """where the cgroups cannot be written, no limit is taken for granted"""
    need()
    within = ("unshare", "-m", "sh", "-c",
              'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh")
    refused(place, "cgroup version 2 is not mounted", wrapper=within)
    equal(run(place, "true", wrapper=within)[0], 0)


main()
