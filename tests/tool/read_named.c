/* SPDX-License-Identifier: MIT */
/*
 * Files of other tools that have names in them: small ones, whose every number is known. Each is
 * also read when it is cut off at any byte, and with bytes changed: it is refused or read, and does
 * no harm.
 */
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

#include "tests/tool/profiles.h"
#include "tests/unit/unit.h"

static void read_whole(struct profile *profile, const char *text, const char *format)
{
    assert(read_text(profile, text, strlen(text), NULL));
    assert(strcmp(profile->format, format) == 0);
}

static int64_t sum(const struct profile *profile, const char *type)
{
    int64_t total = 0;
    int number = profile_type_named(profile, type);
    assert(number >= 0);
    for (size_t i = 0; i < profile->samples.count; i++)
        total += profile->samples.values[number][i];
    return total;
}

/* "leaf main": the names of a stack; inlined functions are joined by +. */
static const char *names(const struct profile *profile, size_t sample)
{
    static char text[512];
    uint32_t count;
    const uint32_t *frames = profile_frames_of(profile, profile->samples.stacks[sample], &count);
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_location *location = profile_location_at(profile, frames[i]);
        const struct profile_line *lines = profile_lines_of(profile, frames[i]);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", i > 0 ? " " : "");
        if (location->lines == 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "?");
        for (uint32_t k = 0; k < location->lines; k++)
            used += (size_t)snprintf(
                text + used, sizeof text - used, "%s%s:%u", k > 0 ? "+" : "",
                profile_text(profile, profile_function_at(profile, lines[k].function)->name),
                lines[k].line);
    }
    return text;
}

static int64_t value(const struct profile *profile, const char *type, const char *stack)
{
    int number = profile_type_named(profile, type);
    int64_t total = 0;
    assert(number >= 0);
    for (size_t i = 0; i < profile->samples.count; i++)
        if (strcmp(names(profile, i), stack) == 0)
            total += profile->samples.values[number][i];
    return total;
}

static const char heaptrack[] =
    "v 10400 3\nX ./program one\nI 1000 5e27ec\ns 7 program\ns 4 main\ns 3 a.c\ns 1 f\ns 5 inner\n"
    "i 5590 1 2 3 7\nt 1 0\ni 5668 1 5 3 8 4 3 9\nt 2 1\na 64 2\na 10 1\n"
    "c 1\nR 10\n+ 0\n+ 0\n+ 1\nc 5\nR 20\n- 1\n- 0\n+ 1\n- 0\nc 9\n# strings: 5\n";

static void heaptrack_is_played_again(void)
{
    struct profile profile;
    read_whole(&profile, heaptrack, "heaptrack");
    assert(sum(&profile, "alloc_objects") == 4 && sum(&profile, "alloc_space") == 2 * 100 + 2 * 16);
    assert(sum(&profile, "inuse_objects") == 1 && sum(&profile, "inuse_space") == 16);
    assert(sum(&profile, "peak_objects") == 3 && sum(&profile, "peak_space") == 216);
    assert(sum(&profile, "temp_objects") == 1);
    assert(value(&profile, "alloc_space", "inner:8+f:9 main:7") == 200);
    assert(value(&profile, "temp_objects", "main:7") == 1);
    assert(profile.points.count == 3 && profile.peak_time_ns == 1000000);
    const struct profile_point *points = profile.points.items;
    assert(points[1].time_ns == 5000000 && points[1].live_bytes == 216 &&
           points[1].allocated_objects == 3 && points[1].resident_bytes == 0x20000);
    assert(strcmp(profile_text(&profile, profile.command), "./program one") == 0);
    assert(profile.history_moments == 3 && profile.moments.count == 3 && profile.samples.history);
    float middle = 0, end = 0;
    for (size_t i = 0; i < profile.samples.count; i++) {
        middle += profile.samples.history[i][1];
        end += profile.samples.history[i][2];
    }
    assert(middle == 216 && end == 16);
    profile_free(&profile);
}

