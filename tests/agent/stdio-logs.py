#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent and its daemons write to standard error.

Ids such as OB-01 are the test plan's.
"""
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (PROGRAM, Agent, equal, eventually,  # noqa: E402
                          main, test)

COMPONENTS = {"fs_backend", "control", "undo", "file_watcher", "stdio_api",
              "mcp", "session", "safeguard"}
LEVELS = ["error", "warn", "info", "debug", "trace"]
SECRET = "a-word-that-only-a-message-has"


def session(place, level, requests=()):
    """The log of a session with some life in it."""
    agent = Agent(place, level=level)
    agent.start()
    agent.ask("agent.execute", command="echo " + SECRET)
    agent.ask("agent.execute", command="misbehave")
    agent.error("no.such")
    agent.error("undo.rollback")
    agent.write(b"%% not json " + SECRET.encode() + b"\n")
    agent.ask("session.status")
    for type, payload in requests:
        agent.ask(type, **payload)
    equal(agent.close(), 0)
    return agent, [json.loads(line) for line in agent.log()]


@test
def every_line_is_json(place):
    """OB-01: each line has timestamp, level, component and message"""
    agent, lines = session(place, "trace")
    assert len(lines) > 10
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
                            line["timestamp"]), line
        assert line["level"] in LEVELS, line
        assert line["component"] in COMPONENTS, line
        assert isinstance(line["message"], str) and line["message"], line
    # The daemon's lines are among them.
    assert any(line.get("program") == "stepback-virtiofsd" for line in lines)


@test
def requests_are_told(place):
    """OB-02: what is said of a request has its request_id"""
    agent, lines = session(place, "info")
    for id, request in agent.requests.items():
        mine = [line["message"] for line in lines
                if line.get("request_id") == id]
        assert mine and mine[0] == "request " + request["type"], (id, mine)
        answer = agent.response(id)
        word = "answered" if answer["status"] == "ok" else "refused"
        assert any(text.startswith(word) for text in mine), (id, mine)


@test
def steps_are_told(place):
    """OB-03: what is said while a step is open has its step_id"""
    agent, lines = session(place, "info")
    for step in (1, 2):
        mine = [line for line in lines if line.get("step_id") == step]
        assert mine[0]["message"].startswith("a command is starting"), mine
        assert mine[-1]["message"].startswith("the command is over"), mine
        first, last = lines.index(mine[0]), lines.index(mine[-1])
        assert all("step_id" in line for line in lines[first:last + 1])
    # The guest's nonsense came while the second step was open.
    assert any("from the guest ignored" in line["message"] and
               line["step_id"] == 2 for line in lines)


@test
def messages_stay_out(place):
    """OB-04: no message is in the log, the frontend's or the guest's"""
    agent, lines = session(place, "trace")
    for text in agent.log():
        assert SECRET not in text, text
        assert '\\"type\\"' not in text, text
        assert '\\"request_id\\"' not in text, text
        assert all(31 < ord(c) < 127 for c in text), text


@test
def levels_are_kept(place):
    """OB-05: --log-level keeps out what is below it, in the daemon as well"""
    counts = []
    for level in LEVELS:
        agent, lines = session(place, level)
        allowed = LEVELS[:LEVELS.index(level) + 1]
        equal({line["level"] for line in lines} - set(allowed), set())
        counts.append(len(lines))
    equal(counts, sorted(counts))
    equal(counts[0], 0)
    assert counts[1] < counts[2] <= counts[3] <= counts[4], counts


@test
def counters_are_told(place):
    """session.status and SIGUSR1 give counters"""
    agent = Agent(place)
    agent.start()
    agent.ask("agent.execute", command="echo hello")
    agent.ask("agent.execute", command="misbehave")
    agent.error("no.such")
    counters = agent.ask("session.status")["payload"]["counters"]
    equal((counters["requests"], counters["refused"], counters["steps"]),
          (5, 1, 2))
    assert counters["output_bytes"] >= 6 and counters["events"] >= 6
    assert counters["guest_messages_ignored"] >= 8
    agent.process.send_signal(signal.SIGUSR1)
    assert eventually(lambda: any('"counters"' in line
                                  for line in agent.log()), 5)
    line, = (line for line in map(json.loads, agent.log())
             if line["message"] == "counters")
    equal((line["requests"], line["steps"]), (5, 2))
    equal(agent.close(), 0)


def unread_log(place, program, reader, writer):
    """Run a program whose log is not read: return exit status and log."""
    process = subprocess.Popen(
        [*program, "--log-level=trace"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=writer, env=place.environment())
    with process.stdin as into, process.stdout as out:
        for number in range(2000):
            into.write(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number
                       if "mcp" in program else
                       b'{"type":"session.status","request_id":"%d"}\n' % number)
            into.flush()
            if not select.select([out], [], [], 20)[0]:
                process.kill()
                raise AssertionError("no answer to request %d" % number)
            os.read(out.fileno(), 65536)
        process.send_signal(signal.SIGTERM)
        status = process.wait(20)
    os.set_blocking(reader, False)
    data = b""
    while chunk := os.read(reader, 65536):
        data += chunk
        if not select.select([reader], [], [], 0)[0]:
            break
    return status, data.decode().splitlines()


@test
def an_unread_log_stops_nothing(place):
    """a frontend that does not read stderr gets replies and a clean end"""
    for program in ([PROGRAM, "agent"], [PROGRAM, "mcp", "-C", place.share]):
        reader, writer = os.pipe()
        status, lines = unread_log(place, program, reader, writer)
        equal((status, os.get_blocking(writer)), (0, True))
        assert len([json.loads(line) for line in lines]) > 20
        os.close(reader)
        os.close(writer)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            equal(unread_log(place, program, ours.fileno(), theirs.fileno())[0],
                  0)


main()
