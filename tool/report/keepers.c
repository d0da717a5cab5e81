/* SPDX-License-Identifier: MIT */
/*
 * Memory that the C and C++ libraries keep to the end on purpose: no program can free it, and it is
 * no leak. Known by the function that allocates it; or, where the library is stripped, by the
 * stack: the loader itself calls the library's constructor, and no code of the program is involved.
 *
 * A row is one keeper. Nothing is known by its size: a program's own block may have the same.
 */
#include <string.h>

#include "base/compiler.h"
#include "tool/report/leaks.h"
#include "tool/terminal/terminal.h"

static const struct keeper {
    const char *function; /* a pattern, as in lines of suppressions */
    bool root;            /* only where nothing called it: before the program's own code began */
} keepers[] = {
    {"IO_file_doallocate$", false},                /* buffers of stdio */
    {"^_GLOBAL__sub_I*eh_alloc.cc", false},        /* libstdc++: the pool for exceptions, 72 KiB */
    {"^(anonymous namespace)::pool::pool", false}, /* the same */
    {"^__gnu_cxx::__freeres", false},              /* the same */
    {"^_Unwind_Find_FDE$", false},     /* libgcc, static: sorted tables for exceptions */
    {"^_dl_allocate_tls$", false},     /* glibc: thread-local memory */
    {"^allocate_dtv$", false},         /* the same */
    {"^_dl_non_dynamic_init$", false}, /* glibc, static: search paths */
    {"^_dl_find_object_init$", false}, /* glibc, static: its table of objects */
    {"^_dl_new_object$", true},        /* glibc, static: the program's own entry */
    {"^_dl_init_paths$", true},        /* glibc, static: search paths */
    {"^_dl_get_origin$", true},        /* glibc, static: the program's folder */
};

static bool is_start_of_library(const struct suppressions_frame *frames, size_t count);
static bool is_one_of(const char *module, const char *const *names, size_t count);

bool keepers_fit(const struct suppressions_frame *frames, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < COUNT_OF(keepers); k++)
            if ((!keepers[k].root || i + 1 == count) &&
                suppressions_match(keepers[k].function, frames[i].function))
                return true;
    return is_start_of_library(frames, count);
}

/* Whether the loader called a constructor of the C or C++ library, and nothing else is involved. */
static bool is_start_of_library(const struct suppressions_frame *frames, size_t count)
{
    static const char *const loaders[] = {"ld-linux", "ld-musl", "ld.so", "ld64.so", "ld-2."};
    static const char *const libraries[] = {"libstdc++.so", "libc++.so", "libc++abi.so",
                                            "libgcc_s.so",  "libc.so",   "libc-2.",
                                            "libpthread"};
    if (count < 2 || !is_one_of(frames[count - 1].module, loaders, COUNT_OF(loaders)) ||
        !is_one_of(frames[0].module, libraries, COUNT_OF(libraries)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!is_one_of(frames[i].module, loaders, COUNT_OF(loaders)) &&
            !is_one_of(frames[i].module, libraries, COUNT_OF(libraries)))
            return false;
    return true;
}

static bool is_one_of(const char *module, const char *const *names, size_t count)
{
    const char *name = name_base(module);
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}
