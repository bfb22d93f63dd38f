#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps that processes in the guest begin, list and undo: the command "step",
over the real shim and folders that are mounted on the host."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (Agent, contains, equal, eventually,  # noqa: E402
                          main, test)

# "step" as the guest's PATH has it.
PRELUDE = 'PATH="${STEPBACK_STEP_SOCKET%/*}:$PATH"; '
# A client of the socket that need not be "step".
CLIENT = """
import json, os, socket, sys, time
def connect():
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(os.environ["STEPBACK_STEP_SOCKET"])
    return sock
def send(sock, data):
    sock.sendall(data if isinstance(data, bytes)
                 else json.dumps(data).encode() + b"\\n")
def answer(sock):
    data = b""
    while not data.endswith(b"\\n"):
        part = sock.recv(65536)
        if not part:
            return None
        data += part
    return json.loads(data)
def ask(**request):
    sock = connect()
    send(sock, request)
    return answer(sock)
"""


class Sandbox(Agent):
    def __init__(self, place, shim="", **more):
        place.mounting()
        super().__init__(place, STEPBACK_FAKE_QEMU="shim",
                         STEPBACK_TEST_SHIM=shim)
        equal(self.start(**more)["status"], "ok")

    def launch(self, script, step="none", **more):
        answer = self.ask("exec.start", argv=["sh", "-c", PRELUDE + script],
                          step=step, **more)
        assert answer["status"] == "ok", answer
        return answer["payload"]["exec_id"]

    def end_of(self, id):
        """The exit code, stdout and stderr of an execution."""
        def is_end(message):
            return message["type"] == "event.exec_exited" and \
                message["payload"]["exec_id"] == id
        end = next(filter(is_end, self.seen), None) or self.until(is_end)
        out = {"stdout": "", "stderr": ""}
        for message in self.seen:
            payload = message.get("payload", {})
            if message["type"] == "event.exec_output" and \
                    payload["exec_id"] == id:
                out[payload["stream"]] += payload["data"]
        return end["payload"]["exit_code"], out["stdout"], out["stderr"]

    def script(self, script, **more):
        return self.end_of(self.launch(script, **more))

    def python(self, script, **more):
        answer = self.ask("exec.start", argv=["python3", "-c", CLIENT + script],
                          step="none", **more)
        return self.end_of(answer["payload"]["exec_id"])

    def history(self, **more):
        """(command, paths), the newest first."""
        answer = self.ask("undo.history", **more)
        if answer["status"] == "error":  # a step is open
            return []
        steps = answer["payload"]["steps"]
        return [(s.get("command"), sorted(c["path"] for c in s["changes"]))
                for s in steps if not s.get("unchanged") and s["changes"]]


def read(place, name):
    with open(os.path.join(place.share, name)) as file:
        return file.read()


@test
def run_is_a_step(place):
    """step run: each command is a step with its words, and passes on its exit
    code"""
    agent = Sandbox(place)
    code, out, err = agent.script(
        "step run -- sh -c 'echo 1 > a; exit 3'; echo $?; "
        "step run -m 'my text' -- touch b; step run nothing-like-it; echo $?; "
        "step list; step diff")
    equal(code, 0)
    contains(err, "run: nothing-like-it: No such file")
    lines = out.split("\n")
    equal(lines[:2], ["3", "127"])
    equal([line.split(None, 3)[1:] for line in lines[2:4]],
          [["1", "path", "my text"],
           ["1", "path", "sh -c 'echo 1 > a; exit 3'"]])
    equal(lines[4], "created   b (0 bytes)")
    equal(agent.history(), [("my text", ["b"]),
                            ("sh -c 'echo 1 > a; exit 3'", ["a"])])
    steps = agent.ask("undo.history")["payload"]["steps"]
    equal([s["exit_code"] for s in steps if s["changes"]], [0, 3])
    equal(agent.close(), 0)


