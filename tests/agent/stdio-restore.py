#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""undo.restore: undo by path, over the API and MCP, with real commands in
folders that are mounted on the host."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import call  # noqa: E402
from mcp_client import Server, read, write  # noqa: E402
from stdio_client import (contains, done, equal, main,  # noqa: E402
                          open_session, test)


@test
def paths_alone(place):
    """what is named is restored by a new step, and all else stays"""
    agent = open_session(place)
    done(agent, "echo one > f; echo two > g; mkdir d; echo three > d/h")
    done(agent, "echo 1 > f; echo 2 > g; rm -r d; printf x > $(printf 'o\\377')")
    answer = agent.ask("undo.restore", paths=["f", "d"], dry_run=True)
    report, = answer["payload"]["steps"]
    equal(sorted((c["path"], c["change"]) for c in report["changes"]),
          [("d", "created"), ("d/h", "created"), ("f", "modified")])
    equal(read(place, "f"), b"1\n")
    report, = agent.ask("undo.restore",
                        paths=["f", "d"])["payload"]["steps"]
    equal((report["step_id"], report["type"],
           report["directories"][0]["directory"]), (3, "api",
                                                     "share"))
    event = [m["payload"] for m in agent.seen
             if m["type"] == "event.step_completed"][-1]
    equal(event, report)
    equal((read(place, "f"), read(place, "g"),
           read(place, "d/h")), (b"one\n", b"2\n", b"three\n"))
    # A name that is not UTF-8 is an object, as in every list.
    agent.ask("undo.restore", step_id=2,
              paths=[{"path": "b/8=", "encoding": "base64"}])
    equal(sorted(os.listdir(place.share)), ["d", "f", "g"])
    done(agent, "echo more > m")
    answer = agent.ask("undo.rollback", steps=3)
    equal([s["step_id"] for s in answer["payload"]["steps"]], [5, 4, 3])
    equal((read(place, "f"), len(os.listdir(place.share))), (b"1\n", 3))
    equal(agent.ask("undo.redo", steps=2)["status"], "ok")
    equal(read(place, "f"), b"one\n")
    equal(agent.close(), 0)


@test
def refusals(place):
    """an error says which path, and what was wrong with the request"""
    agent = open_session(place)
    equal(agent.error("undo.restore", paths=["f"])[0], 3000)
    done(agent, "echo one > f")
    for code, fields in ((4001, {"paths": ["none"]}),
                         (4000, {"paths": ["../f"]}),
                         (1004, {"paths": []}), (1004, {}),
                         (1004, {"paths": [3]}), (1004, {"paths": "f"}),
                         (1004, {"paths": ["f"], "steps": 1, "step_id": 1}),
                         (1004, {"paths": ["f"], "path": "f"}),
                         (1004, {"paths": ["f"], "dry_run": 1})):
        equal((fields, agent.error("undo.restore", **fields)[0]),
              (fields, code))
    answer = agent.ask("undo.restore", paths=["f"])["payload"]
    equal(len(answer["steps"]), 1)
    equal(os.listdir(place.share), [])
    equal(agent.close(), 0)


@test
def several_folders(place):
    """paths are of the folder that is named, or of the first"""
    agent = open_session(place, "a", "b")
    done(agent, "echo one > f; echo two > /mnt/working/1/f")
    agent.ask("undo.restore", paths=["f"], directory="b")
    equal([os.listdir(place.root + "/" + name) for name in "ab"], [["f"], []])
    agent.ask("undo.restore", paths=["f"], step_id=1)
    equal([os.listdir(place.root + "/" + name) for name in "ab"], [[], []])
    equal([s["step_id"] for s in
           agent.ask("undo.rollback", steps=3)["payload"]["steps"]], [3, 2, 1])
    equal(agent.close(), 0)


@test
def from_the_command_line(place):
    """what a user restores in a terminal is a step of the running session"""
    agent = open_session(place)
    done(agent, "echo one > f; echo two > g")
    status, out, err = call(place, "undo", "-C", place.share, "--",
                            place.share + "/f")
    equal((status, err), (0, ""))
    event = agent.event("event.history_changed")
    equal((event["operation"], [s["step_id"] for s in event["steps"]]),
          ("restore", [2]))
    # Its id is used up.
    equal(done(agent, "echo three > h")["step_id"], 3)
    equal([s["step_id"] for s in
           agent.ask("undo.history")["payload"]["steps"]], [3, 2, 1])
    agent.ask("undo.rollback", steps=2)
    equal(sorted(os.listdir(place.share)), ["f", "g"])
    equal(agent.close(), 0)


@test
def mcp(place):
    """the tool undo takes paths"""
    place.mounting()
    server = Server(place)
    client = server.client
    write(place, "f", b"old")
    client.tool("execute_command", command="sh echo new > f; echo x > g")
    step, = client.tool("undo", paths=["f"])["steps"]
    equal((step["step_id"], [c["path"] for c in step["changes"]]), (2, ["f"]))
    equal((read(place, "f"), read(place, "g")),
          (b"old", b"x\n"))
    contains(client.refusal("undo", paths=["none"]), "none: neither existed")
    contains(client.refusal("undo", paths=[]), "paths")
    contains(client.refusal("undo", paths="f"), "paths")
    client.tool("undo")
    equal(read(place, "f"), b"new\n")
    equal(client.tool("undo", paths=["f"], step_id=1)["warnings"], [])
    equal(server.close(), 0)


main()
