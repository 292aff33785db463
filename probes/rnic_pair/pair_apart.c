/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of one host that have nothing to do with each other. */
#include "probes/rnic_pair/pair.h"

/* Two that do not reach each other are one sick link; more are no matter of any one port. */
enum { SIDES_THAT_MAY_BE_SICK = 2 };

/* The ports of all jobs, and for each the first of those that it reaches, by any way. */
struct reach {
	const struct pair_side *sides[PAIR_PORTS_MAX];
	size_t network[PAIR_PORTS_MAX];
	bool somebody[PAIR_PORTS_MAX];
	size_t n;
	bool any;
};

static size_t place_of(struct reach *r, const struct pair_side *side)
{
	size_t i = 0;

	while (i < r->n && r->sides[i] != side)
		i++;
	if (i == r->n && r->n < PAIR_PORTS_MAX) {
		r->sides[i] = side;
		r->network[i] = i;
		r->n++;
	}
	return MIN(i, (size_t)PAIR_PORTS_MAX - 1);
}

static void join(struct reach *r, size_t a, size_t b)
{
	const size_t from = MAX(r->network[a], r->network[b]);
	const size_t to = MIN(r->network[a], r->network[b]);
	size_t i;

	for (i = 0; i < r->n; i++) {
		if (r->network[i] == from)
			r->network[i] = to;
	}
	r->somebody[a] = r->somebody[b] = r->any = true;
}

static void decide_apart(struct pair_verdict *v, const struct pair_job *job, bool any)
{
	if (!any)
		pair_decide(v, SAMPLE_SET_UP, TRI_UNKNOWN,
			    "no port of this host reaches another one, though all are up: if they "
			    "should, look at the routes between them; else name the pairs that do "
			    "(--cells)");
	else
		pair_decide(
			v, SAMPLE_SET_UP, TRI_UNKNOWN,
			"%s and %s reach other ports, but not each other: two networks; if they "
			"should be one, look at what joins them; else name the pairs that meet "
			"(--cells)",
			job->from->port->device, job->to->port->device);
}

void pair_tell_apart(struct pair_job *jobs, size_t n)
{
	struct reach r = { .n = 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		const size_t a = place_of(&r, jobs[i].from), b = place_of(&r, jobs[i].to);

		if (jobs[i].verdict.reached)
			join(&r, a, b);
	}
	for (i = 0; i < n; i++) {
		const size_t a = place_of(&r, jobs[i].from), b = place_of(&r, jobs[i].to);
		struct pair_verdict *v = &jobs[i].verdict;

		if (v->no_path && !v->reached && r.network[a] != r.network[b] &&
		    (r.any ? r.somebody[a] && r.somebody[b] : r.n > SIDES_THAT_MAY_BE_SICK))
			decide_apart(v, &jobs[i], r.any);
	}
}
