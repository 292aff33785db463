/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/parts.h"

#include <errno.h>
#include <inttypes.h>

#include "lib/base/err.h"

int parts_together(const struct store_trace_window *window, uint64_t from_us, uint64_t until_us,
		   struct err *err)
{
	if (!window->from_us || !from_us)
		return 0;
	if (from_us <= window->until_us + PARTS_APART_US &&
	    window->from_us <= until_us + PARTS_APART_US)
		return 0;
	return err_set(err, EEXIST,
		       "window %" PRId64
		       " of this run covers other steps and is still missing some of its %" PRId64
		       " parts: send this again once it is closed",
		       window->id, window->parts);
}

void parts_missing_came(void *context, int64_t part)
{
	struct parts_missing *m = context;
	const char *comma = m->words.len > 0 ? ", " : "";

	if (part == m->next + 1)
		(void)strbuf_printf(&m->words, "%s%" PRId64, comma, m->next);
	else if (part > m->next)
		(void)strbuf_printf(&m->words, "%s%" PRId64 "-%" PRId64, comma, m->next, part - 1);
	m->next = part + 1;
}
