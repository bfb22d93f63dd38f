# SPDX-License-Identifier: Apache-2.0
"""Ways to get a folder back after a command: ours, and those that people use.

A way saves the folder, runs the command, and restores the folder, each in its own
manner. space() is what it has stored at the time of the restore, in bytes."""
import os
import shutil
import subprocess

from measure import Skipped
from sandbox import program

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


def call(*words, **more):
    done = subprocess.run(words, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stderr.decode(errors='replace')}")


def used(path):
    """The bytes that the files below a path occupy."""
    total, seen = 0, set()
    for base, names, files in os.walk(os.fsencode(path)):
        for name in names + files:
            found = os.lstat(os.path.join(base, name))
            if (found.st_dev, found.st_ino) not in seen:
                seen.add((found.st_dev, found.st_ino))
                total += found.st_blocks * 512
    return total


class Way:
    """folder: the project; store: a folder of the way's own."""
    name = ""
    knows_tool = False  # whether the agent's tool tells what it will write

    def __init__(self, settings, place):
        self.settings = settings
        self.folder = os.path.join(place, "tree", "project")
        self.store = os.path.join(place, "saved")

    def begin(self):
        """Before the project is made."""

    def save(self, by_tool):
        raise NotImplementedError

    def run(self, script):
        # As in an agent's shell, a command that fails is one that was run.
        subprocess.run(["sh", "-c", script], cwd=self.folder, check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def restore(self):
        raise NotImplementedError

    def space(self):
        return used(self.store) if os.path.isdir(self.store) else 0

    def end(self):
        pass


class Stepback(Way):
    """stepback run, and stepback undo. Nothing is saved before."""
    name = "Stepback"

    def begin(self):
        self.program, more = program(self.settings)
        self.env = dict(os.environ, XDG_STATE_HOME=self.store,
                        XDG_RUNTIME_DIR=self.store + ".run",
                        STEPBACK_LIBEXECDIR=self.settings.build, **more)
        os.makedirs(self.store + ".run", 0o700)

    def save(self, by_tool):
        pass

    def run(self, script):
        done = subprocess.run(
            [self.program, "run", "--isolation=local", "--no-network", "-C",
             self.folder, "--", "sh", "-c", script], env=self.env, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode in (2, 125):
            raise RuntimeError(done.stderr.decode(errors="replace"))

    def space(self):
        return used(os.path.dirname(self.folder) + "/.stepback")

    def restore(self):
        call(self.program, "undo", "-C", self.folder, env=self.env)


class ShadowGit(Way):
    """A commit to a repository beside the project, as several agents make it
    before each tool call; reset and clean take it back."""
    name = "shadow git"

    def git(self, *words):
        call("git", "--git-dir=" + self.store, "--work-tree=" + self.folder,
             "-c", "user.name=A", "-c", "user.email=a@example.org", *words,
             env={**os.environ, **GIT}, cwd=self.folder)

    def begin(self):
        call("git", "init", "-q", "--bare", self.store, env={**os.environ, **GIT})

    def save(self, by_tool):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "checkpoint")

    def restore(self):
        self.git("reset", "-q", "--hard")
        self.git("clean", "-qfd")


class ToolCopies(Way):
    """Copies of the files that the agent's own edit tool is about to write."""
    name = "tool copies"

    def save(self, by_tool):
        self.by_tool = by_tool
        for name in by_tool:
            target = os.path.join(self.store, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(os.path.join(self.folder, name), target)

    def restore(self):
        for name in self.by_tool:
            shutil.copy2(os.path.join(self.store, name),
                         os.path.join(self.folder, name))


class Copy(Way):
    """cp -a, there and back."""
    name = "`cp -a`"

    def save(self, by_tool):
        call("cp", "-a", self.folder, self.store)

    def restore(self):
        call("find", self.folder, "-mindepth", "1", "-delete")
        call("cp", "-a", self.store + "/.", self.folder)


class Rsync(Way):
    """rsync there, and back with --delete."""
    name = "rsync"

    def begin(self):
        if not shutil.which("rsync"):
            raise Skipped("rsync is not installed")

    def save(self, by_tool):
        call("rsync", "-aHAX", self.folder + "/", self.store)

    def restore(self):
        call("rsync", "-aHAX", "--delete", self.store + "/", self.folder)


class Overlay(Way):
    """The command works on an overlayfs over the project, whose upper layer is
    dropped. What the command did is in the project only after a merge."""
    name = "overlayfs"

    def begin(self):
        if os.geteuid() != 0:
            raise Skipped("overlayfs: needs root")

    def save(self, by_tool):
        for part in ("upper", "work", "merged"):
            os.makedirs(os.path.join(self.store, part))
        call("mount", "-t", "overlay", "overlay", "-o",
             f"lowerdir={self.folder},upperdir={self.store}/upper,"
             f"workdir={self.store}/work", self.store + "/merged")

    def run(self, script):
        project, self.folder = self.folder, self.store + "/merged"
        try:
            super().run(script)
        finally:
            self.folder = project

    def space(self):
        return used(self.store + "/upper")

    def restore(self):
        call("umount", self.store + "/merged")
        shutil.rmtree(self.store)

    def end(self):
        if os.path.ismount(self.store + "/merged"):
            call("umount", "-l", self.store + "/merged")


class Btrfs(Way):
    """A snapshot of the project, a subvolume of a btrfs, put in its place."""
    name = "btrfs"

    def begin(self):
        if os.geteuid() != 0 or not shutil.which("mkfs.btrfs"):
            raise Skipped("btrfs: needs root and btrfs-progs")
        self.mount = os.path.dirname(self.folder)
        self.image = self.store + ".image"
        self.store = os.path.join(self.mount, "saved")
        with open(self.image, "wb") as file:
            file.truncate(3 * self.settings.size + (2 << 30))
        call("mkfs.btrfs", "-q", self.image)
        call("mount", "-o", "loop", self.image, self.mount)
        call("btrfs", "subvolume", "create", self.folder)

    def occupied(self):
        call("sync", "-f", self.mount)
        found = os.statvfs(self.mount)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def save(self, by_tool):
        call("btrfs", "subvolume", "snapshot", self.folder, self.store)
        self.before = self.occupied()

    def space(self):
        return max(self.occupied() - self.before, 0)

    def restore(self):
        call("btrfs", "subvolume", "delete", self.folder)
        os.rename(self.store, self.folder)

    def end(self):
        if os.path.ismount(self.mount):
            call("umount", "-l", self.mount)
        os.unlink(self.image)


WAYS = [Stepback, ShadowGit, ToolCopies, Copy, Rsync, Overlay, Btrfs]
