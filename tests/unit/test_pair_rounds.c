/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs are measured in parallel, on hosts of every kind. */
#include "probes/rnic_pair/pair_rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/circle.h"
#include "lib/base/xalloc.h"
#include "lib/sys/pci_address.h"
#include "probes/harness/probe.h"
#include "tests/unit/mesh_host.h"
#include "tests/unit/test.h"

enum { HOSTS = 200, HOSTS_FULL = 2000, SOCKETS_MAX = 4 };

struct bench {
	struct mesh_host host;
	struct pair_options options;
	struct probe probe;
	struct pair_plan plan;
};

static void add_sides(struct bench *b)
{
	struct pair_plan *p = &b->plan;
	size_t i;

	p->n_sides = MIN(b->host.n_rnics, (size_t)PAIR_PORTS_MAX);
	for (i = 0; i < p->n_sides; i++) {
		const char *device = b->host.rnics[i] + strlen("rnic:");
		struct rdma_port *port = &p->ports[i];
		const bool second = i > 0 && streq(b->host.rnics[i], b->host.rnics[i - 1]);

		*port = (struct rdma_port){ .number = 1 + second,
					    .active = true,
					    .bytes_per_s = b->host.rates[i] };
		(void)snprintf(port->device, sizeof(port->device), "%s", device);
		(void)snprintf(port->pci, sizeof(port->pci), "0000:%02zx:00.0", i - second);
		p->sides[i] = (struct pair_side){ .options = &b->options, .port = port };
	}
}

/* All ordered pairs in the order of the plan: each round there, then back. */
static void add_jobs(struct bench *b)
{
	struct pair_plan *p = &b->plan;
	struct match m[PAIR_PORTS_MAX / 2];
	size_t round, i;

	p->jobs = xcalloc(p->n_sides * p->n_sides + 1, sizeof(*p->jobs));
	for (round = 0; round < 2 * circle_rounds(p->n_sides); round++) {
		const size_t n = circle_round(p->n_sides, round / 2, m);

		for (i = 0; i < n; i++)
			p->jobs[p->n_jobs++] = (struct pair_job){
				.from = &p->sides[round % 2 ? m[i].b : m[i].a],
				.to = &p->sides[round % 2 ? m[i].a : m[i].b],
			};
	}
}

static void bench_open(struct bench *b, uint64_t seed)
{
	struct random chance = random_seeded(seed);

	*b = (struct bench){ .options = { .bidirectional = false } };
	if (seed == 0)
		mesh_host_standard(&b->host);
	else
		mesh_host_random(&chance, &b->host);
	b->probe.options = &b->options;
	b->plan.probe = &b->probe;
	b->plan.topology = b->host.topology;
	b->plan.has_topology = true;
	add_sides(b);
	add_jobs(b);
}

static void bench_close(struct bench *b)
{
	free(b->plan.jobs);
	mesh_host_release(&b->host);
}

/* The memory next to each: of the root port that it is below. */
static void put_near(struct bench *b)
{
	struct pair_plan *p = &b->plan;
	size_t i;
	int node;

	for (i = 0; i < p->n_sides; i++) {
		for (node = 0; node < SOCKETS_MAX; node++) {
			CLEANUP(freep) char *numa = xasprintf("numa:%d", node);
			enum locality locality;

			if (topology_class(&p->topology, b->host.rnics[i], numa, &locality) == 0 &&
			    locality == LOCALITY_NODE)
				p->sides[i].node = node;
		}
	}
}

static bool is_of(const struct pair_job *job, const struct pair_side *side)
{
	return pci_same_card(job->from->port->pci, side->port->pci) ||
	       pci_same_card(job->to->port->pci, side->port->pci);
}

/* What the jobs of a group want of a link, out of memory (or into it), at most its capacity. */
static bool is_too_much(const struct pair_plan *p, size_t group, bool out, size_t *ret_met)
{
	CLEANUP(freep) double *load = xcalloc(p->topology.n_links + 1, sizeof(double));
	CLEANUP(freep) size_t *users = xcalloc(p->topology.n_links + 1, sizeof(size_t));
	bool too_much = false;
	size_t i, k;

	for (i = 0; i < p->n_jobs; i++) {
		const struct pair_side *s = out ? p->jobs[i].from : p->jobs[i].to;
		CLEANUP(freep) char *rnic = xasprintf("rnic:%s", s->port->device);
		CLEANUP(freep) char *numa = xasprintf("numa:%d", s->node);
		CLEANUP(strv_freep) char **path = NULL;

		if (p->jobs[i].group != group || topology_path(&p->topology, rnic, numa, &path) < 0)
			continue;
		for (k = 0; path[k]; k++) {
			const struct topo_link *l = topology_find_link(&p->topology, path[k]);
			const size_t n = (size_t)(l - p->topology.links);
			const double capacity = mesh_capacity(&p->topology, l);

			load[n] += s->port->bytes_per_s > 0 ? s->port->bytes_per_s : INFINITY;
			users[n]++;
			*ret_met += users[n] > 1;
			if (users[n] > 1 && capacity > 0 && load[n] > capacity && !streq(l->a, l->b))
				too_much = true;
		}
	}
	return too_much;
}

