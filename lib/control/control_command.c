/* SPDX-License-Identifier: MIT */
/*
 * The protocol: a line in, text out. One row a verb. Answers are lines "key:value", readable for
 * people and scripts; an error is one line "error: ..." that says what to do. After the error of a
 * dump, its file and the cause follow in lines of their own.
 *
 * No command names a file: a dump goes where the program was told to put dumps, or to a file that
 * the client itself has opened.
 */
#include "lib/control/control.h"

#include <errno.h>
#include <string.h>

#include "base/attach_protocol.h"
#include "base/compiler.h"
#include "base/config.h"
#include "base/config_value.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/leaks.h"
#include "lib/control/request.h"
#include "lib/control/stats.h"
#include "lib/cpu/cpu.h"
#include "lib/dump/dump.h"
#include "lib/heap/observer.h"

static int verb_dump(struct request *request);
static int verb_help(struct request *request);
static int verb_leaks(struct request *request);
static int verb_mark(struct request *request);
static int verb_purge(struct request *request);
static int verb_rate(struct request *request);
static int verb_record(struct request *request);
static int verb_reset(struct request *request);
static int verb_set(struct request *request);
static int verb_show(struct request *request);
static int verb_snapshot(struct request *request);
static int verb_start(struct request *request);
static int verb_stats(struct request *request);
static int verb_stop(struct request *request);
static int verb_version(struct request *request);

static const struct {
    const char *name, *argument, *brief;
    int (*run)(struct request *request);
} verbs[] = {
    {"cpu", "[start|stop|rate|reset|dump]", "the CPU profile", request_cpu},
    {"dump", "[FORMAT]", "write the heap profile now", verb_dump},
    {"help", "", "these lines", verb_help},
    {"leaks", "[MS]", "look for lost blocks, after MS ms of watching writes", verb_leaks},
    {"locks", "[start|stop|reset]", "waits for locks", request_locks},
    {"mark", "NAME", "name this moment in the capture", verb_mark},
    {"purge", "", "return idle memory to the kernel", verb_purge},
    {"rate", "[BYTES]", "mean bytes between samples; 0: every block", verb_rate},
    {"record", "[stop]", "begin a capture in the client's file; end it", verb_record},
    {"reset", "", "forget what was recorded", verb_reset},
    {"set", "KEY=VALUE", "change an option", verb_set},
    {"show", "[KEY]", "options and their values", verb_show},
    {"snapshot", "", "write the profile into the capture now", verb_snapshot},
    {"start", "[BYTES]", "record blocks, at a rate", verb_start},
    {"stats", "", "the allocator's and the profile's numbers", verb_stats},
    {"stop", "", "record no more blocks", verb_stop},
    {"version", "", "of the library", verb_version},
};

int control_command(const char *line, size_t length, int fd, struct sink *sink)
{
    struct word all = request_trim(line, length);
    size_t verb = 0;
    while (verb < all.length && (unsigned char)all.text[verb] > ' ')
        verb++;
    struct request request = {request_trim(all.text + verb, all.length - verb), fd, sink};
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (!config_value_is(all.text, verb, verbs[i].name))
            continue;
        if (verbs[i].argument[0] == '\0' && request.argument.length > 0)
            return request_refuse_value(&request, EINVAL, verbs[i].name,
                                        " takes no argument, but got", "");
        return verbs[i].run(&request);
    }
    return request_refuse(&request, ATTACH_NO_VERB, "no verb", (struct word){all.text, verb},
                          "; 'help' lists them");
}

bool control_keeps_file(const char *line, size_t length)
{
    struct word all = request_trim(line, length);
    return config_value_is(all.text, all.length, "record");
}

struct word request_trim(const char *text, size_t length)
{
    while (length > 0 && (unsigned char)text[0] <= ' ') {
        text++;
        length--;
    }
    while (length > 0 && (unsigned char)text[length - 1] <= ' ')
        length--;
    return (struct word){text, length};
}

/* "error: TEXT 'WORD'REST"; control characters from the client are replaced. */
int request_refuse(struct request *request, int error, const char *text, struct word word,
                   const char *rest)
{
    enum { WORD_MAX = 60 };
    char buffer[WORD_MAX + 8];
    struct print quoted;
    print_start(&quoted, buffer, sizeof buffer);
    print_clean(&quoted, word.text, word.length, WORD_MAX);
    if (word.length == 0)
        sink_format(request->out, "error: %s%s\n", text, rest);
    else
        sink_format(request->out, "error: %s '%s'%s\n", text, print_string(&quoted), rest);
    return error;
}

int request_refuse_value(struct request *request, int error, const char *name, const char *verb,
                         const char *rest)
{
    char buffer[96];
    struct print text;
    print_start(&text, buffer, sizeof buffer);
    print_format(&text, "%s%s", name, verb);
    return request_refuse(request, error, print_string(&text), request->argument, rest);
}

