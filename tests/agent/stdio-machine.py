#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The machine, its network and the daemons of a session: how they start, fail, get
lost and end, with a fake QEMU.

Ids such as SL-06 are the test plan's.
"""
import os
import re
import signal
import stat
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (Agent, Skip, alive, contains, equal,  # noqa: E402
                          eventually, main, test)


def failed_start(place, wanted, *parts, vm=None, **env):
    agent = Agent(place, **env)
    error = agent.start(vm=dict({"accel": "tcg"}, **(vm or {})))["error"]
    equal(error["number"], wanted)
    for part in parts:
        contains(error["message"], part)
    equal(agent.ask("session.status")["payload"]["state"], "stopped")
    equal(agent.children(), [])
    equal(place.sessions(), [])
    equal(agent.close(), 0)
    return error["message"]


@test
def a_missing_qemu_is_told(place):
    """no QEMU: 2003 and the command that installs it"""
    failed_start(place, 2003, "apt-get install", STEPBACK_QEMU=None,
                 STEPBACK_PROGRAM_PATH=place.root)


@test
def a_failing_qemu_is_told(place):
    """SL-06: QEMU that fails: 2003, its words, and nothing is left"""
    failed_start(place, 2003, "cannot allocate everything", STEPBACK_FAKE_QEMU="exit")


@test
def a_silent_guest_is_told(place):
    """a guest that never says hello: 2004 with the console's end"""
    for seconds in (2, 8, 32):
        message = failed_start(place, 2004, STEPBACK_FAKE_QEMU="silent",
                               vm={"boot_timeout_seconds": seconds})
        if "console" in message:
            break  # else a busy machine had not even begun the fake QEMU
    contains(message, "fake kernel panic")


@test
def an_unfit_guest_is_told(place):
    """a guest of another version, or that cannot mount: 2003"""
    failed_start(place, 2003, "version 0", STEPBACK_FAKE_QEMU="old")
    failed_start(place, 2003, "no such tag", STEPBACK_FAKE_QEMU="nomount")


@test
def a_failing_daemon_is_told(place):
    """a daemon that fails: 2007 with its last words"""
    fake = place.root + "/stepback-virtiofsd"
    with open(fake, "w") as file:
        file.write('#!/bin/sh\necho \'{"level":"error","component":"x",'
                   '"message":"the disk is on fire"}\' >&2\nexit 1\n')
    os.chmod(fake, 0o755)
    failed_start(place, 2007, "the disk is on fire",
                 STEPBACK_LIBEXECDIR=place.root)
    os.unlink(fake)
    failed_start(place, 2007,
                 "stepback-virtiofsd: not in STEPBACK_LIBEXECDIR=" + place.root,
                 STEPBACK_LIBEXECDIR=place.root)


@test
def kvm_that_hangs_is_left(place):
    """KVM on which the guest does not come up is left for TCG, with a warning"""
    agent = Agent(place, STEPBACK_FAKE_QEMU="kvm-silent")
    started = agent.start(vm={"accel": "kvm", "boot_timeout_seconds": 6})
    equal(started["payload"]["accel"], "tcg")
    contains(str([m for m in agent.seen if m["type"] == "event.warning"]),
             "TCG")
    equal(agent.ask("agent.execute", command="exit 0")["payload"]["exit_code"],
          0)
    equal(agent.close(), 0)


@test
def kvm_that_fails_is_told(place):
    """KVM was asked for and QEMU ends: the error names what goes without"""
    agent = Agent(place, STEPBACK_FAKE_QEMU="exit")
    for accel, told in (("kvm", True), ("tcg", False)):
        error = agent.start(vm={"accel": accel})["error"]
        equal(error["number"], 2003)
        contains(error["message"], "cannot allocate everything")
        equal((accel, "auto" in error["message"]), (accel, told))
    equal(agent.close(), 0)


