// SPDX-License-Identifier: MIT // static-too
// All 20 allocation and deallocation operators, each new with each delete that may follow it, over
// many sizes and alignments; they are ours, so malloc_usable_size understands their blocks.
#include <malloc.h>

#include <new>

#include "tests/api/check.h"

namespace
{

const std::size_t alignments[] = {1, 8, 16, 32, 64, 256, 4096, 65536, 1 << 21};

void check_block(void *block, std::size_t size, std::size_t alignment)
{
    CHECK_AT(block != nullptr, "size %zu alignment %zu", size, alignment);
    CHECK_AT(is_aligned(block, alignment), "size %zu alignment %zu", size, alignment);
    CHECK_AT(malloc_usable_size(block) >= size, "size %zu alignment %zu", size, alignment);
    memset(block, 0x5A, size);
}

void plain_forms(std::size_t size)
{
    void *block = ::operator new(size);
    check_block(block, size, 16);
    ::operator delete(block);
    block = ::operator new(size);
    ::operator delete(block, size);
    block = ::operator new(size);
    ::operator delete(block, std::nothrow);

    block = ::operator new[](size);
    check_block(block, size, 16);
    ::operator delete[](block);
    block = ::operator new[](size);
    ::operator delete[](block, size);
    block = ::operator new[](size);
    ::operator delete[](block, std::nothrow);

    block = ::operator new(size, std::nothrow);
    check_block(block, size, 16);
    ::operator delete(block, size);
    block = ::operator new[](size, std::nothrow);
    check_block(block, size, 16);
    ::operator delete[](block);
}

void aligned_forms(std::size_t size, std::size_t alignment)
{
    const std::align_val_t align{alignment};
    void *block = ::operator new(size, align);
    check_block(block, size, alignment);
    ::operator delete(block, align);
    block = ::operator new(size, align);
    ::operator delete(block, size, align);
    block = ::operator new(size, align);
    ::operator delete(block, align, std::nothrow);

    block = ::operator new[](size, align);
    check_block(block, size, alignment);
    ::operator delete[](block, align);
    block = ::operator new[](size, align);
    ::operator delete[](block, size, align);
    block = ::operator new[](size, align);
    ::operator delete[](block, align, std::nothrow);

    block = ::operator new(size, align, std::nothrow);
    check_block(block, size, alignment);
    ::operator delete(block, size, align);
    block = ::operator new[](size, align, std::nothrow);
    check_block(block, size, alignment);
    ::operator delete[](block, align);
}

struct alignas(128) wide {
    char bytes[200];
    ~wide()
    {
        bytes[0] = 0;
    }
};

void deletes_of_null()
{
    const auto none = [] { return opaque_ptr(nullptr); };
    const std::align_val_t align{64};
    errno = ERRNO_UNTOUCHED;
    ::operator delete(none());
    ::operator delete(none(), 10u);
    ::operator delete(none(), std::nothrow);
    ::operator delete(none(), align);
    ::operator delete(none(), 10u, align);
    ::operator delete(none(), align, std::nothrow);
    ::operator delete[](none());
    ::operator delete[](none(), 10u);
    ::operator delete[](none(), std::nothrow);
    ::operator delete[](none(), align);
    ::operator delete[](none(), 10u, align);
    ::operator delete[](none(), align, std::nothrow);
    CHECK_EQ(errno, ERRNO_UNTOUCHED);
}

} // namespace

int main()
{
    for (std::size_t size = 0; size < 300000; size += 1 + size / 5) {
        plain_forms(size);
        for (std::size_t alignment : alignments) {
            aligned_forms(size, alignment);
        }
    }
    for (int i = 1; i < 100; i++) {
        wide *one = new wide;
        CHECK(is_aligned(one, 128));
        delete one;
        wide *many = new wide[static_cast<std::size_t>(i)];
        CHECK(is_aligned(many, 128));
        delete[] many;
    }
    deletes_of_null();
    return check_result();
}
