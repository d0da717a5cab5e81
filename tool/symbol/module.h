/* SPDX-License-Identifier: MIT */
/* One file of the process whose addresses want names: found, opened, asked. */
#ifndef SYMBOL_MODULE_H
#define SYMBOL_MODULE_H

#include "tool/symbol/answers.h"
#include "tool/symbol/elf/elf.h"
#include "tool/symbol/symbol_options.h"

/* A stretch of the process that the file was mapped to. */
struct module_map {
    uint64_t start, limit, offset;
};

struct module {
    const char *path;     /* in the process */
    const char *build_id; /* "": not known */
    bool main;            /* it is the program itself */
    struct module_map *maps;
    size_t maps_count;

    uint64_t *wanted; /* addresses in the process; of a return address, the byte before it */
    bool *returns;    /* of each, whether it is one before a return address, and may be wrong */
    uint64_t *owns;   /* of each, the file's own; 0: not in the file */
    size_t wanted_count;
    uint64_t locations, given; /* all in the profile, and those that had names before */

    struct image *image, *debug; /* NULL: not found */
    struct image *mini;   /* the image's own symbols, compressed; NULL: none, or not needed */
    struct image *bundle; /* what would be in .dwo files (.dwp); NULL: none */
    char *other;          /* a file of another build that was there; NULL: none */
    bool unsure;          /* it was taken by its path alone */
    bool split_missing;   /* some of its debug information is in files that are not here */
    enum symbol_quality quality;
    struct answers answers;
    /* For progress, read by another thread. */
    uint64_t looked, fetched_bytes, fetch_bytes;
    bool fetching;
};

/* Looks for the file and for its debug information (find.c). */
void module_find(struct module *module, const struct symbol_options *options);
/* Whose symbol table is the best. */
const struct image *module_symbols(const struct module *module);
/* Fills in `owns` and `answers`. */
void module_answer(struct module *module, const struct symbol_options *options);
void module_free(struct module *module);
/* Fills in `owns`, which has room; those that are in the file are collected in `found` as well. */
size_t module_owns(struct module *module, const struct image *image, uint64_t *found);

#endif
