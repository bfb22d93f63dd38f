# SPDX-License-Identifier: Apache-2.0
"""`stepback cp` of a large file and of a tree, both ways, and other ways to do that.

    in, out  host to guest and back; the tree that comes back must equal the first
    cp    `stepback cp`, which keeps times to the nanosecond, and holes
    tar   `tar | base64` over `stepback exec`
    virtiofs, 9p  the guest's `cp -a` from and to the shared folder (VM only)

On the host the real shim plays the guest (bench/quick-guest.c), so that the ways are
compared without a virtual machine's costs. In the emulated VM sizes are smaller."""

import os
import re
import shutil
import subprocess
import time

from exec_case import make_bytes
from measure import Result, engine, in_turn, settle
from sandbox import Sandbox


def make_file(settings, path, size):
    os.makedirs(path)
    make_bytes(path + "/large", size)


def make_tree(settings, path, files):
    engine(settings, "tree", path, files, 4096, 100)


def snapshot(settings, path, exact):
    """Return the tree's names, contents and attributes; not exact: without times
    and the holes of files."""
    program = os.path.join(settings.build, "tests/lib/tree-snapshot")
    tree = subprocess.run([program, path], check=True,
                          stdout=subprocess.PIPE).stdout
    return tree if exact else re.sub(rb" \d+\.\d{9}( \d+ map:\S+)?", b"", tree)


class Way:
    """A way to move a folder into a guest, and out of it. where: a folder of the
    guest; share: the guest's path of the shared folder. exact: it keeps times to
    the nanosecond, and holes."""
    exact = False

    def __init__(self, box, where, share):
        self.box, self.where, self.share = box, where, share

    def prepare(self, source):
        """Return where on the host the tree must be."""
        return source


class Cp(Way):
    exact = True

    def inwards(self, source):
        self.box.run("cp", source, "share:" + self.where + "/tree")

    def outwards(self, target):
        self.box.run("cp", "share:" + self.where + "/tree", target)


class Tar(Way):
    def inwards(self, source):
        tar = subprocess.Popen("tar c -C '%s' . | base64" % source, shell=True,
                               stdout=subprocess.PIPE)
        self.box.exec("sh", "-c", "mkdir '%s/tree' && base64 -d | "
                      "tar x -C '%s/tree'" % (self.where, self.where),
                      options=["-i"], stdin=tar.stdout)
        tar.wait()

    def outwards(self, target):
        os.mkdir(target)
        tar = self.box.start(*self.box.exec_words(
            "sh", "-c", "tar c -C '%s/tree' . | base64" % self.where),
            stdout=subprocess.PIPE)
        subprocess.run("base64 -d | tar x -C '%s'" % target, shell=True,
                       check=True, stdin=tar.stdout)
        if tar.wait() != 0:
            raise RuntimeError("tar over exec failed")


class Share(Way):
    def prepare(self, source):
        return shutil.copytree(source, self.box.share + "/source")

    def inwards(self, source):
        self.box.exec("cp", "-a", self.share + "/source", self.where + "/tree")

    def outwards(self, target):
        self.box.exec("cp", "-a", self.where + "/tree", self.share + "/target")
        os.rename(self.box.share + "/target", target)


def timed(function, *arguments):
    settle()
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def measure(settings, way, make, count, vm=False, options=()):
    """Move a tree in and out. Return both times."""
    box = Sandbox(settings, vm, options)
    source, target = box.base + "/source", box.base + "/target"
    where = "/tmp" if vm else box.base + "/guest"
    try:
        if not vm:
            os.mkdir(where)
        make(settings, source, count)
        mover = way(box, where, "/mnt/working")
        prepared = mover.prepare(source)
        numbers = {"in": timed(mover.inwards, prepared),
                   "out": timed(mover.outwards, target)}
        if snapshot(settings, source, way.exact) != \
                snapshot(settings, target, way.exact):
            raise RuntimeError("the tree that came back differs")
        return numbers
    finally:
        box.stop()


def compare(settings, result, place, ways, sizes, rounds):
    """Measure each way with a file and with a tree of these sizes."""
    vm = place == "vm"
    for unit, make, size in (("file", make_file, sizes[0]),
                             ("tree", make_tree, sizes[1])):
        in_turn(result, {
            f"{place} {label} {unit}": lambda way=way, options=options: measure(
                settings, way, make, size, vm, options)
            for label, (way, options) in ways.items()}, rounds)
        for label in list(ways)[1:]:
            for way in ("in", "out"):
                result.ratio(f"{place} cp {unit}", way,
                             f"{place} {label} {unit}")


def case_copy(settings):
    result = Result("copy", "a file (1 GiB over the shim on the host, 16 MiB in "
                    "an emulated VM), and a tree of 10,000 files of 4 KiB (1,000)")
    ways = {"cp": (Cp, ()), "tar": (Tar, ())}
    compare(settings, result, "host", ways,
            (settings.scaled(1 << 30), settings.scaled(10000)),
            min(settings.rounds, 3))
    if not settings.quick:
        ways["virtiofs"] = (Share, ("--backend=virtiofs",))
        ways["9p"] = (Share, ("--backend=9p",))
        compare(settings, result, "vm", ways, (16 << 20, 1000), 1)
    return result
