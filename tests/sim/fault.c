/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/fault.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

const char *const fault_names[] = {
	[FAULT_SLOW_GPU] = "slow-gpu",
	[FAULT_SLOW_HOST] = "slow-host",
	[FAULT_FLAPPING_LINK] = "flapping-link",
	[FAULT_SLOW_PCIE] = "slow-pcie",
	[FAULT_DYING_GPU] = "dying-gpu",
	[FAULT_BAD_TOR] = "bad-tor",
	[FAULT_ROLL_OUT] = "roll-out",
	[FAULT_WRONG_SKU] = "wrong-sku",
	[FAULT_SILENT] = "silent",
	[FAULT_CLOCK] = "clock",
	[FAULT_DUPLICATES] = "duplicates",
	[FAULT_LATE] = "late",
	[FAULT_HOT_RACK] = "hot-rack",
	[FAULT_SETTING] = "setting",
	[FAULT_SLOW_JOB] = "slow-job",
	[FAULT_LOST_CHANNEL] = "lost-channel",
	[FAULT_TOO_FAST] = "too-fast",
	[FAULT_FLAP_STORM] = "flap-storm",
	[FAULT_XID_STORM] = "xid-storm",
	NULL,
};

const struct fault_trait fault_traits[N_FAULT_KINDS] = {
	[FAULT_SLOW_GPU] = { .loss = 0.1, .mends = true },
	[FAULT_SLOW_HOST] = { .loss = 0.1, .mends = true },
	[FAULT_FLAPPING_LINK] = { .loss = 0.3, .mends = true },
	[FAULT_SLOW_PCIE] = { .loss = 0.5, .mends = true },
	[FAULT_DYING_GPU] = { .loss = 0.1, .mends = true },
	[FAULT_BAD_TOR] = { .loss = 0.5, .of_rack = true, .shared = true },
	[FAULT_ROLL_OUT] = { .loss = 0.05, .lies = true },
	[FAULT_WRONG_SKU] = { .loss = -0.3, .lies = true }, /* expects 30 % more */
	[FAULT_SILENT] = { .loss = 0.1, .lies = true },
	[FAULT_CLOCK] = { .loss = 0.1, .lies = true },
	[FAULT_DUPLICATES] = { .loss = 0.1, .lies = true },
	[FAULT_LATE] = { .loss = 0.1, .lies = true },
	[FAULT_HOT_RACK] = { .loss = 0.09, .of_rack = true, .shared = true },
	[FAULT_SETTING] = { .loss = 0.1, .shared = true, .told = FAULT_BIOS },
	[FAULT_SLOW_JOB] = { .loss = 0.14, .shared = true, .told = FAULT_JOB },
	[FAULT_LOST_CHANNEL] = { .loss = 0.125, .mends = true },
	[FAULT_TOO_FAST] = { .loss = -2, .mends = true }, /* three times as much */
	[FAULT_FLAP_STORM] = { .loss = 0.1, .mends = true },
	[FAULT_XID_STORM] = { .loss = 0.1, .mends = true },
};

static struct fault fault_init(void)
{
	return (struct fault){ .first = FAULT_ANY,
			       .nodes = 1,
			       .sku = FAULT_ANY,
			       .share = NAN,
			       .gpu = FAULT_ANY,
			       .slow = NAN,
			       .until_us = UINT64_MAX,
			       .known = true,
			       .waves = 1 };
}

struct faults faults_init(void)
{
	return (struct faults){ .noise = noise_init(),
				.world = world_init(),
				.jobs = job_plan_init(),
				.random = true };
}

void faults_release(struct faults *f)
{
	free(f->list);
	*f = faults_init();
}

/* --- the file --- */

/* Percent in the file, fractions here. */
struct row {
	struct fault fault;
	double slow_percent, share_percent;
};

