/* SPDX-License-Identifier: MIT */
/* See tool/profile/profile_names.h. */
#include "tool/profile/profile_names.h"

static bool is_code(const struct profile *profile, uint32_t number);

struct profile_names profile_names_of(const struct profile *profile)
{
    struct profile_names names = {0};
    for (uint32_t i = 0; i < profile->locations.count; i++) {
        const struct profile_location *location = profile_location_at(profile, i);
        if (!is_code(profile, i))
            continue;
        bool nearest = location->lines > 0 && location->flags & LOCATION_GUESS;
        names.addresses++;
        names.named += location->lines > 0 && !nearest;
        names.nearest += nearest;
    }
    return names;
}

/* Names such as "[stack not recorded]" stand for no code. */
static bool is_code(const struct profile *profile, uint32_t number)
{
    const struct profile_location *location = profile_location_at(profile, number);
    if (location->address != 0 || location->lines == 0)
        return true;
    uint32_t function = profile_lines_of(profile, number)[0].function;
    return profile_text(profile, profile_function_at(profile, function)->name)[0] != '[';
}

double profile_names_share(const struct profile *profile)
{
    struct profile_names names = profile_names_of(profile);
    return names.addresses > 0 ? (double)names.named / (double)names.addresses : 1;
}
