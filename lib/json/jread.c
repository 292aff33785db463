/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/jread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/pool.h"

/* The fields of a table are tracked in the bits of a word. */
enum { FIELDS_MAX = 64, STRV_FIRST = 8 };

struct jread jread_of(const char *text, size_t length, struct pool *pool, struct jmemo *memo)
{
	return (struct jread){ .scan = jscan_of(text, length, pool), .memo = memo };
}

void jread_release(struct jread *r)
{
	size_t i;

	for (i = 0; i < MIN(r->n_shared, (size_t)JREAD_SHARED_MAX); i++)
		json_decref(r->shared[i].value);
	jscan_release(&r->scan);
}

static int read_string(struct jread *r, char **member)
{
	struct jtext text;

	if (jscan_string(&r->scan, &text) < 0)
		return -EINVAL;
	*member = pool_text(r->scan.pool, text.at, text.length);
	return 0;
}

/* The same; reuses the text if this member had the same one in the previous object. */
static int read_member_string(struct jread *r, const struct jfield *f, char **member)
{
	const size_t at = f->offset / sizeof(*member) % JREAD_TEXTS;
	struct jtext text;

	if (jscan_string(&r->scan, &text) < 0)
		return -EINVAL;
	if (!r->texts[at].text || r->texts[at].length != text.length ||
	    memcmp(r->texts[at].text, text.at, text.length) != 0) {
		r->texts[at].text = pool_text(r->scan.pool, text.at, text.length);
		r->texts[at].length = text.length;
	}
	*member = r->texts[at].text;
	return 0;
}

static int read_bool(struct jread *r, bool *member)
{
	bool value = jscan_peek(&r->scan) == 't';

	if (jscan_word(&r->scan, value ? "true" : "false") < 0)
		return -EINVAL;
	*member = value;
	return 0;
}

static int read_tristate(struct jread *r, int *member)
{
	bool value = false;

	if (read_bool(r, &value) < 0)
		return -EINVAL;
	*member = value;
	return 0;
}

static bool in_range(const struct jfield *f, double value)
{
	return f->min == f->max || (value >= f->min && value <= f->max);
}

static int read_u64(struct jread *r, const struct jfield *f, uint64_t *member)
{
	struct jnumber number;

	if (jscan_number(&r->scan, &number) < 0 || !number.whole || number.integer < 0 ||
	    !in_range(f, number.real))
		return -EINVAL;
	*member = (uint64_t)number.integer;
	return 0;
}

static int read_real(struct jread *r, const struct jfield *f, double *member)
{
	struct jnumber number;

	if (jscan_number(&r->scan, &number) < 0 || !in_range(f, number.real))
		return -EINVAL;
	*member = number.real;
	return 0;
}

