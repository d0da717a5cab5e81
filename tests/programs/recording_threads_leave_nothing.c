/* SPDX-License-Identifier: MIT */
/* Every block is recorded, in threads that make a few calls and are gone, in threads that make
 * many, in their destructors after the library's own ran, and in ones that exit without running
 * them. What the library keeps for itself does not grow with their number; nor do live blocks. */
#include <sys/syscall.h>

#include "memoir/memoir.h"
#include "tests/programs/work.h"

#pragma weak memoir_set_rate
#pragma weak memoir_stats

enum { WARM_UP = 300, THREADS = 3000, GROWTH = 256 << 10 };

static pthread_key_t key;

static void calls(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        void *volatile block = malloc(40 + i % 50);
        free(block);
    }
}

static void destroy(void *rounds)
{
    calls(3);
    if (rounds != &key) {
        pthread_setspecific(key, &key);
    }
}

static void *few(void *unused)
{
    calls(4);
    return unused;
}

static void *many(void *unused)
{
    pthread_setspecific(key, &unused);
    calls(300);
    return NULL;
}

/* The thread library does not hear of it, nor do we; the kernel tells who joins. */
static void *no_word(void *unused)
{
    calls(300);
    syscall(SYS_exit, 0);
    return unused;
}

static void storm(unsigned threads)
{
    static void *(*const kinds[])(void *) = {few, many, no_word};
    for (unsigned i = 0; i < threads; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, kinds[i % 3], NULL), 0);
        pthread_join(thread, NULL);
    }
}

int main(void)
{
    struct memoir_stats before, after;
    if (memoir_set_rate == NULL) {
        return 77;
    }
    memoir_set_rate(0);
    pthread_key_create(&key, destroy);
    storm(WARM_UP);
    memoir_stats(&before, sizeof before);
    storm(THREADS);
    memoir_stats(&after, sizeof after);
    CHECK(after.metadata_bytes <= before.metadata_bytes + GROWTH);
    CHECK(after.live_blocks <= before.live_blocks + 2);
    return check_result();
}
