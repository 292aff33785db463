/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port of 400 Gb/s whose link lost one of four lanes, among eight of a host, with noise of 3 % in
 * the rate of each path: how often it is named, and how often a good host is blamed. The rates of
 * all paths are measured on the simulated fabric, whose RNICs have a packet rate limit per queue
 * pair; the judge then gets reports drawn with the variation of those runs.
 *
 * Runs for fitting and reports for counting use different seeds. The suite pair_lane_real is one
 * run in real time, of ASSAY_LANE="SEED PORT", for tests/gpu/real_time; PORT 8: no port lost a
 * lane.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/circle.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "lib/judge/verdict.h"
#include "probes/rnic_pair/pair_connect.h"
#include "probes/rnic_pair/pair_measure.h"
#include "probes/rnic_pair/pair_sample.h"
#include "tests/unit/mesh_host.h"
#include "tests/unit/pair_fabric.h"
#include "tests/unit/random.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

enum {
	PORTS = 8,
	PAIRS = PORTS * (PORTS - 1),
	FITS = 5,
	FIT_SEED = 900001,
	SEED = 1,
	CLEAN = 1000,
	FAULTS = 100,
	NSEC_PER_USEC = 1000,
	REQUEST = 256 * 1024,
};

#define RATE 50e9
#define NSEC_PER_SEC UINT64_C(1000000000)
#define LANE_LEFT 0.75
#define NOISE 0.03
#define PACKETS_PER_S 30e6 /* of 1024 bytes: 246 Gb/s (hardware of 400 Gb/s has 200 to 300) */

/* Eight ports of the standard host, each with a link out of it and one in. */
struct lab {
	struct pair_fabric fabric;
	struct mesh_host host;
	struct sim_path paths[PAIRS];
	struct pair_job jobs[PAIRS];
	size_t n_jobs;
};

static void add_path(struct lab *l, size_t from, size_t to, double factor)
{
	struct rdma_sim *sim = &l->fabric.sim;
	const struct rdma_region *source = &l->fabric.sides[from].source;
	struct sim_path *p = &l->paths[sim->n_paths++];

	*p = (struct sim_path){ .port = 1,
				.at = source->at,
				.bytes = source->bytes,
				.links = { (unsigned)from, (unsigned)(PORTS + to) },
				.n_links = 2,
				.factor = factor };
	memcpy(p->device, sim->ports[from].device, sizeof(p->device));
	memcpy(p->to, sim->ports[to].device, sizeof(p->to));
	l->jobs[l->n_jobs++] =
		(struct pair_job){ .from = &l->fabric.sides[from], .to = &l->fabric.sides[to] };
}

/* Of what: each path for good, or each link all the time. */
struct noise {
	double of_paths; /* standard deviation */
	double of_links; /* up and down at most, every 20 ms */
};
static const struct noise steady = { .of_paths = NOISE }, moving = { .of_links = NOISE };

/* `lost` is the port whose lane is gone, both ways; PORTS: none. */
static struct lab *lab_new(uint64_t seed, size_t lost, unsigned qps, const struct noise *noise)
{
	struct lab *l = xcalloc(1, sizeof(*l));
	struct random chance = random_seeded(seed);
	struct rdma_sim *sim = &l->fabric.sim;
	size_t i, j;

	pair_fabric_open(&l->fabric, PORTS);
	mesh_host_standard(&l->host);
	l->fabric.options.qps = qps;
	l->fabric.options.mtu = 1024;
	l->fabric.options.size = REQUEST;
	l->fabric.options.depth = 16;
	sim->packets_per_s = PACKETS_PER_S;
	sim->poll_s = 20e-6;
	sim->jitter = noise->of_links;
	sim->now_ns = seed * NSEC_PER_SEC; /* other moments, other noise */
	sim->paths = l->paths;
	sim->n_links = (size_t)2 * PORTS;
	for (i = 0; i < PORTS; i++) {
		sim->ports[i].bytes_per_s = RATE;
		sim->ports[i].numa_node = (int)i / 4;
		(void)snprintf(sim->ports[i].device, RDMA_NAME_SIZE, "mlx5_%zu", i);
		pair_fabric_reopen(&l->fabric, i);
		sim->links[i].bytes_per_s = sim->links[PORTS + i].bytes_per_s =
			i == lost ? LANE_LEFT * RATE : RATE;
	}
	for (i = 0; i < PORTS; i++) {
		for (j = 0; j < PORTS; j++) {
			if (i != j)
				add_path(l, i, j, random_normal(&chance, 1, noise->of_paths));
		}
	}
	return l;
}

static void lab_free(struct lab *l)
{
	CHECK_EQ(l->fabric.sim.lost, 0);
	pair_fabric_close(&l->fabric);
	mesh_host_release(&l->host);
	free(l);
}

