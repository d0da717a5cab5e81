# SPDX-License-Identifier: MIT
"""A client of the control channel that does what the tool never would.

    control_client.py ask PID LINE       one request, its status and text
    control_client.py late PID FIFO OUT LINE   connects, writes a line to FIFO, waits until OUT
                                         grows, and asks only then
    control_client.py silent PID         connects and says nothing until it is cut off
    control_client.py slow PID           asks, and never takes the answer
    control_client.py garbage PID SEED   connections full of nonsense
    control_client.py descriptors PID    passes descriptors that no dump can go to
    control_client.py interrupted PID    asks a process that becomes another one now and then
    control_client.py give PID FILE      asks for a dump into FILE and waits for it
    control_client.py quiet PID          the right signal, which must not be answered
    control_client.py stray PID          the signal in every wrong way

CLIENT_USER: the user to become first.
"""
import ctypes
import os
import random
import socket
import struct
import sys
import time

SIGNAL, VALUE = 23, 0x6D656D31
REQUEST, ANSWER = 0x3171656D, 0x3161656D
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.sigqueue.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]


def call(pid, value=VALUE):
    if LIBC.sigqueue(pid, SIGNAL, value) != 0:
        raise OSError(ctypes.get_errno(), "sigqueue")


def places(pid):
    user = os.stat("/proc/%d" % pid).st_uid
    for place in ("/tmp", "/dev/shm", "/var/tmp", "/run/user/%d" % user):
        yield "%s/memoir-%d/%d.sock" % (place, user, pid)


def connect(pid, wait_s=10):
    end = time.time() + wait_s
    while True:
        for path in places(pid):
            channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                channel.connect(path)
                channel.settimeout(20)
                return channel
            except OSError:
                channel.close()
        if time.time() > end:
            raise SystemExit("no connection to %d" % pid)
        call(pid)
        time.sleep(0.02)


def ask(pid, line):
    return ask_through(connect(pid), line)


def late(pid, fifo, out, line):
    channel = connect(pid)
    size = os.path.getsize(out)
    pipe = os.open(fifo, os.O_WRONLY)
    os.write(pipe, b"now\n")
    while os.path.getsize(out) == size:
        time.sleep(0.01)
    return ask_through(channel, line)


def ask_through(channel, line):
    channel.send(struct.pack("II", REQUEST, len(line)) + line)
    magic, status, length = struct.unpack("IiI", channel.recv(12))
    assert magic == ANSWER
    text = b""
    while len(text) < length:
        text += channel.recv(1 << 16)
    channel.close()
    return status, text


def silent(pid):
    channel = connect(pid)
    assert channel.recv(1) == b"", "an answer to nothing"


def slow(pid):
    channel = connect(pid)
    channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    channel.send(struct.pack("II", REQUEST, 5) + b"stats")
    time.sleep(3)


def garbage(pid, seed):
    print("seed", seed)
    chance = random.Random(seed)
    files = [os.open("/dev/null", os.O_RDWR), *os.pipe(), os.open("/", os.O_RDONLY)]
    for _ in range(1500):
        channel = connect(pid)
        shape = chance.randrange(7)
        line = chance.randbytes(chance.choice([0, 1, 7, 100, 4096, 4097, 9000]))
        length = chance.choice([len(line), len(line) + 1, 0, 1, 0xFFFFFFFF, 4096, 4097])
        packet = struct.pack("II", REQUEST, length) + line
        if shape == 0:
            packet = line
        elif shape == 1:
            packet = packet[: chance.randrange(9)]
        try:
            if shape == 2:
                passed = [chance.choice(files) for _ in range(chance.choice([1, 1, 2, 8, 200]))]
                rights = struct.pack("%di" % len(passed), *passed)
                channel.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            elif packet or shape == 3:
                channel.send(packet)
            if shape > 4:
                channel.recv(12)
        except (BrokenPipeError, ConnectionResetError):
            pass
        channel.close()


