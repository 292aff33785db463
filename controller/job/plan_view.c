/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/plan_view.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum { WORDS_MAX = 2048 };

static json_t *range(const struct remedy_range *r)
{
	return json_pack("{s:o, s:o, s:o}", "value", json_seconds(r->value), "low",
			 json_seconds(r->low), "high", json_seconds(r->high));
}

/* --- remedies --- */

static json_t *needs(const struct remedy *one)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{ REMEDY_NEEDS_SPARE, "spares" },
		{ REMEDY_NEEDS_RESTART, "restart" },
		{ REMEDY_NEEDS_CODE, "code" },
		{ REMEDY_NEEDS_MEMORY, "memory" },
	};
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (one->needs & names[i].bit)
			(void)json_array_append_new(list, json_string(names[i].name));
	}
	return list;
}

static char *names_of(const json_t *names)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WORDS_MAX);
	size_t i;

	for (i = 0; i < json_array_size(names); i++)
		(void)strbuf_printf(&text, "%s%s", i ? ", " : "",
				    json_string_value(json_array_get(names, i)));
	return xstrdup(strbuf_text(&text));
}

/* Instructions for a person. */
static const char *const deeds[REMEDY_KINDS] = {
	[REMEDY_NONE] = "continue as is",
	[REMEDY_DROP] = "continue without the slowest replica",
	[REMEDY_MICROBATCHES] = "give slow replicas fewer micro-batches",
	[REMEDY_LAYERS] = "give slow stages fewer layers",
	[REMEDY_BOTH] = "give slow stages fewer layers and slow replicas fewer micro-batches",
	[REMEDY_SEQUENCES] = "distribute the sequences evenly",
	[REMEDY_GC] = "collect garbage on all ranks at once",
	[REMEDY_STAGE] = "distribute the layers evenly over the stages",
	[REMEDY_DATA] = "never let a step wait for its data",
};

char *plan_view_deed(const struct plan_facts *facts, const struct remedy *one)
{
	CLEANUP(json_freep) json_t *hosts = NULL;
	CLEANUP(freep) char *names = NULL;

	if (one->kind != REMEDY_REPLACE)
		return xstrdup(deeds[one->kind] ?: remedy_kind_names[one->kind]);
	hosts = plan_facts_set(facts, one->set);
	names = names_of(hosts);
	return xasprintf("replace %s", names);
}

static json_t *show(const struct plan_view_input *in, const struct remedy *one)
{
	json_t *shown = json_object();
	CLEANUP(freep) char *deed = plan_view_deed(in->facts, one);

	json_put(shown, "kind", json_string(remedy_kind_names[one->kind]));
	json_put(shown, "deed", json_string(deed));
	json_put(shown, "sure", json_string(remedy_sure_names[one->sure]));
	json_put(shown, "hosts",
		 one->kind == REMEDY_REPLACE ? plan_facts_set(in->facts, one->set) : json_array());
	json_put(shown, "count", json_integer((json_int_t)one->count));
	json_put(shown, "after_s", json_seconds(one->after_s));
	json_put(shown, "cost_s", json_seconds(one->cost_s));
	json_put(shown, "gain_s", range(&one->gain_s));
	json_put(shown, "pays_steps", range(&one->pays_steps));
	json_put(shown, "pays_hours", range(&one->pays_hours));
	json_put(shown, "over_s", json_seconds(one->over_s));
	json_put(shown, "gap_s",
		 one->kind == REMEDY_REPLACE ? json_seconds(one->gap_s) : json_null());
	json_put(shown, "needs", needs(one));
	json_put(shown, "spares_missing", json_integer((json_int_t)one->spares_missing));
	json_put(shown, "possible", json_boolean(one->possible));
	json_put(shown, "note", json_string(one->note));
	return shown;
}

static void put_costs(const struct plan_view_input *in, json_t *plan)
{
	const struct remedies_costs *c = &in->facts->facts.costs;

	json_put(plan, "costs",
		 json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "restart_s", json_seconds(c->restart_s),
			   "lost_s", json_seconds(c->lost_s), "warm_up_s",
			   json_seconds(c->warm_up_s), "regroup_s", json_seconds(c->regroup_s),
			   "rebalance_s", json_seconds(c->microbatches_s), "move_layers_s",
			   json_seconds(c->layers_s)));
}

static void put_remedies(const struct plan_view_input *in, json_t *plan)
{
	const struct remedies *all = in->remedies;
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < all->n; i++)
		(void)json_array_append_new(list, show(in, &all->list[i]));
	json_put(plan, "remedies", list);
	json_put(plan, "advised", json_integer((json_int_t)all->advised));
	json_put(plan, "lost_s", json_seconds(all->lost_s));
	json_put(plan, "next",
		 all->next < all->n ? json_pack("{s:I, s:o}", "remedy", (json_int_t)all->next,
						"steps", json_seconds(all->next_steps))
				    : json_null());
}

/* --- the sentence --- */

static void put_sentence(const struct plan_view_input *in, json_t *plan)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WORDS_MAX);
	const struct remedies *all = in->remedies;
	const struct remedy *one = &all->list[all->advised];
	CLEANUP(freep) char *deed = plan_view_deed(in->facts, one);
	CLEANUP(freep)
	char *next = all->next < all->n ? plan_view_deed(in->facts, &all->list[all->next]) : NULL;

	(void)strbuf_printf(&text, "%s", all->n == 1 ? "no known remedy would help" : deed);
	if (one->kind != REMEDY_NONE)
		(void)strbuf_printf(&text, ": %.2f s -> %.2f s a step", in->facts->facts.now_s,
				    one->after_s);
	if (next)
		(void)strbuf_printf(&text, "; %s once it has been slow for %.0f more steps", next,
				    ceil(all->next_steps));
	json_put(plan, "sentence", json_string(strbuf_text(&text)));
}

