/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs, and the windows of their traces: a window is queued when its trace has come, and ends
 * analysed, rejected (the trace says what cannot be) or failed (the analysis came to nothing,
 * twice). What is shown of a job is made by whoever ends a window, and kept with it.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;
struct store_page;
struct store_range;

enum {
	STORE_JOBS_MAX = 1024,	       /* the one heard of longest ago makes room for a new one */
	STORE_WINDOWS_QUEUED_MAX = 64, /* of all jobs */
	STORE_BLAMING_MAX = 16,	       /* jobs that are shown of one host */
};

enum window_state { WINDOW_QUEUED, WINDOW_ANALYSED, WINDOW_REJECTED, WINDOW_FAILED, WINDOW_STATES };

/* Their names, as the API gives them, up to NULL. */
extern const char *const window_state_names[];

/* A row. Texts are borrowed. */
struct store_trace_window {
	int64_t id, job, run;
	const char *digest;
	int64_t parts, came; /* files that it is sent as, 1: whole; and those that are there */
	int64_t bytes;	     /* of these */
	enum window_state state;
	int64_t tries;
	uint64_t received_us;
	uint64_t from_us, until_us; /* of its steps, by our clock; 0: nobody said */
	const char *reason, *summary;
	bool bound; /* who sent it may send traces of some jobs alone */
};

/* The job of that name, made when there is none. -EDQUOT: all others wait for an analysis. */
int store_need_job(struct store *s, const char *name, uint64_t now_us, int64_t *ret_id,
		   struct err *err);

/* Its number. -ENOENT: there is none of that name. */
int store_find_job(struct store *s, const char *name, int64_t *ret_id, struct err *err);

/* What is shown of jobs, by their number; of one with `name` alone unless that is NULL. */
int store_jobs(struct store *s, const char *name, const struct store_range *range,
	       struct store_page *ret, struct err *err);

/* Of all jobs, for who counts. Objects are new references. */
struct store_jobs_told {
	json_t *states;	   /* how many are in each */
	json_t *slowdowns; /* by name, of the slowest */
	json_t *own;	   /* likewise, of those among them that slow themselves */
	uint64_t suspects; /* hosts */
};

/* The slowest are the `n` slowest of those that were heard of since `since_us`. */
int store_jobs_now(struct store *s, size_t n, uint64_t since_us, struct store_jobs_told *ret,
		   struct err *err);
void store_jobs_told_release(struct store_jobs_told *told);

/* One of them, new reference. -ENOENT. */
int store_job(struct store *s, int64_t id, json_t **ret_job, struct err *err);

/* Called with each that is shown with suspects. */
int store_jobs_with_suspects(struct store *s, void (*each)(void *context, int64_t job),
			     void *context, struct err *err);

/* What is kept of the beats of the job of that name (job/beats_kept.h), among what is shown of it,
 * which was heard of. Nothing happens when there is none such. */
int store_keep_beats(struct store *s, const char *job, json_t *beats, uint64_t now_us,
		     struct err *err);

/* Called with each of which beats were kept that has not ended; the name is borrowed. */
int store_jobs_that_beat(struct store *s,
			 void (*each)(void *context, int64_t job, const char *name,
				      const json_t *beats),
			 void *context, struct err *err);

/* What is kept of the last hang of the job of that name (job/hangs.h), among what is shown of it.
 * Nothing happens when there is none such. */
int store_keep_hang(struct store *s, const char *job, json_t *hang, struct err *err);

/* Called with each of which one was kept; the name is borrowed. */
int store_jobs_that_hang(struct store *s,
			 void (*each)(void *context, int64_t job, const char *name,
				      const json_t *hang),
			 void *context, struct err *err);

/* Called with each that has accused hosts, and its list of them (job/accused.h). */
int store_jobs_that_accuse(struct store *s,
			   void (*each)(void *context, int64_t job, const json_t *accused),
			   void *context, struct err *err);

/*
 * The newest acquittals of the host, at most STORE_BLAMING_MAX, lately first, as `why` shows them:
 * {job, id, class, since, acquitted}. New reference.
 */
int store_jobs_that_acquitted(struct store *s, const char *host, json_t **ret, struct err *err);

/*
 * The newest of the jobs that blame the host, at most STORE_BLAMING_MAX, heard of lately first, as
 * `why` shows them: {job, id, run, last, investigation} and of the suspect {class, share, hits, of,
 * windows, action, reason, acquitted, incident, tells}. New reference. What is said of a run holds
 * until its next window ends.
 */
int store_jobs_that_blame(struct store *s, const char *host, json_t **ret, struct err *err);

