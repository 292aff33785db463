/* SPDX-License-Identifier: Apache-2.0 */
/* The loopback probe on the simulated host of 8 RNICs and 8 GPUs: its duration and findings. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/localise.h"
#include "tests/unit/loopback_fabric.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define QUICK_US (20 * USEC_PER_SEC)
#define FULL_US (75 * USEC_PER_SEC)

#define BW "loopback.write_bw"

enum { CELLS = 80, CHECKS = 4, QUICK_CELLS = 14 };

static size_t count(const struct report *r, const char *check, enum sample_state state)
{
	size_t n = 0, i;

	for (i = 0; i < r->n_samples; i++)
		n += streq(r->samples[i].check, check) && r->samples[i].state == (int)state &&
		     !r->samples[i].with;
	return n;
}

static size_t count_groups(const struct report *r)
{
	size_t n = 0, i;

	for (i = 0; i < r->n_samples; i++)
		n += streq(r->samples[i].check, BW) && r->samples[i].with != NULL;
	return n;
}

static void a_good_host_takes_its_quick_set(void)
{
	struct fabric *f = fabric_new();
	struct report r;
	size_t i;

	fabric_run(f, SET_QUICK, QUICK_US, &r);
	printf("  quick: %zu samples in %.1f s of simulated time\n", r.n_samples, f->seconds);
	CHECK(f->seconds <= 20);
	CHECK(r.n_samples <= QUICK_CELLS * CHECKS);
	CHECK_EQ(count(&r, BW, SAMPLE_MEASURED) * CHECKS, r.n_samples);
	CHECK_EQ(f->sim.met, 0);
	for (i = 0; i < r.n_samples; i++) {
		const struct sample *s = &r.samples[i];

		if (!streq(s->check, BW))
			continue;
		CHECK(s->w.n >= SAMPLE_WINDOWS_MIN && s->w.n <= SAMPLE_WINDOWS_MAX);
		CHECK_NEAR(s->value / (streq(s->locality, "sys") ? 37.5e9 : 50e9), 1, 0.01);
	}
	report_release(&r);
	fabric_free(f);
}

/* A port without a cable is no fault, and must not keep a host from passing; who asks is told. */
static void a_port_that_is_down_is_told_of_when_it_is_asked_for(void)
{
	struct fabric *f = fabric_new();
	struct report r;
	size_t i;

	f->sim.ports[3].active = false;
	(void)snprintf(f->sim.ports[3].state, sizeof(f->sim.ports[3].state), "the port is DOWN");
	fabric_run(f, SET_QUICK, QUICK_US, &r);
	CHECK(count(&r, BW, SAMPLE_MEASURED) > 0);
	for (i = 0; i < r.n_samples; i++)
		CHECK(!starts_with(r.samples[i].subject, "mlx5_3:1>"));
	report_release(&r);

	f->options.cells = "mlx5_3:1>numa:0,mlx5_0:1>numa:0";
	fabric_run(f, SET_QUICK, QUICK_US, &r);
	CHECK_EQ(count(&r, BW, SAMPLE_MEASURED), 1);
	CHECK_EQ(count(&r, BW, SAMPLE_SET_UP), 1);
	report_release(&r);

	/* What could not even be looked at is no port without a cable. */
	f->options.cells = NULL;
	f->sim.ports[3].unknown = true;
	fabric_run(f, SET_QUICK, QUICK_US, &r);
	CHECK_EQ(count(&r, BW, SAMPLE_SET_UP), f->host.n_ends);
	report_release(&r);
	fabric_free(f);
}

static void the_whole_mesh_and_its_groups_take_75_s(void)
{
	struct fabric *f = fabric_new();
	struct report r;

	fabric_run(f, SET_FULL, FULL_US, &r);
	printf("  full: %zu samples, %zu of groups, in %.1f s of simulated time\n", r.n_samples,
	       count_groups(&r), f->seconds);
	CHECK(f->seconds <= 75);
	CHECK_EQ(count(&r, BW, SAMPLE_MEASURED), CELLS);
	CHECK_EQ(count(&r, "loopback.read_lat", SAMPLE_MEASURED), CELLS);
	CHECK(count_groups(&r) >= 2 * 3 + 4 * 2);
	CHECK_EQ(r.n_samples, CELLS * CHECKS + 2 * count_groups(&r));
	report_release(&r);
	fabric_free(f);
}

/* Rates that never settle: every slice is used up, and the budgets hold all the same. */
static void a_restless_host_takes_no_longer(void)
{
	struct fabric *f = fabric_new();
	struct report quick, full;
	double quick_s;

	f->sim.jitter = 0.04;
	fabric_run(f, SET_QUICK, QUICK_US, &quick);
	quick_s = f->seconds;
	CHECK_EQ(count(&quick, BW, SAMPLE_TIMEOUT), 0);
	fabric_run(f, SET_FULL, FULL_US, &full);
	printf("  restless: quick %.1f s, full %.1f s of simulated time\n", quick_s, f->seconds);
	CHECK(quick_s <= 20);
	CHECK(f->seconds > 60 && f->seconds <= 75);
	CHECK_EQ(count(&full, BW, SAMPLE_MEASURED), CELLS);
	report_release(&quick);
	report_release(&full);
	fabric_free(f);
}

