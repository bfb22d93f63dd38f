#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reports and warnings say of the names that real commands leave: how many,
of any bytes, and of those that another system may not have. The daemons mount
on the host (stdio-folders.py).
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from stdio_client import (contains, done, equal, main,  # noqa: E402
                          open_session, test)


@test
def long_reports_are_cut(place):
    """a report has 1,000 changes at most, and says so"""
    agent = open_session(place, "a", "b")
    report = done(agent, "for i in $(seq 700); do"
                  " : > $i; : > /mnt/working/1/$i; done")
    equal((len(report["changes"]), report["affected"], report["truncated"]),
          (1000, 1400, True))
    equal(report["counts"], {"created": 1400})
    agent.ask("undo.rollback")
    equal(os.listdir(place.root + "/a"), [])
    equal(agent.close(), 0)


@test
def names_of_any_bytes_are_told(place):
    """changes of names that are not UTF-8 travel as base64"""
    agent = open_session(place)
    report = done(agent, "printf x > \"$(printf 'a\\377')\"")
    equal(report["changes"][0], {
        "path": "Yf8=", "encoding": "base64", "change": "created",
        "size_after": 1, "by": "?", "directory": "share"})
    equal(report["affected_paths"],
          [{"path": "Yf8=", "encoding": "base64"}])
    equal(agent.close(), 0)


@test
def odd_names_are_told(place):
    """fs.status: symlinks that lead outside, names that differ by case alone"""
    agent = open_session(place, "a", "b")
    os.symlink("/etc/passwd", place.root + "/a/old")
    report = done(agent, "mkdir d; ln -s /etc/passwd d/away; ln -s ../../x d/up;"
                  " ln -s away d/near; ln -s ../f d/inside; ln -s loop loop;"
                  " ln -s none dangling; echo > f; ln f g")
    warnings = agent.ask("fs.status", directory="a")["payload"]["warnings"]
    outside, = [w for w in warnings if w.get("code") == "symlink_outside"]
    equal((outside["paths"], outside["count"], outside["directory"],
           outside["step_id"]), (["d/away", "d/near", "d/up"], 3, "a",
                                 report["step_id"]))
    contains(outside["message"], "d/away and 2 more: a symlink that escapes")
    equal(agent.first("event.warning"), outside)
    equal([w for w in warnings if w.get("code") == "case_collision"], [])
    # The other folder, names of all kinds, and of a file that was there.
    write = "cd /mnt/working/1; for i in $(seq 20); do echo > n$i; echo > N$i;"
    done(agent, write + " done; mkdir x y; echo > x/Same; echo > y/same")
    done(agent, "cd /mnt/working/1; echo > X; mv y/same x/same;"
         " touch STRASSE \"$(printf 'Stra\\303\\237e')\";"
         " touch \"$(printf 'a\\377')\" \"$(printf 'A\\377')\"")
    warnings = agent.ask("fs.status", directory="b")["payload"]["warnings"]
    equal([w["code"] for w in warnings], ["case_collision"] * 2)
    equal((len(warnings[0]["paths"]), warnings[0]["count"]), (10, 40))
    equal(sorted(warnings[1]["paths"]),
          sorted(["X", "x/same", "STRASSE", "Stra\u00dfe"]))
    # What only changes is no news, nor what has gone again.
    mark = len(agent.seen)
    done(agent, "cd /mnt/working/1; echo 1 > n1; chmod 600 N2; echo > q; "
         "echo > Q; rm Q; ln -s /etc l; rm l")
    done(agent, "ln -s /etc \"$(printf 'l\\377')\"")
    agent.ask("session.status")
    warning, = [m["payload"] for m in agent.seen[mark:]
                if m["type"] == "event.warning"]
    equal(warning["paths"], [{"path": "bP8=", "encoding": "base64"}])
    equal(agent.close(), 0)


main(mounts=True)
