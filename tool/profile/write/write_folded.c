/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, as flamegraph.pl and many others read them: a line a stack, the root first, frames
 * joined by ';', then a space and the value. The differential kind has two values, before and
 * after.
 */
#include "tool/profile/write/write.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/profile/write/flat.h"
#include "tool/profile/write/line.h"

/* Which frames' names can be written as they are. NULL when memory is out. */
static bool *plain_names(const struct flat *flat)
{
    bool *plain = calloc(flat->frames_count + 1, sizeof *plain);
    for (size_t i = 0; i < flat->frames_count && plain; i++) {
        const char *name = flat->frames[i].name;
        size_t length = strlen(name);
        plain[i] = length > 0 && !isdigit((unsigned char)name[length - 1]) && !strchr(name, ';') &&
                   line_is_plain(name);
    }
    return plain;
}

/* What would end the frame, the line or the stack becomes another character. */
static void name_put(const char *name, FILE *file)
{
    size_t length = strlen(name), digits = length;
    while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
        digits--;
    /* "name 12" at the end, and its value would look like two values. */
    size_t space = digits < length && digits > 0 ? digits - 1 : length;
    for (size_t i = 0, end; i < length; i = end) {
        char instead;
        end = i + line_character(name + i, &instead);
        for (size_t k = i; k < end; k++) {
            char letter = instead != '\0' ? instead : name[k] == ';' ? ':' : name[k];
            putc_unlocked(k == space && letter == ' ' ? '_' : letter, file);
        }
    }
}

static void stack_put(const struct flat *flat, const bool *plain, size_t stack, FILE *file)
{
    struct flat_stack there = flat_stack(flat, stack);
    if (there.count == 0)
        fputs("[unknown]", file);
    for (uint32_t i = 0; i < there.count; i++) {
        uint32_t frame = there.frames[i];
        if (i > 0)
            putc_unlocked(';', file);
        if (plain[frame])
            fputs_unlocked(flat->frames[frame].name, file);
        else
            name_put(flat->frames[frame].name, file);
    }
}

static bool folded(const struct profile *profile, const struct write_options *options, FILE *file)
{
    struct flat flat;
    bool done = flat_make(&flat, profile, &(struct flat_options){0});
    bool *plain = done ? plain_names(&flat) : NULL;
    done = plain != NULL;
    for (size_t i = 0; i < flat.stacks_count && done; i++) {
        int64_t value = flat_value(&flat, i, options->type);
        if (value == 0)
            continue;
        stack_put(&flat, plain, i, file);
        fprintf(file, " %" PRId64 "\n", value);
    }
    free(plain);
    flat_free(&flat);
    return done;
}

/* By name, as each of the two is sorted. */
static int compare(const struct flat *one, size_t a, const struct flat *other, size_t b)
{
    struct flat_stack left = flat_stack(one, a), right = flat_stack(other, b);
    for (uint32_t i = 0; i < left.count && i < right.count; i++) {
        int order = strcmp(one->frames[left.frames[i]].name, other->frames[right.frames[i]].name);
        if (order != 0)
            return order;
    }
    return left.count < right.count ? -1 : left.count > right.count;
}

static bool both(const struct flat *base, unsigned base_type, const struct flat *flat,
                 unsigned type, FILE *file)
{
    size_t a = 0, b = 0;
    bool *plain = plain_names(flat), *base_plain = plain_names(base);
    bool done = plain && base_plain;
    while (done && (a < base->stacks_count || b < flat->stacks_count)) {
        int order = a == base->stacks_count   ? 1
                    : b == flat->stacks_count ? -1
                                              : compare(base, a, flat, b);
        int64_t before = order <= 0 ? flat_value(base, a, base_type) : 0;
        int64_t after = order >= 0 ? flat_value(flat, b, type) : 0;
        if (before != 0 || after != 0) {
            stack_put(order >= 0 ? flat : base, order >= 0 ? plain : base_plain, order >= 0 ? b : a,
                      file);
            fprintf(file, " %" PRId64 " %" PRId64 "\n", before, after);
        }
        a += order <= 0;
        b += order >= 0;
    }
    free(plain);
    free(base_plain);
    return done;
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
        done = both(&base, base_type < 0 ? 0 : (unsigned)base_type, &flat, options->type, file);
    }
    flat_free(&flat);
    flat_free(&base);
    return done;
}

const struct writer writer_folded = {
    .word = "folded",
    .ending = ".folded",
    .brief = "one stack per line, for flame graphs",
    .values = WRITES_ONE,
    .write = folded,
    .mute = true,
};
const struct writer writer_difffolded = {
    .word = "difffolded",
    .ending = ".diff.folded",
    .brief = "the same with two values, before and after",
    .values = WRITES_TWO,
    .write = diff_folded,
    .mute = true,
};