static int verb_help(struct request *request)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        sink_format(request->out, "%s%s%s: %s\n", verbs[i].name, verbs[i].argument[0] ? " " : "",
                    verbs[i].argument, verbs[i].brief);
    return 0;
}

static int verb_version(struct request *request)
{
    sink_format(request->out, "version:%s\n", MEMOIR_VERSION);
    return 0;
}

static const struct config_option *find_option(struct word key)
{
    for (size_t i = 0; i < CONFIG_COUNT; i++)
        if (config_value_is(key.text, key.length, config_options[i].key))
            return &config_options[i];
    return NULL;
}

/* Updates the fields of `config` that change by other means than `set`. */
static void refresh(void)
{
    config.heap = control_active();
    config.heap_rate = (size_t)control_rate();
}

static void show(struct request *request, const struct config_option *option)
{
    char buffer[CONFIG_PATH_SIZE + 64];
    struct print value;
    print_start(&value, buffer, sizeof buffer);
    config_value_print(&config, option, &value);
    sink_format(request->out, "%s:%s\n", option->key, print_string(&value));
}

static int verb_show(struct request *request)
{
    refresh();
    if (request->argument.length > 0) {
        const struct config_option *option = find_option(request->argument);
        if (option == NULL)
            return request_refuse(request, ATTACH_NO_OPTION, "no option", request->argument,
                                  "; 'show' lists them");
        show(request, option);
        return 0;
    }
    for (size_t i = 0; i < CONFIG_COUNT; i++)
        show(request, &config_options[i]);
    return 0;
}

/* Applies a new value of an option. */
static int change(struct request *request, const struct config_option *option, struct word value)
{
    const struct control_row *row = NULL;
    for (size_t i = 0; i < control_rows_count; i++)
        if (strcmp(control_rows[i].key, option->key) == 0)
            row = &control_rows[i];
    if (row == NULL)
        return request_refuse(
            request, EPERM, option->key, (struct word){"", 0},
            " can't change while the program runs: set it in the variable MEMOIR or in a file of "
            "options, and start the program again");
    refresh();
    if (!config_value_parse(&config, option, value.text, value.length)) {
        char buffer[160];
        struct print accepted;
        print_start(&accepted, buffer, sizeof buffer);
        print_text(&accepted, ", accepted: ");
        config_value_accepted(option, &accepted);
        request->argument = value;
        return request_refuse_value(request, EINVAL, option->key,
                                    value.length > 0 ? CANT_BE : " needs a value",
                                    print_string(&accepted));
    }
    row->apply();
    show(request, option);
    return 0;
}

static int verb_set(struct request *request)
{
    struct word argument = request->argument;
    size_t at = 0;
    while (at < argument.length && argument.text[at] != '=' && argument.text[at] != ':')
        at++;
    if (at == argument.length)
        return request_refuse_value(request, EINVAL, "set",
                                    argument.length == 0 ? " needs KEY=VALUE"
                                                         : " needs KEY=VALUE, but got",
                                    "; 'show' lists them");
    struct word key = request_trim(argument.text, at);
    struct word value = request_trim(argument.text + at + 1, argument.length - at - 1);
    const struct config_option *option = find_option(key);
    if (option == NULL)
        return request_refuse(request, ATTACH_NO_OPTION, "no option", key, "; 'show' lists them");
    return change(request, option, value);
}

/* A rate as the option heap.rate is written. */
static int parse_rate(struct request *request, int64_t *rate)
{
    struct config parsed;
    if (!config_value_parse(&parsed, &config_options[CONFIG_INDEX_heap_rate],
                            request->argument.text, request->argument.length))
        return request_refuse_value(
            request, EINVAL, "rate", CANT_BE,
            ": write a number of bytes, such as 512K; 0 records every block");
    *rate = (int64_t)parsed.heap_rate;
    return 0;
}

static void show_heap(struct request *request)
{
    refresh();
    show(request, &config_options[CONFIG_INDEX_heap]);
    show(request, &config_options[CONFIG_INDEX_heap_rate]);
}

static int verb_start(struct request *request)
{
    int64_t rate = -1;
    int error = request->argument.length > 0 ? parse_rate(request, &rate) : 0;
    if (error != 0)
        return error;
    control_start(rate);
    show_heap(request);
    return 0;
}

static int verb_stop(struct request *request)
{
    control_stop();
    show_heap(request);
    return 0;
}

static int verb_rate(struct request *request)
{
    int64_t rate = -1;
    int error = request->argument.length > 0 ? parse_rate(request, &rate) : 0;
    if (error != 0)
        return error;
    control_set_rate(rate);
    show_heap(request);
    return 0;
}

