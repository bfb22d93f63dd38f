# SPDX-License-Identifier: Apache-2.0
"""Search the memory of processes, also a virtual machine's, for bytes."""
import array
import base64
import os

CHUNK = 16 << 20
PAGE = os.sysconf("SC_PAGESIZE")
PRESENT = 3 << 62  # in memory, or swapped out


def forms(value):
    """The value, and its Base64 with any number of bytes before it."""
    found = {value}
    for before in range(3):
        text = base64.b64encode(bytes(before) + value)
        # The first and the last characters depend on the bytes around it.
        found.add(text[-(-before * 8 // 6):(before + len(value)) * 8 // 6])
    return found


def regions(pid):
    """Ranges of addresses that a process can read, and the file of one that is
    shared."""
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as file:
        for line in file:
            place, rights, *rest = line.split(maxsplit=5)
            name = rest[3].strip() if len(rest) > 3 else ""
            if rights[0] == "r" and not name.startswith("[v"):
                start, end = (int(part, 16) for part in place.split("-"))
                yield (start, end, "/proc/%d/map_files/%s" % (pid, place)
                       if rights[3] == "s" else None)


def runs(pid, start, end):
    """The parts of a range that have pages."""
    count = (end - start) // PAGE
    with open("/proc/%d/pagemap" % pid, "rb") as file:
        file.seek(start // PAGE * 8)
        entries = array.array("Q", file.read(count * 8))
    first = None
    for at, entry in enumerate(entries):
        if entry & PRESENT and first is None:
            first = at
        elif not entry & PRESENT and first is not None:
            yield start + first * PAGE, start + at * PAGE
            first = None
    if first is not None:
        yield start + first * PAGE, start + len(entries) * PAGE


def extents(fd):
    """The parts of a file that have data."""
    size, at = os.fstat(fd).st_size, 0
    while at < size:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            return
        end = os.lseek(fd, at, os.SEEK_HOLE)
        yield at, end
        at = end


def search_part(fd, start, end, needles, found):
    longest = max(map(len, needles))
    before = b""
    while start < end:
        try:
            data = os.pread(fd, min(CHUNK, end - start), start)
        except OSError:  # a device's memory
            return
        if not data:
            return
        found.update(needle for needle in needles if needle in before + data)
        before = data[-longest:]
        start += len(data)


def search(pid, needles):
    """Those of the needles that are in a process's memory."""
    found, files = set(), set()
    memory = os.open("/proc/%d/mem" % pid, os.O_RDONLY)
    for start, end, shared in regions(pid):
        if not shared:
            for part in runs(pid, start, end):
                search_part(memory, *part, needles, found)
            continue
        try:
            fd = os.open(shared, os.O_RDONLY)
        except OSError:
            continue
        if os.fstat(fd).st_ino not in files:
            files.add(os.fstat(fd).st_ino)
            for part in extents(fd):
                search_part(fd, *part, needles, found)
        os.close(fd)
    os.close(memory)
    return found
