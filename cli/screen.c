/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/sys/term.h"

/* xterm control sequences, supported by every terminal in use. */
#define TAKE_SCREEN "\033[?1049h\033[?25l"
#define GIVE_SCREEN "\033[?25h\033[?1049l"
#define GO_HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"

bool screen_is_possible(FILE *out)
{
	const char *term = getenv("TERM");

	return isatty(fileno(out)) && term && *term && !streq(term, "dumb");
}

void screen_begin(struct screen *s)
{
	(void)fputs(TAKE_SCREEN, s->out);
	(void)fflush(s->out);
	s->on = true;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

void screen_draw(struct screen *s, const char *text)
{
	size_t room = term_height(s->out), lines = count_lines(text), i;
	/* No newline after the last row: it would scroll. */
	size_t shown = lines < room ? lines : room - 2;

	(void)fputs(GO_HOME, s->out);
	for (i = 0; i < shown; i++) {
		size_t length = strcspn(text, "\n");

		(void)fwrite(text, 1, length, s->out);
		(void)fputs(CLEAR_LINE "\n", s->out);
		text += length + 1;
	}
	(void)fputs(CLEAR_BELOW, s->out);
	if (shown < lines)
		(void)fprintf(s->out, "(%zu more lines; enlarge the terminal to see them)",
			      lines - shown);
	(void)fflush(s->out);
}

void screen_end(struct screen *s)
{
	if (!s->on)
		return;
	(void)fputs(GIVE_SCREEN, s->out);
	(void)fflush(s->out);
	s->on = false;
}
