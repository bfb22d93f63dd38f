#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line where folder and undo log do not belong together."""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon, call, overlay, run, steps  # noqa: E402
from daemon_case import says  # noqa: E402
from stdio_client import PROGRAM, Skip, contains, equal, main, test  # noqa: E402


def expect_other_folder(place, then, *words):
    """Without a daemon, each command refuses step 1: it changed another folder."""
    out = call(place, "history", *words)[1].decode()
    contains(out, "echo 1 > one  [changed another folder: cannot be undone "
                  "here]")
    out = json.loads(call(place, "history", "--json", *words)[1])
    equal((out["steps"][0]["other_folder"], out["steps"][0]["undoable"]),
          (True, False))
    status, out, err = call(place, "diff", "1", *words)
    equal((status, out), (1, b""))
    contains(err, "step 1 changed another folder than " + words[1])
    status, out, err = call(place, "preview", *words)
    equal((status, out),
          (1, b"cannot be undone: step 1; its changes stay\n"))
    contains(err, "step 1 changed another folder than " + words[1])
    out = json.loads(call(place, "preview", "--json", *words)[1])["error"]
    equal([(step["step_id"], step["other_folder"], "damaged" in step)
           for step in out["data"]["steps"]], [(1, True, False)])
    # Nor is it passed by: that would be the end of its undo.
    for more in ([], ["--force"]):
        status, out, err = call(place, "undo", *more, *words)
        equal((status, out), (1, b""))
        contains(err, "step 1 changed another folder than %s (%s" %
                 (words[1], then))
        contains(err, "undo --discard")
        equal("--force" in err, False)


@test
def log_of_another_folder(place):
    """a log whose steps were made elsewhere: each command says so"""
    log = place.root + "/.stepback/.git/share"
    other = place.root + "/other"
    os.mkdir(other)
    wrong = ("-C", other, "--undo-dir", log)
    with Daemon(place) as daemon:
        daemon.step(1, "echo 1 > one")
        for words in (["history"], ["undo"], ["undo", "--discard"],
                      ["preview"]):
            status, out, err = call(place, *words, "-C", other, "--undo-dir",
                                    log)
            equal((status, out), (1, b""))
            contains(err, "another folder than " + other)
            contains(err, "serves " + place.share)
        os.symlink("share", place.root + "/link")
        status, out, err = call(place, "history", "-C", place.root + "/link",
                                "--undo-dir", log)
        equal((status, err), (0, ""))
        contains(out.decode(), "echo 1 > one")
    equal(os.listdir(place.share), ["one"])
    # Likewise without a daemon, and of a folder that is made anew: its number
    # may be the same again.
    shutil.rmtree(place.share)
    os.mkdir(place.share)
    expect_other_folder(place, "then at " + place.share, "-C", other,
                        "--undo-dir", log)
    expect_other_folder(place, "another one at the same path", "-C",
                        place.share)
    with Daemon(place) as daemon:
        daemon.control.settimeout(20)
        warning = json.loads(daemon.answers.readline())
        equal(warning["type"], "event.warning")
        contains(warning["payload"]["message"],
                 "has steps of another folder than")
        daemon.step(2, "echo 2 > two")
    equal(call(place, "undo", "-C", place.share)[0], 0)
    equal(os.listdir(place.share), [])
    status, out, err = call(place, "undo", "--discard", *wrong)
    equal((status, out), (0, b"1 step and 1 that was undone forgotten. The undo "
                          b"log is empty now.\n"))
    contains(err, "this is the log of another folder than " + other)


