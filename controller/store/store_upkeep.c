/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_upkeep.h"

#include <inttypes.h>

#include "controller/store/store.h"
#include "controller/store/store_backup.h"
#include "controller/store/store_topology.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"

/* Interval between rounds of thinning, and of checking the pages. */
#define ROUND_US USEC_PER_HOUR

/* Shorten the times as soon as the store is too large; lengthen them only once an hour. */
static void squeeze(struct retention_job *t, struct store *store, bool hour)
{
	struct store_size size = { 0 };
	unsigned next;

	if (store_size(store, &size, NULL) < 0)
		return;
	next = retention_squeeze_next(t->squeeze, size.used, t->max_bytes);
	if (next > t->squeeze)
		log_warning("the store is above db-max: history is kept for less time halved=%u "
			    "bytes=%" PRIu64 " db-max=%" PRIu64,
			    next, size.used, t->max_bytes);
	if (next > t->squeeze || hour)
		t->squeeze = next;
}

/* Is a round due? */
static bool round_due(struct retention_job *t, struct store *store, uint64_t now_us)
{
	bool hour = t->round_mono_us == 0 || now_us - t->round_mono_us >= ROUND_US;
	unsigned before = t->squeeze;

	if (t->running)
		return false;
	squeeze(t, store, hour);
	return hour || t->again || t->squeeze > before;
}

int store_upkeep_thin(struct store_upkeep *u, struct store *store, uint64_t now_us, struct err *err)
{
	struct retention_job *t = &u->retention;
	int r = 0;

	if (round_due(t, store, now_us))
		r = retention_job_begin(t, store, clock_real_us(), now_us, err);
	return r == 0 ? retention_job_step(t, store, now_us + STORE_UPKEEP_SLICE_US, err) : r;
}

/* From time to time all pages of the store are checked against their sums. */
static int look(struct store_upkeep *u, struct store *store, uint64_t now_us)
{
	if (!u->looking && now_us < u->look_us)
		return 0;
	u->looking = store_look(store, now_us + STORE_UPKEEP_SLICE_US) == 1;
	if (!u->looking)
		u->look_us = now_us + ROUND_US;
	return u->looking;
}

int store_upkeep_copy(struct store *store)
{
	struct err err = ERR_INIT;
	int r = store_backup_step(store, clock_mono_us() + STORE_UPKEEP_SLICE_US, &err);

	if (r < 0)
		log_error("cannot back up the store: %s", err.msg);
	return r == 1;
}

int store_upkeep_look(struct store_upkeep *u, struct store *store, uint64_t now_us, struct err *err)
{
	int r = look(u, store, clock_mono_us()) | store_upkeep_copy(store);
	int more = store_hear_more(store, now_us + STORE_UPKEEP_SLICE_US, err);

	return more < 0 ? more : r | more;
}
