#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session that a frontend and MCP clients share: its socket, its history, and
who decides of a safeguard.

Ids such as MC-06 are the test plan's.
"""
import json
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import (LATEST, MODERN, Server, agent_with_client,  # noqa: E402
                        connect, read, write)
from cli_case import call  # noqa: E402
from stdio_client import (PROGRAM, Agent, contains, equal,  # noqa: E402
                          freeze, main, test)


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


def expect_one_history(agent, clients):
    """All have seen the same history, and one undo is everybody's."""
    history = agent.ask("undo.history")["payload"]["steps"]
    for client in clients:
        seen = client.tool("get_undo_history", limit=1000)["steps"]
        equal([s["step_id"] for s in seen], [s["step_id"] for s in history])
    count = len(history)
    clients[1].tool("undo", steps=count - 1)
    moved = agent.event("event.history_changed")
    equal((moved["operation"], len(moved["steps"])), ("rollback", count - 1))
    equal(agent.ask("undo.rollback")["status"], "ok")
    equal(clients[0].tool("get_undo_history")["steps"], [])


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
    expect_one_history(agent, clients)
    equal(os.listdir(place.share), [])
    # The frontend got a report of each step.
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


@test
def others_are_told_of(place):
    """subscribers are notified of another process's undo and redo"""
    agent, first = agent_with_client(place)
    second = connect(agent.seen[0]["payload"]["mcp_socket"], version=MODERN)
    history, file = "stepback://history", "stepback://files/f"
    other = "stepback://files/other"
    for uri in history, file, other:
        first.result("resources/subscribe", uri=uri)
    second.send("subscriptions/listen", notifications={
        "resourcesListChanged": True,
        "resourceSubscriptions": [history, file, other]})
    second.notification("notifications/subscriptions/acknowledged")
    first.tool("write_file", path="f", content="x")

    def told(*words):
        for client in first, second:
            client.result("tools/list")
            client.seen.clear()
        status, out, err = call(place, *words, "-C", place.share)
        equal((status, err), (0, ""))
        got = []
        for client in first, second:
            client.until(lambda m: m.get("params", {}).get("uri") == history)
            client.result("tools/list")
            got.append(sorted(m["params"].get("uri", "list")
                              for m in client.seen
                              if "resources" in m.get("method", "")))
        equal(got[0], got[1])
        return got[0]

    equal(told("undo"), ["list", file, history])
    equal(first.tool("get_undo_history")["steps"], [])
    equal(told("redo"), ["list", file, history])
    equal(told("undo", "--discard"), [history])
    # And so are they of steps that had to make room.
    agent.ask("undo.configure", max_step_count=1)
    for content in "1", "2":
        first.tool("write_file", path="other", content=content)
    agent.event("event.warning")
    first.result("tools/list")
    equal(len([m for m in first.seen if m.get("params", {}).get("uri") ==
               history]), 4)
    equal(agent.close(), 0)


@test
def socket_is_named_from_the_root(place):
    """a relative --mcp-socket is reported as an absolute path"""
    process = subprocess.run([PROGRAM, "agent", "--mcp-socket", "m.sock"],
                             cwd=place.root, timeout=60,
                             stdin=subprocess.DEVNULL, capture_output=True,
                             env=place.environment())
    equal(json.loads(process.stdout)["payload"]["mcp_socket"],
          os.path.join(place.root, "m.sock"))
    equal(os.path.exists(place.root + "/m.sock"), False)


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
def a_commands_fate_is_its_own(place):
    """a decision about a client's file is none about the frontend's command"""
    agent, client = guarded(place)
    for action, content in (("deny", b"x" * 5000), ("allow", b"y")):
        write(place, "big", b"x" * 5000)
        id = overwrite(client)
        event = agent.event("event.safeguard_triggered")
        waits = agent.send("agent.execute", command="exit 7")
        if action == "allow":
            agent.ask("agent.cancel")
            time.sleep(0.2)
        agent.ask("safeguard.confirm", safeguard_id=event["safeguard_id"],
                  action=action)
        equal(client.answer(id)["result"].get("isError", False),
              action == "deny")
        equal(read(place, "big"), content)
        answer = agent.response(waits)
        if action == "deny":
            equal(answer["payload"]["exit_code"], 7)
        else:
            equal(answer["error"]["number"], 6001)
    equal(agent.close(), 0)


