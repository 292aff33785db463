/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that stand still, as this host sees them (docs/hangs.md): looks at what the processes of
 * their ranks do, now and then, and says it in a document when somebody asks or when something
 * stands.
 *
 *	every HANG_WATCH_IDLE_US	a look at each process (hang_ranks.h)
 *	every HANG_WATCH_PEEK_US	is there a new dump of the flight recorder (hang_child.h)?
 *	asked (the order `look`)	a document at once, then every HANG_WATCH_ASKED_US until the
 *					deadline, HANG_WATCH_ASK_MAX_US at most
 *	something stands		a document a minute
 *
 * A document is put together from the processes, from what assay-hang-look finds (dumps, GPUs,
 * RDMA counters), from the rings of the NCCL plug-in (rings.h), logs of the job (job_logs.h) and
 * from the kernel log; it is sent (hang_send.h) and kept as $RUN/hang.json, for `assay-attribute
 * hang` by hand. It has no command line, no environment and no text of a file. Nothing here touches
 * the job.
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
/* A dump that appeared is news for so long. */
#define HANG_WATCH_DUMP_US (10 * USEC_PER_MIN)

enum { HANG_WATCH_JOBS_MAX = 16 }; /* of a host; others are not told of */

/* `config`, `log` (whose kernel log is asked for Xids) and `rings` are borrowed. */
struct hang_watch *hang_watch_new(struct sd_event *event, const struct assayd_config *config,
				  const struct watch *log, struct rings *rings);
void hang_watch_free(struct hang_watch *w);

/*
 * From now on to this controller, hang_watch_look() being next; `http` NULL: to nobody, and nothing
 * is looked at.
 */
void hang_watch_send_to(struct hang_watch *w, struct http *http);

/* What is found in logs of jobs goes into documents from now on; NULL: nothing is. Borrowed. */
void hang_watch_logs(struct hang_watch *w, struct job_logs *logs);

/* These processes have ranks here by now. */
void hang_watch_look(struct hang_watch *w, const struct process_entry *entries, size_t n);

/* Somebody asks for the job until `deadline_us` (CLOCK_REALTIME; 0: once). */
void hang_watch_ask(struct hang_watch *w, const char *job, uint64_t deadline_us);
