/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=survives tight=survives hardened=survives debug=survives */
/* What a freed block held is not in the next ones. */
#include "tests/misuse/misuse.h"

int main(void)
{
    for (int i = 0; i < 100; i++) {
        char *secret = opaque(malloc(64));
        strcpy(secret, "secret");
        free(secret);
    }
    wrong();
    for (int i = 0; i < 100; i++) {
        char *block = opaque(malloc(64));
        if (memcmp(block, "secret", 6) == 0) {
            return 1;
        }
    }
    return survived();
}