@test
def an_agent_undoes_its_last_call(place):
    """a script that runs each of its calls as a step takes back the last"""
    agent = Sandbox(place)
    code, out, err = agent.script(
        "step run -- sh -c 'echo good > f'; "
        "step run -- sh -c 'echo bad > f; mkdir d; echo x > d/g'; "
        "cat f; step undo; cat f; ls; step run -- sh -c 'echo more >> f'; "
        "step undo 2; ls")
    equal((code, err), (0, ""))
    contains(out, "bad\nundid step 2: sh -c 'echo bad > f; mkdir d; "
             "echo x > d/g' (3 paths)\ngood\nf\nundid step 3: ")
    equal(os.listdir(place.share), [])
    code, out, err = agent.script("step undo")
    equal((code, out), (1, ""))
    contains(err, "step: undo: there are only 0 steps to undo")
    equal(agent.close(), 0)


@test
def only_own_steps(place):
    """own: steps of other commands are out of reach; the error names one"""
    agent = Sandbox(place)
    agent.script("echo host > h", step="one")
    code, out, err = agent.script("step list; step diff 1; step undo")
    equal((code, out), (1, ""))
    contains(err, "step 1 was not made by this command: only `stepback undo`")
    first = agent.launch("step run -- sh -c 'echo 1 > one'; read x; step undo",
                         stdin=True)
    assert eventually(lambda: ("sh -c 'echo 1 > one'", ["one"])
                      in agent.history(), 10)
    agent.script("step run -- touch two")
    agent.ask("exec.input", exec_id=first, eof=True)
    code, out, err = agent.end_of(first)
    equal((code, out), (1, ""))
    contains(err, "was not made by this command")
    equal(sorted(os.listdir(place.share)), ["h", "one", "two"])
    equal(agent.close(), 0)


@test
def without_cgroups(place):
    """without cgroups the command of a process is that of its ancestors"""
    agent = Sandbox(place, shim="--no-cgroups")
    code, out, err = agent.script(
        "setsid sh -c 'step run -- touch a; echo done > b' & "
        "while ! test -e b; do sleep 0.05; done; step list")
    equal((code, err), (0, ""))
    contains(out, "touch a")
    code, out, err = agent.script("step list; step undo")
    equal((code, out), (1, ""))
    equal(agent.close(), 0)


@test
def all_steps(place):
    """all: the steps of every command can be listed and undone"""
    agent = Sandbox(place, guest_undo="all")
    agent.script("echo host > h", step="one")
    code, out, err = agent.script("step list; step undo")
    equal((code, err), (0, ""))
    contains(out, "undid step 1: ")
    equal(os.listdir(place.share), [])
    equal(agent.close(), 0)


@test
def none_says_why(place):
    """none: list, diff and undo are refused with the reason; run still divides
    the command into steps"""
    agent = Sandbox(place, guest_undo="none")
    code, out, err = agent.script("step run -- touch a; step list; step diff; "
                                  "step undo")
    equal((code, out, err.count("--guest-undo=none")), (1, "", 3))
    equal(agent.history(), [("touch a", ["a"])])
    equal(agent.error("session.start",
                      working_directories=[{"path": place.share}],
                      guest_undo="some")[1].count("none, own or all"), 1)
    equal(agent.close(), 0)


@test
def one_step_cannot_be_divided(place):
    """in a command that is one step, step says so and how to start it"""
    agent = Sandbox(place)
    code, out, err = agent.script("echo 1 > f; step undo; step run -- touch g",
                                  step="one")
    equal((code, out), (125, ""))
    equal(err.count("the whole command is one step"), 2)
    contains(err, "--step=none")
    equal(agent.history()[0][1], ["f"])
    equal(agent.close(), 0)


@test
def begin_and_end(place):
    """hooks: begin opens a step until end, or until the next begin; a command
    that ends closes its step"""
    agent = Sandbox(place)
    code, out, err = agent.script(
        "step begin first; echo 1 > a; step end 4; step end; "
        "step begin second; echo 1 > b; step begin third; echo 1 > c")
    equal((code, out, err), (0, "", ""))
    equal(agent.history(), [("third", ["c"]), ("second", ["b"]),
                            ("first", ["a"])])
    equal(agent.close(), 0)


