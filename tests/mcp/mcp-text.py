#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a language model reads of the MCP server: the text of results, and the
instructions. Over the real daemon and a fake QEMU; commands that change files
are real ones, in a folder that is mounted on the host."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import (LATEST, MODERN, NoMachine, Server,  # noqa: E402
                        agent_with_client, read, write)
from stdio_client import contains, equal, main, test  # noqa: E402


def is_json(text):
    try:
        return isinstance(json.loads(text), (dict, list))
    except ValueError:
        return False


@test
def commands_are_their_output_and_a_line(place):
    """execute_command: the output, then how it ended; errors first"""
    server = Server(place)
    client = server.client
    equal(client.text("execute_command", command="echo hello \"there\""),
          'hello "there"\n[exit code 0; step 1 changed nothing]')
    equal(client.text("execute_command", command="exit 3"),
          "[exit code 3; step 2 changed nothing]")
    equal(client.text("execute_command", command="bytes"),
          "[stderr]\n\ufffd\ufffd\n[exit code 0; step 3 changed nothing]")
    text = client.refusal("execute_command", command="sleep",
                          timeout_seconds=1).splitlines()
    contains(text[0], "timeout of 1 s")
    contains(text[-1], "[ended by signal 15; step 4 changed nothing]")
    text = client.text("execute_command", command="flood 100")
    contains(text, "[... 3211264 bytes omitted ...]")
    assert len(text) < 70000, len(text)
    equal(server.close(), 0)


@test
def changes_are_in_words(place):
    """what a command changed is in words, with names that are quoted if odd"""
    place.mounting()
    write(place, "old", b"1")
    write(place, "gone", b"1")
    server = Server(place)
    client = server.client
    text = client.text("execute_command", command="sh echo 2 > old; rm gone;"
                       " mkdir d; echo x > 'd/a b'; echo done")
    for part in ("done\n[exit code 0; step 1 ", "deleted gone", "modified old",
                 "d/a b"):
        contains(text, part)
    text = client.text("execute_command", command="sh mv old \"$(printf "
                       "'n\\nw')\"; touch \"$(printf '\\377')\"")
    contains(text, 'renamed old to "n\\nw"')
    contains(text, 'created "\\377"')
    equal(client.text("undo").splitlines()[0].startswith("undid step 2 ("),
          True)
    text = client.text("undo")
    contains(text, "undid step 1 (")
    contains(text, "removed d")
    contains(text, "restored gone")
    equal(sorted(os.listdir(place.share)), ["gone", "old"])
    for i in range(30):
        write(place, "f%02d" % i, b"")
    text = client.text("execute_command", command="sh rm f*")
    contains(text, "deleted f00, f01")
    contains(text, "and 10 changes more")
    equal(server.close(), 0)


@test
def undo_and_redo_are_in_words(place):
    """undo and redo: what they did, in words; redo brings back what undo took"""
    write(place, "a", b"1\n")
    server = Server(place)
    client = server.client
    equal(client.text("write_file", path="a", content="2\n"),
          "wrote a, now 2 bytes; step 1: modified a")
    equal(client.text("edit_file", path="a", old_text="2", new_text="33"),
          "replaced 1 in a, now 3 bytes; step 2: modified a")
    equal(client.text("undo"),
          "undid step 2 (edit_file a): restored a")
    contains(client.text("get_undo_history"), "redo can redo 1 undone step")
    equal(client.text("undo"), "undid step 1 (write_file a): restored a")
    equal(read(place, "a"), b"1\n")
    result = client.tool("redo", steps=2)
    equal([s["step_id"] for s in result["steps"]], [1, 2])
    equal(read(place, "a"), b"33\n")
    contains(client.refusal("redo"), "can be redone")
    contains(client.refusal("redo"), "get_undo_history says how many")
    client.text("undo")
    equal(client.text("redo"), "redid step 2 (edit_file a): modified a")
    equal(client.text("undo", step_id=1, paths=["a"]),
          "step 3: modified a")
    equal(client.text("undo", step_id=1, paths=["a"]), "nothing had to change")
    contains(client.refusal("undo", steps=9), "get_undo_history")
    contains(client.refusal("redo", steps=0), "'steps'")
    equal(server.close(), 0)


