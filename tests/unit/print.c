/* SPDX-License-Identifier: MIT */
/*
 * The formatter: each conversion against what it promises, every one of them against every buffer
 * that is too small, numbers against printf.
 */
#include "base/print.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char buffer[512];
static struct print print;

static struct print *fresh(void)
{
    memset(buffer, '~', sizeof buffer);
    print_start(&print, buffer, sizeof buffer);
    return &print;
}

static void expect_at(int line, const char *wanted)
{
    const char *got = print_string(&print);
    if (strcmp(got, wanted) != 0 || print.cut) {
        fprintf(stderr, "line %d: got '%s', expected '%s'\n", line, got, wanted);
        exit(1);
    }
}
#define EXPECT(wanted) expect_at(__LINE__, wanted)

static void numbers_match_printf(void)
{
    static const uint64_t values[] = {0,         1, 9, 10, 99, 100, 4096, INT64_MAX, UINT64_MAX - 1,
                                      UINT64_MAX};
    char wanted[200];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        uint64_t value = values[i];
        fresh();
        print_unsigned(&print, value);
        print_char(&print, ' ');
        print_signed(&print, (int64_t)value);
        print_char(&print, ' ');
        print_hex(&print, value);
        snprintf(wanted, sizeof wanted, "%" PRIu64 " %" PRId64 " %" PRIx64, value, (int64_t)value,
                 value);
        EXPECT(wanted);
    }
    print_signed(fresh(), INT64_MIN);
    EXPECT("-9223372036854775808");
    print_decimal(fresh(), 1234, 2);
    EXPECT("12.34");
    print_decimal(fresh(), 5, 3);
    EXPECT("0.005");
    print_decimal(fresh(), 70, 0);
    EXPECT("70");
    print_decimal(fresh(), UINT64_MAX, 19);
    EXPECT("1.8446744073709551615");
}

static void formats_match_printf(void)
{
    char wanted[400];
    int here = 0;
    fresh();
#define ARGUMENTS                                                                         \
    "%s|%c|%d|%u|%x|%ld|%lu|%lx|%zu|%llu|%p|%%|", "text", 'c', -5, 7u, 0xbeefu, LONG_MIN, \
        ULONG_MAX, 0xdeadbeeful, (size_t)12, 13ull, (void *)&here
    print_format(&print, ARGUMENTS);
    snprintf(wanted, sizeof wanted, ARGUMENTS);
    EXPECT(wanted);
    const char *volatile nothing = NULL; /* volatile: gcc would warn */
    print_format(fresh(), "%s", nothing);
    EXPECT("(null)");
    print_format(fresh(), "%p", (void *)NULL);
    EXPECT("0x0");
    print_format(fresh(), "%s", "");
    EXPECT("");
}

static void sizes_have_three_digits(void)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {94, "94 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {1536, "1.50 KiB"},
        {10 * 1024 - 1, "10.0 KiB"},
        {10 * 1024, "10.0 KiB"},
        {100 * 1024 - 1, "100 KiB"},
        {412ull << 20, "412 MiB"},
        {(1ull << 20) - 1, "1.00 MiB"},
        {1023 * 1024 + 500, "1023 KiB"},
        {1406587863, "1.31 GiB"},
        {(1ull << 40) - 1, "1.00 TiB"},
        {1ull << 50, "1.00 PiB"},
        {1ull << 60, "1.00 EiB"},
        {(1ull << 60) - 1, "1.00 EiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_size(fresh(), cases[i].bytes);
        EXPECT(cases[i].text);
    }
    print_size_exact(fresh(), 0);
    EXPECT("0");
    print_size_exact(fresh(), 1000);
    EXPECT("1000");
    print_size_exact(fresh(), 512 * 1024);
    EXPECT("512K");
    print_size_exact(fresh(), 1ull << 50);
    EXPECT("1024T");
    print_size_exact(fresh(), (1ull << 30) + 1024);
    EXPECT("1048577K");
}

