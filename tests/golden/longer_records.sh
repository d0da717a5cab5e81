#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A capture whose records have more numbers at their end than this version knows, in all types that
# docs/FORMATS.md names, and records of unknown types, is read as the one without. In a type that is
# not named, they are not ignored.
set -u
. "${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/programs/common.sh"
need python3
cd "$place" || exit 2
export LC_ALL=C HOME="$place"
memoir=$MEMOIR_TOOL

cat >program.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept[3000];
static void *work(void *nothing)
{
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        kept[i] = malloc(100 + i);
        for (clock_t end = clock() + 100; clock() < end;)
            ;
        pthread_mutex_unlock(&mutex);
        kept[i] = malloc(50);
    }
    return nothing;
}
int main(void)
{
    pthread_t threads[2];
    void (*mark)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, "memoir_mark");
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (mark)
        mark("half");
    for (int i = 0; i < 1000; i++)
        kept[0] = malloc(200);
    return 0;
}
END
build program.c -o program
"$memoir" run -q --lib "$MEMOIR_LIB" --exact --cpu --locks --leaks --output a.memoir ./program >said 2>&1 ||
    [ -s a.memoir ] || fail "no capture: $(cat said)"

# longer TO TYPE...: the capture, with numbers behind the records of these types
cat >longer.py <<'END'
import struct, sys, zlib
data = open("a.memoir", "rb").read()
wanted = set(map(int, sys.argv[2:]))
seen = set()
out = bytearray(data[:16])
def put(type, payload):
    head = struct.pack("<II", type, len(payload))
    out.extend(head + struct.pack("<I", zlib.crc32(head + payload)) + payload)
at = 16
while at < len(data):
    type, length = struct.unpack_from("<II", data, at)
    payload = data[at + 12:at + 12 + length]
    seen.add(type)
    put(type, payload + (b"\x07\xff\x01\x80\x80\x80\x01" if type in wanted else b""))
    if type == 1:
        put(4711, b"of a later version")
    at += 12 + length
open(sys.argv[1], "wb").write(out)
if wanted - seen:
    sys.exit(f"the capture has no records of the types {sorted(wanted - seen)}")
END
# The numbers of the types that the document names.
cat >named.py <<'END'
import os, re
text = open(os.environ["root"] + "/docs/FORMATS.md").read()
number = {name: n for n, name in re.findall(r"^### (\d+) ([A-Z_]+)$", text, re.M)}
names = re.search(r"in types that hold one thing: (.*?)\.", text, re.S).group(1)
print(*(number[name] for name in re.findall(r"[A-Z]+", names)))
END
types=$(root=$root python3 named.py) || fail "docs/FORMATS.md does not name the types"
[ "$(echo "$types" | wc -w)" -ge 11 ] || fail "too few types: $types"

answers() { # FILE
    for verb in 'top --json' 'top --metric alloc --json' 'top --metric cpu --json' 'top --metric delay --json' \
        'threads --json' 'time --json' 'leaks --json' 'frag --json' 'churn --json' 'diff a.memoir --json' doctor; do
        # shellcheck disable=SC2086 # words
        echo "$verb: $("$memoir" $verb -q "$1" 2>&1 | sed 's/longer\.memoir/a.memoir/g')"
    done
}
# shellcheck disable=SC2086 # numbers
python3 longer.py longer.memoir $types || fail "not all types are tried"
answers a.memoir >short
answers longer.memoir >long
cmp -s short long || fail "other answers: $(diff short long | head -n 20)"
[ "$(wc -c <short)" -gt 5000 ] || fail "too little was answered: $(head -c 2000 short)"

python3 longer.py longer.memoir 13 || fail "no counters by class"
"$memoir" top -q longer.memoir >said 2>&1 && cmp -s said /dev/null && fail "entries that make no sense are ignored"
answers longer.memoir >long
! cmp -s short long || fail "the control: longer entries change nothing"
finish
