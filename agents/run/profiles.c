/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/profiles.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"

struct document {
	uint64_t version;
	struct profiles profiles;
};

struct probe_list {
	struct profile_probe *items;
	size_t n;
};

bool profile_name_ok(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	size_t len = strlen(name);

	return len > 0 && len <= PROFILE_NAME_MAX && strspn(name, allowed) == len;
}

static int decode_name(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);

	if (!text)
		return jval_fail(v, err, "expected a string, not %s", jval_type_name(v));
	if (!profile_name_ok(text))
		return jval_fail(v, err, "expected 1 to %d letters, digits, '-' or '_'",
				 PROFILE_NAME_MAX);
	*(char **)member = xstrdup(text);
	return 0;
}

static int decode_exec(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);

	if (!text)
		return jval_fail(v, err, "expected a string, not %s", jval_type_name(v));
	if (text[0] != '/')
		return jval_fail(v, err, "expected an absolute path, not '%.80s'", text);
	*(char **)member = xstrdup(text);
	return 0;
}

static int decode_args(const struct jval *v, void *member, struct err *err)
{
	return jval_strv(v, PROFILE_ARGS_MAX, member, err);
}

static int decode_budget(const struct jval *v, void *member, struct err *err)
{
	uint64_t us = 0;
	struct err why = ERR_INIT;

	if (!json_is_string(v->value))
		return jval_fail(v, err, "expected a duration such as 45s, not %s",
				 jval_type_name(v));
	if (duration_parse(json_string_value(v->value), &us, &why) < 0)
		return jval_fail(v, err, "%s", why.msg);
	if (us == 0)
		return jval_fail(v, err, "must be longer than 0");
	*(uint64_t *)member = us;
	return 0;
}

static const struct jfield probe_fields[] = {
	{ "name", J_CUSTOM, offsetof(struct profile_probe, name), J_REQUIRED,
	  .decode = decode_name },
	{ "exec", J_CUSTOM, offsetof(struct profile_probe, exec), 0, .decode = decode_exec },
	{ "args", J_CUSTOM, offsetof(struct profile_probe, args), 0, .decode = decode_args },
	{ "budget", J_CUSTOM, offsetof(struct profile_probe, budget_us), J_REQUIRED,
	  .decode = decode_budget },
	{ "least", J_CUSTOM, offsetof(struct profile_probe, least_us), 0, .decode = decode_budget },
	{ "active", J_BOOL, offsetof(struct profile_probe, active), 0 },
};

static void probe_list_release(struct probe_list *list)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		free(list->items[i].name);
		free(list->items[i].exec);
		strv_free(list->items[i].args);
	}
	free(list->items);
	*list = (struct probe_list){ 0 };
}

static int refuse_twice(const struct probe_list *list, const struct jval *item, struct err *err)
{
	const char *name = list->items[list->n - 1].name;
	struct jval at = jval_get(item, "name");
	size_t i;

	for (i = 0; i + 1 < list->n; i++) {
		if (streq(list->items[i].name, name))
			return jval_fail(&at, err, "'%s' is in this profile twice", name);
	}
	return 0;
}

static int check_least(const struct profile_probe *p, const struct jval *item, struct err *err)
{
	struct jval at = jval_get(item, "least");

	return p->least_us > p->budget_us ? jval_fail(&at, err, "is more than its budget") : 0;
}

static int decode_probes(const struct jval *v, void *member, struct err *err)
{
	CLEANUP(probe_list_release) struct probe_list list = { 0 };
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && (n == 0 || n > PROFILE_PROBES_MAX))
		r = jval_fail(v, err, "expected 1 to %d probes, not %zu", PROFILE_PROBES_MAX, n);
	if (r < 0)
		return r;
	list.items = xcalloc(n, sizeof(*list.items));
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);
		struct profile_probe *p = &list.items[list.n++];

		p->active = true;
		r = jval_decode(&item, probe_fields, ARRAY_SIZE(probe_fields), JVAL_STRICT, p, err);
		if (r == 0)
			r = check_least(p, &item, err);
		if (r == 0)
			r = refuse_twice(&list, &item, err);
	}
	if (r == 0) {
		*(struct probe_list *)member = list;
		list = (struct probe_list){ 0 };
	}
	return r;
}

uint64_t profile_need_us(const struct profile_probe *probes, size_t n)
{
	uint64_t passive_us = 0, active_us = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (probes[i].active)
			active_us += probes[i].budget_us;
		else
			passive_us = MAX(passive_us, probes[i].budget_us);
	}
	return passive_us + active_us;
}

