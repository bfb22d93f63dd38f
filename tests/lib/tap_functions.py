# SPDX-License-Identifier: Apache-2.0
"""Runs the functions test_* of a program of tests. TAP on standard output."""
import sys
import time
import traceback


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


def equal(found, wanted, text):
    check(found == wanted, f"{text}: {found!r}, not {wanted!r}")


def run(names, enter, begin, gives=True):
    """Run the functions, or those whose names are given. enter() returns a reason
    to skip them, or None; begin() returns an object with close(), which each
    function gets if gives is set. Return the exit status."""
    why = enter()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    tests = [value for name, value in names.items()
             if name.startswith("test_") and
             (len(sys.argv) < 2 or name in sys.argv[1:])]
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    world = begin()
    for number, test in enumerate(tests, 1):
        start = time.monotonic()
        try:
            test(*[world] if gives else [])
            word = "ok"
        except Exception:  # pylint: disable=broad-except
            for line in traceback.format_exc().splitlines():
                print("#", line)
            word, failed = "not ok", failed + 1
        print(f"{word} {number} - {test.__name__[5:].replace('_', ' ')} "
              f"({time.monotonic() - start:.1f} s)", flush=True)
    world.close()
    return 1 if failed else 0
