#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs of sandboxes: up, ps, inspect, stats, logs, stop, kill, rm, prune."""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pty_client import Terminal  # noqa: E402
from sandbox_case import (Client, VM, call, good, listed, pid_of,  # noqa: E402
                          refused, sandbox_test, state, status, up)
from stdio_client import (PROGRAM, SRCDIR, Agent, contains,  # noqa: E402
                          equal, eventually, freeze, main, test)


def ended(place, pids):
    return eventually(lambda: not set(pids) & set(place.processes()), 10)


@test
def usage(place):
    """wrong command lines of the verbs exit with 2"""
    for words in (("up", "a", "b"), ("up", "Name"), ("up", "-x"), ("up", ".a"),
                  ("up", "a" * 64), ("up", "--idle-timeout=-1"),
                  ("up", "-C", ""), ("up", "--memory=1"), ("ps", "x"),
                  ("inspect", "a", "b"), ("logs", "a", "b"), ("rm",),
                  ("rm", "a", "--stopped"), ("stop", "a", "--all"),
                  ("stop", "--timeout=-1"), ("kill", "--timeout=1"),
                  ("prune", "x"), ("mcp", "--new", "--keep"),
                  ("supervise",)):
        code, out, err = call(place, *words)
        equal((words, code, out, err != ""), (words, 2, "", True))


@sandbox_test
def life(place):
    """up starts a sandbox that outlives it, stop ends it in order, up starts it
    again, rm removes it"""
    equal(up(place), "share")
    entry = listed(place)["share"]
    equal((entry["status"], entry["folders"]), ("running", [place.share]))
    equal(os.stat(state(place, "share")).st_mode & 0o777, 0o700)
    for name in ("config.json", "lock", "run.json", "supervisor.log"):
        equal(os.stat(state(place, "share", name)).st_mode & 0o777, 0o600)
    equal(os.path.dirname(entry["api_socket"]),
          place.runtime + "/stepback/share")
    contains(good(place, "ps"), "running")
    equal(good(place, "ps", "-q"), "share\n")
    refused(place, "folder", "rm", "share", part="stop the sandbox instead")
    equal(good(place, "stop"), "share\n")
    assert re.match(r"share +stopped +\d+ s ago +/", good(place, "ps", "-a"))
    equal(listed(place)["share"]["reason"], "stopped")
    equal((place.processes(), good(place, "ps", "-q")), ([], ""))
    equal(os.path.exists(entry["api_socket"]), False)
    equal(good(place, "up"), "share\n")  # with the configuration it had
    equal(listed(place)["share"]["status"], "running")
    equal(good(place, "up", "share"), "share\n")
    refused(place, "rm", "share", part="sandbox share: running; stop it first")
    equal(good(place, "rm", "-f", "share"), "share\n")
    equal((listed(place), place.processes(), place.left()), ({}, [], []))


@sandbox_test
def names(place):
    """the default name is the folder's, in allowed characters and with a number
    if it is taken; a name that is taken is refused"""
    for name, wanted in (("My Project!", "my-project"), ("..x_Y.", "x_y"),
                         ("äöü", "sandbox"), ("n" * 80, "n" * 63)):
        folder = os.path.join(place.root, "f", name)
        os.makedirs(folder)
        equal(up(place, "-C", folder), wanted)
        equal(good(place, "kill", wanted).strip(), wanted)
        folder = os.path.join(place.root, "g", name)
        os.makedirs(folder)
        equal(up(place, "-C", folder), (wanted[:61] + "-2"))
    refused(place, "up", "my-project", *VM, "-C", folder,
            part="already exists without this --directory")
    equal(up(place, "other"), "other")
    refused(place, "up", "again", *VM,
            part="%s: sandbox other already runs over this folder" % place.share)


