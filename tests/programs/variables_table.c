/* SPDX-License-Identifier: MIT */
/* helper of variables_are_answered.sh and of tests/golden/compatibility.sh: the tables of the
 * variables and options of other allocators, as lines
 *     OF <tab> NAME <tab> STATUS <tab> WHEN <tab> TEXT
 * with OF `option` and WHEN the initial value, or -, for the options of jemalloc. */
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
    return 0;
}
