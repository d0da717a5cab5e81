# SPDX-License-Identifier: MIT
"""A file system with one file, `file`, whose writes never end: control_stalled_file.py FOLDER

Speaks the kernel's FUSE protocol (linux/fuse.h). Says "mounted", then "write" when a write came.
"""
import ctypes
import os
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, WRITE, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 16, 18, 25, 26
ENOENT, ENOSYS = 2, 38


def attributes(node):
    mode, size = (0o40755, 0) if node == 1 else (0o100666, 0)
    return struct.pack("6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body):
    """The error and the bytes of an answer; None: never."""
    if opcode == INIT:
        return 0, struct.pack("IIIIHHIIHHI7I", 7, 31, 0, 0, 0, 0, 1 << 17, 1, 0, 0, 0, *[0] * 7)
    if opcode == LOOKUP and body.rstrip(b"\0") == b"file":
        return 0, struct.pack("4Q2I", 2, 0, 0, 0, 0, 0) + attributes(2)
    if opcode == GETATTR:
        return 0, struct.pack("Q2I", 0, 0, 0) + attributes(node)
    if opcode == OPEN:
        return 0, struct.pack("QII", 0, 1, 0)
    if opcode in (RELEASE, FLUSH):
        return 0, b""
    if opcode in (WRITE, FORGET):
        return None
    return -(ENOENT if opcode == LOOKUP else ENOSYS), b""


def main(folder):
    channel = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = "fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other" % (channel, os.getuid(),
                                                                           os.getgid())
    if libc.mount(b"stalled", folder.encode(), b"fuse", 0, options.encode()) != 0:
        raise SystemExit("not mounted: " + os.strerror(ctypes.get_errno()))
    print("mounted", flush=True)
    while True:
        request = os.read(channel, 1 << 18)
        _, opcode, unique, node = struct.unpack_from("IIQQ", request)
        said = answer(opcode, node, request[40:])
        if opcode == WRITE:
            print("write", flush=True)
        if said is not None:
            os.write(channel, struct.pack("IiQ", 16 + len(said[1]), said[0], unique) + said[1])


main(sys.argv[1])
