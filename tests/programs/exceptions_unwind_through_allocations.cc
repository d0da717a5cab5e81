// SPDX-License-Identifier: MIT
// Exceptions thrown, caught and rethrown in threads that allocate: their objects come from malloc,
// their unwinding frees, and bad_alloc thrown by us is an exception like any other.
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/check.h"

namespace
{

void descend(int depth, const std::string &text)
{
    std::vector<std::string> held(static_cast<std::size_t>(depth) + 1, text);
    if (depth == 0) {
        throw std::runtime_error(text + std::string(1000, '!'));
    }
    try {
        descend(depth - 1, text + "x");
    } catch (const std::runtime_error &) {
        if (depth % 3 == 0) {
            throw;
        }
        throw std::runtime_error(held.back() + std::string(500, '?'));
    }
}

void throw_often()
{
    for (int turn = 0; turn < 400; turn++) {
        bool caught = false;
        try {
            descend(turn % 20, "some text that is not small enough to need no memory");
        } catch (const std::exception &error) {
            caught = std::string(error.what()).size() > 100;
        }
        CHECK(caught);
        caught = false;
        try {
            std::vector<char> impossible(opaque_size(PTRDIFF_MAX) - 10);
            CHECK(impossible.empty());
        } catch (const std::bad_alloc &) {
            caught = true;
        }
        CHECK(caught);
    }
}

} // namespace

int main()
{
    std::vector<std::thread> threads;
    alarm(60);
    for (int i = 0; i < 4; i++) {
        threads.emplace_back(throw_often);
    }
    throw_often();
    for (std::thread &thread : threads) {
        thread.join();
    }
    return check_result();
}
