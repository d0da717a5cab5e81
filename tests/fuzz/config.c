/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as options: no crash, few warnings, each one printable line, values inside the table's
 * bounds, and what is printed reads back as the same options.
 *
 * With PLANT_BUG the target has the mistake that a careless user of the options makes, a path
 * copied into too small a buffer; tests/fuzz/run proves with it that the fuzzer finds such things.
 */

#include "base/config.h"

#include "base/config_value.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned lines;

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void sink(const char *line, size_t length)
{
    lines++;
    must(length > 1 && line[length - 1] == '\n');
    for (size_t i = 0; i < length - 1; i++)
        must(line[i] >= ' ' && line[i] <= '~');
}

static void plant(const struct config *options)
{
#ifdef PLANT_BUG
    /* volatile: an optimiser would see that nobody reads the copy */
    char *volatile name = malloc(16);
    memcpy(name, options->conf, strlen(options->conf) + 1);
    free(name);
#else
    (void)options;
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config options;
    struct config again;
    char text[CONFIG_TEXT_MAX];
    char again_text[CONFIG_TEXT_MAX];
    struct print print;
    struct print again_print;

    lines = 0;
    config_warn_to(sink);
    config_defaults(&options);
    config_text(&options, (const char *)data, size, "fuzz");
    must(lines <= CONFIG_WARNINGS_MAX + 1);
    must(options.thp <= CONFIG_THP_AUTO && options.numa_nodes <= 64);
    must(memchr(options.conf, '\0', sizeof options.conf) != NULL);

    print_start(&print, text, sizeof text);
    must(config_print(&options, &print));
    lines = 0;
    config_warn_to(sink);
    config_defaults(&again);
    config_text(&again, text, print_length(&print), "again");
    must(lines == 0);
    print_start(&again_print, again_text, sizeof again_text);
    must(config_print(&again, &again_print));
    must(print_length(&print) == print_length(&again_print));
    must(memcmp(text, again_text, print_length(&print)) == 0);
    plant(&options);
    return 0;
}