static int read_enum(struct jread *r, const struct jfield *f, int *member)
{
	struct jtext text;
	int i;

	if (jscan_string(&r->scan, &text) < 0)
		return -EINVAL;
	for (i = 0; f->names[i]; i++) {
		if (jtext_is(&text, f->names[i])) {
			*member = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Doubles the room for `n` items if all of it is used. */
static void *grow(struct pool *pool, void *items, size_t n, size_t *room, size_t size)
{
	void *larger;

	if (n < *room)
		return items;
	*room *= 2;
	larger = pool_take(pool, *room * size);
	memcpy(larger, items, n * size);
	return larger;
}

static int read_reals(struct jread *r, const struct jfield *f, struct jreals *member)
{
	struct pool *pool = r->scan.pool;
	size_t n = 0, room = STRV_FIRST;
	double *values = pool_take(pool, room * sizeof(*values));
	struct jscan_list list;
	struct jnumber number;
	int more = jscan_open(&r->scan, '[', &list);

	while (more == 0 && (more = jscan_item(&r->scan, &list)) == 1) {
		if (f->max > 0 && (double)n >= f->max)
			return -EINVAL;
		more = jscan_number(&r->scan, &number);
		values = grow(pool, values, n, &room, sizeof(*values));
		values[n++] = more == 0 ? number.real : 0;
	}
	*member = (struct jreals){ n ? values : NULL, n };
	return more;
}

static int read_strv(struct jread *r, const struct jfield *f, char ***member)
{
	struct pool *pool = r->scan.pool;
	size_t n = 0, room = STRV_FIRST;
	char **strv = pool_take(pool, room * sizeof(*strv));
	struct jscan_list list;
	int more = jscan_open(&r->scan, '[', &list);

	while (more == 0 && (more = jscan_item(&r->scan, &list)) == 1) {
		if (f->max > 0 && (double)n >= f->max)
			return -EINVAL;
		/* Room for this one and the final NULL. */
		strv = grow(pool, strv, n + 1, &room, sizeof(*strv));
		more = read_string(r, &strv[n++]);
	}
	*member = strv;
	return more;
}

/* Looks for a recent object with the text that comes next, and skips it if found. */
static json_t *find_shared(struct jread *r)
{
	size_t n = MIN(r->n_shared, (size_t)JREAD_SHARED_MAX), i;

	for (i = 0; i < n; i++) {
		const struct jtext *text = &r->shared[i].text;

		if (r->scan.depth <= r->shared[i].depth &&
		    (size_t)(r->scan.end - r->scan.at) >= text->length &&
		    memcmp(r->scan.at, text->at, text->length) == 0) {
			r->scan.at += text->length;
			return r->shared[i].value;
		}
	}
	return NULL;
}

/* Objects end with a bracket, so none is a prefix of another. */
static void share(struct jread *r, const struct jtext *text, json_t *value, const char *canonical)
{
	size_t at = r->n_shared++ % JREAD_SHARED_MAX;

	if (r->n_shared > JREAD_SHARED_MAX)
		json_decref(r->shared[at].value);
	r->shared[at].text = *text;
	r->shared[at].depth = r->scan.depth;
	r->shared[at].value = json_incref(value);
	r->shared[at].canonical = canonical ? pool_text(r->scan.pool, canonical, strlen(canonical))
					    : NULL;
}

const char *jread_canonical(struct jread *r, const json_t *value)
{
	size_t n = MIN(r->n_shared, (size_t)JREAD_SHARED_MAX), i = 0;
	char *text;

	while (i < n && r->shared[i].value != value)
		i++;
	if (i == n)
		return NULL;
	if (!r->shared[i].canonical) {
		text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
		r->shared[i].canonical = text ? pool_text(r->scan.pool, text, strlen(text)) : NULL;
		free(text);
	}
	return r->shared[i].canonical;
}

static json_t *build(const struct jtext *text)
{
	return json_loadb(text->at, text->length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}

/* The object that was just scanned: shared by its text, or new. */
static json_t *build_object(struct jread *r, const struct jtext *text)
{
	const struct jmemo_entry *known = r->memo ? jmemo_find(r->memo, text->at, text->length)
						  : NULL;
	json_t *value = known ? json_incref(known->value) : build(text);

	if (value)
		share(r, text, value, known ? known->canonical : NULL);
	if (value && r->memo && !known)
		jmemo_keep(r->memo, text->at, text->length, value);
	return value;
}

static int read_json(struct jread *r, json_t **member)
{
	bool object = jscan_peek(&r->scan) == '{';
	json_t *value = object ? json_incref(find_shared(r)) : NULL;
	struct jtext text;

	if (!value) {
		if (jscan_skip(&r->scan, &text) < 0)
			return -EINVAL;
		value = object ? build_object(r, &text) : build(&text);
	}
	*member = value;
	return value ? 0 : -EINVAL;
}

static int read_null(struct jread *r, const struct jfield *f, void *member)
{
	if (f->type == J_STRING)
		*(char **)member = NULL;
	if (f->type == J_REAL)
		*(double *)member = NAN;
	if (f->type == J_TRISTATE)
		*(int *)member = -1;
	return jscan_word(&r->scan, "null");
}

static int read_field(struct jread *r, const struct jfield *f, void *member)
{
	int first = jscan_peek(&r->scan);

	if (first == 'n' && (f->flags & J_NULL))
		return read_null(r, f, member);
	switch (f->type) {
	case J_STRING:
		return read_member_string(r, f, member);
	case J_BOOL:
		return read_bool(r, member);
	case J_TRISTATE:
		return read_tristate(r, member);
	case J_U64:
		return read_u64(r, f, member);
	case J_REAL:
		return read_real(r, f, member);
	case J_ENUM:
		return read_enum(r, f, member);
	case J_OBJECT:
		return first == '{' ? read_json(r, member) : -EINVAL;
	case J_JSON:
		return read_json(r, member);
	case J_REALS:
		return read_reals(r, f, member);
	case J_STRV:
		return read_strv(r, f, member);
	case J_DURATION:
	case J_CUSTOM:
		break;
	}
	abort(); /* this table cannot be used with this reader */
}

/* The field of a key. Programs write them in table order, so look after the last one first. */
static const struct jfield *find_field(const struct jtable *table, size_t last,
				       const struct jtext *key)
{
	size_t i;

	for (i = 0; i < table->n; i++) {
		last = last + 1 < table->n ? last + 1 : 0;
		if (jtext_is(key, table->fields[last].key))
			return &table->fields[last];
	}
	return NULL;
}

static int check_required(const struct jtable *table, uint64_t found)
{
	size_t i;

	for (i = 0; i < table->n; i++) {
		if ((table->fields[i].flags & J_REQUIRED) && !(found >> i & 1))
			return -EINVAL;
	}
	return 0;
}

int jread_object(struct jread *r, const struct jtable *table, void *out, jread_other *other,
		 void *context)
{
	struct jscan_list list;
	struct jtext key;
	uint64_t found = 0;
	size_t last = table->n - 1;
	int more = table->n <= FIELDS_MAX ? jscan_open(&r->scan, '{', &list) : -EINVAL;

	while (more == 0 && (more = jscan_member(&r->scan, &list, &key)) == 1) {
		const struct jfield *f = find_field(table, last, &key);

		if (!f) {
			jscan_note(&r->scan, &key);
			more = other(r, &key, context);
			continue;
		}
		last = (size_t)(f - table->fields);
		if (found >> last & 1)
			return -EINVAL;
		found |= UINT64_C(1) << last;
		more = read_field(r, f, (char *)out + f->offset);
	}
	return more == 0 ? check_required(table, found) : more;
}
