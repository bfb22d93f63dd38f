#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The MCP tools copy_in and copy_out, over the real shim and folders that are
mounted on the host. The guest's own files are the host's here."""
import os
import random
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from mcp_client import Server, read, write  # noqa: E402
from sandbox_case import call as cli  # noqa: E402
from sandbox_case import kill_all, up  # noqa: E402
from stdio_client import (PATIENCE, contains, equal, eventually, main,  # noqa: E402
                          snapshot, test)

SHIM = {"STEPBACK_FAKE_QEMU": "shim"}


class Case:
    """A server with a copy folder, and a folder that stands for the guest."""

    def __init__(self, place, *options):
        place.mounting()
        self.place = place
        self.guest = place.root + "/guest"
        self.allowed = place.root + "/allowed"
        self.secret = place.root + "/secret"
        for path in (self.guest, self.allowed, self.secret):
            os.makedirs(path, exist_ok=True)
        put(self.secret + "/key", "secret")
        self.server = Server(place, "--copy-folder=" + self.allowed, *options,
                             env=SHIM)
        self.client = self.server.client

    def copy_in(self, host, guest, **more):
        return self.client.tool("copy_in", host_path=host,
                                guest_path=self.guest + guest, **more)

    def copy_out(self, guest, host, **more):
        return self.client.tool("copy_out", host_path=host,
                                guest_path=self.guest + guest, **more)

    def refused(self, tool, host, guest="/x"):
        return self.client.refusal(tool, host_path=host,
                                   guest_path=self.guest + guest)

    def close(self):
        equal(self.server.close(), 0)
        equal(os.listdir(self.secret), ["key"])
        equal(get(self.secret + "/key"), "secret")


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


def get(path):
    with open(path) as file:
        return file.read()


def make_tree(root):
    os.makedirs(root + "/sub/empty")
    put(root + "/sub/file", "content\n" * 10000)
    os.chmod(root + "/sub/file", 0o640)
    os.link(root + "/sub/file", root + "/sub/hard")
    os.symlink("file", root + "/sub/link")
    os.utime(root + "/sub/file", ns=(0, 981173106789012345))


@test
def copies_to_the_folder_are_steps(place):
    """a copy to the working folder is a step, and undo takes it back"""
    case = Case(place)
    make_tree(case.guest + "/tree")
    write(place, "old", b"before")
    put(case.guest + "/new", "after")
    copied = case.copy_out("/tree", "there")
    equal((copied["step_id"], copied["undoable"], copied["affected"] > 3),
          (1, True, True))
    equal(get(place.share + "/there/sub/link"), "content\n" * 10000)
    equal(os.stat(place.share + "/there/sub/file").st_mode & 0o777, 0o640)
    equal(int(os.stat(place.share + "/there/sub/file").st_mtime), 981173106)
    case.copy_out("/new", place.share + "/old")
    equal(read(place, "old"), b"after")
    contains(case.client.text("copy_out", host_path="/mnt/working/there",
                              guest_path=case.guest + "/new"),
             "; step 3 created there/new")
    equal(len(case.client.tool("undo", step_id=1)["steps"]), 3)
    equal((os.listdir(place.share), read(place, "old")), (["old"], b"before"))
    case.close()


@test
def copies_from_the_folder_need_no_option(place):
    """a copy from the working folder to the guest leaves the folder alone"""
    case = Case(place)
    make_tree(place.share + "/tree")
    before = snapshot(place.share)
    copied = case.copy_in("tree", "/there")
    equal((copied["affected"], copied["changes"]), (0, []))
    equal(os.stat(case.guest + "/there/sub/file").st_mtime_ns,
          os.stat(place.share + "/tree/sub/file").st_mtime_ns)
    case.copy_in("tree/.", "/there")
    case.copy_in(place.share + "/tree/sub/file", "/one")
    equal(len(get(case.guest + "/one")), 80000)
    equal(snapshot(place.share), before)
    contains(case.refused("copy_in", "no such"), "No such file")
    case.close()


@test
def copy_folders_are_bulk_copies(place):
    """a copy folder gives and takes whole trees, without a step"""
    case = Case(place)
    make_tree(case.allowed + "/tree")
    copied = case.copy_in(case.allowed + "/tree", "/there")
    equal((copied["step_id"], copied["undoable"], copied["entries"]),
          (0, False, 6))
    equal(snapshot(case.guest + "/there"), snapshot(case.allowed + "/tree"))
    case.copy_out("/there", case.allowed)
    case.copy_out("/there/.", case.allowed + "/renamed")
    for name in ("/there", "/renamed"):
        equal(snapshot(case.allowed + name), snapshot(case.allowed + "/tree"))
    put(case.guest + "/file", "new")
    put(case.allowed + "/file", "old and longer")
    contains(case.client.text("copy_out", guest_path=case.guest + "/file",
                              host_path=case.allowed + "/file"),
             "1 entries; no step, so it cannot be undone")
    equal(get(case.allowed + "/file"), "new")
    contains(case.refused("copy_out", case.allowed, "/no"), "No such file")
    contains(case.refused("copy_in", case.allowed + "/no"), "No such file")
    contains(case.refused("copy_in", case.allowed + "/file", "/no/no"),
             "No such file")
    contains(case.refused("copy_out", case.allowed + "/no/no", "/file"),
             "No such file")
    contains(case.client.refusal("copy_in", host_path=case.allowed,
                                 guest_path="/mnt/working/x"),
             "would not be a step")
    contains(case.client.refusal("copy_in", host_path=case.allowed,
                                 guest_path="x"), "must be absolute")
    equal(case.client.tool("get_undo_history")["steps"], [])
    case.close()


@test
def other_paths_are_refused(place):
    """a path outside, by "..", a link or its own name, is neither read nor
    written"""
    case = Case(place)
    put(case.guest + "/x", "evil")
    os.symlink(case.secret, case.allowed + "/out")
    os.symlink("../secret", case.allowed + "/up")
    os.symlink(case.secret + "/key", case.allowed + "/key")
    for path in (case.secret + "/key", "/etc/hostname", "../secret/key",
                 place.share + "/../secret/key", "/mnt/working/../../etc",
                 case.allowed + "/../secret/key", case.allowed + "x",
                 "//" + case.secret + "/key"):
        for tool in ("copy_in", "copy_out"):
            contains(case.refused(tool, path), "--copy-folder=DIR")
    for path in ("/out/key", "/up/key", "/out/.", "/up/."):
        for tool in ("copy_in", "copy_out"):
            contains(case.refused(tool, case.allowed + path), "leads out")
    for path in ("/out", "/up"):
        contains(case.refused("copy_out", case.allowed + path), "leads out")
    # A link that is the source itself is copied as a link.
    case.copy_in(case.allowed + "/key", "/copied")
    equal(os.readlink(case.guest + "/copied"), case.secret + "/key")
    contains(case.refused("copy_out", case.allowed + "/key"), "leads out")
    # A link at the target's name that stays inside is replaced, not followed.
    put(case.allowed + "/mine", "mine")
    os.symlink("mine", case.allowed + "/near")
    case.copy_out("/x", case.allowed + "/near")
    equal((os.path.islink(case.allowed + "/near"), get(case.allowed + "/near"),
           get(case.allowed + "/mine")), (False, "evil", "mine"))
    equal(sorted(os.listdir(case.guest)), ["copied", "x"])
    case.close()


@test
def links_of_the_guest_lead_nowhere(place):
    """links in a copied tree, and in the working folder, do not lead a later
    copy out"""
    case = Case(place)
    os.makedirs(case.guest + "/tree")
    os.symlink(case.secret, case.guest + "/tree/dir")
    put(case.guest + "/x", "evil")
    case.copy_out("/tree", case.allowed + "/tree")
    for path in ("/tree/dir/key", "/tree/dir", "/tree/dir/new"):
        contains(case.refused("copy_out", case.allowed + path), "leads out")
    contains(case.refused("copy_in", case.allowed + "/tree/dir/key"),
             "leads out")
    case.close()


@test
def swapped_links_lead_nowhere(place):
    """a folder that is exchanged for a link during copies leads none out"""
    case = Case(place)
    inner, aside = case.allowed + "/inner", case.allowed + "/aside"
    os.makedirs(inner)
    put(inner + "/key", "mine")
    put(case.guest + "/key", "evil")
    done = threading.Event()

    def swap():
        while not done.is_set():
            os.rename(inner, aside)
            os.symlink(case.secret, inner)
            time.sleep(random.random() / 500)
            os.unlink(inner)
            os.rename(aside, inner)
            time.sleep(random.random() / 500)

    thread = threading.Thread(target=swap)
    thread.start()
    outcomes = [0, 0]
    number, end = 0, time.monotonic() + PATIENCE
    while min(outcomes) < 10 and time.monotonic() < end:
        number += 1
        tool = "copy_in" if number % 2 else "copy_out"
        guest = "/in%d" % number if number % 2 else "/key"
        result = case.client.call(tool, host_path=inner + "/key",
                                  guest_path=case.guest + guest)
        outcomes["isError" in result] += 1
        if number % 2 and "isError" not in result:
            assert get(case.guest + guest) in ("mine", "evil")
    done.set()
    thread.join()
    assert min(outcomes) >= 10, outcomes
    case.close()


@test
def a_cancelled_copy_ends(place):
    """a cancelled copy and the end of the server end the worker; other copies
    go on"""
    case = Case(place)
    with open(case.allowed + "/big", "wb") as file:
        file.write(os.urandom(200 << 20))
    request = case.client.send("tools/call", name="copy_in", arguments={
        "host_path": case.allowed + "/big", "guest_path": case.guest + "/big"})
    assert eventually(lambda: workers(place), 10)
    case.client.notify("notifications/cancelled", requestId=request)
    assert eventually(lambda: not workers(place), 10)
    put(case.allowed + "/small", "x")
    case.copy_in(case.allowed + "/small", "/small")
    equal(os.path.exists(case.guest + "/big"), False)
    case.client.send("tools/call", name="copy_in", arguments={
        "host_path": case.allowed + "/big", "guest_path": case.guest + "/big"})
    assert eventually(lambda: workers(place), 10)
    case.server.process.terminate()
    equal(case.server.process.wait(PATIENCE), 0)
    assert eventually(lambda: not workers(place), 10)


def workers(place):
    found = []
    for pid in place.processes():
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                if b"copy-worker" in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


@test
def copy_folders_are_checked(place):
    """a copy folder may not overlap with a share or its log, or hold keys; a
    sandbox without it is not joined"""
    for name in ("allowed", "keys/.ssh"):
        os.makedirs(place.root + "/" + name)

    def failed(*words, **more):
        code, _, err = cli(place, *words, **more)
        equal(code, 1)
        return err
    words = ("mcp", "--accel=tcg", "-C", place.share)
    for path in (place.share, place.root, place.share + "/.."):
        contains(failed(*words, "--copy-folder", path), "overlaps with")
    contains(failed(*words, "--copy-folder", place.root + "/keys"), "SSH keys")
    contains(failed(*words, "--copy-folder", place.root + "/no"),
             "the absolute path of a directory")
    place.mounting()
    up(place, STEPBACK_FAKE_QEMU="shim")
    try:
        contains(failed(*words, "--copy-folder", place.root + "/allowed"),
                 "without this --copy-folder")
    finally:
        kill_all(place)


@test
def a_sandbox_keeps_its_copy_folders(place):
    """a client that joins a sandbox has the copy folders of its start"""
    place.mounting()
    for name in ("allowed", "guest"):
        os.makedirs(place.root + "/" + name)
    put(place.root + "/allowed/f", "text")
    up(place, "--copy-folder=../allowed", STEPBACK_FAKE_QEMU="shim")
    try:
        server = Server(place, "--copy-folder", place.root + "/allowed")
        server.client.tool("copy_in", host_path=place.root + "/allowed/f",
                           guest_path=place.root + "/guest/f")
        equal(get(place.root + "/guest/f"), "text")
        server.close()
    finally:
        kill_all(place)


main(mounts=True)