static void no_two_flows_meet_outside_of_groups(void)
{
	struct fabric *f = fabric_new();
	struct report r;

	/* Something low, so that the whole mesh is measured, without groups. */
	fabric_slow(f, "gpu:3^switch:1", 0.5);
	fabric_run(f, SET_QUICK, QUICK_US, &r);
	CHECK_EQ(count(&r, BW, SAMPLE_MEASURED) + count(&r, BW, SAMPLE_TIMEOUT), CELLS);
	CHECK_EQ(count_groups(&r), 0);
	CHECK_EQ(f->sim.met, 0);
	report_release(&r);
	fabric_free(f);
}

/* What cannot be measured any more is said, and the most telling cells come first. */
static void a_short_budget_leaves_the_least(void)
{
	struct fabric *f = fabric_new();
	struct report quick, r;
	size_t i, j, kept = 0;

	fabric_run(f, SET_QUICK, QUICK_US, &quick);
	fabric_run(f, SET_FULL, 4 * USEC_PER_SEC, &r);
	printf("  4 s: %zu of %d cells measured, %.1f s\n", count(&r, BW, SAMPLE_MEASURED), CELLS,
	       f->seconds);
	CHECK(f->seconds <= 4);
	CHECK(count(&r, BW, SAMPLE_MEASURED) > QUICK_CELLS);
	CHECK(count(&r, BW, SAMPLE_TIMEOUT) > 0);
	CHECK_EQ(count(&r, BW, SAMPLE_MEASURED) + count(&r, BW, SAMPLE_TIMEOUT), CELLS);
	for (i = 0; i < quick.n_samples; i++) {
		for (j = 0; j < r.n_samples; j++)
			kept += streq(quick.samples[i].check, BW) &&
				streq(r.samples[j].check, BW) && !r.samples[j].with &&
				streq(quick.samples[i].subject, r.samples[j].subject) &&
				r.samples[j].state == SAMPLE_MEASURED;
	}
	CHECK_EQ(kept, count(&quick, BW, SAMPLE_MEASURED));
	report_release(&quick);
	report_release(&r);
	fabric_free(f);
}

/* Sockets that carry less than was guessed: the whole mesh once, then the quick set. */
static void what_is_known_is_not_measured_again(void)
{
	static const struct {
		const char *slow;
		size_t least, most;
	} runs[] = {
		{ "numa:0^numa:1", QUICK_CELLS + 1, CELLS },
		{ NULL, 1, QUICK_CELLS },
		{ NULL, 1, QUICK_CELLS },
		{ "gpu:5^switch:2", QUICK_CELLS + 1, CELLS },
		{ NULL, QUICK_CELLS + 1, CELLS },
	};
	struct fabric *f = fabric_new();
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(runs); i++) {
		struct report r;

		if (runs[i].slow)
			fabric_slow(f, runs[i].slow, 0.7);
		fabric_noise(f, 0.01, i);
		fabric_run(f, SET_QUICK, QUICK_US, &r);
		n = count(&r, BW, SAMPLE_MEASURED);
		CHECK(n >= runs[i].least && n <= runs[i].most);
		report_release(&r);
	}
	fabric_free(f);
}

/* --- from a slow link to its name -------------------------------------------------- */

static struct report clean_mesh(void)
{
	struct fabric *f = fabric_new();
	struct report r;

	fabric_run(f, SET_FULL, FULL_US, &r);
	fabric_free(f);
	return r;
}

static bool is_named(const struct localised *l, const char *id)
{
	size_t i;

	if (l->n != 1)
		return false;
	if (streq(l->links[0].link, id))
		return true;
	/* A root port and the uplink in series with it are one to every cell. */
	for (i = 0; l->links[0].ambiguous && l->links[0].ambiguous[i]; i++) {
		if (streq(l->links[0].ambiguous[i], id))
			return l->links[0].ambiguous[1] == NULL;
	}
	return false;
}

struct tally {
	size_t runs, escalated, named, late;
};

static void try_fault(const char *link, double part, enum loopback_set set,
		      const struct report *reference, struct tally *t)
{
	struct fabric *f = fabric_new();
	struct localised found;
	struct report r;

	fabric_slow(f, link, part);
	fabric_noise(f, 0.005, 17 + t->runs);
	fabric_run(f, set, set == SET_QUICK ? QUICK_US : FULL_US, &r);
	localise(&(struct localise_input){ .samples = { r.samples, r.n_samples },
					   .reference = { reference->samples,
							  reference->n_samples } },
		 &found);
	t->runs++;
	t->escalated += count(&r, BW, SAMPLE_MEASURED) > QUICK_CELLS;
	t->late += f->seconds > (set == SET_QUICK ? 20 : 75);
	if (is_named(&found, link))
		t->named++;
	else
		printf("  not named: %s at %.0f %%; first of %zu: %s\n", link, part * 100, found.n,
		       found.n ? found.links[0].link : "none");
	localised_release(&found);
	report_release(&r);
	fabric_free(f);
}

