/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job that hangs, or may: what its hosts have said of its ranks, whom of them we ask to look,
 * and what is found. Pure but for memory.
 *
 * What is found is JSON, kept with what is shown of the job, so that it outlives the controller:
 *
 *	{"run", "since", "judged", "until" (it went on, or nobody says any more; null),
 *	 "sentence", "act", "verdict": as hang_words_json() has it, "logs": hang_logs.h}
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

/* The ranks of a job are judged so often at most, and so many times as long as it took; of several
 * jobs one in a second, first the one that was judged longest ago. */
#define HANG_JOB_JUDGE_US (5 * USEC_PER_SEC)
enum { HANG_JOB_JUDGE_PART = 50 };
/* Hosts are asked again so long after they were. */
#define HANG_JOB_ASK_US (5 * USEC_PER_MIN)
/* So long their answers are waited for before anybody is told what is found. */
#define HANG_JOB_WAIT_US USEC_PER_MIN
/* After a start, so long nobody need have said again what was so before. */
#define HANG_JOB_GRACE_US (4 * USEC_PER_MIN)
/* What was found is news so often at most, and so many times of one hang. */
#define HANG_JOB_TELL_US (2 * USEC_PER_MIN)
enum { HANG_JOB_TELLS = 8 };

/* In a map by the job's name. */
struct hang_job {
	char *name;
	int64_t id; /* of the store; 0: not known */
	struct hang_docs docs;
	struct hang_places places;
	uint64_t places_us; /* they were read; 0: never */
	struct hang_asks asks;
	struct hung hung;
	bool beats, quiet, still; /* it beats: beats_now of beats.h */
	int64_t run;		  /* by its beats; 0: not known */
	uint64_t advanced_us;
	char *still_words; /* what its beats say of it; owned, or NULL */
	bool said;	   /* it is hung by what hosts say, not by beats alone */
	json_t *found;	   /* NULL: nothing */
	json_t *over;	   /* of the hang before, while it may be a pause; or NULL */
	int class;	   /* enum hang_class of it */
	/* How it was judged last. */
	struct hang_case c;
	struct hang_row *rows; /* [c.n_ranks]; NULL: it was not, or is over */
	uint64_t judged_us, cost_us, judged_changes;
	/* Of this hang. */
	char *told; /* what was told last: class and ranks; NULL: nothing */
	uint64_t told_us;
	unsigned tells;
	uint64_t grace_us; /* until then what was kept holds; 0 */
	bool unkept;	   /* hang_job_kept() is to be kept */
};

void hang_job_release(struct hang_job *job);

/* It was kept so: it holds until hosts have had the time to say it again. */
void hang_job_restore(struct hang_job *job, const json_t *found, uint64_t now_us);

/* Once a second, after what its beats say was set: drop what is old, and see how it stands. True:
 * it hung, and goes on now; what was found of it is to be kept. */
bool hang_job_look(struct hang_job *job, uint64_t now_us);

/* Are hosts to be asked to look now? */
bool hang_job_wants_ask(const struct hang_job *job, uint64_t now_us);

/* Is there news to be judged, and is it time to? */
bool hang_job_wants_judge(const struct hang_job *job, uint64_t now_us);

/* Judge it by what its hosts have said. -ENOMEM, -E2BIG and others: nothing was found. */
int hang_job_judge(struct hang_job *job, uint64_t now_us, struct err *err);

/* Are some still to be asked or to answer, or is what they did to be judged, so that what is found
 * may change soon? */
bool hang_job_awaits(const struct hang_job *job, uint64_t now_us);

/* What of it is to be kept: what was told, and how it ended; of what may be a pause yet that of the
 * hang before. Borrowed; NULL: nothing. */
json_t *hang_job_kept(const struct hang_job *job);

/* Is what was found to be told now? Then it was. */
bool hang_job_tells(struct hang_job *job, uint64_t now_us);

/* Of what was found: is it for the owner alone, since no test of a host can show it? */
bool hang_job_is_owners(const struct hang_job *job);

/* It has nothing that anybody has to know. */
bool hang_job_is_idle(const struct hang_job *job);

/* It has nothing but what was found of a hang: when that was over; else 0. */
uint64_t hang_job_over_us(const struct hang_job *job);

/* How it stands, as the API shows it: "hang" of the job. New reference, null: nothing. */
json_t *hang_job_show(const struct hang_job *job, uint64_t now_us);

/* Does what was found, and is not over, name a rank of the host? An entry of `why`, or NULL. */
json_t *hang_job_names(const struct hang_job *job, const char *node);
