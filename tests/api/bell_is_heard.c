/* SPDX-License-Identifier: MIT */ /* static-too linked-only */
/*
 * The library's note tells where its bell is; rung, it makes the next thread that allocates start
 * the helper, although all signals are blocked, and is quiet again. A child of fork has a bell of
 * its own.
 */
#define _GNU_SOURCE
#include "tests/api/check.h"

#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/attach_protocol.h"

static uint32_t *bell;
static unsigned notes;

static void segment_search(const char *at, size_t size)
{
    ElfW(Nhdr) note;
    for (size_t rest = size; rest >= sizeof note;) {
        memcpy(&note, at, sizeof note);
        const char *about = at + sizeof note + ((note.n_namesz + 3) & ~3u);
        size_t length = (size_t)(about - at) + ((note.n_descsz + 3) & ~3u);
        if (note.n_type == ATTACH_NOTE && note.n_namesz == sizeof ATTACH_NOTE_OWNER &&
            strcmp(at + sizeof note, ATTACH_NOTE_OWNER) == 0) {
            int32_t distance;
            CHECK_EQ(note.n_descsz, ATTACH_NOTE_SIZE);
            memcpy(&distance, about + ATTACH_NOTE_BELL, sizeof distance);
            bell = (uint32_t *)(about + ATTACH_NOTE_BELL + distance);
            notes++;
        }
        if (length > rest)
            break;
        at += length;
        rest -= length;
    }
}

static int object_search(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            segment_search((const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
                           info->dlpi_phdr[i].p_memsz);
    return 0;
}

/* Whether the socket of this process is in one of the folders. */
static int is_listening(void)
{
    char path[ATTACH_PATH_MAX];
    struct stat about;
    const char *const folders[] = {"/tmp", "/dev/shm", "/var/tmp"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/memoir-%u/%d.sock", folders[i], (unsigned)geteuid(),
                 (int)getpid());
        if (stat(path, &about) == 0)
            return S_ISSOCK(about.st_mode);
    }
    return 0;
}

static void allocate_for(int tenths)
{
    while (tenths-- > 0 && !is_listening()) {
        for (int i = 0; i < 100; i++)
            free(opaque_ptr(malloc(200000)));
        usleep(100000);
    }
}

int main(void)
{
    sigset_t all;
    int status = 0;
    alarm(60);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    dl_iterate_phdr(object_search, NULL);
    CHECK_EQ(notes, 1);
    if (bell == NULL)
        return check_result();
    CHECK_EQ(*bell, ATTACH_BELL_QUIET);
    allocate_for(3);
    CHECK(!is_listening());
    __atomic_store_n(bell, ATTACH_BELL_RUNG, __ATOMIC_RELAXED);
    allocate_for(100);
    CHECK(is_listening());
    CHECK_EQ(*bell, ATTACH_BELL_QUIET);

    const char *emulator = getenv("MEMOIR_EMULATOR");
    if (emulator != NULL && *emulator != '\0') /* qemu fails when such a child starts a thread */
        return check_result();
    pid_t child = fork();
    if (child == 0) {
        CHECK(!is_listening());
        __atomic_store_n(bell, ATTACH_BELL_RUNG, __ATOMIC_RELAXED);
        allocate_for(100);
        CHECK(is_listening());
        exit(check_result());
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return check_result();
}
