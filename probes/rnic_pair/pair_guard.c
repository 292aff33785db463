/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_guard.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "probes/rdma/port_guard.h"
#include "probes/rnic_pair/pair.h"
#include "probes/rnic_state/nic.h"

/* All lanes measured together. */
struct watch {
	const struct pair_lanes *const *lanes;
	const struct pair_guard *guards;
	struct pair_guard *now;
	size_t n;
};

static struct rdma_posted posted_on(const struct pair_lanes *l)
{
	const struct rdma_ops *ops = l->side->engine->ops;
	struct rdma_posted all = { 0 };
	size_t i;

	for (i = 0; ops->posted && i < l->flow.n_queues; i++) {
		struct rdma_posted one = ops->posted(l->flow.queues[i]);

		all.requests += one.requests;
		all.bytes += one.bytes;
	}
	return all;
}

static bool is_watched(const struct pair_lanes *l)
{
	return !l->side->engine->ops->hollow && l->side->engine->ops->posted;
}

void pair_guard_begin(const struct pair_lanes *const *lanes, size_t n, struct pair_guard *guards)
{
	size_t i;

	for (i = 0; i < n; i++) {
		guards[i] = (struct pair_guard){ .posted = posted_on(lanes[i]) };
		if (!is_watched(lanes[i]))
			continue;
		traffic_read_fresh(lanes[i]->side->port, &nic_kernel, &guards[i].from);
		if (lanes[i]->other)
			traffic_read_fresh(lanes[i]->other->port, &nic_kernel, &guards[i].to);
	}
}

/* --- attributing traffic ------------------------------------------------------------- */

static void add_own(const struct watch *w, size_t i, struct traffic_own *own)
{
	const struct pair_lanes *l = w->lanes[i];
	const uint64_t requests = w->now[i].posted.requests - w->guards[i].posted.requests;
	const uint64_t bytes = w->now[i].posted.bytes - w->guards[i].posted.bytes;
	const uint64_t all = own->requests * own->size + bytes;

	own->requests += requests;
	own->size = own->requests > 0 ? (uint32_t)(all / own->requests) : 0;
	own->mtu = pair_lanes_mtu(l);
	own->window += (uint64_t)l->side->options->depth * l->flow.n_queues;
}

/* Sum up our traffic out of and into the port. Resends of incoming directions arrive again. */
static void find_own(const struct watch *w, const struct pair_side *side, struct traffic_own *out,
		     struct traffic_own *in)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		uint64_t resends = 0;

		if (w->lanes[i]->side == side)
			add_own(w, i, out);
		if (w->lanes[i]->other != side)
			continue;
		add_own(w, i, in);
		(void)traffic_growth(&w->guards[i].from, &w->now[i].from, TRAFFIC_RETRIES, &resends);
		in->resends += resends;
	}
}

/* Describes foreign traffic through this port if it is too much; else NULL. Caller frees. */
static char *foreign_words(const struct watch *w, const struct pair_side *side,
			   const struct traffic *before, const struct traffic *after)
{
	const struct rdma_port *port = side->port;
	struct traffic_own out = { .mtu = port->mtu }, in = out;

	find_own(w, side, &out, &in);
	return port_foreign_words(port, before, after, &out, &in);
}

static void forget_value(struct sample *s)
{
	s->value = s->min = s->max = s->stddev = s->p50 = s->p99 = s->seconds = NAN;
	s->n = 0;
	s->w.n = 0;
}

/* Keep the reason of a failure in the note: the foreign traffic may be its cause. */
static void set_foreign(struct sample *s, char *words)
{
	char *note = s->state == SAMPLE_MEASURED && s->ok != TRI_NO
			     ? TAKE(words)
			     : xasprintf("%s; %s", words, s->note ? s->note : "no value");

	free(words);
	s->state = SAMPLE_FOREIGN_TRAFFIC;
	s->ok = TRI_UNKNOWN;
	forget_value(s);
	free(s->note);
	s->note = note;
}

static void judge_traffic(const struct watch *w, size_t i, struct sample *s)
{
	const struct pair_lanes *l = w->lanes[i];
	char *words = foreign_words(w, l->side, &w->guards[i].from, &w->now[i].from);

	if (!words && l->other)
		words = foreign_words(w, l->other, &w->guards[i].to, &w->now[i].to);
	if (words)
		set_foreign(s, words);
}

/* --- the written-to end of a pair of two hosts ---------------------------------------- */

