/* SPDX-License-Identifier: MIT */
/*
 * Views of a profile made by hand: whose memory it is, filters with the meaning they have in pprof,
 * recursion that counts once, granularity, labels, a base beside it, errors of sampled numbers.
 */
#include "tool/report/report.h"

#include "tests/unit/unit.h"

#include <math.h>

static struct profile profile;

/* A location that is names only, the inlined first: "inner,outer". */
static uint32_t place(const char *names, uint32_t line, uint32_t mapping)
{
    struct profile_line lines[4];
    uint32_t count = 0;
    for (; *names && count < 4; count++) {
        size_t length = strcspn(names, ",");
        struct profile_function function = {
            .name = profile_string(&profile, names, length),
            .file = profile_string_of(&profile, "/src/code.cc"),
        };
        lines[count] = (struct profile_line){profile_function(&profile, &function), line, 0};
        names += length + (names[length] == ',');
    }
    struct profile_location location = {.mapping = mapping};
    return profile_location(&profile, &location, lines, count);
}

static void sample(const uint32_t *frames, uint32_t count, int64_t objects, int64_t bytes,
                   int64_t size, const char *thread)
{
    struct profile_label labels[2] = {
        {.key = profile_string_of(&profile, "bytes"), .number = size},
        {.key = profile_string_of(&profile, "thread"), .text = profile_string_of(&profile, thread)},
    };
    size_t row = profile_sample(&profile, profile_stack(&profile, frames, count),
                                profile_label_set(&profile, labels, 2));
    profile.samples.values[0][row] = objects;
    profile.samples.values[1][row] = bytes;
}

/*
 *   700 in 7   malloc < std::vector (inlined in parse) < parse:10 < main
 *   200 in 2   malloc < load < main
 *   100 in 1   helper < parse:20 < parse:20 < main
 *    50 in 5   [libz.so.1+0x1f0] < load < main
 */
static void fill(void)
{
    profile_start(&profile);
    profile.kind = PROFILE_HEAP;
    profile_type(&profile, "inuse_objects", UNIT_COUNT);
    profile_type(&profile, "inuse_space", UNIT_BYTES);
    profile.default_type = 1;
    struct profile_mapping zlib = {.start = 0x1000, .limit = 0x9000, .offset = 0x100};
    zlib.path = profile_string_of(&profile, "/lib/libz.so.1");
    profile_mapping(&profile, &zlib);
    uint32_t allocator = place("malloc", 0, 0), start = place("main", 1, 0);
    uint32_t vector = place("void std::vector<int>::push_back(int const&),parse", 10, 0);
    uint32_t load = place("load", 5, 0), parse = place("parse", 20, 0);
    uint32_t helper = place("Helper::run", 30, 0);
    uint32_t unknown = profile_address(&profile, 0x10f1, 0);
    sample((uint32_t[]){allocator, vector, start}, 3, 7, 700, 100, "worker");
    sample((uint32_t[]){allocator, load, start}, 3, 2, 200, 100, "main");
    sample((uint32_t[]){helper, parse, parse, start}, 4, 1, 100, 100, "worker");
    sample((uint32_t[]){unknown, load, start}, 3, 5, 50, 10, "main");
    assert(!profile.failed);
}

static struct view_options plain(void)
{
    return (struct view_options){.type = 1};
}

/* The row of a name; all zero if there is none. */
static struct view_row row_of(const struct view *view, const char *name)
{
    size_t count;
    struct view_row found = {0}, *rows = view_rows(view, false, &count);
    assert(rows != NULL);
    for (size_t i = 0; i < count; i++)
        if (strcmp(view->frames[rows[i].frame].name, name) == 0) {
            found.self.value += rows[i].self.value;
            found.self.objects += rows[i].self.objects;
            found.total.value += rows[i].total.value;
            found.frame = rows[i].frame;
            found.self.base += rows[i].self.base;
            found.total.base += rows[i].total.base;
        }
    free(rows);
    return found;
}

static struct view view_of(const struct view_options *options)
{
    struct view view;
    struct view_error error = {.text = ""};
    if (!view_make(&view, &profile, options, &error)) {
        puts(error.text);
        abort();
    }
    return view;
}

