#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line in words: what undo did, sizes of changes, help and JSON."""
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon, call, steps  # noqa: E402
from pty_client import Terminal  # noqa: E402
from stdio_client import PROGRAM, SRCDIR, contains, equal, main, test  # noqa: E402


def answer(place, keys, *words, stderr=None):
    with Terminal([PROGRAM, *words], place.environment(TERM="xterm")
                  ) as terminal:
        terminal.send(keys)
        return terminal.wait(), terminal.text()


@test
def undo_says_what_it_did(place):
    """undo and redo name what they did to which paths, in the user's terms"""
    for name in ("adler32.c", "changed", "old", "mode"):
        with open(place.share + "/" + name, "w") as file:
            file.write(name)
    steps(place, "rm adler32.c; touch three", "echo x > changed",
          "mv old new", "chmod 600 mode", "mkdir -p d/e; touch d/e/f g",
          "touch d", "cp changed c2; mv c2 changed")
    told = []
    for _ in range(6):
        status, out, err = call(place, "undo", "-C", place.share)
        equal((status, err), (0, ""))
        told += out.decode().splitlines()
    equal(told, ["undid step 7: the content was the same before",
                 "undid step 6: restored the attributes of d",
                 "undid step 5: removed d (2 in it), g",
                 "undid step 4: restored the attributes of mode",
                 "undid step 3: renamed new back to old",
                 "undid step 2: restored changed",
                 "undid step 1: removed three, restored adler32.c"][
                     -len(told):])
    equal(told[-1], "undid step 1: removed three, restored adler32.c")
    status, out, err = call(place, "redo", "5", "-C", place.share)
    equal((status, err), (0, ""))
    equal(out.decode().splitlines()[:5],
          ["redid step 1: created three, removed adler32.c",
           "redid step 2: modified changed",
           "redid step 3: renamed old to new",
           "redid step 4: changed the attributes of mode",
           "redid step 5: created d (2 in it), g"])


@test
def long_lists_end_in_a_count(place):
    """the list of names is bounded, and the rest is counted"""
    steps(place, "for i in $(seq 100 150); do touch f$i; done; mkdir d; "
          "for i in $(seq 1200); do touch d/$i; done")
    out = call(place, "undo", "-C", place.share)[1].decode()
    equal(len(out.splitlines()), 1)
    count = int(out.split(" and ")[-1].split()[0])
    named = out.split(" and ")[0]
    contains(named, "removed ")
    inside = int(named.split(" in it")[0].split("(")[1]) if "in it" in named \
        else 0
    equal(count, 51 + 1 + 1200 - (named.count(",") + 1) - inside)
    equal(call(place, "redo", "-C", place.share)[0], 0)
    out = call(place, "preview", "-C", place.share)[1].decode()
    contains(out, "    and 252 more\n")


@test
def names_cannot_control_the_terminal(place):
    """control characters in a name are escaped wherever it is printed"""
    name = "a\x1b[2Jb\u202ec\n"
    with open(place.share + "/" + name, "w") as file:
        file.write("x")
    steps(place, "rm a*; touch 'z\x1b]0;t\x07'")
    for words in (["preview"], ["diff", "--stat"], ["undo"]):
        out = call(place, *words, "-C", place.share)[1].decode()
        contains(out, "a\\033[2Jb\\342\\200\\256c\\n")
        contains(out, "z\\033]0;t\\007")
        equal((words, "\x1b" in out, "\u202e" in out), (words, False, False))


