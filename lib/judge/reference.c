/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/reference.h"

#include <math.h>

#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

/*
 * A part that has lost less than this share of its shortfall was born slow: one lower run is not
 * the onset of a permanent weakness.
 */
#define LOST_LATELY (1.0 / 3)

/*
 * Slack: 5 % where good devices of one kind agree within 1 to 2 %, 7 % for pairs, 10 % where a
 * shared bus is crossed. Good GPUs of a host differ by up to 5 % (stas00, ml-engineering), so never
 * less.
 */
static const struct family families[] = {
	/* Kernels reserve slightly varying amounts; one DIMM of 32 is 3 %. */
	{ .prefix = "inventory.dimm_bytes", .slack = 0.01, .count = true },
	{ .prefix = "inventory.", .count = true },
	/* 12 degrees at about 80 C: rows of racks and positions in a chassis differ by less. */
	{ .prefix = "gemm.burn_hbm_temp",
	  .slack = 0.15,
	  .compared = true,
	  .alone = true,
	  .heat = true },
	{ .prefix = "gemm.burn_gpu_temp",
	  .slack = 0.15,
	  .compared = true,
	  .alone = true,
	  .heat = true },
	/* gemm.rate already compares parts with peers, and burn_kept shows what this one lost. */
	{ .prefix = "gemm.burn_rate",
	  .slack = 0.05,
	  .compared = true,
	  .silicon = true,
	  .alone = true },
	/* Depends on the host's cores: equal at equal clocks, except for what else runs there. */
	{ .prefix = "gemm.launch", .slack = 0.06, .compared = true, .alike = true },
	{ .prefix = "gemm.", .slack = 0.05, .compared = true, .silicon = true },
	{ .prefix = "all_to_all.rnic_", .slack = 0.07, .compared = true },
	{ .prefix = "all_to_all.", .slack = 0.05, .compared = true },
	{ .prefix = "all_reduce.", .slack = 0.05, .compared = true },
	{ .prefix = "memory.device_bw", .slack = 0.05, .compared = true, .silicon = true },
	/* Host memory: its speed depends on the number of channels. */
	{ .prefix = "memory.read_bw", .slack = 0.10, .compared = true, .alike = true },
	{ .prefix = "memory.write_bw", .slack = 0.10, .compared = true, .alike = true },
	{ .prefix = "memory.copy_bw", .slack = 0.10, .compared = true, .alike = true },
	{ .prefix = "memory.triad_bw", .slack = 0.10, .compared = true, .alike = true },
	{ .prefix = "memory.", .slack = 0.10, .compared = true },
	{ .prefix = "rnic_pair.", .slack = 0.07, .compared = true },
	{ .prefix = "loopback.", .slack = 0.10, .compared = true },
	/* States and counters: the probe itself says whether they are bad. */
	{ .prefix = "host.", .slack = 0.10 },
	{ .prefix = "rnic.", .slack = 0.10 },
	{ .prefix = "gpu.", .slack = 0.10 },
};
/* Third-party probes: rates and times are compared, plain numbers are not. */
static const struct family foreign_rate = { .prefix = "", .slack = 0.10, .compared = true };
static const struct family foreign_number = { .prefix = "", .slack = 0.10 };

const struct family *family_find(const char *check, const char *unit)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		if (starts_with(check, families[i].prefix))
			return &families[i];
	}
	return unit && !streq(unit, "1") ? &foreign_rate : &foreign_number;
}

bool measure_of(const struct sample *s, struct measure *ret)
{
	const struct family *family = family_find(s->check, s->unit);

	if (s->state != SAMPLE_MEASURED || !isfinite(s->value))
		return false;
	if (s->better == BETTER_NONE && !family->count)
		return false;
	/* Else 71.2 GB/s would be far below a floor of 60e9 B/s. */
	if (!sample_unit_known(s->unit))
		return false;
	*ret = (struct measure){
		.value = s->value,
		.lower = s->better == BETTER_LOWER,
		.family = family,
		.slack = family->slack,
		.k = REFERENCE_K,
	};
	return true;
}

/* `value` / `other`, inverted so that less than 1 is the bad side. A floor of 0 always passes. */
static double part_of(const struct measure *m, double value, double other)
{
	double above = m->lower ? other : value, below = m->lower ? value : other;

	return below > 0 ? above / below : INFINITY;
}

