/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/elf/unwind_starts.h. The header's table has a row for each function: where it
 * begins, and where its entry in .eh_frame is, which says how long it is. base/cfi.c reads the same
 * of programs that run, where addresses are pointers; here they are places in a file.
 */
#include "tool/symbol/elf/unwind_starts.h"

#include <string.h>

enum {
    HEAD_SIZE = 12,
    ROW_SIZE = 8,
    /* How numbers are written (DW_EH_PE_...). */
    AS_POINTER = 0x00,
    AS_U2 = 0x02,
    AS_U4 = 0x03,
    AS_U8 = 0x04,
    AS_S2 = 0x0a,
    AS_S4 = 0x0b,
    AS_S8 = 0x0c,
    FROM_HEADER = 0x30,
};

/* A place in the tables; behind the end there are zeros. */
struct reader {
    const struct starts *starts;
    size_t at;
    bool out;
};

static size_t size_of(uint64_t encoding);
static uint64_t row_address(const struct starts *starts, size_t row, size_t half);
static uint64_t function_size(const struct starts *starts, uint64_t entry);
static uint64_t read_number(struct reader *reader, size_t size);
static uint64_t encoding_of(const struct starts *starts, size_t common);
static uint64_t read_leb(struct reader *reader);

void starts_open(struct starts *starts, const struct image *image)
{
    uint64_t count = 0;
    memset(starts, 0, sizeof *starts);
    Elf_Data *head = image_section(image, ".eh_frame_hdr", &starts->base);
    Elf_Data *tables = image_section(image, ".eh_frame", &starts->tables_at);
    if (!head || !tables || head->d_size < HEAD_SIZE)
        return;
    const unsigned char *bytes = head->d_buf;
    if (bytes[0] != 1 || size_of(bytes[1]) != 4 || (bytes[2] & 0x0f) != AS_U4 ||
        bytes[3] != (FROM_HEADER | AS_S4))
        return; /* no linker writes others */
    memcpy(&count, bytes + 8, 4);
    if (count > (head->d_size - HEAD_SIZE) / ROW_SIZE)
        return;
    starts->count = count;
    starts->rows = bytes + HEAD_SIZE;
    starts->tables = tables->d_buf;
    starts->tables_size = tables->d_size;
}

/* 0: of no fixed size. */
static size_t size_of(uint64_t encoding)
{
    switch (encoding & 0x0f) {
    case AS_POINTER:
    case AS_U8:
    case AS_S8:
        return 8;
    case AS_U4:
    case AS_S4:
        return 4;
    case AS_U2:
    case AS_S2:
        return 2;
    default:
        return 0;
    }
}

size_t starts_before(const struct starts *starts, uint64_t address)
{
    size_t low = 0, high = starts->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row_address(starts, middle, 0) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Either half of a row, as an address. */
static uint64_t row_address(const struct starts *starts, size_t row, size_t half)
{
    int32_t distance;
    memcpy(&distance, starts->rows + row * ROW_SIZE + half * sizeof distance, sizeof distance);
    return starts->base + (uint64_t)(int64_t)distance;
}

bool starts_find(const struct starts *starts, uint64_t address, uint64_t *start, uint64_t *size)
{
    size_t before = starts_before(starts, address);
    if (before == 0)
        return false;
    *start = row_address(starts, before - 1, 0);
    *size = function_size(starts, row_address(starts, before - 1, 1));
    return *start <= address && address - *start < *size;
}

/* How long the function is whose entry is at an address; 0: it can't be told. */
static uint64_t function_size(const struct starts *starts, uint64_t entry)
{
    struct reader reader = {.starts = starts, .at = entry - starts->tables_at};
    if (entry < starts->tables_at || entry - starts->tables_at >= starts->tables_size)
        return 0;
    uint64_t length = read_number(&reader, 4);
    size_t place = reader.at;
    uint64_t back = read_number(&reader, 4);
    if (reader.out || length >= UINT32_MAX - 16 || back == 0 || back > place)
        return 0;
    size_t size = size_of(encoding_of(starts, place - back));
    if (size == 0)
        return 0;
    reader.at += size;
    uint64_t found = read_number(&reader, size);
    return reader.out ? 0 : found;
}

static uint64_t read_number(struct reader *reader, size_t size)
{
    uint64_t number = 0;
    reader->out |=
        reader->at > reader->starts->tables_size || size > reader->starts->tables_size - reader->at;
    if (!reader->out)
        memcpy(&number, reader->starts->tables + reader->at, size);
    reader->at += size;
    return number;
}

/* How the entries of a common part write addresses; AS_POINTER unless it says otherwise. */
static uint64_t encoding_of(const struct starts *starts, size_t common)
{
    enum { LONGEST = 8 };
    struct reader reader = {.starts = starts, .at = common + 8};
    char letters[LONGEST + 1] = "";
    uint64_t version = read_number(&reader, 1);
    for (unsigned i = 0; i < LONGEST; i++)
        if ((letters[i] = (char)read_number(&reader, 1)) == '\0')
            break;
    read_leb(&reader); /* factors */
    read_leb(&reader);
    if (version == 1)
        read_number(&reader, 1); /* the register */
    else
        read_leb(&reader);
    if (letters[0] != 'z')
        return AS_POINTER;
    read_leb(&reader);
    for (const char *letter = letters + 1; *letter && !reader.out; letter++) {
        if (*letter == 'R')
            return read_number(&reader, 1);
        if (*letter == 'L')
            read_number(&reader, 1);
        if (*letter == 'P')
            read_number(&reader, size_of(read_number(&reader, 1)));
    }
    return AS_POINTER;
}

/* LEB128, signed or not: its value is used for the length of texts alone. */
static uint64_t read_leb(struct reader *reader)
{
    uint64_t number = 0, byte = 0x80;
    for (unsigned shift = 0; byte & 0x80 && shift < 63 && !reader->out; shift += 7) {
        byte = read_number(reader, 1);
        number |= (byte & 0x7f) << shift;
    }
    return number;
}
