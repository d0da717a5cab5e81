#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A program that touches 200 MiB, gives them back and ends: the resident memory that the summary of
# `memoir run`, the report and its JSON name is that of the peak, and the same in all. A capture
# without that number (of an older library, and too short for a series) gives none, rather than what
# the heap had at the end. `memoir top PID` says when most of the memory is not from malloc.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
settle
set -e
export MEMOIR_TOOL TERM=dumb

cat >touch.c <<'END'
#include <stdlib.h>
#include <string.h>
int main(void)
{
    char *volatile block = malloc(200 << 20);
    memset(block, 1, 200 << 20);
    free(block);
    return 0;
}
END
${CC:-cc} -O1 -fno-builtin touch.c -o touch
"$MEMOIR_TOOL" run --lib "$MEMOIR_LIB" --output touch.memoir ./touch 2>run.txt
"$MEMOIR_TOOL" report touch.memoir >report.txt 2>/dev/null
python3 - <<'END'
import json, os, re, struct, subprocess, zlib

def report(file, *flags):
    return subprocess.run([os.environ["MEMOIR_TOOL"], "report", file, *flags], check=True,
                          capture_output=True, text=True).stdout

said = [re.search(r"^    RSS  (.*) peak$", open(name).read(), re.M)[1] for name in ("run.txt", "report.txt")]
peak = json.loads(report("touch.memoir", "--json"))["resident_peak_bytes"]
assert 200 << 20 <= peak < 300 << 20, peak
assert said == [f"{peak / 2**20:.0f} MiB"] * 2, (said, peak)

# The same file with the numbers of ALLOCATOR that there were before, and no series.
data, at, out = open("touch.memoir", "rb").read(), 16, b""
while at + 12 <= len(data):
    kind, length, _ = struct.unpack_from("<III", data, at)
    payload = data[at + 12:at + 12 + length]
    at += 12 + length
    if kind == 10:
        ends = [i for i, byte in enumerate(payload) if byte < 128]
        payload = payload[:ends[13] + 1]
    if kind != 5:
        head = struct.pack("<II", kind, len(payload))
        out += head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload
open("old.memoir", "wb").write(data[:16] + out)
text = report("old.memoir")
assert "peak 200 MiB" in text, text
assert "RSS" not in text, text
assert json.loads(report("old.memoir", "--json"))["resident_peak_bytes"] == 0
END

# Memory of a running process that is not from malloc: the table of `memoir top` says so.
cat >pool.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    size_t bytes = 64 << 20;
    char *pool = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pool, 1, bytes);
    char *volatile block = malloc(1 << 20);
    memset(block, 1, 1 << 20);
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
END
${CC:-cc} -O1 -fno-builtin pool.c -o pool
mkfifo hold said
LD_PRELOAD=$MEMOIR_LIB ./pool <hold >said &
exec 3>hold
read -r word <said
[ "$word" = ready ]
"$MEMOIR_TOOL" top $! >top.txt 2>/dev/null
exec 3>&-
wait
grep -q 'of it ([0-9]* %) not from malloc$' top.txt || { echo "top PID does not name the pool:"; cat top.txt; exit 1; }
