/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/description.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "attribution/description_units.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/standby.h"

/* Like the limits in description_units.h. */
#define SECONDS_MAX 1e9

/* A run of identical layers. */
struct run {
	uint64_t count;
	double forward_ms, backward_ms, memory_gib;
};

static const struct jfield run_fields[] = {
	{ "count", J_U64, offsetof(struct run, count), 0, 1, DESCRIPTION_LAYERS_MAX },
	{ "forward_ms", J_REAL, offsetof(struct run, forward_ms), 0, 1e-6, MS_MAX },
	{ "backward_ms", J_REAL, offsetof(struct run, backward_ms), 0, 1e-6, MS_MAX },
	{ "memory_gib", J_REAL, offsetof(struct run, memory_gib), J_REQUIRED, 0, GIB_MAX },
};

static int check_run(const struct description_layers *d, const struct run *run,
		     const struct jval *item, struct err *err)
{
	if (isnan(run->forward_ms) != isnan(run->backward_ms))
		return jval_fail(item, err, "forward_ms and backward_ms go together");
	if (d->n > 0 && isnan(run->forward_ms) != (d->forward_s == NULL))
		return jval_fail(item, err, "either all layers have forward_ms, or none");
	if (d->n + run->count > DESCRIPTION_LAYERS_MAX)
		return jval_fail(item, err, "more than %d layers", DESCRIPTION_LAYERS_MAX);
	return 0;
}

static void add_run(struct description_layers *d, const struct run *run)
{
	size_t n = d->n + run->count, i;

	d->bytes = xrealloc(d->bytes, n, sizeof(*d->bytes));
	if (!isnan(run->forward_ms)) {
		d->forward_s = xrealloc(d->forward_s, n, sizeof(*d->forward_s));
		d->backward_s = xrealloc(d->backward_s, n, sizeof(*d->backward_s));
	}
	for (i = d->n; i < n; i++) {
		d->bytes[i] = run->memory_gib * GIB;
		if (!isnan(run->forward_ms)) {
			d->forward_s[i] = run->forward_ms * MS;
			d->backward_s[i] = run->backward_ms * MS;
		}
	}
	d->n = n;
}

static int decode_layers(const struct jval *v, void *member, struct err *err)
{
	struct description_layers *d = member;
	size_t i;
	int r = jval_need_array(v, err);

	for (i = 0; r == 0 && i < json_array_size(v->value); i++) {
		struct run run = { 1, (double)NAN, (double)NAN, 0 };
		struct jval item = jval_at(v, i);

		r = jval_decode(&item, run_fields, ARRAY_SIZE(run_fields), JVAL_STRICT, &run, err);
		if (r == 0)
			r = check_run(d, &run, &item, err);
		if (r == 0)
			add_run(d, &run);
	}
	if (r == 0 && d->n == 0)
		return jval_fail(v, err, "expected at least one layer");
	return r;
}

static int decode_stages(const struct jval *v, void *member, struct err *err)
{
	struct description_stages *d = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && (n == 0 || n > DESCRIPTION_STAGES_MAX))
		return jval_fail(v, err, "expected 1 to %d stages", DESCRIPTION_STAGES_MAX);
	if (r < 0)
		return r;
	d->layers = xcalloc(n, sizeof(*d->layers));
	d->n = n;
	for (i = 0; i < n; i++) {
		struct jval item = jval_at(v, i);
		json_int_t count = json_integer_value(item.value);

		if (!json_is_integer(item.value) || count < 1 || count > DESCRIPTION_LAYERS_MAX)
			return jval_fail(&item, err, "expected a whole number from 1 to %d",
					 DESCRIPTION_LAYERS_MAX);
		d->layers[i] = (size_t)count;
	}
	return 0;
}

#define REAL(key, member, flag, least, most)                                         \
	{                                                                            \
		key, J_REAL, offsetof(struct description, member), flag, least, most \
	}