#define AT(m) offsetof(struct row, m)
static const struct jfield fault_fields[] = {
	{ "kind", J_ENUM, AT(fault.kind), J_REQUIRED, .names = fault_names },
	{ "first", J_U64, AT(fault.first), 0, .min = 0, .max = 1e6 },
	{ "nodes", J_U64, AT(fault.nodes), 0, .min = 1, .max = 1e6 },
	{ "sku", J_U64, AT(fault.sku), 0, .min = 0, .max = 1e6 },
	{ "share_percent", J_REAL, AT(share_percent), 0, .min = 0.1, .max = 100 },
	{ "gpu", J_U64, AT(fault.gpu), 0, .min = 0, .max = 7 },
	{ "slow_percent", J_REAL, AT(slow_percent), 0, .min = 0.1, .max = 99 },
	{ "onset", J_DURATION, AT(fault.onset_us), 0 },
	{ "until", J_DURATION, AT(fault.until_us), 0 },
	{ "blamed", J_BOOL, AT(fault.blamed), 0 },
	{ "known", J_BOOL, AT(fault.known), 0 },
	{ "waves", J_U64, AT(fault.waves), 0, .min = 1, .max = FAULT_WAVES_MAX },
	{ "every", J_DURATION, AT(fault.every_us), 0 },
};
#undef AT

/* Percent in the file, fractions here; except `spread`, a factor in both. */
#define AT(m) offsetof(struct noise, m)
static const struct jfield noise_fields[] = {
	{ "gpu_percent", J_REAL, AT(gpu), 0, .min = 0, .max = 20 },
	{ "link_percent", J_REAL, AT(link), 0, .min = 0, .max = 20 },
	{ "memory_percent", J_REAL, AT(memory), 0, .min = 0, .max = 20 },
	{ "host_percent", J_REAL, AT(host), 0, .min = 0, .max = 20 },
	{ "boot_percent", J_REAL, AT(boot), 0, .min = 0, .max = 20 },
	{ "place_percent", J_REAL, AT(place), 0, .min = 0, .max = 20 },
	{ "run_percent", J_REAL, AT(run), 0, .min = 0, .max = 20 },
	{ "rack_percent", J_REAL, AT(rack), 0, .min = 0, .max = 20 },
	{ "swing_percent", J_REAL, AT(swing), 0, .min = 0, .max = 20 },
	{ "dip_percent", J_REAL, AT(dip), 0, .min = 0, .max = 100 },
	{ "busy_percent", J_REAL, AT(busy), 0, .min = 0, .max = 50 },
	{ "missing_percent", J_REAL, AT(missing), 0, .min = 0, .max = 50 },
	{ "reboot_percent", J_REAL, AT(reboot), 0, .min = 0, .max = 100 },
	{ "other_percent", J_REAL, AT(other), 0, .min = 0, .max = 100 },
	{ "spread", J_REAL, AT(spread), 0, .min = 0, .max = NOISE_SPREAD_MAX },
};
#undef AT
enum { N_PERCENTS = ARRAY_SIZE(noise_fields) - 1 };

static void scale_noise(struct noise *noise, double factor)
{
	size_t i;

	for (i = 0; i < N_PERCENTS; i++)
		*(double *)((char *)noise + noise_fields[i].offset) *= factor;
}

static int decode_noise(const struct jval *v, void *member, struct err *err)
{
	struct noise *noise = member;
	int r;

	scale_noise(noise, 100);
	r = jval_decode(v, noise_fields, ARRAY_SIZE(noise_fields), JVAL_STRICT, noise, err);
	scale_noise(noise, 0.01);
	return r;
}

struct fleet_row {
	struct world world;
	double small_percent;
};

#define AT(m) offsetof(struct fleet_row, m)
static const struct jfield fleet_fields[] = {
	{ "models", J_U64, AT(world.models), 0, .min = 1, .max = WORLD_MODELS_MAX },
	{ "of_five_percent", J_REAL, AT(small_percent), 0, .min = 0, .max = 100 },
	{ "rack", J_U64, AT(world.rack), 0, .min = 1, .max = WORLD_RACK_MAX },
};
#undef AT

static int decode_fleet(const struct jval *v, void *member, struct err *err)
{
	struct world *world = member;
	struct fleet_row row = { *world, world->small * 100 };
	int r = jval_decode(v, fleet_fields, ARRAY_SIZE(fleet_fields), JVAL_STRICT, &row, err);

	if (r < 0)
		return r;
	*world = row.world;
	world->small = row.small_percent / 100;
	return 0;
}

