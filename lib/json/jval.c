/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/distance.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum { PATH_SIZE = 256 };

struct jval jval_root(const json_t *value, const char *file)
{
	return (struct jval){ .value = value, .file = file };
}

struct jval jval_get(const struct jval *object, const char *key)
{
	return (struct jval){
		.value = json_object_get(object->value, key),
		.file = object->file,
		.up = object,
		.key = key,
	};
}

struct jval jval_at(const struct jval *array, size_t i)
{
	return (struct jval){
		.value = json_array_get(array->value, i),
		.file = array->file,
		.up = array,
		.index = i,
	};
}

/* Writes the path of `v` ("a.b[2].c") and returns its length; "" at the root. */
static size_t write_path(const struct jval *v, char *text, size_t size)
{
	size_t at;
	int n;

	if (!v->up) {
		text[0] = '\0';
		return 0;
	}
	at = write_path(v->up, text, size);
	if (v->key)
		n = snprintf(text + at, size - at, "%s%s", at ? "." : "", v->key);
	else
		n = snprintf(text + at, size - at, "[%zu]", v->index);
	return n < 0 ? at : MIN(at + (size_t)n, size - 1);
}

int jval_fail(const struct jval *v, struct err *err, const char *fmt, ...)
{
	char path[PATH_SIZE], what[ERR_MSG_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	(void)write_path(v, path, sizeof(path));
	return err_set(err, EINVAL, "%s: %s%s%s", v->file, path, path[0] ? ": " : "", what);
}

const char *jval_type_name(const struct jval *v)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "a string",
		[JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",	     [JSON_NULL] = "null",
	};

	return v->value ? names[json_typeof(v->value)] : "nothing";
}

int jval_need_object(const struct jval *v, struct err *err)
{
	return json_is_object(v->value)
		       ? 0
		       : jval_fail(v, err, "expected an object, not %s", jval_type_name(v));
}

int jval_need_array(const struct jval *v, struct err *err)
{
	return json_is_array(v->value)
		       ? 0
		       : jval_fail(v, err, "expected a list, not %s", jval_type_name(v));
}

static int decode_string(const struct jval *v, char **member, struct err *err)
{
	if (!json_is_string(v->value))
		return jval_fail(v, err, "expected a string, not %s", jval_type_name(v));
	free(*member);
	*member = xstrdup(json_string_value(v->value));
	return 0;
}

static int check_range(const struct jval *v, const struct jfield *f, double value, struct err *err)
{
	if (f->min == f->max)
		return 0;
	if (value < f->min || value > f->max)
		return jval_fail(v, err, "%.15g is outside %.15g to %.15g", value, f->min, f->max);
	return 0;
}

static int decode_u64(const struct jval *v, const struct jfield *f, uint64_t *member,
		      struct err *err)
{
	json_int_t value = json_integer_value(v->value);
	int r;

	if (json_is_real(v->value))
		return jval_fail(v, err, "%.15g is not a whole number (or too large for one)",
				 json_real_value(v->value));
	if (!json_is_integer(v->value))
		return jval_fail(v, err, "expected a whole number, not %s", jval_type_name(v));
	if (value < 0)
		return jval_fail(v, err, "%" JSON_INTEGER_FORMAT " is negative", value);
	r = check_range(v, f, (double)value, err);
	if (r < 0)
		return r;
	*member = (uint64_t)value;
	return 0;
}

static int decode_real(const struct jval *v, const struct jfield *f, double *member, struct err *err)
{
	int r;

	if (!json_is_number(v->value))
		return jval_fail(v, err, "expected a number, not %s", jval_type_name(v));
	r = check_range(v, f, json_number_value(v->value), err);
	if (r < 0)
		return r;
	*member = json_number_value(v->value);
	return 0;
}

static int decode_duration(const struct jval *v, uint64_t *member, struct err *err)
{
	struct err why = ERR_INIT;

	if (!json_is_string(v->value))
		return jval_fail(v, err, "expected a duration such as 45s, not %s",
				 jval_type_name(v));
	if (duration_parse(json_string_value(v->value), member, &why) < 0)
		return jval_fail(v, err, "%s", why.msg);
	return 0;
}