/* What was live at another moment than the end. */
static void heaptrack_has_moments(void)
{
    static const struct {
        const char *at;
        int64_t bytes;
    } moments[] = {{"end", 16},  {"peak", 216}, {"0s", 0},   {"2ms", 0},
                   {"4ms", 216}, {"6ms", 216},  {"8ms", 16}, {"9ms", 16}}; /* the nearest */
    struct profile profile;
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        assert(read_text(&profile, heaptrack, sizeof heaptrack - 1, moments[i].at));
        assert(sum(&profile, "inuse_space") == moments[i].bytes);
        assert(sum(&profile, "peak_space") == 216 && sum(&profile, "alloc_objects") == 4);
        profile_free(&profile);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert(!read_text(&profile, heaptrack, sizeof heaptrack - 1, i == 0 ? "noon" : "10ms"));
        profile_free(&profile);
    }
}

/* More than fits is no heap at any moment, even if it is gone at the end. */
static void heaptrack_stays_within_bounds(void)
{
    enum { BLOCKS = 1 << 14 };
    char *text = NULL;
    size_t size;
    struct profile profile;
    FILE *file = open_memstream(&text, &size);
    assert(file != NULL);
    fputs("v 10400 3\nX x\ns 4 main\ni 1000 0 1 0 0\nt 1 0\na 1000000000000 1\nc 1\n", file);
    for (unsigned i = 0; i < 2 * BLOCKS; i++)
        fprintf(file, "%s%s 0\n", i == BLOCKS ? "c 5\n" : "", i < BLOCKS ? "+" : "-");
    fputs("c 9\n", file);
    assert(fclose(file) == 0 && !read_text(&profile, text, size, NULL));
    profile_free(&profile);
    free(text);
}

static const char heaptrack_raw[] =
    "v 10400 3\nx 6 /bin/a\nX ./a b\nI 1000 5e2994\nm 1 -\nm 1 x 5000 0 650 1000 275\n"
    "m 8 /lib/b c 9000 0 100 1000 200\nm 1 -\nm 1 x 5000 0 650 1000 275\nt 6010 0\nt a020 1\n"
    "+ 64 2 7f00\n+ 64 2 7f80\n+ 10 1 8000\nc 5\nR 20\n- 8000\n- 7f00\n- 7f00\n+ 10 1 8000\n"
    "- 7f80\n- 1234\nc 9\n";

/* The same run, before names were put in. */
static void heaptrack_needs_no_names(void)
{
    struct profile profile;
    read_whole(&profile, heaptrack_raw, "heaptrack");
    assert(sum(&profile, "alloc_objects") == 4 && sum(&profile, "alloc_space") == 2 * 100 + 2 * 16);
    assert(sum(&profile, "inuse_objects") == 1 && sum(&profile, "inuse_space") == 16);
    assert(sum(&profile, "peak_objects") == 3 && sum(&profile, "peak_space") == 216);
    assert(sum(&profile, "temp_objects") == 1 && profile.points.count == 2);
    assert(profile.mappings.count == 3); /* none twice */
    const struct profile_mapping *program = profile_mapping_at(&profile, 1);
    assert(strcmp(profile_text(&profile, program->path), "/bin/a") == 0);
    assert(program->start == 0x5000 && program->limit == 0x6275 && program->offset == 0);
    assert(strcmp(profile_text(&profile, profile_mapping_at(&profile, 2)->path), "/lib/b c") == 0);
    uint32_t count;
    const uint32_t *frames = profile_frames_of(&profile, profile.samples.stacks[0], &count);
    assert(count == 2 && profile_location_at(&profile, frames[0])->address == 0xa020);
    assert(profile_location_at(&profile, frames[0])->mapping == 2);
    assert(profile_location_at(&profile, frames[1])->mapping == 1);
    profile_free(&profile);
    assert(read_text(&profile, heaptrack_raw, sizeof heaptrack_raw - 1, "peak"));
    assert(sum(&profile, "inuse_space") == 216);
    profile_free(&profile);
}

