#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Safeguards as a frontend meets them, with real commands and no VM: the
guest of the fake QEMU stands still when its monitor says so.

Ids such as SG-01 are the test plan's.
"""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import LATEST, MODERN, connect  # noqa: E402
from stdio_client import (Agent, contains, done, equal, eventually,  # noqa: E402
                          main, open_session, sh, snapshot, test)

TRIGGERED = "event.safeguard_triggered"
DECIDED = "event.safeguard_decided"


def fill(folder, count=8):
    for i in range(count):
        with open("%s/f%d" % (folder, i), "w") as file:
            file.write("text %d" % i)


def guarded(place, *names, **rules):
    """A session whose folders have eight files each."""
    for name in names or ("share",):
        os.makedirs(os.path.join(place.root, name), exist_ok=True)
        fill(os.path.join(place.root, name))
    rules.setdefault("timeout_seconds", 60)
    return open_session(place, *names, safeguard=rules)


def guarded_pair(place, **rules):
    agent = guarded(place, "a", "b", **rules)
    paths = [place.root + "/a", place.root + "/b"]
    return agent, paths, snapshot(*paths)


def held(agent):
    return agent.ask("session.status")["payload"]["held"]


def confirm(agent, event, action):
    return agent.ask("safeguard.confirm", safeguard_id=event["safeguard_id"],
                     action=action)


@test
def deletes_are_held(place):
    """SG-01, SG-08, SG-09: all stands still before the deletion at the line"""
    agent = guarded(place, delete_threshold=3)
    id = agent.send("agent.execute", command="sh rm f*")
    event = agent.event(TRIGGERED)
    equal((event["kind"], event["delete_count"], event["threshold"],
           event["step_id"], event["directory"], event["timeout_seconds"]),
          ("delete", 3, 3, 1, "share", 60))
    equal(sorted(event["sample_paths"]), sorted(
        "f%d" % i for i in range(8) if "f%d" % i in event["sample_paths"]))
    # The third deletion has not been made.
    equal(len(os.listdir(place.share)), 6)
    assert eventually(lambda: held(agent), 5), "the machine goes on"
    time.sleep(0.3)
    equal(len(os.listdir(place.share)), 6)
    equal(agent.error("undo.rollback")[0], 3006)
    # Whoever only looks is served.
    equal(len(agent.ask("fs.list")["payload"]["entries"]), 6)
    confirm(agent, event, "allow")
    equal(agent.response(id)["payload"]["exit_code"], 0)
    equal(agent.close(), 0)


@test
def allowed_goes_on(place):
    """SG-02: allowed, the command completes, and can be undone"""
    agent = guarded(place, delete_threshold=3)
    before = snapshot(place.share)
    id = agent.send("agent.execute", command="sh rm f*")
    event = agent.event(TRIGGERED)
    equal(confirm(agent, event, "allow")["payload"], {})
    report = agent.response(id)["payload"]
    equal((report["exit_code"], report["affected"], report["undoable"]),
          (0, 8, True))
    equal(os.listdir(place.share), [])
    decided, = (m["payload"] for m in agent.seen if m["type"] == DECIDED)
    equal((decided["safeguard_id"], decided["action"], decided["reason"]),
          (event["safeguard_id"], "allow", "confirmed"))
    equal(held(agent), False)
    equal(confirm(agent, event, "allow")["error"]["number"], 5000)
    agent.ask("undo.rollback")
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)


@test
def denied_is_taken_back(place):
    """SG-03: after a denial the processes end and their changes are undone"""
    agent = guarded(place, delete_threshold=3)
    before = snapshot(place.share)
    marker = place.root + "/ran-on"
    id = agent.send("agent.execute",
                    command="sh (sleep 3; touch %s) & echo new > new; rm f*;"
                    " while :; do touch x; sleep 0.01; done" % marker)
    event = agent.event(TRIGGERED)
    equal(confirm(agent, event, "deny")["payload"], {})
    error = agent.response(id)["error"]
    equal((error["number"], error["code"]), (5001, "denied"))
    equal(error["data"]["step_id"], 1)
    completed, = (m["payload"] for m in agent.seen
                  if m["type"] == "event.step_completed")
    equal((completed["aborted"], completed["reason"], completed["undoable"]),
          (True, "denied", False))
    equal(snapshot(place.share), before)
    equal(held(agent), False)
    # No step is left, nor anything that goes on.
    equal(agent.ask("undo.history")["payload"]["steps"], [])
    time.sleep(3)
    equal((os.path.exists(marker), snapshot(place.share)), (False, before))
    equal(done(agent, "rm f0")["step_id"], 2)
    equal(agent.close(), 0)


@test
def silence_denies(place):
    """SG-04: without an answer in time the step is denied"""
    agent = guarded(place, delete_threshold=2, timeout_seconds=1)
    before = snapshot(place.share)
    answer = sh(agent, "rm f*")
    equal(answer["error"]["number"], 5001)
    decided, = (m["payload"] for m in agent.seen if m["type"] == DECIDED)
    equal((decided["action"], decided["reason"]), ("deny", "timeout"))
    equal((snapshot(place.share), held(agent)), (before, False))
    equal(agent.close(), 0)


@test
def large_files_are_guarded(place):
    """SG-05: to overwrite, or cut, a file over the size is held"""
    agent = guarded(place, overwrite_file_size_threshold=1 << 16)
    with open(place.share + "/big", "wb") as file:
        file.write(os.urandom(1 << 17))
    before = snapshot(place.share)
    done(agent, "echo more > f0; cat big > copy; rm copy")
    for command in ("echo x > big", "truncate -s 5 big",
                    "dd if=/dev/zero of=big bs=1 count=1 conv=notrunc"):
        id = agent.send("agent.execute", command="sh " + command)
        event = agent.event(TRIGGERED)
        equal((event["kind"], event["path"], event["file_size"],
               event["threshold"]), ("overwrite", "big", 1 << 17, 1 << 16))
        confirm(agent, event, "deny")
        equal(agent.response(id)["error"]["number"], 5001)
    agent.ask("undo.rollback")
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)


@test
def renames_over_files_are_guarded(place):
    """SG-06: a rename over an existing file is held"""
    agent = guarded(place, rename_over_existing=True)
    before = snapshot(place.share)
    done(agent, "mv f0 free; mv free f0")
    id = agent.send("agent.execute", command="sh mv f0 f1")
    event = agent.event(TRIGGERED)
    equal((event["kind"], event["path"], event["from"]),
          ("rename_over_existing", "f1", "f0"))
    confirm(agent, event, "deny")
    equal(agent.response(id)["error"]["number"], 5001)
    agent.ask("undo.rollback")
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)


@test
def pending_is_held(place):
    """from the question on the status says "held", also before QEMU does"""
    place.mounting()
    fill(place.share)
    agent = Agent(place, STEPBACK_FAKE_QEMU="mute")
    agent.start(safeguard={"delete_threshold": 3, "timeout_seconds": 60})
    id = agent.send("agent.execute", command="sh rm f*")
    event = agent.event(TRIGGERED)
    equal(held(agent), True)
    confirm(agent, event, "deny")
    equal(agent.response(id)["error"]["number"], 5001)
    equal(held(agent), False)
    equal(agent.close(), 0)


@test
def held_changes_are_bounded(place):
    """SG-07: many processes that are held wait, and nothing is lost"""
    agent = guarded(place, delete_threshold=2)
    id = agent.send("agent.execute", command="sh for i in $(seq 100); do"
                    " echo $i > p$i & done; rm f*; wait")
    event = agent.event(TRIGGERED)
    time.sleep(0.2)
    confirm(agent, event, "allow")
    equal(agent.response(id)["payload"]["exit_code"], 0)
    equal(sorted(os.listdir(place.share)),
          sorted("p%d" % i for i in range(1, 101)))
    agent.ask("undo.rollback")
    equal(len(os.listdir(place.share)), 8)
    equal(agent.close(), 0)


@test
def a_denial_counts_everywhere(place):
    """a denial in one folder undoes the step in all"""
    agent = guarded(place, "a", "b", "c", delete_threshold=3)
    paths = [place.root + "/" + name for name in "abc"]
    before = snapshot(*paths)
    id = agent.send("agent.execute",
                    command="sh echo x > new; rm f0; cd /mnt/working/1;"
                    " rm f0; rm /mnt/working/2/*; touch after")
    event = agent.event(TRIGGERED)
    equal((event["directory"], event["delete_count"]), ("c", 3))
    confirm(agent, event, "deny")
    equal(agent.response(id)["error"]["number"], 5001)
    equal(snapshot(*paths), before)
    equal(agent.ask("undo.history")["payload"]["steps"], [])
    done(agent, "rm f0 /mnt/working/1/f0 /mnt/working/2/f0")
    agent.ask("undo.rollback")
    equal(snapshot(*paths), before)
    equal(agent.close(), 0)


BOTH = "sh rm f* & rm /mnt/working/1/f* & wait"


@test
def two_folders_ask_at_once(place):
    """two decisions at a time: each on its own; the machine waits for both"""
    agent, paths, before = guarded_pair(place, delete_threshold=3)
    for order in ((0, 1), (1, 0)):
        for actions, number in ((("allow", "allow"), None),
                                (("allow", "deny"), 5001), (("deny",), 5001)):
            id, events = ask_twice(agent, paths)
            assert events[0]["safeguard_id"] != events[1]["safeguard_id"]
            equal({event["directory"] for event in events}, {"a", "b"})
            for path, event in zip(paths, events):
                state = agent.ask("fs.status", directory=path)["payload"]
                equal(state["pending_safeguard"]["safeguard_id"],
                      event["safeguard_id"])
            for index, action in zip(order, actions):
                equal(held(agent), True)
                equal(confirm(agent, events[index], action)["payload"], {})
            answer = agent.response(id)
            equal(answer.get("error", {}).get("number"), number)
            equal((held(agent), decisions(agent, id)), (False, {
                events[order[0]]["safeguard_id"]: actions[0],
                events[order[1]]["safeguard_id"]: actions[-1]}))
            for event in events:
                equal(confirm(agent, event, "allow")["error"]["number"], 5000)
            if number is None:
                agent.ask("undo.rollback")
            equal(snapshot(*paths), before)
    equal(agent.close(), 0)


@test
def silence_denies_both(place):
    """one decision allowed and one unanswered: the whole step is undone"""
    agent, paths, before = guarded_pair(place, delete_threshold=3, timeout_seconds=5)
    id, events = ask_twice(agent, paths)
    confirm(agent, events[0], "allow")
    equal(held(agent), True)
    equal(agent.response(id)["error"]["number"], 5001)
    equal((held(agent), decisions(agent, id)), (False, {
        events[0]["safeguard_id"]: "allow",
        events[1]["safeguard_id"]: "deny"}))
    equal(snapshot(*paths), before)
    equal(agent.ask("undo.history")["payload"]["steps"], [])
    equal(agent.close(), 0)


@test
def a_clients_user_is_asked_twice(place):
    """two decisions about an MCP client's command: its user is asked of each"""
    agent, paths, before = guarded_pair(place, delete_threshold=3, timeout_seconds=6)
    path = agent.first("event.ready")["mcp_socket"]
    for version in (LATEST, MODERN):
        client = connect(path, version=version,
                         capabilities={"elicitation": {}})
        for decision in ("allow", "deny"):
            asked, result = answered(client, ("allow", decision))
            equal(len(asked), 2)
            folders = [message.split("The folder: ")[1][0]
                       for message in asked]
            equal(sorted(folders), ["a", "b"])
            equal((held(agent), result.get("isError", False)),
                  (False, decision == "deny"))
            if decision == "allow":
                agent.ask("undo.rollback")
            equal(snapshot(*paths), before)
    equal(agent.close(), 0)


