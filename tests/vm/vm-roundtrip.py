#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vm-roundtrip - commands in a real VM, through the STDIO API, and undone.

Starts the debian guest image (STEPBACK_TEST_IMAGE names another), runs each
command on a tree of 2,000 files, and compares the tree with tests/lib/tree-snapshot
before the command and after one rollback. Then kills the agent in the middle
of a command. TAP on standard output.
"""
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
import mcp_client  # noqa: E402
import net_lab as lab  # noqa: E402
import ports_on_host  # noqa: E402
import vm_tree  # noqa: E402
from stdio_client import alive, descendants  # noqa: E402
from tap_functions import Failed, check  # noqa: E402
from vm_tree import (difference, log_bytes, make_tree, snapshot,  # noqa: E402
                     tree_bytes)

BUILD = os.getcwd()
STEPBACK = os.environ.get("STEPBACK", os.path.join(BUILD, "stepback"))
IMAGE = os.environ.get("STEPBACK_TEST_IMAGE", "debian")
BOOT_TIMEOUT = 300
COMMAND_TIMEOUT = 300
# What the guest may reach, where there is a network for it.
POLICY = {"allow": [lab.LISTED]}


class Agent:
    """The agent as a child process; events and responses told apart."""

    def __init__(self, errors):
        self.process = subprocess.Popen(
            [STEPBACK, "agent"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=open(errors, "ab"))
        self.responses = queue.Queue()
        self.events = []
        self.event_came = threading.Condition()
        self.last_id = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if message["type"] == "response":
                self.responses.put(message)
            else:
                with self.event_came:
                    self.events.append(message)
                    self.event_came.notify_all()
        self.responses.put(None)

    def send(self, kind, payload):
        self.last_id += 1
        request = {"type": kind, "request_id": str(self.last_id),
                   "payload": payload}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return str(self.last_id)

    def response(self, kind, wanted, timeout=COMMAND_TIMEOUT):
        end = time.monotonic() + timeout
        while True:
            try:
                message = self.responses.get(timeout=end - time.monotonic())
            except (queue.Empty, ValueError):
                raise Failed(f"{kind}: no response in {timeout} s")
            check(message is not None, f"{kind}: the agent ended")
            if message["request_id"] == wanted:
                return message

    def request(self, kind, payload=None, timeout=COMMAND_TIMEOUT):
        message = self.response(kind, self.send(kind, payload or {}), timeout)
        check(message["status"] == "ok", f"{kind}: {message.get('error')}")
        return message["payload"]

    def refused(self, kind, payload=None):
        """The error that it must end with."""
        message = self.response(kind, self.send(kind, payload or {}))
        check(message["status"] == "error", f"{kind}: {message}")
        return message["error"]

    def wait_event(self, kind, predicate=lambda payload: True, timeout=60,
                   since=0):
        end = time.monotonic() + timeout
        with self.event_came:
            while True:
                for event in self.events[since:]:
                    if event["type"] == kind and predicate(event["payload"]):
                        return event["payload"]
                left = end - time.monotonic()
                check(left > 0, f"no {kind} in {timeout} s")
                self.event_came.wait(left)

    def stop(self):
        self.process.stdin.close()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed("the agent does not end at the end of its input")


class Tests:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def run(self, name, function):
        self.count += 1
        start = time.monotonic()
        try:
            function()
            print(f"ok {self.count} - {name}", flush=True)
        except Exception as error:  # a broken pipe is a failed test as well
            self.failed += 1
            for line in str(error).splitlines() or [repr(error)]:
                print(f"# {line}")
            print(f"not ok {self.count} - {name}", flush=True)
        print(f"# {time.monotonic() - start:.1f} s", flush=True)


class Roundtrip:
    network = None  # a net_lab.Lab

    def __init__(self, base):
        self.share = os.path.join(base, "project")
        self.log = os.path.join(base, ".stepback/.git/project")
        self.errors = os.path.join(base, "stderr")
        self.agent = None
        self.vm = None
        self.step_ids = []
        os.mkdir(self.share)
        make_tree(self.share)

    def session(self):
        return {"working_directories": [{"path": self.share, "label": "p"}],
                "network_policy": POLICY if self.network else "disabled",
                "vm_mode": "ephemeral", "allow_suid": True,
                "allow_devices": True,
                "vm": self.vm}

    def start(self):
        shape = self.session()
        self.vm = guest_start.plan(
            os.environ, IMAGE, shape.get("backend", "virtiofs"),
            network=shape["network_policy"] != "disabled")
        self.agent = Agent(self.errors)
        self.agent.wait_event("event.ready")
        started = self.agent.request("session.start", self.session(),
                                     BOOT_TIMEOUT + 30)
        guest_start.check(self.agent.process.pid, self.vm)
        print(f"# start: {started.get('boot_ms')} ms, "
              f"accelerator {started.get('accel')}")
        status = self.agent.request("session.status")
        check(status["state"] == "running", f"state {status['state']}")

    def execute(self, command):
        since = len(self.agent.events)
        result = self.agent.request("agent.execute", {"command": command})
        step = self.agent.wait_event(
            "event.step_completed",
            lambda payload: payload["step_id"] == result["step_id"],
            since=since)
        return result, step

    def undo_of(self, command, affected, exit_code=0, inspect=None):
        """Run, check the report, roll back once, compare."""
        def test():
            before = snapshot(self.share)
            steps = len(self.agent.request("undo.history")["steps"])
            result, step = self.execute(command)
            check(result["exit_code"] == exit_code,
                  f"exit code {result['exit_code']}")
            check(step["step_id"] not in self.step_ids, "step id used again")
            self.step_ids.append(step["step_id"])
            check(snapshot(self.share) != before, "nothing changed")
            history = self.agent.request("undo.history")["steps"]
            check(len(history) == steps + 1,
                  f"{len(history) - steps} steps, not one")
            paths = step["affected_paths"]
            if callable(affected):
                affected(step)
            else:
                check(sorted(map(str, paths)) == sorted(affected),
                      f"affected_paths: {paths}")
            if inspect:
                inspect()
            undone = self.agent.request("undo.rollback", {"steps": 1})
            check(undone["steps"][0]["step_id"] == step["step_id"],
                  f"undone: {undone}")
            lines = difference(before, snapshot(self.share))
            check(not lines, "the tree differs:\n" + "\n".join(lines))
        return test

    def try_network(self, *more):
        """What came of each try of tests/vm/net_in_guest.py."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                               "net_in_guest.py"), encoding="utf-8") as file:
            script = file.read()
        since = len(self.agent.events)
        result, _ = self.execute(
            f"python3 - {lab.LISTED} {lab.UNLISTED} {' '.join(more)} "
            f"<<'END-OF-IT'\n{script}\nEND-OF-IT")
        output = "".join(
            event["payload"]["data"] for event in self.agent.events[since:]
            if event["type"] == "event.terminal_output")
        check(result["exit_code"] == 0, output)
        return dict(line.split() for line in output.splitlines())

    def network_policy(self):
        """Root in the guest stays on the list, whatever it does there."""
        found = self.try_network()
        print(f"# {found}")
        for name, wanted in (("listed", lab.LISTED),
                             ("raw-listed", "answered"),
                             ("changed-listed", lab.LISTED)):
            check(found.pop(name) == wanted, name)
        for name in ("unlisted", "own-route", "own-network", "host",
                     "changed-unlisted"):
            check(found.pop(name) in ("OSError", "TimeoutError",
                                      "ConnectionRefusedError"), name)
        check(len(found) == 4 and set(found.values()) == {"nothing"}, found)
        warning = self.agent.wait_event(
            "event.warning",
            lambda payload: payload.get("destination") == lab.UNLISTED)
        check(warning["code"] == "network_refused" and
              lab.UNLISTED in warning["message"], warning)

    def network_change(self):
        """Another list, while the machine runs."""
        answer = self.agent.request(
            "session.configure_network",
            {"network_policy": {"allow": [lab.UNLISTED, "10.0.2.2"]}})
        check(answer["network_policy"]["allow"] == [lab.UNLISTED, "10.0.2.2"],
              answer)
        found = self.try_network("short")
        check(found["unlisted"] == lab.UNLISTED, found)
        check(found["host"] == "loopback", found)
        check(found["listed"] == "OSError", found)

    def published_ports(self):
        """The host reaches servers of a guest that may reach nothing."""
        ports_on_host.use(self.agent, self.execute)
        self.agent.request("session.configure_network",
                           {"network_policy": POLICY})

    def remove_all(self):
        size = tree_bytes(self.share)
        log = log_bytes(self.log)

        def affected(step):
            # all but the names that are cut off
            check(step["affected"] >= vm_tree.FILES + 7 * 23,
                  f"affected: {step['affected']}")
            check(step["truncated"] and len(step["changes"]) == 1000,
                  f"{len(step['changes'])} changes")
            check(all(change["change"] == "deleted"
                      for change in step["changes"]), "not all are deletions")

        def inspect():
            check(os.listdir(self.share) == [], os.listdir(self.share))
            grown = log_bytes(self.log) - log
            print(f"# the log grew by {grown} bytes, "
                  f"{100 * grown / size:.2f} % of {size}")
            check(grown < size / 100, "the log grew by more than 1 %")

        self.undo_of("rm -rf *", affected, inspect=inspect)()

    def git(self):
        def affected(step):
            check(".git" in step["affected_paths"], step["affected_paths"][:5])
        self.undo_of("git init -q . && git add part0 a b && "
                     "git -c user.name=n -c user.email=e@x commit -q -m first",
                     affected)()

    def output(self):
        since = len(self.agent.events)
        result, _ = self.execute("echo out; echo err >&2; exit 3")
        check(result["exit_code"] == 3, result)
        check(result["undoable"] is False, "an empty step is not undoable")
        for stream, text in (("stdout", "out\n"), ("stderr", "err\n")):
            self.agent.wait_event(
                "event.terminal_output",
                lambda p, s=stream, t=text: p["stream"] == s and p["data"] == t,
                since=since)

    def fs(self):
        listing = self.agent.request("fs.list", {"path": "dir"})
        names = sorted(entry["name"] for entry in listing["entries"])
        check(names == ["fifo", "inner", "linked"], names)
        read = self.agent.request("fs.read", {"path": "a"})
        check(read["data"] == "content of a\n", read)

    def kill_agent(self):
        self.before = snapshot(self.share)
        agent = self.agent
        since = len(agent.events)
        agent.send("agent.execute", {
            "command": "rm -rf part0 part1; mv dir gone; echo x >>a; "
                       "echo ready; sleep 300"})
        agent.wait_event("event.terminal_output",
                         lambda payload: "ready" in payload["data"],
                         timeout=COMMAND_TIMEOUT, since=since)
        children = descendants(agent.process.pid)
        check(len(children) >= 2, f"children: {children}")
        os.kill(agent.process.pid, signal.SIGKILL)
        agent.process.wait()
        end = time.monotonic() + 2
        while any(map(alive, children)) and time.monotonic() < end:
            time.sleep(0.02)
        left = [pid for pid in children if alive(pid)]
        check(not left, f"still there after 2 s: {left}")
        check(snapshot(self.share) != self.before, "nothing had changed")

    def recover(self):
        self.agent = Agent(self.errors)
        self.agent.wait_event("event.ready")
        self.starting = self.agent.send("session.start", self.session())
        event = self.agent.wait_event("event.recovery", timeout=60)
        check(event["step_id"] > 0, event)
        lines = difference(self.before, snapshot(self.share))
        check(not lines, "the tree differs:\n" + "\n".join(lines))

    def reboot(self):
        """A guest's reboot ends its machine: that is said, and the next start
        takes the command back."""
        self.before = snapshot(self.share)
        agent = self.agent
        started = agent.response("session.start", self.starting, BOOT_TIMEOUT)
        check(started["status"] == "ok", started)
        since = len(agent.events)
        error = agent.refused("agent.execute", {
            "command": "rm -r part0; echo x >>a; "
                       "reboot -f || echo b >/proc/sysrq-trigger; sleep 9"})
        check(error["number"] == 2005, error)
        check("the guest rebooted" in error["message"], error)
        event = agent.wait_event("event.error", since=since)
        check(event["message"] == error["message"], event)
        others = [event for event in agent.events[since:] if event["type"] not in
                  ("event.step_started", "event.terminal_output", "event.error")]
        check(not others, others)
        self.start_over()
        result, _ = self.execute("test -d part0 && grep -q content a")
        check(result["exit_code"] == 0, "the guest does not see it")

    def start_over(self):
        """The machine is lost; the next one rolls back its unfinished step."""
        agent = self.agent
        status = agent.request("session.status")
        check(status["state"] == "error", status)
        check(snapshot(self.share) != self.before, "nothing had changed")
        agent.request("session.stop")
        since = len(agent.events)
        agent.request("session.start", self.session(), BOOT_TIMEOUT + 30)
        agent.wait_event("event.recovery", since=since)
        lines = difference(self.before, snapshot(self.share))
        check(not lines, "the tree differs:\n" + "\n".join(lines))

    def lose_port(self):
        """A guest that takes the shim's port away is not waited for."""
        self.before = snapshot(self.share)
        error = self.agent.refused("agent.execute", {
            "command": "echo x >>a; cd /sys/bus/virtio/drivers/virtio_console; "
                       "for port in virtio*; do echo $port >unbind; done"})
        check(error["number"] == 2005, error)
        check("the control channel" in error["message"], error)
        self.start_over()

    def stop(self):
        children = descendants(self.agent.process.pid)
        code = self.agent.stop()
        check(code == 0, f"exit code {code}")
        left = [pid for pid in children if alive(pid)]
        check(not left, f"still there: {left}")

    def mcp(self):
        """An MCP client, beside the frontend: its commands and files."""
        before = snapshot(self.share)
        path = self.agent.wait_event("event.ready")["mcp_socket"]
        client = mcp_client.connect(path)
        first = client.tool("execute_command", command=(
            "echo out; echo err >&2; rm -rf dir; echo new > mcp; exit 3"))
        check((first["exit_code"], first["stdout"], first["stderr"]) ==
              (3, "out\n", "err\n"), first)
        check(first["undoable"] and first["affected"] > 1, first)
        client.tool("write_file", path="mcp", content="from the client\n")
        told = client.tool("execute_command", command="cat mcp")
        check(told["stdout"] == "from the client\n", told)
        # A command that is cancelled is killed, with all that it started.
        id = client.send("tools/call", name="execute_command", arguments={
            "command": "sleep 1000 & sleep 1000"},
            meta={"progressToken": 1})
        client.notification("notifications/progress")
        client.notify("notifications/cancelled", requestId=id)
        told = client.tool("execute_command", command=(
            "ps | grep -c '[s]leep 1000'"))
        check(told["stdout"] == "0\n", told)
        client.tool("undo", step_id=first["step_id"])
        lines = difference(before, snapshot(self.share))
        check(not lines, "\n".join(["the tree differs:"] + lines))
        client.sock.close()

    def run(self, tests):
        tests.run("SL-02/session.start", self.start)
        if tests.failed:
            return
        tests.run("output and exit code", self.output)
        tests.run("fs.list and fs.read", self.fs)
        if self.network:
            # The next test's guest takes another address.
            tests.run("published ports", self.published_ports)
            tests.run("the network's policy holds for root",
                      self.network_policy)
            tests.run("session.configure_network", self.network_change)
        tests.run("VF-04/echo x > new", self.undo_of("echo x > new", ["new"]))
        tests.run("VF-04/rm -rf *", self.remove_all)
        tests.run("VF-04/mv dir dir2",
                  self.undo_of("mv dir dir2", ["dir", "dir2"]))
        tests.run("VF-04/mv a b", self.undo_of("mv a b", ["a", "b"]))
        tests.run("VF-04/ln and write",
                  self.undo_of("ln a a2 && echo more >> a2", ["a", "a2"]))
        tests.run("VF-04/chmod", self.undo_of("chmod 0751 b", ["b"]))
        tests.run("VF-04/truncate",
                  self.undo_of("truncate -s 10 text.txt", lambda step: check(
                      len(step["affected_paths"]) == 1,
                      step["affected_paths"])))
        tests.run("MC-02, MC-04/an MCP client", self.mcp)
        if IMAGE == "debian":
            tests.run("VF-04/git init, add, commit", self.git)
        tests.run("kill -9 of the agent in a step", self.kill_agent)
        tests.run("CR-01/the next start recovers", self.recover)
        tests.run("a guest that reboots", self.reboot)
        tests.run("a guest that closes the control channel", self.lose_port)
        tests.run("SL-08/nothing is left behind", self.stop)


