// SPDX-License-Identifier: MIT
// After tc_set_new_mode(1) every allocation function of C calls C++'s new_handler when memory is
// out, and tries again as long as there is one; before, none does.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

#include <new>

#include "tests/api/check.h"

extern "C" {
int tc_set_new_mode(int mode) __attribute__((weak));
int tc_query_new_mode(void) __attribute__((weak));
}

static int calls;

static void handler()
{
    if (++calls == 2)
        std::set_new_handler(NULL);
}

template <typename Call> static void fails_after(int expected, Call call)
{
    calls = 0;
    errno = 0;
    std::set_new_handler(handler);
    CHECK(call() == NULL);
    CHECK_EQ(errno, ENOMEM);
    CHECK_EQ(calls, expected);
    std::set_new_handler(NULL);
}

static void all(int expected)
{
    volatile size_t max = SIZE_MAX / 4;
    void *block = malloc(100), *small = malloc(100);
    fails_after(expected, [&] { return malloc(max); });
    fails_after(expected, [&] { return malloc(4 * max); });
    fails_after(expected, [&] { return calloc(1, max); });
    fails_after(expected, [&] { return realloc(block, max); });
    fails_after(expected, [&] { return realloc(NULL, max); });
    fails_after(expected, [&] { return memalign(64, max); });
    fails_after(expected, [&] { return valloc(max); });
    free(block);
    free(small);
}

int main()
{
    all(0);
    CHECK_EQ(tc_set_new_mode(1), 0);
    CHECK_EQ(tc_query_new_mode(), 1);
    all(2);
    CHECK_EQ(tc_set_new_mode(0), 1);
    all(0);
    return check_result();
}
