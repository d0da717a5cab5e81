// SPDX-License-Identifier: MIT
// expect=double_free
// delete[] twice.
#include "tests/misuse/misuse.h"

int main()
{
    char *block = new char[200];
    delete[] static_cast<char *>(opaque(block));
    wrong();
    delete[] static_cast<char *>(opaque(block));
    return survived();
}
