/* SPDX-License-Identifier: MIT */
/*
 * Names for the addresses of a profile: functions, files, lines and inlined frames, from DWARF and
 * symbol tables, found by build id. Modules are done in parallel; answers are kept on disk by build
 * id. Nothing is fetched from anywhere unless asked for.
 */
#ifndef SYMBOL_RESOLVE_H
#define SYMBOL_RESOLVE_H

#include "tool/profile/profile.h"

struct symbol_options {
    const char *program;    /* the main program's file, if the user named one */
    const char *sysroot;    /* stands before all paths; NULL: none */
    const char *debug_path; /* further folders with debug files, joined by ':' */
    int64_t pid;            /* a live process, whose files are seen through /proc; 0: none */
    bool fetch;             /* ask debuginfod */
    bool no_cache;
    bool no_inlines;
    bool again; /* also locations that have names already */
    /* Called now and then from the calling thread; `done` of `all` addresses. May be NULL. */
    void (*progress)(void *context, const char *module, uint64_t done, uint64_t all);
    void *context;
};

enum symbol_quality {
    SYMBOL_NOTHING,  /* no file */
    SYMBOL_MISMATCH, /* a file, but of another build */
    SYMBOL_EXPORTS,  /* .dynsym alone: names are guesses between exported ones */
    SYMBOL_TABLE,    /* .symtab: functions, no lines */
    SYMBOL_FULL,     /* DWARF */
    SYMBOL_GIVEN,    /* the profile brought its names */
};

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

/* How asking debuginfod went. */
enum symbol_fetch {
    SYMBOL_FETCH_FINE,
    SYMBOL_FETCH_LATE, /* it did not answer in time; what came after was not asked for */
    SYMBOL_FETCH_NO_LIBRARY,
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

/* What the file of a program or library has for us, `path` on this machine. */
struct symbol_look {
    enum symbol_quality quality; /* SYMBOL_NOTHING: no ELF file, or no symbols at all */
    bool elf;
    bool own_malloc; /* it defines malloc itself */
    char build_id[160];
    char *debug_file; /* beside it, to be freed; NULL: none */
};
void symbol_look(const char *path, const struct symbol_options *options, struct symbol_look *look);

/* C++, Rust and D as people write them; NULL: not mangled. To be freed. */
char *symbol_demangle(const char *name);
/* With parameters and, where the name has it, the type that is returned. */
char *symbol_demangle_whole(const char *name);

/* A function's machine code and which line each address came from, for disassembly. */
struct symbol_code_line {
    uint64_t address; /* in the file's own addresses */
    uint32_t line;
    const char *file;
};
struct symbol_code {
    char *name;           /* of one without a name: file and where it begins, "libz.so.1+0x1f0" */
    uint64_t start, size; /* in the file's own addresses */
    uint64_t bias;        /* + this = the address in the profile's process */
    unsigned machine;     /* of ELF */
    unsigned char *bytes;
    struct symbol_code_line *lines; /* in order */
    size_t line_count;
    void *keep;                 /* what the texts live in */
    struct symbol_names *names; /* of all functions of its file */
};
/* All functions of the profile's modules that have samples and whose name fits, one by one. */
bool symbol_codes(struct profile *profile, const struct symbol_options *options,
                  bool (*fits)(void *context, const char *name), void *context,
                  struct symbol_code **codes, size_t *count);
void symbol_codes_free(struct symbol_code *codes, size_t count);
/* What is at an address of the same file, which is its own: "malloc@plt", "work+0x10"; false: not
 * known. */
bool symbol_code_name(const struct symbol_code *code, uint64_t address, char *text, size_t size);

/* Where a function begins, by the file's symbol table. */
struct symbol_at {
    const char *path;
    uint64_t start, offset; /* the mapping at `start` begins with the byte `offset` of it */
    uint64_t address;       /* in the function, of the process */
    uint64_t found;         /* in the file's own addresses; 0: not known */
};
/* Each file is read once, and only what is near the addresses. False when memory is out. */
bool symbol_starts(struct symbol_at *places, size_t count);

#endif