static struct sample measure(struct lab *l, struct pair_job *job)
{
	const struct pair_end from = pair_end_of(job->from), to = pair_end_of(job->to);
	const struct pair_want want = { .qps = pair_job_queues(job),
					.depth = l->fabric.options.depth,
					.retries = 7,
					.mtu = l->fabric.options.mtu };
	const struct pair_time time = { USEC_PER_SEC / 10,
					l->fabric.sim.now_ns / NSEC_PER_USEC + USEC_PER_SEC };
	const struct pair_lanes *lanes = &job->writer;
	struct sample s = pair_sample(&from, &to, PAIR_WRITE_BW, &l->host.topology);

	CHECK_EQ(pair_join(job, &want, NULL), 0);
	pair_bandwidth(&lanes, 1, &time, &s);
	pair_part(job);
	CHECK_EQ(s.state, SAMPLE_MEASURED);
	return s;
}

/* What a path gets, as a part of what it carries, and the spread of it. */
struct fit {
	double good, lost; /* the median of paths that are as they should be, and of the others */
	double spread;	   /* standard deviation of the former, as a part of it */
};

static int compare_numbers(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare_numbers);
	return v[n / 2];
}

static struct fit fit_to_runs(unsigned qps, const struct noise *noise)
{
	double good[FITS * PAIRS], lost[FITS * PAIRS], squares = 0;
	size_t n_good = 0, n_lost = 0, run, i;
	struct fit fit;

	for (run = 0; run < FITS; run++) {
		struct lab *l = lab_new(test_seed(FIT_SEED) + run, run, qps, noise);

		for (i = 0; i < l->n_jobs; i++) {
			const struct pair_job *job = &l->jobs[i];
			const struct pair_side *bad = &l->fabric.sides[run];
			struct sample s = measure(l, &l->jobs[i]);

			if (job->from == bad || job->to == bad)
				lost[n_lost++] = s.value;
			else
				good[n_good++] = s.value;
			sample_release(&s);
		}
		lab_free(l);
	}
	fit.good = median_of(good, n_good);
	fit.lost = median_of(lost, n_lost);
	for (i = 0; i < n_good; i++)
		squares += (good[i] / fit.good - 1) * (good[i] / fit.good - 1);
	fit.spread = sqrt(squares / (double)n_good);
	return fit;
}

/* A report of a host as the fit has it. */
static struct report draw(struct lab *l, const struct fit *fit, size_t lost, uint64_t seed)
{
	struct random chance = random_seeded(seed);
	struct report r = report_make();
	size_t i;

	for (i = 0; i < l->n_jobs; i++) {
		const struct pair_job *job = &l->jobs[i];
		const struct pair_end from = pair_end_of(job->from), to = pair_end_of(job->to);
		const bool bad = lost < PORTS && (job->from == &l->fabric.sides[lost] ||
						  job->to == &l->fabric.sides[lost]);
		struct sample s = pair_sample(&from, &to, PAIR_WRITE_BW, &l->host.topology);

		s.value = random_normal(&chance, 1, fit->spread) * (bad ? fit->lost : fit->good);
		CHECK_EQ(report_add_sample(&r, &s), 0);
	}
	return r;
}

struct told {
	bool named;    /* the port, and nobody else, by a failed item or a link */
	bool innocent; /* somebody else is, by either */
	bool warned;   /* there is a warning at all */
};

static struct told judge(const struct report *r, const char *port)
{
	struct told told = { .named = false };
	struct verdict v;
	size_t i;

	verdict_judge(r, NULL, &v);
	for (i = 0; i < v.n_items; i++) {
		const struct verdict_item *item = &v.items[i];
		const bool is_link = streq(item->check, "rnic_pair.link");

		told.warned = told.warned || item->level >= VERDICT_WARN;
		if (item->level != VERDICT_FAIL && !(is_link && item->level == VERDICT_WARN))
			continue;
		if (port && strstr(item->subject, port))
			told.named = true;
		else
			told.innocent = true;
	}
	verdict_release(&v);
	return told;
}

struct counts {
	size_t named, innocent, warned;
};

static struct counts count(const struct fit *fit, size_t n, bool faulty, uint64_t seed)
{
	struct lab *l = lab_new(seed, PORTS, 0, &steady);
	struct counts counts = { 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		const size_t lost = faulty ? i % PORTS : PORTS;
		CLEANUP(freep) char *port = xasprintf("mlx5_%zu", lost);
		struct report r = draw(l, fit, lost, seed + i);
		const struct told told = judge(&r, faulty ? port : NULL);

		counts.named += told.named && !told.innocent;
		counts.innocent += told.innocent;
		counts.warned += told.warned;
		report_release(&r);
	}
	lab_free(l);
	return counts;
}