@sandbox_test
def up_with_options(place):
    """up starts the sandbox of the folder again if it has the options that are
    given, and names the option that it does not have"""
    own = ("--memory=300", "--no-network", "--idle-timeout=500", "-e", "A=1",
           "--no-persist")
    equal(up(place, *own), "share")
    other = (("--memory=400", "--memory"), ("--network=open", "--network"),
             ("--idle-timeout=400", "--idle-timeout"), ("--env=A=2", "--env"),
             ("--persist", "--persist"), ("--new-disk", "--new-disk"),
             ("--publish=:80", "--publish"),
             ("--user=nobody", "--user"), ("--host-ids", "--host-ids"),
             ("--force-share", "--force-share"), ("--no-pool", "--no-pool"),
             ("--no-template", "--no-template"))
    for word, option in other[:2]:
        refused(place, "up", word, part="sandbox share: already runs without "
                "this %s; leave the option out, or remove the sandbox with "
                "'stepback rm -f share'\n" % option)
    for words in (own, (), ("share", *own), ("-C", place.share),
                  ("--no-pool", "--no-template")):
        code, out, err = call(place, "up", *words)
        equal((code, out), (0, "share\n"))
        contains(err, "sandbox share: already running")
    good(place, "stop")
    for words, some in (((), other), (("share",), other[:1]),
                        (("-C", place.share), other[:1])):
        for word, option in some:
            refused(place, "up", word, *words,
                    part="sandbox share: already exists without this %s; leave "
                    "the option out to start it again, remove it with "
                    "'stepback rm share', or start another one with "
                    "'stepback up NAME'\n" % option)
    for words in (own, ("-C", place.share), ("share", "--memory=300")):
        equal((words, good(place, "up", *words)), (words, "share\n"))
        good(place, "stop")
    equal(up(place, "another", "--memory=400"), "another")
    good(place, "stop", "another")
    refused(place, "up", "--memory=400", part="several sandboxes have this "
            "folder; name one of another and share, or a new one")
    # One of more folders is another one.
    folder = os.path.join(place.root, "more")
    os.mkdir(folder)
    equal(up(place, "-C", place.share, "-C", folder), "share-2")
    code, out, _ = call(place, "up", "-C", folder, "-C", place.share)
    equal((code, out), (0, "share-2\n"))


@sandbox_test
def which(place):
    """without a name, a verb means the sandbox of the current folder, and lists
    what there is if it is none or several"""
    refused(place, "stop", part="start one with 'stepback up'")
    a, b = (os.path.join(place.root, name) for name in "ab")
    os.makedirs(a + "/deep/er")
    os.makedirs(b)
    up(place, "-C", a, "-C", b)
    up(place, "one", "-C", place.share)
    equal(json.loads(good(place, "inspect", cwd=a + "/deep/er"))["name"], "a")
    equal(json.loads(good(place, "inspect", cwd=b))["name"], "a")
    refused(place, "stop", part="name one of a and one", cwd=place.root)
    up(place, "two", "-C", a + "/deep")
    refused(place, "stop", part="several sandboxes have this folder; name one "
                                "of a and two", cwd=a + "/deep/er")
    refused(place, "stop", "nope", part="sandbox nope: not found")
    refused(place, "logs", "../a", part="sandbox name '../a': must begin")
    equal(good(place, "stop", "--all"), "a\none\ntwo\n")
    equal({entry["status"] for entry in listed(place).values()}, {"stopped"})


@sandbox_test
def inspecting(place):
    """inspect shows the configuration and the live session; stats counts the
    processes; logs prints the log and the console"""
    up(place, "--memory=256", "--no-network")
    facts = json.loads(good(place, "inspect"))
    equal(facts["config"]["vm"]["memory_mb"], 256)
    equal(facts["config"]["network_policy"], "disabled")
    equal(facts["live"]["session"]["state"], "running")
    equal(facts["live"]["pid"], pid_of(place, "share"))
    stats = json.loads(good(place, "stats", "--json"))
    equal([entry["name"] for entry in stats], ["share"])
    equal(stats[0]["processes"] >= 3 and stats[0]["memory_bytes"] > 1 << 20,
          True)
    contains(good(place, "stats", "share"), "MiB")
    contains(good(place, "logs"), "session: the guest is up")
    for line in good(place, "logs", "--json").splitlines():
        json.loads(line)
    good(place, "logs", "--console")
    good(place, "stop")
    equal("live" in json.loads(good(place, "inspect", "share")), False)


@sandbox_test
def completion(place):
    """the completion for bash offers the names of sandboxes"""
    script = os.path.abspath(os.path.join(SRCDIR,
                                          "contrib/completion/stepback.bash"))
    os.makedirs(place.root + "/web-two")
    up(place, "web-one")
    up(place, "-C", place.root + "/web-two")
    good(place, "stop", "web-one")
    for verb, found in (("stop", "web-two"), ("rm", "web-one web-two")):
        done = subprocess.run(
            ["bash", "-c", '. "$0"; COMP_WORDS=("$1" "$2" web); COMP_CWORD=2; '
             '_stepback "$1" web "$2"; echo "${COMPREPLY[*]}"', script,
             PROGRAM, verb], env=place.environment(), capture_output=True,
            timeout=20)
        equal(done.stdout.decode().strip(), found)


@sandbox_test
def odd_folder(place):
    """a folder whose path is not UTF-8 can have a sandbox"""
    folder = os.fsencode(place.root) + b"/\xff\xfe"
    os.mkdir(folder)
    equal(up(place, "-C", folder), "sandbox")
    equal(call(place, "run", "--", "exit 5", cwd=folder)[0], 5)
    contains(good(place, "ps"), "running")
    good(place, "stop", cwd=folder)
    equal(good(place, "up", cwd=folder), "sandbox\n")


