/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic behind `memoir diff`, `leaks`, `churn`, `sizes` and `check`, on profiles made by
 * hand: what is noise and what is not, which lines belong together, what is called a leak.
 */
#include "tool/report/churn.h"
#include "tool/report/report.h"
#include "tool/report/text/report_sizes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void profile_make(struct profile *profile)
{
    profile_start(profile);
    profile->kind = PROFILE_HEAP;
    profile->format = "test";
    profile_type(profile, "alloc_objects", UNIT_COUNT);
    profile_type(profile, "alloc_space", UNIT_BYTES);
    profile_type(profile, "inuse_objects", UNIT_COUNT);
    profile->default_type = profile_type(profile, "inuse_space", UNIT_BYTES);
    profile_type(profile, "inuse_requested", UNIT_BYTES);
}

static uint32_t frame(struct profile *profile, const char *name, const char *file, uint32_t line)
{
    struct profile_function function = {.name = profile_string_of(profile, name),
                                        .file = profile_string_of(profile, file)};
    return profile_named(profile, profile_function(profile, &function), line, 0);
}

/* A sample at a line of a function that main called; `count` live blocks of `size` bytes. */
static size_t sample(struct profile *profile, const char *name, const char *file, uint32_t line,
                     int64_t count, int64_t size)
{
    uint32_t locations[2] = {frame(profile, name, file, line), frame(profile, "main", "main.c", 1)};
    struct profile_label label = {.key = profile_string_of(profile, LABEL_BLOCK_BYTES),
                                  .number = size};
    size_t row = profile_sample(profile, profile_stack(profile, locations, 2),
                                profile_label_set(profile, &label, 1));
    int64_t values[] = {count, count * size, count, count * size, count * size - count};
    for (unsigned i = 0; i < 5; i++)
        profile->samples.values[i][row] = values[i];
    return row;
}

static void view_of(struct view *view, const struct profile *profile, const struct profile *base)
{
    struct view_options options = {.type = profile->default_type, .base = base};
    struct view_error error;
    memset(view, 0, sizeof *view);
    assert(view_make(view, profile, &options, &error));
}

static const struct diff_row *row_named(const struct diff *diff, const struct view *view,
                                        const char *name, uint32_t line)
{
    for (size_t i = 0; i < diff->count; i++)
        if (strcmp(view->frames[diff->rows[i].frame].name, name) == 0 &&
            view->frames[diff->rows[i].frame].line == line)
            return &diff->rows[i];
    return NULL;
}

static void lines_that_moved_belong_together(void)
{
    struct profile before, after;
    struct view view;
    struct diff diff;
    profile_make(&before);
    profile_make(&after);
    sample(&before, "insert", "old/cache.c", 88, 10, 100);
    sample(&after, "insert", "new/cache.c", 91, 30, 100);
    sample(&before, "parse", "parse.c", 10, 1, 1000);
    sample(&before, "parse", "parse.c", 20, 1, 2000);
    sample(&after, "parse", "parse.c", 20, 1, 1000); /* the first line of before, moved by ten */
    sample(&after, "parse", "parse.c", 30, 1, 2000);
    sample(&before, "renamed", "a.c", 5, 1, 64);
    sample(&after, "renamed", "b.c", 7, 1, 64);
    sample(&before, "gone", "gone.c", 1, 7, 16);
    sample(&after, "new", "new.c", 1, 9, 16);
    view_of(&view, &after, &before);
    assert(diff_make(&diff, &view, false));

    const struct diff_row *insert = row_named(&diff, &view, "insert", 91);
    assert(insert && insert->value.base == 1000 && insert->value.value == 3000);
    assert(view.frames[insert->base_frame].line == 88 && insert->verdict == DIFF_MORE);
    const struct diff_row *parse = row_named(&diff, &view, "parse", 20);
    assert(parse && parse->value.base == 1000 && parse->verdict == DIFF_SAME);
    assert(view.frames[parse->base_frame].line == 10);
    assert(row_named(&diff, &view, "renamed", 7)->verdict == DIFF_SAME);
    assert(row_named(&diff, &view, "gone", 1)->verdict == DIFF_GONE);
    assert(row_named(&diff, &view, "new", 1)->verdict == DIFF_NEW);
    assert(diff.real == 3 && diff.noisy == 0 && diff.count == 6);
    assert(diff.change == 2000 + 144 - 112 && diff.noise == 0);
    assert(diff.explain_sites == 1 && fabs(diff.explain_share - 2000.0 / 2144) < 1e-9);
    diff_free(&diff);
    view_free(&view);
    profile_free(&before);
    profile_free(&after);
}

