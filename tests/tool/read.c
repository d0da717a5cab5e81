/* SPDX-License-Identifier: MIT */
/*
 * Files of jemalloc, gperftools and pprof, files with names and folded stacks become the numbers
 * that are in them; cut and damaged ones are refused with a reason, or read as far as they go;
 * packed ones are unpacked, unless that would fill the memory; two profiles are added up.
 */
#include "tool/profile/read/read.h"
#include "tool/profile/profile.h"

#include "tests/unit/unit.h"

#include <zlib.h>
#include <zstd.h>

#include "base/compiler.h"
#include "base/file/proto.h"

static struct profile profile;
static struct read_error error;

/* Readers rely on the 0 at the end, and on no byte behind it. */
static bool reads_bytes(const void *bytes, size_t size, const struct read_options *options)
{
    char *copy = malloc(size + 1);
    assert(copy != NULL);
    memcpy(copy, bytes, size);
    copy[size] = 0;
    struct read_input input = {.name = "test", .bytes = copy, .size = size};
    if (options)
        input.options = *options;
    profile_free(&profile);
    profile_start(&profile);
    memset(&error, 0, sizeof error);
    bool done = profile_read(&profile, &input, &error);
    assert(done || error.reason[0] != 0);
    free(copy);
    return done;
}

static bool reads(const char *text)
{
    return reads_bytes(text, strlen(text), NULL);
}

static int64_t total(const char *type)
{
    int column = profile_type_named(&profile, type);
    int64_t sum = 0;
    assert(column >= 0);
    for (size_t i = 0; i < profile.samples.count; i++)
        sum += profile.samples.values[column][i];
    return sum;
}

static const char *name_of(uint32_t location, uint32_t line)
{
    assert(line < profile_location_at(&profile, location)->lines);
    uint32_t function = profile_lines_of(&profile, location)[line].function;
    return profile_text(&profile, profile_function_at(&profile, function)->name);
}

static const uint32_t *frames(size_t row, uint32_t *count)
{
    return profile_frames_of(&profile, profile.samples.stacks[row], count);
}

#define MAPS                                                       \
    "MAPPED_LIBRARIES:\n"                                          \
    "00400000-00500000 r-xp 00001000 08:01 77    /bin/a program\n" \
    "00600000-00700000 rw-p 00001000 08:01 77    /bin/a program\n" \
    "00700000-00800000 rw-p 00000000 00:00 0 \n"                   \
    "7f0000000000-7f0000100000 r-xp 00000000 08:01 9   /lib/b.so\n"

static const char jemalloc_exact[] = "heap_v2/1\n"
                                     "  t*: 7: 700 [9: 900]\n"
                                     "  t0: 3: 300 [4: 400] main\n"
                                     "  t12: 4: 400 [5: 500]\n"
                                     "@ 0x400010 0x7f0000000020\n"
                                     "  t*: 5: 500 [6: 600]\n"
                                     "  t0: 3: 300 [4: 400]\n"
                                     "  t12: 2: 200 [2: 200]\n"
                                     "@ 0x400030\n"
                                     "  t*: 2: 200 [     3:        300]\n"
                                     "  t12: 2: 200 [3: 300]\n"
                                     "\n" MAPS;

