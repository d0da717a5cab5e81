// SPDX-License-Identifier: MIT
// expect=interior
// delete of a pointer into an array.
#include "tests/misuse/misuse.h"

int main()
{
    char *block = new char[100];
    wrong();
    delete static_cast<char *>(at(block, 32));
    return survived();
}
