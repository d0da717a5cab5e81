/* SPDX-License-Identifier: MIT */ /* static-too */
/* mallinfo, mallinfo2, malloc_info, malloc_stats, mallopt and malloc_trim speak of the heap that
 * malloc uses: 64 MiB more in small blocks show up in them and go away again. */
#define _GNU_SOURCE
#include <malloc.h>

#include "tests/api/check.h"

#ifdef __GLIBC__
enum { COUNT = 64 << 10, BYTES = 1000 };
static void *blocks[COUNT];

static void hold(void)
{
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(BYTES);
        memset(blocks[i], 1, BYTES);
    }
}

static void release(void)
{
    for (int i = 0; i < COUNT; i++) {
        free(blocks[i]);
    }
}

static long long in_use(void)
{
#if __GLIBC_PREREQ(2, 33)
    return (long long)mallinfo2().uordblks;
#else
    return (unsigned)mallinfo().uordblks;
#endif
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static long long in_use_int(void)
{
    return (unsigned)mallinfo().uordblks;
}
#pragma GCC diagnostic pop

static void mallinfo_counts(void)
{
    const long long held = (long long)COUNT * BYTES;
    long long before = in_use();
    long long before_int = in_use_int();
    hold();
    CHECK_AT(in_use() - before >= held, "in use grew by %lld", in_use() - before);
    CHECK_AT(in_use() - before < held + held / 4, "in use grew by %lld", in_use() - before);
    CHECK_AT(in_use_int() - before_int >= held, "in use grew by %lld", in_use_int() - before_int);
    release();
    CHECK_AT(in_use() - before < held / 16, "in use stayed at %lld more", in_use() - before);
}

static void malloc_info_is_xml(void)
{
    char text[16] = "";
    FILE *file = tmpfile();
    errno = ERRNO_UNTOUCHED;
    CHECK_EQ(malloc_info(opaque_size(1), file), EINVAL);
    CHECK_EQ(malloc_info(0, file), 0);
    rewind(file);
    CHECK_EQ(fread(text, 1, 7, file), 7);
    CHECK_AT(strcmp(text, "<malloc") == 0, "it begins %s", text);
    CHECK_EQ(fseek(file, -10, SEEK_END), 0);
    CHECK_EQ(fread(text, 1, 10, file), 10);
    CHECK_AT(strcmp(text, "</malloc>\n") == 0, "it ends %s", text);
    fclose(file);
}

/* What it prints goes to stderr, and only there. */
static void malloc_stats_prints_to_stderr(void)
{
    FILE *file = tmpfile();
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    malloc_stats();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    CHECK(lseek(fileno(file), 0, SEEK_END) > 0);
    fclose(file);
}

int main(void)
{
    mallinfo_counts();
    malloc_info_is_xml();
    malloc_stats_prints_to_stderr();
    CHECK_EQ(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1);
    CHECK_EQ(mallopt(M_ARENA_MAX, 1), 1);
    hold();
    release();
    int released = malloc_trim(0);
    CHECK(released == 0 || released == 1);
    return check_result();
}
#else
CHECK_WEAK int malloc_trim(size_t);
CHECK_WEAK int mallopt(int, int);
/* musl declares none of these; exported they must still be callable. */
int main(void)
{
    enum { GLIBC_M_MMAP_THRESHOLD = -3 };
    free(malloc(1));
    CHECK(malloc_trim == NULL || malloc_trim(0) == 0 || malloc_trim(0) == 1);
    CHECK(mallopt == NULL || mallopt(GLIBC_M_MMAP_THRESHOLD, 1 << 20) == 1);
    return check_result();
}
#endif