@test
def undo_to_a_step(place):
    """undo --to: the named step is the newest that remains"""
    steps(place, *("echo %d > f%d" % (i, i) for i in range(1, 6)))

    def left():
        return sorted(os.listdir(place.share))
    for words in (["--to", "x"], ["--to=0"], ["--to", "2", "1"],
                  ["--to", "2", "--step", "3"], ["--to", "2", "--ambient"],
                  ["--to", "2", "--discard"]):
        status, out, err = call(place, "undo", *words, "-C", place.share)
        equal((words, status, out), (words, 2, b""))
    status, out, err = call(place, "undo", "--to", "9", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "step 9 is not in the history")
    contains(err, "stepback history")
    status, out, err = call(place, "undo", "--to", "5", "-C", place.share)
    equal((status, out, err),
          (0, b"nothing to undo: step 5 is the newest\n", ""))
    status, out, err = call(place, "undo", "--to", "5", "--json", "-C",
                            place.share)
    equal((status, json.loads(out)["steps"]), (0, []))
    out = call(place, "preview", "--to", "3", "-C", place.share)[1].decode()
    equal([line.split()[4] for line in out.splitlines()
           if line.startswith("would be undone")], ["5", "4"])
    # One command is what the user means; more are listed first.
    status, out = answer(place, "", "undo", "--to", "4", "-C", place.share)
    equal((status, "Go on?" in out, left()),
          (0, False, ["f1", "f2", "f3", "f4"]))
    status, out = answer(place, "n\n", "undo", "--to", "2", "-C", place.share)
    equal((status, left()), (1, ["f1", "f2", "f3", "f4"]))
    contains(out, "undo covers the steps after step 2:")
    equal((out.count("echo 4"), out.count("echo 3")), (1, 1))
    contains(out, "nothing was undone")
    status, out = answer(place, "y\n", "undo", "--to", "3", "-C", place.share)
    equal((status, left()), (0, ["f1", "f2", "f3"]))
    status, out, err = call(place, "undo", "--to", "2", "-C", place.share,
                            "--", place.share + "/f3", place.share + "/f1")
    equal((status, left()), (0, ["f1", "f2"]))
    status, out, err = call(place, "undo", "--to=1", "-C", place.share)
    equal((status, err, left()), (0, "", ["f1"]))
    contains(out.decode(), "undid step 2: removed f2")
    equal([step["step_id"] for step in json.loads(
        call(place, "history", "--json", "-C", place.share)[1])["steps"]], [1])


@test
def undo_to_a_step_covers_what_is_not_over(place):
    """undo --to covers changes outside commands and an interrupted step"""
    with Daemon(place, end_signal=signal.SIGKILL) as daemon:
        daemon.step(1, "echo 1 > one")
        with open(daemon.seen + "/mine", "w") as file:
            file.write("2")
        status, out, err = call(place, "undo", "--to", "1", "-C", place.share)
        equal((status, os.listdir(place.share)), (0, ["one"]))
        daemon.ask("step.open", step_id=2, type="command", command="x")
        open(daemon.seen + "/half", "w").close()
    status, out, err = call(place, "undo", "--to", "1", "-C", place.share)
    equal((status, os.listdir(place.share)), (0, ["one"]))
    contains(out.decode(), "undid step 2: ")


@test
def undo_to_a_step_that_stops(place):
    """undo --to that stops half-way says how to go on"""
    steps(place, "echo 1 > one", "echo 2 > two", "echo 3 > three")
    with open(place.share + "/two", "w") as file:
        file.write("from outside")
    status, out, err = call(place, "undo", "--to", "1", "-C", place.share)
    equal((status, out), (1, b"undid step 3: removed three\n"))
    contains(err, "To go on: stepback undo -C %s --to 1 --force\n" %
             place.share)
    status, out, err = call(place, "undo", "--to", "1", "--force", "-C",
                            place.share)
    equal((status, os.listdir(place.share)), (0, ["one"]))


@test
def sizes_of_changes(place):
    """diff --stat: what git says of the same changes"""
    before = {"a.c": "1\n2\n3\n", "gone": "x\n" * 30, "old name": "same\n",
              "bin": "a\0b", "--- x": "-- x\n"}
    for name, text in before.items():
        with open(place.share + "/" + name, "w") as file:
            file.write(text)
    subprocess.run("git init -q . && git add -A && git -c user.name=a -c "
                   "user.email=a commit -qm x && mv .git ../git", shell=True,
                   cwd=place.share, check=True)
    steps(place, "printf '1\\n4\\n3\\n5\\n' > a.c; rm gone; seq 200 > many; "
          "mv 'old name' new; printf 'a\\0bc' > bin; mkdir d; : > d/empty; "
          "echo '++ y' > './--- x'; chmod 755 a.c")
    subprocess.run(["git", "--git-dir=" + place.root + "/git", "--work-tree=.",
                    "add", "-A"], cwd=place.share, check=True)
    for columns in (None, 80, 120):
        git = subprocess.run(
            ["git", "--git-dir=" + place.root + "/git", "diff", "--cached",
             "-M100%", "--stat=%d" % (columns or 80)], cwd=place.share,
            capture_output=True, text=True, check=True).stdout.splitlines()
        if columns:
            with Terminal([PROGRAM, "diff", "--stat", "--color=never", "-C",
                           place.share], place.environment(
                               TERM="xterm", STEPBACK_PAGER=""),
                          columns=columns) as terminal:
                equal(terminal.wait(), 0)
                ours = terminal.text().splitlines()
        else:
            ours = call(place, "diff", "--stat", "-C",
                        place.share)[1].decode().splitlines()

        def rows(lines):
            return sorted((line.split("|")[0].strip(),
                           line.split("|")[1].split()[:1],
                           set(line.split("|")[1].strip(" 0123456789")))
                          for line in lines[:-1] if "folder" not in line)
        equal(rows(ours), rows(git))
        equal(ours[-1].replace("8 files", "7 files"), git[-1])
        contains("\n".join(ours), " d               | folder created")
    out = json.loads(call(place, "diff", "--stat", "--json", "-C",
                          place.share)[1])
    files = {file["path"]: file for file in out["files"]}
    equal((out["step_id"], out["cut"]), (1, 0))
    equal(files["a.c"], {"path": "a.c", "added": 2, "removed": 1})
    equal(files["new"], {"path": "new", "from": "old name", "added": 0,
                         "removed": 0})
    equal(files["bin"], {"path": "bin", "note": "Bin 3 -> 4 bytes"})
    equal(files["--- x"], {"path": "--- x", "added": 1, "removed": 1})
    out = call(place, "diff", "--stat", "-C", place.share, "1",
               "a.c")[1].decode()
    equal(out, " a.c | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)\n")
    equal(call(place, "diff", "--stat", "-C", place.share, "1", "none")[0], 1)


