/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs, and the windows of their traces: a window is queued when its trace has arrived, and ends
 * analysed, rejected (the trace is invalid) or failed (the analysis failed twice). What is shown of
 * a job is computed when a window ends, and stored with the job.
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
	STORE_JOBS_MAX = 1024,	       /* the one not heard of for the longest makes room */
	STORE_WINDOWS_QUEUED_MAX = 64, /* over all jobs */
	STORE_BLAMING_MAX = 16,	       /* jobs shown for one host */
};

enum window_state { WINDOW_QUEUED, WINDOW_ANALYSED, WINDOW_REJECTED, WINDOW_FAILED, WINDOW_STATES };

/* Names as in the API, NULL-terminated. */
extern const char *const window_state_names[];

/* A row. Texts are borrowed. */
struct store_trace_window {
	int64_t id, job, run;
	const char *digest;
	int64_t parts, came; /* number of files, 1: whole; and how many have arrived */
	int64_t bytes;	     /* of these files */
	enum window_state state;
	int64_t tries;
	uint64_t received_us;
	uint64_t from_us, until_us; /* of its steps, by our clock; 0: unknown */
	const char *reason, *summary;
	bool bound; /* the sender may send traces of certain jobs only */
};

/* Find or create the job of that name. -EDQUOT: all others are waiting for an analysis. */
int store_need_job(struct store *s, const char *name, uint64_t now_us, int64_t *ret_id,
		   struct err *err);

/* Its number. -ENOENT: no job of that name. */
int store_find_job(struct store *s, const char *name, int64_t *ret_id, struct err *err);

/* What is shown of jobs, by number; only the one called `name` unless that is NULL. */
int store_jobs(struct store *s, const char *name, const struct store_range *range,
	       struct store_page *ret, struct err *err);

/* Statistics over all jobs. Objects are new references. */
struct store_jobs_told {
	json_t *states;	   /* number of jobs by state */
	json_t *slowdowns; /* of the slowest, by name */
	json_t *own;	   /* of those among them that slow themselves, by name */
	uint64_t suspects; /* number of hosts */
};

/* "Slowest" are the `n` slowest among those heard of since `since_us`. */
int store_jobs_now(struct store *s, size_t n, uint64_t since_us, struct store_jobs_told *ret,
		   struct err *err);
void store_jobs_told_release(struct store_jobs_told *told);

/* A job, new reference. -ENOENT. */
int store_job(struct store *s, int64_t id, json_t **ret_job, struct err *err);

/* Calls `each` for each job shown with suspects. */
int store_jobs_with_suspects(struct store *s, void (*each)(void *context, int64_t job),
			     void *context, struct err *err);

/* Store the heartbeat state of the job of that name (job/beats_kept.h) with what is shown of it,
 * and that it was heard of. Does nothing if there is no such job. */
int store_keep_beats(struct store *s, const char *job, json_t *beats, uint64_t now_us,
		     struct err *err);

/* Calls `each` for each job with heartbeat state that has not ended; the name is borrowed. */
int store_jobs_that_beat(struct store *s,
			 void (*each)(void *context, int64_t job, const char *name,
				      const json_t *beats),
			 void *context, struct err *err);

/* Store the last hang of the job of that name (job/hangs.h) with what is shown of it. Does nothing
 * if there is no such job. */
int store_keep_hang(struct store *s, const char *job, json_t *hang, struct err *err);

/* Calls `each` for each job with a stored hang; the name is borrowed. */
int store_jobs_that_hang(struct store *s,
			 void (*each)(void *context, int64_t job, const char *name,
				      const json_t *hang),
			 void *context, struct err *err);

/* Calls `each` for each job that has accused hosts, with its list of them (job/accused.h). */
int store_jobs_that_accuse(struct store *s,
			   void (*each)(void *context, int64_t job, const json_t *accused),
			   void *context, struct err *err);

/*
 * The newest acquittals of the host, at most STORE_BLAMING_MAX, newest first, as shown by `why`:
 * {job, id, class, since, acquitted}. New reference.
 */
int store_jobs_that_acquitted(struct store *s, const char *host, json_t **ret, struct err *err);

/*
 * The jobs that blame the host, at most STORE_BLAMING_MAX, most recently heard of first, as shown
 * by `why`: {job, id, run, last, investigation} and of the suspect {class, share, hits, of,
 * windows, action, reason, acquitted, incident, tells}. New reference. What is said of a run holds
 * until its next window ends.
 */
int store_jobs_that_blame(struct store *s, const char *host, json_t **ret, struct err *err);

