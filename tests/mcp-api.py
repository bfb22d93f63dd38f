#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The contract of the MCP server, over the real daemon and a fake QEMU.

Ids such as MC-01 are the test plan's.
"""
import base64
import json
import os
import random
import signal
import socket
import stat
import sys
import threading
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mcp_client import (LATEST, META, MODERN, NoMachine,  # noqa: E402
                        Server, agent_with_client, connect, read, write)
from stdio_client import (Agent, alive, contains, equal,  # noqa: E402
                          eventually, main, test)

TOOLS = ["execute_command", "read_file", "write_file", "edit_file",
         "list_directory", "undo", "get_undo_history", "get_session_status"]


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
    equal(len(client.result("tools/list")["tools"]), len(TOOLS))
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


# ---- tools ------------------------------------------------------------------

@test
def tools_say_what_they_are(place):
    """all tools have four annotations, titles and both schemas"""
    server = NoMachine(place)
    tools = server.client.result("tools/list")["tools"]
    equal([tool["name"] for tool in tools], TOOLS)
    for tool in tools:
        for hint in ("readOnlyHint", "destructiveHint", "idempotentHint",
                     "openWorldHint"):
            equal(type(tool["annotations"][hint]), bool)
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            equal(schema["type"], "object")
        equal(tool["inputSchema"]["additionalProperties"], False)
        assert tool["title"] and tool["description"]
    equal(server.client.error("tools/list", cursor="x")[0], -32602)
    equal(server.close(), 0)


@test
def commands_return_what_the_guest_said(place):
    """MC-02: execute_command: exit code, stdout and stderr are the shim's"""
    server = Server(place)
    client = server.client
    result = client.tool("execute_command", command="echo hello")
    equal((result["exit_code"], result["stdout"], result["stderr"],
           result["step_id"]), (0, "hello\n", "", 1))
    equal(client.tool("execute_command", command="exit 5")["exit_code"], 5)
    result = client.tool("execute_command", command="bytes")
    equal((result["stdout"], result["stderr"]), ("", "\ufffd\ufffd"))
    result = json.loads(client.tool(
        "execute_command", command="show", cwd="sub", env={"A": "b"})["stdout"])
    equal((result["cwd"], result["env"]), ("/mnt/working/sub", {"A": "b"}))
    result = client.tool("execute_command", command="flood 100")
    equal(result["stdout_dropped_bytes"], 100 * 32768 - 65536)
    equal(result["stdout"].count("f"), 65536 + "are left out".count("f"))
    contains(result["stdout"], "3211264 bytes are left out")
    contains(client.refusal("execute_command", command="refuse"), "not today")
    result = client.call("execute_command", command="sleep", timeout_seconds=1)
    equal(result["isError"], True)
    contains(result["content"][0]["text"], "longer than 1 s")
    equal(result["structuredContent"]["exit_code"], 143)
    equal(server.close(), 0)


@test
def written_files_are_steps(place):
    """MC-03, MC-04: write_file is a step of type "api", and undo restores"""
    write(place, "old", b"before")
    os.chmod(place.share + "/old", 0o640)
    server = Server(place)
    client = server.client
    result = client.tool("write_file", path="new", content="text")
    equal((result["step_id"], result["size"], result["undoable"]), (1, 4, True))
    equal(result["changes"][0]["change"], "created")
    client.tool("write_file", path="old", content="after")
    client.tool("write_file", path="script", mode=0o755, encoding="base64",
                content=base64.b64encode(b"\xff\x00").decode())
    equal((read(place, "old"), read(place, "script")), (b"after", b"\xff\x00"))
    equal(stat.S_IMODE(os.stat(place.share + "/script").st_mode), 0o755)
    history = client.tool("get_undo_history")
    equal([(s["step_id"], s["type"]) for s in history["steps"]],
          [(3, "api"), (2, "api"), (1, "api")])
    contains(client.refusal("write_file", path="x", encoding="base64",
                            content="%%"), "base64")
    equal(len(client.tool("undo", step_id=2)["steps"]), 2)
    equal((read(place, "old"), sorted(os.listdir(place.share))),
          (b"before", ["new", "old"]))
    equal(len(client.tool("undo")["steps"]), 1)
    equal(os.listdir(place.share), ["old"])
    contains(client.refusal("undo"), "get_undo_history")
    contains(client.refusal("undo", step_id=1), "no step 1")
    contains(client.refusal("undo", step_id=1, steps=1), "not both")
    equal(server.close(), 0)


