/* SPDX-License-Identifier: MIT */
/*
 * The blocks recorded last against what a shadow knows: which are kept, in which order, and which
 * have ended, while the number to keep changes; by many threads at once; and after a fork in the
 * middle of it.
 */
#include "tests/unit/unit.h"

#include "base/file/sink.h"
#include "base/lock.h"
#include "lib/dump/dump.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum { CLASS = 7, RECORDS = 300, EVENTS = 4000, MOST = 64, THREADS = 4, TEXT_SIZE = 1 << 20 };

static struct record records[RECORDS];

static NOINLINE void begin(struct record *record, size_t requested)
{
    struct caller caller = {0x1000 + requested % 8, 0, 0, FAMILY_MALLOC};
    track_begin(record, &caller, CLASS, class_size(CLASS), requested, 0, SAMPLER_EXACT_NUMBER);
}

static NOINLINE void end(struct record *record, size_t requested)
{
    struct caller caller = {0x2000 + requested % 8, 0, 0, FAMILY_MALLOC};
    track_end(record, &caller, class_size(CLASS), requested, false);
}

static char text[TEXT_SIZE];
static size_t text_length;

static int text_add(void *context, const void *bytes, size_t length)
{
    (void)context;
    assert(length < sizeof text - text_length);
    memcpy(text + text_length, bytes, length);
    text_length += length;
    text[text_length] = '\0';
    return 0;
}

static void write_text(void)
{
    char buffer[700];
    struct sink sink;
    text_length = 0;
    sink_to_function(&sink, text_add, NULL, buffer, sizeof buffer);
    assert(recent_write(&sink, 512) == 0);
}

/* What was begun, oldest first, and which record it is in; -1: it ended. */
static struct {
    size_t requested;
    int record;
} shadow[EVENTS];
static unsigned begun;

static void compare(unsigned kept, long max)
{
    char head[128], one[128];
    unsigned from = begun > kept ? begun - kept : 0;
    write_text();
    snprintf(head, sizeof head,
             "{\"sample_interval\":512,\"recent_alloc_max\":%ld,\"recent_alloc\":[", max);
    assert(strncmp(text, head, strlen(head)) == 0);
    const char *at = text;
    for (unsigned i = from; i < begun; i++) {
        bool ended = shadow[i].record < 0;
        snprintf(one, sizeof one, "{\"size\":%zu,\"usize\":%zu,\"released\":%s,",
                 shadow[i].requested, class_size(CLASS), ended ? "true" : "false");
        at = strstr(at, "{\"size\"");
        assert(at != NULL && strncmp(at, one, strlen(one)) == 0);
        at++;
        const char *next = strstr(at, "{\"size\"");
        size_t length = next == NULL ? strlen(at) : (size_t)(next - at);
        snprintf(one, sizeof one, "\"alloc_trace\":[\"0x%zx\"]", 0x1000 + shadow[i].requested % 8);
        assert(memmem(at, length, one, strlen(one)) != NULL);
        snprintf(one, sizeof one, "\"dalloc_trace\":[\"0x%zx\"]", 0x2000 + shadow[i].requested % 8);
        assert((memmem(at, length, one, strlen(one)) != NULL) == ended);
    }
    assert(strstr(at, "{\"size\"") == NULL && strcmp(text + text_length - 2, "]}") == 0);
}

static void follows_the_shadow(void)
{
    static int row_of[RECORDS]; /* + 1 */
    uint64_t random = 7;
    unsigned kept = MOST, max = MOST;
    assert(recent_max() == 0 && recent_set_max(MOST) == 0 && recent_max() == MOST);
    while (begun < EVENTS) {
        unsigned i = (unsigned)(unit_random(&random) % RECORDS);
        if (row_of[i] == 0) {
            shadow[begun].requested = 1 + begun % 100;
            shadow[begun].record = (int)i;
            begin(&records[i], shadow[begun].requested);
            row_of[i] = (int)++begun;
            kept = kept < max ? kept + 1 : max;
        } else {
            end(&records[i], shadow[row_of[i] - 1].requested);
            shadow[row_of[i] - 1].record = -1;
            row_of[i] = 0;
        }
        if (begun % 500 == 0 && row_of[i] != 0) {
            compare(kept, recent_max());
            max = 1 + (unsigned)(unit_random(&random) % 700);
            kept = kept < max ? kept : max;
            assert(recent_set_max(max) == 0);
            compare(kept, max);
        }
    }
    kept = kept < begun ? kept : begun;
    assert(recent_set_max(-1) == 0);
    compare(kept, -1);
    assert(recent_set_max(0) == 0 && block_events == 0);
    compare(0, 0);
    for (unsigned i = 0; i < RECORDS; i++)
        if (row_of[i] != 0)
            end(&records[i], 1);
    assert(recent_set_max(10) == 0); /* what began while it was off is not there */
    compare(0, 10);
}

static uint32_t stop;

static void *churn(void *argument)
{
    struct record own[16] = {0};
    uint64_t random = (uintptr_t)argument;
    lock_enter(LOCK_INSIDE, 0);
    while (!load_acquire(&stop)) {
        unsigned i = (unsigned)(unit_random(&random) % 16);
        if (own[i].site == 0)
            begin(&own[i], 1 + i);
        else
            end(&own[i], 1 + i);
    }
    for (unsigned i = 0; i < 16; i++)
        end(&own[i], 1 + i);
    track_thread_end();
    lock_leave(LOCK_INSIDE);
    return NULL;
}

static unsigned occurrences(const char *of)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, of)) != NULL; at++)
        count++;
    return count;
}

static void child(void)
{
    struct record record = {0};
    uint32_t parent_id = lock_self();
    alloc_fork_child();
    assert(alloc_repair_begin());
    alloc_recover(parent_id, true);
    track_recover(parent_id, true);
    alloc_repair_end(true);
    for (unsigned i = 0; i < 50; i++) {
        begin(&record, 77);
        end(&record, 77);
    }
    write_text();
    if (occurrences("\"size\":77,") == 0 || occurrences("\"size\":") > MOST)
        _exit(1);
    assert(recent_set_max(0) == 0);
}

static void threads_and_forks(void)
{
    pthread_t threads[THREADS];
    char said[1000];
    assert(recent_set_max(MOST) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
    for (unsigned i = 0; i < unit_times(200); i++) {
        assert(recent_set_max(i % 3 == 0 ? MOST / 2 : MOST) == 0);
        write_text();
        assert(occurrences("\"size\":") <= MOST);
        int status = unit_may_clone() ? unit_child(child, said, sizeof said) : 0;
        assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    store_release(&stop, 1);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    write_text();
    assert(occurrences("\"released\":true") == occurrences("\"released\":"));
    assert(recent_set_max(0) == 0);
}

int main(void)
{
    unit_start();
    sampler_set_rate(SAMPLER_EXACT);
    alloc_fork_watch();
    follows_the_shadow();
    threads_and_forks();
    return 0;
}
