/* SPDX-License-Identifier: MIT */
/*
 * Pictures of profiles made by hand: they are well-formed whatever the names are, boxes are as wide
 * as their values, nothing that was there before vanishes in a comparison, and a great many stacks
 * make no great file.
 */
#include "tool/report/picture/flame_data.h"
#include "tool/report/picture/picture.h"
#include "tool/report/report.h"

#include "tests/unit/unit.h"

#include <math.h>

/* ---- a small judge of XML: one root, tags that close, attributes in quotes, clean text ------ */

static const char *xml_error;

static const char *xml_fail(const char *why)
{
    xml_error = why;
    return NULL;
}

static bool xml_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == ':' || c == '_';
}

/* Behind an entity or a byte of text. */
static const char *xml_byte(const char *at)
{
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    if ((unsigned char)*at < 0x20 && *at != '\n')
        return xml_fail("a control character");
    if (*at != '&')
        return at + 1;
    for (unsigned i = 0; i < 5; i++)
        if (strncmp(at, entities[i], strlen(entities[i])) == 0)
            return at + strlen(entities[i]);
    return xml_fail("a bare &");
}

/* A tag from its <; *change is 1 for one that opens, -1 for one that closes, else 0. */
static const char *xml_tag(const char *at, char names[][32], unsigned *depth)
{
    bool closes = at[1] == '/';
    char name[32];
    unsigned length = 0;
    for (at += 1 + closes; xml_name_byte(*at) && length < 31; at++)
        name[length++] = *at;
    name[length] = '\0';
    if (length == 0)
        return xml_fail("a tag without name");
    while (*at != '>' && *at != '/') {
        if (*at == '\0' || *at == '<')
            return xml_fail("a tag without end");
        if (*at++ != '"')
            continue;
        while (*at != '"') {
            if (*at == '\0' || *at == '<')
                return xml_fail("an attribute without end");
            if ((at = xml_byte(at)) == NULL)
                return NULL;
        }
        at++;
    }
    if (closes) {
        if (*depth == 0 || strcmp(names[--*depth], name) != 0)
            return xml_fail("a tag closes what is not open");
    } else if (*at != '/') {
        assert(*depth < 30);
        memcpy(names[(*depth)++], name, sizeof name);
    }
    return at + (*at == '/' ? 2 : 1);
}

static bool xml_is_good(const char *text)
{
    char names[32][32];
    unsigned depth = 0, roots = 0;
    const char *at = strncmp(text, "<?xml", 5) == 0 ? strstr(text, "?>") + 2 : text;
    while (at != NULL && *at != '\0') {
        if (strncmp(at, "<![CDATA[", 9) == 0) {
            at = strstr(at, "]]>");
            at = at != NULL ? at + 3 : xml_fail("a CDATA without end");
        } else if (*at == '<') {
            roots += depth == 0;
            at = xml_tag(at, names, &depth);
        } else {
            at = xml_byte(at);
        }
    }
    if (at != NULL && (depth != 0 || roots != 1))
        at = xml_fail("not one root");
    return at != NULL;
}

/* ---- profiles --------------------------------------------------------------------------- */

static struct profile profile, base;

static uint32_t named(struct profile *of, const char *name, uint32_t line)
{
    struct profile_function function = {
        .name = profile_string_of(of, name),
        .file = profile_string_of(of, "/src/<code> & \"more\".cc"),
    };
    return profile_named(of, profile_function(of, &function), line, 0);
}

static void begin(struct profile *of)
{
    profile_start(of);
    of->kind = PROFILE_HEAP;
    profile_type(of, "inuse_objects", UNIT_COUNT);
    profile_type(of, "inuse_space", UNIT_BYTES);
    of->default_type = 1;
}