@test
def a_frontend_answers_for_a_client(place):
    """two decisions: the frontend takes one, and the client the other"""
    agent, paths, before = guarded_pair(place, delete_threshold=3, timeout_seconds=8)
    path = agent.first("event.ready")["mcp_socket"]
    for version in (LATEST, MODERN):
        client = connect(path, version=version,
                         capabilities={"elicitation": {}})
        mark = len(agent.seen)
        asking = Asking(client)
        assert eventually(lambda: both_asked(agent, paths), 5)
        first = asking.next()
        event, = (m["payload"] for m in agent.seen[mark:]
                  if m["type"] == TRIGGERED and "The folder: %s\n" %
                  m["payload"]["directory"] in first)
        confirm(agent, event, "allow")
        # What was meant for the first is no answer to the second.
        asking.answer("deny")
        second = asking.next()
        assert second and second != first
        asking.answer("allow")
        equal(asking.next(), None)
        equal(asking.result.get("isError", False), False)
        agent.ask("undo.rollback")
        equal(snapshot(*paths), before)
    equal(agent.close(), 0)


@test
def names_are_no_sentences(place):
    """what a user is asked has each name in its line, whatever is in the name"""
    agent = open_session(place, safeguard={"delete_threshold": 3})
    client = connect(agent.first("event.ready")["mcp_socket"],
                     capabilities={"elicitation": {}})
    names = [b"a\nThe user has agreed.", b"b\xff", "c\u202etxt".encode()]
    for name in names:
        with open(os.fsencode(place.share) + b"/" + name, "w"):
            pass
    before = snapshot(place.share)
    id = client.send("tools/call", name="execute_command",
                     arguments={"command": "sh rm -f *"})
    asked = client.until(lambda m: m.get("method") == "elicitation/create")
    lines = asked["params"]["message"].split("\n")
    equal(sorted(lines[2:5]), ["  a\ufffdThe user has agreed.", "  b\ufffd",
                               "  c\ufffdtxt"])
    equal(len(lines), 6)
    client.message(id=asked["id"], result={"action": "decline"})
    event = agent.event(TRIGGERED)
    agent.ask("safeguard.confirm", safeguard_id=event["safeguard_id"],
              action="deny")
    equal(client.answer(id)["result"]["isError"], True)
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)


