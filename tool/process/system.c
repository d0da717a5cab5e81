/* SPDX-License-Identifier: MIT */
/*
 * See tool/process/system.h. Each setting is one function: it reads the value, says what it means
 * for this heap, and names the command that changes it and the one that restores it. A setting that
 * can't be read (a container, another kernel) is said to be so, not guessed.
 */
#include "tool/process/system.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define THP "/sys/kernel/mm/transparent_hugepage/"
#define VM  "/proc/sys/vm/"

/* What one value means. The last row of a table is for all other values. */
struct meaning {
    const char *value;
    bool notable;
    const char *text;
};

static const struct meaning enabled_meanings[] = {
    {"always", true,
     "Every program gets huge pages by default. memoir keeps a heap below "
     "64 MiB on small pages; in a larger heap, a range of 2 MiB with one "
     "byte in use may take 2 MiB (MEMOIR=thp:off prevents that)."},
    {"madvise", false,
     "Programs get huge pages where they ask for them. memoir asks where a "
     "heap has grown past 64 MiB and is dense (MEMOIR=thp:auto, the "
     "default), or everywhere (thp:on)."},
    {"never", true,
     "No huge pages: MEMOIR=thp:on and thp:auto change nothing, and a large heap has more page "
     "faults and more TLB misses."},
    {NULL, false, "A value that this version of memoir does not know."},
};

static const struct meaning defrag_meanings[] = {
    {"always", true,
     "When no huge page is free, the first write to new memory waits until "
     "the kernel has made one by moving other memory: an occasional slow "
     "malloc."},
    {"defer", false,
     "The first write to new memory never waits: without a free huge page "
     "it gets small ones, which the kernel joins later in the background."},
    {"defer+madvise", false,
     "The first write waits for a huge page only where it was asked for (by memoir: dense heaps "
     "above 64 MiB, thp:on); elsewhere the kernel joins small pages in the background."},
    {"madvise", false,
     "The first write waits for a huge page only where it was asked for (by memoir: dense heaps "
     "above 64 MiB, thp:on); elsewhere small pages are taken."},
    {"never", false,
     "The first write to new memory never waits: without a free huge page "
     "it gets small ones, and a long-running machine has few free huge "
     "pages."},
    {NULL, false, "A value that this version of memoir does not know."},
};

static const struct meaning overcommit_meanings[] = {
    {"0", false,
     "The kernel refuses only single requests beyond all memory and swap. fork of a large heap "
     "works; memory that memoir has mapped and not touched costs nothing."},
    {"1", true,
     "No request is refused: fork of any heap works and huge sparse blocks too. malloc does not "
     "return NULL when memory is out; the kernel ends a process instead."},
    {"2", true,
     "All mapped memory counts, touched or not, returned to the kernel or "
     "not: memoir maps 4 to 64 MiB ahead, and fork needs the size of the "
     "heap again. At the limit malloc returns NULL."},
    {NULL, false, "A value that this version of memoir does not know."},
};

static void check_enabled(const char *root, system_found *found, void *context);
static void setting_start(struct system_setting *setting, const char *title, const char *path);
static bool choice_read(const char *root, const char *path, char *value, size_t size);
static bool line_read(const char *root, const char *path, char *line, int size);
static void setting_explain(struct system_setting *setting, const struct meaning *meaning);
static void explain_override(struct system_setting *setting, const char *root);
static bool number_read(const char *root, const char *path, char *value, size_t size);
static void setting_commands(struct system_setting *setting, const char *guide,
                             const char *standard);
static void command(char *text, size_t size, const char *path, const char *value);
static void check_defrag(const char *root, system_found *found, void *context);
static void check_holes(const char *root, system_found *found, void *context);
static void check_overcommit(const char *root, system_found *found, void *context);
static void check_limit(const char *root, system_found *found, void *context);
static long meminfo_mib(const char *root, const char *key);