/* "leaf,caller,root" */
static void add(struct profile *of, const char *names, int64_t bytes)
{
    uint32_t stack[16], count = 0;
    char name[256];
    for (; *names && count < 16; count++) {
        size_t length = strcspn(names, ",");
        memcpy(name, names, length);
        name[length] = '\0';
        stack[count] = named(of, name, 7);
        names += length + (names[length] == ',');
    }
    struct profile_label label = {.key = profile_string_of(of, LABEL_BLOCK_BYTES),
                                  .number = bytes / 10};
    size_t row =
        profile_sample(of, profile_stack(of, stack, count), profile_label_set(of, &label, 1));
    of->samples.values[0][row] = 10;
    of->samples.values[1][row] = bytes;
}

static const char hostile[] = "operator<< <a&b>(\"x\", ']]></script><b>') \x01\xff\xc0\xaf";

static char *drawn(const struct view *view, const struct picture_options *options,
                   void (*draw)(const struct view *view, const struct picture_options *options,
                                FILE *file))
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    draw(view, options, file);
    assert(fclose(file) == 0 && strlen(text) == size);
    return text;
}

static struct view look(const struct profile *of, const struct profile *other)
{
    struct view view = {0};
    struct view_error error = {.text = ""};
    struct view_options options = {
        .type = 1, .by = VIEW_FUNCTION, .frames = VIEW_ALL, .base = other};
    assert(view_make(&view, of, &options, &error));
    return view;
}

/* The data of a flame graph, as flame.js gets it. */
static void check_data(const char *text)
{
    static const char start[] = "<script type=\"application/json\" id=\"data\">";
    const char *from = strstr(text, start), *to = from != NULL ? strstr(from, "</script>") : NULL;
    assert(from != NULL && to != NULL);
    from += strlen(start);
    int depth = 0;
    bool quoted = false;
    for (; from < to; from++) {
        assert((unsigned char)*from >= 0x20 || (*from == '\n' && !quoted));
        if (*from == '"')
            quoted = !quoted;
        else if (*from == '\\')
            from++;
        else if (!quoted)
            depth += strchr("[{", *from) ? 1 : strchr("]}", *from) ? -1 : 0;
        assert(depth > 0 || from + 1 == to);
    }
    assert(depth == 0 && !quoted);
}

static void check_xml(const char *what, const char *text)
{
    if (xml_is_good(text))
        return;
    fprintf(stderr, "%s is not well-formed: %s\n", what, xml_error);
    abort();
}

/* ---- checks ----------------------------------------------------------------------------- */

/* The widths of the plain boxes in the row of y, added up. */
static double row_width(const char *text, unsigned y, unsigned *count)
{
    char wanted[32];
    double sum = 0;
    const char *at = strstr(text, "<g id=\"boxes\">"), *end = strstr(text, "<script");
    snprintf(wanted, sizeof wanted, " y=\"%u\" width=\"", y);
    *count = 0;
    while ((at = strstr(at, wanted)) != NULL && at < end) {
        at += strlen(wanted);
        sum += strtod(at, NULL);
        ++*count;
    }
    return sum;
}

static void flame_has_the_widths(void)
{
    begin(&profile);
    add(&profile, "a,main", 6000);
    add(&profile, "b,main", 3000);
    add(&profile, "c,a,main", 1000);
    struct view view = look(&profile, NULL);
    struct picture_options options = {.title = "widths <of> \"boxes\"", .width = 1024};
    char *text = drawn(&view, &options, picture_flame);
    unsigned count, top = 84;
    check_xml("a flame graph", text);
    assert(fabs(row_width(text, top, &count) - 100) < 1 && count == 1);       /* c */
    assert(fabs(row_width(text, top + 18, &count) - 1000) < 2 && count == 2); /* a, b */
    assert(fabs(row_width(text, top + 36, &count) - 1000) < 1 && count == 1); /* main */
    assert(fabs(row_width(text, top + 54, &count) - 1000) < 1 && count == 1); /* all */
    free(text);

    options.inverted = true;
    text = drawn(&view, &options, picture_flame);
    assert(fabs(row_width(text, top + 54, &count) - 100) < 1 && count == 1);
    free(text);

    options.reversed = true; /* leaves first: a 6000, b 3000, c 1000 */
    text = drawn(&view, &options, picture_flame);
    assert(fabs(row_width(text, top + 18, &count) - 1000) < 3 && count == 3);
    free(text);
    view_free(&view);
    profile_free(&profile);
}

