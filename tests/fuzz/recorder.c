/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a recorder file: no crash and no leak, the same answer twice, and the capture that
 * is made of it reads to its end, with nothing below zero and no peak above what was allocated. It
 * is also read as a profile, added to an earlier part of itself, and written in other formats.
 *
 * A recorder file is at least 64 KiB long, so an input is not the file but a list of changes to one
 * that is empty and right: a byte of flags, then for each change the sheet (kind, and which of its
 * kind), 2 bytes of offset in it, a length, and bytes. Every second input has the checksums of its
 * log made right, which no fuzzer guesses.
 *
 * With PLANT_BUG the target believes the size of a site's blocks, as a careless user would;
 * tests/fuzz/run proves with it that the fuzzer finds such things.
 */
#include "tool/profile/capture/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/crc.h"
#include "tool/profile/capture/capture_records.h"
#include "tool/profile/capture/recorder_told.h"
#include "tool/profile/model.h"
#include "tool/profile/read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SHEETS = 12, OF_KIND = 4, CHANGE_HEAD = 4, MACHINE = 62, CLASSES = 54, MARKS = 69 };
/* What the first byte of an input says; above them, how long the old capture is, and which file is
 * to be written. */
enum { FLAG_REPAIR = 1, FLAG_CUT = 2, FLAG_OLD = 4, FLAGS = 3 };
enum { FIELD_FILL = 0x80 }; /* of a change: all rows of the sheet, not one */

/* The file that an input stands for. */
struct file {
    uint8_t *bytes;
    uint32_t sheets;
    uint32_t at[SHEET_KINDS][OF_KIND]; /* 0: not there */
};

/* What was read of a capture. */
struct state {
    uint64_t sum;
    char *sizes; /* what the planted bug writes to */
};

static void file_make(struct file *file, const uint8_t *data, size_t size);
static void head_make(uint8_t *bytes);
static uint8_t *sheet_at(struct file *file, unsigned kind, unsigned which);
static void change(struct file *file, const uint8_t *data, size_t size);
static void log_repair(struct file *file);
static uint64_t capture_look(const char *capture, size_t size, bool must_be_whole);
static void profile_look(const char *bytes, size_t size);
static void told_look(const char *bytes, size_t size, unsigned which);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file file = {0};
    struct recorder_about about;
    const char *reason;
    uint64_t sums[2] = {0};
    if (size == 0)
        return 0;
    file_make(&file, data, size);
    size_t length = (size_t)file.sheets * RECORDER_SHEET;
    if (data[0] & FLAG_CUT)
        length -= length > RECORDER_SHEET ? RECORDER_SHEET / 2 : 1;
    char *bytes = malloc(length); /* so that one byte more is an error */
    must(bytes != NULL);
    memcpy(bytes, file.bytes, length);
    free(file.bytes);

    bool described = recorder_describe(bytes, length, &about, &reason);
    must(described == (reason == NULL));
    must(!described || memchr(about.capture, 0, sizeof about.capture) != NULL);
    for (unsigned i = 0; i < 2; i++) {
        size_t made = 0, longer = 0;
        char *capture = recorder_capture(bytes, length, NULL, 0, &made, &reason);
        must((capture != NULL) == described && described == (reason == NULL));
        if (capture == NULL)
            continue;
        sums[i] = capture_look(capture, made, !(data[0] & FLAG_REPAIR)) + made;
        if (data[0] & FLAG_OLD) { /* the process's own capture, which ends anywhere */
            char *whole = recorder_capture(bytes, length, capture, made * (data[0] >> FLAGS) / 32,
                                           &longer, &reason);
            must(whole != NULL);
            sums[i] += capture_look(whole, longer, !(data[0] & FLAG_REPAIR));
            free(whole);
        }
        free(capture);
    }
    must(sums[0] == sums[1]);
    if (described)
        told_look(bytes, length, (data[0] >> FLAGS) % RECORDER_TOLD_COUNT);
    profile_look(bytes, length);
    free(bytes);
    return 0;
}

/* ---- from an input to a file ---- */

static void file_make(struct file *file, const uint8_t *data, size_t size)
{
    file->bytes = calloc(SHEETS, RECORDER_SHEET);
    file->sheets = 1;
    must(file->bytes != NULL);
    head_make(file->bytes);
    for (size_t at = 1; size - at >= CHANGE_HEAD;) {
        size_t length = data[at + CHANGE_HEAD - 1], left = size - at - CHANGE_HEAD;
        length = length < left ? length : left;
        change(file, data + at, length);
        at += CHANGE_HEAD + length;
    }
    if (data[0] & FLAG_REPAIR)
        log_repair(file);
}

static void head_make(uint8_t *bytes)
{
    struct recorder_head *head = (struct recorder_head *)bytes;
    memcpy(head->magic, RECORDER_MAGIC, sizeof head->magic);
    head->version = RECORDER_VERSION;
    head->machine = MACHINE;
    head->sheet_bytes = RECORDER_SHEET;
    head->state = RECORDER_READY;
    head->class_count = CLASSES;
    head->mark_count = MARKS;
    for (unsigned i = 1; i < MARKS; i++)
        head->mark_sizes[i] = 16 * i;
}

