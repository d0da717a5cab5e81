/* SPDX-License-Identifier: MIT */
/* Numbers as Go's pprof prints them: 4464.48kB, 1.50s, 66.72%. */
#include "tool/compat/go/go.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"

struct unit {
    const char *name;
    const char *words[4];
    double factor;
};

static const struct unit of_memory[] = {{"B", {"b", "byte"}, 1},
                                        {"kB", {"kb", "kbyte", "kilobyte"}, 1024},
                                        {"MB", {"mb", "mbyte", "megabyte"}, 1048576},
                                        {"GB", {"gb", "gbyte", "gigabyte"}, 1073741824},
                                        {"TB", {"tb", "tbyte", "terabyte"}, 1099511627776},
                                        {"PB", {"pb", "pbyte", "petabyte"}, 1125899906842624}};
static const struct unit of_time[] = {{"ns", {"ns", "nanosecond"}, 1},
                                      {"us", {"\u03bcs", "us", "microsecond"}, 1e3},
                                      {"ms", {"ms", "millisecond"}, 1e6},
                                      {"s", {"s", "sec", "second"}, 1e9},
                                      {"hrs", {"hour", "hr"}, 3600e9}};

struct kind {
    const struct unit *units;
    size_t count;
    const struct unit *usual;
};

static const struct kind kinds[] = {{of_memory, COUNT_OF(of_memory), &of_memory[0]},
                                    {of_time, COUNT_OF(of_time), &of_time[3]}};

static const struct unit *find(const struct kind *kind, const char *word);
static bool is_auto(const char *unit);

int go_unit_kind(const char *unit)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (find(&kinds[i], unit))
            return (int)i;
    return -1;
}

static const struct unit *find(const struct kind *kind, const char *word)
{
    char lower[32];
    size_t length = 0;
    for (; word[length] && length + 1 < sizeof lower; length++)
        lower[length] = (char)tolower((unsigned char)word[length]);
    lower[length] = '\0';
    if (length > 2 && lower[length - 1] == 's')
        lower[length - 1] = '\0';
    for (size_t i = 0; i < kind->count; i++)
        for (size_t k = 0; k < COUNT_OF(kind->units[i].words) && kind->units[i].words[k]; k++)
            if (strcmp(kind->units[i].words[k], lower) == 0)
                return &kind->units[i];
    return NULL;
}

double go_scale(int64_t value, const char *from, const char *to, const char **unit)
{
    static const char *const plain[] = {"count", "sample", "unit", "minimum", "auto"};
    if (value < 0 && value > INT64_MIN)
        return -go_scale(-value, from, to, unit);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct unit *source = find(&kinds[i], from);
        if (!source)
            continue;
        double base = (double)value * source->factor;
        const struct unit *target = is_auto(to) ? NULL : find(&kinds[i], to);
        for (size_t k = 0; k < kinds[i].count && is_auto(to); k++)
            if (base / kinds[i].units[k].factor >= 1)
                target = &kinds[i].units[k];
        if (!target)
            target = kinds[i].usual;
        *unit = target->name;
        return base / target->factor;
    }
    *unit = to;
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        if (strcmp(to, plain[i]) == 0)
            *unit = "";
    return (double)value;
}

static bool is_auto(const char *unit)
{
    return strcmp(unit, "minimum") == 0 || strcmp(unit, "auto") == 0;
}

const char *go_label(int64_t value, const char *from, const char *to, char text[64])
{
    const char *unit;
    double scaled = go_scale(value, from, to, &unit);
    int length = snprintf(text, 64, "%.2f", scaled);
    if (length > 3 && strcmp(text + length - 3, ".00") == 0)
        text[length - 3] = '\0';
    if (strcmp(text, "0") == 0 || strcmp(text, "-0") == 0)
        return "0";
    size_t used = strlen(text);
    snprintf(text + used, 64 - used, "%s", unit);
    return text;
}

const char *go_percentage(int64_t value, int64_t total, char text[32])
{
    double share = total != 0 ? fabs((double)value / (double)total) * 100 : 0;
    if (share >= 99.95 && share <= 100.05)
        return "  100%";
    snprintf(text, 32, share >= 1 ? "%5.2f%%" : "%5.2g%%", share);
    return text;
}
