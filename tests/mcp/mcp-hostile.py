#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MCP clients that mean harm, or much: the agent outlives them."""
import json
import os
import random
import socket
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import (LATEST, META, MODERN,  # noqa: E402
                        agent_with_client, connect, write)
from stdio_client import Agent, equal, eventually, main, test  # noqa: E402

@test
def clients_are_bounded(place):
    """clients, requests that wait and their ids are bounded"""
    agent, client = agent_with_client(place)
    path = agent.seen[0]["payload"]["mcp_socket"]
    others = [connect(path) for _ in range(15)]
    late = socket.socket(socket.AF_UNIX)
    late.connect(path)
    equal(late.recv(1), b"")
    others[0].sock.shutdown(socket.SHUT_RDWR)
    assert eventually(lambda: len(agent.log()) > 0, 10)
    id = client.send("tools/call", name="execute_command",
                     arguments={"command": "sleep"})
    agent.event("event.step_started")
    client.message(id=id, method="ping")
    equal(client.until(lambda m: "error" in m)["error"]["code"], -32600)
    waiting = [client.send("tools/call", name="get_undo_history", arguments={})
               for _ in range(63)]
    equal(client.error("ping")[0], -32603)
    equal(others[1].result("ping"), {})
    client.notify("notifications/cancelled", requestId=id)
    for id in waiting:
        equal("result" in client.answer(id), True)
    equal(agent.close(), 0)


@test
def an_unread_client_stops_nothing(place):
    """a client that does not read holds up neither others nor the frontend"""
    agent, client = agent_with_client(place)
    path = agent.seen[0]["payload"]["mcp_socket"]
    write(place, "big", b"x" * (1 << 20))
    before = agent.memory()
    deaf = socket.socket(socket.AF_UNIX)
    deaf.connect(path)
    deaf.sendall(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":'
                 b'{"protocolVersion":"2025-11-25","capabilities":{}}}\n')
    deaf.setblocking(False)
    try:
        for i in range(1, 100000):
            deaf.sendall(json.dumps({
                "jsonrpc": "2.0", "id": i, "method": "resources/read",
                "params": {"uri": "stepback://files/big"}}).encode() + b"\n")
    except BlockingIOError:
        pass
    equal(client.tool("execute_command", command="echo 1")["stdout"], "1\n")
    # Growth: a sanitizer's own memory does not count.
    after = agent.memory()
    assert after - before < 32 << 10, (before, after)
    equal(agent.ask("session.status")["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def long_lines_are_not_stored(place):
    """of a line without end nothing is kept but its id"""
    agent = Agent(place)
    client = connect(agent.event("event.ready")["mcp_socket"])
    equal(client.result("ping"), {})
    before = agent.memory()
    for head, tail in ((b'{"id":"' + b"i" * 200, b'"}\n'),
                       (b'{"' + b"n" * 200, b'":1,"id":5}\n'),
                       (b'{"a":' + b"[{" * 50, b'"}\n')):
        client.raw(head)
        for _ in range(48):
            client.raw(head[-2:] * (1 << 19))
        client.raw(tail)
        error = client.until(lambda m: "error" in m)
        equal(error.get("id"), 5 if b'"id":5' in tail else None)
    assert agent.memory() - before < 8 << 10, (before, agent.memory())
    equal(client.result("ping"), {})
    equal(agent.close(), 0)


# ---- junk -------------------------------------------------------------------

SEEDS = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": LATEST, "capabilities": {"elicitation": {}}}},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
        "name": "read_file", "arguments": {"path": "a", "offset": 0}}},
    {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {
        "name": "execute_command", "arguments": {"command": "echo x"},
        "_meta": {"progressToken": 5}}},
    {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "write_file", "arguments": {"path": "b", "content": "c"}}},
    {"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {
        "name": "edit_file", "arguments": {"path": "b", "old_text": "c",
                                           "new_text": "d"}}},
    {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "undo", "arguments": {"step_id": 1}}},
    {"jsonrpc": "2.0", "id": 8, "method": "resources/read", "params": {
        "uri": "stepback://files/a"}},
    {"jsonrpc": "2.0", "id": 9, "method": "resources/list", "params": {
        "cursor": "YWZ0ZXI6YQ=="}},
    {"jsonrpc": "2.0", "id": 10, "method": "resources/subscribe", "params": {
        "uri": "stepback://history"}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {
        "requestId": 4}},
    {"jsonrpc": "2.0", "id": 11, "method": "server/discover", "params": {
        "_meta": {META + "protocolVersion": MODERN,
                  META + "clientCapabilities": {}}}},
    {"jsonrpc": "2.0", "id": 12, "method": "subscriptions/listen", "params": {
        "notifications": {"resourceSubscriptions": ["stepback://history"]},
        "_meta": {META + "protocolVersion": MODERN,
                  META + "clientCapabilities": {}}}},
    {"jsonrpc": "2.0", "id": "stepback-1", "result": {"action": "accept"}},
    {"jsonrpc": "2.0", "id": 13, "method": "completion/complete", "params": {
        "ref": {"type": "ref/resource", "uri": "stepback://files/{+path}"},
        "argument": {"name": "path", "value": ""}}},
]


def mutated(rng):
    def change(value):
        if rng.random() < 0.12:
            return rng.choice([None, True, -1, 1 << 62, 1.5, "", "x" * 9000,
                               [], {}, [[]], {"a": {"b": []}}, "\u0000",
                               "2025-03-26", MODERN, value])
        if isinstance(value, dict):
            return {key: change(item) for key, item in value.items()
                    if rng.random() > 0.05}
        if isinstance(value, list):
            return [change(item) for item in value]
        return value

    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.randrange(200)).replace(b"\n", b" ")
    message = change(rng.choice(SEEDS))
    if isinstance(message, dict) and "id" in message and rng.random() < 0.7:
        message["id"] = rng.randrange(1000)
    if kind < 0.2:
        message = [message, change(rng.choice(SEEDS))]
    line = bytearray(json.dumps(message).encode())
    if kind < 0.5 and line:
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(line))
            line[at] = rng.choice(b'{}[]",:0aZ\\\xff\x00 ')
    if kind > 0.95:
        del line[rng.randrange(len(line)):]
    return bytes(line).replace(b"\n", b" ")


@test
def junk_does_no_harm(place):
    """10,000 random and mutated lines: no crash, and structured errors"""
    seed = int(os.environ.get("STEPBACK_MCP_SEED", random.randrange(1 << 30)))
    print("# seed %d" % seed)
    rng = random.Random(seed)
    write(place, "a", b"text")
    agent, client = agent_with_client(place)
    path = agent.seen[0]["payload"]["mcp_socket"]
    for _ in range(10):
        junk = connect(path, opening=rng.random() < 0.7,
                       version=rng.choice([LATEST, MODERN, "2025-03-26"]))
        for _ in range(1000):
            junk.raw(mutated(rng) + b"\n")
        junk.sock.shutdown(socket.SHUT_WR)
        # Of its commands, some never end by themselves.
        gone = threading.Timer(5, junk.sock.shutdown, [socket.SHUT_RDWR])
        gone.start()
        while (message := junk.next()) is not None:
            for item in message if isinstance(message, list) else [message]:
                equal(item["jsonrpc"], "2.0")
                if "error" in item:
                    equal((type(item["error"]["code"]),
                           type(item["error"]["message"])), (int, str))
                else:
                    assert "result" in item or "method" in item, item
        gone.cancel()
    equal(client.result("ping"), {})
    equal(agent.ask("session.status")["payload"]["state"], "running")
    equal(agent.close(), 0)


main()
