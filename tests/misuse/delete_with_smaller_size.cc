/* SPDX-License-Identifier: MIT */
/* verdicts: default=told sampled=told full=wrong_size tight=wrong_size hardened=damage */
/* verdicts: debug=wrong_size */
/* A sized delete of a smaller type. */
#include <new>

#include "tests/misuse/misuse.h"

int main()
{
    void *block = opaque(operator new(64));
    wrong();
    operator delete(block, static_cast<size_t>(16));
    return survived();
}
