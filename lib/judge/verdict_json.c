/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/judge/verdict_counts.h"

#define AT(m) offsetof(struct verdict_item, m)

static const struct jfield item_fields[] = {
	{ "check", J_STRING, AT(check), J_REQUIRED },
	{ "subject", J_STRING, AT(subject), J_REQUIRED },
	{ "verdict", J_ENUM, AT(level), J_REQUIRED, .names = verdict_level_names },
	{ "value", J_REAL, AT(value), J_NULL },
	{ "unit", J_STRING, AT(unit), J_NULL },
	{ "expected", J_REAL, AT(expected), J_NULL },
	{ "floor", J_REAL, AT(floor), J_NULL },
	{ "source", J_ENUM, AT(source), 0, .names = verdict_source_names },
	{ "n", J_U64, AT(n), 0 },
	{ "fatal", J_BOOL, AT(fatal), 0 },
	{ "sentence", J_STRING, AT(sentence), J_REQUIRED },
	{ "link", J_STRING, AT(link), 0 },
	{ "profile", J_STRING, AT(profile), 0 },
	{ "time", J_STRING, AT(time), 0 },
};

#undef AT
#define AT(m) offsetof(struct verdict, m)

static const struct jfield fields[] = {
	{ "node", J_STRING, AT(node), J_REQUIRED },
	{ "time", J_STRING, AT(time), J_REQUIRED },
	{ "boot_id", J_STRING, AT(boot_id), 0 },
	{ "uptime_s", J_REAL, AT(uptime_s), 0 },
	{ "machine", J_STRING, AT(machine), 0 },
	{ "seq", J_U64, AT(seq), J_REQUIRED },
	{ "profile", J_STRING, AT(profile), J_REQUIRED },
	{ "verdict", J_ENUM, AT(level), J_REQUIRED, .names = verdict_level_names },
	{ "sentence", J_STRING, AT(sentence), J_REQUIRED },
	{ "fleet", J_JSON, AT(fleet), 0 },
};

static json_t *encode_item(const struct verdict_item *item)
{
	json_t *object = jval_encode(item_fields, ARRAY_SIZE(item_fields), item);

	if (item->unjudged)
		json_object_set_new(object, "compared", json_false());
	return object;
}

static json_t *encode_counts(const struct verdict *v)
{
	json_t *object = json_object();
	size_t counts[COUNTS], i;

	verdict_count(v, counts);
	for (i = 0; i < COUNTS; i++)
		json_object_set_new(object, verdict_count_names[i],
				    json_integer((json_int_t)counts[i]));
	return object;
}

json_t *verdict_encode(const struct verdict *v)
{
	json_t *object = json_pack("{s:i, s:s}", "v", 1, "kind", "verdict");
	CLEANUP(json_freep) json_t *members = jval_encode(fields, ARRAY_SIZE(fields), v);
	json_t *items = json_array();
	size_t i;

	json_object_update(object, members);
	if (v->uptime_s > 0)
		json_object_set_new(object, "uptime_at", json_string(v->time));
	else
		json_object_del(object, "uptime_s");
	for (i = 0; i < v->n_items; i++)
		json_array_append_new(items, encode_item(&v->items[i]));
	json_object_set_new(object, "counts", encode_counts(v));
	json_object_set_new(object, "items", items);
	return object;
}

static int check_kind(const struct jval *v, struct err *err)
{
	struct jval version = jval_get(v, "v"), kind = jval_get(v, "kind");

	if (json_integer_value(version.value) != 1)
		return jval_fail(&version, err, "this program reads version 1");
	if (!streq(json_string_value(kind.value), "verdict"))
		return jval_fail(&kind, err, "expected \"verdict\"");
	return 0;
}

static int decode_items(const struct jval *v, struct verdict *out, struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > VERDICT_ITEMS_MAX)
		r = jval_fail(v, err, "%zu items, more than %d", n, VERDICT_ITEMS_MAX);
	if (r < 0)
		return r;
	out->items = xcalloc(n + 1, sizeof(*out->items));
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);

		out->items[i] = (struct verdict_item){
			.value = NAN, .expected = NAN, .floor = NAN, .source = SOURCE_SELF
		};
		out->n_items = i + 1;
		r = jval_decode(&item, item_fields, ARRAY_SIZE(item_fields), 0, &out->items[i], err);
		out->items[i].unjudged = json_is_false(json_object_get(item.value, "compared"));
	}
	return r;
}

/*
 * True if another program changed `time`: that counts, and the seconds since boot are of the old.
 */
static bool restamped(const struct jval *v, const char *time)
{
	const char *at = json_string_value(json_object_get(v->value, "uptime_at"));

	return at && !streq(at, time);
}

int verdict_decode(const struct jval *v, struct verdict *ret, struct err *err)
{
	struct jval items = jval_get(v, "items");
	struct verdict out = { 0 };
	int r = jval_need_object(v, err);

	if (r == 0)
		r = check_kind(v, err);
	if (r == 0)
		r = jval_decode(v, fields, ARRAY_SIZE(fields), 0, &out, err);
	if (r == 0 && restamped(v, out.time))
		out.uptime_s = 0;
	if (r == 0)
		r = decode_items(&items, &out, err);
	if (r < 0)
		verdict_release(&out);
	else
		*ret = out;
	return r;
}
