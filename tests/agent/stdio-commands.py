#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands through the STDIO API, over the real daemon and a fake QEMU.

Ids such as SA-01 are the test plan's.
"""
import base64
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import Agent, equal, main, test  # noqa: E402


@test
def commands_stream_and_report(place):
    """SA-06: events come between responses; output, bytes, env, cwd"""
    agent = Agent(place)
    agent.start()
    id = agent.send("agent.execute", command="echo hello")
    equal(agent.event("event.step_started"),
          {"step_id": 1, "type": "command", "command": "echo hello"})
    equal(agent.event("event.terminal_output"),
          {"step_id": 1, "stream": "stdout", "data": "hello\n"})
    equal(agent.event("event.step_completed")["dropped_output_events"], 0)
    equal(agent.response(id)["payload"]["step_id"], 1)
    agent.send("agent.execute", command="bytes")
    equal(agent.event("event.terminal_output"),
          {"step_id": 2, "stream": "stderr", "data": "/wA=",
           "encoding": "base64"})
    agent.event("event.step_completed")
    agent.send("agent.execute", command="show", cwd="sub", env={"A": "b"})
    message = json.loads(agent.event("event.terminal_output")["data"])
    equal((message["cwd"], message["env"]), ("/mnt/working/sub", {"A": "b"}))
    agent.event("event.step_completed")
    equal(agent.error("agent.execute", command="refuse")[0], 1004)
    equal(agent.error("agent.execute", command="x" * (2 << 20))[0], 4003)
    equal(agent.close(), 0)


def base64_of(key, value):
    return {key: base64.b64encode(value).decode(), "encoding": "base64"}


@test
def a_command_may_be_of_bytes(place):
    """command, cwd and env that are not UTF-8 are objects, and so is the answer"""
    agent = Agent(place)
    agent.start()
    text = base64_of("command", b"show \xff")
    words = {"cwd": base64_of("path", b"\xfe"),
             "env": {"A": base64_of("value", b"\xfd=\xc3"), "B": "b"}}
    agent.send("agent.execute", command=text, **words)
    equal(agent.event("event.step_started"),
          dict(text, step_id=1, type="command"))
    message = json.loads(agent.event("event.terminal_output")["data"])
    equal([os.fsencode(value) for value in
           (message["command"], message["cwd"], message["env"]["A"])],
          [b"show \xff", b"/mnt/working/\xfe", b"\xfd=\xc3"])
    equal(message["env"]["B"], "b")
    report = agent.event("event.step_completed")
    equal((report["command"], report["encoding"]),
          (text["command"], "base64"))
    for name, value in (
            ("command", {"command": "?", "encoding": "base64"}),
            ("command", {"command": "eA=="}),
            ("command", {"command": "eA==", "encoding": "hex"}),
            ("command", {"path": "eA==", "encoding": "base64"}),
            ("command", base64_of("command", b"a\0b")),
            ("cwd", base64_of("path", b"a\0b")),
            ("env", {"A": base64_of("path", b"\xff")})):
        number, message = agent.error("agent.execute",
                                      **{"command": "exit 0", name: value})
        equal((number, name in message), (1004, True))
    equal(agent.close(), 0)
    agent = Agent(place, STEPBACK_FAKE_QEMU="noinput")
    agent.start()
    equal(agent.error("agent.execute", command=text)[0], 2003)
    equal(agent.ask("agent.execute", command="exit 3")["payload"]["exit_code"],
          3)
    equal(agent.close(), 0)


@test
def folders_may_be_of_bytes(place):
    """path, undo_dir and kernel that are not UTF-8 are objects"""
    odd = os.fsencode(place.root) + b"/\xff"
    os.makedirs(odd + b"/share")
    agent = Agent(place)
    folder, = agent.start(
        working_directories=[{"path": base64_of("path", odd + b"/share"),
                              "undo_dir": base64_of("path", odd + b"/log")}],
        vm={"kernel": base64_of("path", odd)})["payload"][
            "working_directories"]
    equal((folder["path"], folder["undo_dir"], folder["label"]),
          (None, None, "share"))
    equal(os.path.exists(odd + b"/log/lock"), True)
    equal(agent.close(), 0)
    agent = Agent(place)
    for path in ({"path": "?", "encoding": "base64"}, {"path": "/tmp"},
                 base64_of("path", b"relative\xff")):
        number, message = agent.error("session.start",
                                      working_directories=[{"path": path}])
        equal((number, "path" in message), (1004, True))
    equal(agent.close(), 0)


@test
def a_prompt_goes_to_the_agent_command(place):
    """agent.prompt: the prompt is input, what comes is event.agent_output"""
    agent = Agent(place)
    agent.start()
    equal(agent.error("agent.prompt", prompt="x")[0], 1004)
    agent.ask("session.stop")
    agent.start(agent_command="show")
    equal(agent.ask("agent.prompt", prompt="do \u00e4 it")["payload"]
          ["exit_code"], 0)
    output, = (m["payload"] for m in agent.seen
               if m["type"] == "event.agent_output")
    message = json.loads(output["data"])
    equal((message["command"], message["input"]), ("show", "do \u00e4 it"))
    equal(agent.ask("session.reset")["payload"]["state"], "running")
    equal(agent.error("session.reset", working_directories=[
        {"path": place.share}])[0], 2001)
    equal(agent.error("agent.prompt", prompt="x" * (1 << 20))[0], 4003)
    equal(agent.close(), 0)
    agent = Agent(place, STEPBACK_FAKE_QEMU="noinput")
    agent.start(agent_command="show")
    equal(agent.error("agent.prompt", prompt="x")[0], 2003)
    equal(agent.close(), 0)


@test
def what_is_wanted_of_undo_is_checked(place):
    """undo and safeguard of session.start: the daemon's refusal ends it"""
    agent = Agent(place)
    agent.start(undo={"max_step_count": 3}, safeguard={"delete_threshold": 5})
    equal(agent.ask("safeguard.configure")["payload"]["delete_threshold"], 5)
    agent.ask("session.stop")
    for wrong in ({"undo": {"max_step_count": "x"}}, {"undo": 3},
                  {"safeguard": {"timeout_seconds": -1}}):
        equal(agent.start(**wrong)["error"]["number"], 1004)
        equal(agent.ask("session.status")["payload"]["state"], "stopped")
        equal(agent.children(), [])
    equal(agent.close(), 0)


