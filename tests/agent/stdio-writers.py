#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`by` in reports: which execution made a change, over the real shim and
folders that are mounted on the host."""
import os
import select
import socket
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import Agent, equal, eventually, main, test  # noqa: E402


class Sandbox(Agent):
    def __init__(self, place, shim=""):
        place.mounting()
        self.share = place.share
        super().__init__(place, STEPBACK_FAKE_QEMU="shim",
                         STEPBACK_TEST_SHIM=shim)
        equal(self.start()["status"], "ok")

    def launch(self, script, step="none", **more):
        answer = self.ask("exec.start", argv=["sh", "-c", script], step=step,
                          **more)
        assert answer["status"] == "ok", answer
        return answer["payload"]["exec_id"]

    def run(self, script):
        """Run a step: its execution, and its report."""
        id = self.launch(script, step="one", detach=True)
        return id, self.ask("exec.wait", exec_id=id)["payload"]["report"]

    def exists(self, name):
        return eventually(
            lambda: os.path.exists(os.path.join(self.share, name)), 10)

    def server(self, script):
        """A server that waits for the file "go", does its work, and makes
        "done"."""
        return self.launch("while ! [ -e go ]; do sleep 0.05; done; " +
                           script + "; echo > done; exec sleep 1000",
                           detach=True)

    def history(self):
        return self.ask("undo.history")["payload"]["steps"]


def fill(place):
    for name in "old", "old-too", "both", "gone", "moved":
        with open(os.path.join(place.share, name), "w") as file:
            file.write("x")


def writers(report):
    """Path -> execution, or a list of them."""
    return {c["path"]: [c["by"]] + c["also_by"] if "also_by" in c
            else c.get("by") for c in report["changes"]}


def follows_forks():
    """Whether the kernel reports forks here (shim/forks.h): not in most
    containers."""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 11)
    try:
        sock.bind((0, 1))
        sock.send(struct.pack("=LHHLLLLLLHHL", 40, 3, 0, 0, 0,
                              1, 1, 0, 0, 4, 0, 1))
    except OSError:
        return False
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    while select.select([sock], [], [], 0.5)[0]:
        if struct.unpack_from("=L", sock.recv(1024), 36)[0] == 1:
            return True
    return False


# A test with processes that end before the host asks.
short_lived = test if follows_forks() else lambda function: function
# Work of a process that stays, so that /proc knows it.
WORK = """
import os, time
while not os.path.exists("go"):
    time.sleep(0.05)
for name in "by-server", "both", "old-too":
    with open(name, "a") as file:
        file.write("s")
os.mkdir("d")
with open("d/f", "w") as file:
    file.write("1")
os.unlink("gone")
os.rename("moved", "there")
open("done", "w").close()
time.sleep(1000)
"""
# The processes live on until they are asked for, also on a busy machine.
WAIT = "; while ! [ -e done ]; do sleep 0.05; done; sleep 1"


@test
def each_change_has_its_execution(place):
    """a server that runs beside a step, and the step, each have their own
    changes; and the log keeps it"""
    fill(place)
    agent = Sandbox(place)
    server = agent.launch("exec python3 -c '%s'" % WORK, detach=True)
    id, report = agent.run("echo c > mine; echo c >> both; echo c > old; "
                           "echo > go" + WAIT)
    wanted = {"by-server": server, "both": [id, server], "d": server,
              "d/f": server, "gone": server, "there": server, "done": server,
              "mine": id, "old": id, "old-too": server, "go": id}
    equal(writers(report), wanted)
    equal(writers(agent.history()[0]), wanted)
    preview = agent.ask("undo.preview")["payload"]["steps"][0]
    equal(writers(preview)["d/f"], server)
    equal(agent.ask("undo.rollback")["status"], "ok")
    equal(sorted(os.listdir(place.share)),
          ["both", "gone", "moved", "old", "old-too"])
    equal(agent.ask("undo.redo")["status"], "ok")
    equal(writers(agent.history()[0]), wanted)
    agent.ask("exec.cancel", exec_id=server)
    equal(agent.close(), 0)


@test
def without_reports_of_forks(place):
    """without the kernel's reports, living processes are found by /proc"""
    fill(place)
    agent = Sandbox(place, shim="--no-forks")
    server = agent.launch("exec python3 -c '%s'" % WORK, detach=True)
    id, report = agent.run("echo > go" + WAIT)
    equal({p: w for p, w in writers(report).items() if p in ("go", "d/f")},
          {"go": id, "d/f": server})
    equal(agent.close(), 0)