def stray(pid):
    os.kill(pid, SIGNAL)
    for value in (0, 1, VALUE + 1, 0xFFFFFFFF):
        call(pid, value)
    time.sleep(0.3)
    for path in places(pid):
        assert not os.path.exists(path), "a stray signal woke the helper"


def quiet(pid):
    for _ in range(5):
        call(pid)
        time.sleep(0.1)
        for path in places(pid):
            assert not os.path.exists(path), "it answers"


def interrupted(pid):
    """Asks a process that may go at any moment: an answer is whole, or there is none."""
    answered = 0
    for _ in range(60):
        try:
            status, text = ask(pid, b"stats")
            assert status == 0 and text.startswith(b"allocs:") and text.endswith(b"\n")
            answered += 1
        except (OSError, struct.error):
            pass
    assert answered > 0, "never an answer"


PASSED = (
    ("a pipe", lambda: os.pipe()[1]),
    ("a device", lambda: os.open("/dev/null", os.O_WRONLY)),
    ("a terminal or so", lambda: os.open("/dev/zero", os.O_RDWR)),
    ("a folder", lambda: os.open("/", os.O_RDONLY)),
    ("a path", lambda: os.open("/etc/passwd", os.O_PATH)),
    ("a file to read", lambda: os.open("/etc/passwd", os.O_RDONLY)),
    ("a socket", lambda: socket.socketpair()[0].detach()),
    ("a sealed memory file", lambda: sealed()),
)


def sealed():
    import fcntl
    fd = os.memfd_create("sealed", os.MFD_ALLOW_SEALING)
    fcntl.fcntl(fd, 1033, 0x2 | 0x4 | 0x8)  # F_ADD_SEALS: no other size, no writing
    return fd


def descriptors(pid):
    """Descriptors that no dump can go to are refused; one that changes under the dump is no harm."""
    for name, make in PASSED:
        status, _ = pass_one(pid, make())
        assert status != 0, name + " was taken"
    memory = os.memfd_create("shrinks")
    for size in (1 << 20, 0, 1, 4096):
        os.ftruncate(memory, size)
        status, _ = pass_one(pid, os.dup(memory), shrink=memory)
        assert status in (0, 5), status
    # what asks twice with one descriptor, and leaves without the answer
    for _ in range(20):
        channel = connect(pid)
        send_fd(channel, b"dump memoir", memory)
        channel.close()


def send_fd(channel, line, fd):
    rights = struct.pack("i", fd)
    packet = struct.pack("II", REQUEST, len(line)) + line
    channel.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])


def pass_one(pid, fd, shrink=-1):
    channel = connect(pid)
    send_fd(channel, b"dump memoir", fd)
    if shrink >= 0:
        for _ in range(50):
            os.ftruncate(shrink, 0)
    magic, status, length = struct.unpack("IiI", channel.recv(12))
    assert magic == ANSWER
    text = b""
    while len(text) < length:
        text += channel.recv(1 << 16)
    os.close(fd)
    channel.close()
    return status, text


def give(pid, path):
    """A file for a dump, and all the time in the world."""
    channel = connect(pid)
    send_fd(channel, b"dump memoir", os.open(path, os.O_WRONLY))
    channel.settimeout(None)
    channel.recv(12)


def main(verb, pid, *more):
    if "CLIENT_USER" in os.environ:  # only root can become that user
        user = int(os.environ["CLIENT_USER"])
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    if verb in ("ask", "late"):
        status, text = {"ask": ask, "late": late}[verb](int(pid), *more[:-1], more[-1].encode())
        print(status)
        sys.stdout.write(text.decode())
    elif verb == "give":
        give(int(pid), *more)
    else:
        {"silent": silent, "slow": slow, "garbage": garbage, "stray": stray, "quiet": quiet,
         "interrupted": interrupted, "descriptors": descriptors}[verb](
            int(pid), *(int(word) for word in more))


main(*sys.argv[1:])
