/* SPDX-License-Identifier: MIT */
/* verdicts: default=survives sampled=survives full=mixed tight=mixed hardened=- debug=mixed */
/* malloc's functions free what new allocated. */
#include <new>

#include "tests/misuse/misuse.h"

int main()
{
    char *block = static_cast<char *>(opaque(new char));
    wrong();
    free(block);
    return survived();
}
