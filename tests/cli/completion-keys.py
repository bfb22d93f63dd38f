#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion by the Tab key of an interactive bash: what readline makes of the
words that contrib/completion/stepback.bash offers."""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from pty_client import CTRL_D, Terminal  # noqa: E402
from stdio_client import BUILDDIR, SRCDIR, Skip, main, test  # noqa: E402

SCRIPT = os.path.abspath(SRCDIR) + "/contrib/completion/stepback.bash"


def bash(place):
    """An interactive bash with the completion, in the place's folder."""
    program = shutil.which("bash")
    if not program:
        raise Skip("no bash")
    with open(place.root + "/bashrc", "w") as file:
        file.write("PS1='ready> '\nbind 'set bell-style none'\n"
                   "bind 'set enable-bracketed-paste off'\n. '%s'\n" % SCRIPT)
    return Terminal([program, "--noprofile", "--rcfile", file.name, "-i"],
                    cwd=place.root, columns=200,
                    env={"PATH": BUILDDIR + ":/usr/bin:/bin", "TERM": "dumb",
                         "HOME": place.root, "HISTFILE": "", "LC_ALL": "C.UTF-8",
                         "XDG_CACHE_HOME": place.root + "/cache"})


def leave(terminal):
    terminal.send("\x15" + CTRL_D)
    terminal.wait()


@test
def option_with_value(place):
    """an option that takes a value ends in "=", and its values follow"""
    with bash(place) as terminal:
        terminal.expect("ready> ")
        terminal.send("stepback run --acc\t")
        terminal.expect("--accel=$")
        terminal.send("k\t")
        terminal.expect("kvm $")
        terminal.send("--image=mini\t")
        terminal.expect("--image=minimal $")
        terminal.send("--backend=9\t")
        terminal.expect("--backend=9p $")
        leave(terminal)


@test
def file_names(place):
    """file names are quoted, and folders end in a slash"""
    os.mkdir(place.root + "/two words")
    os.mkdir(place.root + "/two words/inner")
    with bash(place) as terminal:
        terminal.expect("ready> ")
        terminal.send("stepback history -C tw\t")
        terminal.expect(r"-C two\\ words/$")
        terminal.send("in\t")
        terminal.expect("inner/$")
        leave(terminal)


main()
