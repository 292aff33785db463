/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/checklist.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/term.h"

enum { ITEM_WIDTH = 11, SENTENCE_MAX = 2048 };

static const struct {
	const char *word;
	enum paint paint;
} states[] = {
	[CHECK_OK] = { "ok", PAINT_GOOD },
	[CHECK_SKIPPED] = { "-", PAINT_DIM },
	[CHECK_WARN] = { "warn", PAINT_UNSURE },
	[CHECK_BAD] = { "bad", PAINT_BAD },
};

void checklist_say(struct checklist *list, enum check_state state, const char *item,
		   const char *fmt, ...)
{
	const bool colour = isatty(STDOUT_FILENO);
	CLEANUP(freep) char *clean = NULL;
	char text[SENTENCE_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	clean = utf8_clean(text);
	list->counts[state]++;
	(void)printf("%s%-4s%s  %-*s %s\n", paint_on(colour, states[state].paint),
		     states[state].word, paint_off(colour), ITEM_WIDTH, item, clean);
}

bool checklist_end(const struct checklist *list)
{
	(void)printf("\n%u bad, %u to look at, %u good\n", list->counts[CHECK_BAD],
		     list->counts[CHECK_WARN], list->counts[CHECK_OK]);
	return list->counts[CHECK_BAD] > 0;
}
