/* SPDX-License-Identifier: MIT */
/* See tool/report/text/heap_line.h. */
#include "tool/report/text/heap_line.h"

#include "tool/profile/profile.h"

enum { WIDTH_MAX = 120, POINTS_MIN = 4 };

static bool values_at(const struct profile *profile, float *values, unsigned count);
static int64_t end_ns(const struct profile *profile);

void heap_line_print(const struct profile *profile, const struct style *style, unsigned indent)
{
    float values[WIDTH_MAX], max = 0;
    char text[4 * WIDTH_MAX], size[32], time[32];
    unsigned used = indent + 34, min = style->fits && style->width < 56 ? 8 : 20;
    unsigned width = style->width > used + min ? style->width - used : min;
    width = width < WIDTH_MAX ? width : WIDTH_MAX;
    if (!values_at(profile, values, width))
        return;
    for (unsigned i = 0; i < width; i++)
        max = values[i] > max ? values[i] : max;
    if (max <= 0)
        return;
    fprintf(style->out, "\n%*sheap %9s |%s| %s\n", (int)indent, "",
            style_value(size, (double)max, UNIT_BYTES),
            style_trend(style, text, sizeof text, values, width),
            style_time(time, end_ns(profile)));
}

/* The live bytes of `count` equal parts of the time, each the largest in it. A point holds until
 * the next one. False: not known. */
static bool values_at(const struct profile *profile, float *values, unsigned count)
{
    const struct profile_point *points = profile->points.items;
    int64_t end = end_ns(profile);
    size_t at = 0;
    float live = 0;
    if (profile->points.count < POINTS_MIN || end <= 0)
        return false;
    for (unsigned i = 0; i < count; i++) {
        double until = (double)end * (i + 1) / count;
        values[i] = live;
        for (; at < profile->points.count && ((double)points[at].time_ns < until || i + 1 == count);
             at++) {
            live = (float)points[at].live_bytes;
            values[i] = live > values[i] ? live : values[i];
        }
    }
    return true;
}

/* The last point holds until the end. */
static int64_t end_ns(const struct profile *profile)
{
    const struct profile_point *points = profile->points.items;
    size_t count = profile->points.count;
    int64_t last = count > 0 ? points[count - 1].time_ns : 0;
    return last > profile->duration_ns ? last : profile->duration_ns;
}
