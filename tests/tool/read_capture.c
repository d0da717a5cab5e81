/* SPDX-License-Identifier: MIT */
/*
 * Captures made here byte by byte become profiles: values are what was seen times its weight, rows
 * of all snapshots find each other, an address means what was mapped when its node was written, a
 * file that is cut anywhere is read up to its last whole snapshot. And one of a real program has
 * what that program knows that it did.
 */
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/file/crc.h"
#include "base/file/proto.h"
#include "tests/tool/profiles.h"
#include "tests/unit/unit.h"

enum { FILE_MAX = 1 << 16, SNAPSHOTS = 40 };

static uint8_t file[FILE_MAX + 1];
static size_t used, record;

static void put(uint64_t value)
{
    used += varint_write(file + used, value);
}

static void put_text(const char *text, size_t length)
{
    put(length);
    memcpy(file + used, text, length);
    used += length;
}

static void begin(unsigned type)
{
    record = used;
    format_put(file + used, type, 4);
    used += FORMAT_RECORD_HEAD;
}

static void end(void)
{
    size_t length = used - record - FORMAT_RECORD_HEAD;
    format_put(file + record + 4, length, 4);
    uint32_t crc =
        crc_add(crc_add(0, file + record, 8), file + record + FORMAT_RECORD_HEAD, length);
    format_put(file + record + 8, crc, 4);
}

static void put_head(void)
{
    static const char command[] = "prog\0a b\0it's\0";
    memset(file, 0, sizeof file);
    memcpy(file, FORMAT_MAGIC, sizeof FORMAT_MAGIC);
    format_put(file + 8, FORMAT_VERSION, 2);
    used = FORMAT_HEAD_SIZE;
    begin(RECORD_PROCESS);
    put(4242);
    put(4096);
    put(format_fold(65536));
    put(5000);
    put(UINT64_C(1700000000000000000));
    put_text("host", 4);
    put_text("1.0", 3);
    put_text("/bin/prog", 9);
    put_text(command, sizeof command - 1);
    end();
}

/* A list of one mapping of code at 0x10000, and one of data. */
static void put_maps(const char *path, const char *id)
{
    begin(RECORD_MAPS);
    put(MAPS_FIRST);
    for (unsigned i = 0; i < 2; i++) {
        put(i == 0 ? 0x10000 : 0x30000);
        put(0x10000);
        put(i == 0 ? MAP_READABLE | MAP_EXECUTABLE : MAP_READABLE);
        put(0x1000);
        put(0);
        put(7);
        put_text(path, strlen(path));
        put_text(id, strlen(id));
    }
    end();
}

static void put_nodes(unsigned first, const uint64_t pcs[2])
{
    begin(RECORD_NODES);
    put(first);
    put(first); /* called by nobody */
    put(format_fold((int64_t)pcs[0]));
    put(1); /* called by the one before */
    put(format_fold((int64_t)(pcs[1] - pcs[0])));
    end();
}

static void put_snapshot(unsigned number, uint64_t time_ms, const char *reason)
{
    begin(RECORD_SNAPSHOT);
    put(number);
    put(time_ms);
    put(0);
    put(format_fold(65536));
    put_text(reason, strlen(reason));
    end();
}

static void put_thread(unsigned number, unsigned id, const char *name)
{
    begin(RECORD_THREADS);
    put(number);
    put(id);
    put(4200 + id);
    put(THREAD_ALIVE);
    put(5000);
    put_text(name, strlen(name));
    end();
}

/* Five were allocated and `live` are; four are at the peak. Each is 100 bytes in 112. */
static void put_row(uint64_t stack_change, unsigned thread, double weight, uint64_t live)
{
    uint64_t bits;
    put(stack_change << 1);
    put(thread + 1);
    put(112);
    put(65536);
    put(ROW_LIVE | ROW_PEAK | ROW_LIVES | ROW_WEIGHT);
    memcpy(&bits, &weight, sizeof bits);
    format_put(file + used, bits, 8);
    used += 8;
    const uint64_t objects[] = {5, live, 4};
    for (unsigned i = 0; i < 3; i++) {
        put(objects[i]);
        put(objects[i] * 100);
        put(objects[i] * 112);
    }
    put(1 << 3);
    put(5 - live);
}

