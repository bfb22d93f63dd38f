# SPDX-License-Identifier: Apache-2.0
"""Programs that use the whole terminal, run at a sandbox's prompt in a window
of tmux, with a change of the window's size in each."""
import os
import time

from stdio_client import equal, eventually

LINES = int(os.environ.get("STEPBACK_PASTED_LINES", "2000"))


def content(folder, name):
    try:
        with open(os.path.join(folder, name)) as file:
            return file.read()
    except FileNotFoundError:
        return None


class Programs:
    """window: at a prompt of the sandbox that matches PROMPT, where FOLDER is
    the working directory; LINES: of what is pasted."""

    def __init__(self, window, prompt, folder, lines=LINES):
        self.window = window
        self.prompt = prompt
        self.folder = folder
        self.lines = lines

    def at_prompt(self):
        """Wait until a new, empty prompt is the last line."""
        until = time.monotonic() + 60
        while not self.window.screen()[-1].endswith(self.prompt):
            if time.monotonic() > until:
                raise AssertionError("no prompt:\n" +
                                     "\n".join(self.window.screen()))
            time.sleep(0.05)

    def start(self, line):
        self.window.clear()
        self.window.enter(line)

    def line(self, line, pattern):
        """A line at the prompt prints this."""
        self.start(line)
        found = self.window.expect(pattern)
        self.at_prompt()
        return found

    def job_control(self):
        window = self.window
        self.start("(echo begun; exec sleep 100) | cat")
        window.expect("^begun$")
        window.keys("C-c")
        window.expect(r"^\^C$")
        self.at_prompt()
        self.line("echo status $?", "^status 130$")
        self.start("(echo begun; exec sleep 77)")
        window.expect("^begun$")
        window.keys("C-z")
        window.expect("Stopped")
        self.at_prompt()
        self.start("fg")
        window.expect(r"^\( echo begun; exec sleep 77 \)$")
        window.keys("C-c")
        self.at_prompt()
        self.line("jobs | wc -l", "^0$")

    def bytes(self):
        """UTF-8, a window's title, colours and control bytes get through."""
        window = self.window
        self.line("printf '\\303\\244\\344\\270\\255\\033[31mred\\033[m"
                  "\\033]2;a title\\007\\001'; echo .", "^\u00e4\u4e2dred\\.$")
        equal(window.format("pane_title"), "a title")
        assert "\x1b[31mred" in window.tmux("capture-pane", "-p", "-e")
        self.start("(echo begun; exec od -An -tx1 -w4)")
        window.expect("^begun$")
        # C-v makes a letter of a key that is otherwise a signal.
        window.keys("C-v", "C-c", "C-v", "C-z", "\u00e4", "Enter", "C-d")
        window.expect("03 1a c3 a4\n *0a$")
        self.at_prompt()

    def vim(self):
        """An editor that saves twice."""
        window = self.window
        self.start("vi -u NONE -n edited")
        window.expect("^~$")
        window.resize(100, 30)
        window.expect("^(?:~\n){27}~$")
        window.type("i\u00e4 hello")
        window.keys("Escape")
        window.enter(":w")
        assert eventually(lambda: content(self.folder, "edited") ==
                          "\u00e4 hello\n", 60)
        window.type("oworld")
        window.keys("Escape")
        window.enter(":wq")
        self.at_prompt()
        equal(content(self.folder, "edited"), "\u00e4 hello\nworld\n")

    def less(self):
        window = self.window
        self.start("seq 1000 | less")
        window.resize(100, 20)
        window.expect("^19\n:$")
        window.resize(100, 30)
        window.expect("^29\n:$")
        window.keys("G")
        window.expect(r"^1000\n\(END\)$")
        window.type("q")
        self.at_prompt()

    def python(self):
        window = self.window
        self.start("python3 -qI")
        window.expect("^>>>$")
        window.resize(111, 33)
        window.enter("import os, time")
        window.enter("while os.get_terminal_size() != (111, 33): pass")
        window.enter("")
        window.enter("print('re' + 'sized')")
        window.expect("resized$")
        window.enter("while not print('looping'): time.sleep(1)")
        window.enter("")
        window.expect("^looping$")
        window.keys("C-c")
        window.expect("^KeyboardInterrupt$")
        window.keys("C-d")
        self.at_prompt()

    def top(self):
        window = self.window
        self.start("top -d 60")
        window.expect("PID USER")
        # The head of its table is as wide as the window; COMMAND is last.
        window.resize(50, 30)
        window.expect(r"PID USER (?!.*COMMAND)")
        window.resize(120, 30)
        window.expect(r"PID USER .*COMMAND$")
        window.type("q")
        self.at_prompt()

    def paste(self):
        """A program gets all lines of a paste, in order."""
        window = self.window
        text = "".join("line %d\n" % i for i in range(self.lines))
        began = time.monotonic()
        self.start("(echo begun; exec cat >pasted)")
        window.expect("^begun$")
        window.paste(text)
        window.keys("C-d")
        self.line("echo ended", "^ended$")
        print("# %d lines in %.1f s" % (self.lines, time.monotonic() - began))
        assert content(self.folder, "pasted") == text

    def all(self):
        self.at_prompt()
        self.bytes()
        self.job_control()
        self.vim()
        self.less()
        self.python()
        self.top()
        self.paste()
