#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What a fork costs: pages that a child which allocates a little, and its parent, must be given, as
# shells and servers have them by the thousand. Counted as page faults, which do not depend on how
# busy the machine is. The limit is what was measured on x86-64 with glibc 2.36 and a third more.
#
# Positive control: a library whose child writes to 32 pages breaks the limit.
tools=
. "$(dirname "$0")/common.sh"
[ "$(uname -m)" = x86_64 ] || { echo "the limit is for x86-64: skipped"; exit 77; }
[ "$(getconf PAGESIZE)" = 4096 ] || { echo "the limit is for pages of 4 KiB: skipped"; exit 77; }

cat >"$place/program.c" <<'END'
/* Faults of this process and its 200 children, for each of them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 200 };

static long faults(void)
{
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return own.ru_minflt + children.ru_minflt;
}

int main(void)
{
    void *volatile block;
    for (int i = 0; i < 100; i++)
        block = malloc(100);
    long before = faults();
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        block = malloc(100);
        free(block);
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    printf("%ld\n", (faults() - before) / CHILDREN);
    return 0;
}
END
cat >"$place/fatter.c" <<'END'
#include <pthread.h>
static char more[32 * 4096];
static void fatten(void)
{
    for (unsigned i = 0; i < sizeof more; i += 4096)
        ((volatile char *)more)[i] = 1;
}
__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(0, 0, fatten);
}
END
"${CC:-cc}" -O1 -fno-builtin -o "$place/program" "$place/program.c"
"${CC:-cc}" -O1 -fPIC -shared -o "$place/fatter.so" "$place/fatter.c"

bare=$("$place/program")
more=$(($(LD_PRELOAD=$library "$place/program") - bare))
fatter=$(($(LD_PRELOAD="$library $place/fatter.so" "$place/program") - bare))
limit=24
echo "a fork: $more faults more than the $bare without, at most $limit"
echo "control: $fatter with 32 more pages"
[ "$fatter" -gt "$limit" ] || { echo "the control is not seen"; exit 1; }
[ "$more" -le "$limit" ]
