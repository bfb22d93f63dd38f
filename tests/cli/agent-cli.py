#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line: run over a fake QEMU, what it prints, and the daemon."""
import base64
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon, call, run, without_script  # noqa: E402
from mcp_client import Server  # noqa: E402
from stdio_client import (PROGRAM, Skip, contains, equal,  # noqa: E402
                          eventually, main, test)


@test
def usage(place):
    """wrong command lines exit with 2, --help and --version with 0"""
    for words in ((), ("fly",), ("run",), ("run", "--nope", "--", "x"),
                  ("history", "x"), ("history", "--limit", "0"),
                  ("history", "-n", "1"), ("undo", "x"), ("undo", "0"),
                  ("undo", "1", "2"), ("image",),
                  ("agent", "--log-level", "loud"), ("agent", "x"),
                  ("doctor", "x"), ("doctor", "--rounds", "2"),
                  ("doctor", "--isolation=jail"),
                  ("doctor", "--boot", "--rounds", "101"),
                  ("doctor", "--rounds=0"), ("doctor", "--boot", "--rounds=0"),
                  ("help", "fly"), ("history", "-C", ""),
                  ("undo", "--undo-dir="), ("run", "--undo-dir=", "--", "x"),
                  ("run", "-C", "", "--", "x"), ("mcp", "--kernel="),
                  ("help", "undo", "x"), ("-C", ".", "history"),
                  ("run", "--memory", "1", "--", "x"),
                  ("run", "--memory", "127", "--", "x"),
                  ("run", "--accel", "foo", "--", "x"),
                  ("run", "--image", "a/b", "--", "x"),
                  ("run", "--network", "10.1.0.0/8", "--", "x"),
                  ("run", "--network", "localhost", "--", "x"),
                  ("run", "--network", "bücher..example", "--", "x"),
                  ("run", "--network", "1.2.3.4,,dns", "--", "x"),
                  ("run", "--network", "none,1.2.3.4", "--", "x"),
                  ("run", "--network", "open", "--no-network", "--", "x"),
                  ("mcp", "--network", "127.0.0.1"),
                  ("undo", "--yes", "x"), ("undo", "--discard", "-n"),
                  ("image", "build", "--bogus"),
                  ("image", "build", "--flavour")):
        status, out, err = call(place, *words)
        equal((words, status, out, err != ""), (words, 2, b"", True))
    contains(call(place, "run", "--memory", "1", "--", "x")[2], "--memory")
    contains(call(place, "run", "--network", "10.1.0.0/8", "--", "x")[2],
             "the network is 10.0.0.0/8")
    for network in ("none,dns", "1.2.3.4,none", "open,none"):
        contains(call(place, "run", "--network", network, "--", "x")[2],
                 "--network: 'none' cannot be combined")
    contains(call(place, "image", "build", "--bogus")[2],
             "stepback image build: --bogus: unknown option; "
             "'stepback image build --help' lists all options\n")
    for words in (("--help",), ("--version",), ("-V",), ("help",),
                  ("help", "redo"), ("help", "--help"), ("help", "-h"),
                  ("run", "--help"), ("undo", "--help"), ("image", "--help"),
                  ("image", "build", "--help"), ("image", "build", "-h")):
        status, out, err = call(place, *words)
        equal((words, status, err, out != b""), (words, 0, "", True))


@test
def step_size(place):
    """run --undo-max-step-size: more, or less, is kept of this one command"""
    with open(place.share + "/big", "wb") as file:
        file.write(os.urandom(3 << 20))
    place.mounting()
    wipe = ("sh dd if=/dev/zero of=big bs=1M count=3 conv=notrunc 2>/dev/null")
    for size, kept in (("8M", True), ("1m", False)):
        status, out, err = run(place, "--undo-max-step-size", size, "--", wipe)
        equal((size, status), (size, 0))
        equal((size, "undo with: " in err), (size, kept))
        equal("exceeded the limit of 1.0 MiB at big (3.0 MiB)" in err, not kept)
    for wrong in ("0", "x", "1X"):
        status, out, err = run(place, "--undo-max-step-size", wrong, "--", "x")
        equal((status, out), (2, b""))
        contains(err, "such as 500M or 20G")


@test
def exit_codes(place):
    """run passes the exit code on and says what changed"""
    for code in (0, 1, 77, 137):
        status, out, err = run(place, "--", "exit %d" % code)
        equal((status, out), (code, b""))
        equal(err, "stepback: nothing changed\n")
    equal(run(place, "-C", place.root + "/none", "--", "x")[0], 125)
    status, out, err = run(place, "--image", "foo", "--", "x")
    equal(status, 125)
    contains(err, "stepback image list")
    equal(run(place, "--timeout", "1", "--", "sleep")[0], 124)
    equal(run(place, "--timeout", "604800", "--", "exit 0")[0], 0)
    for wrong in ("-1", "604801", "4294968"):
        code, out, err = run(place, "--timeout", wrong, "--", "exit 0")
        equal((code, out), (2, b""))
        contains(err, "at most 604800")


