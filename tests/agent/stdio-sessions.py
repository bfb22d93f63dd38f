#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How sessions begin and end: disks that stay and disks that do not, and what
is left when something is killed.

Ids such as SL-03 are the test plan's. STEPBACK_SESSION_KILLS says how many
sessions are killed at random times (default: 25; 100 before a release).
"""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (Agent, PROGRAM, Skip, contains, equal,  # noqa: E402
                          eventually, main, test)

KILLS = int(os.environ.get("STEPBACK_SESSION_KILLS", "25"))


def disks(place):
    return glob.glob(place.root + "/state/stepback/vm/*/disk.qcow2")


def with_disk(place):
    """An image that has a root disk."""
    if not shutil.which("qemu-img"):
        raise Skip("there is no qemu-img")
    with open(place.image + "/rootfs.ext4", "wb") as file:
        file.truncate(1 << 20)
    return Agent(place)


def described(disk):
    return json.loads(subprocess.run(
        ["qemu-img", "info", "--output=json", disk], check=True,
        stdout=subprocess.PIPE).stdout)


@test
def a_persistent_disk_stays(place):
    """SL-03: persistent: a qcow2 disk over the image's, which is kept"""
    agent = with_disk(place)
    started = agent.start(vm_mode="persistent")["payload"]
    disk, = disks(place)
    equal((started["vm_mode"], started["disk"]), ("persistent", disk))
    contains(agent.command_line(), "format=qcow2,discard=unmap,file=" + disk)
    contains(agent.command_line(), "stepback.root=rw")
    info = described(disk)
    equal((info["format"], info["backing-filename"]),
          ("qcow2", os.path.dirname(disk) + "/base.ext4"))
    contains(agent.command_line(), "backing.file.filename=%s/base.ext4" %
             os.path.dirname(disk))
    made = os.stat(disk).st_ino
    agent.ask("session.stop")
    equal(disks(place), [disk])
    agent.start(vm_mode="persistent")
    equal(os.stat(disk).st_ino, made)
    # The second session gets an error.
    other = Agent(place)
    equal(other.start(vm_mode="persistent", working_directories=[
        {"path": place.share, "undo_dir": place.root + "/log"}])["error"]
        ["number"], 6000)
    equal(other.close(), 0)
    equal(agent.close(), 0)
    equal(disks(place), [disk])


@test
def a_disk_that_fails_leaves_nothing(place):
    """SL-03: qemu-img that fails half way, as on a full disk: 2003, no file"""
    tools = place.root + "/tools"
    os.makedirs(tools)
    with open(tools + "/qemu-img", "w") as file:
        file.write('#!/bin/sh\nfor word; do last=$word; done\n'
                   'echo half >"$last"\necho "No space left" >&2\nexit 1\n')
    os.chmod(tools + "/qemu-img", 0o755)
    open(place.image + "/rootfs.ext4", "w").close()
    agent = Agent(place, STEPBACK_PROGRAM_PATH=tools + ":/usr/bin:/bin")
    number, message = agent.error(
        "session.start", vm_mode="persistent",
        working_directories=[{"path": place.share}])
    equal(number, 2003)
    contains(message, "No space left")
    equal(glob.glob(place.root + "/state/stepback/vm/*/disk*"), [])
    equal(agent.close(), 0)


@test
def a_disk_of_another_user_is_refused(place):
    """a machine's disk that another user can change is not used"""
    agent = with_disk(place)
    agent.start(vm_mode="persistent")
    disk, = disks(place)
    agent.ask("session.stop")
    folder = os.path.dirname(disk)
    for mode, owner in ((0o777, -1), (0o700, 65534)):
        if owner >= 0 and os.geteuid() != 0:
            continue
        os.chmod(folder, mode)
        os.chown(folder, owner, -1)
        error = agent.start(vm_mode="persistent")["error"]
        equal(error["number"], 2003)
        contains(error["message"], "another user can write to it")
    equal(agent.close(), 0)


@test
def an_ephemeral_machine_keeps_nothing(place):
    """SL-04: ephemeral: there is no disk that could be left"""
    agent = with_disk(place)
    started = agent.start(vm_mode="ephemeral")["payload"]
    equal((started["vm_mode"], started["disk"]), ("ephemeral", None))
    contains(agent.command_line(), "read-only=on")
    agent.ask("session.stop")
    equal(disks(place), [])
    equal(place.sessions(), [])
    equal(agent.close(), 0)