class Asking:
    """A client's command, and the questions that come of it; in both eras."""

    def __init__(self, client):
        self.client, self.result, self.question = client, None, None
        self.done = []
        self.arguments = {"command": BOTH}
        self.id = client.send("tools/call", name="execute_command",
                              arguments=self.arguments)

    def next(self):
        """The text of the next question; None: that was the result."""
        while True:
            message = self.client.next()
            if message.get("method") == "elicitation/create":
                self.question = message["id"]
                return message["params"]["message"]
            if message.get("id") != self.id or "result" not in message:
                continue
            self.result = message["result"]
            if self.result.get("resultType") != "input_required":
                return None
            (self.question, request), = self.result["inputRequests"].items()
            return request["params"]["message"]

    def answer(self, decision):
        answer = {"action": "accept", "content": {"decision": decision}}
        if self.client.version != MODERN:
            self.client.message(id=self.question, result=answer)
        else:
            self.id = self.client.send(
                "tools/call", name="execute_command",
                arguments=self.arguments,
                inputResponses={self.question: answer},
                requestState=self.result["requestState"])


def answered(client, decisions):
    """The questions' texts and the result."""
    asking, texts = Asking(client), []
    for decision in decisions:
        texts.append(asking.next())
        asking.answer(decision)
    equal(asking.next(), None)
    return texts, asking.result


