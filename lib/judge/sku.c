/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/sku.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/jsome.h"
#include "lib/report/report.h"

static void expect_release(struct sku_expect *e)
{
	size_t i;

	for (i = 0; i < e->n_params; i++) {
		free(e->params[i].name);
		strv_free(e->params[i].texts);
	}
	free(e->params);
	free(e->check);
	strv_free(e->localities);
	free(e->subject);
	free(e->of);
	free(e->unit);
	free(e->source);
}

void sku_release(struct sku *s)
{
	size_t i;

	free(s->name);
	free(s->product);
	free(s->cpu);
	strv_free(s->gpus);
	strv_free(s->nics);
	strv_free(s->switches);
	free(s->counts);
	strv_free(s->probes);
	for (i = 0; i < s->n_inventory; i++)
		expect_release(&s->inventory[i]);
	for (i = 0; i < s->n_expects; i++)
		expect_release(&s->expects[i]);
	free(s->inventory);
	free(s->expects);
	*s = (struct sku){ 0 };
}

static int decode_words(const struct jval *v, void *member, struct err *err)
{
	char ***ids = member;

	strv_free(*ids);
	*ids = NULL;
	return jval_strv(v, SKU_IDS_MAX, ids, err);
}

/* "10de:2330", or a glob of such. Anything else would silently match no device. */
static bool is_pci_glob(const char *text)
{
	static const char allowed[] = "0123456789abcdefABCDEF*?[]-";
	size_t vendor = strspn(text, allowed);

	return vendor > 0 && text[vendor] == ':' && text[vendor + 1] &&
	       text[vendor + 1 + strspn(text + vendor + 1, allowed)] == '\0';
}

static int decode_ids(const struct jval *v, void *member, struct err *err)
{
	char *const *ids;
	size_t i;
	int r = decode_words(v, member, err);

	memcpy(&ids, member, sizeof(ids));
	for (i = 0; r == 0 && ids && ids[i]; i++) {
		struct jval at = jval_at(v, i);

		if (!is_pci_glob(ids[i]))
			r = jval_fail(
				&at, err,
				"expected a PCI id such as 10de:2330, or a glob such as 10de:*");
	}
	return r;
}

/* A whole number above 0. */
static int take_count(const struct jval *v, uint64_t *ret, struct err *err)
{
	const json_int_t count = json_integer_value(v->value);

	if (!json_is_integer(v->value) || count < 1 || count > SKU_GPUS_MAX)
		return jval_fail(
			v, err, "expected a number of GPUs from 1 to %d, or a list of such numbers",
			SKU_GPUS_MAX);
	*ret = (uint64_t)count;
	return 0;
}

/* 8, or [1, 2, 4]. */
static int decode_gpus(const struct jval *v, void *member, struct err *err)
{
	const size_t n = json_is_array(v->value) ? json_array_size(v->value) : 1;
	uint64_t **counts = member;
	size_t i;
	int r = 0;

	if (n == 0 || n > SKU_IDS_MAX)
		return jval_fail(v, err, "expected 1 to %d numbers of GPUs in the list",
				 SKU_IDS_MAX);
	*counts = xcalloc(n + 1, sizeof(**counts));
	for (i = 0; r == 0 && i < n; i++) {
		const struct jval one = json_is_array(v->value) ? jval_at(v, i) : *v;

		r = take_count(&one, &(*counts)[i], err);
	}
	return r;
}

static int decode_virtual(const struct jval *v, void *member, struct err *err)
{
	int *is_virtual = member;

	if (!json_is_boolean(v->value))
		return jval_fail(v, err, "expected true or false, not %s", jval_type_name(v));
	*is_virtual = json_is_true(v->value) ? SKU_VIRTUAL : SKU_BARE;
	return 0;
}

#define SKU(m) offsetof(struct sku, m)
#define EXPECT(m) offsetof(struct sku_expect, m)

static const struct jfield match_fields[] = {
	{ "product", J_STRING, SKU(product), 0 },
	{ "cpu", J_STRING, SKU(cpu), 0 },
	{ "gpu", J_CUSTOM, SKU(gpus), 0, .decode = decode_ids },
	{ "nic", J_CUSTOM, SKU(nics), 0, .decode = decode_ids },
	{ "gpus", J_CUSTOM, SKU(counts), 0, .decode = decode_gpus },
	{ "nvswitch", J_CUSTOM, SKU(switches), 0, .decode = decode_ids },
	{ "virtual", J_CUSTOM, SKU(is_virtual), 0, .decode = decode_virtual },
};

