/* SPDX-License-Identifier: MIT */
/* helper of variables_are_answered.sh and of tests/golden/compatibility.sh: the tables of the
 * variables and options of other allocators, as lines
 *     OF <tab> NAME <tab> STATUS <tab> WHEN <tab> TEXT
 * with OF `option` and WHEN the initial value, or -, for the options of jemalloc, and OF
 * `mimalloc_option` for those of mimalloc, whose TEXT is preceded by another field, the old
 * name. */
#include <stdio.h>

struct line {
    const char *of, *name, *status, *when, *text;
};

#define VARIABLE(of, name, status, when, text) {#of, name, #status, #when, text},
static const struct line variables[] = {
#include "lib/faces/variables.def"
};

#define WORKS         "SERVED", ""
#define HINT          "HINT", ""
#define MISSING(text) "UNSERVED", text
#define OPTION(name, kind, initial, low, high, range, words, shown, effect) \
    {"option", #name, effect, initial},
struct option {
    const char *of, *name, *status, *text, *initial;
};
static const struct option options[] = {
#include "lib/faces/jemalloc/jemalloc_options.def"
};

#undef OPTION
#undef WORKS
#define NONE (-1)
static const struct {
    const char *name, *effect, *initial2, *initial3, *old, *text;
} mimalloc_options[] = {
#define OPTION(name, number2, number3, initial2, initial3, kind, old, effect, text) \
    {#name, #effect, number2 < 0 ? "" : #initial2, number3 < 0 ? "" : #initial3, old, text},
#include "lib/faces/mimalloc/mimalloc_options.def"
};

int main(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const struct line *line = &variables[i];
        printf("%s\t%s\t%s\t%s\t%s\n", line->of, line->name, line->status, line->when, line->text);
    }
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const struct option *option = &options[i];
        printf("%s\t%s\t%s\t%s\t%s\n", option->of, option->name, option->status,
               option->initial[0] == '\0' ? "-" : option->initial, option->text);
    }
    for (size_t i = 0; i < sizeof mimalloc_options / sizeof mimalloc_options[0]; i++)
        printf("mimalloc_option\t%s\t%s\t%s/%s\t%s\t%s\n", mimalloc_options[i].name,
               mimalloc_options[i].effect, mimalloc_options[i].initial2,
               mimalloc_options[i].initial3, mimalloc_options[i].old, mimalloc_options[i].text);
    return 0;
}
