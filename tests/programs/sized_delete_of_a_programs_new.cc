/* SPDX-License-Identifier: MIT */
/*
 * A program with an operator new and an operator delete of its own, and no other: a delete with a
 * size, which C++14 compilers call, ends in the program's delete. Its blocks are parts of blocks of
 * malloc, or come from memory of its own, as in web browsers.
 */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

enum { ROUNDS = 1000, HEADER = 16, OWN_MAX = 64, OWN_COUNT = 4096 };

struct alignas(HEADER) place {
    char bytes[OWN_MAX];
};
static place own[OWN_COUNT];
static unsigned made, taken;
static int live;

void *operator new(std::size_t size)
{
    live++;
    if (size <= OWN_MAX && ++made % 2 == 0 && taken < OWN_COUNT)
        return own[taken++].bytes;
    char *block = static_cast<char *>(std::malloc(size + HEADER));
    if (block == nullptr)
        std::abort();
    return block + HEADER;
}

void operator delete(void *p) noexcept
{
    if (p == nullptr)
        return;
    live--;
    if (static_cast<void *>(own) > p || p >= static_cast<void *>(own + OWN_COUNT))
        std::free(static_cast<char *>(p) - HEADER);
}

struct thing {
    int words[10];
};

int main()
{
    for (int i = 0; i < ROUNDS; i++) {
        delete new thing;
        delete[] new thing[3];
        std::vector<int> numbers(static_cast<size_t>(i) + 1);
        std::string text(static_cast<size_t>(i), 'x');
        thing *volatile quiet = new (std::nothrow) thing;
        delete quiet;
    }
    if (live != 0) {
        std::printf("%d calls of delete did not arrive\n", live);
        return 1;
    }
    return 0;
}