static const char massif[] =
    "desc: (none)\ncmd: ./program\ntime_unit: ms\n#-----------\nsnapshot=0\n#-----------\ntime=0\n"
    "mem_heap_B=0\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n#-----------\nsnapshot=1\n"
    "#-----------\ntime=10\nmem_heap_B=100\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=peak\n"
    "n2: 100 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
    " n2: 90 0x109668: leaf(unsigned long) (a.cc:8)\n"
    "  n0: 70 0x1091AE: main (a.cc:13)\n"
    "  n1: 20 0x1091BE: inner (a.cc:14)\n"
    "   n0: 20 0x1091BE: main (a.cc:15)\n"
    " n0: 10 in 2 places, all below massif's threshold (1.00%)\n"
    "#-----------\nsnapshot=2\n#-----------\ntime=20\nmem_heap_B=50\nmem_heap_extra_B=8\n"
    "mem_stacks_B=0\nheap_tree=detailed\nn1: 50 (heap allocation functions) malloc/new, etc.\n"
    " n0: 50 0x109668: leaf(unsigned long) (a.cc:8)\n";

static void massif_has_trees(void)
{
    struct profile profile;
    read_whole(&profile, massif, "massif");
    assert(sum(&profile, "peak_space") == 100 && sum(&profile, "inuse_space") == 50);
    assert(value(&profile, "peak_space", "leaf(unsigned long):8 main:13") == 70);
    assert(value(&profile, "peak_space", "leaf(unsigned long):8 inner:14+main:15") == 20);
    assert(value(&profile, "peak_space", "[below massif's threshold]:0") == 10);
    assert(value(&profile, "inuse_space", "leaf(unsigned long):8") == 50);
    assert(profile.points.count == 3 && profile.history_moments == 2);
    assert(profile.peak_time_ns == 10000000 && profile.duration_ns == 20000000);
    profile_free(&profile);
    assert(read_text(&profile, massif, sizeof massif - 1, "1"));
    assert(sum(&profile, "inuse_space") == 100);
    profile_free(&profile);
    assert(!read_text(&profile, massif, sizeof massif - 1, "0"));
    profile_free(&profile);
}

static const char dhat[] =
    "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"bklt\":true,\"cmd\":\"./program a\",\"pid\":7,"
    "\"pps\":"
    "[{\"tb\":100,\"tbk\":2,\"tl\":30,\"gb\":50,\"gbk\":1,\"eb\":10,\"ebk\":1,\"fs\":[1,2,3]},\n"
    "{\"tb\":1e1,\"tbk\":1,\"tl\":1,\"gb\":10,\"gbk\":1,\"eb\":0,\"ebk\":0,\"fs\":[3]}],\"ftbl\":"
    "[\"[root]\",\"0x4841: malloc (in /usr/lib/x.so)\",\"0x1091: f\\u00e9 (a.c:3)\","
    "\"0x1092: ??? (in /bin/\\\"x\\\")\"]}";

static void dhat_has_totals(void)
{
    struct profile profile;
    read_whole(&profile, dhat, "DHAT");
    assert(sum(&profile, "alloc_space") == 110 && sum(&profile, "alloc_objects") == 3);
    assert(sum(&profile, "peak_space") == 60 && sum(&profile, "inuse_objects") == 1);
    assert(value(&profile, "alloc_space", "malloc:0 f\xc3\xa9:3 ?") == 100);
    assert(strcmp(profile_text(&profile, profile_mapping_at(&profile, 2)->path), "/bin/\"x\"") ==
           0);
    assert(profile.pid == 7 && strcmp(profile_text(&profile, profile.program), "./program") == 0);
    profile_free(&profile);
}

static const char speedscope[] =
    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":["
    "{\"name\":\"main\",\"file\":\"a.c\",\"line\":3},{\"name\":\"f\"},"
    "{\"name\":\"\\ud83d\\ude00\"}]},"
    "\"profiles\":[{\"type\":\"sampled\",\"name\":\"one\",\"unit\":\"milliseconds\",\"samples\":"
    "[[0,1],[0],[0,1]],\"weights\":[1.5,2,0.25]},{\"type\":\"evented\",\"name\":\"two\",\"unit\":"
    "\"microseconds\",\"events\":[{\"type\":\"O\",\"frame\":0,\"at\":0},"
    "{\"type\":\"O\",\"frame\":2,"
    "\"at\":1},{\"type\":\"C\",\"frame\":2,\"at\":3},{\"type\":\"C\",\"frame\":0,\"at\":4}]}]}";

