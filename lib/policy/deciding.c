/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/deciding.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/base/xalloc.h"

char *deciding_text(struct deciding *d, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return pool_text(&d->out->texts, text, n < 0 ? 0 : MIN((size_t)n, sizeof(text) - 1));
}

bool deciding_past(uint64_t now_us, uint64_t then_us, uint64_t age_us)
{
	return then_us == 0 || (now_us >= then_us && now_us - then_us >= age_us);
}

/* More may be decided at this time. */
static void wake_at(const struct deciding *d, uint64_t at_us)
{
	if (d->out->again_us == 0 || at_us < d->out->again_us)
		d->out->again_us = at_us;
}

bool deciding_reached(const struct deciding *d, uint64_t then_us, uint64_t age_us)
{
	if (deciding_past(d->now_us, then_us, age_us))
		return true;
	wake_at(d, then_us + age_us);
	return false;
}

struct decision *deciding_add(struct deciding *d, struct fleet_node *node, int action)
{
	struct outcome *out = d->out;

	if (out->n == out->room) {
		out->room = MAX(out->room * 2, (size_t)32);
		out->items = xrealloc(out->items, out->room, sizeof(*out->items));
	}
	out->items[out->n] = (struct decision){ .node = node,
						.action = action,
						.effect = d->policy->mode == MODE_ENFORCE,
						.rule = "",
						.reason = "",
						.evidence = "" };
	return &out->items[out->n++];
}

void deciding_refuse(struct deciding *d, struct decision *one, const struct refusal *refusal)
{
	struct refusal *kept = pool_take(&d->out->texts, sizeof(*kept));

	*kept = *refusal;
	one->refused = kept;
	one->effect = false;
	if (refusal->again_us > d->now_us)
		wake_at(d, refusal->again_us);
}

void deciding_step(struct deciding *d, struct fleet_node *node, int event, const char *why,
		   const char *evidence)
{
	const struct fleet_cause cause = {
		.event = event, .who = WHO_AUTOMATIC, .why = why, .evidence = evidence
	};
	struct outcome *out = d->out;
	struct node_change changed = { .node = node };

	if (fleet_event(d->fleet, node, &cause, d->now_us, &changed.change, NULL) < 0)
		return;
	if (out->n_changes == out->room_changes) {
		out->room_changes = MAX(out->room_changes * 2, (size_t)32);
		out->changes = xrealloc(out->changes, out->room_changes, sizeof(*out->changes));
	}
	out->changes[out->n_changes++] = changed;
}

void deciding_open(struct deciding *d, int cause, const char *sentence)
{
	d->out->opened |= breaker_open(d->breaker, cause, d->now_us, sentence);
}

const char *deciding_incident(struct deciding *d, const struct finding *finding)
{
	return finding->incident ? deciding_text(d, "incident %lld", (long long)finding->incident)
				 : "";
}