static int decode_match(const struct jval *v, void *member, struct err *err)
{
	return jval_decode(v, match_fields, ARRAY_SIZE(match_fields), JVAL_STRICT, member, err);
}

static const struct jfield count_fields[] = {
	{ "count", J_REAL, EXPECT(value), J_REQUIRED, .min = 0, .max = 1e15 },
	{ "source", J_CUSTOM, EXPECT(source), J_REQUIRED, .decode = jsome_text },
};

/* The counts that a SKU can require: the inventory.* checks. */
static const char *const inventory_names[] = {
	"cpus", "numa_nodes", "dimm_bytes", "gpus", "nics", "ports_active", "nvlinks",
};

static bool is_inventory(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(inventory_names); i++) {
		if (streq(inventory_names[i], name))
			return true;
	}
	return false;
}

static int decode_count(const struct jval *v, struct sku *s, struct err *err)
{
	struct sku_expect *e = &s->inventory[s->n_inventory++];
	const struct jval count = jval_get(v, "count");
	int r;

	*e = (struct sku_expect){
		.check = xasprintf("inventory.%s", v->key),
		.unit = xstrdup("1"),
		.part = NAN,
	};
	r = jval_decode(v, count_fields, ARRAY_SIZE(count_fields), JVAL_STRICT, e, err);
	if (r == 0 && e->value != floor(e->value))
		r = jval_fail(&count, err, "%.15g is not a whole number", e->value);
	e->floor = e->value;
	return r;
}

static int decode_inventory(const struct jval *v, void *member, struct err *err)
{
	struct sku *s = member;
	json_t *object, *value;
	const char *key;
	int r = jval_need_object(v, err);

	if (r < 0)
		return r;
	memcpy(&object, &v->value, sizeof(object)); /* the iterator wants non-const */
	s->inventory = xcalloc(ARRAY_SIZE(inventory_names), sizeof(*s->inventory));
	json_object_foreach(object, key, value)
	{
		struct jval item = jval_get(v, key);

		r = is_inventory(key) ? decode_count(&item, s, err)
				      : jval_fail(&item, err, "unknown key");
		if (r < 0)
			return r;
	}
	return 0;
}

/* One glob, or several of which one must match. */
static int decode_globs(const struct jval *v, void *member, struct err *err)
{
	char ***globs = member;

	if (!json_is_string(v->value))
		return decode_words(v, member, err);
	*globs = xcalloc(2, sizeof(**globs));
	(*globs)[0] = xstrdup(json_string_value(v->value));
	return 0;
}

static const struct jfield range_fields[] = {
	{ "min", J_REAL, offsetof(struct sku_param, min), 0, .min = -1e18, .max = 1e18 },
	{ "max", J_REAL, offsetof(struct sku_param, max), 0, .min = -1e18, .max = 1e18 },
};

/* bf16, [tf32, f32], 8, true or {min: 650}. */
static int decode_param(const struct jval *v, struct sku_param *ret, struct err *err)
{
	*ret = (struct sku_param){ .name = xstrdup(v->key), .min = -INFINITY, .max = INFINITY };
	if (json_is_object(v->value))
		return jval_decode(v, range_fields, ARRAY_SIZE(range_fields), JVAL_STRICT, ret, err);
	if (json_is_number(v->value)) {
		ret->min = ret->max = json_number_value(v->value);
		return 0;
	}
	if (!json_is_boolean(v->value))
		return decode_globs(v, &ret->texts, err);
	ret->texts = xcalloc(2, sizeof(*ret->texts));
	ret->texts[0] = xstrdup(json_is_true(v->value) ? "true" : "false");
	return 0;
}

