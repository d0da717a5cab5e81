#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Two threads that free a block at random and allocate another do not meet at the centre once their bins
# have grown: counts the visits to it, each of which takes a lock, in a million operations. callgrind
# tells how often a function was called; the difference of a long and a short run is free of the
# start. Sampling is off, as each sample goes to the centre once when it begins and once when it ends.
#
# Blocks above 1 KiB: what their bins may hold is a share of the memory in use, and less than what 1,000
# slots move by at random. Their limits are what is so today.
#
# Positive control: bins that may hold almost nothing go to the centre all the time.
tools=valgrind
. "$(dirname "$0")/common.sh"

cat >"$place/slots.c" <<'END'
/* slots MIN MAX OPERATIONS: of each of two threads with 1,000 slots. */
#include <pthread.h>
#include <stdlib.h>

static size_t min, max, operations;

static void *run(void *number)
{
    void *slots[1000] = {NULL};
    unsigned long turn = 88172645463325252ul + (unsigned long)number;
    for (size_t i = 0; i < operations; i++) {
        turn = turn * 6364136223846793005ul + 1442695040888963407ul;
        void **slot = &slots[(turn >> 33) % 1000];
        free(*slot);
        *slot = malloc(min + (turn >> 43) % (max - min + 1));
    }
    return slots[0];
}

int main(int count, char **arguments)
{
    pthread_t other;
    if (count != 4)
        return 2;
    min = strtoul(arguments[1], NULL, 10), max = strtoul(arguments[2], NULL, 10);
    operations = strtoul(arguments[3], NULL, 10);
    if (pthread_create(&other, NULL, run, (void *)1) != 0)
        return 1;
    run(NULL);
    return pthread_join(other, NULL);
}
END
"${CC:-cc}" -O2 -fno-builtin -pthread -o "$place/slots" "$place/slots.c"

# a_million OPTIONS MIN MAX: visits in a million operations of a process that has made 300,000
a_million() {
    short=$(visits "$1" "$place/slots" "$2" "$3" 150000)
    long=$(visits "$1" "$place/slots" "$2" "$3" 400000)
    [ "$short" -gt 100 ] || { echo "nothing is counted: $short" >&2 && return 1; }
    echo $(((long - short) * 2))
}

verdict=0
judge() { # MIN MAX LIMIT
    count=$(a_million '' "$1" "$2")
    echo "$1 to $2 bytes: $count visits to the centre in a million operations, at most $3"
    [ "$count" -le "$3" ] || verdict=1
}
judge 16 64 50
judge 64 256 50
judge 8 1024 100
judge 1024 8192 20000
judge 4 32768 20000

control=$(a_million ,cache:0 1024 8192)
echo "control: $control visits where bins may hold as little as they can"
[ "$control" -gt 50000 ] || verdict=1
exit $verdict