/* How many of its windows are in each state. */
int store_count_trace_windows(struct store *s, int64_t job, uint64_t ret[static WINDOW_STATES],
			      struct err *err);

/* What is queued: windows, and bytes of their traces, of all jobs and of one. */
struct store_queue {
	uint64_t windows, bytes, job_bytes;
};

int store_queued_windows(struct store *s, int64_t job, struct store_queue *ret, struct err *err);

/* A time between two, by our clock. */
struct store_span {
	uint64_t since_us, until_us;
};

/*
 * How many of the job's last `most` windows came in the span, and when the first of them did (0:
 * none).
 */
int store_windows_since(struct store *s, int64_t job, const struct store_span *span, size_t most,
			uint64_t *ret_n, uint64_t *ret_first_us, struct err *err);

/* The window of the run with that digest. -ENOENT. */
int store_find_window(struct store *s, const struct store_trace_window *like, int64_t *ret_id,
		      enum window_state *ret_state, struct err *err);

/* The window of the run that had this part last, by the part's digest. -ENOENT. */
int store_find_part(struct store *s, const struct store_trace_window *run, int64_t part,
		    const char *digest, int64_t *ret_id, enum window_state *ret_state,
		    struct err *err);

/* Called with the window of the run that waits for parts, if any; the row is borrowed. */
int store_open_window(struct store *s, const struct store_trace_window *run,
		      void (*take)(void *context, const struct store_trace_window *window),
		      void *context, struct err *err);

/* Called with one that has waited for parts since before then, if any; the row is borrowed. */
int store_late_window(struct store *s, uint64_t before_us,
		      void (*take)(void *context, const struct store_trace_window *window),
		      void *context, struct err *err);

/* Is the part there? */
int store_has_part(struct store *s, int64_t window, int64_t part, bool *ret, struct err *err);

/*
 * A part has come: of a window that was queued with it (`first`), or of one that waits for it, to
 * which its bytes and times are added. With the last of them the window has the digest of all.
 */
int store_add_part(struct store *s, const struct store_trace_window *window, int64_t part,
		   const char *digest, bool first, struct err *err);

/* Called for each part that is there, in order. */
int store_trace_parts(struct store *s, int64_t window, void (*each)(void *context, int64_t part),
		      void *context, struct err *err);

/* Queue one, and note that its job was heard of; its number into `ret_id`. */
int store_queue_window(struct store *s, const struct store_trace_window *window, int64_t *ret_id,
		       struct err *err);

/* Called with the next that is queued, if any; the row is borrowed. */
int store_next_window(struct store *s,
		      void (*take)(void *context, const struct store_trace_window *window),
		      void *context, struct err *err);

/* Its analysis came to nothing, once more. */
int store_window_tried(struct store *s, int64_t id, struct err *err);

/* It ends as `window` says (id, job, state, reason, summary). */
int store_end_window(struct store *s, const struct store_trace_window *window, struct err *err);

/* What is shown of the job from now on: JSON text. */
int store_show_job(struct store *s, int64_t job, const char *shown, struct err *err);

/* Its job while it is in that state, else 0. On failure `ret_job` stays as it is. */
int store_window_is(struct store *s, int64_t id, enum window_state state, int64_t *ret_job,
		    struct err *err);

/*
 * Called with the last `n` analysed windows of the job's run whose steps are the newest among its
 * last `n`: the newest steps first, whatever the order in which they came.
 */
int store_analysed_windows(struct store *s, int64_t job, size_t n,
			   void (*each)(void *context, const struct store_trace_window *window),
			   void *context, struct err *err);

/*
 * The newest analysed window of an earlier run than `run` among the job's last `n`: its id, 0 where
 * there is none, and its run.
 */
int store_window_before(struct store *s, int64_t job, int64_t run, size_t n, int64_t *ret_window,
			int64_t *ret_run, struct err *err);

/* Newest first, as the API gives them. */
int store_trace_windows(struct store *s, int64_t job, const struct store_range *range,
			struct store_page *ret, struct err *err);

/* One of them, new reference. -ENOENT. */
int store_trace_window(struct store *s, int64_t job, int64_t id, json_t **ret_window,
		       struct err *err);

/*
 * Drop some windows that ended, received before `windows_us`, jobs without any, before `jobs_us`,
 * and what is known of the parts of windows before `parts_us`. 1 when there may be more to drop.
 */
int store_thin_jobs(struct store *s, uint64_t windows_us, uint64_t jobs_us, uint64_t parts_us,
		    struct err *err);
