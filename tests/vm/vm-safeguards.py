#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Safeguards in a real virtual machine: one start for each backend, many cases.

Two folders and a read-only one. Ids such as SG-01 are the test plan's.
STEPBACK_TEST_MINIMAL names another image than minimal, STEPBACK_TEST_BACKEND
the only backend to try. It is skipped without QEMU or an image.
"""
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import guest_start  # noqa: E402
from stdio_client import (Agent, Place, equal, eventually,  # noqa: E402
                          snapshot)

IMAGE = os.environ.get("STEPBACK_TEST_MINIMAL", "minimal")
BACKENDS = os.environ.get("STEPBACK_TEST_BACKEND", "virtiofs 9p").split()
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
TRIGGERED = "event.safeguard_triggered"
CASES = []


def case(function):
    CASES.append(function)
    return function


class Session:
    def __init__(self, place, backend):
        self.place = place
        self.folders = [os.path.join(place.root, name) for name in "ab"]
        self.lib = os.path.join(place.root, "lib")
        for folder in self.folders + [self.lib]:
            os.mkdir(folder)
            for i in range(6):
                with open("%s/f%d" % (folder, i), "w") as file:
                    file.write("text %d\n" % i)
            with open(folder + "/big", "wb") as file:
                file.write(os.urandom(300000))
        self.agent = Agent(place, STEPBACK_QEMU=None, XDG_CACHE_HOME=CACHE)
        vm = guest_start.plan(self.agent.env, IMAGE, backend)
        paths = [{"path": path} for path in self.folders]
        answer = self.agent.start(
            working_directories=paths + [{"path": self.lib,
                                          "access": "read_only"}],
            backend=backend,
            vm=vm, agent_command="cat; echo; echo done")
        assert answer["status"] == "ok", answer
        guest_start.check(self.agent.process.pid, vm)
        self.before = snapshot(*self.folders)

    def rules(self, **rules):
        off = {"delete_threshold": None, "rename_over_existing": False,
               "overwrite_file_size_threshold": None, "timeout_seconds": 120}
        answer = self.agent.ask("safeguard.configure", **dict(off, **rules))
        assert answer["status"] == "ok", answer

    def run(self, command, expect=0):
        answer = self.agent.ask("agent.execute", command=command)
        assert answer["status"] == "ok", answer
        equal((command, answer["payload"]["exit_code"]), (command, expect))
        return answer["payload"]

    def output(self, command):
        mark = len(self.agent.seen)
        self.run(command)
        return "".join(m["payload"]["data"] for m in self.agent.seen[mark:]
                       if m["type"] == "event.terminal_output")

    def trigger(self, command):
        id = self.agent.send("agent.execute", command=command)
        return id, self.agent.event(TRIGGERED)

    def answer(self, id, event, action):
        self.agent.ask("safeguard.confirm", action=action,
                       safeguard_id=event["safeguard_id"])
        return self.agent.response(id)

    def held(self):
        return self.agent.ask("session.status")["payload"]["held"]

    def same(self):
        equal(snapshot(*self.folders), self.before)


@case
def folders_are_mounted(s):
    """SL-02: each folder is mounted; the read-only one cannot be changed"""
    text = s.output("cat /mnt/working/2/f1; pwd; cat f2 /mnt/working/1/f3")
    equal(text, "text 1\n/mnt/working/0\ntext 2\ntext 3\n")
    s.run("touch /mnt/working/2/x", expect=1)
    s.run("mount -o remount,rw /mnt/working/2; rm /mnt/working/2/f1", expect=1)
    equal(sorted(os.listdir(s.lib)), ["big"] + ["f%d" % i for i in range(6)])
    report = s.run("echo x > n; echo y > /mnt/working/1/n")
    equal([(c["directory"], c["path"]) for c in report["changes"]],
          [("a", "n"), ("b", "n")])
    s.agent.ask("undo.rollback")
    s.same()
    equal(s.output("ls n /mnt/working/1/n 2>/dev/null; echo gone"), "gone\n")


@case
def deletes_wait(s):
    """SG-01, SG-08, SG-09: QEMU stands still before the deletion at the line"""
    s.rules(delete_threshold=3)
    id, event = s.trigger("(while :; do date > /mnt/working/1/clock; done) &"
                          " sleep 0.3; rm f*; kill $!; rm /mnt/working/1/clock")
    equal((event["kind"], event["delete_count"], event["directory"]),
          ("delete", 3, "a"))
    equal(len(event["sample_paths"]) >= 2, True)
    equal(len(os.listdir(s.folders[0])), 5)
    assert eventually(s.held, 10)
    # The clock's folder asks nothing, and yet nothing writes there: once the
    # request that its daemon had when the machine stopped is done.
    time.sleep(0.2)
    seen = os.stat(s.folders[1] + "/clock").st_mtime_ns
    time.sleep(1)
    equal(os.stat(s.folders[1] + "/clock").st_mtime_ns, seen)
    equal(len(os.listdir(s.folders[0])), 5)
    # SG-02
    equal(s.answer(id, event, "allow")["payload"]["exit_code"], 0)
    equal((os.listdir(s.folders[0]), s.held()), (["big"], False))
    s.agent.ask("undo.rollback")
    s.same()


@case
def denied_is_taken_back(s):
    """SG-03: denied: its processes end, and all folders are as before"""
    s.rules(delete_threshold=3)
    id, event = s.trigger("sleep 1000 & echo x > new; echo y >"
                          " /mnt/working/1/new; rm f*; touch after;"
                          " while :; do touch after2; done")
    error = s.answer(id, event, "deny")["error"]
    equal((error["number"], s.held()), (5001, False))
    s.same()
    equal(s.output("ps | grep -c '[s]leep 1000'; ls | wc -l").split(),
          ["0", "7"])
    s.same()


@case
def two_folders_wait(s):
    """two folders ask, at once or one after the other; one no is enough"""
    s.rules(delete_threshold=3)
    for last, number in (("allow", None), ("deny", 5001)):
        mark = len(s.agent.seen)
        id = s.agent.send("agent.execute",
                          command="rm f* & rm /mnt/working/1/f* & wait")

        def asked():
            s.agent.ask("session.status")
            return [m["payload"] for m in s.agent.seen[mark:]
                    if m["type"] == TRIGGERED]

        assert eventually(lambda: len(asked()) > 0, 60)
        first = asked()[0]
        s.agent.ask("safeguard.confirm", action="allow",
                    safeguard_id=first["safeguard_id"])
        # The machine may have stopped before the other folder's turn came.
        assert eventually(lambda: len(asked()) == 2, 60)
        second = asked()[1]
        equal({first["directory"], second["directory"]}, {"a", "b"})
        assert eventually(s.held, 10)
        equal(len(os.listdir(s.folders[second["directory"] == "b"])), 5)
        answer = s.answer(id, second, last)
        equal((answer.get("error", {}).get("number"), s.held()),
              (number, False))
        if number is None:
            equal([os.listdir(folder) for folder in s.folders], [["big"]] * 2)
            s.agent.ask("undo.rollback")
        s.same()


@case
def silence_denies(s):
    """SG-04: no answer in time"""
    s.rules(delete_threshold=2, timeout_seconds=1)
    answer = s.agent.ask("agent.execute", command="rm f*")
    equal((answer["error"]["number"], s.held()), (5001, False))
    s.same()


@case
def large_files_wait(s):
    """SG-05: to overwrite a large file is held"""
    s.rules(overwrite_file_size_threshold=100000)
    id, event = s.trigger("echo x > /mnt/working/1/big")
    equal((event["kind"], event["path"], event["file_size"],
           event["directory"]), ("overwrite", "big", 300000, "b"))
    equal(s.answer(id, event, "deny")["error"]["number"], 5001)
    s.same()
    equal(s.output("wc -c < /mnt/working/1/big").strip(), "300000")


@case
def renames_wait(s):
    """SG-06: to rename over a file is held"""
    s.rules(rename_over_existing=True)
    id, event = s.trigger("mv f1 f2")
    equal((event["kind"], event["path"], event["from"]),
          ("rename_over_existing", "f2", "f1"))
    equal(s.answer(id, event, "deny")["error"]["number"], 5001)
    s.same()


@case
def many_are_held(s):
    """SG-07: many processes that wait: all go on"""
    s.rules(delete_threshold=2)
    id, event = s.trigger("for i in 1 2 3 4 5 6 7 8 9; do rm f$i n$i"
                          " 2>/dev/null; echo $i > p$i & done; wait")
    equal(s.answer(id, event, "allow")["status"], "ok")
    equal(len([n for n in os.listdir(s.folders[0]) if n[0] == "p"]), 9)
    s.agent.ask("undo.rollback")
    s.same()


@case
def prompts_are_input(s):
    """agent.prompt: the prompt is the command's input, all of it"""
    s.rules()
    for size in (0, 100, 300000):
        mark = len(s.agent.seen)
        answer = s.agent.ask("agent.prompt", prompt="x" * size)
        if "shim" in answer.get("error", {}).get("message", ""):
            return "the image's shim is an old one"
        equal(answer["payload"]["exit_code"], 0)
        text = "".join(m["payload"]["data"] for m in s.agent.seen[mark:]
                       if m["type"] == "event.agent_output")
        equal(text, "x" * size + "\ndone\n")
    return None