static void libraries_belong_to_their_caller(void)
{
    struct view_options options = plain();
    struct view view = view_of(&options);
    assert(view.total.value == 1050 && view.total.objects == 15 && view.whole.value == 1050);
    assert(row_of(&view, "parse").self.value == 700);
    assert(row_of(&view, "load").self.value == 200 && row_of(&view, "load").self.objects == 2);
    assert(row_of(&view, "malloc").total.value == 0);
    assert(row_of(&view, "Helper::run").self.value == 100);
    assert(row_of(&view, "libz.so.1+0x1f0").self.value == 50);
    assert(view.unnamed > 0.05 && view.unnamed < 0.2);
    for (size_t i = 0; i < view.stacks_count; i++)
        if (view_sum(&view, i).value == 700) {
            struct view_stack stack = view_stack(&view, i);
            assert(stack.folded == 2 && stack.count == 2);
            assert(strcmp(view.frames[*(stack.frames - 2)].name, "malloc") == 0);
        }
    view_free(&view);
    options.frames = VIEW_LEAF;
    view = view_of(&options);
    assert(row_of(&view, "void std::vector<int>::push_back(int const&)").self.value == 700);
    view_free(&view);
    options.frames = VIEW_ALL;
    view = view_of(&options);
    assert(row_of(&view, "malloc").self.value == 900);
    view_free(&view);
}

static void names_of_libraries(void)
{
    assert(blame_is_library("std::vector<a::b>::push_back(a::b&&)", "", ""));
    assert(blame_is_library("std::pair<int, x> std::make_pair<int, x>(int&&, x&&)", "", ""));
    assert(blame_is_library("decltype(auto) std::forward<int>(int)", "", ""));
    assert(blame_is_library("operator new(unsigned long)", "", ""));
    assert(
        blame_is_library("alloc::vec::Vec<T>::push", "/rustc/0123/library/alloc/src/vec.rs", ""));
    assert(blame_is_library("_M_invoke<0>", "/usr/include/c++/12/bits/std_thread.h", ""));
    assert(!blame_is_library("core::Engine::start()", "/src/core/engine.cc", ""));
    assert(!blame_is_library("Cache::insert(std::string const&)", "", "/usr/bin/server"));
    assert(!blame_is_library("std_parse", "", "") && !blame_is_library("mallocs", "", ""));
    assert(blame_is_library("", "", "/lib/x86_64-linux-gnu/libc.so.6"));
    assert(blame_is_allocator("malloc") && !blame_is_allocator("main"));
}

/* What programs put around malloc, as their symbol tables spell it. */
static void names_of_wrappers(void)
{
    static const char *const wrappers[] = {
        "xmalloc",
        "zmalloc",
        "zcalloc_num",
        "sqlite3DbMallocRawNN",
        "sqlite3_malloc64",
        "MemoryContextAllocZeroAligned",
        "AllocSetAlloc",
        "palloc0",
        "pstrdup",
        "ngx_palloc_large",
        "ngx_create_pool",
        "ruby_xmalloc2",
        "objspace_xmalloc0",
        "objspace_xmalloc0.constprop.0",
        "PyObject_Malloc",
        "_PyObject_GC_New",
        "Perl_safesysmalloc",
        "jv_mem_alloc",
        "g_malloc0_n",
        "CRYPTO_zalloc",
        "uv__malloc",
        "do_xmalloc.part.0",
        "my_pool_malloc [clone .isra.0]",
        "char* node::UncheckedMalloc<char>(unsigned long)",
        "node::NodeArrayBufferAllocator::Allocate(unsigned long)",
        "v8::internal::AllocAtLeastWithRetry(unsigned long)",
        "llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned long)",
        "llvm::User::operator new(unsigned long, unsigned int)",
        "int* app::aligned_malloc<int, 16ul>(unsigned long)",
    };
    static const char *const others[] = {
        "main",
        "mallocs",
        "malloc_users",
        "xmalloc_test_all",
        "dictAddRaw",
        "sqlite3VdbeExec",
        "createStringObject",
        "ExecHashJoin",
        "app::Buffer::operator=(app::Buffer const&)",
        "node::Buffer::New(v8::Isolate*, unsigned long)",
        "use(void* (*)(unsigned long), malloc)",
    };
    for (size_t i = 0; i < COUNT_OF(wrappers); i++) {
        if (!blame_is_wrapper(wrappers[i]) || !blame_is_library(wrappers[i], "", "/usr/bin/x"))
            printf("no wrapper: %s\n", wrappers[i]);
        assert(blame_is_wrapper(wrappers[i]) && blame_is_library(wrappers[i], "", "/usr/bin/x"));
        assert(!blame_is_allocator(wrappers[i]));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (blame_is_library(others[i], "", "/usr/bin/x"))
            printf("a library: %s\n", others[i]);
        assert(!blame_is_library(others[i], "", "/usr/bin/x"));
    }
}