/* The same build has lines where they were: a line that is not there any more is gone. */
static void lines_of_one_build_do_not_move(void)
{
    struct profile profiles[2];
    struct view view;
    struct diff diff;
    for (unsigned i = 0; i < 2; i++) {
        struct profile *profile = &profiles[i];
        profile_make(profile);
        struct profile_mapping mapping = {.path = profile_string_of(profile, "/bin/server"),
                                          .build_id = profile_string_of(profile, "abcd")};
        struct profile_function function = {.name = profile_string_of(profile, "insert"),
                                            .file = profile_string_of(profile, "cache.c")};
        uint32_t number = profile_mapping(profile, &mapping);
        uint32_t location =
            profile_named(profile, profile_function(profile, &function), 10 + i, number);
        size_t row = profile_sample(profile, profile_stack(profile, &location, 1), 0);
        profile->samples.values[profile->default_type][row] = 100;
    }
    view_of(&view, &profiles[1], &profiles[0]);
    assert(diff_make(&diff, &view, false));
    assert(diff.count == 2 && diff.real == 2);
    assert(row_named(&diff, &view, "insert", 10)->verdict == DIFF_GONE);
    assert(row_named(&diff, &view, "insert", 11)->verdict == DIFF_NEW);
    diff_free(&diff);
    view_free(&view);
    profile_free(&profiles[0]);
    profile_free(&profiles[1]);
}

/* Of 100 objects, each recorded one stands for `weight`. */
static void weigh(struct profile *profile, float weight)
{
    assert(profile_want_weights(profile));
    profile->samples.weights[0] = weight;
}

static void a_change_below_the_noise_is_none(void)
{
    struct profile before, after;
    struct view view;
    struct diff diff;
    profile_make(&before);
    profile_make(&after);
    sample(&before, "steady", "a.c", 1, 100, 100);
    sample(&after, "steady", "a.c", 1, 110, 100);
    weigh(&before, 1.16f); /* a standard error of 400 bytes, */
    weigh(&after, 1 + 0.16f / 1.1f);
    view_of(&view, &after, &before);
    assert(diff_make(&diff, &view, false));
    assert(diff.noise > 1.96 * sqrt(2) * 400 && diff.noise < 1.01 * 1.96 * sqrt(2) * 400);
    assert(fabs(diff.rows[0].noise / diff.noise - 2.5758 / 1.96) < 0.001); /* 1,458 against 1,000 */
    assert(diff.rows[0].verdict == DIFF_NOISE && diff.real == 0 && diff.noisy == 1);
    diff_free(&diff);
    view_free(&view);
    weigh(&before, 1); /* and none; and half as much: 729 against 1,000 */
    weigh(&after, 1 + 0.08f / 1.1f);
    view_of(&view, &after, &before);
    assert(diff_make(&diff, &view, false));
    assert(diff.rows[0].verdict == DIFF_MORE && diff.real == 1);
    diff_free(&diff);
    view_free(&view);
    profile_free(&before);
    profile_free(&after);
}

static void set_history(struct profile *profile, size_t row, const float *values, unsigned count)
{
    assert(profile_want_history(profile));
    memcpy(profile->samples.history[row], values, count * sizeof *values);
}

static void add_moments(struct profile *profile, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct profile_moment *moment =
            profile_list_add(profile, &profile->moments, sizeof *moment);
        *moment = (struct profile_moment){.time_ns = (i + 1) * INT64_C(1000000000), .rows = true};
    }
    profile->history_moments = count;
    profile->duration_ns = count * INT64_C(1000000000);
}

static const struct leaks_row *leak_named(const struct leaks *leaks, const struct view *view,
                                          const char *name)
{
    for (size_t i = 0; i < leaks->count; i++)
        if (strcmp(view->frames[leaks->rows[i].frame].name, name) == 0)
            return &leaks->rows[i];
    return NULL;
}

