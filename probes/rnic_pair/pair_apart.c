/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_apart.h"

#include <stdio.h>

/*
 * Two ports that do not reach each other may have a bad link; with more, no one port is at fault.
 */
enum { SIDES_THAT_MAY_BE_SICK = 2 };

/* Ports of a network that are named in a message. */
enum { NAMED_MAX = 2, MEMBERS_SIZE = NAMED_MAX * (RDMA_NAME_SIZE + 16) + 32 };

/*
 * The ports of all jobs, and for each the first port of its network, that is, of those that it
 * reaches directly or through others.
 */
struct reach {
	const struct pair_side *sides[PAIR_PORTS_MAX];
	size_t network[PAIR_PORTS_MAX];
	bool somebody[PAIR_PORTS_MAX];
	size_t n;
	bool any;
};

static size_t find(const struct reach *r, const struct pair_side *side)
{
	size_t i = 0;

	while (i < r->n && r->sides[i] != side)
		i++;
	return MIN(i, (size_t)PAIR_PORTS_MAX - 1);
}

static size_t place_of(struct reach *r, const struct pair_side *side)
{
	const size_t i = find(r, side);

	if (i == r->n && r->n < PAIR_PORTS_MAX) {
		r->sides[i] = side;
		r->network[i] = i;
		r->n++;
	}
	return i;
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

/* "mlx5_0, mlx5_1 and 6 more": the ports of a network. */
static void name_members(const struct reach *r, size_t network, char ret[static MEMBERS_SIZE])
{
	size_t used = 0, n = 0, i;

	ret[0] = '\0';
	for (i = 0; i < r->n; i++) {
		if (r->network[i] != network || n++ >= NAMED_MAX)
			continue;
		used += (size_t)snprintf(ret + used, MEMBERS_SIZE - used, "%s%s:%u",
					 n > 1 ? ", " : "", r->sides[i]->port->device,
					 r->sides[i]->port->number);
	}
	if (n > NAMED_MAX)
		(void)snprintf(ret + used, MEMBERS_SIZE - used, " and %zu more", n - NAMED_MAX);
}

/* A port that never reached another in any run is a separate network, as far as we know. */
static bool is_stranger(const struct reach *r, size_t i)
{
	return !r->somebody[i] && !r->sides[i]->met_before;
}

/* Can the port count as part of a separate network, rather than as one end of a bad link? */
static bool is_network(const struct reach *r, size_t i)
{
	return r->somebody[i] || is_stranger(r, i);
}

static void decide_stranger(const struct reach *r, struct pair_job *job, size_t pairs)
{
	const bool from = is_stranger(r, find(r, job->from));
	const struct rdma_port *lone = from ? job->from->port : job->to->port;

	pair_decide(&job->verdict, SAMPLE_SET_UP, TRI_UNKNOWN,
		    "%s:%u never reached another port of this host, in this run or an earlier one: "
		    "treated as a separate network (%zu pairs are not measured). If jobs use it, "
		    "check its cable, VLAN and routes; otherwise exclude it (devices in "
		    "rdma.yaml, or --devices ^%s)",
		    lone->device, lone->number, pairs, lone->device);
}

static void decide_apart(const struct reach *r, struct pair_job *job, size_t pairs)
{
	char from[MEMBERS_SIZE], to[MEMBERS_SIZE];
	struct pair_verdict *v = &job->verdict;

	name_members(r, r->network[find(r, job->from)], from);
	name_members(r, r->network[find(r, job->to)], to);
	if (r->any && (is_stranger(r, find(r, job->from)) || is_stranger(r, find(r, job->to))))
		decide_stranger(r, job, pairs);
	else if (!r->any)
		pair_decide(v, SAMPLE_SET_UP, TRI_UNKNOWN,
			    "no port of this host reaches another one, though all %zu are up: if "
			    "they should, check the routes between them; otherwise name the "
			    "pairs that do (--cells)",
			    r->n);
	else
		pair_decide(
			v, SAMPLE_SET_UP, TRI_UNKNOWN,
			"nothing gets from %s to %s, or back, though each reaches others: two "
			"networks, with %zu pairs not measured; if they should be one, check what "
			"connects them; otherwise name the pairs that reach each other (--cells)",
			from, to, pairs);
}

/* Is the job between networks `a` and `b`? If no port reaches any other, every job counts. */
static bool is_between(const struct reach *r, const struct pair_job *job, size_t a, size_t b)
{
	const size_t from = r->network[find(r, job->from)], to = r->network[find(r, job->to)];

	return !r->any || (from == a && to == b) || (from == b && to == a);
}

/* The first pair of two networks reports for all of them. */
static void tell_once(const struct reach *r, struct pair_job *jobs, size_t n, size_t first)
{
	const size_t a = r->network[find(r, jobs[first].from)];
	const size_t b = r->network[find(r, jobs[first].to)];
	size_t pairs = 0, i;

	for (i = first; i < n; i++) {
		if (!jobs[i].verdict.apart || !is_between(r, &jobs[i], a, b))
			continue;
		jobs[i].verdict.untold = i > first;
		pairs++;
	}
	decide_apart(r, &jobs[first], pairs);
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
		const size_t a = find(&r, jobs[i].from), b = find(&r, jobs[i].to);
		struct pair_verdict *v = &jobs[i].verdict;

		v->apart = v->no_path && !v->reached && r.network[a] != r.network[b] &&
			   (r.any ? is_network(&r, a) && is_network(&r, b)
				  : r.n > SIDES_THAT_MAY_BE_SICK ||
					    (is_stranger(&r, a) && is_stranger(&r, b)));
	}
	for (i = 0; i < n; i++) {
		if (jobs[i].verdict.apart && !jobs[i].verdict.untold)
			tell_once(&r, jobs, n, i);
	}
}

bool pair_is_subnet_a_rail(const struct pair_job *jobs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct pair_side *a = jobs[i].from, *b = jobs[i].to;

		if (!jobs[i].verdict.apart || a->met_before || b->met_before || !a->mask ||
		    !b->mask || (a->network & b->mask) == (b->network & a->mask))
			return false;
	}
	return n > 0;
}

size_t pair_leave_apart(struct pair_job *jobs, size_t n)
{
	size_t stay = 0, i;

	for (i = 0; i < n; i++) {
		if (!jobs[i].verdict.apart)
			jobs[stay++] = jobs[i];
	}
	return stay;
}
