/* SPDX-License-Identifier: MIT */
/* What `./dev check` shows to each analyser first: one that finds nothing here is not working. */
#include <stdlib.h>
#include <string.h>

char *bug(int n);

char *bug(int n)
{
  int table[4];
    char *p = malloc(8);
    memset(p, sizeof table, 0);
    table[4] = n;
    if (n > 3) {
        free(p);
    }
    return p + table[n];
}
