/* SPDX-License-Identifier: MIT */
/* The addresses of a profile, sorted into the files that they are in. */
#ifndef SYMBOL_MODULES_H
#define SYMBOL_MODULES_H

#include "tool/profile/profile.h"
#include "tool/symbol/module.h"

/* A location that wants names. */
struct modules_place {
    uint32_t location, module;
    size_t wanted; /* number in its module */
};

struct modules {
    struct module *items; /* [0]: of no file */
    size_t count;
    uint32_t *of_mapping; /* module of each mapping of the profile */
    struct modules_place *places;
    size_t places_count;
};

/* False when memory is out; pair with modules_free in any case. Texts are the profile's: nothing
 * may be added to it before the work is done. */
bool modules_collect(struct modules *modules, const struct profile *profile,
                     const struct symbol_options *options);
void modules_free(struct modules *modules);

#endif
