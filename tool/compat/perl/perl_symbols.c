/* SPDX-License-Identifier: MIT */
/* --symbols: a memory map and addresses on standard input, names on standard output. */
#include "tool/compat/perl/perl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool find_address(const char *line, uint64_t *address);
static void take_map(struct profile *profile, const char *line);

void perl_print_symbols(const struct compat_words *words)
{
    struct perl_profile loaded = {.digits = 16, .kind = PROFILE_OTHER};
    struct profile *profile = &loaded.profile;
    struct perl_stacks stacks;
    struct symbol_report report = {0};
    uint64_t *addresses = NULL, address;
    size_t count = 0, room = 0, line_room = 0;
    char *line = NULL;
    if (words->operands_count == 0)
        compat_usage(words, "Did not specify program");
    loaded.program = loaded.symbols.program = words->operands[0];
    if (access(loaded.program, F_OK) != 0)
        compat_fail("%s does not exist.", loaded.program);
    fprintf(stderr, "Using local file %s.\n", loaded.program);
    profile_start(profile);
    while (getline(&line, &line_room, stdin) > 0) {
        if (!find_address(line, &address)) {
            take_map(profile, line);
            continue;
        }
        compat_reserve(&addresses, &room, count + 1, sizeof *addresses);
        addresses[count++] = address;
    }
    free(line);
    uint32_t *locations = compat_room(NULL, count, sizeof *locations);
    for (size_t i = 0; i < count; i++)
        locations[i] = profile_address(profile, addresses[i], LOCATION_EXACT);
    compat_own(profile, loaded.program, compat_text(words, COMPAT_ADD_LIB));
    if (!symbol_resolve(profile, &loaded.symbols, &report) || profile->failed)
        compat_out_of_memory();
    symbol_report_free(&report);
    perl_stacks_make(&stacks, &loaded, words);
    for (size_t i = 0; i < count; i++)
        puts(profile_location_at(profile, locations[i])->lines > 0
                 ? stacks.names[stacks.first_name[locations[i] + 1] - 1].name
                 : "??");
    perl_stacks_free(&stacks);
    profile_free(profile);
    free(locations);
    free(addresses);
}

/* The first address of a line, which is a word of its own. */
static bool find_address(const char *line, uint64_t *address)
{
    for (const char *at = strcasestr(line, "0x"); at; at = strcasestr(at + 2, "0x")) {
        char *end;
        if (at > line && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
            continue;
        *address = strtoull(at, &end, 16);
        if (end > at + 2 && !isalnum((unsigned char)*end) && *end != '_')
            return true;
    }
    return false;
}

/* "start-end r-xp offset device inode path" or "start-end: path"; other lines say nothing. */
static void take_map(struct profile *profile, const char *line)
{
    unsigned long long start, limit, offset = 0;
    char mode[5] = "";
    int end = 0;
    if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &limit, mode, &offset, &end) == 4 &&
        end > 0) {
        if (mode[2] != 'x')
            return;
    } else if (sscanf(line, " %llx-%llx: %n", &start, &limit, &end) != 2 || end == 0) {
        return;
    }
    const char *path = line + end;
    size_t length = strcspn(path, "\r\n");
    if (length == 0 || start >= limit)
        return;
    struct profile_mapping mapping = {.start = start, .limit = limit, .offset = offset};
    mapping.path = profile_string(profile, path, length);
    profile_mapping(profile, &mapping);
}