@test
def a_long_runtime_path_is_survived(place):
    """a runtime folder too long for a socket's address is not used"""
    agent = Agent(place)
    equal(agent.start()["payload"]["state"], "running")
    equal(place.sessions(), [])
    equal(agent.close(), 0)


a_long_runtime_path_is_survived.runtime = "r" * 120


@test
def paths_that_are_no_text_are_survived(place):
    """runtime folder, state, working folder not UTF-8: told as none, not lost"""
    bad = os.fsencode(place.root) + b"/\xff"
    os.makedirs(bad + b"/state", 0o700)
    os.makedirs(bad + b"/folder")
    os.symlink(bad + b"/folder", place.root + "/link")
    env = {"XDG_RUNTIME_DIR": os.fsdecode(bad),
           "XDG_STATE_HOME": os.fsdecode(bad + b"/state")}
    agent = Agent(place, **env)
    ready = agent.event("event.ready")
    equal(ready["mcp_socket"].startswith("/tmp/stepback-"), True)
    started = agent.start(working_directories=[{"path": place.root + "/link"}])
    folder, = started["payload"]["working_directories"]
    equal((folder["path"], folder["undo_dir"], folder["label"]),
          (None, None, "folder"))
    equal(agent.ask("fs.status")["status"], "ok")
    equal(sorted(os.listdir(bad)), [b".stepback", b"folder", b"state"])
    equal(agent.close(), 0)
    agent = Agent(place, options=[b"--mcp-socket=" + bad + b"/mcp.sock"])
    equal(agent.event("event.ready")["mcp_socket"], None)
    equal(agent.close(), 0)


@test
def a_runtime_folder_without_room_is_left(place):
    """no inode for the runtime folder's files: another one, and nothing stays"""
    full = place.root + "/full"
    os.mkdir(full, 0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=2,mode=700",
                       "tmpfs", full], stderr=subprocess.DEVNULL).returncode:
        raise Skip("nothing can be mounted")
    try:
        agent = Agent(place, XDG_RUNTIME_DIR=full)
        path = agent.event("event.ready")["mcp_socket"]
        equal(path.startswith("/tmp/stepback-"), True)
        equal(os.listdir(full), [])
        contains("\n".join(agent.log()), "No space left on device")
        equal(agent.close(), 0)
    finally:
        subprocess.run(["umount", "-l", full])


@test
def a_shared_runtime_folder_is_left(place):
    """a runtime folder that the guest would see: another one"""
    inside = place.root + "/shared/deep/run"
    os.makedirs(inside, 0o700)
    agent = Agent(place, XDG_RUNTIME_DIR=inside)
    folders = [{"path": place.root + "/shared"}]
    equal(agent.start(working_directories=folders)["payload"]["state"],
          "running")
    equal([name for name in os.listdir(inside) if "fs0.sock" in
           os.listdir(inside + "/" + name)], [])
    contains("\n".join(agent.log()), "is within a shared folder; using /tmp")
    equal(agent.close(), 0)


def note_of(place, **env):
    """The folder that is used in place of XDG_RUNTIME_DIR, and the note."""
    agent = Agent(place, **env)
    socket = agent.event("event.ready")["mcp_socket"]
    agent.start()
    notes = [m["payload"]["message"] for m in agent.seen
             if m["payload"].get("code") == "runtime_dir"]
    used = re.search(r"path=(\S*)/stepback-\w+/console", agent.command_line())[1]
    equal(agent.close(), 0)
    return used, socket.rpartition("/stepback-")[0], notes


