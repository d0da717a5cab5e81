#!/bin/sh
# SPDX-License-Identifier: MIT
# Where the resident memory of a program was that was killed, as the out-of-memory killer does: `memoir
# stats` answers from its recording, and from its recorder file, with the kernel's counts of the last
# moments, and with what the program had asked for.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
need python3
cat >"$place/large.c" <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    memset(mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 32 << 20);
    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < 1000; i++) {
            void *block = memset(malloc(1000), 1, 1000);
            __asm__ volatile("" ::"r"(block) : "memory");
        }
        usleep(30000);
    }
    raise(SIGKILL);
}
END
build "$place/large.c" -o "$place/large"
settle
cat >check.py <<'END'
import json, sys
rows = {row["key"]: row["bytes"] for row in json.load(open(sys.argv[1]))["rows"]}
exact = sys.argv[2] == "0"
live = 20000 * 1024
assert 32 << 20 <= rows["other"] < 34 << 20, rows
assert rows["resident"] > (32 << 20) + live * 9 / 10, rows
assert live - (0 if exact else 1024 * 1024) <= rows["live"] < live + 8192, rows  # the last 1,024 mallocs
if exact:
    assert 20000 * 1000 <= rows["asked"] < 20000 * 1000 + 8192, rows
else:
    assert rows["asked"] < rows["live"], rows
END
# The kernel's own peak is asked for less often than resident memory: it must not be less.
cat >"$place/grows.c" <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    for (int turn = 0; turn < 60; turn++) {
        for (int i = 0; i < 20; i++) {
            void *block = memset(malloc(200000), 1, 200000);
            __asm__ volatile("" ::"r"(block) : "memory");
        }
        usleep(3000);
    }
    raise(SIGKILL);
}
END
build "$place/grows.c" -o "$place/grows"
cat >peak.py <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["resident_peak_bytes"] >= report["resident_bytes"] > 1 << 20, report["resident_bytes"]
END
for _ in 1 2 3 4 5 6; do
    rm -f state
    MEMOIR=recorder:$place/state,heap.rate:0 LD_PRELOAD=$MEMOIR_LIB ./grows
    "$MEMOIR_TOOL" report --json state >out 2>errors || fail "it grows: $(cat errors)"
    python3 peak.py out 2>errors || fail "resident memory is above its peak: $(tail -1 errors)"
done 2>/dev/null
for rate in 0 512K; do
    rm -f state
    MEMOIR=recorder:$place/state,heap.rate:$rate LD_PRELOAD=$MEMOIR_LIB ./large
    "$MEMOIR_TOOL" run -q --rate $rate -o run.memoir ./large
    for file in state run.memoir; do
        "$MEMOIR_TOOL" stats --json $file >out 2>errors || fail "$file, rate $rate: $(cat errors)"
        python3 check.py out $rate 2>errors || fail "$file, rate $rate: $(tail -1 errors)"
    done
done 2>/dev/null
finish
