#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""file.copy_in and file.copy_out, over the real shim without a machine."""
import io
import os
import socket
import sys
import tarfile
import time

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/lib"))
sys.dont_write_bytecode = True
from stdio_client import (Agent, PATIENCE, Skip, contains, equal, eventually,  # noqa: E402
                          main, snapshot, test)


def connect(answer):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(PATIENCE)
    sock.connect(answer["payload"]["socket"])
    return sock


def read_all(sock):
    data = bytearray()
    while True:
        part = sock.recv(1 << 20)
        if not part:
            return bytes(data)
        data += part


def completed(agent, answer):
    def wanted(message):
        return message["type"] == "event.copy_completed" and \
            message["payload"]["transfer_id"] == \
            answer["payload"]["transfer_id"]
    early = list(filter(wanted, agent.seen))
    return (early[0] if early else agent.until(wanted))["payload"]


def copy_out(agent, path, **options):
    """The stream, and the event."""
    answer = agent.ask("file.copy_out", path=path, **options)
    equal(answer["status"], "ok")
    with connect(answer) as sock:
        data = read_all(sock)
    return data, completed(agent, answer)


def copy_in(agent, path, data, **options):
    answer = agent.ask("file.copy_in", path=path, **options)
    equal(answer["status"], "ok")
    with connect(answer) as sock:
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the event says why
        sock.recv(1)
    return completed(agent, answer)


def read_comm(pid):
    try:
        with open("/proc/%d/comm" % pid, "rb") as file:
            return file.read()
    except OSError:
        return b""