@test
def help_by_task(place):
    """help groups the commands by task; a mistyped one names the right one"""
    status, out, err = call(place, "help")
    equal((status, err, out), (0, "", call(place, "--help")[1]))
    groups = [line for line in out.decode().splitlines()
              if line.endswith(":") and not line.startswith(" ")]
    equal(groups, ["Run commands:", "See what they changed, and undo it:",
                   "Work in a sandbox that keeps running:",
                   "List and end sandboxes:",
                   "Connect assistants and frontends:", "Set up and check:"])
    equal("supervise" in out.decode(), False)
    for verb in ("run", "history", "diff", "preview", "undo", "redo", "agent",
                 "mcp", "image", "doctor"):
        equal(out.decode().count("\n  %s " % verb), 1)
        equal(call(place, "help", verb), call(place, verb, "--help"))
    equal(call(place, "help", "image", "build"),
          call(place, "image", "build", "--help"))
    for word, meant in (("histroy", "history"), ("hist", "history"),
                        ("undoo", "undo"), ("Undo", "undo"), ("dif", "diff"),
                        ("ls", "ps"), ("status", "ps"), ("log", "history"),
                        ("revert", "undo"), ("ssh", "shell"), ("down", "stop")):
        status, out, err = call(place, word)
        equal((word, status, out), (word, 2, b""))
        contains(err, "did you mean 'stepback %s'?" % meant)
    for word in ("fly", "x", "x" * 1000, ""):
        status, out, err = call(place, word)
        equal((word, status, "did you mean" in err), (word, 2, False))
        contains(err, "'stepback help' lists them")


@test
def mistyped_options(place):
    """a wrong option is one line that names it, and the right one or how to
    find it; a value may follow a short option in the same word"""
    for words, said in (
            ("up --memroy=3", "--memroy: unknown option; did you mean --memory?"),
            ("run --no-netwrk -- x",
             "--no-netwrk: unknown option; did you mean --no-network?"),
            ("run -it -- sh", "-i: unknown option; for input and a terminal, "
             "use 'stepback up' and 'shell'"),
            ("up --name=x", "--name: unknown option; write 'stepback up NAME'"),
            ("undo --dry", "--dry: unknown option; did you mean --dry-run?"),
            ("ps --hlp", "--hlp: unknown option; did you mean --help?"),
            ("up -image=x", "-image=x: unknown option; did you mean --image?"),
            ("up --frobnicate",
             "--frobnicate: unknown option; 'stepback up --help' lists all"),
            ("rm -x", "-x: unknown option; 'stepback rm --help' lists all"),
            ("exec -ix -- ls",
             "-x: unknown option; 'stepback exec --help' lists all"),
            ("undo -1", "-1: unknown option; name a step below 0 with --step, "
             "as in --step=-1"),
            ("diff -1", "-1: unknown option; write -- before a number below 0"),
            ("up --cpus", "--cpus: its value is missing; write --cpus=N"),
            ("exec -e -- ls -x",
             "-e: its value is missing; write -e NAME[=VALUE]"),
            ("history --limit=x", "--limit: 'x' is not a number"),
            ("history --limit=1x", "--limit: '1x' is not a number"),
            ("history --limit=9999999999", "--limit: '9999999999' is out of "
             "range"),
            ("history --json=no",
             '--json: takes no value; omit the option or "=no"')):
        status, out, err = call(place, *words.split())
        equal((words, status, out, err), (words, 2, b"", "stepback: %s: %s\n" %
                                          (words.split()[0], said)))
    equal(call(place, "history", "-C" + place.share),
          call(place, "history", "-C", place.share))
    contains(call(place, "up", "-px:80")[2], "up: --publish: 'x:80'")