/* A trait of the library for a type of the user's is the user's, and the reverse. */
static void names_of_rust(void)
{
    static const char *const theirs[] = {
        "<alloc::raw_vec::RawVec<u8>>::with_capacity_in",
        "<[alloc::string::String]>::to_vec::<alloc::alloc::Global>",
        "<u32 as core::fmt::Display>::fmt",
        "<T as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec",
        "<&dyn core::ops::function::Fn<(), Output = i32> as core::ops::function::FnOnce<()>>::call",
        "hashbrown::raw::RawTable<T,A>::reserve_rehash",
    };
    static const char *const users[] = {
        "<m::Item as core::clone::Clone>::clone",
        "<alloc::vec::Vec<u8> as wire::Encode>::encode",
        "<wire::Message>::parse",
        "<&m::Item as core::fmt::Display>::fmt",
        "m::build::{closure#0}",
    };
    for (size_t i = 0; i < COUNT_OF(theirs); i++)
        assert(blame_is_library(theirs[i], "", "/usr/bin/m"));
    for (size_t i = 0; i < COUNT_OF(users); i++)
        assert(!blame_is_library(users[i], "", "/usr/bin/m"));
    assert(blame_is_library("hashbrown::raw::alloc::inner::do_alloc",
                            "/rust/deps/hashbrown-0.16.1/src/raw/alloc.rs", ""));
    assert(!blame_is_library("<str>::go", "/src/main.rs", ""));
}

/* Code without a name belongs to the function of the same file that called it; if that is a
 * wrapper, it goes with it. */
static void nameless_code_belongs_to_its_caller(void)
{
    struct view_options options = plain();
    size_t row = profile.samples.count;
    uint32_t unknown = profile_address(&profile, 0x1201, 0), start = place("main", 1, 1);
    uint32_t wrapper = place("zmalloc", 0, 1), user = place("fill_table", 9, 1);
    uint32_t elsewhere = place("xmalloc", 0, 0), outside = place("use_table", 9, 0);
    sample((uint32_t[]){unknown, wrapper, user, start}, 4, 1, 30, 30, "main");
    sample((uint32_t[]){unknown, user, start}, 3, 1, 5, 5, "main");
    sample((uint32_t[]){unknown, elsewhere, user, start}, 4, 1, 7, 7, "main");
    sample((uint32_t[]){unknown, outside, start}, 3, 1, 11, 11, "main");
    sample((uint32_t[]){unknown, start}, 2, 1, 13, 13, "main");
    struct view view = view_of(&options);
    assert(row_of(&view, "fill_table").self.value == 30 + 5);
    assert(row_of(&view, "libz.so.1+0x300").self.value == 7 + 11 + 13);
    view_free(&view);
    options.frames = VIEW_LEAF;
    view = view_of(&options);
    assert(row_of(&view, "libz.so.1+0x300").self.value == 30 + 5 + 7 + 11 + 13);
    view_free(&view);
    profile.samples.count = row;
}

/* The name of a guess is only the nearest: nobody is let off because of it. */
static void a_guess_is_marked(void)
{
    struct view_options options = plain();
    uint32_t count;
    const uint32_t *frames = profile_frames_of(&profile, profile.samples.stacks[1], &count);
    struct profile_location *location =
        (struct profile_location *)profile.locations.items + frames[0];
    location->flags |= LOCATION_GUESS;
    struct view view = view_of(&options);
    assert(row_of(&view, "~malloc").self.value == 900);
    assert(view.frames[row_of(&view, "~malloc").frame].flags & FRAME_GUESS);
    view_free(&view);
    location->flags &= (uint8_t)~LOCATION_GUESS;
}

static void recursion_counts_once(void)
{
    struct view_options options = plain();
    options.by = VIEW_FUNCTION;
    struct view view = view_of(&options);
    assert(row_of(&view, "parse").total.value == 800 && row_of(&view, "parse").self.value == 700);
    assert(row_of(&view, "main").total.value == 1050 && row_of(&view, "main").self.value == 0);
    size_t count;
    struct view_edge *edges = view_edges(&view, NULL, &count);
    uint32_t parse = row_of(&view, "parse").frame;
    bool found = false;
    for (size_t i = 0; i < count; i++)
        if (edges[i].caller == parse && edges[i].callee == parse) {
            assert(edges[i].sum.value == 100);
            found = true;
        }
    assert(found);
    size_t all = count;
    free(edges);
    bool *wanted = calloc(view.frames_count, sizeof *wanted);
    wanted[row_of(&view, "load").frame] = true;
    edges = view_edges(&view, wanted, &count);
    assert(count > 0 && count < all);
    for (size_t i = 0; i < count; i++)
        assert(wanted[edges[i].callee] || wanted[edges[i].caller]);
    free(edges);
    free(wanted);
    view_free(&view);
}

