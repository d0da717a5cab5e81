/* SPDX-License-Identifier: MIT */
/*
 * See tool/symbol/cache.h. Nothing in a file is believed: it may be cut or written by another user.
 * A checksum covers all that follows the head, and numbers must stay within their tables; a file
 * that fails is written anew. The file's name is the build id, or a hash of the path; its head has
 * a hash of the version, the options and the files that answered.
 */
#include "tool/symbol/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file/crc.h"
#include "tool/memory/memory.h"

/* The cache is in the user's home: half a GiB at most, and no file with more than half of that. */
enum { CACHE_VERSION = 4, FILE_MAX = 1 << 28, ALL_MAX = 1 << 29 };

struct cache_head {
    char magic[8];
    uint32_t version, quality;
    uint64_t sources, answers, frames, text_size;
    uint32_t checksum; /* of all that follows */
    uint32_t nothing;
};

static const char cache_magic[8] = "memoirSy";

/* One of the files, for the choice of what is removed. */
struct entry {
    char name[256];
    int64_t time, size;
};

static bool folder_make(char *path, size_t size);
static uint64_t sources_of(const struct module *module, const struct symbol_options *options);
static bool file_read(struct cache *cache, int fd, struct cache_head *head);
static bool read_all(int fd, void *bytes, size_t size);
static uint32_t checksum_of(const struct answers *answers);
static bool answers_hold(const struct answers *answers);
static void answer_copy(struct answers *to, struct answer *target, const struct answers *from,
                        const struct answer *answer);
static void file_write(const struct cache *cache, const struct answers *all, uint32_t quality);
static bool write_all(int fd, const void *bytes, size_t size);
static void folder_trim(const char *file);
static int entry_order(const void *left, const void *right);

void cache_start(struct cache *cache, struct module *module, const struct symbol_options *options)
{
    const struct image *image = module->image ? module->image : module->debug;
    struct answers *answers = &module->answers;
    struct cache_head head;
    char folder[2048];
    memset(cache, 0, sizeof *cache);
    answers_start(&cache->kept);
    if (options->no_cache || !image || image->fd < 0 || !folder_make(folder, sizeof folder))
        return;
    cache->sources = sources_of(module, options);
    if (image->build_id[0] != '\0')
        snprintf(cache->path, sizeof cache->path, "%s/%s", folder, image->build_id);
    else
        snprintf(cache->path, sizeof cache->path, "%s/path-%016lx", folder,
                 map_hash(image->path, strlen(image->path)));
    int fd = open(cache->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return;
    bool ok = file_read(cache, fd, &head);
    close(fd);
    if (!ok) {
        answers_free(&cache->kept);
        answers_start(&cache->kept);
        return;
    }
    for (size_t i = 0; i < answers->count; i++) {
        const struct answer *answer = answers_find(&cache->kept, answers->items[i].address);
        if (answer)
            answer_copy(answers, &answers->items[i], &cache->kept, answer);
    }
    if (head.quality <= SYMBOL_FULL)
        module->quality = head.quality;
}

/* Makes the folder. False if there is no place that is ours. */
static bool folder_make(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat stat_home;
    int length = -1;
    if (cache && cache[0] == '/')
        length = snprintf(path, size, "%s/memoir/symbols", cache);
    else if (home && home[0] == '/')
        length = snprintf(path, size, "%s/.cache/memoir/symbols", home);
    if (length < 0 || (size_t)length >= size)
        return false;
    bool there = home && stat(home, &stat_home) == 0;
    if (!there && !(cache && cache[0] == '/'))
        return false; /* a home that is not there is not ours to make */
    /* sudo: files of root in a user's home would be in that user's way. */
    if (there && stat_home.st_uid != geteuid())
        return false;
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
    return access(path, W_OK | X_OK) == 0;
}

static uint64_t sources_of(const struct module *module, const struct symbol_options *options)
{
    const struct image *images[] = {module->image, module->debug, module->bundle};
    uint64_t hash = map_mix(options->no_inlines, map_hash(MEMOIR_VERSION, strlen(MEMOIR_VERSION)));
    for (size_t i = 0; i < COUNT_OF(images); i++) {
        hash = map_mix(hash, images[i] ? images[i]->size : 0);
        hash = map_mix(hash, images[i] ? images[i]->changed_ns : 0);
    }
    return hash;
}

static bool file_read(struct cache *cache, int fd, struct cache_head *head)
{
    struct answers *kept = &cache->kept;
    struct stat stat;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_size > FILE_MAX ||
        !read_all(fd, head, sizeof *head) ||
        memcmp(head->magic, cache_magic, sizeof cache_magic) != 0 ||
        head->version != CACHE_VERSION || head->sources != cache->sources ||
        head->answers > FILE_MAX || head->frames > FILE_MAX || head->text_size > FILE_MAX ||
        (uint64_t)stat.st_size != sizeof *head + head->answers * sizeof *kept->items +
                                      head->frames * sizeof *kept->frames + head->text_size)
        return false;
    answers_free(kept);
    kept->items = calloc(head->answers + 1, sizeof *kept->items);
    kept->frames = calloc(head->frames + 1, sizeof *kept->frames);
    kept->text = malloc(head->text_size + 1);
    if (!kept->items || !kept->frames || !kept->text)
        return false;
    kept->count = head->answers;
    kept->frames_count = kept->frames_room = head->frames;
    kept->text_size = kept->text_room = head->text_size;
    return read_all(fd, kept->items, kept->count * sizeof *kept->items) &&
           read_all(fd, kept->frames, kept->frames_count * sizeof *kept->frames) &&
           read_all(fd, kept->text, kept->text_size) && checksum_of(kept) == head->checksum &&
           answers_hold(kept);
}

