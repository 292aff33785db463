/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows for the hosts that the windows of a job blame: the facts of each (job_facts.h) are
 * looked up and lib/policy/job_judge.h decides. Nothing is done here: what is asked for goes to
 * the fleet as blame (lib/policy/blame.h), and policy_decide() alone tests and cordons.
 *
 * What must outlive the controller is kept with what is shown of the job: of each suspect since
 * when it is one ("since"), since when it is tested ("begun") and since when a host of it waits
 * for its jobs to end ("waits"); until when it is kept for its tests ("kept", job_judge_keep(); not
 * while the kill switch is thrown, nor once a person withdrew it); when the job was looked into
 * ("investigations"); and which hosts it has accused, and of which its tests acquitted them
 * ("accused", accused.h).
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
	const struct hosts *hosts;   /* boots, as reports say */
	const struct policy *policy; /* with the effective mode */
	const char *job;
	int64_t id;
	const struct accusers *accusers; /* what other jobs say */
	struct job_speeds *speeds;	 /* of hosts, by these: */
	const struct baselines *baselines;
	const struct job_judge_load *loads;
	size_t n_loads;
	const struct job_window *windows; /* newest first */
	size_t n;
	const struct job_suspects *suspects; /* of these windows */
	const json_t *before;		     /* what was shown of the job last */
	uint64_t under_way;		     /* hosts that are tested for other jobs */
	bool distrusted[BLAME_CLASSES];	     /* job_prediction_distrusted() */
	json_t *asked;	/* filled: hosts whose jobs are to be known; NULL: none are */
	bool stopped;	/* the kill switch is thrown */
	bool diagnosed; /* by a person's order: what is advised is of that */
	uint64_t now_us;
};

/* Something that is told once of a host. */
struct job_judged_news {
	const struct job_judge_item *item;
	uint64_t after_us; /* acquitted so long after it became a suspect */
};

/* A host that is to be taken out for what was proven of it, though no window asks for it now. */
struct job_judged_owed {
	const char *host;   /* of the fleet */
	struct blame blame; /* its job is the input's */
};

struct job_judged {
	struct job_judge_result result;	   /* borrows from the input */
	json_t *notes[SUSPICION_LIST_MAX]; /* of each suspect: {"since", "begun", "tests", ...} */
	bool fresh[SUSPICION_LIST_MAX];	   /* it is a suspect, and was none as it was shown last */
	size_t n_notes;
	json_t *investigations; /* stamps */
	json_t *accused;	/* of accused.h */
	json_t *pairs; /* investigations of the job, for what they say of pairs; NULL: not asked for */
	/* Hosts that are acquitted by this, those that several jobs accuse, and slow silicon, which
	 * nobody was told. */
	struct job_judged_news acquitted[SUSPICION_LIST_MAX], disputed[SUSPICION_LIST_MAX];
	struct job_judged_news silicon[SUSPICION_LIST_MAX];
	size_t n_acquitted, n_disputed, n_silicon;
	struct job_judged_owed owed[SUSPICION_LIST_MAX]; /* investigating_step() says which */
	size_t n_owed;
	uint64_t tested; /* hosts that are tested for it */
	struct job_facts **facts;
	struct job_judge_host *hosts;
	size_t n_hosts;
};

/* -EIO and others: the store cannot be read; `ret` is empty then. Release it before the input. */
int job_judging_do(const struct job_judging_input *in, struct job_judged *ret, struct err *err);
void job_judging_release(struct job_judged *judged);

/*
 * Does what tests found on the host since it became a suspect (`since_us`) show the class still, in
 * the boot it had then (job_judge_proves())? `booted`: it has another one now. `ret_check` becomes
 * the check that does, borrowed from the fleet, or NULL.
 */
int job_judging_proves(const struct job_judging_input *in, const char *name, int class,
		       uint64_t since_us, bool booted, const char **ret_check, struct err *err);

/* What was done to a node, newest first, as far as tests are looked for in it: new reference. */
int job_judging_actions(struct store *store, const char *node, json_t **ret, struct err *err);

/* Write what was noted into what is shown of the job from now on. */
void job_judging_note(const struct job_judging_input *in, const struct job_judged *judged,
		      json_t *view);

/* What it says of the host of an item; false: nothing. Its job is the input's. */
bool job_judging_blame(const struct job_judging_input *in, const struct job_judged *judged,
		       const struct job_judge_item *item, struct blame *ret);

/* The boots of the hosts of a window's suspects are noted with them: "boots": {host: boot_id}. */
void job_judging_note_boots(const struct hosts *hosts, json_t *summary);
