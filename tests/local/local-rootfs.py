#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--rootfs: the system of a guest image in a local sandbox, instead of the host's.
The image is a small one that is made here: a static program as its shell, and
what a system has."""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import LOCAL, call, give, need, run  # noqa: E402
from sandbox_case import sandbox_test  # noqa: E402
from stdio_client import Skip, contains, equal, main  # noqa: E402

DEBUGFS = shutil.which("debugfs", path="/usr/sbin:/sbin:/usr/bin:/bin")
MKFS = shutil.which("mke2fs", path="/usr/sbin:/sbin:/usr/bin:/bin")
ROOTFS = ("--no-network", "--rootfs=small")
FOLDERS = ("usr/bin", "usr/lib", "etc/ssh", "var/lib", "var/tmp", "opt/tool", "root",
           "home", "proc", "sys", "dev", "run", "tmp")


def put(path, text, mode=0o644):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def system(tree):
    """A root file system that has this host's shell, with its libraries."""
    for name in FOLDERS:
        os.makedirs(tree + "/" + name)
    for name in ("bin", "lib"):
        os.symlink("usr/" + name, tree + "/" + name)
    for program in ("sh", "cat", "ls", "id", "stat", "touch"):
        real = shutil.which(program, path="/usr/bin:/bin")
        shutil.copy(real, tree + "/usr/bin/" + program)
        found = subprocess.run(["ldd", real], capture_output=True, text=True).stdout
        for word in found.split():
            if word.startswith("/"):
                os.makedirs(tree + os.path.dirname(word), exist_ok=True)
                shutil.copy(word, tree + word)
    put(tree + "/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
    put(tree + "/etc/group", "root:x:0:\n")
    put(tree + "/etc/resolv.conf", "nameserver 192.0.2.1\n")
    put(tree + "/etc/release", "the image's")
    put(tree + "/etc/secret", "secret", 0o600)
    put(tree + "/opt/tool/it's a \"name\"", "odd")
    os.chmod(tree + "/usr/bin/id", 0o4755)


def image(place, release="the image's"):
    need()
    if not DEBUGFS or not MKFS:
        raise Skip("e2fsprogs is not installed")
    folder = place.root + "/cache/stepback/guest/small"
    tree = place.root + "/tree"
    os.makedirs(folder, exist_ok=True)
    system(tree)
    put(tree + "/etc/release", release)
    put(folder + "/vmlinuz", "")
    put(folder + "/initrd", "")
    subprocess.run([MKFS, "-q", "-F", "-t", "ext4", "-d", tree, folder + "/rootfs.ext4", "64M"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(tree)


def trees(place):
    return os.listdir(place.root + "/cache/stepback/roots")


def check_system(place, user):
    image(place)
    if user:
        give(place)
    path = {"STEPBACK_PROGRAM_PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    status, out, err = run(place, "sh", "-c", """
        cat /etc/release; echo; ls /usr/bin /; cat /opt/tool/*; cat /etc/resolv.conf
        for path in /usr/bin/new /etc/new /opt/new /var/lib/new /new; do
            touch $path 2>/dev/null && echo escaped $path
        done
        ls /etc/ssh; touch /tmp/t /var/tmp/t ./new; cat /etc/secret 2>/dev/null""",
                           options=ROOTFS, user=user, **path)
    equal((status, err if status not in (0, 1) else ""), (status, ""))
    lines = out.splitlines()
    equal(lines[0], "the image's")
    contains(out, "\nodd")
    assert "escaped" not in out and "192.0.2.1" not in out, out
    assert "python3" not in out, out
    # Root's sandbox is another user than the owner of the tree.
    equal("secret" in out, user)
    assert os.path.exists(place.share + "/new")


@sandbox_test
def system_as_root(place):
    """root: the system is that of the image, and cannot be written"""
    check_system(place, False)


@sandbox_test
def system_as_user(place):
    """an ordinary user: the system is that of the image, and cannot be written"""
    check_system(place, True)


@sandbox_test
def made_once(place):
    """the tree is made once for each build of an image; a used one stays"""
    image(place)
    equal(run(place, "python3", options=ROOTFS)[0], 127)  # it has no such program
    first = trees(place)
    equal(len(first), 1)
    put("%s/cache/stepback/roots/%s/etc/release" % (place.root, first[0]), "kept")
    equal(run(place, "cat", "/etc/release", options=ROOTFS)[1], "kept")
    name = call(place, "up", *LOCAL, *ROOTFS)[1].strip()
    os.unlink(place.root + "/cache/stepback/guest/small/rootfs.ext4")
    image(place, "newer")
    other = place.root + "/other"
    os.mkdir(other)
    words = ("run", *LOCAL, *ROOTFS, "--new", "-C", other, "--", "cat", "/etc/release")
    equal(call(place, *words)[1], "newer")
    equal(len(trees(place)), 2)
    equal(call(place, "exec", name, "--", "cat", "/etc/release")[1], "kept")
    equal(call(place, "stop", name)[0], 0)
    equal(call(place, *words)[1], "newer")
    equal(len(trees(place)), 1)
    assert first[0] not in trees(place)


@sandbox_test
def abandoned(place):
    """a tree that was not completed is made again; a damaged image is an error"""
    image(place)
    roots = place.root + "/cache/stepback/roots"
    os.makedirs(roots + "/unpacking/etc/release")
    equal(run(place, "cat", "/etc/release", options=ROOTFS)[1], "the image's")
    equal(len(trees(place)), 1)
    rootfs = place.root + "/cache/stepback/guest/small/rootfs.ext4"
    with open(rootfs, "r+b") as file:
        file.write(b"\0" * 8192)
    status, _, err = run(place, "true", options=ROOTFS)
    equal(status, 125)
    contains(err, "--rootfs: cannot unpack " + rootfs)


@sandbox_test
def refusals(place):
    """a root without local isolation, or of an image that has none, is refused"""
    image(place)
    status, _, err = call(place, "run", "--rootfs=small", "--", "true")
    assert status == 2 or status == 125, status
    contains(err, "--rootfs (\"rootfs\"): only for --isolation=local")
    for name, part in (("none", "guest image 'none': not found"), ("../x", "image")):
        status, _, err = run(place, "true", options=("--no-network", "--rootfs=" + name))
        equal(status, 125)
        contains(err, part)
    os.unlink(place.root + "/cache/stepback/guest/small/rootfs.ext4")
    status, _, err = run(place, "true", options=ROOTFS)
    equal(status, 125)
    contains(err, "the image 'small' has no root file system; use --rootfs=debian")
    below = "/opt/stepback-test-%d" % os.getpid()
    os.mkdir(below)
    try:
        status, _, err = run(place, "true", options=(*ROOTFS, "-C", below))
        equal(status, 125)
        contains(err, "it lies in a folder of the image of --rootfs")
    finally:
        os.rmdir(below)


main()