static void jemalloc_has_threads(void)
{
    assert(reads(jemalloc_exact));
    assert(strcmp(profile.format, "jemalloc heap") == 0 && profile.kind == PROFILE_HEAP);
    assert(total("inuse_objects") == 7 && total("inuse_space") == 700);
    assert(total("alloc_objects") == 9 && total("alloc_space") == 900);
    assert(profile.types == 4 && profile.default_type == 3 && profile.period == 0);
    assert(profile.samples.count == 3 && !profile.samples.weights);
    const struct profile_label *label =
        profile_label_of(&profile, profile.samples.label_sets[0], "thread");
    assert(label && strcmp(profile_text(&profile, label->text), "main") == 0);
    label = profile_label_of(&profile, profile.samples.label_sets[2], "thread_id");
    assert(label && label->number == 12);
    uint32_t count;
    const uint32_t *stack = frames(0, &count);
    assert(count == 2 && profile_location_at(&profile, stack[0])->address == 0x400010);
    assert(profile_location_at(&profile, stack[1])->mapping == 3);
    assert(strcmp(profile_text(&profile, profile.program), "/bin/a program") == 0);
    assert(profile.mappings.count == 4 && profile_mapping_at(&profile, 1)->offset == 0x1000);

    struct read_options options = {.thread = "main"};
    assert(reads_bytes(jemalloc_exact, sizeof jemalloc_exact - 1, &options));
    assert(total("inuse_space") == 300 && profile.samples.count == 1);
    options.thread = "t12";
    assert(reads_bytes(jemalloc_exact, sizeof jemalloc_exact - 1, &options));
    assert(total("alloc_space") == 500);
    static const char namesakes[] =
        "heap_v2/1\n t*: 3: 6 [0: 0]\n t1: 1: 1 [0: 0] a b\n"
        " t2: 1: 2 [0: 0]\n t3: 1: 3 [0: 0] a b\n@ 0x10\n t*: 3: 6 [0: 0]\n"
        " t1: 1: 1 [0: 0]\n t2: 1: 2 [0: 0]\n t3: 1: 3 [0: 0]\n" MAPS;
    options.thread = "a b";
    assert(reads_bytes(namesakes, sizeof namesakes - 1, &options) && total("inuse_space") == 4);
    options.thread = "13";
    assert(!reads_bytes(jemalloc_exact, sizeof jemalloc_exact - 1, &options));
    assert(strstr(error.reason, "no thread 13"));
}

static void samples_stand_for_more(void)
{
    static const char sampled[] = "heap_v2/524288\n  t*: 3: 300000 [0: 0]\n"
                                  "@ 0x400010\n  t*: 3: 300000 [0: 0]\n"
                                  "  t1: 1: 10 [0: 0]\n  t2: 2: 299990 [0: 0]\n" MAPS;
    assert(reads(sampled));
    /* 1 / (1 - exp(-100000 / 524288)) is 5.75876; the threads share just that. */
    assert(total("inuse_objects") == 17 && total("inuse_space") == 1727629);
    assert(profile.types == 2 && profile.period == 524288 && profile.samples.count == 2);
    assert(profile.samples.weights && profile.samples.weights[0] > 50000);
    struct read_options options = {.raw = true};
    assert(reads_bytes(sampled, sizeof sampled - 1, &options));
    assert(total("inuse_objects") == 3 && total("inuse_space") == 300000);
    assert(!profile.samples.weights);
    assert(reads("heap profile: 3: 300000 [ 3: 300000] @ heap_v2/524288\n"
                 " 3: 300000 [ 3: 300000] @ 0x400010\n" MAPS));
    assert(total("inuse_space") == 1727629 && profile.types == 2);
    assert(reads("heap profile: 3: 300000 [ 3: 300000] @ heap/1048576\n"
                 " 3: 300000 [ 3: 300000] @ 0x400010\n#\t0x400010\tmain\n" MAPS));
    assert(total("inuse_objects") == 17 && profile.period == 524288);
}

static void gperftools_text(void)
{
    assert(reads("heap profile:    -1:   9007199254740993 [    40:   163840] @ heapprofile\r\n"
                 "  -1: 9007199254740993 [ 40: 163840] @ 0x400010 0x400020\r\n"
                 "--- Memory map: ---\nbuild=/some/where\n"
                 "  00400000-00500000: $build/program\n"
                 "0x600000-0x700000 /bin/other (@ff00) ABC123\n"));
    assert(total("inuse_objects") == -1 && total("inuse_space") == INT64_C(9007199254740993));
    assert(total("alloc_objects") == 40 && profile.kind == PROFILE_HEAP);
    assert(strcmp(profile_text(&profile, profile.program), "/some/where/program") == 0);
    const struct profile_mapping *other = profile_mapping_at(&profile, 2);
    assert(strcmp(profile_text(&profile, other->path), "/bin/other") == 0);
    assert(strcmp(profile_text(&profile, other->build_id), "abc123") == 0);
    assert(other->offset == 0xff00 && other->start == 0x600000);
    assert(reads("heap profile: 1: 4096 [ 1: 4096] @ growthz\n 1: 4096 [ 1: 4096] @ 0x1\n"));
    assert(profile.kind == PROFILE_GROWTH && total("space") == 4096);
    assert(strcmp(profile.format, "gperftools growth") == 0);
    uint32_t count;
    assert(strcmp(name_of(frames(0, &count)[0], 0), "[stack not recorded]") == 0);
    assert(reads("%warn be careful\nheap profile: 0: 0 [ 0: 0] @ heapprofile\n" MAPS));
    assert(profile.warnings.count == 1 && profile.samples.count == 0);
}

