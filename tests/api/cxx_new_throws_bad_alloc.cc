// SPDX-License-Identifier: MIT // static-too
// The throwing operators throw std::bad_alloc, the nothrow ones return null, both after asking the
// new handler again and again until it gives up or memory appears; a handler may throw what it
// likes.
#include <sys/mman.h>
#include <sys/resource.h>

#include <new>

#include "tests/api/check.h"

namespace
{

const std::size_t too_much = opaque_size(static_cast<std::size_t>(PTRDIFF_MAX) - 100);
const std::align_val_t wide{4096};
int asked;

struct own_exception {
};

template <typename call_type> bool throws_bad_alloc(call_type call)
{
    try {
        opaque_ptr(call());
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

void without_handler()
{
    std::set_new_handler(nullptr);
    CHECK(throws_bad_alloc([] { return ::operator new(too_much); }));
    CHECK(throws_bad_alloc([] { return ::operator new[](too_much); }));
    CHECK(throws_bad_alloc([] { return ::operator new(too_much, wide); }));
    CHECK(throws_bad_alloc([] { return ::operator new[](too_much, wide); }));
    CHECK(throws_bad_alloc([] { return ::operator new(SIZE_MAX - opaque_size(3)); }));
    CHECK(::operator new(too_much, std::nothrow) == nullptr);
    CHECK(::operator new[](too_much, std::nothrow) == nullptr);
    CHECK(::operator new(too_much, wide, std::nothrow) == nullptr);
    CHECK(::operator new[](too_much, wide, std::nothrow) == nullptr);
}

void give_up_at_the_fifth()
{
    if (++asked == 5) {
        std::set_new_handler(nullptr);
    }
}

template <typename call_type> void asks_five_times(call_type call)
{
    asked = 0;
    std::set_new_handler(give_up_at_the_fifth);
    call();
    CHECK_EQ(asked, 5);
    CHECK(std::get_new_handler() == nullptr);
}

void handler_is_asked_in_a_loop()
{
    asks_five_times([] { CHECK(throws_bad_alloc([] { return ::operator new(too_much); })); });
    asks_five_times([] { CHECK(throws_bad_alloc([] { return ::operator new[](too_much); })); });
    asks_five_times([] { CHECK(throws_bad_alloc([] { return ::operator new(too_much, wide); })); });
    asks_five_times(
        [] { CHECK(throws_bad_alloc([] { return ::operator new[](too_much, wide); })); });
    asks_five_times([] { CHECK(::operator new(too_much, std::nothrow) == nullptr); });
    asks_five_times([] { CHECK(::operator new[](too_much, std::nothrow) == nullptr); });
    asks_five_times([] { CHECK(::operator new(too_much, wide, std::nothrow) == nullptr); });
    asks_five_times([] { CHECK(::operator new[](too_much, wide, std::nothrow) == nullptr); });
}

void handler_that_throws()
{
    asked = 0;
    std::set_new_handler([] {
        asked++;
        throw own_exception();
    });
    bool caught = false;
    try {
        opaque_ptr(::operator new(too_much));
    } catch (const own_exception &) {
        caught = true;
    }
    CHECK(caught);
    CHECK_EQ(asked, 1);
    std::set_new_handler(nullptr);
}

// The handler lifts a limit on the address space: the same call then succeeds.
const std::size_t held_back = std::size_t{600} << 20;

void lift_limit()
{
    struct rlimit limit;
    asked++;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
    if (asked > 3) {
        std::set_new_handler(nullptr);
    }
}

bool limit_holds()
{
    void *probe = mmap(nullptr, held_back, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe != MAP_FAILED) {
        munmap(probe, held_back);
    }
    return probe == MAP_FAILED;
}

void handler_that_finds_memory()
{
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = rlim_t{64} << 20;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    asked = 0;
    std::set_new_handler(lift_limit);
    // An emulator may not know the limit; then nothing here can be shown.
    if (limit_holds()) {
        void *block = ::operator new(held_back);
        CHECK(block != nullptr);
        CHECK_EQ(asked, 1);
        ::operator delete(block);
    }
    std::set_new_handler(nullptr);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_AS, &limit);
}

} // namespace

int main()
{
    without_handler();
    handler_is_asked_in_a_loop();
    handler_that_throws();
    handler_that_finds_memory();
    return check_result();
}