@sandbox_test
def configuration(place):
    """the configuration that is kept is the one that was asked for, and a
    session.start"""
    folders = [os.path.join(place.root, name) for name in ("a", "b")]
    for folder in folders:
        os.mkdir(folder)
    up(place, "-C", folders[0], "-C", folders[1], "--memory=300",
       "--network=10.0.0.0/8,dns", "--allow-suid", "--allow-devices",
       "--host-ids", "--force-share", "--undo-dir", place.root + "/log")
    config = json.loads(good(place, "inspect", "a"))["config"]
    equal([entry["path"] for entry in config["working_directories"]], folders)
    equal(config["working_directories"][0]["undo_dir"], place.root + "/log")
    equal(config["vm"]["memory_mb"], 300)
    equal(config["network_policy"], {"allow": ["10.0.0.0/8"], "dns": True})
    for flag in ("allow_suid", "allow_devices", "host_ids", "force_share"):
        equal((flag, config[flag]), (flag, True))
    good(place, "stop", "a")
    agent = Agent(place)
    equal(agent.start(**config)["status"], "ok")
    answer = agent.ask("session.status")["payload"]
    for entry, kept in zip(answer["working_directories"],
                           config["working_directories"]):
        for member in ("path", "label", "undo_dir", "access"):
            equal((member, entry[member]), (member, kept[member]))
    equal(answer["network_policy"], config["network_policy"])
    equal(agent.error("sandbox.info"), (4001, "this supervisor serves no named "
                                        "sandbox; 'stepback up' starts one"))
    equal(agent.ask("events.subscribe", types=["event.x"])["status"], "ok")
    equal(agent.close(), 0)


@sandbox_test
def following(place):
    """logs -f prints new lines until the sandbox ends"""
    up(place)
    follower = subprocess.Popen([PROGRAM, "logs", "-f"], cwd=place.share,
                                env=place.environment(),
                                stdout=subprocess.PIPE)
    good(place, "run", "--", "echo", "x")
    good(place, "stop")
    out, _ = follower.communicate(timeout=20)
    contains(out.decode(), "request exec.start")
    contains(out.decode(), "the sandbox ends: stopped")


@sandbox_test
def odd_bytes(place):
    """logs prints no control byte of a guest, and a line for each message"""
    up(place)
    odd = "a\x1b[31mred\n2026-01-01 error: forged\x07\x9b\x7f\u202eb\r"
    with open(state(place, "share", "supervisor.log"), "ab") as file:
        file.write(json.dumps({
            "timestamp": "2026-01-01T00:00:00.000000Z", "level": "warn",
            "component": "control", "message": odd}).encode() + b"\n")
        file.write(b"no JSON \x1b]0;title\x07 \xff \xc2\x9b\n")
    with open(state(place, "share", "console.log"), "ab") as file:
        file.write(b"console \x1b[2J\x9b1m \xff\0\r\nnext\n")
    for options in (), ("--console",), ("--json",):
        out = good(place, "logs", "share", *options)
        equal([c for c in out if c not in "\n\x7f" and not c.isprintable()],
              [])
        if options != ("--json",):
            equal([line for line in out.splitlines()
                   if line.startswith("2026-01-01 ")], [])
    lines = good(place, "logs", "share").splitlines()
    equal([line for line in lines if "forged" in line],
          ["2026-01-01T00:00:00.000000Z warn  control: "
           "a?[31mred 2026-01-01 error: forged????b?"])
    contains(good(place, "logs", "share", "--json"), "\\u001b[31mred\\n2026")


@sandbox_test
def failed_start(place):
    """up prints why the supervisor could not start, and leaves nothing"""
    refused(place, "up", *VM, part="QEMU", STEPBACK_FAKE_QEMU="exit")
    equal((listed(place), place.processes(), place.left()), ({}, [], []))


@sandbox_test
def failed_restart(place):
    """a sandbox that does not start again has status error, and its message"""
    up(place)
    good(place, "stop")
    refused(place, "up", part="QEMU", STEPBACK_FAKE_QEMU="exit")
    eventually(lambda: status(place, "share") == "error", 10)
    entry = listed(place)["share"]
    equal((entry["status"], entry["reason"]), ("error", "start_failed"))
    contains(entry["message"], "QEMU")
    equal(good(place, "up"), "share\n")


