/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, as flamegraph.pl and many others read them: a line a stack, the root first, frames
 * joined by ';', then a space and the value. The differential kind has two values, before and
 * after.
 */
#include "tool/profile/write.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "tool/profile/flat.h"

/* What would end the frame, the line or the stack becomes another character. */
static void name_put(const char *name, FILE *file)
{
    size_t length = strlen(name), digits = length;
    while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
        digits--;
    /* "name 12" at the end, and its value would look like two values. */
    size_t space = digits < length && digits > 0 ? digits - 1 : length;
    for (size_t i = 0; i < length; i++) {
        unsigned char letter = (unsigned char)name[i];
        if (letter == ';')
            letter = ':';
        else if (letter < ' ' || letter == 0x7f)
            letter = ' ';
        putc(i == space && letter == ' ' ? '_' : letter, file);
    }
}

static void stack_put(const struct flat *flat, size_t stack, FILE *file)
{
    const struct flat_stack *there = &flat->stacks[stack];
    if (there->count == 0)
        fputs("[unknown]", file);
    for (uint32_t i = 0; i < there->count; i++) {
        if (i > 0)
            putc(';', file);
        name_put(flat->frames[flat->path[there->first + i]].name, file);
    }
}

static bool folded(const struct profile *profile, const struct write_options *options, FILE *file)
{
    struct flat flat;
    bool done = flat_make(&flat, profile, &(struct flat_options){0});
    for (size_t i = 0; i < flat.stacks_count && done; i++) {
        int64_t value = flat_value(&flat, i, options->type);
        if (value == 0)
            continue;
        stack_put(&flat, i, file);
        fprintf(file, " %" PRId64 "\n", value);
    }
    flat_free(&flat);
    return done;
}

/* By name, as each of the two is sorted. */
static int compare(const struct flat *one, size_t a, const struct flat *other, size_t b)
{
    const struct flat_stack *left = &one->stacks[a], *right = &other->stacks[b];
    for (uint32_t i = 0; i < left->count && i < right->count; i++) {
        int order = strcmp(one->frames[one->path[left->first + i]].name,
                           other->frames[other->path[right->first + i]].name);
        if (order != 0)
            return order;
    }
    return left->count < right->count ? -1 : left->count > right->count;
}

static void both(const struct flat *base, unsigned base_type, const struct flat *flat,
                 unsigned type, FILE *file)
{
    size_t a = 0, b = 0;
    while (a < base->stacks_count || b < flat->stacks_count) {
        int order = a == base->stacks_count   ? 1
                    : b == flat->stacks_count ? -1
                                              : compare(base, a, flat, b);
        int64_t before = order <= 0 ? flat_value(base, a, base_type) : 0;
        int64_t after = order >= 0 ? flat_value(flat, b, type) : 0;
        if (before != 0 || after != 0) {
            stack_put(order >= 0 ? flat : base, order >= 0 ? b : a, file);
            fprintf(file, " %" PRId64 " %" PRId64 "\n", before, after);
        }
        a += order <= 0;
        b += order >= 0;
    }
}

static bool diff_folded(const struct profile *profile, const struct write_options *options,
                        FILE *file)
{
    struct flat flat = {0}, base = {0};
    const char *type = profile_text(profile, profile->type[options->type].name);
    int base_type = profile_type_named(options->base, type);
    bool done = flat_make(&flat, profile, &(struct flat_options){0}) &&
                flat_make(&base, options->base, &(struct flat_options){0});
    if (done) {
        if (base_type < 0)
            base.stacks_count = 0;
        both(&base, base_type < 0 ? 0 : (unsigned)base_type, &flat, options->type, file);
    }
    flat_free(&flat);
    flat_free(&base);
    return done;
}

const struct writer writer_folded = {"folded", ".folded", "stacks in lines, for flame graphs",
                                     false, folded};
const struct writer writer_difffolded = {
    "difffolded", ".diff.folded", "the same with two values, before and after", true, diff_folded};