@test
def a_strangers_runtime_folder_is_not_used(place):
    """XDG_RUNTIME_DIR that another user can change: a private folder, and a note"""
    run = place.runtime
    equal(note_of(place), (run, run, []))
    os.symlink(run, place.root + "/link")
    equal(note_of(place, XDG_RUNTIME_DIR=place.root + "/link"), (run, run, []))
    open_place = place.root + "/open"
    os.makedirs(open_place + "/run", 0o700)
    os.chmod(open_place, 0o777)
    cases = [(open_place + "/run", "lies in a folder that another user can "
              "change"), (place.root + "/none", "cannot be opened: No such")]
    for mode in (0o755, 0o777, 0o750, 0o1700):
        path = "%s/mode%o" % (place.root, mode)
        os.mkdir(path)
        os.chmod(path, mode)
        cases.append((path, "has mode %04o, not 0700" % mode))
    if os.geteuid() == 0:
        path = place.root + "/strangers"
        os.makedirs(path + "/run", 0o700)
        os.chown(path, 65534, 65534)
        cases += [(path, "belongs to user 65534, not to user 0"),
                  (path + "/run", "lies in a folder that another")]
    for path, problem in cases:
        used, socket, notes = note_of(place, XDG_RUNTIME_DIR=path)
        equal((path, used, socket), (path, "/tmp", "/tmp"))
        contains(notes[0], "XDG_RUNTIME_DIR: %s %s" % (path, problem))
        contains(notes[0], "; using /tmp")
        if os.path.isdir(path):
            equal([name for name in os.listdir(path)
                   if name.startswith("stepback-")], [])


@test
def the_runtime_folder_is_private(place):
    """the runtime folder is 0700 and goes with the session"""
    agent = Agent(place)
    agent.start()
    name, = place.sessions()
    equal(stat.S_IMODE(os.stat(place.runtime + "/" + name).st_mode), 0o700)
    agent.ask("session.stop")
    equal(place.sessions(), [])
    equal(agent.close(), 0)


