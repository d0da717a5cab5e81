/* SPDX-License-Identifier: MIT */
/*
 * The filters of Go's pprof: -focus and -ignore choose samples, -hide, -show, -show_from and
 * -prune_from cut them.
 */
#include "tool/compat/go/go.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

static bool start(struct compat_pattern **pattern, const char *text);
static bool fits_bare(const struct compat_pattern *pattern, const struct go_line *line);
static char *bare_name(const char *name);
static bool fits(const struct compat_pattern *pattern, const char *text);
static void choose_samples(struct go_profile *go);
static bool fits_place(const struct go_profile *go, const struct compat_pattern *pattern,
                       const struct go_place *place);
static bool fits_line(const struct compat_pattern *pattern, const struct go_line *line);
static const char *mapping_file(const struct go_profile *go, const struct go_place *place);
static void choose_frames(struct go_profile *go);
static void cut_lines(struct go_profile *go, const struct compat_pattern *pattern, bool keep,
                      bool *hidden);
static void drop_hidden(struct go_profile *go, const bool *hidden);
static void show_from(struct go_profile *go);
static void prune_from(struct go_profile *go);

/* The allocator's own frames, or what the profile says of them. */
void go_drop_frames(struct go_profile *go)
{
    static const char usual[] =
        "calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|pvalloc|valloc|realloc|"
        "tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc|tc_free|tc_memalign|tc_posix_memalign|"
        "tc_pvalloc|tc_valloc|tc_realloc|tc_new|tc_delete|tc_newarray|tc_deletearray|"
        "tc_new_nothrow|tc_newarray_nothrow|malloc_zone_(malloc|calloc|valloc|realloc|memalign|"
        "free)|runtime\\..*|(__|)libc_malloc|(__|)libc_calloc|(__|)libc_realloc|"
        "operator (new|delete)(\\[\\])?|DoSampledAllocation|allocate";
    const char *drop = profile_text(go->from, go->from->drop_frames);
    const char *keep = profile_text(go->from, go->from->keep_frames);
    bool own = go->from->traits & TRAIT_PPROF;
    struct compat_pattern *dropped, *kept;
    char text[2048];
    if (go->words->value[COMPAT_ALL_FRAMES].on ||
        (drop[0] == '\0' && (own || go->from->kind != PROFILE_HEAP)))
        return;
    snprintf(text, sizeof text, "^(%s)$", drop[0] ? drop : usual);
    start(&dropped, text);
    snprintf(text, sizeof text, keep[0] ? "^(%s)$" : "%s", keep);
    bool keeping = start(&kept, text);
    size_t places = go->places_count;
    char *state = compat_room(NULL, places, 1);
    for (size_t i = 0; i < places; i++) {
        struct go_place *place = &go->places[i];
        uint32_t k = place->count;
        state[i] = 0;
        while (k > 0 && !(fits_bare(dropped, &go->lines[place->first + k - 1]) &&
                          !(keeping && fits_bare(kept, &go->lines[place->first + k - 1]))))
            k--;
        if (k == 0)
            continue;
        state[i] = k == place->count ? 'p' : 'b';
        if (k < place->count) {
            place->first += k;
            place->count -= k;
        }
    }
    for (size_t i = 0; i < go->count; i++) {
        struct go_sample *sample = &go->samples[i];
        bool user = false;
        for (uint32_t k = sample->count; k > 0; k--) {
            uint32_t number = go->path[sample->first + k - 1];
            char here = state[number];
            /* Go's text names all frames but the outermost, which are its runtime's. */
            user |= here == 0 && (own || go->places[number].count > 0);
            if (here == 0 || !user)
                continue;
            uint32_t cut = here == 'p' ? k : k - 1;
            sample->first += cut;
            sample->count -= cut;
            break;
        }
    }
    free(state);
    compat_pattern_free(dropped);
    compat_pattern_free(kept);
}

/* False: nothing is asked for, and there is nothing to free. */
static bool start(struct compat_pattern **pattern, const char *text)
{
    *pattern = text[0] != '\0' ? compat_pattern(text) : NULL;
    return *pattern;
}

