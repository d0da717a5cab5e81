/* SPDX-License-Identifier: MIT */
/*
 * JSON, written as it comes: commas and quotes are put where they belong. Text that is no UTF-8 is
 * mended.
 */
#ifndef TERMINAL_JSON_H
#define TERMINAL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *file;
    unsigned depth;
    bool pretty;     /* a line for each member */
    bool embedded;   /* in a page or a picture: no text may end the element around it */
    bool filled[64]; /* by depth: something stands there */
    bool array[64];  /* by depth: ends in ] */
};

/* How many bytes the character of UTF-8 there has; 0: it is none. Text ends in a 0. */
unsigned json_character(const char *text);
void json_start(struct json *json, FILE *file, bool pretty);
/* `key` is NULL in arrays and at the top. */
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end(struct json *json); /* of the innermost object or array */
void json_text(struct json *json, const char *key, const char *text);
void json_number(struct json *json, const char *key, int64_t number);
void json_real(struct json *json, const char *key, double number); /* null if it is none */
/* A time in ns as microseconds with all digits. */
void json_micros(struct json *json, const char *key, int64_t time_ns);
void json_flag(struct json *json, const char *key, bool flag);
/* Text made of letters, digits, commas and spaces, as it comes: written to json->file between
 * these two. */
void json_text_begin(struct json *json, const char *key);
void json_text_end(struct json *json);
/* A value that was written here before; NULL: memory was out for it. */
void json_written(struct json *json, const char *key, const char *value);

#endif