static int decode_fault(const struct jval *v, struct fault *ret, struct err *err)
{
	struct row row = { .fault = fault_init(), .slow_percent = NAN, .share_percent = NAN };
	int r = jval_decode(v, fault_fields, ARRAY_SIZE(fault_fields), JVAL_STRICT, &row, err);

	if (r == 0 && row.fault.until_us <= row.fault.onset_us)
		r = jval_fail(v, err, "it ends before it begins");
	if (r < 0)
		return r;
	row.fault.slow = isnan(row.slow_percent) ? fault_traits[row.fault.kind].loss
						 : row.slow_percent / 100;
	row.fault.share = row.share_percent / 100;
	if (row.fault.kind == FAULT_WRONG_SKU && row.fault.slow > 0)
		row.fault.slow = -row.fault.slow;
	*ret = row.fault;
	return 0;
}

static int decode_list(const struct jval *v, void *member, struct err *err)
{
	struct faults *f = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > FAULTS_MAX)
		r = jval_fail(v, err, "%zu faults, more than %d", n, FAULTS_MAX);
	if (r < 0)
		return r;
	free(f->list);
	f->list = xcalloc(n + 1, sizeof(*f->list));
	for (f->n = 0, i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);

		r = decode_fault(&item, &f->list[f->n++], err);
	}
	return r;
}

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	if (!json_is_integer(v->value) || json_integer_value(v->value) != 1)
		return jval_fail(v, err, "expected 1: this program reads faults/1");
	return 0;
}

