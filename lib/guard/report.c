/* SPDX-License-Identifier: MIT */
/*
 * See lib/guard/report.h. All buffers are static, since a signal handler's stack may be small: one
 * report is made at a time, and a second thread with an error waits for the first.
 */
#include "lib/guard/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/alternate.h"
#include "base/compiler.h"
#include "base/config.h"
#include "base/confine.h"
#include "base/file/maps.h"
#include "base/file/sink.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/guard/cells.h"
#include "lib/guard/debug_words.h"
#include "lib/guard/suppress.h"
#include "lib/watch/watch.h"

enum {
    STACKS = 3, /* of the error, the block's start and its end */
    /* A report is static memory, made while the heap is broken: as much as a long report takes. */
    FRAMES = 128,      /* of a stack, in the file */
    FRAMES_SHOWN = 24, /* on standard error, where a report is to fit on a screen */
    MODULES = 256,     /* in the file, with their build ids */
    NAMES = 16 << 10,
    TEXT = 32 << 10,
    WAIT_MS = 2000, /* for the report of another thread */
    ROW = 16,       /* bytes in a row of the picture */
    NAME_SIZE = CONFIG_PATH_SIZE + 64,
};

struct frame {
    uintptr_t pc;
    uint32_t module; /* 0: none */
};

struct stack {
    const char *what; /* one word, for the file */
    struct frame frames[FRAMES];
    unsigned count;
    uint32_t thread;
    uint64_t age_ms;
    char name[TASK_NAME_SIZE];
    bool known;
};

struct module {
    uint64_t start, end, offset;
    uint32_t path; /* in `names` */
    uint8_t id[MAPS_ID_MAX], id_length;
};

static uint32_t turn;
static struct report_counts counts;
static BULK struct stack stacks[STACKS];
static BULK struct module modules[MODULES];
static unsigned modules_count;
static BULK char names[NAMES];
static size_t names_used;
static BULK char text[TEXT];
static BULK struct maps maps;
static char file_name[NAME_SIZE];
static bool with_names; /* the frames of the report have names */

static void stacks_gather(const struct guard_report *report);
static void modules_gather(void);
static bool is_suppressed(void);
static void tell(const struct guard_report *report);
static int file_write(const struct guard_report *report, const char *words);
static void headline(struct print *out, const struct guard_report *report);
static void name_print(struct print *out, uintptr_t pc);

/* Arrays without pointers, here and below: these would be pages that each process writes to. */
static const char error_words[GUARD_ERRORS][16] = {
    "overflow",       "underflow",       "use-after-free",  "wild-access",
    "damaged-bounds", "double-free",     "call-after-free", "interior-free",
    "invalid-free",   "mixed-functions", "wrong-size",      "use-after-free",
};

bool report_make(const struct guard_report *report)
{
    bool taken = turn_wait(&turn, WAIT_MS);
    __atomic_fetch_add(&counts.errors, 1, __ATOMIC_RELAXED);
    if (!taken)
        return true;
    stacks_gather(report);
    modules_gather();
    bool suppressed = !report->ends && suppress_any() && is_suppressed();
    if (suppressed)
        __atomic_fetch_add(&counts.suppressed, 1, __ATOMIC_RELAXED);
    else if (!report->again)
        tell(report);
    turn_give(&turn);
    return !suppressed;
}

struct report_counts report_counts(void)
{
    return (struct report_counts){load_relaxed(&counts.errors), load_relaxed(&counts.suppressed)};
}

bool report_may_name(void)
{
    enum { ROOM = 32 << 10 }; /* `code_name_find` has a line of maps, a path and symbols there */
    return alternate_has((uintptr_t)__builtin_frame_address(0), ROOM);
}

/* By a frame of the error's own stack, or of the allocation's; by files alone if there is no room
 * to look for functions. */
static bool is_suppressed(void)
{
    bool named = report_may_name();
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < stacks[i].count; k++) {
            const struct frame *frame = &stacks[i].frames[k];
            const char *path = frame->module == 0 ? "" : names + modules[frame->module - 1].path;
            if (suppress_fits(frame->pc, path, named))
                return true;
        }
    return false;
}

void report_forked(void)
{
    store_relaxed(&turn, 0);
}

