/* SPDX-License-Identifier: MIT */
/* See lib/process/attach.h; base/attach_protocol.h has the protocol. In the order of a request: the
 * signal or the bell starts the helper; the helper opens its socket and accepts a client; the
 * client's rights are checked (attach_access.c), its line is run (control_command.c), and the
 * answer is sent. Nothing here allocates, and the helper is gone when it has nothing to do. */
#include "lib/process/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "base/attach_protocol.h"
#include "base/compiler.h"
#include "base/config.h"
#include "base/confine.h"
#include "base/file/sink.h"
#include "base/os.h"
#include "base/os_socket.h"
#include "base/os_thread.h"
#include "lib/alloc/alloc.h"
#include "lib/cpu/cpu.h"
#include "lib/heap/observer.h"
#include "lib/process/attach_access.h"
#include "lib/process/attach_sweep.h"
#include "lib/watch/watch.h"

enum {
    STACK_SIZE = 512 << 10, /* a worker makes dumps and texts of statistics on it */
    BACKLOG = 8,            /* clients that wait to be accepted */
    IDLE_MS = 1000,         /* without a client; then the helper ends */
    GLANCE_MS = 250,        /* how often it checks whether it may stay */
    CLIENT_MS = 2000,       /* for a client to send its request, */
    STRANGER_MS = 100,      /* for a client that will be refused, */
    PASS_MS = 1000,         /* for a descriptor to get from the listener to the worker */
    TAKE_MS = 5000,         /* and to take the whole answer */
    CROWD = 256,            /* threads of the program, beside which one that hurries takes little */
};

/* The process that has a helper: a forked child finds its parent's id here, and has no helper. */
static pid_t helper_of;
static pid_t owner; /* the process that this memory belongs to, not a vfork child */
static struct attach_commands commands;
static char path_now[ATTACH_PATH_MAX];
static int listening; /* the listener's socket, in its own table */
static int priority;  /* of the listener while it runs a command */

/*
 * Two threads make the helper. The listener has the sockets, in a table of descriptors of its own;
 * the worker runs the requests with the program's table, where a capture may be open. They take
 * turns. A request that came with a descriptor is run by the listener, which has it; but for one
 * that begins a recording, since that is written by the program's threads: the descriptor goes to
 * the worker, through a connection of the worker to the listener.
 */
enum { TURN_LISTENER, TURN_WORKER, TURN_END, TURN_GONE };
static struct {
    uint32_t turn;
    bool with_file; /* the worker must fetch a descriptor from the listener */
    int status;
    const char *line;
    size_t length;
    struct sink *sink;
} job;

/* The other end of a connection, and the ids with which the helper started. */
struct client {
    int fd;
    const struct os_ids *ids;
    struct os_peer peer;
};

uint32_t attach_bell;

/* The mark by which the library is recognized in a file, also in a stripped, static program. Only
 * the linker knows the distance to the bell. */
#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
__asm__(".pushsection .note.memoir, \"a\", %note\n"
        ".balign 4\n"
        ".long 7, 20, " TEXT(ATTACH_NOTE) "\n"
                                          ".asciz \"" ATTACH_NOTE_OWNER "\"\n"
                                          ".balign 4\n"
                                          "1: .asciz \"" MEMOIR_VERSION "\"\n"
                                          ".org 1b + 16\n"
                                          ".long attach_bell - .\n"
                                          ".popsection");
_Static_assert(sizeof ATTACH_NOTE_OWNER == 7 && sizeof MEMOIR_VERSION <= ATTACH_NOTE_BELL &&
                   ATTACH_NOTE_SIZE == 20,
               "the note above has the sizes of base/attach_protocol.h");

static void on_interrupt(const void *info, void *context);
static void helper_start(void);
static void listener_run(void);
static void worker_run(void);
static int worker_command(void);
static int worker_ask(const char *line, size_t length, int passed, struct sink *sink);
static void helper_failed(int error);
static void file_pass(int passed);
static void worker_end(void);
static int channel_open(const struct os_ids *ids);
static void client_serve(int fd, const struct os_ids *ids);
static int request_check(const char *packet, ssize_t got, int passed);
static void client_ask(struct client *client, const char *line, size_t length, int passed);
static void answer_send(const struct client *client, int status, const char *text, size_t length);
static bool packet_send(const struct client *client, const void *bytes, size_t length,
                        uint64_t until_ms);
