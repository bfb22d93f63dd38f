#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tools of the MCP server, over the real daemon and a fake QEMU.

Ids such as MC-03 are the test plan's.
"""
import base64
import json
import os
import resource
import stat
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import (MODERN, NoMachine, Server, connect, read,  # noqa: E402
                        write)
from sanitizer import is_sanitized  # noqa: E402
from stdio_client import Agent, contains, equal, main, test  # noqa: E402

TOOLS = ["execute_command", "read_file", "write_file", "edit_file",
         "list_directory", "undo", "redo", "diff", "get_undo_history",
         "get_session_status", "start_process", "read_process",
         "write_process", "stop_process", "list_processes", "publish_port",
         "unpublish_port", "copy_in", "copy_out", "request_access"]


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
    equal(result["stdout"].count("f"), 65536)
    contains(result["stdout"], "3211264 bytes omitted")
    contains(client.refusal("execute_command", command="refuse"), "not today")
    result = client.call("execute_command", command="sleep", timeout_seconds=1)
    equal(result["isError"], True)
    contains(result["content"][0]["text"], "timeout of 1 s")
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
    code, text = client.error("tools/call", name="write_file", arguments={
        "path": "large", "content": "x" * (5 << 20)})
    equal(code, -32600)
    contains(text, "4194304")
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
    equal(client.tool("get_undo_history")["steps"][0]["command"],
          "edit_file file")
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
def edits_are_bounded(place):
    """edit_file: a small edit does not make a file of terabytes, or a long line"""
    letters = b"a" * (1 << 20)
    write(place, "file", letters)
    server = Server(place)
    client = server.client
    if not is_sanitized(server.process.pid):
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (4 << 30,) * 2)
    text = client.refusal("edit_file", path="file", old_text="a",
                          new_text="b" * 3000000, replace_all=True)
    contains(text, "%d bytes long" % (3000000 << 20))
    contains(client.refusal("edit_file", path="file", old_text="a",
                            new_text="123456789", replace_all=True), "sed")
    equal(read(place, "file"), letters)
    for new in ("\1" * 8, "\n" * 8, "\u00e9" * 4):
        equal(client.tool("edit_file", path="file", old_text="a", new_text=new,
                          replace_all=True)["size"], 8 << 20)
        equal(read(place, "file"), new.encode() * (1 << 20))
        client.tool("undo")
    equal(read(place, "file"), letters)
    equal(server.close(), 0)


@test
def paths_are_taken_as_they_are_meant(place):
    """write_file, edit_file: accept ./; of a symlink the target is reported"""
    os.makedirs(place.share + "/dir/sub")
    write(place, "dir/real", b"old text")
    for name, target in (("link", "dir/real"), ("dirlink", "dir/sub"),
                         ("dangling", "none"), ("out", "../outside"),
                         ("dir/up", "../dir/./real")):
        os.symlink(target, place.share + "/" + name)
    write(place, "../outside", b"theirs")
    server = Server(place)
    client = server.client
    equal(client.tool("write_file", path="./new", content="1")["path"], "new")
    client.tool("write_file", path="dir//./sub/./new", content="2")
    client.tool("edit_file", path="./dir/real", old_text="old", new_text="new")
    equal((read(place, "new"), read(place, "dir/sub/new"),
           read(place, "dir/real")), (b"1", b"2", b"new text"))
    for path, target in (("link", "dir/real"), ("./dir/up", "dir/real"),
                         ("dirlink/new", "dir/sub/new"),
                         ("dirlink/more", "dir/sub/more")):
        text = client.refusal("write_file", path=path, content="x")
        contains(text, "it leads to %s:" % target)
    contains(client.refusal("edit_file", path="link", old_text="new",
                            new_text="x"), "it leads to dir/real:")
    for path in ("dangling", "out"):
        contains(client.refusal("write_file", path=path, content="x"),
                 "symbolic link")
    for path in (".", "./", "dir/", "/", ""):
        client.refusal("write_file", path=path, content="x")
    equal(len(client.tool("get_undo_history")["steps"]), 3)
    equal((read(place, "dir/real"), read(place, "../outside")),
          (b"new text", b"theirs"))
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
    contains(client.refusal("write_file", path="fifo/x", content=""), "fifo")
    os.symlink("loop", place.share + "/loop")
    contains(client.refusal("read_file", path="loop"),
             "Too many levels of symbolic links")
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
            ("execute_command", {"command": "x", "cmd": "y"}, "unknown argument"),
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
            ("get_session_status", {"x": 1}, "allowed: none")):
        contains(client.refusal(tool, **arguments), part)
    for params in ({}, {"name": "no_such"}, {"name": 5}):
        equal(client.error("tools/call", **params)[0], -32602)
    contains(client.result("tools/call", name="undo", arguments=[])
             ["content"][0]["text"], "an object")
    equal(server.close(), 0)


main()