@test
def diffs_are_patches(place):
    """diff: the newest step or a named one, as a patch that git applies"""
    write(place, "a", b"one\ntwo\n")
    server = Server(place)
    client = server.client
    contains(client.refusal("diff"), "the history is empty")
    client.text("write_file", path="a", content="one\n2\n")
    patch = client.text("diff")
    equal(patch, "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n"
                 " one\n-two\n+2")
    equal(client.tool("diff"), {"step_id": 1, "patch": patch + "\n",
                                "truncated": False, "notes": []})
    client.text("write_file", path="new/b", content="b\n")
    equal(client.tool("diff", step_id=1)["patch"], patch + "\n")
    contains(client.text("diff", paths=["new"]), "+++ b/new/b")
    equal(client.text("diff", step_id=1, paths=["new"]),
          "[step 1 changed no file there]")
    client.tool("undo", steps=2)
    subprocess.run(["git", "apply", "-"], input=patch.encode() + b"\n",
                   cwd=place.share, check=True)
    equal(read(place, "a"), b"one\n2\n")
    for arguments, part in (({"step_id": 0}, "must not be 0"),
                            ({"step_id": 77}, "77"), ({"paths": []}, "paths"),
                            ({"directory": "none"}, "directory")):
        contains(client.refusal("diff", **arguments), part)
    equal(server.close(), 0)


@test
def long_diffs_are_cut(place):
    """diff: at most 64 KiB, whole lines; it says how to see the rest"""
    place.mounting()
    server = Server(place)
    client = server.client
    client.tool("execute_command", command="sh for i in 1 2 3; do"
                " seq 9000 > f$i; done; seq 99 > g")
    result = client.tool("diff")
    equal((result["truncated"], result["patch"][-1], len(result["notes"])),
          (True, "\n", 1))
    assert 60000 < len(result["patch"]) <= 65536, len(result["patch"])
    text = client.text("diff")
    contains(text.splitlines()[-1], "give 'paths'")
    result = client.tool("diff", paths=["g"])
    equal((result["truncated"], result["patch"].count("\n+")), (False, 100))
    client.tool("execute_command", command="sh seq 90000 > long")
    result = client.tool("diff")
    equal((result["truncated"], result["patch"][-1]), (True, "\n"))
    client.tool("execute_command", command="sh printf '\\377\\n' > bytes")
    contains(client.tool("diff")["patch"], "+\ufffd\n")
    equal(server.close(), 0)


@test
def files_are_their_content(place):
    """read_file: a whole file is its content alone, otherwise a line says what"""
    server = NoMachine(place)
    client = server.client
    write(place, "text", b"a\n\"b\"\n")
    write(place, "bytes", b"\x00\xff")
    write(place, "empty", b"")
    write(place, "blank", b"\n\n")
    equal(client.text("read_file", path="text"), 'a\n"b"\n')
    equal(client.text("read_file", path="text", length=2),
          "a\n[bytes 0 to 1 of 6; continue with offset 2]")
    equal(client.text("read_file", path="text", offset=2),
          '"b"\n[bytes 2 to 5 of 6]')
    equal(client.text("read_file", path="text", offset=9),
          "[nothing at offset 9 of 6]")
    equal(client.text("read_file", path="bytes"),
          "AP8=\n[bytes 0 to 1 of 2, not text: in base64]")
    equal(client.text("read_file", path="empty"), "[the file is empty]")
    equal(client.text("read_file", path="blank"), "\n\n[bytes 0 to 1 of 2]")
    equal(server.close(), 0)


