#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A guest whose kernel crashes or hangs as it starts, over a fake QEMU."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import Agent, contains, equal, main, test  # noqa: E402


def start(place, mode, seconds=120, accel="tcg", **env):
    agent = Agent(place, STEPBACK_FAKE_QEMU=mode, **env)
    answer = agent.start(vm={"accel": accel, "boot_timeout_seconds": seconds})
    return agent, answer, [m["payload"]["message"] for m in agent.seen
                           if m["type"] == "event.warning" and
                           "restarting" in m["payload"]["message"]]


def once(place):
    """The environment in which the first start alone fails."""
    return {"STEPBACK_TEST_STARTS": place.root + "/starts"}


def starts(place):
    with open(place.root + "/starts") as file:
        return len(file.readlines())


def works(agent):
    equal(agent.ask("agent.execute", command="exit 0")["payload"]["exit_code"], 0)
    equal(agent.close(), 0)


@test
def a_crash_is_tried_again(place):
    """a kernel that panics as it starts is started again, with its trace logged"""
    agent, answer, warnings = start(place, "panic", **once(place))
    equal((answer["status"], answer["payload"]["accel"]), ("ok", "tcg"))
    equal(warnings, ["the guest's kernel crashed as it started; "
                     "restarting it once"])
    contains("\n".join(agent.log()), "Call trace of the fake")
    works(agent)
    equal((starts(place), place.sessions()), (2, []))


@test
def a_panic_that_stays_is_tried_again(place):
    """a kernel that panics and does not reboot is started again at once"""
    agent, answer, warnings = start(place, "stuck", **once(place))
    equal(answer["status"], "ok")
    equal(warnings, ["the guest's kernel crashed as it started; "
                     "restarting it once"])
    works(agent)
    equal(starts(place), 2)


@test
def a_hang_is_tried_again(place):
    """a guest that is not up in a third of the time is started again"""
    agent, answer, warnings = start(place, "silent", 12, **once(place))
    equal(answer["status"], "ok")
    equal(warnings, ["the guest's kernel takes too long to start; "
                     "restarting it once"])
    works(agent)
    equal(starts(place), 2)


@test
def two_crashes_are_told(place):
    """a kernel that panics each time is started twice: 2003, with its console"""
    agent, answer, warnings = start(place, "panic")
    equal((answer["error"]["number"], len(warnings)), (2003, 1))
    contains(answer["error"]["message"], "Kernel panic - not syncing: fake")
    equal((agent.close(), place.sessions()), (0, []))


@test
def a_guest_that_ends_is_not_tried_again(place):
    """a guest that switches itself off, and a failing QEMU, are not started again"""
    for mode in ("off", "exit"):
        agent, answer, warnings = start(place, mode)
        equal((answer["error"]["number"], warnings), (2003, []))
        equal(agent.close(), 0)


@test
def kvm_gives_way(place):
    """a kernel that panics on KVM is not taken for one that does so on TCG"""
    agent, answer, warnings = start(place, "stuck", accel="kvm", **once(place))
    equal((answer["status"], answer["payload"]["accel"]), ("ok", "tcg"))
    equal(len(warnings), 1)
    contains(warnings[0], "with TCG")
    works(agent)
    equal(starts(place), 2)


main()
