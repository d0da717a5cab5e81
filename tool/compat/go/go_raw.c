/* SPDX-License-Identifier: MIT */
/*
 * The report -raw of Go's pprof: the whole profile as text. Locations and mappings are numbered in
 * the order in which samples use them, as in Go's, so that two raw files of one profile can be
 * compared by diff. It prints what the file says, whatever filters leave of it.
 */
#include "tool/compat/go/go.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"

/* Numbers by the order in which samples use them. */
struct numbers {
    uint32_t *locations, *mappings; /* 0: not used */
    uint32_t *location_order, *mapping_order;
    uint32_t location_count, mapping_count;
};

static void number_all(const struct go_profile *go, struct numbers *numbers);
static void use_mapping(struct numbers *numbers, uint32_t mapping);
static void use_location(const struct go_profile *go, struct numbers *numbers, uint32_t place);
static void print_raw_head(const struct go_profile *go);
static void print_raw_times(const struct profile *from);
static void print_raw_duration(int64_t ns);
static void print_raw_labels(const struct go_profile *go, const struct go_sample *sample);
static void print_raw_location(const struct go_profile *go, const struct numbers *numbers,
                               uint32_t index);

void go_print_raw(const struct go_profile *go)
{
    struct numbers numbers = {0};
    number_all(go, &numbers);
    print_raw_head(go);
    for (size_t i = 0; i < go->count; i++) {
        const struct go_sample *sample = &go->samples[i];
        for (unsigned k = 0; k < go->from->types; k++)
            printf(" %10" PRId64, go->from->samples.values[k][sample->row]);
        fputs(": ", stdout);
        for (uint32_t k = 0; k < sample->count; k++)
            printf("%u ", numbers.locations[go->path[sample->first + k]]);
        putchar('\n');
        print_raw_labels(go, sample);
    }
    puts("Locations");
    for (uint32_t i = 0; i < numbers.location_count; i++)
        print_raw_location(go, &numbers, i);
    puts("Mappings");
    for (uint32_t i = 0; i < numbers.mapping_count; i++) {
        uint32_t number = numbers.mapping_order[i];
        const struct profile_mapping *mapping = profile_mapping_at(go->from, number);
        const char *path =
            number == 1 && go->program[0] ? go->program : profile_text(go->from, mapping->path);
        printf("%u: 0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 " ", i + 1, mapping->start,
               mapping->limit, mapping->offset);
        go_print_clean("", path, " ");
        printf("%s %s%s%s%s\n", profile_text(go->from, mapping->build_id),
               mapping->has_functions ? "[FN]" : "", mapping->has_files ? "[FL]" : "",
               mapping->has_lines ? "[LN]" : "", mapping->has_inlines ? "[IN]" : "");
    }
    free(numbers.locations);
    free(numbers.mappings);
}

/* By the whole profile, whatever of it is shown. */
static void number_all(const struct go_profile *go, struct numbers *numbers)
{
    size_t locations = go->places_count, mappings = go->from->mappings.count;
    numbers->locations = compat_room(NULL, locations * 2, sizeof(uint32_t));
    numbers->location_order = numbers->locations + locations;
    numbers->mappings = compat_room(NULL, mappings * 2, sizeof(uint32_t));
    numbers->mapping_order = numbers->mappings + mappings;
    memset(numbers->locations, 0, locations * 2 * sizeof(uint32_t));
    memset(numbers->mappings, 0, mappings * 2 * sizeof(uint32_t));
    if (mappings > 1 && (go->from->traits & TRAIT_PPROF))
        use_mapping(numbers, 1);
    const struct profile_samples *samples = &go->from->samples;
    for (size_t i = 0; i < samples->count; i++) {
        uint32_t count;
        bool some = false;
        for (unsigned k = 0; k < go->from->types; k++)
            some |= samples->values[k][i] != 0;
        const uint32_t *path = profile_frames_of(go->from, samples->stacks[i], &count);
        for (uint32_t k = 0; k < count && some; k++)
            use_location(go, numbers, path[k]);
    }
    for (size_t i = go->from->locations.count; i < go->places_count; i++)
        use_location(go, numbers, (uint32_t)i);
}

static void use_mapping(struct numbers *numbers, uint32_t mapping)
{
    if (mapping == 0 || numbers->mappings[mapping] != 0)
        return;
    numbers->mapping_order[numbers->mapping_count] = mapping;
    numbers->mappings[mapping] = ++numbers->mapping_count;
}

static void use_location(const struct go_profile *go, struct numbers *numbers, uint32_t place)
{
    if (numbers->locations[place] != 0)
        return;
    numbers->location_order[numbers->location_count] = place;
    numbers->locations[place] = ++numbers->location_count;
    use_mapping(numbers, go->places[place].mapping);
}