static int decode_enum(const struct jval *v, const struct jfield *f, int *member, struct err *err)
{
	const char *text = json_string_value(v->value);
	char known[160] = "";
	size_t len = 0;
	int i;

	for (i = 0; text && f->names[i]; i++) {
		if (streq(text, f->names[i])) {
			*member = i;
			return 0;
		}
	}
	for (i = 0; f->names[i] && len < sizeof(known); i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "",
					f->names[i]);
	if (text)
		return jval_fail(v, err, "'%.40s' is not one of %s", text, known);
	return jval_fail(v, err, "expected one of %s, not %s", known, jval_type_name(v));
}

static int decode_reals(const struct jval *v, const struct jfield *f, struct jreals *member,
			struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r < 0)
		return r;
	if (f->max > 0 && (double)n > f->max)
		return jval_fail(v, err, "%zu numbers, more than %g", n, f->max);
	free(member->v);
	member->v = n ? xcalloc(n, sizeof(double)) : NULL;
	member->n = n;
	for (i = 0; i < n; i++) {
		struct jval item = jval_at(v, i);

		if (!json_is_number(item.value))
			return jval_fail(&item, err, "expected a number, not %s",
					 jval_type_name(&item));
		member->v[i] = json_number_value(item.value);
	}
	return 0;
}

static int decode_json(const struct jval *v, const struct jfield *f, json_t **member,
		       struct err *err)
{
	int r = f->type == J_OBJECT ? jval_need_object(v, err) : 0;

	if (r < 0)
		return r;
	json_decref(*member);
	*member = json_deep_copy(v->value);
	return 0;
}

static int decode_strv(const struct jval *v, const struct jfield *f, char ***member, struct err *err)
{
	strv_free(*member);
	*member = NULL;
	return jval_strv(v, f->max > 0 ? (size_t)f->max : SIZE_MAX, member, err);
}

static int decode_bool(const struct jval *v, bool *member, struct err *err)
{
	if (!json_is_boolean(v->value))
		return jval_fail(v, err, "expected true or false, not %s", jval_type_name(v));
	*member = json_is_true(v->value);
	return 0;
}

static int decode_tristate(const struct jval *v, int *member, struct err *err)
{
	bool value = false;
	int r = decode_bool(v, &value, err);

	if (r == 0)
		*member = value;
	return r;
}

static int decode_null(const struct jfield *f, void *member)
{
	if (f->type == J_STRING) {
		free(*(char **)member);
		*(char **)member = NULL;
	}
	if (f->type == J_REAL)
		*(double *)member = NAN;
	if (f->type == J_TRISTATE)
		*(int *)member = -1;
	return 0;
}

static int decode_field(const struct jval *v, const struct jfield *f, void *member, struct err *err)
{
	if (json_is_null(v->value) && (f->flags & J_NULL))
		return decode_null(f, member);
	switch (f->type) {
	case J_STRING:
		return decode_string(v, member, err);
	case J_BOOL:
		return decode_bool(v, member, err);
	case J_TRISTATE:
		return decode_tristate(v, member, err);
	case J_U64:
		return decode_u64(v, f, member, err);
	case J_REAL:
		return decode_real(v, f, member, err);
	case J_DURATION:
		return decode_duration(v, member, err);
	case J_ENUM:
		return decode_enum(v, f, member, err);
	case J_OBJECT:
	case J_JSON:
		return decode_json(v, f, member, err);
	case J_REALS:
		return decode_reals(v, f, member, err);
	case J_STRV:
		return decode_strv(v, f, member, err);
	case J_CUSTOM:
		return f->decode(v, member, err);
	}
	abort();
}

/* The key that was probably meant; NULL: none is close, or they have nothing in common. */
static const char *meant(const char *key, const struct jfield *fields, size_t n)
{
	const char *best = NULL;
	unsigned least = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const unsigned far = distance_between(key, fields[i].key);

		if (far >= strlen(key) || !distance_is_near(key, fields[i].key))
			continue;
		if (!best || far < least) {
			best = fields[i].key;
			least = far;
		}
	}
	return best;
}

static int refuse_unknown(const struct jval *v, const struct jfield *fields, size_t n,
			  struct err *err)
{
	const char *key;
	json_t *value;
	json_t *object;
	size_t i;

