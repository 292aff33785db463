/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/blame.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

const char *const blame_class_names[] = {
	[BLAME_NOTHING] = "none",    [BLAME_COMPUTE] = "compute",
	[BLAME_LINK] = "link",	     [BLAME_FABRIC] = "fabric",
	[BLAME_LAUNCH] = "launch",   [BLAME_JOB] = "job",
	[BLAME_UNCLEAR] = "unclear", NULL,
};
const char *const blame_evidence_names[] = {
	[EVIDENCE_CLEAN] = "clean", [EVIDENCE_SLOW] = "slow",
	[EVIDENCE_NONE] = "none",   [EVIDENCE_DIFFERS] = "differs",
	[EVIDENCE_OTHER] = "other", [EVIDENCE_BAD] = "bad",
	[EVIDENCE_FATAL] = "fatal", NULL,
};
const char *const blame_ladder_names[] = {
	[LADDER_NOT_RUN] = "not run",
	[LADDER_RUNNING] = "running",
	[LADDER_EXHAUSTED] = "exhausted",
	NULL,
};
const char *const blame_action_names[] = {
	[BLAME_ACQUIT] = "acquit", [BLAME_WATCH] = "watch", [BLAME_OWNER] = "owner",
	[BLAME_PROBE] = "probe",   [BLAME_EVICT] = "evict", NULL,
};
const char *const blame_incident_names[] = {
	[BLAME_QUIET] = "",
	[BLAME_SET_UP] = "set up otherwise",
	[BLAME_CANNOT_TELL] = "cannot tell",
	[BLAME_OF_DOMAIN] = "of the domain",
	[BLAME_ACCUSED] = "accused by several jobs",
	[BLAME_SILICON] = "slow silicon",
	NULL,
};

/* ---- the table -------------------------------------------------------------- */

#define BIT(value) (1U << (value))
#define OF_HOST (BIT(BLAME_COMPUTE) | BIT(BLAME_LAUNCH))
#define OF_NETWORK (BIT(BLAME_LINK) | BIT(BLAME_FABRIC))
#define ACCUSING (OF_HOST | OF_NETWORK)
#define REACHED BIT(BLAME_K_OF_N)
#define NONE BIT(EVIDENCE_NONE)
#define DIFFERS BIT(EVIDENCE_DIFFERS)
#define OTHER BIT(EVIDENCE_OTHER)
#define BAD BIT(EVIDENCE_BAD)
#define CLEAN BIT(EVIDENCE_CLEAN)
#define SLOW BIT(EVIDENCE_SLOW)
#define FATAL BIT(EVIDENCE_FATAL)
#define LIMITED (BIT(LIMIT_COARSE) | BIT(LIMIT_BOOTED))
#define TO_RUN (BIT(LADDER_NOT_RUN) | BIT(LADDER_RUNNING))
#define EXHAUSTED BIT(LADDER_EXHAUSTED)
enum { MUCH = 2 }; /* for `slow`: bit 1 is true */

/*
 * Masks of the values that a row accepts; 0: all. Ladder and the rest are part of the table so that
 * every path ends: a probe needs a ladder that is not exhausted.
 */