@test
def steps_end_at_once(place):
    """the end of a step waits for late writes only if the command has a process
    besides the one that asks and its ancestors"""
    agent = Sandbox(place)
    code, out, err = agent.python("""
import subprocess
def quickest():
    times = []
    for i in range(20):
        ask(op="begin", text="t", scope="s")
        open("f", "w").close()
        start = time.monotonic()
        ask(op="end", scope="s")
        times.append(time.monotonic() - start)
    return min(times)
print(quickest() < 0.09)
other = subprocess.Popen(["sleep", "1000"])
print(quickest() >= 0.09)
other.kill()
other.wait()
print(quickest() < 0.09)
""")
    equal((code, out, err), (0, "True\nTrue\nTrue\n", ""))
    equal(agent.close(), 0)


@test
def nested_steps(place):
    """a step within a step divides it; the outer one continues"""
    agent = Sandbox(place)
    code, out, err = agent.script(
        "step run -m outer -- sh -c 'echo 1 > a; step run -m inner -- touch b; "
        "echo 1 > c'; step undo 2; ls")
    equal((code, err), (0, ""))
    contains(out, "undid step 3: outer (1 path)\nundid step 2: inner (1 path)")
    equal(os.listdir(place.share), ["a"])
    equal(agent.close(), 0)


@test
def turns(place):
    """a step waits until another command's step is closed, and the other way
    round; a wait that is interrupted leaves nothing open"""
    agent = Sandbox(place)
    holder = agent.launch("read x; echo 1 > held", step="one", stdin=True)
    waiter = agent.launch("step run -m waits -- touch waited")
    other = agent.launch("timeout 1 step run -- touch never; echo $?")
    equal(agent.end_of(other)[1], "124\n")
    equal(os.listdir(place.share), [])
    agent.ask("exec.input", exec_id=holder, eof=True)
    equal(agent.end_of(waiter)[0], 0)
    equal(agent.history(), [("waits", ["waited"]),
                            (agent.history()[1][0], ["held"])])
    open_one = agent.launch("step begin long; echo begun; read x", stdin=True)
    assert eventually(lambda: agent.ask(
        "exec.start", argv=["true"], wait=False)["status"] == "error", 10)
    last = agent.launch("touch last", step="one")
    agent.ask("exec.input", exec_id=open_one, eof=True)
    equal(agent.end_of(last)[0], 0)
    equal(agent.close(), 0)


@test
def very_many_steps(place):
    """a process that makes very many steps cannot push the user's older ones
    out of the log: more steps join the open one, and nothing is lost"""
    agent = Sandbox(place, undo={"max_step_count": 60})
    agent.script("echo user > user", step="one")
    answer = agent.ask("exec.start", step="none", stdin=True,
                       argv=["python3", "-c", CLIENT + """
for i in range(80):
    assert "error" not in ask(op="begin", scope="s", text="line %d" % i)
    with open("f", "w") as file: file.write(str(i))
    assert "error" not in ask(op="end", scope="s", exit_code=0)
assert "error" not in ask(op="begin", scope="s", text="again")
for i in range(5):
    ask(op="begin", scope="inner", text="inner %d" % i)
    open("g%d" % i, "w")
    ask(op="end", scope="inner")
ask(op="end", scope="s")
print("made", flush=True)
sys.stdin.read()
"""])
    id = answer["payload"]["exec_id"]
    agent.until(lambda message: message["type"] == "event.exec_output")
    # Without a line, the last step ends as soon as there can be another one.
    equal(agent.script("echo late > late", step="one")[0], 0)
    history = agent.history(limit=100)
    equal((history[0][1], history[-1][1]), (["late"], ["user"]))
    assert 50 <= len(history) <= 54, len(history)
    equal(history[1][1], ["f"] + ["g%d" % i for i in range(5)])
    agent.ask("exec.input", exec_id=id, eof=True)
    equal(agent.end_of(id)[0], 0)
    agent.ask("undo.rollback", steps=2)
    equal((read(place, "f"), sorted(os.listdir(place.share))),
          ("49", ["f", "user"]))
    agent.ask("undo.rollback", steps=len(history) - 2)
    equal(os.listdir(place.share), [])
    equal(agent.close(), 0)


