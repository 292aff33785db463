/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/policy/decide_inside.h"

const char *const refused_by_names[] = {
	[REFUSED_BY_NONE] = "",
	[REFUSED_BY_BREAKER] = "breaker",
	[REFUSED_BY_UNMANAGED] = "managed",
	[REFUSED_BY_OTHER] = "other-cordon",
	[REFUSED_BY_SILENCE] = "silence",
	[REFUSED_BY_OVERRIDE] = "override",
	[REFUSED_BY_TOTAL] = "budget.total",
	[REFUSED_BY_DOMAIN] = "budget.domain",
	[REFUSED_BY_JOB] = "budget.per_job",
	[REFUSED_BY_RATE] = "budget.rate",
	[REFUSED_BY_PERSON] = "person",
	[REFUSED_BY_HANDS_OFF] = "hands-off",
	[REFUSED_BY_STALE] = "stale",
	[REFUSED_BY_SIBLING] = "drain.job",
	[REFUSED_BY_SPARES] = "drain.spares",
	[REFUSED_BY_MANUAL] = "budget.rate.manual",
	[REFUSED_BY_BORN] = "jobs.born",
	NULL,
};

typedef unsigned long long ull; /* for printf alone */

static void room_for(unsigned **counts, size_t *room, size_t n)
{
	if (n > *room) {
		*counts = xrealloc(*counts, n, sizeof(**counts));
		*room = n;
	}
	if (n > 0)
		memset(*counts, 0, n * sizeof(**counts));
}

static uint64_t total_max(const struct policy *p, uint64_t nodes)
{
	uint64_t by_percent = (uint64_t)(p->total_percent * (double)nodes / 100);

	if (p->total_percent > 0)
		by_percent = MAX(by_percent, (uint64_t)1);
	return p->total_nodes > 0 ? MIN(by_percent, p->total_nodes) : by_percent;
}

static void add(struct budget *b, const struct fleet_node *node)
{
	size_t i;

	b->out++;
	if (node->domain != NAME_NONE)
		b->domains[node->domain]++;
	for (i = 0; i < node->n_jobs; i++)
		b->jobs[node->jobs[i]]++;
}

static bool counts_as_born(const struct budget *b, const struct fleet_node *node)
{
	return node->record.born_us > 0 &&
	       b->now_us < node->record.born_us + b->policy->jobs.born_per_us;
}

void budget_count(struct budget *b, const struct policy *policy, const struct fleet *fleet,
		  const struct breaker *breaker, uint64_t now_us)
{
	size_t i;

	b->policy = policy;
	b->fleet = fleet;
	b->breaker = breaker;
	b->now_us = now_us;
	b->out = b->nodes = 0;
	room_for(&b->domains, &b->room_domains, fleet->domains.n);
	room_for(&b->jobs, &b->room_jobs, fleet->jobs.n);
	room_for(&b->hosts, &b->room_hosts, fleet->skus.n);
	room_for(&b->born, &b->room_born, fleet->skus.n);
	for (i = 0; i < fleet->n; i++) {
		const struct fleet_node *node = fleet->nodes[i];

		if (node->outside)
			continue;
		b->nodes++;
		if (node->out)
			add(b, node);
		if (node->sku == NAME_NONE)
			continue;
		b->hosts[node->sku]++;
		b->born[node->sku] += counts_as_born(b, node);
	}
	b->total_max = total_max(policy, b->nodes);
	b->cordons = breaker_cordons(breaker, now_us, policy->rate_per_us);
	b->rate_max = MIN(policy->rate_cordons, (uint64_t)BREAKER_STAMPS_MAX);
}

static bool refuse(struct refusal *ret, int by)
{
	*ret = (struct refusal){ .by = by };
	return false;
}

static bool total_allows(const struct budget *b, struct refusal *ret)
{
	if (b->out < b->total_max)
		return true;
	refuse(ret, REFUSED_BY_TOTAL);
	(void)snprintf(
		ret->sentence, sizeof(ret->sentence),
		"budget.total: %llu of %llu nodes are out of service, and at most %llu may be",
		(ull)b->out, (ull)b->nodes, (ull)b->total_max);
	(void)snprintf(ret->allow, sizeof(ret->allow),
		       "%llu node%s back in service, or a larger budget.total",
		       (ull)(b->out - b->total_max + 1), b->out == b->total_max ? "" : "s");
	return false;
}

static bool domain_allows(const struct budget *b, const struct fleet_node *node, struct refusal *ret)
{
	const struct policy *p = b->policy;
	unsigned out;

	if (!p->domain_label || node->domain == NAME_NONE)
		return true;
	out = b->domains[node->domain];
	if (out < p->domain_max)
		return true;
	refuse(ret, REFUSED_BY_DOMAIN);
	(void)snprintf(ret->sentence, sizeof(ret->sentence),
		       "budget.domain: %u node%s of %.60s %.60s %s out of service, and at most "
		       "%llu may be",
		       out, out == 1 ? "" : "s", p->domain_label,
		       names_text(&b->fleet->domains, node->domain), out == 1 ? "is" : "are",
		       (ull)p->domain_max);
	(void)snprintf(ret->allow, sizeof(ret->allow),
		       "%llu node%s of %.60s back in service, or a larger budget.domain",
		       (ull)(out - p->domain_max + 1), out == p->domain_max ? "" : "s",
		       names_text(&b->fleet->domains, node->domain));
	return false;
}

