/* SPDX-License-Identifier: MIT */
/*
 * Where a module's file and its debug information are: see module_find. Profiles travel: the path
 * of a mapping may be another build's by now, be gone, or lie in a container. With a build id the
 * right file is recognized wherever it is, and a wrong one is never used; without one the path is
 * all there is.
 */
#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/crc.h"
#include "base/file/deleted.h"
#include "tool/symbol/debuginfod.h"
#include "tool/symbol/elf/elf.h"
#include "tool/symbol/module.h"
#include "tool/terminal/terminal.h"

/* One search. */
struct search {
    struct module *module;
    const struct symbol_options *options;
    char path[PATH_MAX];     /* of the module, without what the kernel adds */
    char root[PATH_MAX];     /* of the live process, or "" */
    const char *prefixes[3]; /* what to put before paths, first things first; ends in NULL */
    bool has_id;             /* the build id is known, and is one */
    uint32_t checksum;       /* of the debug file, as the file says */
    const char *link;        /* its name there; NULL: none */
};

typedef struct image *search_try(struct search *search, const char *path);

/* Opens what the pattern says, if it is right. */
__attribute__((format(printf, 3, 4))) static struct image *attempt(struct search *search,
                                                                   search_try *try,
                                                                   const char *format, ...)
{
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    return length > 0 && (size_t)length < sizeof path ? try(search, path) : NULL;
}

static struct image *try_file(struct search *search, const char *path)
{
    struct module *module = search->module;
    struct image *image = image_open(path);
    if (!image || (!search->has_id && !image->empty)) {
        module->unsure |= image != NULL;
        return image;
    }
    if (search->has_id && strcmp(module->build_id, image->build_id) == 0 && !image->empty)
        return image;
    if (!image->empty && !module->other)
        module->other = strdup(path);
    image_close(image);
    return NULL;
}

static bool checksum_is(const struct image *image, uint32_t wanted)
{
    char bytes[65536];
    uint32_t checksum = 0;
    ssize_t got;
    for (off_t at = 0; (got = pread(image->fd, bytes, sizeof bytes, at)) > 0; at += got)
        checksum = crc_add(checksum, bytes, (size_t)got);
    return checksum == wanted;
}

/* Debug information of the same build: the same build id, or else the checksum that the file has
 * of it. */
static struct image *try_debug(struct search *search, const char *path)
{
    const struct module *module = search->module;
    const char *id = module->image    ? module->image->build_id
                     : search->has_id ? module->build_id
                                      : "";
    struct image *image = image_open(path);
    bool ok = image && (image->has_dwarf || image->has_symtab);
    if (ok && id[0] != '\0')
        ok = strcmp(id, image->build_id) == 0;
    else if (ok)
        ok = search->link && checksum_is(image, search->checksum);
    if (ok)
        return image;
    image_close(image);
    return NULL;
}

/* Calls for each folder of a list joined by ':'. */
static struct image *each_folder(struct search *search, const char *list,
                                 struct image *(*look)(struct search *search, const char *folder))
{
    struct image *found = NULL;
    while (list && !found && *list) {
        char folder[PATH_MAX];
        size_t length = strcspn(list, ":");
        if (length > 0 && length < sizeof folder) {
            memcpy(folder, list, length);
            folder[length] = '\0';
            found = look(search, folder);
        }
        list += length + (list[length] == ':');
    }
    return found;
}

static struct image *folder_file(struct search *search, const char *folder)
{
    const char *id = search->module->build_id;
    struct image *found = attempt(search, try_file, "%s/%s", folder, search->path);
    if (!found)
        found = attempt(search, try_file, "%s/%s", folder, name_base(search->path));
    if (!found && search->has_id)
        found = attempt(search, try_file, "%s/.build-id/%.2s/%s", folder, id, id + 2);
    return found;
}

static struct image *folder_debug(struct search *search, const char *folder)
{
    const struct module *module = search->module;
    const char *id = module->image ? module->image->build_id : module->build_id;
    struct image *found = NULL;
    if (id[0] != '\0')
        found = attempt(search, try_debug, "%s/.build-id/%.2s/%s.debug", folder, id, id + 2);
    if (!found)
        found = attempt(search, try_debug, "%s%s.debug", folder, search->path);
    if (!found)
        found = attempt(search, try_debug, "%s/%s.debug", folder, name_base(search->path));
    if (!found && search->link && !strchr(search->link, '/'))
        found = attempt(search, try_debug, "%s/%s", folder, search->link);
    return found;
}

