/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/job_judge.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"

/* Shared by the functions of this file. */
struct judging {
	const struct policy *policy;
	const struct job_judge_input *in;
	uint64_t now_us;
	struct job_judge_result *ret;
	uint64_t tested; /* hosts of the job being tested, or by this answer */
	bool begun;	 /* a ladder of the job is under way: no new investigation */
};

void job_judge_release(struct job_judge_result *result)
{
	size_t i;

	for (i = 0; i < result->n; i++) {
		free(result->items[i].sentence);
		free(result->items[i].tells);
	}
	free(result->items);
	free(result->sentence);
	*result = (struct job_judge_result){ 0 };
}

bool job_judge_is_group(const struct policy *policy, const struct suspicion_found *suspect)
{
	return suspect->n_hosts > 1 && suspect->n_hosts <= policy->jobs.over_evict_hosts &&
	       blame_of_host(suspect->class);
}

/* ---- evidence ----------------------------------------------------------------- */

/* The number of failures far enough apart; `ret_last_us`: the last of these, 0: none. */
static unsigned count_apart(const struct job_judge_failure *f, uint64_t since_us, uint64_t apart_us,
			    uint64_t *ret_last_us)
{
	size_t i = f->n_failed > JOB_JUDGE_TIMES_MAX ? f->n_failed - JOB_JUDGE_TIMES_MAX : 0;
	uint64_t last_us = 0;
	unsigned n = 0;

	for (; i < f->n_failed; i++) {
		const uint64_t at_us = f->failed_us[i];

		if (at_us < since_us || (n > 0 && (at_us < last_us || at_us - last_us < apart_us)))
			continue;
		last_us = at_us;
		n++;
	}
	*ret_last_us = last_us;
	return n;
}

unsigned job_judge_apart(const struct job_judge_failure *f, uint64_t since_us, uint64_t apart_us)
{
	uint64_t ignored;

	return count_apart(f, since_us, apart_us, &ignored);
}

uint64_t job_judge_again(const struct job_judge_failure *f, uint64_t since_us, uint64_t apart_us)
{
	uint64_t last_us;

	return count_apart(f, since_us, apart_us, &last_us) ? last_us + apart_us : 0;
}

static bool is_measured_well(const struct job_judge_failure *f)
{
	return f->same_boot && f->idle && f->reference && f->n_failed > 0;
}

static bool shows(const struct job_judge_host *host, int class, const char *check)
{
	return host->group ? blame_shows_group(class, check) : blame_shows(class, check);
}

/* True if it proves what the suspicion says of the host. */
static bool is_proof(const struct judging *j, const struct suspicion_found *suspect,
		     const struct job_judge_host *host, const struct job_judge_failure *f)
{
	const uint64_t seen_us = f->failed_us[f->n_failed - 1];

	if (fleet_is_pair_check(f->check) && !f->partner_good)
		return false;
	if (suspect->counts != BLAME_K_OF_N)
		return seen_us + BLAME_BEFORE_US >= suspect->from_us;
	return host->suspected_us > 0 && f->ordered_us >= host->suspected_us &&
	       job_judge_apart(f, f->ordered_us, j->policy->jobs.retest_spacing_us) >=
		       j->policy->retest_times;
}

/* The worst evidence. `ret_check` receives the check that shows it, or NULL. */
static int evidence_of(const struct judging *j, const struct suspicion_found *suspect,
		       const struct job_judge_host *host, const char **ret_check)
{
	const size_t n = MIN(host->n_failures, (size_t)JOB_JUDGE_FAILURES_MAX);
	bool failed = false;
	size_t i;

	*ret_check = NULL;
	if (host->fatal)
		return EVIDENCE_FATAL;
	for (i = 0; i < n; i++) {
		const struct job_judge_failure *f = &host->failures[i];

		if (!is_measured_well(f))
			continue;
		failed = true;
		if (!shows(host, suspect->class, f->check)) {
			*ret_check = *ret_check ? *ret_check : f->check;
			continue;
		}
		if (is_proof(j, suspect, host, f)) {
			*ret_check = f->check;
			return EVIDENCE_BAD;
		}
	}
	if (*ret_check)
		return EVIDENCE_OTHER;
	if (host->differs[suspect->class])
		return EVIDENCE_DIFFERS;
	if (host->slow[suspect->class] && !failed)
		return EVIDENCE_SLOW;
	return host->clean[suspect->class] && !failed ? EVIDENCE_CLEAN : EVIDENCE_NONE;
}

