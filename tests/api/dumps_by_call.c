/* SPDX-License-Identifier: MIT */
/* linked-only static-too: profiling on and off by call, and its files. */
#include "tests/api/check.h"

#include <sys/stat.h>

#include "memoir/memoir.h"

const char *memoir_conf = "heap:off,dump.format:gperftools,capture:calls.memoir";

/* The first line of a dump: live objects and bytes, as asked for. */
static void read_dump(const char *path, unsigned *objects, unsigned *bytes)
{
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fscanf(file, "heap profile: %u: %u", objects, bytes) == 2);
    fclose(file);
}

static long size_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (long)about.st_size : -1;
}

int main(void)
{
    unsigned objects = 0, bytes = 0;
    CHECK_EQ(memoir_rate(), -1);
    void *volatile before = malloc(1000);
    memoir_start(0);
    CHECK_EQ(memoir_rate(), 0);
    void *volatile kept = malloc(3000), *volatile freed = malloc(5000);
    memoir_stop();
    void *volatile after = malloc(7000);
    CHECK_EQ(memoir_dump("first"), 0);
    read_dump("first", &objects, &bytes);
    CHECK_EQ(objects, 2);
    CHECK_EQ(bytes, 8000);
    free(freed);
    CHECK_EQ(memoir_dump("first"), 0);
    read_dump("first", &objects, &bytes);
    CHECK_EQ(objects, 1);
    CHECK_EQ(bytes, 3000);
    memoir_start(4096);
    CHECK_EQ(memoir_rate(), 4096);
    memoir_stop();
    memoir_start(-1);
    CHECK_EQ(memoir_rate(), 4096);
    memoir_set_rate(-1);
    CHECK_EQ(memoir_rate(), -1);

    long length = size_of("calls.memoir");
    CHECK(length > 0);
    CHECK_EQ(memoir_mark("half"), 0);
    CHECK(size_of("calls.memoir") > length);
    length = size_of("calls.memoir");
    CHECK_EQ(memoir_snapshot("by call"), 0);
    CHECK(size_of("calls.memoir") > length);

    unlink("link");
    CHECK(symlink("first", "link") == 0);
    CHECK_EQ(memoir_dump("link"), ELOOP);
    CHECK_EQ(memoir_dump("no/folder"), ENOENT);
    free(before);
    free(kept);
    free(after);
    return check_result();
}
