/* SPDX-License-Identifier: MIT */
/*
 * A profile made here, with everything that a profile may have, is written in every format; what is
 * read back has the same totals and stacks. JSON is JSON, whatever the text.
 */
#include "tool/profile/profile.h"

#include <inttypes.h>

#include "tests/unit/unit.h"

static uint32_t function(struct profile *profile, const char *name, const char *file)
{
    struct profile_function made = {
        .name = profile_string_of(profile, name),
        .system_name = profile_string_of(profile, name),
        .file = profile_string_of(profile, file),
    };
    return profile_function(profile, &made);
}

static uint32_t location(struct profile *profile, uint64_t address, const char *name, uint32_t line)
{
    uint32_t number = profile_address(profile, address, 0);
    struct profile_line only = {function(profile, name, "src/main.c"), line, 0};
    profile_set_lines(profile, number, &only, 1, LOCATION_LOOKED);
    return number;
}

static void sample(struct profile *profile, const uint32_t *frames, uint32_t count, int64_t objects,
                   int64_t size)
{
    struct profile_label label = {.key = profile_string_of(profile, "bytes"),
                                  .unit = profile_string_of(profile, "bytes"),
                                  .number = size};
    size_t row = profile_sample(profile, profile_stack(profile, frames, count),
                                profile_label_set(profile, &label, 1));
    profile->samples.values[0][row] = objects * 3;
    profile->samples.values[1][row] = objects * 3 * size;
    profile->samples.values[2][row] = objects;
    profile->samples.values[3][row] = objects * size;
}

/* main calls parse (with an inlined part) and load, which has a name full of traps. */
static void make(struct profile *profile)
{
    profile_start(profile);
    profile->kind = PROFILE_HEAP;
    profile_type(profile, "alloc_objects", "count");
    profile_type(profile, "alloc_space", "bytes");
    profile_type(profile, "inuse_objects", "count");
    profile->default_type = profile_type(profile, "inuse_space", "bytes");
    profile->period_type = (struct profile_type){profile_string_of(profile, "space"),
                                                 profile_string_of(profile, "bytes")};
    profile->period = 524288;
    profile->time_ns = 1700000000 * INT64_C(1000000000);
    profile->duration_ns = INT64_C(2500000000);
    profile->program = profile_string_of(profile, "/opt/own/program");
    profile->command = profile_string_of(profile, "/opt/own/program --fast \"x y\"");
    profile->pid = 4242;
    struct profile_mapping mapping = {
        .start = 0x400000,
        .limit = 0x500000,
        .path = profile->program,
        .build_id = profile_string_of(profile, "0123456789abcdef"),
        .has_functions = true,
        .has_files = true,
        .has_lines = true,
    };
    profile_mapping(profile, &mapping);
    mapping = (struct profile_mapping){
        .start = 0x700000,
        .limit = 0x800000,
        .offset = 0x1000,
        .path = profile_string_of(profile, "/opt/own/lib/libz.so.1"),
    };
    profile_mapping(profile, &mapping);
    uint32_t start = location(profile, 0x400100, "main", 10);
    uint32_t parse = profile_address(profile, 0x400200, 0);
    struct profile_line lines[] = {{function(profile, "grow", "src/vector.h"), 7, 0},
                                   {function(profile, "parse", "src/parse.c"), 20, 0}};
    profile_set_lines(profile, parse, lines, 2, LOCATION_LOOKED);
    uint32_t load = location(profile, 0x400300, "load<a;b>(\"c\\d\", int 5) 12", 30);
    uint32_t bare = profile_address(profile, 0x700123, 0);
    uint32_t guess = location(profile, 0x700456, "deflate", 0);
    profile_set_lines(profile, guess, profile_lines_of(profile, guess), 1, LOCATION_GUESS);
    sample(profile, (uint32_t[]){parse, start}, 2, 100, 64);
    sample(profile, (uint32_t[]){parse, start}, 2, 5, 128);
    sample(profile, (uint32_t[]){load, start}, 2, 1, 1 << 20);
    sample(profile, (uint32_t[]){bare, load, start}, 3, 2, 4096);
    sample(profile, (uint32_t[]){guess, load, start}, 3, 3, 1000);
    sample(profile, (uint32_t[]){start, parse, start}, 3, 7, 24); /* recursion */
    for (int i = 0; i < 5; i++) {
        struct profile_point *point = profile_list_add(profile, &profile->points, sizeof *point);
        point->time_ns = i * INT64_C(500000000);
        point->live_bytes = (uint64_t)(1 + i) << 18;
        point->resident_bytes = (uint64_t)(2 + i) << 18;
    }
    assert(!profile->failed);
}

static void write_all(const struct profile *profile, const struct profile *base)
{
    struct write_options options = {.type = profile->default_type, .base = base};
    for (size_t i = 0; i < writers_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "out%s", writers[i]->ending);
        assert(write_find(name) == writers[i] && write_find(writers[i]->word) == writers[i]);
        FILE *file = fopen(name, "we");
        assert(file && writers[i]->write(profile, &options, file));
        assert(!ferror(file) && fclose(file) == 0);
    }
}

int main(void)
{
    struct profile profile;
    make(&profile);
    write_all(&profile, &profile);
    profile_free(&profile);
    assert(write_find("nothing") == NULL && write_find("x.memoir") == NULL);
    return 0;
}
