#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The contract of the STDIO API, over the real daemon and a fake QEMU.

Ids such as SA-01 are the test plan's.
"""
import json
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (PATIENCE, Agent, contains, equal,  # noqa: E402
                          Skip, eventually, main, test)
from stdio_schema import SCHEMA, library  # noqa: E402


def ask_about_undo(agent):
    equal(agent.error("undo.rollback")[0], 3000)
    equal(agent.error("undo.redo")[0], 3007)
    equal(agent.error("undo.preview")[0], 3000)
    equal(agent.error("undo.restore", paths=["a"])[0], 3000)
    equal(agent.ask("undo.configure", max_step_count=7)["payload"], {})
    equal(agent.ask("safeguard.configure", delete_threshold=3)["payload"],
          {"delete_threshold": 3, "overwrite_file_size_threshold": None,
           "rename_over_existing": False, "timeout_seconds": 30})
    equal(agent.error("safeguard.confirm", safeguard_id="sg_1_1",
                      action="allow")[0], 5000)


def ask_about_network(agent):
    traffic = agent.ask("network.status")["payload"]
    equal(agent.ask("network.connections")["payload"]["forgotten"], 0)
    equal((traffic["network_policy"], traffic["bytes"]),
          ("open", {"from_guest": 0, "to_guest": 0}))
    equal(agent.ask("session.configure_network", network_policy="open")
          ["payload"], {"network_policy": "open"})
    equal(agent.ask("session.configure_network", network_policy={
        "allow": ["raw:BÜCHER.example:22", "10.0.0.0/8"]})["payload"],
          {"network_policy": {"allow": [
              "10.0.0.0/8", "raw:xn--bcher-kva.example:22"], "dns": False}})


@test
def every_operation_is_accepted(place):
    """SA-01, SA-05: every operation is accepted and answers its request"""
    agent = Agent(place)
    ready = agent.next()
    equal(ready["type"], "event.ready")
    equal(ready["payload"]["protocol_version"], 1)
    hello = agent.ask("protocol.hello", protocol_version=1)["payload"]
    equal(hello["protocol_version"], 1)
    for operation in ("session.reset", "agent.prompt", "undo.redo",
                      "undo.preview", "undo.restore", "undo.configure",
                      "undo.discard",
                      "fs.status", "safeguard.configure",
                      "safeguard.confirm"):
        contains(hello["operations"], operation)
    equal(agent.ask("session.status")["payload"]["state"], "stopped")
    equal(agent.ask("events.subscribe", types=["*"])["payload"], {})
    equal(agent.error("sandbox.info")[0], 4001)
    started = agent.start()["payload"]
    equal((started["state"], started["accel"], started["backend"]),
          ("running", "tcg", "virtiofs"))
    folder = started["working_directories"][0]
    equal((folder["path"], folder["label"], folder["access"]),
          (place.share, "share", "read_write"))
    equal(folder["guest_path"], "/mnt/working")
    equal(folder["undo_dir"], place.root + "/.stepback/.git/share")
    report = agent.ask("agent.execute", command="exit 5")["payload"]
    equal((report["exit_code"], report["step_id"]), (5, 1))
    for member in ("duration_ms", "undoable", "affected_paths", "changes"):
        contains(report, member)
    equal(agent.ask("agent.cancel")["payload"], {"cancelled": False})
    equal(agent.ask("undo.history")["payload"]["last_step_id"], 1)
    ask_about_undo(agent)
    status = agent.ask("fs.status", directory="share")["payload"]
    equal((status["share"], status["undo"], status["warnings"]),
          (place.share, True, []))
    equal(agent.ask("undo.discard")["payload"], {})
    equal(agent.ask("fs.list")["payload"]["entries"], [])
    open(place.share + "/a", "w").write("text")
    equal(agent.ask("fs.read", path="a")["payload"]["data"], "text")
    equal(agent.error("session.start", working_directories=[
        {"path": place.share}])[0], 2001)
    equal(agent.ask("session.stop")["payload"], {"state": "stopped"})
    equal(agent.start()["payload"]["state"], "running")
    equal(agent.ask("agent.execute", command="exit 0")["payload"]["step_id"],
          2)
    equal(agent.error("undo.diff", step_id=2)[0], 1004)
    ask_about_network(agent)
    equal(agent.error("agent.prompt", prompt="x")[0], 1004)
    # None was left out.
    equal({request["type"] for request in agent.requests.values()},
          {name for name in hello["operations"] if name != "session.reset" and
           not name.startswith(("approval.", "grant.",  # stdio-grants.py
                                "exec.",    # stdio-exec.py
                                "file.",    # stdio-copy.py
                                "folder.",  # stdio-folder-changes.py
                                "port."))})  # stdio-ports.py
    equal(agent.ask("session.reset")["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def answers_find_their_requests(place):
    """SA-05: many requests at once: each has its own answer, and one"""
    agent = Agent(place)
    agent.start()
    mark = len(agent.seen)
    long = agent.send("agent.execute", command="sleep", timeout_seconds=60)
    agent.event("event.step_started")
    files = {}
    for i in range(50):
        with open("%s/f%d" % (place.share, i), "w") as file:
            file.write("text %d" % i)
        files[agent.send("fs.read", path="f%d" % i)] = i
        agent.send("fs.status")
        agent.send("agent.execute", command="echo")  # busy
        agent.send("fs.read", path="none")
    agent.ask("agent.cancel")
    agent.response(long)
    answers = [m for m in agent.seen[mark:] if m["type"] == "response"]
    equal(sorted(m["request_id"] for m in answers),
          sorted(id for id in agent.requests if id != "r1"))
    for message in answers:
        request = agent.requests[message["request_id"]]
        if message["request_id"] in files:
            equal(message["payload"]["data"],
                  "text %d" % files[message["request_id"]])
        elif request["type"] == "agent.execute":
            equal(message["error"]["number"],
                  6001 if message["request_id"] == long else 6000)
        elif request["type"] == "fs.read":
            equal(message["error"]["number"], 4001)
    # The command that came first was answered last.
    equal(answers[-1]["request_id"], long)
    # The id is the frontend's, whatever it is.
    for id in ("", "\u00e4 \"\\", "x" * 128):
        agent.write(json.dumps({"type": "session.status", "request_id": id,
                                "payload": {}}).encode() + b"\n")
        equal(agent.until(lambda m: m["type"] == "response")["request_id"], id)
    equal(agent.close(), 0)


@test
def events_come_between_answers(place):
    """SA-06: answers come while a command's output does"""
    agent = Agent(place)
    agent.start()
    enough = place.root + "/enough"
    id = agent.send("agent.execute", command="flood-until " + enough)
    agent.event("event.terminal_output")
    others = []

    def in_order():
        return [m["type"] if m["type"] != "response" else m["request_id"]
                for m in agent.seen]

    # Whichever of the two is slower here: some of each, one after the other.
    until = time.monotonic() + PATIENCE
    while len(others) < 10 or "event.terminal_output" not in \
            in_order()[in_order().index(others[9]):]:
        assert time.monotonic() < until, in_order()
        others.append(agent.send("session.status"))
        agent.response(others[-1])
    open(enough, "w").close()
    agent.response(id)
    order = in_order()
    outputs = [i for i, what in enumerate(order)
               if what == "event.terminal_output"]
    assert outputs[0] < order.index(others[0])
    assert order.index(others[9]) < outputs[-1]
    end = order.index("event.step_completed")
    assert outputs[-1] < end and end < order.index(id)
    equal(agent.close(), 0)


