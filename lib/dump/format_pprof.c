/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto in gzip. The numbers add up to the allocator's counters (scale.h). The
 * fields of the outer message may come in any order, so everything is sent as soon as it is known:
 * a string when it gets its number, a location before the first sample with its address.
 */
#include "lib/dump/format_inside.h"

#include <string.h>
#include <sys/auxv.h>

#include "base/compiler.h"
#include "base/file/deleted.h"
#include "base/file/gzip.h"
#include "base/file/maps.h"
#include "base/file/proto.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/cpu/cpu.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

/* The numbers of the fields, by message. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_DROP_FRAMES = 7,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    LABEL_NUMBER = 3,
    LABEL_UNIT = 4,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
};

/* Functions of ours that may stand between malloc's caller and the sampler. */
static const char dropped[] =
    "(__libc_|__)?(malloc|calloc|realloc|memalign|valloc|pvalloc|free)"
    "|reallocarray|aligned_alloc|posix_memalign|operator new(\\[\\])?|memoir_.*";

/* The first strings have fixed numbers. */
#define STRINGS(X)                        \
    X(EMPTY, "")                          \
    X(COUNT, "count")                     \
    X(BYTES, "bytes")                     \
    X(SPACE, "space")                     \
    X(ALLOC_OBJECTS, "alloc_objects")     \
    X(ALLOC_SPACE, "alloc_space")         \
    X(INUSE_OBJECTS, "inuse_objects")     \
    X(INUSE_SPACE, "inuse_space")         \
    X(PEAK_OBJECTS, "peak_objects")       \
    X(PEAK_SPACE, "peak_space")           \
    X(ALLOC_REQUESTED, "alloc_requested") \
    X(INUSE_REQUESTED, "inuse_requested") \
    X(THREAD, "thread")                   \
    X(THREAD_ID, "thread_id")             \
    X(ID, "id")                           \
    X(OTHER_THREADS, "other threads")     \
    X(NO_STACK, "[stack not recorded]")   \
    X(NOT_SAMPLED, "[not sampled]")       \
    X(SAMPLES, "samples")                 \
    X(CPU, "cpu")                         \
    X(WALL, "wall")                       \
    X(NANOSECONDS, "nanoseconds")         \
    X(DROPPED, dropped)
#define X(name, text) STRING_##name,
enum { STRINGS(X) STRINGS_FIXED };
#undef X
#define X(name, text) text,
static const char *const strings[] = {STRINGS(X)};
#undef X

static const struct type {
    unsigned char type, unit;
} types[] =
    {
        {STRING_ALLOC_OBJECTS, STRING_COUNT},   {STRING_ALLOC_SPACE, STRING_BYTES},
        {STRING_INUSE_OBJECTS, STRING_COUNT},   {STRING_INUSE_SPACE, STRING_BYTES},
        {STRING_PEAK_OBJECTS, STRING_COUNT},    {STRING_PEAK_SPACE, STRING_BYTES},
        {STRING_ALLOC_REQUESTED, STRING_BYTES}, {STRING_INUSE_REQUESTED, STRING_BYTES},
},
  cpu_types[] = {{STRING_SAMPLES, STRING_COUNT}, {STRING_CPU, STRING_NANOSECONDS}},
  wall_types[] = {{STRING_SAMPLES, STRING_COUNT}, {STRING_WALL, STRING_NANOSECONDS}};

/* Limits of the memory for a dump: the kernel allows 65,530 mappings by default; 4 million
 * addresses are 64 MiB. */
enum { MAPPINGS_MAX = 1 << 16, ADDRESSES_MAX = 1 << 22 };

/* Locations without an address, each with a function of the same number. */
enum { LOCATION_NO_STACK = 1, LOCATION_NOT_SAMPLED, LOCATIONS_NAMED };
static const unsigned named[LOCATIONS_NAMED] = {
    [LOCATION_NO_STACK] = STRING_NO_STACK, [LOCATION_NOT_SAMPLED] = STRING_NOT_SAMPLED};

struct mapping {
    uint64_t start, end, id;
};

struct address {
    uintptr_t pc;
    uint64_t id;
};