def image_exists():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.exists(
        os.path.join(cache, "stepback", "guest", IMAGE, "image.json"))


def run_all(roundtrip_class, network=None):
    tests = Tests()
    base = tempfile.mkdtemp(prefix="stepback-vm-")
    roundtrip = roundtrip_class(base)
    roundtrip.network = network
    try:
        roundtrip.run(tests)
    finally:
        if roundtrip.agent and roundtrip.agent.process.poll() is None:
            roundtrip.agent.process.kill()
    print(f"1..{tests.count}")
    if tests.failed:
        with open(roundtrip.errors, errors="replace") as errors:
            for line in errors.read().splitlines()[-40:]:
                print(f"# {line}")
    shutil.rmtree(base, ignore_errors=True)
    return 1 if tests.failed else 0


def main():
    if not shutil.which("qemu-system-x86_64") or not image_exists():
        print(f"1..0 # SKIP needs QEMU and the guest image '{IMAGE}' "
              "(stepback image build)")
        return 0
    # In a user namespace, the rest would be tested as another user.
    why = lab.enter() if os.geteuid() == 0 else "not root"
    if IMAGE != "debian":
        why = "the image has no Python"
    if why:
        print(f"# no tests of the network: {why}")
        return run_all(Roundtrip)
    network = lab.Lab()
    try:
        return run_all(Roundtrip, network)
    finally:
        network.close()


if __name__ == "__main__":
    sys.exit(main())
