#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Counts the instructions of one dlopen with its dlclose, and its system calls: what is
# known about loaded objects is not read again, and the cache of the unwinder not as a whole. Threads
# wait for the loader's lock meanwhile.
#
# Positive control: a dlopen that finds a library unloaded and another one loaded reads all of them.
tools='valgrind strace'
. "$(dirname "$0")/common.sh"

cat >"$place/turns.c" <<'END'
/* turns N [BEHIND]: N times dlopen and dlclose; BEHIND: once more by libc's own functions. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static void *(*open_behind)(const char *, int);
static int (*close_behind)(void *);

int main(int count, char **arguments)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    *(void **)&open_behind = dlsym(libc, "dlopen");
    *(void **)&close_behind = dlsym(libc, "dlclose");
    for (int i = atoi(arguments[1]); i > 0; i--) {
        if (count > 2)
            close_behind(open_behind("./library.so", RTLD_NOW));
        dlclose(dlopen("./library.so", RTLD_NOW));
    }
    return 0;
}
END
echo 'int nothing;' >"$place/library.c"
cd "$place"
"${CC:-cc}" -O1 -shared -fPIC library.c -o library.so
"${CC:-cc}" -O1 turns.c -o turns -ldl

# turn ARGUMENTS...: instructions of one dlopen and dlclose, the loader's own (about 10,000) among them
turn() {
    for turns in 20 70; do
        env -u MEMOIR LD_PRELOAD="$library" valgrind --tool=callgrind --callgrind-out-file=/dev/null \
            ./turns $turns "$@" 2>log >/dev/null
        awk '/Collected *:/ { print $NF; found = 1 } END { exit !found }' log
    done | awk '{ sum += NR == 1 ? -$1 : $1 } END { print int(sum / 50) }'
}

verdict=0
count=$(turn)
echo "dlopen and dlclose: $count instructions, at most 25000"
[ "$count" -gt 0 ] && [ "$count" -le 25000 ] || verdict=1
all=$(turn behind)
echo "control: $all instructions if libraries come and go behind our back"
[ "$all" -gt $((count * 3 / 2)) ] || verdict=1
if env -u MEMOIR LD_PRELOAD="$library" strace -o calls ./turns 100 >/dev/null 2>&1; then
    probes=$(grep -c '^rt_sigprocmask' calls)
    echo "system calls that look whether memory is there: $probes in 100 turns, at most 2000"
    [ "$probes" -le 2000 ] || verdict=1
fi
exit $verdict