@test
def large_files_are_refused(place):
    """SA-12: write_file of too much: an error, no step, and nothing written"""
    server = Server(place)
    client = server.client
    client.send("tools/call", name="write_file", arguments={
        "path": "large", "content": "x" * (5 << 20)})
    # Of such a line nothing is kept, not even its id.
    error = client.until(lambda m: "error" in m)["error"]
    equal(error["code"], -32600)
    contains(error["message"], "4194304")
    equal(client.tool("write_file", path="fits", content="x" * (3 << 20))[
        "size"], 3 << 20)
    equal(os.listdir(place.share), ["fits"])
    equal([s["step_id"] for s in client.tool("get_undo_history")["steps"]],
          [1])
    equal(server.close(), 0)


@test
def edits_are_exact(place):
    """edit_file: once or all; a step; bytes that are no text stay"""
    write(place, "file", b"\xff one two two\n")
    with open(place.share + "/big", "wb") as file:
        file.truncate(3 << 20)
    server = Server(place)
    client = server.client
    result = client.tool("edit_file", path="/mnt/working/file", old_text="one",
                         new_text="1")
    equal((result["replacements"], result["step_id"]), (1, 1))
    contains(client.refusal("edit_file", path="file", old_text="two",
                            new_text="2"), "2 times")
    result = client.tool("edit_file", path="file", old_text="two",
                         new_text="2", replace_all=True)
    equal((result["replacements"], read(place, "file")),
          (2, b"\xff 1 2 2\n"))
    contains(client.refusal("edit_file", path="file", old_text="none",
                            new_text="x"), "not in file")
    contains(client.refusal("edit_file", path="file", old_text="x",
                            new_text="x"), "same")
    contains(client.refusal("edit_file", path="gone", old_text="x",
                            new_text="y"), "list_directory")
    contains(client.refusal("edit_file", path="big", old_text="x",
                            new_text="y"), "sed")
    client.tool("undo", steps=2)
    equal(read(place, "file"), b"\xff one two two\n")
    equal(server.close(), 0)


@test
def paths_stay_inside(place):
    """MC-05: a path outside the root: an error, no step, nothing is touched"""
    server = Server(place)
    client = server.client
    os.symlink("/etc", place.share + "/out")
    os.symlink(place.root, place.share + "/up")
    os.mkfifo(place.share + "/fifo")
    for path in ("../x", "/etc/x", "out/x", "up/x", "a/../../x"):
        for tool, more in (("write_file", {"content": "x"}), ("read_file", {}),
                           ("edit_file", {"old_text": "a", "new_text": "b"}),
                           ("list_directory", {})):
            text = client.refusal(tool, path=path, **more)
            assert path in text, (tool, path, text)
    for tool in ("read_file", "list_directory"):
        contains(client.refusal(tool, path="fifo"), "fifo")
    contains(client.refusal("write_file", path="none/x", content=""), "none")
    equal(client.tool("get_undo_history")["steps"], [])
    equal(sorted(os.listdir(place.root)), [".stepback", "cache", "run",
                                           "share"])
    for uri in ("stepback://files/../x", "stepback://files/out/passwd",
                "stepback://files/%2e%2e/x", "stepback://files//etc/passwd",
                "stepback://files/", "stepback://files/%00", "file:///etc/x",
                "stepback://other", "stepback://files/%zz"):
        equal((uri, client.error("resources/read", uri=uri)[0]), (uri, -32002))
    client.version = MODERN
    equal(client.error("resources/read", uri="stepback://files/none")[0],
          -32602)
    equal(server.close(), 0)


@test
def folders_are_told_apart(place):
    """several folders: by label, or by the place that the guest has it in"""
    agent = Agent(place)
    path = agent.event("event.ready")["mcp_socket"]
    other = place.root + "/other"
    os.mkdir(other)
    agent.start(working_directories=[{"path": place.share}, {"path": other}])
    client = connect(path)
    client.tool("write_file", path="a", content="1")
    client.tool("write_file", path="a", content="2", directory="other")
    result = client.tool("write_file", path="/mnt/working/1/b", content="3")
    equal((result["path"], sorted(os.listdir(other))), ("b", ["a", "b"]))
    equal(client.tool("read_file", path="/mnt/working/0/a")["content"], "1")
    equal(client.tool("read_file", path="/mnt/working/1/a")["content"], "2")
    equal(len(client.tool("list_directory", path="/mnt/working/1")["entries"]),
          2)
    for path in ("/mnt/working/2/a", "/mnt/working/1/../0/a", "/mnt/working1"):
        client.refusal("read_file", path=path)
    client.tool("edit_file", path="/mnt/working/1/a", old_text="2",
                new_text="4")
    client.tool("undo", steps=2, directory="other")
    equal((os.listdir(other), read(place, "a")), (["a"], b"1"))
    equal(agent.close(), 0)


