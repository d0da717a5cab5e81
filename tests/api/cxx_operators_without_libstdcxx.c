/* SPDX-License-Identifier: MIT */
/* The 20 operators by their mangled names, in a program without libstdc++: all there, all working,
 * null from the nothrow forms. A throwing new that fails has nobody to throw with: one line and
 * abort. */
#define _GNU_SOURCE
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/api/check.h"

#define NEW(suffix, ...)                        \
    CHECK_WEAK void *_Znw##suffix(__VA_ARGS__); \
    CHECK_WEAK void *_Zna##suffix(__VA_ARGS__)
#define DELETE(suffix, ...)                    \
    CHECK_WEAK void _Zdl##suffix(__VA_ARGS__); \
    CHECK_WEAK void _Zda##suffix(__VA_ARGS__)
NEW(m, size_t);
NEW(mRKSt9nothrow_t, size_t, const void *);
NEW(mSt11align_val_t, size_t, size_t);
NEW(mSt11align_val_tRKSt9nothrow_t, size_t, size_t, const void *);
DELETE(Pv, void *);
DELETE(PvRKSt9nothrow_t, void *, const void *);
DELETE(Pvm, void *, size_t);
DELETE(PvSt11align_val_t, void *, size_t);
DELETE(PvmSt11align_val_t, void *, size_t, size_t);
DELETE(PvSt11align_val_tRKSt9nothrow_t, void *, size_t, const void *);

enum { ALIGNMENT = 512 };
static const char nothrow;

static int all_there(void)
{
    return CHECK(_Znwm && _Znam && _ZnwmRKSt9nothrow_t && _ZnamRKSt9nothrow_t) &
           CHECK(_ZnwmSt11align_val_t && _ZnamSt11align_val_t) &
           CHECK(_ZnwmSt11align_val_tRKSt9nothrow_t && _ZnamSt11align_val_tRKSt9nothrow_t) &
           CHECK(_ZdlPv && _ZdaPv && _ZdlPvRKSt9nothrow_t && _ZdaPvRKSt9nothrow_t) &
           CHECK(_ZdlPvm && _ZdaPvm && _ZdlPvSt11align_val_t && _ZdaPvSt11align_val_t) &
           CHECK(_ZdlPvmSt11align_val_t && _ZdaPvmSt11align_val_t) &
           CHECK(_ZdlPvSt11align_val_tRKSt9nothrow_t && _ZdaPvSt11align_val_tRKSt9nothrow_t);
}

static void *checked(void *block, size_t size, size_t alignment)
{
    CHECK_AT(block != NULL && is_aligned(block, alignment), "size %zu", size);
    CHECK_AT(malloc_usable_size(block) >= size, "size %zu", size);
    memset(block, 1, size);
    return block;
}

static void every_pair(size_t size)
{
    _ZdlPv(checked(_Znwm(size), size, 16));
    _ZdaPv(checked(_Znam(size), size, 16));
    _ZdlPvm(checked(_ZnwmRKSt9nothrow_t(size, &nothrow), size, 16), size);
    _ZdaPvm(checked(_ZnamRKSt9nothrow_t(size, &nothrow), size, 16), size);
    _ZdlPvRKSt9nothrow_t(checked(_Znwm(size), size, 16), &nothrow);
    _ZdaPvRKSt9nothrow_t(checked(_Znam(size), size, 16), &nothrow);
    void *block = checked(_ZnwmSt11align_val_t(size, ALIGNMENT), size, ALIGNMENT);
    _ZdlPvSt11align_val_t(block, ALIGNMENT);
    block = checked(_ZnamSt11align_val_t(size, ALIGNMENT), size, ALIGNMENT);
    _ZdaPvSt11align_val_t(block, ALIGNMENT);
    block = checked(_ZnwmSt11align_val_tRKSt9nothrow_t(size, ALIGNMENT, &nothrow), size, ALIGNMENT);
    _ZdlPvmSt11align_val_t(block, size, ALIGNMENT);
    block = checked(_ZnamSt11align_val_tRKSt9nothrow_t(size, ALIGNMENT, &nothrow), size, ALIGNMENT);
    _ZdaPvmSt11align_val_t(block, size, ALIGNMENT);
    block = _ZnwmSt11align_val_t(size, ALIGNMENT);
    _ZdlPvSt11align_val_tRKSt9nothrow_t(block, ALIGNMENT, &nothrow);
    block = _ZnamSt11align_val_t(size, ALIGNMENT);
    _ZdaPvSt11align_val_tRKSt9nothrow_t(block, ALIGNMENT, &nothrow);
}

/* What the child says on stderr before it dies, into `text`; the signal that ended it. */
static int fail_in_child(int which, char *text, size_t text_max)
{
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], STDERR_FILENO);
        size_t too_much = opaque_size(PTRDIFF_MAX - 100);
        void *block = which == 0   ? _Znwm(too_much)
                      : which == 1 ? _Znam(too_much)
                      : which == 2 ? _ZnwmSt11align_val_t(too_much, ALIGNMENT)
                                   : _ZnamSt11align_val_t(too_much, ALIGNMENT);
        _exit(block == NULL ? 1 : 2);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], text + length, text_max - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(ends[0]);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

int main(void)
{
    if (!all_there()) {
        return check_result();
    }
    for (size_t size = 0; size < 300000; size += 1 + size / 4) {
        every_pair(size);
    }
    size_t too_much = opaque_size(PTRDIFF_MAX - 100);
    CHECK(_ZnwmRKSt9nothrow_t(too_much, &nothrow) == NULL);
    CHECK(_ZnamRKSt9nothrow_t(too_much, &nothrow) == NULL);
    CHECK(_ZnwmSt11align_val_tRKSt9nothrow_t(too_much, ALIGNMENT, &nothrow) == NULL);
    CHECK(_ZnamSt11align_val_tRKSt9nothrow_t(too_much, ALIGNMENT, &nothrow) == NULL);
    for (int which = 0; which < 4; which++) {
        char text[1000];
        int ended_by = fail_in_child(which, text, sizeof text);
        CHECK_EQ(ended_by, 6);
        CHECK_AT(strncmp(text, "memoir: ", 8) == 0, "it said \"%s\"", text);
        CHECK_AT(strstr(text, "\nmemoir: ") == NULL, "one line was wanted, it said \"%s\"", text);
    }
    return check_result();
}
