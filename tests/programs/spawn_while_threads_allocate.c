/* SPDX-License-Identifier: MIT */
/* vfork and exec, posix_spawn, system and popen while other threads allocate: none runs fork
 * handlers, and after vfork the child runs in our memory. */
#include <spawn.h>

#include "tests/programs/work.h"

enum { TURNS = 100, NOISE = 2 };

extern char **environ;

static char *const again[] = {(char *)"spawned", (char *)"again", NULL};

static void by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execv("/proc/self/exe", again);
        _exit(9);
    }
    if (CHECK(child > 0)) {
        child_ended_well(child);
    }
}

static void by_spawn(void)
{
    pid_t child = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 5, "/dev/null", 0, 0);
    CHECK_EQ(posix_spawn(&child, "/proc/self/exe", &actions, NULL, again, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    child_ended_well(child);
}

static void by_shell(void)
{
    char line[20] = "";
    CHECK_EQ(system("exit 0"), 0);
    FILE *output = popen("echo text", "r");
    if (CHECK(output != NULL)) {
        CHECK(fgets(line, sizeof line, output) != NULL && strcmp(line, "text\n") == 0);
        CHECK_EQ(pclose(output), 0);
    }
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "again") == 0) {
        return heap_works(1) ? 0 : 1;
    }
    alarm(100);
    noise_start(NOISE);
    for (int i = 0; i < TURNS && check_failures == 0; i++) {
        by_vfork();
        by_spawn();
        by_shell();
        CHECK(heap_works((unsigned)i));
    }
    noise_end(NOISE);
    return check_result();
}