@test
def files_are_read_in_parts(place):
    """read_file and list_directory: parts, bytes, limits"""
    server = Server(place)
    client = server.client
    text = "a" + "\u00e9" * 200000
    write(place, "text", text.encode())
    write(place, "bytes", b"\x00\xff")
    write(place, "empty", b"")
    part = client.tool("read_file", path="text", length=4)
    equal((part["content"], part["next_offset"], part["size"]),
          ("a\u00e9", 3, 400001))
    whole, offset = "", 0
    while offset is not None:
        part = client.tool("read_file", path="text", offset=offset)
        whole, offset = whole + part["content"], part["next_offset"]
    equal(whole, text)
    part = client.tool("read_file", path="bytes")
    equal((part["encoding"], part["content"]), ("base64", "AP8="))
    equal(client.tool("read_file", path="empty")["content"], "")
    equal(client.tool("read_file", path="text", offset=999999)["length"], 0)
    entries = client.tool("list_directory")
    equal([e["name"] for e in entries["entries"]], ["bytes", "empty", "text"])
    equal(client.tool("list_directory", limit=1)["truncated"], True)
    client.tool("execute_command", command="exit 0")
    contains(client.refusal("list_directory", directory="nowhere"),
             "directory")
    equal(client.tool("list_directory", directory="share")["truncated"], False)
    equal(server.close(), 0)


@test
def arguments_are_checked(place):
    """arguments that do not fit: isError with a sentence; unknown: -32602"""
    server = NoMachine(place)
    client = server.client
    for tool, arguments, part in (
            ("execute_command", {}, "'command' is missing"),
            ("execute_command", {"command": ""}, "must not be empty"),
            ("execute_command", {"command": 5}, "a string, not 5"),
            ("execute_command", {"command": "x", "cmd": "y"}, "no argument"),
            ("execute_command", {"command": "x", "env": {"A": 1}}, "'env.A'"),
            ("execute_command", {"command": "x", "env": {"A=": "1"}}, "'='"),
            ("execute_command", {"command": "x", "env": []}, "an object"),
            ("execute_command", {"command": "x", "timeout_seconds": 0},
             "an integer from 1 to 604800, not 0"),
            ("execute_command", {"command": "x", "timeout_seconds": 1.5},
             "not 1.5"),
            ("read_file", {"path": "x", "offset": -1}, "'offset'"),
            ("write_file", {"path": "x"}, "'content' is missing"),
            ("write_file", {"path": "x", "content": "", "encoding": "latin1"},
             "one of"),
            ("edit_file", {"path": "x", "old_text": "", "new_text": ""},
             "'old_text'"),
            ("undo", {"steps": "1"}, "'steps'"),
            ("undo", {"force": "yes"}, "a boolean"),
            ("get_undo_history", {"limit": 0}, "'limit'"),
            ("get_session_status", {"x": 1}, "known are: none")):
        contains(client.refusal(tool, **arguments), part)
    for params in ({}, {"name": "no_such"}, {"name": 5}):
        equal(client.error("tools/call", **params)[0], -32602)
    contains(client.result("tools/call", name="undo", arguments=[])
             ["content"][0]["text"], "an object")
    equal(server.close(), 0)


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
    server = Server(place, env={"FAKE_QEMU": "exit"})
    text = server.client.refusal("execute_command", command="echo 1")
    contains(text, "cannot allocate everything")
    status = server.client.tool("get_session_status")
    equal(status["state"], "stopped")
    contains(status["error"], "cannot allocate everything")
    equal(server.client.tool("read_file", path="a")["content"], "x")
    equal(server.close(), 0)


