/* SPDX-License-Identifier: MIT */
/* helper of options_from_the_environment.sh: says "works" if the heap does. `clear` empties the
 * environment first; `bare PROGRAM` starts the program with neither environment nor arguments. */
#include "tests/programs/work.h"

extern char **environ;

int main(int count, char **arguments)
{
    if (count > 2 && strcmp(arguments[1], "bare") == 0) {
        execve(arguments[2], (char *[]){NULL}, NULL);
        return 2;
    }
    if (count > 1 && strcmp(arguments[1], "clear") == 0) {
        clearenv();
        environ = NULL;
    }
    bool in_thread = false;
    pthread_t thread;
    if (!heap_works(1) || pthread_create(&thread, NULL, thread_works, &in_thread) != 0 ||
        pthread_join(thread, NULL) != 0 || !in_thread) {
        return 1;
    }
    puts("works");
    return 0;
}