/* Both counts with the spread of such noise: what is named, and what good hosts are told. */
static void check_counts(const struct noise *noise, const char *words, struct counts *ret_clean)
{
	const struct fit fit = fit_to_runs(0, noise);
	const size_t n_faulty = test_times(FAULTS, FAULTS), n_clean = test_times(CLEAN, CLEAN);
	const struct counts faulty = count(&fit, n_faulty, true, test_seed(SEED));
	const struct counts clean = count(&fit, n_clean, false, test_seed(SEED + FAULTS));

	printf("  4 queue pairs, noise of %s: %.1f GB/s, %.1f with a lane lost, spread %.2f %%; "
	       "named "
	       "%zu of %zu, an innocent %zu; clean: blamed %zu of %zu, warned %zu\n",
	       words, fit.good / 1e9, fit.lost / 1e9, fit.spread * 100, faulty.named, n_faulty,
	       faulty.innocent, clean.innocent, n_clean, clean.warned);
	CHECK_NEAR(fit.good / RATE, 1, 0.03);
	CHECK_NEAR(fit.lost / RATE, LANE_LEFT, 0.03);
	CHECK(faulty.named * 100 >= n_faulty * 98);
	CHECK_EQ(clean.innocent, 0);
	*ret_clean = clean;
}

static void a_link_that_lost_a_lane_is_named_and_no_good_one(void)
{
	struct counts clean;

	check_counts(&moving, "links", &clean);
	CHECK_EQ(clean.warned, 0);
}

/* A first run, where only the other paths are known, may warn of a path; it blames none. */
static void paths_that_differ_by_as_much_for_good_are_not_blamed(void)
{
	struct counts clean;

	check_counts(&steady, "paths", &clean);
}

static void with_one_queue_pair_nobody_sees_it(void)
{
	const struct fit fit = fit_to_runs(1, &moving);
	const struct counts faulty = count(&fit, FAULTS, true, test_seed(SEED));

	printf("  1 queue pair: %.1f GB/s, %.1f with a lane lost, spread %.2f %%; named %zu of "
	       "%d\n",
	       fit.good / 1e9, fit.lost / 1e9, fit.spread * 100, faulty.named, FAULTS);
	CHECK_NEAR(fit.lost / fit.good, 1, 0.02);
	CHECK_EQ(faulty.named, 0);
}

/* --- in real time --------------------------------------------------------------------------- */

/* A path during which we waited for a processor longer than this is measured again: it is busy. */
#define WAITED 0.02
enum { AGAIN = 150 }; /* of all paths of a run */

/* How long this process has waited for a processor (proc(5), schedstat). */
static uint64_t waited_ns(void)
{
	uint64_t ran = 0, waited = 0;
	FILE *f = fopen("/proc/self/schedstat", "re");

	if (f && fscanf(f, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
		waited = 0;
	if (f)
		(void)fclose(f);
	return waited;
}

/* Until nobody disturbs it. `*again` counts, up to AGAIN; `*ret_waited`: of the last time. */
static struct sample measure_quietly(struct lab *l, struct pair_job *job, unsigned *again,
				     double *ret_waited)
{
	for (;;) {
		const uint64_t start_us = clock_mono_us(), before_ns = waited_ns();
		struct sample s = measure(l, job);

		*ret_waited = (double)(waited_ns() - before_ns) / NSEC_PER_USEC /
			      (double)(clock_mono_us() - start_us);
		if (*ret_waited <= WAITED || *again == AGAIN)
			return s;
		(*again)++;
		sample_release(&s);
	}
}

/* Measures all paths of the host, and prints what the judge says of it. */
static void in_real_time(void)
{
	const char *lane = getenv("ASSAY_LANE");
	CLEANUP(freep) char *port = NULL;
	struct report r = report_make();
	unsigned long seed, lost;
	double waited, most = 0;
	struct told told;
	unsigned again = 0;
	char *end = NULL;
	struct lab *l;
	size_t i;

	seed = strtoul(lane, &end, 10);
	lost = strtoul(end, NULL, 10);
	l = lab_new(seed, lost, 0, &moving);
	rdma_sim_go_real(&l->fabric.sim);
	for (i = 0; i < l->n_jobs; i++) {
		struct sample s = measure_quietly(l, &l->jobs[i], &again, &waited);

		most = fmax(most, waited);
		CHECK_EQ(report_add_sample(&r, &s), 0);
	}
	port = lost < PORTS ? xasprintf("mlx5_%lu", lost) : NULL;
	told = judge(&r, port);
	printf("lane {\"named\": %s, \"innocent\": %s, \"busy\": %s, \"again\": %u}\n",
	       told.named ? "true" : "false", told.innocent ? "true" : "false",
	       most > WAITED ? "true" : "false", again);
	report_release(&r);
	lab_free(l);
}

static const struct test real[] = { TEST(in_real_time) };

TEST_SUITE(real, .name = "pair_lane_real", .by_name = true);

static const struct test tests[] = {
	TEST(a_link_that_lost_a_lane_is_named_and_no_good_one),
	TEST(paths_that_differ_by_as_much_for_good_are_not_blamed),
	TEST(with_one_queue_pair_nobody_sees_it),
};

TEST_SUITE(tests);