static void a_leak_is_what_the_rule_says(void)
{
    static const float linear[] = {100, 200, 300, 400}, once[] = {500, 500, 500, 500},
                       bounded[] = {50, 80, 60, 70}, late[] = {0, 0, 10, 900};
    struct profile profile;
    struct view view;
    struct leaks leaks;
    struct leaks_options options = {.rule = LEAKS_AUTO};
    profile_make(&profile);
    sample(&profile, "linear", "a.c", 1, 4, 100);
    sample(&profile, "once", "a.c", 2, 1, 500);
    sample(&profile, "bounded", "a.c", 3, 1, 70);
    sample(&profile, "late", "a.c", 4, 9, 100);
    profile.period = 524288;
    view_of(&view, &profile, NULL);
    assert(leaks_make(&leaks, &view, &options));
    assert(leaks.rule == LEAKS_NONE && leaks.found == 0 && leaks.count == 4);
    leaks_free(&leaks);
    view_free(&view);

    add_moments(&profile, 4);
    set_history(&profile, 0, linear, 4);
    set_history(&profile, 1, once, 4);
    set_history(&profile, 2, bounded, 4);
    set_history(&profile, 3, late, 4);
    view_of(&view, &profile, NULL);
    assert(leaks_make(&leaks, &view, &options));
    assert(leaks.rule == LEAKS_GROWTH && leaks.found == 2 && leaks.found_bytes == 1300);
    const struct leaks_row *row = leak_named(&leaks, &view, "linear");
    assert(row->leak && row->shape == LEAKS_LINEAR && fabs(row->growth - 100) < 1e-3);
    assert(row->first_ns == INT64_C(1000000000) && row->last_ns == INT64_C(4000000000));
    row = leak_named(&leaks, &view, "once");
    assert(!row->leak && row->shape == LEAKS_ONCE && row->last_ns == INT64_C(1000000000));
    row = leak_named(&leaks, &view, "bounded");
    assert(row->shape == LEAKS_BOUNDED);
    assert(leak_named(&leaks, &view, "late")->shape == LEAKS_GROWING);
    leaks_free(&leaks);

    profile.period = 0; /* every block, up to the end: then all of it */
    profile.ended = true;
    assert(leaks_make(&leaks, &view, &options));
    assert(leaks.rule == LEAKS_EXIT && leaks.found == 4 && leaks.found_bytes == 1870);
    leaks_free(&leaks);
    options.rule = LEAKS_GROWTH;
    assert(leaks_make(&leaks, &view, &options) && leaks.found == 2);
    leaks_free(&leaks);
    view_free(&view);
    profile_free(&profile);
}

/* More at the end than in the middle, but it was there before, or falls as much. */
static void what_comes_and_goes_does_not_grow(void)
{
    static const float full[] = {800, 700, 750, 800}, waves[] = {100, 400, 150, 420};
    struct profile profile, before;
    struct view view;
    struct leaks leaks;
    struct leaks_options options = {.rule = LEAKS_GROWTH};
    profile_make(&profile);
    sample(&profile, "full", "a.c", 1, 8, 100);
    sample(&profile, "waves", "a.c", 2, 42, 10);
    add_moments(&profile, 4);
    set_history(&profile, 0, full, 4);
    set_history(&profile, 1, waves, 4);
    view_of(&view, &profile, NULL);
    assert(leaks_make(&leaks, &view, &options) && leaks.found == 0);
    assert(leaks.rows[0].shape == LEAKS_BOUNDED && leaks.rows[1].shape == LEAKS_BOUNDED);
    leaks_free(&leaks);
    view_free(&view);

    profile_make(&before); /* another build: lines moved, only one of them grew */
    sample(&before, "full", "a.c", 11, 8, 100);
    sample(&before, "waves", "a.c", 12, 40, 10);
    view_of(&view, &profile, &before);
    assert(leaks_make(&leaks, &view, &options) && leaks.found == 1 && leaks.found_bytes == 20);
    assert(leaks.rows[0].growth == 20);
    leaks_free(&leaks);
    view_free(&view);
    profile_free(&before);
    profile_free(&profile);
}

