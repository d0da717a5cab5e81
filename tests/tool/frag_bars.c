/* SPDX-License-Identifier: MIT */
/* The bars of `memoir frag` keep their width where a damaged file tells that more memory is nearly
 * empty than there is: a line of 10^19 signs would not end. */
#include "tool/report/report.h"
#include "tool/report/text/text.h"

#include "tests/unit/unit.h"

enum { TEXT_MAX = 4000 };

int main(void)
{
    struct profile profile;
    struct view view = {0};
    struct view_error error;
    profile_start(&profile);
    profile.kind = PROFILE_HEAP;
    profile.format = "test";
    profile.default_type = profile_type(&profile, "inuse_space", UNIT_BYTES);
    profile.pins = (struct profile_pins){.known = true, .spans_space = 1 << 20};
    for (unsigned i = 0; i < PROFILE_FILLS; i++)
        profile.pins.by_fill[i] = (int64_t)1 << (14 + 2 * i); /* 16 KiB, and up to 64 MiB */
    struct view_options options = {.type = profile.default_type};
    assert(view_make(&view, &profile, &options, &error));
    char *text = NULL;
    size_t size;
    struct style style = {.out = open_memstream(&text, &size)};
    report_frag(&view, &style);
    assert(fclose(style.out) == 0);
    assert(strstr(text, "up to 1/64") != NULL && strstr(text, "64.0 MiB") != NULL);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (strchr(line, '#') != NULL)
            assert(strlen(line) < 80);
    assert(size < TEXT_MAX);
    free(text);
    view_free(&view);
    profile_free(&profile);
    return 0;
}
