/* SPDX-License-Identifier: MIT */
/* verdicts: default=survives sampled=survives full=mixed tight=mixed hardened=- debug=mixed */
/* realloc of new. */
#include <new>

#include "tests/misuse/misuse.h"

int main()
{
    void *block = opaque(operator new(40));
    wrong();
    (void)opaque(realloc(block, 80));
    return survived();
}