/* Number of its windows in each state. */
int store_count_trace_windows(struct store *s, int64_t job, uint64_t ret[static WINDOW_STATES],
			      struct err *err);

/* Queued windows, and bytes of their traces, of all jobs and of one. */
struct store_queue {
	uint64_t windows, bytes, job_bytes;
};

int store_queued_windows(struct store *s, int64_t job, struct store_queue *ret, struct err *err);

/* A time interval, by our clock. */
struct store_span {
	uint64_t since_us, until_us;
};

/*
 * Number of the job's last `most` windows that arrived in the interval, and when the first of them
 * did (0: none).
 */
int store_windows_since(struct store *s, int64_t job, const struct store_span *span, size_t most,
			uint64_t *ret_n, uint64_t *ret_first_us, struct err *err);

/* The window of the run with that digest. -ENOENT. */
int store_find_window(struct store *s, const struct store_trace_window *like, int64_t *ret_id,
		      enum window_state *ret_state, struct err *err);

/* The last window of the run with this part, by digest of the part. -ENOENT. */
int store_find_part(struct store *s, const struct store_trace_window *run, int64_t part,
		    const char *digest, int64_t *ret_id, enum window_state *ret_state,
		    struct err *err);

/* Calls `take` with the window of the run that waits for parts, if any; the row is borrowed. */
int store_open_window(struct store *s, const struct store_trace_window *run,
		      void (*take)(void *context, const struct store_trace_window *window),
		      void *context, struct err *err);

/* Calls `take` with one that has waited for parts since then, if any; the row is borrowed. */
int store_late_window(struct store *s, uint64_t before_us,
		      void (*take)(void *context, const struct store_trace_window *window),
		      void *context, struct err *err);

/* Has the part arrived? */
int store_has_part(struct store *s, int64_t window, int64_t part, bool *ret, struct err *err);

/*
 * Add a part: of a window queued with it (`first`), or of one that waits for it, to which its bytes
 * and times are added. With the last part the window gets the digest of all.
 */
int store_add_part(struct store *s, const struct store_trace_window *window, int64_t part,
		   const char *digest, bool first, struct err *err);

/* Calls `each` for each part that has arrived, in order. */
int store_trace_parts(struct store *s, int64_t window, void (*each)(void *context, int64_t part),
		      void *context, struct err *err);

/* Queue a window, and note that its job was heard of; returns its number in `ret_id`. */
int store_queue_window(struct store *s, const struct store_trace_window *window, int64_t *ret_id,
		       struct err *err);

/* Calls `take` with the next queued one, if any; the row is borrowed. */
int store_next_window(struct store *s,
		      void (*take)(void *context, const struct store_trace_window *window),
		      void *context, struct err *err);

/* Its analysis failed once more. */
int store_window_tried(struct store *s, int64_t id, struct err *err);

/* Ends as `window` says (id, job, state, reason, summary). */
int store_end_window(struct store *s, const struct store_trace_window *window, struct err *err);

/* Set what is shown of the job: JSON text. */
int store_show_job(struct store *s, int64_t job, const char *shown, struct err *err);

/* Returns its job if it is in that state, else 0. On failure `ret_job` is unchanged. */
int store_window_is(struct store *s, int64_t id, enum window_state state, int64_t *ret_job,
		    struct err *err);

/*
 * Calls `each` for those of the job's last `n` analysed windows that belong to the run with the
 * newest steps; newest steps first, regardless of the order of arrival.
 */
int store_analysed_windows(struct store *s, int64_t job, size_t n,
			   void (*each)(void *context, const struct store_trace_window *window),
			   void *context, struct err *err);

/*
 * The newest analysed window of a run before `run` among the job's last `n`: its number, 0 if there
 * is none, and its run.
 */
int store_window_before(struct store *s, int64_t job, int64_t run, size_t n, int64_t *ret_window,
			int64_t *ret_run, struct err *err);

/* Newest first, as returned by the API. */
int store_trace_windows(struct store *s, int64_t job, const struct store_range *range,
			struct store_page *ret, struct err *err);

/* A window, new reference. -ENOENT. */
int store_trace_window(struct store *s, int64_t job, int64_t id, json_t **ret_window,
		       struct err *err);

/*
 * Delete some ended windows received before `windows_us`, jobs without windows before `jobs_us`,
 * and data on the parts of windows before `parts_us`. Returns 1 if there may be more to delete.
 */
int store_thin_jobs(struct store *s, uint64_t windows_us, uint64_t jobs_us, uint64_t parts_us,
		    struct err *err);
