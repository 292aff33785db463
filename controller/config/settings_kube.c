/* SPDX-License-Identifier: Apache-2.0 */
/* The section `kubernetes` of controller.yaml. */
#include <errno.h>
#include <stdlib.h>

#include "controller/cluster/cluster_names.h"
#include "controller/config/settings_inside.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", NULL };

#define TAINT(member) offsetof(struct settings_taint, member)

static const struct jfield taint_fields[] = {
	{ "key", J_STRING, TAINT(key), 0 },
	{ "value", J_STRING, TAINT(value), 0 },
	{ "effect", J_ENUM, TAINT(effect), 0, .names = effects },
};

const char *settings_taint_effect(const struct settings_taint *taint)
{
	return effects[taint->effect];
}

static void taint_release(struct settings_taint *taint)
{
	free(taint->key);
	free(taint->value);
	*taint = (struct settings_taint){ 0 };
}

/* `none`, or {key, value, effect}; without a key it has an empty one, which name_taint() fills. */
static int decode_taint(const struct jval *v, void *member, struct err *err)
{
	struct settings_taint *taint = member;
	const char *effect = json_string_value(json_object_get(v->value, "effect"));
	int r;

	taint_release(taint);
	if (streq(json_string_value(v->value), "none"))
		return 0;
	if (!json_is_object(v->value))
		return jval_fail(v, err, "want none, or {key, value, effect}");
	if (streq(effect, "NoExecute"))
		return jval_fail(v, err,
				 "effect: NoExecute ends what runs, budgets of disruption "
				 "or not: want NoSchedule or PreferNoSchedule");
	r = jval_decode(v, taint_fields, ARRAY_SIZE(taint_fields), JVAL_STRICT, taint, err);
	if (r == 0 && taint->key && !taint->key[0])
		return jval_fail(v, err, "key: must not be empty");
	if (r == 0 && !taint->key)
		taint->key = xstrdup("");
	return r;
}

/* Our own key stands behind our prefix, and what means something else there is not for it. */
static int name_taint(const struct jval *v, struct settings_kube *kube, struct err *err)
{
	const struct cluster_names names = cluster_names_of(kube->prefix);
	const char *const others[] = { names.testing, names.unverified };
	const struct jval taint = jval_get(v, "taint"), key = jval_get(&taint, "key");
	size_t i;

	if (kube->taint.key && !kube->taint.key[0]) {
		free(kube->taint.key);
		kube->taint.key = xstrdup(names.unhealthy);
	}
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		if (streq(kube->taint.key, others[i]))
			return jval_fail(&key, err,
					 "%s is set and lifted for something else: want another "
					 "one, or none for %s",
					 others[i], names.unhealthy);
	}
	return 0;
}

static int decode_prefix(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);
	const char *wrong = text ? cluster_prefix_wrong(text) : "a text";

	if (wrong)
		return jval_fail(v, err, "want %s", wrong);
	free(*(char **)member);
	*(char **)member = xstrdup(text);
	return 0;
}

/* What is in it is checked by who knows it: acting_kube.c. */
static int decode_jobs(const struct jval *v, void *member, struct err *err)
{
	int r = jval_need_array(v, err);

	if (r < 0)
		return r;
	json_decref(*(json_t **)member);
	*(json_t **)member = json_deep_copy(v->value);
	return 0;
}

#define KUBE(member) offsetof(struct settings_kube, member)

static const struct jfield kube_fields[] = {
	{ "namespace", J_STRING, KUBE(namespace), 0 },
	{ "selector", J_STRING, KUBE(selector), 0 },
	{ "prefix", J_CUSTOM, KUBE(prefix), 0, .decode = decode_prefix },
	{ "taint", J_CUSTOM, KUBE(taint), 0, .decode = decode_taint },
	{ "young", J_DURATION, KUBE(young_us), 0 },
	{ "jobs", J_CUSTOM, KUBE(jobs), 0, .decode = decode_jobs },
	{ "agents", J_CUSTOM, KUBE(trust), 0, .decode = trust_decode_agents },
	{ "identities", J_CUSTOM, KUBE(trust), 0, .decode = trust_decode_identities },
	{ "identity-for", J_DURATION, KUBE(trust.for_us), 0 },
};

int settings_decode_kube(const struct jval *v, void *member, struct err *err)
{
	int r = jval_decode(v, kube_fields, ARRAY_SIZE(kube_fields), JVAL_STRICT, member, err);

	return r == 0 ? name_taint(v, member, err) : r;
}

void settings_kube_release(struct settings_kube *kube)
{
	free(kube->namespace);
	free(kube->selector);
	free(kube->prefix);
	taint_release(&kube->taint);
	trust_release(&kube->trust);
	json_decref(kube->jobs);
	*kube = (struct settings_kube){ 0 };
}

bool settings_kube_same(const struct settings_kube *a, const struct settings_kube *b)
{
	return streq(a->namespace, b->namespace) && streq(a->selector, b->selector) &&
	       streq(a->prefix, b->prefix) && streq(a->taint.key, b->taint.key) &&
	       streq(a->taint.value, b->taint.value) && a->taint.effect == b->taint.effect &&
	       a->young_us == b->young_us && trust_same(&a->trust, &b->trust) &&
	       (a->jobs == b->jobs || (a->jobs && b->jobs && json_equal(a->jobs, b->jobs)));
}