static bool fits_bare(const struct compat_pattern *pattern, const struct go_line *line)
{
    if (line->none || line->name[0] == '\0')
        return false;
    char *name = bare_name(line->name);
    bool fit = fits(pattern, name);
    free(name);
    return fit;
}

/* A name without its parameters, but for those that belong to it. */
static char *bare_name(const char *name)
{
    static const char *const own[] = {"(anonymous namespace)", "operator()"};
    const char *at = name + (name[0] == '.');
    char *text = strdup(at);
    if (!text)
        compat_out_of_memory();
    for (char *open = strchr(text, '('); open; open = strchr(open + 1, '(')) {
        bool reserved = strncmp(open, own[0], strlen(own[0])) == 0 ||
                        (open - text >= 8 && strncmp(open - 8, own[1], strlen(own[1])) == 0);
        if (!reserved) {
            *open = '\0';
            break;
        }
    }
    return text;
}

static bool fits(const struct compat_pattern *pattern, const char *text)
{
    return compat_pattern_fits(pattern, text);
}

void go_focus(struct go_profile *go)
{
    choose_samples(go);
    choose_frames(go);
    show_from(go);
    go_choose_tags(go);
    prune_from(go);
}

/* -focus and -ignore. */
static void choose_samples(struct go_profile *go)
{
    struct compat_pattern *focus, *ignore;
    bool focused = start(&focus, compat_text(go->words, COMPAT_FOCUS));
    bool ignored = start(&ignore, compat_text(go->words, COMPAT_IGNORE));
    size_t places = go->places_count, kept = 0;
    bool found_focus = false, found_ignore = false;
    char *state = compat_room(NULL, places, 1);
    memset(state, 0, places);
    for (size_t i = 0; i < places; i++) {
        if (ignored && fits_place(go, ignore, &go->places[i])) {
            state[i] = 'i';
            found_ignore = true;
        } else if (!focused || fits_place(go, focus, &go->places[i])) {
            state[i] = 'f';
            found_focus = true;
        }
    }
    for (size_t i = 0; i < go->count && (focused || ignored); i++) {
        const struct go_sample *sample = &go->samples[i];
        bool keep = false, drop = false;
        for (uint32_t k = 0; k < sample->count; k++) {
            keep |= state[go->path[sample->first + k]] == 'f';
            drop |= state[go->path[sample->first + k]] == 'i';
        }
        if (keep && !drop)
            go->samples[kept++] = *sample;
    }
    if (focused || ignored)
        go->count = kept;
    go_warn(!focused || found_focus, "Focus");
    go_warn(!ignored || found_ignore, "Ignore");
    free(state);
    compat_pattern_free(focus);
    compat_pattern_free(ignore);
}

static bool fits_place(const struct go_profile *go, const struct compat_pattern *pattern,
                       const struct go_place *place)
{
    for (uint32_t i = 0; i < place->count; i++)
        if (fits_line(pattern, &go->lines[place->first + i]))
            return true;
    const char *file = mapping_file(go, place);
    return place->mapping > 0 && fits(pattern, file);
}

static bool fits_line(const struct compat_pattern *pattern, const struct go_line *line)
{
    return !line->none && (fits(pattern, line->name) || fits(pattern, line->file));
}

static const char *mapping_file(const struct go_profile *go, const struct go_place *place)
{
    if (place->mapping == 0)
        return "";
    return profile_text(go->from, profile_mapping_at(go->from, place->mapping)->path);
}

static void choose_frames(struct go_profile *go)
{
    struct compat_pattern *pattern;
    bool *hidden = compat_room(NULL, go->places_count, sizeof *hidden);
    memset(hidden, 0, go->places_count * sizeof *hidden);
    if (start(&pattern, compat_text(go->words, COMPAT_HIDE)))
        cut_lines(go, pattern, false, hidden);
    compat_pattern_free(pattern);
    if (start(&pattern, compat_text(go->words, COMPAT_SHOW)))
        cut_lines(go, pattern, true, hidden);
    compat_pattern_free(pattern);
    if (go->words->value[COMPAT_HIDE].on || go->words->value[COMPAT_SHOW].on)
        drop_hidden(go, hidden);
    free(hidden);
}