	/* jansson's iterator takes a non-const object, but does not change it. */
	memcpy(&object, &v->value, sizeof(object));
	json_object_foreach(object, key, value)
	{
		for (i = 0; i < n && !streq(fields[i].key, key); i++)
			;
		if (i == n) {
			const struct jval bad = jval_get(v, key);
			const char *near = meant(key, fields, n);

			return near ? jval_fail(&bad, err, "unknown key; did you mean %s?", near)
				    : jval_fail(&bad, err, "unknown key");
		}
	}
	return 0;
}

int jval_decode(const struct jval *v, const struct jfield *fields, size_t n, unsigned flags,
		void *out, struct err *err)
{
	size_t i;
	int r = jval_need_object(v, err);

	if (r == 0 && (flags & JVAL_STRICT))
		r = refuse_unknown(v, fields, n, err);
	for (i = 0; r == 0 && i < n; i++) {
		struct jval member = jval_get(v, fields[i].key);

		if (member.value)
			r = decode_field(&member, &fields[i], (char *)out + fields[i].offset, err);
		else if (fields[i].flags & J_REQUIRED)
			r = jval_fail(&member, err, "missing");
	}
	return r;
}

/* An empty list is left out if it may be absent. */
static json_t *encode_reals(const struct jfield *f, const struct jreals *reals)
{
	json_t *array;
	size_t i;

	if (reals->n == 0 && !(f->flags & J_REQUIRED))
		return NULL;
	array = json_array();
	for (i = 0; i < reals->n; i++)
		json_array_append_new(array, json_real(reals->v[i]));
	return array;
}

static json_t *encode_strv(char *const *strv)
{
	json_t *array;
	size_t i;

	if (!strv)
		return NULL;
	array = json_array();
	for (i = 0; strv[i]; i++)
		json_array_append_new(array, json_string(strv[i]));
	return array;
}

static json_t *encode_duration(uint64_t us)
{
	char text[CLOCK_DURATION_SIZE];

	duration_format(us, text);
	return json_string(text);
}

static json_t *encode_field(const struct jfield *f, const void *member)
{
	switch (f->type) {
	case J_STRING: {
		const char *text = *(char *const *)member;

		return text ? json_string(text) : NULL;
	}
	case J_BOOL:
		return json_boolean(*(const bool *)member);
	case J_TRISTATE:
		return *(const int *)member < 0 ? NULL : json_boolean(*(const int *)member);
	case J_U64:
		return json_integer((json_int_t) * (const uint64_t *)member);
	case J_REAL:
		return isfinite(*(const double *)member) ? json_real(*(const double *)member)
							 : NULL;
	case J_DURATION:
		return encode_duration(*(const uint64_t *)member);
	case J_ENUM:
		return json_string(f->names[*(const int *)member]);
	case J_OBJECT:
	case J_JSON:
		return json_incref(*(json_t *const *)member);
	case J_REALS:
		return encode_reals(f, member);
	case J_STRV:
		return encode_strv(*(char *const *const *)member);
	case J_CUSTOM:
		return f->encode(member);
	}
	abort();
}

json_t *jval_encode(const struct jfield *fields, size_t n, const void *in)
{
	json_t *object = json_object();
	size_t i;

	for (i = 0; i < n; i++) {
		json_t *value = encode_field(&fields[i], (const char *)in + fields[i].offset);

		if (!value && !(fields[i].flags & J_NULL))
			continue;
		if (json_object_set_new(object, fields[i].key, value ? value : json_null()) < 0)
			abort(); /* out of memory, or our own text is not UTF-8 */
	}
	return object;
}

int jval_strv(const struct jval *v, size_t max, char ***ret_strv, struct err *err)
{
	CLEANUP(strv_freep) char **strv = NULL;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r < 0)
		return r;
	if (n > max)
		return jval_fail(v, err, "%zu items, more than %zu", n, max);
	strv = xcalloc(n + 1, sizeof(*strv));
	for (i = 0; i < n; i++) {
		struct jval item = jval_at(v, i);

		r = decode_string(&item, &strv[i], err);
		if (r < 0)
			return r;
	}
	*ret_strv = TAKE(strv);
	return 0;
}