static void put_whole(unsigned rows, uint64_t live)
{
    begin(RECORD_TOTALS);
    for (unsigned i = 0; i < 9; i++)
        put(i == 2 ? live : 1);
    put(5250);
    put(1);
    put(1);
    put(3);
    put(2);
    end();
    begin(RECORD_ALLOCATOR);
    for (unsigned i = 0; i < 14; i++)
        put(1000 + i);
    end();
    begin(RECORD_WHOLE);
    put(rows);
    end();
}

static bool read_at(struct profile *profile, size_t size, const char *at)
{
    return read_text(profile, (const char *)file, size, at);
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

static const char *path_of_leaf(const struct profile *profile, size_t sample)
{
    uint32_t count;
    const uint32_t *frames = profile_frames_of(profile, profile->samples.stacks[sample], &count);
    assert(count == 2);
    const struct profile_location *leaf = profile_location_at(profile, frames[0]);
    return profile_text(profile, profile_mapping_at(profile, leaf->mapping)->path);
}

/* Two snapshots; in between a library goes, and another takes its place. */
static size_t make_two(void)
{
    static const uint64_t pcs[2] = {0x10100, 0x10200};
    put_head();
    put_snapshot(0, 6000, "first");
    put_maps("/lib/one.so", "\x12\xab");
    put_thread(0, 1, "main");
    put_nodes(2, pcs);
    begin(RECORD_ROWS);
    put_row(3, 0, 2.5, 2);
    end();
    put_whole(1, 560);
    size_t first = used;
    begin(RECORD_MARK);
    put(6500);
    put_text("half", 4);
    end();
    put_snapshot(1, 7000, "Exiting, 1 kB in use");
    put_maps("/lib/two.so (deleted)", "");
    put_thread(0, 1, "main");
    put_thread(1, 2, "");
    put_nodes(4, pcs);
    begin(RECORD_SERIES);
    const uint64_t point[] = {6400, 700, 800, 9, 123456};
    for (unsigned i = 0; i < 5; i++)
        put(format_fold((int64_t)point[i]));
    end();
    begin(RECORD_ROWS);
    put_row(3, 0, 2.5, 4);
    put_row(2, 1, 1, 3);
    end();
    put_whole(2, 1456);
    begin(RECORD_END);
    put(7100);
    end();
    return first;
}

static void values_are_what_was_seen_times_its_weight(void)
{
    struct profile profile;
    make_two();
    assert(read_at(&profile, used, NULL));
    assert(!profile.torn && profile.ended && profile.warnings.count == 0);
    assert(strcmp(profile.format, "memoir capture") == 0 && profile.kind == PROFILE_HEAP);
    assert(profile.samples.count == 2 && profile.types == 9);
    assert(strcmp(profile_text(&profile, profile.type[profile.default_type].name), "inuse_space") ==
           0);
    assert(sum(&profile, "alloc_objects") == 13 + 5); /* 12.5 is rounded */
    assert(sum(&profile, "alloc_space") == 1400 + 560);
    assert(sum(&profile, "inuse_objects") == 10 + 3 && sum(&profile, "inuse_space") == 1120 + 336);
    assert(sum(&profile, "peak_objects") == 10 + 4 && sum(&profile, "peak_space") == 1120 + 448);
    assert(sum(&profile, "alloc_requested") == 1250 + 500);
    assert(sum(&profile, "inuse_requested") == 1000 + 300);
    assert(sum(&profile, "peak_requested") == 1000 + 400);
    assert(profile.samples.weights[0] == 2.5F && profile.samples.weights[1] == 1);
    assert(profile.samples.lives[0][3] == 1 && profile.samples.lives[1][3] == 2);
    assert(strcmp(path_of_leaf(&profile, 0), "/lib/one.so") == 0);
    assert(strcmp(path_of_leaf(&profile, 1), "/lib/two.so") == 0);
    assert(strcmp(profile_text(&profile, profile_mapping_at(&profile, 1)->build_id), "12ab") == 0);
    uint32_t labels = profile.samples.label_sets[1];
    assert(strcmp(profile_text(&profile, profile_label_of(&profile, labels, "thread")->text),
                  "t2") == 0);
    assert(profile_label_of(&profile, labels, "tid")->number == 4202);
    assert(profile_label_of(&profile, labels, LABEL_BLOCK_BYTES)->number == 112);
    profile_free(&profile);
}

static void the_whole_is_described(void)
{
    struct profile profile;
    make_two();
    assert(read_at(&profile, used, NULL));
    assert(strcmp(profile_text(&profile, profile.command), "prog 'a b' 'it'\\''s'") == 0);
    assert(strcmp(profile_text(&profile, profile.program), "/bin/prog") == 0);
    assert(strcmp(profile_text(&profile, profile.host), "host") == 0);
    assert(profile.pid == 4242 && profile.time_ns == 1700000000000000000);
    assert(profile.duration_ns == 2000000000 && profile.peak_time_ns == 250000000);
    assert(profile.period == 65536 && profile.lost == 3 && profile.refused == 2);
    assert(profile.exact_allocs == 1000 && profile.exact_frees == 1001 &&
           profile.exact_alloc_bytes == 1002 && profile.resident_bytes == 123456);
    assert(profile.threads.count == 2 && profile.points.count == 3 && profile.moments.count == 3);
    const struct profile_point *points = profile.points.items; /* the peak is one of them */
    assert(points[0].time_ns == 250000000 && points[0].live_bytes == 1120 + 448);
    assert(points[1].live_bytes < points[0].live_bytes && points[2].time_ns > points[1].time_ns);
    const struct profile_moment *moments = profile.moments.items;
    assert(strcmp(profile_text(&profile, moments[1].name), "half") == 0);
    assert(moments[1].time_ns == 1500000000 && moments[1].live_bytes == 700 && !moments[1].rows);
    assert(moments[0].rows && moments[0].live_bytes == 560 && moments[2].live_bytes == 1456);
    assert(profile.history_moments == 2);
    assert(profile.samples.history[0][0] == 560 && profile.samples.history[0][1] == 1120);
    assert(profile.samples.history[1][0] == 0 && profile.samples.history[1][1] == 336);
    profile_free(&profile);
}

static void put_class(uint64_t size, const uint64_t blocks[3], const uint64_t bytes[3])
{
    put(size);
    for (unsigned i = 0; i < 3; i++) {
        put(blocks[i]);
        put(bytes[i]);
    }
}

/* One row of 5 blocks of 112 bytes, each for 2.5, and counters that know better. Blocks of 48 bytes
 * and large ones were never sampled. */
static void make_counted(bool covered)
{
    static const uint64_t pcs[2] = {0x10100, 0x10200};
    static const uint64_t known[3] = {20, 3, 11}, bytes[3] = {20 * 112, 3 * 112, 11 * 112};
    static const uint64_t small[3] = {7, 0, 7}, small_bytes[3] = {336, 0, 336};
    static const uint64_t large[3] = {2, 1, 1}, large_bytes[3] = {90112, 40960, 40960};
    put_head();
    begin(RECORD_MARK);
    put(5500);
    put_text("half", 4);
    put(4);
    put(1234);
    put(5);
    put(2345);
    end();
    put_snapshot(0, 6000, "first");
    begin(RECORD_CLASSES);
    put_class(112, known, bytes);
    put_class(48, small, small_bytes);
    put_class(0, large, large_bytes);
    end();
    put_maps("/lib/one.so", "");
    put_thread(0, 1, "main");
    put_nodes(2, pcs);
    begin(RECORD_ROWS);
    put_row(3, 0, 2.5, 2);
    end();
    begin(RECORD_TOTALS);
    for (unsigned i = 0; i < 13; i++)
        put(1);
    put(2);
    put(covered ? TOTALS_COVERED : 0);
    put(covered ? 0 : 5800);
    end();
    begin(RECORD_WHOLE);
    put(1);
    end();
    begin(RECORD_END);
    put(7100);
    end();
}

static void totals_are_the_counters(void)
{
    struct profile profile;
    for (unsigned covered = 0; covered < 2; covered++) {
        make_counted(covered == 1);
        assert(read_at(&profile, used, NULL) && profile.counted &&
               profile.samples.count == 4 - covered);
        assert(sum(&profile, "alloc_objects") == 29 && sum(&profile, "alloc_space") == 92688);
        assert(sum(&profile, "inuse_objects") == 4 && sum(&profile, "inuse_space") == 41296);
        assert(sum(&profile, "peak_objects") == 19 && sum(&profile, "peak_space") == 42528);
        int allocated = profile_type_named(&profile, "alloc_objects");
        assert(profile.samples.values[allocated][0] == (covered ? 20 : 11)); /* 8 freed, 3 live */
        const struct profile_moment *moments = profile.moments.items;
        assert(moments[0].live_bytes == 1234 && moments[1].live_bytes == 41296);
        assert(profile.off_time_ns == (covered ? 0 : 800000000));
        for (size_t i = 1; i < profile.samples.count; i++) {
            uint32_t count;
            const uint32_t *frames = profile_frames_of(&profile, profile.samples.stacks[i], &count);
            const struct profile_line *line = profile_lines_of(&profile, frames[0]);
            assert(
                count == 1 &&
                strcmp(profile_text(&profile, profile_function_at(&profile, line->function)->name),
                       "[not sampled]") == 0);
            assert(profile.samples.weights[i] == 1);
        }
        profile_free(&profile);
        assert(read_at(&profile, used, "peak") && sum(&profile, "inuse_space") == 42528);
        profile_free(&profile);
    }
}

/* Two rows of one stack whose weights differ are not thrown together. */
static void each_row_keeps_its_weight(void)
{
    static const uint64_t pcs[2] = {0x10100, 0x10200};
    static const double weights[2] = {1, 4};
    struct profile profile;
    put_head();
    put_snapshot(0, 6000, "first");
    put_maps("/lib/one.so", "");
    put_thread(0, 1, "main");
    put_nodes(2, pcs);
    begin(RECORD_ROWS);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t bits;
        put(i == 0 ? 3 << 1 : 0);
        put(1);
        put(0);
        put(65536);
        put(ROW_WEIGHT);
        memcpy(&bits, &weights[i], sizeof bits);
        format_put(file + used, bits, 8);
        used += 8;
        put(1);
        put(i == 0 ? 4000000 : 50000);
        put(i == 0 ? 4000000 : 53248);
    }
    end();
    put_whole(2, 0);
    assert(read_at(&profile, used, NULL) && profile.samples.count == 2);
    assert(sum(&profile, "alloc_space") == 4000000 + 4 * 53248);
    assert(sum(&profile, "alloc_objects") == 5);
    profile_free(&profile);
}

