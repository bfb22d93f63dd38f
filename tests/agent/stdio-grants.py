#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Access to further folders: asked for, decided by a user of the host, kept.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (Agent, contains, done, equal, folder,  # noqa: E402
                          main, ok, test)

REQUESTED, DECIDED = "event.approval_requested", "event.approval_decided"


def labels(agent):
    return [entry["label"] for entry in agent.ask("session.status")["payload"][
        "working_directories"]]


def begin(place, **payload):
    agent = Agent(place, XDG_STATE_HOME=place.root + "/state")
    ok(agent.start(**payload))
    return agent


def request(agent, **payload):
    """The request's number, and its event."""
    id = agent.send("grant.request", **payload)
    return id, agent.event(REQUESTED)


def pending(agent):
    return ok(agent.ask("approval.list"))["approvals"]


def decide(agent, approval, **payload):
    payload.setdefault("decision", "allow")
    return agent.ask("approval.decide", id=approval["id"], **payload)


@test
def narrowed_and_downgraded(place):
    """an answer can grant less than was asked for: a part, and to read only"""
    place.mounting()
    agent = begin(place)
    part = folder(place, "data/part")
    os.symlink("data", place.root + "/link")
    id, event = request(agent, path=place.root + "/link/../link", access="read_write",
                        reason="to compare")
    equal((event["path"], event["access"], event["reason"], event["origin"],
           event["outcome"]),
          (place.root + "/data", "read_write", "to compare", "api", "pending"))
    equal(pending(agent), [event])
    granted = ok(decide(agent, event, path=part, access="read_only"))
    equal(granted["outcome"], "allowed")
    given = granted["folder"]
    equal((given["path"], given["access"], given["undo_dir"]), (part, "read_only", None))
    equal((given["grant"]["origin"], given["grant"]["reason"],
           given["grant"]["duration"]), ("api", "to compare", "once"))
    equal(ok(agent.response(id)), granted)
    equal(agent.first(DECIDED), granted)
    equal((pending(agent), labels(agent)), ([], ["share", "part"]))
    equal(agent.close(), 0)


@test
def never_wider(place):
    """an answer cannot grant more than was asked for"""
    agent = begin(place)
    inner = folder(place, "data/inner")
    other = folder(place, "other")
    os.symlink(other, place.root + "/data/out")
    id, event = request(agent, path=place.root + "/data")
    equal(event["access"], "read_only")
    for path in (place.root, other, inner + "/../../other", place.root + "/data/out",
                 place.root + "/dat"):
        equal((path, decide(agent, event, path=path)["error"]["number"]), (path, 1004))
    equal(decide(agent, event, path=inner + "/none")["error"]["number"], 2002)
    equal(decide(agent, event, path="data")["error"]["number"], 1004)
    equal(decide(agent, event, access="read_write")["error"]["number"], 1004)
    equal([entry["id"] for entry in pending(agent)], [event["id"]])
    ok(decide(agent, event, path=inner))
    equal(ok(agent.response(id))["folder"]["path"], inner)
    equal(agent.close(), 0)


@test
def denied(place):
    """a denial, and a time without an answer, deny; the first answer counts"""
    agent = begin(place)
    two = folder(place, "two")
    id, event = request(agent, path=two, access="read_write")
    equal(ok(decide(agent, event, decision="deny"))["outcome"], "denied")
    equal(agent.response(id)["error"]["number"], 5001)
    equal(agent.first(DECIDED)["outcome"], "denied")
    equal(decide(agent, event)["error"]["number"], 4001)
    id = agent.send("grant.request", path=two, timeout_seconds=1)
    error = agent.response(id)["error"]
    equal(error["number"], 6002)
    contains(error["message"], "not answered within 1 s")
    equal(labels(agent), ["share"])
    # Two answers on the way.
    id, event = request(agent, path=two)
    answers = [agent.send("approval.decide", id=event["id"], decision=decision)
               for decision in ("allow", "deny")]
    equal([agent.response(answer)["status"] for answer in answers], ["ok", "error"])
    ok(agent.response(id))
    equal(labels(agent), ["share", "two"])
    equal(agent.close(), 0)


@test
def what_cannot_be_granted(place):
    """a folder that may not be shared stays a question until it is denied"""
    agent = begin(place, network_policy={"allow": []})
    for path, number in ((place.share, 2002), (place.root, 2002),
                         (place.root + "/none", 2002), ("/", 2002),
                         (folder(place, "state/stepback"), 2002)):
        id, event = request(agent, path=path, access="read_write")
        equal((path, decide(agent, event)["error"]["number"]), (path, number))
        equal("problem" in event, path.endswith("none"))
        equal(len(pending(agent)), 1)
        ok(decide(agent, event, decision="deny"))
        equal(agent.response(id)["error"]["number"], 5001)
    equal(labels(agent), ["share"])
    equal(agent.error("grant.request", path="two")[0], 1004)
    equal(agent.error("grant.request")[0], 1003)
    equal(agent.error("grant.request", path="/a", reason="x" * 501)[0], 4003)
    equal(agent.error("grant.request", path="/a", access="all")[0], 1004)
    equal(agent.error("approval.decide", id="x", decision="perhaps")[0], 1004)
    equal(agent.error("approval.decide", id="x")[0], 1003)
    ids = [request(agent, path=place.root + "/%d" % n)[0] for n in range(8)]
    equal(agent.error("grant.request", path="/a")[0], 6000)
    equal(len(pending(agent)), 8)
    ok(agent.ask("session.stop"))
    equal([agent.response(id)["error"]["number"] for id in ids], [6001] * 8)
    equal(pending(agent), [])
    equal(agent.close(), 0)