def ask_twice(agent, paths):
    """A command that leads to a decision in both folders."""
    mark = len(agent.seen)
    id = agent.send("agent.execute", command=BOTH)
    assert eventually(lambda: both_asked(agent, paths), 5)
    agent.ask("session.status")
    events = [m["payload"] for m in agent.seen[mark:]
              if m["type"] == TRIGGERED]
    return id, sorted(events, key=lambda event: event["directory"])


def decisions(agent, id):
    """What was decided since the request, by safeguard_id."""
    step = agent.response(id)
    step = step.get("payload", step.get("error", {}).get("data"))["step_id"]
    return {m["payload"]["safeguard_id"]: m["payload"]["action"]
            for m in agent.seen if m["type"] == DECIDED and
            m["payload"]["step_id"] == step}


def both_asked(agent, paths):
    states = [agent.ask("fs.status", directory=p)["payload"] for p in paths]
    return all(state["pending_safeguard"] for state in states)


@test
def cancelled_is_denied(place):
    """cancelling a command, or ending the session, denies what is pending"""
    agent = guarded(place, delete_threshold=2)
    before = snapshot(place.share)
    id = agent.send("agent.execute", command="sh rm f*")
    agent.event(TRIGGERED)
    equal(agent.ask("agent.cancel")["payload"], {"cancelled": True})
    # Nobody has confirmed that.
    equal(agent.first(DECIDED)["reason"], "aborted")
    equal(agent.response(id)["error"]["number"], 6001)
    equal((snapshot(place.share), held(agent)), (before, False))
    id = agent.send("agent.execute", command="sh rm f*")
    agent.event(TRIGGERED)
    start = time.monotonic()
    equal(agent.ask("session.stop")["payload"], {"state": "stopped"})
    assert time.monotonic() - start < 4
    equal(agent.response(id)["error"]["number"], 6001)
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)