struct pair_written pair_guard_written(const struct pair_lanes *l, const struct pair_guard *from)
{
	struct rdma_posted posted = posted_on(l);
	struct pair_written all = { .requests = posted.requests, .bytes = posted.bytes };
	struct traffic now;

	if (!is_watched(l))
		return (struct pair_written){ 0 };
	traffic_read_fresh(l->side->port, &nic_kernel, &now);
	(void)traffic_growth(&from->from, &now, TRAFFIC_RETRIES, &all.resends);
	return all;
}

void pair_reading_begin(const struct pair_lanes *l, struct pair_reading *ret)
{
	*ret = (struct pair_reading){ .side = NULL };
	if (!is_watched(l))
		return;
	ret->side = l->side;
	ret->mtu = pair_lanes_mtu(l);
	ret->window = (uint64_t)l->side->options->depth * l->flow.n_queues;
	traffic_read_fresh(l->side->port, &nic_kernel, &ret->before);
}

char *pair_reading_end(const struct pair_reading *reading, const struct pair_written *written)
{
	const struct rdma_port *port = reading->side ? reading->side->port : NULL;
	struct traffic_own out = { .mtu = reading->mtu }, in;
	struct traffic_finding finding;
	struct traffic now;

	if (!port || written->requests == 0)
		return NULL;
	out.others = port_has_others(port);
	in = out;
	in.requests = written->requests;
	in.size = (uint32_t)MIN(written->bytes / written->requests, (uint64_t)UINT32_MAX);
	in.window = reading->window;
	in.resends = written->resends;
	traffic_read_fresh(port, &nic_kernel, &now);
	traffic_judge_ways(&reading->before, &now, &out, &in, port->bytes_per_s, &finding);
	return finding.foreign
		       ? xasprintf("%s port %u: %s", port->device, port->number, finding.words)
		       : NULL;
}

/* --- the state of the ports ----------------------------------------------------------- */

static struct rdma_scene scene_of(const struct pair_side *side, int status)
{
	struct rdma_scene scene = { .device = side->port->device,
				    .port = side->port->number,
				    .failed = { .status = status } };

	port_look(side->engine, side->device, side->port, &scene);
	scene.failed.status = RDMA_OK;
	return scene;
}

/* What happened at one end may explain what the other saw; an operator's action explains more. */
static int weight_of(const struct rdma_scene *scene)
{
	return scene->gone ? 3 : scene->taken_down ? 2 : scene->down ? 1 : 0;
}

/* If a port or its device is gone, the sample says so, whatever its result. */
static bool explain(const struct pair_lanes *l, bool failed, struct sample *s)
{
	CLEANUP(freep) char *rail = s->code ? xstrdup(s->code) : NULL;
	struct rdma_scene scene, other;

	scene = scene_of(l->side, failed ? RDMA_RETRY_EXCEEDED : RDMA_OK);
	if (l->other) {
		other = scene_of(l->other, RDMA_OK);
		if (weight_of(&other) > weight_of(&scene))
			scene = other;
	}
	if (!rdma_explain(&scene, s))
		return false;
	forget_value(s);
	free(s->code);
	s->code = TAKE(rail);
	return true;
}

static bool has_value(const struct sample *s)
{
	return s->state == SAMPLE_MEASURED && s->ok != TRI_NO;
}

static bool has_failed(const struct sample *s)
{
	return (s->state == SAMPLE_MEASURED && s->ok == TRI_NO) || s->state == SAMPLE_TIMEOUT ||
	       s->state == SAMPLE_SET_UP;
}

void pair_guard_end(const struct pair_lanes *const *lanes, size_t n,
		    const struct pair_guard *guards, struct sample *samples)
{
	CLEANUP(freep) struct pair_guard *now = xcalloc(n, sizeof(*now));
	const struct watch w = { .lanes = lanes, .guards = guards, .now = now, .n = n };
	size_t i;

	if (n == 0 || !is_watched(lanes[0]))
		return;
	pair_guard_begin(lanes, n, now);
	for (i = 0; i < n; i++) {
		bool failed = has_failed(&samples[i]);

		if (!failed && !has_value(&samples[i]))
			continue;
		if (!explain(lanes[i], failed, &samples[i]))
			judge_traffic(&w, i, &samples[i]);
	}
}

void pair_guard_blame_others(struct sample *s, const char *words)
{
	if (has_value(s) || has_failed(s))
		set_foreign(s, xstrdup(words));
}

bool pair_guard_goes_on(const struct sample *s)
{
	return has_value(s) || s->state == SAMPLE_FOREIGN_TRAFFIC;
}