static void names_are_escaped(void)
{
    begin(&profile);
    char stack[512];
    snprintf(stack, sizeof stack, "%s", hostile);
    for (char *comma = stack; (comma = strchr(comma, ',')) != NULL;)
        *comma = ';';
    add(&profile, stack, 5000);
    add(&profile, "\"quoted\\\",<svg onload=x>,main", 400);
    struct view view = look(&profile, NULL);
    struct picture_options options = {.title = hostile};
    char *text = drawn(&view, &options, picture_flame);
    check_xml("a flame graph", text);
    check_data(text);
    assert(strstr(text, "<b>") == NULL && strstr(text, "<svg onload") == NULL);
    assert(strstr(text, "operator&lt;&lt;") != NULL);
    free(text);
    text = drawn(&view, &options, picture_sizes);
    check_xml("sizes", text);
    free(text);
    text = drawn(&view, &options, picture_time);
    check_xml("a course", text);
    assert(strstr(text, "single moment") != NULL);
    free(text);
    text = drawn(&view, &options, picture_dot);
    assert(strncmp(text, "digraph \"", 9) == 0);
    assert(strstr(text, "\\\"quoted\\\\\\\"") != NULL && strchr(text, '\x01') == NULL);
    free(text);
    view_free(&view);
    profile_free(&profile);
}

/* What is cut of a long name is what says least. */
static void long_names_are_shortened(void)
{
    char name[3000] = "std::map<", *end = name + strlen(name);
    begin(&profile);
    for (unsigned i = 0; i < 1000; i++)
        *end++ = 'x';
    strcpy(end, ">::insert(");
    end += strlen(end);
    for (unsigned i = 0; i < 1000; i++)
        *end++ = 'y';
    strcpy(end, ") const");
    uint32_t frame = named(&profile, name, 1);
    size_t row = profile_sample(&profile, profile_stack(&profile, &frame, 1), 0);
    profile.samples.values[1][row] = 100;
    struct view view = look(&profile, NULL);
    struct picture_options options = {.title = "long"};
    char *text = drawn(&view, &options, picture_dot);
    assert(strstr(text, "std::map<\xe2\x80\xa6>::\\ninsert(\xe2\x80\xa6) const\\n") != NULL);
    free(text);
    view_free(&view);
    profile_free(&profile);
}

static void nothing_vanishes(void)
{
    begin(&profile);
    begin(&base);
    add(&base, "gone,main", 4000);
    add(&base, "stays,main", 1000);
    add(&profile, "stays,main", 1000);
    add(&profile, "fresh,main", 500);
    struct view view = look(&profile, &base);
    struct picture_options options = {.width = 1124};
    char *text = drawn(&view, &options, picture_flame);
    check_xml("a comparison", text);
    check_data(text);
    assert(strstr(text, "<title>gone ") != NULL && strstr(text, "<title>fresh ") != NULL);
    assert(strstr(text, "url(#gone)") != NULL);
    /* 5500 in all, of which 4000 are gone: hatched in the box itself, in main and in all. */
    unsigned hatched = 0;
    const char *at = strstr(text, "<g id=\"boxes\">"), *end = strstr(text, "<script");
    while ((at = strstr(at, "fill=\"url(#gone)\"")) != NULL && at < end) {
        const char *width = strstr(at, "width=\"") + 7;
        assert(fabs(strtod(width, NULL) - 800) < 2);
        hatched++;
        at = width;
    }
    assert(hatched == 3);
    free(text);
    view_free(&view);
    profile_free(&profile);
    profile_free(&base);
}