static const struct row {
	unsigned classes, counts, evidence, ladders, ends, limits, slow;
	int action, incident;
	bool again;
	const char *reason;
} rows[] = {
	/* First of all: a fatal finding follows the usual rules whatever a job says. */
	{ .classes = BIT(BLAME_JOB),
	  .action = BLAME_OWNER,
	  .reason = "the job slows itself down: no host is to blame" },
	{ .evidence = FATAL,
	  .limits = LIMITED,
	  .action = BLAME_WATCH,
	  .reason = "its fatal finding is handled by the usual rule; the job changes nothing about "
		    "that" },
	{ .evidence = FATAL,
	  .action = BLAME_EVICT,
	  .reason = "it has a fatal finding: the usual rule takes it out of service" },
	{ .classes = OF_HOST,
	  .counts = REACHED,
	  .evidence = BAD,
	  .limits = BIT(LIMIT_NONE),
	  .action = BLAME_EVICT,
	  .reason = "the job and a test that failed again agree: take it out of service" },
	{ .classes = BIT(BLAME_LINK),
	  .counts = REACHED,
	  .evidence = BAD,
	  .ends = BIT(END_BAD),
	  .limits = BIT(LIMIT_NONE),
	  .action = BLAME_EVICT,
	  .reason = "this end of the link is slow by itself, or with a third host as well: take it "
		    "out "
		    "of service" },
	{ .classes = ACCUSING,
	  .counts = REACHED,
	  .evidence = NONE | OTHER | BAD,
	  .ladders = EXHAUSTED,
	  .action = BLAME_WATCH,
	  .incident = BLAME_CANNOT_TELL,
	  .reason = "all of its tests ran, but they neither show nor rule out what slows the job" },
	{ .classes = ACCUSING,
	  .counts = REACHED,
	  .evidence = DIFFERS,
	  .ladders = EXHAUSTED,
	  .action = BLAME_WATCH,
	  .incident = BLAME_SET_UP,
	  .reason = "it is configured differently from the others, and its tests show nothing "
		    "else: fix that first" },
	{ .classes = OF_HOST,
	  .counts = REACHED,
	  .evidence = NONE | DIFFERS | OTHER | BAD,
	  .action = BLAME_PROBE,
	  .reason = "test it: a trace alone takes no host out of service" },
	/* Good silicon has a tail: a part in it is reported, neither condemned nor cleared. */
	{ .classes = OF_HOST,
	  .counts = REACHED,
	  .evidence = SLOW,
	  .action = BLAME_WATCH,
	  .incident = BLAME_SILICON,
	  .reason = "its tests pass, but show it to be as slow as the job says: good hosts are "
		    "rarely "
		    "that slow, but no test can tell it apart from one" },
	{ .classes = OF_HOST,
	  .counts = REACHED,
	  .evidence = CLEAN,
	  .action = BLAME_ACQUIT,
	  .reason = "every test that would have shown it passed: the host is not to blame" },
	{ .classes = BIT(BLAME_LINK),
	  .counts = REACHED,
	  .evidence = CLEAN,
	  .ends = BIT(END_BAD),
	  .ladders = EXHAUSTED,
	  .action = BLAME_WATCH,
	  .incident = BLAME_CANNOT_TELL,
	  .reason = "its own tests passed, but those with a third host did not" },
	{ .classes = BIT(BLAME_LINK),
	  .counts = REACHED,
	  .evidence = CLEAN,
	  .ends = BIT(END_BAD),
	  .action = BLAME_PROBE,
	  .reason = "its own tests passed, but those with a third host did not: test it again" },
	{ .classes = OF_NETWORK,
	  .counts = REACHED,
	  .evidence = BAD | NONE | OTHER | DIFFERS,
	  .action = BLAME_PROBE,
	  .reason = "test both ends: a slow link does not say which of them is slow" },
	{ .classes = BIT(BLAME_LINK),
	  .counts = REACHED,
	  .evidence = CLEAN,
	  .ends = BIT(END_GOOD),
	  .action = BLAME_ACQUIT,
	  .reason = "it passed by itself and with others: the host is not to blame" },
	{ .classes = OF_NETWORK,
	  .counts = REACHED,
	  .evidence = CLEAN,
	  .action = BLAME_ACQUIT,
	  .incident = BLAME_OF_DOMAIN,
	  .reason =
		  "every test that would have shown it passed: check what lies between the hosts" },
	{ .classes = ACCUSING,
	  .counts = BIT(BLAME_ONE_WINDOW),
	  .evidence = BAD,
	  .ladders = TO_RUN,
	  .action = BLAME_PROBE,
	  .again = true,
	  .reason = "one window blames it and a matching test has failed: repeat that test" },
	{ .classes = BIT(BLAME_UNCLEAR),
	  .slow = MUCH,
	  .action = BLAME_OWNER,
	  .reason = "the job is slow, but its trace does not show why" },
	{ .classes = BIT(BLAME_UNCLEAR),
	  .action = BLAME_WATCH,
	  .reason = "its trace does not show why the job is slow, and it is only slightly slow" },
	{ .classes = ACCUSING,
	  .counts = BIT(BLAME_ONE_WINDOW),
	  .action = BLAME_WATCH,
	  .reason = "too few windows blame it so far" },
	{ .action = BLAME_WATCH, .reason = "no window blames a host" },
};

static bool takes(unsigned mask, int value)
{
	return mask == 0 || (value >= 0 && value < 32 && mask & BIT((unsigned)value));
}

static bool matches(const struct row *row, const struct blame_input *in, int class)
{
	return takes(row->classes, class) && takes(row->counts, in->counts) &&
	       takes(row->evidence, in->evidence) && takes(row->ladders, in->ladder) &&
	       takes(row->ends, in->end) && takes(row->limits, in->limit) &&
	       takes(row->slow, in->slow);
}

