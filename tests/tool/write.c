/* SPDX-License-Identifier: MIT */
/*
 * A profile made here, with everything that a profile may have, is written in every format; what is
 * read back has the same totals and stacks. JSON is JSON, whatever the text.
 */
#include "tool/profile/write/write.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"
#include "tool/terminal/terminal.h"

#include <zlib.h>

#include "tests/tool/profiles.h"
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
    struct profile_label label = {.key = profile_string_of(profile, LABEL_BLOCK_BYTES),
                                  .unit = profile_string_of(profile, "bytes"),
                                  .number = size};
    size_t row = profile_sample(profile, profile_stack(profile, frames, count),
                                profile_label_set(profile, &label, 1));
    profile->samples.values[0][row] = objects * 3;
    profile->samples.values[1][row] = objects * 3 * size;
    profile->samples.values[2][row] = objects;
    profile->samples.values[3][row] = objects * size;
}

/* begin calls parse (with an inlined part) and load, which has a name full of traps. */
static void make(struct profile *profile)
{
    profile_start(profile);
    profile->kind = PROFILE_HEAP;
    profile_type(profile, "alloc_objects", UNIT_COUNT);
    profile_type(profile, "alloc_space", UNIT_BYTES);
    profile_type(profile, "inuse_objects", UNIT_COUNT);
    profile->default_type = profile_type(profile, "inuse_space", UNIT_BYTES);
    profile->period_type = profile_type_make(profile, "space", UNIT_BYTES);
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
    uint32_t start = location(profile, 0x400100, "begin", 10);
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

/* A profile as folded stacks of one column. */
static char *folded(const struct profile *profile, const char *type)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    int column = profile_type_named(profile, type);
    struct write_options options = {.type = column < 0 ? profile->default_type : (unsigned)column};
    assert(file && write_find("folded")->write(profile, &options, file) && fclose(file) == 0);
    return text;
}

static void read_back(struct profile *again, const char *name)
{
    struct read_error error;
    profile_start(again);
    if (!profile_read_file(again, name, NULL, &error)) {
        fprintf(stderr, "%s: %s\n", name, error.reason);
        abort();
    }
}

static void same_column(const struct profile *profile, const struct profile *again,
                        const char *type, const char *name)
{
    char *wanted = folded(profile, type), *got = folded(again, type);
    if (strcmp(wanted, got) != 0) {
        fprintf(stderr, "%s, %s:\n%sinstead of\n%s", name, type, got, wanted);
        abort();
    }
    free(wanted);
    free(got);
}

/* Formats that keep stacks, and the columns that they keep. */
static void the_same_comes_back(const struct profile *profile)
{
    static const char *const kept[][6] = {
        {"out.pb.gz", "alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
        {"out.symbolized", "alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
        {"out.dhat.json", "alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
        {"out.speedscope.json", "alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
        {"out.heaptrack", "alloc_objects", "alloc_space", "inuse_objects", "inuse_space"},
        {"out.folded", "inuse_space"},
        {"out.massif", "inuse_space"},
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        struct profile again;
        read_back(&again, kept[i][0]);
        for (unsigned k = 1; k < 6 && kept[i][k]; k++)
            same_column(profile, &again, kept[i][k], kept[i][0]);
        profile_free(&again);
    }
}

/* The rest of what pprof's format has; and formats that keep no names, or no stacks. */
static void more_comes_back(const struct profile *profile)
{
    struct profile again;
    read_back(&again, "out.pb.gz");
    assert(again.samples.count == profile->samples.count);
    assert(again.period == profile->period && again.time_ns == profile->time_ns);
    assert(again.duration_ns == profile->duration_ns);
    assert(strcmp(profile_text(&again, profile_mapping_at(&again, 1)->build_id),
                  "0123456789abcdef") == 0);
    for (size_t i = 0; i < again.samples.count; i++) {
        const struct profile_label *one =
            profile_label_of(profile, profile->samples.label_sets[i], LABEL_BLOCK_BYTES);
        const struct profile_label *other =
            profile_label_of(&again, again.samples.label_sets[i], LABEL_BLOCK_BYTES);
        assert(one && other && one->number == other->number);
    }
    profile_free(&again);
    for (unsigned i = 0; i < 2; i++) {
        read_back(&again, i == 0 ? "out.heap" : "out.callgrind");
        assert(profile_sum(&again, "inuse_space") == profile_sum(profile, "inuse_space"));
        assert(profile_sum(&again, "alloc_objects") == profile_sum(profile, "alloc_objects"));
        profile_free(&again);
    }
}

/* What nothing refers to does not leave, and neither does what was redacted. */
static void redacted_text_stays_here(struct profile *profile)
{
    struct redact_counts counts;
    assert(profile_redact(profile, &(struct redact_options){0}, &counts));
    assert(counts.functions == 5 && counts.kept == 0 && counts.paths == 3);
    write_all(profile, profile);
    for (size_t i = 0; i < writers_count; i++) {
        static char bytes[65536];
        char name[64];
        snprintf(name, sizeof name, "out%s", writers[i]->ending);
        gzFile file = gzopen(name, "rb"); /* reads plain files as well */
        assert(file);
        int size = gzread(file, bytes, sizeof bytes);
        assert(size > 0 && (size_t)size < sizeof bytes);
        gzclose(file);
        static const char *const gone[] = {"begin", "grow", "deflate", "/opt", "libz", "--fast"};
        for (size_t k = 0; k < sizeof gone / sizeof *gone; k++)
            if (memmem(bytes, (size_t)size, gone[k], strlen(gone[k]))) {
                fprintf(stderr, "%s has %s\n", name, gone[k]);
                abort();
            }
    }
}

static void json_is_json(void)
{
    char *text = NULL;
    size_t size;
    struct json json;
    FILE *file = open_memstream(&text, &size);
    assert(file);
    json_start(&json, file, false);
    json_object(&json, NULL);
    json_text(&json, "a\"b\\", "\x01\n\x7f\xc3\xa9\xff\xed\xa0\x80\xf0\x9f\x98\x80\xc0\x80");
    json_array(&json, "list");
    json_object(&json, NULL);
    json_end(&json);
    json_array(&json, NULL);
    json_end(&json);
    json_number(&json, NULL, INT64_MIN);
    json_real(&json, NULL, 0.5);
    json_real(&json, NULL, 1.0 / 0.0);
    json_flag(&json, NULL, true);
    json_micros(&json, NULL, -1500);
    json_end(&json);
    json_end(&json);
    assert(fclose(file) == 0);
    assert(strcmp(text, "{\"a\\\"b\\\\\":\"\\u0001\\u000a\\u007f\xc3\xa9"
                        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80"
                        "\xef\xbf\xbd\xef\xbf\xbd\",\"list\":[{},[],-9223372036854775808,0.5,null,"
                        "true,-1.500]}") == 0);
    free(text);
}

/* Nothing at all is a profile, too. */
static void empty_profiles_are_written(void)
{
    struct profile profile;
    profile_start(&profile);
    profile_type(&profile, "samples", UNIT_COUNT);
    write_all(&profile, &profile);
    profile_free(&profile);
}

int main(void)
{
    struct profile profile;
    unit_scratch();
    json_is_json();
    empty_profiles_are_written();
    make(&profile);
    write_all(&profile, &profile);
    the_same_comes_back(&profile);
    more_comes_back(&profile);
    redacted_text_stays_here(&profile);
    profile_free(&profile);
    assert(write_find("nothing") == NULL && write_find("x.memoir") == NULL);
    return 0;
}
