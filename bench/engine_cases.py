# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of bench-engine, and writes through the daemon."""

import os
import time

from measure import Daemon, Result, engine, fresh_folder, in_turn, \
    process_cpu, remove, settle

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class Place:
    """A fresh share and undo log directory for each run of bench-engine."""

    def __init__(self, settings, name):
        self.settings = settings
        self.base = os.path.join(settings.work, name)
        self.share = os.path.join(self.base, "share")
        self.undo = os.path.join(self.base, "undo")

    def make(self):
        fresh_folder(self.base)
        os.mkdir(self.share)

    def run(self, *arguments, undo=True, keep=False):
        """keep: reuse the share of the previous run."""
        if keep and os.path.isdir(self.share):
            remove(self.undo)
        else:
            self.make()
        if arguments[0] == "rename":
            engine(self.settings, "tree",
                   os.path.join(self.share, "tree"), arguments[1], 0, 1000)
            arguments = ("rename",)
        settle()
        places = [self.share] + ([self.undo] if undo else [])
        return engine(self.settings, *arguments, *places)


def pair(place, label, *arguments):
    """Return the contestants of a benchmark, with and without an undo log."""
    return {
        label: lambda: place.run(*arguments)[0],
        label + ", no undo": lambda: place.run(*arguments, undo=False)[0],
    }


def case_paths(settings):
    result = Result("paths", "a step that touches many files")
    place = Place(settings, "paths")
    for files in (10, 1000):
        contestants = {}
        for kind in ("write", "remove", "create", "chmod"):
            contestants |= pair(place, f"{kind} {files}", "paths", kind, files)
        in_turn(result, contestants, settings.rounds)
    # For some seconds after many files were removed, ext4 creates files slowly:
    # so all contestants share one tree, which is restored by undo only.
    files = 2000 if settings.quick else 100000
    remove(place.base)

    def run(kind, undo):
        return lambda: place.run("paths", kind, files, undo=undo, keep=True)[0]

    in_turn(result, {
        f"write {files}": run("write", True),
        f"write {files}, no undo": run("write", False),
        f"chmod {files}": run("chmod", True),
        f"chmod {files}, no undo": run("chmod", False),
        f"remove {files}": run("remove", True),
    }, settings.rounds)
    for label in [name for name in result.rows if "no undo" not in name]:
        result.ratio(label, "change", label + ", no undo")
    remove(place.base)
    return result


def size_name(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def case_content(settings):
    result = Result("content", "overwriting a whole file")
    place = Place(settings, "content")
    for size in (4 * KIB, MIB, settings.scaled(100 * MIB)):
        in_turn(result, pair(place, size_name(size), "content", size),
                settings.rounds)
    for label in [name for name in result.rows if "no undo" not in name]:
        result.ratio(label, "change", label + ", no undo")
    remove(place.base)
    return result


def rewrite(file, writes, data=bytes(4 * KIB)):
    for i in range(writes):
        os.pwrite(file, data, i * len(data) % MIB)


def daemon_rewrite(settings, base, writes, rounds):
    """Repeat the same writes through two daemons in turn, in many short rounds, so
    that other load affects both alike. On one processor: waking another one can
    cost more than the write (virtiofs_case.py), and the placement of a daemon is
    random."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})  # inherited by the daemons
    daemons, files = {}, {}
    rows = {"with": [], "without": []}
    try:
        for label in rows:
            os.makedirs(os.path.join(base, label, "share"))
            daemon = Daemon(settings, os.path.join(base, label),
                            label == "with")
            daemons[label] = daemon
            files[label] = os.open(os.path.join(daemon.mount, "file"),
                                   os.O_RDWR | os.O_CREAT)
            rewrite(files[label], MIB // (4 * KIB))
        # Content for the step to capture; written in an earlier step.
        daemons["with"].step_open()
        for file in files.values():
            rewrite(file, MIB // (4 * KIB))
        for number in range(rounds):
            order = ("with", "without")[::1 if number % 2 == 0 else -1]
            for label in order:
                cpu = process_cpu(daemons[label].pid)
                start = time.perf_counter()
                rewrite(files[label], writes)
                rows[label].append({
                    "write": time.perf_counter() - start,
                    "write_cpu": process_cpu(daemons[label].pid) - cpu})
    finally:
        for file in files.values():
            os.close(file)
        for daemon in daemons.values():
            daemon.stop()
        os.sched_setaffinity(0, allowed)
    return rows


def case_rewrite(settings):
    writes = settings.scaled(500, 100)
    rounds = settings.rounds * (2 if settings.quick else 100)
    result = Result("rewrite", f"{writes} writes of 4 KiB to blocks that the "
                    f"step has captured already, {rounds} times in turn")
    place = Place(settings, "rewrite")
    for line in place.run("rewrite", writes, rounds):
        for label in ("with", "without"):
            result.row(f"library, {label} undo").add(
                {"write": line[label], "write_cpu": line[label + "_cpu"]})
    place.make()
    for label, samples in daemon_rewrite(settings, place.base, writes,
                                         rounds).items():
        for sample in samples:
            result.row(f"daemon, {label} undo").add(sample)
    for kind in ("library", "daemon"):
        result.ratio(f"{kind}, with undo", "write_cpu",
                     f"{kind}, without undo", most=1.02)
    remove(place.base)
    return result


def case_first_write(settings):
    size = settings.scaled(GIB)
    result = Result("first-write", "the first 4 KiB written to a file of "
                    + size_name(size))
    place = Place(settings, "first-write")
    for label, undo in (("undo", True), ("no undo", False)):
        for line in place.run("first-write", size, settings.rounds, undo=undo):
            result.row(label).add(line)
    result.limit("undo", "change", 0.005)
    result.limit("undo", "log_bytes", MIB)
    remove(place.base)
    return result


def case_rename(settings):
    result = Result("rename", "renaming a folder, by its number of files")
    place = Place(settings, "rename")
    few, many = 100, settings.scaled(100000, 1000)
    in_turn(result, {
        f"{few} files": lambda: place.run("rename", few)[0],
        f"{many} files": lambda: place.run("rename", many)[0],
        f"{many} files, no undo":
            lambda: place.run("rename", many, undo=False)[0],
    }, settings.rounds)
    for metric in ("change", "commit", "undo"):
        result.ratio(f"{many} files", metric, f"{few} files")
    result.ratio(f"{many} files", "log_bytes", f"{few} files", most=1)
    result.limit(f"{many} files", "change", 0.005)
    remove(place.base)
    return result
