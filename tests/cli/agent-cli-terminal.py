#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line on a terminal: width, colour, pager and progress."""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import call, steps  # noqa: E402
from pty_client import CTRL_C, Terminal, plain, width  # noqa: E402
from sandbox_case import (VM, good, refused, sandbox_test, up)  # noqa: E402
from stdio_client import PROGRAM, contains, equal, main, test  # noqa: E402

LONG = "a/very/long/path/that/no/narrow/terminal/can/show/as/it/is/adler32.c"
WIDE = "\u8a9e" * 60 + ".txt"


def show(place, *words, columns=80, keys=None, **env):
    """What a command prints on a terminal, with less out of the way."""
    env.setdefault("TERM", "xterm")
    env.setdefault("STEPBACK_PAGER", "")
    env.setdefault("LC_ALL", "C.UTF-8")
    with Terminal([PROGRAM, *words], place.environment(**env),
                  columns=columns) as terminal:
        if keys:
            terminal.send(keys)
        status = terminal.wait()
        return status, terminal.text()


@test
def lines_fit(place):
    """history, preview and undo fit any width, also with wide characters"""
    steps(place, "mkdir -p '%s'; echo 1 > '%s/x'; echo 2 > '%s'" %
          (os.path.dirname(LONG), os.path.dirname(LONG), LONG),
          "echo 3 > %s; echo 4 > 'e\u0301\u0301\u0301'" % WIDE,
          "mv %s y%s; rm '%s'" % (WIDE, WIDE[1:], LONG))
    for name in (LONG, WIDE[1:]):
        with open(place.share + "/" + name, "w") as file:
            file.write("from outside")
    for columns in (40, 41, 79, 80, 133, 300):
        for words in (("history",), ("preview", "3", "--force"),
                      ("diff", "--stat", "1"), ("diff", "--stat", "3")):
            status, out = show(place, *words, "-C", place.share,
                               columns=columns)
            lines = [line for line in out.splitlines()
                     if "warning: " not in line and
                     # sentences, which a terminal may wrap
                     not line.startswith(("    As recorded", "    newer",
                                          "   --  1 undone"))]
            equal((words, status), (words, 0))
            wide = [line for line in lines if width(plain(line)) > columns and
                    " changed, " not in line]  # a sentence
            equal((words, columns, wide), (words, columns, []))
    # There is room: nothing is shortened.
    contains(show(place, "preview", "--force", "-C", place.share,
                  columns=300)[1], LONG)
    out = show(place, "preview", "-C", place.share, columns=60)[1]
    contains(out, "adler32.c")  # the end of a name matters
    contains(out, "a/very/long")
    for columns in (40, 80):
        status, out = show(place, "undo", "--force", "--yes", "-C",
                           place.share, columns=columns)
        equal(status, 0)
        for line in out.splitlines():
            if line.startswith("undid"):
                equal((columns, width(line) <= columns + 40), (columns, True))


@test
def off_a_terminal_nothing_is_shortened(place):
    """a pipe gets whole names, no colour and no header"""
    steps(place, "mkdir -p '%s'; echo 2 > '%s'" % (os.path.dirname(LONG), LONG))
    for words in (("history",), ("preview",), ("diff", "--stat"), ("diff",),
                  ("undo",)):
        status, out, _ = call(place, *words, "-C", place.share, COLUMNS="30",
                              TERM="xterm")
        equal((words, status, b"\x1b" in out), (words, 0, False))
        if words != ("history",):
            contains(out.decode(), "a (13 in it)" if words == ("undo",)
                     else LONG)


