/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/blame.h"

#include "tests/unit/test.h"

/* Calls `check` with each possible input. Returns how many there are. */
static size_t for_all(void (*check)(const struct blame_input *))
{
	static const int sizes[] = { BLAME_CLASSES, BLAME_COUNTS, EVIDENCES, LADDERS,
				     ENDS,	    LIMITS,	  2,	     2 };
	size_t n = 1, i, k;

	for (k = 0; k < ARRAY_SIZE(sizes); k++)
		n *= (size_t)sizes[k];
	for (i = 0; i < n; i++) {
		int v[ARRAY_SIZE(sizes)];
		size_t left = i;

		for (k = 0; k < ARRAY_SIZE(sizes); k++) {
			v[k] = (int)(left % (size_t)sizes[k]);
			left /= (size_t)sizes[k];
		}
		check(&(struct blame_input){ .class = v[0],
					     .counts = v[1],
					     .evidence = v[2],
					     .ladder = v[3],
					     .end = v[4],
					     .limit = v[5],
					     .slow = v[6],
					     .identifiable = v[7] });
	}
	return n;
}

static int action_of(struct blame_input in)
{
	return blame_decide(&in).action;
}

/* ---- what holds of all inputs ------------------------------------------------- */

static void check_evict(const struct blame_input *in)
{
	if (action_of(*in) != BLAME_EVICT)
		return;
	CHECK_EQ(in->limit, LIMIT_NONE);
	CHECK(in->class != BLAME_JOB);
	if (in->evidence == EVIDENCE_FATAL)
		return;
	CHECK_EQ(in->evidence, EVIDENCE_BAD);
	CHECK_EQ(in->counts, BLAME_K_OF_N);
	CHECK(in->identifiable);
	CHECK(in->class == BLAME_COMPUTE || in->class == BLAME_LAUNCH ||
	      (in->class == BLAME_LINK && in->end == END_BAD));
}

static void nobody_is_evicted_without_fatal_or_freshly_failed_evidence(void)
{
	CHECK_EQ(for_all(check_evict), 7 * 3 * 7 * 3 * 4 * 3 * 2 * 2);
}

/* All that is like `in` but for worse evidence, or an end that is worse. */
static void check_acquit(const struct blame_input *in)
{
	struct blame_input worse = *in;

	if (action_of(*in) != BLAME_ACQUIT)
		return;
	CHECK_EQ(in->evidence, EVIDENCE_CLEAN);
	CHECK_EQ(in->counts, BLAME_K_OF_N);
	for (worse.evidence = in->evidence + 1; worse.evidence < EVIDENCES; worse.evidence++)
		CHECK(action_of(worse) != BLAME_ACQUIT);
	worse = *in;
	worse.end = END_BAD;
	CHECK(in->class != BLAME_LINK || action_of(worse) != BLAME_ACQUIT);
}

static void worse_evidence_never_acquits(void)
{
	(void)for_all(check_acquit);
}

/* Fatal evidence goes by the usual rule, so what a limited suspect gets for it is nothing more. */
static void check_harder(const struct blame_input *in)
{
	struct blame_input worse = *in;

	if (action_of(*in) != BLAME_EVICT)
		return;
	worse.evidence = EVIDENCE_FATAL;
	CHECK_EQ(action_of(worse), BLAME_EVICT);
}

static void what_is_evicted_for_less_is_evicted_when_it_is_fatal(void)
{
	(void)for_all(check_harder);
}

static void check_end(const struct blame_input *in)
{
	if (in->ladder == LADDER_EXHAUSTED)
		CHECK(action_of(*in) != BLAME_PROBE);
}

static void every_path_ends_with_the_ladder(void)
{
	(void)for_all(check_end);
}

static void check_limit(const struct blame_input *in)
{
	if (in->limit != LIMIT_NONE)
		CHECK(action_of(*in) <= BLAME_PROBE);
}

static void a_coarse_suspect_and_one_that_booted_are_at_most_probed(void)
{
	(void)for_all(check_limit);
}

static void check_job(const struct blame_input *in)
{
	if (in->class == BLAME_JOB)
		CHECK_EQ(action_of(*in), BLAME_OWNER);
}

static void a_job_that_slows_itself_touches_no_host(void)
{
	(void)for_all(check_job);
}

static void check_unclear(const struct blame_input *in)
{
	const int action = action_of(*in);

	if (in->evidence == EVIDENCE_FATAL || (blame_may_accuse(in->class) && in->identifiable))
		return;
	CHECK(action == BLAME_OWNER || action == BLAME_WATCH);
}