const char *report_family(unsigned family, bool frees)
{
    static const char words[FAMILY_COUNT][2][10] = {
        {"malloc", "free"}, {"new", "delete"}, {"new []", "delete []"}};
    return words[family < FAMILY_COUNT ? family : 0][frees];
}

/* ---- what is known ------------------------------------------------------------------------ */

static void stack_event(struct stack *stack, const char *what, const struct cell_event *event)
{
    uintptr_t pcs[FRAMES];
    stack->what = what;
    stack->known = true;
    stack->thread = event->thread;
    stack->age_ms = os_now_ms() - event->time_ms;
    stack->count = stacks_frames(event->stack, pcs, FRAMES);
    stack->count = stack->count > FRAMES ? FRAMES : stack->count;
    for (unsigned i = 0; i < stack->count; i++)
        stack->frames[i] = (struct frame){pcs[i], 0};
}

static void stacks_gather(const struct guard_report *report)
{
    const struct cell *cell = report->cell;
    const struct walk *now = report->now;
    bool access = report->error <= GUARD_WILD;
    memset(stacks, 0, sizeof stacks);
    stacks[0] = (struct stack){
        .what = access ? "accessed" : "found", .known = true, .thread = report->thread};
    unsigned frames = now == NULL ? 0 : now->count < FRAMES ? now->count : FRAMES;
    for (unsigned i = 0; i < frames; i++)
        stacks[0].frames[i] = (struct frame){now->pcs[now->count - 1 - i], 0};
    stacks[0].count = frames;
    if (cell != NULL && cell->born.thread != 0)
        stack_event(&stacks[1], "allocated", &cell->born);
    if (cell != NULL && cell->state == CELL_FREED)
        stack_event(&stacks[2], "freed", &cell->died);
    for (unsigned i = 0; i < STACKS && !confined(CONFINE_OPEN); i++)
        if (stacks[i].known)
            tasks_name_of((pid_t)stacks[i].thread, stacks[i].name);
}

static bool module_used(const struct map *map)
{
    bool used = false;
    for (unsigned i = 0; i < STACKS; i++)
        for (unsigned k = 0; k < stacks[i].count; k++)
            if (stacks[i].frames[k].pc - 1 - map->start < map->end - map->start) {
                stacks[i].frames[k].module = modules_count + 1;
                used = true;
            }
    return used;
}

/* The files that the code of the stacks is in. */
static void modules_gather(void)
{
    struct map map;
    modules_count = 0;
    names_used = 1;
    if (confined(CONFINE_OPEN) || !maps_open(&maps))
        return;
    while (maps_next(&maps, &map)) {
        uint8_t id[MAPS_ID_MAX];
        unsigned length = maps_build_id(&maps, &map, id);
        size_t path = strlen(map.path) + 1;
        if (!map.executable || modules_count == MODULES || names_used + path > NAMES ||
            !module_used(&map))
            continue;
        struct module *module = &modules[modules_count++];
        *module = (struct module){map.start, map.end,        map.offset, (uint32_t)names_used,
                                  {0},       (uint8_t)length};
        memcpy(module->id, id, length);
        memcpy(names + names_used, map.path, path);
        names_used += path;
    }
    maps_close(&maps);
}

/* ---- on standard error -------------------------------------------------------------------- */

static void age_print(struct print *out, uint64_t ms)
{
    if (ms == 0) {
        print_text(out, "less than 1 ms before");
        return;
    }
    print_decimal(out, ms, 3);
    print_text(out, " s before");
}

static void stack_print(struct print *out, const struct stack *stack)
{
    print_format(out, "  %s by thread %u", stack->what, stack->thread);
    if (stack->name[0] != '\0') {
        print_text(out, " (");
        print_clean(out, stack->name, strnlen(stack->name, TASK_NAME_SIZE), TASK_NAME_SIZE);
        print_char(out, ')');
    }
    if (stack != &stacks[0]) {
        print_text(out, ", ");
        age_print(out, stack->age_ms);
    }
    print_text(out, stack->count == 0 ? ": no stack is known\n" : "\n");
    for (unsigned i = 0; i < stack->count && i < FRAMES_SHOWN; i++) {
        const struct frame *frame = &stack->frames[i];
        print_format(out, "    #%u %p", i, (void *)(frame->pc - 1));
        if (with_names)
            name_print(out, frame->pc);
        if (frame->module != 0) {
            const struct module *module = &modules[frame->module - 1];
            print_text(out, "  ");
            print_clean(out, names + module->path, strlen(names + module->path), 200);
            print_format(out, "+0x%lx",
                         (unsigned long)(frame->pc - 1 - module->start + module->offset));
        }
        print_char(out, '\n');
    }
    if (stack->count > FRAMES_SHOWN)
        print_format(out, "    ... %u more\n", stack->count - FRAMES_SHOWN);
}