@test
def colour(place):
    """colour is for terminals; NO_COLOR, TERM=dumb and --color are honoured"""
    steps(place, "echo 1 > one", "echo 2 > one")
    for words in (("history",), ("preview",), ("diff",), ("diff", "--stat")):
        for more, env, wanted in (
                ((), {}, True), ((), {"NO_COLOR": "1"}, False),
                ((), {"NO_COLOR": ""}, True), ((), {"TERM": "dumb"}, False),
                (("--color=never",), {}, False),
                (("--color=always",), {"NO_COLOR": "1"}, True),
                (("--color=always",), {"TERM": "dumb"}, True),
                (("--color=auto",), {"NO_COLOR": "1"}, False)):
            env = dict({"NO_COLOR": None}, **env)
            status, out = show(place, *words, *more, "-C", place.share, **env)
            equal((words, more, env, status, "\x1b[3" in out),
                  (words, more, env, 0, wanted))
        out = call(place, *words, "--color=always", "-C", place.share)[1]
        equal((words, b"\x1b[3" in out), (words, True))
        status, out, err = call(place, *words, "--color=red", "-C",
                                place.share)
        equal((words, status, out), (words, 2, b""))
        contains(err, "--color must be auto, always or never, not 'red'")
    for verb in ("undo", "redo"):
        status, out = show(place, verb, "-C", place.share, NO_COLOR=None)
        equal((verb, status, "\x1b[3" in out), (verb, 0, True))


def pager(place, name, script):
    """A program in a folder where stepback looks for programs."""
    tools = place.root + "/tools"
    os.makedirs(tools, exist_ok=True)
    with open(tools + "/" + name, "w") as file:
        file.write("#!/bin/sh\n" + script)
    os.chmod(tools + "/" + name, 0o755)
    return {"STEPBACK_PROGRAM_PATH": tools + ":/usr/bin:/bin",
            "STEPBACK_PAGER": None, "PAGER": None}


def evil(place):
    """A pager in the shared folder, which leaves a mark."""
    path = place.share + "/evil"
    with open(path, "w") as file:
        file.write("#!/bin/sh\ntouch %s/mark\ncat\n" % place.root)
    os.chmod(path, 0o755)
    return path


@test
def long_output_is_paged(place):
    """less shows long output on a terminal; --no-pager and pipes go without"""
    steps(place, "echo 1 > one", "echo 2 > two")
    env = pager(place, "less", 'echo "less $LESS $PWD<"; cat; echo ">"')
    for words in (("history",), ("preview",), ("undo", "-n"), ("diff",),
                  ("diff", "--stat"), ("undo", "-n", "--", place.share + "/two")):
        where = ("-C", place.share)
        words = words[:1] + where + words[1:]
        status, out = show(place, *words, **env)
        equal((words, status), (words, 0))
        contains(out, "less FRX /<\n")
        equal(out.rstrip().endswith(">"), True)
        for more, changed in ((("--no-pager",), {}), ((), {"TERM": "dumb"}),
                              ((), {"PAGER": "cat"}), ((), {"PAGER": ""}),
                              ((), {"STEPBACK_PAGER": "", "PAGER": "less"})):
            status, out = show(place, words[0], *more, *words[1:],
                               **dict(env, **changed))
            equal((words, more, changed, status, "less FRX" in out),
                  (words, more, changed, 0, False))
        out = call(place, *words, **env)[1]
        equal((words, b"less" in out), (words, False))
    for words in (("history", "--json"), ("undo",), ("redo",), ("help",)):
        out = show(place, *words, *(("-C", place.share) if words != ("help",)
                                    else ()), **env)[1]
        equal((words, "less FRX" in out), (words, False))


@test
def the_real_less(place):
    """less itself: short output goes by, q leaves long output"""
    steps(place, *["echo %d > one" % i for i in range(30)])
    env = {"STEPBACK_PAGER": None, "PAGER": None, "LESS": "garbage"}
    status, out = show(place, "diff", "-C", place.share, **env)
    equal(status, 0)
    contains(plain(out), "+29")
    with Terminal([PROGRAM, "history", "-C", place.share, "--limit=100"],
                  place.environment(TERM="xterm", **env)) as terminal:
        terminal.expect("\n:")
        terminal.send(CTRL_C)
        terminal.expect(":")
        equal(terminal.process.poll(), None)
        terminal.send("q")
        equal(terminal.wait(), 0)
        equal(terminal.settings(), terminal.before)