static void any_snapshot_can_be_asked_for(void)
{
    static const struct {
        const char *at;
        int64_t inuse; /* -1: refused */
    } cases[] = {
        {"end", 1456},    {"0", 560},
        {"1", 1456},      {"2", -1},
        {"1s", 560},      {"900ms", 560},
        {"1.6s", 1456},   {"5h", -1},
        {"0m1s", 560},    {"peak", 1568},
        {"tomorrow", -1}, {"3x", -1},
        {"1s2", -1},      {"99999999999999999999999", -1},
    };
    struct profile profile;
    make_two();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool done = read_at(&profile, used, cases[i].at);
        assert(done == (cases[i].inuse >= 0));
        assert(!done || sum(&profile, "inuse_space") == cases[i].inuse);
        assert(!done ||
               profile.ended == (strcmp(cases[i].at, "peak") != 0 && cases[i].inuse == 1456));
        profile_free(&profile);
    }
}

static void a_cut_file_is_read_up_to_its_last_whole_snapshot(void)
{
    struct profile profile;
    size_t first = make_two(), accepted = 0;
    for (size_t size = 0; size < used; size++) {
        bool done = read_at(&profile, size, NULL);
        assert(done == (size >= first));
        assert(!done || (profile.torn && !profile.ended && profile.warnings.count > 0));
        if (done && sum(&profile, "inuse_space") == 1456)
            accepted++;
        else
            assert(!done || sum(&profile, "inuse_space") == 560);
        profile_free(&profile);
    }
    assert(accepted > 0);
}