/* What a filter leaves of the 1050. */
static void leaves(struct view_options options, int64_t value)
{
    struct view view = view_of(&options);
    if (view.total.value != value) {
        printf("%ld, not %ld\n", (long)view.total.value, (long)value);
        abort();
    }
    assert(view.whole.value == 1050);
    view_free(&view);
}

#define ONE(text) ((const char *const[]){text, NULL})

static void filters_drop_stacks(void)
{
    leaves((struct view_options){.type = 1, .focus = ONE("parse")}, 800);
    leaves((struct view_options){.type = 1, .focus = ONE("PARSE")}, 0); /* a capital counts */
    leaves((struct view_options){.type = 1, .focus = ONE("helper::RUN")}, 0);
    leaves((struct view_options){.type = 1, .focus = ONE("helper::run")}, 100);
    leaves((struct view_options){.type = 1, .focus = ONE("std::vector")}, 700);
    leaves((struct view_options){.type = 1, .focus = ONE("\\Socode\\.cc")}, 0);
    leaves((struct view_options){.type = 1, .focus = ONE("^/src/code")}, 1050);
    leaves((struct view_options){.type = 1, .focus = ONE("libz")}, 50);
    leaves((struct view_options){.type = 1, .module = "libz"}, 50);
    leaves((struct view_options){.type = 1, .ignore = ONE("parse")}, 250);
    leaves((struct view_options){.type = 1, .focus = (const char *[]){"parse", "helper", NULL}},
           100);
    leaves((struct view_options){.type = 1, .size_min = 11, .size_max = 1000}, 1000);
    leaves((struct view_options){.type = 1, .size_max = 10}, 50);
    leaves((struct view_options){.type = 1, .thread = "work"}, 800);
    leaves((struct view_options){.type = 1, .thread = "7"}, 0);
    leaves((struct view_options){.type = 1, .tag_focus = "thread=main"}, 250);
    leaves((struct view_options){.type = 1, .tag_focus = "thread:w"}, 800);
    leaves((struct view_options){.type = 1, .tag_focus = "bytes=10:50b"}, 50);
    leaves((struct view_options){.type = 1, .tag_ignore = ":64b"}, 1000);
    leaves((struct view_options){.type = 1, .from = "^nothing$"}, 0);
    leaves((struct view_options){.type = 1, .from = "^parse$"}, 800);
}

static void filters_drop_frames(void)
{
    struct view_options options = plain();
    options.hide = "helper";
    struct view view = view_of(&options);
    assert(row_of(&view, "Helper::run").total.value == 0);
    assert(row_of(&view, "parse").self.value == 800);
    view_free(&view);
    options = plain();
    options.show = "parse|load";
    view = view_of(&options);
    assert(row_of(&view, "main").total.value == 0 && row_of(&view, "load").self.value == 250);
    view_free(&view);
    options = plain();
    options.from = "^parse$"; /* the outermost, and what is above it goes */
    view = view_of(&options);
    assert(row_of(&view, "main").total.value == 0 && view.total.value == 800);
    view_free(&view);
    options = plain();
    options.prune = "load";
    view = view_of(&options);
    assert(row_of(&view, "load").self.value == 250 && view.total.value == 1050);
    view_free(&view);
    options = plain();
    options.no_inlines = true;
    options.frames = VIEW_ALL;
    view = view_of(&options);
    assert(row_of(&view, "void std::vector<int>::push_back(int const&)").total.value == 0);
    view_free(&view);
    const char *const inlined[] = {"push_back", NULL};
    options.focus = inlined; /* it is there, though not shown */
    view = view_of(&options);
    assert(view.total.value == 700);
    view_free(&view);
    options.focus = NULL;
}

static void a_wrong_pattern_is_named(void)
{
    struct view view;
    struct view_error error = {.text = ""};
    struct view_options options = plain();
    options.hide = "ab(c";
    assert(!view_make(&view, &profile, &options, &error));
    assert(strstr(error.text, "hide") && strstr(error.text, "ab(c") &&
           strstr(error.text, "position 5"));
    options.hide = "(a+)+(b+)+(a|b)*$\\1\\2"; /* costs much, but not forever */
    assert(view_make(&view, &profile, &options, &error));
    view_free(&view);
}

