# SPDX-License-Identifier: Apache-2.0
"""What the tests of stepback-net look at, and how they are run."""
import ipaddress
import sys
import time
import traceback

import net_lab as lab
from net_guest import Connection, Failed, Packet, echo
from sanitizer import is_sanitized


def check(condition, text):
    if not condition:
        raise Failed(text)


def equal(found, wanted, text):
    check(found == wanted, f"{text}: {found!r}, not {wanted!r}")


def says(guest, address, who=None, **more):
    """TCP and UDP get there and back."""
    connection = guest.connect(address, **more)
    check(isinstance(connection, Connection), f"{address}: {connection}")
    equal(connection.read(), (who or address).encode(), address)
    connection.write(b"hello, hello")
    equal(connection.read(), b"hello, hello", address)
    answer = guest.ask_udp(address, **more)
    check(isinstance(answer, Packet), f"{address}: UDP: {answer}")
    check(answer.data.startswith((who or address).encode()), answer.data)
    equal(answer.source, str(ipaddress.ip_address(address)), "the source")
    return connection


def is_shut(guest, address, **more):
    """Neither arrives, and the guest gets an error."""
    equal(guest.connect(address, **more), "refused", f"{address}, TCP")
    equal(guest.ask_udp(address, **more), "refused", f"{address}, UDP")
    if address not in ("10.0.2.2", "fec0::2"):  # which answers that itself
        guest.send(echo(address, **more))
        check(guest.wait(lambda found: found.is_refusal()), f"{address}, echo")


def memory(guest):
    """The most that it had at a time, in MB; 0 where a sanitizer's own is too
    much to tell."""
    if is_sanitized(guest.process.pid):
        return 0
    with open(f"/proc/{guest.process.pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) >> 10
    return 0


# ---- the runner -------------------------------------------------------------

def main(names):
    """Run the functions test_*, or those whose names are given. TAP."""
    why = lab.enter()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    tests = [value for name, value in names.items()
             if name.startswith("test_") and
             (len(sys.argv) < 2 or name in sys.argv[1:])]
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    network = lab.Lab()
    for number, test in enumerate(tests, 1):
        begin = time.monotonic()
        try:
            test()
            word = "ok"
        except Exception:  # pylint: disable=broad-except
            for line in traceback.format_exc().splitlines():
                print("#", line)
            word, failed = "not ok", failed + 1
        print(f"{word} {number} - {test.__name__[5:].replace('_', ' ')} "
              f"({time.monotonic() - begin:.1f} s)", flush=True)
    network.close()
    return 1 if failed else 0