@test
def a_lost_machine_is_told(place):
    """SL-07: QEMU or the daemon dies under a command: event.error, state error"""
    agent = Agent(place)
    for name, number in (("qemu", 2005), ("daemon", 2007)):
        agent.start()
        if name == "qemu":
            id = agent.send("agent.execute", command="die")
        else:
            id = agent.send("agent.execute", command="sleep")
            agent.event("event.step_started")
            pid, = (pid for pid in agent.children() if b"--shared-dir" in
                    open("/proc/%d/cmdline" % pid, "rb").read())
            os.kill(pid, signal.SIGKILL)
        equal(agent.event("event.error")["number"], number)
        equal(agent.response(id)["error"]["number"], number)
        equal(agent.ask("session.status")["payload"]["state"], "error")
        equal(agent.error("agent.execute", command="exit 0")[0], 2000)
        equal(agent.ask("session.stop")["payload"], {"state": "stopped"})
        equal(place.sessions(), [])
        equal(agent.children(), [])
    equal(agent.start()["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def every_end_is_clean(place):
    """SL-08: after any end no child and no runtime folder is left"""
    for way in ("eof", signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        agent = Agent(place)
        agent.start()
        agent.send("agent.execute", command="sleep")
        agent.event("event.step_started")
        children = agent.children()
        equal(len(children), 3)  # QEMU, its network and the daemon
        if way != "eof":
            agent.process.send_signal(way)
            agent.process.wait(20)
        equal(agent.close(20), 0)
        equal([pid for pid in children if alive(pid)], [])
        equal(os.listdir(place.runtime), [])


@test
def a_stubborn_qemu_is_killed(place):
    """SL-08: QEMU that does not end is killed after a while"""
    agent = Agent(place, STEPBACK_FAKE_QEMU="stubborn")
    agent.start()
    equal(agent.ask("session.stop")["payload"], {"state": "stopped"})
    equal(agent.children(), [])
    equal(place.sessions(), [])
    equal(agent.close(), 0)


@test
def a_killed_agent_leaves_nothing(place):
    """SL-08: kill -9: in 2 s all is gone; what is left, by the next start"""
    agent = Agent(place, STEPBACK_FAKE_QEMU="stubborn")
    agent.start()
    children = agent.children()
    equal(len(children), 3)  # QEMU, its network and the daemon
    agent.kill()
    assert eventually(lambda: not any(map(alive, children)), 2), children
    assert eventually(lambda: place.sessions() == [], 2)
    stale = place.runtime + "/stepback-a2b3C4"
    os.mkdir(stale, 0o700)
    for name in ("agent.lock", "fs0.sock"):
        open(stale + "/" + name, "w").close()
    agent = Agent(place)
    equal(agent.start()["payload"]["state"], "running")
    equal(os.path.exists(stale), False)
    equal(agent.close(), 0)


@test
def killed_as_its_runtime_folder_appears(place):
    """kill -9 at the moment when the runtime folder appears: it goes away"""
    for _ in range(10):
        agent = Agent(place)
        while agent.process.poll() is None and not os.listdir(place.runtime):
            pass
        agent.kill()
        assert eventually(lambda: os.listdir(place.runtime) == [], 5)


@test
def a_list_is_a_network(place):
    """open and a list have a stream to stepback-net, disabled has no card"""
    wanted = {"allow": ["10.0.0.0/8", "2001:db8::/32"], "dns": True}
    for policy in (None, "open", "disabled", wanted):
        agent = Agent(place)
        fields = {} if policy is None else {"network_policy": policy}
        equal(agent.start(**fields)["payload"]["network_policy"],
              policy or "open")
        found = agent.command_line()
        equal("addr.type=fd" in found, policy != "disabled")
        equal("virtio-net" in found, policy != "disabled")
        equal("host_mtu=16384" in found, policy != "disabled")
        equal("user," in found, False)
        equal(len(agent.children()), 2 if policy == "disabled" else 3)
        answer = agent.ask("session.configure_network", network_policy=wanted)
        if policy == "disabled":
            equal(answer["error"]["number"], 1004)
            contains(answer["error"]["message"], "network card")
        else:
            equal(answer["payload"]["network_policy"], wanted)
            equal(agent.ask("session.status")["payload"]["network_policy"],
                  wanted)
        for bad, part in (({"allow": ["x"]}, "'x'"), ("closed", "must be"),
                          (None, "must be")):
            answer = agent.ask("session.configure_network", network_policy=bad)
            equal(answer["error"]["number"], 1004)
            contains(answer["error"]["message"], part)
        equal(agent.ask("session.configure_network")["error"]["number"], 1003)
        equal(agent.close(), 0)
    agent = Agent(place)
    equal(agent.ask("session.configure_network",
                    network_policy="open")["error"]["number"], 2000)
    equal(agent.close(), 0)


@test
def a_guest_with_too_many_flows_is_a_warning(place):
    """once, with the number; the session goes on"""
    agent = Agent(place)
    agent.start(network_policy={"allow": ["10.0.2.2"]})
    equal(agent.ask("agent.execute", command="datagrams 600")
          ["payload"]["exit_code"], 0)
    warning = agent.first("event.warning")
    equal((warning["code"], warning["kind"], warning["limit"]),
          ("network_limited", "udp", 512))
    equal(warning["count"] >= 1, True)
    contains(warning["message"], "512 UDP flows")
    equal(agent.ask("agent.execute", command="exit 0")["payload"]["exit_code"],
          0)
    equal(agent.close(), 0)


@test
def a_lost_network_is_told(place):
    """stepback-net dies: a warning, and the session goes on"""
    agent = Agent(place)
    agent.start()
    for pid in agent.children():
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            if b"stepback-net" in file.read():
                os.kill(pid, signal.SIGKILL)
    warning = agent.event("event.warning")
    equal(warning["code"], "network_lost")
    contains(warning["message"], "signal 9")
    equal(agent.ask("agent.execute", command="exit 0")["payload"]["exit_code"],
          0)
    contains(agent.ask("session.configure_network", network_policy="open")
             ["error"]["message"], "the guest's network process has ended")
    equal(agent.close(), 0)


main()
