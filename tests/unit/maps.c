/* SPDX-License-Identifier: MIT */
/*
 * not-emulated. The list of mappings has this program, its code, its data and its stack; build ids
 * are those that the program finds in itself; a thread sees the list when the first thread has
 * ended; long and odd names do no harm.
 */
#include "base/file/maps.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

struct own {
    uint8_t id[MAPS_ID_MAX];
    size_t length;
};

/* What the loader knows about the program's own notes. */
static int own_id(struct dl_phdr_info *info, size_t size, void *context)
{
    struct own *own = context;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const char *at = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        const char *end = at + info->dlpi_phdr[i].p_memsz;
        while (info->dlpi_phdr[i].p_type == PT_NOTE && at < end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            const char *name = at + sizeof *note;
            const char *text = name + ((note->n_namesz + 3) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && strcmp(name, "GNU") == 0) {
                own->length = note->n_descsz;
                memcpy(own->id, text, note->n_descsz);
            }
            at = text + ((note->n_descsz + 3) & ~3u);
        }
    }
    return 1; /* the first one is the program */
}

static bool inside(const struct map *map, const void *at)
{
    return map->start <= (uintptr_t)at && (uintptr_t)at < map->end;
}

static int data = 1;

static void this_program_is_there(void)
{
    static struct maps maps;
    struct map map;
    struct own own = {{0}, 0};
    unsigned code_seen = 0, data_seen = 0, stack_seen = 0;
    uint64_t before = 0;
    uint8_t id[MAPS_ID_MAX];
    dl_iterate_phdr(own_id, &own);
    assert(maps_open(&maps));
    while (maps_next(&maps, &map)) {
        assert(map.start < map.end && map.start >= before);
        before = map.end;
        unsigned length = maps_build_id(&maps, &map, id);
        if (inside(&map, (const void *)(uintptr_t)this_program_is_there)) {
            code_seen++;
            assert(map.executable && !map.shared && map.inode != 0 && map.path[0] == '/');
            assert(length == own.length && memcmp(id, own.id, length) == 0);
        }
        if (inside(&map, &data)) {
            data_seen++;
            assert(map.readable && map.writable);
        }
        stack_seen += inside(&map, &map);
    }
    maps_close(&maps);
    assert(code_seen == 1 && data_seen == 1 && stack_seen == 1);
    assert(data == 1);
}

/* A name that is longer than a line may be, and one that looks like a line. */
static void odd_names_do_no_harm(void)
{
    static struct maps maps;
    struct map map;
    char odd[256];
    unsigned seen = 0;
    memset(odd, '\n', sizeof odd);
    odd[240] = '\0';
    for (unsigned depth = 0; depth < 12; depth++)
        assert((mkdir(odd, 0700) == 0 || errno == EEXIST) && chdir(odd) == 0);
    int fd = open("1-2 r-xp 0 0:0 0 x", O_RDWR | O_CREAT, 0600);
    size_t page = os_page_size();
    assert(fd >= 0 && ftruncate(fd, (off_t)page) == 0);
    char *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
    assert(at != MAP_FAILED);
    assert(maps_open(&maps));
    while (maps_next(&maps, &map)) {
        assert(map.start > 1);
        seen += inside(&map, at) && strlen(map.path) > 4000;
        uint8_t id[MAPS_ID_MAX];
        maps_build_id(&maps, &map, id);
    }
    maps_close(&maps);
    assert(seen == 1);
    munmap(at, page);
    close(fd);
    unlink("1-2 r-xp 0 0:0 0 x");
    for (unsigned depth = 0; depth < 12; depth++)
        assert(chdir("..") == 0 && rmdir(odd) == 0);
}

/* Whether the process has a list of its own: not once its first thread has ended. */
static bool first_lives(void)
{
    char byte;
    int fd = open("/proc/self/maps", O_RDONLY);
    bool lives = fd >= 0 && read(fd, &byte, 1) == 1;
    if (fd >= 0)
        close(fd);
    return lives;
}

static void *in_thread(void *context)
{
    static struct maps maps;
    struct map map;
    unsigned count = 0;
    (void)context;
    while (first_lives())
        usleep(1000);
    assert(maps_open(&maps));
    while (maps_next(&maps, &map))
        count++;
    maps_close(&maps);
    _exit(count > 3 ? 0 : 1);
}

static void another_thread_sees_them_alone(void)
{
    pthread_t other;
    pid_t child = fork();
    if (child == 0) {
        assert(pthread_create(&other, NULL, in_thread, NULL) == 0);
        pthread_exit(NULL);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && status == 0);
}

static int count_lines(void *context, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        *(unsigned *)context += ((const char *)bytes)[i] == '\n';
    return 0;
}

static void a_copy_has_all_lines(void)
{
    static struct maps maps;
    struct sink sink;
    struct map map;
    unsigned lines = 0, count = 0;
    sink_to_function(&sink, count_lines, &lines, NULL, 0);
    static struct maps scratch;
    assert(maps_copy(&scratch, &sink, "two\nlines\n") && sink.error == 0);
    assert(maps_open(&maps));
    while (maps_next(&maps, &map))
        count++;
    maps_close(&maps);
    assert(count > 3 && lines + 3 >= count + 2 && lines <= count + 2 + 3);
}

int main(void)
{
    this_program_is_there();
    odd_names_do_no_harm();
    a_copy_has_all_lines();
    another_thread_sees_them_alone();
    return 0;
}