@case
def the_end_is_clean(s):
    """SL-08: nothing is left"""
    equal(s.agent.ask("session.stop")["payload"], {"state": "stopped"})
    equal((s.agent.children(), s.place.sessions()), ([], []))
    equal(s.agent.close(), 0)


def tell(lines):
    for line in lines:
        print("# " + line)


def run_cases(backend, first):
    """How many failed."""
    place = Place()
    session = Session(place, backend)
    failed = 0
    for number, function in enumerate(CASES, first):
        verdict, note = "ok", None
        mark = len(session.agent.log())
        try:
            note = function(session)
        except Exception as error:
            verdict = "not ok"
            failed += 1
            line = error.__traceback__.tb_next
            tell(["log: " + text[:300]
                  for text in session.agent.log()[mark:][-15:]])
            tell(("line %d: %s" % (line.tb_lineno if line else 0,
                                   str(error)[:2000] or repr(error))).split("\n"))
        print("%s %d - %s: %s%s" % (verdict, number, backend,
                                    function.__doc__,
                                    " # SKIP " + note if note else ""),
              flush=True)
    session.agent.kill()
    place.remove()
    return failed


def main():
    kernel = os.path.join(CACHE, "stepback/guest", IMAGE, "vmlinuz")
    if not shutil.which("qemu-system-x86_64") or not os.path.exists(kernel):
        print("1..0 # SKIP there is no QEMU or no guest image")
        return
    print("1..%d" % (len(CASES) * len(BACKENDS)), flush=True)
    failed = 0
    for number, backend in enumerate(BACKENDS):
        failed += run_cases(backend, number * len(CASES) + 1)
    sys.exit(failed > 0)


main()
