/* SPDX-License-Identifier: MIT */
/* expect=survives */
/* An aligned new and a delete that tells no alignment: not told apart, as the block is the same. */
#include <new>

#include "tests/misuse/misuse.h"

int main()
{
    void *block = opaque(operator new(48, std::align_val_t(64)));
    wrong();
    operator delete(block);
    return survived();
}