@test
def reset_begins_anew(place):
    """SL-05: session.reset: a new disk, and the session runs again as it was"""
    agent = with_disk(place)
    agent.start(vm_mode="persistent")
    disk, = disks(place)
    made = os.stat(disk).st_ino
    os.link(disk, place.root + "/keeps-its-number")
    again = agent.ask("session.reset")["payload"]
    equal((again["state"], again["disk"]), ("running", disk))
    assert os.stat(disk).st_ino != made
    equal(agent.ask("agent.execute", command="exit 0")["payload"]["exit_code"],
          0)
    agent.send("agent.execute", command="sleep")
    agent.event("event.step_started")
    equal(agent.ask("session.reset")["payload"]["state"], "running")
    agent.ask("session.stop")
    # The base is changed: the disk is of no use, and reset says so.
    os.utime(place.image + "/rootfs.ext4", (1, 1))
    error = agent.start(vm_mode="persistent")["error"]
    equal(error["number"], 2003)
    contains(error["message"], "session.reset")
    answer = agent.ask("session.reset", vm_mode="persistent", vm={
        "accel": "tcg"}, working_directories=[{"path": place.share}])
    equal(answer["payload"]["state"], "running")
    equal(agent.close(), 0)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def rebuild(place, text):
    """Replace the image's root disk as a build does."""
    with open(place.image + "/rootfs.new", "wb") as file:
        file.write(text.ljust(1 << 20))
    os.rename(place.image + "/rootfs.new", place.image + "/rootfs.ext4")


@test
def a_disk_outlives_its_image(place):
    """a disk keeps the root disk that it was made of, whatever replaces or
    removes the image's; a new disk takes the new one"""
    agent = with_disk(place)
    rebuild(place, b"one")
    agent.start(vm_mode="persistent")
    disk, = disks(place)
    made, base = os.stat(disk).st_ino, os.path.dirname(disk) + "/base.ext4"
    agent.ask("session.stop")
    for text in (b"two", b"three"):
        rebuild(place, text)
        equal(agent.start(vm_mode="persistent")["payload"]["disk"], disk)
        equal((os.stat(disk).st_ino, content(base)[:4]), (made, b"one "))
        agent.ask("session.stop")
    # Killed as a new disk was made: the base is that of an older build.
    os.unlink(disk)
    agent.start(vm_mode="persistent")
    equal(content(base)[:5], b"three")
    rebuild(place, b"four")
    agent.ask("session.reset")
    equal(content(base)[:4], b"four")
    agent.ask("session.stop")
    os.unlink(base)
    rebuild(place, b"five")
    contains(agent.start(vm_mode="persistent")["error"]["message"],
             "was made for another build")
    equal(agent.close(), 0)


