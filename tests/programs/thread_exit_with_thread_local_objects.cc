// SPDX-License-Identifier: MIT
// C++ thread_local objects whose destructors allocate and free, and which own blocks made by other
// threads.
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/check.h"

namespace
{

std::atomic<int> destroyed;

struct keeper {
    std::map<int, std::string> entries;
    std::unique_ptr<std::vector<char>> bytes;

    ~keeper()
    {
        // A destructor that first makes the thing larger.
        for (int i = 0; i < 200; i++) {
            entries[i] += std::string(static_cast<std::size_t>(i) * 20, 'x');
        }
        bytes = std::make_unique<std::vector<char>>(300000, 'y');
        CHECK(entries[199].size() >= 199 * 20 && (*bytes)[299999] == 'y');
        destroyed++;
    }
};

thread_local keeper first;
thread_local keeper second;

void use(std::unique_ptr<std::vector<char>> handed_over)
{
    first.entries[1] = "one";
    second.bytes = std::move(handed_over);
}

} // namespace

int main()
{
    enum { THREADS = 400, TOGETHER = 8 };
    alarm(100);
    for (int turn = 0; turn < THREADS / TOGETHER; turn++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < TOGETHER; i++) {
            threads.emplace_back(use, std::make_unique<std::vector<char>>(1000 * (i + 1), 'z'));
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    }
    CHECK_EQ(destroyed, 2 * THREADS);
    use(nullptr);
    return check_result();
}
