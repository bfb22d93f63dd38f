#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders that are added to a running session, and removed from it.
"""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (Agent, contains, done, equal, main,  # noqa: E402
                          test)


def folder(place, name):
    path = os.path.join(place.root, name)
    os.makedirs(path, exist_ok=True)
    return path


def ok(answer):
    equal(answer["status"], "ok")
    return answer["payload"]


def labels(agent):
    return [entry["label"] for entry in agent.ask("session.status")["payload"][
        "working_directories"]]


def names(report):
    return sorted(part["directory"] for part in report["directories"])


def daemons(agent):
    return [pid for pid in agent.children() if b"--shared-dir" in
            open("/proc/%d/cmdline" % pid, "rb").read()]


@test
def a_folder_comes_and_goes(place):
    """an added folder has undo and takes part in steps, until it is removed"""
    place.mounting()
    agent = Agent(place)
    agent.start()
    two = folder(place, "two")
    added = agent.ask("folder.add", path=two)["payload"]
    equal((added["label"], added["access"], added["guest_path"]),
          ("two", "read_write", "/mnt/folders/two"))
    other = agent.ask("folder.add", path=folder(place, "three"), label="a b",
                      access="read_only")["payload"]
    equal((other["guest_path"], other["undo_dir"]), ("/mnt/folders/1", None))
    report = done(agent, "echo x >here; echo y >/mnt/folders/two/there")
    equal(names(report), ["share", "two"])
    ok(agent.ask("undo.rollback"))
    equal((os.listdir(place.share), os.listdir(two)), ([], []))
    ok(agent.ask("undo.redo"))
    equal((os.listdir(two), len(daemons(agent))), (["there"], 3))
    equal(agent.ask("folder.remove", directory="two")["payload"]["label"],
          "two")
    equal((labels(agent), len(daemons(agent))), (["share", "a b"], 2))
    # The folder that moved down is still itself.
    equal(agent.ask("fs.status", directory=1)["payload"]["directory"], "a b")
    report = done(agent, "echo z >again; echo lost >/mnt/folders/two/there; true")
    equal(names(report), ["share"])
    equal(open(two + "/there").read(), "y\n")
    ok(agent.ask("undo.rollback"))
    equal(os.listdir(place.share), ["here"])
    ok(agent.ask("folder.add", path=two))
    report = done(agent, "echo new >/mnt/folders/two/there")
    equal(names(report), ["two"])
    ok(agent.ask("undo.rollback"))
    equal(open(two + "/there").read(), "y\n")
    equal(agent.close(), 0)
    equal(place.sessions(), [])


@test
def a_folder_that_may_not_be_shared_is_refused(place):
    """folder.add and folder.remove refuse what a start refuses, and mid-step"""
    agent = Agent(place)
    equal(agent.error("folder.add", path=place.root)[0], 2000)
    agent.start(network_policy={"allow": []})
    two = folder(place, "two")
    for path in (place.share, folder(place, "share/in"), place.root,
                 place.root + "/none", place.image):
        equal(agent.error("folder.add", path=path)[0], 2002)
    equal(agent.error("folder.add", path=two, label="share")[0], 1004)
    equal(agent.error("folder.add", path="two")[0], 1004)
    equal(agent.error("folder.add", path=two, nonsense=1)[0], 1004)
    equal(agent.error("folder.remove")[0], 1003)
    equal(agent.error("folder.remove", directory="two")[0], 1004)
    contains(agent.error("folder.remove", directory=0)[1], "commands start")
    running = agent.send("agent.execute", command="wait")
    agent.first("event.step_started")
    equal(agent.error("folder.add", path=two)[0], 3006)
    agent.ask("agent.cancel")
    agent.response(running)
    for number in range(7):
        ok(agent.ask("folder.add", path=folder(place, "more%d" % number)))
    equal(agent.error("folder.add", path=two)[0], 2006)
    equal((len(labels(agent)), len(daemons(agent))), (8, 8))
    equal(agent.close(), 0)


@test
def a_folder_that_cannot_be_plugged_leaves_nothing(place):
    """QEMU or the guest refuses a folder: an error, and the session goes on"""
    two = folder(place, "two")
    for mode, text in (("noplug", "the bus is full"),
                       ("nosee", "is there a device")):
        agent = Agent(place, STEPBACK_FAKE_QEMU=mode)
        agent.start()
        number, message = agent.error("folder.add", path=two)[:2]
        equal(number, 2007)
        contains(message, text)
        equal((labels(agent), len(daemons(agent))), (["share"], 1))
        equal(agent.ask("agent.execute", command="echo x")["status"], "ok")
        equal(agent.close(), 0)
    # A file server that cannot start: its log's place is taken.
    shutil.rmtree(place.root + "/.stepback/.git/two")
    open(folder(place, ".stepback/.git/two") + "/other", "w").close()
    agent = Agent(place)
    agent.start(working_directories=[{"path": place.share,
                                      "access": "read_only"}])
    equal(agent.error("folder.add", path=two)[0], 2007)
    equal((labels(agent), len(daemons(agent))), (["share"], 1))
    equal(agent.close(), 0)


@test
def a_folder_in_use_is_kept_unless_forced(place):
    """folder.remove of a folder in use: busy, and done with "force\""""
    agent = Agent(place, STEPBACK_FAKE_QEMU="busy")
    agent.start()
    two = folder(place, "two")
    ok(agent.ask("folder.add", path=two))
    number, message = agent.error("folder.remove", directory="two")[:2]
    equal(number, 6000)
    contains(message, "force")
    equal(labels(agent), ["share", "two"])
    ok(agent.ask("folder.remove", directory=two, force=True))
    equal((labels(agent), len(daemons(agent))), (["share"], 1))
    equal(agent.close(), 0)


@test
def a_device_that_the_guest_keeps_loses_its_slot(place):
    """a guest that does not release a device: the folder goes, after a limit"""
    agent = Agent(place, STEPBACK_FAKE_QEMU="nounplug")
    agent.start()
    two = folder(place, "two")
    ok(agent.ask("folder.add", path=two))
    ok(agent.ask("folder.remove", directory="two"))
    contains(agent.first("event.warning")["message"], "stays plugged in")
    equal((labels(agent), len(daemons(agent))), (["share"], 1))
    ok(agent.ask("folder.add", path=two))
    equal(agent.close(), 0)


@test
def an_old_image_is_named(place):
    """an image whose shim cannot wait for a folder: an error with the remedy"""
    agent = Agent(place, STEPBACK_FAKE_QEMU="unplugged")
    number, message = agent.error(
        "session.start", working_directories=[{"path": place.share}])[:2]
    equal(number, 2003)
    contains(message, "stepback image build")
    equal(agent.close(), 0)


main(mounts=True)
