/* SPDX-License-Identifier: MIT */
/* verdicts: default=survives sampled=told full=wrong_size tight=wrong_size hardened=damage */
/* verdicts: debug=wrong_size */
/* A sized delete of one byte less, for which the same block would do. */
#include <new>

#include "tests/misuse/misuse.h"

int main()
{
    void *block = opaque(operator new(100));
    wrong();
    operator delete(block, static_cast<size_t>(99));
    return survived();
}
