# SPDX-License-Identifier: MIT
"""helper: starts a program in a terminal and presses Ctrl-C.

ctrl_c.py EVENTS COMMAND...: the command leads a session with a terminal of its own, for everything
but its standard output and error. When it has printed a line come the events, WHAT[@SECONDS],...:
each so much later than the one before. WHAT is c (Ctrl-C), hangup (the terminal is gone), group
and a number (the signal to all of its group, as timeout sends it), or the number of a signal for
the command alone. What it prints goes to standard output; then a line `status STATUS after
SECONDS`, counted from the last event; the status is negative if a signal has ended it.
"""
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
import time


def lead(terminal):
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def event(what, child, keyboard):
    if what == "c":
        os.write(keyboard, b"\x03")
    elif what == "hangup":
        os.close(keyboard)
    elif what.startswith("group"):
        os.killpg(child.pid, int(what[len("group"):]))
    else:
        os.kill(child.pid, int(what))


def main():
    keyboard, terminal = pty.openpty()
    child = subprocess.Popen(sys.argv[2:], preexec_fn=lambda: lead(terminal), stdin=terminal,
                             stdout=subprocess.PIPE, text=True)
    os.close(terminal)
    print(child.stdout.readline(), end="")
    for word in sys.argv[1].split(","):
        what, _, wait = word.partition("@")
        time.sleep(float(wait or 0.2))
        event(what, child, keyboard)
    start = time.monotonic()
    patience = threading.Timer(30, lambda: os.killpg(child.pid, signal.SIGKILL))
    patience.start()
    print(child.stdout.read(), end="")
    child.wait()
    patience.cancel()
    print(f"status {child.returncode} after {time.monotonic() - start:.1f}")


main()