@test
def bad_requests_are_refused(place):
    """SA-02, SA-04: bad requests get their error, by number and field"""
    agent = Agent(place)
    number, text = agent.error("no.such")
    equal(number, 1002)
    contains(text, "agent.execute")
    equal(agent.error("session.reset")[0], 2000)
    equal(agent.error("protocol.hello", protocol_version=99)[0], 1001)
    for wanted, field, type, payload in (
            (1003, "protocol_version", "protocol.hello", {}),
            (1003, "command", "agent.execute", {}),
            (1004, "command", "agent.execute", {"command": 7}),
            (1004, "env", "agent.execute", {"command": "x", "env": {"A": 1}}),
            (1004, "timeout_seconds", "agent.execute",
             {"command": "x", "timeout_seconds": 0}),
            (1003, "path", "fs.read", {}),
            (1004, "steps", "undo.rollback", {"steps": -1}),
            (1004, "steps", "undo.redo", {"steps": 0}),
            (1004, "force", "undo.preview", {"force": 1}),
            (1003, "prompt", "agent.prompt", {}),
            (1003, "safeguard_id", "safeguard.confirm", {"action": "deny"}),
            (1004, "action", "safeguard.confirm",
             {"safeguard_id": "x", "action": "maybe"}),
            (1004, "limit", "undo.history", {"limit": "x"}),
            (1004, "'max_steps'", "undo.configure", {"max_steps": 1}),
            (1004, "'delete_treshold'", "safeguard.configure",
             {"delete_treshold": 3}),
            (1003, "working_directories", "session.start", {}),
            (1003, "path", "session.start", {"working_directories": [{}]})):
        number, text = agent.error(type, **payload)
        equal((number, field in text), (wanted, True))
    equal(agent.close(), 0)