static bool read_all(int fd, void *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t got = read(fd, (char *)bytes + at, size - at);
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static uint32_t checksum_of(const struct answers *answers)
{
    uint32_t checksum = crc_add(0, answers->items, answers->count * sizeof *answers->items);
    checksum = crc_add(checksum, answers->frames, answers->frames_count * sizeof *answers->frames);
    return crc_add(checksum, answers->text, answers->text_size);
}

/* The answers point into their frames, the frames into the text, and they are in order. */
static bool answers_hold(const struct answers *answers)
{
    const char *text = answers->text;
    if (answers->text_size == 0 || text[0] != '\0' || text[answers->text_size - 1] != '\0')
        return false;
    for (size_t i = 0; i < answers->count; i++) {
        const struct answer *answer = &answers->items[i];
        if (answer->first > answers->frames_count ||
            answer->frames > answers->frames_count - answer->first ||
            answer->state > ANSWER_DWARF || (i > 0 && answer->address <= answer[-1].address))
            return false;
    }
    for (size_t i = 0; i < answers->frames_count; i++) {
        const struct answer_frame *frame = &answers->frames[i];
        if (frame->name >= answers->text_size || frame->system_name >= answers->text_size ||
            frame->file >= answers->text_size)
            return false;
    }
    return true;
}

/* Copies an answer of one list to the same address of another. */
static void answer_copy(struct answers *to, struct answer *target, const struct answers *from,
                        const struct answer *answer)
{
    for (uint32_t i = 0; i < answer->frames; i++) {
        struct answer_frame frame = from->frames[answer->first + i];
        frame.name = answers_text(to, from->text + frame.name);
        frame.system_name = answers_text(to, from->text + frame.system_name);
        frame.file = answers_text(to, from->text + frame.file);
        answers_add(to, target, &frame);
    }
    target->state = answer->state;
    target->behind = answer->behind;
    target->known = 1;
}

void cache_end(struct cache *cache, const struct module *module, bool keep)
{
    const struct answers *answers = &module->answers, *kept = &cache->kept;
    struct answers all;
    size_t news = 0, count = kept->count + answers->count;
    for (size_t i = 0; i < answers->count; i++)
        news += !answers->items[i].known;
    uint64_t *addresses =
        cache->path[0] && keep && news > 0 ? malloc(count * sizeof *addresses) : NULL;
    if (addresses) {
        answers_start(&all);
        for (size_t i = 0; i < count; i++)
            addresses[i] =
                i < kept->count ? kept->items[i].address : answers->items[i - kept->count].address;
        answers_want(&all, addresses, count);
        for (size_t i = 0; i < all.count; i++) {
            const struct answer *own = answers_find(answers, all.items[i].address);
            const struct answer *old = own ? NULL : answers_find(kept, all.items[i].address);
            answer_copy(&all, &all.items[i], own ? answers : kept, own ? own : old);
        }
        if (!all.failed &&
            all.count * sizeof *all.items + all.text_size + all.frames_count * sizeof *all.frames <
                FILE_MAX) {
            file_write(cache, &all, module->quality);
            folder_trim(cache->path);
        }
        answers_free(&all);
        free(addresses);
    }
    answers_free(&cache->kept);
}

static void file_write(const struct cache *cache, const struct answers *all, uint32_t quality)
{
    struct cache_head head = {.version = CACHE_VERSION,
                              .quality = quality,
                              .sources = cache->sources,
                              .answers = all->count,
                              .frames = all->frames_count,
                              .text_size = all->text_size,
                              .checksum = checksum_of(all)};
    char path[sizeof cache->path + 16];
    memcpy(head.magic, cache_magic, sizeof cache_magic);
    snprintf(path, sizeof path, "%s.XXXXXX", cache->path);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return;
    bool ok = write_all(fd, &head, sizeof head) &&
              write_all(fd, all->items, all->count * sizeof *all->items) &&
              write_all(fd, all->frames, all->frames_count * sizeof *all->frames) &&
              write_all(fd, all->text, all->text_size);
    ok &= close(fd) == 0;
    if (!ok || rename(path, cache->path) != 0)
        unlink(path);
}

static bool write_all(int fd, const void *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t put = write(fd, (const char *)bytes + at, size - at);
        if (put <= 0)
            return false;
        at += (size_t)put;
    }
    return true;
}

/* Removes the oldest files where all are too many bytes. */
static void folder_trim(const char *file)
{
    enum { ENTRIES_MAX = 65536 }; /* a file for each module that was looked up */
    const char *slash = strrchr(file, '/');
    char folder[4096];
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - file), file);
    DIR *listing = opendir(folder);
    struct entry *entries = listing ? malloc(ENTRIES_MAX * sizeof *entries) : NULL;
    size_t count = 0;
    int64_t all = 0;
    const struct dirent *item;
    while (entries && count < ENTRIES_MAX && (item = readdir(listing)) != NULL) {
        struct stat stat;
        if (item->d_name[0] == '.' || fstatat(dirfd(listing), item->d_name, &stat, 0) != 0)
            continue;
        struct entry *entry = &entries[count++];
        snprintf(entry->name, sizeof entry->name, "%s", item->d_name);
        entry->time = stat.st_mtim.tv_sec;
        entry->size = stat.st_size;
        all += stat.st_size;
    }
    if (count > 0 && all > ALL_MAX)
        qsort(entries, count, sizeof *entries, entry_order);
    for (size_t i = 0; i < count && all > ALL_MAX; i++) {
        unlinkat(dirfd(listing), entries[i].name, 0);
        all -= entries[i].size;
    }
    free(entries);
    if (listing)
        closedir(listing);
}

static int entry_order(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return a->time < b->time ? -1 : a->time > b->time;
}