@test
def every_end_of_mcp_is_clean(place):
    """stepback mcp: after any end no process, socket or folder is left"""
    for way in ("eof", signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        server = Server(place)
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


# ---- the agent's socket -----------------------------------------------------

@test
def the_socket_is_private(place):
    """MC-07: there is no token: the socket is 0600, in a folder 0700"""
    agent = Agent(place)
    path = agent.event("event.ready")["mcp_socket"]
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
    equal(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)
    client = connect(path)
    equal(client.tool("get_session_status")["state"], "stopped")
    contains(client.refusal("execute_command", command="x"),
             "get_session_status")
    contains(client.refusal("read_file", path="x"), "get_session_status")
    if os.getuid() == 0:
        # For others the folder is closed, and the socket were it not.
        os.chmod(place.root, 0o755)
        for folder_mode in (0o700, 0o755):
            os.chmod(place.runtime, 0o755)
            os.chmod(os.path.dirname(path), folder_mode)
            child = os.fork()
            if child == 0:
                os.setuid(65534)
                try:
                    socket.socket(socket.AF_UNIX).connect(path)
                    os._exit(1)
                except PermissionError:
                    os._exit(0)
            equal(os.waitpid(child, 0)[1], 0)
    equal(agent.close(), 0)
    equal(os.listdir(place.runtime), [])


@test
def clients_share_the_session(place):
    """MC-08: frontend and MCP clients at once: one history, no races"""
    agent, first = agent_with_client(place)
    path = agent.seen[0]["payload"]["mcp_socket"]
    clients = [first, connect(path, version=MODERN), connect(path)]
    steps, lock = [], threading.Lock()
    failed = []

    def busy(client, number):
        rng = random.Random(number)
        try:
            for i in range(12):
                if rng.random() < 0.5:
                    tool, arguments = "write_file", {"path": "f%d" % number,
                                                     "content": "%d" % i}
                else:
                    tool, arguments = "execute_command", {"command": "echo x"}
                result = client.call(tool, **arguments)
                while result.get("isError"):
                    contains(result["content"][0]["text"], "try again")
                    time.sleep(rng.random() / 10)
                    result = client.call(tool, **arguments)
                with lock:
                    steps.append(result["structuredContent"]["step_id"])
        except Exception:
            failed.append(traceback.format_exc())

    threads = [threading.Thread(target=busy, args=(client, number))
               for number, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    for i in range(12):
        answer = agent.ask("agent.execute", command="echo frontend")
        while answer["status"] != "ok":
            equal(answer["error"]["number"], 6000)
            time.sleep(0.02)
            answer = agent.ask("agent.execute", command="echo frontend")
        with lock:
            steps.append(answer["payload"]["step_id"])
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    equal(failed, [])
    equal((len(steps), len(set(steps))), (48, 48))
    # All have seen the same history, and one undo is everybody's.
    history = agent.ask("undo.history")["payload"]["steps"]
    for client in clients:
        seen = client.tool("get_undo_history", limit=1000)["steps"]
        equal([s["step_id"] for s in seen], [s["step_id"] for s in history])
    count = len(history)
    clients[1].tool("undo", steps=count - 1)
    moved = agent.event("event.history_changed")
    equal((moved["operation"], len(moved["steps"])), ("rollback", count - 1))
    equal(agent.ask("undo.rollback")["status"], "ok")
    equal(os.listdir(place.share), [])
    equal(clients[0].tool("get_undo_history")["steps"], [])
    # What each step did was told to the frontend.
    told = [m["payload"]["step_id"] for m in agent.seen
            if m["type"] == "event.step_completed"]
    equal(sorted(told), sorted(steps))
    equal(agent.close(), 0)


@test
def a_cancellation_is_the_own_commands(place):
    """a client cannot cancel the frontend's command, nor by going away"""
    agent, client = agent_with_client(place)
    id = agent.send("agent.execute", command="sleep")
    agent.event("event.step_started")
    contains(client.refusal("execute_command", command="echo"), "try again")
    other = client.send("tools/call", name="execute_command",
                        arguments={"command": "echo"})
    client.notify("notifications/cancelled", requestId=other)
    client.sock.shutdown(socket.SHUT_RDWR)
    time.sleep(0.3)
    equal(agent.ask("session.status")["payload"]["running_step"], 1)
    equal(agent.ask("agent.cancel")["payload"], {"cancelled": True})
    equal(agent.response(id)["error"]["number"], 6001)
    # But its own command goes with a client.
    client = connect(agent.seen[0]["payload"]["mcp_socket"])
    client.send("tools/call", name="execute_command",
                arguments={"command": "sleep"})
    agent.event("event.step_started")
    client.sock.shutdown(socket.SHUT_RDWR)
    equal(agent.event("event.step_completed")["exit_code"], 143)
    equal(agent.close(), 0)


# ---- safeguards -------------------------------------------------------------

def guarded(place, **client):
    agent = Agent(place)
    path = agent.event("event.ready")["mcp_socket"]
    write(place, "big", b"x" * 5000)
    agent.start(safeguard={"overwrite_file_size_threshold": 1000,
                           "timeout_seconds": 30})
    return agent, connect(path, **client)


def overwrite(client):
    return client.send("tools/call", name="write_file",
                       arguments={"path": "big", "content": "y"})


@test
def triggers_are_shown_to_the_frontend(place):
    """MC-06: a safeguard that an MCP call triggers is shown on STDIO"""
    agent, client = guarded(place)
    for action, content in (("deny", b"x" * 5000), ("allow", b"y")):
        id = overwrite(client)
        event = agent.event("event.safeguard_triggered")
        equal((event["kind"], event["path"]), ("overwrite", "big"))
        agent.ask("safeguard.confirm", safeguard_id=event["safeguard_id"],
                  action=action)
        result = client.answer(id)["result"]
        equal(result.get("isError", False), action == "deny")
        equal(read(place, "big"), content)
    # The client cannot ask, so it was not asked.
    equal([m for m in client.seen if m.get("method") == "elicitation/create"],
          [])
    equal(agent.close(), 0)


@test
def users_of_clients_are_asked(place):
    """MC-06: elicitation is a second channel; the frontend's word is final"""
    agent, client = guarded(place, capabilities={"elicitation": {}})
    # The frontend decides: the question is withdrawn.
    id = overwrite(client)
    event = agent.event("event.safeguard_triggered")
    asked = client.until(lambda m: m.get("method") == "elicitation/create")
    contains(asked["params"]["message"], "big")
    equal(asked["params"]["requestedSchema"]["properties"]["decision"]["enum"],
          ["allow", "deny"])
    client.message(id=asked["id"], result={"action": "accept", "content": {
        "decision": "allow"}})
    agent.ask("safeguard.confirm", safeguard_id=event["safeguard_id"],
              action="deny")
    equal(client.answer(id)["result"]["isError"], True)
    id = overwrite(client)
    event = agent.event("event.safeguard_triggered")
    asked = client.until(lambda m: m.get("method") == "elicitation/create")
    agent.ask("safeguard.confirm", safeguard_id=event["safeguard_id"],
              action="deny")
    equal(client.notification("notifications/cancelled")["requestId"],
          asked["id"])
    equal(client.answer(id)["result"]["isError"], True)
    equal(read(place, "big"), b"x" * 5000)
    # An answer that is none, and one of nobody's, change nothing.
    client.message(id=asked["id"], result={"action": "accept"})
    # The frontend says nothing for half of its time: the client's word counts.
    agent.ask("safeguard.configure", timeout_seconds=4)
    started = time.monotonic()
    id = overwrite(client)
    asked = client.until(lambda m: m.get("method") == "elicitation/create")
    client.message(id=asked["id"], result={"action": "accept", "content": {
        "decision": "allow"}})
    equal(client.answer(id)["result"].get("isError", False), False)
    assert 1.9 < time.monotonic() - started < 3.9
    equal(read(place, "big"), b"y")
    equal(agent.close(), 0)


@test
def clients_decide_without_a_frontend(place):
    """elicitation in stepback mcp: deny, decline and allow, in both eras"""
    for version in (LATEST, MODERN):
        write(place, "big", b"x" * 5000)
        server = Server(place, "--ask-overwrites=1000", version=version,
                        capabilities={"elicitation": {}})
        client = server.client
        answers = (({"action": "decline"}, True),
                   ({"action": "accept", "content": {"decision": "deny"}},
                    True),
                   ({"action": "accept", "content": {"decision": "allow"}},
                    False))
        for answer, is_error in answers:
            id = overwrite(client)
            if version == MODERN:
                result = client.answer(id)["result"]
                equal(result["resultType"], "input_required")
                request = result["inputRequests"]["safeguard"]
                equal(request["method"], "elicitation/create")
                arguments = {"path": "big", "content": "y"}
                # Nobody else's request can go on as this one.
                equal(client.error("tools/call", name="write_file", arguments={
                    "path": "big", "content": "z"},
                    requestState=result["requestState"])[0], -32602)
                # Without its answer it is asked again.
                result = client.result("tools/call", name="write_file",
                                       arguments=arguments, inputResponses={},
                                       requestState=result["requestState"])
                equal(result["resultType"], "input_required")
                id = client.send("tools/call", name="write_file",
                                 arguments=arguments,
                                 inputResponses={"safeguard": answer,
                                                 "other": 5},
                                 requestState=result["requestState"])
            else:
                asked = client.until(
                    lambda m: m.get("method") == "elicitation/create")
                client.message(id=asked["id"], result=answer)
            result = client.answer(id)["result"]
            equal(result.get("isError", False), is_error)
        equal(read(place, "big"), b"y")
        equal(server.close(), 0)


users_of_clients_are_asked.alone = True


main()