static void rows_by_other_things(void)
{
    struct view_options options = plain();
    options.by = VIEW_MODULE;
    struct view view = view_of(&options);
    assert(row_of(&view, "libz.so.1").self.value == 50);
    view_free(&view);
    options.by = VIEW_FILE;
    view = view_of(&options);
    assert(row_of(&view, "/src/code.cc").self.value == 1000);
    view_free(&view);
    options.by = VIEW_THREAD;
    view = view_of(&options);
    assert(row_of(&view, "worker").self.value == 800 && row_of(&view, "main").self.value == 250);
    assert(view.stacks_count == 2);
    view_free(&view);
    options.by = VIEW_SIZE;
    view = view_of(&options);
    assert(row_of(&view, "10").self.value == 50 && row_of(&view, "100").self.value == 1000);
    for (size_t i = 0; i < profile.samples.count; i++)
        assert(view.sample_stacks[i] < view.stacks_count);
    view_free(&view);
}

static void names_do_nothing_to_the_terminal(void)
{
    char text[] = "a\033[1m\xc2\x9b\xff\xe2\x80\xae\xc3\xa4\n\xe2\x80";
    style_clean(text);
    assert(strcmp(text, "a?[1m??\????\xc3\xa4???") == 0);
}

static void a_base_is_beside(void)
{
    struct profile first = profile;
    fill(); /* the same again, with strings of its own */
    profile.samples.values[1][1] = 500;
    struct view_options options = plain();
    options.base = &first;
    struct view view = view_of(&options);
    assert(view.total.value == 1350 && view.total.base == 1050);
    assert(row_of(&view, "load").self.value == 500 && row_of(&view, "load").self.base == 200);
    assert(row_of(&view, "libz.so.1+0x1f0").self.base == 50);
    size_t count;
    struct view_row *rows = view_rows(&view, false, &count);
    assert(strcmp(view.frames[rows[0].frame].name, "load") == 0); /* the largest change */
    free(rows);
    view_free(&view);
    options.rows_only = true; /* samples of both, whose numbers are the same */
    view = view_of(&options);
    assert(row_of(&view, "main").total.value == 1350 && row_of(&view, "main").total.base == 1050);
    assert(row_of(&view, "load").total.base == 250);
    view_free(&view);
    options.rows_only = false;
    options.base_factor = 0.5;
    view = view_of(&options);
    assert(view.total.base == 525);
    view_free(&view);
    profile_free(&profile);
    profile = first;
}

/* Lines are not told apart: two stacks of the profile become one, with the samples of both. */
static void equal_frames_are_one_stack(void)
{
    struct profile kept = profile;
    fill();
    uint32_t start = place("main", 1, 0), load[2] = {place("load", 7, 0), place("load", 8, 0)};
    for (unsigned i = 0; i < 4; i++)
        sample((uint32_t[]){load[i % 2], start}, 2, 1, 1 << i, 100, "main");
    assert(profile_want_history(&profile));
    for (size_t i = 0; i < profile.samples.count; i++)
        profile.samples.history[i][3] = (float)i;
    struct view_options options = plain();
    options.by = VIEW_FUNCTION;
    options.frames = VIEW_ALL;
    struct view view = view_of(&options);
    assert(view.stacks_count == 5 && view.sample_stacks[4] == 4 && view.sample_stacks[7] == 4);
    struct view_stack stack = view_stack(&view, 4), other = view_stack(&view, 0);
    assert(stack.count == 2 && stack.folded == 0 && other.count == 4);
    assert(strcmp(view.frames[stack.frames[0]].name, "load") == 0);
    assert(strcmp(view.frames[other.frames[0]].name, "malloc") == 0);
    assert(view_sum(&view, 4).value == 15 && view_sum(&view, 4).objects == 4);
    float history[PROFILE_MOMENTS_MAX];
    assert(view_history(&view, 4, NULL, history) && history[3] == 4 + 5 + 6 + 7 && history[2] == 0);
    view_free(&view);
    options.by = VIEW_SITE;
    options.base = &kept;
    view = view_of(&options);
    assert(view.stacks_count == 6 && view_sum(&view, 0).base == 700);
    assert(view_sum(&view, 4).value == 1 + 4 && view_sum(&view, 4).base == 0);
    view_free(&view);
    profile_free(&profile);
    profile = kept;
}

