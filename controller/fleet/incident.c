/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/incident.h"

#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

char *incident_sentence(const char *node, const struct verdict_item *item,
			const struct store_window *row, const struct incident_count *parts)
{
	const char *what = item->sentence ? item->sentence : item->check;
	unsigned of = MIN(row->n, row->windows.n);
	CLEANUP(freep) char *more = NULL;

	if (parts->bad > 1 && parts->of == 0)
		more = xasprintf("; and %zu more", parts->bad - 1);
	else if (parts->bad > 1)
		more = xasprintf("; %zu of its %zu parts are affected", parts->bad, parts->of);
	else
		more = xstrdup("");
	if (item->fatal)
		return xasprintf("%s: %s%s; bad by itself", node, what, more);
	if (of <= 1)
		return xasprintf("%s: %s%s; in the last run", node, what, more);
	return xasprintf("%s: %s%s; bad in %u of the last %u runs", node, what, more,
			 windows_bad(&row->windows, of), of);
}

char *incident_fleet_sentence(const char *sku, const char *node, const struct verdict_item *item,
			      const struct incident_count *hosts)
{
	return xasprintf("%s: %zu of %zu hosts have a problem in %s at once, such as %s: %s; so "
			 "many are unlikely to be faulty: check what they have in common (driver, "
			 "settings, a switch, the SKU "
			 "file)",
			 sku, hosts->bad, hosts->of, item->check, node,
			 item->sentence ? item->sentence : "");
}

char *incident_alike_sentence(const char *sku, const char *check)
{
	return xasprintf("warn: like most hosts of %s, it has a problem in %s: see the incident of "
			 "sku:%s, not this host",
			 sku, check, sku);
}
