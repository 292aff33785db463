/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consequences for the hosts that the windows of a job blame: the facts of each are looked up
 * (job_facts.h) and lib/policy/job_judge.h decides. Nothing is carried out here: requests go to the
 * fleet as blame (lib/policy/blame.h), and only policy_decide() tests and cordons.
 *
 * State that must survive a restart is stored with the job: for each suspect since when it is one
 * ("since"), since when it is tested ("begun") and since when one of its hosts waits for its jobs
 * to end ("waits"); until when it is kept for its tests ("kept", job_judge_keep(); not while the
 * kill switch is set, nor after a person withdrew it); when the job was investigated
 * ("investigations"); and which hosts it has accused, and which of them were acquitted ("accused",
 * accused.h).
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/job_suspects.h"
#include "lib/base/macro.h"
#include "lib/policy/job_judge.h"

struct accusers;
struct baselines;
struct err;
struct hosts;
struct job_speeds;
struct store;

/* All borrowed. */
struct job_judging_input {
	struct store *store;
	const struct fleet *fleet;
	const struct hosts *hosts;   /* boots, from reports */
	const struct policy *policy; /* with the effective mode */
	const char *job;
	int64_t id;
	const struct accusers *accusers; /* accusations by other jobs */
	struct job_speeds *speeds;	 /* of hosts, from these: */
	const struct baselines *baselines;
	const struct job_judge_load *loads;
	size_t n_loads;
	const struct job_window *windows; /* newest first */
	size_t n;
	const struct job_suspects *suspects; /* in these windows */
	const json_t *before;		     /* the job as shown last */
	uint64_t under_way;		     /* hosts being tested for other jobs */
	bool distrusted[BLAME_CLASSES];	     /* job_prediction_distrusted() */
	json_t *asked;	/* output: hosts whose jobs must be known; NULL: not wanted */
	bool stopped;	/* the kill switch is set */
	bool diagnosed; /* a person's diagnosis is in progress: it gives the advice */
	uint64_t now_us;
};

/* Something about a host to be reported once. */
struct job_judged_news {
	const struct job_judge_item *item;
	uint64_t after_us; /* acquitted this long after it became a suspect */
};

/* A host to be taken out for proven faults although no window asks for it now. */
struct job_judged_owed {
	const char *host;   /* owned by the fleet */
	struct blame blame; /* for the job of the input */
};

struct job_judged {
	struct job_judge_result result;	   /* borrows from the input */
	json_t *notes[SUSPICION_LIST_MAX]; /* per suspect: {"since", "begun", "tests", ...} */
	bool fresh[SUSPICION_LIST_MAX];	   /* newly a suspect since the job was last shown */
	size_t n_notes;
	json_t *investigations; /* timestamps */
	json_t *accused;	/* see accused.h */
	json_t *pairs; /* investigations of the job, for their results of pairs; NULL: not looked up */
	/* Hosts newly acquitted, accused by several jobs, or with slow silicon, that were not
	 * reported yet. */
	struct job_judged_news acquitted[SUSPICION_LIST_MAX], disputed[SUSPICION_LIST_MAX];
	struct job_judged_news silicon[SUSPICION_LIST_MAX];
	size_t n_acquitted, n_disputed, n_silicon;
	struct job_judged_owed owed[SUSPICION_LIST_MAX]; /* chosen by investigating_step() */
	size_t n_owed;
	uint64_t tested; /* hosts being tested for it */
	struct job_facts **facts;
	struct job_judge_host *hosts;
	size_t n_hosts;
};

/* Returns -EIO and others if the store cannot be read; `ret` is then empty. Release `ret` before
 * the input. */
int job_judging_do(const struct job_judging_input *in, struct job_judged *ret, struct err *err);
void job_judging_release(struct job_judged *judged);

/*
 * Do test results of the host since it became a suspect (`since_us`) still prove the class, in the
 * boot it had then (job_judge_proves())? `booted`: it has rebooted. `ret_check` becomes the check
 * that does, borrowed from the fleet, or NULL.
 */
int job_judging_proves(const struct job_judging_input *in, const char *name, int class,
		       uint64_t since_us, bool booted, const char **ret_check, struct err *err);

/* Actions on a node, newest first, as many as are searched for tests. New reference. */
int job_judging_actions(struct store *store, const char *node, json_t **ret, struct err *err);

/* Write the state to store into `view`, the job as shown from now on. */
void job_judging_note(const struct job_judging_input *in, const struct job_judged *judged,
		      json_t *view);

/* The blame for the host of an item, with the input's job. Returns false if there is none. */
bool job_judging_blame(const struct job_judging_input *in, const struct job_judged *judged,
		       const struct job_judge_item *item, struct blame *ret);

/* Add the boots of the hosts of a window's suspects to it: "boots": {host: boot_id}. */
void job_judging_note_boots(const struct hosts *hosts, json_t *summary);