static void what_cannot_be_told_touches_no_host(void)
{
	(void)for_all(check_unclear);
}

static void check_probe(const struct blame_input *in)
{
	const struct blame_decision d = blame_decide(in);

	if (d.action == BLAME_PROBE)
		CHECK(in->counts == BLAME_K_OF_N || (d.again && in->evidence == EVIDENCE_BAD));
	CHECK(!d.again || d.action == BLAME_PROBE);
	CHECK(d.incident == BLAME_QUIET || d.action == BLAME_WATCH || d.action == BLAME_ACQUIT);
	CHECK(d.reason && d.reason[0]);
}

static void one_window_alone_asks_for_no_ladder(void)
{
	(void)for_all(check_probe);
}

enum { ROWS_MOST = 64 };
static size_t uses[ROWS_MOST];

static void count_row(const struct blame_input *in)
{
	uses[blame_decide(in).row % ROWS_MOST]++;
}

static void each_row_is_reached(void)
{
	const struct blame_input beyond = { .class = BLAME_CLASSES, .counts = -1 };
	unsigned last = blame_decide(&beyond).row, i;

	(void)for_all(count_row);
	for (i = 0; i <= last; i++)
		CHECK(uses[i] > 0);
	for (; i < ROWS_MOST; i++)
		CHECK_EQ(uses[i], 0);
}

static void what_is_out_of_range_is_watched(void)
{
	static const int odd[] = { -1, 32, 64, 1000000, INT32_MIN };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		const struct blame_input in = { odd[i], odd[i], odd[i], odd[i],
						odd[i], odd[i], true,	true };

		CHECK_EQ(action_of(in), BLAME_WATCH);
	}
}

/* ---- the table as people read it ---------------------------------------------- */

static const struct {
	struct blame_input in;
	int action, incident;
	bool again;
} manual[] = {
#define YES .counts = BLAME_K_OF_N, .identifiable = true
#define ONE .counts = BLAME_ONE_WINDOW, .identifiable = true
	{ { BLAME_COMPUTE, YES, .evidence = EVIDENCE_FATAL }, BLAME_EVICT, 0, 0 },
	{ { BLAME_JOB, YES, .evidence = EVIDENCE_BAD }, BLAME_OWNER, 0, 0 },
	{ { BLAME_COMPUTE, YES, .evidence = EVIDENCE_BAD }, BLAME_EVICT, 0, 0 },
	{ { BLAME_LAUNCH, YES, .evidence = EVIDENCE_BAD }, BLAME_EVICT, 0, 0 },
	{ { BLAME_COMPUTE, YES, .evidence = EVIDENCE_BAD, .limit = LIMIT_COARSE },
	  BLAME_PROBE,
	  0,
	  0 },
	{ { BLAME_COMPUTE, YES, .evidence = EVIDENCE_DIFFERS }, BLAME_PROBE, 0, 0 },
	{ { BLAME_COMPUTE, YES, .evidence = EVIDENCE_DIFFERS, .ladder = LADDER_EXHAUSTED },
	  BLAME_WATCH,
	  BLAME_SET_UP,
	  0 },
	{ { BLAME_COMPUTE, YES, .evidence = EVIDENCE_NONE, .ladder = LADDER_EXHAUSTED },
	  BLAME_WATCH,
	  BLAME_CANNOT_TELL,
	  0 },
	{ { BLAME_COMPUTE, YES, .evidence = EVIDENCE_NONE }, BLAME_PROBE, 0, 0 },
	{ { BLAME_COMPUTE, YES, .evidence = EVIDENCE_OTHER }, BLAME_PROBE, 0, 0 },
	{ { BLAME_COMPUTE, YES, .evidence = EVIDENCE_CLEAN }, BLAME_ACQUIT, 0, 0 },
	{ { BLAME_COMPUTE, YES, .evidence = EVIDENCE_SLOW, .ladder = LADDER_EXHAUSTED },
	  BLAME_WATCH,
	  BLAME_SILICON,
	  0 },
	{ { BLAME_LINK, YES, .evidence = EVIDENCE_BAD, .end = END_BAD }, BLAME_EVICT, 0, 0 },
	{ { BLAME_LINK, YES, .evidence = EVIDENCE_BAD }, BLAME_PROBE, 0, 0 },
	{ { BLAME_LINK, YES, .evidence = EVIDENCE_CLEAN, .end = END_GOOD }, BLAME_ACQUIT, 0, 0 },
	{ { BLAME_LINK, YES, .evidence = EVIDENCE_CLEAN, .end = END_BETWEEN },
	  BLAME_ACQUIT,
	  BLAME_OF_DOMAIN,
	  0 },
	{ { BLAME_LINK, YES, .evidence = EVIDENCE_BAD, .end = END_BETWEEN }, BLAME_PROBE, 0, 0 },
	{ { BLAME_FABRIC, YES, .evidence = EVIDENCE_BAD, .end = END_BAD }, BLAME_PROBE, 0, 0 },
	{ { BLAME_FABRIC, YES, .evidence = EVIDENCE_DIFFERS }, BLAME_PROBE, 0, 0 },
	{ { BLAME_FABRIC, YES, .evidence = EVIDENCE_CLEAN }, BLAME_ACQUIT, BLAME_OF_DOMAIN, 0 },
	{ { BLAME_COMPUTE, ONE, .evidence = EVIDENCE_BAD }, BLAME_PROBE, 0, true },
	{ { BLAME_COMPUTE, ONE, .evidence = EVIDENCE_NONE }, BLAME_WATCH, 0, 0 },
	{ { BLAME_UNCLEAR, YES, .evidence = EVIDENCE_NONE, .slow = true }, BLAME_OWNER, 0, 0 },
	{ { BLAME_UNCLEAR, YES, .evidence = EVIDENCE_NONE }, BLAME_WATCH, 0, 0 },
	{ { BLAME_COMPUTE, .counts = BLAME_K_OF_N, .evidence = EVIDENCE_BAD, .slow = true },
	  BLAME_OWNER,
	  0,
	  0 },
	{ { BLAME_NOTHING, ONE, .evidence = EVIDENCE_NONE }, BLAME_WATCH, 0, 0 },
};

