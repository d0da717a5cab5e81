/* SPDX-License-Identifier: MIT */
/* verdicts: default=survives sampled=survives full=mixed tight=mixed hardened=- debug=mixed */
/* delete [] of new. */
#include <new>

#include "tests/misuse/misuse.h"

int main()
{
    void *block = opaque(operator new(40));
    wrong();
    operator delete[](block);
    return survived();
}
