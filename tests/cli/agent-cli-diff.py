#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line over real logs: diff."""
import json
import os
import shutil
import stat
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from cli_case import Daemon, call, on_terminal, steps  # noqa: E402
from stdio_client import PROGRAM, contains, equal, main, test  # noqa: E402


def tree(root):
    """What git sees of a folder: names, content and the x bit."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if os.path.islink(path):
                content = os.readlink(path)
            else:
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, root)] = (content, mode & 0o170100)
    return found


@test
def diff(place):
    """diff is a patch that git applies backwards, through newer steps too"""
    share = place.share
    subprocess.run(["sh", "-ec", """
        seq 1000 > long; printf 'no newline' > "a b"; mkdir -p d/e
        seq 50 > d/e/moved; echo x > 'tab\tand"quote'; echo gone > gone
        ln -s long link; echo same > mode; echo 1 > one; ln one two
        """], cwd=share, check=True)
    trees, copies = [tree(share)], []
    commands = (
        "sed -i 's/^500$/five hundred/' long; echo ' and' >> 'a b'; echo > new",
        "mv d/e/moved d/f; echo 51 >> d/f; rm gone; chmod +x mode",
        "ln -sf d link; printf 'line\\n' > 'tab\tand\"quote'; : > empty",
        "mv d/f 'new name'; rm long; mkdir long; echo 3 >> long/x",
        "echo 2 >> two; rm one; printf '\\377\\n' > \"$(printf 'n\\377')\"")
    with Daemon(place) as daemon:
        for number, command in enumerate(commands, 1):
            daemon.step(number, command)
            trees.append(tree(share))
            copies.append("%s/copy%d" % (place.root, number))
            shutil.copytree(share, copies[-1], symlinks=True)
        owned = call(place, "diff", "2", "-C", share)
    equal(call(place, "diff", "2", "-C", share), owned)
    for number, copy in enumerate(copies, 1):
        status, patch, err = call(place, "diff", str(number), "-C", share)
        equal((status, err), (0, ""))
        if number < len(copies): # one of a file's two names is listed
            subprocess.run(["git", "apply", "-R", "--whitespace=nowarn"],
                           cwd=copy, input=patch, check=True)
            equal(tree(copy), trees[number - 1])
    patch = call(place, "diff", "-C", share)[1]
    equal(call(place, "diff", "5", "-C", share)[1], patch)
    contains(patch, b"+++ b/two\n@@ -1 +1,2 @@\n 1\n+2\n")
    contains(patch, b'+++ "b/n\\377"\n')
    part = call(place, "diff", "1", "new", "-C", share)[1]
    contains(part, b"new file mode 100644")
    equal(part.count(b"diff --git"), 1)
    answer = json.loads(call(place, "diff", "--json", "3", "-C", share)[1])
    equal((answer["step_id"], len(answer["files"])), (3, 3))


@test
def diff_of_renames_over(place):
    """what a rename replaced is in the preview, and in a patch for both ways"""
    share = place.share
    subprocess.run(["sh", "-ec", """
        mkdir src; for i in 1 2 3 4 5 6 7; do seq ${i}0 > src/f$i.c; done
        ln -s f1.c src/link
        """], cwd=share, check=True)
    with Daemon(place) as daemon:
        for number, command in enumerate((
                "mv src/f3.c src/f4.c",
                "mv src/f2.c src/f3.c; mv src/f1.c src/f2.c; echo > src/f1.c",
                "mv src/f5.c src/f6.c; mv src/f6.c src/f7.c; echo >> src/f7.c",
                "mv src/f4.c src/link; mv src/f3.c t; mv src/f2.c src/f3.c;"
                "mv t src/f2.c",
                "mv src/f1.c t; mkdir src/f1.c; rm src/f7.c;"
                "mv src/f1.c src/f7.c; echo > src/f7.c/x"), 1):
            before, after = place.root + "/before", place.root + "/after"
            shutil.copytree(share, before, symlinks=True)
            daemon.step(number, command)
            shutil.copytree(share, after, symlinks=True)
            trees = tree(before), tree(after)
            patch = call(place, "diff", "-C", share)[1]
            subprocess.run(["git", "apply"], cwd=before, input=patch,
                           check=True)
            equal(tree(before), trees[1])
            subprocess.run(["git", "apply", "-R"], cwd=after, input=patch,
                           check=True)
            equal(tree(after), trees[0])
            shutil.rmtree(before)
            shutil.rmtree(after)
            if number == 1:
                told = call(place, "preview", "-C", share)[1].decode()
                contains(told, "    created  src/f4.c\n"
                               "    renamed  src/f3.c, from src/f4.c\n")
                contains(told, "undo would change 2 paths (1 created, 1 renamed)")
                told = call(place, "history", "-C", share)[1].decode()
                contains(told, "2 paths changed (1 deleted, 1 renamed)")


@test
def diff_left_out(place):
    """git apply takes the rest of a patch that leaves out some files"""
    share = place.share
    subprocess.run(["sh", "-ec", r"""
        printf 'a\0' > bin; printf 'a\0' > gone; printf 'a\0' > linked
        head -c 3000000 /dev/zero > big; echo a > text; echo x > last
        printf 'a\0' > 'old name'
        """], cwd=share, check=True)
    copy = place.root + "/copy"
    shutil.copytree(share, copy)
    with Daemon(place) as daemon:
        daemon.step(1, r"printf 'b\0' > bin; chmod +x bin; rm gone; echo > big;"
                    r"chmod +x last; printf 'c\0' > made; echo b > text;"
                    r"ln -sf x linked; mv 'old name' moved; echo >> moved")
    patch = call(place, "diff", "-C", share)[1]
    for line in (b"Binary files a/bin and b/bin differ (mode 100755, was 100644)",
                 b"Binary files a/gone and /dev/null differ",
                 b"Binary files /dev/null and b/made differ",
                 b"Binary files a/linked and b/linked differ (mode 120000, "
                 b"was 100644)",
                 b"Binary files a/old name and b/moved differ",
                 b"Files a/big and b/big are too long to compare, or cannot be "
                 b"found or read"):
        contains(b"\n" + patch, b"\nNot in this patch: " + line + b"\n")
    equal(patch.count(b"diff --git"), 2)
    expected = tree(copy)
    expected["text"] = tree(share)["text"]
    expected["last"] = tree(share)["last"]
    subprocess.run(["git", "apply"], cwd=copy, input=patch, check=True)
    equal(tree(copy), expected)
    subprocess.run(["git", "apply", "-R"], cwd=share, input=patch, check=True)
    with open(share + "/text") as file:
        equal(file.read(), "a\n")


@test
def diff_of_closed_files(place):
    """a file that its user may not read costs nothing but its own content"""
    share = place.share
    subprocess.run(["sh", "-ec", """
        mkdir src; echo a > src/f1.c; echo a > src/f2.c; ln src/f2.c hard
        echo a > shut; echo a > open
        """], cwd=share, check=True)
    with Daemon(place) as daemon:
        daemon.step(1, "rm -rf src; chmod 000 hard; echo b > open;"
                    "echo b > shut; chmod 000 shut")
    who = {}
    if os.geteuid() == 0:
        subprocess.run(["chown", "-hR", "65534:65534", place.root], check=True)
        who = {"user": 65534, "group": 65534, "extra_groups": []}
    done = subprocess.run([PROGRAM, "diff", "-C", share], capture_output=True,
                          env=place.environment(), timeout=60, **who)
    equal((done.returncode, done.stderr), (0, b""))
    for name in ("a/src/f2.c and /dev/null", "a/shut and b/shut"):
        contains(done.stdout.decode(), "Not in this patch: Files %s are too "
                 "long to compare, or cannot be found or read" % name)
    contains(done.stdout, b"--- a/open\n+++ b/open\n@@ -1 +1 @@\n-a\n+b\n")
    contains(done.stdout, b"--- a/src/f1.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")


@test
def diff_refused(place):
    """diff says why there is none"""
    equal(call(place, "diff", "-C", place.share)[0], 1)
    with Daemon(place) as daemon:
        status, out, err = call(place, "diff", "-C", place.share)
        equal((status, out), (1, b""))
        contains(err, "the history is empty")
        daemon.step(1, "head -c 3000000 /dev/zero > big; echo a > text")
    status, out, err = call(place, "diff", "9", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "step 9: not in the history")
    status, out, err = call(place, "diff", "nosuchstep", "-C", place.share)
    equal((status, out), (1, b""))
    contains(err, "step 1 changed nothing at nosuchstep")
    equal(call(place, "diff", "nosuch", "text", "-C", place.share)[0], 0)
    out = call(place, "diff", "-C", place.share)[1]
    contains(out, b"Files /dev/null and b/big are too long to compare")
    contains(out, b"+a\n")
    equal(call(place, "diff", "--color", "x", "-C", place.share)[0], 2)
    out = call(place, "diff", "--color=always", "-C", place.share)[1]
    contains(out, b"\033[32m+a\033[m\n")


@test
def diff_on_a_terminal(place):
    """what a file or a name holds does nothing to the terminal"""
    held = (b"\x1b]0;title\x07 \x1b]52;c;eA==\x07 \x1b[31m \x7f \r \x08 "
            b"\xc2\x9b31m \x9b31m \xff \xe2\x80\xae \xcc\x88a \xe2\x82\xac\tb\n")
    with Daemon(place) as daemon:
        with open(place.root + "/held", "wb") as file:
            file.write(held)
        daemon.step(1, "cat ../held > text; ln -s \"$(cat ../held)\" link;"
                    "echo > \"$(cat ../held)\"; printf '\\302\\23331m\\177' > ../name;"
                    "echo > \"$(cat ../name)\"")
    equal(call(place, "diff", "1", "text", "-C", place.share)[1].split(b"+")[-1],
          held)
    for words in ([], ["--color=always"], ["--json"]):
        out = on_terminal(place, "diff", *words, "-C", place.share, NO_COLOR="1")
        if words == ["--color=always"]:
            for color in "", "1", "32", "36":
                out = out.replace("\033[%sm" % color, "")
        odd = {c for c in out if ord(c) < 0x20 and c not in "\n\t" or
               0x7f <= ord(c) < 0xa0 or c == "\u202e"}
        equal(odd, set())
        if not words:
            contains(out, "+^[]0;title^G ^[]52;c;eA==^G ^[[31m ^? ^M ^H "
                     "<U+009B>31m <9B>31m <FF> <U+202E> \u0308a \u20ac\tb\n")


@test
def diff_is_cut(place):
    """diff says when the log does not list all of a step's changes"""
    steps(place, "for i in $(seq 1050); do : > f$i; done", ": > g")
    status, out, err = call(place, "diff", "1", "-C", place.share)
    equal((status, out.count(b"diff --git")), (0, 1000))
    contains(err, "step 1 has 50 more changes, which are not in this patch")
    out = call(place, "preview", "2", "-C", place.share)[1]
    equal(out.splitlines()[-1], b"    and 50 more")
    equal(json.loads(call(place, "diff", "1", "-C", place.share,
                          "--json")[1])["cut"], 50)
    equal(call(place, "diff", "2", "-C", place.share)[2], "")