/* The folder that libdebuginfod keeps what it has fetched in. */
static bool client_cache(char *path, size_t size)
{
    const char *set = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int length = set && *set       ? snprintf(path, size, "%s", set)
                 : cache && *cache ? snprintf(path, size, "%s/debuginfod_client", cache)
                 : home            ? snprintf(path, size, "%s/.cache/debuginfod_client", home)
                                   : -1;
    return length > 0 && (size_t)length < size;
}

/* What the process itself sees: also when the file was deleted, or is in a container. */
static struct image *live_file(struct search *search)
{
    struct module *module = search->module;
    long long pid = (long long)search->options->pid;
    struct image *found = NULL;
    for (size_t i = 0; !found && i < module->maps_count; i++)
        found = attempt(search, try_file, "/proc/%lld/map_files/%lx-%lx", pid,
                        module->maps[i].start, module->maps[i].limit);
    if (!found && module->main)
        found = attempt(search, try_file, "/proc/%lld/exe", pid);
    return found;
}

/* The program that the user named: it is the main one, or whichever has its build id. */
static struct image *named_file(struct search *search)
{
    struct module *module = search->module;
    if (module->main)
        return try_file(search, search->options->program);
    struct image *image = search->has_id ? image_open(search->options->program) : NULL;
    if (image && strcmp(image->build_id, module->build_id) == 0)
        return image;
    image_close(image);
    return NULL;
}

/* As the kernel writes a path: a line's end is \\012 there. */
static bool path_unescape(char *path)
{
    static const char escaped[] = "\\012";
    char *to = path;
    bool any = false;
    for (const char *at = path; *at;) {
        bool here = strncmp(at, escaped, sizeof escaped - 1) == 0;
        any |= here;
        *to++ = here ? '\n' : *at;
        at += here ? sizeof escaped - 1 : 1;
    }
    *to = '\0';
    return any;
}

/* The file of the module's path. What looks like an addition of the kernel's may be its name. */
static struct image *path_file(struct search *search, const char *prefix)
{
    char plain[PATH_MAX];
    struct image *found = attempt(search, try_file, "%s%s", prefix, search->path);
    memcpy(plain, search->path, sizeof plain);
    if (!found && path_unescape(plain))
        found = attempt(search, try_file, "%s%s", prefix, plain);
    if (!found && (search->has_id || strcmp(search->path, search->module->path) != 0))
        found = attempt(search, try_file, "%s%s (deleted)", prefix, search->path);
    return found;
}

static struct image *find_file(struct search *search)
{
    const struct symbol_options *options = search->options;
    const char *id = search->module->build_id, *home = getenv("HOME");
    struct image *found = options->program ? named_file(search) : NULL;
    char cache[PATH_MAX];
    if (!found && options->pid > 0)
        found = live_file(search);
    for (size_t i = 0; !found && search->path[0] == '/' && search->prefixes[i]; i++)
        found = path_file(search, search->prefixes[i]);
    if (!found && search->path[0] != '/' && search->path[0] != '[' && search->path[0] != '\0')
        found = attempt(search, try_file, "%s", search->path);
    if (!found)
        found = each_folder(search, options->debug_path, folder_file);
    if (found || !search->has_id)
        return found;
    found = attempt(search, try_file, "/usr/lib/.build-id/%.2s/%s", id, id + 2);
    if (!found && client_cache(cache, sizeof cache))
        found = attempt(search, try_file, "%s/%s/executable", cache, id);
    if (!found && home) /* what perf has kept */
        found = attempt(search, try_file, "%s/.debug/.build-id/%.2s/%s/elf", home, id, id + 2);
    return found;
}

/* Beside the file, as its .gnu_debuglink says. */
static struct image *linked_debug(struct search *search, const char *file)
{
    struct image *found = NULL;
    int length = (int)(name_base(file) - file);
    if (!search->link || length == 0 || strchr(search->link, '/'))
        return NULL;
    found = attempt(search, try_debug, "%.*s%s", length, file, search->link);
    if (!found)
        found = attempt(search, try_debug, "%.*s.debug/%s", length, file, search->link);
    for (size_t i = 0; !found && search->prefixes[i]; i++)
        found = attempt(search, try_debug, "%s/usr/lib/debug%.*s%s", search->prefixes[i], length,
                        file, search->link);
    return found;
}