@test
def killed_clients(place):
    """a step run that is killed ends its step"""
    agent = Sandbox(place)
    code, out, err = agent.script(
        "step run -m killed -- sh -c 'echo 1 > a; kill -9 $PPID; sleep 1'; "
        "step list")
    equal(code, 0)
    contains(out, "killed")
    equal(agent.script("touch b", step="one")[0], 0)
    equal(agent.close(), 0)


@test
def hostile_clients(place):
    """garbage, floods and idle connections at the socket shut out no other
    command and undo nothing of others"""
    agent = Sandbox(place)
    agent.script("echo host > h", step="one")
    hostile = agent.ask("exec.start", argv=["python3", "-c", CLIENT + """
kept = [connect() for _ in range(100)]
for data in (b"x" * 200000, b"\\xff\\n", b"[1]\\n", b'{"op":7}\\n',
             b'{"op":"begin","text":"a","scope":"' + b"s" * 500 + b'"}\\n',
             b'{"op":"withdraw","number":1}\\n', b'{"op":"undo","number":-4}\\n',
             b'{"op":"undo","id":1,"number":1}\\n' * 50):
    sock = connect()
    try:
        send(sock, data)
        answer(sock)
    except OSError:
        pass
for sock in kept:
    sock.close()
for i in range(200):
    sock = connect()
    try:
        send(sock, {"op": "begin", "text": "t%d" % i, "scope": "s%d" % (i % 20)})
    except OSError:  # too many of this command wait
        pass
    sock.close()
kept = [connect() for _ in range(100)]
print("flooded", flush=True)
time.sleep(1000)
"""], step="none", detach=True)["payload"]["exec_id"]
    assert eventually(lambda: "flooded" in str(
        agent.ask("exec.output", exec_id=hostile)), 60)
    equal(agent.script("step list")[0], 0)
    equal(read(place, "h"), "host\n")
    equal(agent.ask("exec.cancel", exec_id=hostile)["status"], "ok")
    code, out, err = agent.script("step run -- touch after; step undo")
    equal((code, err), (0, ""))
    equal(os.listdir(place.share), ["h"])
    equal(agent.close(), 0)


@test
def too_many_at_once(place):
    """a command with too many connections to the socket gets the reason"""
    agent = Sandbox(place)
    code, out, err = agent.script("exec python3 -c '%s'" % (CLIENT + """
import subprocess
kept = [connect() for _ in range(12)]
for i in range(20):
    print(subprocess.run(["step", "list"], capture_output=True, text=True).stderr)
""").replace("'", "'\\''"))
    equal((code, err), (0, ""))
    equal(out.split("\n\n"), 20 * ["step: list: too many requests of this command "
                                  "are waiting"] + [""])
    equal(agent.close(), 0)


@test
def hostile_guests(place):
    """a guest that makes up requests gets no further than its policy"""
    place.mounting()
    agent = Agent(place)
    agent.start()
    agent.ask("agent.execute", command="raw " + __import__("base64").b64encode(
        b'{"type":"step_request"}\n'
        b'{"type":"step_request","request":1,"id":ID,"op":"undo"}\n'
        b'{"type":"step_request","request":1,"id":77,"op":"undo"}\n'
        b'{"type":"step_request","request":2,"id":ID,"op":"nonsense"}\n'
        b'{"type":"step_request","request":3,"id":ID,"op":"begin"}\n'
        b'{"type":"step_request","request":4,"id":ID,"op":"end",'
        b'"exit_code":4000}\n' +
        b"".join(b'{"type":"step_request","request":%d,"id":ID,"op":"begin",'
                 b'"text":"x","scope":"y"}\n' % i for i in range(5, 500)) +
        b'{"type":"step_request","request":9,"id":ID,"op":"withdraw",'
        b'"number":5}\n').decode())
    equal(agent.ask("session.status")["payload"]["state"], "running")
    equal(agent.ask("agent.execute", command="echo still")["status"], "ok")
    equal(agent.close(), 0)


main()
