#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Local isolation: what a command finds, and its undo."""
import json
import os
import socket
import sys
import threading
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import LOCAL, USER, call, give, good, need, run  # noqa: E402
from pty_client import Terminal  # noqa: E402
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import (PROGRAM, Agent, Skip, contains, equal,  # noqa: E402
                          eventually, main, snapshot)

WORK = """
set -e
mkdir -p d/e; echo new >d/e/f; ln d/e/f d/hard; ln -s ../a d/sym
echo more >>a; chmod 600 b; mv c moved; rm -r tree; truncate -s 5 big
"""


def fill(share):
    for name in ("a", "b", "c"):
        with open(share + "/" + name, "w") as file:
            file.write("content of " + name)
    os.makedirs(share + "/tree/below")
    with open(share + "/tree/below/file", "w") as file:
        file.write("x" * 1000)
    with open(share + "/big", "wb") as file:
        file.write(os.urandom(300000))


@sandbox_test
def other_users(place):
    """another user of root's sandbox can enter the folder, if its mode allows it"""
    need()
    if os.geteuid() != 0:
        raise Skip("only root's sandbox has other users without ranges")
    os.chmod(place.share, 0o755)
    with open(place.share + "/f", "w") as file:
        file.write("text")
    equal(good(place, "cat", "f", options=("--no-network", "--user=nobody")), "text")


@sandbox_test
def names(place):
    """the sandbox's own name has an address, and "step" is on the PATH"""
    need()
    for options in ("--no-network",), ("--network=api.example.org",):
        equal(good(place, "sh", "-c", 'getent hosts "$(hostname)" | tr -s " "',
                   options=options), "::1 stepback\n")
    contains(good(place, "sh", "-c", "command -v step",
                  options=("--no-network",)), "/run/stepback/step")


def check_undo(place, user):
    need()
    fill(place.share)
    if user:
        give(place)
    before = snapshot(place.share)
    good(place, "sh", "-c", WORK, user=user)
    after = snapshot(place.share)
    assert before != after
    equal(call(place, "undo", user=user)[0], 0)
    equal(snapshot(place.share), before)
    equal(call(place, "redo", user=user)[0], 0)
    equal(snapshot(place.share), after)


@sandbox_test
def undo_as_root(place):
    """root: an undo is exact, and a redo"""
    check_undo(place, False)


@sandbox_test
def undo_as_user(place):
    """an ordinary user: an undo is exact, and a redo"""
    check_undo(place, True)


@sandbox_test
def identity(place):
    """the user has the own id and home, no capability and no new privileges"""
    need()
    give(place)
    out = good(place, "sh", "-c", "id -u; echo $HOME; cd && echo here; cd - ; grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' "
               "/proc/self/status", user=True)
    equal(out.split(), [str(USER), place.root + "/home", "here", place.share, "CapEff:", "0" * 16, "CapBnd:",
                        out.split()[7], "NoNewPrivs:", "1", "Seccomp:", "2"])


@sandbox_test
def environment(place):
    """the environment of the host does not come in, but for -e"""
    need()
    out = good(place, "env", options=("--no-network", "-e", "GIVEN=yes"),
               SSH_AUTH_SOCK="/s", DBUS_SESSION_BUS_ADDRESS="b",
               DOCKER_HOST="d", DISPLAY=":0", SECRET="s")
    names = {line.split("=")[0] for line in out.splitlines()}
    equal(names - {"PATH", "TERM", "LANG", "HOME", "USER", "LOGNAME", "SHELL", "PWD",
                   "GIVEN", "STEPBACK_STEP_SOCKET", "_", "SHLVL", "OLDPWD"}, set())
    contains(out, "GIVEN=yes\n")
    status, out, err = run(place, "cat", "/proc/1/environ", "/proc/2/environ", SECRET="s")
    equal((status, out, err.count("Permission denied")), (1, "", 2))


@sandbox_test
def exit_codes(place):
    """the exit code is the command's; streams are apart"""
    need()
    status, out, err = run(place, "sh", "-c", "echo out; echo err >&2; exit 7")
    equal((status, out), (7, "out\n"))
    contains(err, "err\n")


@sandbox_test
def own_bwrap(place):
    """a command that prints as bubblewrap does is not taken for it"""
    need()
    status, _, err = run(place, "sh", "-c", "echo 'bwrap: no' >&2; exit 1")
    equal(status, 1)
    contains(err, "bwrap: no\n")
    assert "could not be made" not in err, err


@sandbox_test
def several_folders(place):
    """several folders are at their own paths; a read-only one cannot be written"""
    need()
    other, fixed = place.root + "/other", place.root + "/fixed"
    for path in (other, fixed):
        os.mkdir(path)
        with open(path + "/old", "w") as file:
            file.write("old")
    before = snapshot(place.share, other, fixed)
    agent = Agent(place)
    started = agent.start(
        isolation="local", network_policy="disabled", vm={}, working_directories=[
            {"path": place.share, "access": "read_write"},
            {"path": other, "access": "read_write"},
            {"path": fixed, "access": "read_only"}])
    equal((started["status"], started["payload"]["isolation"]), ("ok", "local"))
    payload = agent.ask("agent.execute", command="""
        echo 1 >%s/one; echo 2 >%s/two; rm %s/old; echo 3 >%s/three; rm -f %s/old; true
        """ % (place.share, other, other, fixed, fixed))["payload"]
    equal(payload["exit_code"], 0)
    assert snapshot(place.share, other) != before[:2]
    equal(snapshot(fixed), before[2:])
    equal(agent.ask("undo.rollback")["status"], "ok")
    equal(snapshot(place.share, other, fixed), before)
    agent.close()
    equal(place.left(), [])


