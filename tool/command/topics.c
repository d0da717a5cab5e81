/* SPDX-License-Identifier: MIT */
/* What `memoir help TOPIC` prints: the rows TOPIC of commands.def. */
#include "tool/command/commands.h"
#include "tool/command/help.h"
#include "tool/profile/read/read.h"
#include "tool/profile/write/write.h"
#include "tool/report/report.h"
#include "tool/terminal/terminal.h"

#include <stdio.h>
#include <string.h>

enum { WORD_WIDTH = 16, ENDING_WIDTH = 24 };

void topic_blame(void)
{
    terminal_fold(
        stdout,
        "Memory belongs to the first frame, outward from malloc, that is none of these. "
        "Allocators, wrappers and functions are names, in which * stands for any beginning or "
        "ending. A module is the beginning of a file's name, a source part of "
        "a path, a header a source without its folder, rust a crate of Rust's library. "
        "Code without a name belongs to the function with one that called it, if that is in the "
        "same file: what a stripped library exports. --frames leaf and --frames all show them.\n",
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
                  "Words behind a profile are patterns: memoir top run.memoir Parser -Test keeps "
                  "the stacks that go through Parser, and of those the ones without Test. A "
                  "pattern is a regular expression that may fit anywhere in the name of a "
                  "function, its file or its module; without a capital letter it fits "
                  "capitals, too. The same filters are settings of memoir shell.\n",
                  0);
    printf("\n");
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        inside = inside || flag->id == FLAG_FOCUS;
        if (inside && strcmp(flag->verb, "@") == 0)
            help_flag(flag);
        if (flag->id == FLAG_TAG_IGNORE)
            inside = false;
    }
}

void topic_formats(void)
{
    terminal_fold(stdout, "read, found by looking at them, also inside of gzip and zstd:\n", 0);
#define X(word) printf("  %s\n", reader_##word.name);
    READERS(X)
#undef X
    printf("written, by the ending of the file:\n");
    for (size_t i = 0; i < writers_count; i++)
        terminal_row(stdout, writers[i]->ending, writers[i]->brief, ENDING_WIDTH);
}

void topic_metrics(void)
{
    terminal_fold(stdout,
                  "--metric takes one of these words, or a name that the profile itself has, "
                  "such as inuse_space. Without it a command takes what it is about, or what "
                  "the profile says; of the recording of a program that has ended, what it had "
                  "at its peak. Bytes are those of blocks, which malloc rounds up; what the "
                  "program asked for is in inuse_requested, peak_requested and alloc_requested.\n"
                  "Allocations are calls that gave a block: malloc, calloc, and their like, and "
                  "each realloc, whether the block moved or not. Files of gperftools' own "
                  "profiler leave out a realloc that leaves the block where it is; massif does "
                  "not count them.\n",
                  0);
    printf("\n");
    for (size_t i = 0; i < metrics_count; i++)
        terminal_row(stdout, metrics[i].word, metrics[i].brief, WORD_WIDTH);
    printf("\n");
    terminal_fold(
        stdout,
        "Totals of a recording are exact, also of a sampled one: the allocator counts all "
        "blocks and bytes, and every realloc as one more allocation and one more free. "
        "Sites are estimates, made from recorded blocks and scaled, size by size, so that "
        "they add up to the exact totals. Sizes of which no block was recorded are in a "
        "row of their own, [not sampled]; it is no site. A bar such as \302\26112 % "
        "belongs to a site: the true number lies within it in 95 of 100 cases. "
        "memoir run --rate 64K makes bars narrower, --exact has none.\n",
        0);
}

void topic_moments(void)
{
    static const char *const words[][2] = {
        {"peak", "when the heap was largest"},
        {"end", "the last snapshot, which is the default"},
        {"90s", "the snapshot nearest to this time after the start; also 250ms, 1m30s, 1.5h"},
        {"17", "snapshot number 17"},
    };
    terminal_fold(
        stdout,
        "A recording (memoir run --every 1s) has snapshots, each the whole heap at one "
        "moment. --at says which one is looked at, --since what it is compared with, "
        "--until is --at by another name. memoir time shows when they were made, and, with "
        "--since and --until, a part of the run.\n",
        0);
    printf("\n");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        terminal_row(stdout, words[i][0], words[i][1], WORD_WIDTH);
}
