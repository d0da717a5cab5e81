// SPDX-License-Identifier: MIT
// expect=double_free
// delete, then free of the same block.
#include "tests/misuse/misuse.h"

int main()
{
    int *block = new int[20];
    delete[] static_cast<int *>(opaque(block));
    wrong();
    free(opaque(block));
    return survived();
}
