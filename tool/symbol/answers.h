/* SPDX-License-Identifier: MIT */
/*
 * What is known of the addresses of one module: for each address the functions that it is in,
 * innermost (inlined) first. Made by one thread, kept on disk (cache.c), copied into the profile.
 */
#ifndef SYMBOL_ANSWERS_H
#define SYMBOL_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/memory/memory.h"

enum answer_state {
    ANSWER_OPEN,    /* nothing found, so far */
    ANSWER_NEAREST, /* the nearest symbol before it */
    ANSWER_SYMBOL,  /* inside of a symbol */
    ANSWER_DWARF,
};

struct answer {
    uint64_t address; /* in the file's own addresses; of a return address, the byte before it */
    uint32_t first, frames;
    uint16_t state;
    uint16_t known;  /* from the disk: no other source is asked */
    uint32_t behind; /* how far it is from its function's start; 0 where that is not known */
};

/* Texts are places in `text`. */
struct answer_frame {
    uint32_t name, system_name, file;
    uint32_t line, column, start_line; /* 0: not known */
};

struct answers {
    struct answer *items; /* by address, each once */
    size_t count;
    struct answer_frame *frames;
    size_t frames_count, frames_room;
    char *text; /* strings, each ended by 0; the first is empty */
    size_t text_size, text_room;
    struct map texts; /* numbers are places in `text` */
    bool failed;      /* memory is out */
};

void answers_start(struct answers *answers);
void answers_free(struct answers *answers);
/* Takes the addresses in any order. False when memory is out. */
bool answers_want(struct answers *answers, const uint64_t *addresses, size_t count);
/* Number of the first answer at or behind an address. */
size_t answers_at(const struct answers *answers, uint64_t address);
const struct answer *answers_find(const struct answers *answers, uint64_t address);
uint32_t answers_text(struct answers *answers, const char *text);
/* A frame further out for an answer, to which the last ones were added. */
void answers_add(struct answers *answers, struct answer *answer, const struct answer_frame *frame);

#endif
