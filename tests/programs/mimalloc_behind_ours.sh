#!/bin/sh
# SPDX-License-Identifier: MIT
# A program is linked with mimalloc's own library and preloads memoir. That library's constructor and
# destructor ask for options through us, by the numbers of its own release: all are off for it, whatever
# they are for the program, and what it sets changes none of ours.
. "$(dirname "$0")/common.sh"
settle
cat >library.c <<'C'
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
enum { NUMBERS = 64, LIMIT = 1000, SET = 15, DELAY = 4711 };
long mi_option_get(int option);
long mi_option_get_clamp(int option, long min, long max);
size_t mi_option_get_size(int option);
bool mi_option_is_enabled(int option);
void mi_option_set(int option, long value);
void mi_option_set_default(int option, long value);
void mi_option_set_enabled(int option, bool enable);
long mi_option_get(int option) { return option; }
long mi_option_get_clamp(int option, long min, long max) { return option + min + max; }
size_t mi_option_get_size(int option) { return (size_t)option; }
bool mi_option_is_enabled(int option) { return option >= 0; }
void mi_option_set(int option, long value) { fprintf(stderr, "%d %ld\n", option, value); }
void mi_option_set_default(int option, long value) { mi_option_set(option, value); }
void mi_option_set_enabled(int option, bool enable) { mi_option_set(option, enable); }
static void look(const char *when)
{
    for (int i = 0; i < NUMBERS; i++)
        if (mi_option_is_enabled(i) || mi_option_get(i) != 0 || mi_option_get_size(i) != 0 ||
            mi_option_get_clamp(i, -1, LIMIT) != 0) {
            fprintf(stderr, "%s: option %d is on\n", when, i);
            _exit(3);
        }
}
__attribute__((constructor)) static void load(void)
{
    look("constructor");
    mi_option_set(SET, DELAY);
    mi_option_set_default(SET, DELAY);
    mi_option_set_enabled(SET, true);
}
__attribute__((destructor)) static void unload(void)
{
    look("destructor");
}
C
cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
long mi_option_get(int option);
void mi_option_set(int option, long value);
int main(void)
{
    long before = mi_option_get(15);
    mi_option_set(15, 77);
    free(malloc(100));
    return printf("%ld %ld %ld\n", before, mi_option_get(15), mi_option_get(25)) < 0;
}
C
build -shared -fPIC -Wl,-soname,libmimalloc.so.2 library.c -o libmimalloc.so.2
build program.c -Wl,--no-as-needed ./libmimalloc.so.2 -Wl,-rpath,"$PWD" -o program
got=$(preload ./program 2>err) || fail "mimalloc's own library: status $?, $(cat err)"
[ "$got" = "10 77 1" ] || fail "options of the program: $got"

# And the real one, where there is one.
if "$CC" program.c -Wl,--no-as-needed -lmimalloc -o with_mimalloc 2>/dev/null; then
    got=$(preload ./with_mimalloc 2>err) || fail "libmimalloc: status $?, $(cat err)"
    [ ! -s err ] || fail "libmimalloc: $(cat err)"
    MIMALLOC_SHOW_STATS=1 preload ./with_mimalloc >out 2>err || fail "libmimalloc, statistics: status $?"
    [ "$(grep -c '^heap stats' err)" -eq 1 ] || fail "libmimalloc: statistics are printed $(grep -c '^heap stats' err) times"
fi
finish
