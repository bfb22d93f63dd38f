# SPDX-License-Identifier: Apache-2.0
"""rm -rf of a tree and its undo, compared with other ways to do that.

Every contestant has its own tree, created anew before each round. The spans are
    save    preparation for the undo (none for stepback)
    remove  the removal itself; commit: the end of the step
    undo    until the tree is restored
each in seconds, and as _cpu: of the daemon, of the library's process, or of the
programs run."""

import os

from measure import Daemon, Result, Skipped, Spans, engine, fresh_folder, \
    in_turn, remove, run


class Removal:
    def __init__(self, settings, size):
        self.settings = settings
        self.files = settings.scaled(10000, 100)
        self.size = size
        self.base = os.path.join(settings.work, "rm")

    def tree(self):
        """Return the path of a fresh tree, in a folder of its own."""
        share = os.path.join(fresh_folder(self.base), "share")
        os.mkdir(share)
        path = os.path.join(share, "tree")
        engine(self.settings, "tree", path, self.files, self.size, 100)
        return path

    def check(self, path):
        count = sum(len(files) for _, _, files in os.walk(path))
        if count != self.files:
            raise RuntimeError(f"{path} has {count} files after the undo")

    def library(self, undo):
        path = self.tree()
        settle = Spans()
        with settle.span("settle"):
            pass
        arguments = [os.path.dirname(path)]
        if undo:
            arguments.append(os.path.join(self.base, "undo"))
        numbers = engine(self.settings, "remove", *arguments)[0]
        if undo:
            self.check(path)
        numbers["remove"] = numbers.pop("change")
        numbers["remove_cpu"] = numbers.pop("change_cpu")
        return numbers

    def daemon(self, undo):
        path = self.tree()
        daemon = Daemon(self.settings, self.base, undo)
        spans = Spans(daemon)
        try:
            if undo:
                daemon.step_open()
            with spans.span("remove"):
                run("rm", "-rf", os.path.join(daemon.mount, "tree"))
            if undo:
                with spans.span("commit"):
                    daemon.step_close()
                with spans.span("undo"):
                    daemon.request("rollback", steps=1)
        finally:
            daemon.stop()
        if undo:
            self.check(path)
        return spans.numbers

    def copy(self):
        path, saved = self.tree(), os.path.join(self.base, "saved")
        spans = Spans()
        with spans.span("save"):
            run("cp", "-a", path, saved)
        with spans.span("remove"):
            run("rm", "-rf", path)
        with spans.span("undo"):
            run("rm", "-rf", path)
            run("cp", "-a", saved, path)
        self.check(path)
        return spans.numbers

    def shadow_git(self):
        path, spans = self.tree(), Spans()
        share = os.path.dirname(path)

        def git(*arguments):
            run("git", "-C", share, "-c", "user.name=bench", "-c",
                "user.email=bench@localhost", "-c", "gc.auto=0", *arguments,
                env={**os.environ, "GIT_DIR": os.path.join(self.base, "git"),
                     "GIT_WORK_TREE": share, "GIT_CONFIG_GLOBAL": os.devnull,
                     "GIT_CONFIG_NOSYSTEM": "1"})

        git("init", "-q")
        with spans.span("save"):
            git("add", "-A")
            git("commit", "-q", "-m", "checkpoint")
        with spans.span("remove"):
            run("rm", "-rf", path)
        with spans.span("undo"):
            git("reset", "-q", "--hard")
        self.check(path)
        return spans.numbers

    def overlay(self):
        if os.geteuid() != 0:
            raise Skipped("overlayfs needs root")
        path, spans = self.tree(), Spans()
        folders = {name: os.path.join(self.base, name)
                   for name in ("upper", "work", "merged")}

        def mount():
            for folder in folders.values():
                os.makedirs(folder, exist_ok=True)
            options = (f"lowerdir={os.path.dirname(path)},"
                       f"upperdir={folders['upper']},workdir={folders['work']}")
            try:
                run("mount", "-t", "overlay", "overlay", "-o", options,
                    folders["merged"])
            except Exception as error:
                raise Skipped(f"cannot mount overlayfs: {error}")

        with spans.span("save"):
            mount()
        mounted = True
        try:
            with spans.span("remove"):
                run("rm", "-rf", os.path.join(folders["merged"], "tree"))
            with spans.span("undo"):
                run("umount", folders["merged"])
                mounted = False
                remove(folders["upper"])
                remove(folders["work"])
                mount()
                mounted = True
            self.check(os.path.join(folders["merged"], "tree"))
        finally:
            if mounted:
                run("umount", folders["merged"])
        return spans.numbers


def pairs(removal):
    return {
        "library": lambda: removal.library(True),
        "library, no undo": lambda: removal.library(False),
        "daemon": lambda: removal.daemon(True),
        "daemon, no undo": lambda: removal.daemon(False),
    }


def compare_pairs(result):
    for kind in ("library", "daemon"):
        result.ratio(kind, "remove_cpu", kind + ", no undo")
        result.ratio(kind, "remove", kind + ", no undo",
                     most=1.3 if kind == "daemon" else None)


def case_rm(settings):
    removal = Removal(settings, 10486)  # 100 MiB in total
    result = Result("rm", f"rm -rf of {removal.files} files of "
                    f"{removal.size} bytes, and its undo")
    in_turn(result, pairs(removal) | {
        "copy (cp -a)": removal.copy,
        "shadow git": removal.shadow_git,
        "overlayfs": removal.overlay,
    }, settings.rounds)
    remove(removal.base)
    compare_pairs(result)
    result.ratio("copy (cp -a)", "undo", "daemon", least=1)
    result.ratio("shadow git", "undo", "daemon", least=10)
    result.ratio("overlayfs", "undo", "daemon")
    result.ratio("overlayfs", "remove", "daemon")
    return result


def case_rm_empty(settings):
    """The worst case: no content whose blocks would have to be freed."""
    removal = Removal(settings, 0)
    result = Result("rm-empty", f"rm -rf of {removal.files} empty files")
    in_turn(result, pairs(removal), settings.rounds)
    remove(removal.base)
    compare_pairs(result)
    return result
