// SPDX-License-Identifier: MIT // static-too
// A new handler may throw bad_alloc; out of a nothrow new it must come as a null pointer.
#include <new>

#include "tests/api/check.h"

namespace
{

const std::size_t too_much = opaque_size(static_cast<std::size_t>(PTRDIFF_MAX) - 100);
int asked;

void throw_bad_alloc()
{
    asked++;
    throw std::bad_alloc();
}

} // namespace

int main()
{
    const std::align_val_t wide{4096};
    std::set_new_handler(throw_bad_alloc);
    CHECK(::operator new(too_much, std::nothrow) == nullptr);
    CHECK(::operator new[](too_much, std::nothrow) == nullptr);
    CHECK(::operator new(too_much, wide, std::nothrow) == nullptr);
    CHECK(::operator new[](too_much, wide, std::nothrow) == nullptr);
    CHECK_EQ(asked, 4);
    return check_result();
}