@test
def a_disk_of_an_older_version(place):
    """a disk over the image's own root disk gets a base when it is used, before
    the image is built again, and before that is removed"""
    agent = with_disk(place)
    agent.start(vm_mode="persistent")
    disk, = disks(place)
    base = os.path.dirname(disk) + "/base.ext4"
    agent.ask("session.stop")

    def run(*words):
        done = subprocess.run([PROGRAM, "image", *words], env=place.environment(),
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    os.unlink(base)
    agent.start(vm_mode="persistent")
    equal(os.path.exists(base), True)
    os.unlink(base)  # in use
    contains(run("build", "--shim=/nonexistent")[1], "not an executable")
    equal(os.path.exists(base), True)
    contains(run("rm", "minimal")[1], "1 disk of --persist needs it (1 in use)")
    agent.ask("session.stop")
    os.unlink(base)
    equal(run("rm", "--force", "minimal"), (0, ""))
    equal(len(content(base)), 1 << 20)
    equal(os.listdir(os.path.dirname(base)).count("base.ext4.new"), 0)
    equal(agent.close(), 0)


@test
def a_disk_on_another_file_system(place):
    """the base of a disk is a copy, with its holes, if it cannot be a link"""
    agent = with_disk(place)
    other = tempfile.mkdtemp(dir="/dev/shm")
    try:
        if os.stat(other).st_dev == os.stat(place.root).st_dev:
            raise Skip("there is no other file system")
        rebuild(place, b"one")
        with open(place.image + "/rootfs.ext4", "r+b") as file:
            file.truncate(64 << 20)
            file.seek(33 << 20)
            file.write(b"two")
        original = os.stat(place.image + "/rootfs.ext4")
        agent.env["XDG_STATE_HOME"] = other
        agent.close()
        agent = Agent(place, XDG_STATE_HOME=other)
        for _ in range(2):
            equal(agent.start(vm_mode="persistent")["payload"]["state"], "running")
            base, = glob.glob(other + "/stepback/vm/*/base.ext4")
            copied = os.stat(base)
            equal((copied.st_mtime_ns, copied.st_size, copied.st_nlink),
                  (original.st_mtime_ns, original.st_size, 1))
            assert copied.st_blocks * 512 < 8 << 20, copied
            assert content(base) == content(place.image + "/rootfs.ext4")
            agent.ask("session.stop")
        equal(agent.close(), 0)
    finally:
        shutil.rmtree(other)


@test
def a_lost_session_is_reset(place):
    """SL-05: session.reset leaves the state error, too"""
    agent = Agent(place)
    agent.start()
    agent.send("agent.execute", command="die")
    equal(agent.event("event.error")["number"], 2005)
    equal(agent.ask("session.status")["payload"]["state"], "error")
    equal(agent.ask("session.reset")["payload"]["state"], "running")
    equal(agent.close(), 0)
    equal(place.sessions(), [])


@test
def a_dropped_channel_is_told(place):
    """SL-07: the shim's port is closed: 2005, and session.stop leads out"""
    agent = Agent(place)
    agent.start()
    id = agent.send("agent.execute", command="hang-up")
    equal(agent.event("event.error")["number"], 2005)
    equal(agent.response(id)["error"]["number"], 2005)
    equal(agent.ask("session.status")["payload"]["state"], "error")
    equal(agent.ask("session.stop")["payload"], {"state": "stopped"})
    equal((agent.children(), place.sessions()), ([], []))
    equal(agent.close(), 0)


@test
def kills_leave_nothing(place):
    """SL-08: sessions killed (SIGKILL) at any time leave no process or file"""
    chance = random.Random(1)
    killed_running = 0
    begin = time.monotonic()
    agent = Agent(place)
    agent.start()
    longest = 0.3 + 1.5 * (time.monotonic() - begin)
    equal(agent.close(), 0)
    for number in range(KILLS):
        agent = Agent(place)
        agent.send("session.start", vm={"accel": "tcg"},
                   working_directories=[{"path": place.share}])
        agent.send("agent.execute", command="sleep")
        time.sleep(chance.uniform(0, longest))
        killed_running += len(agent.children()) == 3
        agent.kill()
    assert killed_running > 0
    assert eventually(lambda: not place.processes(), 5), place.processes()
    assert eventually(lambda: place.left() == [], 5), place.left()
    equal(place.sessions(), [])
    agent = Agent(place)
    equal(agent.start()["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def any_child_may_be_killed(place):
    """SL-08: whichever child is killed, and when: the session can be stopped"""
    chance = random.Random(2)
    agent = Agent(place)
    for number in range(6):
        id = agent.send("session.start", vm={"accel": "tcg"},
                        working_directories=[{"path": place.share}])
        time.sleep(chance.uniform(0, 0.3))
        for pid in agent.children()[number % 2:number % 2 + 1]:
            os.kill(pid, signal.SIGKILL)
        answer = agent.response(id)
        if answer["status"] == "ok":
            # It was killed late, or not at all.
            eventually(lambda: agent.ask("session.status")["payload"]
                       ["state"] == "error", 2)
            agent.ask("session.stop")
        equal(agent.ask("session.status")["payload"]["state"], "stopped")
        equal((agent.children(), place.sessions()), ([], []))
    equal(agent.start()["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def misspelt_fields_are_refused(place):
    """a field that is none is named: with what was meant, more had happened"""
    agent = Agent(place)
    agent.start()
    for wrong, type, payload in (
            ("timeout", "agent.execute", {"command": "exit 0", "timeout": 1}),
            ("timeout", "agent.prompt", {"prompt": "x", "timeout": 1}),
            ("step", "undo.rollback", {"step": 3}),
            ("dry_run", "undo.rollback", {"dry_run": True}),
            ("directry", "undo.redo", {"directry": "share"}),
            ("folder", "undo.preview", {"folder": 0}),
            ("folder", "undo.discard", {"folder": 0}),
            ("count", "undo.history", {"count": 3}),
            ("path", "undo.diff", {"step_id": 1, "path": "x"}),
            ("directory", "safeguard.configure",
             {"directory": "share", "delete_threshold": None}),
            ("id", "safeguard.confirm", {"id": "sg_1_1", "action": "deny"}),
            ("policy", "session.configure_network",
             {"policy": "disabled", "network_policy": "open"}),
            ("force", "session.stop", {"force": True}),
            ("step_id", "agent.cancel", {"step_id": 7}),
            ("folder", "fs.list", {"folder": 0}),
            ("size", "fs.read", {"path": "x", "size": 3})):
        number, text = agent.error(type, **payload)
        equal((type, number), (type, 1004))
        contains(text, "'%s'" % wrong)
    # Beside the payload, too: there a whole payload is left out.
    for type, wrong in (("session.reset", "payloads"),
                        ("agent.cancel", "directory"), ("no.such", "")):
        agent.write(json.dumps({"type": type, "request_id": "w",
                                "payload": {}, wrong: {}}).encode() + b"\n")
        answer = agent.until(lambda m: m.get("request_id") == "w")
        equal((type, answer["error"]["number"]), (type, 1004))
        contains(answer["error"]["message"], "'%s'" % wrong)
    agent.write(b'{"type":"protocol.hello","request_id":"h","new":1,'
                b'"payload":{"protocol_version":1,"new":1}}\n')
    equal(agent.until(lambda m: m.get("request_id") == "h")["status"], "ok")
    equal(agent.ask("session.status")["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def wrong_values_are_refused_before_the_start(place):
    """an invalid number is reported without waiting for a machine"""
    agent = Agent(place)
    for field, given in (
            ("delete_threshold", {"safeguard": {"delete_threshold": "3"}}),
            ("delete_threshold", {"safeguard": {"delete_threshold": -1}}),
            ("overwrite_file_size_threshold",
             {"safeguard": {"overwrite_file_size_threshold": 1.5}}),
            ("rename_over_existing",
             {"safeguard": {"rename_over_existing": "yes"}}),
            ("timeout_seconds", {"safeguard": {"timeout_seconds": 86401}}),
            ("max_step_count", {"undo": {"max_step_count": "x"}}),
            ("max_log_size_bytes", {"undo": {"max_log_size_bytes": -2}}),
            ("durability", {"undo": {"durability": "disk"}}),
            ("maybe",
             {"undo": {"external_modification_policy": "maybe"}})):
        # There is no such image, which would be told next.
        answer = agent.start(vm={"image": "none"}, **given)
        equal((field, answer["error"]["number"]), (field, 1004))
        contains(answer["error"]["message"], "'%s'" % field)
    equal(agent.start(safeguard={"delete_threshold": None,
                                 "overwrite_file_size_threshold": None,
                                 "rename_over_existing": None,
                                 "timeout_seconds": None},
                      undo={"max_step_count": -1, "durability": "power"})
          ["payload"]["state"], "running")
    equal(agent.close(), 0)


@test
def refusals_say_what_helps(place):
    """what cannot be done now says what is to be done first"""
    agent = Agent(place)
    for type, payload in (("agent.execute", {"command": "x"}),
                          ("undo.history", {}), ("fs.list", {}),
                          ("safeguard.configure", {}), ("session.stop", {})):
        number, text = agent.error(type, **payload)
        equal((type, number), (type, 2000))
        contains(text, "session.start")
    contains(agent.error("session.start", working_directories=["/tmp"])[1],
             "'path'")
    started = agent.send("session.start", vm={"accel": "tcg"},
                         working_directories=[{"path": place.share}])
    contains(agent.error("fs.list")[1], "starting")
    equal(agent.response(started)["status"], "ok")
    running = agent.send("agent.execute", command="sleep")
    agent.event("event.step_started")
    number, text = agent.error("agent.execute", command="exit 0")
    equal(number, 6000)
    contains(text, "agent.cancel")
    agent.ask("agent.cancel")
    agent.response(running)
    agent.ask("agent.execute", command="die")
    number, text = agent.error("agent.execute", command="exit 0")
    equal(number, 2000)
    contains(text, "session.stop")
    equal(agent.close(), 0)


main()
