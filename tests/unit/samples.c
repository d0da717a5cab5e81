/* SPDX-License-Identifier: MIT */
/* Records of samples: numbers are unique while in use and used again later, counts are exact. */
#include "tests/unit/unit.h"

#include "lib/watch/watch.h"

enum { RECORDS = 2000, THREADS = 4, EACH = 200 };

static char places[RECORDS * THREADS];

static void records_keep_what_they_were_given(void)
{
    static uint32_t ids[RECORDS];
    for (uint32_t i = 0; i < RECORDS; i++) {
        ids[i] = samples_add(&places[i], i, i + 7, i * 3);
        assert(ids[i] != 0 && samples_live() == i + 1 && samples_taken() == i + 1);
        for (uint32_t k = 0; k < i; k += 1 + i / 50)
            assert(ids[k] != ids[i]);
    }
    for (uint32_t i = 0; i < RECORDS; i++) {
        const struct sample *sample = samples_get(ids[i]);
        assert(sample->block == &places[i] && sample->requested == i && sample->usable == i + 7);
        assert(sample->tid == i * 3 && sample->time_ms != 0);
        samples_resize(ids[i], 5 * i, 6 * i);
        assert(sample->requested == 5 * i && sample->usable == 6 * i);
    }
    uint32_t highest = 0;
    for (uint32_t i = 0; i < RECORDS; i++) {
        highest = ids[i] > highest ? ids[i] : highest;
        samples_remove(ids[i]);
    }
    assert(samples_live() == 0 && samples_taken() == RECORDS);
    for (uint32_t i = 0; i < RECORDS; i++) {
        ids[i] = samples_add(&places[i], 1, 16, 1);
        assert(ids[i] != 0 && ids[i] <= highest); /* used again */
    }
    for (uint32_t i = 0; i < RECORDS; i++)
        samples_remove(ids[i]);
    assert(samples_live() == 0 && samples_taken() == 2 * RECORDS);
}

static void number_zero_is_nobody(void)
{
    uint64_t live = samples_live();
    samples_remove(0);
    samples_resize(0, 1, 1);
    assert(samples_live() == live);
}

/* Owners by number: whoever gets a number that is another's is caught. */
static uint8_t owner[RECORDS * THREADS * 2];

static void *churn(void *argument)
{
    uint8_t self = (uint8_t)(uintptr_t)argument;
    uint64_t random = self;
    uint32_t ids[EACH] = {0};
    for (unsigned i = 0; i < unit_times(100000); i++) {
        uint32_t *id = &ids[unit_random(&random) % EACH];
        if (*id == 0) {
            *id = samples_add(&places[self], self, self, self);
            assert(*id != 0 && *id < sizeof owner);
            assert(__atomic_exchange_n(&owner[*id], self, __ATOMIC_RELAXED) == 0);
        } else {
            assert(samples_get(*id)->tid == self && samples_get(*id)->block == &places[self]);
            assert(__atomic_exchange_n(&owner[*id], 0, __ATOMIC_RELAXED) == self);
            samples_remove(*id);
            *id = 0;
        }
    }
    uintptr_t left = 0;
    for (int i = 0; i < EACH; i++)
        left += ids[i] != 0;
    return (void *)left;
}

static void threads_never_share_a_record(void)
{
    pthread_t threads[THREADS];
    uintptr_t left = 0;
    for (size_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *mine;
        assert(pthread_join(threads[i], &mine) == 0);
        left += (uintptr_t)mine;
    }
    assert(samples_live() == left);
}

static void recovery_keeps_what_is_live(void)
{
    uint32_t id = samples_add(&places[9], 9, 16, 9);
    uint64_t live = samples_live();
    samples_recover(1);
    assert(samples_live() == live && samples_get(id)->block == &places[9]);
    assert(samples_add(&places[8], 8, 16, 8) != id);
}

int main(void)
{
    unit_start();
    records_keep_what_they_were_given();
    number_zero_is_nobody();
    threads_never_share_a_record();
    recovery_keeps_what_is_live();
    return 0;
}
