/* SPDX-License-Identifier: MIT */
/* The documentation of the options, for the pages that show it. */
#ifndef COMMAND_OPTIONS_H
#define COMMAND_OPTIONS_H

#include "base/config.h"

struct options_doc {
    const char *brief;
    const char *details;
};

/* In the order of `config_options`. */
extern const struct options_doc options_docs[CONFIG_COUNT];

/* Where options come from and how they are written. Lines that begin with a space are examples. */
extern const char *const options_intro[];
extern const size_t options_intro_count;

/* The default as users write it; the accepted values in words. */
const char *options_initial(size_t index);
const char *options_accepted(size_t index, char *buffer, size_t size);

#endif