@sandbox_test
def interrupted_up(place):
    """a sandbox whose up is killed while it starts ends by itself"""
    starter = subprocess.Popen([PROGRAM, "up", *VM], cwd=place.share,
                               env=place.environment(
                                   STEPBACK_FAKE_QEMU="silent"),
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    eventually(lambda: status(place, "share") == "starting" and
               os.path.exists(state(place, "share", "run.json")), 10)
    equal(status(place, "share"), "starting")
    starter.kill()
    starter.wait()
    equal(eventually(lambda: status(place, "share") == "stopped", 20), True)
    # The lock is released a moment before the process has ended.
    assert eventually(lambda: not place.processes(), 5), place.processes()


@sandbox_test
def crashed(place):
    """a sandbox whose supervisor was killed is crashed, all its processes end
    with it, and it can be started again"""
    up(place)
    pids = place.processes()
    equal(len(pids) >= 3, True)
    os.kill(pid_of(place, "share"), signal.SIGKILL)
    equal(ended(place, pids), True)
    equal(status(place, "share"), "crashed")
    equal(call(place, "stop", "share")[0], 0)
    equal(good(place, "up"), "share\n")
    equal(good(place, "run", "--", "echo", "back"), "back\n")


@sandbox_test
def machine_lost(place):
    """a sandbox that loses its machine ends with status error"""
    up(place)
    equal(call(place, "run", "--", "die")[0], 125)
    equal(eventually(lambda: status(place, "share") == "error", 10), True)
    equal(listed(place)["share"]["reason"], "machine_lost")
    equal(eventually(lambda: not place.processes(), 10), True)


@sandbox_test
def stubborn(place):
    """stop kills what does not end in time, kill does so at once"""
    for words in (("stop", "--timeout=1"), ("kill",)):
        up(place, STEPBACK_FAKE_QEMU="stubborn")
        began = time.monotonic()
        good(place, *words)
        equal(time.monotonic() - began < 15, True)
        equal(status(place, "share"), "stopped")
        equal(eventually(lambda: not place.processes(), 10), True)
        good(place, "rm", "share")
    up(place)
    freeze(pid_of(place, "share"))
    good(place, "stop", "--timeout=0")
    entry = listed(place)["share"]
    equal((entry["status"], entry["reason"]), ("stopped", "killed"))
    equal(eventually(lambda: not place.processes(), 10), True)


@sandbox_test
def idle(place):
    """a sandbox ends when no client and no command was there for the idle
    timeout"""
    up(place, "--idle-timeout=2")
    client = Client(place, "share")
    time.sleep(4)
    equal(status(place, "share"), "running")
    client.ask("exec.start", command="hang", detach=True, timeout_seconds=4)
    client.close()
    time.sleep(3)
    equal(status(place, "share"), "running")
    equal(eventually(lambda: status(place, "share") == "stopped", 10), True)
    equal(listed(place)["share"]["reason"], "idle")
    equal(eventually(lambda: not place.processes(), 10), True)


@sandbox_test
def observed(place):
    """clients that only look at figures, as stats does, do not keep an idle
    sandbox running"""
    up(place, "--idle-timeout=2")
    looking = Client(place, "share")

    def ended():
        try:
            for request in "network.status", "sandbox.info":
                looking.ask(request)
        except (OSError, AssertionError):
            pass
        return status(place, "share") == "stopped"
    equal(eventually(ended, 20), True)
    equal(listed(place)["share"]["reason"], "idle")


@sandbox_test
def used_briefly(place):
    """requests of clients that soon disconnect keep a sandbox running"""
    up(place, "--idle-timeout=2")
    end = time.monotonic() + 6
    while time.monotonic() < end:
        client = Client(place, "share")
        equal(client.ask("session.status")["status"], "ok")
        client.close()
        time.sleep(0.3)
    equal(status(place, "share"), "running")


@sandbox_test
def pruning(place):
    """prune removes what does not run and what killed processes left, and asks
    first"""
    up(place)
    os.mkdir(place.root + "/kept")
    up(place, "kept", "-C", place.root + "/kept")
    os.kill(pid_of(place, "share"), signal.SIGKILL)
    base = os.path.dirname(state(place, "share").rstrip("/"))
    for name in (".new-123456", ".old-123456"):
        os.mkdir(os.path.join(base, name), 0o700)
        with open(os.path.join(base, name, "config.json.new"), "w"):
            pass
    eventually(lambda: status(place, "share") == "crashed", 10)
    left = sorted(os.listdir(base))
    refused(place, "prune", part="add --force", status=2)
    equal(good(place, "prune", "-n"), "Sandboxes that do not run: share\n")
    with Terminal([PROGRAM, "prune"], place.environment(), cwd=place.share) as terminal:
        terminal.expect("\\[y/N\\] ")
        terminal.send("n\r")
        equal(terminal.wait(), 1)
    equal(sorted(os.listdir(base)), left)
    equal(good(place, "prune", "-f"), "share\n")
    equal(sorted(os.listdir(base)), ["kept"])
    equal(list(listed(place)), ["kept"])
    good(place, "rm", "-f", "kept")
    equal((place.processes(), place.left()), ([], []))


main()
