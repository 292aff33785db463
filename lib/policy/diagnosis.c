/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/diagnosis.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

enum { NAMES_TOLD = 3 }; /* in a sentence */

/* --- hosts by themselves --- */

static bool waits(const struct diagnosis_host *host)
{
	return host->test == DIAGNOSIS_NOT_ASKED || host->test == DIAGNOSIS_ASKED;
}

/* It draws power now, or is about to. */
static bool draws(const struct diagnosis_host *host, uint64_t now_us)
{
	return host->test == DIAGNOSIS_ASKED &&
	       (host->under_way || now_us < host->asked_us + JOB_JUDGE_GRACE_US);
}

/* True if it is one of our hosts that were asked. */
static bool is_asked(const struct diagnosis_input *in, const char *name)
{
	size_t i;

	for (i = 0; i < in->n; i++) {
		if (in->hosts[i].test == DIAGNOSIS_ASKED && streq(in->hosts[i].name, name))
			return true;
	}
	return false;
}

struct use {
	uint64_t all, domain, last_us; /* `last_us`: start of the last one in the domain */
};

static void count_load(struct use *use, bool same, uint64_t since_us)
{
	use->all++;
	use->domain += same;
	if (same)
		use->last_us = MAX(use->last_us, since_us);
}

/* What is being tested, or will be after this step, as far as it limits the host `place`. */
static struct use use_of(const struct diagnosis_input *in, const struct diagnosis_step *step,
			 size_t place, uint64_t now_us)
{
	const char *domain = in->hosts[place].domain;
	struct use use = { 0 };
	size_t i;

	for (i = 0; i < in->n_loads; i++) {
		const struct job_judge_load *load = &in->loads[i];

		if (!is_asked(in, load->host) &&
		    (load->under_way || now_us < load->since_us + JOB_JUDGE_GRACE_US))
			count_load(&use, domain && streq(load->domain, domain), load->since_us);
	}
	for (i = 0; i < in->n; i++) {
		const struct diagnosis_host *host = &in->hosts[i];
		const bool same = domain && streq(host->domain, domain);

		if (step->ask[i])
			count_load(&use, same, now_us);
		else if (draws(host, now_us))
			count_load(&use, same, host->asked_us);
	}
	return use;
}

static bool may_ask(const struct diagnosis_input *in, const struct diagnosis_step *step,
		    size_t place, uint64_t now_us)
{
	const struct diagnosis_host *host = &in->hosts[place];
	struct use use;

	if (host->test != DIAGNOSIS_NOT_ASKED || !host->idle)
		return false;
	use = use_of(in, step, place, now_us);
	return use.all < in->at_once &&
	       (!host->domain || (use.domain < in->per_domain &&
				  (use.last_us == 0 || now_us >= use.last_us + JOB_JUDGE_APART_US)));
}

/* --- results --- */

static int verdict_of(const struct diagnosis_input *in, const struct diagnosis_host *host)
{
	if (host->test == DIAGNOSIS_FAILED)
		return DIAGNOSIS_EXCLUDED;
	if (host->test != DIAGNOSIS_PASSED || in->groups != DIAGNOSIS_GROUPS_DONE)
		return DIAGNOSIS_UNKNOWN;
	if (host->side == DIAGNOSIS_SIDE_BAD)
		return DIAGNOSIS_EXCLUDED;
	return host->side == DIAGNOSIS_SIDE_GOOD ? DIAGNOSIS_ACQUITTED : DIAGNOSIS_UNKNOWN;
}

static void conclude(const struct diagnosis_input *in, struct diagnosis_step *ret)
{
	size_t i;

	ret->phase = DIAGNOSIS_CONCLUDED;
	for (i = 0; i < in->n; i++) {
		ret->verdicts[i] = verdict_of(in, &in->hosts[i]);
		ret->excluded += ret->verdicts[i] == DIAGNOSIS_EXCLUDED;
		ret->acquitted += ret->verdicts[i] == DIAGNOSIS_ACQUITTED;
		ret->unknown += ret->verdicts[i] == DIAGNOSIS_UNKNOWN;
	}
	ret->exact = ret->unknown == 0;
}