/* -hide and -show: lines by name; of a hidden place nothing is left. */
static void cut_lines(struct go_profile *go, const struct compat_pattern *pattern, bool keep,
                      bool *hidden)
{
    bool any = false;
    for (uint32_t i = 0; i < go->places_count; i++) {
        struct go_place *place = &go->places[i];
        uint32_t left = 0;
        bool whole = place->mapping > 0 && fits(pattern, mapping_file(go, place));
        if (!keep && !fits_place(go, pattern, place))
            continue;
        for (uint32_t k = 0; k < place->count; k++) {
            const struct go_line *line = &go->lines[place->first + k];
            if (whole ? keep : line->none || fits_line(pattern, line) == keep)
                go->lines[place->first + left++] = *line;
        }
        place->count = left;
        hidden[i] |= left == 0;
        any |= !keep || left > 0;
    }
    go_warn(any, keep ? "Show" : "Hide");
}

static void drop_hidden(struct go_profile *go, const bool *hidden)
{
    size_t kept = 0;
    for (size_t i = 0; i < go->count; i++) {
        struct go_sample *sample = &go->samples[i];
        uint32_t *path = go->path + sample->first, left = 0;
        for (uint32_t k = 0; k < sample->count; k++)
            if (!hidden[path[k]])
                path[left++] = path[k];
        if (left == 0)
            continue;
        sample->count = left;
        go->samples[kept++] = *sample;
    }
    go->count = kept;
}

/* -show_from: what is above the outermost frame that fits goes. */
static void show_from(struct go_profile *go)
{
    struct compat_pattern *pattern;
    size_t places = go->places_count, kept = 0;
    if (!start(&pattern, compat_text(go->words, COMPAT_SHOW_FROM)))
        return;
    bool *from = compat_room(NULL, places, sizeof *from), any = false;
    for (size_t i = 0; i < places; i++) {
        struct go_place *place = &go->places[i];
        from[i] = place->mapping > 0 && fits(pattern, mapping_file(go, place));
        for (uint32_t k = place->count; k > 0 && !from[i]; k--)
            if (fits_line(pattern, &go->lines[place->first + k - 1])) {
                place->count = k;
                from[i] = true;
            }
        any |= from[i];
    }
    for (size_t i = 0; i < go->count; i++) {
        struct go_sample *sample = &go->samples[i];
        uint32_t left = sample->count;
        while (left > 0 && !from[go->path[sample->first + left - 1]])
            left--;
        sample->count = left;
        if (left > 0)
            go->samples[kept++] = *sample;
    }
    go->count = kept;
    go_warn(any, "ShowFrom");
    free(from);
    compat_pattern_free(pattern);
}

/* -prune_from: what is below the frame that fits goes. */
static void prune_from(struct go_profile *go)
{
    struct compat_pattern *pattern;
    size_t places = go->places_count;
    if (!start(&pattern, compat_text(go->words, COMPAT_PRUNE_FROM)))
        return;
    bool *beneath = compat_room(NULL, places, sizeof *beneath);
    for (size_t i = 0; i < places; i++) {
        struct go_place *place = &go->places[i];
        beneath[i] = false;
        for (uint32_t k = 0; k < place->count && !beneath[i]; k++)
            if (fits_bare(pattern, &go->lines[place->first + k])) {
                place->first += k;
                place->count -= k;
                beneath[i] = true;
            }
    }
    for (size_t i = 0; i < go->count; i++) {
        struct go_sample *sample = &go->samples[i];
        for (uint32_t k = 0; k < sample->count; k++)
            if (beneath[go->path[sample->first + k]]) {
                sample->first += k;
                sample->count -= k;
                break;
            }
    }
    free(beneath);
    compat_pattern_free(pattern);
}