/* Not in a signal handler, whose stack may be small. */
static void name_print(struct print *out, uintptr_t pc)
{
    struct code_name name;
    code_name_find(pc, &name);
    if (name.function[0] == '\0')
        return;
    code_name_demangle(&name);
    print_char(out, ' ');
    print_clean(out, name.function, strlen(name.function), sizeof name.function);
}

/* Bytes around a live block's end, or its start. */
static void picture_print(struct print *out, const struct guard_report *report)
{
    const struct cell *cell = report->cell;
    bool own = cell != NULL && !cells_own((void *)cell->start); /* debugged, words around it */
    if (cell == NULL || (own && cell->born.thread == 0) ||
        (!own && (cell->pages == 0 || cell->opened ||
                  (cell->state != CELL_LIVE && cell->state != CELL_BUSY))))
        return;
    uintptr_t low = (cell->start & ~(uintptr_t)(os_page_size() - 1));
    uintptr_t high = low + cell->pages * os_page_size(), middle = report->address;
    if (own) {
        low = cell->start - DEBUG_WORDS;
        high = (cell->start + cell->size + DEBUG_WORDS) & ~(uintptr_t)(ROW - 1);
    }
    if (middle < low || middle >= high)
        middle = middle < cell->start ? cell->start : cell->start + cell->size - 1;
    uintptr_t from = (middle & ~(uintptr_t)(ROW - 1)) - 2 * ROW;
    from = from < low ? low : from;
    print_text(out, "  bytes (the block's own in brackets)\n");
    for (uintptr_t row = from; row < from + 5 * ROW && row < high; row += ROW) {
        print_format(out, "    %p ", (void *)row);
        for (uintptr_t at = row; at < row + ROW; at++) {
            uint8_t byte = *(const uint8_t *)at;
            bool first = at == cell->start, last = at + 1 == cell->start + cell->size;
            print_char(out, first ? '[' : ' ');
            print_char(out, "0123456789abcdef"[byte >> 4]);
            print_char(out, "0123456789abcdef"[byte & 15]);
            if (last)
                print_char(out, ']');
        }
        print_char(out, '\n');
    }
}

static void neighbour_print(struct print *out, const char *where, const struct cell *cell)
{
    static const char states[][12] = {"", "busy", "unused now", "live", "freed"};
    if (cell == NULL || cell->born.thread == 0)
        return;
    print_format(out, "  %s it: a block of %zu bytes at %p, %s\n", where, cell->size,
                 (void *)cell->start, states[cell->state]);
}

static void tell(const struct guard_report *report)
{
    struct print out;
    print_start(&out, text, sizeof text);
    with_names =
        config.debug && config.debug_names && report->error > GUARD_WILD && report_may_name();
    if (report->error == GUARD_WRITTEN)
        debug_details(&out, report);
    size_t from = print_length(&out);
    if (!debug_headline(&out, report))
        headline(&out, report);
    size_t words = print_length(&out) - from;
    static char line[512];
    struct print first;
    print_start(&first, line, sizeof line);
    print_bytes(&first, text + from, words);
    int error = file_write(report, print_string(&first));
    bool elsewhere = !config.guard_stacks && error == 0 && file_name[0] != '\0';
    print_char(&out, '\n');
    for (unsigned i = 0; i < STACKS && !elsewhere; i++)
        if (stacks[i].known)
            stack_print(&out, &stacks[i]);
    picture_print(&out, report);
    if (report->cell != NULL && cells_own((void *)report->cell->start)) {
        neighbour_print(&out, "before", cells_before(report->cell));
        neighbour_print(&out, "behind", cells_after(report->cell));
    }
    if (error != 0)
        print_format(&out, "  no report file: %s (error %d); guard.file:PATH puts it elsewhere\n",
                     error == ENOSPC  ? "the disk is full"
                     : error == EFBIG ? "the limit on the size of files"
                                      : "it can't be made here",
                     error);
    else if (file_name[0] != '\0' && !elsewhere)
        print_format(&out, "  names and lines: memoir guard %s\n", file_name);
    store_relaxed(&confine_denied, load_relaxed(&confine_denied) & ~(uint32_t)CONFINE_MESSAGES);
    message_flush(&out);
}

