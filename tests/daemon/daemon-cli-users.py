#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The file servers' command lines, without root or with mapped users."""
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from daemon_case import Server, connect, says  # noqa: E402
from stdio_client import Skip, contains, equal, main, test  # noqa: E402


def as_user(place):
    """The arguments for a process that is not root's."""
    if os.geteuid() != 0:
        return {}
    os.chmod(place.root, 0o755)
    os.chown(place.share, 65534, 65534)
    return {"user": 65534, "group": 65534, "extra_groups": []}


@test
def user_chroot(place):
    """without root, --sandbox=chroot is refused with the alternatives"""
    user = as_user(place)
    os.chmod(place.root, 0o777)
    status, line = says("--shared-dir=" + place.share, "--sandbox=chroot",
                        "--socket-path=%s/s" % place.root, **user)
    equal(status, 1)
    contains(line, "--sandbox=chroot requires root")
    contains(line, "--sandbox=namespace")


def mapping_tools(place):
    """Stand-ins for newuidmap and newgidmap: they record their arguments,
    and fail."""
    tools = place.root + "/tools"
    os.mkdir(tools)
    for name in ("newuidmap", "newgidmap"):
        with open(tools + "/" + name, "w") as file:
            file.write('#!/bin/sh\nshift\necho "$*" >%s/told\nexit 1\n' %
                       place.root)
        os.chmod(tools + "/" + name, 0o755)
    return dict(os.environ, STEPBACK_PROGRAM_PATH=tools)


@test
def maps_more_than_once(place):
    """--uid-map and --gid-map count each time that they are given"""
    env = mapping_tools(place)
    for words in ((":0:1000:1:,:1:100000:65535:",),
                  (":0:1000:1:", ":1:100000:65535:")):
        for kind in ("uid", "gid"):
            status, line = says("--shared-dir=" + place.share,
                                "--socket-path=%s/s" % place.root,
                                *("--%s-map=%s" % (kind, word)
                                  for word in words), env=env)
            equal(status, 1)
            if re.search("namespaces are unavailable|Operation not permitted", line):
                raise Skip("there are no user namespaces")
            contains(line, "cannot map the users")
            with open(place.root + "/told") as file:
                equal(file.read(), "0 1000 1 1 100000 65535\n")


@test
def map_of_the_caller(place):
    """a map of the caller alone, as user 0, needs no newuidmap"""
    user = as_user(place)
    os.chmod(place.root, 0o777)
    ids = user.get("user", os.geteuid()), user.get("group", os.getegid())
    server = Server(place, "--uid-map=:0:%d:1:" % ids[0],
                    "--gid-map=:0:%d:1:" % ids[1],
                    env=mapping_tools(place), **user)
    for kind, id in zip(("uid", "gid"), ids):
        with open("/proc/%d/%s_map" % (server.process.pid, kind)) as file:
            equal(file.read().split(), ["0", str(id), "1"])
    with open("/proc/%d/status" % server.process.pid) as file:
        contains(file.read(), "Uid:\t" + "\t".join([str(ids[0])] * 4))
    equal(server.end(), 0)


@test
def map_and_log(place):
    """the message about a log with inside ids says how to undo it"""
    user = as_user(place)
    os.chmod(place.root, 0o777)
    id = user.get("user", os.geteuid())
    if id == 0:
        raise Skip("root's own number is 0, inside and outside")
    control = "--interceptor-socket=%s/control" % place.root
    for inside, more, warned in ((0, (), True), (id, (), False),
                                 (0, (control,), False)):
        server = Server(place, "--uid-map=:%d:%d:1:" % (inside, id), *more,
                        "--undo-dir=%s/undo" % place.root, **user)
        status = server.end()
        equal((inside, more, "the ids inside --uid-map" in server.said()),
              (inside, more, warned))
        equal(status, 0)


@test
def log_of_other_numbers(place):
    """a log with the numbers of the inside is undone from there alone"""
    if os.geteuid() != 0:
        raise Skip("needs root to change the user")
    user = {"user": 1234, "group": 1234, "extra_groups": []}
    undo_dir = place.root + "/undo"
    maps = ("--uid-map=:0:1234:1:", "--gid-map=:0:1234:1:")
    rest = ("--undo-dir=" + undo_dir,
            "--interceptor-socket=%s/control" % place.root)
    os.chmod(place.root, 0o777)
    os.chown(place.share, 1234, 1234)

    def ask(operation, **payload):
        with connect(place.root + "/control") as control:
            control.settimeout(20)
            control.sendall(json.dumps({
                "type": operation, "request_id": "1",
                "payload": payload}).encode() + b"\n")
            for line in control.makefile():
                if '"response"' in line:
                    return json.loads(line)

    server = Server(place, *maps, *rest, **user)
    equal(ask("write_file", path="f", content="x")["status"], "ok")
    equal(server.end(), 0)
    for force in ((), ("--force",)):
        status, line = says("undo", "-C", place.share, "--undo-dir", undo_dir,
                            *force, program="stepback", **user)
        equal((force, status), (force, 1))
        contains(line, "--uid-map=:0:1234:1:")
    status, line = says("--shared-dir=" + place.share, "--socket-path=" +
                        server.path, *rest, **user)
    equal(status, 1)
    contains(line, "--gid-map=:0:1234:1:")
    equal(os.listdir(place.share), ["f"])
    server = Server(place, *maps, *rest, **user)
    equal(ask("rollback", steps=1)["status"], "ok")
    equal(server.end(), 0)
    equal(os.listdir(place.share), [])


@test
def maps_without_us(place):
    """a map without the daemon's own user is refused"""
    for option in ("--uid-map", "--gid-map"):
        status, line = says("--shared-dir=" + place.share,
                            "--socket-path=/nowhere/s",
                            option + "=:1:100000:65535:")
        equal(status, 2)
        contains(line, option)
        contains(line, "neither 0")


main()