void diagnosis_next(const struct diagnosis_input *in, uint64_t now_us, struct diagnosis_step *ret)
{
	size_t waiting = 0, passed = 0, i;

	*ret = (struct diagnosis_step){ .phase = DIAGNOSIS_HOSTS };
	for (i = 0; i < in->n; i++) {
		waiting += waits(&in->hosts[i]);
		passed += in->hosts[i].test == DIAGNOSIS_PASSED;
	}
	if (waiting > 0 && !in->over) {
		for (i = 0; i < in->n; i++)
			ret->ask[i] = may_ask(in, ret, i, now_us);
		return;
	}
	if (passed > 0 && in->groups < DIAGNOSIS_GROUPS_DONE) {
		ret->phase = DIAGNOSIS_GROUPS;
		for (i = 0; i < in->n && in->groups == DIAGNOSIS_GROUPS_NOT_RUN; i++)
			ret->ask[i] = in->hosts[i].test == DIAGNOSIS_PASSED;
		return;
	}
	conclude(in, ret);
}

size_t diagnosis_rounds(size_t n)
{
	size_t rounds = 2;

	while (n > 1) {
		n = (n + 1) / 2;
		rounds++;
	}
	return rounds;
}

/* --- words --- */

/* Chooses hosts. */
typedef bool chosen_fn(const struct diagnosis_input *in, const struct diagnosis_step *step,
		       size_t place);

static bool is_excluded(const struct diagnosis_input *in UNUSED, const struct diagnosis_step *step,
			size_t place)
{
	return step->verdicts[place] == DIAGNOSIS_EXCLUDED;
}

static bool has_no_test(const struct diagnosis_input *in, const struct diagnosis_step *step UNUSED,
			size_t place)
{
	return in->hosts[place].test != DIAGNOSIS_PASSED &&
	       in->hosts[place].test != DIAGNOSIS_FAILED;
}

static bool has_no_side(const struct diagnosis_input *in, const struct diagnosis_step *step,
			size_t place)
{
	return in->hosts[place].test == DIAGNOSIS_PASSED &&
	       step->verdicts[place] == DIAGNOSIS_UNKNOWN;
}

/* "gpu-08, gpu-09 and 3 more"; NULL: none. New memory. */
static char *names_of(const struct diagnosis_input *in, const struct diagnosis_step *step,
		      chosen_fn *chosen)
{
	char *words = NULL;
	size_t n = 0, i;

	for (i = 0; i < in->n; i++) {
		CLEANUP(freep) char *before = NULL;

		if (!chosen(in, step, i) || ++n > NAMES_TOLD)
			continue;
		before = words;
		words = xasprintf("%s%s%s", before ? before : "", before ? ", " : "",
				  in->hosts[i].name);
	}
	if (n > NAMES_TOLD) {
		CLEANUP(freep) char *before = words;

		words = xasprintf("%s and %zu more", before, n - NAMES_TOLD);
	}
	return words;
}

/* What would be needed, a clause; NULL: nothing is missing. New memory. */
static char *missing_of(const struct diagnosis_input *in, const struct diagnosis_step *step)
{
	CLEANUP(freep) char *tests = names_of(in, step, has_no_test);
	CLEANUP(freep) char *sides = names_of(in, step, has_no_side);
	CLEANUP(freep) char *one = NULL;
	CLEANUP(freep) char *other = NULL;

	if (tests)
		one = xasprintf("a full test of %s, which gave no result", tests);
	if (sides)
		other = xasprintf("what is between %s and others (%s): assayctl campaign start "
				  "--plan bisect --nodes ...",
				  sides, in->unsure ? in->unsure : "it was not measured");
	if (one && other)
		return xasprintf("%s; %s", one, other);
	return one ? TAKE(one) : TAKE(other);
}

char *diagnosis_words(const struct diagnosis_input *in, const struct diagnosis_step *step)
{
	CLEANUP(freep) char *excluded = names_of(in, step, is_excluded);
	CLEANUP(freep) char *missing = missing_of(in, step);
	CLEANUP(freep)
	char *tells = missing ? xasprintf("; what would tell: %s", missing) : xstrdup("");

	if (excluded && step->exact)
		return xasprintf("exclude %s; acquitted %zu", excluded, step->acquitted);
	if (excluded)
		return xasprintf("exclude %s; cannot tell for %zu%s%s", excluded, step->unknown,
				 step->unknown == 1 ? " host" : " hosts", tells);
	if (step->exact)
		return xasprintf("acquitted: %zu host%s clean under load", step->acquitted,
				 step->acquitted == 1 ? "" : "s");
	return xasprintf("cannot tell%s", tells);
}