/* Where an address lies: before a block, in it, or behind it. */
static void place(struct print *out, uintptr_t start, size_t size, uintptr_t address,
                  const char *what)
{
    uintptr_t end = start + size;
    bool inside = address >= start && address < end;
    print_format(out, "%zu bytes %s %s of %zu bytes at %p",
                 address < start ? start - address : address - (inside ? start : end),
                 address < start ? "before"
                 : inside        ? "into"
                                 : "behind",
                 what, size, (void *)start);
}

/* The first line. For errors of frees it is the one that is said without a guard, too. */
static void headline(struct print *out, const struct guard_report *report)
{
    const struct cell *cell = report->cell;
    const void *address = (void *)report->address;
    const char *access = report->wrote > 0 ? "write" : report->wrote == 0 ? "read" : "access";
    size_t size = cell == NULL ? 0 : cell->size;
    uintptr_t start = cell == NULL ? 0 : cell->start, end = start + size;
    uint8_t family = cell == NULL ? 0 : cell->family;
    switch (report->error) {
    case GUARD_OVERFLOW:
        print_format(out, "memoir: guard: overflow: %s at %p, %zu bytes behind the end", access,
                     address, (size_t)(report->address - end));
        break;
    case GUARD_UNDERFLOW:
        print_format(out, "memoir: guard: underflow: %s at %p, %zu bytes before the start", access,
                     address, (size_t)(start - report->address));
        break;
    case GUARD_USE_AFTER_FREE:
        print_format(out, "memoir: guard: use after free: %s at %p, ", access, address);
        place(out, start, size, report->address, "a freed block");
        return;
    case GUARD_DAMAGE:
        print_format(
            out, "memoir: guard: %s: %p was written to, %zu bytes %s",
            report->address < start ? "underflow" : "overflow", address,
            (size_t)(report->address < start ? start - report->address : report->address - end),
            report->address < start ? "before the start" : "behind the end");
        break;
    case GUARD_DOUBLE_FREE:
        print_format(out, "memoir: double free of %p (block of %zu bytes): it is free already",
                     address, size);
        return;
    case GUARD_FREED:
        print_format(out, "memoir: %s of %p (block of %zu bytes), which is free already",
                     report->call, address, size);
        return;
    case GUARD_INTERIOR:
        print_format(out,
                     "memoir: %s of %p, which is inside a block: %zu bytes into the block of %zu "
                     "bytes at %p",
                     report->call, address, (size_t)(report->address - start), size, (void *)start);
        return;
    case GUARD_MIXED:
        print_format(out, "memoir: guard: %s of %p, which was allocated with %s; it is the start",
                     report_family(report->family, true), address, report_family(family, false));
        break;
    case GUARD_SIZE:
        print_format(out,
                     "memoir: guard: delete of %p with size %zu, which is not its own; it is the "
                     "start",
                     address, report->size);
        break;
    case GUARD_WILD:
        print_format(out, "memoir: guard: %s at %p, where no block is", access, address);
        return;
    default:
        print_format(out, "memoir: %s of %p, which was never handed out", report->call, address);
        if (cell == NULL || cell->born.thread == 0)
            return;
        print_text(out, ": it is ");
        place(out, start, size, report->address,
              cell->state == CELL_FREED ? "a freed block" : "a live block");
        return;
    }
    print_format(out, " of a block of %zu bytes at %p", size, (void *)start);
}

/* ---- the file ----------------------------------------------------------------------------- */

