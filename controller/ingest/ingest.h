/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processing of a report: unpack, decode, judge, store. Errors tell whose fault it is, and so the
 * status of the answer:
 *
 *   -EBADMSG     not JSON, or broken gzip           400
 *   -E2BIG       larger than a report may be        413
 *   -EOPNOTSUPP  a coding that is not built in      415
 *   -EINVAL      JSON, but not a valid report       422
 *   others       our own: the store failed          503
 */
#pragma once

#include <stdint.h>

#include "controller/fleet/report_clock.h"
#include "controller/store/pack.h"
#include "lib/report/report.h"

struct baselines;
struct err;
struct hosts;
struct jmemo;
struct rules;
struct store;

enum { BOOT_ID_MAX = 64 };

/* A report as received. */
struct ingest {
	struct report report;
	struct packed body; /* body to store: borrows from `memory` or the request */
	void *memory;	    /* owned */
	struct report_clock arrival;
};

/* Unpack and decode what was received; `ret` may borrow its bytes. `memo` as for report_read(). */
int ingest_decode(const struct packed *sent, struct jmemo *memo, struct ingest *ret,
		  struct err *err);
void ingest_release(struct ingest *in);

/*
 * Judge it and put it into the store's open transaction; it is accepted only with store_commit().
 * Returns an enum store_place.
 *
 * It counts as of its time of measurement (report_clock.h). A report that waited in a spool for
 * longer than STORE_STALE_US is history: it is stored and moves the windows as it would have then,
 * but neither opens nor closes incidents, nor changes baselines.
 */
int ingest_keep(struct store *store, const struct rules *rules, struct baselines *baselines,
		struct hosts *hosts, const struct ingest *in, struct err *err);