@test
def a_stop_waits_for_no_decision(place):
    """session.stop while a client's file waits for one: it is denied, at once"""
    agent, client = guarded(place)
    id = overwrite(client)
    agent.event("event.safeguard_triggered")
    begin = time.monotonic()
    stop = agent.send("session.stop")
    event = agent.event("event.safeguard_decided")
    equal((event["action"], event["reason"]), ("deny", "aborted"))
    equal(agent.response(stop)["payload"], {"state": "stopped"})
    assert time.monotonic() - begin < 4
    contains(client.answer(id)["result"]["content"][0]["text"], "denied")
    equal(read(place, "big"), b"x" * 5000)
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
    # An invalid answer, and one to an unknown question, change nothing.
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
def who_sends_no_more_is_not_asked(place):
    """a client that has ended cannot answer: nothing is asked, and denied"""
    agent, client = guarded(place, capabilities={"elicitation": {}})
    agent.ask("safeguard.configure", timeout_seconds=2)
    # It finds both at once, however late we get to say the second.
    freeze(agent.process.pid)
    id = overwrite(client)
    client.sock.shutdown(socket.SHUT_WR)
    agent.process.send_signal(signal.SIGCONT)
    agent.event("event.safeguard_triggered")
    equal(client.answer(id)["result"]["isError"], True)
    equal([m for m in client.seen if m.get("method") == "elicitation/create"],
          [])
    equal(read(place, "big"), b"x" * 5000)
    equal(client.next(), None)
    equal(agent.close(), 0)


@test
def an_edit_waits_for_a_decision(place):
    """edit_file: what others write while a safeguard asks is left alone"""
    agent, client = guarded(place)
    write(place, "big", b"old" + b"x" * 5000)
    for theirs, action in ((None, "allow"), (b"theirs", "allow"),
                           (b"theirs", "deny")):
        before = b"old" + b"x" * 5000
        write(place, "big", before)
        id = client.send("tools/call", name="edit_file", arguments={
            "path": "big", "old_text": "old", "new_text": "new"})
        event = agent.event("event.safeguard_triggered")
        equal((event["kind"], event["path"]), ("overwrite", "big"))
        if theirs and action == "allow":
            write(place, "big", theirs)
        agent.ask("safeguard.confirm", safeguard_id=event["safeguard_id"],
                  action=action)
        result = client.answer(id)["result"]
        equal(result.get("isError", False), theirs is not None)
        if theirs is None:
            equal(read(place, "big"), before.replace(b"old", b"new"))
        elif action == "allow":
            contains(result["content"][0]["text"], "read it again")
            equal(read(place, "big"), theirs)
        else:
            equal(read(place, "big"), before)
    equal(agent.close(), 0)


@test
def long_answers_are_none(place):
    """an answer of more than 4 MiB: the question is not asked for ever"""
    agent, client = guarded(place, capabilities={"elicitation": {}})
    id = overwrite(client)
    event = agent.event("event.safeguard_triggered")
    asked = client.until(lambda m: m.get("method") == "elicitation/create")
    client.message(id=asked["id"], result={"action": "accept", "content": {
        "decision": "allow", "more": "x" * (4 << 20)}})
    equal(client.result("ping"), {})
    agent.ask("safeguard.confirm", safeguard_id=event["safeguard_id"],
              action="deny")
    equal(client.answer(id)["result"]["isError"], True)
    # It got no error, and its question is not withdrawn: it was answered.
    equal([m for m in client.seen if "error" in m or
           m.get("method") == "notifications/cancelled"], [])
    equal(agent.close(), 0)


@test
def clients_decide_without_a_frontend(place):
    """elicitation in stepback mcp: deny, decline and allow, in both eras"""
    for version in (LATEST, MODERN):
        write(place, "big", b"x" * 5000)
        server = Server(place, "--ask-overwrites=1000", version=version,
                        capabilities={"elicitation": {}})
        client = server.client
        answers = (({"action": "decline"}, "has denied"),
                   ({"action": "cancel"}, "has not answered"),
                   ({"action": "accept", "content": {"decision": "deny"}},
                    "has denied"),
                   ({"action": "accept", "content": {"decision": "allow"}},
                    None))
        for answer, refusal in answers:
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
            equal(result.get("isError", False), refusal is not None)
            contains(result["content"][0]["text"], refusal or "")
        equal(read(place, "big"), b"y")
        equal(server.close(), 0)


@test
def who_cannot_ask_is_refused_at_once(place):
    """stepback mcp does not wait for a client without elicitation"""
    write(place, "big", b"x" * 5000)
    server = Server(place, "--ask-overwrites=1000")
    started = time.monotonic()
    result = server.client.answer(overwrite(server.client))["result"]
    assert time.monotonic() - started < 15  # of 30 s for an answer
    equal(result["isError"], True)
    contains(result["content"][0]["text"], "cannot ask")
    equal(read(place, "big"), b"x" * 5000)
    equal(server.close(), 0)


@test
def who_has_ended_is_not_waited_for(place):
    """stepback mcp: no answer can come after the end of the input"""
    write(place, "big", b"x" * 5000)
    for asked_before in (True, False):
        server = Server(place, "--ask-overwrites=1000",
                        capabilities={"elicitation": {}})
        client = server.client
        id = overwrite(client)
        if asked_before:
            client.until(lambda m: m.get("method") == "elicitation/create")
        started = time.monotonic()
        server.process.stdin.close()
        result = client.answer(id)["result"]
        assert time.monotonic() - started < 15  # of 30 s for an answer
        equal(result["isError"], True)
        contains(result["content"][0]["text"],
                 "has not answered" if asked_before else "cannot ask")
        equal(read(place, "big"), b"x" * 5000)
        equal(server.process.wait(20), 0)


users_of_clients_are_asked.alone = True


main()