static void suppressed_stacks_are_no_leaks(void)
{
    struct profile profile;
    struct view view;
    struct leaks leaks;
    struct suppressions *list = suppressions_new();
    struct view_error error = {.text = ""};
    struct leaks_options options = {.rule = LEAKS_EXIT, .suppressions = list};
    assert(suppressions_add(list, "s", "# known\n\n  leak:^cache_*$ \nleak:third/party\n", &error));
    assert(!suppressions_add(list, "s", "leak:x\n\nleek:y\n", &error));
    assert(strncmp(error.text, "s:3: ", 5) == 0);
    assert(!suppressions_add(list, "s", "leak:\n", &error) && strncmp(error.text, "s:1: ", 5) == 0);
    suppressions_free(list);
    options.suppressions = list = suppressions_new();
    assert(suppressions_add(list, "s", "leak:^cache_*$\nleak:third/party", &error));

    profile_make(&profile);
    sample(&profile, "cache_insert", "src/cache.c", 1, 1, 100);
    sample(&profile, "my_cache_insert", "src/cache.c", 9, 1, 200);
    sample(&profile, "zip", "third/party/zip.c", 2, 1, 400);
    sample(&profile, "_IO_file_doallocate", "", 0, 1, 4096);
    view_of(&view, &profile, NULL);
    assert(leaks_make(&leaks, &view, &options));
    assert(leaks.found == 1 && leaks.found_bytes == 200 && leaks.suppressed == 3);
    assert(leaks.suppressed_bytes == 100 + 400 + 4096);
    leaks_free(&leaks);
    view_free(&view);
    profile_free(&profile);
    suppressions_free(list);

    assert(suppressions_match("b*d", "abcde") && !suppressions_match("^b*d", "abcde"));
    assert(suppressions_match("^abc$", "abc") && !suppressions_match("^abc$", "abcd"));
    assert(suppressions_match("c$", "abc") && suppressions_match("^*c$", "abcc"));
    assert(suppressions_match("", "x") && !suppressions_match("x", ""));
    assert(suppressions_match("a*b*c", "a--b--c") && !suppressions_match("a*b*c$", "a--b--cd"));
}

static bool block_fits(const char *block)
{
    static const struct suppressions_frame frames[] = {
        {"Cache::insert(int)", "_ZN5Cache6insertEi", "src/cache.cc", "/opt/lib/libcache.so.1", 88,
         0, 0},
        {"", "", "", "/opt/lib/libbare.so", 0, 0x1f4, 0x1f0},
        {"main", "main", "src/main.c", "/opt/program", 12, 0, 0},
        {"_start", "_start", "", "/opt/program", 0, 0, 0},
    };
    struct view_error error = {.text = ""};
    struct suppressions *list = suppressions_new();
    if (!suppressions_add(list, "s", block, &error)) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    bool fits = suppressions_fit(list, frames, sizeof frames / sizeof *frames);
    suppressions_free(list);
    return fits;
}

/* valgrind's suppressions: stacks from the leaf on. */
static void blocks_of_valgrind_are_stacks(void)
{
    struct view_error error = {.text = ""};
    struct suppressions *list = suppressions_new();
#define BLOCK(frames) "{\n   name\n   Memcheck:Leak\n   match-leak-kinds: definite\n" frames "}\n"
    assert(block_fits(BLOCK("   fun:_ZN5Cache6insertEi\n")));
    assert(block_fits(BLOCK("   fun:malloc\n   fun:_ZN5Cache*\n   obj:*/libbare.so\n")));
    assert(block_fits(BLOCK("fun:*alloc\n...\nfun:main\n")));
    assert(block_fits(BLOCK("...\nfun:_start\n")) && block_fits(BLOCK("...\n")));
    assert(block_fits(BLOCK("...\nobj:*bare*\n...\nfun:mai?\n")));
    assert(block_fits(BLOCK("src:cache.cc:88\nobj:*\nsrc:*main.c\n")));
    assert(!block_fits(BLOCK("fun:main\n"))); /* not from the leaf */
    assert(!block_fits(BLOCK("fun:free\nfun:_ZN5Cache6insertEi\n")));
    assert(!block_fits(BLOCK("fun:_ZN5Cache6insert\n")) && !block_fits(BLOCK("src:cache.cc:8\n")));
    assert(!block_fits(BLOCK("...\nfun:main\nfun:main\n")) && !block_fits(BLOCK("")));
    assert(!block_fits("{\n   name\n   Memcheck:Cond\n   fun:_ZN5Cache6insertEi\n}\n"));
    assert(block_fits("# both\nleak:nothing\n" BLOCK("fun:x\n") BLOCK("fun:_ZN5*\n") "leak:no\n"));
    assert(block_fits("leak:^libbare.so+0x1f0$\n") && block_fits("leak:libbare.so+0x1f4$\n"));
    assert(!block_fits("leak:^libbare.so+0x1f$\n") && !block_fits("leak:^libbare.so+0x2f0$\n"));
    assert(!suppressions_add(list, "s", BLOCK("fan:x\n"), &error));
    assert(strncmp(error.text, "s:5: 'fan:x'", 12) == 0);
    assert(!suppressions_add(list, "s", "{\nname\nMemcheck:Leak\nfun:x\n", &error));
    assert(strstr(error.text, "has no }"));
#undef BLOCK
    suppressions_free(list);
}

