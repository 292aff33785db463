/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/keep.h"

#include <errno.h>
#include <inttypes.h>

#include "agents/run/references.h"
#include "agents/run/spool.h"
#include "agents/run/verdict_file.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/report/report.h"
#include "lib/sys/state.h"
#include "lib/topology/topology_file.h"

bool keep_had_no_room(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

static int number(struct keep *k, struct err *err)
{
	return state_next_seq(&k->report->seq, err);
}

static int keep_verdict(struct keep *k, struct err *err)
{
	return verdict_file_keep(k->report, k->verdict, k->active, err);
}

static int learn(struct keep *k, struct err *err)
{
	return k->references ? references_learn(k->references, k->report, k->verdict, err) : 0;
}

static int spool(struct keep *k, struct err *err)
{
	k->report->lost = spool_lost();
	return k->spool ? spool_put(k->report, k->verdict, err) : 0;
}

/* Do one step; if the disk is full, retry after dropping older reports. */
static int with_room(struct keep *k, int (*step)(struct keep *k, struct err *err), struct err *err)
{
	struct err first = ERR_INIT;
	int r = step(k, &first);

	while (spool_made_room(r)) {
		first = (struct err)ERR_INIT;
		r = step(k, &first);
	}
	if (r < 0)
		*err = first;
	return r;
}

/* For assayd, if the controller asks for it; optional for the report. */
static void keep_topology(const struct keep *k)
{
	struct err err = ERR_INIT;

	if (k->topology && topology_file_keep(k->report->topology, k->topology, &err) < 0)
		log_warning("cannot store the topology for the controller: %s", err.msg);
}

static void tell_lost(uint64_t before)
{
	uint64_t lost = spool_lost();

	if (lost > before)
		log_warning("the spool is full: %" PRIu64
			    " older reports that the controller never got were dropped",
			    lost - before);
}

int keep_number(struct report *report, struct err *err)
{
	const uint64_t lost = spool_lost();
	struct keep k = { .report = report };
	int r = with_room(&k, number, err);

	tell_lost(lost);
	return r;
}

int keep_report(struct keep *k, struct err *err)
{
	const uint64_t lost = spool_lost();
	int r = k->aside ? 0 : with_room(k, keep_verdict, err);

	if (r == 0 && !k->aside)
		r = with_room(k, learn, err);
	if (r == 0 && k->spool)
		keep_topology(k);
	if (r == 0)
		r = with_room(k, spool, err);
	tell_lost(lost);
	return r;
}