/* A profile in the file; its name is its key. */
struct profile_value {
	uint64_t budget_us;
	struct probe_list probes;
};

static const struct jfield profile_fields[] = {
	{ "budget", J_CUSTOM, offsetof(struct profile_value, budget_us), J_REQUIRED,
	  .decode = decode_budget },
	{ "probes", J_CUSTOM, offsetof(struct profile_value, probes), J_REQUIRED,
	  .decode = decode_probes },
};

static int check_budget(const struct jval *v, const struct profile_value *value, struct err *err)
{
	uint64_t need_us = profile_need_us(value->probes.items, value->probes.n);
	struct jval at = jval_get(v, "budget");
	char need[CLOCK_DURATION_SIZE], have[CLOCK_DURATION_SIZE];

	if (need_us <= value->budget_us)
		return 0;
	duration_format(need_us, need);
	duration_format(value->budget_us, have);
	return jval_fail(&at, err, "its probes need %s, more than %s", need, have);
}

static int decode_profile(const struct jval *v, const char *name, struct profile *ret,
			  struct err *err)
{
	struct profile_value value = { 0 };
	int r = 0;

	if (!profile_name_ok(name))
		r = jval_fail(v, err, "a profile's name is 1 to %d letters, digits, '-' or '_'",
			      PROFILE_NAME_MAX);
	if (r == 0 && streq(name, PROFILE_WATCH))
		r = jval_fail(v, err,
			      "'%s' is reserved: assayd keeps what it observes under that name",
			      name);
	if (r == 0)
		r = jval_decode(v, profile_fields, ARRAY_SIZE(profile_fields), JVAL_STRICT, &value,
				err);
	if (r == 0)
		r = check_budget(v, &value, err);
	if (r < 0) {
		probe_list_release(&value.probes);
		return r;
	}
	*ret = (struct profile){
		.name = xstrdup(name),
		.budget_us = value.budget_us,
		.probes = value.probes.items,
		.n_probes = value.probes.n,
	};
	return 0;
}

static int decode_profiles(const struct jval *v, void *member, struct err *err)
{
	struct profiles *profiles = member;
	size_t n = json_object_size(v->value);
	json_t *object, *value;
	const char *key;
	int r = jval_need_object(v, err);

	if (r == 0 && (n == 0 || n > PROFILES_MAX))
		r = jval_fail(v, err, "expected 1 to %d profiles, not %zu", PROFILES_MAX, n);
	if (r < 0)
		return r;
	profiles->items = xcalloc(n, sizeof(*profiles->items));
	memcpy(&object, &v->value, sizeof(object)); /* the iterator needs it non-const */
	json_object_foreach(object, key, value)
	{
		struct jval item = jval_get(v, key);

		r = decode_profile(&item, key, &profiles->items[profiles->n], err);
		if (r < 0)
			return r;
		profiles->n++;
	}
	return 0;
}

static const struct jfield document_fields[] = {
	{ "v", J_U64, offsetof(struct document, version), J_REQUIRED },
	{ "profiles", J_CUSTOM, offsetof(struct document, profiles), J_REQUIRED,
	  .decode = decode_profiles },
};

int profiles_decode(const struct jval *root, struct profiles *ret, struct err *err)
{
	struct document document = { 0 };
	struct jval version = jval_get(root, "v");
	int r;

	/* Checked first: a later version may have any other keys. */
	if (json_is_integer(version.value) && json_integer_value(version.value) != 1)
		return jval_fail(&version, err, "expected 1: this program reads version 1 only");
	r = jval_decode(root, document_fields, ARRAY_SIZE(document_fields), JVAL_STRICT, &document,
			err);
	if (r < 0)
		profiles_release(&document.profiles);
	else
		*ret = document.profiles;
	return r;
}

int profiles_read(const char *path, struct profiles *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = yaml_read_file(path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	return profiles_decode(&root, ret, err);
}

void profiles_release(struct profiles *p)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		struct probe_list probes = { p->items[i].probes, p->items[i].n_probes };

		free(p->items[i].name);
		probe_list_release(&probes);
	}
	free(p->items);
	*p = (struct profiles){ 0 };
}

const struct profile *profiles_find(const struct profiles *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (streq(p->items[i].name, name))
			return &p->items[i];
	}
	return NULL;
}
