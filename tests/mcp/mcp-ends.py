#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the MCP server ends: the end of input, a client that is gone, signals.
Over the real daemon and a fake QEMU.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import (LATEST, META, MODERN, Server,  # noqa: E402
                        agent_with_client, read, write)
from cli_case import call  # noqa: E402
from stdio_client import (PROGRAM, alive, equal, eventually, main,  # noqa: E402
                          test)

def piped(place, *messages, options=(), end=b"\n"):
    """As "printf ... | stepback mcp": its answers by their ids, its exit status,
    and how long it took."""
    lines = [json.dumps(dict(m, jsonrpc="2.0")).encode() for m in messages]
    begin = time.monotonic()
    done = subprocess.run([PROGRAM, "mcp", "-C", place.share, "--accel=tcg",
                           *options], input=b"\n".join(lines) + end,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=place.environment(), timeout=60)
    got = [json.loads(line) for line in done.stdout.splitlines()]
    return ({m["id"]: m.get("result", m.get("error")) for m in got
             if "id" in m}, done.returncode, time.monotonic() - begin)


def opening(version):
    return [{"id": "open", "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}},
        {"method": "notifications/initialized"}] if version != MODERN else []


def tool_call(id, version, tool, **arguments):
    params = {"name": tool, "arguments": arguments}
    if version == MODERN:
        params["_meta"] = {META + "protocolVersion": MODERN,
                           META + "clientCapabilities": {}}
    return {"id": id, "method": "tools/call", "params": params}


@test
def the_end_of_input_cancels_nothing(place):
    """stepback mcp in a pipe: what was asked is done and answered, in order"""
    for version in (LATEST, MODERN):
        write(place, "f", b"old")
        calls = [tool_call(1, version, "read_file", path="f"),
                 tool_call(2, version, "write_file", path="f", content="new"),
                 tool_call(3, version, "execute_command", command="echo x"),
                 tool_call(4, version, "edit_file", path="f", old_text="new",
                           new_text="newer"),
                 tool_call(5, version, "get_undo_history")]
        if version == MODERN:
            listen = tool_call("stream", version, "")
            listen.update(method="subscriptions/listen")
            listen["params"]["notifications"] = {"resourceSubscriptions": [
                "stepback://history"]}
            calls.insert(0, listen)
        # The last line needs no newline.
        got, status, took = piped(place, *opening(version), *calls, end=b"")
        equal((status, sorted(map(str, got))),
              (0, ["1", "2", "3", "4", "5",
                   "stream" if version == MODERN else "open"]))
        content = {id: got[id]["structuredContent"] for id in range(1, 6)}
        equal((content[1]["content"], content[3]["stdout"]), ("old", "x\n"))
        equal(len(content[5]["steps"]), 2)
        equal(read(place, "f"), b"newer")
        place.unmount()
        subprocess.run([PROGRAM, "undo", "2", "-C", place.share], check=True,
                       stdout=subprocess.DEVNULL, env=place.environment())
        equal(read(place, "f"), b"old")


@test
def who_asked_nothing_is_not_waited_for(place):
    """stepback mcp: an end of input with nothing under way ends it at once"""
    got, status, took = piped(place)
    equal((got, status), ({}, 0))
    server = Server(place, version=MODERN)
    server.client.send("subscriptions/listen", notifications={})
    server.client.notification("notifications/subscriptions/acknowledged")
    equal(server.close(20), 0)
    # A torn message is none, and answered as such.
    got, status, took = piped(place, end=b'{"jsonrpc":"2.0","id":1,"metho')
    equal((got[1]["code"], status), (-32700, 0))


@test
def a_client_that_is_gone_is_not_waited_for(place):
    """stepback mcp: a client that stops reading cancels its command"""
    process = subprocess.Popen(
        [PROGRAM, "mcp", "-C", place.share, "--accel=tcg"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=place.environment())
    for message in (tool_call(1, MODERN, "write_file", path="f", content="x"),
                    tool_call(2, MODERN, "execute_command", command="sleep")):
        process.stdin.write(json.dumps(dict(message, jsonrpc="2.0")).encode() +
                            b"\n")
        process.stdin.flush()
    equal(json.loads(process.stdout.readline())["id"], 1)
    assert eventually(lambda: os.path.exists(
        place.root + "/.stepback/.git/share/wal/in_progress"), 20)
    process.stdin.close()
    time.sleep(1)
    equal(process.poll(), None)
    process.stdout.close()
    equal(process.wait(10), 0)
    equal(os.listdir(place.runtime), [])


@test
def no_end_takes_for_ever(place):
    """stepback mcp: --linger and a signal end what goes on after the input"""
    for way, least, most in (("linger", 2, 15), (signal.SIGTERM, 0, 4),
                             ("none", 0, 4)):
        server = Server(place, *{"linger": ["--linger=2"],
                                 "none": ["--linger=0"]}.get(way, []))
        client = server.client
        client.tool("write_file", path="f", content=str(way))
        id = client.send("tools/call", name="execute_command",
                         arguments={"command": "sleep"})
        last = client.send("tools/call", name="execute_command",
                           arguments={"command": "echo x"})
        assert eventually(lambda: client.tool("get_session_status")[
            "running_step"] is not None, 20)
        begin = time.monotonic()
        server.process.stdin.close()
        if way == signal.SIGTERM:
            # As clients do whose server does not end by itself.
            time.sleep(1)
            equal(server.process.poll(), None)
            begin = time.monotonic()
            server.process.send_signal(way)
        equal(server.process.wait(20), 0)
        took = time.monotonic() - begin
        assert least <= took < most, (way, took)
        equal(client.until(lambda m: m.get("id") in (id, last)), None)
        # The command was ended in order, and stays a step if it did anything.
        status, out, err = call(place, "history", "--json", "-C", place.share)
        equal((status, err), (0, ""))
        equal(os.listdir(place.runtime), [])


@test
def a_socket_ends_as_a_pipe_does(place):
    """the agent's socket: a client that stops sending gets its replies"""
    agent, client = agent_with_client(place)
    ids = [client.send("tools/call", name="execute_command",
                       arguments={"command": "echo %d" % i}) for i in range(3)]
    client.raw(json.dumps({"jsonrpc": "2.0", "id": "last", "method":
                           "ping"}).encode())
    client.sock.shutdown(socket.SHUT_WR)
    equal([client.answer(id)["result"]["structuredContent"]["stdout"]
           for id in ids], ["0\n", "1\n", "2\n"])
    equal(client.answer("last")["result"], {})
    equal(client.next(), None)
    equal(agent.ask("session.status")["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def every_end_of_mcp_is_clean(place):
    """stepback mcp: after any end no process, socket or folder is left"""
    for way in ("eof", signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        server = Server(place, "--linger=1")
        server.client.tool("execute_command", command="exit 0")
        server.client.send("tools/call", name="execute_command",
                           arguments={"command": "sleep"})
        assert eventually(lambda: server.client.tool("get_session_status")[
            "running_step"] is not None, 20)
        pid = server.process.pid
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            children = [int(word) for word in file.read().split()]
        equal(len(children), 3)
        if way != "eof":
            server.process.send_signal(way)
            server.process.wait(20)
        equal(server.close(20), 0)
        equal([pid for pid in children if alive(pid)], [])
        equal(os.listdir(place.runtime), [])


main()
