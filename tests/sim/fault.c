/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/fault.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/duration.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/xalloc.h"

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
	NULL,
};

static struct fault fault_init(void)
{
	return (struct fault){ .first = FAULT_ANY,
			       .nodes = 1,
			       .gpu = FAULT_ANY,
			       .slow = NAN,
			       .until_us = UINT64_MAX,
			       .known = true,
			       .waves = 1 };
}

struct faults faults_init(void)
{
	return (struct faults){ .noise = noise_init(), .random = true };
}

void faults_release(struct faults *f)
{
	free(f->list);
	*f = faults_init();
}

/* What a kind loses when nobody says how much. */
static double usual_loss(int kind)
{
	switch ((enum fault_kind)kind) {
	case FAULT_SLOW_PCIE:
	case FAULT_BAD_TOR:
		return 0.5;
	case FAULT_FLAPPING_LINK:
		return 0.3;
	case FAULT_ROLL_OUT:
		return 0.05;
	case FAULT_WRONG_SKU:
		return -0.3; /* asks so much more */
	default:
		return 0.1;
	}
}

/* --- the file --- */

/* Percent in the file, parts here. */
struct row {
	struct fault fault;
	double slow_percent;
};

#define AT(m) offsetof(struct row, m)
static const struct jfield fault_fields[] = {
	{ "kind", J_ENUM, AT(fault.kind), J_REQUIRED, .names = fault_names },
	{ "first", J_U64, AT(fault.first), 0, .min = 0, .max = 1e6 },
	{ "nodes", J_U64, AT(fault.nodes), 0, .min = 1, .max = 1e6 },
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

#define AT(m) offsetof(struct noise, m)
static const struct jfield noise_fields[] = {
	{ "gpu_percent", J_REAL, AT(gpu), 0, .min = 0, .max = 20 },
	{ "host_percent", J_REAL, AT(host), 0, .min = 0, .max = 20 },
	{ "run_percent", J_REAL, AT(run), 0, .min = 0, .max = 20 },
	{ "rack_percent", J_REAL, AT(rack), 0, .min = 0, .max = 20 },
	{ "swing_percent", J_REAL, AT(swing), 0, .min = 0, .max = 20 },
	{ "dip_percent", J_REAL, AT(dip), 0, .min = 0, .max = 100 },
};
#undef AT

static int decode_noise(const struct jval *v, void *member, struct err *err)
{
	struct noise *noise = member;
	double *const values[] = { &noise->gpu,	 &noise->host,	&noise->run,
				   &noise->rack, &noise->swing, &noise->dip };
	size_t i;
	int r;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		*values[i] *= 100;
	r = jval_decode(v, noise_fields, ARRAY_SIZE(noise_fields), JVAL_STRICT, noise, err);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		*values[i] /= 100;
	return r;
}

static int decode_fault(const struct jval *v, struct fault *ret, struct err *err)
{
	struct row row = { .fault = fault_init(), .slow_percent = NAN };
	int r = jval_decode(v, fault_fields, ARRAY_SIZE(fault_fields), JVAL_STRICT, &row, err);

	if (r == 0 && row.fault.until_us <= row.fault.onset_us)
		r = jval_fail(v, err, "it ends before it begins");
	if (r < 0)
		return r;
	row.fault.slow = isnan(row.slow_percent) ? usual_loss(row.fault.kind)
						 : row.slow_percent / 100;
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
		return jval_fail(v, err, "want 1: this program reads faults/1");
	return 0;
}

static const struct jfield file_fields[] = {
	{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
	{ "random", J_BOOL, offsetof(struct faults, random), 0 },
	{ "noise", J_CUSTOM, offsetof(struct faults, noise), 0, .decode = decode_noise },
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

static const struct usual {
	int kind;
	uint64_t per_1000; /* hosts and 10 days */
	bool born;	   /* from the first day on */
	bool blamed;
} usual[] = {
	{ FAULT_SLOW_GPU, 8, false, false },	  { FAULT_SLOW_HOST, 8, false, false },
	{ FAULT_SLOW_HOST, 8, true, false },	  { FAULT_SLOW_GPU, 2, true, false },
	{ FAULT_SLOW_GPU, 2, true, true },	  { FAULT_SLOW_PCIE, 4, false, false },
	{ FAULT_FLAPPING_LINK, 4, false, false }, { FAULT_DYING_GPU, 4, false, false },
	{ FAULT_SILENT, 4, false, false },	  { FAULT_CLOCK, 10, true, false },
	{ FAULT_DUPLICATES, 10, true, false },	  { FAULT_LATE, 10, true, false },
};

/* Early enough for a day to find it, late enough for a host to be known. */
static uint64_t draw_onset(struct random *chance, uint64_t days_us)
{
	uint64_t from_us = days_us / 4,
		 to_us = days_us > 2 * USEC_PER_DAY ? days_us - USEC_PER_DAY : days_us * 3 / 4;

	return from_us + (uint64_t)(random_unit(chance) * (double)(to_us - from_us));
}

void faults_add_usual(struct faults *f, uint64_t nodes, uint64_t days_us, uint64_t seed)
{
	struct random chance = random_seeded(seed ^ UINT64_C(0x5eed0fa17));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(usual); i++) {
		double want = (double)usual[i].per_1000 * (double)nodes / 1000 * (double)days_us /
			      (10.0 * (double)USEC_PER_DAY);
		uint64_t n = MAX((uint64_t)(want + 0.5), UINT64_C(1));

		if (usual[i].born) /* as many whatever the days */
			n = MAX(usual[i].per_1000 * nodes / 1000, UINT64_C(1));
		f->list = xrealloc(f->list, f->n + n, sizeof(*f->list));
		for (; n > 0; n--) {
			struct fault fault = fault_init();

			fault.kind = usual[i].kind;
			fault.slow = usual_loss(fault.kind);
			fault.blamed = usual[i].blamed;
			fault.onset_us = usual[i].born ? 0 : draw_onset(&chance, days_us);
			f->list[f->n++] = fault;
		}
	}
}