@test
def a_pager_that_ends_early(place):
    """a pager that is left at once is no error, and nothing follows it"""
    big = place.share + "/big"
    steps(place, "seq 200000 > big")
    equal(os.path.getsize(big) > 1 << 20, True)
    env = pager(place, "less", "head -n 1 >/dev/null; echo left\n")
    status, out = show(place, "diff", "-C", place.share, **env)
    equal((status, out), (0, "left\n"))


@test
def a_pager_in_the_folder_never_runs(place):
    """PAGER is found as other host programs are, never in a shared folder"""
    steps(place, "echo 1 > one")
    path, mark = evil(place), place.root + "/mark"
    env = pager(place, "most", 'echo "most $1"; cat')
    for variable in ("PAGER", "STEPBACK_PAGER"):
        for value in (path, "evil", "./evil", "sh/../evil", "'", "no-such"):
            status, out = show(place, "history", "-C", place.share,
                               PATH=place.share + ":/usr/bin:/bin",
                               **dict(env, **{variable: value}))
            equal((variable, value, status, os.path.exists(mark)),
                  (variable, value, 0, False))
            contains(out, "warning: %s: " % variable)
            contains(out, "using less")
        for value in ("most -x", "%s/tools/most -x" % place.root,
                      "'most' \"-x\""):
            out = show(place, "history", "-C", place.share,
                       **dict(env, **{variable: value}))[1]
            contains(out, "most -x\n")
            equal("warning" in out, False)
    out = show(place, "history", "-C", place.share,
               **dict(env, PAGER="no-such", STEPBACK_PAGER="most"))[1]
    contains(out, "most \n")


@test
def the_pager_is_not_shared(place):
    """run refuses a folder that has the pager in it, as with diff(1)"""
    env = pager(place, "less", "cat")
    tools = place.root + "/tools"
    status, _, err = call(place, "run", "-C", tools, "--accel", "tcg", "--",
                          "x", **env)
    equal(status, 125)
    contains(err, "the pager")


@test
def progress(place):
    """while a machine boots, a line on the terminal says what it waits for"""
    env = {"STEPBACK_FAKE_QEMU": "silent", "TERM": "xterm"}
    words = [PROGRAM, "run", "-C", place.share, "--accel", "tcg", "--", "x"]
    with Terminal(words, place.environment(**env), columns=60) as terminal:
        terminal.expect(r"\rstepback: [-/|\\] booting the guest kernel "
                        r"\(0 s\)\x1b\[K")
        terminal.expect(r"\(1 s\)")
        terminal.resize(24, 20)
        terminal.expect(r"\rstepback: . b\w+\.\.\.\x1b\[K")
        terminal.send(CTRL_C)
        equal(terminal.wait(), 130)
        equal(terminal.output.decode().rpartition("\r")[2].lstrip("^C"),
              "\x1b[K")
    done = subprocess.run([PROGRAM, *words[1:]], env=place.environment(
        TERM="xterm", STEPBACK_FAKE_QEMU="exit"), capture_output=True)
    equal((done.returncode, b"\r" in done.stderr, b"\x1b" in done.stderr,
           b"starting" in done.stderr), (125, False, False, False))
    with Terminal(words, place.environment(
            TERM="dumb", STEPBACK_FAKE_QEMU="exit")) as terminal:
        equal(terminal.wait(), 125)
        equal("\x1b" in terminal.text(), False)


