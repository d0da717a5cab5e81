// SPDX-License-Identifier: MIT
// Deletes with a size or an alignment that is not the block's: counted, told of once, and the block
// is freed. Right ones of every size and alignment are not counted.
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

#include <fcntl.h>
#include <unistd.h>

#include "tests/api/check.h"

extern "C" {
struct totals {
    unsigned long long numbers[4];
};
struct stats {
    totals total;
    unsigned long long live_blocks, live_bytes, others[10], wrong_deletes;
};
bool memoir_stats(void *out, size_t size) __attribute__((weak));
void memoir_set_rate(long long) __attribute__((weak));
void free_sized(void *, size_t) __attribute__((weak));
}

static unsigned long long wrong_deletes()
{
    stats now{};
    CHECK(memoir_stats(&now, sizeof now));
    return now.wrong_deletes;
}

static void right_ones()
{
    for (size_t size = 0; size < 140000; size += size < 2000 ? 1 : 997) {
        operator delete(operator new(size), size);
        operator delete[](operator new[](size), size);
        for (size_t align = 1; align <= 65536; align *= 4) {
            std::align_val_t to{align};
            operator delete(operator new(size, to), size, to);
            operator delete(operator new(size, to), to);
        }
    }
    for (size_t size = 3; size < 140000; size += size < 2000 ? 1 : 997) {
        size_t less = size - size / 3; // which often stays in its place
        free_sized(realloc(malloc(size), less), less);
        free_sized(realloc(malloc(less), size), size);
    }
}

static void one(size_t is, size_t told)
{
    unsigned long long before = wrong_deletes();
    operator delete(operator new(is), told);
    CHECK(wrong_deletes() == before + 1);
}

int main()
{
    if (memoir_stats == nullptr || memoir_set_rate == nullptr || free_sized == nullptr) {
        return 77;
    }
    int real = dup(2), pipes[2];
    CHECK(pipe(pipes) == 0 && dup2(pipes[1], 2) == 2);
    for (long long rate : {512ll << 10, 1000ll, 0ll}) {
        memoir_set_rate(rate);
        unsigned long long before = wrong_deletes();
        right_ones();
        CHECK(wrong_deletes() == before);
        one(64, 16); // tells the line
        one(16, 64);
        one(1000, 2000);
        one(100000, 50000);
        one(100000, 100);
        one(100, 100000);
        operator delete (operator new(8192), std::align_val_t{16}); // aligned by luck: fits
        void *block = operator new (48, std::align_val_t{64});
        operator delete (block, 48, std::align_val_t{64});
        char *odd = static_cast<char *>(operator new(32));
        size_t align = 16;
        while (reinterpret_cast<size_t>(odd) % align == 0) {
            align *= 2;
        }
        before = wrong_deletes();
        operator delete (odd, std::align_val_t{align});
        CHECK(wrong_deletes() == before + 1);
        if (free_sized != nullptr) {
            before = wrong_deletes();
            free_sized(malloc(100), 100);
            CHECK(wrong_deletes() == before);
            free_sized(malloc(100), 300);
            CHECK(wrong_deletes() == before + 1);
        }
    }
    dup2(real, 2);
    close(pipes[1]);
    char text[4096] = "";
    ssize_t length = read(pipes[0], text, sizeof text - 1);
    const char *line = "with size 16, which is not its own: the block has 49 to 64";
    CHECK(length > 0 && std::strstr(text, line) != nullptr);
    CHECK(std::strchr(text, '\n') == text + length - 1); // one line
    return check_result();
}
