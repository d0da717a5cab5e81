#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What a small program pays in memory: one that allocates 1 MiB and writes to it, with the library and
# without. Counted is anonymous memory, which nobody shares (a library that was just written to disk
# counts as private dirty, too, and is left out that way), and all that is resident, but for libc's and the
# loader's files: which of their pages come in depends on what other programs have read of them before.
#
# The limits are what was measured on x86-64 with glibc 2.36, and a margin for what machines differ
# by: a page or two where variables lie differently, and as much of the library's own file.
# What is resident moves by more than that from run to run where addresses are random, so they are not, if
# the kernel allows that; of nine runs the median counts. A block may be sampled or not: one line for each.
#
# Positive control: 32 KiB that are written at the start, by a library of our own, break the first limit.
tools=
. "$(dirname "$0")/common.sh"
[ "$(uname -m)" = x86_64 ] || { echo "the limits are for x86-64: skipped"; exit 77; }
[ "$(getconf PAGESIZE)" = 4096 ] || { echo "the limits are for pages of 4 KiB: skipped"; exit 77; }
grep -q '^Anonymous:' /proc/self/smaps 2>/dev/null || {
    echo "no /proc/self/smaps: skipped"
    exit 77
}

cat >"$place/program.c" <<'END'
/* 1 MiB; then what the kernel says about our memory. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    static char text[4096];
    char *block = malloc(1 << 20);
    memset(block, 1, 1 << 20);
    int fd = open("/proc/self/smaps", O_RDONLY);
    ssize_t got;
    while ((got = read(fd, text, sizeof text)) > 0)
        if (write(1, text, (size_t)got) != got)
            return 1;
    return got != 0 || block[1000] != 1;
}
END
cat >"$place/fatter.c" <<'END'
static char more[32 << 10];
__attribute__((constructor)) static void fatten(void)
{
    for (unsigned i = 0; i < sizeof more; i += 4096)
        ((volatile char *)more)[i] = 1;
}
END
"${CC:-cc}" -O1 -fno-builtin -o "$place/program" "$place/program.c"
"${CC:-cc}" -O1 -fPIC -shared -o "$place/fatter.so" "$place/fatter.c"

median() { sort -n | sed -n 5p; } # of nine

fixed=
if setarch -R true 2>/dev/null; then fixed='setarch -R'; fi

# kib FIELD OPTIONS PRELOAD: the median of nine runs
kib() {
    for run in 1 2 3 4 5 6 7 8 9; do
        $fixed env -u MALLOC_CONF MEMOIR="$2" LD_PRELOAD="$3" "$place/program" |
            awk -v field="$1:" '
                /^[0-9a-f]+-[0-9a-f]+ / { theirs = $6 ~ /\/(libc|ld-)[^\/]*$/ }
                $1 == field && !theirs { sum += $2 }
                END { print sum }'
    done | median
}

verdict=0
judge() { # WHAT KIB LIMIT
    if [ "$2" -gt "$3" ]; then
        echo "$1: $2 KiB more than without, limit $3"
        verdict=1
    else
        echo "$1: $2 KiB more than without, at most $3"
    fi
}

plain=$(kib Anonymous '' '')
resident=$(kib Rss '' '')
[ "$plain" -gt 1024 ] || { echo "the program has $plain KiB: it does not do what it should"; exit 1; }
sampled=heap.rate:1 # a block of 1 MiB is one, then
judge 'anonymous' $(($(kib Anonymous heap:off "$library") - plain)) 96
judge 'anonymous, one sample' $(($(kib Anonymous $sampled "$library") - plain)) 152
judge 'resident' $(($(kib Rss heap:off "$library") - resident)) 356
judge 'resident, one sample' $(($(kib Rss $sampled "$library") - resident)) 408

fat=$(($(kib Anonymous heap:off "$library:$place/fatter.so") - plain))
if [ "$fat" -gt 84 ]; then
    echo "control: 32 KiB more are seen ($fat KiB)"
else
    echo "control: 32 KiB more are not seen ($fat KiB)"
    verdict=1
fi
exit $verdict