@sandbox_test
def listings(place):
    """ps, jobs, port and stats fit the terminal, with a header and colour; for
    programs they have neither, and --json; stats is live on a terminal"""
    folder = place.root + "/" + "folder-" * 20 + "end"
    os.mkdir(folder)
    good(place, "up", *VM, "-C", folder, "a" * 40)
    up(place, "-C", place.share, "two")
    heads = {"ps": ["NAME", "STATUS", "SINCE", "FOLDERS"],
             "jobs": ["ID", "STATE", "SINCE", "LABEL", "COMMAND"],
             "port": ["HOST", "GUEST", "STATUS"],
             "stats": ["NAME", "CPU", "%", "MEMORY", "NET", "IN", "NET",
                       "OUT", "READ", "WRITTEN", "PIDS"]}
    for words in (("ps",), ("jobs", "two"), ("port", "two"),
                  ("stats", "--no-stream")):
        for columns in (50, 79, 400):
            code, out = show(place, *words, columns=columns)
            lines = plain(out).splitlines()
            head = lines[0].replace("...", "").split()
            equal((words, columns, code, head, max(map(width, lines)) <=
                   columns),
                  (words, columns, 0, heads[words[0]][:len(head)], True))
            equal("\x1b[1m" in out, True)
            equal(columns < 79 or head == heads[words[0]], True)
        equal("\x1b" in show(place, *words, NO_COLOR="1")[1], False)
        contains(good(place, *words, "--color=always") or "\x1b", "\x1b")
        equal(heads[words[0]][0] in good(place, *words), False)
        json.loads(good(place, *words, "--json"))
        refused(place, *words, "--color=x", part="auto, always or never",
                status=2)
    contains(show(place, "ps", columns=79)[1], "...")
    contains(good(place, "ps"), folder)
    with Terminal([PROGRAM, "stats", "two"], place.environment(TERM="xterm"),
                  columns=79) as terminal:
        terminal.expect(r"NAME[^\0]*two[^\0]*\x1b\[2A\x1b\[J[^\0]*NAME"
                        r"[^\0]*two")
        good(place, "stop", "two")
        terminal.expect("sandbox two: stopped")
        equal(terminal.wait(), 1)
    stats = json.loads(good(place, "stats", "--json"))
    equal([entry["network_in_bytes"] for entry in stats], [0])


@sandbox_test
def a_row_is_one_line(place):
    """a name or text that a guest may choose forges no row and no message, and
    no control sequence gets through, on a terminal and in a pipe"""
    place.mounting()
    forged = "x\nstepback: forged\n\x1b[31mred\u202e"
    folder = place.root + "/folder" + forged
    os.mkdir(folder)
    good(place, "up", *VM, "-C", folder, "box", STEPBACK_FAKE_QEMU="shim")
    good(place, "exec", "-d", "--step=none", "--label", forged, "box", "--", "sh",
         "-c", "sleep 100 # " + forged)
    texts = [call(place, "exec", "box", "--", "ln", "-s", "/etc", forged)[2]]
    quoted = re.search(r" -C (\$'.*?')", texts[0])[1]
    equal(subprocess.check_output(["bash", "-c", "printf %s " + quoted]).decode(),
          folder)
    for words in (("jobs", "box"), ("ps",), ("folder", "box"), ("history", "-C", folder)):
        texts += [good(place, *words), show(place, *words, columns=500)[1]]
    for text in texts:
        contains(text, "forged")
        equal([line for line in text.splitlines()
               if line.startswith(("stepback: forged", "red"))], [])
        equal("\x1b[31m" in text or "\u202e" in text, False)


@test
def progress_is_erased(place):
    """the command's output begins on a clean line, and so do warnings"""
    place.mounting()
    with Terminal([PROGRAM, "run", "-C", place.share, "--accel", "tcg", "--",
                   "sh echo hello; echo 1 > one"],
                  place.environment(TERM="xterm")) as terminal:
        equal(terminal.wait(), 0)
        screen = terminal.screen()
        equal([line for line in screen if line][0], "hello")
        equal([line for line in screen if "booting" in line or
               "mounting" in line], [])
    with Terminal([PROGRAM, "run", "-C", place.share, "--accel", "tcg", "--",
                   "x"], place.environment(TERM="xterm",
                                           STEPBACK_FAKE_QEMU="exit")
                  ) as terminal:
        equal(terminal.wait(), 125)
        first = [line for line in terminal.screen() if line][0]
        equal(first.startswith("stepback: QEMU"), True)


main()