static void the_table_says_what_the_manual_says(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(manual); i++) {
		const struct blame_decision d = blame_decide(&manual[i].in);

		CHECK_STR(blame_action_names[d.action], blame_action_names[manual[i].action]);
		CHECK_EQ(d.incident, manual[i].incident);
		CHECK_EQ(d.again, manual[i].again);
	}
}

static void a_check_shows_the_classes_of_what_it_measures(void)
{
	static const struct {
		const char *check;
		bool compute, link, launch;
	} rows[] = {
		{ "gemm.rate", true, false, false },
		{ "gemm.chain_gap", true, false, true },
		{ "gemm.launch", true, false, true },
		{ "gemm.launch_p99", true, false, true },
		{ "memory.h2d_bw", true, false, true },
		{ "gpu.throttle", true, false, false },
		{ "loopback.write_bw", false, true, false },
		{ "rnic.flapping", false, true, false },
		{ "rnic_pair.write_bw", false, true, false },
		{ "all_reduce.busbw", false, true, false },
		{ "host.steal", false, false, true },
		{ "gemm.correct", false, false, false },
		{ "memory.pattern", false, false, false },
		{ "inventory.gpus", false, false, false },
		{ "", false, false, false },
	};
	size_t i;
	int class;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(blame_shows(BLAME_COMPUTE, rows[i].check), rows[i].compute);
		CHECK_EQ(blame_shows(BLAME_LINK, rows[i].check), rows[i].link);
		CHECK_EQ(blame_shows(BLAME_FABRIC, rows[i].check), rows[i].link);
		CHECK_EQ(blame_shows(BLAME_LAUNCH, rows[i].check), rows[i].launch);
		for (class = -1; class <= BLAME_CLASSES; class ++)
			CHECK(blame_may_accuse(class) || !blame_shows(class, rows[i].check));
	}
}