@test
def other_folder_stays(place):
    """a folder's steps are neither undone nor redone in another folder"""
    log = place.root + "/.stepback/.git/share"
    other = place.root + "/other"
    os.mkdir(other)
    wrong = ("-C", other, "--undo-dir", log)
    with Daemon(place, end_signal=signal.SIGKILL) as daemon:
        daemon.step(1, "echo 1 > one")
        daemon.ask("step.open", step_id=2, type="command", command="x")
        with open(daemon.seen + "/two", "w"):
            pass
    for path in ("/one", "/two"):
        with open(other + path, "w") as file:
            file.write("theirs")
    told = "step 2 (unfinished) changed another folder than %s (then at %s)" \
        % (other, place.share)
    for words in (["undo"], ["undo", "--force"], ["redo"]):
        status, out, err = call(place, *words, *wrong)
        equal((status, out), (1, b""))
        contains(err, told)
    status, out, err = call(place, "preview", *wrong)
    equal((status, out), (1, b"cannot be undone: step 2; its changes stay\n"))
    contains(err, told)
    status, out, err = call(place, "history", "--json", *wrong)
    equal((status, json.loads(out)["unfinished"]["other_folder"]), (0, True))
    contains(err, "an interrupted step changed another folder: x")
    # A daemon that was started by mistake leaves all as it is, too.
    for server in (("stepback-virtiofsd",), ("stepback-9pd",)):
        status, err = says("--shared-dir=" + other, "--undo-dir=" + log,
                           "--socket-path=%s/s.sock" % place.root,
                           "--sandbox=chroot", program=server[0])
        equal(status, 1)
        contains(err, told)
    status, out, _ = call(place, "undo", "2", "-C", place.share)
    equal((status, len(out.splitlines())), (0, 2))
    equal(os.listdir(place.share), [])
    for words in ([], ["--force"]):
        status, out, err = call(place, "redo", *words, *wrong)
        equal((status, out), (1, b""))
        contains(err, "changed another folder than " + other)
    out = call(place, "history", *wrong)[1].decode()
    contains(out, "1 undone step of another folder\n")
    for path in ("/one", "/two"):
        with open(other + path) as file:
            equal(file.read(), "theirs")
    equal(call(place, "redo", "-C", place.share)[0], 0)
    equal(os.listdir(place.share), ["one"])


@test
def recovery_elsewhere(place):
    """an interrupted step is not rolled back in a folder that is made anew"""
    # Where the time of a folder's birth says nothing.
    with overlay(place) as over:
        place.share = over + "/share"
        os.mkdir(place.share)
        daemon = Daemon(place)
        daemon.ask("step.open", step_id=1, type="command", command="x")
        with open(daemon.seen + "/made", "w"):
            pass
        daemon.end(signal.SIGKILL)
        os.rename(place.share, place.share + ".former")
        os.mkdir(place.share)
        with open(place.share + "/made", "w") as file:
            file.write("mine")
        status, err = says("--shared-dir", place.share, "--mount", daemon.seen,
                           "--undo-dir", place.root + "/.stepback/.git/share")
        equal(status, 1)
        contains(err, "(another one at the same path)")
        status, out, err = call(place, "undo", "--discard", "-C", place.share,
                                "--undo-dir", place.root + "/.stepback/.git/share")
        equal((status, out),
              (0, b"1 step forgotten. The undo log is empty now.\n"))
        contains(err, "this is the log of another folder than")
        daemon = Daemon(place)
        daemon.step(2, "echo mine > mine")
        daemon.end()
        with open(place.share + "/made") as file:
            equal(file.read(), "mine")
        equal(os.listdir(place.share + ".former"), ["made"])


@test
def through_the_mount(place):
    """the folder is known where its daemon mounts it, and by a full name"""
    log = place.root + "/.stepback/.git/share"
    os.mkdir(place.root + "/other")
    name, place.share = place.share, os.path.relpath(place.share)
    with Daemon(place) as daemon:
        daemon.step(1, "mkdir below && echo 1 > one")
        for words in (["-C", daemon.seen + "/below"],
                      ["-C", place.root + "/other"]):
            status, out, err = call(place, "undo", *words, "--undo-dir", log)
            equal((status, out), (1, b""))
            contains(err, "serves %s; name that folder with -C" % name)
        status, out, err = call(place, "undo", "-C", daemon.seen, "--undo-dir",
                                log)
        equal((status, err), (0, ""))
        equal(os.listdir(name), [])