@test
def a_replaced_folder_is_not_granted(place):
    """what replaces the folder after the question is not granted"""
    agent = begin(place)
    two, other = folder(place, "two"), folder(place, "other")
    for replace in (lambda: os.symlink(other, two), lambda: os.mkdir(two)):
        id, event = request(agent, path=two)
        os.rename(two, two + ".old")
        replace()
        equal(decide(agent, event)["error"]["number"] in (1004, 2002), True)
        ok(decide(agent, event, decision="deny"))
        os.unlink(two) if os.path.islink(two) else os.rmdir(two)
        os.rename(two + ".old", two)
        agent.response(id)
    equal(labels(agent), ["share"])
    equal(agent.close(), 0)


@test
def a_grant_is_kept(place):
    """"always" comes back at the next start, with its origin, until it is removed"""
    two, three = folder(place, "two"), folder(place, "a \nb\xfe")
    agent = begin(place)
    id, event = request(agent, path=two, access="read_write", reason="büro\n[x]")
    first = ok(decide(agent, event, duration="always"))["folder"]
    id, event = request(agent, path=three)
    ok(decide(agent, event, duration="always"))
    equal(first["grant"]["duration"], "always")
    equal(agent.close(), 0)
    files = os.listdir(place.root + "/state/stepback/grants")
    equal((len(files), os.lstat(place.root + "/state/stepback/grants").st_mode & 0o777),
          (1, 0o700))
    agent = begin(place)
    again = agent.ask("session.status")["payload"]["working_directories"]
    equal([entry["path"] for entry in again], [place.share, two, three])
    equal(again[1]["grant"], dict(first["grant"], granted=again[1]["grant"]["granted"]))
    contains(again[1]["grant"]["granted"], "20")
    equal((again[1]["guest_path"], again[1]["access"], again[2]["access"]),
          (first["guest_path"], "read_write", "read_only"))
    ok(agent.ask("folder.remove", directory="two"))
    equal(agent.close(), 0)
    os.rename(three, three + ".away")
    agent = begin(place)
    equal(labels(agent), ["share"])
    warning = agent.first("event.warning")
    equal(warning["code"], "grant_not_restored")
    contains(warning["message"], "a \nb")
    equal(agent.close(), 0)
    # A link in its place is not followed.
    os.symlink(two, three)
    agent = begin(place)
    equal(labels(agent), ["share"])
    contains(agent.first("event.warning")["message"], "symbolic link")
    # A client that ends withdraws nothing and keeps nothing from its end.
    agent.send("grant.request", path=two)
    agent.event(REQUESTED)
    equal(agent.close(), 0)
    # Another folder's sandboxes have none of it.
    agent = begin(place, working_directories=[{"path": two}])
    equal(labels(agent), ["two"])
    equal(agent.close(), 0)


@test
def a_damaged_file_of_grants(place):
    """a file of kept grants that cannot be read is a warning"""
    two = folder(place, "two")
    agent = begin(place)
    id, event = request(agent, path=two)
    ok(decide(agent, event, duration="always"))
    equal(agent.close(), 0)
    base = place.root + "/state/stepback/grants"
    path = os.path.join(base, os.listdir(base)[0])
    for damage in (lambda: open(path, "wb").write(b"\0\xff[" * 99),
                   lambda: (os.unlink(path), os.mkfifo(path)),
                   lambda: (os.unlink(path), os.symlink(two, path)),
                   lambda: os.chmod(base, 0o777)):
        damage()
        agent = begin(place)
        equal(agent.first("event.warning")["code"], "grant_not_restored")
        equal(labels(agent), ["share"])
        equal(agent.close(), 0)


@test
def a_guest_cannot_write_the_file(place):
    """a state directory in a shared folder keeps no grant"""
    agent = Agent(place, XDG_STATE_HOME=place.share + "/state")
    ok(agent.start())
    two = folder(place, "two")
    id, event = request(agent, path=two)
    answer = decide(agent, event, duration="always")
    # Such a state directory refuses further folders at all.
    equal(answer["error"]["number"], 2002)
    equal(os.listdir(place.share), [])
    equal(agent.close(), 0)


@test
def safeguards_are_in_the_queue(place):
    """a safeguard's question is in the list, and is decided like a request"""
    place.mounting()
    agent = begin(place, safeguard={"delete_threshold": 2, "timeout_seconds": 60})
    done(agent, "touch 1 2 3 4")
    running = agent.send("agent.execute", command="sh rm 1 2 3 4")
    event = agent.event("event.safeguard_triggered")
    equal([(a["id"], a["kind"], a["directory"]) for a in pending(agent)],
          [(event["safeguard_id"], "safeguard", "share")])
    ok(agent.ask("approval.decide", id=event["safeguard_id"], decision="allow"))
    equal(ok(agent.response(running))["exit_code"], 0)
    equal((os.listdir(place.share), pending(agent)), ([], []))
    equal(agent.close(), 0)


if __name__ == "__main__":
    main(mounts=True)
