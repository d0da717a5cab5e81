/* SPDX-License-Identifier: MIT */
/*
 * JSON of other tools, as a tape: every value is a number, and knows where the next one
 * beside it is. Cost: 16 bytes a value, whatever it is; text stays in the input.
 *
 * Value 0 is the whole; as an answer 0 is "there is none".
 */
#ifndef PROFILE_PARSE_VALUE_H
#define PROFILE_PARSE_VALUE_H

#include "tool/profile/parse/read_input.h"

enum value_kind {
    VALUE_NULL,
    VALUE_TRUE,
    VALUE_FALSE,
    VALUE_NUMBER,
    VALUE_TEXT,
    VALUE_ARRAY,
    VALUE_OBJECT,
};

struct value {
    uint64_t place; /* in the input, times 8, and the kind */
    uint32_t next;  /* the value behind this one and all that is in it */
};

struct values {
    const char *bytes;
    size_t size;
    struct value *items;
    size_t count, room;
    char *text; /* the last one that had escapes in it */
    size_t text_room;
};

/* False: it is refused, *error says why. Free it in any case. */
bool value_parse(struct values *values, const struct read_input *input, struct read_error *error);
void value_free(struct values *values);

enum value_kind value_kind(const struct values *values, uint32_t value);
/* The first in an array or object (there: a key, then its value, and so on), and the one behind
 * `before` in the same one. 0: there is none. */
uint32_t value_first(const struct values *values, uint32_t container);
uint32_t value_after(const struct values *values, uint32_t container, uint32_t before);
/* The value of a member; 0: no object, or no such member. */
uint32_t value_member(const struct values *values, uint32_t object, const char *name);

/* What it is not is 0 or empty. Text lives until the next call. */
double value_real(const struct values *values, uint32_t value);
int64_t value_integer(const struct values *values, uint32_t value);
const char *value_text(struct values *values, uint32_t value, size_t *length);
uint32_t value_string(struct values *values, uint32_t value, struct profile *profile);
int64_t value_member_integer(const struct values *values, uint32_t object, const char *name);

#endif
