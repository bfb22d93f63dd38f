#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Connections to names under ask are held until a user decides: curl in
sandboxes of local isolation, and the servers of names_world.py."""
import json
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import names_world  # noqa: E402
from local_agent import begin  # noqa: E402
from local_case import LOCAL, call, need  # noqa: E402
from mcp_client import Client as Assistant  # noqa: E402
from pty_client import Terminal  # noqa: E402
from sandbox_case import Client, sandbox_test  # noqa: E402
from stdio_client import (PROGRAM, contains, equal, eventually, folder,  # noqa: E402
                          main, ok)

API, OTHER = "api.example.test", "other.example.test"
PATIENCE = 20
FULL = 256  # names in a policy
WORLD = None


def url(name, path="/x"):
    return "http://%s%s" % (name, path)


class Box:
    """A running sandbox whose user is asked."""

    def __init__(self, place, network="ask:*", **env):
        need()
        self.place, self.env = place, env
        self.out("up", *LOCAL, "--network=" + network, "box")

    def call(self, *words):
        return call(self.place, *words, **self.env)

    def out(self, *words):
        status, out, err = self.call(*words)
        equal((words, status, err if status else ""), (words, 0, ""))
        return out

    def curl(self, *words):
        """A running curl in the sandbox."""
        line = [PROGRAM, "exec", "-q", "--step=none", "box", "--", "curl", "-sS",
                "-m", "60", *words]
        return subprocess.Popen(line, cwd=self.place.share,
                                env=self.place.environment(STEPBACK_QEMU=None),
                                stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def waiting(self, count=1):
        """So many requests wait, and these."""
        found = []

        def enough():
            found[:] = json.loads(self.out("approve", "--json"))
            return len(found) == count
        eventually(enough, PATIENCE)
        return found

    def refusals(self):
        records = map(json.loads, self.out("net", "box", "--json").splitlines())
        return [(one["name"], one["reason"]) for one in records
                if one["verdict"] == "refused" and one.get("protocol") != "dns"]


def gets(process, text):
    out = process.communicate(timeout=60)[0]
    equal((process.returncode, text in out, out), (0, True, out))


def fails(process):
    out = process.communicate(timeout=60)[0]
    assert process.returncode != 0, out
    return out


@sandbox_test
def once_and_always(place):
    """once lets the held connections pass and asks again; always adds an entry"""
    name = "a.b.example.test"  # the tests run at once
    box = Box(place)
    curls = [box.curl(url(name)) for _ in range(2)]
    [request] = box.waiting()
    equal([request[key] for key in ("kind", "outcome", "origin", "name", "port")],
          ["network", "pending", "guest", name, 80])
    eventually(lambda: box.out("net", "box").count("held for a decision") == 2, PATIENCE)
    equal(set(WORLD.asked()) & {name}, set())
    shown = box.out("approve")
    contains(shown, "network")
    contains(shown, "connect")
    contains(shown, name + ":80")
    contains(box.out("approve", request["id"]), "%s:80 (once" % name)
    for curl in curls:
        gets(curl, "GET /x " + name)
    curl = box.curl(url(name))
    [request] = box.waiting()
    contains(box.out("approve", "--always", request["id"]), "%s:80 (always" % name)
    gets(curl, "GET /x " + name)
    gets(box.curl(url(name)), "GET /x " + name)
    equal(box.out("net", "box", "policy").split(), ["ask:*", name + ":80"])
    # Another port, and another name, are asked for.
    curls = [box.curl("-k", "https://%s/x" % name), box.curl(url(OTHER))]
    for request in box.waiting(2):
        box.out("approve", request["id"])
    gets(curls[0], "GET /x " + name)
    gets(curls[1], "GET /x " + OTHER)
    audit = box.out("audit", "box", "--json")
    for word in ("approval_requested", "approval_decided", "network_policy_changed"):
        contains(audit, word)


@sandbox_test
def denied(place):
    """a denied name is refused at once for a while, and the records say why; no
    query leaves the host, also with dns"""
    names = ["six.example.test", "meta.example.test", "secret.elsewhere.test"]
    box = Box(place, "ask:*,deny:*.elsewhere.test,dns")
    curl = box.curl(url(names[0]))
    [request] = box.waiting()
    box.out("approve", "--deny", request["id"])
    fails(curl)
    fails(box.curl(url(names[0])))
    equal([reason for name, reason in box.refusals() if name == names[0]],
          ["a user has denied it", "it was denied less than a minute ago"])
    fails(box.curl(url(names[2])))
    fails(box.curl("http://%s:8080/" % names[1]))  # ask:* is for ports 80 and 443
    equal(box.waiting(0), [])
    equal(set(WORLD.asked()) & set(names), set())
    status, _, err = box.call("approve", request["id"])
    equal(status, 1)
    contains(err, "no request")
    status, _, err = box.call("approve", "--path", "/", request["id"])
    equal(status, 1)


@sandbox_test
def late(place):
    """a question that is not answered in time is a denial"""
    box = Box(place, STEPBACK_TEST_ASK_SECONDS="1")
    fails(box.curl(url(OTHER)))
    [reason] = [reason for _, reason in box.refusals()]
    contains(reason, "not answered within 1 s")
    fails(box.curl(url(OTHER)))
    equal(box.waiting(0), [])
    contains(box.out("audit", "box", "--json"), '"timeout"')


@sandbox_test
def guest_gone(place):
    """the question ends with the client that waits"""
    box = Box(place)
    curl = box.curl("-m", "3", url(API))
    [request] = box.waiting()
    contains(fails(curl), "imed out")
    box.waiting(0)
    curl = box.curl(url(API))
    [again] = box.waiting()
    assert again["id"] != request["id"], again
    box.out("approve", again["id"])
    gets(curl, "GET /x")


@sandbox_test
def policy_decides(place):
    """a new policy decides the questions that it answers"""
    box = Box(place)
    curls = [box.curl(url(API)), box.curl(url(OTHER))]
    box.waiting(2)
    box.out("net", "box", "allow", API)
    gets(curls[0], "GET /x " + API)
    [request] = box.waiting()
    equal(request["name"], OTHER)
    box.out("net", "box", "deny", OTHER)
    fails(curls[1])
    box.waiting(0)


@sandbox_test
def many_at_once(place):
    """nine names at once: four are asked for, the others are refused, and there is
    room for a grant"""
    box = Box(place)
    curls = [box.curl(url("n%d.example.test" % i)) for i in range(9)]
    eventually(lambda: len(box.refusals()) == 5, PATIENCE)
    waiting = box.waiting(4)
    for _, reason in box.refusals():
        assert "4 names wait" in reason or "8 questions" in reason, reason
    client = Client(place, "box")
    client.send("grant.request", path=folder(place, "more"))
    eventually(lambda: len(json.loads(box.out("approve", "--json"))) == 5, PATIENCE)
    for request in waiting:
        box.out("approve", "--deny", request["id"])
    for curl in curls:
        fails(curl)
    client.close()


@sandbox_test
def proxy_killed(place):
    """questions of a proxy that ends are withdrawn; a new proxy asks again"""
    box = Box(place)
    curl = box.curl(url(API))
    [request] = box.waiting()
    [proxy] = [pid for pid in place.processes()
               if open("/proc/%d/comm" % pid).read().startswith("stepback-proxy")]
    os.kill(proxy, signal.SIGKILL)
    fails(curl)
    box.waiting(0)
    curl = box.curl("--retry", "5", "--retry-all-errors", "--retry-delay", "1", url(API))
    [again] = box.waiting()
    assert again["id"] != request["id"], again
    box.out("approve", again["id"])
    gets(curl, "GET /x")


@sandbox_test
def terminal(place):
    """an attached terminal asks its user"""
    box = Box(place)
    with Terminal([PROGRAM, "exec", "-it", "--step=none", "box", "--", "curl", "-sS",
                   url(API)], env=place.environment(STEPBACK_QEMU=None),
                  cwd=place.share) as shown:
        shown.expect(re.escape("guest asks to connect to:\r\n    %s:80\r\n" % API))
        code = re.search(r"allow (\d+)", shown.expect(r'Type "allow (\d+)" to allow it.*: '))[1]
        shown.send(b"allow %s\r" % code.encode())
        shown.expect("GET /x " + API)
        equal(shown.wait(), 0)


@sandbox_test
def by_the_api(place):
    """approval.decide answers with the request; IDN has both forms"""
    name = "xn--bcher-kva.example.test"
    agent = begin(place, network_policy={"allow": ["ask:*.example.test", "ask:*:22"]})
    ok(agent.ask("exec.start", argv=["curl", "-sS", "-m", "60", url(name)]))
    first = agent.until(lambda m: m["type"] == "event.approval_requested")["payload"]
    equal((first["name"], first["unicode"], first["port"], first["outcome"]),
          (name, "b\u00fccher.example.test", 80, "pending"))
    refused = agent.ask("approval.decide", id=first["id"], decision="allow",
                        access="read_only")
    equal(refused["error"]["code"], "invalid_field")
    equal(ok(agent.ask("approval.list"))["approvals"], [first])
    decided = ok(agent.ask("approval.decide", id=first["id"], decision="allow",
                           duration="always"))
    equal((decided["outcome"], decided["duration"]), ("allowed", "always"))
    equal([m["payload"]["outcome"] for m in agent.seen
           if m["type"] == "event.approval_decided"], ["allowed"])
    policy = ok(agent.ask("network.status"))["network_policy"]
    equal(policy["allow"], ["ask:*.example.test", "ask:*:22", name + ":80"])
    equal(agent.close(), 0)


@sandbox_test
def by_an_assistant(place):
    """an assistant's user is asked if the client can; otherwise it is a denial"""
    need()
    for capabilities in ({"elicitation": {}}, {}):
        process = subprocess.Popen(
            [PROGRAM, "mcp", "-C", place.share, *LOCAL, "--network=ask:*"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=place.environment(STEPBACK_QEMU=None))
        client = Assistant(process.stdout, process.stdin, capabilities=capabilities)
        command = "curl -sS -m 60 " + url(API)
        for decision in ("allow_once", "allow_always", None) if capabilities else ():
            id = client.send("tools/call", name="execute_command",
                             arguments={"command": command})
            if decision:
                question = client.until(lambda m: m.get("method") == "elicitation/create")
                contains(question["params"]["message"], API + ", port 80")
                client.message(id=question["id"], result={
                    "action": "accept", "content": {"decision": decision}})
            contains(client.answer(id)["result"]["content"][0]["text"], "GET /x " + API)
        if not capabilities:
            result = client.answer(client.send(
                "tools/call", name="execute_command", arguments={"command": command}))["result"]
            contains(result["content"][0]["text"], "curl: (")
        process.stdin.close()
        equal(process.wait(PATIENCE), 0)


@sandbox_test
def a_full_policy_asks_an_assistant_again(place):
    """always, if the policy is full, is followed by the question about once"""
    need()
    policy = ",".join(["ask:*"] + ["n%d.example.test" % i for i in range(FULL - 1)])
    process = subprocess.Popen(
        [PROGRAM, "mcp", "-C", place.share, *LOCAL, "--network=" + policy],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=place.environment(STEPBACK_QEMU=None))
    client = Assistant(process.stdout, process.stdin, capabilities={"elicitation": {}})
    id = client.send("tools/call", name="execute_command",
                     arguments={"command": "curl -sS -m 60 " + url(API)})
    for decision, choices in (("allow_always", 3), ("allow_once", 2)):
        question = client.until(lambda m: m.get("method") == "elicitation/create")
        params = question["params"]
        contains(params["message"], API + ", port 80")
        equal("It cannot be allowed always: " in params["message"], choices == 2)
        equal(len(params["requestedSchema"]["properties"]["decision"]["enum"]), choices)
        client.message(id=question["id"], result={
            "action": "accept", "content": {"decision": decision}})
    contains(client.answer(id)["result"]["content"][0]["text"], "GET /x " + API)
    process.stdin.close()
    equal(process.wait(PATIENCE), 0)


if __name__ == "__main__":
    with names_world.entered() as WORLD:
        main()
