/* SPDX-License-Identifier: MIT */
/* helper: a child of fork may drop a library that stays loaded, whatever the parent's other threads
 * do in the loader at that moment. Arguments: two libraries, the first one stays. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, FORKS = 300, PATIENCE_S = 20 };

static bool over;

static void *storm(void *file)
{
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        void *handle = dlopen(file, RTLD_NOW);
        if (handle != NULL)
            dlclose(handle);
    }
    return NULL;
}

int main(int count, char **args)
{
    pthread_t threads[THREADS];
    int failures = 0;
    if (count < 3 || dlopen(args[1], RTLD_NOW) == NULL)
        return 2;
    void *handle = dlopen(args[1], RTLD_NOW);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, storm, args[2]);
    for (int i = 0; i < FORKS && failures == 0; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE_S);
            _exit(dlclose(handle) != 0);
        }
        failures += waitpid(child, &status, 0) != child || status != 0;
    }
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (failures > 0)
        puts("a child did not return from dlclose");
    return failures > 0;
}
