#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
# The library walks the same stacks whichever compiler built it: clang for x86-64 and for aarch64
# (under qemu; the tests of that build run gcc's). A program that knows its own chains of calls
# compares.
. "$(dirname "$0")/common.sh"
need clang
cd "$place" || exit 2
program=$root/tests/programs/walks_with_clang.c

# library NAME COMPILER...: the shared library, with the flags that count
library() {
    name=$1
    shift
    find "$root/base" "$root/lib" -name "*.c" | xargs "$@" -O2 -fPIC -shared -w -std=gnu11 -D_GNU_SOURCE= \
        -DMEMOIR_VERSION='"0"' -I"$root" -I"$root/include" -fvisibility=hidden \
        -ftls-model=initial-exec -fno-stack-protector -fno-builtin-malloc -fno-builtin-calloc \
        -fno-builtin-realloc -fno-builtin-free -Wl,-Bsymbolic-functions -pthread -o "$name"
}

# compare WHAT COMMAND...: the program, run by the command, finds its stacks
compare() {
    what=$1
    shift
    "$@" >out 2>err || fail "$what: exit code $?"
    grep -q '^0 of 33' out || fail "$what: $(tail -n 2 out) $(tail -n 1 err)"
}

tried=
case $(uname -m) in
x86_64)
    library x86_64.so clang || fail "clang does not build the library"
    for compiler in "$CC" clang; do
        for level in -O0 -O2; do
            $compiler $level -g -fno-builtin -w "$program" -o program || fail "$compiler $level"
            compare "x86-64, library by clang, program by $compiler $level" \
                env LD_PRELOAD="$place/x86_64.so" ./program
        done
    done
    tried=x86_64
    ;;
esac

cross=/usr/aarch64-linux-gnu
if command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null; then
    emulate() { # LIBRARY
        env -u LD_PRELOAD qemu-aarch64 -R 0x800000000 -L $cross -E LD_PRELOAD="$place/$1" ./program
    }
    library clang.so clang --target=aarch64-linux-gnu || fail "clang does not build for aarch64"
    for level in -O0 -O2; do
        aarch64-linux-gnu-gcc $level -g -fno-builtin -w "$program" -o program || fail "gcc $level"
        compare "aarch64, library by clang, program by gcc $level" emulate clang.so
        clang --target=aarch64-linux-gnu $level -g -fno-builtin -w "$program" -o program ||
            fail "clang $level"
        compare "aarch64, all by clang $level" emulate clang.so
    done
    tried="$tried aarch64"
fi
[ -n "$tried" ] || skip "nothing to build for here"
finish
