# SPDX-License-Identifier: MIT
"""helper: runs commands on a terminal with a number of columns, for the scripts beside this folder.

    pty.py COLUMNS [NAME=VALUE]... COMMAND...   prints what the terminal got, ends as the command
    pty.py --wide COLUMNS,COLUMNS... COMMANDS   of each line of the file COMMANDS, a command for sh:
                                                prints the lines that are too long for the terminal

Columns are those that a terminal would need: escape sequences take none, wide characters two.
"""
import fcntl
import os
import re
import struct
import sys
import termios
import unicodedata

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\")


def run(columns, settings, command):
    """The output as text, and the exit status."""
    pid, terminal = os.forkpty()
    if pid == 0:
        os.environ.update(settings)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("4H", 50, columns, 0, 0))
        os.execvp(command[0], command)
    parts = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return b"".join(parts).decode("utf-8", "replace").replace("\r\n", "\n"), status


def width(line):
    line = ESCAPES.sub("", line.split("\r")[-1])
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)


def wide(columns, commands):
    settings = {"TERM": "xterm", "PAGER": "cat"}
    for command in commands:
        for most in columns:
            text, _ = run(most, settings, ["sh", "-c", command])
            for line in text.split("\n"):
                if width(line) > most:
                    print("%s: %d columns of %d: %s" % (command, width(line), most, line))


if sys.argv[1] == "--wide":
    with open(sys.argv[3]) as file:
        wide([int(word) for word in sys.argv[2].split(",")], file.read().splitlines())
else:
    words = sys.argv[2:]
    given = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        given[name] = value
    output, code = run(int(sys.argv[1]), given, words)
    sys.stdout.write(output)
    sys.stdout.flush()
    os._exit(code if code >= 0 else 128 - code)