static void waiting_for_locks(void)
{
    assert(reads("--- contention:\ncycles/second = 1000000000\nsampling period = 10\n"
                 "ms since reset = 2000\n 1500 3 @ 0x400010 0x400020\n"
                 "00400000-00500000: /bin/program\n"));
    assert(total("contentions") == 30 && total("delay") == 15000 && profile.period == 10);
    assert(profile.duration_ns == 2000000000 && profile.kind == PROFILE_CONTENTION);
    assert(profile_location_at(&profile, 0)->mapping == 1);
    assert(reads("--- Stacks:\n 2800 @ 0x400010\n"));
    assert(total("delay") == 1000 && total("contentions") == 1 && profile.warnings.count == 2);
    assert(!reads("--- contention:\n12 3 @ 0x400010 nonsense\n") && error.offset == 32);
}

static size_t put_words(char *file, const uint64_t *words, size_t count, unsigned width, bool big)
{
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; k < width; k++)
            file[i * width + k] = (char)(words[i] >> (8 * (big ? width - 1 - k : k)));
    return count * width;
}

static void cpu_of_any_machine(void)
{
    static const uint64_t words[] = {0,      3,        0,        10000,    0, /* the head */
                                     5,      2,        0x400010, 0x400020, 2, 4, 0x400010,
                                     0x7000, 0x400010, 0x400020, 0,        1, 0};
    static const char maps[] = "00400000-00500000 r-xp 00000000 08:01 7 /bin/program\n";
    char words_file[512];
    for (unsigned form = 0; form < 4; form++) {
        size_t size = put_words(words_file, words, COUNT_OF(words), form < 2 ? 4 : 8, form & 1);
        memcpy(words_file + size, maps, sizeof maps - 1);
        assert(reads_bytes(words_file, size + sizeof maps - 1, NULL));
        assert(profile.kind == PROFILE_CPU && total("samples") == 7);
        assert(total("cpu") == 70000000 && profile.period == 10000000 && !profile.torn);
        assert(strcmp(profile.format, "gperftools CPU") == 0);
        uint32_t count; /* the second stack had the signal's frame in it, and is the first's */
        const uint32_t *stack = frames(1, &count);
        assert(count == 2 && profile.samples.stacks[0] == profile.samples.stacks[1]);
        assert(profile_location_at(&profile, stack[0])->address == 0x400010);
        assert(profile_location_at(&profile, stack[1])->address == 0x40001f);
        assert(profile_location_at(&profile, stack[1])->flags & LOCATION_EXACT);
        assert(profile_location_at(&profile, stack[1])->mapping == 1);
        assert(reads_bytes(words_file, size - 30 - size / 8, NULL) && profile.torn);
    }
}

static void names_come_along(void)
{
    assert(reads("--- symbol\nbinary=/bin/program\n0x0000400010 main--std::list::operator--(int)\n"
                 "0x40001f start\n---\n--- heap\n"
                 "heap profile: 1: 8 [ 1: 8] @ heapprofile\n 1: 8 [ 1: 8] @ 0x400010 0x400020\n"));
    assert(strcmp(profile.format, "symbolized") == 0 && total("inuse_space") == 8);
    assert(strcmp(profile_text(&profile, profile.program), "/bin/program") == 0);
    uint32_t count;
    const uint32_t *stack = frames(0, &count);
    assert(count == 2 && strcmp(name_of(stack[0], 0), "std::list::operator--(int)") == 0);
    assert(strcmp(name_of(stack[0], 1), "main") == 0 && strcmp(name_of(stack[1], 0), "start") == 0);
    assert(reads("--- symbol\n0x400010 main\n---\n--- heap\nheap_v2/1\n"
                 "@ 0x400011\n  t*: 5: 500 [0: 0]\n" MAPS));
    assert(total("inuse_space") == 500 && strcmp(name_of(frames(0, &count)[0], 0), "main") == 0);
    assert(!reads("--- symbol\n0x10 main\n") && strstr(error.reason, "cut"));
    assert(!reads("--- symbol\n---\n--- symbol\n---\n") && !reads("--- symbol\n---\n"));
    assert(!reads("--- symbol\n---\nheap profile: x\n") && error.offset == 29);
}