const char *job_judge_proves(const struct policy *policy, int class,
			     const struct job_judge_host *host)
{
	const struct judging j = { .policy = policy };
	const struct suspicion_found suspect = { .class = class, .counts = BLAME_K_OF_N };
	const char *check;

	if (!blame_tests_host(class) || host->booted ||
	    (class == BLAME_LINK && host->end != END_BAD))
		return NULL;
	return evidence_of(&j, &suspect, host, &check) == EVIDENCE_BAD ? check : NULL;
}

static int limit_of(const struct suspicion_found *suspect, const struct job_judge_host *host)
{
	if (host->booted)
		return LIMIT_BOOTED;
	return suspect->coarse ? LIMIT_COARSE : LIMIT_NONE;
}

/* ---- limits of testing -------------------------------------------------------- */

static bool is_running(const struct job_judge_host *host)
{
	int class;

	for (class = 0; class < BLAME_CLASSES; class ++) {
		if (host->ladders[class] == LADDER_RUNNING)
			return true;
	}
	return false;
}

/* Hosts of a rack that are being tested, and when the last of them started. */
struct domain_use {
	uint64_t n, last_us;
};

static const struct job_judge_load *find_load(const struct job_judge_input *in, const char *host)
{
	size_t i;

	for (i = 0; i < in->n_loads; i++) {
		if (streq(in->loads[i].host, host))
			return &in->loads[i];
	}
	return NULL;
}

/* Adds hosts of the job whose tests are under way, or begin by this answer. */
static void add_own(const struct judging *j, const char *domain, struct domain_use *use)
{
	size_t i;

	for (i = 0; i < j->in->n_hosts; i++) {
		const struct job_judge_host *host = &j->in->hosts[i];

		use->n += streq(host->domain, domain) && is_running(host) && !host->awaits &&
			  !find_load(j->in, host->name);
	}
	for (i = 0; i < j->ret->n; i++) {
		const struct job_judge_item *item = &j->ret->items[i];

		if (item->action != BLAME_PROBE || item->waits || is_running(item->host) ||
		    item->kept_free || !streq(item->host->domain, domain) ||
		    find_load(j->in, item->host->name))
			continue;
		use->n++;
		use->last_us = j->now_us;
	}
}

/* If nothing is carried out, nothing draws power. */
static const char *why_rack_waits(const struct judging *j, const struct job_judge_host *host)
{
	struct domain_use use = { 0 };
	size_t i;

	if (!host->domain || !host->idle || j->ret->mode != MODE_ENFORCE ||
	    find_load(j->in, host->name))
		return NULL;
	for (i = 0; i < j->in->n_loads; i++) {
		const struct job_judge_load *load = &j->in->loads[i];

		if (!streq(load->domain, host->domain))
			continue;
		use.n += load->under_way || j->now_us < load->since_us + JOB_JUDGE_GRACE_US;
		use.last_us = MAX(use.last_us, load->since_us);
	}
	add_own(j, host->domain, &use);
	if (use.n >= j->policy->jobs.per_domain)
		return "waiting: jobs.per_domain limits how many hosts of its rack are tested";
	if (use.last_us > 0 && j->now_us < use.last_us + JOB_JUDGE_APART_US)
		return "waiting: a test of another host of its rack has just started";
	return NULL;
}

static bool is_given_up(const struct judging *j, const struct job_judge_host *host)
{
	return host->waits_us > 0 && j->now_us >= host->waits_us + j->policy->jobs.busy_limit_us;
}

/* Why others are tested first, or NULL. */
static const char *why_queued(const struct judging *j, const struct job_judge_host *host)
{
	const struct policy_jobs *jobs = &j->policy->jobs;

	if (j->tested >= jobs->ladder_hosts)
		return "waiting: jobs.ladder.hosts limits how many hosts of the job are tested";
	if (j->in->under_way + j->tested >= jobs->at_once)
		return "waiting: jobs.ladder.at_once limits how many hosts are tested at once";
	return why_rack_waits(j, host);
}

/* Why it is not tested at all, or NULL. */
static const char *why_not_tested(const struct judging *j, const struct job_judge_host *host)
{
	const struct policy_jobs *jobs = &j->policy->jobs;

	if (!host->idle && jobs->busy == BUSY_NEVER)
		return "it runs jobs, and jobs.busy does not allow testing it";
	if (is_given_up(j, host))
		return "it ran jobs for longer than jobs.busy_limit: its test was given up";
	if (!j->begun && j->in->investigations >= jobs->investigations)
		return "the job has had as many investigations as jobs.ladder.investigations "
		       "allows";
	return NULL;
}