static bool is_memory(const char *link)
{
	return streq(link, "numa:0^numa:0") || streq(link, "numa:1^numa:1");
}

static void a_fault_on_each_link_ends_in_its_name(void)
{
	static const double parts[] = { 0.8, 0.5, 0.25 };
	struct fabric *f = fabric_new();
	struct report reference = clean_mesh();
	const struct topology *t = &f->host.topology;
	size_t n_parts = test_full() ? ARRAY_SIZE(parts) : 1, i, j;
	/* Of four links one where test_times() tries a quarter. */
	const size_t step = 4 / test_times(4, 4);
	struct tally tally = { 0 };

	for (i = 0; i < t->n_links; i += step) {
		for (j = 0; j < n_parts && !is_memory(t->links[i].id); j++)
			try_fault(t->links[i].id, parts[j], SET_QUICK, &reference, &tally);
	}
	printf("  %zu faults: %zu led to the whole mesh, %zu named, %zu late\n", tally.runs,
	       tally.escalated, tally.named, tally.late);
	CHECK_EQ(tally.escalated, tally.runs);
	CHECK_EQ(tally.named, tally.runs);
	CHECK_EQ(tally.late, 0);
	report_release(&reference);
	fabric_free(f);
}

static void half_a_memory_is_named_by_its_group(void)
{
	struct report reference = clean_mesh();
	struct tally tally = { 0 };

	try_fault("numa:0^numa:0", 0.5, SET_FULL, &reference, &tally);
	try_fault("numa:1^numa:1", 0.5, SET_FULL, &reference, &tally);
	CHECK_EQ(tally.named, 2);
	CHECK_EQ(tally.late, 0);
	report_release(&reference);
}

/* In a host of several tenants the first P_Key is one that talks to nobody, itself included. */
static void a_port_speaks_to_itself_as_a_full_member(void)
{
	struct fabric *f = fabric_new();
	struct report r;
	size_t i;

	f->sim.pkeys[0] = 0x7fff;
	f->sim.pkeys[1] = 0x8001;
	fabric_run(f, SET_QUICK, QUICK_US, &r);
	CHECK_EQ(count(&r, BW, SAMPLE_MEASURED) * CHECKS, r.n_samples);
	for (i = 0; i < r.n_samples; i++) {
		CHECK(r.samples[i].ok != TRI_NO);
		CHECK_STR(json_string_value(json_object_get(r.samples[i].params, "pkey")),
			  "0x8001");
	}
	report_release(&r);
	fabric_free(f);
}

/* A device that translates small pages is slower for it: such cells are compared with their like. */
static void what_memory_is_made_of_is_said_of_nodes_alone(void)
{
	struct fabric *f = fabric_new();
	struct report r;
	size_t i, n[2] = { 0 };

	f->ends[0].pages = "2M";
	f->ends[1].pages = "4k";
	fabric_run(f, SET_QUICK, QUICK_US, &r);
	for (i = 0; i < r.n_samples; i++) {
		const json_t *pages = json_object_get(r.samples[i].params, "pages");
		const bool small = streq(r.samples[i].to, f->ends[1].id);

		if (!small && !streq(r.samples[i].to, f->ends[0].id)) {
			CHECK(!pages);
			continue;
		}
		CHECK_STR(json_string_value(pages), small ? "4k" : "2M");
		n[small]++;
	}
	CHECK(n[0] > 0 && n[1] > 0);
	report_release(&r);
	fabric_free(f);
}

/* A port for storage is held to its own rate, and is no peer of those of the jobs. */
static void a_port_of_another_rate_is_compared_with_none_of_the_others(void)
{
	struct fabric *f = fabric_new();
	struct report r;
	const struct verdict *v;
	size_t i;

	f->sim.ports[7].bytes_per_s = 12.5e9;
	f->sim.links[f->host.topology.n_links + 7].bytes_per_s = 12.5e9;
	fabric_run(f, SET_FULL, FULL_US, &r);
	v = judged(&r, NULL);
	for (i = 0; i < v->n_items; i++) {
		if (starts_with(v->items[i].check, "loopback."))
			CHECK_EQ(v->items[i].level, VERDICT_PASS);
	}
	judged_done();
	report_release(&r);
	fabric_free(f);
}

static const struct test tests[] = {
	TEST(a_port_speaks_to_itself_as_a_full_member),
	TEST(what_memory_is_made_of_is_said_of_nodes_alone),
	TEST(a_port_of_another_rate_is_compared_with_none_of_the_others),
	TEST(a_good_host_takes_its_quick_set),
	TEST(the_whole_mesh_and_its_groups_take_75_s),
	TEST(a_restless_host_takes_no_longer),
	TEST(no_two_flows_meet_outside_of_groups),
	TEST(a_short_budget_leaves_the_least),
	TEST(what_is_known_is_not_measured_again),
	TEST(a_fault_on_each_link_ends_in_its_name),
	TEST(half_a_memory_is_named_by_its_group),
	TEST(a_port_that_is_down_is_told_of_when_it_is_asked_for),
};

TEST_SUITE(tests);
