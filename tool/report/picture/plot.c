/* SPDX-License-Identifier: MIT */
/*
 * See tool/report/picture/plot.h. Steps of the axes are 1, 2 or 5 times a power of ten, of bytes
 * powers of two, so that labels are short. Colours of both themes are in one style sheet: one file
 * fits a light and a dark page.
 */
#include "tool/report/picture/plot.h"

#include <math.h>
#include <string.h>

#include "tool/report/picture/svg.h"

/* What the themes share. */
static const char plot_shapes[] =
    "text{font:12px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}"
    ".name{font:11px ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',"
    "'Liberation Mono',monospace}"
    ".hd{font-size:17px;font-weight:600}.small{font-size:12px}.end{text-anchor:end}"
    ".mid{text-anchor:middle}.ln{stroke-width:1;shape-rendering:crispEdges}"
    ".curve{fill:none;stroke-width:1.6}.rss{stroke-dasharray:5 3}"
    ".halo{paint-order:stroke;stroke-width:3px}\n";

static void plot_style(FILE *file, bool dark);
static double plot_step(double max, unsigned steps, bool bytes);

unsigned plot_width(const struct picture_options *options, unsigned usual)
{
    unsigned min = options->inside ? 360 : 500;
    return options->width == 0 ? usual : options->width < min ? min : options->width;
}

void plot_start(struct plot *plot, const char *title, const char *subtitle, bool memory)
{
    FILE *file = plot->file;
    unsigned top = plot->inside ? PLOT_TITLE : 0;
    fprintf(file,
            "%s<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "viewBox=\"0 %u %u %u\" role=\"img\">\n",
            plot->inside ? "" : "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", plot->width,
            plot->height - top, top, plot->width, plot->height - top);
    if (plot->inside) {
        fputs("<title>", file);
        svg_text(file, subtitle);
        fputs("</title>\n", file);
        return;
    }
    fputs("<style>\n", file);
    svg_style(file, memory);
    fputs(plot_shapes, file);
    plot_style(file, false);
    fputs("\n@media (prefers-color-scheme:dark){", file);
    plot_style(file, true);
    fputs("}\n</style>\n<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n"
          "<text class=\"hd\" x=\"16\" y=\"28\">",
          file);
    svg_text(file, title);
    fputs("</text>\n<text class=\"sub\" x=\"16\" y=\"47\">", file);
    svg_text(file, subtitle);
    fputs("</text>\n", file);
}

static void plot_style(FILE *file, bool dark)
{
    fputs(dark ? ".live{stroke:#f1f2f4}.was{stroke:#8ab4f8}.rss{stroke:#e3b341}"
                 ".mark{stroke:#f06595}"
                 ".peak{fill:#f06595}.halo{stroke:#15171b}"
               : ".live{stroke:#1c2127}.was{stroke:#2563b8}.rss{stroke:#8a5a00}"
                 ".mark{stroke:#c2255c}"
                 ".peak{fill:#c2255c}.halo{stroke:#fff}",
          file);
}

void plot_end(const struct plot *plot)
{
    fputs("</svg>\n", plot->file);
}

double plot_y(const struct plot *plot, double value)
{
    double share = plot->y_max > 0 ? value / plot->y_max : 0;
    return plot->bottom - fmin(fmax(share, 0), 1) * (plot->bottom - plot->top);
}

const char *plot_round(char text[32], double value, enum value_unit unit)
{
    style_value(text, value, unit);
    char *dot = strchr(text, '.');
    size_t zeros = dot != NULL ? strspn(dot + 1, "0") : 0;
    if (dot != NULL && (dot[1 + zeros] < '0' || dot[1 + zeros] > '9'))
        memmove(dot, dot + 1 + zeros, strlen(dot + 1 + zeros) + 1);
    return text;
}

void plot_y_axis(struct plot *plot, double max, enum value_unit unit)
{
    FILE *file = plot->file;
    double step = plot_step(max, 5, unit == UNIT_BYTES);
    char value[32];
    plot->unit = unit;
    plot->y_max = step * fmax(1, ceil(max / step));
    unsigned steps = (unsigned)lround(plot->y_max / step);
    for (unsigned i = 0; i <= steps; i++) {
        double at = i * step;
        double y = round(plot_y(plot, at));
        fprintf(file,
                "<line class=\"ln\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text class=\"sub end\" x=\"%.0f\" y=\"%.0f\">%s</text>\n",
                plot->left, plot->right, y + 0.5, y + 0.5, plot->left - 8, y + 4,
                plot_round(value, at, unit));
    }
}

/* The smallest round step that takes at most `steps` of them to `max`. */
static double plot_step(double max, unsigned steps, bool bytes)
{
    double base = bytes ? 1024 : 1000, unit = 1;
    static const double of_bytes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
    static const double of_others[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
    const double *round = bytes ? of_bytes : of_others;
    size_t count = bytes ? 10 : 9;
    for (unsigned power = 0; power < 8; power++, unit *= base)
        for (size_t i = 0; i < count; i++)
            if (unit * round[i] * steps >= max)
                return unit * round[i];
    return max > 0 ? max / steps : 1;
}

void plot_time_axis(const struct plot *plot, int64_t max_ns)
{
    FILE *file = plot->file;
    static const double minutes[] = {60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200};
    unsigned parts = plot->right - plot->left < 600 ? 4 : 8;
    double max = (double)max_ns / 1e9, step = plot_step((double)max_ns, parts, false) / 1e9;
    for (size_t i = 0; max > 120 && i < sizeof minutes / sizeof minutes[0]; i++) {
        step = minutes[i];
        if (minutes[i] * parts >= max)
            break;
    }
    if (step * 1.5 * parts < max)
        step = ceil(max / parts / 86400) * 86400;
    unsigned steps = max > 0 ? (unsigned)(max / step * 1.0001) : 0;
    for (unsigned i = 0; max > 0 && i <= steps; i++) {
        double at = i * step;
        double x = round(plot->left + at / max * (plot->right - plot->left));
        char text[32];
        if (at == 0)
            snprintf(text, sizeof text, "0");
        else if (max <= 120)
            plot_round(text, at * 1e9, UNIT_NANOSECONDS);
        else
            style_time(text, (int64_t)(at * 1e9));
        fprintf(file,
                "<line class=\"ln\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>"
                "<text class=\"sub mid\" x=\"%.0f\" y=\"%.0f\">%s</text>\n",
                x + 0.5, x + 0.5, plot->bottom, plot->bottom + 5, x, plot->bottom + 19, text);
    }
}

void plot_nothing(const struct plot *plot, const char *sentence)
{
    fprintf(plot->file, "<text class=\"sub mid\" x=\"%u\" y=\"%.0f\">", plot->width / 2,
            (plot->top + plot->bottom) / 2);
    svg_text(plot->file, sentence);
    fputs("</text>\n", plot->file);
}