/* If no other host does the same work, a heavy stage looks like a slow host. */
static int class_of(const struct blame_input *in)
{
	return blame_may_accuse(in->class) && !in->identifiable ? BLAME_UNCLEAR : in->class;
}

struct blame_decision blame_decide(const struct blame_input *in)
{
	const int class = class_of(in);
	unsigned i = 0;

	while (i < ARRAY_SIZE(rows) - 1 && !matches(&rows[i], in, class))
		i++;
	return (struct blame_decision){ .action = rows[i].action,
					.incident = rows[i].incident,
					.again = rows[i].again,
					.reason = rows[i].reason,
					.row = i };
}

bool blame_may_accuse(int class)
{
	return class >= 0 && class < BLAME_CLASSES && ACCUSING & BIT((unsigned)class);
}

bool blame_of_host(int class)
{
	return class >= 0 && class < BLAME_CLASSES && OF_HOST & BIT((unsigned)class);
}

bool blame_tests_host(int class)
{
	return blame_of_host(class) || class == BLAME_LINK;
}

/* ---- which checks show which class ------------------------------------------ */

enum { PREFIXES = 4 };

static const char *const shown_by[BLAME_CLASSES][PREFIXES] = {
	[BLAME_COMPUTE] = { "gemm.", "memory.", "gpu." },
	[BLAME_LINK] = { "rnic.", "loopback.", "rnic_pair.", "all_reduce." },
	[BLAME_FABRIC] = { "rnic.", "loopback.", "rnic_pair.", "all_reduce." },
	[BLAME_LAUNCH] = { "host.", "gemm.chain", "gemm.launch", "memory." },
};

static bool is_of_data(const char *check)
{
	const char *dot = strrchr(check, '.');

	return dot && (streq(dot, ".correct") || streq(dot, ".pattern"));
}

bool blame_shows(int class, const char *check)
{
	size_t i;

	if (!blame_may_accuse(class) || is_of_data(check))
		return false;
	for (i = 0; i < PREFIXES && shown_by[class][i]; i++) {
		if (starts_with(check, shown_by[class][i]))
			return true;
	}
	return false;
}

bool blame_shows_group(int class, const char *check)
{
	return blame_shows(class, check) ||
	       (blame_of_host(class) && blame_shows(BLAME_LINK, check));
}

/*
 * Links are decided by tests with a third host, fabrics by those of their hosts, not by one check.
 */
static const struct {
	const char *prefix, *words;
} cleared_by[BLAME_CLASSES] = {
	[BLAME_COMPUTE] = { "gemm.", "gemm" },
	[BLAME_LAUNCH] = { "gemm.chain", "gemm.chain" },
};

bool blame_clears(int class, const char *check)
{
	return blame_shows(class, check) && cleared_by[class].prefix &&
	       starts_with(check, cleared_by[class].prefix);
}

/*
 * What a setting can slow if it differs from similar hosts; 0: no job. By the beginning of its key,
 * the first matching row. What is listed for no class takes effect through another setting (the
 * power limit of a VBIOS is gpu.power_limit), or through what measures it (light and errors of a
 * module).
 */
#define COMPUTES BIT(BLAME_COMPUTE)
#define LAUNCHES BIT(BLAME_LAUNCH)
static const struct {
	const char *prefix;
	unsigned classes;
} slowed_by[] = {
	{ "gpu.vbios", 0 },
	{ "gpu.inforom", 0 },
	{ "gpu.compute_mode", 0 },  /* who may use it, not how fast it is */
	{ "gpu.persistence", 0 },   /* a job keeps its GPUs initialised */
	{ "gpu.bar1", OF_NETWORK }, /* how an RNIC reaches GPU memory */
	{ "gpu.gsp_firmware", OF_HOST },
	{ "gpu.cc", ACCUSING }, /* copies go through a bounce buffer */
	{ "gpu.", COMPUTES },	/* power limit, ECC, MIG */
	{ "rnic.module_type", 0 },
	{ "rnic.", OF_NETWORK },
	{ "host.cpu_governor", LAUNCHES },
	{ "host.cpu_idle", LAUNCHES },
	{ "host.smt", LAUNCHES },
	{ "host.numa_balancing", LAUNCHES },
	/* NVLinks between the GPUs of a group (computing, to a trace), or of a rack. */
	{ "host.fabric_manager", COMPUTES | OF_NETWORK },
	{ "host.nvlsm", COMPUTES | OF_NETWORK },
	{ "host.imex", COMPUTES | OF_NETWORK },
	/* PCIe: launches, reads, and the traffic of RNICs. */
	{ "host.iommu", LAUNCHES | OF_NETWORK },
	{ "host.acs", LAUNCHES | OF_NETWORK },
	{ "host.ats", LAUNCHES | OF_NETWORK },
	{ "host.pcie_", LAUNCHES | OF_NETWORK },
	{ "driver.mlx5", OF_NETWORK },
	{ "vendor", 0 }, /* implied by the product, or a name for it */
	{ "cpu", LAUNCHES },
	{ "microcode", LAUNCHES },
	{ "kernel", LAUNCHES | OF_NETWORK },
	/*
	 * bios (its settings cannot be read), product (air flow, power), driver.nvidia, and unknown
	 * ones: all.
	 */
};