bool measure_keeps(const struct measure *m, double limit)
{
	return !(m->lower ? m->value > limit : m->value < limit);
}

static void hold_against(const struct measure *m, struct expectation *e)
{
	e->low = !measure_keeps(m, e->floor);
	e->far = !measure_keeps(m, e->limit);
	e->margin = part_of(m, m->value, e->floor);
	/* A SKU file may require "none at all": a floor of 0 with any value above it. */
	if (e->low && e->margin >= 1)
		e->margin = 0;
}

/* The limit beyond `value`, on the bad side, where one reference alone is enough. */
static double far_from(const struct measure *m, double value)
{
	return m->lower ? value / REFERENCE_FAR : value * REFERENCE_FAR;
}

static double floor_at(const struct measure *m, double expected, double distance)
{
	return m->lower ? expected + distance : fmax(expected - distance, 0);
}

struct center center_of(const double *sorted, size_t n, double within)
{
	struct center c = { .median = NAN, .sigma = NAN, .n = n };

	if (n > 0) {
		c.median = stats_median(sorted, n);
		c.sigma = hypot(stats_sigma_of_mad(stats_mad(sorted, n, c.median)), within);
	}
	return c;
}

struct center reference_center(double *values, size_t n, double within)
{
	struct center c = { .median = NAN, .sigma = NAN, .n = n };
	size_t i;

	if (n == 0)
		return c;
	c.median = stats_median_of(values, n);
	for (i = 0; i < n; i++)
		values[i] = fabs(values[i] - c.median);
	c.sigma = hypot(stats_sigma_of_mad(stats_median_of(values, n)), within);
	return c;
}

/* Used for peers, history and fleet. */
static bool expectation_of(const struct measure *m, const struct center *c, struct expectation *e)
{
	if (!(c->median > 0))
		return false;
	e->expected = c->median;
	e->sigma = c->sigma;
	e->floor = floor_at(m, c->median, fmax(m->k * c->sigma, m->slack * c->median));
	e->limit = far_from(m, c->median);
	e->limit = m->lower ? fmax(e->limit, e->floor) : fmin(e->limit, e->floor);
	if (m->family->heat)
		e->limit = (double)NAN;
	hold_against(m, e);
	return true;
}

static bool expectation_of_few(const struct measure *m, const double *sorted, size_t n,
			       struct expectation *e)
{
	double best = m->lower ? sorted[0] : sorted[n - 1];

	if (!(best > 0))
		return false;
	e->expected = best;
	e->sigma = NAN;
	e->floor = floor_at(m, best, REFERENCE_FEW_SLACK * best);
	e->limit = NAN;
	hold_against(m, e);
	return true;
}

bool expectation_from_peers(const struct measure *m, const double *sorted, size_t n,
			    struct expectation *ret)
{
	struct expectation e = { .n = n, .source = SOURCE_PEERS };
	struct center center;
	bool known;

	if (n == 0 || !m->family->compared)
		return false;
	if (n < REFERENCE_N_MIN) {
		known = expectation_of_few(m, sorted, n, &e);
	} else {
		center = center_of(sorted, n, 0);
		center.sigma = fmax(center.sigma, m->within);
		known = expectation_of(m, &center, &e);
	}
	if (known)
		*ret = e;
	return known;
}

bool expectation_from_fleet(const struct measure *m, const struct center *hosts,
			    struct expectation *ret)
{
	struct expectation e = { .n = hosts->n, .source = SOURCE_FLEET };

	if (hosts->n < REFERENCE_N_MIN || !m->family->compared || !expectation_of(m, hosts, &e))
		return false;
	*ret = e;
	return true;
}

bool expectation_from_history(const struct measure *m, const double *values, size_t n,
			      struct expectation *ret)
{
	struct expectation e = { .n = n, .source = SOURCE_HISTORY };
	double sorted[REFERENCE_HISTORY_MAX];
	struct center center;

	if (n < REFERENCE_N_MIN || n > REFERENCE_HISTORY_MAX)
		return false;
	if (!m->family->compared && !m->family->count)
		return false;
	memcpy(sorted, values, n * sizeof(*values));
	stats_sort(sorted, n);
	center = center_of(sorted, n, 0);
	if (!expectation_of(m, &center, &e))
		return false;
	*ret = e;
	return true;
}