/* The first and the last are among them, and the columns are in the order of time. */
static void a_long_history_is_spread_over_the_run(void)
{
    static const uint64_t pcs[2] = {0x10100, 0x10200};
    struct profile profile;
    put_head();
    for (unsigned i = 0; i < SNAPSHOTS; i++) {
        put_snapshot(i, 6000 + i * 1000, "");
        if (i == 0)
            put_nodes(2, pcs);
        begin(RECORD_ROWS);
        put_row(3, 0, 1, i);
        end();
        put_whole(1, 112 * i);
    }
    assert(read_at(&profile, used, NULL));
    assert(profile.torn && profile.samples.count == 1);
    assert(profile.history_moments == PROFILE_MOMENTS_MAX && profile.moments.count == SNAPSHOTS);
    const struct profile_moment *moments = profile.moments.items;
    const float *history = profile.samples.history[0];
    unsigned column = 0;
    for (unsigned i = 0; i < SNAPSHOTS; i++)
        if (moments[i].rows)
            assert(history[column++] == (float)(112 * i));
    assert(column == PROFILE_MOMENTS_MAX && moments[0].rows && moments[SNAPSHOTS - 1].rows);
    profile_free(&profile);
}

/* ---- a real one ---- */

enum { BLOCKS = 1000, BLOCK = 1000, LARGE = 5000000 };