@test
def an_option_that_chooses_what_to_change_is_given_once(place):
    """a second -C, --undo-dir, --step or --to is an error, not the silent winner"""
    steps(place, "echo 1 > one")
    for command in ("undo", "redo", "preview", "diff", "history", "run -- x",
                    "mcp"):
        verb, *rest = command.split()
        status, out, err = call(place, verb, "-C", "/nowhere", "--directory",
                                place.share, *rest)
        equal((command, status, out), (command, 2, b""))
        contains(err, "--directory: given twice; name one folder")
    contains(call(place, "run", "-C/a", "-C/b", "--", "x")[2],
             "or start a sandbox over several with 'stepback up'")
    for words, said in ((["--to=1", "--to=1"], "--to: given twice; name one step"),
                        (["--step=1", "--step", "1"], "--step: given twice"),
                        (["--undo-dir=/a", "--undo-dir=/a"],
                         "--undo-dir: given twice; name one folder")):
        status, out, err = call(place, "undo", *words, "-C", place.share)
        equal((words, status, out, os.listdir(place.share)),
              (words, 2, b"", ["one"]))
        contains(err, "stepback: undo: " + said)
    equal("twice" in call(place, "exec", "--step=none", "--step=one", "box", "--",
                          "x")[2], False)
    equal(call(place, "diff", "--color=never", "--color=always", "-C",
               place.share)[0], 0)
    equal(call(place, "diff", "-C", place.share, "--", "-C", "-C")[0], 1)


@test
def errors_name_the_next_command(place):
    """an error ends with what to type next"""
    status, out, err = call(place, "redo", "-C", place.share)
    steps(place, "echo 1 > one")
    for words, next in (
            (["undo", "-1"], "--step=-1"),
            (["undo", "--step", "9"], "stepback history -C"),
            (["diff", "9"], "stepback history -C"),
            (["preview", "--to", "9"], "stepback history -C"),
            (["redo"], "stepback history -C"),
            (["undo", "x"], "'stepback undo 2'"),
            (["undo", "notes.txt"], "'stepback undo -- notes.txt' restores"),
            (["redo", "x"], "count; 'stepback redo 2'"),
            (["undo", "--bogus"], "'stepback undo --help'")):
        status, out, err = call(place, *words, "-C", place.share)
        equal((words, status == 0, out), (words, False, b""))
        contains(err, next)


@test
def completion_knows_the_steps(place):
    """after --to and --step, the completion for bash offers the steps"""
    steps(place, "echo 1 > one", "echo 2 > two")
    script = os.path.join(os.path.abspath(SRCDIR),
                          "contrib/completion/stepback.bash")
    for option in ("--to", "--step"):
        out = subprocess.run(
            ["bash", "-c", '. "$1"; COMP_WORDS=("$2" undo "$3" ""); '
             'COMP_CWORD=3; _stepback "$2" "" "$3"; echo "${COMPREPLY[*]}"',
             "bash", script, PROGRAM, option], cwd=place.share,
            env=place.environment(), capture_output=True, text=True).stdout
        equal((option, out), (option, "2 1\n"))


@test
def doctor_in_json(place):
    """doctor --json has what doctor prints"""
    status, out, err = call(place, "doctor", "--json",
                            STEPBACK_QEMU="/no/such")
    answer = json.loads(out)
    equal((status, answer["ok"]), (1, False))
    checks = {check["name"]: check for check in answer["checks"]}
    equal(checks["QEMU"]["status"], "missing")
    contains(checks["QEMU"]["remedy"], "unset it to use")
    lines = call(place, "doctor",
                 STEPBACK_QEMU="/no/such")[1].decode().splitlines()
    equal([line[9:].split("  ")[0] for line in lines if line[:3] != "   "],
          list(checks))
    equal({check["status"] for check in answer["checks"]} <=
          {"ok", "note", "missing"}, True)


main()