static int decode_params(const struct jval *v, void *member, struct err *err)
{
	struct sku_expect *e = member;
	json_t *object, *value;
	const char *key;
	int r = jval_need_object(v, err);

	if (r == 0 && json_object_size(v->value) > SKU_PARAMS_MAX)
		r = jval_fail(v, err, "more than %d params", SKU_PARAMS_MAX);
	if (r < 0)
		return r;
	memcpy(&object, &v->value, sizeof(object)); /* the iterator wants non-const */
	e->params = xcalloc(json_object_size(object), sizeof(*e->params));
	json_object_foreach(object, key, value)
	{
		const struct jval item = jval_get(v, key);

		r = decode_param(&item, &e->params[e->n_params++], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static const struct jfield expect_fields[] = {
	{ "check", J_CUSTOM, EXPECT(check), J_REQUIRED, .decode = jsome_text },
	{ "class", J_CUSTOM, EXPECT(localities), 0, .decode = decode_globs },
	{ "subject", J_STRING, EXPECT(subject), 0 },
	{ "params", J_CUSTOM, 0, 0, .decode = decode_params },
	{ "value", J_REAL, EXPECT(value), 0, .min = 1e-12, .max = 1e18 },
	{ "floor", J_REAL, EXPECT(floor), 0, .min = 1e-12, .max = 1e18 },
	{ "part", J_REAL, EXPECT(part), 0, .min = 1e-6, .max = 1e6 },
	{ "of", J_CUSTOM, EXPECT(of), 0, .decode = jsome_text },
	{ "unit", J_STRING, EXPECT(unit), J_REQUIRED },
	{ "source", J_CUSTOM, EXPECT(source), J_REQUIRED, .decode = jsome_text },
};

/* Exactly one way of giving the floor is allowed. */
static int check_floor(const struct jval *v, const struct sku_expect *e, struct err *err)
{
	const struct jval part = jval_get(v, "part"), of = jval_get(v, "of"),
			  missing = jval_get(v, "floor");

	if (isfinite(e->part) && !e->of)
		return jval_fail(&of, err,
				 "missing: which number of the params does part belong to?");
	if (e->of && !isfinite(e->part))
		return jval_fail(&part, err, "missing");
	if (isfinite(e->part) && (isfinite(e->floor) || isfinite(e->value)))
		return jval_fail(&part, err, "cannot be combined with floor or value");
	if (!isfinite(e->part) && !isfinite(e->floor))
		return jval_fail(&missing, err, "missing");
	return 0;
}

/* Rejects rows that would silently compare with nothing, or with a value 1e9 times too small. */
static int check_expect(const struct jval *v, const struct sku_expect *e, struct err *err)
{
	const struct jval unit = jval_get(v, "unit"), class = jval_get(v, "class");
	size_t i;

	if (!sample_unit_known(e->unit))
		return jval_fail(&unit, err,
				 "'%.40s': expected B/s, s, FLOP/s or 1, and the numbers in it: "
				 "24.9 GB/s is "
				 "24.9e9",
				 e->unit);
	for (i = 0; e->localities && e->localities[i]; i++) {
		if (!sample_class_possible(e->localities[i]))
			return jval_fail(&class, err, "'%.40s' matches none of " SAMPLE_CLASSES,
					 e->localities[i]);
	}
	return check_floor(v, e, err);
}

static int decode_expects(const struct jval *v, void *member, struct err *err)
{
	struct sku *s = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > SKU_EXPECT_MAX)
		r = jval_fail(v, err, "%zu expectations, more than %d", n, SKU_EXPECT_MAX);
	if (r < 0)
		return r;
	s->expects = xcalloc(n, sizeof(*s->expects));
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);
		struct sku_expect *e = &s->expects[s->n_expects++];

		e->value = e->floor = e->part = NAN;
		r = jval_decode(&item, expect_fields, ARRAY_SIZE(expect_fields), JVAL_STRICT, e,
				err);
		if (r == 0)
			r = check_expect(&item, e, err);
	}
	return r;
}

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	if (!json_is_integer(v->value) || json_integer_value(v->value) != 1)
		return jval_fail(v, err, "expected 1: this program reads sku/1");
	return 0;
}