bool expectation_from_sku(const struct measure *m, double expected, double floor,
			  struct expectation *ret)
{
	struct expectation e = { .n = 1, .source = SOURCE_SKU };

	if (!isfinite(expected) && !isfinite(floor))
		return false;
	e.expected = isfinite(expected) ? expected : floor;
	e.floor = isfinite(floor) ? floor : floor_at(m, expected, m->slack * expected);
	e.sigma = NAN;
	/* With a floor of "none at all", nothing is below it to be far from. */
	e.limit = m->family->count || e.floor <= 0 ? e.floor : far_from(m, e.floor);
	hold_against(m, &e);
	*ret = e;
	return true;
}

bool expectation_is_exceeded(const struct measure *m, const struct expectation *e)
{
	const double times = m->lower ? e->expected / m->value : m->value / e->expected;
	const double more = m->lower ? e->expected - m->value : m->value - e->expected;

	if (!m->family->compared || m->family->heat || !(m->value > 0) || !(e->expected > 0))
		return false;
	if (e->source == SOURCE_SKU ? e->expected == e->floor : !isfinite(e->sigma))
		return false;
	return times >= REFERENCE_IMPOSSIBLE && !(more < REFERENCE_IMPOSSIBLE_K * e->sigma);
}

unsigned expectations_by(const struct expectation *e, size_t n, bool low)
{
	unsigned by = 0;
	size_t i;

	for (i = 0; i < n; i++)
		by |= !low || e[i].low ? 1U << e[i].source : 0;
	return by;
}

/*
 * True if a better-informed reference passes the value. Other hosts of the SKU show how far good
 * parts spread, which a few peers cannot, and a SKU file may ask too much; a part that has always
 * been so beside its few peers is a good one. Nothing overrides the value's own history.
 */
static bool is_contradicted(unsigned known, unsigned low)
{
	const unsigned fleet = 1U << SOURCE_FLEET, history = 1U << SOURCE_HISTORY;

	if (low & (fleet | history))
		return false;
	return known & fleet || (known & history && low == 1U << SOURCE_PEERS);
}

/*
 * 7.5 % below its own usual value where the floor is 5 %: halfway to a straggler's 10 %, and more
 * than the noise of one run costs one of eight parts.
 */
#define DROPPED (0.925 / 0.95)

/*
 * Peers and fleet both compare a part with other good parts: if the fleet knows them all, they
 * count once. Its usual ratio to its peers is no third reference, unless it has dropped far below
 * it. A deep part is further from the others than any good part: then both count.
 */
static bool are_peers_known_better(const struct expectation *e, size_t n)
{
	bool parts = false, dropped = false;
	size_t i;

	for (i = 0; i < n; i++) {
		parts |= e[i].parts;
		dropped |= e[i].source == SOURCE_HISTORY && e[i].low && e[i].margin < DROPPED;
	}
	return parts && !dropped && !expectations_deep(e, n);
}

int expectations_level(const struct expectation *e, size_t n)
{
	const unsigned known = expectations_by(e, n, false), low = expectations_by(e, n, true);
	const bool others = are_peers_known_better(e, n);
	size_t n_low = 0, i;
	bool far = false;
	int level;

	for (i = 0; i < n; i++) {
		if (others && e[i].source == SOURCE_PEERS)
			continue;
		n_low += e[i].low;
		far |= e[i].far;
	}
	level = n_low >= 2 || far ? VERDICT_FAIL : n_low ? VERDICT_WARN : VERDICT_PASS;
	if (!is_contradicted(known, low) || level == VERDICT_PASS)
		return level;
	return level == VERDICT_FAIL ? VERDICT_WARN : VERDICT_PASS;
}

/* The logarithm of how far the value is on the bad side of the expected one. */
static double loss_of(const struct expectation *e)
{
	return fabs(log(e->floor / e->expected)) - log(e->margin);
}

/* Its largest shortfall according to the other references. */
static double lacks(const struct expectation *e, size_t n)
{
	double most = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (e[i].source != SOURCE_HISTORY && e[i].low)
			most = fmax(most, loss_of(&e[i]));
	}
	return most;
}