static void folded_stacks(void)
{
    assert(reads("# a comment\nmain;operator new(unsigned long) 12\nmain;read_[k];b_[j] 30\n"));
    assert(total("samples") == 42 && strcmp(profile.format, "folded stacks") == 0);
    uint32_t count;
    const uint32_t *stack = frames(1, &count);
    assert(count == 3 && strcmp(name_of(stack[1], 0), "read") == 0);
    assert(strcmp(name_of(stack[0], 0), "b") == 0 && strcmp(name_of(stack[2], 0), "main") == 0);
    const struct profile_location *kernel = profile_location_at(&profile, stack[1]);
    const struct profile_mapping *mapping = profile_mapping_at(&profile, kernel->mapping);
    assert(strcmp(profile_text(&profile, mapping->path), "[kernel]") == 0);
    stack = frames(0, &count);
    assert(count == 2 && strcmp(name_of(stack[0], 0), "operator new(unsigned long)") == 0);
    assert(reads("main;a 5 7\nmain;b 0 1.6\n"));
    assert(total("before") == 5 && total("samples") == 9 && profile.default_type == 1);
    assert(reads("main;x 3 5\nmain;y 4\n") && total("samples") == 9 && profile.types == 1);
    assert(!reads("a;b 1\nnonsense\na;b 2\n"));
    assert(reads("a 1\na 1\na 1\na 1\na 1\na 1\na 1\na 1\nnonsense\n"));
    assert(total("samples") == 8 && profile.warnings.count == 1);
    assert(!reads("a;b 2000000000000000000\na;c 2000000000000000000\n"));
    assert(strstr(error.reason, "add up to more"));
    assert(!reads("there is nothing in it\n") && strstr(error.reason, "there is nothing"));
}

/* ---- profile.proto ---------------------------------------------------------------------- */

static struct file {
    uint8_t bytes[4096];
    struct proto proto;
} file;

static void put(unsigned field, const uint64_t *numbers, unsigned count)
{
    uint8_t bytes[256];
    struct proto message;
    proto_start(&message, bytes, sizeof bytes);
    for (unsigned i = 0; i < count; i++)
        proto_number(&message, i + 1, numbers[i]);
    proto_message(&file.proto, field, &message);
}

static void put_strings(void)
{
    static const char *const strings[] = {"",       "inuse_objects", "count",    "inuse_space",
                                          "bytes",  "main",          "_Z4mainv", "/main.c",
                                          "/bin/p", "ABCD"};
    for (size_t i = 0; i < COUNT_OF(strings); i++)
        proto_bytes(&file.proto, 6, strings[i], strlen(strings[i]));
}

static void put_sample(bool packed, uint64_t location)
{
    uint8_t bytes[256], more[64];
    struct proto message, label;
    const uint64_t places[] = {location, 1}, values[] = {3, (uint64_t)-300};
    proto_start(&message, bytes, sizeof bytes);
    proto_start(&label, more, sizeof more);
    proto_number(&label, 1, 4);
    proto_number(&label, 3, 100);
    if (packed) {
        proto_packed(&message, 1, places, 2);
        proto_packed(&message, 2, values, 2);
    }
    for (unsigned i = 0; i < 2 && !packed; i++) {
        proto_number(&message, 1, places[i]);
        proto_number(&message, 2, values[i]);
    }
    proto_message(&message, 3, &label);
    proto_message(&file.proto, 2, &message);
}

#define PUT(field, ...) \
    put(field, (const uint64_t[]){__VA_ARGS__}, COUNT_OF(((const uint64_t[]){__VA_ARGS__})))