@test
def folders_are_listings(place):
    """list_directory: a line for each entry, as ls -l; odd names are quoted"""
    server = NoMachine(place)
    client = server.client
    equal(client.text("list_directory"), "[the directory is empty]")
    os.mkdir(place.share + "/dir")
    os.chmod(place.share + "/dir", 0o750)
    write(place, "file", b"12345")
    os.chmod(place.share + "/file", 0o640)
    os.utime(place.share + "/file", (0, 0))
    os.symlink("file", place.share + "/link")
    write(place, "new\nline", b"")
    with open(place.share.encode() + b"/\xff", "w"):
        pass
    lines = client.text("list_directory").splitlines()
    contains(lines[0], "drwxr-x---")
    equal(lines[0].split()[-1], "dir/")
    equal(lines[1].split(), ["-rw-r-----", "5", "1970-01-01", "00:00", "file"])
    equal((lines[2][0], lines[2].split()[-1]), ("l", "link"))
    equal([line.split()[-1] for line in lines[3:]], ['"new\\nline"', '"\\377"'])
    lines = client.text("list_directory", limit=2).splitlines()
    equal((len(lines), lines[2]), (3, "[the first 2 entries; for more raise "
                                      "'limit' or run ls]"))
    equal(server.close(), 0)


@test
def the_history_is_a_table(place):
    """get_undo_history: a row for each step, then edits by other programs"""
    place.mounting()
    server = Server(place)
    client = server.client
    equal(client.text("get_undo_history"), "no step can be undone")
    client.tool("write_file", path="a", content="1")
    client.tool("execute_command", command="sh echo 1 > b\necho 2 " + "x" * 200)
    lines = client.text("get_undo_history").splitlines()
    equal(lines[0].split(), ["STEP", "TYPE", "STARTED", "(UTC)", "EXIT",
                             "CHANGES", "COMMAND"])
    row = lines[1].split()
    equal((row[0], row[1], row[4], row[5], " ".join(row[6:])),
          ("2", "command", "0", "1", "sh echo 1 > b ..."))
    row = lines[2].split()
    equal((row[0], row[1], row[5], row[6:]), ("1", "api", "1",
                                              ["write_file", "a"]))
    write(place, "a", b"theirs")
    text = client.refusal("undo", steps=2)
    contains(text, '"force": true')
    contains(client.text("get_undo_history"), "edit by another program")
    text = client.text("undo", steps=2, force=True)
    contains(text, "passed over an edit by another program")
    equal(server.close(), 0)


@test
def no_text_is_json(place):
    """no result is JSON in JSON, in any version, and each has the step's id"""
    server = Server(place)
    client = server.client
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", LATEST, MODERN):
        client.version = version
        if version != MODERN:
            client.initialize()
        for tool, arguments in (
                ("execute_command", {"command": "echo x"}),
                ("write_file", {"path": "d/f", "content": version}),
                ("edit_file", {"path": "d/f", "old_text": version,
                               "new_text": "new"}),
                ("diff", {}), ("undo", {}), ("redo", {}),
                ("read_file", {"path": "d/f"}), ("list_directory", {}),
                ("get_undo_history", {}), ("get_session_status", {}),
                ("list_processes", {}), ("publish_port", {"guest_port": 80})):
            result = client.call(tool, **arguments)
            item, = result["content"]
            equal((version, tool, is_json(item["text"]), item["text"] != ""),
                  (version, tool, False, True))
            structured = result.get("structuredContent")
            equal(structured is not None, version >= "2025-06-18")
            if structured and structured.get("step_id") and tool != "diff":
                contains(item["text"], "step %d" % structured["step_id"])
    equal(server.close(), 0)


# ---- missing folders -----------------------------------------------------------