static int verb_reset(struct request *request)
{
    control_reset();
    sink_text(request->out, "reset:done\n");
    return 0;
}

static int verb_purge(struct request *request)
{
    sink_format(request->out, "purged:%zu\n", cold_trim());
    return 0;
}

/* Appends all bytes of one file to another. */
static int file_copy(int from, int to)
{
    char part[4096], buffer[4096];
    struct sink sink;
    ssize_t got = 0;
    sink_to_fd(&sink, to, buffer, sizeof buffer);
    for (uint64_t at = 0; sink.error == 0 && (got = os_read_at(from, part, sizeof part, at)) > 0;
         at += (uint64_t)got)
        sink_bytes(&sink, part, (size_t)got);
    return got < 0 ? (int)-got : sink_flush(&sink);
}

/*
 * A dump to a file of the client's. It is made in memory first: writing to the client's file may
 * take long, or never end, and a thread that makes a dump holds a lock that the program's other
 * dumps wait for, also the one at its end.
 */
static int dump_for_client(const struct dump_style *style, int fd)
{
    int memory = os_memory_file("memoir dump");
    if (memory < 0)
        return dump_to_fd(style, DUMP_OUTSIDE, fd);
    int error = dump_to_fd(style, DUMP_OUTSIDE, memory);
    if (error == 0)
        error = file_copy(memory, fd);
    os_close(memory);
    return error;
}

int request_dump(struct request *request, enum dump_source source)
{
    struct dump_style style = control_memoir;
    style.source = source;
    if (request->argument.length > 0) {
        struct config parsed;
        if (!config_value_parse(&parsed, &config_options[CONFIG_INDEX_dump_format],
                                request->argument.text, request->argument.length))
            return request_refuse_value(request, EINVAL, "the format of a dump", CANT_BE,
                                        ": write memoir, pprof, jemalloc or gperftools");
        style.format = control_format(parsed.dump_format);
    }
    char name[DUMP_NAME_SIZE] = "";
    int error = request->fd >= 0 ? dump_for_client(&style, request->fd)
                                 : dump_write(&style, DUMP_OUTSIDE, NULL, NULL, name);
    if (error != 0) {
        char buffer[200];
        struct print text;
        print_start(&text, buffer, sizeof buffer);
        if (request->fd >= 0)
            dump_advice(&text, NULL, error);
        else
            dump_cause(&text,
                       error); /* dump.prefix can't change now: the client has other advice */
        sink_format(request->out, "error: no dump%s%s: %s\n", name[0] ? " " : "", name,
                    print_string(&text));
        if (name[0] != '\0')
            sink_format(request->out, "dump:%s\ncause:%s\n", name, print_string(&text));
        return error;
    }
    if (request->fd < 0)
        sink_format(request->out, "dump:%s\n", name);
    return 0;
}

static int verb_dump(struct request *request)
{
    return request_dump(request, SOURCE_HEAP);
}

/* ---- lost blocks ---- */

static void show_sum(struct request *request, const char *name, const struct scan_sum *sum)
{
    sink_format(request->out, "leaks.%s_blocks:%lu\nleaks.%s_bytes:%lu\n", name,
                (unsigned long)sum->blocks, name, (unsigned long)sum->bytes);
}

/* To a file of the client's: the profile, with the verdict on each site. */
static int verb_leaks(struct request *request)
{
    struct leak_request wanted = leaks_request();
    bool good = true;
    for (size_t i = 0; good && i < request->argument.length; i++) {
        unsigned digit = (unsigned)(request->argument.text[i] - '0');
        wanted.watch_ms = wanted.watch_ms * 10 + digit;
        good = digit <= 9 && wanted.watch_ms <= 300000;
    }
    if (!good || (request->argument.length > 0 && wanted.watch_ms == 0))
        return request_refuse_value(request, EINVAL, "the time of leaks", CANT_BE,
                                    ": write milliseconds, 1 to 300000");
    const struct leak_scan *scan = leaks_find(&wanted);
    if (scan == NULL) {
        sink_format(request->out, "error: no scan for lost blocks: %s\n", leaks_refusal());
        return EAGAIN;
    }
    show_sum(request, "definite", &scan->result.definite);
    show_sum(request, "indirect", &scan->result.indirect);
    show_sum(request, "possible", &scan->result.possible);
    show_sum(request, "reachable", &scan->result.reachable);
    sink_format(request->out, "leaks.took_us:%lu\nleaks.stood_us:%lu\n",
                (unsigned long)scan->took_us, (unsigned long)scan->stood_us);
    sink_format(request->out, "leaks.own_bytes:%lu\nleaks.copied_bytes:%lu\nleaks.in_place:%u\n",
                (unsigned long)scan->own_bytes, (unsigned long)scan->copied_bytes,
                (unsigned)scan->in_place);
    sink_format(request->out, "leaks.threads:%u\nleaks.silent_threads:%u\nleaks.watched_ms:%u\n",
                scan->threads, scan->silent, scan->watched_ms);
    int error = 0;
    if (request->fd >= 0) {
        struct dump_style style = control_memoir;
        style.format = FORMAT_CAPTURE;
        style.options.leaks = true;
        error = dump_for_client(&style, request->fd);
    }
    leak_last_end();
    return error;
}

