/* SPDX-License-Identifier: MIT */
/*
 * `memoir stats PID`: from the resident memory of a process down to what the program asked for, in
 * lines that add up. The kernel says what is resident and what is mapped there, the library what
 * its heap consists of. Blocks whose pages were never touched are no resident memory, so the heap's
 * parts may be larger than what of it is in memory: the difference is a line of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/command/command.h"
#include "tool/process/process.h"
#include "tool/terminal/terminal.h"
#include "tool/verb_ctl.h"

enum { NAME_WIDTH = 34, BYTES_WIDTH = 11, ROWS_MOST = 16 };

/* A line: what it is, how much, and what would change it. Sums begin anew below them. */
struct row {
    const char *key, *name;
    int64_t bytes;
    bool sum;
    char advice[128];
};

struct stats {
    struct process process;
    struct smaps smaps;
    char *answer; /* of the library */
    struct row rows[ROWS_MOST];
    size_t count;
};

static bool stats_ask(struct stats *stats, struct error *error);
static void rows_make(struct stats *stats);
static void rows_print(const struct stats *stats);
static void rows_print_json(const struct stats *stats);

bool verb_stats(const struct arguments *arguments, struct error *error)
{
    struct stats stats = {0};
    if (arguments->operands[1])
        return error_set(error, ERROR_USAGE, "stats does not take '%s'", arguments->operands[1]);
    if (!ctl_process(arguments->operands[0], &stats.process, error) || !stats_ask(&stats, error))
        return false;
    rows_make(&stats);
    if (arguments_value(arguments, FLAG_JSON))
        rows_print_json(&stats);
    else
        rows_print(&stats);
    free(stats.answer);
    return true;
}

static bool stats_ask(struct stats *stats, struct error *error)
{
    if (!attach_ask(&stats->process, "stats", -1, &stats->answer, error))
        return false;
    if (smaps_read(&stats->smaps, stats->process.pid))
        return true;
    error_set(error, ERROR_TARGET, "process %d: /proc/%d/smaps can't be read: %s",
              stats->process.pid, stats->process.pid, strerror(errno == 0 ? ESRCH : errno));
    free(stats->answer);
    return false;
}

/* The number of a line "KEY:NUMBER" of the answer; 0 if there is none. */
static int64_t answered(const struct stats *stats, const char *key)
{
    const char *fact = attach_fact(stats->answer, key);
    return fact == NULL ? 0 : strtoll(fact, NULL, 10);
}

static void add(struct stats *stats, const char *key, const char *name, int64_t bytes,
                const char *advice)
{
    struct row *row = &stats->rows[stats->count++];
    *row = (struct row){.key = key, .name = name, .bytes = bytes};
    snprintf(row->advice, sizeof row->advice, advice, stats->process.pid);
}

static void add_sum(struct stats *stats, const char *key, const char *name, int64_t bytes)
{
    add(stats, key, name, bytes, "");
    stats->rows[stats->count - 1].sum = true;
}

static void rows_make(struct stats *stats)
{
    const struct smaps *smaps = &stats->smaps;
    int64_t ours = answered(stats, "resident_bytes"), tables = answered(stats, "metadata_bytes");
    int64_t plain = (int64_t)smaps->bytes[SMAPS_PLAIN], live = answered(stats, "live_bytes");
    int64_t dirty = answered(stats, "dirty_bytes"), cached = answered(stats, "cached_bytes");
    int64_t holes = answered(stats, "fragmented_bytes");
    int64_t asked = answered(stats, "profile.live_requested_bytes");
    ours = ours < plain ? ours : plain;
    int64_t heap = ours - tables, parts = live + cached + holes + dirty;
    add_sum(stats, "resident", "resident memory", (int64_t)smaps->all);
    add(stats, "files", "programs, libraries, files", (int64_t)smaps->bytes[SMAPS_FILES],
        "mostly shared with other processes");
    add(stats, "stacks", "stacks of threads", (int64_t)smaps->bytes[SMAPS_STACKS],
        "fewer threads, or less depth");
    add(stats, "shared", "shared memory", (int64_t)smaps->bytes[SMAPS_SHARED],
        "the program's own, by shm_open or mmap");
    add(stats, "other", "other mappings", plain - ours,
        "the program's own, by mmap or sbrk: pools, other heaps");
    add(stats, "tables", "memoir's tables", tables, "grow with the heap and with heap.memory");
    add_sum(stats, "heap", "the heap", heap);
    add(stats, "dirty", "free pages, kept for reuse", dirty,
        "return.delay; memoir ctl %d purge returns them");
    add(stats, "cached", "free blocks in threads' caches", cached,
        "the options cache, cache.total");
    add(stats, "holes", "free blocks between live ones", holes,
        "blocks of one size that live longer than their neighbours");
    if (parts < heap)
        add(stats, "ends", "ends of spans that fit no block", heap - parts,
            "little, whatever the program does");
    if (parts > heap)
        add(stats, "untouched", "blocks and pages never written to", heap - parts,
            "they are no resident memory");
    add_sum(stats, "live", "live blocks", live);
    if (asked > 0 && asked <= live) {
        add(stats, "rounding", "rounding up to block sizes", live - asked,
            answered(stats, "profile.samples") == answered(stats, "allocs")
                ? "sizes just above a block size"
                : "estimated from samples");
        add_sum(stats, "asked", "asked for by the program", asked);
    }
}

static void rows_print(const struct stats *stats)
{
    const struct style style = {.out = stdout, .color = terminal_colors()};
    char text[32];
    printf("process %d    %s\n", stats->process.pid, stats->process.command);
    for (size_t i = 0; i < stats->count; i++) {
        const struct row *row = &stats->rows[i];
        int64_t bytes = row->bytes < 0 ? -row->bytes : row->bytes;
        const char *sign = row->sum ? "=" : row->bytes < 0 ? "+" : "-";
        style_value(text, (double)bytes, "bytes");
        printf("%s %-*s %*s", i == 0 ? " " : sign, NAME_WIDTH, row->name, BYTES_WIDTH, text);
        if (row->advice[0] != '\0') {
            fputs("   ", stdout);
            style_dim(&style, row->advice);
        }
        putchar('\n');
    }
}

static void rows_print_json(const struct stats *stats)
{
    struct json json;
    json_start(&json, stdout, true);
    json_object(&json, NULL);
    json_text(&json, "schema", "memoir.stats/1");
    json_number(&json, "pid", stats->process.pid);
    json_text(&json, "command", stats->process.command);
    json_array(&json, "rows");
    for (size_t i = 0; i < stats->count; i++) {
        const struct row *row = &stats->rows[i];
        json_object(&json, NULL);
        json_text(&json, "key", row->key);
        json_text(&json, "name", row->name);
        json_number(&json, "bytes", row->bytes);
        json_flag(&json, "sum", row->sum);
        if (row->advice[0] != '\0')
            json_text(&json, "advice", row->advice);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    putchar('\n');
}
