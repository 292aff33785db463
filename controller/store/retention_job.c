/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/retention_job.h"

#include <stdlib.h>

#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

/* The clock for thinning runs at most this much faster than time, and jumps at most this far at a
 * start. */
enum { AHEAD_TIMES = 24 };
#define AHEAD_FIRST_US USEC_PER_DAY

static const char clock_mark[] = "thinned-until";

static int set_clock(struct retention_job *t, struct store *store, uint64_t real_us,
		     uint64_t mono_us, struct err *err)
{
	uint64_t ahead_us = t->round_mono_us ? AHEAD_TIMES * (mono_us - t->round_mono_us)
					     : AHEAD_FIRST_US;
	uint64_t before_us = 0;
	int r = store_mark(store, clock_mark, &before_us, err);

	if (r < 0)
		return r;
	t->round.now_us = retention_clock(before_us, real_us, ahead_us);
	t->round_mono_us = mono_us;
	return store_put_mark(store, clock_mark, t->round.now_us, err);
}

int retention_job_begin(struct retention_job *t, struct store *store, uint64_t real_us,
			uint64_t mono_us, struct err *err)
{
	retention_release(&t->round);
	t->round.retention = retention_squeeze(&t->retention, t->squeeze);
	t->stage = 0;
	t->after = 0;
	t->running = true;
	t->again = false;
	return set_clock(t, store, real_us, mono_us, err);
}

/* Returns 1 to continue with the next row, 0 at the end of the stage. */
static int thin_report(struct retention_job *t, struct store *store,
		       const struct store_thin *report, struct err *err)
{
	const struct retention_row row = { report->node, report->profile, report->level,
					   report->seen_us };
	uint64_t youngest_us = retention_youngest_us(&t->round.retention);
	int act, r;

	/* Rows are in order of arrival; one from the future does not end the stage. */
	if (report->seen_us <= t->round.now_us && t->round.now_us - report->seen_us < youngest_us)
		return 0;
	act = retention_judge(&t->round, &row);
	if (act == RETAIN_WHOLE || (act == RETAIN_LEAN && report->body_bytes == 0))
		return 1;
	r = store_thin(store, report, act == RETAIN_LEAN, err);
	if (r < 0)
		return r;
	t->counts.reports += r == 1 && act == RETAIN_NOT;
	t->counts.bodies += r == 1 && report->body_bytes > 0;
	return 1;
}

static int thin_reports(struct retention_job *t, struct store *store, uint64_t deadline_us,
			struct err *err)
{
	struct store_thin rows[STORE_THIN_MAX];
	int n = store_thin_read(store, t->after, rows, err), i, r = 1;

	for (i = 0; r == 1 && i < n; i++) {
		r = thin_report(t, store, &rows[i], err);
		if (r == 1)
			t->after = rows[i].id;
		if (clock_mono_us() >= deadline_us)
			break;
	}
	return n <= 0 ? n : r;
}

/* Returns 1 when the host is finished. */
static int thin_node(struct retention_job *t, struct store *store, const struct store_old *row,
		     uint64_t before_us, struct err *err)
{
	CLEANUP(freep) char *name = NULL;
	int r;

	if (!row->due) {
		r = store_tidy(store, row->id, before_us, t->round.now_us, err);
		return r < 0 ? r : 1;
	}
	r = store_forget(store, row->id, t->round.now_us, &name, err);
	if (r == 1) {
		t->counts.nodes++;
		if (t->forgotten)
			t->forgotten(t->context, name);
	}
	return r;
}

static int thin_old(struct retention_job *t, struct store *store, enum store_heap heap,
		    const struct store_old *row, uint64_t before_us, struct err *err)
{
	int r;

	if (heap == HEAP_NODES)
		return thin_node(t, store, row, before_us, err);
	if (!row->due)
		return 1;
	r = store_old_drop(store, heap, row->id, err);
	if (r < 0)
		return r;
	t->counts.boots += heap == HEAP_BOOTS;
	t->counts.incidents += heap == HEAP_INCIDENTS;
	return 1;
}

static int thin_heap(struct retention_job *t, struct store *store, enum store_heap heap,
		     uint64_t deadline_us, struct err *err)
{
	const struct retention *kept = &t->round.retention;
	const uint64_t ages_us[HEAP_LAST_] = {
		/* Longer than any report, so that none can be resent for a deleted boot. */
		[HEAP_BOOTS] = MAX(kept->bad.daily_us, kept->pass.daily_us),
		[HEAP_INCIDENTS] = kept->incidents_us,
		[HEAP_NODES] = kept->nodes_us,
	};
	uint64_t before_us = t->round.now_us - MIN(ages_us[heap], t->round.now_us);
	struct store_old rows[STORE_THIN_MAX];
	int n = store_old_read(store, heap, t->after, before_us, rows, err), i, r = 1;

	for (i = 0; r == 1 && i < n; i++) {
		r = thin_old(t, store, heap, &rows[i], before_us, err);
		if (r == 1)
			t->after = rows[i].id;
		if (clock_mono_us() >= deadline_us)
			break;
	}
	/* A host that is not finished is visited again: not the end of the table. */
	return n <= 0 ? n : (r < 0 ? r : 1);
}

int retention_job_step(struct retention_job *t, struct store *store, uint64_t deadline_us,
		       struct err *err)
{
	int r = 1;

	while (t->running && r >= 0 && clock_mono_us() < deadline_us) {
		r = t->stage == 0 ? thin_reports(t, store, deadline_us, err)
				  : thin_heap(t, store, t->stage - 1, deadline_us, err);
		if (r != 0)
			continue;
		t->stage++;
		t->after = 0;
		t->running = t->stage <= HEAP_LAST_;
	}
	if (r < 0)
		return r;
	if (!t->running && t->stage > HEAP_LAST_) {
		t->counts.rounds++;
		retention_job_release(t);
	}
	return t->running;
}

void retention_job_failed(struct retention_job *t)
{
	t->again |= t->running;
	t->running = false;
	retention_job_release(t);
}

void retention_job_release(struct retention_job *t)
{
	retention_release(&t->round);
	t->stage = 0;
	t->after = 0;
}
