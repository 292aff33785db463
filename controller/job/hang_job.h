/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job that hangs or may hang: the documents of its hosts about its ranks, which hosts we ask to
 * look, and the finding. Pure except for memory.
 *
 * The finding is JSON, stored with the job, so that it survives a restart:
 *
 *   {"run", "since", "judged", "until" (it went on, or there are no more reports; null),
 *    "sentence", "act", "verdict": see hang_words_json(), "logs": hang_logs.h}
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/job/hang_asks.h"
#include "controller/job/hang_docs.h"
#include "controller/job/hang_places.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/hang/hang_case.h"
#include "lib/policy/hung.h"

struct err;
struct hang_row;

/* Shortest interval between judgements of a job, also in multiples of the time the last one took.
 * Of several jobs one is judged per second, the one judged longest ago first. */
#define HANG_JOB_JUDGE_US (5 * USEC_PER_SEC)
enum { HANG_JOB_JUDGE_PART = 50 };
/* Hosts are asked again after this. */
#define HANG_JOB_ASK_US (5 * USEC_PER_MIN)
/* How long to wait for their answers before the finding is reported. */
#define HANG_JOB_WAIT_US USEC_PER_MIN
/* Time after a start in which the previous finding need not be confirmed. */
#define HANG_JOB_GRACE_US (4 * USEC_PER_MIN)
/* Shortest interval between reports of a changed finding, and the most reports per hang. */
#define HANG_JOB_TELL_US (2 * USEC_PER_MIN)
enum { HANG_JOB_TELLS = 8 };

/* In a map by name of the job. */
struct hang_job {
	char *name;
	int64_t id; /* in the store; 0: unknown */
	struct hang_docs docs;
	struct hang_places places;
	uint64_t places_us; /* when they were read; 0: never */
	struct hang_asks asks;
	struct hung hung;
	bool beats, quiet, still; /* from beats_now in beats.h; `beats`: it has heartbeats */
	int64_t run;		  /* from its heartbeats; 0: unknown */
	uint64_t advanced_us;
	char *still_words; /* from its heartbeats; owned, or NULL */
	bool said;	   /* it hangs according to its hosts, not only to heartbeats */
	json_t *found;	   /* the finding; NULL: none */
	json_t *over;	   /* the finding before, while this may be a pause; or NULL */
	int class;	   /* enum hang_class of the finding */
	/* The last judgement. */
	struct hang_case c;
	struct hang_row *rows; /* [c.n_ranks]; NULL: not judged, or over */
	uint64_t judged_us, cost_us, judged_changes;
	/* Of this hang. */
	char *told; /* last report: class and ranks; NULL: none */
	uint64_t told_us;
	unsigned tells;
	uint64_t grace_us; /* until then what was kept holds; 0 */
	bool unkept;	   /* hang_job_kept() has to be stored */
};

void hang_job_release(struct hang_job *job);

/* Restore a stored finding. It holds until the hosts have had the time to confirm it. */
void hang_job_restore(struct hang_job *job, const json_t *found, uint64_t now_us);

/* Called once a second, after its heartbeat members were set: drop old documents and update the
 * state. Returns true if it hung and now goes on; then the finding has to be stored. */
bool hang_job_look(struct hang_job *job, uint64_t now_us);

/* Should hosts be asked to look now? */
bool hang_job_wants_ask(const struct hang_job *job, uint64_t now_us);

/* Is there news to judge, and is it time to? */
bool hang_job_wants_judge(const struct hang_job *job, uint64_t now_us);

/* Judge it by the documents of its hosts. -ENOMEM, -E2BIG and others: nothing was found. */
int hang_job_judge(struct hang_job *job, uint64_t now_us, struct err *err);

/* Are hosts still to be asked or to answer, or answers to be judged, so that the finding may soon
 * change? */
bool hang_job_awaits(const struct hang_job *job, uint64_t now_us);

/* What has to be stored: the finding as reported, and how it ended; while this may be a pause, that
 * of the previous hang. Borrowed; NULL: nothing. */
json_t *hang_job_kept(const struct hang_job *job);

/* Should the finding be reported now? If so it counts as reported. */
bool hang_job_tells(struct hang_job *job, uint64_t now_us);

/* Is the finding only for the owner, since no test of a host can show it? */
bool hang_job_is_owners(const struct hang_job *job);

/* Does it hold nothing that anybody needs? */
bool hang_job_is_idle(const struct hang_job *job);

/* If it holds only the finding of a past hang: when that ended; else 0. */
uint64_t hang_job_over_us(const struct hang_job *job);

/* "hang" of the job as shown by the API. New reference, null: none. */
json_t *hang_job_show(const struct hang_job *job, uint64_t now_us);

/* If an open finding names a rank of the host: an entry for `why`, else NULL. */
json_t *hang_job_names(const struct hang_job *job, const char *node);
