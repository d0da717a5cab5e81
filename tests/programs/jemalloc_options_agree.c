/* SPDX-License-Identifier: MIT */
/* helper of jemalloc_options_agree.sh: for each NAME=VALUE of its arguments starts itself with
 * MALLOC_CONF=NAME:VALUE, and prints what was said and what opt.NAME tells then. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));

static const char *const texts[] = {
    "metadata_thp", "dss", "percpu_arena", "stats_print_opts",     "stats_interval_opts",
    "junk",         "thp", "prof_prefix",  "prof_time_resolution", "zero_realloc"};

/* What the option is now; the size of its value tells the kind. */
static int tell(const char *option)
{
    char name[128];
    int is_text = 0;
    snprintf(name, sizeof name, "opt.%s", option);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        is_text |= strcmp(option, texts[i]) == 0;
    for (size_t size = 1; size <= 8; size *= 2) {
        int64_t value = 0;
        size_t length = size;
        int error = mallctl(name, &value, &length, NULL, 0);
        if (error == 0 && is_text)
            return printf("%s\n", (const char *)(intptr_t)value) < 0;
        if (error == 0)
            return printf("%lld\n", (long long)value) < 0;
    }
    return printf("no such option\n") < 0;
}

/* Its standard output and standard error, in one piece. */
static int ask(char *self, char *pair)
{
    char conf[256], *value = strchr(pair, '=');
    *value++ = '\0';
    snprintf(conf, sizeof conf, "%s:%s", pair, value);
    printf("== %s\n", conf);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char *words[] = {self, "tell", pair, NULL};
        setenv("MALLOC_CONF", conf, 1);
        dup2(1, 2);
        execv(self, words);
        _exit(9);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (status != 0)
        printf("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}

int main(int count, char **words)
{
    if (count == 3 && strcmp(words[1], "tell") == 0)
        return tell(words[2]);
    for (int i = 1; i < count; i++)
        if (ask("/proc/self/exe", words[i]) != 0)
            return 1;
    return 0;
}
