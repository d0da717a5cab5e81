/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=overflow tight=overflow hardened=damage debug=after_at_exit */
/* An array of C++. */
#include <new>

#include "tests/misuse/misuse.h"

int main()
{
    int *numbers = static_cast<int *>(opaque(new int[16]));
    wrong();
    numbers[16] = 1;
    return survived();
}
