#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many clients of one sandbox: its API socket and its MCP socket."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import Client as McpClient  # noqa: E402
from sandbox_case import (Client, VM, call, good, listed, pid_of,  # noqa: E402
                          refused, sandbox_test, state, status, up)
from stdio_client import (PROGRAM, Skip, contains, equal,  # noqa: E402
                          eventually, freeze, main)


def events(client):
    """The types of the events that have come."""
    return [message["type"] for message in client.seen
            if message["type"] != "response"]


def settle(client):
    """Read all that the supervisor has sent until now."""
    equal(client.ask("session.status")["status"], "ok")


@sandbox_test
def own_events(place):
    """a client gets the events of its own steps, and the types that it
    subscribed to"""
    up(place)
    one, two, all = (Client(place, "share") for _ in range(3))
    equal(one.ready["sandbox"], "share")
    equal(all.ask("events.subscribe", types=["*"])["status"], "ok")
    equal(one.ask("agent.execute", command="echo hi")["payload"]["exit_code"],
          0)
    equal(events(one), ["event.ready", "event.step_started",
                        "event.terminal_output", "event.step_completed"])
    for client in two, all:
        settle(client)
    equal(events(two), ["event.ready"])
    equal(events(all), events(one))
    two.ask("events.subscribe", types=["event.step_completed"])
    one.ask("agent.execute", command="echo more")
    settle(two)
    equal(events(two), ["event.ready", "event.step_completed"])
    two.ask("events.subscribe", types=[])
    one.ask("agent.execute", command="echo last")
    settle(two)
    equal(len(events(two)), 2)
    for types in (None, "x", [1], ["step_started"], ["event." + "x" * 99],
                  ["event.x"] * 65):
        equal(two.error("events.subscribe", types=types)[0], 1004)
    equal(two.error("events.subscribe")[0], 1003)
    equal(two.error("events.subscribe", types=[], x=1)[0], 1004)


@sandbox_test
def every_request(place):
    """every client may issue every request, and hello lists all"""
    up(place)
    client = Client(place, "share")
    operations = client.ask("protocol.hello",
                            protocol_version=1)["payload"]["operations"]
    equal({"events.subscribe", "sandbox.info", "agent.execute"} -
          set(operations), set())
    info = client.ask("sandbox.info")["payload"]
    equal((info["name"], info["pid"], info["api_clients"]),
          ("share", pid_of(place, "share"), 1))
    equal(client.error("sandbox.info", x=1)[0], 1004)
    equal(client.error("session.start",
                       working_directories=[{"path": place.share}])[0], 2001)
    equal(client.ask("session.stop")["status"], "ok")
    equal(eventually(lambda: status(place, "share") == "stopped", 10), True)
    contains(listed(place)["share"]["message"], "a client stopped the session")


@sandbox_test
def reset(place):
    """session.reset by a client does not end the sandbox"""
    up(place)
    client = Client(place, "share")
    client.ask("session.reset")
    time.sleep(2.5)
    equal(status(place, "share"), "running")
    settle(client)


@sandbox_test
def client_gone(place):
    """the command of a client that is gone goes on, its answer is dropped, and
    another client can cancel it"""
    up(place)
    one, two = Client(place, "share"), Client(place, "share")
    one.send("agent.execute", command="hang")
    one.event("event.step_started")
    one.socket.shutdown(socket.SHUT_RDWR)
    equal(eventually(lambda: two.ask("sandbox.info")["payload"]["api_clients"]
                     == 1, 10), True)
    equal(two.ask("session.status")["payload"]["running_step"] is None, False)
    equal(two.ask("agent.cancel")["payload"]["cancelled"], True)
    equal(eventually(lambda: two.ask("session.status")["payload"][
        "running_step"] is None, 10), True)
    equal(two.ask("agent.execute", command="exit 3")["payload"]["exit_code"], 3)


def flood(place, path, stop):
    """A client that sends garbage, and reconnects when it is cut off."""
    while not stop.is_set():
        try:
            with socket.socket(socket.AF_UNIX) as hostile:
                hostile.connect(path)
                hostile.settimeout(0.2)
                for line in (b"\0\xff\n", b"[" * 9999 + b"\n", b"{}\n",
                             b'{"type":"sandbox.info"}\n',
                             b'{"type":"x","request_id":"' + b"y" * 70000 +
                             b'"}\n', b"x" * (1 << 20)):
                    hostile.sendall(line)
                hostile.recv(65536)
        except OSError:
            pass


