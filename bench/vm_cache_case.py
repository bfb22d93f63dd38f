# SPDX-License-Identifier: Apache-2.0
"""Work on 7,000 paths in two guests, which differ in the daemon's --cache.

    never  the guest asks for each name and attribute again
    lease  it may keep them for 50 ms, or longer (virtiofs/fuse/fuse_lease.h)

Both run at once, on the image 'debian', and work in turn. The times are the guest's."""

import os
import subprocess

from measure import Result, Skipped, fresh_folder, in_turn, settle
from sandbox import CACHE, Sandbox, program

PREPARE = """
mkdir tree repo unpacked
for d in $(seq 1 $((FILES / 20))); do
    mkdir tree/$d
    for f in $(seq 1 20); do echo $d $f > tree/$d/$f; done
done
tar -cf tree.tar tree
git -C repo init -q
cp -r tree repo
git -C repo add .
git -C repo -c user.name=x -c user.email=x@example.org commit -qm all
"""

TASKS = (
    ("find", "find tree"),
    ("find -ls", "find tree -ls"),
    ("status", "git -C repo status --porcelain"),
    ("copy", "cp -r tree copy"),
    ("remove", "rm -rf copy"),
    ("unpack", "tar -xf tree.tar -C unpacked"),
)
TIMED = """
s=$(date +%s%N)
"$@" > /dev/null
e=$(date +%s%N)
echo $((e - s))
"""
WRAPPER = """#!/bin/bash
for word; do
    shift
    case $word in
        --cache=lease) set -- "$@" --cache=never ;;
        --notify-fd=*) ;;
        *) set -- "$@" "$word" ;;
    esac
done
exec '{build}/stepback-virtiofsd' "$@"
"""


def never_folder(settings, path):
    """Make a folder of helper programs whose daemon has --cache=never."""
    os.mkdir(path)
    for name in os.listdir(settings.build):
        if name != "stepback-virtiofsd":
            os.symlink(os.path.join(settings.build, name), f"{path}/{name}")
    with open(path + "/stepback-virtiofsd", "w", encoding="utf-8") as file:
        file.write(WRAPPER.format(build=settings.build))
    os.chmod(path + "/stepback-virtiofsd", 0o755)
    return path


class Guest(Sandbox):
    def __init__(self, settings, base, files, libexec):
        self.base = fresh_folder(base)
        self.share = base + "/share"
        self.folder = []
        self.program, environment = program(settings)
        self.env = dict(os.environ, XDG_STATE_HOME=base + "/state",
                        XDG_RUNTIME_DIR=base + "/run", **environment,
                        STEPBACK_LIBEXECDIR=libexec or never_folder(
                            settings, base + "/libexec"))
        for path in (base + "/run", self.share):
            os.mkdir(path, 0o700)
        subprocess.run(["bash", "-ec", PREPARE.replace("FILES", str(files))],
                       cwd=self.share, check=True)
        self.run("up", "--accel=tcg", "--image=debian", "--no-network")

    def round(self):
        numbers = {}
        for name, command in TASKS:
            settle()
            numbers[name] = int(self.exec(
                "sh", "-c", TIMED, "sh", *command.split(), step="one")) / 1e9
        self.exec("sh", "-c", "rm -rf unpacked/*")
        return numbers


def case_vm_cache(settings):
    result = Result("vm-cache", "work on a folder in a guest, by --cache")
    guests = {}
    files = settings.scaled(6600, 40)
    try:
        if not os.path.exists(CACHE + "/stepback/guest/debian/image.json"):
            raise Skipped("there is no guest image 'debian'")
        for name, libexec in (("never", None), ("lease", settings.build)):
            guests[name] = Guest(settings, f"{settings.work}/vm-{name}", files,
                                 libexec)
        in_turn(result, {name: guest.round for name, guest in guests.items()},
                settings.rounds)
    except Skipped as reason:
        result.skipped["lease"] = str(reason)
        return result
    finally:
        for guest in guests.values():
            guest.stop()
    for name, _ in TASKS:
        result.ratio("never", name, "lease")
    return result
