/* SPDX-License-Identifier: MIT */
/* What `memoir frag` reads is scaled size by size: rows of each size add up to what was counted for
 * it. A damaged file may have any number of sizes, and is read in time in proportion to its length:
 * size by size over all rows, this one took a quarter of an hour. */
#include "tool/profile/read/read_capture_pins.h"

#include <math.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum { SIZES = 400000, ROWS_EACH = 2, SECONDS_MAX = 60 };

int main(void)
{
    struct profile profile;
    struct pin_rows pins = {0};
    profile_start(&profile);
    profile.pins.known = profile.counted = true;
    alarm(SECONDS_MAX);
    for (unsigned i = SIZES; i-- > 0;) { /* in no helpful order */
        struct pin_class *class = profile_list_add(&profile, &pins.classes, sizeof *class);
        *class = (struct pin_class){.size = 16 + i, .bytes = 4096, .live = 30};
        for (unsigned k = 0; k < ROWS_EACH; k++) {
            struct pin_row *row = profile_list_add(&profile, &pins.rows, sizeof *row);
            *row = (struct pin_row){
                .size = 16 + i, .seen = 1, .blocks = 10, .held = 160, .bytes = 500, .alone = 100};
        }
    }
    assert(pin_rows_end(&pins, &profile));
    const struct pin_row *rows = pins.rows.items;
    for (size_t i = 0; i < pins.rows.count; i++) {
        assert(fabs(rows[i].blocks - 15) < 1e-6); /* 2 recorded ones and 28 others in two rows */
        assert(fabs(rows[i].bytes - 2048) < 1e-6);
    }
    pin_rows_free(&pins);
    profile_free(&profile);
    return 0;
}
