# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of its own, for tests of what a user sees.

    with Terminal([PROGRAM, "undo"], env=..., rows=24, columns=80) as terminal:
        terminal.expect("Go on?")
        terminal.send("y\\n")
        status = terminal.wait()
        print(terminal.screen())

The program leads a session whose controlling terminal is the pty, so that keys
such as Ctrl-C become signals and /dev/tty can be opened.
"""
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

PATIENCE = 60

CTRL_C, CTRL_D, CTRL_Z, ESCAPE = "\x03", "\x04", "\x1a", "\x1b"


class Terminal:
    """stdout or stderr: a file instead of the terminal."""

    def __init__(self, words, env=None, rows=24, columns=80, cwd=None,
                 stdout=None, stderr=None):
        self.columns = columns
        self.output = b""
        self.master, slave = os.openpty()
        self.resize(rows, columns)
        self.before = self.settings()  # a program may soon change them
        self.process = subprocess.Popen(
            words, env=env, cwd=cwd, stdin=slave,
            stdout=slave if stdout is None else stdout,
            stderr=slave if stderr is None else stderr,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)

    def resize(self, rows, columns):
        """Change the size, as a window does; the program gets SIGWINCH."""
        self.columns = columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def settings(self):
        """The terminal's modes: they must be as before after a program."""
        return termios.tcgetattr(self.master)

    def send(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        while data:  # while reading, or both sides could wait
            ready = select.select([self.master], [self.master], [], PATIENCE)
            if not ready[0] and not ready[1]:
                raise AssertionError("nothing reads; left: %d" % len(data))
            if ready[0]:
                self._read()
            if ready[1]:
                data = data[os.write(self.master, data[:1024]):]

    def _read(self):
        """Return False at the end."""
        try:
            chunk = os.read(self.master, 65536)
        except OSError:  # no process has the terminal open
            chunk = b""
        self.output += chunk
        return chunk != b""

    def read_for(self, seconds):
        """Read what comes in this time; return False at the end."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0] and \
                    not self._read():
                return False
        return True

    def expect(self, pattern, timeout=PATIENCE):
        """Wait until the output has this regular expression; return what was
        printed before its end, and forget that."""
        until = time.monotonic() + timeout
        compiled = re.compile(pattern.encode())
        while not (found := compiled.search(self.output)):
            if time.monotonic() > until or not self.read_for(0.1):
                found = compiled.search(self.output)
                if found:
                    break
                raise AssertionError("%r is not in %r" % (pattern,
                                                          self.output))
        before = self.output[:found.end()]
        self.output = self.output[found.end():]
        return before.decode(errors="replace")

    def wait(self, timeout=PATIENCE):
        """Read until the program has ended; return its exit status."""
        until = time.monotonic() + timeout
        while self.process.poll() is None:
            if time.monotonic() > until:
                raise AssertionError("still runs: %r" % self.output)
            self.read_for(0.02)
        while self.read_for(0.02) and \
                select.select([self.master], [], [], 0)[0]:
            pass
        return self.process.returncode

    def kill(self, number=signal.SIGKILL):
        os.killpg(self.process.pid, number)

    def text(self):
        """The output, with the terminal's line ends as plain ones."""
        return self.output.decode(errors="replace").replace("\r\n", "\n")

    def screen(self):
        """What is left to see of the output, as lines without blanks at their
        ends: CR, backspace, erasing (CSI K and J) and colours are obeyed; other
        sequences that move the cursor are not."""
        lines, column = [""], 0
        text = self.output.decode(errors="replace")
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b.|.", text, re.S):
            if part == "\n":
                lines.append("")
            elif part == "\r":
                column = 0
            elif part == "\b":
                column = max(column - 1, 0)
            elif part.startswith("\x1b"):
                if part[-1] in "KJ":
                    lines[-1] = lines[-1][:column]
            elif part >= " ":
                line = lines[-1].ljust(column)
                lines[-1] = line[:column] + part + line[column + 1:]
                column += 1
        return [line.rstrip() for line in lines]


def width(text):
    """The columns that a line takes."""
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


def plain(text):
    """The text without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
