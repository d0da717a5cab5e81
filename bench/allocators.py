# SPDX-License-Identifier: MIT
"""The allocators a run compares: ours, ours with sampling off, and the peers from Debian.

An allocator is a name and the environment that puts it under a program. A peer that is not
installed is named and left out. `glibc` is the program as it is; a program linked to another
allocator (Debian's redis-server to jemalloc) gets libc preloaded for that row (rows.py).
"""
import ctypes.util
import glob
import os
import platform
import re
import subprocess

PEERS = {
    "glibc": (None, "libc6"),
    "mimalloc": ("libmimalloc.so.2", "libmimalloc2.0"),
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    "scudo": ("libclang_rt.scudo_standalone-%s.so" % platform.machine(), "libclang-rt-14-dev"),
}
LIBRARY_GLOBS = ["/lib/*-linux-gnu/", "/usr/lib/*-linux-gnu/", "/usr/lib64/", "/usr/local/lib/",
                 "/usr/lib/llvm-*/lib/clang/*/lib/linux/", "/usr/lib/clang/*/lib/linux/"]


class Allocator:
    def __init__(self, name, path=None, env=None, version=""):
        self.name = name
        self.path = path
        self.env = dict(env or {})
        if path:
            self.env["LD_PRELOAD"] = path
        self.version = version

    def words(self):
        """The environment as one types it."""
        return " ".join("%s=%s" % pair for pair in self.env.items())


def find_library(name):
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True,
                            env={"PATH": "/usr/sbin:/sbin:" + os.environ.get("PATH", "")}).stdout
    found = re.search(r"^\s*%s \(.*=> (\S+)$" % re.escape(name), listed, re.M)
    if found:
        return found.group(1)
    for place in LIBRARY_GLOBS:
        for path in sorted(glob.glob(place + name), reverse=True):
            return path
    return None


def libc_path():
    return find_library(ctypes.util.find_library("c") or "libc.so.6")


def package_version(package):
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}", package],
                              capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def choose_peers(names):
    """(present, missing) for the wanted peer names."""
    present, missing = [], []
    for name in names:
        library, package = PEERS[name]
        path = find_library(library) if library else None
        if library and not path:
            missing.append("%s (Debian package %s)" % (name, package))
        else:
            present.append(Allocator(name, path, version=package_version(package)))
    return present, missing


def own_peer(text):
    """An allocator from `NAME=LIB.so`, built by the user; None with the reason."""
    name, sign, path = text.partition("=")
    if not sign or not re.fullmatch(r"[\w.+-]+", name) or name.startswith("memoir"):
        return None, "--peer wants NAME=LIB.so, and a name that is not ours; got '%s'" % text
    if not os.path.exists(path):
        return None, "--peer %s: there is no %s" % (name, path)
    return Allocator(name, os.path.abspath(path), version="built by hand"), None


def choose_ours(library):
    """Ours in its default configuration, and with sampling off; a stranger has no such switch."""
    if not os.path.exists(library):
        return []
    library = os.path.abspath(library)
    stem = os.path.basename(library)
    if "memoir" not in stem:
        return [Allocator(re.sub(r"^lib|\.so.*$", "", stem) + "*", library)]
    return [Allocator("memoir", library), Allocator("memoir-off", library, {"MEMOIR": "heap:off"})]