@test
def overlay_made_anew(place):
    """if birth times can change, one later than the step's end is reported"""
    with overlay(place, ["share/old"]) as over:
        place.share = over + "/share"
        words = ("-C", place.share, "--undo-dir",
                 place.root + "/.stepback/.git/share")
        # The folder is copied up by the first step, and is the same one.
        for _ in range(2):
            daemon = Daemon(place)
            last = daemon.ask("status")["last_step_id"]
            daemon.step(last + 1, "echo 1 >> old && echo 1 >> made")
            daemon.end()
        for _ in range(2):
            equal(call(place, "undo", *words)[0], 0)
        with open(place.share + "/old") as file:
            equal((file.read(), os.listdir(place.share)), ("old", ["old"]))
        equal(call(place, "undo", "--discard", *words)[0], 0)
        place.share = over + "/new"
        os.mkdir(place.share)
        words = ("-C", place.share, *words[2:])
        daemon = Daemon(place)
        daemon.step(100, "echo 1 >> made")
        daemon.end()
        number = os.stat(place.share).st_ino
        shutil.rmtree(place.share)
        for i in range(2000):
            os.mkdir("%s/%d" % (over, i))
            if os.stat("%s/%d" % (over, i)).st_ino == number:
                os.rename("%s/%d" % (over, i), place.share)
                break
        else:
            raise Skip("the number is not given again")
        with open(place.share + "/made", "w") as file:
            file.write("mine")
        status, _, err = call(place, "undo", "--force", *words)
        equal(status, 1)
        contains(err, "another one at the same path")
        equal(os.listdir(place.share), ["made"])


