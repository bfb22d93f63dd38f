# SPDX-License-Identifier: Apache-2.0
"""A window of tmux, with a shell of the host in it, for tests of programs that
use the whole terminal.

    with Window(folder, env) as window:
        window.enter("stepback shell")
        window.expect("# $")
        window.keys("C-c")

tmux is the terminal: it answers queries, draws, and lets one read the screen.
Its server is the test's own and ends with it.
"""
import re
import subprocess
import termios
import time

PATIENCE = 60
PROMPT = "host> "


class Window:
    def __init__(self, folder, env, columns=80, rows=24):
        self.socket = folder + "/tmux"
        self.env = dict(env, PS1=PROMPT, LC_ALL="C.UTF-8", TERM="xterm")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns),
                  "-y", str(rows), "bash", "--norc", "--noprofile", "-i")
        self.expect(PROMPT.strip() + "$")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def tmux(self, *words, **more):
        return subprocess.run(["tmux", "-S", self.socket, *words], check=True,
                              env=self.env, stdout=subprocess.PIPE,
                              **more).stdout.decode(errors="replace")

    def keys(self, *names):
        """Press keys by their names in tmux(1), as "C-c", "Enter" or "q"."""
        self.tmux("send-keys", *names)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def enter(self, line):
        self.type(line)
        self.keys("Enter")

    def paste(self, text, bracketed=False):
        self.tmux("load-buffer", "-", input=text.encode())
        self.tmux("paste-buffer", *(["-p"] if bracketed else []))

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self):
        """The lines on the screen, without blanks at their ends and without
        empty lines below the last."""
        return [line.rstrip() for line in
                self.tmux("capture-pane", "-p").rstrip("\n").split("\n")]

    def expect(self, pattern, timeout=PATIENCE):
        """Wait until a line of the screen has this regular expression ("$" is
        the end of a line); return the first such match."""
        until = time.monotonic() + timeout
        while True:
            text = "\n".join(self.screen())
            if found := re.search(pattern, text, re.M):
                return found
            if time.monotonic() > until:
                raise AssertionError("%r is not in:\n%s" % (pattern, text))
            time.sleep(0.05)

    def format(self, *names):
        """The values of formats of tmux(1), as "pane_title"."""
        return self.tmux("display-message", "-p",
                         " ".join("#{%s}" % name for name in names)).strip()

    def settings(self):
        """The terminal's modes, and those that only tmux knows: alternate
        screen, cursor, mouse, keypad. At a prompt of the host's shell."""
        until = time.monotonic() + PATIENCE
        while True:
            # bash sets the modes of its line editor when it prints a prompt.
            with open(self.format("pane_tty")) as tty:
                modes = termios.tcgetattr(tty)
            if not modes[3] & termios.ICANON or time.monotonic() > until:
                break
            time.sleep(0.05)
        return modes, self.format("alternate_on", "cursor_flag",
                                  "keypad_cursor_flag", "keypad_flag",
                                  "mouse_any_flag", "insert_flag",
                                  "wrap_flag")

    def clear(self):
        """Start with an empty screen at a prompt."""
        self.keys("C-l")
        until = time.monotonic() + PATIENCE
        while len([line for line in self.screen() if line]) > 1:
            if time.monotonic() > until:
                raise AssertionError("not empty: %r" % self.screen())
            time.sleep(0.05)