static bool client_wait(const struct client *client, bool writing, uint64_t until_ms);

void attach_init(const struct attach_commands *understood)
{
    commands = *understood;
    attach_open();
}

void attach_open(void)
{
    attach_forked();
    if (config.control && !os_secure() && !confined(CONFINE_CONTROL) && os_thread_prepare()) {
        store_relaxed(&attach_bell, ATTACH_BELL_QUIET);
        interrupt_hear(INTERRUPT_CONTROL, on_interrupt);
        interrupt_open(ATTACH_SIGNAL);
    }
}

void attach_forked(void)
{
    store_relaxed(&owner, os_pid());
}

void attach_withdraw(void)
{
    enum { LEAVES_MS = 5000 /* as long as an answer may take */, STEP_MS = 10 };
    static uint32_t never;
    uint64_t from_ms = os_now_ms();
    store_relaxed(&attach_bell, 0);
    interrupt_hear(INTERRUPT_CONTROL, NULL);
    if (!cpu_runs())
        interrupt_close(ATTACH_SIGNAL);
    while (load_acquire(&helper_of) == os_pid() && os_now_ms() - from_ms < LEAVES_MS)
        os_wait(&never, 0, STEP_MS);
}

/* In any thread, outside of the allocator. */
void attach_heard(void)
{
    uint32_t rung = ATTACH_BELL_RUNG;
    uint64_t before = 0;
    if (confined(CONFINE_CONTROL) ||
        !__atomic_compare_exchange_n(&attach_bell, &rung, ATTACH_BELL_QUIET, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    os_signals_set(~(uint64_t)0, &before);
    helper_start();
    os_signals_set(before, NULL);
}

void attach_end(void)
{
    if (load_acquire(&helper_of) == os_pid())
        os_remove(path_now);
}

/* In any thread, at any moment, with all signals blocked. Only kernel calls: errno does not change.
 */
static void on_interrupt(const void *info, void *context)
{
    (void)info;
    (void)context;
    helper_start();
}

/* With signals blocked. A vfork child has our handler and our memory: there this does nothing,
 * because everything that a helper uses belongs to the parent. */
static void helper_start(void)
{
    pid_t before = load_relaxed(&helper_of), pid = os_pid();
    if (confined(CONFINE_CONTROL) || (load_relaxed(&owner) != pid && !alloc_forked()))
        return;
    if (before == pid || !__atomic_compare_exchange_n(&helper_of, &before, pid, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    int error = os_thread_start(listener_run, STACK_SIZE);
    if (error != 0)
        helper_failed(error);
}

static void helper_failed(int error)
{
    store_relaxed(&attach_bell, ATTACH_BELL_FAILED + (uint32_t)-error);
    store_release(&helper_of, 0);
}

static void listener_run(void)
{
    struct os_ids ids;
    priority = os_thread_hurry();
    os_thread_rename("memoir");
    threads_keep_names();
    store_release(&job.turn, TURN_LISTENER);
    int error = os_thread_start(worker_run, STACK_SIZE);
    if (error != 0) {
        helper_failed(error);
        return;
    }
    if (attach_bell_error(load_relaxed(&attach_bell)) != 0)
        store_relaxed(&attach_bell, ATTACH_BELL_QUIET);
    os_thread_own_files();
    os_ids(&ids);
    int fd = listening = channel_open(&ids);
    uint64_t last_ms = os_now_ms();
    while (fd >= 0 && os_now_ms() - last_ms < IDLE_MS && access_is_current()) {
        if (!os_poll(fd, false, GLANCE_MS))
            continue;
        int client = os_accept(fd);
        if (client < 0)
            continue;
        client_serve(client, &ids);
        os_close(client);
        last_ms = os_now_ms();
    }
    if (fd >= 0) {
        os_remove(path_now);
        os_close(fd);
    }
    worker_end();
    store_release(&helper_of, 0);
}

static void turn_pass(uint32_t to)
{
    store_release(&job.turn, to);
    os_wake(&job.turn, 1);
}

static void worker_run(void)
{
    os_thread_rename("memoir");
    for (;;) {
        uint32_t turn = load_acquire(&job.turn);
        if (turn == TURN_END)
            break;
        if (turn == TURN_WORKER) {
            job.status = worker_command();
            turn_pass(TURN_LISTENER);
        } else {
            os_wait(&job.turn, turn, 0);
        }
    }
    turn_pass(TURN_GONE);
}

static int worker_command(void)
{
    int passed = -1, channel = -1;
    bool crowd = os_thread_count() >= CROWD;
    char byte = 0;
    if (job.with_file) {
        channel = os_connect(path_now);
        if (channel >= 0 && os_poll(channel, false, PASS_MS))
            os_receive(channel, &byte, sizeof byte, &passed);
        if (channel >= 0)
            os_close(channel);
        if (passed < 0)
            return channel < 0 ? -channel : EAGAIN;
    }
    int own = crowd ? os_thread_hurry() : 0;
    int status = commands.run(job.line, job.length, passed, job.sink);
    if (crowd)
        os_thread_relax(own);
    if (passed >= 0)
        os_close(passed);
    return status;
}

static int worker_ask(const char *line, size_t length, int passed, struct sink *sink)
{
    job.line = line;
    job.length = length;
    job.sink = sink;
    job.with_file = passed >= 0;
    turn_pass(TURN_WORKER);
    if (passed >= 0)
        file_pass(passed);
    while (load_acquire(&job.turn) == TURN_WORKER)
        os_wait(&job.turn, TURN_WORKER, 0);
    return job.status;
}

/* Clients that come in between are turned away, and come again. */
static void file_pass(int passed)
{
    uint64_t until_ms = os_now_ms() + PASS_MS;
    bool done = false;
    while (!done && os_now_ms() < until_ms && load_acquire(&job.turn) == TURN_WORKER) {
        struct os_peer peer;
        int other = os_poll(listening, false, GLANCE_MS) ? os_accept(listening) : -1;
        done = other >= 0 && os_peer(other, &peer) && peer.pid == os_pid();
        if (done)
            os_pass(other, passed);
        if (other >= 0)
            os_close(other);
    }
}

static void worker_end(void)
{
    turn_pass(TURN_END);
    while (load_acquire(&job.turn) == TURN_END)
        os_wait(&job.turn, TURN_END, 0);
}

static int channel_open(const struct os_ids *ids)
{
    enum { EFFECTIVE = 1 };
    /* In a user namespace that a user has made, /tmp belongs to root, who has no number there. */
    uint32_t user = ids->user[EFFECTIVE], numberless = access_numberless();
    for (unsigned which = 0; which < ATTACH_FOLDERS; which++) {
        struct print path;
        print_start(&path, path_now, sizeof path_now);
        attach_folder(which, user, &path);
        if (!os_private_folder(print_string(&path), user, numberless))
            continue;
        attach_sweep(path_now);
        print_start(&path, path_now, sizeof path_now);
        attach_socket(which, user, os_pid(), &path);
        os_remove(print_string(&path)); /* left behind by an earlier process with this id */
        int fd = os_listen(path_now, BACKLOG);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

/* Serves one request, in some seconds at most, whatever the client sends. Whether the client may
 * ask is decided when its request has come, and again when the answer is ready: the program may
 * have given up rights since the client connected. */
static void client_serve(int fd, const struct os_ids *ids)
{
    char packet[sizeof(struct attach_request) + ATTACH_LINE_MAX + 1];
    struct client client = {fd, ids, {0, 0, 0}};
    int passed;
    bool known = os_peer(fd, &client.peer);
    bool welcome = known && access_allows(ids, &client.peer);
    if (!client_wait(&client, false, os_now_ms() + (welcome ? CLIENT_MS : STRANGER_MS)) && welcome)
        return;
    ssize_t got = os_receive(fd, packet, sizeof packet, &passed);
    if (!access_is_current()) {
        /* no right to answer: the next helper has the rights of the program */
    } else if (!known || !access_allows(ids, &client.peer)) {
        /* after it has spoken: with unread bytes the answer would be lost */
        answer_send(&client, EPERM, NULL, 0);
    } else if (got >= 0) {
        int error = request_check(packet, got, passed);
        packet[got < (ssize_t)sizeof packet ? got : (ssize_t)sizeof packet - 1] = '\0';
        if (error != 0)
            answer_send(&client, error, NULL, 0);
        else
            client_ask(&client, packet + sizeof(struct attach_request),
                       (size_t)got - sizeof(struct attach_request), passed);
    }
    if (passed >= 0)
        os_close(passed);
}

/* 0, or the errno value with which the packet is refused. */
static int request_check(const char *packet, ssize_t got, int passed)
{
    struct attach_request request = {0, 0};
    if (got >= (ssize_t)sizeof request)
        memcpy(&request, packet, sizeof request);
    if (request.magic != ATTACH_REQUEST || request.length == 0 ||
        request.length > ATTACH_LINE_MAX || (size_t)got != sizeof request + request.length)
        return EPROTO;
    return passed >= 0 && !os_is_file(passed) ? EINVAL : 0;
}

/* The text of an answer. It is complete before the first byte is sent, so that no lock is held
 * while the client reads. */
struct answer {
    char *text;
    size_t length;
};

static int answer_add(void *context, const void *bytes, size_t length)
{
    struct answer *answer = context;
    if (length > ATTACH_TEXT_MAX - answer->length)
        return ENOBUFS;
    memcpy(answer->text + answer->length, bytes, length);
    answer->length += length;
    return 0;
}

static void client_ask(struct client *client, const char *line, size_t length, int passed)
{
    char front[1024];
    struct answer answer = {os_map(ATTACH_TEXT_MAX), 0};
    struct sink sink;
    sink_to_function(&sink, answer_add, &answer, front, sizeof front);
    if (answer.text == NULL) {
        answer_send(client, ENOMEM, NULL, 0);
        return;
    }
    bool crowd = os_thread_count() >= CROWD;
    if (!crowd)
        os_thread_relax(priority);
    int status = passed < 0 || commands.keeps_file(line, length)
                     ? worker_ask(line, length, passed, &sink)
                     : commands.run(line, length, passed, &sink);
    if (!crowd)
        priority = os_thread_hurry();
    sink_flush(&sink);
    if (access_is_current() && access_allows(client->ids, &client->peer))
        answer_send(client, status, answer.text, answer.length);
    else
        answer_send(client, EPERM, NULL, 0);
    os_unmap(answer.text, ATTACH_TEXT_MAX);
}

static void answer_send(const struct client *client, int status, const char *text, size_t length)
{
    struct attach_answer answer = {ATTACH_ANSWER, status, (uint32_t)length};
    uint64_t until_ms = os_now_ms() + TAKE_MS;
    if (!packet_send(client, &answer, sizeof answer, until_ms))
        return;
    for (size_t at = 0; at < length; at += ATTACH_PACKET) {
        size_t part = length - at < ATTACH_PACKET ? length - at : ATTACH_PACKET;
        if (!packet_send(client, text + at, part, until_ms))
            return;
    }
}

static bool packet_send(const struct client *client, const void *bytes, size_t length,
                        uint64_t until_ms)
{
    for (;;) {
        ssize_t sent = os_send(client->fd, bytes, length);
        if (sent != -EAGAIN && sent != -EINTR)
            return sent == (ssize_t)length;
        if (!client_wait(client, true, until_ms))
            return false;
    }
}

/* Waits for the client in short steps: a helper that no longer has the program's rights must not
 * stay for an idle client. */
static bool client_wait(const struct client *client, bool writing, uint64_t until_ms)
{
    for (;;) {
        uint64_t now_ms = os_now_ms();
        if (now_ms >= until_ms || !access_is_current())
            return false;
        uint64_t left_ms = until_ms - now_ms;
        if (os_poll(client->fd, writing, (uint32_t)(left_ms < GLANCE_MS ? left_ms : GLANCE_MS)))
            return true;
    }
}
