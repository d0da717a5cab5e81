#!/bin/sh
# SPDX-License-Identifier: MIT
# Promise 18: a library whose notes or unwind tables lie, which no loader looks at, can be opened,
# allocates and is closed; its stacks are short at worst.
. "$(dirname "$0")/common.sh"
need python3
settle
cat >library.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) void *inner(size_t size) { void *block = malloc(size); __asm__ volatile(""); return block; }
void *outer(size_t size) { volatile char room[100]; room[0] = 1; void *block = inner(size); room[1] = 2; return block; }
C
build -fPIC -shared library.c -o whole.so -Wl,--build-id
cat >program.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int memoir_dump(const char *path) __attribute__((weak));
int main(int count, char **words)
{
    for (int round = 0; round < 2; round++) {
        void *handle = dlopen(words[1], RTLD_NOW);
        void *(*outer)(size_t) = handle ? (void *(*)(size_t))dlsym(handle, "outer") : NULL;
        if (!outer) {
            printf("%s\n", dlerror());
            return 3;
        }
        free(outer(100000));
        outer(200000);
        if (memoir_dump && memoir_dump("now.memoir") != 0)
            return 4;
        dlclose(handle);
        unlink("now.memoir");
    }
    return 0;
}
C
build program.c -o program

# Each case changes fields of the program headers, or bytes of the tables that they name.
cat >damage.py <<'PY'
import struct, sys
NOTE, TABLES, WORDS = 4, 0x6474e550, 2**64
whole = open("whole.so", "rb").read()
at, count = struct.unpack_from("<Q", whole, 32)[0], struct.unpack_from("<H", whole, 56)[0]
parts = [at + 56 * i for i in range(count)]

def kind(part):
    return struct.unpack_from("<I", whole, part)[0]

def save(name, file):
    open(name + ".so", "wb").write(file)
    print(name)

def field(name, wanted, changes):
    file = bytearray(whole)
    for part in parts:
        if kind(part) == wanted:
            for offset, value in changes.items():
                struct.pack_into("<Q", file, part + offset, value % WORDS)
    save(name, file)

ADDRESS, SIZE = 16, 40
for name, wanted in ("note", NOTE), ("tables", TABLES):
    field(name + "_far", wanted, {ADDRESS: 1 << 40})
    field(name + "_below", wanted, {ADDRESS: -4096})
    field(name + "_wraps", wanted, {ADDRESS: -8, SIZE: -1})
    field(name + "_huge", wanted, {SIZE: 1 << 62})
    field(name + "_unaligned_end", wanted, {ADDRESS: 0x3fff, SIZE: 1 << 20})
part = next(p for p in parts if kind(p) == TABLES)
offset, size = struct.unpack_from("<Q", whole, part + 8)[0], struct.unpack_from("<Q", whole, part + 32)[0]

def table(name, changes):
    file = bytearray(whole)
    for place, value in changes.items():
        struct.pack_into("<I", file, offset + place, value)
    save(name, file)

rows = range(12, size, 8)
table("count_huge", {8: 0xffffffff})
table("count_of_text", {8: 0x7fffffff})
for name, value in ("up", 0x7ffffff0), ("down", 0x80000010), ("near", 0xfff00000), ("self", 0):
    table("entries_" + name, {row + 4: value for row in rows})
# the entries themselves: lengths, the way back to the common entry, all of it
first = min(struct.unpack_from("<i", whole, offset + row + 4)[0] for row in rows) + offset
for name, place, value in (("length_huge", 0, 0x7fffffff), ("length_long", 0, 0xffffffff),
                           ("common_far", 4, 0x7fffffff), ("common_forward", 4, 0xfffffff0)):
    file = bytearray(whole)
    for row in rows:
        entry = offset + struct.unpack_from("<i", whole, offset + row + 4)[0]
        struct.pack_into("<I", file, entry + place, value)
    save(name, file)
seed = 1
for turn in range(40):
    file = bytearray(whole)
    for _ in range(6 + turn):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % WORDS
        file[offset + (seed >> 33) % (size + 200)] = seed >> 24 & 255
    save("random_%d" % turn, file)
PY
python3 damage.py >names || fail "the library is not as expected"
for name in whole $(cat names); do
    ./program "./$name.so" >out 2>&1 || { echo "$name: not without the library either: $(cat out)"; continue; }
    for options in heap.rate:0 "heap.rate:0,capture:c.memoir"; do
        MEMOIR=$options preload ./program "./$name.so" >out 2>&1
        got=$?
        [ "$got" -eq 0 ] || fail "$name, $options: exit code $got: $(cat out)"
        rm -f c.memoir now.memoir
    done
done
[ "$(wc -l <names)" -ge 50 ] || fail "only $(wc -l <names) cases"
finish