static void history_is_stacked(void)
{
    begin(&profile);
    add(&profile, "a,main", 6000);
    add(&profile, "b,main", 3000);
    profile.samples.history = calloc(profile.samples.count, sizeof *profile.samples.history);
    profile.history_moments = 3;
    assert(profile.samples.history != NULL);
    for (unsigned i = 0; i < 3; i++) {
        struct profile_moment moment = {
            .time_ns = 1000000000LL * (i + 1), .live_bytes = 3000 * (i + 1), .rows = true};
        struct profile_point point = {.time_ns = moment.time_ns, .live_bytes = moment.live_bytes};
        *(struct profile_moment *)profile_list_add(&profile, &profile.moments, sizeof moment) =
            moment;
        *(struct profile_point *)profile_list_add(&profile, &profile.points, sizeof point) = point;
        profile.samples.history[0][i] = 2000.0f * (float)(i + 1);
        profile.samples.history[1][i] = 1000.0f * (float)(i + 1);
    }
    struct view view = look(&profile, NULL);
    struct picture_options options = {.title = "course"};
    char *text = drawn(&view, &options, picture_time);
    check_xml("a course", text);
    assert(strstr(text, "peak 8.79 KiB at 3.00 s") != NULL);
    assert(strstr(text, "<path class=\"c01\"") != NULL &&
           strstr(text, "<path class=\"c11\"") != NULL);
    free(text);
    view_free(&view);
    profile_free(&profile);
}

static void many_stacks_make_no_great_file(void)
{
    uint64_t random = 7;
    begin(&profile);
    uint32_t functions[2000];
    for (unsigned i = 0; i < 2000; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i);
        functions[i] = named(&profile, name, i);
    }
    unsigned stacks = unit_times(200000);
    for (unsigned i = 0; i < stacks; i++) {
        uint32_t stack[20];
        for (unsigned k = 0; k < 20; k++)
            stack[k] = functions[unit_random(&random) % (k > 16 ? 5 : 2000)];
        size_t row = profile_sample(&profile, profile_stack(&profile, stack, 20), 0);
        profile.samples.values[1][row] = (int64_t)(unit_random(&random) % 1000);
    }
    struct view view = look(&profile, NULL);
    struct picture_options options = {.title = "many"};
    char *text = drawn(&view, &options, picture_flame);
    check_xml("a flame graph", text);
    check_data(text);
    assert(strlen(text) < 5 << 20);
    assert(strstr(text, "smaller ones") != NULL);
    free(text);
    view_free(&view);
    profile_free(&profile);
}

/* A program may have hundreds of libraries: no frame is said to be in another one than its own. */
static void frames_stay_in_their_modules(void)
{
    static struct flame_data data;
    for (unsigned i = 0; i < 2 * FLAME_MODULES_MAX; i++) {
        char module[32];
        snprintf(module, sizeof module, "lib%u.so", i);
        struct view_frame frame = {.name = "f", .file = "", .module = module, .line = i};
        uint32_t number = flame_data_frame(&data, &frame) - 2;
        const char *path = data.modules[data.frames[number].module].path;
        assert(strcmp(path, module) == 0 || (path[0] == '\0' && i >= FLAME_MODULES_MAX - 1));
    }
    assert(data.modules_count == FLAME_MODULES_MAX && !data.failed);
    flame_data_free(&data);
}

static void nothing_is_a_picture_too(void)
{
    begin(&profile);
    struct view view = look(&profile, NULL);
    struct picture_options options = {0};
    void (*const all[])(const struct view *view, const struct picture_options *options,
                        FILE *file) = {picture_flame, picture_time, picture_sizes};
    for (unsigned i = 0; i < 3; i++) {
        char *text = drawn(&view, &options, all[i]);
        check_xml("an empty picture", text);
        free(text);
    }
    free(drawn(&view, &options, picture_dot));
    view_free(&view);
    profile_free(&profile);
}

int main(void)
{
    assert(!xml_is_good("<a><b></a></b>") && !xml_is_good("<a>&</a>") &&
           xml_is_good("<a x=\"1\"/>"));
    flame_has_the_widths();
    names_are_escaped();
    long_names_are_shortened();
    nothing_vanishes();
    history_is_stacked();
    many_stacks_make_no_great_file();
    frames_stay_in_their_modules();
    nothing_is_a_picture_too();
    return 0;
}