bool blame_may_slow(int class, const char *setting)
{
	const size_t key = strcspn(setting, "=");
	size_t i;

	if (!blame_may_accuse(class))
		return false;
	for (i = 0; i < ARRAY_SIZE(slowed_by); i++) {
		const size_t length = strlen(slowed_by[i].prefix);

		if (length <= key && strncmp(setting, slowed_by[i].prefix, length) == 0)
			return slowed_by[i].classes & BIT((unsigned)class);
	}
	return true;
}

bool blame_may_slow_group(int class, const char *setting)
{
	return blame_may_slow(class, setting) ||
	       (blame_of_host(class) && blame_may_slow(BLAME_LINK, setting));
}

const char *blame_clearing(int class)
{
	return blame_may_accuse(class) ? cleared_by[class].words : NULL;
}

const char *blame_rungs(int class)
{
	static const char *const rungs[BLAME_CLASSES] = {
		[BLAME_COMPUTE] = "gemm, gemm-load, memory",
		[BLAME_LINK] = "loopback of both ends, rnic-pair, each end with a good third host",
		[BLAME_FABRIC] = "counters, all-reduce within the switch, rnic-pair across it",
		[BLAME_LAUNCH] = "steal and run queue, gemm-chain, memory",
	};

	return blame_may_accuse(class) ? rungs[class] : NULL;
}

/* ---- struct blame --------------------------------------------------------------- */

struct blame blame_copy(const struct blame *blame)
{
	struct blame ret = *blame;

	ret.job = xstrdup(blame->job);
	ret.check = xstrdup(blame->check);
	return ret;
}

void blame_release(struct blame *blame)
{
	free(blame->job);
	free(blame->check);
	*blame = (struct blame){ 0 };
}

static bool same_gain(const struct blame_gain *a, const struct blame_gain *b)
{
	return a->known == b->known && (!a->known || (a->part <= b->part && a->part >= b->part &&
						      a->gpus <= b->gpus && a->gpus >= b->gpus));
}

bool blame_equals(const struct blame *a, const struct blame *b)
{
	return a->class == b->class && a->reach == b->reach && a->since_us == b->since_us &&
	       a->until_us == b->until_us && a->answered_us == b->answered_us &&
	       a->climbs == b->climbs && a->again_us == b->again_us && streq(a->rung, b->rung) &&
	       a->diagnosed == b->diagnosed && a->group == b->group &&
	       same_gain(&a->gain, &b->gain) && streq(a->job, b->job) && streq(a->check, b->check);
}

bool blame_is_harder(const struct blame *a, const struct blame *b)
{
	return b->class == BLAME_NOTHING || a->reach < b->reach ||
	       (a->reach == b->reach && a->until_us > b->until_us);
}

bool blame_holds(const struct blame *blame, uint64_t now_us)
{
	return blame_may_accuse(blame->class) && now_us < blame->until_us;
}

double blame_worth(const struct blame *blame, uint64_t now_us)
{
	const struct blame_gain *gain = &blame->gain;

	return gain->known && blame_holds(blame, now_us) && gain->part >= 0 && gain->part <= 1 &&
			       gain->gpus >= 1 && isfinite(gain->gpus)
		       ? gain->part * gain->gpus
		       : -1;
}

bool blame_agrees(const struct blame *blame, const char *check, uint64_t seen_us, uint64_t now_us)
{
	return blame_holds(blame, now_us) &&
	       (blame->group ? blame_shows_group(blame->class, check)
			     : blame_shows(blame->class, check)) &&
	       seen_us + BLAME_BEFORE_US >= blame->since_us;
}

bool blame_fits(const struct blame *blame, const char *check, uint64_t seen_us, uint64_t now_us)
{
	return blame->reach == BLAME_TO_EVICT && (!blame->check || streq(blame->check, check)) &&
	       blame_agrees(blame, check, seen_us, now_us);
}
