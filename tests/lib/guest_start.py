# SPDX-License-Identifier: Apache-2.0
"""How tests of virtual machines start them: by boot, or from a template.

STEPBACK_TEST_START is "boot" or "template", for all machines. Without it those
continue from a template whose shape other starts have, too; a template that only
one start uses would cost more than a boot.
"""
import fcntl
import functools
import json
import os
import shutil
import subprocess

from stdio_client import PROGRAM, descendants, words_of

WAY = os.environ.get("STEPBACK_TEST_START", "")
MEMORY = 1024  # MiB, a session's default

assert WAY in ("", "boot", "template"), "STEPBACK_TEST_START=%s" % WAY


@functools.cache
def accelerator():
    """What "auto" stands for on this host; doctor also fails for other reasons."""
    out = subprocess.run([PROGRAM, "doctor", "--json"], stdout=subprocess.PIPE).stdout
    return next("kvm" if check["status"] == "ok" else "tcg"
                for check in json.loads(out)["checks"] if check["name"] == "KVM")


def plan(env, image, backend="virtiofs", network=True, alone=False, memory=0,
         cpus=0, keeps_disk=False, wrapper=()):
    """The "vm" of session.start; env is the agent's environment. The template is
    made if there is none. alone: no other start has this shape; wrapper: the
    command that runs the agent."""
    template = WAY == "template" or (WAY != "boot" and not alone)
    if template:
        make(env, image, wrapper, str(memory or MEMORY), str(cpus), backend,
             str(int(network)), str(int(keeps_disk)))
    numbers = {"memory_mb": memory, "cpus": cpus}
    return {"image": image, "boot_timeout_seconds": 300, "template": template,
            "pool": False, **{name: numbers[name] for name in numbers
                              if numbers[name]}}


def make(env, image, wrapper, *shape):
    """One process at a time makes templates: the next one finds its own."""
    folder = os.path.join(env.get("XDG_CACHE_HOME") or
                          os.path.expanduser("~/.cache"), "stepback/guest")
    files = os.path.join(folder, image)
    with open(files + "/image.json") as file:
        append = json.load(file)["append"]
    disk = files + "/rootfs.ext4"
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [*wrapper, PROGRAM, "make-template", shutil.which("qemu-system-x86_64"),
             files + "/vmlinuz", files + "/initrd",
             disk if os.path.exists(disk) else "", append, accelerator(),
             *shape],
            stderr=subprocess.PIPE, text=True, env=env)
    finally:
        os.close(lock)
    assert done.returncode == 0, done.stderr


def check(pid, vm):
    """The machine of this process has started as planned."""
    qemus = [words for words in map(words_of, descendants(pid))
             if b"-nodefaults" in words]
    assert len(qemus) == 1, qemus
    assert (b"-incoming" in qemus[0]) == vm["template"], \
        "the machine did not start from its template: %s" % qemus[0]
