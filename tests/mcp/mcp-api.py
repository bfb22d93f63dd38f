#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The contract of the MCP server, over the real daemon and a fake QEMU.

Ids such as MC-01 are the test plan's.
"""
import json
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import (LATEST, META, MODERN, NoMachine,  # noqa: E402
                        Server, agent_with_client, connect, read, write)
from stdio_client import (FAKE_QEMU, Agent, contains, equal,  # noqa: E402
                          eventually, freeze, main, test)

TOOLS = 20


# ---- messages ---------------------------------------------------------------

@test
def messages_are_json_rpc(place):
    """MC-01: ids, errors and unknown methods are JSON-RPC's"""
    server = NoMachine(place)
    client = server.client
    equal(client.error("no/such")[0], -32601)
    client.message(id="a string", method="ping")
    equal(client.answer("a string")["result"], {})
    for line, code in ((b"{", -32700), (b"nonsense", -32700), (b"[]", -32600),
                       (b"1", -32600), (b'"x"', -32600), (b"true", -32600),
                       (b"null", -32600), (b"-1.5e3", -32600),
                       (b"1 2", -32700), (b'"x', -32700),
                       (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
                       (b'{"id":1,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
                       (b'{"jsonrpc":"2.0","id":1,"method":"p","params":[]}',
                        -32600),
                       (b'{"jsonrpc":"2.0","id":7}', -32600),
                       (b'{"jsonrpc":"2.0","id":7,"method":"a\\u0000b"}',
                        -32700),
                       (b'{"jsonrpc":"2.0","id":7,"result":{},"error":{}}',
                        -32600),
                       (b'{"jsonrpc":"2.0","id":"' + b"x" * 300 +
                        b'","method":"ping"}', -32600),
                       (b'{"a":"' + b"x" * (5 << 20) + b'"}', -32600)):
        client.raw(line + b"\n")
        answer = client.until(lambda m: "error" in m)
        equal((line[:60], answer["error"]["code"]), (line[:60], code))
        equal(answer.get("id", 1) is None, False)
    # Notifications and stray responses get no answer, whatever they say.
    client.notify("no/such")
    client.notify("notifications/cancelled", requestId=99)
    client.notify("notifications/cancelled", requestId={})
    client.message(id="stepback-1", result={})
    client.raw(b"\n")
    count = len(client.seen)
    equal(client.result("ping"), {})
    equal(len(client.seen), count + 1)
    equal(server.close(), 0)
    for line in server.log().splitlines():
        equal(json.loads(line)["component"] != "", True)


@test
def beginnings_are_told(place):
    """the error before the handshake names 'initialize' and '_meta'"""
    server = NoMachine(place, opening=False)
    number, text = server.client.error("tools/list")
    equal(number, -32602)
    contains(text, "'initialize'")
    contains(text, "'_meta'")
    equal(server.close(), 0)


LONG = b"x" * ((4 << 20) + 1)


def refusal_of(client, line):
    """The id of the error that a line that is too long gets, or None."""
    client.raw(line)
    answer = client.until(lambda m: "error" in m)
    equal(answer["error"]["code"], -32600)
    contains(answer["error"]["message"], "4194304")
    return answer.get("id")


def long_lines_get_their_ids(client):
    nested = b'"params":{"id":1,"a":[{"id":2}],"b":"\\"id\\":3,"}'
    for head, tail, id in (
            (b'{"id":7,"a":"', b'"}', 7),
            (b'{"a":"', b'","id":"a b"}', "a b"),
            (b'{"a":"', b'",' + nested + b',"id":-8}', -8),
            (b'{' + nested + b',"id":9,"a":"', b'"}', 9),
            (b'{"\\u0069d":"\\u00e4\\"","a":"', b'"}', "\u00e4\""),
            (b'{"id":"' + b"y" * 256 + b'","a":"', b'"}', "y" * 256),
            # Broken only after its id.
            (b'{"id":10,"a":"', b'', 10),
            # Ids that are none, or are not the request's.
            (b'{"id":"' + b"y" * 257 + b'","a":"', b'"}', None),
            (b'{"id":"', b'"}', None), (b'{"id":1.5,"a":"', b'"}', None),
            (b'{"id":null,"a":"', b'"}', None),
            (b'{' + nested + b',"a":"', b'"}', None),
            (b'[{"id":1,"a":"', b'"}]', None), (b'', b'', None)):
        equal((head[:80], refusal_of(client, head + LONG + tail + b"\n")),
              (head[:80], id))
    # What can be reported is reported at once.
    equal(refusal_of(client, b'{"id":11,"a":"' + LONG), 11)
    client.raw(b'"}\n')
    # A whole request, as a client makes it; and nothing else is answered.
    code, text = client.error("tools/call", name="write_file", arguments={
        "path": "x", "content": LONG.decode()})
    equal(code, -32600)
    count = len(client.seen)
    equal(len(client.result("tools/list")["tools"]), TOOLS)
    equal(len(client.seen), count + 1)


@test
def what_is_not_taken_is_answered_by_its_id(place):
    """JSON that is not taken: an error with the line's id, and with a reason"""
    server = NoMachine(place)
    client = server.client
    for params, part in ((b'{"name":"a\\u0000b"}', "NUL"),
                         (b'{"a\\u0000":1}', "NUL"),
                         (b'{"name":"\\ud83d"}', "surrogate"),
                         (b'{"name":"\\udc00"}', "surrogate"),
                         (b'{"n":99999999999999999999}', "64-bit"),
                         (b'{"n":1e999}', "too large"),
                         (b'{"n":1,"n":2}', "same name"),
                         (b'{"n":"\xff"}', "UTF-8"),
                         (b'[' * 5000 + b']' * 5000, "deeply"),
                         (b'{}}', "trailing"), (b'nothing', "not valid"),
                         (b'{', "ends within")):
        for id in (b'7', b'"call-7"'):
            client.raw(b'{"jsonrpc":"2.0","id":' + id + b',"method":'
                       b'"tools/call","params":' + params + b'}\n')
            answer = client.next()
            equal((answer.get("id"), answer["error"]["code"]),
                  (json.loads(id), -32700))
            contains(answer["error"]["message"], part)
            equal("JSON_" in answer["error"]["message"], False)
    # An id after what is wrong; one that is itself wrong; that of a member.
    client.raw(b'{"params":{"id":1,"a":"\\u0000"},"method":"x","id":8}\n')
    equal(client.next()["id"], 8)
    for line in (b'{"id":"\\u0000"}', b'{"params":{"id":1,"a":"\\u0000"}}',
                 b'{"id":[1],"a":"\\u0000"}', b'[{"id":1,"a":"\\u0000"}]'):
        client.raw(line + b"\n")
        answer = client.next()
        equal(("id" in answer, answer["error"]["code"]), (False, -32700))
    equal(client.result("ping"), {})
    equal(server.close(), 0)


@test
def long_lines_end_their_requests(place):
    """a line over 4 MiB: an error with its id, in both eras, on both ways"""
    agent = Agent(place)
    path = agent.event("event.ready")["mcp_socket"]
    for version in (LATEST, MODERN):
        long_lines_get_their_ids(connect(path, version=version))
        server = NoMachine(place, version=version)
        long_lines_get_their_ids(server.client)
        # The end of all is the end of a line.
        server.client.raw(b'{"a":"' + LONG)
        server.process.stdin.close()
        equal("id" in server.client.until(lambda m: "error" in m), False)
        equal(server.close(), 0)
    equal(agent.close(), 0)


@test
def versions_are_negotiated(place):
    """both eras: "initialize" for four versions, "_meta" for the later ones"""
    server = NoMachine(place, opening=False)
    client = server.client
    for version, got in (("2024-11-05", "2024-11-05"),
                         ("2025-03-26", "2025-03-26"),
                         ("2025-06-18", "2025-06-18"), (LATEST, LATEST),
                         (MODERN, LATEST), ("1999-01-01", LATEST)):
        client.version = version if version != MODERN else LATEST
        result = client.result("initialize", protocolVersion=version,
                               capabilities={}, clientInfo={})
        equal(result["protocolVersion"], got)
        equal(result["serverInfo"]["name"], "stepback")
        tool = client.result("tools/list")["tools"][0]
        equal("outputSchema" in tool, got >= "2025-06-18")
        equal("annotations" in tool, got >= "2025-03-26")
        equal("structuredContent" in client.call("get_session_status"),
              got >= "2025-06-18")
        equal("completions" in result["capabilities"], got >= "2025-03-26")
    for params in ({}, {"protocolVersion": 5, "capabilities": {}},
                   {"protocolVersion": LATEST}):
        equal(client.error("initialize", **params)[0], -32602)
    # The later era, on the same connection.
    client.version = MODERN
    result = client.result("server/discover")
    equal((result["resultType"], result["supportedVersions"][0]),
          ("complete", MODERN))
    equal(result["_meta"][META + "serverInfo"]["name"], "stepback")
    equal(result["ttlMs"] >= 0 and result["cacheScope"], "private")
    contains(result["capabilities"], "resources")
    result = client.result("tools/list")
    equal((result["resultType"], result["cacheScope"]), ("complete", "private"))
    equal(client.call("get_session_status")["resultType"], "complete")
    for method in ("initialize", "ping", "logging/setLevel",
                   "resources/subscribe"):
        equal((method, client.error(method)[0]), (method, -32601))
    client.version = LATEST
    equal(client.error("subscriptions/listen", notifications={})[0], -32602)
    equal(server.close(), 0)


@test
def stateless_requests_carry_all(place):
    """2026-07-28: what lacks version or capabilities is refused"""
    server = NoMachine(place, version=MODERN)
    client = server.client

    def refused(**meta):
        client.last_id += 1
        client.message(id=client.last_id, method="tools/list",
                       params={"_meta": meta} if meta else {})
        return client.answer(client.last_id)["error"]

    version, capabilities = META + "protocolVersion", META + \
        "clientCapabilities"
    equal(refused()["code"], -32602)
    equal(refused(**{version: 5, capabilities: {}})["code"], -32602)
    equal(refused(**{version: MODERN})["code"], -32602)
    equal(refused(**{version: MODERN, capabilities: []})["code"], -32602)
    equal(refused(**{version: MODERN, capabilities: {},
                     META + "logLevel": "loud"})["code"], -32602)
    error = refused(**{version: "1900-01-01", capabilities: {}})
    equal((error["code"], error["data"]["requested"]), (-32022, "1900-01-01"))
    contains(error["data"]["supported"], MODERN)
    equal(client.error("tools/list", requestState="x")[0], -32602)
    equal(len(client.result("tools/list")["tools"]), TOOLS)
    equal(server.close(), 0)


@test
def batches_are_answered_together(place):
    """2025-03-26: a batch gets one array, once all of it is done"""
    server = Server(place, version="2025-03-26")
    client = server.client
    batch = [{"jsonrpc": "2.0", "id": 50, "method": "ping"},
             {"jsonrpc": "2.0", "method": "notifications/x"},
             {"jsonrpc": "2.0", "id": 51, "method": "tools/call", "params":
              {"name": "execute_command", "arguments": {"command": "exit 3"}}},
             {"jsonrpc": "2.0", "id": 52, "method": "no/such"}, 5]
    client.raw(json.dumps(batch).encode() + b"\n")
    answers = client.until(lambda m: isinstance(m, list))
    equal(sorted(a["id"] for a in answers if "id" in a), [50, 51, 52])
    equal(len(answers), 4)
    equal(server.close(), 0)


# ---- what takes time --------------------------------------------------------

@test
def progress_and_cancellation(place):
    """progress while a command runs; a cancelled one is killed, unanswered"""
    for version in (LATEST, MODERN):
        server = Server(place, version=version)
        client = server.client
        equal(client.tool("execute_command", command="exit 0")["exit_code"], 0)
        id = client.send("tools/call", name="execute_command",
                         arguments={"command": "sleep"},
                         meta={"progressToken": "p1"})
        first = client.notification("notifications/progress")
        second = client.notification("notifications/progress")
        equal(first["progressToken"], "p1")
        assert second["progress"] > first["progress"] > 0
        # Others wait for it; of these, too, one can be cancelled.
        waiting = client.send("tools/call", name="get_undo_history",
                              arguments={})
        other = client.send("tools/call", name="execute_command",
                            arguments={"command": "echo x"})
        client.notify("notifications/cancelled", requestId=waiting)
        client.notify("notifications/cancelled", requestId=id, reason="enough")
        result = client.answer(other)["result"]["structuredContent"]
        equal(result["stdout"], "x\n")
        equal([m for m in client.seen if m.get("id") in (id, waiting)], [])
        equal(server.close(), 0)


@test
def messages_are_logged_on_demand(place):
    """logging/setLevel: warnings of the session reach the client"""
    agent, client = agent_with_client(place)
    equal(client.error("logging/setLevel", level="loud")[0], -32602)
    equal(client.result("logging/setLevel", level="warning"), {})
    agent.send("agent.execute", command="die")
    params = client.notification("notifications/message")
    equal((params["level"], params["data"]["code"]),
          ("error", "control_disconnected"))
    equal(agent.close(), 0)


# ---- the session ------------------------------------------------------------

@test
def the_machine_is_started_when_needed(place):
    """stepback mcp: files at once, commands when the VM is up, again if lost"""
    write(place, "a", b"x")
    server = Server(place)
    client = server.client
    equal(client.tool("read_file", path="a")["content"], "x")
    client.call("execute_command", command="die")
    equal(client.tool("get_session_status")["state"], "error")
    equal(client.tool("execute_command", command="echo 1")["stdout"], "1\n")
    equal(server.close(), 0)
    server = Server(place, env={"STEPBACK_FAKE_QEMU": "exit"})
    text = server.client.refusal("execute_command", command="echo 1")
    contains(text, "cannot allocate everything")
    status = server.client.tool("get_session_status")
    equal(status["state"], "stopped")
    contains(status["error"], "cannot allocate everything")
    equal(server.client.tool("read_file", path="a")["content"], "x")
    equal(server.close(), 0)


@test
def a_folder_that_was_replaced_is_one(place):
    """stepback mcp: a new start's folder is the one that is read and edited"""
    write(place, "conf", b"old: alpha\n")
    server = Server(place)
    client = server.client
    client.call("execute_command", command="echo 1")
    os.rename(place.share, place.root + "/moved")
    os.mkdir(place.share)
    write(place, "conf", b"new: alpha\n")
    write(place, "more", b"")
    equal(client.tool("read_file", path="conf")["content"], "old: alpha\n")
    client.call("execute_command", command="die")
    equal(client.tool("read_file", path="conf")["content"], "new: alpha\n")
    client.tool("edit_file", path="conf", old_text="alpha", new_text="beta")
    equal([entry["name"] for entry in client.tool("list_directory")[
        "entries"]], ["conf", "more"])
    equal(read(place, "conf"), b"new: beta\n")
    equal(read(place, "../moved/conf"), b"old: alpha\n")
    client.call("execute_command", command="die")
    os.rename(place.share, place.root + "/gone")
    contains(client.refusal("read_file", path="conf"), place.share)
    os.mkdir(place.share)
    contains(client.refusal("read_file", path="conf"), "list_directory")
    equal(server.close(), 0)


def late_qemu(place):
    """One that begins when there is the file "go" in the place."""
    qemu = place.root + "/late-qemu"
    with open(qemu, "w") as file:
        file.write("#!/bin/sh\nwhile ! [ -e %s/go ]; do sleep 0.05; done\n"
                   "exec %s \"$@\"\n" % (place.root, FAKE_QEMU))
    os.chmod(qemu, 0o755)
    return qemu


@test
def a_start_is_told_as_progress(place):
    """stepback mcp: a command that waits for the VM says so"""
    server = Server(place, env={"STEPBACK_QEMU": late_qemu(place)})
    client = server.client
    id = client.send("tools/call", name="execute_command",
                     arguments={"command": "echo 1"},
                     meta={"progressToken": "p"})
    contains(client.notification("notifications/progress")["message"],
             "starting")
    open(place.root + "/go", "w").close()
    equal(client.answer(id)["result"]["structuredContent"]["stdout"], "1\n")
    equal(server.close(), 0)


@test
def an_edit_is_of_what_was_read(place):
    """edit_file: refused if the file changes while the machine starts"""
    write(place, "conf", b"alpha" + bytes(1 << 20))
    server = Server(place, env={"STEPBACK_QEMU": late_qemu(place)})
    client = server.client

    def has_read():
        with open("/proc/%d/io" % server.process.pid) as file:
            return int(file.readline().split()[1])

    before = has_read()
    id = client.send("tools/call", name="edit_file", arguments={
        "path": "conf", "old_text": "alpha", "new_text": "beta"})
    assert eventually(lambda: has_read() >= before + (1 << 20), 20)
    write(place, "conf", b"theirs: alpha\n")
    open(place.root + "/go", "w").close()
    result = client.answer(id)["result"]
    equal(result.get("isError"), True)
    contains(result["content"][0]["text"], "read it again")
    equal(read(place, "conf"), b"theirs: alpha\n")
    client.tool("edit_file", path="conf", old_text="alpha", new_text="beta")
    equal(read(place, "conf"), b"theirs: beta\n")
    equal(server.close(), 0)


@test
def an_edit_is_compared_where_it_is_written(place):
    """edit_file: what others write until the daemon does is left alone"""
    write(place, "conf", b"old: alpha" + bytes(1 << 20))
    server = Server(place)
    client = server.client
    client.call("execute_command", command="echo 1")
    pid = server.process.pid
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        children = [int(word) for word in file.read().split()]
    daemon, = [pid for pid in children if b"virtiofsd" in
               open("/proc/%d/cmdline" % pid, "rb").read()]

    def has_read():
        with open("/proc/%d/io" % pid) as file:
            return int(file.readline().split()[1])

    def save(place, name, data):
        write(place, "new", data)
        os.rename(place.share + "/new", place.share + "/" + name)

    for theirs, way in ((b"their alpha", write), (b"old: gamma", write),
                        (b"other: alpha", save), (None, None)):
        before = read(place, "conf")
        freeze(daemon)
        count = has_read()
        id = client.send("tools/call", name="edit_file", arguments={
            "path": "conf", "old_text": "alpha", "new_text": "beta"})
        assert eventually(lambda: has_read() >= count + (1 << 20), 20)
        time.sleep(0.3)  # the daemon was asked
        if theirs:
            way(place, "conf", theirs)
        os.kill(daemon, signal.SIGCONT)
        result = client.answer(id)["result"]
        equal((theirs, result.get("isError", False)),
              (theirs, theirs is not None))
        if theirs:
            contains(result["content"][0]["text"], "read it again")
            equal(read(place, "conf"), theirs)
            write(place, "conf", b"old: alpha" + bytes(1 << 20))
        else:
            equal(read(place, "conf"), before.replace(b"alpha", b"beta"))
    # Refused edits are no steps.
    equal(len(client.tool("get_undo_history")["steps"]), 1)
    equal(server.close(), 0)


main()
