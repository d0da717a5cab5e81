/* SPDX-License-Identifier: MIT */
/* verdicts: default=survives sampled=survives full=mixed tight=mixed hardened=- debug=mixed */
/* delete frees what malloc allocated. */
#include <new>

#include "tests/misuse/misuse.h"

int main()
{
    char *block = static_cast<char *>(opaque(malloc(1)));
    wrong();
    operator delete(block);
    return survived();
}
