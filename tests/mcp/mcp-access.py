#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MCP tool request_access: an assistant asks for a folder, and a frontend or
the client's user decides."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import MODERN, Server, agent_with_client  # noqa: E402
from stdio_client import contains, equal, main, test  # noqa: E402

ASKS = {"elicitation": {}}


def folder(place, name):
    path = os.path.join(place.root, name)
    os.makedirs(path, exist_ok=True)
    return path


def request(client, path, **arguments):
    arguments.setdefault("reason", "to\ncompare")
    return client.send("tools/call", name="request_access",
                       arguments=dict(arguments, path=path))


def asked(client):
    return client.until(lambda m: m.get("method") == "elicitation/create")


def say(client, question, decision, action="accept"):
    result = {"action": action}
    if decision:
        result["content"] = {"decision": decision}
    client.message(id=question["id"], result=result)


@test
def a_frontend_decides(place):
    """the frontend decides; the model gets what was granted"""
    agent, client = agent_with_client(place)
    part = folder(place, "data/part")
    id = request(client, place.root + "/data", access="read_write")
    event = agent.event("event.approval_requested")
    equal((event["origin"], event["reason"], event["access"]),
          ("mcp", "to\ncompare", "read_write"))
    equal(agent.ask("approval.decide", id=event["id"], decision="allow", path=part,
                    access="read_only")["status"], "ok")
    result = client.answer(id)["result"]
    equal(result["structuredContent"],
          {"path": part, "guest_path": "/mnt/folders/part", "access": "read_only",
           "directory": "part"})
    equal(result["content"][0]["text"].strip(),
          "The user has granted %s; in the guest it is /mnt/folders/part, and can only "
          "be read" % part)
    id = request(client, part)
    event = agent.event("event.approval_requested")
    agent.ask("approval.decide", id=event["id"], decision="deny")
    result = client.answer(id)["result"]
    equal((result["isError"], result["content"][0]["text"]),
          (True, "the request was denied"))
    # A call that is cancelled withdraws its request.
    id = request(client, part)
    event = agent.event("event.approval_requested")
    client.notify("notifications/cancelled", requestId=id)
    equal(agent.event("event.approval_decided")["outcome"], "withdrawn")
    contains(client.refusal("request_access", path="relative", reason="x"), "path")
    equal(agent.close(), 0)


@test
def the_client_or_the_frontend(place):
    """a client that supports elicitation is asked, too; the first answer counts"""
    agent, client = agent_with_client(place, capabilities=ASKS)
    two, three = folder(place, "two"), folder(place, "three")
    id = request(client, two, access="read_write")
    event = agent.event("event.approval_requested")
    question = asked(client)
    agent.ask("approval.decide", id=event["id"], decision="deny")
    equal(client.notification("notifications/cancelled")["requestId"], question["id"])
    equal(client.answer(id)["result"]["isError"], True)
    say(client, question, "allow")  # too late
    id = request(client, three, access="read_write")
    question = asked(client)
    text = question["params"]["message"]
    contains(text, "read and change this folder?\n  %s\nReason given: to\ufffdcompare" %
             three)
    say(client, question, "allow_read_only")
    equal(client.answer(id)["result"]["structuredContent"]["access"], "read_only")
    equal([entry["label"] for entry in agent.ask("session.status")["payload"][
        "working_directories"]], ["share", "three"])
    # No answer of the client: the frontend may still decide.
    id = request(client, two)
    event = agent.event("event.approval_requested")
    say(client, asked(client), None, "cancel")
    equal(client.result("ping"), {})
    equal(len(agent.ask("approval.list")["payload"]["approvals"]), 1)
    agent.ask("approval.decide", id=event["id"], decision="allow")
    equal(client.answer(id)["result"].get("isError", False), False)
    equal(agent.close(), 0)


@test
def without_a_frontend(place):
    """stepback mcp: the client's user decides; a client that cannot ask is refused"""
    two = folder(place, "two")
    server = Server(place, capabilities=ASKS)
    client = server.client
    for answer, refusal in (("deny", "was denied"), (None, "was denied"),
                            ("allow", None)):
        id = request(client, two)
        say(client, asked(client), answer, "accept" if answer else "cancel")
        result = client.answer(id)["result"]
        equal(result.get("isError", False), refusal is not None)
        contains(result["content"][0]["text"], refusal or "/mnt/folders/two")
    # What cannot be granted ends, as no other answer can come.
    id = request(client, place.share)
    say(client, asked(client), "allow")
    contains(client.answer(id)["result"]["content"][0]["text"], "already shared as")
    equal(server.close(), 0)
    server = Server(place)
    contains(server.client.refusal("request_access", path=two, reason="x"),
             "cannot ask its user")
    equal(server.close(), 0)


@test
def in_the_modern_protocol(place):
    """protocol version 2026-07-28: the question is an answer, and is repeated"""
    two = folder(place, "two")
    server = Server(place, version=MODERN, capabilities=ASKS)
    client = server.client
    arguments = {"path": two, "reason": "x"}
    result = client.result("tools/call", name="request_access", arguments=arguments)
    equal(result["resultType"], "input_required")
    result = client.result(
        "tools/call", name="request_access", arguments=arguments,
        requestState=result["requestState"],
        inputResponses={"access": {"action": "accept", "content": {
            "decision": "allow"}}})
    equal(result["structuredContent"]["path"], two)
    equal(server.close(), 0)


if __name__ == "__main__":
    main()
