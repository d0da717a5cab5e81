/* SPDX-License-Identifier: MIT */
/* What `memoir help TOPIC` prints: the rows TOPIC of commands.def. */
#include <stdio.h>
#include <string.h>

#include "tool/command/commands.h"
#include "tool/command/help.h"
#include "tool/profile/read/read.h"
#include "tool/profile/write/write.h"
#include "tool/report/report.h"
#include "tool/terminal/terminal.h"

enum { WORD_WIDTH = 16, ENDING_WIDTH = 24 };

void topic_blame(void)
{
    terminal_fold(stdout,
                  "A block is charged to the first frame, outward from malloc, that does "
                  "not match this list. allocator, wrapper and function are function "
                  "names, where * stands for any beginning or ending; module is the "
                  "beginning of a file name, source a part of a path, header a file name "
                  "without its folder, rust a crate of Rust's library. Code without a "
                  "name is charged to its nearest caller with a name in the same file, "
                  "such as an exported function of a stripped library. --frames leaf and "
                  "--frames all show the frames in between.\n",
                  0);
    printf("\n");
    for (size_t i = 0; i < blame_patterns_count; i++)
        printf("  %s %s\n", blame_kind_name(blame_patterns[i].kind), blame_patterns[i].word);
}

/* The flags between these two are filters. */
void topic_filters(void)
{
    bool inside = false;
    terminal_fold(stdout,
                  "Words after a profile are patterns: memoir top run.memoir Parser "
                  "-Test keeps the stacks that match Parser and leaves out those that "
                  "match Test. A pattern is a regular expression that may match anywhere "
                  "in the name of a function, its file or its module; without a capital "
                  "letter it ignores case. The same filters are settings of memoir "
                  "shell.\n",
                  0);
    printf("\n");
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        inside = inside || flag->id == FLAG_FOCUS;
        if (inside && flag->command == COMMAND_READERS)
            help_flag(flag);
        if (flag->id == FLAG_TAG_IGNORE)
            inside = false;
    }
}

void topic_formats(void)
{
    terminal_fold(stdout, "read, recognized by content, also compressed with gzip or zstd:\n", 0);
#define X(word) printf("  %s\n", reader_##word.name);
    READERS(X)
#undef X
    printf("written, by the ending of the file:\n");
    for (size_t i = 0; i < writers_count; i++)
        terminal_row(stdout, writers[i]->ending, writers[i]->brief, ENDING_WIDTH);
}

static void metric_print(const struct metric *metric)
{
    char text[128];
    snprintf(text, sizeof text, metric->recorder ? "%s (%s)" : "%s", metric->brief,
             metric->recorder);
    terminal_row(stdout, metric->word, text, WORD_WIDTH);
}

void topic_metrics(void)
{
    terminal_fold(stdout,
                  "--metric takes one of these words, or a value type of the profile, "
                  "such as inuse_space. The default depends on the command and the "
                  "profile; for a recording of a program that has ended, it is peak. "
                  "Bytes are block sizes, which malloc rounds up; the requested sizes "
                  "are inuse_requested, peak_requested and alloc_requested.\nAllocations "
                  "are calls that returned a block: malloc, calloc and the like, and "
                  "each realloc, whether the block moved or not. gperftools' own "
                  "profiler does not count a realloc in place; massif counts no "
                  "realloc.\n",
                  0);
    printf("\n");
    for (size_t i = 0; i < METRICS_COUNT; i++)
        metric_print(&metrics[i]);
    printf("\n");
    terminal_fold(stdout,
                  "Totals of a recording are exact, even of a sampled one: the allocator "
                  "counts all blocks and bytes, and every realloc as one allocation and "
                  "one free. Sites are estimates from recorded blocks, scaled for each "
                  "size so that they add up to the exact totals. Sizes without a "
                  "recorded block are in a row of their own, [not sampled], which is not "
                  "a site. An error bar such as \302\26112 % belongs to a site: the true "
                  "number lies within it in 95 of 100 cases. What a thread has allocated, "
                  "and what has one size up to 32 KiB, is counted. memoir run --rate 64K "
                  "makes the bars narrower, --exact removes them.\n",
                  0);
}

void topic_moments(void)
{
    static const char *const words[][2] = {
        {"peak", "the moment when the heap was largest"},
        {"end", "the last snapshot; the default"},
        {"90s", "the snapshot nearest to this time since the start; also 250ms, 1m30s, "
                "1.5h"},
        {"17", "snapshot number 17"},
    };
    terminal_fold(stdout,
                  "A recording (memoir run --every 1s) has snapshots, each the whole "
                  "heap at one moment. --at selects the snapshot, --since the one to "
                  "compare it with; --until is another name for --at. memoir time shows "
                  "the times of the snapshots and, with --since and --until, a part of "
                  "the run.\n",
                  0);
    printf("\n");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        terminal_row(stdout, words[i][0], words[i][1], WORD_WIDTH);
}