static const struct jfield file_fields[] = {
	{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
	{ "random", J_BOOL, offsetof(struct faults, random), 0 },
	{ "noise", J_CUSTOM, offsetof(struct faults, noise), 0, .decode = decode_noise },
	{ "fleet", J_CUSTOM, offsetof(struct faults, world), 0, .decode = decode_fleet },
	{ "jobs", J_CUSTOM, offsetof(struct faults, jobs), 0, .decode = job_plan_decode },
	{ "faults", J_CUSTOM, 0, 0, .decode = decode_list },
};

int faults_decode(const struct jval *v, struct faults *ret, struct err *err)
{
	struct faults f = faults_init();
	int r = jval_decode(v, file_fields, ARRAY_SIZE(file_fields), JVAL_STRICT, &f, err);

	if (r < 0)
		faults_release(&f);
	else
		*ret = f;
	return r;
}

/* --- the usual mix --- */

enum { BORN_LEAST = 10, BORN_MOST = 30 }; /* loss of a GPU born slow, in percent */

/* The models it affects: a host born slow needs others of its model to compare with. */
enum usual_models { IN_ANY, IN_EACH, IN_LARGE };

static const struct self_baseline {
	int kind;
	uint64_t per_1000; /* per 1000 hosts and 10 days */
	bool born;	   /* present from the first day on */
	bool blamed;
	int models; /* enum usual_models */
} usual[] = {
	{ FAULT_SLOW_GPU, 8, .models = IN_EACH },
	{ FAULT_SLOW_HOST, 8, .models = IN_ANY },
	{ FAULT_SLOW_HOST, 8, .born = true, .models = IN_LARGE },
	{ FAULT_SLOW_GPU, 10, .born = true, .models = IN_EACH },
	{ FAULT_SLOW_GPU, 2, .born = true, .blamed = true, .models = IN_LARGE },
	{ FAULT_SLOW_PCIE, 4, .models = IN_ANY },
	{ FAULT_FLAPPING_LINK, 4, .models = IN_ANY },
	{ FAULT_DYING_GPU, 4, .models = IN_ANY },
	{ FAULT_LOST_CHANNEL, 4, .models = IN_LARGE },
	{ FAULT_LOST_CHANNEL, 4, .born = true, .models = IN_LARGE },
	{ FAULT_TOO_FAST, 2, .models = IN_ANY },
	{ FAULT_FLAP_STORM, 3, .models = IN_ANY },
	{ FAULT_XID_STORM, 3, .models = IN_ANY },
	{ FAULT_SILENT, 4, .models = IN_ANY },
	{ FAULT_CLOCK, 10, .born = true, .models = IN_ANY },
	{ FAULT_DUPLICATES, 10, .born = true, .models = IN_ANY },
	{ FAULT_LATE, 10, .born = true, .models = IN_ANY },
};

/* One of each per 1000 hosts; smaller fleets also get one, from this size on. */
static const struct usual_shared {
	int kind;
	uint64_t from_nodes, nodes, sku;
	double share;
	uint64_t lasts_us;
} usual_shared[] = {
	{ FAULT_HOT_RACK, 500, 1, 0, NAN, 2 * USEC_PER_DAY },
	{ FAULT_BAD_TOR, 500, 1, 0, NAN, 2 * USEC_PER_DAY },
	{ FAULT_SETTING, 200, 1, 1, 0.25, UINT64_MAX },
	{ FAULT_SLOW_JOB, 200, 14, 0, NAN, 2 * USEC_PER_DAY },
	{ FAULT_ROLL_OUT, 200, 1, 0, 0.1, UINT64_MAX },
};

/* Late enough that the host has a history, and at least a day before the end to find it. */
static uint64_t draw_onset(struct random *chance, uint64_t days_us)
{
	uint64_t from_us = days_us / 4,
		 to_us = days_us > 2 * USEC_PER_DAY ? days_us - USEC_PER_DAY : days_us * 3 / 4;

	return from_us + (uint64_t)(random_unit(chance) * (double)(to_us - from_us));
}

static struct fault *add_fault(struct faults *f, int kind)
{
	struct fault *fault;

	f->list = xrealloc(f->list, f->n + 1, sizeof(*f->list));
	fault = &f->list[f->n++];
	*fault = fault_init();
	fault->kind = kind;
	fault->slow = fault_traits[kind].loss;
	return fault;
}

static void add_shared(struct faults *f, uint64_t nodes, uint64_t days_us, struct random *chance)
{
	size_t i;
	uint64_t n;

	for (i = 0; i < ARRAY_SIZE(usual_shared); i++) {
		const struct usual_shared *u = &usual_shared[i];

		n = nodes < u->from_nodes ? 0 : MAX(nodes / 1000, UINT64_C(1));
		for (; n > 0 && f->world.models > (u->sku == FAULT_ANY ? 0 : u->sku); n--) {
			struct fault *fault = add_fault(f, u->kind);

			fault->nodes = u->nodes;
			fault->sku = u->sku;
			fault->share = u->share;
			fault->onset_us = draw_onset(chance, days_us);
			if (u->lasts_us != UINT64_MAX)
				fault->until_us = fault->onset_us + u->lasts_us;
			if (u->kind == FAULT_ROLL_OUT)
				fault->slow = 0.02;
		}
	}
}

static uint64_t count_of(const struct self_baseline *u, uint64_t nodes, uint64_t days_us)
{
	const double want = (double)u->per_1000 * (double)nodes / 1000 * (double)days_us /
			    (10.0 * (double)USEC_PER_DAY);

	if (u->born) /* does not depend on the days */
		return MAX(u->per_1000 * nodes / 1000, UINT64_C(1));
	return MAX((uint64_t)(want + 0.5), UINT64_C(1));
}

/* Returns the model of the i-th fault of a kind: each large model in turn, then any. */
static uint64_t model_of(const struct world *w, int models, uint64_t i)
{
	switch ((enum usual_models)models) {
	case IN_EACH:
		return i % (w->models + 1) < w->models ? i % (w->models + 1) : FAULT_ANY;
	case IN_LARGE:
		return i % w->models;
	default:
		return FAULT_ANY;
	}
}

void faults_add_usual(struct faults *f, uint64_t nodes, uint64_t days_us, uint64_t seed)
{
	struct random chance = random_seeded(seed ^ UINT64_C(0x5eed0fa17));
	uint64_t n, j;
	size_t i;

	add_shared(f, nodes, days_us, &chance);
	for (i = 0; i < ARRAY_SIZE(usual); i++) {
		n = count_of(&usual[i], nodes, days_us);
		for (j = 0; j < n; j++) {
			struct fault *fault = add_fault(f, usual[i].kind);

			fault->blamed = usual[i].blamed;
			fault->sku = model_of(&f->world, usual[i].models, j);
			fault->onset_us = usual[i].born ? 0 : draw_onset(&chance, days_us);
			if (usual[i].born && usual[i].kind == FAULT_SLOW_GPU)
				fault->slow = (BORN_LEAST +
					       (BORN_MOST - BORN_LEAST) * random_unit(&chance)) /
					      100;
		}
	}
}