/* --- without some hosts --- */

/* Cost of a change: those that the job's code cannot make at run time need a restart. */
static double cost_of(const struct remedies_costs *c, double while_it_runs_s)
{
	return isnan(while_it_runs_s) ? c->restart_s + c->lost_s + c->warm_up_s : while_it_runs_s;
}

static json_t *strangers(const json_t *names, const json_t *found)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < json_array_size(names); i++) {
		json_t *name = json_array_get(names, i);

		if (!json_has_text(found, json_string_value(name)))
			(void)json_array_append(list, name);
	}
	return list;
}

/* Name the hosts asked about that it does not run on. */
static void say_strangers(const json_t *names, struct strbuf *text)
{
	CLEANUP(freep) char *words = names_of(names);

	if (json_array_size(names) > 0)
		(void)strbuf_printf(text, "; it does not run on %s", words);
}

static char *say_without(const struct plan_view_input *in, const json_t *found,
			 const json_t *others, const struct remedies_loss *loss, double replaced_s)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WORDS_MAX);
	const size_t n = json_array_size(found), spares = json_array_size(in->without_spares);
	CLEANUP(freep) char *hosts = names_of(found);
	CLEANUP(freep) char *instead = names_of(in->without_spares);
	const size_t dp = in->facts->replicas.dp;

	if (n == 0)
		return xstrdup("as far as its last window shows, it runs on none of these hosts: "
			       "it is not affected");
	(void)strbuf_printf(&text, "without %s %zu worker%s", hosts, loss->workers,
			    loss->workers == 1 ? " stops" : "s stop");
	if (in->facts->facts.replicas)
		(void)strbuf_printf(&text, ", and with %s, %zu of %zu replicas",
				    loss->workers == 1 ? "it" : "them", loss->replicas, dp);
	if (spares >= n)
		(void)strbuf_printf(&text, "; restarted with %s", instead);
	else
		(void)strbuf_printf(&text, "; there %s %zu spare%s for %zu host%s",
				    spares == 1 ? "is" : "are", spares, spares == 1 ? "" : "s", n,
				    n == 1 ? "" : "s");
	if (spares >= n && isfinite(replaced_s))
		(void)strbuf_printf(&text, " it takes %.2f s a step", replaced_s);
	if (loss->left > 0)
		(void)strbuf_printf(&text,
				    "; on %zu replica%s, with the same batch, it takes %.2f s "
				    "a step",
				    loss->left, loss->left == 1 ? "" : "s", loss->after_s);
	else if (in->facts->facts.replicas)
		(void)strbuf_printf(&text, "; without a spare it cannot continue");
	say_strangers(others, &text);
	return xstrdup(strbuf_text(&text));
}

static void put_without(const struct plan_view_input *in, json_t *plan)
{
	const struct remedies_costs *c = &in->facts->facts.costs;
	CLEANUP(json_freep) json_t *found = NULL, *others = NULL;
	CLEANUP(freep) char *sentence = NULL;
	struct remedies_loss loss;
	double replaced_s;
	json_t *shown;

	json_put(plan, "without", json_null());
	if (!in->without)
		return;
	loss = plan_facts_without(in->facts, in->without, &found);
	replaced_s = plan_facts_replaced(in->facts, found);
	others = strangers(in->without, found);
	sentence = say_without(in, found, others, &loss, replaced_s);
	shown = json_pack("{s:O, s:O, s:I, s:I, s:I, s:I}", "hosts", found, "strangers", others,
			  "workers", (json_int_t)loss.workers, "replicas",
			  (json_int_t)loss.replicas, "of_replicas",
			  (json_int_t)in->facts->replicas.dp, "left", (json_int_t)loss.left);
	json_put(shown, "spares", json_copy((json_t *)(uintptr_t)in->without_spares));
	json_put(shown, "enough",
		 json_boolean(json_array_size(in->without_spares) >= json_array_size(found)));
	json_put(shown, "replaced_s", json_seconds(replaced_s));
	json_put(shown, "replaced_cost_s", json_seconds(cost_of(c, NAN)));
	json_put(shown, "dropped_s", json_seconds(loss.after_s));
	json_put(shown, "dropped_cost_s", json_seconds(cost_of(c, c->regroup_s)));
	json_put(shown, "sentence", json_string(sentence));
	json_put(plan, "without", shown);
}

void plan_view_put(const struct plan_view_input *in, json_t *plan)
{
	const struct remedies_facts *f = &in->facts->facts;

	json_put(plan, "step_s", json_seconds(f->now_s));
	json_put(plan, "simulated_s", json_seconds(f->simulated_s));
	json_put(plan, "ideal_s", json_seconds(in->facts->ideal_s));
	json_put(plan, "remaining_steps", json_seconds(f->remaining));
	json_put(plan, "slow_steps", json_seconds(f->slow_steps));
	json_put(plan, "spares", json_copy((json_t *)(uintptr_t)in->spares));
	put_costs(in, plan);
	put_remedies(in, plan);
	put_sentence(in, plan);
	put_without(in, plan);
}