/* All that probes tell as settings, and what a report knows of the host. */
static void a_setting_slows_the_classes_that_it_can(void)
{
	static const struct {
		const char *setting;
		bool compute, link, launch;
	} rows[] = {
		{ "gpu.vbios=96.00.74.00.01", false, false, false },
		{ "gpu.inforom", false, false, false },
		{ "gpu.compute_mode", false, false, false },
		{ "gpu.persistence=off", false, false, false },
		{ "gpu.bar1", false, true, false },
		{ "gpu.gsp_firmware=off", true, false, true },
		{ "gpu.cc=on", true, true, true },
		{ "gpu.power_limit=600 W", true, false, false },
		{ "gpu.ecc_mode", true, false, false },
		{ "gpu.mig=on", true, false, false },
		{ "rnic.module_type", false, false, false },
		{ "rnic.firmware", false, true, false },
		{ "rnic.pfc=none", false, true, false },
		{ "rnic.mtu", false, true, false },
		{ "rnic.correction", false, true, false },
		{ "host.cpu_governor=powersave", false, false, true },
		{ "host.cpu_idle", false, false, true },
		{ "host.smt", false, false, true },
		{ "host.numa_balancing", false, false, true },
		{ "host.iommu", false, true, true },
		{ "host.acs", false, true, true },
		{ "host.ats", false, true, true },
		{ "host.pcie_payload", false, true, true },
		{ "host.pcie_read_request", false, true, true },
		{ "host.fabric_manager", true, true, false },
		{ "host.nvlsm", true, true, false },
		{ "host.imex", true, true, false },
		{ "kernel=6.1", false, true, true },
		{ "cpu", false, false, true },
		{ "microcode", false, false, true },
		{ "driver.mlx5", false, true, false },
		{ "driver.nvidia", true, true, true },
		{ "vendor", false, false, false },
		{ "product", true, true, true },
		{ "bios=gpu.vbios", true, true, true },
		{ "of.tomorrow=1", true, true, true },
		{ "", true, true, true },
	};
	size_t i;
	int class;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *setting = rows[i].setting;

		CHECK_EQ(blame_may_slow(BLAME_COMPUTE, setting), rows[i].compute);
		CHECK_EQ(blame_may_slow(BLAME_LINK, setting), rows[i].link);
		CHECK_EQ(blame_may_slow(BLAME_FABRIC, setting), rows[i].link);
		CHECK_EQ(blame_may_slow(BLAME_LAUNCH, setting), rows[i].launch);
		CHECK_EQ(blame_may_slow_group(BLAME_COMPUTE, setting),
			 rows[i].compute || rows[i].link);
		for (class = -1; class <= BLAME_CLASSES; class ++)
			CHECK(blame_may_accuse(class) || !blame_may_slow(class, setting));
	}
}

static void who_may_be_accused_can_be_tested(void)
{
	int i;

	for (i = -1; i <= BLAME_CLASSES; i++)
		CHECK_EQ(blame_rungs(i) != NULL, blame_may_accuse(i));
}

static void what_clears_of_a_class_shows_it(void)
{
	static const char *const checks[] = { "gemm.rate",	   "gemm.chain", "gemm.correct",
					      "memory.h2d_bw",	   "host.steal", "gpu.clocks",
					      "loopback.write_bw", "rnic.errors" };
	int class;
	size_t i;

	for (class = 0; class < BLAME_CLASSES; class ++) {
		for (i = 0; i < ARRAY_SIZE(checks); i++)
			CHECK(!blame_clears(class, checks[i]) || blame_shows(class, checks[i]));
	}
	CHECK(blame_clears(BLAME_COMPUTE, "gemm.rate"));
	CHECK(!blame_clears(BLAME_COMPUTE, "gemm.correct"));
	CHECK(!blame_clears(BLAME_COMPUTE, "memory.h2d_bw"));
	CHECK(blame_clears(BLAME_LAUNCH, "gemm.chain"));
	CHECK(!blame_clears(BLAME_LAUNCH, "host.steal"));
	CHECK(!blame_clearing(BLAME_LINK) && !blame_clearing(BLAME_FABRIC));
}

static const struct test tests[] = {
	TEST(nobody_is_evicted_without_fatal_or_freshly_failed_evidence),
	TEST(worse_evidence_never_acquits),
	TEST(what_is_evicted_for_less_is_evicted_when_it_is_fatal),
	TEST(every_path_ends_with_the_ladder),
	TEST(a_coarse_suspect_and_one_that_booted_are_at_most_probed),
	TEST(a_job_that_slows_itself_touches_no_host),
	TEST(what_cannot_be_told_touches_no_host),
	TEST(one_window_alone_asks_for_no_ladder),
	TEST(each_row_is_reached),
	TEST(what_is_out_of_range_is_watched),
	TEST(the_table_says_what_the_manual_says),
	TEST(a_check_shows_the_classes_of_what_it_measures),
	TEST(a_setting_slows_the_classes_that_it_can),
	TEST(who_may_be_accused_can_be_tested),
	TEST(what_clears_of_a_class_shows_it),
};

TEST_SUITE(tests);
