# SPDX-License-Identifier: Apache-2.0
"""What an agent's command can do to a project: shell scripts, run in the folder.

BASE makes the project that all accidents happen to: a git repository with tracked,
changed, untracked and ignored files, links, extended attributes, a sparse file and
a database. Beside it is a store, which shares a file with the project by a hard
link, as package managers do."""
from collections import namedtuple

BASE = r"""
set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE=2026-01-01T00:00:00Z
git init -q -b main .
git config user.name A && git config user.email a@example.org
mkdir -p src/deep/er docs tools
for i in $(seq 60); do echo "int f$i(void) { return $i; }" >src/f$i.c; done
for i in $(seq 20); do seq $i 500 >src/deep/er/data$i; done
printf 'build/\nnode_modules/\n.env\n*.db*\n' >.gitignore
printf '#!/bin/sh\necho ran\n' >tools/run && chmod 755 tools/run
ln -s ../src/f1.c docs/current && ln -s /nowhere docs/dangling
git add -A && git commit -qm 'first'
echo changed >>src/f2.c && echo staged >src/staged.c && git add src/staged.c
echo 'KEY=secret' >.env && chmod 600 .env
mkdir -p build empty && seq 3000 >build/out.o && chmod 700 empty
ln src/f3.c docs/linked.c && ln src/f3.c src/deep/linked.c
ln ../store/pack package.bin 2>/dev/null || cp ../store/pack package.bin
for i in $(seq 300); do
    mkdir -p node_modules/m$((i % 30))/lib
    echo "module.exports = $i" >node_modules/m$((i % 30))/lib/$i.js
done
setfattr -n user.origin -v here src/f4.c
truncate -s 8M image && printf data | dd of=image bs=1 seek=4M conv=notrunc 2>/dev/null
python3 - <<'PYTHON'
import os, sqlite3
db = sqlite3.connect("app.db")
db.execute("create table t(a integer primary key, b text)")
db.executemany("insert into t(b) values (?)", [("row %d" % i,) for i in range(2000)])
db.commit()
os.mkdir(b"odd")
for name in (b"a\xffb", b"new\nline", b"-rf", b" ", b"x" * 255):
    with open(os.path.join(b"odd", name), "wb") as file:
        file.write(name)
PYTHON
touch -d '2020-02-02 02:02:02.123456789' src/f5.c docs empty
"""

# title: what happens; script; by_tool: files that the agent's own edit tool
# writes, which it could have copied before. prepare: more than BASE.
Accident = namedtuple("Accident", "title script by_tool prepare",
                      defaults=((), ""))

ACCIDENTS = [
    Accident("an edit by the agent's tool", "echo edited >src/f1.c", ("src/f1.c",)),
    Accident("an edit by the tool, and one by the shell",
             "echo edited >src/f1.c; sed -i s/return/ret/ src/f6.c", ("src/f1.c",)),
    Accident("`rm -rf src`", "rm -rf src"),
    Accident("`git clean -fdx`", "git clean -fdxq"),
    Accident("`mv` over another file", "mv src/f7.c src/f8.c"),
    Accident("`sed -i` on a file with three names", "sed -i s/return/RETURN/ src/f3.c"),
    Accident("a write to a file that a store shares", "echo broken >package.bin"),
    Accident("`chmod -R`", "chmod -R 777 ."),
    Accident("`tar x` over the tree", r"""
        mkdir /tmp/t$$ && mkdir /tmp/t$$/src && echo older >/tmp/t$$/src/f9.c &&
        ln -s f9.c /tmp/t$$/src/f10.c && tar cf /tmp/t$$.tar -C /tmp/t$$ src &&
        tar xf /tmp/t$$.tar; rm -rf /tmp/t$$ /tmp/t$$.tar"""),
    Accident("truncated files", ": >src/f11.c; truncate -s 10 build/out.o; : >.env"),
    Accident("two files that change names",
             "mv src/f12.c t; mv src/f13.c src/f12.c; mv t src/f13.c"),
    Accident("a symbolic link that leads elsewhere",
             "ln -sfn ../src/f14.c docs/current; rm docs/dangling; mkdir docs/dangling"),
    Accident("packages installed anew", r"""
        rm -rf node_modules; for i in $(seq 300); do
            mkdir -p node_modules/m$((i % 30))/dist
            echo "module.exports = -$i" >node_modules/m$((i % 30))/dist/$i.js
        done"""),
    Accident("a database that is written", r"""
        python3 -c 'import sqlite3; d = sqlite3.connect("app.db")
d.execute("pragma journal_mode=wal"); d.execute("delete from t where a % 2"); d.commit()'"""),
    Accident("a sparse file that is filled",
             "dd if=/dev/zero of=image bs=1M count=8 conv=notrunc 2>/dev/null"),
    Accident("lost attributes, and new ones",
             "setfattr -x user.origin src/f4.c; setfattr -n user.new -v 1 src/f15.c"),
    Accident("other content, with the size and time of before", r"""
        touch -r src/f16.c /tmp/m$$; tr r R <src/f16.c >/tmp/n$$
        cat /tmp/n$$ >src/f16.c; touch -r /tmp/m$$ src/f16.c; rm -f /tmp/m$$ /tmp/n$$"""),
    Accident("files with odd names removed and renamed",
             "cd odd && rm -- -rf ' ' && mv -- *line* other && rm x*"),
    Accident("a folder renamed, and another in its place",
             "mv src old && mkdir src && echo new >src/f1.c"),
    Accident("`.git` damaged",
             "rm -rf .git/objects/??; echo broken >.git/HEAD; rm .git/index"),
    Accident("SIZE removed", "rm -rf large", prepare=r"""
        mkdir large; for i in 1 2 3 4 5; do
            head -c $((SIZE / 5)) /dev/urandom >large/$i
        done"""),
]
