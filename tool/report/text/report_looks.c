/* SPDX-License-Identifier: MIT */
/* What `memoir leaks` tells of blocks beside how many are lost (tool/report/looks.h), in text and
 * JSON. */
#include "tool/report/text/report_looks.h"

#include <string.h>

#include "tool/report/text/text.h"

enum { ROWS_USUAL = 5 };

static void put_example(const struct profile_look *look, const struct profile *profile,
                        const struct style *style, bool bare);

void looks_put(const struct view *view, const struct leaks *leaks, uint32_t frame,
               const struct style *style)
{
    struct looks looks = looks_of(view, frame, leaks->left_out);
    char text[32], count[32];
    if (!looks.known)
        return;
    if (looks.oldest_us > 0) {
        fprintf(style->out, "      allocated %s", style_time(text, looks.youngest_us * 1000));
        if (looks.oldest_us / 1000000 != looks.youngest_us / 1000000)
            fprintf(style->out, " to %s", style_time(text, looks.oldest_us * 1000));
        fputs(" before the scan\n", style->out);
    }
    if (looks.owned_objects > 0)
        fprintf(style->out, "      with %s %s, %s, that only %s to\n",
                question_count(count, (uint64_t)looks.owned_objects),
                looks.owned_objects == 1 ? "object" : "objects",
                style_value(text, (double)looks.owned_space, UNIT_BYTES), "these lead");
    if (looks.cycles > 0)
        fprintf(style->out, "      %s of them in a cycle: it leads back to itself\n",
                question_count(count, (uint64_t)looks.cycles));
    if (looks.example)
        put_example(looks.example, view->profile, style, frame >= view->frames_count);
}

/* Its class, or the text that it begins with; where neither is known and there is no stack: bytes.
 */
static void put_example(const struct profile_look *look, const struct profile *profile,
                        const struct style *style, bool bare)
{
    char text[PROFILE_LOOK_BYTES + 8];
    const char *class = profile_text(profile, look->class);
    if (*class != '\0')
        fprintf(style->out, "      an object of class %s\n", class);
    else if (looks_text(look, text, sizeof text))
        fprintf(style->out, "      one begins with %s\n", text);
    else if (bare && look->first_count > 0) {
        fputs("      one begins with the bytes", style->out);
        for (uint32_t i = 0; i < look->first_count && i < PROFILE_LOOK_BYTES / 2; i++)
            fprintf(style->out, " %02x", look->first[i]);
        fputs("\n", style->out);
    }
}

static void put_rows(const struct view *view, const struct looks_row *rows, size_t count,
                     const struct style *style)
{
    size_t max = style->rows > 0 ? style->rows : style->verbose ? SIZE_MAX : ROWS_USUAL;
    char text[32], number[32];
    for (size_t i = 0; i < count && i < max; i++) {
        fprintf(style->out, "    %9s  %s %s  ",
                style_value(text, (double)rows[i].bytes, UNIT_BYTES),
                question_count(number, (uint64_t)rows[i].objects),
                rows[i].objects == 1 ? "object" : "objects");
        question_site(view, style, rows[i].frame, 40);
        if (rows[i].from_known) {
            fprintf(style->out, "  %s ", question_glyph(style, "←", "<-"));
            question_site(view, style, rows[i].from, 40);
        }
        fputs("\n", style->out);
    }
    if (count > max)
        fprintf(style->out, "    %s %zu more (-v shows all)\n", question_glyph(style, "…", "..."),
                count - max);
}

void looks_put_indirect(const struct view *view, const struct leaks *leaks,
                        const struct style *style)
{
    if (leaks->indirect_count == 0)
        return;
    fputs("indirectly lost, and the site of a lost block that points to one of them:\n",
          style->out);
    put_rows(view, leaks->indirect, leaks->indirect_count, style);
}

void looks_put_forgotten(const struct view *view, const struct leaks *leaks,
                         const struct style *style)
{
    char text[32], time[32];
    int64_t watched_ms = view->profile->scan.watched_ms;
    if (leaks->forgotten_count == 0)
        return;
    fprintf(style->out, "reachable but forgotten: %s, of sites that grow and free nothing, ",
            style_value(text, (double)leaks->forgotten_bytes, UNIT_BYTES));
    if (watched_ms > 0)
        fprintf(style->out, "not written to in %s\n", style_time(time, watched_ms * 1000000));
    else
        fputs("by their age (with --watch 10s: not written to)\n", style->out);
    put_rows(view, leaks->forgotten, leaks->forgotten_count, style);
}

void looks_json(struct json *json, const struct view *view, const struct leaks *leaks,
                uint32_t frame)
{
    struct looks looks = looks_of(view, frame, leaks->left_out);
    char text[PROFILE_LOOK_BYTES + 8], hex[2 * PROFILE_LOOK_BYTES + 1] = "";
    if (!looks.known)
        return;
    json_number(json, "oldest_us", looks.oldest_us);
    json_number(json, "youngest_us", looks.youngest_us);
    json_number(json, "cycles", looks.cycles);
    json_number(json, "owned_objects", looks.owned_objects);
    json_number(json, "owned_bytes", looks.owned_space);
    if (!looks.example)
        return;
    const struct profile_look *look = looks.example;
    const char *class = profile_text(view->profile, look->class);
    if (*class != '\0')
        json_text(json, "class", class);
    for (uint32_t i = 0; i < look->first_count; i++)
        snprintf(hex + 2 * i, 3, "%02x", look->first[i]);
    json_text(json, "first_bytes", hex);
    if (looks_text(look, text, sizeof text)) {
        text[strlen(text) - 1] = '\0';
        json_text(json, "text", text + 1);
    }
}

static void json_rows(struct json *json, const char *key, const struct view *view,
                      const struct looks_row *rows, size_t count)
{
    json_array(json, key);
    for (size_t i = 0; i < count; i++) {
        json_object(json, NULL);
        question_json(json, view, rows[i].frame);
        json_number(json, "bytes", rows[i].bytes);
        json_number(json, "objects", rows[i].objects);
        if (rows[i].from_known) {
            json_object(json, "from");
            question_json(json, view, rows[i].from);
            json_end(json);
        }
        json_end(json);
    }
    json_end(json);
}

void looks_json_rest(struct json *json, const struct view *view, const struct leaks *leaks)
{
    json_rows(json, "indirect", view, leaks->indirect, leaks->indirect_count);
    json_number(json, "forgotten_bytes", leaks->forgotten_bytes);
    json_rows(json, "forgotten", view, leaks->forgotten, leaks->forgotten_count);
}
