/* SPDX-License-Identifier: MIT */
/* Programs that declare their functions by the macros of jemalloc's header, in C. */
#include "memoir/compat/jemalloc/jemalloc.h"
#include "tests/api/check.h"

JEMALLOC_EXPORT JEMALLOC_ALLOCATOR JEMALLOC_RESTRICT_RETURN void JEMALLOC_NOTHROW *own_malloc(
    size_t size) JEMALLOC_CXX_THROW JEMALLOC_ATTR(malloc) JEMALLOC_ALLOC_SIZE(1);
JEMALLOC_EXPORT void JEMALLOC_SYS_NOTHROW *own_calloc(size_t count, size_t size) JEMALLOC_CXX_THROW
    JEMALLOC_ALLOC_SIZE2(1, 2);
JEMALLOC_FORMAT_PRINTF(2, 3) int own_print(char *to, const char *format, ...);
JEMALLOC_FORMAT_ARG(1) const char *own_format(const char *format);
JEMALLOC_NOINLINE JEMALLOC_COLD int own_choice(int which);

static JEMALLOC_ALIGNED(64) JEMALLOC_SECTION(".data.own") char buffer[64] = "";

void *own_malloc(size_t size) JEMALLOC_CXX_THROW
{
    return malloc(size);
}

void *own_calloc(size_t count, size_t size) JEMALLOC_CXX_THROW
{
    return calloc(count, size);
}

int own_print(char *to, const char *format, ...)
{
    return snprintf(to, 8, "%zu", strlen(format));
}

const char *own_format(const char *format)
{
    return format;
}

int own_choice(int which)
{
    switch (which) {
    case 1:
        which += 10;
        JEMALLOC_FALLTHROUGH;
    default:
        return which + 1;
    }
}

int main(void)
{
    void *one = own_malloc(opaque_size(10)), *two = own_calloc(3, opaque_size(5));
    CHECK(one != NULL && two != NULL);
    CHECK(is_aligned(buffer, 64));
    CHECK_EQ(own_print(buffer, own_format("four")), 1);
    CHECK_EQ(own_choice(1), 12);
    CHECK_EQ(own_choice(2), 3);
    CHECK_EQ(JEMALLOC_VERSION_MAJOR, 5);
    CHECK(strstr(JEMALLOC_VERSION, JEMALLOC_VERSION_GID) != NULL);
    free(one);
    free(two);
    return check_result();
}
