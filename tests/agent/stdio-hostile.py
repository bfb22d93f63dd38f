#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A guest and a frontend that mean harm, or much: the agent outlives both.

Ids such as CC-02 are the test plan's. STEPBACK_HOSTILE_LINES says how many
random lines there are in all (default: 10,000).
"""
import base64
import json
import os
import random
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (Agent, equal, eventually,  # noqa: E402
                          main, test)

LINES = int(os.environ.get("STEPBACK_HOSTILE_LINES", "10000"))
FLOOD_MIB = 500
MEMORY_KIB = 64 << 10


def says(agent, *lines):
    """The outputs of a step in which the guest sends these lines."""
    mark = len(agent.seen)
    data = base64.b64encode(b"".join(line + b"\n" for line in lines)).decode()
    report = agent.ask("agent.execute", command="raw " + data)["payload"]
    equal(report["exit_code"], 0)
    return [m["payload"]["data"] for m in agent.seen[mark:]
            if m["type"] == "event.terminal_output"]


def complaints(agent):
    return [json.loads(line)["message"] for line in agent.log()
            if "from the guest ignored" in line]


GOOD = b'{"type":"output","id":ID,"stream":"stdout","data":"good"}'


@test
def malformed_messages_are_ignored(place):
    """CC-02: what is no JSON is logged, and the channel goes on"""
    agent = Agent(place)
    agent.start()
    equal(says(agent, b"not json", b"{", b"[1]", b"\xff\xfe", b'"x"', GOOD),
          ["good"])
    equal(len(complaints(agent)), 5)
    equal(agent.close(), 0)


@test
def unknown_messages_are_ignored(place):
    """CC-03: messages of unknown types are logged, and the channel goes on"""
    agent = Agent(place)
    agent.start()
    equal(says(agent, b'{"type":"nonsense"}', b'{"type":7}', b"{}",
               b'{"type":"exec","id":ID,"command":"x"}', GOOD), ["good"])
    equal(len(complaints(agent)), 4)
    equal(agent.close(), 0)


@test
def ends_of_the_copying_process_are_logged_once(place):
    """the end of the guest's process for copies is logged once, and does not
    lift the limit of complaints"""
    agent = Agent(place)
    agent.start()
    lines = [b"not json", b'{"type":"bulk_ended"}'] * 500
    equal(says(agent, *lines, GOOD), ["good"])
    equal(len(complaints(agent)), 50)
    ended = [line for line in agent.log()
             if "the guest's process for copies has ended" in line]
    equal(len(ended), 1)
    equal(agent.close(), 0)


@test
def oversized_messages_are_not_stored(place):
    """CC-04: lines over 1 MiB are refused while they come"""
    agent = Agent(place)
    agent.start()
    equal(says(agent, GOOD), ["good"])
    before = agent.memory()
    for _ in range(3):
        agent.ask("agent.execute", command="flood-line 64")
    assert agent.memory() - before < 8 << 10, (before, agent.memory())
    equal(len(complaints(agent)), 3)
    equal(says(agent, GOOD), ["good"])
    equal(agent.close(), 0)


@test
def ends_out_of_place_are_ignored(place):
    """CC-05: step_completed of a command that does not run"""
    agent = Agent(place)
    agent.start()
    equal(says(agent, b'{"type":"step_completed","id":99,"exit_code":3}',
               b'{"type":"step_completed","id":ID,"exit_code":-1}',
               b'{"type":"step_completed","id":ID,"exit_code":256}',
               b'{"type":"step_completed","exit_code":0}',
               b'{"type":"output","id":99,"stream":"stdout","data":"x"}',
               b'{"type":"error","id":99,"message":"no"}', GOOD), ["good"])
    equal(len(complaints(agent)), 6)
    equal(agent.close(), 0)


@test
def ids_given_twice_are_ignored(place):
    """CC-06: a second step_started, hello or mounted changes nothing"""
    agent = Agent(place)
    agent.start()
    equal(says(agent, b'{"type":"step_started","id":ID}',
               b'{"type":"step_started","id":ID}',
               b'{"type":"hello","version":1}',
               b'{"type":"mounted","tag":"working","status":"error"}', GOOD),
          ["good"])
    equal(says(agent, GOOD), ["good"])
    steps = [m["payload"]["step_id"] for m in agent.seen
             if m["type"] == "event.step_started"]
    equal(steps, [1, 2])
    equal(agent.close(), 0)


@test
def cancelled_guests_end(place):
    """CC-07: a command is cancelled, whatever the guest says meanwhile"""
    agent = Agent(place)
    agent.start()
    id = agent.send("agent.execute", command="sleep")
    agent.event("event.step_started")
    equal(agent.ask("agent.cancel")["payload"], {"cancelled": True})
    equal(agent.response(id)["error"]["number"], 6001)
    equal(agent.ask("agent.cancel")["payload"], {"cancelled": False})
    equal(agent.close(), 0)


@test
def babble_is_outlived(place):
    """random and mutated messages of a guest: no crash, steps go on"""
    agent = Agent(place)
    agent.start()
    for seed in range(10):
        report = agent.ask("agent.execute", command="babble %d %d" %
                           (seed, LINES // 20))["payload"]
        equal((report["exit_code"], report["step_id"]), (0, seed + 1))
    assert len(complaints(agent)) <= 50
    equal(says(agent, GOOD), ["good"])
    equal(agent.close(), 0)


def random_lines(chance, known):
    """Requests with this and that wrong in them."""
    values = [None, 0, -1, 1 << 62, "", "x", [], {}, True, 1.5, "\0", "../..",
              {"path": "/"}, [[]] * 3, "\ud83d\ude00"]
    members = ["command", "path", "steps", "force", "limit", "directory",
               "working_directories", "prompt", "safeguard_id", "action",
               "cwd", "env", "timeout_seconds", "offset", "length", "vm",
               "protocol_version", "delete_threshold", "max_step_count"]
    while True:
        request = {"type": chance.choice(known + ["x"]), "request_id": "z",
                   "payload": {key: chance.choice(values) for key in
                               chance.sample(members, chance.randrange(4))}}
        for key in chance.sample(sorted(request), chance.randrange(10) == 0):
            request[key] = chance.choice(values)
        line = bytearray(json.dumps(request).encode())
        for _ in range(chance.choice([0, 0, 1, 2, 5])):
            at = chance.randrange(len(line))
            line[at:at + chance.randrange(4)] = bytes(
                chance.randrange(256) for _ in range(chance.randrange(4)))
        yield bytes(line).replace(b"\n", b" ") + b"\n"


@test
def nonsense_is_refused(place):
    """random and mutated requests of a frontend: each is answered, no crash"""
    chance = random.Random(3)
    agent = Agent(place)
    known = [o for o in agent.ask("protocol.hello", protocol_version=1)
             ["payload"]["operations"]
             if o not in ("session.start", "session.stop", "session.reset",
                          "agent.execute", "agent.prompt")]
    agent.start()
    lines = random_lines(chance, known)
    sent = 2
    for _ in range(LINES // 2 // 50):
        batch = [next(lines) for _ in range(50)]
        agent.write(b"".join(batch))
        agent.ask("session.status")
        sent += len(batch) + 1
    # A request for access waits for a decision.
    for approval in agent.ask("approval.list")["payload"]["approvals"]:
        agent.ask("approval.decide", id=approval["id"], decision="deny")
        sent += 1
    sent += 1
    while sum(m["type"] == "response" for m in agent.seen) < sent:
        agent.next(20)
    for message in agent.seen:
        if message.get("status") == "error":
            equal(set(message["error"]), {"code", "number", "message", "data"})
    equal(agent.ask("session.status")["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def floods_are_bounded(place):
    """500 MiB of output: memory is bounded, nine of ten requests take < 100 ms"""
    agent = Agent(place)
    agent.start()
    agent.check = lambda message: None  # which takes longer than the agent
    # With sanitizers the agent is several times slower.
    plain = agent.memory() > 0
    chunks = (FLOOD_MIB if plain else FLOOD_MIB // 10) * 1024 // 32
    id = agent.send("agent.execute", command="flood %d" % chunks)
    agent.event("event.step_started")
    took, count = [], 0
    while not any(m.get("request_id") == id for m in agent.seen):
        start = time.monotonic()
        agent.ask("session.status")
        took.append(time.monotonic() - start)
        count += sum(m["type"] == "event.terminal_output" for m in agent.seen)
        agent.seen[:] = [m for m in agent.seen
                         if m["type"] != "event.terminal_output"]
        time.sleep(0.01)
    report = agent.response(id)["payload"]
    equal(count + report["dropped_output_events"], chunks)
    print("# %d requests: median %.1f ms, longest %.1f ms; memory %d KiB; "
          "%d events, %d dropped" % (
              len(took), sorted(took)[len(took) // 2] * 1000,
              max(took) * 1000, agent.memory(), count,
              report["dropped_output_events"]))
    assert agent.memory() < MEMORY_KIB
    if plain:
        assert sorted(took)[len(took) * 9 // 10] < 0.1, sorted(took)[-5:]
    equal(agent.close(), 0)


floods_are_bounded.alone = True


@test
def slow_readers_lose_no_response(place):
    """SA-09: a frontend that reads slowly gets every response"""
    agent = Agent(place, reading=False)
    ids = [agent.send("session.start", vm={"accel": "tcg"},
                      working_directories=[{"path": place.share}])]
    got = []

    def read_slowly():
        for line in agent.process.stdout:
            got.append(json.loads(line))
            if got[-1]["type"] == "event.terminal_output":
                time.sleep(0.002)

    threading.Thread(target=read_slowly, daemon=True).start()
    assert eventually(lambda: any(m.get("request_id") == ids[0]
                                  for m in list(got)), 30)
    ids.append(agent.send("agent.execute", command="flood 2000"))
    for _ in range(100):
        ids.append(agent.send("session.status"))
        time.sleep(0.005)
    assert eventually(lambda: {m.get("request_id") for m in list(got)} >=
                      set(ids), 60)
    answers = [m["request_id"] for m in got if m["type"] == "response"]
    equal(sorted(answers), sorted(ids))
    assert agent.memory() < MEMORY_KIB, agent.memory()
    equal(agent.close(), 0)


@test
def long_lines_are_refused_as_they_come(place):
    """SA-12: a line over 16 MiB is refused, and not stored"""
    agent = Agent(place)
    agent.ask("session.status")
    agent.write(b'{"type":"fs.read","request_id":"x","payload":{"path":"')
    for _ in range(200):
        agent.write(b"x" * (1 << 20))
    agent.write(b'"}}\n')
    error = agent.until(lambda m: m["type"] == "response")["error"]
    equal(error["number"], 1005)
    assert agent.memory() < MEMORY_KIB, agent.memory()
    equal(agent.ask("session.status")["payload"]["state"], "stopped")
    equal(agent.close(), 0)


main()
