/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/policy/decide.h"
#include "lib/policy/replay.h"
#include "lib/policy/replay_inside.h"

void tally_init(struct tally *t)
{
	*t = (struct tally){
		json_object(), json_object(), json_object(), json_object(), json_object(), 0, 0, 0
	};
}

void tally_release(struct tally *t)
{
	json_decref(t->rules);
	json_decref(t->nodes);
	json_decref(t->refusals);
	json_decref(t->telling);
	json_decref(t->told);
	*t = (struct tally){ 0 };
}

void tally_round(struct tally *t)
{
	json_decref(t->told);
	t->told = t->telling;
	t->telling = json_object();
}

/* The object at `key`, made when it is new. Borrowed. */
static json_t *need(json_t *all, const char *key)
{
	json_t *one = json_object_get(all, key);

	if (!one) {
		one = json_object();
		(void)json_object_set_new(all, key, one);
	}
	return one;
}

static json_int_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void add(json_t *object, const char *key, json_int_t n)
{
	(void)json_object_set_new(object, key, json_integer(number(object, key) + n));
}

/* The decisions say the same until the fleet changes: is this one new? */
static bool is_news(struct tally *t, const struct decision *d)
{
	CLEANUP(freep)
	char *key = xasprintf("%s\t%s\t%d\t%s\t%s", d->node->name, d->rule ? d->rule : "",
			      d->action, d->finding ? d->finding->check : "",
			      d->refused ? refused_by_names[d->refused->by] : "");

	(void)json_object_set_new(t->telling, key, json_true());
	return !json_object_get(t->told, key);
}

static void count_rule(struct tally *t, const struct decision *d, bool done)
{
	const char *rule = d->rule ? d->rule : "-";
	CLEANUP(freep) char *key = xasprintf("%s\t%d", rule, d->action);
	json_t *one = need(t->rules, key);

	(void)json_object_set_new(one, "rule", json_string(rule));
	(void)json_object_set_new(one, "action", json_string(decision_action_names[d->action]));
	add(one, "done", done);
	add(one, "refused", d->refused != NULL);
	(void)json_object_set_new(need(one, "hosts"), d->node->name, json_true());
}

static bool is_cordon(const struct decision *d)
{
	return d->action == DECIDE_CORDON || d->action == DECIDE_CORDON_DRAIN;
}

static void count_refusal(struct tally *t, const struct decision *d)
{
	json_t *one = need(t->refusals, refused_by_names[d->refused->by]);

	add(one, "times", 1);
	(void)json_object_set_new(one, "allows", json_string(d->refused->allow));
	(void)json_object_set_new(need(one, "hosts"), d->node->name, json_true());
	add(need(t->nodes, d->node->name), "refused", 1);
	t->refused++;
}

/* The host is back: how long was it out? */
static void add_out(json_t *node, uint64_t now_us)
{
	json_int_t since = number(node, "since_us");

	if (since)
		add(node, "out_us", (json_int_t)now_us - since);
	(void)json_object_del(node, "since_us");
}

static void count_effect(struct tally *t, const struct decision *d, uint64_t now_us)
{
	json_t *node;

	if (is_cordon(d)) {
		node = need(t->nodes, d->node->name);
		add(node, "cordons", 1);
		if (!json_object_get(node, "first_us"))
			add(node, "first_us", (json_int_t)now_us);
		add_out(node, now_us);
		add(node, "since_us", (json_int_t)now_us);
		t->cordons++;
	} else if (d->action == DECIDE_RELEASE) {
		node = need(t->nodes, d->node->name);
		add(node, "releases", 1);
		add_out(node, now_us);
		t->releases++;
	}
}

void tally_count(struct tally *t, const struct decision *d, bool done, uint64_t now_us)
{
	bool news = is_news(t, d);

	/* What was carried out changed the fleet: when it comes again it is another one. */
	if (!news && (!done || d->action == DECIDE_ALERT))
		return;
	count_rule(t, d, done);
	if (d->refused)
		count_refusal(t, d);
	if (done)
		count_effect(t, d, now_us);
}

/* --- the lists --- */

static json_int_t count_hosts(const json_t *one)
{
	return (json_int_t)json_object_size(json_object_get(one, "hosts"));
}

static json_t *rules_list(const struct tally *t)
{
	json_t *list = json_array(), *one;
	const char *key;

	json_object_foreach(t->rules, key, one)
	{
		(void)json_array_append_new(list, json_pack("{s:O, s:O, s:I, s:I, s:I}", "rule",
							    json_object_get(one, "rule"), "action",
							    json_object_get(one, "action"), "done",
							    number(one, "done"), "refused",
							    number(one, "refused"), "nodes",
							    count_hosts(one)));
	}
	return list;
}

static json_t *refusals_list(const struct tally *t)
{
	json_t *list = json_array(), *one;
	const char *key;

	json_object_foreach(t->refusals, key, one)
	{
		(void)json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:O}", "budget", key,
							    "times", number(one, "times"), "nodes",
							    count_hosts(one), "allows",
							    json_object_get(one, "allows")));
	}
	return list;
}

static json_t *stamp(json_int_t us)
{
	char text[CLOCK_STAMP_SIZE];

	if (us <= 0)
		return json_null();
	clock_stamp((uint64_t)us, text);
	return json_string(text);
}

static json_t *nodes_list(const struct tally *t, uint64_t until_us)
{
	json_t *list = json_array(), *one;
	const char *key;

	json_object_foreach(t->nodes, key, one)
	{
		json_int_t since = number(one, "since_us");
		json_int_t out = number(one, "out_us") + (since ? (json_int_t)until_us - since : 0);

		if (json_array_size(list) == REPLAY_NODES_TOLD)
			break;
		(void)json_array_append_new(
			list, json_pack("{s:s, s:I, s:I, s:I, s:o, s:f}", "node", key, "cordons",
					number(one, "cordons"), "releases", number(one, "releases"),
					"refused", number(one, "refused"), "first",
					stamp(number(one, "first_us")), "out_s", (double)out / 1e6));
	}
	return list;
}

void tally_put(const struct tally *t, json_t *answer, uint64_t until_us)
{
	(void)json_object_set_new(answer, "rules", rules_list(t));
	(void)json_object_set_new(answer, "nodes", nodes_list(t, until_us));
	(void)json_object_set_new(answer, "refusals", refusals_list(t));
}