static void sampled_numbers_have_errors(void)
{
    struct view_options options = plain();
    assert(profile_want_weights(&profile));
    for (size_t i = 0; i < profile.samples.count; i++)
        profile.samples.weights[i] = 1;
    struct view view = view_of(&options);
    assert(view.total.variance == 0 && view_error_share(1050, view.total.variance) == 0);
    view_free(&view);
    profile.samples.weights[0] = 3.5F; /* two of the seven were seen */
    view = view_of(&options);
    double expected = 700.0 * 700 * (1 - 1 / 3.5) / 2, each = expected / 2;
    expected += 1.5 * each; /* few samples say less than a normal distribution would */
    assert(fabs(view.total.variance - expected) < 1);
    assert(fabs(view_error_share(1050, expected) - 1.96 * sqrt(expected) / 1050) < 1e-9);
    view_free(&view);
}

static void only_an_age(void)
{
    struct view_options options = plain();
    int objects = (int)profile_type(&profile, "alloc_objects", UNIT_COUNT);
    assert(profile_want_lives(&profile));
    profile.samples.weights[0] = 1;
    profile.samples.values[objects][0] = 10;
    profile.samples.lives[0][2] = 4;  /* 4 to 16 us */
    profile.samples.lives[0][15] = 1; /* minutes */
    options.type = (unsigned)objects;
    options.age_max_us = 1024;
    struct view view = view_of(&options);
    assert(view.total.value == 4);
    view_free(&view);
    options.age_min_us = 1000000;
    options.age_max_us = 0;
    view = view_of(&options);
    assert(view.total.value == 1);
    view_free(&view);
}

static void numbers_and_names_for_people(void)
{
    char text[64];
    assert(strcmp(style_value(text, 1406611948, UNIT_BYTES), "1.31 GiB") == 0);
    assert(strcmp(style_value(text, 94, UNIT_BYTES), "94 B") == 0);
    assert(strcmp(style_value(text, 1023.9 * 1024, UNIT_BYTES), "1.00 MiB") == 0);
    assert(strcmp(style_value(text, -2048, UNIT_BYTES), "-2.00 KiB") == 0);
    assert(strcmp(style_value(text, 412e6, UNIT_COUNT), "412 M") == 0);
    assert(strcmp(style_value(text, 3200, UNIT_MILLISECONDS), "3.20 s") == 0);
    assert(strcmp(style_share(text, 62, 100), "62 %") == 0);
    assert(strcmp(style_time(text, 62000000000), "1m02s") == 0);
    assert(strcmp(style_time(text, 273600000000000), "3d04h") == 0);
    assert(strcmp(style_name(text, sizeof text, "Parser::parse<int, char>(int)", 24),
                  "Parser::parse<...>(int)") == 0);
    assert(strcmp(style_name(text, sizeof text, "Parser::parse<int, char>(int, int)", 24),
                  "Parser::parse<...>(...)") == 0);
    assert(strcmp(style_name(text, sizeof text, "<m::Item as core::clone::Clone>::clone", 20),
                  "m::Item::clone") == 0);
    assert(strcmp(style_name(text, sizeof text, "node::(anonymous namespace)::Make(int)", 16),
                  "node::Make(int)") == 0);
    assert(strlen(style_name(text, sizeof text, "abcdefghijklmnop", 15)) == 15);
    assert(strcmp(style_name(text, sizeof text, "a\033[31mb", 20), "a?[31mb") == 0);
    assert(strstr(style_name(text, sizeof text, "namespace::deep::Name::method", 12), "method"));
    float values[] = {0, 1, 8, 4};
    struct style style = {.utf8 = false};
    assert(strcmp(style_trend(&style, text, sizeof text, values, 4), "__#~") == 0);
}

int main(void)
{
    fill();
    libraries_belong_to_their_caller();
    names_of_libraries();
    names_of_wrappers();
    names_of_rust();
    nameless_code_belongs_to_its_caller();
    a_guess_is_marked();
    recursion_counts_once();
    filters_drop_stacks();
    filters_drop_frames();
    a_wrong_pattern_is_named();
    rows_by_other_things();
    a_base_is_beside();
    equal_frames_are_one_stack();
    names_do_nothing_to_the_terminal();
    sampled_numbers_have_errors();
    only_an_age();
    numbers_and_names_for_people();
    profile_free(&profile);
    return 0;
}
