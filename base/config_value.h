/* SPDX-License-Identifier: MIT */
/*
 * One option and its value: base/config.c reads texts, this knows what a value means. The rows come
 * from config.def; struct config itself is in config.h.
 */
#ifndef BASE_CONFIG_VALUE_H
#define BASE_CONFIG_VALUE_H

#include "base/config.h"

/* Stores the value in its field of `options`, or returns false and changes nothing. */
bool config_value_parse(struct config *options, const struct config_option *option,
                        const char *value, size_t length);
/* The value as config_value_parse would take it. */
void config_value_print(const struct config *options, const struct config_option *option,
                        struct print *print);
/* What the option accepts, in a few words: "on|off", "0 to 64". */
void config_value_accepted(const struct config_option *option, struct print *print);

/* Whether the text is exactly that word. */
bool config_value_is(const char *value, size_t length, const char *word);

#endif
