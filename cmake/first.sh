#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Writes cmake/first.ld anew: which functions small programs run, found by callgrind. From the top of the
# tree, with a Release build in build/: cmake/first.sh >cmake/first.ld.new && mv cmake/first.ld.new cmake/first.ld
set -eu
library=$PWD/build/libmemoir.so
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cat >"$place/small.c" <<'END'
/* small MIN MAX [SECONDS]: 1 MiB in blocks of MIN to MAX bytes, in two threads, again and again for
 * that long; some are freed or resized. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static size_t least, most;

static void *run(void *unused)
{
    static __thread char *kept[64];
    unsigned turn = 1;
    for (size_t got = 0; got < 1 << 19;) {
        turn = turn * 1103515245u + 12345u;
        size_t size = least + (turn >> 8) % (most - least + 1);
        char **place = &kept[turn >> 26];
        if (turn >> 24 & 1)
            free(*place), *place = malloc(size);
        else
            *place = turn >> 25 & 1 ? realloc(*place, size) : (free(*place), calloc(1, size));
        memset(*place, 1, size);
        got += size;
    }
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t other;
    least = strtoul(arguments[1], NULL, 10), most = strtoul(arguments[2], NULL, 10);
    time_t end = time(NULL) + (count > 3 ? atoi(arguments[3]) : 0);
    if (count < 3 || pthread_create(&other, NULL, run, NULL) != 0)
        return 1;
    do
        run(NULL);
    while (time(NULL) < end);
    return pthread_join(other, NULL);
}
END
cc -O1 -pthread -o "$place/small" "$place/small.c"

cat >"$place/list.cc" <<'END'
/* Threads that free what earlier ones have made, and wait for each other. */
#include <memory>
#include <thread>
#include <vector>

enum { THREADS = 4, TURNS = 20 };

int main()
{
    std::vector<std::unique_ptr<std::vector<int>>> kept(1000);
    auto renew = [&kept](unsigned first) {
        for (unsigned i = first; i < kept.size(); i += THREADS)
            kept[i] = std::make_unique<std::vector<int>>(i * 37 % 500);
    };
    for (unsigned turn = 0; turn < TURNS; turn++) {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < THREADS; i++)
            threads.emplace_back(renew, (i + turn) % THREADS);
        for (auto &thread : threads)
            thread.join();
    }
}
END
c++ -O1 -pthread -o "$place/list" "$place/list.cc"

runs=0
run() {
    runs=$((runs + 1))
    LD_PRELOAD=$library valgrind --tool=callgrind --callgrind-out-file="$place/run.$runs.%p" "$@" \
        </dev/null >/dev/null 2>"$place/log" || { cat "$place/log" >&2 && exit 1; }
}
run "$place/small" 16 1000
run "$place/small" 1000 200000
run "$place/small" 16 1000 8 # looks for idle memory and judges the pace of its samples
run "$place/small" 1000 200000 12 # returns memory; threads wait for each other
MEMOIR=heap.rate:32k run "$place/small" 16 1000
MEMOIR=heap.rate:32k run "$place/small" 1000 200000
run "$place/list"
run sh -c 'for i in 1 2 3; do x=$i$x; done; echo $x'
run perl -e 'my %h; $h{$_} = $_ x 10 for 1 .. 5000; print scalar keys %h'
run sh -c '(x=$(echo 1); echo $x)' # children of a fork, each counted with what its parent ran before

cat <<'END'
/* SPDX-License-Identifier: MIT */
/*
 * What every program runs of libmemoir.so stands side by side, before all else: the kernel brings
 * code in by 64 KiB, and of 180 KiB a small program needs a third. Written by cmake/first.sh. A name
 * that is wrong or missing costs a page and breaks nothing.
 */
SECTIONS
{
  .text.first :
  {
END
# valgrind does not say of which file the functions are that stand first already: "[???]"
nm "$library" | sed -n 's/.* [tT] \([A-Za-z_0-9]*\).*/\1/p' | LC_ALL=C sort -u >"$place/ours"
for file in "$place"/run.*; do
    callgrind_annotate --threshold=100 --show-percs=no "$file" |
        sed -n -e 's/.*:\([A-Za-z_][A-Za-z_0-9]*\)[^ ]* \[.*libmemoir.*/\1/p' \
            -e 's/.*:\([A-Za-z_][A-Za-z_0-9]*\)[^ ]* \[???\]$/\1/p' |
        LC_ALL=C sort -u | LC_ALL=C comm -12 - "$place/ours"
done | LC_ALL=C sort | uniq -c | LC_ALL=C sort -k1,1nr -k2 | # what most of them run comes first
    sed 's/ *[0-9]* \(.*\)/    *(.text.\1 .text.\1.* .text.startup.\1 .text.exit.\1 .text.unlikely.\1)/'
printf '    *(.text)\n  }\n}\nINSERT BEFORE .text;\n' # .text: of the compiler's and libc's own files