struct writer {
    struct sink *sink;
    struct proto message;
    uint64_t strings, locations, first_thread; /* numbers sent so far; the string of the first
                                                  thread's name */
    uint32_t *threads; /* ids of the rows of threads.h; NULL: memory is out, and threads have no
                          ids */
    uint32_t thread_count;
    bool sent[LOCATIONS_NAMED];
    /* Sorted by address; NULL: memory is out, and locations have no mapping. */
    struct mapping *mappings;
    size_t mapping_count;
    /* A hash table of the locations that were sent; NULL: memory is out, and each is sent again. */
    struct address *addresses;
    size_t address_max, address_count; /* a power of 2 */
};

/* One writer at a time; static, because the stack may be small. */
static BULK struct {
    char gzip[16384];
    char message[4096];
    uintptr_t pcs[WALK_MAX];
    uint64_t ids[WALK_MAX];
    struct maps maps;
    struct scale scale;
} scratch;

static int write_all(void (*send)(struct writer *, const struct format_options *),
                     const struct format_options *options, uint32_t threads, struct sink *sink);
static void send_heap(struct writer *writer, const struct format_options *options);
static void send_head(struct writer *writer, const struct format_options *options);
static void send_types(struct writer *writer, const struct type *list, size_t count);
static void send_type(struct writer *writer, unsigned field, unsigned type, unsigned unit);
static uint64_t send_string(struct writer *writer, const char *text, size_t length);
static uint64_t send_comment(struct writer *writer, const char *reason);
static void send_threads(struct writer *writer);
static void send_mappings(struct writer *writer, bool program, uint64_t *last);
static void send_mapping(struct writer *writer, const struct map *map, uint64_t id);
static void keep_mapping(struct writer *writer, struct mapping mapping);
static void send_sample(void *context, const struct track_row *row);
static void put_stack(struct writer *writer, uint32_t stack);
static uint64_t location_of(struct writer *writer, uintptr_t pc);
static struct address *find(struct writer *writer, uintptr_t pc);
static uint64_t mapping_of(const struct writer *writer, uint64_t address);
static uint64_t location_named(struct writer *writer, unsigned id);
static void put_values(struct writer *writer, const struct scale_values *of);
static void label(struct writer *writer, unsigned key, uint64_t text, uint64_t number,
                  unsigned unit);
static void put_thread(struct writer *writer, uint32_t number);
static void send_rest(struct writer *writer);
static void send_cpu(struct writer *writer, const struct format_options *options);
static void send_cpu_head(struct writer *writer);
static void send_cpu_threads(struct writer *writer);
static void send_cpu_sample(void *context, const struct cpu_row *row);

int format_pprof(const struct format_options *options, struct sink *sink)
{
    return write_all(send_heap, options, threads_count(), sink);
}

static int write_all(void (*send)(struct writer *, const struct format_options *),
                     const struct format_options *options, uint32_t threads, struct sink *sink)
{
    struct gzip gzip;
    struct writer writer = {
        .sink = &gzip.sink, .locations = LOCATIONS_NAMED - 1, .address_max = 1024};
    gzip_start(&gzip, sink, scratch.gzip, sizeof scratch.gzip);
    proto_start(&writer.message, scratch.message, sizeof scratch.message);
    while (writer.address_max / 2 < stacks_count() && writer.address_max < ADDRESSES_MAX)
        writer.address_max *= 2;
    size_t mappings_size = MAPPINGS_MAX * sizeof *writer.mappings;
    size_t addresses_size = writer.address_max * sizeof *writer.addresses;
    writer.mappings = os_map(mappings_size);
    writer.addresses = os_map(addresses_size);
    size_t threads_size = (threads + 1) * sizeof *writer.threads;
    writer.threads = os_map(threads_size);
    writer.thread_count = writer.threads == NULL ? 0 : threads;

    send(&writer, options);
    gzip_end(&gzip);

    if (writer.mappings != NULL)
        os_unmap(writer.mappings, mappings_size);
    if (writer.addresses != NULL)
        os_unmap(writer.addresses, addresses_size);
    if (writer.threads != NULL)
        os_unmap(writer.threads, threads_size);
    return sink->error;
}

static void send_heap(struct writer *writer, const struct format_options *options)
{
    uint64_t mapping = 0;
    send_head(writer, options);
    send_threads(writer);
    send_mappings(writer, true, &mapping);
    send_mappings(writer, false, &mapping);
    scale_prepare(&scratch.scale, options->account);
    track_each(send_sample, writer);
    send_rest(writer);
}