static void half_of_the_blocks_are_younger_than_the_median(void)
{
    double ended[FORMAT_LIVES] = {0};
    struct profile profile;
    struct view view;
    struct churn churn;
    assert(churn_median_us(ended) == -1);
    ended[0] = 10;
    assert(churn_median_us(ended) < 1 && churn_median_us(ended) > 0.25);
    ended[5] = 30; /* 256 to 1024 us: two thirds of half the blocks below the middle */
    double median = churn_median_us(ended);
    assert(median > 256 && median < 1024);
    memset(ended, 0, sizeof ended);
    ended[FORMAT_LIVES - 1] = 1;
    assert(churn_median_us(ended) == pow(4, FORMAT_LIVES - 2));

    profile_make(&profile);
    size_t brief = sample(&profile, "brief", "a.c", 1, 0, 64);
    size_t lasting = sample(&profile, "lasting", "a.c", 2, 0, 64);
    profile.duration_ns = INT64_C(2000000000);
    assert(profile_want_lives(&profile) && profile_want_weights(&profile));
    profile.samples.weights[brief] = 10;
    profile.samples.weights[lasting] = 10;
    profile.samples.lives[brief][1] = 7;
    profile.samples.lives[lasting][12] = 9;
    view_of(&view, &profile, NULL);
    assert(churn_make(&churn, &view) && churn.by == CHURN_AGES && churn.count == 1);
    assert(strcmp(view.frames[churn.rows[0].frame].name, "brief") == 0);
    assert(churn.rows[0].count == 70 && churn.rows[0].bytes == 70 * 64);
    assert(churn.total_ended == 160 && churn.seconds == 2);
    assert(strstr(churn_hint(&churn.rows[0]), "stack") != NULL);
    churn_free(&churn);
    view_free(&view);
    profile_free(&profile);
}

static void sizes_add_up(void)
{
    struct profile profile;
    struct view view;
    struct sizes sizes;
    profile_make(&profile);
    sample(&profile, "a", "a.c", 1, 3, 64);
    sample(&profile, "b", "a.c", 2, 2, 64);
    sample(&profile, "c", "a.c", 3, 1, 80);
    sample(&profile, "d", "a.c", 4, 1, 4096);
    view_of(&view, &profile, NULL);
    assert(sizes_make(&sizes, &view, 0) && sizes.count == 3 && sizes.has_requested);
    assert(sizes.rows[0].max == 64 && sizes.rows[0].objects == 5);
    assert(sizes.bytes - sizes.requested == 7); /* a byte a block */
    sizes_free(&sizes);
    assert(sizes_make(&sizes, &view, 2) && sizes.count == 2);
    assert(sizes.rows[0].min == 64 && sizes.rows[0].max == 80 && sizes.rows[0].objects == 6);
    sizes_free(&sizes);
    view_free(&view);
    profile_free(&profile);
}

static void judged(double before, double after, double noise, struct check_limit limit,
                   enum check_verdict expected)
{
    struct check check = {0};
    struct check_item *item = check_add(&check, "peak", UNIT_BYTES);
    item->before = before;
    item->after = after;
    item->noise = noise;
    item->limit = limit;
    check_judge(&check, item);
    assert(item->verdict == expected);
    assert(check.failed == (expected == CHECK_FAIL) && check.unsure == (expected == CHECK_UNSURE));
    check_free(&check);
}