def archive(*names, **members):
    """A tar archive of small files; members override a TarInfo."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 0 if "type" in members else 4
            for key, value in members.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(b"text"))
    return out.getvalue()


def make_tree(root):
    os.makedirs(root + "/dir/empty")
    with open(root + "/file", "w") as file:
        file.write("content\n" * 100000)
    os.link(root + "/file", root + "/dir/hard")
    os.symlink("../file", root + "/dir/symbolic")
    os.symlink("/nowhere", root + "/dangling")
    os.mkfifo(root + "/fifo")
    with open(root + "/holes", "w") as file:
        file.truncate(300 << 20)
        os.pwrite(file.fileno(), b"data", 100 << 20)
    with open(root + "/only a hole", "w") as file:
        file.truncate(5 << 20)
    for name in (b"\xff\xfe", "\u00fcml".encode(), b"new\nline", b"-rf",
                 b"n" * 255):
        with open(os.fsencode(root) + b"/" + name, "w") as file:
            file.write("odd")
    deep = root + "/deep" + "/d" * 300
    os.makedirs(deep)
    with open(deep + "/leaf", "w") as file:
        file.write("deep")
    os.chmod(root + "/file", 0o640)
    os.chmod(root + "/dir/empty", 0o500)
    for path in ("/dir/empty", "/dir", "/file", "/holes"):
        os.utime(root + path, ns=(0, 981173106789012345))


def session(place, **env):
    agent = Agent(place, **env)
    agent.start()
    return agent


@test
def a_tree_arrives_as_it_was(place):
    """a tree that is copied in and out keeps modes, times, links and holes"""
    tree, there = place.root + "/tree", place.root + "/there"
    make_tree(tree)
    os.mkdir(there)
    agent = session(place)
    data, out = copy_out(agent, tree)
    equal("error" in out, False)
    assert out["bytes"] == len(data) and out["entries"] > 310, out
    assert len(data) < 4 << 20, "holes were sent: %d bytes" % len(data)
    done = copy_in(agent, there, data, keep_owner=True)
    equal(("error" in done, done["entries"]), (False, out["entries"]))
    equal(snapshot(there + "/tree"), snapshot(tree))
    assert os.stat(there + "/tree/holes").st_blocks < 1000
    equal(agent.close(), 0)


@test
def a_target_follows_the_rules_of_docker_cp(place):
    """a target that is a directory, a file or a new name is what docker makes"""
    agent = session(place)
    base = place.root + "/in"
    os.mkdir(base)
    one = archive("one")
    copy_in(agent, base, one)
    copy_in(agent, base + "/two", one)
    equal(sorted(os.listdir(base)), ["one", "two"])
    with open(base + "/two", "w") as file:
        file.write("old and longer")
    os.symlink("two", base + "/link")
    equal("error" in copy_in(agent, base + "/link", one), False)
    with open(base + "/two") as file:
        equal(file.read(), "text")
    assert os.path.islink(base + "/link")
    contains(copy_in(agent, base + "/no/", one)["error"]["message"],
             "no such directory")
    os.makedirs(place.root + "/tree/sub")
    tree, _ = copy_out(agent, place.root + "/tree")
    content, _ = copy_out(agent, place.root + "/tree/.")
    copy_in(agent, base + "/new", tree)
    copy_in(agent, base + "/more", content)
    copy_in(agent, base, tree)
    for name in ("/new/sub", "/more/sub", "/tree/sub"):
        assert os.path.isdir(base + name), name
    contains(copy_in(agent, base + "/two", tree)["error"]["message"],
             "a directory cannot replace a file")
    number, text = agent.error("file.copy_in", path=base + "/two", archive=True)
    equal((number, "Not a directory" in text), (4004, True))
    equal(agent.error("file.copy_in", path=base + "/no/no")[0], 4001)
    equal(agent.error("file.copy_out", path=base + "/no")[0], 4001)
    equal(agent.close(), 0)


@test
def a_link_is_followed_if_asked(place):
    """a source that is a symbolic link is copied as a link unless it is followed"""
    agent = session(place)
    with open(place.root + "/file", "w") as file:
        file.write("target")
    os.symlink("file", place.root + "/link")
    for follow, kind in ((False, tarfile.SYMTYPE), (True, tarfile.REGTYPE)):
        data, _ = copy_out(agent, place.root + "/link", follow=follow)
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            equal([(m.name, m.type) for m in tar], [("link", kind)])
    equal(agent.close(), 0)


@test
def a_stream_stays_in_its_target(place):
    """an entry that leads out of the target ends the copy, and writes nothing"""
    agent = session(place)
    base = place.root + "/in"
    os.mkdir(base)
    os.symlink(place.root, base + "/out")
    for name in ("../evil", "a/../../evil", "/evil" + place.root, "out/evil"):
        error = copy_in(agent, base, archive(name))["error"]
        equal(error["number"], 4004)
    for target in ("../file", place.root + "/file"):
        with open(place.root + "/file", "w") as file:
            file.write("secret")
        error = copy_in(agent, base, archive("l", type=tarfile.LNKTYPE,
                                             linkname=target))["error"]
        contains(error["message"], "leads out of the target")
    equal(os.listdir(base), ["out"])
    assert not os.path.exists(place.root + "/evil")
    equal(agent.close(), 0)


@test
def a_broken_stream_leaves_no_half_file(place):
    """a stream that ends early or is no archive fails, without a half file"""
    agent = session(place)
    base = place.root + "/in"
    os.mkdir(base)
    big = tarfile.TarInfo("big")
    big.size = 1 << 20
    header = big.tobuf()
    for data in (header + b"x" * 5000, header, b"garbage" * 1000, b"",
                 archive("whole")[:1024]):
        done = copy_in(agent, base, data)
        contains(done["error"]["message"], "tar stream")
    equal(sorted(os.listdir(base)), ["whole"])
    equal(agent.close(), 0)


@test
def set_id_bits_need_the_owner(place):
    """a copy in belongs to root without set-id bits unless the owner is kept"""
    if os.getuid():
        raise Skip("not root")
    agent = session(place)
    base = place.root + "/in"
    os.mkdir(base)
    data = archive("tool", mode=0o4755, uid=12, gid=34)
    for keep, expected in ((False, (0, 0, 0o755)), (True, (12, 34, 0o4755))):
        copy_in(agent, base, data, keep_owner=keep)
        st = os.stat(base + "/tool")
        equal((st.st_uid, st.st_gid, st.st_mode & 0o7777), expected)
    equal(agent.close(), 0)


@test
def a_slow_client_delays_no_other(place):
    """a client that does not read holds up neither other copies nor commands"""
    with open(place.root + "/big", "wb") as file:
        for _ in range(64):
            file.write(os.urandom(1 << 20))
    agent = session(place)
    slow = agent.ask("file.copy_out", path=place.root + "/big")
    sleeper = connect(slow)
    stuck = connect(agent.ask("file.copy_in", path=place.root + "/x"))
    time.sleep(0.5)
    begun = time.monotonic()
    for _ in range(3):
        data, done = copy_out(agent, place.root + "/big")
        assert len(data) > 64 << 20 and "error" not in done
    equal(agent.ask("agent.execute", command="exit 3")["payload"]["exit_code"],
          3)
    print("# 192 MiB beside a stalled copy: %.1f s" %
          (time.monotonic() - begun))
    assert agent.memory() < 64 << 10, agent.memory()
    assert len(read_all(sleeper)) > 64 << 20
    equal("error" in completed(agent, slow), False)
    stuck.close()
    equal(agent.close(), 0)


@test
def a_copy_ends_with_its_client(place):
    """a copy whose client goes away is cancelled, and its process ends"""
    with open(place.root + "/big", "wb") as file:
        file.truncate(0)
        for _ in range(16):
            file.write(os.urandom(1 << 20))
    agent = session(place)
    for _ in range(12):  # more than run at a time
        answer = agent.ask("file.copy_out", path=place.root + "/big")
        with connect(answer) as sock:
            sock.recv(1000)
        equal(completed(agent, answer)["error"]["number"], 6001)

    def none_left():
        return b"stepback-cp\n" not in [read_comm(pid)
                                        for pid in place.processes()]
    assert eventually(none_left, 10)
    equal(agent.close(), 0)


@test
def copies_are_limited(place):
    """a ninth copy, a copy without a session or into a share is refused"""
    agent = Agent(place)
    equal(agent.error("file.copy_out", path="/etc")[0], 2000)
    agent.start()
    contains(agent.error("file.copy_in", path="/mnt/working/x")[1],
             "copy to %s on the host" % place.share)
    equal(agent.error("file.copy_out", path="etc")[0], 1004)
    equal(agent.error("file.copy_out")[0], 1003)
    equal(agent.error("file.copy_out", path="/etc", depth=3)[0], 1004)
    kept = [agent.ask("file.copy_out", path="/etc/passwd") for _ in range(8)]
    equal(agent.error("file.copy_out", path="/etc/passwd")[0], 6000)
    contains(read_all(connect(kept[3])), b"root:")
    completed(agent, kept[3])
    equal(agent.ask("session.stop")["payload"]["state"], "stopped")
    for answer in kept[4:]:
        contains(completed(agent, answer)["error"]["message"], "interrupted")
    equal(agent.close(), 0)
    equal(place.left(), [])


main()