static void json_string(struct sink *sink, const char *bytes)
{
    sink_text(sink, "\"");
    for (; *bytes != '\0'; bytes++) {
        unsigned char c = (unsigned char)*bytes;
        if (c == '"' || c == '\\')
            sink_format(sink, "\\%c", c);
        else if (c < ' ' || c >= 127)
            sink_format(sink, "\\u00%c%c", "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]);
        else
            sink_bytes(sink, bytes, 1);
    }
    sink_text(sink, "\"");
}

static void json_stack(struct sink *sink, const struct stack *stack)
{
    sink_format(sink, "{\"what\":\"%s\",\"thread\":%u,\"name\":", stack->what, stack->thread);
    json_string(sink, stack->name);
    sink_format(sink, ",\"age_ms\":%lu,\"frames\":[", (unsigned long)stack->age_ms);
    for (unsigned i = 0; i < stack->count; i++)
        sink_format(sink, "%s\"0x%lx\"", i == 0 ? "" : ",", (unsigned long)stack->frames[i].pc);
    sink_text(sink, "]}");
}

static void json_module(struct sink *sink, const struct module *module)
{
    sink_format(sink, "{\"start\":\"0x%lx\",\"end\":\"0x%lx\",\"offset\":\"0x%lx\",\"build_id\":\"",
                (unsigned long)module->start, (unsigned long)module->end,
                (unsigned long)module->offset);
    for (unsigned i = 0; i < module->id_length; i++)
        sink_format(sink, "%c%c", "0123456789abcdef"[module->id[i] >> 4],
                    "0123456789abcdef"[module->id[i] & 15]);
    sink_text(sink, "\",\"path\":");
    json_string(sink, names + module->path);
    sink_text(sink, "}");
}

static void json_write(struct sink *sink, const struct guard_report *report, const char *words)
{
    char program[256] = "";
    ssize_t length = os_link("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    sink_text(sink, "{\"schema\":\"memoir.guard/1\",\"program\":");
    json_string(sink, program);
    sink_format(sink, ",\"pid\":%d,\"error\":\"%s\",\"access\":\"%s\",\"address\":\"0x%lx\"",
                (int)os_pid(), error_words[report->error],
                report->wrote > 0    ? "write"
                : report->wrote == 0 ? "read"
                                     : "",
                (unsigned long)report->address);
    if (report->cell != NULL)
        sink_format(sink,
                    ",\"block\":{\"start\":\"0x%lx\",\"size\":%lu,\"state\":\"%s\","
                    "\"by\":\"%s\"}",
                    (unsigned long)report->cell->start, (unsigned long)report->cell->size,
                    report->cell->state == CELL_FREED ? "freed" : "live",
                    report_family(report->cell->family, false));
    sink_text(sink, ",\"text\":");
    json_string(sink, words);
    sink_text(sink, ",\n\"stacks\":[");
    for (unsigned i = 0, any = 0; i < STACKS; i++) {
        if (!stacks[i].known)
            continue;
        sink_text(sink, any++ ? ",\n" : "");
        json_stack(sink, &stacks[i]);
    }
    sink_text(sink, "],\n\"modules\":[");
    for (unsigned i = 0; i < modules_count; i++) {
        sink_text(sink, i == 0 ? "" : ",\n");
        json_module(sink, &modules[i]);
    }
    sink_text(sink, "]}\n");
}

static int file_make(const char *temporary, const struct guard_report *report, const char *words)
{
    static char buffer[1024];
    struct sink sink;
    int fd = os_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -fd;
    sink_to_fd(&sink, fd, buffer, sizeof buffer);
    json_write(&sink, report, words);
    int error = sink_flush(&sink);
    os_close(fd);
    if (error == 0)
        error = -os_rename(temporary, file_name, true);
    if (error != 0)
        os_unlink(temporary);
    return error;
}

/* Under a temporary name, which it loses when it is whole. 0, or an errno value; then there is no
 * name, nor is there one where no file may be made. */
static int file_write(const struct guard_report *report, const char *words)
{
    static char temporary[NAME_SIZE + 8];
    struct print name;
    struct os_signals signals;
    const char *prefix = config.guard_file[0] == '\0' ? "memoir-guard" : config.guard_file;
    file_name[0] = '\0';
    if (confined(CONFINE_OPEN | CONFINE_FILES))
        return 0;
    print_start(&name, temporary, sizeof temporary);
    print_format(&name, "%s-%d-%lu.json.tmp", prefix, (int)os_pid(),
                 (unsigned long)load_relaxed(&counts.errors));
    print_string(&name);
    size_t length = strlen(temporary) - strlen(".tmp");
    memcpy(file_name, temporary, length);
    file_name[length] = '\0';
    os_signals_hold(&signals); /* the limit on the size of files would end the program otherwise */
    int error = file_make(temporary, report, words);
    os_signals_release(&signals);
    if (error != 0)
        file_name[0] = '\0';
    return error;
}