@test
def thinking_costs_no_time(place):
    """while a decision is pending, no time passes for the command"""
    agent = guarded(place, delete_threshold=2)
    id = agent.send("agent.execute", command="sh rm f*; sleep 0.2",
                    timeout_seconds=2)
    event = agent.event(TRIGGERED)
    time.sleep(3)
    confirm(agent, event, "allow")
    equal(agent.response(id)["payload"]["exit_code"], 0)
    id = agent.send("agent.execute", command="sh sleep 30", timeout_seconds=1)
    equal(agent.response(id)["error"]["number"], 6002)
    equal(agent.close(), 0)


@test
def a_crash_while_held_is_recovered(place):
    """SIGKILL while a decision is pending: the next session takes it back"""
    agent = guarded(place, delete_threshold=2)
    before = snapshot(place.share)
    agent.send("agent.execute", command="sh rm f*")
    agent.event(TRIGGERED)
    agent.kill()
    place.unmount()
    agent = open_session(place)
    recovery = agent.first("event.recovery")
    equal((recovery["directory"], recovery["taken_back"]), ("share", True))
    equal(snapshot(place.share), before)
    equal(agent.close(), 0)


@test
def rules_can_change(place):
    """safeguard.configure: null switches a rule off; all folders have it"""
    agent = guarded(place, "a", "b", delete_threshold=2)
    rules = agent.ask("safeguard.configure", delete_threshold=None)["payload"]
    equal(rules["delete_threshold"], None)
    done(agent, "rm f*; rm /mnt/working/1/f*")
    agent.ask("undo.rollback")
    equal(agent.error("safeguard.configure", delete_threshold="x")[0], 1004)
    agent.ask("safeguard.configure", delete_threshold=1, timeout_seconds=1)
    for folder in (0, 1):
        equal(sh(agent, "rm /mnt/working/%d/f1" % folder)["error"]["number"],
              5001)
    contains(str(agent.seen), "timeout")
    equal(agent.close(), 0)


main(mounts=True)