@short_lived
def without_cgroups(place):
    """without cgroups, the execution of a process is that of its ancestors"""
    agent = Sandbox(place, shim="--no-cgroups")
    server = agent.server("(setsid sh -c 'echo 1 > by-server' &); "
                          "while ! [ -e by-server ]; do sleep 0.01; done")
    id, report = agent.run("echo > go" + WAIT)
    equal(writers(report), {"go": id, "done": server, "by-server": server})
    equal(agent.close(), 0)


@short_lived
def threads_and_strangers(place):
    """threads count as their process; a process that no execution started,
    and a write through a mapping, are unknown"""
    agent = Sandbox(place)
    script = """
import mmap, os, threading
def run():
    os.mkdir("thread")
t = threading.Thread(target=run); t.start(); t.join()
with open("mapped", "w+b") as file:
    file.truncate(4096)
    with mmap.mmap(file.fileno(), 4096) as bytes:
        bytes[0] = 1
        bytes.flush()
"""
    id = agent.launch("python3 -c '%s'; echo > ready%s" % (script, WAIT),
                      step="one", detach=True)
    assert agent.exists("ready")
    mount = os.path.join(place.mounts, os.listdir(place.mounts)[0])
    for name in "stranger", "done":
        with open(os.path.join(mount, name), "w") as file:
            file.write("x")
    report = agent.ask("exec.wait", exec_id=id)["payload"]["report"]
    equal(writers(report), {"thread": id, "mapped": [id, "?"], "ready": id,
                            "stranger": "?", "done": "?"})
    equal(agent.close(), 0)


@short_lived
def many_processes(place):
    """many short-lived processes of two executions are told apart"""
    agent = Sandbox(place)
    many = "i=0; while [ $i -lt 200 ]; do (echo > %s$i); i=$((i+1)); done"
    server = agent.server("mkdir s; " + many % "s/")
    id, report = agent.run("echo > go; mkdir c; " + many % "c/" + WAIT)
    found = {"s": set(), "c": set()}
    for path, by in writers(report).items():
        if path[1:2] == "/":
            found[path[0]].add(by)
    equal(found, {"c": {id}, "s": {server}})
    equal(agent.close(), 0)


@test
def outside_steps(place):
    """an ambient step names its executions, too"""
    agent = Sandbox(place)
    id = agent.launch("echo > alone; exec sleep 1000", detach=True)
    assert agent.exists("alone")
    agent.history()  # the question is on its way to the guest
    agent.ask("exec.wait", exec_id=agent.launch("true", detach=True))
    agent.ask("undo.preview")  # ends the step, without waiting for an answer
    equal(writers(agent.history()[0]), {"alone": id})
    equal(agent.close(), 0)


@test
def hostile_guests(place):
    """answers of a guest that lies, or does not answer, cost nothing but
    names"""
    place.mounting()
    agent = Agent(place)
    agent.start()
    agent.ask("agent.execute", command="raw " + __import__("base64").b64encode(
        b'{"type":"processes"}\n'
        b'{"type":"processes","request":1,"executions":7}\n'
        b'{"type":"processes","request":1,"executions":"x"}\n'
        b'{"type":"processes","request":1,"executions":"1 -1 x"}\n'
        b'{"type":"processes","request":77,"executions":"1 2 3"}\n'
        b'{"type":"processes","request":1,"executions":"' +
        b"99999999999999999999 " * 10000 + b'"}\n').decode())
    equal(agent.ask("session.status")["payload"]["state"], "running")
    equal(agent.ask("agent.execute", command="echo still")["status"], "ok")
    equal(agent.close(), 0)


main(mounts=True)