@test
def bad_lines_are_refused(place):
    """SA-02, SA-03: lines that are no request, or too long, get their error"""
    agent = Agent(place)
    for line, wanted, field in (
            (b'{"type":', 1000, ""), (b"[]", 1000, "JSON object"),
            (b"1", 1000, "JSON object"), (b'"x"', 1000, "JSON object"),
            (b'{"type":"session.status"}', 1003, "request_id"),
            (b'{"type":"session.status","request_id":5}', 1004, "request_id"),
            (b'{"request_id":"x"}', 1003, "type"),
            (b'{"type":"fs.list","request_id":"x","payload":3}', 1004,
             "payload"),
            (b'{"a":"' + b"x" * (17 << 20) + b'"}', 1005, "")):
        agent.write(line + b"\n")
        error = agent.until(lambda m: m["type"] == "response")["error"]
        equal(error["number"], wanted)
        contains(error["message"], field)
    for head, tail, id in (
            (b'{"request_id":"a","b":"', b'"}', "a"),
            (b'{"payload":{"request_id":"x"},"b":"', b'","request_id":"c"}',
             "c"),
            (b'{"request_id":"' + b"y" * 257 + b'","b":"', b'"}', None),
            (b'{"request_id":7,"b":"', b'"}', None)):
        agent.write(head + b"x" * (16 << 20) + tail + b"\n")
        answer = agent.until(lambda m: m["type"] == "response")
        equal((answer["error"]["number"], answer["request_id"]), (1005, id))
    for payload, part in ((b'{"command":"echo \\u0000"}', "NUL"),
                          (b'{"command":"echo \\ud800"}', "surrogate"),
                          (b'{"command":"a","command":"b"}', "same name"),
                          (b'{"steps":99999999999999999999}', "64-bit")):
        agent.write(b'{"type":"agent.execute","request_id":"odd","payload":' +
                    payload + b'}\n')
        answer = agent.until(lambda m: m["type"] == "response")
        equal((answer["error"]["number"], answer["request_id"]), (1000, "odd"))
        contains(answer["error"]["message"], part)
    equal(agent.close(), 0)


@test
def a_session_must_run(place):
    """SA-04: requests about a session are refused without one"""
    agent = Agent(place)
    for type, payload in (("agent.execute", {"command": "x"}),
                          ("undo.rollback", {}), ("undo.history", {}),
                          ("fs.list", {}), ("fs.read", {"path": "a"}),
                          ("fs.status", {}), ("undo.redo", {}),
                          ("undo.preview", {}), ("undo.discard", {}),
                          ("undo.restore", {"paths": ["a"]}),
                          ("undo.configure", {}), ("agent.prompt",
                                                   {"prompt": "x"}),
                          ("safeguard.configure", {}),
                          ("safeguard.confirm", {"safeguard_id": "x",
                                                 "action": "deny"}),
                          ("session.stop", {})):
        equal(agent.error(type, **payload)[0], 2000)
    equal(agent.close(), 0)


@test
def bad_sessions_are_refused(place):
    """SL-01: a session that cannot be is refused, and says why"""
    agent = Agent(place)
    folder = {"path": place.share}
    open(place.share + "/file", "w").close()
    for wanted, part, payload in (
            (2002, "No such", {"working_directories": [
                {"path": place.root + "/none"}]}),
            (2002, "not a folder", {"working_directories": [
                {"path": place.share + "/file"}]}),
            (1004, "absolute", {"working_directories": [{"path": "share"}]}),
            (2006, "at most 8", {"working_directories": [folder] * 9}),
            (2002, "already shared as", {"working_directories": [folder, folder]}),
            (2002, "share one of the two", {"working_directories": [
                {"path": place.root}, folder]}),
            (2002, "undo log", {"working_directories": [
                folder, {"path": place.image,
                         "undo_dir": place.share + "/log"}]}),
            (1004, "label", {"working_directories": [
                dict(folder, label="a"),
                {"path": place.image, "label": "a"}]}),
            (1004, "access", {"working_directories": [
                {"path": place.share, "access": "maybe"}]}),
            (1004, "'acess'", {"working_directories": [
                {"path": place.share, "acess": "read_only"}]}),
            (1004, "'network_polcy'", {"working_directories": [folder],
                                       "network_polcy": "disabled"}),
            (1004, "'memory'", {"working_directories": [folder],
                                "vm": {"memory": 512}}),
            (1004, "'delete_treshold'", {"working_directories": [folder],
                                         "safeguard": {"delete_treshold": 3}}),
            (1004, "'max_steps'", {"working_directories": [folder],
                                   "undo": {"max_steps": 3}}),
            (1004, "must be", {"network_policy": "allowlist"}),
            (1004, "10.0.0.0/8", {"network_policy": {"allow": [
                "10.1.0.0/8"]}}),
            (1004, "column 4", {"network_policy": {"allow": [
                "exa mple.org"]}}),
            (1004, "no disk", {"vm_mode": "persistent"}),
            (1004, "vm_mode", {"vm_mode": "forever"}),
            (1004, "backend", {"backend": "nfs"}),
            (1004, "accel", {"vm": {"accel": "fast"}}),
            (1004, "memory_mb", {"vm": {"memory_mb": 1}}),
            (1004, "memory_mb", {"vm": {"memory_mb": 127}}),
            (1004, "of the host; use a smaller size",
             {"vm": {"memory_mb": 1 << 20}}),
            (1004, "image", {"vm": {"image": "../x"}}),
            (2003, "stepback image build", {"vm": {"image": "other"}}),
            (2003, "/no/kernel", {"vm": {"kernel": "/no/kernel"}})):
        error = agent.start(**payload)["error"]
        equal(error["number"], wanted)
        contains(error["message"], part)
    equal(agent.ask("session.status")["payload"]["state"], "stopped")
    equal(agent.close(), 0)
    equal(place.sessions(), [])


