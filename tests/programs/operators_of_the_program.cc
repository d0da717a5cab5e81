/* SPDX-License-Identifier: MIT */
/*
 * A program with some operators of its own (chosen by PLAIN, ARRAY, ALIGNED, NOTHROW, NEW_ARRAY)
 * and all the others of the C++ library: prints how often each of its own was called by each way to
 * allocate and to free. Its blocks are parts of blocks of malloc, or come from memory of its own,
 * as in web browsers, so that a block of another operator new ends it.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

enum { ROUNDS = 1000, OWN_MAX = 64, OWN_COUNT = 4096, MAGIC = 0x6d656d6f };
enum { HEADER = 64 }; /* as far as any alignment here */

struct alignas(HEADER) place {
    char head[HEADER], bytes[OWN_MAX];
};
static place own[OWN_COUNT];
static unsigned made, taken;
static unsigned calls[8];

[[maybe_unused]] static void *make(std::size_t size)
{
    char *block =
        size <= OWN_MAX && ++made % 2 == 0 && taken < OWN_COUNT
            ? own[taken++].head
            : static_cast<char *>(std::aligned_alloc(HEADER, (size / HEADER + 2) * HEADER));
    if (block == nullptr)
        return nullptr;
    *reinterpret_cast<unsigned *>(block) = MAGIC;
    return block + HEADER;
}

[[maybe_unused]] static void drop(void *p)
{
    if (p == nullptr)
        return;
    char *block = static_cast<char *>(p) - HEADER;
    if (*reinterpret_cast<unsigned *>(block) != MAGIC) {
        std::puts("a block of another operator new");
        std::abort();
    }
    if (static_cast<void *>(own) > block || block >= static_cast<void *>(own + OWN_COUNT))
        std::free(block);
}

#ifdef PLAIN
void *operator new(std::size_t size)
{
    calls[0]++;
    void *p = make(size);
    if (p == nullptr)
        throw std::bad_alloc();
    return p;
}
void operator delete(void *p) noexcept
{
    calls[1]++;
    drop(p);
}
#endif
#ifdef ARRAY
void *operator new[](std::size_t size)
{
    calls[2]++;
    void *p = make(size);
    if (p == nullptr)
        throw std::bad_alloc();
    return p;
}
void operator delete[](void *p) noexcept
{
    calls[3]++;
    drop(p);
}
#endif
#ifdef ALIGNED
void *operator new(std::size_t size, std::align_val_t)
{
    calls[4]++;
    void *p = make(size);
    if (p == nullptr)
        throw std::bad_alloc();
    return p;
}
void operator delete(void *p, std::align_val_t) noexcept
{
    calls[5]++;
    drop(p);
}
#endif
#ifdef NEW_ARRAY /* no delete of its own: longer blocks of the plain operator */
void *operator new[](std::size_t size)
{
    calls[2]++;
    return ::operator new(size + HEADER);
}
void *operator new[](std::size_t size, std::align_val_t align)
{
    calls[4]++;
    return ::operator new(size + HEADER, align);
}
#endif
#ifdef NOTHROW
void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
    calls[6]++;
    return ::operator new(size);
}
void operator delete(void *p, const std::nothrow_t &) noexcept
{
    calls[7]++;
    ::operator delete(p);
}
#endif

static void show(const char *what)
{
    std::printf("%s", what);
    for (unsigned &count : calls) {
        std::printf(" %u", count);
        count = 0;
    }
    std::puts("");
}

struct thing {
    int words[10];
    ~thing()
    {
        words[0] = 1;
    }
};
struct alignas(HEADER) wide {
    int words[HEADER / sizeof(int)];
    ~wide()
    {
        words[0] = 1;
    }
};

template <class type> static void in_turn(const char *name, const std::align_val_t *align)
{
    std::puts(name);
    for (int i = 0; i < ROUNDS; i++)
        delete new type;
    show("one");
    for (int i = 0; i < ROUNDS; i++)
        delete[] new type[3];
    show("array");
    for (int i = 0; i < ROUNDS; i++)
        delete new (std::nothrow) type;
    show("nothrow");
    for (int i = 0; i < ROUNDS; i++)
        delete[] new (std::nothrow) type[3];
    show("nothrow array");
    for (int i = 0; i < ROUNDS; i++)
        if (align == nullptr) {
            ::operator delete(::operator new(100, std::nothrow));
            ::operator delete[](::operator new[](100, std::nothrow));
            ::operator delete(::operator new(100), std::nothrow);
            ::operator delete[](::operator new[](100), std::nothrow);
            ::operator delete(::operator new(100), 100);
            ::operator delete[](::operator new[](100), 100);
        } else {
            ::operator delete(::operator new(100, *align, std::nothrow), *align);
            ::operator delete[](::operator new[](100, *align, std::nothrow), *align);
            ::operator delete(::operator new(100, *align), *align, std::nothrow);
            ::operator delete[](::operator new[](100, *align), *align, std::nothrow);
            ::operator delete(::operator new(100, *align), 100, *align);
            ::operator delete[](::operator new[](100, *align), 100, *align);
        }
    show("by name");
    /* More than there is: the nothrow form says so without an exception. */
    std::size_t volatile max = PTRDIFF_MAX - 2 * HEADER;
    void *none = align == nullptr ? ::operator new[](max, std::nothrow)
                                  : ::operator new[](max, *align, std::nothrow);
    std::printf("too much: %s\n", none == nullptr ? "refused" : "given");
    show("refused");
}

int main()
{
    const std::align_val_t align{HEADER};
    delete[] new char[5]; /* perhaps the first call of all */
    show("first");
    in_turn<thing>("plain", nullptr);
    in_turn<wide>("aligned", &align);
    for (int i = 0; i < ROUNDS; i++) {
        std::vector<int> numbers(static_cast<size_t>(i) + 1);
        std::string text(static_cast<size_t>(i) + 100, 'x');
        numbers[0] = i;
        std::stable_sort(numbers.begin(), numbers.end());
    }
    show("containers");
    return 0;
}
