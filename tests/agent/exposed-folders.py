#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders with the user's keys are not shared while the network is open."""
import os
import pwd
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import call  # noqa: E402
from mcp_client import Server  # noqa: E402
from stdio_client import Agent, contains, equal, main, test  # noqa: E402

OPEN = ("open", {"allow": ["0.0.0.0/0"]}, {"allow": ["10.0.0.1", "::/0"]},
        {"allow": ["0.0.0.0/1", "128.0.0.0/1"]})
CLOSED = ("disabled", {"allow": []}, {"allow": ["10.0.0.0/8", "2001:db8::/32"],
                                      "dns": True})


def exposed(place):
    """Folders that are refused: each with the reason and the environment."""
    root = place.root
    for name in ("keys/.ssh", "user/home/project", "linked"):
        os.makedirs("%s/%s" % (root, name))
    os.symlink(root + "/nowhere", root + "/linked/.ssh")
    os.makedirs(root + "/user/.ssh/old")
    home = {"HOME": root + "/user/home"}
    os.symlink(root + "/user/home", root + "/homelink")
    return ((root + "/keys", "SSH keys", {}),
            (root + "/keys/.ssh", "SSH keys", {}),
            (root + "/linked", "SSH keys", {}),
            (root + "/user/.ssh/old", "SSH keys", {}),
            (root + "/user/home", "home folder", home),
            (root + "/homelink", "home folder", home),
            (root + "/user", "home folder", home),
            (pwd.getpwuid(os.geteuid()).pw_dir, "home folder", {}),
            ("/", "root folder", {}))


def start(agent, place, folder, policy, access="read_write", **more):
    """The error's number and words, or None."""
    answer = agent.start(network_policy=policy, working_directories=[
        {"path": folder, "undo_dir": place.root + "/log", "access": access}],
        **more)
    if answer["status"] == "ok":
        agent.ask("session.stop")
        return None
    return answer["error"]["number"], answer["error"]["message"]


@test
def keys_are_not_shared_with_an_open_network(place):
    """the API refuses /, a home folder and one with .ssh, with the reason"""
    for folder, reason, env in exposed(place):
        agent = Agent(place, **env)
        for policy in OPEN:
            for access in ("read_write", "read_only"):
                number, message = start(agent, place, folder, policy, access)
                equal((folder, number), (folder, 2002))
                contains(message, reason)
                contains(message, "force_share")
        equal(agent.close(), 0)


@test
def keys_are_shared_with_a_closed_network(place):
    """the same folders are shared if the network is closed, or by force"""
    for folder, reason, env in exposed(place):
        if not folder.startswith(place.root):
            continue
        agent = Agent(place, **env)
        for policy in CLOSED:
            equal((folder, policy, start(agent, place, folder, policy)),
                  (folder, policy, None))
        equal(start(agent, place, folder, "open", force_share=True), None)
        equal(start(agent, place, folder, "open", force_share=1)[0], 1004)
        equal(agent.close(), 0)


@test
def a_network_is_not_opened_over_keys(place):
    """session.configure_network does not open the network of such a folder"""
    os.mkdir(place.share + "/.ssh")
    for force in (False, True):
        agent = Agent(place)
        agent.start(network_policy={"allow": []}, force_share=force)
        for policy in OPEN:
            answer = agent.ask("session.configure_network",
                               network_policy=policy)
            equal(answer["status"], "ok" if force else "error")
            if not force:
                equal(answer["error"]["number"], 2002)
                contains(answer["error"]["message"], "SSH keys")
        answer = agent.ask("session.configure_network",
                           network_policy={"allow": ["10.0.0.0/8"]})
        equal(answer["status"], "ok")
        equal(agent.close(), 0)


@test
def the_command_line_refuses_keys(place):
    """run refuses a folder with .ssh; --force-share and --no-network share it"""
    os.mkdir(place.share + "/.ssh")
    words = ("-C", place.share, "--accel", "tcg")
    status, _, err = call(place, "run", *words, "--", "exit 0")
    equal(status, 125)
    for part in (place.share, "SSH keys", "--force-share", "--no-network"):
        contains(err, part)
    equal(os.path.exists(place.root + "/.stepback"), False)
    for more in ("--force-share", "--no-network", "--network=10.0.0.0/8"):
        equal((more, call(place, "run", *words, more, "--", "exit 0")[0]),
              (more, 0))


@test
def an_mcp_server_refuses_keys(place):
    """mcp does not start over a folder with .ssh; with --force-share it does"""
    os.mkdir(place.share + "/.ssh")
    status, out, err = call(place, "mcp", "-C", place.share, "--accel=tcg")
    equal((status, out), (1, b""))
    contains(err, "SSH keys")
    contains(err, "--force-share")
    server = Server(place, "--force-share")
    equal(server.client.tool("execute_command", command="echo 1")["stdout"],
          "1\n")
    equal(server.close(), 0)


main()
