/* SPDX-License-Identifier: MIT */
/* helper: large arrays of which few pages are ever written to grow and shrink by realloc, into
 * memory that was in use before, too. The process takes no more memory than those pages, and each
 * byte is where it was. Its argument is how many arrays there are at a time. */
#include "tests/programs/memory.h"
#include "tests/programs/work.h"

enum { ARRAYS_MAX = 1200, NOTES_MAX = 64 };

static struct array {
    unsigned char *block;
    size_t size, notes[NOTES_MAX]; /* where it was written to: the number of the note, plus 1 */
    unsigned count;
} arrays[ARRAYS_MAX];

static unsigned turn = 1;

static size_t random_below(size_t bound)
{
    turn = turn * 1103515245u + 12345u;
    return ((size_t)turn >> 8) * 4099 % bound;
}

static void check(const struct array *array)
{
    for (unsigned i = 0; i < array->count; i++) {
        CHECK_EQ(array->block[array->notes[i]], i + 1);
    }
}

static void resize(struct array *array, size_t size)
{
    array->block = realloc(array->block, size);
    CHECK(array->block != NULL);
    while (array->count > 0 && array->notes[array->count - 1] >= size) {
        array->count--;
    }
    if (size > array->size && array->count < NOTES_MAX) {
        size_t at = array->size + random_below(size - array->size);
        array->notes[array->count] = at;
        array->block[at] = (unsigned char)++array->count;
    }
    array->size = size;
    check(array);
}

/* Bytes in memory beyond those of `before`. */
static size_t grown(size_t before)
{
    size_t now = resident_bytes();
    return now > before ? now - before : 0;
}

int main(int count, char **words)
{
    size_t some = count > 1 ? (size_t)atoi(words[1]) : 4, rounds = 60 / some + 6;
    size_t min = some > 100 ? MIB : 64 * MIB, max = some > 100 ? 8 * MIB : 4096 * MIB;
    size_t before = resident_bytes(), page = (size_t)sysconf(_SC_PAGESIZE), written = 0;
    alarm(100);
    for (size_t i = 0; i < some; i++) {
        resize(&arrays[i], min);
    }
    for (size_t i = 0; i < some * rounds; i++) {
        struct array *array = &arrays[random_below(some)];
        size_t more = array->size + array->size / 2;
        resize(array, more > max ? min : more);
        written++;
        size_t more_in_memory = grown(before);
        CHECK_AT(more_in_memory < 32 * MIB + (some + written) * page, "%zu MiB after %zu calls",
                 more_in_memory / MIB, written);
        if (more_in_memory > 512 * MIB) {
            break; /* it has failed, and the machine is not ours alone */
        }
    }
    return check_result();
}