@sandbox_test
def outside_edits(place):
    """an edit of the host is seen at once by the sandbox"""
    need()
    name = call(place, "up", *LOCAL, "--no-network")[1].strip()
    path = place.share + "/seen"
    for text in ("one", "two longer", "3"):
        with open(path, "w") as file:
            file.write(text)
        equal(call(place, "exec", name, "--", "cat", path)[1], text)
    os.rename(path, path + "2")
    equal(call(place, "exec", name, "--", "sh", "-c", "ls " + place.share)[1], "seen2\n")
    equal(call(place, "stop", name)[0], 0)


@sandbox_test
def terminal(place):
    """exec -t has a terminal of its own"""
    need()
    name = call(place, "up", *LOCAL, "--no-network")[1].strip()
    terminal = Terminal([PROGRAM, "exec", "-it", name, "--", "sh", "-c",
                         "tty; stty size; read x; echo got-$x"],
                        place.environment(), cwd=place.share)
    with terminal:
        terminal.expect("/dev/pts/")
        terminal.send("word\n")
        terminal.expect("got-word")
        equal(terminal.wait(), 0)
    call(place, "stop", name)


@sandbox_test
def signals_of_the_guest(place):
    """a process of the sandbox cannot stop or end the shim, which is the first
    one there"""
    need()
    equal(call(place, "up", *LOCAL, "--no-network")[0], 0)
    for number in ("STOP", "TERM", "INT", "KILL"):
        equal(call(place, "exec", "--step=none", "--", "sh", "-c",
                   "kill -%s 1; tr '\\0' '\\n' </proc/1/cmdline | head -n 2"
                   % number)[:2],
              (0, "/run/stepback/shim\n--no-init\n"))


@sandbox_test
def copies(place):
    """cp moves files between host and sandbox"""
    need()
    name = call(place, "up", *LOCAL, "--no-network")[1].strip()
    with open(place.root + "/file", "w") as file:
        file.write("copied")
    equal(call(place, "cp", place.root + "/file", name + ":/tmp/in")[0], 0)
    equal(call(place, "exec", name, "--", "cat", "/tmp/in")[1], "copied")
    equal(call(place, "cp", name + ":/tmp/in", place.root + "/back")[0], 0)
    with open(place.root + "/back") as file:
        equal(file.read(), "copied")
    call(place, "stop", name)


@sandbox_test
def steps_from_inside(place):
    """a process in the sandbox lists and undoes its own steps"""
    need()
    with open(place.share + "/kept", "w") as file:
        file.write("kept")
    before = snapshot(place.share)
    name = call(place, "up", *LOCAL, "--no-network")[1].strip()
    status, out, err = call(
        place, "exec", name, "--step=none", "--", "sh", "-c",
        "/run/stepback/step run -- rm kept && /run/stepback/step undo")
    equal((status, err if status else ""), (0, ""))
    equal(snapshot(place.share), before)
    call(place, "stop", name)


@sandbox_test
def configured(place):
    """config.ini may choose it; ps and inspect say so"""
    need()
    os.makedirs(place.root + "/config/stepback")
    with open(place.root + "/config/stepback/config.ini", "w") as file:
        file.write("[defaults]\nisolation=local\nnetwork=none\n")
    name = call(place, "up")[1].strip()
    out = call(place, "inspect", name)[1]
    equal(json.loads(out)["config"]["isolation"], "local")
    contains(json.loads(out)["boundary"], "no wall")
    call(place, "stop", name)


def check_network(place, policy, address, port):
    words = ("timeout", "5", "bash", "-c", "exec 3<>/dev/tcp/%s/%d && cat <&3" %
             (address, port))
    return run(place, *words, options=policy)


@sandbox_test
def network(place):
    """the network has the policies of a machine's; the host's loopback is closed"""
    need()
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    taken = []

    def serve():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            taken.append(1)
            connection.sendall(b"reached")
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    for address in ("127.0.0.1", "10.0.2.2"):
        status, out, _ = check_network(place, (), address, port)
        assert status and "reached" not in out, out
    equal(taken, [])
    status, out, _ = check_network(place, ("--network=10.0.2.2:%d" % port,),
                                   "10.0.2.2", port)
    equal((status, out, taken), (0, "reached", [1]))
    server.close()


@sandbox_test
def ports(place):
    """a published port leads to a server in the sandbox"""
    need()
    name = call(place, "up", *LOCAL, "-p", "0:8000")[1].strip()
    call(place, "exec", "-d", name, "--", "python3", "-m", "http.server", "8000")
    with open(place.share + "/page", "w") as file:
        file.write("from the sandbox")
    found = json.loads(call(place, "port", name, "--json")[1])
    port = found["published"][0]["host_port"]
    url = "http://127.0.0.1:%d/page" % port

    def fetch():
        try:
            return urllib.request.urlopen(url, timeout=5).read()
        except OSError:
            return None

    assert eventually(lambda: fetch() == b"from the sandbox", 20)
    call(place, "stop", name)


main()
