#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and the undo history as MCP resources: lists, reading, completion, and
who is told of changes."""
import base64
import json
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import (LATEST, META, MODERN, NoMachine,  # noqa: E402
                        Server, connect, write)
from stdio_client import Agent, contains, equal, main, test  # noqa: E402

@test
def resources_are_paged(place):
    """resources: files in pages, with opaque cursors, and the history"""
    server = Server(place)
    client = server.client
    names = ["d%02d/f%02d" % (i, j) for i in range(15) for j in range(20)]
    names += ["a b%", "z", b"\xff".decode("utf-8", "surrogateescape")]
    for name in names:
        path = os.path.join(place.share, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(name[:3] if name[0] == "d" else "x")
    os.makedirs(place.share + "/.git")
    write(place, ".git/config", b"x")
    os.symlink("/etc", place.share + "/etc")
    uris, cursor, pages = [], None, 0
    while True:
        params = {"cursor": cursor} if cursor else {}
        result = client.result("resources/list", **params)
        uris += [r["uri"] for r in result["resources"]]
        pages += 1
        if pages == 1:
            os.unlink(place.share + "/d14/f19")
        cursor = result.get("nextCursor")
        if not cursor:
            break
    equal((pages, len(uris), len(set(uris))), (4, 303, 303))
    equal(uris[0], "stepback://history")
    contains(uris, "stepback://files/a%20b%25")
    contains(uris, "stepback://files/%FF")
    for cursor in ("x", "", 5, base64.b64encode(b"after:").decode()):
        equal(client.error("resources/list", cursor=cursor)[0], -32602)
    template = client.result("resources/templates/list")["resourceTemplates"]
    equal(template[0]["uriTemplate"], "stepback://files/{+path}")
    contents, = client.result("resources/read",
                              uri="stepback://files/d01/f01")["contents"]
    equal((contents["text"], contents["mimeType"]), ("d01", "text/plain"))
    write(place, "z", b"\x00")
    contents, = client.result("resources/read", uri="stepback://files/z")[
        "contents"]
    equal(contents["blob"], "AA==")
    history, = client.result("resources/read", uri="stepback://history")[
        "contents"]
    equal(json.loads(history["text"])["steps"], [])
    ref = {"type": "ref/resource", "uri": "stepback://files/{+path}"}
    completion = client.result("completion/complete", ref=ref, argument={
        "name": "path", "value": "d01/f0"})["completion"]
    equal((completion["total"], completion["values"][0]), (10, "d01/f00"))
    equal(client.result("completion/complete", ref=ref, argument={
        "name": "path", "value": "d0"})["completion"]["values"][0], "d00/")
    equal(client.error("completion/complete", ref=ref, argument={})[0], -32602)
    equal(server.close(), 0)


@test
def large_folders_are_paged(place):
    """resources: a folder of many names has pages as full as any"""
    os.mkdir(place.share + "/files")
    os.mkdir(place.share + "/folders")
    for i in range(51000):
        os.mkdir(place.share + "/folders/%05d" % i)
        os.mknod(place.share + "/files/%05d" % i)
    write(place, "folders/50000/last", b"x")
    write(place, "z", b"x")
    client = NoMachine(place).client

    def page(after):
        cursor = base64.b64encode(b"after:" + after).decode()
        result = client.result("resources/list", cursor=cursor)
        return [r["uri"].rpartition("/")[2] for r in result["resources"]], \
            result.get("nextCursor")

    equal(page(b"a"), page(b"files/"))
    names, cursor = page(b"files/40000")
    equal((names[0], len(names)), ("40001", 100))
    cursor = client.result("resources/list")["nextCursor"]
    result = client.result("resources/list", cursor=cursor)
    equal(len(result["resources"]), 100)
    cursor, found, pages = base64.b64encode(b"after:files/50990").decode(), [], 0
    while cursor:
        result = client.result("resources/list", cursor=cursor)
        found += [r["uri"].rpartition("/")[2] for r in result["resources"]]
        cursor = result.get("nextCursor")
        pages += 1
    equal(found, ["%05d" % i for i in range(50991, 51000)] + ["last", "z"])
    equal(pages < 6, True)


LABELS = ["share", "a/b %", "\u00e4"]


def folders(place, count, **client):
    """A session with so many folders, and two clients."""
    agent = Agent(place)
    path = agent.event("event.ready")["mcp_socket"]
    clients = [connect(path, **client), connect(path, version=MODERN)]
    listed = [{"path": place.share}]
    for i in range(1, count):
        os.makedirs("%s/other%d" % (place.root, i), exist_ok=True)
        listed.append({"path": "%s/other%d" % (place.root, i),
                       "label": LABELS[i], "access": "read_only"
                       if i == 2 else "read_write"})
    equal(agent.start(working_directories=listed)["status"], "ok")
    return agent, clients


def listed(client):
    """All resources, and how many pages they took."""
    found, cursors = [], [None]
    while cursors[-1] or len(cursors) == 1:
        result = client.result("resources/list", **(
            {"cursor": cursors[-1]} if cursors[-1] else {}))
        found += result["resources"]
        assert len(result["resources"]) <= 101
        cursors.append(result.get("nextCursor"))
    return found, cursors[1:-1]


@test
def all_folders_are_listed(place):
    """resources of several folders: pages go on from one to the next"""
    agent, clients = folders(place, 3)
    places = [place.share, place.root + "/other1", place.root + "/other2"]
    for folder, count in zip(places, (100, 60, 70)):
        os.mkdir(folder + "/d")
        for i in range(count):
            with open("%s/d/f%02d" % (folder, i), "w") as file:
                file.write(os.path.basename(folder) + " %d" % i)
    first = ["stepback://files/d/f%02d" % i for i in range(100)]
    second = ["stepback://folder/a%%2Fb%%20%%25/d/f%02d" % i
              for i in range(60)]
    third = ["stepback://folder/%%C3%%A4/d/f%02d" % i for i in range(70)]
    for client in clients:
        found, cursors = listed(client)
        equal([r["uri"] for r in found],
              ["stepback://history"] + first + second + third)
        equal((found[1]["name"], found[101]["name"]),
              ("d/f00", "a/b %/d/f00"))
        equal(len(cursors), 2)
        for uri, text in ((first[7], "share 7"), (second[0], "other1 0"),
                          ("stepback://folder/share/d/f07", "share 7"),
                          (third[69], "other2 69")):
            contents, = client.result("resources/read", uri=uri)["contents"]
            equal((contents["uri"], contents["text"]), (uri, text))
        for uri in ("stepback://folder/none/d/f00", "stepback://folder/share",
                    "stepback://folder/share/", "stepback://folder//d/f00",
                    "stepback://folder/share/../other1/d/f00",
                    "stepback://folder/a/b%20%25/d/f00",
                    "stepback://folder/share/%00"):
            equal((uri, client.error("resources/read", uri=uri)[0]),
                  (uri, -32002 if client.version == LATEST else -32602))
    agent.ask("session.stop")
    equal([r["uri"] for r in listed(clients[0])[0]], ["stepback://history"])
    # The folder of a cursor is gone; a session of one folder is as ever.
    equal(agent.start()["status"], "ok")
    equal([r["uri"] for r in listed(clients[0])[0]],
          ["stepback://history"] + first)
    equal(clients[0].error("resources/list", cursor=cursors[1])[0], -32602)
    equal(agent.close(), 0)


@test
def folders_are_completed(place):
    """completion: labels, and paths in the folder that a label names"""
    agent, (client, modern) = folders(place, 3)
    os.mkdir(place.root + "/other1/deep")
    write(place, "../other1/deep/file", b"")
    write(place, "dot", b"")
    templates = client.result("resources/templates/list")["resourceTemplates"]
    equal(templates[1]["uriTemplate"], "stepback://folder/{label}/{+path}")
    ref = {"type": "ref/resource", "uri": templates[1]["uriTemplate"]}

    def complete(name, value, **context):
        return client.result("completion/complete", ref=ref, argument={
            "name": name, "value": value}, context={"arguments": context})[
            "completion"]["values"]

    equal(complete("label", ""), LABELS)
    equal(complete("label", "a"), ["a/b %"])
    equal(complete("path", "d", label="a/b %"), ["deep/"])
    equal(complete("path", "deep/", label="a/b %"), ["deep/file"])
    equal(complete("path", "d", label="share"), ["dot"])
    equal(complete("path", "d"), [])
    equal(complete("path", "d", label="none"), [])
    equal(client.error("completion/complete", ref=ref, argument={
        "name": "other", "value": ""})[0], -32602)
    equal(agent.close(), 0)


@test
def changes_of_all_folders_are_told(place):
    """a subscriber to a file is notified of that folder's changes only"""
    agent, clients = folders(place, 3)
    uris = ["stepback://files/f", "stepback://folder/share/f",
            "stepback://folder/a%2Fb%20%25/f", "stepback://folder/%C3%A4/f",
            "stepback://folder/a%2Fb%20%25/d",
            "stepback://folder/a%2Fb%20%25/.//d/./new"]
    for uri in uris:
        clients[0].result("resources/subscribe", uri=uri)
    clients[1].send("subscriptions/listen", notifications={
        "resourcesListChanged": True, "resourceSubscriptions": uris})
    clients[1].notification("notifications/subscriptions/acknowledged")

    def told(act):
        for client in clients:
            client.result("tools/list")
            client.seen.clear()
        act()
        for client in clients:
            client.result("tools/list")
        got = [[m["params"].get("uri", "list") for m in client.seen
                if "resources" in m.get("method", "")] for client in clients]
        equal(sorted(got[0]), sorted(got[1]))
        return sorted(got[0])

    def put(path, **more):
        return lambda: clients[0].tool("write_file", path=path, content="x",
                                       **more)

    equal(told(put("f")), sorted(["list"] + uris[:2]))
    equal(told(put("f", directory="a/b %")), sorted(["list", uris[2]]))
    os.mkdir(place.root + "/other1/d")
    agent.event("event.external_modification")
    equal(told(put("d/new", directory="a/b %")), sorted(["list"] + uris[4:]))
    equal(told(lambda: agent.ask("undo.rollback", force=True)),
          sorted(["list"] + uris[4:]))
    # Its files are other ones, or none.
    equal(told(lambda: agent.ask("session.stop")), sorted(["list"] + uris))
    equal(told(agent.start), sorted(["list"] + uris))
    equal(agent.close(), 0)


