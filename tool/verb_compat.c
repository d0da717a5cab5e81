/* SPDX-License-Identifier: MIT */
/*
 * `memoir jeprof`, `google-pprof` and `pprof`: which of the old commands it is.
 *
 * `pprof` was the name of two of them. Words that only Go's knows make it Go's, and so does a
 * profile in its own format; everything else is the older one.
 */
#include <stdio.h>

#include "tool/command/command.h"
#include "tool/compat/compat.h"
#include "tool/compat/go/go.h"
#include "tool/compat/perl/perl.h"

static bool has_go_profile(char **arguments);

bool verb_jeprof(const struct arguments *arguments, struct error *error)
{
    (void)error;
    perl_run(COMPAT_JEPROF, arguments->operands);
    return true;
}

bool verb_google(const struct arguments *arguments, struct error *error)
{
    (void)error;
    perl_run(COMPAT_GOOGLE, arguments->operands);
    return true;
}

bool verb_pprof(const struct arguments *arguments, struct error *error)
{
    (void)error;
    if (compat_is_go(arguments->operands) || has_go_profile(arguments->operands))
        go_start(arguments->operands);
    perl_run(COMPAT_GOOGLE, arguments->operands);
    return true;
}

/* Whether a word is a file in Go's own format, which Perl's never could read: protobuf, in gzip or
 * bare. */
static bool has_go_profile(char **arguments)
{
    for (; *arguments; arguments++) {
        unsigned char start[2] = {0};
        FILE *file = (*arguments)[0] == '-' ? NULL : fopen(*arguments, "rbe");
        size_t got = file ? fread(start, 1, sizeof start, file) : 0;
        if (file)
            fclose(file);
        if (got == sizeof start && ((start[0] == 0x1f && start[1] == 0x8b) ||
                                    (start[0] == 0x0a && start[1] > 0 && start[1] < 16)))
            return true;
    }
    return false;
}
