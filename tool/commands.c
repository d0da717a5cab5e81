/* SPDX-License-Identifier: MIT */
/* The command table as data. */
#include "tool/commands.h"

#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

const struct command commands[] = {
#define COMMAND(verb, function, operands, synopsis, brief, details) \
    {verb, function, operands, synopsis, brief, details},
#define FLAG(...)
#include "tool/commands.def"
#undef COMMAND
#undef FLAG
};
const size_t commands_count = sizeof commands / sizeof *commands;

const struct command_flag commands_flags[] = {
#define COMMAND(...)
#define FLAG(verb, name, argument, brief) {verb, name, argument, brief},
#include "tool/commands.def"
#undef COMMAND
#undef FLAG
};
const size_t commands_flags_count = sizeof commands_flags / sizeof *commands_flags;

const struct command *commands_find(const char *verb)
{
    for (size_t i = 0; i < commands_count; i++) {
        if (strcmp(commands[i].verb, verb) == 0)
            return &commands[i];
    }
    return NULL;
}

const char *commands_nearest(const char *verb)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < commands_count; i++) {
        const char *known = commands[i].verb;
        size_t distance = nearest_distance(verb, strlen(verb), known, strlen(known));
        if (distance < best_distance) {
            best_distance = distance;
            best = known;
        }
    }
    return best;
}

bool commands_flag_of(const struct command_flag *flag, const char *verb, bool shared)
{
    if (flag->verb[0] == '\0')
        return shared;
    if (flag->verb[0] != '@')
        return strcmp(flag->verb, verb) == 0;
    const struct command *command = commands_find(verb);
    return shared && command && commands_reads(command);
}

bool commands_reads(const struct command *command)
{
    return strncmp(command->operands, "PROFILE", 7) == 0;
}
