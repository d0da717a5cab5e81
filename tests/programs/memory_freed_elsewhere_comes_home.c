/* SPDX-License-Identifier: MIT */
/* One thread allocates, another frees, for ever: what was freed is allocated again, so memory stays
 * at what is in flight. Also in a ring of threads, and when the allocating thread has ended long
 * before. */
#include <sched.h>

#include "tests/programs/memory.h"
#include "tests/programs/work.h"

enum { QUEUE = 1024, ROUNDS = 200000, RING = 4, IN_FLIGHT = 200, ORPHANS = 20000, GROWTH_MIB = 24 };

struct queue {
    void *_Atomic slots[QUEUE];
};

static struct queue queues[RING];

static void put(struct queue *queue, unsigned turn, void *block)
{
    while (queue->slots[turn % QUEUE] != NULL) {
        sched_yield();
    }
    queue->slots[turn % QUEUE] = block;
}

static void *get(struct queue *queue, unsigned turn)
{
    void *block;
    while ((block = atomic_exchange(&queue->slots[turn % QUEUE], NULL)) == NULL) {
        sched_yield();
    }
    return block;
}

static size_t size_of_turn(unsigned turn)
{
    return turn % 50 ? 50 + turn % 1500 : 30000 + turn % 60000;
}

static void *consume(void *queue)
{
    for (unsigned turn = 0; turn < ROUNDS; turn++) {
        free(get(queue, turn));
    }
    return NULL;
}

/* Each link of the ring frees what it gets and passes on what it allocates; the first one starts
 * it. */
static void *link_run(void *number)
{
    unsigned self = (unsigned)(uintptr_t)number;
    for (unsigned turn = 0; turn < ROUNDS / RING; turn++) {
        if (self != 0 || turn >= IN_FLIGHT) {
            free(get(&queues[self], self != 0 ? turn : turn - IN_FLIGHT));
        }
        put(&queues[(self + 1) % RING], turn, malloc(size_of_turn(turn)));
    }
    return NULL;
}

static void pipeline(void)
{
    pthread_t consumer;
    CHECK_EQ(pthread_create(&consumer, NULL, consume, &queues[0]), 0);
    for (unsigned turn = 0; turn < ROUNDS; turn++) {
        void *block = malloc(size_of_turn(turn));
        memset(block, 1, 16);
        put(&queues[0], turn, block);
    }
    CHECK_EQ(pthread_join(consumer, NULL), 0);
}

static void ring(void)
{
    pthread_t links[RING];
    for (unsigned i = 0; i < RING; i++) {
        CHECK_EQ(pthread_create(&links[i], NULL, link_run, (void *)(uintptr_t)i), 0);
    }
    for (unsigned i = 0; i < RING; i++) {
        CHECK_EQ(pthread_join(links[i], NULL), 0);
    }
    for (unsigned i = 0; i < RING * QUEUE; i++) {
        free(atomic_exchange(&queues[i / QUEUE].slots[i % QUEUE], NULL));
    }
}

static void *orphans[ORPHANS];

static void *make_orphans(void *unused)
{
    for (unsigned i = 0; i < ORPHANS; i++) {
        orphans[i] = malloc(1000);
        memset(orphans[i], 1, 1000);
    }
    return unused;
}

int main(void)
{
    alarm(110);
    pipeline();
    size_t warm = resident_bytes();
    pipeline();
    ring();
    CHECK_AT(resident_bytes() < warm + GROWTH_MIB * MIB, "resident %zu KiB, then %zu", warm / 1024,
             resident_bytes() / 1024);
    for (int turn = 0; turn < 30; turn++) {
        pthread_t maker;
        CHECK_EQ(pthread_create(&maker, NULL, make_orphans, NULL), 0);
        CHECK_EQ(pthread_join(maker, NULL), 0);
        for (unsigned i = 0; i < ORPHANS; i++) {
            free(orphans[i]);
        }
    }
    /* One generation is 20 MB; thirty would be 600. */
    CHECK_AT(resident_bytes() < warm + (20 + GROWTH_MIB) * MIB, "resident %zu KiB, then %zu",
             warm / 1024, resident_bytes() / 1024);
    return check_result();
}