long system_number(const char *path, const char *key)
{
    char line[256];
    long value = -1;
    size_t length = strlen(key);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0 && line[length] == ':')
            value = strtol(line + length + 1, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

void system_settings(const char *root, system_found *found, void *context)
{
    check_enabled(root, found, context);
    check_defrag(root, found, context);
    check_holes(root, found, context);
    check_overcommit(root, found, context);
}

static void check_enabled(const char *root, system_found *found, void *context)
{
    struct system_setting setting;
    setting_start(&setting, "transparent huge pages", THP "enabled");
    if (choice_read(root, setting.path, setting.value, sizeof setting.value)) {
        setting_explain(&setting, enabled_meanings);
        explain_override(&setting, root);
        setting_commands(&setting, "always", "madvise");
    }
    found(context, &setting);
}

static void setting_start(struct system_setting *setting, const char *title, const char *path)
{
    *setting = (struct system_setting){.title = title, .path = path};
}

/* From "always [madvise] never" the word in brackets. It becomes part of a command, so nothing but
 * a word is taken. */
static bool choice_read(const char *root, const char *path, char *value, size_t size)
{
    char line[128];
    if (!line_read(root, path, line, sizeof line))
        return false;
    const char *start = strchr(line, '['), *end = start ? strchr(start, ']') : NULL;
    if (!end)
        return false;
    size_t length = (size_t)(end - start) - 1;
    if (length == 0 || strspn(start + 1, "abcdefghijklmnopqrstuvwxyz+_") != length)
        return false;
    snprintf(value, size, "%.*s", (int)length, start + 1);
    return true;
}

/* The first line of a file below the root; false if it can't be read. */
static bool line_read(const char *root, const char *path, char *line, int size)
{
    char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    FILE *file = fopen(whole, "re");
    bool got = file && fgets(line, size, file);
    if (file)
        fclose(file);
    if (got)
        line[strcspn(line, "\n")] = '\0';
    return got && line[0] != '\0';
}

static void setting_explain(struct system_setting *setting, const struct meaning *meaning)
{
    while (meaning->value && strcmp(meaning->value, setting->value) != 0)
        meaning++;
    setting->notable = meaning->notable;
    snprintf(setting->meaning, sizeof setting->meaning, "%s", meaning->text);
}

/* Since Linux 6.8 each size of huge page has a setting of its own, which may override the common
 * one. */
static void explain_override(struct system_setting *setting, const char *root)
{
    char bytes[32], path[128], value[32];
    if (!number_read(root, THP "hpage_pmd_size", bytes, sizeof bytes))
        return;
    snprintf(path, sizeof path, THP "hugepages-%lukB/enabled", strtoul(bytes, NULL, 10) / 1024);
    if (!choice_read(root, path, value, sizeof value) || strcmp(value, "inherit") == 0 ||
        strcmp(value, setting->value) == 0)
        return;
    size_t length = strlen(setting->meaning);
    setting->notable = true;
    snprintf(setting->meaning + length, sizeof setting->meaning - length,
             " But %s says %s, which takes precedence.", path, value);
}

static bool number_read(const char *root, const char *path, char *value, size_t size)
{
    char line[32], *end;
    if (!line_read(root, path, line, sizeof line))
        return false;
    unsigned long number = strtoul(line, &end, 10);
    if (end == line || *end != '\0')
        return false;
    snprintf(value, size, "%lu", number);
    return true;
}

/* The value that guides give, or the kernel's default where they have been followed already. */
static void setting_commands(struct system_setting *setting, const char *guide,
                             const char *standard)
{
    setting->other = strcmp(setting->value, guide) == 0 ? standard : guide;
    command(setting->change, sizeof setting->change, setting->path, setting->other);
    command(setting->restore, sizeof setting->restore, setting->path, setting->value);
}

static void command(char *text, size_t size, const char *path, const char *value)
{
    if (strncmp(path, VM, strlen(VM)) == 0)
        snprintf(text, size, "sudo sysctl -w vm.%s=%s", path + strlen(VM), value);
    else
        snprintf(text, size, "echo %s | sudo tee %s", value, path);
}

static void check_defrag(const char *root, system_found *found, void *context)
{
    struct system_setting setting;
    setting_start(&setting, "making huge pages at a page fault", THP "defrag");
    if (choice_read(root, setting.path, setting.value, sizeof setting.value)) {
        setting_explain(&setting, defrag_meanings);
        setting_commands(&setting, "defer+madvise", "madvise");
    }
    found(context, &setting);
}

/* How many of the pages of a huge page may be missing when khugepaged makes one. */
static void check_holes(const char *root, system_found *found, void *context)
{
    enum { PAGES = 512 }; /* of a huge page, where a page has 4 KiB */
    struct system_setting setting;
    setting_start(&setting, "missing pages that khugepaged fills in",
                  THP "khugepaged/max_ptes_none");
    if (number_read(root, setting.path, setting.value, sizeof setting.value)) {
        unsigned long holes = strtoul(setting.value, NULL, 10);
        setting.notable = holes > PAGES / 2;
        if (holes == 0)
            snprintf(setting.meaning, sizeof setting.meaning,
                     "Only ranges that are entirely in use become huge pages later: "
                     "returned memory stays returned, also with MEMOIR=thp:on.");
        else
            snprintf(setting.meaning, sizeof setting.meaning,
                     "A range may become a huge page later with %lu of its pages missing: "
                     "where all memory may be huge (enabled is always, or MEMOIR=thp:on) "
                     "returned memory comes back, and RSS grows without a malloc. thp:auto "
                     "no longer asks for huge pages where it has returned memory.",
                     holes);
        setting_commands(&setting, "0", "511");
    }
    found(context, &setting);
}

static void check_overcommit(const char *root, system_found *found, void *context)
{
    struct system_setting setting;
    setting_start(&setting, "overcommit", VM "overcommit_memory");
    if (number_read(root, setting.path, setting.value, sizeof setting.value)) {
        setting_explain(&setting, overcommit_meanings);
        setting_commands(&setting, "1", "0");
    }
    found(context, &setting);
    if (strcmp(setting.value, "2") == 0)
        check_limit(root, found, context);
}

/* The limit counts in strict mode only; it is a share of memory, or a number of its own. */
static void check_limit(const char *root, system_found *found, void *context)
{
    struct system_setting setting;
    long limit = meminfo_mib(root, "CommitLimit"), used = meminfo_mib(root, "Committed_AS");
    setting_start(&setting, "limit of strict overcommit, KiB", VM "overcommit_kbytes");
    bool absolute = number_read(root, setting.path, setting.value, sizeof setting.value) &&
                    strcmp(setting.value, "0") != 0;
    if (!absolute) {
        setting_start(&setting, "limit of strict overcommit, % of memory", VM "overcommit_ratio");
        number_read(root, setting.path, setting.value, sizeof setting.value);
    }
    if (setting.value[0]) {
        if (limit >= 0 && used >= 0)
            snprintf(setting.meaning, sizeof setting.meaning,
                     "With swap, this is %ld MiB for all processes, of which %ld MiB are in "
                     "use.",
                     limit, used);
        setting.notable = limit >= 0 && used >= limit - limit / 4;
        if (absolute)
            setting_commands(&setting, "0", "0");
        else
            setting_commands(&setting, "80", "50");
    }
    found(context, &setting);
}

/* A number of /proc/meminfo in MiB, or -1. */
static long meminfo_mib(const char *root, const char *key)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    long kib = system_number(path, key);
    return kib < 0 ? -1 : kib / 1024;
}
