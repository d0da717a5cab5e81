/* SPDX-License-Identifier: MIT */
/*
 * Names for the addresses of a profile: functions, files, lines and inlined frames, from DWARF and
 * symbol tables, found by build id. Modules are done in parallel; answers are kept on disk by build
 * id. Nothing is fetched from anywhere unless asked for.
 */
#ifndef SYMBOL_RESOLVE_H
#define SYMBOL_RESOLVE_H

#include "tool/profile/profile.h"
#include "tool/symbol/symbol_options.h"

struct symbol_module {
    char *path, *build_id;
    char *file;         /* that the names came from; NULL: none */
    char *debug_file;   /* beside it; NULL: none */
    char *other_file;   /* of another build, which was not used; NULL: none */
    char *bundle_file;  /* of its .dwo files (.dwp); NULL: none */
    bool unsure;        /* the profile has no build id: the file was taken by its path */
    bool split_missing; /* inlined functions are in .dwo files that are not here */
    enum symbol_quality quality;
    uint64_t locations, named, guessed; /* of this module in the profile */
};

struct symbol_report {
    struct symbol_module *modules; /* most locations first */
    size_t count;
    uint64_t locations, named, guessed;
    enum symbol_fetch fetch;
};

/* False when memory is out. Locations that can't be named stay without lines. */
bool symbol_resolve(struct profile *profile, const struct symbol_options *options,
                    struct symbol_report *report);
void symbol_report_free(struct symbol_report *report);
/* Whether a mapping's path says that no file has its code: of the kernel, of compilers at run
 * time. */
bool symbol_is_made(const char *path);

#endif