@test
def bytes_that_are_not_utf8(place):
    """run and undo where folder, log, words and environment are not UTF-8"""
    if not os.access("/dev/fuse", os.W_OK):
        raise Skip("nothing can be mounted")
    root = os.fsencode(place.root)
    odd, sub, state = root + b"/odd\xff", root + b"/odd\xff/\xfe", root + b"/\xfd"
    os.makedirs(sub)
    os.mkdir(state, 0o700)
    place.mounting()
    env = place.environment(XDG_STATE_HOME=os.fsdecode(state),
                            ODD=os.fsdecode(b"\xfc"))

    def stepback(*words, cwd=odd, status=0):
        done = subprocess.run([PROGRAM, *words], cwd=cwd, env=env, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True)
        assert done.returncode == status, done
        return done.stdout

    def tree():
        return sorted(os.path.join(base, name)[len(odd) + 1:]
                      for base, folders, files in os.walk(odd)
                      for name in folders + files)

    machine = ("run", "--accel=tcg", "--")
    equal(stepback(*machine, b"sh printf '\xfb' | tee 'one\xfa'; exit 3",
                   status=3), b"\xef\xbf\xbd")
    equal(stepback(*machine, "sh", "touch", b"two \xf9", cwd=sub), b"")
    equal(tree(), sorted([b"\xfe", b"one\xfa", b"\xfe/two \xf9"]))
    with open(odd + b"/one\xfa", "rb") as file:
        equal(file.read(), b"\xfb")
    equal(b"odd\xff" in os.listdir(root + b"/.stepback/.git"), True)
    steps = json.loads(stepback("history", "--json"))["steps"]
    equal([base64.b64decode(step["command"]) for step in steps],
          [b"sh touch 'two \xf9'", b"sh printf '\xfb' | tee 'one\xfa'; exit 3"])
    contains(stepback("diff", "1"), b"one")
    stepback("undo", "2")
    equal(tree(), [b"\xfe"])
    stepback("redo", "-C", odd, cwd="/")
    equal(tree(), sorted([b"\xfe", b"one\xfa"]))
    equal(stepback("mcp"), b"")
    # The log's place, a kernel and an initrd may be of bytes as well.
    for option in (b"--undo-dir", b"--kernel", b"--initrd"):
        status, out, err = run(place, option + b"=" + sub, "--", "exit 3")
        equal((status, out), (3, b""))


@test
@test
def output(place):
    """run streams bytes to the stream they came from"""
    equal(run(place, "--", "echo one")[1], b"one\n")
    done = subprocess.run([PROGRAM, "run", "-C", place.share, "--", "bytes"],
                          env=place.environment(), timeout=60,
                          capture_output=True)
    equal((done.returncode, done.stdout), (0, b""))
    contains(done.stderr, b"\xff\x00")
    status = subprocess.run([PROGRAM, "run", "-C", place.share, "--accel",
                             "tcg", "--", "flood 200"],
                            env=place.environment(), timeout=60,
                            capture_output=True)
    equal(len(status.stdout), 200 * 32768)


@test
def quoting(place):
    """one argument is shell text, several are words"""
    status, out, err = run(place, "--", "show $HOME; 'x'")
    equal(json.loads(out)["command"], "show $HOME; 'x'")
    status, out, err = run(place, "--", "show", "a b", "$x")
    equal(json.loads(out)["command"], "show 'a b' '$x'")


@test
def interrupts(place):
    """SIGINT cancels the command, and the step is closed"""
    process = subprocess.Popen(
        [PROGRAM, "run", "-v", "-C", place.share, "--accel", "tcg", "--",
         "sleep"], env=place.environment(), stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, text=True)
    for line in process.stderr:
        if "is up after" in line:
            break
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    contains(process.stderr.read(), "nothing changed")
    equal(process.wait(20), 130)
    equal(os.listdir(place.runtime), [])