static const struct jfield fields[] = {
	{ "layers", J_CUSTOM, offsetof(struct description, layers), J_REQUIRED,
	  .decode = decode_layers },
	{ "stages", J_CUSTOM, offsetof(struct description, stages), J_REQUIRED,
	  .decode = decode_stages },
	{ "microbatches", J_U64, offsetof(struct description, microbatches), 0, 1, 65536 },
	{ "spares", J_U64, offsetof(struct description, spares), 0, 0, DESCRIPTION_HOSTS_MAX },
	{ "failures", J_U64, offsetof(struct description, failures), 0, 0, DESCRIPTION_HOSTS_MAX },
	REAL("memory_gib", memory, J_REQUIRED, 1e-6, GIB_MAX),
	REAL("embedding_gib", ends, 0, 0, GIB_MAX),
	REAL("link_gbps", link, J_REQUIRED, 1e-6, GBPS_MAX),
	REAL("restart_s", restart_s, 0, 0, SECONDS_MAX),
	REAL("failures_a_day", failures_a_day, 0, 0, 24),
	REAL("repair_h", repair_h, 0, 0, 1e6),
	REAL("certainty", certainty, 0, 1e-3, STANDBY_CERTAINTY_MAX),
	{ "lose", J_STRV, offsetof(struct description, lose), 0, 0, DESCRIPTION_HOSTS_MAX },
	{ "slowdown", J_OBJECT, offsetof(struct description, slowdown) },
	{ "hotspa", J_CUSTOM, offsetof(struct description, hotspa),
	  .decode = description_hotspa_decode },
};

static int check_sum(const struct description *d, struct err *err)
{
	size_t sum = 0, p;

	for (p = 0; p < d->stages.n; p++)
		sum += d->stages.layers[p];
	return sum == d->layers.n ? 0
				  : description_fail(d, "stages", err,
						     "they have %zu layers, but layers has %zu",
						     sum, d->layers.n);
}

int description_read(const char *path, struct description *ret_description, struct err *err)
{
	struct description *d = ret_description;
	struct jval root;
	int r;

	*d = (struct description){ .path = path,
				   .failures = 1,
				   .restart_s = (double)NAN,
				   .failures_a_day = (double)NAN,
				   .repair_h = 24,
				   .certainty = STANDBY_CERTAINTY };
	r = yaml_read_file_lines(path, &d->doc, &d->lines, err);
	if (r < 0)
		return r;
	root = jval_root(d->doc, path);
	r = jval_need_object(&root, err);
	if (r == 0)
		r = jval_decode(&root, fields, ARRAY_SIZE(fields), JVAL_STRICT, d, err);
	if (r == 0)
		r = check_sum(d, err);
	d->memory *= GIB;
	d->ends *= GIB;
	d->link *= GBPS;
	return r;
}

void description_release(struct description *d)
{
	free(d->layers.forward_s);
	free(d->layers.backward_s);
	free(d->layers.bytes);
	free(d->stages.layers);
	strv_free(d->lose);
	json_decref(d->slowdown);
	yaml_lines_release(&d->lines);
	json_decref(d->doc);
	*d = (struct description){ .path = NULL };
}

int description_fail(const struct description *d, const char *key, struct err *err, const char *fmt,
		     ...)
{
	char what[ERR_MSG_SIZE];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return err_set(err, EINVAL, "%s:%zu: %s: %s", d->path,
		       yaml_line(&d->lines, json_object_get(d->doc, key)), key, what);
}

int description_fail_at(const struct description *d, const struct description_place *place,
			struct err *err, const char *fmt, ...)
{
	const json_t *list = json_object_get(json_object_get(d->doc, place->key), place->list);
	char what[ERR_MSG_SIZE];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return err_set(err, EINVAL, "%s:%zu: %s.%s[%zu]: %s", d->path,
		       yaml_line(&d->lines, json_array_get(list, place->i)), place->key,
		       place->list, place->i, what);
}