static void *volatile keeper;

static void *work(void *nothing)
{
    prctl(PR_SET_NAME, "worker");
    for (unsigned i = 0; i < BLOCKS; i++) {
        keeper = malloc(BLOCK);
        if (i % 2 == 0)
            free(keeper);
    }
    return nothing;
}

static int known_program(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    keeper = malloc(LARGE);
    memset(keeper, 1, LARGE);
    free(keeper);
    return 0;
}

/* Sums over the samples of a thread. */
static int64_t sum_of(const struct profile *profile, const char *thread, const char *type)
{
    int64_t total = 0;
    int number = profile_type_named(profile, type);
    for (size_t i = 0; i < profile->samples.count; i++) {
        const struct profile_label *label =
            profile_label_of(profile, profile->samples.label_sets[i], "thread");
        if (label && strcmp(profile_text(profile, label->text), thread) == 0)
            total += profile->samples.values[number][i];
    }
    return total;
}

static void a_real_program_did_what_it_says(const char *tool, const char *self)
{
    char command[4096], path[64];
    struct profile profile;
    struct read_error error;
    snprintf(path, sizeof path, "real.memoir");
    snprintf(command, sizeof command, "'%s' run --exact --output %s -- '%s' known 2>/dev/null",
             tool, path, self);
    assert(system(command) == 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat stat;
    assert(fd >= 0 && fstat(fd, &stat) == 0);
    char *bytes = calloc(1, (size_t)stat.st_size + 1);
    assert(bytes && read(fd, bytes, (size_t)stat.st_size) == stat.st_size);
    close(fd);
    struct read_input input = {.name = path, .bytes = bytes, .size = (size_t)stat.st_size};
    profile_start(&profile);
    assert(profile_read(&profile, &input, &error));
    assert(profile.ended && !profile.torn && profile.period == 0);
    assert(sum_of(&profile, "worker", "alloc_objects") == BLOCKS);
    assert(sum_of(&profile, "worker", "alloc_requested") == BLOCKS * BLOCK);
    assert(sum_of(&profile, "worker", "inuse_objects") == BLOCKS / 2);
    assert(sum_of(&profile, "worker", "inuse_requested") == BLOCKS / 2 * BLOCK);
    assert(sum(&profile, "alloc_objects") == profile.exact_allocs);
    assert(sum(&profile, "alloc_space") == profile.exact_alloc_bytes);
    int64_t peak = sum(&profile, "peak_space"), min = LARGE + BLOCKS / 2 * BLOCK;
    assert(peak >= min && peak < min + 500000);
    assert(sum(&profile, "inuse_space") < LARGE);
    const char *first = profile_text(&profile, profile_mapping_at(&profile, 1)->path);
    assert(strstr(first, "tool_read_capture") != NULL);
    profile_free(&profile);
    free(bytes);
    unlink(path);
}

int main(int count, char **arguments)
{
    const char *tool = getenv("MEMOIR_TOOL");
    if (count > 1)
        return known_program();
    values_are_what_was_seen_times_its_weight();
    the_whole_is_described();
    totals_are_the_counters();
    each_row_keeps_its_weight();
    any_snapshot_can_be_asked_for();
    a_cut_file_is_read_up_to_its_last_whole_snapshot();
    a_long_history_is_spread_over_the_run();
    if (tool != NULL && !unit_emulated())
        a_real_program_did_what_it_says(tool, arguments[0]);
    return 0;
}