@test
def ignored_signals_stay_ignored(place):
    """what nohup and the shell's "&" have ignored ends nothing"""
    def ignore():
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    folder = ("-C", place.share, "--accel=tcg")
    for words, status in ((("run", *folder, "--", "sleep"), 130),
                          (("agent",), 0), (("mcp", *folder), 0)):
        process = subprocess.Popen(
            [PROGRAM, *words], env=place.environment(), preexec_fn=ignore,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        assert eventually(lambda: os.listdir(place.runtime), 20)
        time.sleep(0.5)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        equal((words, process.poll()), (words, None))
        process.send_signal(signal.SIGTERM)
        equal((words, process.wait(20)), (words, status))
        process.stdin.close()


@test
def streams_are_given_back(place):
    """agent and mcp leave inherited streams in blocking mode"""
    for words in (("agent",), ("mcp", "-C", place.share, "--accel=tcg")):
        theirs, ours = os.pipe()
        back, away = os.pipe()
        process = subprocess.Popen([PROGRAM, *words], stdin=theirs,
                                   stdout=away, stderr=subprocess.DEVNULL,
                                   env=place.environment())
        assert eventually(lambda: not os.get_blocking(theirs), 20)
        os.close(ours)
        equal(process.wait(20), 0)
        equal((os.get_blocking(theirs), os.get_blocking(away)), (True, True))
        for fd in (theirs, back, away):
            os.close(fd)


@test
def a_reader_that_leaves(place):
    """a closed stdout ends the command as SIGPIPE would"""
    process = subprocess.Popen(
        [PROGRAM, "run", "-C", place.share, "--accel", "tcg", "--",
         "flood 400"], env=place.environment(), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    process.stdout.read(100)
    process.stdout.close()
    equal(process.wait(60), 128 + signal.SIGPIPE)


@test
def output_that_is_lost(place):
    """what cannot be printed is a failure, unless the reader has left"""
    server = Server(place)
    server.client.tool("write_file", path="file", content="text\n")
    equal(server.close(), 0)
    there = ["-C", place.share]
    for words in (["history", *there], ["history", "--json", *there],
                  ["diff", *there], ["diff", "--json", *there],
                  ["preview", *there], ["--version"], ["help"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, *words], stdout=full, timeout=60,
                                  env=place.environment(),
                                  stderr=subprocess.PIPE)
        equal((words, done.returncode), (words, 1))
        contains(done.stderr, b"cannot write all of the output")
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([PROGRAM, *words], stdout=writer, timeout=60,
                              env=place.environment(), stderr=subprocess.PIPE)
        os.close(writer)
        equal((words, done.returncode, done.stderr),
              (words, 128 + signal.SIGPIPE, b""))


def targets(fds):
    """What a process's fds lead to, in one string."""
    try:
        return " ".join(os.readlink(fds + fd) for fd in os.listdir(fds))
    except FileNotFoundError:  # it was closed meanwhile
        return ""


@test
def closed_streams(place):
    """a stream that was closed is /dev/null, and no file of ours"""
    program, env = without_script("stepback")
    for closed in ("2>&-", ">&- 2>&-"):
        agent = subprocess.Popen(
            ["sh", "-c", "exec %s agent %s" % (program, closed)],
            env=place.environment(**env), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        fds = "/proc/%d/fd/" % agent.pid
        assert eventually(lambda: "eventfd" in targets(fds), 20)
        equal(os.readlink(fds + "2"), "/dev/null")
        agent.stdin.close()
        equal(agent.wait(20), 0)


@test
def files_without_room(place):
    """RLIMIT_FSIZE: an error in words, and no death by SIGXFSZ"""
    done = subprocess.run(
        ["sh", "-c", "ulimit -f 0; exec %s run -C %s --accel tcg -- exit 0" %
         (PROGRAM, place.share)], env=place.environment(),
        capture_output=True, timeout=60)
    equal(done.returncode, 125)
    contains(done.stderr, b"File too large")


@test
def protocols_on_a_terminal(place):
    """agent and mcp tell a person what they are"""
    for words, part in ((("agent",), "JSON Lines"),
                        (("mcp", "-C", place.share), "Model Context")):
        master, slave = os.openpty()
        process = subprocess.Popen([PROGRAM, *words], stdin=slave,
                                   stdout=subprocess.DEVNULL, stderr=slave,
                                   env=place.environment())
        os.close(slave)
        out = b""
        while b"Ctrl-D" not in out:
            out += os.read(master, 4096)
        contains(out.decode(), part)
        os.write(master, b"\4")
        equal(process.wait(20), 0)
        os.close(master)
    status, out, err = call(place, "agent")
    equal((status, "Ctrl-D" in err), (0, False))


@test
def busy_folder(place):
    """a folder in use: run names the process"""
    with Daemon(place) as daemon:
        status, out, err = run(place, "--", "x")
        equal((status, out), (125, b""))
        contains(err, "is in use by process %d" % daemon.process.pid)
        contains(err, "another stepback process uses this folder")
        equal("exited with" in err, False)
        equal("{" in err, False)


@test
def doctor(place):
    """doctor says what is missing and what mends it"""
    status, out, err = call(place, "doctor")
    equal((status, err), (0, ""))
    os.unlink(place.image + "/vmlinuz")
    status, out, err = call(place, "doctor", STEPBACK_QEMU=None,
                            STEPBACK_PROGRAM_PATH=place.root,
                            STEPBACK_LIBEXECDIR=place.root)
    equal(status, 1)
    for part in ("apt-get install", "stepback image build", "make install",
                 "stepback-virtiofsd is", "stepback-9pd is", "stepback-net is",
                 "install qemu-utils", "install diffutils"):
        contains(out.decode(), part)
    equal(out.count(b"stepback image build"), 1)
    status, out, err = call(place, "doctor", STEPBACK_QEMU="/nonexist")
    equal(status, 1)
    contains(out.decode(), "STEPBACK_QEMU names /nonexist")
    equal("apt-get install" in out.decode(), False)
    # Neither QEMU nor an image is a need of local isolation.
    status, out, err = call(place, "doctor", "--isolation=local",
                            STEPBACK_PROGRAM_PATH=place.root)
    equal(status, 1)
    contains(out.decode(), "MISSING  bwrap        bwrap is not installed")
    for part in ("QEMU", "image", "KVM", "MISSING  bus"):
        equal(part in out.decode(), False)
    out = call(place, "doctor", "--isolation=vm")[1].decode()
    contains(out, "MISSING  guest image")
    equal("bwrap" in out, False)


@test
def boot(place):
    """doctor --boot tells where the time of a start goes, and leaves nothing"""
    temp = place.root + "/temp"
    os.mkdir(temp)
    words = ("doctor", "--boot", "--rounds", "2", "--accel", "tcg")
    status, out, err = call(place, *words, TMPDIR=temp)
    equal((status, err), (0, ""))
    lines = [line.split(None, 2) for line in out.decode().splitlines()]
    equal(" ".join(lines[0]), "Boot of a guest with tcg, medians of 2 rounds:")
    said = {line[2]: float(line[0]) for line in lines[1:10]}
    equal((said["kernel"], said["init: drivers and mounts"], said["shim"]),
          (3, 1, 1))
    equal("floor: the same kernel, powering off at once" in said, True)
    equal(lines[10][1:], ["times", "the floor until the shim answers (the floor "
                          "is the least that a boot takes)"])
    equal((lines[11], lines[12][:2]), ([], ["No", "start"]))
    status, out, err = call(place, *words, TMPDIR=temp, STEPBACK_FAKE_TEMPLATE="")
    equal((status, err), (0, ""))
    for part in (b"QEMU, loading the template", b"random numbers", b"total from a"):
        assert b" ms  " + part in out, out
    assert b"takes)\n\nStart from a template:\n" in out, out
    out = call(place, *words, "--json", TMPDIR=temp, STEPBACK_FAKE_TEMPLATE="")[1]
    equal({name for name in json.loads(out) if name.startswith("template_")},
          {"template_load_us", "template_renew_us", "template_mount_us",
           "template_total_us"})
    out = call(place, *words, TMPDIR=temp, STEPBACK_FAKE_QEMU="times")[1].decode()
    equal(("  kernel\n" in out, "shim answers" in out), (False, True))
    status, out, err = call(place, *words, TMPDIR=temp, STEPBACK_FAKE_QEMU="exit")
    equal((status, out), (1, b""))
    contains(err, "cannot allocate everything")
    equal((os.listdir(temp), os.listdir(place.runtime)), ([], []))


@test
def image_builder(place):
    """image build runs the builder with its arguments"""
    os.makedirs(place.root + "/data/guest")
    builder = place.root + "/data/guest/build"
    with open(builder, "w") as file:
        file.write('#!/bin/sh\necho "$#:$*"\nexit 9\n')
    os.chmod(builder, 0o755)
    status, out, err = call(place, "image", "build", "--flavour", "debian",
                            STEPBACK_DATADIR=place.root + "/data")
    equal((status, out), (9, b"2:--flavour debian\n"))
    with open(builder, "w") as file:
        file.write("#!/bin/sh\ncat /proc/$$/environ\n")
    status, out, err = call(place, "image", "build", http_proxy="http://p",
                            HOME=place.root, XDG_DATA_HOME=place.root,
                            TMPDIR=None, STEPBACK_DATADIR=place.root + "/data")
    names = sorted(line.partition(b"=")[0] for line in out.split(b"\0")
                   if line)
    equal([name for name in names if not name.startswith(b"STEPBACK_")],
          [b"HOME", b"LC_ALL", b"PATH", b"XDG_CACHE_HOME", b"http_proxy"])


main()
