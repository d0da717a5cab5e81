/* SPDX-License-Identifier: MIT */
/* fork takes stdio's locks too, and open_memstream calls malloc under them: whoever holds the
 * allocator's locks across fork, in the wrong order, hangs here. */
#include "tests/programs/work.h"

enum { FORKS = 300, WRITERS = 3 };

static atomic_bool stop;

static bool stream_works(unsigned turn)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL) {
        return false;
    }
    for (unsigned i = 0; i < 40; i++) {
        fprintf(stream, "%08u %*u\n", turn, (int)(turn % 60) + 10, i);
    }
    bool good = fclose(stream) == 0 && length == 40 * (20 + turn % 60);
    free(text);
    return good;
}

static void *write_streams(void *unused)
{
    for (unsigned turn = 1; !stop; turn++) {
        CHECK(stream_works(turn));
        fflush(NULL);
    }
    return unused;
}

int main(void)
{
    pthread_t writers[WRITERS];
    alarm(100);
    noise_start(1);
    for (int i = 0; i < WRITERS; i++) {
        CHECK_EQ(pthread_create(&writers[i], NULL, write_streams, NULL), 0);
    }
    for (unsigned i = 0; i < FORKS && check_failures == 0; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(CHILD_SECONDS);
            if (!stream_works(i)) {
                _exit(5);
            }
            child_works(i);
        }
        if (CHECK(child > 0)) {
            child_ended_well(child);
        }
    }
    stop = true;
    for (int i = 0; i < WRITERS; i++) {
        CHECK_EQ(pthread_join(writers[i], NULL), 0);
    }
    noise_end(1);
    return check_result();
}
