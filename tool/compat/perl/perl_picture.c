/* SPDX-License-Identifier: MIT */
/* Call graphs as the Perl commands draw them. */
#include "tool/compat/perl/perl.h"

#include <stdlib.h>

void perl_picture(const struct perl_stacks *stacks, enum compat_option how)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        compat_out_of_memory();
    bool some = perl_print_dot(stacks, file);
    if (fclose(file) != 0)
        compat_out_of_memory();
    if (some)
        compat_show(stacks->words, text, how);
    free(text);
    if (!some && !stacks->words->value[COMPAT_INTERACTIVE].on)
        compat_end(1);
}
