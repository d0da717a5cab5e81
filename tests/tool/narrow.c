/* SPDX-License-Identifier: MIT */
/*
 * What filters leave of a profile keeps its labels, addresses, mappings and columns; a filter that
 * leaves everything leaves the very profile. Cuts may go through the middle of a location.
 */
#include "tool/report/report.h"

#include "tests/unit/unit.h"

enum { MAIN, PARSE, LOOP, LOCATIONS };

static uint32_t function(struct profile *profile, const char *name)
{
    struct profile_function made = {.name = profile_string_of(profile, name)};
    made.system_name = made.name;
    return profile_function(profile, &made);
}

static void sample(struct profile *profile, const uint32_t *frames, uint32_t count, int64_t bytes,
                   const char *thread)
{
    struct profile_label labels[] = {
        {.key = profile_string_of(profile, LABEL_BLOCK_BYTES),
         .unit = profile_string_of(profile, "bytes"),
         .number = bytes},
        {.key = profile_string_of(profile, "thread"), .text = profile_string_of(profile, thread)},
    };
    size_t row = profile_sample(profile, profile_stack(profile, frames, count),
                                profile_label_set(profile, labels, 2));
    profile->samples.values[0][row] = 10;
    profile->samples.values[1][row] = 10 * bytes;
}

/* main (0x100), parse with grow and copy inlined in it (0x200), and loop, which calls itself, with
 * step inlined in it (0x300). */
static void make(struct profile *profile)
{
    uint32_t at[LOCATIONS];
    profile_start(profile);
    profile->kind = PROFILE_HEAP;
    profile_type(profile, "inuse_objects", UNIT_COUNT);
    profile->default_type = profile_type(profile, "inuse_space", UNIT_BYTES);
    profile_mapping(profile,
                    &(struct profile_mapping){.start = 0x80,
                                              .limit = 0x1000,
                                              .path = profile_string_of(profile, "/bin/one"),
                                              .build_id = profile_string_of(profile, "abcd")});
    for (unsigned i = 0; i < LOCATIONS; i++)
        at[i] = profile_address(profile, 0x100 + 0x100 * i, 0);
    profile_set_lines(profile, at[MAIN], (struct profile_line[]){{function(profile, "main"), 1, 0}},
                      1, LOCATION_LOOKED);
    profile_set_lines(profile, at[PARSE],
                      (struct profile_line[]){{function(profile, "copy"), 2, 0},
                                              {function(profile, "grow"), 3, 0},
                                              {function(profile, "parse"), 4, 0}},
                      3, LOCATION_LOOKED);
    profile_set_lines(profile, at[LOOP],
                      (struct profile_line[]){{function(profile, "step"), 5, 0},
                                              {function(profile, "loop"), 6, 0}},
                      2, LOCATION_LOOKED);
    sample(profile, (uint32_t[]){at[PARSE], at[MAIN]}, 2, 16, "one");
    sample(profile, (uint32_t[]){at[PARSE], at[MAIN]}, 2, 32, "two");
    sample(profile, (uint32_t[]){at[PARSE], at[LOOP], at[LOOP], at[MAIN]}, 4, 64, "one");
    struct profile_point *point = profile_list_add(profile, &profile->points, sizeof *point);
    assert(point && !profile->failed);
    point->live_bytes = 10;
}

/* "copy+grow+parse main": the functions of each location, leaf first. */
static const char *stack(const struct profile *profile, size_t row)
{
    static char text[200];
    uint32_t count;
    const uint32_t *frames = profile_frames_of(profile, profile->samples.stacks[row], &count);
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_location *location = profile_location_at(profile, frames[i]);
        for (uint32_t k = 0; k < location->lines; k++) {
            const struct profile_line *line = &profile_lines_of(profile, frames[i])[k];
            const char *name =
                profile_text(profile, profile_function_at(profile, line->function)->name);
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%s", k > 0 ? "+" : i > 0 ? " " : "", name);
        }
        assert(location->mapping == 1 && location->address % 0x100 == 0);
        assert(location->address >= 0x100 && location->address <= 0x300);
    }
    return text;
}

static void narrowed(struct profile *profile, const struct view_options *options, size_t rows)
{
    struct view_error error = {.text = ""};
    make(profile);
    assert(narrow(profile, options, &error));
    assert(profile->samples.count == rows);
}

static void is(struct profile *profile, size_t row, const char *wanted, int64_t bytes,
               const char *thread)
{
    uint32_t set = profile->samples.label_sets[row];
    if (strcmp(stack(profile, row), wanted) != 0) {
        fprintf(stderr, "'%s' instead of '%s'\n", stack(profile, row), wanted);
        abort();
    }
    assert(profile->samples.values[1][row] == 10 * bytes);
    assert(profile_label_of(profile, set, LABEL_BLOCK_BYTES)->number == bytes);
    assert(strcmp(profile_text(profile, profile_label_of(profile, set, "thread")->text), thread) ==
           0);
}

static void what_is_wanted_stays(void)
{
    struct profile profile;
    narrowed(&profile, &(struct view_options){.focus = (const char *[]){"main", NULL}}, 3);
    assert(profile.points.count == 1 && profile.locations.count == LOCATIONS);
    is(&profile, 2, "copy+grow+parse step+loop step+loop main", 64, "one");
    profile_free(&profile);

    narrowed(&profile, &(struct view_options){.thread = "two"}, 1);
    is(&profile, 0, "copy+grow+parse main", 32, "two");
    assert(profile.points.count == 0 && profile.locations.count == LOCATIONS);
    profile_free(&profile);

    narrowed(&profile, &(struct view_options){.ignore = (const char *[]){"loop", NULL}}, 2);
    is(&profile, 1, "copy+grow+parse main", 32, "two");
    profile_free(&profile);

    narrowed(&profile, &(struct view_options){.focus = (const char *[]){"nobody", NULL}}, 0);
    profile_free(&profile);
}

static void lines_of_a_location_go(void)
{
    struct profile profile;
    narrowed(&profile, &(struct view_options){.hide = "grow|step"}, 3);
    is(&profile, 0, "copy+parse main", 16, "one");
    is(&profile, 2, "copy+parse loop loop main", 64, "one");
    assert(profile.locations.count == LOCATIONS + 2);
    profile_free(&profile);

    narrowed(&profile, &(struct view_options){.show = "loop"}, 1);
    is(&profile, 0, "loop loop", 64, "one");
    profile_free(&profile);

    narrowed(&profile, &(struct view_options){.from = "step"}, 1);
    is(&profile, 0, "copy+grow+parse step+loop step", 64, "one");
    profile_free(&profile);

    narrowed(&profile, &(struct view_options){.prune = "grow"}, 3);
    is(&profile, 0, "grow+parse main", 16, "one");
    is(&profile, 2, "grow+parse step+loop step+loop main", 64, "one");
    assert(profile.locations.count == LOCATIONS + 1);
    profile_free(&profile);

    narrowed(&profile, &(struct view_options){.no_inlines = true}, 3);
    is(&profile, 2, "parse loop loop main", 64, "one");
    profile_free(&profile);
}

static void wrong_patterns_are_refused(void)
{
    struct profile profile;
    struct view_error error = {.text = ""};
    make(&profile);
    assert(!narrow(&profile, &(struct view_options){.hide = "("}, &error) && error.text[0] != '\0');
    assert(profile.samples.count == 3);
    profile_free(&profile);
}

int main(void)
{
    what_is_wanted_stays();
    lines_of_a_location_go();
    wrong_patterns_are_refused();
    return 0;
}