static bool job_allows(const struct budget *b, const struct fleet_node *node, struct refusal *ret)
{
	size_t i;

	for (i = 0; i < node->n_jobs; i++) {
		unsigned out = b->jobs[node->jobs[i]];
		const char *job = names_text(&b->fleet->jobs, node->jobs[i]);

		if (out < b->policy->per_job)
			continue;
		refuse(ret, REFUSED_BY_JOB);
		(void)snprintf(ret->sentence, sizeof(ret->sentence),
			       "budget.per_job: %u node%s of job %.60s %s out of service, and at "
			       "most %llu may be",
			       out, out == 1 ? "" : "s", job, out == 1 ? "is" : "are",
			       (ull)b->policy->per_job);
		(void)snprintf(ret->allow, sizeof(ret->allow),
			       "the end of job %.60s, or a larger budget.per_job", job);
		return false;
	}
	return true;
}

static bool rate_allows(const struct budget *b, struct refusal *ret)
{
	char per[CLOCK_DURATION_SIZE], stamp[CLOCK_STAMP_SIZE];

	if (b->cordons < b->rate_max)
		return true;
	refuse(ret, REFUSED_BY_RATE);
	duration_format(b->policy->rate_per_us, per);
	(void)snprintf(
		ret->sentence, sizeof(ret->sentence),
		"budget.rate: %llu automatic cordon%s in the last %s, and at most %llu may be",
		(ull)b->cordons, b->cordons == 1 ? "" : "s", per, (ull)b->rate_max);
	if (b->rate_max == 0) {
		(void)snprintf(ret->allow, sizeof(ret->allow), "a budget.rate above 0");
		return false;
	}
	ret->again_us = breaker_free_at(b->breaker, b->rate_max, b->now_us, b->policy->rate_per_us);
	clock_stamp(ret->again_us, stamp);
	(void)snprintf(ret->allow, sizeof(ret->allow), "waiting until %s, or a larger budget.rate",
		       stamp);
	return false;
}

bool budget_allows(const struct budget *b, const struct fleet_node *node, bool cordon,
		   struct refusal *ret)
{
	if (!node->out &&
	    (!total_allows(b, ret) || !domain_allows(b, node, ret) || !job_allows(b, node, ret)))
		return false;
	return !cordon || rate_allows(b, ret);
}

/* ---- parts that were always slow ----------------------------------------------- */

static bool refuse_born(struct refusal *ret, const char *allow)
{
	ret->by = REFUSED_BY_BORN;
	(void)snprintf(ret->allow, sizeof(ret->allow), "%s", allow);
	return false;
}

/* The ratio of value to expected, less than 1 on the bad side; NAN: unknown. */
static bool is_slow_enough(const struct budget *b, const struct finding *finding,
			   struct refusal *ret)
{
	const double part = fmin(finding->score, 1 / finding->score);

	*ret = (struct refusal){ 0 };
	if (part < b->policy->jobs.born_below)
		return true;
	(void)snprintf(ret->sentence, sizeof(ret->sentence),
		       "jobs.born: %.60s of %.60s has always been this slow, at %.2f of what is "
		       "expected: reported, but cordoned for a job only below %.2f",
		       finding->check, finding->subject, part, b->policy->jobs.born_below);
	return refuse_born(ret, "a larger jobs.born.below, or assayctl cordon NODE");
}

/* When the first of those of the SKU stops counting. */
static uint64_t born_free_at(const struct budget *b, int sku)
{
	uint64_t first_us = UINT64_MAX;
	size_t i;

	for (i = 0; i < b->fleet->n; i++) {
		const struct fleet_node *node = b->fleet->nodes[i];

		if (!node->outside && node->sku == sku && counts_as_born(b, node))
			first_us = MIN(first_us, node->record.born_us);
	}
	return first_us == UINT64_MAX ? 0 : first_us + b->policy->jobs.born_per_us;
}

static bool has_born_place(const struct budget *b, const struct fleet_node *node,
			   struct refusal *ret)
{
	const struct policy_jobs *jobs = &b->policy->jobs;
	const bool known = node->sku != NAME_NONE;
	const uint64_t hosts = known ? b->hosts[node->sku] : 0,
		       born = known ? b->born[node->sku] : 0,
		       most = (uint64_t)((double)hosts * jobs->born_percent / 100);
	char per[CLOCK_DURATION_SIZE];