/* Each pair once, in the order of its groups; none of a group in the way of another. */
static void check_rounds(const struct pair_plan *p, size_t *ret_met)
{
	bool seen[PAIR_PORTS_MAX][PAIR_PORTS_MAX] = { { false } };
	size_t i, k, group;

	for (i = 0; i < p->n_jobs; i++) {
		const struct pair_job *job = &p->jobs[i];

		CHECK(!seen[job->from - p->sides][job->to - p->sides]);
		seen[job->from - p->sides][job->to - p->sides] = true;
		CHECK(i == 0 || p->jobs[i - 1].group <= job->group);
		for (k = 0; k < i; k++)
			CHECK(p->jobs[k].group != job->group ||
			      !(is_of(job, p->jobs[k].from) || is_of(job, p->jobs[k].to)));
	}
	for (group = 0; p->n_jobs > 0 && group <= p->jobs[p->n_jobs - 1].group; group++) {
		CHECK(!is_too_much(p, group, true, ret_met));
		CHECK(!is_too_much(p, group, false, ret_met));
	}
}

static void nothing_that_is_measured_at_once_shares_a_slot_or_a_full_link(void)
{
	size_t n = test_times(HOSTS_FULL, HOSTS), seed, met = 0;

	for (seed = 1; seed <= n; seed++) {
		static struct bench b;

		bench_open(&b, seed);
		put_near(&b);
		pair_rounds(&b.plan);
		check_rounds(&b.plan, &met);
		bench_close(&b);
	}
	/* Links that are wide enough are shared. */
	CHECK(met > 0);
}

static size_t groups_of(const struct pair_plan *p)
{
	return p->n_jobs ? p->jobs[p->n_jobs - 1].group + 1 : 0;
}

/* Two RNICs of 400 Gb/s below one uplink of x16: it is one of them that reads at a time. */
static void rnics_below_one_switch_do_not_read_together(void)
{
	static struct bench b;
	size_t met = 0, i;

	bench_open(&b, 0);
	put_near(&b);
	pair_rounds(&b.plan);
	check_rounds(&b.plan, &met);
	CHECK_EQ(b.plan.n_jobs, 56);
	printf("  8 RNICs below 4 switches: %zu groups\n", groups_of(&b.plan));
	/* Four at once at best, and by the least of chance not in all. */
	CHECK(groups_of(&b.plan) >= 14 && groups_of(&b.plan) <= 20);
	bench_close(&b);

	/* At 200 Gb/s there is room for both. */
	bench_open(&b, 0);
	put_near(&b);
	for (i = 0; i < b.plan.n_sides; i++)
		b.plan.ports[i].bytes_per_s /= 2;
	pair_rounds(&b.plan);
	CHECK(groups_of(&b.plan) <= 16);
	bench_close(&b);
}

/* A guest is told of no bridges: what is between its RNICs and memory is not known. */
static void where_bridges_are_hidden_only_cards_count(void)
{
	static struct bench b;
	size_t met = 0;

	bench_open(&b, 0);
	put_near(&b);
	b.plan.topology.is_virtual = true;
	pair_rounds(&b.plan);
	CHECK_EQ(groups_of(&b.plan), 14);
	CHECK_EQ(b.plan.jobs[0].group, b.plan.jobs[3].group);
	CHECK(is_too_much(&b.plan, 0, true, &met) || is_too_much(&b.plan, 0, false, &met));
	bench_close(&b);
}

/* Without a topology too: the address tells. */
static void ports_of_one_card_are_never_measured_together(void)
{
	static struct bench b;
	size_t i, k;

	bench_open(&b, 0);
	b.plan.has_topology = false;
	for (i = 0; i < b.plan.n_sides; i++)
		(void)snprintf(b.plan.ports[i].pci, RDMA_NAME_SIZE, "0000:%02zx:00.%zu", i / 2,
			       i % 2);
	pair_rounds(&b.plan);
	for (i = 0; i < b.plan.n_jobs; i++) {
		for (k = 0; k < i; k++)
			CHECK(b.plan.jobs[k].group != b.plan.jobs[i].group ||
			      !(is_of(&b.plan.jobs[i], b.plan.jobs[k].from) ||
				is_of(&b.plan.jobs[i], b.plan.jobs[k].to)));
	}
	/* The two ports of a card are a pair all the same. */
	CHECK_EQ(b.plan.n_jobs, 56);
	bench_close(&b);
}

static void addresses_of_one_card_are_known(void)
{
	CHECK(pci_same_card("0000:1b:00.0", "0000:1b:00.1"));
	CHECK(pci_same_card("0000:1b:00.0", "0000:1b:00.0"));
	CHECK(!pci_same_card("0000:1b:00.0", "0000:1b:01.0"));
	CHECK(!pci_same_card("0000:1b:00.0", "0001:1b:00.0"));
	CHECK(!pci_same_card("0000:1b:00.0", ""));
	CHECK(!pci_same_card("", "") && !pci_same_card(NULL, "0000:1b:00.0"));
	CHECK(!pci_same_card("0000:1b:00.0", NULL));
}

static const struct test tests[] = {
	TEST(nothing_that_is_measured_at_once_shares_a_slot_or_a_full_link),
	TEST(rnics_below_one_switch_do_not_read_together),
	TEST(where_bridges_are_hidden_only_cards_count),
	TEST(ports_of_one_card_are_never_measured_together),
	TEST(addresses_of_one_card_are_known),
};

TEST_SUITE(tests);
