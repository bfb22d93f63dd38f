#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits of local sandboxes, exhausted on a kernel whose cgroups of version 2 have
all controllers: that of the guest image. One boot of it, without a disk: its root
is the programs of this build with their libraries, and the image's busybox.
local_limits.sh has the cases. It is skipped without QEMU or an image."""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import without_script  # noqa: E402
from stdio_client import SRCDIR, Skip, main, test  # noqa: E402

IMAGE = os.environ.get("STEPBACK_TEST_MINIMAL", "minimal")
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
QEMU = shutil.which("qemu-system-x86_64")
BWRAP = shutil.which("bwrap", path="/usr/bin:/bin")
LIMIT_S = 400

# Leaves the initramfs, which no process can pivot away from.
INIT = """#!/bin/sh
mkdir -p /proc /sys /dev /new
mount -t proc proc /proc
mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
mount -t tmpfs -o size=600m root /new
cp -a /limits/. /new
cp -a /bin /new
cd /new
mkdir -p proc sys dev tmp run root home/user state var usr/sbin sbin
mount -t proc proc proc
mount -t sysfs sys sys
mount -t devtmpfs dev dev
mkdir -p dev/pts dev/shm
mount -t devpts pts dev/pts
mount -t cgroup2 groups sys/fs/cgroup
chmod 1777 tmp
chown 1234 home/user
chmod 666 dev/fuse
exec switch_root /new /bin/sh -c 'ip link set lo up; sh /local_limits.sh; poweroff -f'
"""


def libraries(program, env):
    """The libraries of a program, and the dynamic linker, as they are found here."""
    out = subprocess.run(["ldd", program], env=dict(os.environ, **env),
                         capture_output=True, text=True).stdout
    return re.findall(r"(?:=> )?(/\S+) \(0x", out.replace("\\\\", "\\\\\\\\"))


def put(root, source, name):
    target = root + "/limits" + name
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(source, target)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)


def make_root(root):
    programs = {"/usr/bin/bwrap": (BWRAP, {})}
    programs["/usr/bin/stepback"] = without_script("stepback")
    for name in ("stepback-virtiofsd", "stepback-local", "stepback-shim"):
        programs["/libexec/" + name] = without_script(name)
    for name, (program, env) in programs.items():
        put(root, program, name)
        for library in libraries(program, env):
            folder = "/lib64/" if "/ld-linux" in library else "/lib/x86_64-linux-gnu/"
            put(root, library, folder + os.path.basename(library))
    put(root, SRCDIR + "/tests/vm/local_limits.sh", "/local_limits.sh")
    write(root + "/limits/etc/passwd", "root:x:0:0::/root:/bin/sh\n"
          "user:x:1234:1234::/home/user:/bin/sh\n")
    write(root + "/limits/etc/group", "root:x:0:\nuser:x:1234:\n")
    write(root + "/limits-init", INIT)


def make_initrd(place, initrd):
    """The image's initramfs, with the root appended to it."""
    root, result = place.root + "/root", place.root + "/initrd"
    make_root(root)
    names = subprocess.run(["find", ".", "-mindepth", "1"], cwd=root, check=True,
                           capture_output=True).stdout
    archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root,
                             input=names, capture_output=True, check=True).stdout
    with open(initrd, "rb") as file, open(result, "wb") as out:
        shutil.copyfileobj(file, out)
        out.write(b"\0" * (-out.tell() % 512))
        out.write(archive)
    return result


@test
def limits(place):
    """each limit holds, and ends no more than it must"""
    image = os.path.join(CACHE, "stepback/guest", IMAGE)
    if not (QEMU and BWRAP and shutil.which("cpio") and
            os.path.exists(image + "/vmlinuz")):
        raise Skip("there is no QEMU, no bubblewrap, no cpio or no guest image")
    initrd = make_initrd(place, image + "/initrd")
    done = subprocess.run(
        [QEMU, "-machine", "pc,accel=tcg", "-cpu", "max", "-m", "1500", "-nodefaults",
         "-no-reboot", "-display", "none", "-serial", "stdio", "-kernel",
         image + "/vmlinuz", "-initrd", initrd, "-append",
         "console=ttyS0 quiet panic=-1 reboot=t no_timer_check mitigations=off "
         "rdinit=/limits-init"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=LIMIT_S)
    text = done.stdout.decode(errors="replace").replace("\r", "")
    lines = text.splitlines()
    assert "finished" in lines, text[-4000:]
    assert not [line for line in lines if line.startswith("not ok")], text[-6000:]
    assert len([line for line in lines if line.startswith("ok ")]) == 14, text


main()