static void print_raw_head(const struct go_profile *go)
{
    const struct profile *from = go->from;
    const uint32_t *comments = from->comments.items;
    for (size_t i = 0; i < from->comments.count; i++)
        go_print_clean("Comment: ", profile_text(from, comments[i]), "\n");
    bool own = from->traits & TRAIT_PPROF, typed = from->period_type.name != 0;
    if (typed || own)
        printf("PeriodType: %s %s\n", profile_text(from, from->period_type.name),
               profile_text(from, from->period_type.unit));
    printf("Period: %" PRId64 "\n", from->period > 0 ? from->period : typed || !own);
    print_raw_times(from);
    puts("Samples:");
    for (unsigned i = 0; i < from->types; i++)
        printf("%s%s/%s%s", i > 0 ? " " : "", profile_text(from, from->type[i].name),
               profile_text(from, from->type[i].unit),
               i == from->default_type && from->default_named ? "[dflt]" : "");
    putchar('\n');
}

static void print_raw_times(const struct profile *from)
{
    if (from->time_ns != 0) {
        time_t seconds = (time_t)(from->time_ns / 1000000000);
        struct tm when;
        char text[64], zone[32], fraction[16];
        localtime_r(&seconds, &when);
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &when);
        strftime(zone, sizeof zone, "%z %Z", &when);
        snprintf(fraction, sizeof fraction, ".%09" PRId64, from->time_ns % 1000000000);
        size_t length = strlen(fraction);
        while (length > 0 && strchr("0.", fraction[length - 1]))
            length--;
        printf("Time: %s%.*s %s\n", text, (int)length, fraction, zone);
    }
    if (from->duration_ns > 0)
        print_raw_duration(from->duration_ns);
}

/* The first four signs of a duration: "1m30s" is "1m30". */
static void print_raw_duration(int64_t ns)
{
    char text[64];
    int64_t seconds = ns / 1000000000;
    double fraction = (double)(ns % 1000000000) / 1e9;
    if (ns >= 3600ll * 1000000000)
        snprintf(text, sizeof text, "%" PRId64 "h%" PRId64 "m", seconds / 3600, seconds / 60 % 60);
    else if (ns >= 60ll * 1000000000)
        snprintf(text, sizeof text, "%" PRId64 "m%gs", seconds / 60,
                 (double)(seconds % 60) + fraction);
    else if (ns >= 1000000000)
        snprintf(text, sizeof text, "%.10gs", (double)seconds + fraction);
    else if (ns >= 1000000)
        snprintf(text, sizeof text, "%.10gms", (double)ns / 1e6);
    else
        snprintf(text, sizeof text, ns >= 1000 ? "%.10g\u00b5s" : "%.10gns",
                 ns >= 1000 ? (double)ns / 1e3 : (double)ns);
    printf("Duration: %.4s\n", text);
}

/* Labels by key: texts on a line, numbers on the next. */
static void print_raw_labels(const struct go_profile *go, const struct go_sample *sample)
{
    struct profile_label labels[PROFILE_LABELS_MAX];
    size_t count = go_labels(go, sample, labels);
    for (unsigned numeric = 0; numeric < 2; numeric++) {
        struct go_text texts[PROFILE_LABELS_MAX + 1];
        size_t found = 0;
        int made = 0;
        for (size_t i = 0; i < count && made >= 0; i++) {
            const char *key = profile_text(go->from, labels[i].key);
            const char *unit = profile_text(go->from, labels[i].unit);
            if ((labels[i].text == 0) != (numeric == 1))
                continue;
            made = numeric ? asprintf(&texts[found++].text, "%s:[%" PRId64 "%s%s]", key,
                                      labels[i].number, unit[0] ? " " : "", unit)
                           : asprintf(&texts[found++].text, "%s:[%s]", key,
                                      profile_text(go->from, labels[i].text));
        }
        if (numeric && sample->bytes > 0 && made >= 0)
            made = asprintf(&texts[found++].text, "bytes:[%" PRId64 "]", sample->bytes);
        if (made < 0)
            compat_out_of_memory();
        if (found > 0)
            qsort(texts, found, sizeof *texts, go_compare_texts);
        for (size_t i = 0; i < found; i++) {
            go_print_clean(i > 0 ? " " : "                ", texts[i].text,
                           i + 1 == found ? "\n" : "");
            free(texts[i].text);
        }
    }
}

static void print_raw_location(const struct go_profile *go, const struct numbers *numbers,
                               uint32_t index)
{
    const struct go_place *place = &go->places[numbers->location_order[index]];
    printf("%6u: 0x%" PRIx64 " ", index + 1, place->address);
    if (place->mapping > 0)
        printf("M=%u ", numbers->mappings[place->mapping]);
    for (uint32_t k = 0; k < place->count; k++) {
        const struct go_line *line = &go->lines[place->first + k];
        if (k > 0)
            fputs("\n             ", stdout);
        if (line->none) {
            fputs("??", stdout);
            continue;
        }
        go_print_clean("", line->name, " ");
        go_print_clean("", line->file, "");
        printf(":%u s=%u", line->line, line->start_line);
        if (strcmp(line->name, line->system_name) != 0)
            go_print_clean("(", line->system_name, ")");
    }
    putchar('\n');
}
