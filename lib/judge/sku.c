/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/sku.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>

#include "lib/err.h"
#include "lib/jsome.h"
#include "lib/report.h"
#include "lib/xalloc.h"

static void expect_release(struct sku_expect *e)
{
	free(e->check);
	free(e->locality);
	free(e->subject);
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

/* "10de:2330", or a glob of such: what else would match no device, and nobody would see why. */
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
			r = jval_fail(&at, err, "want a PCI id as 10de:2330, or a glob as 10de:*");
	}
	return r;
}

#define SKU(m) offsetof(struct sku, m)
#define EXPECT(m) offsetof(struct sku_expect, m)

static const struct jfield match_fields[] = {
	{ "product", J_STRING, SKU(product), 0 },
	{ "cpu", J_STRING, SKU(cpu), 0 },
	{ "gpu", J_CUSTOM, SKU(gpus), 0, .decode = decode_ids },
	{ "nic", J_CUSTOM, SKU(nics), 0, .decode = decode_ids },
};

static int decode_match(const struct jval *v, void *member, struct err *err)
{
	return jval_decode(v, match_fields, ARRAY_SIZE(match_fields), JVAL_STRICT, member, err);
}

static const struct jfield count_fields[] = {
	{ "count", J_REAL, EXPECT(value), J_REQUIRED, .min = 0, .max = 1e15 },
	{ "source", J_CUSTOM, EXPECT(source), J_REQUIRED, .decode = jsome_text },
};

/* The counts that a SKU can promise: the inventory.* checks. */
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

static const struct jfield expect_fields[] = {
	{ "check", J_CUSTOM, EXPECT(check), J_REQUIRED, .decode = jsome_text },
	{ "class", J_STRING, EXPECT(locality), 0 },
	{ "subject", J_STRING, EXPECT(subject), 0 },
	{ "value", J_REAL, EXPECT(value), 0, .min = 1e-12, .max = 1e18 },
	{ "floor", J_REAL, EXPECT(floor), J_REQUIRED, .min = 1e-12, .max = 1e18 },
	{ "unit", J_STRING, EXPECT(unit), J_REQUIRED },
	{ "source", J_CUSTOM, EXPECT(source), J_REQUIRED, .decode = jsome_text },
};

/* What would be held against nothing, or 1e9 times too little, in silence. */
static int check_expect(const struct jval *v, const struct sku_expect *e, struct err *err)
{
	const struct jval unit = jval_get(v, "unit"), class = jval_get(v, "class");

	if (!sample_unit_known(e->unit))
		return jval_fail(
			&unit, err,
			"'%.40s': want B/s, s, FLOP/s or 1, and the numbers in it: 24.9 GB/s is "
			"24.9e9",
			e->unit);
	if (e->locality && !sample_class_possible(e->locality))
		return jval_fail(&class, err, "'%.40s' matches none of " SAMPLE_CLASSES,
				 e->locality);
	return 0;
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

		e->value = NAN;
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
		return jval_fail(v, err, "want 1: this program reads sku/1");
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

/* It goes into reports, pins and what a shell is told: a word. */
static int check_name(const struct jval *v, const char *name, struct err *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const struct jval at = jval_get(v, "sku");
	const size_t length = strlen(name);

	if (length == 0 || length > SKU_NAME_MAX || strspn(name, allowed) != length ||
	    name[0] == '.' || name[0] == '-')
		return jval_fail(&at, err, "want a name of letters, digits, '.', '-', '_'");
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

/* A list that is given must share an id; one that is given empty wants none there. */
static bool ids_match(char *const *wanted, char *const *present)
{
	if (!wanted)
		return true;
	if (!wanted[0])
		return strv_len(present) == 0;
	return shares(wanted, present);
}

bool sku_matches(const struct sku *s, const struct sku_models *m)
{
	if (s->product && fnmatch(s->product, m->product, FNM_CASEFOLD) != 0)
		return false;
	if (s->cpu && fnmatch(s->cpu, m->cpu, FNM_CASEFOLD) != 0)
		return false;
	return ids_match(s->gpus, m->gpus) && ids_match(s->nics, m->nics);
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
	*m = (struct sku_models){ 0 };
}

static bool matches(const char *glob, const char *text)
{
	return !glob || (text && fnmatch(glob, text, 0) == 0);
}

/* "mlx5_0:1>numa:0*3": cells that were measured at once and share a link. */
static bool is_group(const char *subject)
{
	const char *star = subject ? strrchr(subject, '*') : NULL;

	return star && star[1] && star[1 + strspn(star + 1, "0123456789")] == '\0';
}

/* What is promised of one flow is not of several at once: those must be asked for, "*\*3". */
static bool matches_subject(const char *glob, const char *subject)
{
	if (is_group(subject) && (!glob || !strstr(glob, "\\*")))
		return false;
	return matches(glob, subject);
}

static const struct sku_expect *find(const struct sku_expect *list, size_t n, const char *check,
				     const char *locality, const char *subject)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (matches(list[i].check, check) && matches(list[i].locality, locality) &&
		    matches_subject(list[i].subject, subject))
			return &list[i];
	}
	return NULL;
}

const struct sku_expect *sku_expectation(const struct sku *s, const char *check,
					 const char *locality, const char *subject)
{
	const struct sku_expect *e = find(s->inventory, s->n_inventory, check, locality, subject);

	return e ? e : find(s->expects, s->n_expects, check, locality, subject);
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
