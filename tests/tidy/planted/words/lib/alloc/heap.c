/* SPDX-License-Identifier: MIT */
// TODO: later
// TODO(#12): later
// FIXME
static char name[] = "/tmp/XXXXXX"; // XXX
// HACKED is another word
// a HACK
typedef struct {
    int a;
} span_t;
typedef struct span span_u;
typedef unsigned char byte_t;
typedef enum color color_t;
struct s {
    int a;
};
// built in /home/someone/memoir
// $HOME/home/x is fine, and so is base/root/x
void say(struct print *line)
{
    print_flush(line, 2);
    os_write_all(2, "x", 1);
    print_flush(line, fd);
    message_flush(line);
}