@sandbox_test
def hostile_clients(place):
    """16 clients, of which one never reads and one sends garbage: the others
    notice nothing"""
    up(place)
    path = listed(place)["share"]["api_socket"]
    good_ones = [Client(place, "share") for _ in range(14)]
    idle = sorted(took(client) for client in good_ones for _ in range(5))[35]
    silent = Client(place, "share", reading=False)
    silent.send("events.subscribe", types=["*"])
    silent.send_all(*[("session.status", {})] * 128)
    stop = threading.Event()
    hostile = threading.Thread(target=flood, args=(place, path, stop))
    hostile.start()
    try:
        command = good_ones[0].send("agent.execute", command="flood 400")
        times = [took(client) for _ in range(10) for client in good_ones[1:]]
        equal(good_ones[0].response(command)["payload"]["exit_code"], 0)
        for number, client in enumerate(good_ones):
            answer = client.ask("agent.execute",
                                command="exit %d" % number)["payload"]
            equal(answer["exit_code"], number)
    finally:
        stop.set()
        hostile.join()
    times.sort()
    print("# sandbox.info: %.1f ms idle, %.1f ms beside them (medians)" %
          (idle * 1000, times[len(times) // 2] * 1000))
    equal(times[len(times) // 2] < 0.5, True)
    for client in good_ones[1:]:
        equal("event.terminal_output" in events(client), False)


def answered(place):
    """The ids of the requests that the supervisor has answered, in its order."""
    with open(state(place, "share", "supervisor.log")) as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    return [line["request_id"] for line in lines
            if line["message"] == "answered"]


def ask_many(client, id, count):
    client.socket.sendall(b"".join(
        b'{"type":"protocol.hello","request_id":"%s%d",'
        b'"payload":{"protocol_version":1}}\n' % (id, n)
        for n in range(count)))


@sandbox_test
def fair_turns(place):
    """while a client floods requests, at most two of them are served before one
    of another client"""
    up(place)
    flooding, other = (Client(place, "share", reading=False) for _ in range(2))
    freeze(pid_of(place, "share"))
    ask_many(flooding, b"flood", 500)
    ask_many(other, b"other", 150)
    os.kill(pid_of(place, "share"), signal.SIGCONT)
    equal(eventually(lambda: "flood499" in answered(place), 60), True)
    order = "".join(id[0] for id in answered(place))
    between = order[order.index("o"):order.rindex("o")].split("o")
    print("# at most %d requests between two of the other client" %
          max(map(len, between)))
    equal(order.count("o"), 150)
    equal(order.endswith("f" * 100), True)  # the flood outlasted the others
    equal(max(map(len, between)) <= 2, True)


def took(client):
    began = time.monotonic()
    equal(client.ask("sandbox.info")["status"], "ok")
    return time.monotonic() - began


@sandbox_test
def slow_subscriber(place):
    """a subscriber that does not read is cut off once its queue is full, and
    the memory stays bounded"""
    up(place)
    silent = Client(place, "share", reading=False)
    silent.send("events.subscribe", types=["*"])
    busy = Client(place, "share")
    busy.ask("agent.execute", command="flood 300")
    for _ in range(60):  # until the rest of its queue is full
        busy.ask("agent.execute", command="exit 0")
    equal(eventually(lambda: busy.ask("sandbox.info")["payload"]["api_clients"]
                     == 1, 10), True)
    with open("/proc/%d/status" % pid_of(place, "share")) as file:
        peak = int(file.read().partition("VmHWM:")[2].split()[0])
    print("# peak memory of the supervisor: %d MiB" % (peak // 1024))
    with open("/proc/%d/maps" % pid_of(place, "share")) as file:
        equal("libasan" in file.read() or peak < 64 << 10, True)


@sandbox_test
def too_many(place):
    """the 65th client is refused with busy, and a place becomes free again"""
    up(place)
    path = listed(place)["share"]["api_socket"]
    sockets = []
    for _ in range(64):
        sockets.append(socket.socket(socket.AF_UNIX))
        sockets[-1].connect(path)
        contains(sockets[-1].recv(65536).decode(), "event.ready")
    extra = socket.socket(socket.AF_UNIX)
    extra.connect(path)
    answer = json.loads(extra.makefile().readline())
    equal((answer["error"]["number"], answer["request_id"]), (6000, None))
    for words in (("jobs",), ("exec", "--", "true"), ("cp", "share:x", "y"),
                  ("job", "logs", "1")):
        _, out, error = call(place, *words)
        equal((out, error.replace(" cp:", "")),
              ("", "stepback: too many clients are connected; disconnect one\n"))
    for one in sockets:
        one.close()
    equal(eventually(lambda: call(place, "inspect")[0] == 0 and
                     "api_clients" in call(place, "inspect")[1], 10), True)


@sandbox_test
def other_users(place):
    """another user's process is refused, also if it can reach the socket"""
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    up(place)
    path = listed(place)["share"]["api_socket"]
    os.chmod(path, 0o666)
    folder = os.path.dirname(path)
    while folder != os.path.dirname(place.root):
        os.chmod(folder, 0o755)
        folder = os.path.dirname(folder)
    script = ("import os, socket; os.setuid(65534); "
              "s = socket.socket(socket.AF_UNIX); s.connect(%r); "
              "print(s.makefile().read())" % path)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True,
                          timeout=20)
    contains(done.stdout.decode(), "the socket serves processes of its own "
                                   "user")


# ---- run and mcp -------------------------------------------------------------

def run(place, *words, **more):
    return call(place, "run", *words, **more)


@sandbox_test
def joined_run(place):
    """run uses the sandbox that runs over the folder: output, exit code, folder,
    timeout and summary are as without"""
    os.mkdir(place.share + "/sub")
    place.mounting()
    up(place)
    pid = pid_of(place, "share")
    equal(run(place, "--", "echo", "a", "b c"), (0, "a 'b c'\n",
                                                "stepback: nothing changed\n"))
    equal(run(place, "--", "exit 7")[0], 7)
    code, out, err = run(place, "--", "sh pwd; echo x >new",
                         cwd=place.share + "/sub")
    equal((code, out.strip().endswith("/sub")), (0, True))
    contains(err, "created")
    equal(os.path.exists(place.share + "/sub/new"), True)
    good(place, "undo")
    equal(os.path.exists(place.share + "/sub/new"), False)
    equal(run(place, "--timeout=1", "--", "hang")[0], 124)
    equal(run(place, "-C", place.share, "--", "exit 4")[0], 4)
    equal((pid_of(place, "share"), len(listed(place))), (pid, 1))
    good(place, "stop")


@sandbox_test
def conflicting_run(place):
    """run refuses options that the sandbox's machine does not have, and --new
    does not join"""
    up(place, "--memory=256")
    for option in ("--network=none", "--memory=512", "--image=debian",
                   "--undo-max-step-size=1G", "--allow-suid"):
        refused(place, "run", option, "--", "exit 0", status=125,
                part="runs over this folder without this " +
                     option.partition("=")[0])
    equal(run(place, "--memory=256", "--network=open", "--", "exit 3")[0], 3)
    code, _, err = run(place, *VM, "--new", "--", "exit 0")
    equal(code, 125)  # the sandbox has the undo log
    equal(err, "stepback: run: --new: sandbox share runs over this folder and has "
          "its undo log; leave --new out to use the sandbox, stop it with 'stepback "
          "stop share', or name another log with --undo-dir\n")
    equal(call(place, "mcp", "--new")[::2], (1, err.replace("run:", "mcp:")))
    code, _, err = run(place, *VM, "--new", "--undo-dir",
                       place.root + "/.stepback/.git/share", "--", "exit 0")
    equal(code, 125)
    contains(err, "another stepback process uses this folder")
    os.mkdir(place.root + "/other")
    equal(run(place, *VM, "-C", place.root + "/other", "--", "exit 5")[0], 5)


@sandbox_test
def another_log_of_the_folder(place):
    """a sandbox with a log of its own is not named for the folder's default
    log, nor does it refuse --new there"""
    up(place, "--undo-dir", place.root + "/logs/a")
    process = subprocess.Popen([PROGRAM, "run", "--", "hang"], cwd=place.share,
                               env=place.environment(), stderr=subprocess.PIPE)
    client = Client(place, "share")
    assert eventually(lambda: client.ask("session.status")["payload"]
                      ["running_step"], 20)
    contains(call(place, "undo", "--undo-dir", place.root + "/logs/a")[2],
             "stepback: sandbox share: ")
    other = subprocess.Popen([PROGRAM, "run", *VM, "--new", "--", "hang"],
                             cwd=place.share, env=place.environment(),
                             stderr=subprocess.PIPE)
    # An undo at the moment when the other opens its log would keep it out.
    assert eventually(lambda: os.path.exists(
        place.root + "/.stepback/.git/share/wal/in_progress"), 20)
    contains(call(place, "undo", "-y")[2], "A command of 'stepback run'")
    for started in (other, process):
        started.send_signal(signal.SIGINT)
        equal((started.wait(20), started.stderr.read().count(b"--new")), (130, 0))


@sandbox_test
def interrupted_run(place):
    """Ctrl-C cancels the command of a joined run, and not the sandbox; nor does
    the end of its reader"""
    up(place)
    process = subprocess.Popen([PROGRAM, "run", "--", "hang"], cwd=place.share,
                               env=place.environment(), stderr=subprocess.PIPE)
    client = Client(place, "share")
    eventually(lambda: client.ask("session.status")["payload"]["running_step"],
               10)
    process.send_signal(signal.SIGINT)
    equal(process.wait(20), 130)
    contains(process.stderr.read().decode(), "stepback: nothing changed\n")
    equal(eventually(lambda: client.ask("session.status")["payload"][
        "running_step"] is None, 10), True)
    process = subprocess.Popen([PROGRAM, "run", "--", "flood 200"],
                               cwd=place.share, env=place.environment(),
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    process.stdout.read(100)
    process.stdout.close()
    equal(process.wait(20), 141)
    equal(run(place, "--", "exit 0")[0], 0)
    os.kill(pid_of(place, "share"), signal.SIGKILL)


@sandbox_test
def lost_run(place):
    """a joined run whose supervisor is killed ends with 125"""
    up(place)
    process = subprocess.Popen([PROGRAM, "run", "--", "hang"], cwd=place.share,
                               env=place.environment(), stderr=subprocess.PIPE)
    client = Client(place, "share")
    eventually(lambda: client.ask("session.status")["payload"]["running_step"],
               10)
    os.kill(pid_of(place, "share"), signal.SIGKILL)
    _, err = process.communicate(timeout=20)
    equal(process.returncode, 125)
    contains(err.decode(), "the sandbox has ended")


def mcp(place, *options):
    process = subprocess.Popen([PROGRAM, "mcp", *options], cwd=place.share,
                               env=place.environment(), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return process


@sandbox_test
def joined_mcp(place):
    """mcp connects its client to the sandbox that runs over the folder"""
    up(place)
    processes = [mcp(place), mcp(place)]
    clients = [McpClient(process.stdout, process.stdin)
               for process in processes]
    for client in clients:
        equal(client.tool("execute_command", command="exit 3")["exit_code"], 3)
    equal(json.loads(good(place, "inspect"))["live"]["mcp_clients"], 2)
    for process in processes:
        process.stdin.close()
        equal(process.wait(20), 0)
    refused(place, "mcp", "--ask-deletes=3", part="without this --ask-deletes")
    refused(place, "mcp", "--no-network", part="without this --network")
    equal(status(place, "share"), "running")


@sandbox_test
def kept_mcp(place):
    """mcp --keep starts a sandbox that stays, once, and mcp alone starts none"""
    processes = [mcp(place, *VM, "--keep", "--ask-deletes=7")
                 for _ in range(3)]
    clients = [McpClient(process.stdout, process.stdin)
               for process in processes]
    equal([client.tool("execute_command", command="exit 3")["exit_code"]
           for client in clients], [3, 3, 3])
    for process in processes:
        process.stdin.close()
        equal(process.wait(20), 0)
    equal(list(listed(place)), ["share"])
    config = json.loads(good(place, "inspect"))["config"]
    equal(config["safeguard"]["delete_threshold"], 7)
    good(place, "stop")
    process = mcp(place, *VM)
    client = McpClient(process.stdout, process.stdin)
    equal(client.tool("execute_command", command="exit 3")["exit_code"], 3)
    process.stdin.close()
    equal(process.wait(20), 0)
    equal(status(place, "share"), "stopped")


main()
