#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stepback audit: the record of a sandbox, and its chain. Over a fake QEMU."""
import hashlib
import json
import os
import stat
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import sandbox_case  # noqa: E402
from sandbox_case import Client, call, good, refused, sandbox_test  # noqa: E402
from stdio_client import contains, equal, eventually, main  # noqa: E402


def up(place):
    """Start a sandbox whose guest is the real shim."""
    place.mounting()
    sandbox_case.up(place, STEPBACK_FAKE_QEMU="shim")


def path(place, end=""):
    return place.root + "/state/stepback/audit/share.jsonl" + end


def records(place):
    return [json.loads(line) for line in
            good(place, "audit", "share", "--json").splitlines()]


def types(place):
    return [record["type"] for record in records(place)]


def verify(place):
    status, out, err = call(place, "audit", "--verify", "share")
    equal(err, "")
    return status, out


@sandbox_test
def a_life_is_recorded(place):
    """a start, executions, steps, an undo, decisions and the end are recorded, and
    outlive the sandbox"""
    up(place)
    good(place, "exec", "--env=SECRET=hidden", "share", "--", "sh", "-c", "echo 1 >new")
    good(place, "undo")
    client = Client(place, "share")
    asked = client.send("grant.request", path=place.root, reason="a reason")
    id = client.event("event.approval_requested")["id"]
    good(place, "approve", id, "--deny")
    client.response(asked)
    equal(client.ask("session.configure_network", network_policy={
        "allow": ["192.0.2.1"]})["status"], "ok")
    equal(client.ask("session.reset")["status"], "ok")
    client.close()
    good(place, "stop", "share")
    good(place, "rm", "share")
    found = records(place)
    equal([record["type"] for record in found],
          ["sandbox_started", "exec_started", "step_completed", "exec_exited",
           "history_changed", "approval_requested", "approval_decided",
           "network_policy_changed", "session_changed", "sandbox_ended"])
    equal({record["sandbox"] for record in found}, {"share"})
    equal(found[0]["working_directories"][0]["path"], place.share)
    contains(found[1]["command"], "echo 1 >new")
    equal((found[2]["counts"], found[3]["exit_code"]), ({"created": 1}, 0))
    equal((found[4]["operation"], found[4]["steps"]), ("rollback", [1]))
    equal((found[6]["outcome"], found[6]["reason"]), ("denied", "a reason"))
    equal(found[7]["network_policy"]["allow"], ["192.0.2.1"])
    equal((found[8]["working_directories"], found[9]["reason"]),
          (found[0]["working_directories"], "stopped"))
    with open(path(place)) as file:
        assert "hidden" not in file.read()
    equal(stat.S_IMODE(os.stat(path(place)).st_mode), 0o600)
    equal(verify(place), (0, "10 records, 0 problems\n"))
    shown = good(place, "audit", "share").splitlines()
    contains(shown[3], " exec_exited exec_id=1 exit_code=0 step_id=1")
    refused(place, "audit", "none", part="there is no record")
    refused(place, "audit", "../share", part="is not the name of a sandbox")


@sandbox_test
def the_chain_shows_changes(place):
    """a line that was changed, removed or inserted is found; a torn one does not
    stop the record"""
    up(place)
    good(place, "exec", "share", "--", "true")
    good(place, "stop", "share")
    with open(path(place), "rb") as file:
        lines = file.read().splitlines(True)

    def with_lines(changed, problems):
        with open(path(place), "wb") as file:
            file.write(b"".join(changed))
        status, out = verify(place)
        equal((status, out.splitlines()[:-1]), (1, problems))
    gap = "share.jsonl:%d: does not follow the line before"
    with_lines([*lines[:1], lines[1].replace(b"true", b"tru3"), *lines[2:]], [gap % 3])
    with_lines([*lines[:1], *lines[2:]], [gap % 2])
    with_lines(lines[1:], [gap % 1])
    with_lines([*lines[:2], lines[1], *lines[2:]], [gap % 3])
    with_lines([*lines[:2], b"no JSON \0\xff\n", *lines[2:]],
               ["share.jsonl:3: is damaged", gap % 4])
    with_lines([*lines, b'{"torn'], ["the last line is incomplete: 6 bytes"])
    up(place)
    good(place, "stop", "share")
    equal(verify(place), (1, "share.jsonl:%d: is damaged\n%d records, 1 problems\n" %
                          (len(lines) + 1, len(lines) + 3)))


