/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines one at a time, for those that save them. */
#include <search.h>

#include "controller/fleet/baseline_inside.h"

struct visit {
	void (*visit)(struct baseline *line, void *context);
	void *context;
};

static void visit_node(const void *node, VISIT order, void *closure)
{
	const struct visit *v = closure;

	if (order == postorder || order == leaf)
		v->visit(*(struct baseline *const *)node, v->context);
}

void baselines_visit(const struct baselines *b, void (*visit)(struct baseline *line, void *context),
		     void *context)
{
	struct visit v = { visit, context };

	twalk_r(b->tree, visit_node, &v);
}

struct baseline_about baseline_about(const struct baseline *line)
{
	return (struct baseline_about){ .sku = line->sku,
					.check = line->check,
					.locality = line->locality,
					.unit = line->unit,
					.params = line->params,
					.better = line->key.kind.better };
}

bool baseline_host(const struct baseline *line, size_t at, struct baseline_host *ret)
{
	if (at >= line->n)
		return false;
	*ret = (struct baseline_host){ line->hosts[at].node, line->hosts[at].value,
				       line->hosts[at].spread };
	return true;
}

uint64_t baseline_saved_us(const struct baseline *line)
{
	return line->saved_us;
}

bool baseline_changed(const struct baseline *line)
{
	return line->changed;
}

void baseline_set_saved(struct baseline *line, uint64_t saved_us)
{
	line->saved_us = saved_us;
	line->changed = false;
}

void baseline_set_changed(struct baseline *line)
{
	line->changed = true;
}

struct usuals *baseline_usuals(struct baseline *line)
{
	return &line->usuals;
}

void baseline_set_listed(struct baseline *line, bool listed)
{
	line->listed = listed;
}

bool baseline_gone(const struct baseline *line)
{
	return line->gone;
}

struct baseline *baseline_next_dropped(const struct baseline *line)
{
	return line->next_dropped;
}

void baseline_set_next_dropped(struct baseline *line, struct baseline *next)
{
	line->next_dropped = next;
}