/* True if it is being tested, or an earlier item tests it. */
static bool is_tested(const struct judging *j, const struct job_judge_host *host)
{
	size_t i;

	if (is_running(host))
		return true;
	for (i = 0; i < j->ret->n; i++) {
		const struct job_judge_item *item = &j->ret->items[i];

		if (item->host == host && item->action == BLAME_PROBE && !item->kept_free)
			return true;
	}
	return false;
}

/* Returns the reason against a probe, or NULL if it stands. */
static const char *allow_probe(struct judging *j, struct job_judge_item *item)
{
	const char *why;

	item->waits = !item->host->idle;
	if (is_tested(j, item->host))
		return NULL;
	why = why_not_tested(j, item->host);
	if (!why) {
		why = why_queued(j, item->host);
		item->queued = why != NULL;
	}
	if (!why) {
		j->tested++;
		j->begun = true;
		return NULL;
	}
	if (item->queued && item->host->group && !item->waits) {
		item->queued = false;
		item->kept_free = true;
		return why;
	}
	item->action = BLAME_WATCH;
	item->again = item->waits = false;
	item->given_up = is_given_up(j, item->host);
	return why;
}

/* ---- one host ----------------------------------------------------------------- */

/* What would be needed if all tests of a suspect left it open. New memory. */
static char *tells_of(const struct job_judge_item *item)
{
	const int class = item->suspect->class;
	const char *missing = item->host->missing[class];

	if (item->evidence == EVIDENCE_OTHER)
		return xasprintf("a test that passes, once %s is fixed", item->check);
	if (item->limit == LIMIT_COARSE && item->evidence == EVIDENCE_BAD)
		return xstrdup("windows with the times of their steps (--ages)");
	if (item->limit == LIMIT_BOOTED && item->host->n_failures > 0)
		return xstrdup("windows since the host booted");
	return xstrdup(missing ? missing : blame_rungs(class));
}

char *job_judge_slow_words(const struct job_judge_item *item)
{
	return !item->slow
		       ? NULL
		       : xasprintf("its slowest part reaches %.3f of normal, and 1 good part in "
				   "200 is below %.3f",
				   item->host->speed, item->host->low);
}

/* What to report besides the reason, or "". New memory. */
static char *more_of(const struct judging *j, const struct job_judge_item *item)
{
	CLEANUP(freep) char *slow = job_judge_slow_words(item);
	char per[CLOCK_DURATION_SIZE];

	if (item->tells)
		return xasprintf("; what would tell: %s", item->tells);
	if (item->suspect->class == BLAME_LINK && item->host->rung && !item->acquitted)
		return xasprintf("; %s", item->host->rung);
	if (slow)
		return xasprintf("; %s", slow);
	if (item->incident != BLAME_ACCUSED)
		return xstrdup("");
	duration_format(j->policy->jobs.acquit_per_us, per);
	return xasprintf("; its tests acquitted it, and %llu jobs have accused it within %s: an "
			 "operator should look at it",
			 (unsigned long long)item->host->accusers, per);
}

static char *sentence_of(const struct judging *j, const struct job_judge_item *item,
			 const char *reason)
{
	const struct suspicion_found *s = item->suspect;
	CLEANUP(freep) char *more = more_of(j, item);

	return xasprintf("%s: %u of %u window%s of %s blame it (%s, share %.2f); %s%s%s%s",
			 item->host->name, s->hits, s->of, s->of == 1 ? "" : "s", j->in->job,
			 blame_class_names[s->class], s->share, reason, item->check ? ": " : "",
			 item->check ? item->check : "", more);
}

static bool is_acquitted(const struct judging *j, const struct job_judge_host *host)
{
	return host->acquitted_us > 0 && j->now_us < host->acquitted_us + j->policy->jobs.acquit_us;
}

/* Independent jobs accuse it, and tests find nothing. */
static bool is_accused(const struct judging *j, const struct job_judge_item *item)
{
	return item->suspect->counts == BLAME_K_OF_N && item->action != BLAME_EVICT &&
	       blame_may_accuse(item->suspect->class) && item->evidence < EVIDENCE_BAD &&
	       item->host->accusers > 0 && item->host->accusers >= j->policy->jobs.acquit_jobs;
}