@test
def a_hostile_guest_hurts_itself_only(place):
    """what the guest must not say is ignored"""
    agent = Agent(place)
    agent.start()
    report = agent.ask("agent.execute", command="misbehave")["payload"]
    equal(report["exit_code"], 0)
    output = [m["payload"]["data"] for m in agent.seen
              if m["type"] == "event.terminal_output"]
    equal(output, ["good"])
    equal(agent.ask("agent.execute", command="exit 1")["payload"]["exit_code"],
          1)
    equal(agent.close(), 0)


@test
def an_unread_frontend_stops_nothing(place):
    """SA-09: a frontend that does not read: output is dropped and counted"""
    agent = Agent(place, reading=False)
    start = agent.send("session.start", vm={"accel": "tcg"},
                       working_directories=[{"path": place.share}])
    # Raw reads until the session runs, so that no thread takes the rest.
    line = b""
    while ('"%s"' % start).encode() not in line:
        line = agent.process.stdout.readline()
    agent.send("agent.execute", command="flood 1500")  # 48 MiB
    history = place.root + "/.stepback/.git/share/history.jsonl"
    log = place.root + "/.stepback/.git/share/wal/in_progress"
    # The step ends although its output is not read.
    assert eventually(lambda: os.path.exists(log), 20), "no step was opened"
    assert eventually(lambda: not os.path.exists(log), 60), history
    agent.read()
    report = agent.event("event.step_completed")
    assert report["dropped_output_events"] > 0
    got = sum(m["type"] == "event.terminal_output" for m in agent.seen)
    equal(got + report["dropped_output_events"], 1500)
    equal(agent.ask("session.status")["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def files_stay_inside(place):
    """SA-10, SA-11: fs.list and fs.read do not leave the folder"""
    agent = Agent(place)
    agent.start()
    os.symlink("/etc", place.share + "/out")
    os.symlink("sub/file", place.share + "/in")
    os.mkdir(place.share + "/sub")
    os.mkfifo(place.share + "/fifo")
    with open(place.share + "/sub/file", "wb") as file:
        file.write(b"\xff\x00data")
    with open(place.share + "/big", "wb") as file:
        file.truncate(9 << 20)
    for path, number in (("../../etc/passwd", 4000), ("/etc/passwd", 4000),
                         ("out/passwd", 4000), ("sub/../../x", 4000),
                         ("none", 4001), ("in/none", 4001), ("big", 4003),
                         ("fifo", 1004), ("sub", 1004)):
        equal((path, agent.error("fs.read", path=path)[0]), (path, number))
    for path, number in (("/etc", 4000), ("..", 4000), ("out", 4000),
                         ("none", 4001), ("in", 4001)):
        equal((path, agent.error("fs.list", path=path)[0]), (path, number))
    for path in (place.share + "/big", "/mnt/working/big"):
        contains(agent.error("fs.read", path=path)[1], "relative to the")
    contains(agent.error("fs.read", path="out/passwd")[1], "escapes from")
    result = agent.ask("fs.read", path="in")["payload"]
    equal((result["data"], result["encoding"], result["size"]),
          ("/wBkYXRh", "base64", 6))
    result = agent.ask("fs.read", path="in", offset=2, length=3)["payload"]
    equal((result["data"], result["length"]), ("dat", 3))
    equal(agent.ask("fs.read", path="big", length=8 << 20)["payload"]["length"],
          8 << 20)
    result = agent.ask("fs.list", limit=3)["payload"]
    equal([(e["name"], e["type"]) for e in result["entries"]],
          [("big", "file"), ("fifo", "fifo"), ("in", "symlink")])
    equal(result["truncated"], True)
    # The logs of folders in this one are out of reach, and not listed.
    os.makedirs(place.share + "/sub/.stepback/.git/x")
    os.symlink("sub/.stepback/.git", place.share + "/log")
    with open(place.share + "/log/x/version", "w") as file:
        file.write("1")
    for path in "sub/.stepback/.git/x/version", "log/x/version":
        contains(agent.error("fs.read", path=path)[1], "Permission denied")
    for path in "sub/.stepback", "log", "log/x":
        contains(agent.error("fs.list", path=path)[1], "Permission denied")
    equal([e["name"] for e in agent.ask("fs.list", path="sub")["payload"]["entries"]],
          ["file"])
    equal(agent.close(), 0)


@test
def a_read_only_folder_has_no_undo(place):
    """access read_only: the daemon refuses changes and keeps no log"""
    agent = Agent(place)
    started = agent.start(working_directories=[
        {"path": place.share, "access": "read_only"}])["payload"]
    equal(started["working_directories"][0]["undo_dir"], None)
    report = agent.ask("agent.execute", command="exit 4")["payload"]
    equal((report["exit_code"], report["undoable"]), (4, False))
    equal(agent.error("undo.rollback")[0], 3000)
    equal(os.path.exists(place.root + "/.stepback"), False)
    equal(agent.close(), 0)


@test
def schemas_are_whole(place):
    """the schema is one, and has every operation; what is no request is none"""
    if library() is None:
        raise Skip("there is no python3-jsonschema")
    SCHEMA.check_self()
    agent = Agent(place)
    known = agent.ask("protocol.hello", protocol_version=1)["payload"]
    for operation in known["operations"]:
        equal((operation, SCHEMA.has("request." + operation),
               SCHEMA.has("answer." + operation)), (operation, True, True))
    change = {"path": "f1", "change": "created", "directory": "a"}

    def report(changes):
        return {"type": "event.step_completed", "payload": {
            "step_id": 1, "undoable": True, "changes": changes, "affected": 1,
            "affected_paths": [], "truncated": False,
            "directories": []}}

    SCHEMA.check("event.step_completed", report([change] * 1000))
    for name, wrong in (
            ("request", {"type": "no.such", "request_id": "1"}),
            ("request", {"type": "fs.read", "request_id": "1"}),
            ("request", {"type": "session.stop"}),
            ("request", {"type": "agent.execute", "request_id": "1",
                         "payload": {"command": "x", "timeout_seconds": 0}}),
            ("event.step_completed", report([change] * 1001)),
            ("event.step_completed", report(
                [change] * 500 + [{**change, "change": "none"}] +
                [change] * 499))):
        try:
            SCHEMA.check(name, wrong)
        except AssertionError:
            continue
        raise AssertionError("it passed: %.200s" % wrong)
    # A misspelt field is refused by the agent: a frontend sees it before.
    for operation in known["operations"]:
        if operation != "protocol.hello":
            equal((operation, SCHEMA.strange(operation, mistake=1)),
                  (operation, ["'mistake' was unexpected"]))
    equal(SCHEMA.strange("undo.configure", max_step_count=1, directory=0), [])
    for fields in ({"vm": {"mistake": 1}}, {"undo": {"mistake": 1}},
                   {"safeguard": {"mistake": 1}},
                   {"working_directories": [{"path": "/", "mistake": 1}]}):
        for operation in ("session.start", "session.reset"):
            equal((fields, SCHEMA.strange(operation, **fields)),
                  (fields, ["'mistake' was unexpected"]))
    equal(agent.close(), 0)


@test
def channels_are_kept_apart(place):
    """SA-07, SA-08: stderr is logs only, stdout is the protocol only"""
    agent = Agent(place, level="debug")
    agent.start()
    agent.ask("agent.execute", command="misbehave")
    agent.error("no.such")
    equal(agent.close(), 0)
    lines = [json.loads(line) for line in agent.log()]
    assert len(lines) > 3
    for line in lines:
        for member in ("timestamp", "level", "component", "message"):
            contains(line, member)
    for message in agent.seen:
        equal({"level", "component"} & set(message), set())


main()
