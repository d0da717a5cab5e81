// SPDX-License-Identifier: MIT
// expect=double_free
// delete twice.
#include "tests/misuse/misuse.h"

int main()
{
    int *block = new int(1);
    delete static_cast<int *>(opaque(block));
    wrong();
    delete static_cast<int *>(opaque(block));
    return survived();
}
