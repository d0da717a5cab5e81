/* SPDX-License-Identifier: MIT */
/* See tool/profile/write/write.h. */
#include "tool/profile/write/write.h"

#include <string.h>

#include "base/compiler.h"

#define X(name) &writer_##name,
const struct writer *const writers[] = {WRITERS(X, X, X)};
#undef X
const size_t writers_count = COUNT_OF(writers);

const struct writer *write_find(const char *path_or_word)
{
    const struct writer *best = NULL;
    size_t length = strlen(path_or_word), best_length = 0;
    for (size_t i = 0; i < writers_count; i++) {
        size_t ending = strlen(writers[i]->ending);
        if (strcmp(writers[i]->word, path_or_word) == 0)
            return writers[i];
        if (ending > best_length && ending <= length &&
            strcmp(path_or_word + length - ending, writers[i]->ending) == 0) {
            best = writers[i];
            best_length = ending;
        }
    }
    return best;
}