int expectations_usual(const struct expectation *e, size_t n)
{
	int usual = USUAL_UNKNOWN;
	size_t i;

	for (i = 0; i < n; i++) {
		if (e[i].source == SOURCE_HISTORY)
			usual = MAX(usual, e[i].low && loss_of(&e[i]) > LOST_LATELY * lacks(e, n)
						   ? (int)USUAL_DROPPED
						   : (int)USUAL_KEPT);
	}
	return usual;
}

bool expectations_deep(const struct expectation *e, size_t n)
{
	size_t i;

	for (i = 0; i < n && !e[i].deep; i++)
		;
	return i < n;
}

const struct expectation *expectations_worst(const struct expectation *e, size_t n)
{
	const struct expectation *worst = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!worst || e[i].margin < worst->margin)
			worst = &e[i];
	}
	return worst;
}

/*
 * Params that are settings. A host whose firmware or operator sets another power limit is slower
 * than the others; if it were compared only with hosts of the same limit, that would never be
 * noticed. SKU files still match them (sku.h).
 */
static const char *const settings[] = { "power_limit_w" };

static bool has_settings(const char *params)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		if (strstr(params, settings[i]))
			return true;
	}
	return false;
}

/* Canonical text; NULL if it is not an object. New memory. */
static char *without_settings(json_t *params)
{
	CLEANUP(json_freep) json_t *compared = json_copy(params);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++)
		(void)json_object_del(compared, settings[i]);
	return json_dumps(compared, JSON_COMPACT | JSON_SORT_KEYS);
}

/* How long the text of a string is that begins here, with both quotes. */
static size_t string_length(const char *text)
{
	size_t n = 1;

	while (text[n] && text[n] != '"')
		n += text[n] == '\\' && text[n + 1] ? 2 : 1;
	return n + (text[n] == '"');
}

/* How long the text of a member of an object is that begins here, name and value. */
static size_t member_length(const char *text)
{
	size_t n = 0, depth = 0;

	while (text[n] && (depth > 0 || (text[n] != ',' && text[n] != '}'))) {
		depth += text[n] == '{' || text[n] == '[';
		depth -= text[n] == '}' || text[n] == ']';
		n += text[n] == '"' ? string_length(text + n) : 1;
	}
	return n;
}

static bool is_setting(const char *member, size_t length)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		const size_t n = strlen(settings[i]);

		if (length > n + 2 && strncmp(member + 1, settings[i], n) == 0 &&
		    member[n + 1] == '"')
			return true;
	}
	return false;
}

/*
 * The same of the text of an object, which is canonical. Not read and written again: it is asked
 * for several times a sample, of every report of a fleet. New memory.
 */
static char *text_without_settings(const char *params)
{
	char *kept = xstrdup(params), *to = kept + 1;
	const char *from = params + 1;

	if (*params != '{')
		return kept;
	while (*from && *from != '}') {
		const size_t n = member_length(from);

		if (!is_setting(from, n)) {
			if (to > kept + 1)
				*to++ = ',';
			memcpy(to, from, n);
			to += n;
		}
		from += n + (from[n] == ',');
	}
	memcpy(to, from, strlen(from) + 1);
	return kept;
}

char *params_key(const struct sample *s)
{
	char *text = NULL;

	if (s->params_text)
		return has_settings(s->params_text) ? text_without_settings(s->params_text)
						    : xstrdup(s->params_text);
	if (s->params)
		text = without_settings(s->params);
	return text ? text : xstrdup("{}");
}

struct kind kind_of(const struct sample *s, char **ret_memory)
{
	*ret_memory = s->params_text && !has_settings(s->params_text) ? NULL : params_key(s);
	return (struct kind){
		.check = s->check,
		.locality = s->locality ? s->locality : "",
		.unit = s->unit ? s->unit : "",
		.better = s->better,
		.params = *ret_memory ? *ret_memory : s->params_text,
	};
}

/* Texts of one report often share memory. */
static int compare_texts(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a, b);
}

int kind_compare(const struct kind *a, const struct kind *b)
{
	int r = compare_texts(a->check, b->check);

	if (r == 0)
		r = compare_texts(a->locality, b->locality);
	if (r == 0)
		r = compare_texts(a->unit, b->unit);
	if (r == 0)
		r = a->better - b->better;
	return r == 0 ? compare_texts(a->params, b->params) : r;
}