/* Two frames, the first of which has one inlined; strings before or after what names them. */
static void make(bool strings_first, bool packed, uint64_t location, uint64_t function)
{
    uint8_t bytes[256], more[64];
    struct proto message, line;
    proto_start(&file.proto, file.bytes, sizeof file.bytes);
    if (strings_first)
        put_strings();
    PUT(1, 1, 2);
    PUT(1, 3, 4);
    put_sample(packed, location);
    PUT(3, 9, 0x400000, 0x500000, 0x1000, 8, 9);
    PUT(4, 1, 9, 0x400123);
    proto_start(&message, bytes, sizeof bytes);
    proto_number(&message, 1, 700);
    proto_number(&message, 3, 0x400456);
    for (unsigned i = 0; i < 2; i++) {
        proto_start(&line, more, sizeof more);
        proto_number(&line, 1, function);
        proto_number(&line, 2, 10 + i);
        proto_message(&message, 4, &line);
    }
    proto_message(&file.proto, 4, &message);
    PUT(5, 5, 5, 6, 7, 8);
    PUT(11, 3, 4);
    proto_number(&file.proto, 12, 1000);
    proto_number(&file.proto, 9, 123456789);
    proto_number(&file.proto, 14, 1);
    if (!strings_first)
        put_strings();
    assert(!file.proto.cut);
}

static bool reads_file(void)
{
    return reads_bytes(file.bytes, file.proto.used, NULL);
}

static void pprof_in_any_order(void)
{
    for (unsigned form = 0; form < 4; form++) {
        make(form & 1, form & 2, 700, 5);
        assert(reads_file());
        assert(strcmp(profile.format, "pprof") == 0 && profile.kind == PROFILE_HEAP);
        assert(total("inuse_objects") == 3 && total("inuse_space") == -300);
        assert(profile.default_type == 0 && profile.period == 1000);
        assert(profile.time_ns == 123456789 && profile.samples.count == 1);
        uint32_t count;
        const uint32_t *stack = frames(0, &count);
        const struct profile_location *inner = profile_location_at(&profile, stack[0]),
                                      *outer = profile_location_at(&profile, stack[1]);
        assert(count == 2 && inner->address == 0x400456 && outer->address == 0x400123);
        assert(inner->lines == 2 && strcmp(name_of(stack[0], 1), "main") == 0);
        assert(profile_lines_of(&profile, stack[0])[1].line == 11);
        assert(inner->flags & LOCATION_EXACT && inner->mapping == 0 && outer->mapping == 1);
        const struct profile_mapping *mapping = profile_mapping_at(&profile, 1);
        assert(strcmp(profile_text(&profile, mapping->build_id), "abcd") == 0);
        assert(strcmp(profile_text(&profile, profile.program), "/bin/p") == 0);
        const struct profile_label *label =
            profile_label_of(&profile, profile.samples.label_sets[0], LABEL_BLOCK_BYTES);
        assert(label && label->number == 100);
    }
}

/* The third is called as the first, and what it would be called instead there is, too. */
static void pprof_with_types_of_one_name(void)
{
    static const char *const strings[] = {"", "a", "a (3)"};
    proto_start(&file.proto, file.bytes, sizeof file.bytes);
    PUT(1, 1);
    PUT(1, 2);
    PUT(1, 1);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t bytes[64];
        struct proto message;
        proto_start(&message, bytes, sizeof bytes);
        proto_packed(&message, 2, (const uint64_t[]){1, 2, 4}, 3);
        proto_message(&file.proto, 2, &message);
    }
    for (size_t i = 0; i < COUNT_OF(strings); i++)
        proto_bytes(&file.proto, 6, strings[i], strlen(strings[i]));
    assert(reads_file() && profile.types == 3);
    assert(total("a") == 2 && total("a (3)") == 4 && total("a (4)") == 8);
}

