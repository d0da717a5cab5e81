/* SPDX-License-Identifier: MIT */
/*
 * The two text formats, made of blocks that were recorded, line by line; and all formats into a
 * sink that fails. What other programs read in them: tests/programs/profile_formats.sh.
 */
#include "tests/unit/unit.h"

#include <errno.h>

#include "lib/dump/dump.h"
#include "lib/dump/format_inside.h"
#include "lib/heap/observer.h"
#include "lib/heap/threads.h"
#include "lib/heap/track.h"
#include "lib/watch/stacks.h"
#include "lib/watch/unwind.h"
#include "lib/watch/watch.h"

enum { BLOCKS = 60, MANY = 200, TIMES = 32 };

static char text[1 << 22];
static size_t text_length;

static int keep(void *context, const void *bytes, size_t length)
{
    size_t max = *(size_t *)context;
    if (length > max - text_length)
        return ENOSPC;
    memcpy(text + text_length, bytes, length);
    text_length += length;
    return 0;
}

static int make(enum format_kind kind, bool accum, size_t max)
{
    char buffer[256];
    struct sink sink;
    struct format_options options = {.accum = accum, .reason = "test"};
    text_length = 0;
    sink_to_function(&sink, keep, &max, buffer, sizeof buffer);
    static struct account account;
    options.account = &account;
    int error = format_write(SOURCE_HEAP, kind, &options, &sink);
    text[text_length] = '\0';
    return error;
}

static struct record records[BLOCKS + MANY];

__attribute__((noinline)) static void one(unsigned i, unsigned class)
{
    struct caller caller = CALLER_HERE;
    size_t size = class_size(class);
    track_begin(&records[i], &caller, class, size, size - 3, 0, sampler_number());
    __asm__ volatile("" ::: "memory");
}

static void *in_thread(void *context)
{
    (void)context;
    threads_set_name("helper");
    for (unsigned i = 0; i < MANY; i++)
        one(BLOCKS + i, 4);
    return NULL;
}

static void fill(void)
{
    pthread_t thread;
    sampler_set_rate(SAMPLER_EXACT);
    threads_set_name("first");
    for (unsigned i = 0; i < BLOCKS; i++)
        one(i, 2 + i % 3);
    for (unsigned i = 0; i < BLOCKS / 2; i++) {
        size_t size = class_size(2 + i % 3);
        track_end(&records[i], NULL, size, size - 3, false);
    }
    assert(pthread_create(&thread, NULL, in_thread, NULL) == 0);
    assert(pthread_join(thread, NULL) == 0);
}

struct sums {
    uint64_t live, live_usable, live_requested, all, all_usable, all_requested;
};

static void add(void *context, const struct track_row *row)
{
    struct sums *sums = context;
    assert(row->weight == 1 && row->rate == 0);
    sums->live += row->live.objects;
    sums->live_usable += row->live.usable;
    sums->live_requested += row->live.requested;
    sums->all += row->allocated.objects;
    sums->all_usable += row->allocated.usable;
    sums->all_requested += row->allocated.requested;
}

static void has(const char *line)
{
    if (strstr(text, line) == NULL) {
        fprintf(stderr, "no '%s' in:\n%.2000s\n", line, text);
        exit(1);
    }
}

static void jemalloc_lines(const struct sums *sums)
{
    char line[200];
    assert(make(FORMAT_JEMALLOC, false, sizeof text - 1) == 0);
    snprintf(line, sizeof line,
             "heap_v2/1\n  t*: %lu: %lu [0: 0]\n  t0: ", (unsigned long)sums->live,
             (unsigned long)sums->live_usable);
    assert(strncmp(text, line, strlen(line)) == 0);
    has(" [0: 0] first\n");
    has(" [0: 0] helper\n");
    has("\n@ 0x");
    has("\n\nMAPPED_LIBRARIES:\n");
    assert(text[text_length - 1] == '\n');

    assert(make(FORMAT_JEMALLOC, true, sizeof text - 1) == 0);
    snprintf(line, sizeof line, "\n  t*: %lu: %lu [%lu: %lu]\n", (unsigned long)sums->live,
             (unsigned long)sums->live_usable, (unsigned long)sums->all,
             (unsigned long)sums->all_usable);
    has(line);
}