static const struct jfield sku_fields[] = {
	{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
	{ "sku", J_STRING, SKU(name), J_REQUIRED },
	{ "match", J_CUSTOM, 0, J_REQUIRED, .decode = decode_match },
	{ "inventory", J_CUSTOM, 0, 0, .decode = decode_inventory },
	{ "probes", J_CUSTOM, SKU(probes), 0, .decode = decode_words },
	{ "expect", J_CUSTOM, 0, 0, .decode = decode_expects },
};

/* It goes into reports, pins and shell commands, so it must be one word. */
static int check_name(const struct jval *v, const char *name, struct err *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const struct jval at = jval_get(v, "sku");
	const size_t length = strlen(name);

	if (length == 0 || length > SKU_NAME_MAX || strspn(name, allowed) != length ||
	    name[0] == '.' || name[0] == '-')
		return jval_fail(&at, err, "expected a name of letters, digits, '.', '-', '_'");
	return 0;
}

int sku_decode(const struct jval *v, struct sku *ret, struct err *err)
{
	struct sku s = { 0 };
	int r = jval_decode(v, sku_fields, ARRAY_SIZE(sku_fields), JVAL_STRICT, &s, err);

	if (r == 0)
		r = check_name(v, s.name, err);
	if (r < 0)
		sku_release(&s);
	else
		*ret = s;
	return r;
}

static bool shares(char *const *wanted, char *const *present)
{
	size_t i, j;

	for (i = 0; wanted && wanted[i]; i++) {
		for (j = 0; present && present[j]; j++) {
			if (fnmatch(wanted[i], present[j], FNM_CASEFOLD) == 0)
				return true;
		}
	}
	return false;
}

/* A given list must share an id; an empty one requires that there is none. */
static bool ids_match(char *const *wanted, char *const *present)
{
	if (!wanted)
		return true;
	if (!wanted[0])
		return strv_len(present) == 0;
	return shares(wanted, present);
}

bool sku_matches_kinds(const struct sku *s, const struct sku_models *m)
{
	return ids_match(s->gpus, m->gpus) && ids_match(s->nics, m->nics);
}

/* The smallest board of the file that the GPUs fit on; 0 if there is none. */
static uint64_t board_of(const struct sku *s, const struct sku_models *m)
{
	uint64_t board = 0;
	size_t i;

	for (i = 0; s->counts && s->counts[i]; i++) {
		if (s->counts[i] >= m->n_gpus && (board == 0 || s->counts[i] < board))
			board = s->counts[i];
	}
	return board;
}

/* A guest may have been given part of a board, unless it sees the switches of the whole board. */
static bool counts_match(const struct sku *s, const struct sku_models *m)
{
	const uint64_t board = board_of(s, m);

	if (!s->counts || board == m->n_gpus)
		return true;
	return board > 0 && (!m->is_virtual || strv_len(m->switches) > 0);
}

static bool is_of_kind(int wanted, bool is_virtual)
{
	return wanted == SKU_ANY || is_virtual == (wanted == SKU_VIRTUAL);
}

bool sku_matches(const struct sku *s, const struct sku_models *m)
{
	if (!ids_match(s->switches, m->switches) || !is_of_kind(s->is_virtual, m->is_virtual) ||
	    !counts_match(s, m))
		return false;
	if (s->product && fnmatch(s->product, m->product, FNM_CASEFOLD) != 0)
		return false;
	if (s->cpu && fnmatch(s->cpu, m->cpu, FNM_CASEFOLD) != 0)
		return false;
	return sku_matches_kinds(s, m);
}

/* How many kinds of model a file names. */
static int kinds_of(const struct sku *s)
{
	return (s->product != NULL) + (s->cpu != NULL) + (s->gpus != NULL) + (s->nics != NULL);
}

static int board_words(const struct sku *s)
{
	return (s->counts != NULL) + (s->switches != NULL) + (s->is_virtual != SKU_ANY);
}

bool sku_better(const struct sku *s, const struct sku *other, const struct sku_models *m)
{
	const uint64_t mine = board_of(s, m), theirs = board_of(other, m);
	const bool whole = !s->counts || mine == m->n_gpus;
	const bool other_whole = !other->counts || theirs == m->n_gpus;

	if (kinds_of(s) != kinds_of(other))
		return kinds_of(s) > kinds_of(other);
	if (whole != other_whole)
		return whole;
	if (board_words(s) != board_words(other))
		return board_words(s) > board_words(other);
	return s->counts && other->counts && mine < theirs;
}

static char *join(char *const *strv)
{
	char *text = xstrdup("");
	size_t i;

	for (i = 0; strv && strv[i]; i++) {
		char *longer = xasprintf("%s%s%s", text, i ? "," : "", strv[i]);

		free(text);
		text = longer;
	}
	return text;
}

char *sku_models_text(const struct sku_models *m)
{
	CLEANUP(freep) char *gpus = join(m->gpus);
	CLEANUP(freep) char *nics = join(m->nics);

	return xasprintf("product=%s; cpu=%s; gpu=%s; nic=%s", m->product, m->cpu, gpus, nics);
}

void sku_models_release(struct sku_models *m)
{
	free(m->product);
	free(m->cpu);
	strv_free(m->gpus);
	strv_free(m->nics);
	strv_free(m->switches);
	*m = (struct sku_models){ 0 };
}

static bool is_plain(char c)
{
	return c != '*' && c != '?' && c != '[' && c != '\\';
}

/* Most patterns fail on their first letters, for which fnmatch() takes hundreds of instructions. */
static bool matches(const char *glob, const char *text)
{
	if (!glob || !text)
		return !glob;
	while (*glob && *glob == *text && is_plain(*glob)) {
		glob++;
		text++;
	}
	return is_plain(*glob) ? *glob == *text : fnmatch(glob, text, 0) == 0;
}

/* "mlx5_0:1>numa:0*3": cells that were measured at once and share a link. */
static bool is_group(const char *subject)
{
	const char *star = subject ? strrchr(subject, '*') : NULL;

	return star && star[1] && star[1 + strspn(star + 1, "0123456789")] == '\0';
}

/*
 * What holds for one flow does not hold for several at once: patterns must ask for these, "*\*3".
 */
static bool matches_subject(const char *glob, const char *subject)
{
	if (is_group(subject) && (!glob || !strstr(glob, "\\*")))
		return false;
	return matches(glob, subject);
}

/* A sample without a class matches no class. */
static bool matches_any(char *const *globs, const char *text)
{
	size_t i;

	for (i = 0; globs && globs[i]; i++) {
		if (matches(globs[i], text))
			return true;
	}
	return !globs;
}

static bool param_fits(const struct sku_param *p, const json_t *value)
{
	const double number = json_number_value(value);

	if (!p->texts)
		return json_is_number(value) && number >= p->min && number <= p->max;
	if (json_is_boolean(value))
		return matches_any(p->texts, json_is_true(value) ? "true" : "false");
	return json_is_string(value) && matches_any(p->texts, json_string_value(value));
}

/* A sample being looked up; its params are parsed when the first row needs them. */
struct asked {
	const struct sample *sample;
	json_t *read; /* owned; set if the sample only has their text */
};

static const json_t *params_of(struct asked *a)
{
	const struct sample *s = a->sample;

	if (!s->params && !a->read && s->params_text)
		a->read = json_loads(s->params_text, 0, NULL);
	return s->params ? s->params : a->read;
}

/*
 * How a GPU is shared limits what it can reach: encrypted copies of confidential computing, a MIG
 * instance. Only rows that name it apply to such samples. (Virtual GPUs are not measured.)
 */
static const char *const shares_of_gpu[] = { "cc", "mig" };

static bool names_param(const struct sku_expect *e, const char *name)
{
	size_t i = 0;

	while (i < e->n_params && !streq(e->params[i].name, name))
		i++;
	return i < e->n_params;
}

static bool is_of_whole_gpu(const struct sku_expect *e, struct asked *a)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shares_of_gpu); i++) {
		const char *value =
			json_string_value(json_object_get(params_of(a), shares_of_gpu[i]));

		if (value && !streq(value, "off") && !names_param(e, shares_of_gpu[i]))
			return false;
	}
	return true;
}

