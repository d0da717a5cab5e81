/* SPDX-License-Identifier: MIT */
/*
 * Names that would end a line, close a quote, steer a terminal or are no text at all are written in
 * every format: what comes out is valid, and read back it has the same sums, for each function
 * where the format keeps functions apart.
 */
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"
#include "tool/profile/write/write.h"
#include "tool/terminal/terminal.h"

#include <zlib.h>

#include "tests/unit/unit.h"

enum { ROOM = 1 << 18 };

static const char *const hostile[] = {
    "plain",
    "new\nline",
    "carriage\rreturn\ttab",
    "semi;colon;s",
    "quote\"s 'and' `ticks`\\",
    "\033[31mred\033]0;title\007",
    "c1 \xc2\x9b"
    "31m",
    "no \xff\xfe utf \xc3",
    "# comment",
    "ends in 12",
    "a--b--",
    "fn=(1) x (file:1)",
    " leading and trailing ",
    "{\"json\": [1, 2]}",
    "<b>&amp;</b>",
    "comma, comma",
    "@ 0x1234",
    "\x7f"
    "delete",
    "=1+1",
    "\xe2\x80\xae"
    "turned",
};
enum { COUNT = sizeof hostile / sizeof *hostile };

static uint32_t location(struct profile *profile, const char *name, uint32_t line)
{
    struct profile_function function = {.name = profile_string_of(profile, name),
                                        .file = profile_string_of(profile, name)};
    function.system_name = function.name;
    return profile_named(profile, profile_function(profile, &function), line, 1);
}

/* Each name is a leaf once, of another size, and calls are among them. */
static void make(struct profile *profile, bool tame)
{
    profile_start(profile);
    profile->kind = PROFILE_HEAP;
    profile_type(profile, "alloc_objects", UNIT_COUNT);
    profile_type(profile, "alloc_space", UNIT_BYTES);
    profile_type(profile, "inuse_objects", UNIT_COUNT);
    profile->default_type = profile_type(profile, "inuse_space", UNIT_BYTES);
    profile->program = profile_string_of(profile, tame ? "program" : "/opt/pro\ngram \"1\" #\xff");
    profile->command = profile->program;
    profile->duration_ns = 5000000;
    profile_mapping(profile, &(struct profile_mapping){.path = profile->program});
    for (unsigned i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "tame_%c", 'a' + (int)i);
        uint32_t frames[] = {location(profile, tame ? name : hostile[i], i + 1),
                             location(profile, tame ? "tame_root" : "ro\not;\"", 9)};
        struct profile_label label = {.key = profile_string_of(profile, tame ? "key" : "k\n\"\xff"),
                                      .text = profile_string_of(profile, hostile[tame ? 0 : i])};
        size_t row = profile_sample(profile, profile_stack(profile, frames, 2),
                                    profile_label_set(profile, &label, 1));
        for (unsigned type = 0; type < 4; type++)
            profile->samples.values[type][row] =
                (int64_t)(type < 2 ? 3 : 1) * (type % 2 ? 100 + i : 1);
    }
    assert(!profile->failed);
}

static size_t slurp(const char *name, char *bytes)
{
    gzFile file = gzopen(name, "rb"); /* reads plain files as well */
    assert(file);
    int size = gzread(file, bytes, ROOM - 1);
    assert(size > 0 && size < ROOM - 1 && gzclose(file) == Z_OK);
    bytes[size] = '\0';
    return (size_t)size;
}

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), of = strlen(ending);
    return length >= of && strcmp(name + length - of, ending) == 0;
}

/* Text is text: lines of UTF-8 without anything that a terminal would obey. */
static void is_text(const char *name, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size;) {
        unsigned char letter = (unsigned char)bytes[i];
        unsigned length = json_character(bytes + i);
        bool control = (letter < ' ' && letter != '\n' && letter != '\r') || letter == 0x7f ||
                       (letter == 0xc2 && (unsigned char)bytes[i + 1] < 0xa0);
        if (length == 0 || control) {
            fprintf(stderr, "%s, byte %zu: %02x\n", name, i, letter);
            abort();
        }
        i += length;
    }
}

static void is_json(const char *name, const char *bytes, size_t size)
{
    struct values values = {0};
    struct read_error error = {0};
    struct read_input input = {.name = name, .bytes = bytes, .size = size};
    if (!value_parse(&values, &input, &error)) {
        fprintf(stderr, "%s: %s\n", name, error.reason);
        abort();
    }
    value_free(&values);
}

