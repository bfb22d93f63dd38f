# SPDX-License-Identifier: Apache-2.0
"""Calls in the name of another process, which ptrace(2) makes it carry out."""
import ctypes
import os

from stdio_client import Skip

GETREGS, SETREGS, STEP, PEEK, SEIZE, INTERRUPT = 12, 13, 9, 1, 0x4206, 0x4207
WALL = 0x40000000
# user_regs_struct of x86-64
NAMES = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs "
         "eflags rsp ss fs_base gs_base ds es fs gs").split()
PRCTL, CLOSE = 157, 3

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, address=None, data=None):
    ctypes.set_errno(0)
    result = libc.ptrace(request, pid, address, data)
    if ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Tracee:
    """A process that sleeps in a call, and stands still from now on. All of its methods
    must be called by the thread that has made it."""

    def __init__(self, pid):
        if os.uname().machine != "x86_64":
            raise Skip("only written for x86-64")
        self.pid = pid
        ptrace(SEIZE, pid)
        ptrace(INTERRUPT, pid)
        os.waitpid(pid, WALL)
        self.registers = (ctypes.c_ulonglong * len(NAMES))()

    def call(self, number, *arguments):
        """The result of a system call, by the instruction of the one that it sleeps
        in."""
        registers = self.registers
        ptrace(GETREGS, self.pid, None, ctypes.addressof(registers))
        instruction = registers[NAMES.index("rip")] - 2
        assert ptrace(PEEK, self.pid, instruction) & 0xffff == 0x050f
        values = dict(zip("rdi rsi rdx r10 r8 r9".split(), arguments), rax=number,
                      orig_rax=2 ** 64 - 1, rip=instruction)
        for name, value in values.items():
            registers[NAMES.index(name)] = value
        ptrace(SETREGS, self.pid, None, ctypes.addressof(registers))
        ptrace(STEP, self.pid)
        os.waitpid(self.pid, WALL)
        ptrace(GETREGS, self.pid, None, ctypes.addressof(registers))
        return ctypes.c_longlong(registers[NAMES.index("rax")]).value

    def has_ended(self):
        """Whether it was killed."""
        return os.waitpid(self.pid, WALL | os.WNOHANG)[0] == self.pid
