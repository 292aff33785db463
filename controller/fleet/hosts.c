/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/hosts.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>

#include "controller/fleet/report_clock.h"
#include "lib/base/xalloc.h"

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct host *)a)->node, ((const struct host *)b)->node);
}

const struct host *hosts_find(const struct hosts *h, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);
	struct host key = { .node = name };
	struct host **found = tfind(&key, &h->tree, compare);

	return found ? *found : NULL;
}

struct host *hosts_need(struct hosts *h, const char *node)
{
	struct host *host = xcalloc(1, sizeof(*host));
	struct host **found;

	*host = (struct host){ .node = xstrdup(node), .skew_s = NAN };
	found = tsearch(host, &h->tree, compare);
	if (!found)
		abort(); /* out of memory */
	if (*found == host) {
		h->n++;
	} else {
		free(host->node);
		free(host);
	}
	return *found;
}

/* "86400 s", "26 h", "3 d": easy to compare with a wall clock. */
static char *distance(double seconds)
{
	static const struct {
		double at_least, unit_s;
		const char *unit;
	} rows[] = { { 172800, 86400, "days" }, { 7200, 3600, "h" }, { 0, 1, "s" } };
	size_t i;

	for (i = 0; seconds < rows[i].at_least; i++)
		;
	return xasprintf("%.0f %s", seconds / rows[i].unit_s, rows[i].unit);
}

json_t *host_clock_item(const struct host *host)
{
	CLEANUP(freep) char *words = NULL;
	CLEANUP(freep) char *off = NULL;

	/* Comparisons with NAN are false. */
	if (!host || !(fabs(host->skew_s) > REPORT_CLOCK_SKEW_MAX_S))
		return NULL;
	off = distance(fabs(host->skew_s));
	words = xasprintf("the clock of %s is %s %s the controller's: one of the two is wrong",
			  host->node, off, host->skew_s > 0 ? "ahead of" : "behind");
	return json_pack("{s:s, s:s, s:s, s:f, s:s, s:f, s:f, s:s, s:s}", "check", "host.clock",
			 "subject", host->node, "verdict", "warn", "value", host->skew_s, "unit",
			 "s", "expected", 0.0, "floor", REPORT_CLOCK_SKEW_MAX_S, "source",
			 "self-evident", "sentence", words);
}

static void host_free(void *p)
{
	struct host *host = p;

	free(host->node);
	free(host->sku);
	free(host->boot_id);
	free(host);
}

void hosts_forget(struct hosts *h, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);
	struct host key = { .node = name };
	struct host **found = tfind(&key, &h->tree, compare), *host = found ? *found : NULL;

	if (!host)
		return;
	(void)tdelete(host, &h->tree, compare);
	host_free(host);
	h->n--;
}

void hosts_release(struct hosts *h)
{
	tdestroy(h->tree, host_free);
	*h = (struct hosts){ 0 };
}