@test
def diff_of_a_large_folder(place):
    """of a renamed folder with very many files, diff says what is missing"""
    os.mkdir(place.share + "/d")
    for number in range(26000):
        with open(place.share + "/d/%d" % number, "w"):
            pass
    steps(place, "mv d e; echo x > f")
    status, out, err = call(place, "diff", "1", "-C", place.share)
    equal((status, err, out.count(b"rename from")), (0, "", 0))
    contains(out, b"Folder renamed: d to e (too many files in it: they are not "
             b"in this patch)\n")
    contains(out, b"diff --git a/f b/f\n")
    subprocess.run(["git", "apply", "-R"], cwd=place.share, input=out,
                   check=True)
    equal(os.listdir(place.share), ["e"])


# What becomes of a path: the command before the step, and that of the step.
CASES = {
    "the same content": ("echo a > f", "cp f t; cat t > f; rm t"),
    "the same content, replaced": ("echo a > f", "cp f t; mv t f"),
    "another mode, git's": ("echo a > f", "chmod 755 f"),
    "another mode, none of git's": ("echo a > f", "chmod 600 f"),
    "set-id": ("echo a > f; chmod 755 f", "chmod 4711 f; echo b > f"),
    "a symlink": ("", "ln -s nowhere l"),
    "a symlink, and back": ("ln -s a l", "ln -sfn b l"),
    "a symlink goes": ("ln -s a l", "rm l"),
    "a symlink moves to where it was in the way":
        ("mkdir d; echo x > d/x; ln -s d l", "mv l t; mkdir l; mv t l/in; echo > l/x"),
    "a file becomes a symlink": ("echo a > f", "ln -sf x f"),
    "a symlink becomes a file": ("ln -s x f", "rm f; echo a > f"),
    "a file becomes a folder": ("echo a > f", "rm f; mkdir f; echo b > f/g"),
    "a folder becomes a symlink": ("mkdir d; echo a > d/f", "rm -r d; ln -s x d"),
    "a folder becomes a file": ("mkdir d; echo a > d/f", "rm -r d; echo x > d"),
    "a folder moves": ("mkdir d; echo a > d/f; ln -s f d/l", "mv d e"),
    "a folder moves, and a file in it changes":
        ("mkdir -p d/s; echo a > d/s/f; echo b > d/g", "mv d e; echo c >> e/s/f;"
         "chmod +x e/g; echo new > e/new"),
    "folders change places":
        ("mkdir d e; echo a > d/f; echo b > e/f; echo c > e/g",
         "mv d t; mv e d; mv t e; echo x >> e/f"),
    "a folder moves into one that moves":
        ("mkdir d e; echo a > d/f; echo b > e/g", "mv d e/d; mv e h; rm h/g"),
    "a folder moves to where one was":
        ("mkdir d e; echo a > d/f; echo b > e/f", "rm -r d; mv e d"),
    "empty files": (": > e; echo a > f", ": > f; rm e; : > g"),
    "no newline at the end": ("printf a > f; echo b > g", "printf b > f; printf b > g"),
    "odd names": ("", "for n in ' a' 'a ' 'a b' 'a\tb' 'a\"b' 'a\\b' \"$(printf 'a\\nb')\""
                  " \"$(printf 'a\\377')\" \"$(printf '\\001')\" -rf 'é' '...';"
                  "do echo x > \"./$n\"; done; mkdir 'x b'; echo x > 'x b/x'"),
    "odd names move": ("mkdir 'd d'; echo x > 'd d/a\tb'; echo y > 'd d/a b'",
                       "mv 'd d' 'e\"e'; mkdir 'x b'; mv 'e\"e/a b' 'x b/x'"),
    "odd names go": ("echo x > 'a b'; echo > 'a\"b'", "rm a*; : > 'c d'"),
    "special files": ("mkfifo p; mkfifo q", "rm p; mkfifo r; mv q s"),
    "a special file becomes one of git's": ("mkfifo p; echo a > f",
                                            "rm p f; echo x > p; mkfifo f"),
    "hard links": ("echo a > f; echo b > g", "ln f h; mv g i; ln i j; rm i"),
    "binary": ("printf 'a\\0' > b; echo a > f", "printf 'b\\0' > b; echo b > f"),
    "CRLF and white space": ("printf 'a\\r\\nb \\n' > f", "printf 'a\\r\\nc\\t\\n' > f"),
    "empty folders": ("mkdir d; mkdir -p e/e", "rmdir d; mv e h; mkdir i"),
    "a mode, of a folder": ("mkdir d", "chmod 700 d"),
    "git's own": ("mkdir .git; echo a > .git/x; echo a > f",
                  "echo b > .git/x; echo b > f; mkdir -p s/.GIT s/GIT~1;"
                  "echo > s/.GIT/y; echo > s/GIT~1/z; echo > '.git .';"
                  "mv .git/x g; ln -s x .gitmodules; echo ok > .gitignore"),
}
# Of these git has no words for a part, which stays as it is.
PARTLY = ("a special file becomes one of git's", "binary", "git's own")


