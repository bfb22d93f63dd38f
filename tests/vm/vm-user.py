#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary user's folder in the guest: the guest's root is that user, as in
a rootless container, and undo is exact. One start for each file server, and one
with the host's owners.
"""
import io
import os
import shutil
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
from stdio_client import SNAPSHOT, Agent, Skip, equal, main, test  # noqa: E402

CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
USER, GROUP, TEAM = 1234, 4321, 777


def archive():
    """What a user 500 packed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, mode in (("packed", 0o644), ("packed-program", 0o755)):
            entry = tarfile.TarInfo(name)
            entry.uid, entry.gid, entry.mode, entry.size = 500, 501, mode, 2
            tar.addfile(entry, io.BytesIO(b"x\n"))
    return out.getvalue()


def fill(place):
    image = os.path.join(CACHE, "stepback/guest/minimal")
    if not (shutil.which("qemu-system-x86_64") and
            os.path.exists(os.path.join(image, "image.json"))):
        raise Skip("there is no QEMU or no image 'minimal'")
    if os.geteuid() != 0:
        raise Skip("needs root to change the user")
    shutil.rmtree(place.image)
    shutil.copytree(image, place.image)
    for name, text in (("mine", b"mine\n"), ("theirs", b"theirs\n"),
                       ("a.tgz", archive())):
        with open(os.path.join(place.share, name), "wb") as file:
            file.write(text)
    subprocess.run(["chown", "-R", "%d:%d" % (USER, GROUP), place.root], check=True)
    os.chown(os.path.join(place.share, "theirs"), 0, 0)
    os.mkdir(os.path.join(place.share, "team"))
    os.chown(os.path.join(place.share, "team"), USER, TEAM)
    os.chmod(os.path.join(place.share, "team"), 0o2775)


def snapshot(place):
    subprocess.run(["sync", "-f", place.share], check=True)
    return subprocess.run([SNAPSHOT, place.share], check=True,
                          stdout=subprocess.PIPE).stdout


def start(place, **config):
    as_user = ("setpriv", "--reuid=%d" % USER, "--regid=%d" % GROUP,
               "--clear-groups")
    agent = Agent(place, wrapper=as_user, STEPBACK_QEMU=None, HOME=place.root)
    # Each test has a cache of its own.
    vm = guest_start.plan(agent.env, "minimal", config.get("backend", "virtiofs"),
                          network=False, alone=True, wrapper=as_user)
    answer = agent.start(network_policy="disabled", vm=vm, **config)
    equal((answer["status"], answer.get("error")), ("ok", None))
    guest_start.check(agent.process.pid, vm)
    return agent


def run(agent, command, output, code=0):
    """The exit code and output of a command in the guest are as given."""
    answer, text = agent.execute(command)
    equal((command, answer["payload"].get("exit_code"), text),
          (command, code, output))


def owners(place):
    found = {}
    for name in os.listdir(place.share):
        st = os.lstat(os.path.join(place.share, name))
        if name != ".stepback":
            found[name] = (st.st_uid, st.st_gid)
    return found


STAT = "stat -c '%n %u:%g %a'"


def is_root(place, backend):
    fill(place)
    agent = start(place, backend=backend)
    before = snapshot(place)
    run(agent, STAT + " . mine theirs",
        ". 0:0 755\nmine 0:0 644\ntheirs 65534:65534 644\n")
    run(agent, "tar xzf a.tgz && chmod 4755 packed-program; " + STAT +
        " packed packed-program",
        "chmod: packed-program: Operation not permitted\n"
        "packed 0:0 644\npacked-program 0:0 755\n")
    run(agent, "cp mine installed && chown root:root installed && chmod 600 installed && "
        "chown 1000:1000 mine && chown nobody installed && mkdir -m 700 d && "
        "chown -R 7:8 d && chgrp 9 d && ln -s x l && chown -h 5:5 l && "
        "mkfifo p && chown 0:0 p && " + STAT + " mine installed d l p",
        "mine 0:0 644\ninstalled 0:0 600\nd 0:0 700\nl 0:0 777\np 0:0 644\n")
    run(agent, "cd team && tar xzf ../a.tgz && chgrp root packed && " + STAT +
        " packed", "packed 0:65534 644\n")
    run(agent, "chmod 0 installed; cat installed; echo more >>installed; "
        "cat installed", "mine\nmine\nmore\n")
    run(agent, "chown 0 theirs 2>&1 || echo refused",
        "chown: theirs: Operation not permitted\nrefused\n")
    mine = (USER, GROUP)
    equal(owners(place), {name: mine for name in (
        "mine", "a.tgz", "packed", "packed-program", "installed", "d", "l", "p")}
        | {"theirs": (0, 0), "team": (USER, TEAM)})
    equal(os.stat(os.path.join(place.share, "team/packed")).st_gid, TEAM)
    answer = agent.ask("undo.rollback", steps=len(
        agent.ask("undo.history")["payload"]["steps"]))
    equal((answer["status"], answer.get("error")), ("ok", None))
    equal(snapshot(place), before)
    equal(agent.close(), 0)


@test
def root_over_virtiofs(place):
    """virtiofs: chown and tar work as in a rootless container"""
    is_root(place, "virtiofs")


@test
def root_over_9p(place):
    """9p: chown and tar work as in a rootless container"""
    is_root(place, "9p")


@test
def owners_of_the_host(place):
    """host_ids: the guest sees the host's owners, and chown is refused"""
    fill(place)
    agent = start(place, host_ids=True)
    run(agent, STAT + " mine theirs", "mine %d:%d 644\n"
        "theirs 65534:65534 644\n" % (USER, GROUP))
    run(agent, "chown 500 mine", "chown: mine: Operation not permitted\n", 1)
    equal(agent.close(), 0)


main()
