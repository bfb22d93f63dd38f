# SPDX-License-Identifier: Apache-2.0
"""A guest that keeps names, attributes and lists for long sees each change of the
host's at once: an undo, a redo, an edit. The guest's view of the folder is
compared with the host's, also while processes of the guest use what changes.
"""
import contextlib
import subprocess

from stdio_client import equal

VIEW = ("find . -print0 | LC_ALL=C sort -z | LC_ALL=C xargs -0 "
        "stat -c '%n|%s|%a|%Y|%F'")
# On the host the undo log has further links.
LINKS = "stat -c '%n %h' d2/1?"
PREPARE = r"""
mkdir d{1..5} many
for d in d?; do for f in {1..20}; do echo $d $f >$d/$f; done; done
(cd many; touch {1..2500})
echo odd >d5/$'\xff\n'
mkdir same; touch -d 2001-02-03 same
"""
CHANGE = r"""
mv d1 d9; mkdir d1; echo new >d1/3
rm d2/?; mv d2/10 d2/11; ln d2/12 d2/more
sed -i s/d3/changed/ d3/5; chmod 600 d4/7; touch -d 2001-02-03 d4/8
rm d5/$'\xff\n'; mkdir d5/$'\xff\n'
find many -type f -print0 | xargs -0 chmod 600
"""
SAME_TIME = r"""
echo x >same/new; touch -d 2001-02-03 same; sleep 2.5; ls same; ls same
"""
USED = r"""
mv d3 e3; mkdir d3; echo x >d3/5; rm e3/6; mv e3/7 e3/8; chmod 600 e3/9
"""


def guest(box, script, *options):
    done = box.run("exec", "-q", "-w", "/mnt/working", *options, "--", "bash",
                   "-ec", script)
    equal((done.returncode, done.stderr), (0, b""))
    return done.stdout


def on_host(box, script):
    return subprocess.run(["bash", "-ec", script], cwd=box.place.share,
                          check=True, stdout=subprocess.PIPE).stdout


def same(seen, real):
    seen, real = (set(view.split(b"\n")) for view in (seen, real))
    equal((seen - real, real - seen), (set(), set()))


def seen_alike(box, where="."):
    look = "cd %s; %s" % (where, VIEW)
    same(guest(box, look, "--step=none"), on_host(box, look))


@contextlib.contextmanager
def job(box, script):
    id = box.text("exec", "-d", "--step=none", "-w", "/mnt/working", "--",
                  "bash", "-c", script).strip()
    try:
        yield id
    finally:
        box.text("job", "kill", id)


def undone_and_redone(box):
    links = {"undo": guest(box, LINKS, "--step=none")}
    guest(box, CHANGE + VIEW)
    links["redo"] = guest(box, LINKS, "--step=none")
    for verb in "undo", "redo", "undo":
        box.text(verb, *(["-y"] if verb == "undo" else []))
        seen_alike(box)
        same(guest(box, LINKS, "--step=none"), links[verb])


def listed_at_the_same_time(box):
    """A folder's list of names, which the guest keeps after a moment, also while
    a process is in the folder."""
    with job(box, "cd same; echo $$ >/tmp/lister; exec sleep 1000"):
        guest(box, "until [ -s /tmp/lister ]; do sleep 0.1; done", "--step=none")
        equal(guest(box, SAME_TIME), b"new\nnew\n")
        box.text("undo", "-y")
        equal(guest(box, "ls same", "--step=none"), b"")
        on_host(box, SAME_TIME)
        equal(guest(box, "ls same; ls same; ls same", "--step=none"), b"new\n" * 3)
        on_host(box, "rm same/new; touch -d 2001-02-03 same")
        equal(guest(box, "ls same", "--step=none"), b"")


def edited_on_the_host(box):
    for i in range(4):
        on_host(box, "mv d4/1 d4/x; echo %d >>d4/2; echo >d1/new%d; rm d4/%d" %
                (i, i, i + 11))
        seen_alike(box)
        on_host(box, "mv d4/x d4/1")
        seen_alike(box)


def used_by_a_process(box):
    """A working directory and an open file are kept whatever comes."""
    with job(box, "cd d3; exec 3<5; echo $$ >/tmp/user; exec sleep 1000"):
        guest(box, "until [ -s /tmp/user ]; do sleep 0.1; done", "--step=none")
        look = "cd /proc/$(cat /tmp/user)/cwd; " + VIEW
        guest(box, USED)
        guest(box, look, "--step=none")
        box.text("undo", "-y")
        same(guest(box, look, "--step=none"), on_host(box, "cd d3; " + VIEW))
        seen_alike(box)


def looked_at_all_the_time(box):
    """Commands that look and write while the folder changes below them."""
    looks = "while :; do %s >/dev/null; done" % VIEW.replace("find .", "find d?")
    with job(box, looks), job(box, looks):
        for _ in range(3):
            before = box.snapshot()
            guest(box, CHANGE.replace("many", "d4").replace("d4/7", "d5/7"))
            box.text("undo", "-y")
            seen_alike(box)
            equal(box.snapshot(), before)


def names_are_kept(box):
    guest(box, PREPARE)
    seen_alike(box)
    undone_and_redone(box)
    listed_at_the_same_time(box)
    edited_on_the_host(box)
    used_by_a_process(box)
    looked_at_all_the_time(box)
