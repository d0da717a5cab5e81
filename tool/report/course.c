/* SPDX-License-Identifier: MIT */
/* See tool/report/course.h. */
#include "tool/report/course.h"

#include <string.h>

enum { WIDTH_MOST = 120, POINTS_LEAST = 4 };

static int64_t course_end(const struct profile *profile, int64_t end_ns)
{
    const struct profile_point *points = profile->points.items;
    size_t count = profile->points.count;
    int64_t last = count > 0 ? points[count - 1].time_ns : 0;
    return end_ns > 0 ? end_ns : last;
}

/* The live bytes of `count` equal parts of the time, each the largest in it. False: not known. */
static bool course_values(const struct profile *profile, int64_t end_ns, float *values,
                          unsigned count)
{
    const struct profile_point *points = profile->points.items;
    int64_t end = course_end(profile, end_ns);
    size_t last = 0;
    if (profile->points.count < POINTS_LEAST || end <= 0)
        return false;
    memset(values, 0, count * sizeof *values);
    for (size_t i = 0; i < profile->points.count; i++) {
        double share = points[i].time_ns <= 0 ? 0 : (double)points[i].time_ns / (double)end;
        size_t column = share >= 1 ? count - 1 : (size_t)(share * count);
        float live = (float)points[i].live_bytes;
        if (column < last)
            column = last;
        bool more = live > values[last] || column > last;
        for (; last < column; last++) /* a part without a point is as the one before it */
            values[last + 1] = values[last];
        values[last] = more ? live : values[last];
    }
    for (; last + 1 < count; last++)
        values[last + 1] = values[last];
    return true;
}

void course_print(const struct profile *profile, const struct style *style, unsigned indent,
                  int64_t end_ns)
{
    float values[WIDTH_MOST], most = 0;
    char text[4 * WIDTH_MOST], size[32], time[32];
    unsigned used = indent + 34, least = style->fits && style->width < 56 ? 8 : 20;
    unsigned width = style->width > used + least ? style->width - used : least;
    width = width < WIDTH_MOST ? width : WIDTH_MOST;
    if (!course_values(profile, end_ns, values, width))
        return;
    for (unsigned i = 0; i < width; i++)
        most = values[i] > most ? values[i] : most;
    if (most <= 0)
        return;
    fprintf(style->out, "\n%*sheap %9s |%s| %s\n", (int)indent, "",
            style_value(size, (double)most, "bytes"),
            style_trend(style, text, sizeof text, values, width),
            style_time(time, course_end(profile, end_ns)));
}
