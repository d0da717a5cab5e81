// SPDX-License-Identifier: MIT
// expect=double_free
// The aligned and sized delete, twice.
#include "tests/misuse/misuse.h"

#include <new>

int main()
{
    void *block = ::operator new (256, std::align_val_t{64});
    ::operator delete (opaque(block), 256, std::align_val_t{64});
    wrong();
    ::operator delete (opaque(block), 256, std::align_val_t{64});
    return survived();
}
