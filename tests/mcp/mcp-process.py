#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MCP tools for background processes and ports, over the real shim and
folders that are mounted on the host."""
import os
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import Server  # noqa: E402
from sandbox_case import Client as Api  # noqa: E402
from sandbox_case import kill_all, up  # noqa: E402
from stdio_client import contains, equal, eventually, main, test  # noqa: E402

SHIM = {"STEPBACK_FAKE_QEMU": "shim"}


def opened(place, *options, **env):
    place.mounting()
    server = Server(place, *options, env=dict(SHIM, **env))
    return server, server.client


@test
def a_server_is_started_read_and_stopped(place):
    """a process runs beside commands, without a step, until it is stopped"""
    server, client = opened(place)
    started = client.tool("start_process", command="echo ready; sleep 1000",
                          label="server")
    equal((started["state"], started["output"]), ("running", "ready\n"))
    id = started["process_id"]
    equal(client.tool("execute_command", command="echo 1 > f")["step_id"], 1)
    listed, = [p for p in client.tool("list_processes")["processes"]
               if p["state"] == "running"]
    equal((listed["process_id"], listed["command"], listed["label"],
           listed["attached"]),
          (id, "echo ready; sleep 1000", "server", False))
    stopped = client.tool("stop_process", process_id=id)
    equal((stopped["state"], stopped["signal"], stopped["output"]),
          ("ended", 15, ""))
    assert "error" not in stopped, stopped
    read = client.tool("read_process", process_id=id)
    equal((read["state"], read["exit_code"], read["output"]),
          ("ended", 143, "ready\n"))
    equal(client.tool("stop_process", process_id=id)["state"], "ended")
    equal([s["step_id"] for s in client.tool("get_undo_history")["steps"]],
          [1])
    equal(server.close(), 0)


@test
def output_comes_once_and_in_parts(place):
    """read_process returns what is new since an offset, and waits for it"""
    server, client = opened(place)
    os.mkfifo(place.root + "/go")
    started = client.tool(
        "start_process", command="echo one; read x <%s/go; echo two; "
        "echo err >&2; exit 5" % place.root)
    id, next = started["process_id"], started["next"]
    equal((started["output"], next), ("one\n", 4))
    read = client.tool("read_process", process_id=id, since=next)
    equal((read["output"], read["next"], read["state"]), ("", 4, "running"))
    before = time.monotonic()
    read = client.tool("read_process", process_id=id, since=next,
                       wait_seconds=1)
    assert time.monotonic() - before >= 0.9
    equal(read["output"], "")
    request = client.send("tools/call", name="read_process", arguments={
        "process_id": id, "since": next, "wait_seconds": 60})
    with open(place.root + "/go", "w") as file:
        file.write("go\n")
    read = client.answer(request)["result"]["structuredContent"]
    equal((sorted(read["output"].split()), read["state"], read["exit_code"]),
          (["err", "two"], "ended", 5))
    contains(client.text("read_process", process_id=id),
             "one\ntwo\nerr\n[process %d: ended with exit code 5" % id)
    equal(server.close(), 0)


@test
def long_output_is_bounded(place):
    """a flood costs a result its middle, and says what is no longer kept"""
    server, client = opened(place)
    started = client.tool("start_process", wait_seconds=60, command="echo first;"
                          "head -c 3000000 /dev/zero | tr '\\0' x; echo last")
    id = started["process_id"]
    read = client.tool("read_process", process_id=id, wait_seconds=60)
    equal(read["state"], "ended")
    equal(read["next"], 3000011)
    assert 65000 < len(read["output"]) < 66000
    assert read["lost_bytes"] > 1900000 and read["dropped_bytes"] > 900000
    equal(read["lost_bytes"] + read["dropped_bytes"] + 65536, 3000011)
    assert read["output"].endswith("last\n")
    contains(read["output"], "bytes omitted")
    equal(server.close(), 0)


@test
def a_terminal_is_written_to(place):
    """text, keys and the end of input reach a process; the answer has its reply"""
    server, client = opened(place)
    id = client.tool("start_process", command="cat", wait_seconds=0)[
        "process_id"]
    wrote = client.tool("write_process", process_id=id, text="hello\n")
    equal((wrote["output"], wrote["state"]), ("hello\n", "running"))
    contains(client.refusal("write_process", process_id=id, keys=["ctrl-c"]),
             '"tty": true')
    ended = client.tool("write_process", process_id=id, text="x", eof=True,
                        wait_seconds=30)
    equal((ended["output"], ended["state"], ended["exit_code"]),
          ("x", "ended", 0))
    contains(client.refusal("write_process", process_id=id, text="x"), "ended")
    id = client.tool("start_process", tty=True, wait_seconds=0,
                     command="stty size; read x; echo \"<$x>\"; sleep 1000")[
        "process_id"]
    assert eventually(lambda: "30 120" in client.tool(
        "read_process", process_id=id)["output"], 10)
    contains(client.tool("write_process", process_id=id, text="line",
                         keys=["enter"])["output"], "<line>")
    ended = client.tool("write_process", process_id=id, keys=["ctrl-c"],
                        wait_seconds=30)
    equal((ended["state"], ended["signal"]), ("ended", 2))
    contains(client.refusal("write_process", process_id=id,
                            keys=["ctrl-c", "hyper"]), "unknown key 'hyper'")
    equal(server.close(), 0)


@test
def stubborn_processes_end(place):
    """stop_process kills what ignores SIGTERM; a signal alone can be sent"""
    server, client = opened(place)
    id = client.tool("start_process", command="trap 'echo got' USR1; "
                     "trap '' TERM; echo up; while :; do sleep 0.1; done",
                     wait_seconds=10)["process_id"]
    contains(client.tool("stop_process", process_id=id, signal="USR1")[
        "output"], "got")
    equal(client.tool("stop_process", process_id=id, signal="TERM",
                      wait_seconds=0)["state"], "running")
    stopped = client.tool("stop_process", process_id=id)
    equal((stopped["state"], stopped["signal"]), ("ended", 9))
    equal(server.close(), 0)


@test
def problems_have_a_remedy(place):
    """a process that is unknown, fails, or was never there is told"""
    server, client = opened(place)
    for tool in ("read_process", "write_process", "stop_process"):
        contains(client.refusal(tool, process_id=77), "list_processes")
    started = client.tool("start_process", command="no-such-program",
                          wait_seconds=30)
    equal((started["state"], started["exit_code"]), ("ended", 127))
    contains(started["output"], "not found")
    contains(client.refusal("start_process", command="x", rows=3),
             "unknown argument 'rows'")
    equal(client.text("list_processes").split("\n")[0],
          "1: no-such-program: ended with exit code 127, %d bytes of output" %
          len(started["output"]))
    equal(server.close(), 0)


@test
def a_waiting_read_delays_no_other_call(place):
    """commands run while a call waits for output, and a cancelled one ends"""
    server, client = opened(place)
    id = client.tool("start_process", command="sleep 1000", wait_seconds=0)[
        "process_id"]
    waiting = client.send("tools/call", name="read_process", arguments={
        "process_id": id, "wait_seconds": 300})
    equal(client.tool("execute_command", command="echo hi")["stdout"], "hi\n")
    client.notify("notifications/cancelled", requestId=waiting)
    equal(client.tool("stop_process", process_id=id)["state"], "ended")
    waiting = client.send("tools/call", name="execute_command", arguments={
        "command": "sleep 1000"})
    equal(client.tool("start_process", command="echo beside",
                      wait_seconds=30)["output"], "beside\n")
    client.notify("notifications/cancelled", requestId=waiting)
    equal(server.close(), 0)


@test
def the_users_own_are_left_alone(place):
    """a client reads a detached execution of another client, and does not
    steer one that is attached"""
    place.mounting()
    name = up(place, "--no-network", STEPBACK_FAKE_QEMU="shim")
    try:
        user = Api(place, name)
        own = user.ask("exec.start", command="cat", stdin=True, step="none")[
            "payload"]["exec_id"]
        detached = user.ask("exec.start", command="echo log; sleep 1000",
                            detach=True, step="none")["payload"]["exec_id"]
        server, client = opened(place)
        equal(client.tool("read_process", process_id=detached,
                          wait_seconds=30)["output"], "log\n")
        contains(client.refusal("read_process", process_id=own), "attached")
        contains(client.refusal("write_process", process_id=own, text="x"),
                 "ask the user")
        contains(client.refusal("stop_process", process_id=own),
                 "ask the user")
        equal(client.tool("stop_process", process_id=detached)["state"],
              "ended")
        # Its output stays the user's when it has ended.
        user.ask("exec.input", exec_id=own, data="mine\n", eof=True)
        user.ask("exec.wait", exec_id=own)
        contains(client.refusal("read_process", process_id=own), "ask the user")
        # A process outlives the client that started it.
        id = client.tool("start_process", command="echo on; sleep 1000")[
            "process_id"]
        server.close()
        server, client = opened(place)
        equal(client.tool("read_process", process_id=id)["output"], "on\n")
        # After a visit of the user's, answers are complete.
        id = client.tool("start_process", command="cat", wait_seconds=0)[
            "process_id"]
        client.tool("write_process", process_id=id, text="long line\n")
        for request in ("exec.attach", "exec.detach"):
            equal(user.ask(request, exec_id=id)["status"], "ok")
        equal(client.tool("write_process", process_id=id, text="x\n",
                          wait_seconds=10)["output"], "x\n")
        server.close()
        user.close()
    finally:
        kill_all(place)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@test
def ports_are_of_the_loopback(place):
    """a published port is at 127.0.0.1 alone, at the guest's number if it is
    free, and is closed again"""
    server, client = opened(place, "--network=")
    guest = free_port()
    port = client.tool("publish_port", guest_port=guest)
    equal(port, {"address": "127.0.0.1", "host_port": guest,
                 "guest_port": guest, "protocol": "tcp",
                 "url": "http://127.0.0.1:%d/" % guest})
    socket.create_connection(("127.0.0.1", guest), 3).close()
    equal(client.tool("publish_port", guest_port=guest), port)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        number = taken.getsockname()[1]
        other = client.tool("publish_port", guest_port=number)
        assert other["host_port"] not in (number, guest), other
        contains(client.refusal("publish_port", guest_port=80,
                                host_port=number), "leave out 'host_port'")
    udp = client.tool("publish_port", guest_port=53, protocol="udp")
    assert "url" not in udp and udp["host_port"] >= 1024, udp
    contains(client.refusal("publish_port", guest_port=80, address="0.0.0.0"),
             "unknown argument 'address'")
    published = client.tool("list_processes")["published"]
    equal({p["address"] for p in published}, {"127.0.0.1"})
    equal(len(published), 3)
    gone = client.tool("unpublish_port", host_port=guest)
    equal(gone["guest_port"], guest)
    try:
        socket.create_connection(("127.0.0.1", guest), 3).close()
        raise AssertionError("the port is still open")
    except ConnectionRefusedError:
        pass
    contains(client.refusal("unpublish_port", host_port=guest),
             "list_processes")
    equal(server.close(), 0)
    server, client = opened(place, "--no-network")
    contains(client.refusal("publish_port", guest_port=80), "network")
    equal(server.close(), 0)


main(mounts=True)