static void gperftools_lines(const struct sums *sums)
{
    char line[200];
    uint64_t before = UINT64_MAX, live = 0;
    assert(make(FORMAT_GPERFTOOLS, false, sizeof text - 1) == 0);
    snprintf(line, sizeof line, "heap profile: %6lu: %8lu [%6lu: %8lu] @ heapprofile\n",
             (unsigned long)sums->live, (unsigned long)sums->live_requested,
             (unsigned long)sums->all, (unsigned long)sums->all_requested);
    assert(strncmp(text, line, strlen(line)) == 0);
    for (char *at = strchr(text, '\n') + 1; *at != '\n'; at = strchr(at, '\n') + 1) {
        unsigned long objects, bytes;
        assert(sscanf(at, "%lu: %lu [", &objects, &bytes) == 2);
        assert(bytes <= before);
        before = bytes;
        live += objects;
    }
    assert(live == sums->live);
    has("\n\nMAPPED_LIBRARIES:\n");
}

static void numbers_for_readers_that_scale(void)
{
    static const double sizes[] = {8, 100, 5000, 65536, 1e6, 1e8};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct estimate sum = {0};
        uint64_t size = (uint64_t)sizes[i];
        estimate_add(&sum, 1000, 1000 * size, 1 / sampler_picked(sizes[i], 65536));
        struct pair pair = estimate_pair(&sum, 65536);
        assert(pair.objects == 1000 && pair.bytes == 1000 * size);
        pair = estimate_pair(&sum, 0);
        assert(pair.objects == scale_round(sum.objects));
        pair = estimate_seen(&sum);
        assert(pair.objects == 1000 && pair.bytes == 1000 * size);
    }
    struct estimate none = {0};
    assert(estimate_pair(&none, 65536).objects == 0);
    assert(scale_round(1e30) == UINT64_MAX && scale_round(0.4) == 0);
}

/* No memory for tables: less order and fewer words, the same sums. */
static void without_memory(void)
{
    struct rlimit none = {1, 1};
    unsigned long objects, live = 0;
    setrlimit(RLIMIT_AS, &none);
    for (int kind = FORMAT_CAPTURE; kind <= FORMAT_GPERFTOOLS; kind++)
        if (make((enum format_kind)kind, true, sizeof text - 1) != 0 || text_length < 100)
            _exit(10 + kind);
    for (char *at = strchr(text, '\n') + 1; *at != '\n'; at = strchr(at, '\n') + 1)
        live += sscanf(at, "%lu:", &objects) == 1 ? objects : 0;
    _exit(live == BLOCKS / 2 + MANY ? 0 : 20);
}

int main(void)
{
    struct sums sums = {0};
    unit_start();
    fill();
    track_each(add, &sums);
    assert(sums.live == BLOCKS / 2 + MANY && sums.all == BLOCKS + MANY);
    jemalloc_lines(&sums);
    gperftools_lines(&sums);
    numbers_for_readers_that_scale();
    for (int kind = FORMAT_CAPTURE; kind <= FORMAT_GPERFTOOLS; kind++) {
        assert(make((enum format_kind)kind, true, sizeof text - 1) == 0 && text_length > 100);
        size_t whole = text_length;
        /* Another capture may be some bytes shorter: it tells other times. */
        for (size_t max = 0; max + TIMES < whole; max += 1 + whole / 50)
            assert(make((enum format_kind)kind, true, max) == ENOSPC && text_length <= max);
        assert(format_suffix((enum format_kind)kind)[0] == '.');
    }
    /* A sanitizer needs memory of its own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    char said[256];
    assert(unit_child(without_memory, said, sizeof said) == 0);
#else
    (void)without_memory;
#endif
    return 0;
}
