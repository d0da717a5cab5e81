/* SPDX-License-Identifier: MIT */
/* verdicts: default=- full=use_after_free tight=use_after_free hardened=damage debug=written */
/* An object of C++. */
#include <new>

#include "tests/misuse/misuse.h"

int main()
{
    int *number = static_cast<int *>(opaque(new int(7)));
    delete number;
    wrong();
    *static_cast<int *>(opaque(number)) = 1;
    return survived();
}