/*
 * A class whose predictions were wrong may ask for tests but evicts nobody: their results follow
 * the usual rules. A fatal finding stands by itself.
 */
static const char *distrust(const struct judging *j, struct job_judge_item *item)
{
	if (item->action != BLAME_EVICT || item->evidence == EVIDENCE_FATAL ||
	    !j->in->distrusted[item->suspect->class])
		return NULL;
	item->action = BLAME_PROBE;
	item->distrusted = true;
	return "tested, but not cordoned for it: predictions of its class did not hold "
	       "(jobs.trust)";
}

/*
 * A host that K of N windows blame, and that is known to be that slow, is reported at once: it may
 * be busy until the windows clear it, and tests that passed before this was known did not acquit
 * it. If its settings differ, it may be slow because of them, or in addition.
 */
static bool is_slow(const struct job_judge_item *item)
{
	const struct job_judge_host *host = item->host;
	const int class = item->suspect->class;

	if (item->incident == BLAME_SILICON)
		return true;
	return item->suspect->counts == BLAME_K_OF_N && !host->booted && host->is_low[class] &&
	       item->action != BLAME_EVICT && item->evidence < EVIDENCE_BAD &&
	       (item->incident == BLAME_QUIET || item->incident == BLAME_SET_UP);
}

/* Until when the suspicion of its windows holds. */
static uint64_t blamed_until(const struct policy *policy, const struct suspicion_found *suspect)
{
	return MAX(suspect->until_us + policy->jobs.fresh_us, suspect->kept_us);
}

static void judge_host(struct judging *j, const struct suspicion_found *suspect,
		       const struct job_judge_host *host)
{
	struct job_judge_item *item = &j->ret->items[j->ret->n];
	struct blame_input in = { .class = suspect->class,
				  .counts = suspect->counts,
				  .ladder = host->ladders[suspect->class],
				  .end = host->end,
				  .limit = limit_of(suspect, host),
				  .slow = j->in->slowdown >= BLAME_SLOW,
				  .identifiable = suspect->identifiable };
	struct blame_decision d;
	const char *why = NULL;

	*item = (struct job_judge_item){ .suspect = suspect, .host = host, .limit = in.limit };
	item->evidence = in.evidence = evidence_of(j, suspect, host, &item->check);
	d = blame_decide(&in);
	item->action = d.action;
	item->incident = d.incident;
	item->again = d.again;
	/* Findings on the host itself stand whatever became of the job's suspicion. */
	if (is_acquitted(j, host) && item->evidence != EVIDENCE_FATAL) {
		item->action = BLAME_WATCH;
		item->incident = BLAME_QUIET;
		item->again = false;
		item->acquitted = true;
		why = "its tests acquitted it for this job, and that still holds";
	} else {
		why = distrust(j, item);
		if (item->action == BLAME_PROBE) {
			const char *not = allow_probe(j, item);

			why = not ? not : why;
		}
	}
	if (is_accused(j, item))
		item->incident = BLAME_ACCUSED;
	if (item->incident == BLAME_CANNOT_TELL)
		item->tells = tells_of(item);
	item->slow = is_slow(item);
	item->effect = j->ret->mode == MODE_ENFORCE &&
		       (item->action == BLAME_PROBE || item->action == BLAME_EVICT);
	if (item->action == BLAME_EVICT && item->evidence == EVIDENCE_BAD)
		item->blame = (struct blame){ .class = suspect->class,
					      .check = (char *)(uintptr_t)item->check,
					      .since_us = suspect->from_us,
					      .until_us = blamed_until(j->policy, suspect),
					      .group = host->group };
	item->sentence = sentence_of(j, item, why ? why : d.reason);
	j->ret->n++;
}

/* ---- the job ------------------------------------------------------------------ */

static int by_name(const void *key, const void *item)
{
	return strcmp(key, ((const struct job_judge_host *)item)->name);
}

static const struct job_judge_host *find_host(const struct job_judge_input *in, const char *name)
{
	if (in->n_hosts == 0)
		return NULL;
	return bsearch(name, in->hosts, in->n_hosts, sizeof(*in->hosts), by_name);
}

static void judge_suspect(struct judging *j, const struct suspicion_found *suspect)
{
	size_t i;

	for (i = 0; i < suspect->n_hosts; i++) {
		const struct job_judge_host *host = find_host(j->in, suspect->hosts[i]);

		if (host && host->placed)
			judge_host(j, suspect, host);
		else
			j->ret->strangers++;
	}
}

