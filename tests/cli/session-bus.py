#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The option --session-bus: its rules, and where it is refused. tests/local/local-bus.py
has what the rules do."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
from local_case import call, run  # noqa: E402
from stdio_client import contains, equal, main, test  # noqa: E402

RULE = "org.example.One=org.example.One.Ping@/org/example"


@test
def grammar(place):
    """an error in a rule names the part, its column and the remedy"""
    example = "such as org.freedesktop.Notifications="
    for value, *parts in (
            ("", "a rule is empty", example),
            ("x=a.b.C", "'x=a.b.C': column 1: 'x' is not the name of a service", example),
            ("a.*=a.b.C", "column 1: 'a.*' is not the name of a service"),
            (":1.5=a.b.C", "column 1: ':1.5' is not the name of a service"),
            ("a..b=a.b.C", "column 1: 'a..b' is not"),
            ("a.b\n=a.b.C", "is not the name of a service"),
            ("a.b=a.b.C,", "a rule is empty"),
            ("a.b", "'a.b': names no method; use a.b=INTERFACE.METHOD", "a.b=* for all"),
            ("a.b=", "column 5: '' is not INTERFACE.METHOD", example),
            ("a.b=c", "column 5: 'c' is not INTERFACE.METHOD"),
            ("a.b=c.D", "column 5: 'c.D' is not INTERFACE.METHOD"),
            ("a.b=c.*", "column 5: 'c.*' is not INTERFACE.METHOD"),
            ("a.b=**", "column 5: '**' is not INTERFACE.METHOD"),
            ("a.b=*.D", "column 5: '*.D' is not INTERFACE.METHOD"),
            ("a.b=c.d-e.F", "column 5: 'c.d-e.F' is not INTERFACE.METHOD"),
            ("a.b=c.d.*.e", "column 5: 'c.d.*.e' is not INTERFACE.METHOD"),
            ("a.b=@/", "column 5: '' is not INTERFACE.METHOD"),
            ("a.b=c.d=E", "column 5: 'c.d=E' is not INTERFACE.METHOD"),
            ("a.b.c=a.b.c", "'a.b.c' is an interface without a method; add one, or .*"),
            ("a.b=c.d.E@", "column 11: '' is not the path of an object"),
            ("a.b=c.d.E@x", "column 11: 'x' is not the path", "/org/example/*"),
            ("a.b=c.d.E@/x/", "column 11: '/x/' is not the path"),
            ("a.b=c.d.E@/x//y", "column 11: '/x//y' is not the path"),
            ("a.b=c.d.E@/x*", "column 11: '/x*' is not the path"),
            ("a.b=c.d.E@/*/x", "column 11: '/*/x' is not the path"),
            ("a.b=c.d.E@/x@/y", "column 11: '/x@/y' is not the path"),
            ("a.b=c.d.E@/\u00e9", "is not the path of an object"),
            (b"a.b=c.d.\xff", "Invalid byte sequence"),
            ("a." + "b" * 254 + "=a.b.C", "is not the name of a service"),
            ("a.b=c.d.E@/" + "x" * 1024, "a rule is longer than 1024 bytes"),
            (",".join(["a.b=c.d.E"] * 65), "more than 64 rules"),
            ("org.freedesktop.DBus=*", "is the bus itself", "leave it out")):
        option = b"--session-bus=" + (value if isinstance(value, bytes) else value.encode())
        status, _, err = run(place, "true", options=(option,))
        equal((value, status), (value, 2))
        for part in parts:
            contains(err, part)


@test
def refused(place):
    """a virtual machine, root and config.ini have no bus"""
    rule = "--session-bus=" + RULE
    status, _, err = call(place, "run", rule, "--", "true")
    equal(status, 125)
    contains(err, "--session-bus (\"session_bus\"): only for --isolation=local")
    if os.geteuid() == 0:
        status, _, err = run(place, "true", options=(rule,))
        equal(status, 125)
        contains(err, "not for root")
        contains(err, "run stepback as the user of the session")
    os.makedirs(place.root + "/config/stepback")
    with open(place.root + "/config/stepback/config.ini", "w") as file:
        file.write("[defaults]\nsession-bus = %s\n" % RULE)
    status, _, err = run(place, "true")
    assert status != 0
    contains(err, "session-bus")


main()
