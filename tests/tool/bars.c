/* SPDX-License-Identifier: MIT */
/* The widest error bar of a table still has a space before it, in ASCII as well; beyond 999 % it
 * says that it is more. */
#include "tool/report/report.h"
#include "tool/report/table.h"

#include "base/compiler.h"
#include "tests/unit/unit.h"

int main(void)
{
    static const double errors[] = {0.03, 0.5, 3.1, 9.99, 13.97, 1e6};
    for (size_t i = 0; i < 2 * COUNT_OF(errors); i++) {
        double deviation = errors[i / 2] * 126 / 1.96;
        struct view_value value = {.value = 126, .variance = deviation * deviation};
        char *text = NULL;
        size_t size;
        struct style style = {.out = open_memstream(&text, &size), .utf8 = i % 2 == 0};
        table_error(&style, &value);
        assert(fclose(style.out) == 0 && text[0] == ' ');
        assert(style_columns(text) == table_error_width(&style));
        assert((strstr(text, ">999%") != NULL) == (errors[i / 2] > 10));
        free(text);
    }
    return 0;
}