@test
def diff_of_each_kind(place):
    """git apply takes the patch of each kind of change, both ways"""
    trees = []
    with Daemon(place) as daemon:
        for number, (kind, commands) in enumerate(CASES.items()):
            folder = "k%d" % number
            top = place.share + "/" + folder
            os.mkdir(top)
            copies = [place.root + "/%s%d" % (folder, i) for i in (0, 1)]
            for i, command in enumerate(commands):
                if i == 0:
                    subprocess.run(["sh", "-ec", command], cwd=top, check=True)
                else:
                    daemon.step(number + 1, "cd %s; %s" % (folder, command))
                shutil.copytree(top, copies[i], symlinks=True,
                                ignore_dangling_symlinks=True,
                                ignore=lambda at, names: [
                                    n for n in names if stat.S_ISFIFO(
                                        os.lstat(at + "/" + n).st_mode)])
            trees.append((kind, copies, [tree(copy) for copy in copies]))
    for number, (kind, copies, states) in enumerate(trees):
        status, patch, err = call(place, "diff", str(number + 1), "-C",
                                  place.share)
        equal((kind, status, err), (kind, 0, ""))
        if b"diff --git" not in patch:
            if kind not in PARTLY:
                equal((kind, *states[1:]), (kind, *states[:1]))
            continue
        for way, (copy, wanted) in enumerate(zip(copies, states[::-1])):
            words = ["git", "apply", "-p2", "--whitespace=nowarn"] + ["-R"] * way
            for more in (["--check"], []):
                done = subprocess.run(
                    words + more, cwd=copy, input=patch, capture_output=True,
                    env={**os.environ, "GIT_DIR": place.root + "/none"})
                equal((kind, way, done.returncode, done.stderr),
                      (kind, way, 0, b""))
            if kind not in PARTLY:
                equal((kind, way, tree(copy)), (kind, way, wanted))


main()