static void count_tested(struct judging *j)
{
	size_t i;

	for (i = 0; i < j->in->n_hosts; i++) {
		const bool tested = is_tested(j, &j->in->hosts[i]);

		j->tested += tested && !j->in->hosts[i].awaits;
		j->begun |= tested;
	}
}

/* What the class of the newest window asks for when no host is considered. */
static struct blame_decision decide_job(const struct job_judge_input *in)
{
	const struct blame_input input = { .class = in->class,
					   .counts = BLAME_NO_WINDOW,
					   .evidence = EVIDENCE_NONE,
					   .slow = in->slowdown >= BLAME_SLOW,
					   .identifiable = true };

	return blame_decide(&input);
}

/* From the most severe host, the first of equals; notifying an owner ranks above watching. */
static void sum_up(struct judging *j)
{
	struct job_judge_result *ret = j->ret;
	const struct job_judge_item *hardest = ret->n > 0 ? &ret->items[0] : NULL;
	size_t i;

	for (i = 1; i < ret->n; i++) {
		if (ret->items[i].action > hardest->action)
			hardest = &ret->items[i];
	}
	ret->job = decide_job(j->in);
	if (hardest && (ret->job.action != BLAME_OWNER || hardest->action >= BLAME_OWNER)) {
		ret->action = hardest->action;
		ret->sentence = xstrdup(hardest->sentence);
		return;
	}
	ret->action = ret->job.action;
	ret->sentence = xasprintf("%s: %s", j->in->job, ret->job.reason);
}

void job_judge(const struct policy *policy, const struct job_judge_input *in, uint64_t now_us,
	       struct job_judge_result *ret)
{
	struct judging j = { .policy = policy, .in = in, .now_us = now_us, .ret = ret };
	size_t i, room = 0;

	*ret = (struct job_judge_result){ .mode = policy_jobs_mode(&policy->jobs, policy->mode) };
	for (i = 0; i < in->suspects->n; i++)
		room += in->suspects->items[i].n_hosts;
	if (room > 0)
		ret->items = xcalloc(room, sizeof(*ret->items));
	count_tested(&j);
	for (i = 0; i < in->suspects->n; i++)
		judge_suspect(&j, &in->suspects->items[i]);
	sum_up(&j);
}

uint64_t job_judge_keep(const struct policy *policy, const struct job_judge_result *result,
			const struct job_judge_item *item)
{
	const struct suspicion_found *suspect = item->suspect;
	const struct job_judge_host *host = item->host;
	const bool tested = (item->action == BLAME_PROBE && item->effect) || item->queued;
	uint64_t until_us = host->suspected_us + policy->jobs.busy_limit_us;

	if (result->mode != MODE_ENFORCE || !tested || item->limit != LIMIT_NONE ||
	    suspect->counts != BLAME_K_OF_N || !blame_of_host(suspect->class) ||
	    host->suspected_us == 0)
		return 0;
	if (host->heard_us)
		until_us = MIN(until_us, host->heard_us + policy->silent_after_us);
	if (host->idle && host->asked_us)
		until_us = MIN(until_us, host->asked_us + policy->retest_timeout_us +
						 policy->jobs.retest_spacing_us);
	return until_us;
}

bool job_judge_blame(const struct policy *policy, const char *job,
		     const struct job_judge_result *result, const struct job_judge_item *item,
		     uint64_t since_us, struct blame *ret)
{
	const struct suspicion_found *suspect = item->suspect;
	const bool told = result->mode == MODE_DRY_RUN;

	if (item->action == BLAME_EVICT && item->effect && item->blame.class != BLAME_NOTHING)
		*ret = item->blame;
	else if (item->action == BLAME_PROBE && (item->effect || told) && !item->waits &&
		 blame_tests_host(suspect->class))
		*ret = (struct blame){ .class = suspect->class,
				       .reach = told		  ? BLAME_TO_TELL
						: item->kept_free ? BLAME_TO_HOLD
								  : BLAME_TO_TEST,
				       .since_us = since_us ? since_us : suspect->from_us,
				       .answered_us = item->host->answered_us,
				       .rung = item->host->rungs[suspect->class].profile,
				       .climbs = item->host->rungs[suspect->class].climbs,
				       .again_us = item->host->rungs[suspect->class].again_us,
				       .until_us = blamed_until(policy, suspect),
				       .group = item->host->group };
	else
		return false;
	ret->job = (char *)(uintptr_t)job;
	return true;
}
