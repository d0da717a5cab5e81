/* SPDX-License-Identifier: MIT */
/*
 * For readers of text: a piece of it, of which things are taken from the front. Taking answers
 * whether it was there, and if not, nothing is taken. And what several formats have: lists of
 * mappings, and stacks of addresses.
 */
#ifndef PROFILE_PARSE_TEXT_LINES_H
#define PROFILE_PARSE_TEXT_LINES_H

#include "tool/profile/parse/read_input.h"

/* Invariant: at <= end. */
struct text {
    const char *at, *end;
};

struct text text_of(const struct read_input *input);
/* The next line, without its end; an empty one where there is none. */
bool text_line(struct text *text, struct text *line);
void text_blank(struct text *text); /* takes spaces and tabs */
void text_trim(struct text *text);  /* spaces at both ends */
bool text_word(struct text *text, const char *word);
bool text_number(struct text *text, uint64_t *number); /* decimal, below 2^64 */
bool text_signed(struct text *text, int64_t *number);
bool text_hex(struct text *text, uint64_t *number); /* with or without 0x */
bool text_starts(const struct text *text, const char *word);

/* A line of a list of mappings, in one of the styles of /proc/PID/maps and of pprof's readers.
 * False: it is none. */
bool text_mapping(struct profile *profile, struct text line);
/* The mappings behind the line that announces them; what is before it is left in `text`. The
 * first one with code is the program. */
void text_mappings(struct profile *profile, struct text *text);

/* Room for the locations of a stack, used again and again. */
struct text_stack {
    uint32_t *locations;
    uint32_t count;
    size_t room;
};
/* Return addresses up to the end of the line; answers the stack. False: there is something else,
 * `line` stands in front of it. */
bool text_stack(struct profile *profile, struct text *line, struct text_stack *room,
                uint32_t *stack);
bool text_push(struct profile *profile, struct text_stack *room, uint32_t location);

/* Names behind a stack, as Go writes them (text_names.c); all zero at first. */
enum { TEXT_NAMES_MAX = 32 };
struct text_names {
    uint32_t location, count; /* the last one, and how many functions it has */
    bool known;               /* it had names before */
    bool any;                 /* some location got one */
    struct profile_line lines[TEXT_NAMES_MAX];
};
/* False: the line is no such name. To be asked of every line. */
bool text_names(struct profile *profile, struct text line, struct text_names *names);

#endif
