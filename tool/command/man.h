/* SPDX-License-Identifier: MIT */
/* The manual pages; the command `man` itself is a row of commands.def. */
#ifndef COMMAND_MAN_H
#define COMMAND_MAN_H

/* memoir.conf(5) in roff. */
void man_options(void);
/* Paragraphs that end in '\n', the last may lack it, as Markdown with an empty line before each. */
void man_markdown(const char *text);

#endif