static void speedscope_has_several(void)
{
    struct profile profile;
    read_whole(&profile, speedscope, "speedscope");
    assert(sum(&profile, "cpu") == 3750000 + 4000 && sum(&profile, "samples") == 3);
    assert(value(&profile, "cpu", "f:0 main:3") == 1750000);
    assert(value(&profile, "cpu", "\xf0\x9f\x98\x80:0 main:3") == 2000);
    assert(value(&profile, "cpu", "main:3") == 2000000 + 2000);
    profile_free(&profile);
}

static const char perf_script[] =
    "# captured on: today\n"
    "a program 27594/27595 [001] 35089.022721:     250000 cpu-clock:pppH: \n"
    "\t           14f38 inner+0x10 (inlined)\n"
    "\t           14f38 leaf(int, char (*)())+0x158 (/usr/lib/x.so (deleted))\n"
    "  a.c:12\n"
    "\t       300000000 [unknown] ([unknown])\n\n"
    "a program 27594/27595 35089.522721:     250000 cpu-clock:pppH: \n"
    "\t           14f38 inner+0x10 (inlined)\n"
    "\t           14f38 leaf(int, char (*)())+0x158 (/usr/lib/x.so (deleted))\n"
    "  a.c:12\n"
    "\t       300000000 [unknown] ([unknown])\n\n"
    "   b 7 35090.000001:          7 sched:sched_switch:  ffffffff8162edf3 alloc+0xc3 "
    "([kernel.kallsyms])\n";

static void perf_script_has_events(void)
{
    struct profile profile;
    read_whole(&profile, perf_script, "perf script");
    assert(profile.samples.count == 2 && sum(&profile, "samples") == 3);
    assert(sum(&profile, "cpu") == 500000 && sum(&profile, "sched:sched_switch") == 7);
    assert(value(&profile, "samples", "inner:0+leaf(int, char (*)()):12 ?") == 2);
    assert(value(&profile, "samples", "alloc:0") == 1);
    uint32_t labels = profile.samples.label_sets[0];
    assert(strcmp(profile_text(&profile, profile_label_of(&profile, labels, "thread")->text),
                  "a program") == 0);
    assert(profile_label_of(&profile, labels, "tid")->number == 27595);
    assert(profile.duration_ns == 977280000 && profile.threads.count == 2);
    profile_free(&profile);
}

/* main calls f, twice as costly as g does; g is called by main alone. */
static const char callgrind[] =
    "# callgrind format\nversion: 1\npid: 7\ncmd: ./program\npositions: line\nevents: Ir Dr\n\n"
    "fl=(1) a.c\nfn=(1) main\n3 10 1\n+1 20\ncfi=(2) b.c\ncfn=(2) f\ncalls=2 9\n+1 40 4\n"
    "cfn=(3) g\ncalls=1 20\n* 25\n\nfn=(3)\n20 5\ncfi=(2)\ncfn=(2)\ncalls=1 9\n21 20 2\n\n"
    "fl=(2)\nfn=(2)\n9 60 6\n";

static void callgrind_costs_are_shared_by_callers(void)
{
    struct profile profile;
    read_whole(&profile, callgrind, "callgrind");
    assert(sum(&profile, "Ir") == 95 && sum(&profile, "Dr") == 7);
    assert(value(&profile, "Ir", "main:3") == 10 && value(&profile, "Ir", "main:4") == 20);
    assert(value(&profile, "Ir", "f:9 main:5") == 40);
    assert(value(&profile, "Ir", "f:9 g:21 main:5") == 20);
    assert(value(&profile, "Ir", "g:20 main:5") == 5);
    assert(value(&profile, "Dr", "f:9 main:5") == 4);
    assert(profile.warnings.count == 1);
    profile_free(&profile);
}

