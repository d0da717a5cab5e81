/* SPDX-License-Identifier: MIT */
/*
 * Names of code that was made at run time, which no file has: compilers of such code can write them
 * into /tmp/perf-PID.map (node, the JVM, .NET, Python), a line each: start, size, name.
 */
#ifndef SYMBOL_JIT_H
#define SYMBOL_JIT_H

#include "tool/profile/profile.h"
#include "tool/symbol/symbol_options.h"

struct jit_entry {
    uint64_t start, size;
    uint32_t name;  /* in the text */
    uint32_t order; /* in the file: what is written later holds */
};

struct jit {
    char path[128 + 4096]; /* "": there is none */
    char *text;
    struct jit_entry *entries; /* by start */
    size_t count;
};

/* Empty where there is no such file, or only that of another process of the same number. False
 * when memory is out. Pair with jit_free in any case. */
bool jit_read(struct jit *jit, const struct profile *profile, const struct symbol_options *options);
void jit_free(struct jit *jit);
/* NULL: not known. */
const char *jit_find(const struct jit *jit, uint64_t address);

#endif
