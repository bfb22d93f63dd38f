# SPDX-License-Identifier: Apache-2.0
"""vm_tree - the tree that vm-roundtrip.py changes and compares."""
import os
import random
import subprocess

SNAPSHOT = os.path.join(os.getcwd(), "tests/lib/tree-snapshot")
FILES = 2000


def snapshot(path):
    # Until then, stored zeros can still be an unwritten extent (ext4).
    subprocess.run(["sync", "-f", path], check=True)
    return subprocess.run([SNAPSHOT, path], check=True,
                          stdout=subprocess.PIPE).stdout.decode().splitlines()


def difference(before, after):
    lines = [f"- {line}" for line in before if line not in set(after)][:10]
    return lines + [f"+ {line}" for line in after if line not in set(before)][:10]


def make_tree(top):
    """2,000 files of a project's sizes, nested, with links and odd names."""
    chance = random.Random(1)
    for i in range(FILES):
        folder = os.path.join(top, f"part{i % 7}", f"sub{i % 23}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"file-{i:04}.dat"), "wb") as out:
            out.write(chance.randbytes(chance.randrange(0, 40000)))
    for name, text in (("a", "content of a\n"), ("b", "content of b\n"),
                       ("text.txt", "line\n" * 1000)):
        with open(os.path.join(top, name), "w") as out:
            out.write(text)
    os.makedirs(os.path.join(top, "dir", "inner"))
    with open(os.path.join(top, "dir", "inner", "deep"), "w") as out:
        out.write("deep")
    os.link(os.path.join(top, "text.txt"), os.path.join(top, "dir", "linked"))
    os.symlink("text.txt", os.path.join(top, "soft"))
    os.setxattr(os.path.join(top, "a"), "user.note", b"keep me")
    os.chmod(os.path.join(top, "b"), 0o640)
    with open(os.fsencode(top) + b"/caf\xe9", "wb") as out:
        out.write(b"not UTF-8")
    os.mkfifo(os.path.join(top, "dir", "fifo"))


def tree_bytes(top):
    total = 0
    for folder, _, files in os.walk(top):
        for name in files:
            total += os.lstat(os.path.join(folder, name)).st_size
    return total


def log_bytes(top):
    """The log's own size: without the inodes that were moved there."""
    total = 0
    for folder, _, files in os.walk(top):
        for name in files:
            if not (os.path.basename(folder) == "blobs" and name[0] == "i"):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total