static void limits_inside_the_noise_are_inconclusive(void)
{
    struct check_limit limit;
    assert(check_limit_read("200M", UNIT_BYTES, &limit) && limit.value == 200.0 * 1048576 &&
           !limit.relative);
    assert(check_limit_read("+5%", UNIT_BYTES, &limit) && limit.value == 5 && limit.relative);
    assert(check_limit_read("1.5GiB", UNIT_BYTES, &limit) && limit.value == 1.5 * 1073741824);
    assert(check_limit_read("0", UNIT_BYTES, &limit) && limit.value == 0);
    assert(check_limit_read("1.5s", UNIT_NANOSECONDS, &limit) && limit.value == 1.5e9);
    assert(check_limit_read("200ms", UNIT_NANOSECONDS, &limit) && limit.value == 2e8);
    assert(check_limit_read("5%", UNIT_NANOSECONDS, &limit) && limit.value == 5 && limit.relative);
    assert(!check_limit_read("2M", UNIT_NANOSECONDS, &limit));
    static const char *const wrong[] = {"", "M", "-5%", "5x", "nan", "inf", "1e99", "5%%", " 5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert(!check_limit_read(wrong[i], UNIT_BYTES, &limit));
    const struct check_limit hundred = {100, false}, percent = {5, true};
    judged(0, 100, 0, hundred, CHECK_PASS);
    judged(0, 101, 0, hundred, CHECK_FAIL);
    judged(0, 101, 5, hundred, CHECK_UNSURE);
    judged(0, 98, 5, hundred, CHECK_UNSURE);
    judged(0, 94, 5, hundred, CHECK_PASS);
    judged(0, 106, 5, hundred, CHECK_FAIL);
    judged(1000, 1050, 0, percent, CHECK_PASS);
    judged(1000, 1051, 0, percent, CHECK_FAIL);
    judged(1000, 1051, 2, percent, CHECK_UNSURE);
}

static void budgets_are_read_or_refused_by_line(void)
{
    static const char *const wrong[][2] = {
        {"a 1\nb\n", "f:2: "},
        {"a x\n", "f:1: 'x' is no limit"},
        {"\n\na 5M bytes\n", "f:3: 'bytes' is no metric"},
        {"a 5M live more\n", "f:1: "},
    };
    struct view_error error;
    size_t count;
    struct check_budget *lines = check_budget_read(
        "f", "# all\nsrc/net/* 8M\n\n  ^parse_ 5% peak # so\nx 12 allocs", &count, &error);
    assert(lines && count == 3 && lines[0].line == 2 && lines[0].limit.value == 8 * 1048576);
    assert(lines[0].metric == CHECK_LIVE && strcmp(lines[0].pattern, "src/net/*") == 0);
    assert(lines[1].line == 4 && lines[1].limit.relative && lines[1].metric == CHECK_PEAK);
    assert(lines[2].line == 5 && lines[2].limit.value == 12);
    free(lines);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert(!check_budget_read("f", wrong[i][0], &count, &error));
        assert(strncmp(error.text, wrong[i][1], strlen(wrong[i][1])) == 0);
    }
    struct profile profile;
    struct view view;
    profile_make(&profile);
    sample(&profile, "send", "src/net/send.c", 1, 2, 100);
    sample(&profile, "receive", "src/net/receive.c", 1, 1, 50);
    sample(&profile, "other", "src/other.c", 1, 1, 1000);
    view_of(&view, &profile, NULL);
    size_t stacks;
    assert(check_sum(&view, "src/net/*", &stacks).value == 250 && stacks == 2);
    assert(check_sum(&view, "^send$", &stacks).value == 200 && stacks == 1);
    assert(check_sum(&view, "main", &stacks).value == 1250 && stacks > 0);
    assert(check_sum(&view, "nothing", &stacks).value == 0 && stacks == 0);
    view_free(&view);
    profile_free(&profile);
}

int main(void)
{
    lines_that_moved_belong_together();
    lines_of_one_build_do_not_move();
    a_change_below_the_noise_is_none();
    a_leak_is_what_the_rule_says();
    what_comes_and_goes_does_not_grow();
    suppressed_stacks_are_no_leaks();
    blocks_of_valgrind_are_stacks();
    half_of_the_blocks_are_younger_than_the_median();
    sizes_add_up();
    limits_inside_the_noise_are_inconclusive();
    budgets_are_read_or_refused_by_line();
    return 0;
}