/* NULL: no more fit. */
static uint8_t *sheet_at(struct file *file, unsigned kind, unsigned which)
{
    if (kind == SHEET_NONE)
        return file->bytes;
    uint32_t *at = &file->at[kind][which];
    if (*at == 0 && file->sheets == SHEETS)
        return NULL;
    if (*at == 0) {
        uint32_t entry = kind | which << 8;
        *at = file->sheets++;
        memcpy(file->bytes + RECORDER_DIRECTORY + *at * sizeof entry, &entry, sizeof entry);
    }
    return file->bytes + (size_t)*at * RECORDER_SHEET;
}

static void change(struct file *file, const uint8_t *data, size_t length)
{
    unsigned kind = (data[0] & 0xf) % SHEET_KINDS, which = data[0] >> 4 & (OF_KIND - 1);
    size_t offset = data[1] | (size_t)data[2] << 8, row = RECORDER_ROW_BYTES(kind);
    uint8_t *sheet = sheet_at(file, kind, which);
    do {
        if (sheet != NULL && offset + length <= RECORDER_SHEET)
            memcpy(sheet + offset, data + CHANGE_HEAD, length);
        offset += row;
    } while ((data[0] & FIELD_FILL) && row > 1 && offset + length <= RECORDER_SHEET);
}

/* The right checksum wherever a record is; in the first sheet of the log. */
static void log_repair(struct file *file)
{
    uint8_t *log = file->bytes + (size_t)file->at[SHEET_LOG][0] * RECORDER_SHEET;
    uint64_t end = ((struct recorder_head *)file->bytes)->log_length;
    if (file->at[SHEET_LOG][0] == 0)
        return;
    end = end < RECORDER_SHEET ? end : RECORDER_SHEET;
    for (size_t at = 0; at <= end && end - at >= FORMAT_RECORD_HEAD;) {
        uint64_t length = format_get(log + at + 4, 4);
        if (length > end - at - FORMAT_RECORD_HEAD)
            format_put(log + at + 4, length = end - at - FORMAT_RECORD_HEAD, 4);
        uint32_t crc = crc_add(crc_add(0, log + at, 8), log + at + FORMAT_RECORD_HEAD, length);
        format_put(log + at + 8, crc, 4);
        at += FORMAT_RECORD_HEAD + length;
    }
}

/* ---- what is made of it ---- */

static void sum_look(struct state *state, const struct capture_sum *part,
                     const struct capture_sum *all)
{
    must(part->objects <= all->objects && part->usable <= all->usable);
    state->sum = state->sum * 31 + part->objects + 7 * part->usable;
}

static void on_row(void *context, const struct capture_row *row)
{
    struct state *state = context;
#ifdef PLANT_BUG
    state->sizes[row->size] = 1;
#endif
    must(row->rate >= 0 && row->weight >= 1);
    sum_look(state, &row->live, &row->allocated);
    sum_look(state, &row->peak, &row->allocated);
}

static void on_totals(void *context, const struct capture_totals *totals)
{
    sum_look(context, &totals->live, &totals->allocated);
    sum_look(context, &totals->peak, &totals->allocated);
}

/* What the log holds goes into the capture as it is: only with made up checksums it may lie. */
static uint64_t capture_look(const char *capture, size_t size, bool must_be_whole)
{
    static const struct capture_calls calls = {.row = on_row, .totals = on_totals};
    struct state state = {.sizes = malloc(64)};
    struct capture_error error;
    enum capture_result result = capture_read(capture, size, &calls, &state, &error);
    if (must_be_whole && result != CAPTURE_WHOLE)
        fprintf(stderr, "%s, at byte %zu\n", error.reason, (size_t)error.offset);
    must(!must_be_whole || result == CAPTURE_WHOLE);
    free(state.sizes);
    return state.sum + crc_add(0, capture, size);
}

static void profile_look(const char *bytes, size_t size)
{
    struct read_input input = {.name = "fuzz", .bytes = bytes, .size = size};
    struct read_error error = {0};
    struct profile profile;
    profile_start(&profile);
    if (profile_read(&profile, &input, &error)) {
        for (size_t i = 0; i < profile.samples.count; i++)
            must(profile.samples.stacks[i] < profile.stacks.count);
    } else {
        must(error.reason[0] != 0);
    }
    profile_free(&profile);
}

static void told_look(const char *bytes, size_t size, unsigned which)
{
    struct recorder_told told[RECORDER_TOLD_COUNT];
    char *text = NULL;
    size_t length = 0;
    const char *reason = NULL;
    must(recorder_told(bytes, size, told));
    for (unsigned i = 0; i < RECORDER_TOLD_COUNT; i++)
        must(memchr(told[i].path, 0, sizeof told[i].path) != NULL);
    recorder_told_live(bytes, size);
    FILE *file = open_memstream(&text, &length);
    must(file != NULL);
    must(recorder_told_write(bytes, size, which, file, &reason));
    fclose(file);
    must(length > 0);
    free(text);
}