@test
def one_command_at_a_time(place):
    """while a command runs: 6000, 3006; cancel 6001, timeout 6002"""
    agent = Agent(place)
    agent.start()
    id = agent.send("agent.execute", command="sleep")
    agent.event("event.step_started")
    equal(agent.error("agent.execute", command="sleep")[0], 6000)
    equal(agent.error("undo.rollback")[0], 3006)
    equal(agent.error("undo.history")[0], 3006)
    equal(agent.ask("session.status")["payload"]["running_step"], 1)
    equal(agent.ask("agent.cancel")["payload"], {"cancelled": True})
    error = agent.response(id)["error"]
    equal((error["number"], error["data"]["step_id"]), (6001, 1))
    completed = [m for m in agent.seen if m["type"] == "event.step_completed"]
    equal((completed[0]["payload"]["exit_code"],
           completed[0]["payload"]["signal"]), (143, 15))
    error = agent.ask("agent.execute", command="sleep",
                      timeout_seconds=1)["error"]
    equal((error["number"], error["data"]["step_id"]), (6002, 2))
    id = agent.send("agent.execute", command="sleep")
    agent.event("event.step_started")
    agent.ask("session.stop")
    equal(agent.response(id)["error"]["number"], 6001)
    equal(agent.close(), 0)


@test
def why_a_command_was_stopped_counts(place):
    """cancelled or too slow is what it was, though the guest refuses to end it"""
    agent = Agent(place, STEPBACK_FAKE_QEMU="late")
    agent.start()
    id = agent.send("agent.execute", command="sleep")
    agent.event("event.step_started")
    agent.ask("agent.cancel")
    equal(agent.response(id)["error"]["number"], 6001)
    equal(agent.error("agent.execute", command="sleep", timeout_seconds=1)[0],
          6002)
    equal(agent.error("agent.execute", command="refuse")[0], 1004)
    equal(agent.close(), 0)


main()
