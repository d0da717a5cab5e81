/* SPDX-License-Identifier: MIT */
/* A stranger's program. It never names malloc: strdup must reach ours all the same. */
#include <memoir/memoir.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *text = strdup("memoir");
    if (text == NULL || strcmp(text, "memoir") != 0) {
        return 1;
    }
    puts(text);
    free(text);
    return 0;
}