@sandbox_test
def a_gap_is_reported(place):
    """records that cannot be written are a warning, and are counted later"""
    os.makedirs(path(place))  # instead of the file
    os.chmod(os.path.dirname(path(place)), 0o700)
    up(place)
    assert eventually(lambda: "the audit record is incomplete" in
                      good(place, "logs", "share"), 10)
    good(place, "exec", "share", "--", "true")
    os.rmdir(path(place))
    good(place, "exec", "share", "--", "true")
    equal(types(place), ["exec_started", "exec_exited"])
    equal([record.get("missing_before") for record in records(place)], [3, None])
    equal(verify(place)[0], 0)
    os.unlink(path(place))  # under a supervisor that has it open
    good(place, "exec", "share", "--", "true")
    equal(types(place), ["exec_started", "exec_exited"])
    equal(verify(place)[1].splitlines()[0],
          "share.jsonl:1: does not follow the line before")


@sandbox_test
def long_ones_are_cut(place):
    """a long command leaves no record without what it is about"""
    up(place)
    good(place, "exec", "share", "--", "sh", "-c", ": " + "\1" * 30000 + "; echo 1 >new")
    started, step, exited = records(place)[1:]
    equal((started["exec_id"], started["command_bytes"] > 30000, len(started["command"])),
          (1, True, 4096))
    equal((step["counts"], len(step["command"])), ({"created": 1}, 256))
    equal(exited["step_id"], 1)
    equal(verify(place)[0], 0)


@sandbox_test
def nothing_reaches_the_terminal_raw(place):
    """names and texts of a record are printed escaped"""
    os.makedirs(os.path.dirname(path(place)), 0o700)
    with open(path(place), "w") as file:
        file.write(json.dumps({"time": "x", "type": "test", "k\033[2J": "v\033[2J"}) + "\n")
    shown = good(place, "audit", "share")
    contains(shown, "x test k")
    assert "\033" not in shown, shown


@sandbox_test
def a_crash_at_a_new_file(place):
    """an empty new file, or an old one that ends in the middle of a line, continues
    the chain"""
    up(place)
    good(place, "stop", "share")
    os.rename(path(place), path(place, ".1"))
    up(place)
    good(place, "stop", "share")
    equal(verify(place), (0, "4 records, 0 problems\n"))
    os.truncate(path(place, ".1"), os.path.getsize(path(place, ".1")) - 5)
    status, out = verify(place)
    equal((status, out.splitlines()[:-1]),
          (1, ["share.jsonl.1:2: is damaged",
               "share.jsonl:1: does not follow the line before"]))


@sandbox_test
def old_files_are_dropped(place):
    """a new file begins at 8 MiB, seven are kept, and the chain goes through them"""
    os.makedirs(os.path.dirname(path(place)), 0o700)
    prev, number = "0" * 64, 0
    for age in range(8, -1, -1):
        with open(path(place, ".%d" % age if age else ""), "w") as file:
            size = 0
            while size < (8 << 20) - 1000 if age == 0 else size < 1000:
                number += 1
                line = json.dumps({"time": "x", "type": "test", "number": number,
                                   "filler": "." * 30000 * (age == 0), "prev": prev})
                prev = hashlib.sha256(line.encode()).hexdigest()
                size += len(line) + 1
                if age == 8:
                    prev = "1" * 64  # of a file that is gone
                file.write(line + "\n")
    os.unlink(path(place, ".8"))
    up(place)
    good(place, "exec", "share", "--", "true")
    equal(sorted(os.listdir(os.path.dirname(path(place)))),
          ["share.jsonl"] + ["share.jsonl.%d" % age for age in range(1, 8)])
    with open(path(place)) as file:
        equal(json.loads(file.readline())["type"], "sandbox_started")
    status, out = verify(place)
    equal((status, out.splitlines()[:-1]), (0, []))


main(mounts=True)