static void pprof_that_lies(void)
{
    make(false, true, 701, 5);
    assert(!reads_file() && strstr(error.reason, "location with id 701") && error.offset > 0);
    make(false, true, 700, 6);
    assert(!reads_file() && strstr(error.reason, "function with id 6"));
    make(true, true, 700, 5);
    PUT(4, 700, 0, 1);
    assert(!reads_file() && strstr(error.reason, "id of location 700"));
    make(true, true, 700, 5);
    PUT(5, 8, 99);
    assert(!reads_file() && strstr(error.reason, "string with id 99"));
    make(true, true, 700, 5);
    PUT(1, 1, 2);
    assert(!reads_file() && strstr(error.reason, "2 values"));
    make(true, true, 700, 5);
    for (size_t size = 1; size < file.proto.used; size++)
        if (!reads_bytes(file.bytes, size, NULL))
            assert(error.offset <= size);
    for (size_t at = 0; at < file.proto.used; at++)
        for (unsigned change = 1; change < 256; change += 37) {
            file.bytes[at] ^= (uint8_t)change;
            reads_file();
            file.bytes[at] ^= (uint8_t)change;
        }
}

/* ---- packing, files, damage ------------------------------------------------------------- */

static size_t gzip(char *packed, size_t room, const void *bytes, size_t size)
{
    z_stream stream = {0};
    assert(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    stream.next_out = (Bytef *)packed;
    stream.avail_out = (uInt)room;
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    assert(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    deflateEnd(&stream);
    return room - stream.avail_out;
}

/* More and more zeros, in a small file. */
static size_t bomb(char *packed, size_t room, unsigned megabytes)
{
    static const char zeros[1 << 20];
    ZSTD_CCtx *stream = ZSTD_createCCtx();
    ZSTD_outBuffer out = {packed, room, 0};
    assert(stream != NULL);
    for (unsigned i = 1; i <= megabytes; i++) {
        ZSTD_inBuffer in = {zeros, sizeof zeros, 0};
        size_t left =
            ZSTD_compressStream2(stream, &out, &in, i == megabytes ? ZSTD_e_end : ZSTD_e_continue);
        assert(!ZSTD_isError(left) && in.pos == in.size);
    }
    ZSTD_freeCCtx(stream);
    return out.pos;
}

static void packed_files(void)
{
    static char packed[1 << 20], again[4096];
    size_t size = gzip(packed, sizeof packed, jemalloc_exact, sizeof jemalloc_exact - 1);
    assert(reads_bytes(packed, size, NULL) && total("inuse_space") == 700 && !profile.torn);
    size_t twice = ZSTD_compress(again, sizeof again, packed, size, 3);
    assert(!ZSTD_isError(twice) && reads_bytes(again, twice, NULL));
    assert(total("inuse_space") == 700);
    assert(reads_bytes(packed, size - 30, NULL) && profile.torn && profile.warnings.count > 0);
    packed[size - 6] ^= 1;
    assert(!reads_bytes(packed, size, NULL) && strstr(error.reason, "gzip"));
    char half[300]; /* two parts in succession are one file */
    memcpy(half, jemalloc_exact, sizeof half);
    size = gzip(packed, sizeof packed, half, sizeof half);
    size += gzip(packed + size, sizeof packed - size, jemalloc_exact + sizeof half,
                 sizeof jemalloc_exact - 1 - sizeof half);
    assert(reads_bytes(packed, size, NULL) && total("inuse_space") == 700);
    if (unit_times(8) < 8)
        return; /* sanitizers are slow */
    size = bomb(packed, sizeof packed, 600);
    assert(!reads_bytes(packed, size, NULL));
    assert(strstr(error.reason, "implausible for a profile"));
}

static bool reads_path(const char *path)
{
    profile_free(&profile);
    profile_start(&profile);
    return profile_read_file(&profile, path, NULL, &error);
}

static void files_and_pipes(void)
{
    FILE *some = fopen("some.heap", "we");
    assert(some && fputs(jemalloc_exact, some) >= 0 && fclose(some) == 0);
    assert(reads_path("some.heap") && total("inuse_space") == 700);
    some = fopen("some.heap", "we");
    assert(some && fclose(some) == 0);
    assert(!reads_path("some.heap") && strstr(error.reason, "empty"));
    unlink("some.heap");
    assert(!reads_path("some.heap") && strstr(error.reason, "No such file"));
    assert(!reads_path("/") && strstr(error.reason, "folder"));
    int ends[2];
    assert(pipe(ends) == 0);
    assert(write(ends[1], jemalloc_exact, sizeof jemalloc_exact - 1) > 0 && close(ends[1]) == 0);
    int before = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    assert(reads_path("-") && total("inuse_space") == 700);
    dup2(before, STDIN_FILENO);
    close(before);
    close(ends[0]);
}

static void damaged_text(void)
{
    static const char *const bad[] = {
        "heap_v2/\n",
        "heap_v2/99999999999999999999\n",
        "heap_v2/1\n  t*: 1 2 [0: 0]\n",
        "heap_v2/1\n  x\n",
        "heap_v2/1\n@ 0x10 zz\n" MAPS,
        "heap_v2/1\n@ 0x11112222333344445\n" MAPS,
        "heap_v2/1\n@ 0x10\n t0: 99999999999999999999: 1 [0: 0]\n" MAPS,
        "heap profile: 1: 2 [ 3: 4\n",
        "heap profile: 1: 2 [ 3: 4] @ heapprofile\n 1: 2 [3: 4] 0x10\n" MAPS,
        "heap profile: 1: 2 [ 3: 4] @ heap_v2/x\n",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert(!reads(bad[i]) && error.offset > 0 && error.offset < strlen(bad[i]));
    size_t stacks = (size_t)(strstr(jemalloc_exact, MAPS) - jemalloc_exact);
    for (size_t size = 1; size < sizeof jemalloc_exact - 1; size++) {
        bool done = reads_bytes(jemalloc_exact, size, NULL);
        assert(!done || profile.torn || size > stacks + strlen("MAPPED_LIBRARIES"));
    }
    assert(!reads("") && !reads("\x01\x02\x03") && strstr(error.reason, "known formats are"));
}

static void two_are_added_up(void)
{
    /* The same program at another place, with a thread of another name and one more stack. */
    static const char other[] = "heap_v2/1\n  t*: 3: 70 [0: 0]\n  t0: 1: 20 [0: 0] main\n"
                                "@ 0x500010 0x7f1000000020\n  t*: 1: 20 [0: 0]\n"
                                "  t0: 1: 20 [0: 0]\n"
                                "@ 0x400010\n  t*: 2: 50 [0: 0]\n"
                                "MAPPED_LIBRARIES:\n"
                                "00500000-00600000 r-xp 00001000 08:01 77    /bin/a program\n"
                                "00400000-00402000 r-xp 00000000 08:01 78    /lib/new.so\n"
                                "7f1000000000-7f1000100000 r-xp 00000000 08:01 9   /lib/b.so\n";
    assert(reads(other));
    struct profile more = profile;
    memset(&profile, 0, sizeof profile);
    assert(reads(jemalloc_exact));
    size_t stacks = profile.stacks.count, rows = profile.samples.count;
    assert(profile_merge(&profile, &more, 1));
    assert(total("inuse_objects") == 10 && total("inuse_space") == 770);
    assert(total("alloc_space") == 900);
    assert(profile.stacks.count == stacks + 1 && profile.samples.count == rows + 1);
    uint32_t count;
    const struct profile_location *moved = profile_location_at(&profile, frames(rows, &count)[0]);
    const struct profile_mapping *mapping = profile_mapping_at(&profile, moved->mapping);
    assert(strcmp(profile_text(&profile, mapping->path), "/lib/new.so") == 0);
    assert(moved->address - mapping->start == 0x10 && mapping->start > 0x7f0000100000);
    assert(profile_merge(&profile, &more, -1) && total("inuse_space") == 700);
    struct profile sum;
    profile_start(&sum);
    assert(profile_merge(&sum, &more, 2) && profile_merge(&sum, &more, -0.5));
    assert(sum.samples.values[1][0] + sum.samples.values[1][1] == 105);
    assert(sum.kind == PROFILE_HEAP && sum.default_type == 1);
    profile_free(&sum);
    profile_free(&more);
}

int main(void)
{
    jemalloc_has_threads();
    samples_stand_for_more();
    gperftools_text();
    waiting_for_locks();
    cpu_of_any_machine();
    names_come_along();
    folded_stacks();
    pprof_in_any_order();
    pprof_with_types_of_one_name();
    pprof_that_lies();
    packed_files();
    files_and_pipes();
    damaged_text();
    two_are_added_up();
    profile_free(&profile);
    return 0;
}
