#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines that continue from a template, over a fake QEMU that saves and loads
states."""
import glob
import json
import os
import re
import signal
import stat
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pool_client import lock_users  # noqa: E402
from stdio_client import (Agent, PROGRAM, Skip, contains,  # noqa: E402
                          descendants, equal, eventually, main, test)

PATIENCE = 20


class Machine:
    """A machine that runs, with its warnings about templates."""

    def __init__(self, place, mode="", wrapper=(), **payload):
        vm = {"accel": "tcg", **payload.pop("vm", {})}
        self.agent = Agent(place, wrapper=wrapper, STEPBACK_FAKE_TEMPLATE=mode)
        answer = self.agent.start(vm=vm, **payload)
        equal(answer["status"], "ok")
        self.notes = [m["payload"]["message"] for m in self.agent.seen
                      if m["type"] == "event.warning" and
                      m["payload"].get("code") == "template"]
        self.qemu = self.agent.command_line()
        self.restored = "-incoming" in self.qemu

    def ask(self, command):
        answer, output = self.agent.execute(command)
        equal(answer["payload"]["exit_code"], 0)
        return output

    def order(self):
        """The messages that the guest has got before this command."""
        return json.loads(self.ask("order"))[:-1]

    def end(self):
        equal(self.agent.close(), 0)
        return self


def templates(place, suffix="template"):
    return sorted(glob.glob(os.path.join(
        place.root, "cache/stepback/guest/.templates/*." + suffix)))


def made(place, count=1):
    """Wait until there are so many templates, and none is being made."""
    equal((eventually(lambda: len(templates(place)) == count and
                      not place.makers(), PATIENCE), len(templates(place))),
          (True, count))
    return templates(place)[-1]


@test
def the_second_machine_continues(place):
    """a machine that has booted leaves a template, from which the next continues"""
    first = Machine(place)
    equal((first.restored, first.notes), (False, []))
    assert "stepback.template" not in first.qemu, first.qemu
    path = made(place)
    first.end()
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
    second = Machine(place)
    equal((second.restored, second.notes), (True, []))
    contains(second.qemu, "-device vmgenid,guid=auto")
    equal(second.ask("echo works"), "works\n")
    second.end()
    equal((len(templates(place)), place.makers()), (1, []))


@test
def it_is_renewed_first(place):
    """a machine gets random numbers, an id and the time before its folders"""
    orders, lines = [], []
    for _ in range(3):
        machine = Machine(place)
        made(place)
        orders.append(machine.order())
        lines.append(machine.end().qemu)
    equal([[m["type"] for m in order][:3] for order in orders],
          [["renew", "mount", "watch_ports"], ["hello", "renew", "mount"],
           ["hello", "renew", "mount"]])
    renewals = [order[i] for order, i in zip(orders, (0, 1, 1))]
    for member in ("entropy", "machine_id"):
        equal(len({renewal[member] for renewal in renewals}), 3)
    equal([bool(re.fullmatch("[0-9a-f]{32}", renewal["machine_id"]))
           for renewal in renewals], [True] * 3)
    # The card of a machine that has booted has its address already.
    macs = re.findall(r"mac=([0-9a-f:]+)", lines[0])
    macs += [renewal["network"]["mac"] for renewal in renewals[1:]]
    equal((len(set(macs)), "network" in renewals[0]), (3, False))


@test
def a_machine_of_another_shape_boots(place):
    """another size, network or backend is another template; nothing is said"""
    Machine(place).end()
    made(place)
    for count, options in enumerate((
            {"vm": {"memory_mb": 256}}, {"network_policy": "disabled"},
            {"backend": "9p"}), 2):
        other = Machine(place, **options).end()
        equal((other.restored, other.notes), (False, []))
        made(place, count)
    closed = Machine(place, network_policy="disabled")
    equal((closed.restored, "network" in closed.order()[1]), (True, False))
    closed.end()
    # An image that was built anew.
    with open(place.image + "/initrd", "w") as file:
        file.write("new")
    equal(Machine(place).end().restored, False)
    made(place, 5)


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x80]))


@test
def a_damaged_template_is_made_again(place):
    """a template that is cut or has a changed bit: the machine boots, with a note"""
    Machine(place).end()
    path = made(place)
    size = os.stat(path).st_size
    for damage in (lambda: flip(path, size - 1), lambda: flip(path, 4096 + 77777),
                   lambda: flip(path, 20), lambda: flip(path, 4000),
                   lambda: os.truncate(path, size - 1),
                   lambda: os.truncate(path, 100), lambda: os.truncate(path, 0),
                   lambda: os.truncate(path, size + 8)):
        before = os.stat(path).st_mtime_ns
        damage()
        machine = Machine(place)
        equal((machine.restored, len(machine.notes)), (False, 1))
        contains(machine.notes[0], "damaged")
        assert eventually(lambda: os.path.exists(path) and
                          os.stat(path).st_mtime_ns > before, PATIENCE)
        made(place)
        machine.end()
    machine = Machine(place).end()
    equal((machine.restored, machine.notes), (True, []))


@test
def a_template_of_another_machine_is_not_used(place):
    """a template of another QEMU in its place: the machine boots, with a note"""
    Machine(place).end()
    path = made(place)
    os.rename(path, place.root + "/kept")
    Machine(place, vm={"memory_mb": 256}).end()
    other = made(place)
    os.rename(place.root + "/kept", other)
    machine = Machine(place, vm={"memory_mb": 256}).end()
    equal((machine.restored, len(machine.notes)), (False, 1))
    contains(machine.notes[0], "damaged")


@test
def a_template_of_others_is_not_used(place):
    """a template that another user could write is no template, and made again"""
    Machine(place).end()
    path = made(place)
    os.chmod(path, 0o620)
    machine = Machine(place).end()
    equal((machine.restored, len(machine.notes)), (False, 1))
    contains(machine.notes[0], "not a file that only you can access; removed it")
    made(place)
    os.unlink(path)
    os.symlink("/dev/zero", path)
    machine = Machine(place).end()
    equal((machine.restored, len(machine.notes)), (False, 1))
    made(place)
    equal(Machine(place).end().restored, True)


@test
def a_failed_restore_boots(place):
    """a template that does not load, answer, renew or mount: boot, and one note"""
    for mode, reason in (("no-load", "load of migration failed"),
                         ("no-answer", "does not answer"),
                         ("no-renew", "no entropy"),
                         ("no-mount", "could not mount")):
        Machine(place).end()
        path = made(place)
        # The short limit is for the guest that says nothing, however busy the
        # host is with the others.
        machine = Machine(place, mode, vm={
            "boot_timeout_seconds": 6 if mode == "no-answer" else 60})
        equal((machine.restored, len(machine.notes)), (False, 1))
        contains(machine.notes[0], reason)
        contains(machine.notes[0], "booting without it")
        equal(machine.ask("echo once"), "once\n")
        equal(len([m for m in machine.order() if m["type"] == "exec"]), 1)
        machine.end()
        # For a while it is neither used nor made.
        machine = Machine(place).end()
        equal((machine.restored, machine.notes, place.makers(),
               templates(place)), (False, [], [], []))
        (failed,) = templates(place, "failed")
        os.utime(failed, (1, 1))
        assert path.startswith(failed.removesuffix("failed"))


@test
def a_failed_save_costs_nothing(place):
    """a machine that cannot be saved runs, and is not saved by each start"""
    for mode in ("no-save", "cut-save"):
        machine = Machine(place, mode)
        equal(machine.ask("echo works"), "works\n")
        assert eventually(lambda: templates(place, "failed") and
                          not place.makers(), PATIENCE)
        machine.end()
        machine = Machine(place, mode).end()
        equal((machine.notes, place.makers(), templates(place),
               templates(place, "draft")), ([], [], [], []))
        os.unlink(templates(place, "failed")[0])


@test
def a_killed_maker_leaves_no_template(place):
    """kill -9 while a template is written: no template, and the next is made"""
    machine = Machine(place, "slow-save")

    def drafts():
        return [path for path in templates(place, "draft")
                if os.stat(path).st_size > 4096]

    assert eventually(drafts, PATIENCE)
    # Others: its QEMU, and the process that removes its files.
    (maker,) = [pid for pid in place.makers() if
                set(place.makers()) & descendants(pid)]
    (draft,) = drafts()
    machine.end()
    # Another start waits for nothing, and makes none beside it.
    Machine(place, "slow-save").end()
    assert eventually(lambda: len(place.makers()) == 3, PATIENCE)
    equal(drafts(), [draft])
    os.kill(maker, signal.SIGKILL)
    # With its QEMU.
    assert eventually(lambda: not place.processes(makers=True), PATIENCE)
    equal(place.sessions(), [])
    equal((templates(place), templates(place, "failed")), ([], []))
    equal(Machine(place).end().restored, False)
    made(place)
    equal(templates(place, "draft"), [])
    assert not os.path.exists(draft)
    equal(Machine(place).end().restored, True)


@test
def two_shapes_are_made(place):
    """a template is made after another one that is being made, also if killed"""
    first = Machine(place, "slow-save")
    assert eventually(lambda: templates(place, "draft"), PATIENCE)
    maker = min(lock_users(place))
    first.end()
    Machine(place, network_policy="disabled").end()
    assert eventually(lambda: len(lock_users(place)) == 2, PATIENCE)
    os.kill(maker, signal.SIGKILL)
    made(place)
    equal(Machine(place, network_policy="disabled").end().restored, True)


@test
def the_supervisor_need_not_live(place):
    """a template is made although the machine has ended, also by kill -9"""
    machine = Machine(place)
    machine.agent.kill()
    made(place)
    equal(Machine(place).end().restored, True)
    assert eventually(lambda: not place.processes(makers=True), PATIENCE)


@test
def a_cache_that_cannot_be_written(place):
    """a cache without room, or that cannot be written: a boot, and one note"""
    folder = place.root + "/cache/stepback/guest/.templates"
    with open(folder, "w"):
        pass
    machine = Machine(place)
    equal((machine.restored, len(machine.notes)), (False, 1))
    contains(machine.notes[0], "no template of the machine can be made")
    equal(machine.ask("echo works"), "works\n")
    machine.end()
    os.unlink(folder)
    os.mkdir(folder)
    wrapper = ["unshare", "-rm", "sh", "-c",
               "mount -t tmpfs -o size=1m none '%s' && exec \"$@\"" % folder,
               "sh"]
    if subprocess.run([*wrapper, "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("cannot mount a small file system")
    machine = Machine(place, wrapper=wrapper)
    equal((machine.restored, len(machine.notes)), (False, 1))
    contains(machine.notes[0], "less than 256 MiB are free")
    machine.end()
    equal((templates(place), place.makers()), ([], []))


@test
def a_template_that_cannot_be_removed(place):
    """a template that fails in a cache that is read-only: boot, once, with a note"""
    Machine(place).end()
    path = made(place)
    folder = os.path.dirname(path)
    wrapper = ["unshare", "-rm", "sh", "-c", "mount --bind '%s' '%s' && "
               "mount -o remount,bind,ro '%s' && exec \"$@\"" % (
                   (folder,) * 3), "sh"]
    if subprocess.run([*wrapper, "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("cannot mount")
    machine = Machine(place, wrapper=wrapper).end()
    equal((machine.restored, machine.notes), (True, []))
    machine = Machine(place, "no-load", wrapper=wrapper)
    contains(machine.notes[0], "load of migration failed")
    equal((machine.restored, len(machine.notes)), (False, 1))
    machine.end()
    flip(path, 5000)
    machine = Machine(place, wrapper=wrapper).end()
    contains(machine.notes[0], "damaged")
    equal(machine.restored, False)


@test
def without_templates(place):
    """"template": false neither uses nor makes one; nor does an older image"""
    equal(Machine(place, vm={"template": False}).end().restored, False)
    Machine(place, None).end()
    equal((templates(place), place.makers()), ([], []))
    Machine(place).end()
    made(place)
    equal(Machine(place, vm={"template": False}).end().restored, False)


@test
def prune_removes_them(place):
    """"image prune" removes templates and drafts, and says how many"""
    Machine(place).end()
    path = made(place)
    for name in ("x.abcdef.draft", "y.failed"):
        with open(os.path.join(os.path.dirname(path), name), "w"):
            pass
    text = subprocess.run([PROGRAM, "image", "prune"],
                          env=place.environment(), check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    equal(text, "removed 1 template, 0.3 MiB\n")
    equal(os.listdir(os.path.dirname(path)), ["lock"])
    equal(Machine(place).end().restored, False)
    made(place)


@test
def templates_are_not_shared(place):
    """the folder of templates cannot be shared: its files are loaded by QEMU"""
    agent = Agent(place)
    os.makedirs(place.root + "/kernel")
    for name in ("vmlinuz", "initrd"):
        open(os.path.join(place.root, "kernel", name), "w").close()
    answer = agent.start(
        working_directories=[{"path": place.root + "/cache"}],
        vm={"accel": "tcg", "kernel": place.root + "/kernel/vmlinuz",
            "initrd": place.root + "/kernel/initrd"})
    contains(answer["error"]["message"], "the folder of templates (")
    equal(agent.close(), 0)
    # Forced: without a template.
    agent = Agent(place, STEPBACK_FAKE_TEMPLATE="")
    for _ in range(2):
        equal(agent.start(
            working_directories=[{"path": place.root + "/cache"}],
            force_share=True)["status"], "ok")
        assert "-incoming" not in agent.command_line()
        equal(agent.ask("session.stop")["status"], "ok")
    equal((agent.close(), place.makers(), templates(place)), (0, [], []))


main()