@test
def missing_folders_are_made(place):
    """write_file makes missing folders in its step; undo removes them again"""
    os.symlink("..", place.share + "/up")
    os.mkdir(place.share + "/there")
    write(place, "file", b"")
    server = Server(place)
    client = server.client
    result = client.tool("write_file", path="there/a/./b//c.txt", content="x")
    equal((result["path"], result["undoable"],
           sorted(c["path"] for c in result["changes"])),
          ("there/a/b/c.txt", True, ["there/a", "there/a/b",
                                     "there/a/b/c.txt"]))
    equal(read(place, "there/a/b/c.txt"), b"x")
    equal(client.tool("write_file", path="/mnt/working/n/f", content="y")[
        "path"], "n/f")
    contains(client.refusal("write_file", path="up/new/f", content=""),
             "symbolic link")
    contains(client.refusal("write_file", path="../new/f", content=""),
             "below the working folder")
    contains(client.refusal("write_file", path="file/new/f", content=""),
             "file/new/f")
    contains(client.refusal("write_file", path="deep/" * 1000 + "f",
                            content=""), "too long")
    contains(client.refusal("edit_file", path="none/f", old_text="a",
                            new_text="b"), "list_directory")
    equal(os.path.exists(place.root + "/new"), False)
    client.tool("undo", steps=2)
    equal((sorted(os.listdir(place.share)), os.listdir(place.share + "/there")),
          (["file", "there", "up"], []))
    equal(server.close(), 0)


# ---- instructions ---------------------------------------------------------------

def image(place, name, **members):
    folder = place.root + "/cache/stepback/guest/" + name
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/image.json", "w") as file:
        json.dump(members, file)
    for part in ("vmlinuz", "initrd"):
        open(os.path.join(folder, part), "w").close()


def instructions(server):
    if server.client.version == MODERN:
        return server.client.result("server/discover")["instructions"]
    return server.client.initialize()["result"]["instructions"]


@test
def instructions_name_the_guest(place):
    """the instructions: the image, its tools, the network policy, undo"""
    image(place, "mine", tools=["bash", "git", "../x", 5, "a" * 99, "python3"])
    for version in (LATEST, MODERN):
        for options, parts in (
                ((), ("'minimal'; run 'command -v NAME'", "Network: open,")),
                (("--image=mine", "--network=none"),
                 ("'mine', which has sh and bash, git, python3.",
                  "Network: none")),
                (("--network=1.2.3.4:443",),
                 ("Network: only 1.2.3.4:443; names are not resolved.",)),
                (("--network=API.example.org,1.2.3.4",),
                 ("Network: only 1.2.3.4, api.example.org; other names are not "
                  "resolved. A name without a port is reached by HTTPS",))):
            server = Server(place, *options, version=version, opening=False,
                            env={"STEPBACK_LIBEXECDIR": place.root})
            text = instructions(server)
            for part in parts + ("/mnt/working", "Each command", "'undo'",
                                 "'redo'", "'diff'", "can be undone",
                                 "lost when it stops"):
                contains(text, part)
            assert len(text) < 2000, text
            equal(server.close(), 0)


@test
def instructions_of_local_isolation(place):
    """in local isolation: the folder's own path, and no virtual machine"""
    server = Server(place, "--isolation=local", "--network=none", opening=False)
    text = instructions(server)
    for part in ("sandbox on the user's computer", "working folder as " + place.share,
                 "the programs of this computer"):
        contains(text, part)
    for part in ("virtual machine", "/mnt/working", "image"):
        equal((part, part in text), (part, False))
    server.close()


@test
def instructions_follow_the_session(place):
    """in a frontend's session: its folders; before it starts: that none runs"""
    agent, client = agent_with_client(place)
    contains(client.opened["result"]["instructions"], "/mnt/working")
    agent.ask("session.stop")
    client.initialize()
    contains(client.opened["result"]["instructions"], "get_session_status")
    other = place.root + "/other"
    os.mkdir(other)
    agent.start(working_directories=[{"path": place.share}, {"path": other}])
    client.initialize()
    text = client.opened["result"]["instructions"]
    contains(text, "/mnt/working/0 (share), /mnt/working/1 (other)")
    contains(client.text("write_file", path="x", content="", directory="other"),
             "created x (in other)")
    contains(client.refusal("diff"), "several working folders")
    contains(client.text("diff", directory="other"), "b/x")
    contains(client.text("get_session_status"),
             "working folder other: /mnt/working/1 in the guest")
    equal(agent.close(), 0)


main()
