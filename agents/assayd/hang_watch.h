/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects hung jobs as far as this host sees them (docs/hangs.md): samples the processes of their
 * ranks now and then, and sends a document on request or when something stands still.
 *
 *	every HANG_WATCH_IDLE_US	sample each process (hang_ranks.h)
 *	every HANG_WATCH_PEEK_US	look for new flight recorder dumps (hang_child.h)
 *	on request (the order `look`)	a document at once, then every HANG_WATCH_ASKED_US until the
 *					deadline, at most HANG_WATCH_ASK_MAX_US
 *	something stands still		a document a minute
 *
 * A document combines the processes, the findings of assay-hang-look (dumps, GPUs, RDMA counters),
 * the rings of the NCCL plug-in (rings.h), job logs (job_logs.h) and the kernel log. It is sent
 * (hang_send.h), and kept as $RUN/hang.json for `assay-attribute hang` by hand. It contains no
 * command line, environment or file contents. Nothing here touches the job.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct assayd_config;
struct hang_watch;
struct http;
struct job_logs;
struct process_entry;
struct rings;
struct sd_event;
struct watch;

#define HANG_WATCH_IDLE_US (30 * USEC_PER_SEC)
#define HANG_WATCH_PEEK_US (60 * USEC_PER_SEC)
#define HANG_WATCH_ASKED_US (15 * USEC_PER_SEC)
#define HANG_WATCH_STANDS_US (60 * USEC_PER_SEC)
#define HANG_WATCH_ASK_MAX_US (10 * USEC_PER_MIN)
/* How long a new dump counts as news. */
#define HANG_WATCH_DUMP_US (10 * USEC_PER_MIN)

enum { HANG_WATCH_JOBS_MAX = 16 }; /* per host; others are ignored */

/* Borrows `config`, `log` (whose kernel log is searched for Xids) and `rings`. */
struct hang_watch *hang_watch_new(struct sd_event *event, const struct assayd_config *config,
				  const struct watch *log, struct rings *rings);
void hang_watch_free(struct hang_watch *w);

/*
 * Send to this controller from now on, starting with the next hang_watch_look(); `http` NULL:
 * stop sending and sampling.
 */
void hang_watch_send_to(struct hang_watch *w, struct http *http);

/* Include findings from job logs in documents; NULL: none. Borrowed. */
void hang_watch_logs(struct hang_watch *w, struct job_logs *logs);

/* Set the processes that have ranks here now. */
void hang_watch_look(struct hang_watch *w, const struct process_entry *entries, size_t n);

/* Documents for the job are requested until `deadline_us` (CLOCK_REALTIME; 0: once). */
void hang_watch_ask(struct hang_watch *w, const char *job, uint64_t deadline_us);