/* The rounded text must be within half a unit of its last digit, for sizes of all magnitudes. */
static void sizes_are_rounded_right(void)
{
    uint64_t seed = 88172645463325252ull;
    for (int i = 0; i < 200000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint64_t bytes = seed >> (seed % 64);
        print_size(fresh(), bytes);
        char *end;
        const char *text = print_string(&print);
        double value = strtod(text, &end);
        const char *point = memchr(text, '.', (size_t)(end - text));
        double digit = 1;
        for (const char *p = point ? point + 1 : end; p < end; p++)
            digit /= 10;
        assert(*end == ' ');
        double one = 1;
        for (const char *unit = "BKMGTPE"; *unit != end[1]; unit++)
            one *= 1024;
        double error = value * one - (double)bytes;
        assert(error <= digit * one * 0.5000001 && -error <= digit * one * 0.5000001);
        assert(bytes < 1024 || end - text <= 4);
    }
}

static void cells_are_aligned(void)
{
    fresh();
    size_t from = print_length(&print);
    print_unsigned(&print, 42);
    print_right(&print, from, 6);
    from = print_length(&print);
    print_text(&print, "ab");
    print_left(&print, from, 4);
    from = print_length(&print);
    print_text(&print, "longer");
    print_right(&print, from, 3);
    print_char(&print, '|');
    EXPECT("    42ab  longer|");
}

static void foreign_text_is_cleaned(void)
{
    print_clean(fresh(), "a\033[31mb\n\xff~", 10, 40);
    EXPECT("a?[31mb??~");
    print_clean(fresh(), "abcdef", 6, 4);
    EXPECT("abcd...");
    print_clean(fresh(), "abcd", 4, 4);
    EXPECT("abcd");
}

/* Every call, with every size of buffer: nothing behind the end, and the cut is remembered. */
static void nothing_leaves_the_buffer(void)
{
    for (size_t size = 0; size < 130; size++) {
        char small[160];
        struct print cut;
        memset(small, '~', sizeof small);
        print_start(&cut, small, size);
        print_text(&cut, "text");
        print_unsigned(&cut, UINT64_MAX);
        print_signed(&cut, INT64_MIN);
        print_hex(&cut, UINT64_MAX);
        print_clean(&cut, "clean\n", 6, 3);
        print_size(&cut, UINT64_MAX);
        print_size_exact(&cut, 512 << 10);
        size_t from = print_length(&cut);
        print_decimal(&cut, 1234, 2);
        print_right(&cut, from, 10);
        print_format(&cut, "%s%d%p", "x", -1, (void *)small);
        from = print_length(&cut);
        print_left(&cut, from, 5);
        for (size_t i = size; i < sizeof small; i++)
            assert(small[i] == '~');
        assert(print_length(&cut) <= size);
        assert(cut.cut || print_length(&cut) > 100);
        assert(size < 100 ? cut.cut : true);
        const char *string = print_string(&cut);
        assert(strlen(string) <= size);
        for (size_t i = size; i < sizeof small; i++)
            assert(small[i] == '~');
    }
}

static void flush_writes_and_marks_cuts(void)
{
    int ends[2];
    char got[64] = {0};
    char small[10];
    struct print line;
    assert(pipe(ends) == 0);
    print_start(&line, small, sizeof small);
    print_text(&line, "short\n");
    print_flush(&line, ends[1]);
    print_text(&line, "much longer than that");
    assert(line.cut);
    print_flush(&line, ends[1]);
    assert(!line.cut && print_length(&line) == 0);
    print_flush(&line, ends[1]);
    assert(read(ends[0], got, sizeof got) == 16);
    assert(memcmp(got, "short\nmuch l...\n", 16) == 0);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    numbers_match_printf();
    formats_match_printf();
    sizes_have_three_digits();
    sizes_are_rounded_right();
    cells_are_aligned();
    foreign_text_is_cleaned();
    nothing_leaves_the_buffer();
    flush_writes_and_marks_cuts();
    return 0;
}