static const char no_recording[] =
    ": there is no recording; 'record' begins one, or start the program with capture:PATH";

/* Where the capture goes, or that there is none. */
static int record_show(struct request *request)
{
    sink_format(request->out, "record:%s\n", config.capture[0] == '\0' ? "off" : config.capture);
    return 0;
}

static int record_begin(struct request *request)
{
    char buffer[200];
    struct print text;
    int error = control_record(request->fd);
    if (error == 0)
        return record_show(request);
    print_start(&text, buffer, sizeof buffer);
    dump_advice(&text, NULL, error);
    if (error == EBUSY)
        sink_format(request->out,
                    "error: no second recording: %s is under way; 'record stop' ends it\n",
                    config.capture);
    else
        sink_format(request->out, "error: no recording: %s\n", print_string(&text));
    return error;
}

static int verb_record(struct request *request)
{
    char name[sizeof config.capture];
    if (request->argument.length == 0)
        return request->fd < 0 ? record_show(request) : record_begin(request);
    if (!config_value_is(request->argument.text, request->argument.length, "stop"))
        return request_refuse_value(request, EINVAL, "record", UNKNOWN_WORD,
                                    ": write record, or record stop; the client opens the file");
    memcpy(name, config.capture, sizeof name);
    int error = control_record_stop();
    if (error != 0)
        return request_refuse(request, error, "record", request->argument,
                              ": there is no recording");
    sink_format(request->out, "recorded:%s\n", name);
    return 0;
}

static int verb_mark(struct request *request)
{
    char name[64];
    struct print text;
    if (request->argument.length == 0)
        return request_refuse(request, EINVAL, "mark", request->argument, ": write mark NAME");
    print_start(&text, name, sizeof name);
    print_clean(&text, request->argument.text, request->argument.length, sizeof name - 4);
    int error = control_mark(print_string(&text));
    return error == 0 ? 0 : request_refuse(request, error, "mark", request->argument, no_recording);
}

static int verb_snapshot(struct request *request)
{
    int error = control_snapshot(DUMP_OUTSIDE, NULL);
    return error == 0 ? 0
                      : request_refuse(request, error, "snapshot", request->argument, no_recording);
}

static void number(struct request *request, const char *key, uint64_t value)
{
    sink_format(request->out, "%s:%lu\n", key, (unsigned long)value);
}

static int verb_stats(struct request *request)
{
    struct account account;
    struct track_totals totals = {0};
    struct track_seen seen;
    account_take(&account);
    account_ask_kernel(&account, true);
    track_totals_now(&totals);
    track_seen(&seen);
    number(request, "allocs", account.total.allocs);
    number(request, "frees", account.total.frees);
    number(request, "alloc_bytes", account.total.alloc_bytes);
    number(request, "free_bytes", account.total.free_bytes);
    number(request, "live_blocks", account.live_blocks);
    number(request, "live_bytes", account.live_bytes);
    number(request, "cached_bytes", account.cached_bytes);
    number(request, "fragmented_bytes", account.fragmented_bytes);
    number(request, "dirty_bytes", account.dirty_bytes);
    number(request, "metadata_bytes", account.metadata_bytes);
    number(request, "mapped_bytes", account.mapped_bytes);
    number(request, "resident_bytes", account.resident_bytes);
    number(request, "returned_bytes", account.returned_bytes);
    number(request, "heaps", account.heaps);
    number(request, "profile.samples", seen.allocated);
    number(request, "profile.samples_live", seen.live);
    number(request, "profile.live_bytes", totals.live.usable);
    number(request, "profile.live_requested_bytes", totals.live.requested);
    number(request, "profile.allocated_bytes", totals.allocated.usable);
    number(request, "profile.peak_bytes", totals.peak.usable);
    number(request, "profile.other", seen.other);
    number(request, "profile.lost", seen.lost);
    if (!control_active())
        sink_text(request->out, "profile.sampling:off\n");
    if (track_off_ms() != 0)
        number(request, "profile.off_s", (os_now_ms() - track_off_ms()) / 1000);
    stats_mappings(request->out);
    number(request, "dumps", dumps_written());
    number(request, "dumps_failed", dumps_failed());
    return 0;
}
