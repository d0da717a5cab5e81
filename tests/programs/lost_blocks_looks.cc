// SPDX-License-Identifier: MIT
// helper
// What programs/lost_blocks_are_described.sh runs: lost blocks that are objects, text, a list and
// cycles, each from a function of its own. "serve" goes on instead: a registry that nothing removes
// from, a cache with a limit, a table that was filled at the start, and a list whose blocks are
// written to all the time, until a line comes on standard input.
#include <poll.h>

#include <cstdlib>
#include <cstring>

#include "wipe.h"

namespace zoo
{
struct animal {
    virtual ~animal() = default;
    long legs = 4;
    animal *friends = nullptr;
};
struct lion : animal {
    char mane[40] = "";
};
} // namespace zoo

enum { OBJECTS = 7, TEXTS = 5, CYCLES = 3, LIST = 20, CACHE = 64, TABLE = 400 };

struct entry {
    entry *next;
    char text[1000];
};

static void *volatile sink;
static entry *registry, *busy;
static void *cache[CACHE], *table[TABLE];

static __attribute__((noinline)) void lose_objects()
{
    for (int i = 0; i < OBJECTS; i++)
        sink = new zoo::lion;
}

static __attribute__((noinline)) void lose_texts()
{
    for (int i = 0; i < TEXTS; i++)
        sink = strdup("GET /index.html HTTP/1.1");
}

static __attribute__((noinline)) zoo::animal *cycle_end()
{
    return new zoo::animal;
}

static __attribute__((noinline)) void lose_cycles()
{
    for (int i = 0; i < CYCLES; i++) {
        auto *first = new zoo::lion;
        first->friends = cycle_end();
        first->friends->friends = first;
        sink = first;
    }
}

static __attribute__((noinline)) entry *list_node()
{
    return static_cast<entry *>(calloc(1, sizeof(entry)));
}

static __attribute__((noinline)) void lose_list()
{
    entry *head = static_cast<entry *>(calloc(1, 2000));
    for (entry *at = head; at != nullptr;) {
        static int made;
        at = at->next = made++ < LIST ? list_node() : nullptr;
    }
    sink = head;
}

static __attribute__((noinline)) void remember()
{
    auto *made = static_cast<entry *>(malloc(sizeof(entry)));
    made->next = registry;
    registry = made;
}

static __attribute__((noinline)) void work()
{
    auto *made = static_cast<entry *>(malloc(2 * sizeof(entry))); // on pages of their own
    made->next = busy;
    busy = made;
}

static __attribute__((noinline)) void replace(unsigned turn)
{
    free(cache[turn % CACHE]);
    cache[turn % CACHE] = malloc(1500);
}

static void serve()
{
    for (auto &one : table)
        one = malloc(900);
    for (unsigned turn = 0;; turn++) {
        struct pollfd input = {0, POLLIN, 0};
        if (poll(&input, 1, 1) != 0)
            return;
        remember();
        replace(turn);
        if (turn % 2 == 0)
            work();
        for (entry *at = busy; at != nullptr; at = at->next)
            at->text[8]++;
    }
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "serve") == 0) {
        serve();
        _Exit(0);
    }
    lose_objects();
    lose_texts();
    lose_cycles();
    lose_list();
    sink = nullptr;
    wipe();
    return 0;
}