@test
def changes_are_told(place):
    """subscribers are notified of changes; in both eras"""
    write(place, "a", b"1")
    for version in (LATEST, MODERN):
        server = Server(place, version=version)
        client = server.client
        uris = ["stepback://files/a", "stepback://history"]
        if version == MODERN:
            listen = client.send("subscriptions/listen", notifications={
                "resourcesListChanged": True, "toolsListChanged": True,
                "resourceSubscriptions": uris})
            params = client.notification(
                "notifications/subscriptions/acknowledged")
            equal(params["notifications"], {"resourcesListChanged": True,
                                            "resourceSubscriptions": uris})
            equal(params["_meta"][META + "subscriptionId"], listen)
        else:
            for uri in uris + ["stepback://files/other"]:
                equal(client.result("resources/subscribe", uri=uri), {})
            client.result("resources/unsubscribe",
                          uri="stepback://files/other")
        client.tool("write_file", path="other", content="x")
        client.tool("write_file", path="a", content="2")
        client.tool("undo", steps=2)
        told = [m for m in client.seen if "method" in m and
                "resources" in m["method"]]
        if version == MODERN:
            for message in told:
                equal(message["params"]["_meta"],
                      {META + "subscriptionId": listen})
        history = "stepback://history"
        file = "stepback://files/a"
        got = [m["params"].get("uri", "list") for m in told]
        equal(got, [] + ["list", history] + [file, history] +
              sorted(got[4:], key=[file, "list", history].index))
        equal(set(got[4:]), {file, "list", history})
        write(place, "a", b"outside edit")
        client.until(lambda m: m.get("params", {}).get("uri") == file)
        if version == MODERN:
            client.notify("notifications/cancelled", requestId=listen)
            client.result("tools/list")
            count = len(client.seen)
            client.tool("write_file", path="b", content="3")
            equal(len(client.seen), count + 1)
        equal(server.close(), 0)
        os.unlink(place.share + "/b") if version == MODERN else None


@test
def streams_end_with_the_server(place):
    """subscriptions/listen gets its result when the server ends"""
    server = NoMachine(place, version=MODERN)
    id = server.client.send("subscriptions/listen", notifications={})
    server.client.notification("notifications/subscriptions/acknowledged")
    for bad in (5, {"resourceSubscriptions": "x"},
                {"resourceSubscriptions": [5]},
                {"resourceSubscriptions": ["x%d" % i for i in range(300)]}):
        equal(server.client.error("subscriptions/listen",
                                  notifications=bad)[0], -32602)
    server.process.send_signal(signal.SIGTERM)
    result = server.client.answer(id)["result"]
    equal(result["_meta"][META + "subscriptionId"], id)
    equal(server.process.wait(20), 0)


main()