	if (born < most)
		return true;
	duration_format(jobs->born_per_us, per);
	(void)snprintf(ret->sentence, sizeof(ret->sentence),
		       "jobs.born: of %llu host%s of %.60s, %llu %s cordoned in the last %s for a "
		       "part that has always been slow, and at most %llu may be (%g %%, rounded "
		       "down): reported only",
		       (ull)hosts, hosts == 1 ? "" : "s",
		       known ? names_text(&b->fleet->skus, node->sku) : "an unknown SKU", (ull)born,
		       born == 1 ? "was" : "were", per, (ull)most, jobs->born_percent);
	ret->again_us = most > 0 ? born_free_at(b, node->sku) : 0;
	return refuse_born(ret, "a larger jobs.born.percent, or assayctl cordon NODE");
}

bool budget_born_allows(const struct budget *b, const struct fleet_node *node,
			const struct finding *finding, struct refusal *ret)
{
	char stamp[CLOCK_STAMP_SIZE];

	if (!is_slow_enough(b, finding, ret))
		return false;
	if (!counts_as_born(b, node))
		return has_born_place(b, node, ret);
	clock_stamp(node->record.born_us, stamp);
	(void)snprintf(ret->sentence, sizeof(ret->sentence),
		       "jobs.born: %.200s was cordoned for it at %s and has since returned to "
		       "service: reported only",
		       node->name, stamp);
	ret->again_us = node->record.born_us + b->policy->jobs.born_per_us;
	return refuse_born(ret, "a shorter jobs.born.per, or assayctl cordon NODE");
}

void budget_take_born(struct budget *b, const struct fleet_node *node)
{
	if (node->sku != NAME_NONE)
		b->born[node->sku]++;
}

void budget_take(struct budget *b, const struct fleet_node *node, bool cordon)
{
	if (!node->out)
		add(b, node);
	b->cordons += cordon;
}

bool budget_holds(const struct budget *b, const struct fleet_node *node)
{
	const struct policy *p = b->policy;
	size_t i;

	if (b->out > b->total_max || (p->domain_label && node->domain != NAME_NONE &&
				      b->domains[node->domain] > p->domain_max))
		return false;
	for (i = 0; i < node->n_jobs; i++) {
		if (b->jobs[node->jobs[i]] > p->per_job)
			return false;
	}
	return true;
}

void budget_release(struct budget *b)
{
	free(b->domains);
	free(b->jobs);
	free(b->hosts);
	free(b->born);
	*b = (struct budget){ 0 };
}

bool breaker_allows(const struct breaker *breaker, struct refusal *ret)
{
	if (!breaker->open)
		return true;
	refuse(ret, REFUSED_BY_BREAKER);
	(void)snprintf(ret->sentence, sizeof(ret->sentence), "breaker: %s", breaker->sentence);
	(void)snprintf(ret->allow, sizeof(ret->allow),
		       "assayctl breaker reset --reason REASON, once the cause is gone");
	return false;
}

bool hands_allow(const struct fleet_node *node, struct refusal *ret)
{
	if (!node->hands_off)
		return true;
	refuse(ret, REFUSED_BY_HANDS_OFF);
	(void)snprintf(ret->sentence, sizeof(ret->sentence),
		       "hands-off: Assay does not touch %.150s: %.150s", node->name,
		       node->hands_off);
	(void)snprintf(ret->allow, sizeof(ret->allow),
		       "the end of that, after which it is decided again");
	return false;
}

bool node_allows(const struct fleet_node *node, struct refusal *ret)
{
	if (!node->managed) {
		refuse(ret, REFUSED_BY_UNMANAGED);
		(void)snprintf(ret->sentence, sizeof(ret->sentence),
			       "managed: %.200s opted out by its label", node->name);
		(void)snprintf(ret->allow, sizeof(ret->allow), "removing the label managed=false");
		return false;
	}
	if (!hands_allow(node, ret))
		return false;
	if (node->out & OUT_OTHERS && !(node->out & OUT_OURS)) {
		refuse(ret, REFUSED_BY_OTHER);
		(void)snprintf(ret->sentence, sizeof(ret->sentence),
			       "other-cordon: %.200s is already cordoned by someone else",
			       node->name);
		(void)snprintf(ret->allow, sizeof(ret->allow),
			       "the end of that cordon, after which it is decided again");
		return false;
	}
	return true;
}

bool facts_allow(const struct fleet *fleet, struct refusal *ret)
{
	if (!fleet->stale)
		return true;
	refuse(ret, REFUSED_BY_STALE);
	(void)snprintf(ret->sentence, sizeof(ret->sentence), "stale: %.300s", fleet->stale);
	(void)snprintf(ret->allow, sizeof(ret->allow),
		       "knowing the cluster's nodes again, after which it is decided again");
	return false;
}

bool budget_cordon_allowed(const struct policy *policy, const struct fleet *fleet,
			   const struct breaker *breaker, const struct fleet_node *node,
			   uint64_t now_us, struct refusal *ret)
{
	CLEANUP(budget_release) struct budget b = { 0 };

	if (!node_allows(node, ret) || !facts_allow(fleet, ret) || !breaker_allows(breaker, ret))
		return false;
	budget_count(&b, policy, fleet, breaker, now_us);
	return budget_allows(&b, node, false, ret);
}