@test
def bind_mount(place):
    """half a step is not undone by a path of another mount than the log's"""
    bound = place.root + "/bound"
    os.mkdir(bound)
    steps(place, "echo 1 > one", "rm one && echo 2 > two")
    if subprocess.run(["mount", "--bind", place.share, bound],
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip("nothing can be mounted")
    words = ("--undo-dir", place.root + "/.stepback/.git/share")
    try:
        for command in ("undo", "preview"):
            status, out, err = call(place, command, "-C", bound, *words)
            equal(status, 1)
            contains(err, "another mount (a bind mount) than the log")
        equal(os.listdir(place.share), ["two"])
    finally:
        subprocess.run(["umount", bound], check=True)
    equal(call(place, "undo", "2", "-C", place.share, *words)[0], 0)
    equal(os.listdir(place.share), [])


@test
def snapshot(place):
    """a snapshot of btrfs is another folder"""
    image, top = place.root + "/btrfs", place.root + "/top"
    os.mkdir(top)
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    made = shutil.which("mkfs.btrfs") and not any(
        subprocess.run(words, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL).returncode
        for words in (["mkfs.btrfs", "-q", image],
                      ["mount", "-o", "loop", image, top]))
    if not made:
        raise Skip("there is no btrfs here")
    try:
        place.share = top + "/share"
        subprocess.run(["btrfs", "-q", "subvolume", "create", place.share],
                       check=True)
        daemon = Daemon(place)
        daemon.step(1, "echo 1 > one")
        daemon.end()
        subprocess.run(["btrfs", "-q", "subvolume", "snapshot", place.share,
                        top + "/copy"], check=True)
        words = ("--undo-dir", place.root + "/.stepback/.git/share")
        status, _, err = call(place, "undo", "-C", top + "/copy", *words)
        equal(status, 1)
        contains(err, "step 1 changed another folder than %s/copy" % top)
        # And it is the same one after the next mount.
        subprocess.run(["umount", top], check=True)
        subprocess.run(["mount", "-o", "loop", image, top], check=True)
        equal(call(place, "undo", "-C", place.share, *words)[0], 0)
        equal((os.listdir(place.share), os.listdir(top + "/copy")),
              ([], ["one"]))
        # Where a snapshot takes the log with the folder, both go back.
        place.share += "/below"
        os.mkdir(place.share)
        os.makedirs(top + "/share/log")
        words = ("-C", place.share, "--undo-dir", top + "/share/log")
        daemon = Daemon(place, "--undo-dir", top + "/share/log")
        daemon.step(1, "echo 1 > one")
        daemon.end()
        subprocess.run(["btrfs", "-q", "subvolume", "snapshot", top + "/share",
                        top + "/back"], check=True)
        os.rename(top + "/share", top + "/bad")
        os.rename(top + "/back", top + "/share")
        equal(call(place, "undo", *words)[0], 0)
        equal((os.listdir(place.share), os.listdir(top + "/bad/below")),
              ([], ["one"]))
    finally:
        subprocess.run(["umount", top], check=True)


@test
def log_above(place):
    """in a folder below one that has a log, that log is used, and named"""
    below = place.share + "/below/it"
    os.makedirs(below)
    found = "stepback: using the undo log of %s\n" % place.share
    with Daemon(place) as daemon:
        daemon.step(1, "echo 1 > one; echo 1 > below/it/f; echo 1 > below/g")
        equal(call(place, "preview", "-C", below)[::2], (0, found))
    for words in (["history"], ["preview"], ["diff", "1"], ["undo"], ["redo"],
                  ["undo", "--dry-run"]):
        status, out, err = call(place, *words, "-C", below)
        equal((words, status, err), (words, 0, found))
        done = subprocess.run([PROGRAM, *words], cwd=below, timeout=60,
                              env=place.environment(), capture_output=True)
        if words != ["undo"] and words != ["redo"]:
            equal((words, done.stdout, done.stderr.decode()),
                  (words, out, found))
        if words == ["undo"]:
            equal(os.listdir(below), [])
    # Paths are relative to where the caller is, and may lead out of it.
    for path, names in (("f", [b"below/it/f"]), (".", [b"below/it/f"]),
                        ("../g", [b"below/g"]),
                        ("..", [b"below/g", b"below/it/f"])):
        status, out, err = call(place, "diff", "1", path, "-C", below)
        equal((path, status, [line.split(b" b/")[1] for line in
                              out.splitlines() if line.startswith(b"diff")]),
              (path, 0, names))
    # To forget is for the folder alone that was named.
    status, out, err = call(place, "undo", "--discard", "-C", below)
    equal((status, out), (1, b""))
    contains(err, "a folder above has a log: " + place.share)
    # A file is no folder below it.
    with open(below + "/file", "w"):
        pass
    for done in (call(place, "history", "-C", below + "/file"),
                 run(place, "-C", below + "/file", "--", "true")):
        equal(done[0] != 0, True)
        contains(done[2], "not a folder")
    os.unlink(below + "/file")
    # An undo log that was named, or a folder's own, is the one.
    status, out, err = call(place, "history", "-C", below, "--undo-dir",
                            place.root + "/none")
    equal(found in err, False)


@test
def run_below_a_log(place):
    """run below a folder with a log is a step of it, and starts there"""
    below = place.share + "/below/it"
    os.makedirs(below)
    steps(place, "echo 1 > one")
    place.mounting()
    done = subprocess.run([PROGRAM, "run", "--accel", "tcg", "--",
                           "sh pwd; echo x > made"], cwd=below, timeout=60,
                          env=place.environment(), capture_output=True)
    contains(done.stderr.decode(),
             "stepback: using the undo log of %s\n" % place.share)
    equal((done.returncode, done.stdout.endswith(b"/below/it\n")), (0, True))
    equal(os.listdir(below), ["made"])
    equal(os.path.exists(place.share + "/below/.stepback"), False)
    status, out, err = call(place, "undo", "-C", below)
    equal((status, os.listdir(below)), (0, []))
    shutil.rmtree(place.libexec)
    # No more is shared than -C says.
    status, out, err = run(place, "-C", below, "--", "echo x")
    equal((status, out), (125, b""))
    contains(err, "%s: the undo log of %s covers this folder; add "
             "--separate-log for a log of its own, or share all of that "
             "folder: -C %s" % (below, place.share, place.share))
    equal(os.path.exists(place.share + "/below/.stepback"), False)
    status, out, err = run(place, "-C", below, "--separate-log", "--", "echo x")
    equal((status, out), (0, b"x\n"))
    contains(err, "warning: " + place.share)
    status, out, err = run(place, "-C", below, "--", "echo x")
    equal((status, out), (0, b"x\n"))
    contains(err, "warning: " + place.share)
    os.rename(place.share + "/below/.stepback", place.share + "/.stepback")
    status, out, err = run(place, "--", "echo x")
    equal((status, out, "warning" in err), (0, b"x\n", True))
    contains(err, "warning: %s/.stepback/.git/it is the undo log of a folder in "
             "this one" % place.share)
    shutil.rmtree(place.share + "/.stepback")
    status, out, err = run(place, "--", "echo x")
    equal((status, out, "warning" in err), (0, b"x\n", False))


@test
def log_above_of_another_user(place):
    """the log of a folder above that is another user's is not used"""
    if os.geteuid() != 0:
        raise Skip("only root can make one")
    below = place.share + "/below"
    os.mkdir(below)
    steps(place, "echo 1 > one")
    log = place.root + "/.stepback/.git/share"
    for path, link in ((log, None), (place.root + "/.stepback", None),
                       (log, place.root + "/elsewhere")):
        if link:
            os.rename(path, link)
            os.symlink(link, path)
        else:
            os.chown(path, 1234, 1234)
        for words in (["history"], ["undo"], ["diff", "1"]):
            status, out, err = call(place, *words, "-C", below)
            contains(err, "stepback: %s: its undo log belongs to another user "
                     "and is not used" % place.share)
            equal((words, status), (words, 0 if words == ["history"] else 1))
        # Nor is it used for the folder itself.
        status, out, err = call(place, "undo", "--yes", "-C", place.share)
        equal(status, 1)
        contains(err, "a symbolic link, which is not followed" if link else
                 "belongs to another user (1234)")
        if not link:
            os.chown(path, 0, 0)
    equal(sorted(os.listdir(place.share)), ["below", "one"])


@test
def log_at_the_old_place(place):
    """a log in the place of earlier versions is named, and the command that moves
    it; a folder there that is no log is none"""
    steps(place, "echo 1 > one")
    old, log = place.root + "/.stepback/share", place.root + "/.stepback/.git/share"
    os.rename(log, old)
    os.rmdir(os.path.dirname(log))
    for words in ["history"], ["undo"], ["run", "--accel=tcg", "--", "echo x"]:
        status, out, err = call(place, *words, "-C", place.share) \
            if words[0] != "run" else run(place, "--", "echo x")
        equal((words, status != 0, out), (words, True, b""))
        contains(err, old + ": an undo log in the place of earlier versions; move it: ")
        equal(os.path.exists(log), False)
    subprocess.run(["sh", "-ec", err.split("move it: ")[1]], check=True)
    equal(call(place, "undo", "-C", place.share)[0], 0)
    equal(os.listdir(place.share), [])
    os.makedirs(old)
    equal(call(place, "redo", "-C", place.share)[0], 0)


@test
def log_in_a_linked_state_folder(place):
    """a log in the state folder may be reached by a link, which is the user's own"""
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place.share],
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip("cannot mount")
    try:
        os.makedirs(place.root + "/disk")
        os.makedirs(place.root + "/state")
        os.symlink(place.root + "/disk", place.root + "/state/stepback")
        env = {"XDG_STATE_HOME": place.root + "/state"}
        place.mounting()
        status, out, err = call(place, "run", "-C", place.share, "--accel=tcg", "--",
                                "sh echo x > made", **env)
        equal((status, os.listdir(place.share)), (0, ["made"]))
        equal(os.path.exists(place.root + "/disk/undo"), True)
        status, out, err = call(place, "undo", "-C", place.share, **env)
        equal((status, err, os.listdir(place.share)), (0, "", []))
        contains(call(place, "history", "-C", place.share, "--json", **env)[1],
                 b'"redoable": 1')
    finally:
        subprocess.run(["umount", "-l", place.share], check=True)


@test
def log_above_on_another_filesystem(place):
    """no log above another filesystem's root is used, which it does not cover"""
    below = place.share + "/below"
    os.mkdir(below)
    steps(place, "echo 1 > one")
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", below],
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip("cannot mount")
    try:
        os.mkdir(below + "/sub")
        for folder in below, below + "/sub":
            status, out, err = call(place, "undo", "-C", folder)
            equal((status, "using" in err), (1, False))
    finally:
        subprocess.run(["umount", below], check=True)


main()
