/* SPDX-License-Identifier: MIT */
/* verdicts: default=survives sampled=survives full=mixed tight=mixed hardened=- debug=mixed */
/* A thread frees by free what another one has by new[]. */
#include <new>

#include "tests/misuse/misuse.h"

int main()
{
    void *block = opaque(operator new[](30));
    wrong();
    in_thread(free_it, block);
    return survived();
}
