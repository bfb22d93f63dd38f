#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What "stepback run" says of its own accord: that input is not passed on, and
which image has a command that was not found; and "image list". Over a fake QEMU."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import run  # noqa: E402
from stdio_client import PROGRAM, equal, main, test  # noqa: E402

WARNING = ("stepback: warning: standard input: not passed to the command; "
           "give it a file in the folder, or add </dev/null\n")


def warned(place, stdin):
    """Whether a run with this standard input warns of it; once at most."""
    done = subprocess.run(
        [PROGRAM, "run", "-C", place.share, "--accel", "tcg", "--", "echo", "x"],
        stdin=stdin, env=place.environment(), capture_output=True, timeout=60)
    equal((done.returncode, done.stdout), (0, b"x\n"))
    err = done.stderr.decode()
    equal(err.count("standard input") < 2, True)
    return WARNING in err


@test
def input_is_told(place):
    """run warns of data on standard input, and leaves it there"""
    with open(place.root + "/data.txt", "w+") as file:
        equal(warned(place, file), False)  # it is empty
        file.write("data")
        file.flush()
        equal(warned(place, file), False)  # all of it was read
        file.seek(1)
        equal(warned(place, file), True)
        equal(os.lseek(file.fileno(), 0, os.SEEK_CUR), 1)
    reader, writer = os.pipe()
    os.write(writer, b"data")
    equal(warned(place, reader), True)
    equal(os.read(reader, 9), b"data")
    mine, theirs = socket.socketpair()
    mine.send(b"data")
    equal(warned(place, theirs), True)


@test
def no_input_is_not_told(place):
    """run does not warn of an open or closed pipe without data, nor of devices"""
    reader, writer = os.pipe()
    equal(warned(place, reader), False)
    os.close(writer)
    equal(warned(place, reader), False)
    mine, theirs = socket.socketpair()
    equal(warned(place, theirs), False)
    mine.close()
    equal(warned(place, theirs), False)
    for name in ("/dev/null", "/dev/zero", place.root):
        fd = os.open(name, os.O_RDONLY)
        equal((name, warned(place, fd)), (name, False))
        os.close(fd)


@test
def late_input_is_told_at_once(place):
    """run warns as soon as a pipe has data, while the command runs"""
    process = subprocess.Popen(
        [PROGRAM, "run", "-v", "-C", place.share, "--accel", "tcg", "--", "sleep"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment())
    while b"the sandbox is up" not in (line := process.stderr.readline()):
        equal((line != b"", b"standard input" in line), (True, False))
    process.stdin.write(b"x")
    process.stdin.flush()
    while WARNING.encode() != (line := process.stderr.readline()):
        equal(line != b"", True)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    equal(process.returncode, 130)


@test
def not_found_is_told(place):
    """run names the image debian for a command that minimal does not have"""
    hint = ("stepback: command not found: the image 'minimal' has only busybox; "
            "use --image=debian for git, make, gcc and Python\n")
    status, out, err = run(place, "--", "exit", "127")
    equal((status, hint in err), (127, True))
    status, out, err = run(place, "--", "exit", "126")
    equal((status, hint in err), (126, False))
    images = place.root + "/cache/stepback/guest"
    shutil.copytree(images + "/minimal", images + "/debian")
    status, out, err = run(place, "--image=debian", "--", "exit", "127")
    equal((status, hint in err), (127, False))


@test
def images_are_listed(place):
    """image list prints the images that have been built, and nothing else of
    their folder"""
    images = place.root + "/cache/stepback/guest"
    shutil.copytree(images + "/minimal", images + "/debian")
    with open(images + "/debian/image.json", "w") as file:
        file.write('{"append": "", "tools": ["bash", "git"]}')
    os.makedirs(images + "/.templates", exist_ok=True)
    os.mkdir(images + "/apt")
    done = subprocess.run([PROGRAM, "image", "list"], env=place.environment(),
                          capture_output=True, text=True, timeout=60)
    lines = [line.split() for line in done.stdout.splitlines()]
    equal((done.returncode, done.stderr), (0, ""))
    equal([(line[0], line[-2:]) for line in lines],
          [("debian", ["bash", "git"]), ("minimal", lines[1][-2:])])
    done = subprocess.run([PROGRAM, "image", "list", "--json"],
                          env=place.environment(), capture_output=True, text=True,
                          timeout=60)
    equal([(image["name"], image["tools"]) for image in json.loads(done.stdout)],
          [("debian", ["bash", "git"]), ("minimal", [])])
    done = subprocess.run([PROGRAM, "image", "list", "x"], env=place.environment(),
                          capture_output=True, text=True, timeout=60)
    equal((done.returncode, done.stderr), (
        2, "stepback: image list: 'x' is one argument too many\n"))


main()