static bool params_fit(const struct sku_expect *e, struct asked *a)
{
	size_t i;

	for (i = 0; i < e->n_params; i++) {
		const json_t *value = json_object_get(params_of(a), e->params[i].name);

		if (value && !param_fits(&e->params[i], value))
			return false;
	}
	return is_of_whole_gpu(e, a) &&
	       (!e->of || json_number_value(json_object_get(params_of(a), e->of)) > 0);
}

static bool is_about(const struct sku_expect *e, struct asked *a)
{
	const struct sample *s = a->sample;

	return matches(e->check, s->check) && matches_any(e->localities, s->locality) &&
	       matches_subject(e->subject, s->subject) && params_fit(e, a);
}

static const struct sku_expect *find(const struct sku_expect *list, size_t n, struct asked *a)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (is_about(&list[i], a))
			return &list[i];
	}
	return NULL;
}

const struct sku_expect *sku_expectation(const struct sku *s, const struct sample *sample,
					 double *ret_floor)
{
	struct asked a = { .sample = sample };
	const struct sku_expect *e = find(s->inventory, s->n_inventory, &a);

	if (!e)
		e = find(s->expects, s->n_expects, &a);
	if (e)
		*ret_floor =
			e->of ? e->part * json_number_value(json_object_get(params_of(&a), e->of))
			      : e->floor;
	json_decref(a.read);
	return e;
}

bool sku_expects_probe(const struct sku *s, const char *probe)
{
	size_t i;

	for (i = 0; s->probes && s->probes[i]; i++) {
		if (streq(s->probes[i], probe))
			return true;
	}
	return false;
}