static struct image *find_debug(struct search *search)
{
    const struct image *image = search->module->image;
    const char *id = image ? image->build_id : search->has_id ? search->module->build_id : "";
    char real[PATH_MAX], cache[PATH_MAX];
    if (image)
        search->link = image_debug_link(image, &search->checksum);
    struct image *found = each_folder(search, search->options->debug_path, folder_debug);
    for (size_t i = 0; !found && id[0] != '\0' && search->prefixes[i]; i++)
        found = attempt(search, try_debug, "%s/usr/lib/debug/.build-id/%.2s/%s.debug",
                        search->prefixes[i], id, id + 2);
    if (!found && image)
        found = linked_debug(search, image->path);
    if (!found && image && realpath(image->path, real) && strcmp(real, image->path) != 0)
        found = linked_debug(search, real);
    for (size_t i = 0; !found && search->prefixes[i]; i++)
        found = attempt(search, try_debug, "%s/usr/lib/debug%s.debug", search->prefixes[i],
                        search->path);
    if (!found && id[0] != '\0' && client_cache(cache, sizeof cache))
        found = attempt(search, try_debug, "%s/%s/debuginfo", cache, id);
    return found;
}

static struct image *try_bundle(struct search *search, const char *path)
{
    (void)search;
    return image_bundle(path);
}

static struct image *folder_bundle(struct search *search, const char *folder)
{
    struct image *found = attempt(search, try_bundle, "%s%s.dwp", folder, search->path);
    if (!found)
        found = attempt(search, try_bundle, "%s/%s.dwp", folder, name_base(search->path));
    return found;
}

/* Beside the file, beside its debug information, or where further files are said to be. Whether it
 * is of the same build shows when units are looked for in it: they have ids. */
static struct image *find_bundle(struct search *search)
{
    const struct module *module = search->module;
    char real[PATH_MAX];
    struct image *found = each_folder(search, search->options->debug_path, folder_bundle);
    for (size_t i = 0; !found && search->path[0] == '/' && search->prefixes[i]; i++)
        found = attempt(search, try_bundle, "%s%s.dwp", search->prefixes[i], search->path);
    if (!found && module->image)
        found = attempt(search, try_bundle, "%s.dwp", module->image->path);
    if (!found && module->image && realpath(module->image->path, real))
        found = attempt(search, try_bundle, "%s.dwp", real);
    if (!found && module->debug)
        found = attempt(search, try_bundle, "%s.dwp", module->debug->path);
    return found;
}

static bool id_is_one(const char *id)
{
    size_t length = strspn(id, "0123456789abcdef");
    return length >= 8 && length <= 2 * IMAGE_ID_MAX && id[length] == '\0';
}

static void search_start(struct search *search)
{
    const struct symbol_options *options = search->options;
    const char *path = search->module->path;
    size_t length = deleted_cut(path, strlen(path)), count = 0;
    if (length < sizeof search->path)
        memcpy(search->path, path, length);
    if (options->pid > 0)
        snprintf(search->root, sizeof search->root, "/proc/%lld/root", (long long)options->pid);
    if (options->sysroot)
        search->prefixes[count++] = options->sysroot;
    else if (options->pid > 0)
        search->prefixes[count++] = search->root;
    search->prefixes[count] = "";
    search->has_id = id_is_one(search->module->build_id);
}

/* Asks debuginfod for what was not found. */
static void files_fetch(struct search *search)
{
    struct module *module = search->module;
    const char *id = module->image ? module->image->build_id : module->build_id;
    char path[PATH_MAX];
    if (!id_is_one(id))
        return;
    if (fetch_file(module, id, true, path, sizeof path)) {
        struct image *fetched = try_debug(search, path);
        if (fetched) {
            image_close(module->debug);
            module->debug = fetched;
        }
    }
    if (!module->image && fetch_file(module, id, false, path, sizeof path))
        module->image = try_file(search, path);
}

static void vdso_find(struct module *module, bool has_id)
{
    struct image *image = image_vdso();
    if (image && has_id && strcmp(image->build_id, module->build_id) == 0)
        module->image = image;
    else
        image_close(image);
}

void module_find(struct module *module, const struct symbol_options *options)
{
    struct search search = {.module = module, .options = options};
    if (module->wanted_count == 0)
        return;
    search_start(&search);
    if (strcmp(module->path, "[vdso]") == 0) {
        vdso_find(module, search.has_id);
        return;
    }
    module->image = find_file(&search);
    if (module->image && module->image->has_dwarf) {
        module->bundle = find_bundle(&search);
        return;
    }
    if (module->image || search.has_id)
        module->debug = find_debug(&search);
    if (options->fetch && !(module->debug && module->debug->has_dwarf))
        files_fetch(&search);
    if (module->debug && module->debug->has_dwarf)
        module->bundle = find_bundle(&search);
    if (module->image && !module->image->has_symtab &&
        !(module->debug && module->debug->has_symtab))
        module->mini = mini_open(module->image);
}