static int64_t sum(const struct profile *profile, const char *type)
{
    int column = profile_type_named(profile, type);
    int64_t total = 0;
    column = column < 0 ? (int)profile->default_type : column;
    for (size_t i = 0; i < profile->samples.count; i++)
        total += profile->samples.values[column][i];
    return total;
}

/* By the function that a stack ends in. */
static int64_t self(const struct profile *profile, const char *type, const char *name)
{
    int column = profile_type_named(profile, type);
    int64_t total = 0;
    column = column < 0 ? (int)profile->default_type : column;
    for (size_t i = 0; i < profile->samples.count; i++) {
        uint32_t count;
        const uint32_t *frames = profile_frames_of(profile, profile->samples.stacks[i], &count);
        if (count == 0 || profile_location_at(profile, frames[0])->lines == 0)
            continue;
        const struct profile_line *line = profile_lines_of(profile, frames[0]);
        const struct profile_function *function = profile_function_at(profile, line->function);
        if (strcmp(profile_text(profile, function->name), name) == 0)
            total += profile->samples.values[column][i];
    }
    return total;
}

/* What can be read again, and whether all four columns are in it. */
static const struct {
    const char *ending;
    bool all;
} again[] = {{".pb.gz", true},     {".folded", false},    {".callgrind", true},
             {".dhat.json", true}, {".massif", false},    {".speedscope.json", true},
             {".heaptrack", true}, {".symbolized", true}, {".heap", true}};

static void comes_back(const struct profile *profile, const char *name, bool all, bool tame)
{
    static const char *const types[] = {"inuse_space", "inuse_objects", "alloc_space",
                                        "alloc_objects"};
    struct profile read;
    struct read_error error = {0};
    profile_start(&read);
    if (!profile_read_file(&read, name, NULL, &error)) {
        fprintf(stderr, "%s: %s\n", name, error.reason);
        abort();
    }
    for (unsigned i = 0; i < (all ? 4 : 1); i++) {
        if (sum(&read, types[i]) != sum(profile, types[i])) {
            fprintf(stderr, "%s: %s is %lld\n", name, types[i], (long long)sum(&read, types[i]));
            abort();
        }
        for (char letter = 'a'; tame && letter < 'a' + COUNT; letter++) {
            char function[] = {'t', 'a', 'm', 'e', '_', letter, '\0'};
            int64_t value = self(profile, types[i], function);
            assert(value > 0 && self(&read, types[i], function) == value);
        }
    }
    profile_free(&read);
}

static void written(const struct profile *profile, bool tame)
{
    static char bytes[ROOM];
    struct write_options options = {.type = profile->default_type, .base = profile};
    for (size_t i = 0; i < writers_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "out%s", writers[i]->ending);
        FILE *file = fopen(name, "we");
        assert(file && writers[i]->write(profile, &options, file));
        assert(!ferror(file) && fclose(file) == 0);
        size_t size = slurp(name, bytes);
        if (!ends_in(name, ".pb.gz") && !ends_in(name, ".pftrace"))
            is_text(name, bytes, size);
        if (ends_in(name, ".json"))
            is_json(name, bytes, size);
        for (size_t k = 0; k < sizeof again / sizeof *again; k++)
            if (strcmp(writers[i]->ending, again[k].ending) == 0)
                comes_back(profile, name, again[k].all, tame);
    }
}

/* Of pprof's format, readers that check may refuse the whole for one string. */
static void strings_of_pprof_are_utf8(void)
{
    struct profile read;
    struct read_error error = {0};
    profile_start(&read);
    assert(profile_read_file(&read, "out.pb.gz", NULL, &error));
    for (uint32_t i = 0; i < read.strings.count; i++)
        for (const char *at = profile_text(&read, i); *at != '\0'; at += json_character(at))
            assert(json_character(at) > 0);
    assert(self(&read, "inuse_space", "new\nline") == 101); /* which may stay as it is */
    profile_free(&read);
}

int main(void)
{
    struct profile profile;
    unit_scratch();
    make(&profile, true);
    written(&profile, true);
    profile_free(&profile);
    make(&profile, false);
    written(&profile, false);
    strings_of_pprof_are_utf8();
    profile_free(&profile);
    return 0;
}
