/* SPDX-License-Identifier: MIT */
/* helper of start_and_exit.sh: uses the heap at every station of a process's life, from the preinit
 * array and the first constructor to the last destructor, and ends the way its argument says. Each
 * station adds a letter to the line that the last one prints, so a station that did not run is
 * seen. */
#include <signal.h>

#include "tests/programs/work.h"

static char stations[40];
static unsigned station_count;
static void *kept[40];
static const char *ending = "return";

/* Frees what the station before left, and leaves something. */
static void station(char letter)
{
    if (!heap_works((unsigned)letter)) {
        check_say("the heap does not work at station %c\n", letter);
        _exit(3);
    }
    if (station_count > 0) {
        free(kept[station_count - 1]);
    }
    kept[station_count] = malloc(1000u + station_count);
    stations[station_count++] = letter;
}

static void preinit(void)
{
    station('p');
}
__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)(void) = preinit;

__attribute__((constructor(101))) static void constructor_first(void)
{
    station('c');
}

__attribute__((constructor)) static void constructor_last(void)
{
    station('d');
}

__attribute__((destructor(101))) static void destructor_last(void)
{
    station('z');
    check_say("%s %s\n", ending, stations);
}

__attribute__((destructor)) static void destructor_first(void)
{
    station('y');
}

static void at_exit(void)
{
    station('x');
}

static void at_exit_registers_more(void)
{
    station('w');
    atexit(at_exit);
}

static void at_quick_exit_too(void)
{
    station('q');
    check_say("%s %s\n", ending, stations);
}

static void *exit_in_thread(void *unused)
{
    station('t');
    exit(0);
    return unused;
}

int main(int count, char **arguments)
{
    alarm(30);
    ending = count > 1 ? arguments[1] : ending;
    station('m');
    /* More than the C library has static room for, so that atexit allocates. */
    for (int i = 0; i < 50; i++) {
        atexit(i == 40 ? at_exit_registers_more : (void (*)(void))heap_works);
    }
    at_quick_exit(at_quick_exit_too);
    if (strcmp(ending, "exit") == 0) {
        exit(0);
    } else if (strcmp(ending, "_exit") == 0) {
        check_say("%s %s\n", ending, stations);
        _exit(0);
    } else if (strcmp(ending, "quick_exit") == 0) {
        quick_exit(0);
    } else if (strcmp(ending, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, exit_in_thread, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(ending, "pthread_exit") == 0) {
        pthread_exit(NULL);
    } else if (strcmp(ending, "abort") == 0) {
        check_say("%s %s\n", ending, stations);
        abort();
    } else if (strcmp(ending, "noise") == 0) {
        noise_start(3); /* threads that are still allocating while the process ends */
        usleep(20000);
    }
    return 0;
}