static void send_head(struct writer *writer, const struct format_options *options)
{
    struct proto *message = &writer->message;
    send_types(writer, types, COUNT_OF(types));
    send_type(writer, PROFILE_PERIOD_TYPE, STRING_SPACE, STRING_BYTES);
    int64_t rate = format_rate();
    proto_number(message, PROFILE_PERIOD, rate > 0 ? (uint64_t)rate : 1);
    proto_number(message, PROFILE_TIME, os_wall_ns());
    proto_number(message, PROFILE_DROP_FRAMES, STRING_DROPPED);
    proto_number(message, PROFILE_DEFAULT_TYPE, STRING_INUSE_SPACE);
    proto_number(message, PROFILE_COMMENT, send_comment(writer, options->reason));
    proto_send(message, writer->sink, 0);
}

static void send_types(struct writer *writer, const struct type *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        send_type(writer, PROFILE_SAMPLE_TYPE, list[i].type, list[i].unit);
    for (unsigned i = 0; i < STRINGS_FIXED; i++)
        send_string(writer, strings[i], strlen(strings[i]));
}

static void send_type(struct writer *writer, unsigned field, unsigned type, unsigned unit)
{
    proto_number(&writer->message, TYPE_TYPE, type);
    proto_number(&writer->message, TYPE_UNIT, unit);
    proto_send(&writer->message, writer->sink, field);
}

static uint64_t send_string(struct writer *writer, const char *text, size_t length)
{
    proto_send_text(writer->sink, PROFILE_STRING, text, length);
    return writer->strings++;
}

static uint64_t send_comment(struct writer *writer, const char *reason)
{
    char text[256];
    struct print print;
    print_start(&print, text, sizeof text);
    print_format(&print, "memoir %s, process %d", MEMOIR_VERSION, os_pid());
    if (reason != NULL)
        print_format(&print, ": %s", reason);
    return send_string(writer, text, print_length(&print));
}

/* Names of threads have numbers in the order of their rows. */
static void send_threads(struct writer *writer)
{
    struct thread_row thread;
    writer->first_thread = writer->strings;
    for (uint32_t number = 0; number < writer->thread_count; number++) {
        char name[THREAD_NAME_SIZE + 8];
        struct print print;
        print_start(&print, name, sizeof name);
        writer->threads[number] = THREAD_OTHER;
        if (threads_row(number, &thread)) {
            writer->threads[number] = thread.id;
            print_clean(&print, thread.name, strlen(thread.name), THREAD_NAME_SIZE);
            if (print_length(&print) == 0)
                print_format(&print, "t%u", thread.id);
        }
        send_string(writer, name, print_length(&print));
    }
}

/* Readers take the first mapping for the program, so it is sent first, whatever its address. */
static void send_mappings(struct writer *writer, bool program, uint64_t *last)
{
    uint64_t entry = getauxval(AT_ENTRY);
    uint8_t build[MAPS_ID_MAX];
    struct map map;
    if (!maps_open(&scratch.maps))
        return;
    while (maps_next(&scratch.maps, &map)) {
        bool is_program = map.start <= entry && entry < map.end;
        if (!map.executable && map.offset == 0)
            maps_build_id(&scratch.maps, &map, build); /* known when the code of the file comes */
        if (!map.executable || (map.path[0] != '/' && strcmp(map.path, "[vdso]") != 0))
            continue;
        if (is_program == program)
            send_mapping(writer, &map, ++*last);
        if (!program)
            keep_mapping(writer, (struct mapping){map.start, map.end, is_program ? 1 : *last});
    }
    maps_close(&scratch.maps);
}

