/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report's way in: unpack, decode, judge, store. What comes out as an error
 * says whose fault it is, and so which status a stranger gets:
 *
 *	-EBADMSG     not JSON, or broken gzip           400
 *	-E2BIG       larger than a report may be        413
 *	-EOPNOTSUPP  a coding that is not built in      415
 *	-EINVAL      JSON, and no report we can keep    422
 *	others       ours: the store could not          503
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

/* A report as it came in. */
struct ingest {
	struct report report;
	struct packed body; /* what is to be kept: borrows `memory` or what was sent */
	void *memory;	    /* owned */
	struct report_clock arrival;
};

/* Unpack and decode what was sent; `ret` may borrow its bytes. `memo` as for report_read(). */
int ingest_decode(const struct packed *sent, struct jmemo *memo, struct ingest *ret,
		  struct err *err);
void ingest_release(struct ingest *in);

/*
 * Judge it and put it into the store's open transaction; nothing is
 * accepted before store_commit(). Returns an enum store_place.
 *
 * It counts as of when it was measured (report_clock.h). One that waited in a
 * spool for longer than STORE_STALE_US is history: it is kept and moves the windows
 * as it would have then, but opens and closes no incident, and nobody learns
 * from it what hosts reach today.
 */
int ingest_keep(struct store *store, const struct rules *rules, struct baselines *baselines,
		struct hosts *hosts, const struct ingest *in, struct err *err);
