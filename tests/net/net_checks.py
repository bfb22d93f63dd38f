# SPDX-License-Identifier: Apache-2.0
"""What the tests of stepback-net look at, and how they are run."""
import ipaddress

import net_lab as lab
from net_guest import Connection, Packet, echo, packed
from sanitizer import is_sanitized
from tap_functions import Failed, check, equal, run  # noqa: F401


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


def opened(guest, address):
    """A connection that has sent who it is, so that no other wait takes that."""
    connection = guest.connect(address)
    connection.read()
    return connection


def connections(address):
    """That are established from here to the address."""
    host = "127.0.0.1" if address == "10.0.2.2" else address
    wanted = f"{int.from_bytes(packed(host), 'little'):08X}:{lab.PORT:04X}"
    with open("/proc/net/tcp", encoding="ascii") as table:
        return sum(line.split()[2:4] == [wanted, "01"] for line in table)


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
    return run(names, lab.enter, lab.Lab, gives=False)
