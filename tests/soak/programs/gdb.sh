#!/bin/sh
# SPDX-License-Identifier: MIT
# gdb debugs the same way under the library; the program that it debugs runs without it.
. "$(dirname "$0")/../../programs/same.sh"
need gdb gcc

cat >"$place/target.c" <<'END'
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char name[20]; int values[10]; };
static int walk(const struct node *n, int depth) { return n ? n->values[3] + walk(n->next, depth + 1) : depth; }
int main(void)
{
    struct node *list = NULL;
    for (int i = 0; i < 20; i++) {
        struct node *n = calloc(1, sizeof *n);
        n->next = list; strcpy(n->name, "node"); n->values[3] = i; list = n;
    }
    return walk(list, 0) == 210 ? 0 : 1;
}
END
gcc -g -O0 "$place/target.c" -o "$place/target"
work() {
    gdb -q -batch -nx -ex 'set confirm off' -ex 'set startup-with-shell off' -ex 'unset environment LD_PRELOAD' \
        -ex 'set print address off' -ex 'break walk if depth == 12' -ex run -ex 'bt 4' -ex 'print *n' -ex 'ptype n' \
        -ex 'info line walk' -ex 'up 3' -ex 'info locals' -ex 'delete' -ex continue -ex 'python print(sum(range(1000)))' \
        "$place/target" 2>&1 | grep -v 'process\|debuginfod\|libthread_db\|Inferior'
}
same "gdb" work
finish
