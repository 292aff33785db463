/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/incident.h"

#include "controller/store.h"
#include "lib/judge/verdict.h"
#include "lib/xalloc.h"

char *incident_sentence(const char *node, const struct verdict_item *item,
			const struct store_window *row)
{
	const char *what = item->sentence ? item->sentence : item->check;
	unsigned of = MIN(row->n, row->windows.n);

	if (item->fatal)
		return xasprintf("%s: %s; bad by itself", node, what);
	if (of <= 1)
		return xasprintf("%s: %s; in the last run", node, what);
	return xasprintf("%s: %s; bad in %u of the last %u runs", node, what,
			 windows_bad(&row->windows, of), of);
}

char *incident_clears(unsigned n, unsigned good)
{
	unsigned left = n > good ? n - good : 1;

	return xasprintf("clears after %u more good run%s in a row", left, left == 1 ? "" : "s");
}
