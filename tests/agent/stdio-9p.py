#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders over 9P: what the agent does about mounts and daemons that get lost.
"""
import json
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (Agent, contains, equal, eventually,  # noqa: E402
                          main, test)


def mounts(agent):
    id = agent.send("agent.execute", command="mounts")
    agent.response(id)
    output, = (m["payload"]["data"] for m in agent.seen
               if m["type"] == "event.terminal_output" and
               m["payload"]["data"].startswith("[["))
    agent.seen.clear()
    return json.loads(output)


@test
def folders_are_served_over_9p(place):
    """the backend 9p: its daemon, a port for each folder, no shared memory"""
    agent = Agent(place)
    other = place.root + "/other"
    os.mkdir(other)
    started = agent.start(backend="9p", working_directories=[
        {"path": place.share}, {"path": other, "access": "read_only"}])
    equal(started["payload"]["backend"], "9p")
    commands = [open("/proc/%d/cmdline" % pid, "rb").read().split(b"\0")
                for pid in agent.children()]
    daemons = [words for words in commands
               if words[0].endswith(b"/stepback-9pd")]
    equal(len(daemons), 2)
    equal(sorted(b"--readonly" in words for words in daemons), [False, True])
    argv, asked, reconnects, plugs = mounts(agent)
    equal([word for word in argv if "memory-backend" in word], [])
    for index, folder in enumerate(started["payload"]["working_directories"]):
        equal((plugs[index]["driver"], plugs[index]["chardev"],
               plugs[index]["name"]),
              ("virtserialport", "fs%d" % index, "9p." + folder["tag"]))
        equal((asked[index]["fstype"], asked[index]["tag"],
               asked[index]["read_only"]), ("9p", folder["tag"], index == 1))
    equal(reconnects, [])
    equal(agent.ask("session.stop")["payload"], {"state": "stopped"})
    equal((agent.children(), place.sessions()), ([], []))
    equal(agent.close(), 0)


def lose_for_good(agent):
    """Break the folder's connection until it is no longer repaired."""
    for _ in range(16):
        wanted = len(mounts(agent)[1]) + 1
        if agent.ask("agent.execute",
                     command="unmounted working")["status"] != "ok":
            break
        if not eventually(lambda: agent.ask("session.status")["payload"][
                "state"] == "error" or len(mounts(agent)[1]) == wanted, 10):
            break


@test
def a_lost_9p_mount_is_made_anew(place):
    """a lost 9P connection: a warning and a new one; too often: an error"""
    agent = Agent(place)
    agent.start(backend="9p")
    equal(agent.ask("agent.execute", command="unmounted elsewhere")["status"],
          "ok")
    agent.ask("agent.execute", command="unmounted working")
    warning = agent.first("event.warning")
    equal(warning["code"], "share_lost")
    contains(warning["message"], "pump trouble")
    assert eventually(lambda: len(mounts(agent)[1]) == 2, 10)
    _, asked, reconnects, _ = mounts(agent)
    equal((len(asked), asked[1]), (2, asked[0]))
    equal([change["id"] for change in reconnects], ["fs0"])
    contains(reconnects[0]["backend"]["data"]["addr"]["data"]["path"],
             "fs0.sock")
    lose_for_good(agent)
    error = agent.first("event.error")
    equal(error["number"], 2007)
    contains(error["message"], "breaks repeatedly")
    equal(agent.close(), 0)


@test
def a_lost_folder_of_any_name_is_told(place):
    """a folder name that is not UTF-8: its warning and error are reported"""
    folder = os.fsencode(place.root) + b"/\xff"
    os.mkdir(folder)
    os.symlink(folder, place.root + "/link")
    agent = Agent(place)
    agent.start(backend="9p",
                working_directories=[{"path": place.root + "/link"}])
    agent.ask("agent.execute", command="unmounted working")
    contains(agent.first("event.warning")["message"], "pump trouble")
    lose_for_good(agent)
    contains(agent.first("event.error")["message"], "breaks repeatedly")
    equal(agent.close(), 0)


@test
def a_dead_9p_daemon_is_told(place):
    """the 9P daemon dies, or is ended: event.error and state error"""
    agent = Agent(place)
    for number in (signal.SIGKILL, signal.SIGTERM):
        agent.seen.clear()
        agent.start(backend="9p")
        pid, = (pid for pid in agent.children() if b"--shared-dir" in
                open("/proc/%d/cmdline" % pid, "rb").read())
        os.kill(pid, number)
        equal(agent.first("event.error")["number"], 2007)
        equal(agent.ask("session.status")["payload"]["state"], "error")
        equal(agent.ask("session.stop")["payload"], {"state": "stopped"})
        equal((agent.children(), place.sessions()), ([], []))
    equal(agent.close(), 0)


main()
