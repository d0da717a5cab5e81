/* SPDX-License-Identifier: MIT */
/*
 * Answers on disk, one file a module, in $XDG_CACHE_HOME/memoir/symbols: a second look at a profile
 * opens no DWARF at all. A file counts only if it was made by this version from the very
 * files that were found this time; what is damaged or of others is written anew. Files are put
 * in place whole (rename), so that commands may run side by side. The oldest are removed when all
 * together are large.
 */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include "tool/symbol/module.h"

struct cache {
    char path[4096];  /* "": none */
    uint64_t sources; /* what it must have been made from */
    struct answers kept;
};

/* Fills in what is known; `quality` as well. Pair with cache_end. */
void cache_start(struct cache *cache, struct module *module, const struct symbol_options *options);
/* Keeps what is new, if `keep`. */
void cache_end(struct cache *cache, const struct module *module, bool keep);

#endif
