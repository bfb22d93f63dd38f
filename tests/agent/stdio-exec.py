#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exec.*: executions side by side, over the real shim and folders that are
mounted on the host."""
import base64
import hashlib
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (Agent, contains, equal, eventually,  # noqa: E402
                          main, test)


def data_of(payload):
    if payload.get("encoding") == "base64":
        return base64.b64decode(payload["data"])
    return payload["data"].encode()


def output_of(reading):
    return b"".join(data_of(chunk) for chunk in reading["output"])


class Sandbox(Agent):
    """An agent with a session whose guest runs the real shim."""

    def __init__(self, place):
        place.mounting()
        super().__init__(place, STEPBACK_FAKE_QEMU="shim")
        self.looked = {}  # exec id -> how much of self.seen
        equal(self.start()["status"], "ok")

    def launch(self, *argv, **more):
        if argv:
            more["argv"] = list(argv)
        answer = self.ask("exec.start", **more)
        assert answer["status"] == "ok", answer
        return answer["payload"]["exec_id"]

    def collect(self, id, wanted=None):
        """The output until the end, or until its stdout has "wanted"; and the
        end, or None."""
        out = {"stdout": b"", "stderr": b""}
        while True:
            at = self.looked.get(id, 0)
            message = self.seen[at] if at < len(self.seen) else self.next()
            self.looked[id] = at + 1
            payload = message.get("payload", {})
            if payload.get("exec_id") != id:
                continue
            if message["type"] == "event.exec_output":
                out[payload["stream"]] += data_of(payload)
                if wanted is not None and wanted in out["stdout"]:
                    return out["stdout"], out["stderr"], None
            elif message["type"] == "event.exec_exited":
                return out["stdout"], out["stderr"], payload

    def output(self, id, since=0):
        return self.ask("exec.output", exec_id=id, since=since)["payload"]

    def wait_for_output(self, id, part):
        assert eventually(lambda: part in b"".join(
            data_of(c) for c in self.output(id)["output"]), 10)


def executions(agent):
    listed = agent.ask("exec.list")["payload"]["executions"]
    return {e["exec_id"]: e for e in listed}


@test
def words_and_streams(place):
    """an execution has its words, streams, exit code, and one step"""
    agent = Sandbox(place)
    id = agent.launch("sh", "-c", "echo $0; echo err >&2; echo 1 > f; exit 3",
                      "a b")
    out, err, end = agent.collect(id)
    equal((out, err), (b"a b\n", b"err\n"))
    equal((end["exit_code"], end["step_id"]), (3, 1))
    equal([c["path"] for c in end["report"]["changes"]], ["f"])
    equal(end["report"]["command"],
          "sh -c 'echo $0; echo err >&2; echo 1 > f; exit 3' 'a b'")
    equal(agent.ask("undo.rollback")["status"], "ok")
    equal(os.listdir(place.share), [])
    equal(agent.close(), 0)


@test
def steps_end_at_once(place):
    """the step of a command that leaves no process waits for no late writes"""
    agent = Sandbox(place)

    def took():
        start = time.monotonic()
        agent.collect(agent.launch("touch", "f"))
        return time.monotonic() - start

    # The wait was 100 ms; the quickest of many is not slow because of others.
    quickest = min(took() for _ in range(20))
    assert quickest < 0.09, quickest
    equal(agent.close(), 0)


@test
def streamed_input(place):
    """standard input arrives in order and ends; the answer waits for the
    command to read"""
    agent = Sandbox(place)
    id = agent.launch("sha256sum", stdin=True, step="none")
    digest = hashlib.sha256()
    for i in range(100):
        part = bytes([i]) * 100000
        digest.update(part)
        equal(agent.ask("exec.input", exec_id=id, encoding="base64",
                        data=base64.b64encode(part).decode())["status"], "ok")
    equal(agent.ask("exec.input", exec_id=id, eof=True)["status"], "ok")
    out, _, end = agent.collect(id)
    equal((out.split()[0].decode(), end["exit_code"]), (digest.hexdigest(), 0))
    sleeper = agent.launch("sleep", "1000", stdin=True, step="none")
    requests = [agent.send("exec.input", exec_id=sleeper, data="x" * 200000)
                for _ in range(18)]
    contains(agent.response(requests[-1])["error"]["message"],
             "too much input is waiting")
    equal(agent.error("exec.input", exec_id=id, data="x")[0], 6001)
    agent.ask("exec.cancel", exec_id=sleeper)
    _, _, end = agent.collect(sleeper)
    equal(end["error"]["code"], "cancelled")
    equal(agent.close(), 0)


@test
def side_by_side(place):
    """one with a step runs beside one without; what that writes belongs to the
    open step"""
    agent = Sandbox(place)
    server = agent.launch(
        "sh", "-c", "while read name; do echo s > $name; echo did; done",
        stdin=True, step="none")
    first = agent.launch("cat", stdin=True)
    agent.ask("exec.input", exec_id=first, data="x\n")
    agent.collect(first, b"x\n")  # its step is open
    agent.ask("exec.input", exec_id=server, data="by-server\n")
    agent.collect(server, b"did\n")
    equal({i: e["state"] for i, e in executions(agent).items()},
          {server: "running", first: "running"})
    agent.ask("exec.input", exec_id=first, eof=True)
    _, _, end = agent.collect(first)
    equal([c["path"] for c in end["report"]["changes"]], ["by-server"])
    agent.ask("exec.input", exec_id=server, eof=True)
    _, _, end = agent.collect(server)
    assert "step_id" not in end, end
    equal(agent.close(), 0)


@test
def turns(place):
    """executions with a step take turns in order; without waiting they are
    busy; a signal takes one that waits out of the queue"""
    agent = Sandbox(place)
    ids = [agent.launch("sh", "-c", "read x; echo %d >> order" % i, stdin=True)
           for i in range(3)]
    refused = agent.error("exec.start", argv=["true"], wait=False)
    equal(refused[0], 6000)
    waiting = agent.launch("true")
    equal(executions(agent)[waiting]["state"], "waiting")
    agent.ask("exec.signal", exec_id=waiting, signal="INT")
    _, _, end = agent.collect(waiting)
    equal((end["exit_code"], end["error"]["code"]), (-1, "cancelled"))
    for id in reversed(ids):
        agent.send("exec.input", exec_id=id, data="go\n")
    for id in ids:
        equal(agent.collect(id)[2]["exit_code"], 0)
    with open(place.share + "/order") as file:
        equal(file.read(), "0\n1\n2\n")
    steps = agent.ask("undo.history")["payload"]["steps"]
    equal(len(steps), 3)
    equal(agent.ask("undo.rollback", steps=2)["status"], "ok")
    with open(place.share + "/order") as file:
        equal(file.read(), "0\n")
    equal(agent.close(), 0)


@test
def cancelled_in_the_queue(place):
    """one that waits can be cancelled when many newer ones have ended"""
    agent = Sandbox(place)
    agent.launch("sleep", "1000")
    waiting = agent.launch("true")
    for _ in range(64):
        agent.ask("exec.wait", exec_id=agent.launch("true", step="none"))
    equal(agent.ask("exec.cancel", exec_id=waiting)["status"], "ok")
    equal(waiting in executions(agent), False)
    equal(agent.close(), 0)


@test
def terminal(place):
    """a terminal has its size, echo and signals"""
    agent = Sandbox(place)
    # read is no process: ^C finds the shell or stty at any time.
    id = agent.launch("sh", "-c", "stty size; read x; stty size; read x",
                      tty={"rows": 30, "columns": 99}, step="none",
                      env={"TERM": "xterm"})
    agent.collect(id, b"30 99\r\n")
    agent.ask("exec.resize", exec_id=id, rows=20, columns=70)
    agent.ask("exec.input", exec_id=id, data="\n")
    agent.collect(id, b"20 70\r\n")
    agent.ask("exec.input", exec_id=id, data="\x03")
    out, _, end = agent.collect(id)
    equal((out, end["exit_code"], end["signal"]), (b"^C", 130, 2))
    equal(agent.error("exec.resize", exec_id=999, rows=1, columns=1)[0], 4001)
    equal(agent.close(), 0)


@test
def detached(place):
    """the latest output is kept, also what an attached client has got; attach
    gets what no client has, and what follows; detach leaves it running"""
    agent = Sandbox(place)
    id = agent.launch(
        "sh", "-c", "echo begin; while read x; do echo got $x; done; exit 4",
        detach=True, step="none", stdin=True, label="server")
    agent.wait_for_output(id, b"begin\n")
    read = agent.output(id)
    equal((read["next"], read["gone_bytes"], read["ended"]), (6, 0, False))
    agent.ask("exec.input", exec_id=id, data="one\n")
    agent.wait_for_output(id, b"got one\n")
    equal(data_of(agent.output(id, since=6)["output"][0]), b"got one\n")
    equal(executions(agent)[id]["label"], "server")
    agent.ask("exec.attach", exec_id=id)
    equal(agent.collect(id, b"got one")[0], b"begin\ngot one\n")
    agent.ask("exec.input", exec_id=id, data="seen\n")
    equal(agent.collect(id, b"got seen\n")[0], b"got seen\n")
    equal(output_of(agent.output(id)), b"begin\ngot one\ngot seen\n")
    agent.ask("exec.detach", exec_id=id)
    agent.ask("exec.input", exec_id=id, data="two\n")
    agent.wait_for_output(id, b"got two\n")
    agent.ask("exec.input", exec_id=id, eof=True)
    equal(agent.ask("exec.wait", exec_id=id)["payload"]["exit_code"], 4)
    equal(agent.ask("exec.wait", exec_id=id)["payload"]["exit_code"], 4)
    read = agent.output(id, since=6)
    equal((output_of(read), read["next"], read["gone_bytes"], read["ended"]),
          (b"got one\ngot seen\ngot two\n", 31, 0, True))
    agent.ask("exec.attach", exec_id=id)
    out, _, end = agent.collect(id)
    equal((out, end["exit_code"]), (b"got two\n", 4))
    equal(agent.ask("exec.forget", exec_id=id)["status"], "ok")
    equal(executions(agent), {})
    equal(agent.close(), 0)


@test
def ring(place):
    """of a flood, the latest MiB is kept, and how much is gone is said"""
    agent = Sandbox(place)
    id = agent.launch("sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x; "
                      "echo end", detach=True, step="none")
    equal(agent.ask("exec.wait", exec_id=id)["payload"]["exit_code"], 0)
    got, since, gone = b"", 0, 0
    while True:
        part = agent.output(id, since)
        got += output_of(part)
        gone += part["gone_bytes"]
        since = part["next"]
        if part["ended"]:
            break
    equal(gone + len(got), 5000004)
    assert 900000 < len(got) <= 1 << 20, len(got)
    assert got.endswith(b"xend\n")
    equal(agent.close(), 0)


@test
def output_of_many(place):
    """of executions that have ended, the latest 16 MiB of output are kept in
    all, of attached ones, too; the offsets of older output stay"""
    agent = Sandbox(place)
    for _ in range(18):
        id = agent.launch("head", "-c", "1500000", "/dev/zero", step="none")
        agent.collect(id)
    gone = [agent.output(id)["gone_bytes"] for id in sorted(executions(agent))]
    equal([bytes == 1500000 for bytes in gone], [True] * 2 + [False] * 16)
    assert gone[17] < 1500000 - 1000000, gone
    equal(agent.close(), 0)


@test
def slow_reader(place):
    """a flood to a client that does not read costs neither memory nor bytes,
    and others go on"""
    place.mounting()
    agent = Agent(place, reading=False, STEPBACK_FAKE_QEMU="shim")
    agent.send("session.start", working_directories=[{"path": place.share}],
               vm={"accel": "tcg"})
    while b'"response"' not in agent.process.stdout.readline():
        pass
    agent.send("exec.start", step="none", argv=[
        "sh", "-c", "head -c 20000000 /dev/urandom | tee /dev/stderr 2>%s | "
        "cat; touch %s" % (place.root + "/copy", place.root + "/ended")])
    time.sleep(3)
    assert not os.path.exists(place.root + "/ended")
    before = agent.memory()
    agent.read()
    digest = hashlib.sha256()
    total = 0
    while total < 20000000:
        message = agent.next()
        if message["type"] == "event.exec_output":
            data = data_of(message["payload"])
            digest.update(data)
            total += len(data)
    with open(place.root + "/copy", "rb") as file:
        equal(hashlib.sha256(file.read()).hexdigest(), digest.hexdigest())
    assert max(before, agent.memory()) < 64 << 10, (before, agent.memory())
    equal(agent.close(), 0)


@test
def bad_requests(place):
    """what cannot be carried out says why, and starts nothing"""
    agent = Sandbox(place)
    for code, fields in (
            (1003, {}), (1003, {"argv": ["a"], "command": "b"}),
            (1004, {"argv": []}), (1004, {"argv": [""]}),
            (1004, {"argv": ["a"] * 5000}),
            (1004, {"argv": ["a"], "tty": {"rows": 0, "columns": 1}}),
            (1004, {"argv": ["a"], "tty": {"rows": 1, "columns": 1 << 31}}),
            (1004, {"argv": ["a"], "timeout_seconds": 1 << 40}),
            (1004, {"argv": ["a"], "tty": 7}),
            (1004, {"argv": ["a"], "step": "two"}),
            (4003, {"argv": ["x" * (1 << 20)]}),
            (1004, {"argv": ["a"], "label": "x" * 300})):
        equal((fields, agent.error("exec.start", **fields)[0]), (fields, code))
    equal(executions(agent), {})
    for type in ("input", "signal", "wait", "output", "attach", "detach",
                 "cancel", "forget"):
        fields = {"signal": 15} if type == "signal" else {}
        equal((type, agent.error("exec." + type, exec_id=7, **fields)[0]),
              (type, 4001))
    hello = agent.ask("protocol.hello", protocol_version=1)["payload"]
    equal({r["type"] for r in agent.requests.values() if "exec" in r["type"]},
          {name for name in hello["operations"] if name.startswith("exec.")} -
          {"exec.resize"})
    id = agent.launch("nonesuch")
    _, err, end = agent.collect(id)
    equal(end["exit_code"], 127)
    contains(err.decode(), "nonesuch")
    id = agent.launch("true", user="nonesuch")
    _, _, end = agent.collect(id)
    assert end["exit_code"] != 0, end
    ids = [agent.launch("sleep", "1000", step="none") for _ in range(64)]
    equal(agent.error("exec.start", argv=["true"])[0], 6000)
    equal(agent.error("exec.forget", exec_id=ids[0])[0], 6000)
    equal(agent.close(), 0)


main(mounts=True)