/* Mappings come in any order, one at a time or many; addresses are asked for in between. */
static void addresses_are_in_their_mappings(void)
{
    enum { COUNT = 1000, STEP = 37, SIZE = 0x1000 };
    struct profile profile;
    for (unsigned at_once = 1; at_once <= 100; at_once += 33) {
        profile_start(&profile);
        for (unsigned i = 0; i < COUNT; i++) {
            uint64_t place = (uint64_t)(i * STEP % COUNT + 1) * 2 * SIZE;
            struct profile_mapping mapping = {.start = place, .limit = place + SIZE};
            uint32_t number = profile_mapping(&profile, &mapping);
            if (i % at_once != 0)
                continue;
            assert(profile_find_mapping(&profile, place) == number);
            assert(profile_find_mapping(&profile, place + SIZE - 1) == number);
            assert(profile_find_mapping(&profile, place + SIZE) == 0);
            assert(profile_find_mapping(&profile, 2 * SIZE) == 1); /* the first */
        }
        profile_free(&profile);
    }
}

/* What has the same name in two files is in both. */
static void callgrind_tells_files_apart(void)
{
    struct profile profile;
    read_whole(&profile,
               "version: 1\npositions: line\nevents: Ir\n\nob=liba.so\nfl=x.c\nfn=init\n10 5\n"
               "ob=libb.so\nfl=x.c\nfn=init\n10 7\n",
               "callgrind");
    assert(profile.samples.count == 2 && profile.mappings.count == 3);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t count, frame = *profile_frames_of(&profile, profile.samples.stacks[i], &count);
        assert(count == 1 && profile_location_at(&profile, frame)->mapping == i + 1);
        assert(profile.samples.values[0][i] == (i == 0 ? 5 : 7));
    }
    profile_free(&profile);
}

/* A goroutine may have more labels than most have; beyond all bounds, some are left. */
static void goroutines_keep_their_labels(void)
{
    static const unsigned counts[] = {1, 20, PROFILE_LABELS_MAX, PROFILE_LABELS_MAX + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char text[4096];
        struct profile profile;
        size_t used = (size_t)snprintf(text, sizeof text,
                                       "goroutine profile: total 3\n3 @ 0x1000\n# labels: {");
        for (unsigned k = 0; k < counts[i]; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s\"key%u\":\"value\"",
                                     k > 0 ? ", " : "", k);
        snprintf(text + used, sizeof text - used, "}\n\n");
        read_whole(&profile, text, "Go's counted stacks");
        uint32_t set = profile.samples.label_sets[0];
        unsigned kept = ((const struct profile_label_set *)profile.label_sets.items)[set].count;
        assert(kept == (counts[i] < PROFILE_LABELS_MAX ? counts[i] : PROFILE_LABELS_MAX));
        assert(profile_label_of(&profile, set, "key0") != NULL);
        profile_free(&profile);
    }
}

/* Whether it is read or refused, somebody looks at all of it. */
static void damage(const char *text, size_t size)
{
    uint64_t random = 2026;
    struct profile profile;
    char *copy = malloc(size);
    assert(copy != NULL);
    for (size_t cut = 0; cut < size; cut++) {
        if (read_text(&profile, text, cut, NULL))
            for (size_t i = 0; i < profile.samples.count; i++)
                assert(names(&profile, i) != NULL);
        profile_free(&profile);
    }
    for (unsigned round = 0; round < unit_times(4000); round++) {
        memcpy(copy, text, size);
        for (unsigned i = 0; i < 1 + round % 4; i++)
            copy[unit_random(&random) % size] = (char)unit_random(&random);
        if (read_text(&profile, copy, size, NULL))
            for (size_t i = 0; i < profile.samples.count; i++)
                assert(names(&profile, i) != NULL);
        profile_free(&profile);
    }
    free(copy);
}

int main(void)
{
    heaptrack_is_played_again();
    heaptrack_has_moments();
    heaptrack_stays_within_bounds();
    heaptrack_needs_no_names();
    massif_has_trees();
    dhat_has_totals();
    speedscope_has_several();
    perf_script_has_events();
    callgrind_costs_are_shared_by_callers();
    addresses_are_in_their_mappings();
    callgrind_tells_files_apart();
    goroutines_keep_their_labels();
    damage(heaptrack, sizeof heaptrack - 1);
    damage(heaptrack_raw, sizeof heaptrack_raw - 1);
    damage(massif, sizeof massif - 1);
    damage(dhat, sizeof dhat - 1);
    damage(speedscope, sizeof speedscope - 1);
    damage(perf_script, sizeof perf_script - 1);
    damage(callgrind, sizeof callgrind - 1);
    return 0;
}