static void send_mapping(struct writer *writer, const struct map *map, uint64_t id)
{
    struct proto *message = &writer->message;
    uint8_t build[MAPS_ID_MAX];
    char hex[2 * MAPS_ID_MAX];
    size_t length = deleted_cut(map->path, strlen(map->path));
    unsigned bytes = maps_build_id(&scratch.maps, map, build);
    for (unsigned i = 0; i < 2 * bytes; i++)
        hex[i] = "0123456789abcdef"[build[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
    proto_number(message, MAPPING_ID, id);
    proto_number(message, MAPPING_START, map->start);
    proto_number(message, MAPPING_LIMIT, map->end);
    proto_number(message, MAPPING_OFFSET, map->offset);
    proto_number(message, MAPPING_FILE, send_string(writer, map->path, length));
    if (bytes > 0)
        proto_number(message, MAPPING_BUILD_ID, send_string(writer, hex, 2ul * bytes));
    proto_send(message, writer->sink, PROFILE_MAPPING);
}

/* Inserts by address, because the loader's list is not sorted. */
static void keep_mapping(struct writer *writer, struct mapping mapping)
{
    if (writer->mappings == NULL || writer->mapping_count == MAPPINGS_MAX)
        return;
    size_t at = writer->mapping_count++;
    for (; at > 0 && writer->mappings[at - 1].start > mapping.start; at--)
        writer->mappings[at] = writer->mappings[at - 1];
    writer->mappings[at] = mapping;
}

static void send_sample(void *context, const struct track_row *row)
{
    struct writer *writer = context;
    put_stack(writer, row->stack);
    struct scale_values values = scale_row(&scratch.scale, row);
    put_values(writer, &values);
    if (row->size > 0)
        label(writer, STRING_BYTES, 0, row->size, STRING_BYTES);
    put_thread(writer, row->thread);
    proto_send(&writer->message, writer->sink, PROFILE_SAMPLE);
}

static void put_stack(struct writer *writer, uint32_t stack)
{
    unsigned count = stacks_frames(stack, scratch.pcs, WALK_MAX);
    for (unsigned i = 0; i < count; i++)
        scratch.ids[i] = location_of(writer, scratch.pcs[i]);
    if (count == 0)
        scratch.ids[count++] = location_named(writer, LOCATION_NO_STACK);
    proto_packed(&writer->message, SAMPLE_LOCATIONS, scratch.ids, count);
}

static uint64_t location_of(struct writer *writer, uintptr_t pc)
{
    struct address *address = find(writer, pc);
    if (address != NULL && address->id != 0)
        return address->id;
    uint64_t id = ++writer->locations;
    /* The address of the call, or of some byte of it: the return address may belong to another line
     * or, after the last call of a function, to another function. */
    uint64_t call = pc == 0 ? 0 : pc - 1;
    proto_number(&writer->message, LOCATION_ID, id);
    proto_number(&writer->message, LOCATION_MAPPING, mapping_of(writer, call));
    proto_number(&writer->message, LOCATION_ADDRESS, call);
    proto_send(&writer->message, writer->sink, PROFILE_LOCATION);
    if (address != NULL) {
        *address = (struct address){pc, id};
        writer->address_count++;
    }
    return id;
}

/* The entry of an address in the table; NULL: it is not there, and the table is full. */
static struct address *find(struct writer *writer, uintptr_t pc)
{
    if (writer->addresses == NULL || pc == 0)
        return NULL;
    size_t mask = writer->address_max - 1;
    for (size_t at = hash_word(pc) >> 20;; at++) {
        struct address *address = &writer->addresses[at & mask];
        if (address->pc == pc)
            return address;
        if (address->pc == 0)
            return writer->address_count < writer->address_max / 4 * 3 ? address : NULL;
    }
}

static uint64_t mapping_of(const struct writer *writer, uint64_t address)
{
    size_t low = 0, high = writer->mapping_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (writer->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == writer->mapping_count || address < writer->mappings[low].start)
        return 0;
    return writer->mappings[low].id;
}

static uint64_t location_named(struct writer *writer, unsigned id)
{
    struct proto *message = &writer->message;
    if (!writer->sent[id]) {
        uint8_t bytes[2 * VARINT_MAX];
        struct proto line;
        writer->sent[id] = true;
        proto_number(message, FUNCTION_ID, id);
        proto_number(message, FUNCTION_NAME, named[id]);
        proto_number(message, FUNCTION_SYSTEM_NAME, named[id]);
        proto_send(message, writer->sink, PROFILE_FUNCTION);
        proto_start(&line, bytes, sizeof bytes);
        proto_number(&line, LINE_FUNCTION, id);
        proto_number(message, LOCATION_ID, id);
        proto_message(message, LOCATION_LINE, &line);
        proto_send(message, writer->sink, PROFILE_LOCATION);
    }
    return id;
}

static void put_values(struct writer *writer, const struct scale_values *of)
{
    uint64_t values[COUNT_OF(types)] = {
        of->freed.objects + of->live.objects,
        of->freed.usable + of->live.usable,
        of->live.objects,
        of->live.usable,
        of->peak.objects,
        of->peak.usable,
        of->freed.requested + of->live.requested,
        of->live.requested,
    };
    for (unsigned i = 0; i < COUNT_OF(types); i++)
        values[i] = values[i] < INT64_MAX ? values[i] : INT64_MAX;
    proto_packed(&writer->message, SAMPLE_VALUES, values, COUNT_OF(types));
}

static void label(struct writer *writer, unsigned key, uint64_t text, uint64_t number,
                  unsigned unit)
{
    uint8_t bytes[4 * 2 * VARINT_MAX];
    struct proto inner;
    proto_start(&inner, bytes, sizeof bytes);
    proto_number(&inner, LABEL_KEY, key);
    proto_number(&inner, LABEL_TEXT, text);
    proto_number(&inner, LABEL_NUMBER, number);
    proto_number(&inner, LABEL_UNIT, unit);
    proto_message(&writer->message, SAMPLE_LABEL, &inner);
}

static void put_thread(struct writer *writer, uint32_t number)
{
    if (number < writer->thread_count && writer->threads[number] != THREAD_OTHER) {
        label(writer, STRING_THREAD, writer->first_thread + number, 0, 0);
        /* With a unit, because readers drop a 0 without one. */
        label(writer, STRING_THREAD_ID, 0, writer->threads[number], STRING_ID);
    } else {
        label(writer, STRING_THREAD, STRING_OTHER_THREADS, 0, 0);
    }
}

/* The row for blocks that no sample stands for. */
static void send_rest(struct writer *writer)
{
    struct scale_values rest = scale_rest(&scratch.scale);
    if ((rest.freed.objects | rest.live.objects) == 0)
        return;
    uint64_t id = location_named(writer, LOCATION_NOT_SAMPLED);
    proto_packed(&writer->message, SAMPLE_LOCATIONS, &id, 1);
    put_values(writer, &rest);
    proto_send(&writer->message, writer->sink, PROFILE_SAMPLE);
}

int format_pprof_cpu(const struct format_options *options, struct sink *sink)
{
    return write_all(send_cpu, options, tasks_count(), sink);
}

static void send_cpu(struct writer *writer, const struct format_options *options)
{
    uint64_t mapping = 0;
    send_cpu_head(writer);
    cpu_settle();
    send_cpu_threads(writer);
    send_mappings(writer, true, &mapping);
    send_mappings(writer, false, &mapping);
    samples_each(send_cpu_sample, writer, options->since_mark);
}

/* Nothing is dropped: time in malloc counts. */
static void send_cpu_head(struct writer *writer)
{
    char text[128];
    struct print print;
    struct proto *message = &writer->message;
    struct cpu_about about;
    cpu_about(&about);
    unsigned time = about.wall ? STRING_WALL : STRING_CPU;
    send_types(writer, about.wall ? wall_types : cpu_types, COUNT_OF(cpu_types));
    send_type(writer, PROFILE_PERIOD_TYPE, time, STRING_NANOSECONDS);
    print_start(&print, text, sizeof text);
    print_format(&print, "%s, %u Hz, %lu expirations lost", about.source, about.rate, about.lost);
    proto_number(message, PROFILE_PERIOD, 1000000000 / about.rate);
    proto_number(message, PROFILE_TIME, os_wall_ns() - about.on_ns);
    proto_number(message, PROFILE_DURATION, about.on_ns);
    proto_number(message, PROFILE_DEFAULT_TYPE, time);
    proto_number(message, PROFILE_COMMENT, send_comment(writer, print_string(&print)));
    proto_send(message, writer->sink, 0);
}

static void send_cpu_threads(struct writer *writer)
{
    writer->first_thread = writer->strings;
    for (uint32_t number = 0; number < writer->thread_count; number++) {
        char name[TASK_NAME_SIZE + 8] = "";
        writer->threads[number] = THREAD_OTHER;
        if (number != TASK_NONE && tasks_at(number)->state != TASK_FREE) {
            writer->threads[number] = tasks_at(number)->tid;
            tasks_name(tasks_at(number), name);
        }
        send_string(writer, name, strlen(name));
    }
}

static void send_cpu_sample(void *context, const struct cpu_row *row)
{
    struct writer *writer = context;
    uint64_t period_ns = 1000000000 / cpu_rate();
    uint64_t values[] = {(row->ns + period_ns / 2) / period_ns, row->ns};
    put_stack(writer, row->stack);
    proto_packed(&writer->message, SAMPLE_VALUES, values, COUNT_OF(values));
    put_thread(writer, row->task);
    proto_send(&writer->message, writer->sink, PROFILE_SAMPLE);
}
