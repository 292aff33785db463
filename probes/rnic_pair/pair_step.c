/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_step.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "probes/memory/numa.h"
#include "probes/rnic_pair/pair_connect.h"
#include "probes/rnic_pair/pair_gpu.h"
#include "probes/rnic_pair/pair_guard.h"
#include "probes/rnic_pair/pair_measure.h"
#include "probes/rnic_pair/pair_schedule.h"

enum { RETRIES = 7, LATENCY_PART = 8, NSEC_PER_USEC = 1000 };

void pair_outcome_release(struct pair_outcome *o)
{
	sample_release(&o->samples[0]);
	sample_release(&o->samples[1]);
}

int pair_say(struct pair_session *s, const struct pair_message *m, struct err *err)
{
	CLEANUP(freep) char *line = pair_message_encode(m);

	return oob_send(&s->line, line, strlen(line), s->deadline_us, err);
}

int pair_hear(struct pair_session *s, uint64_t us, struct pair_message *ret, struct err *err)
{
	CLEANUP(freep) char *body = NULL;
	size_t length;
	int r = oob_receive(&s->line, MIN(clock_mono_us() + us, s->deadline_us), &body, &length,
			    err);

	if (r == 0)
		r = pair_message_decode(body, length, ret, err);
	return r == -EINVAL ? err_wrap(err, r, "%s", s->line.name) : r;
}

/* --- names and samples --- */

static struct pair_end own_end(const struct pair_session *s, size_t rail)
{
	struct pair_end end = pair_end_of(&s->sides[rail]);

	if (rail < s->n_rails)
		end.rail = s->rails[rail];
	return end;
}

static struct pair_end other_end(const struct pair_session *s, size_t rail)
{
	const bool gpu = s->options->memory == PAIR_MEMORY_GPU;

	if (!s->peer.node)
		return (struct pair_end){ .node = s->other, .rail = (unsigned)rail, .gpu = gpu };
	return (struct pair_end){ .node = s->peer.node,
				  .device = s->peer.rails[rail].device,
				  .port = s->peer.rails[rail].port,
				  .rail = s->rails[rail],
				  .numa = -1,
				  .gpu = gpu };
}

static char **list_of(const char *text)
{
	char **list = xcalloc(2, sizeof(*list));

	list[0] = xstrdup(text);
	return list;
}

/* A sample of a rail, going out from here or coming in. */
static struct sample sample_of(const struct pair_session *s, size_t rail, bool out, int check)
{
	const struct pair_end own = own_end(s, rail), other = other_end(s, rail);
	struct sample sample = out ? pair_sample(&own, &other, check, s->topology)
				   : pair_sample(&other, &own, check, s->topology);

	sample.with = list_of(other.node);
	return sample;
}

/* Copy the results of `from` into our own sample, keeping its names. */
static void rename_sample(struct sample *from, struct sample *names)
{
	struct sample *n = names;

	n->value = from->value;
	n->ok = from->ok;
	n->state = from->state;
	n->n = from->n;
	n->min = from->min;
	n->max = from->max;
	n->stddev = from->stddev;
	n->p50 = from->p50;
	n->p99 = from->p99;
	n->seconds = from->seconds;
	n->w = from->w;
	from->w = (struct jreals){ .n = 0 };
	if (from->params) {
		json_decref(n->params);
		n->params = TAKE(from->params);
	}
	n->note = TAKE(from->note);
}

int pair_step_emit(struct pair_session *s, size_t rail, bool forth, struct sample *samples, size_t n)
{
	const bool out = forth == s->leads;
	const int first = n == 1 ? PAIR_CONNECT : PAIR_WRITE_BW;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++) {
		int check = first + (int)i;
		struct sample sample = sample_of(s, rail, out, check);

		rename_sample(&samples[i], &sample);
		s->emitted[rail][out][check] = true;
		r = s->emit(s->probe, &sample);
	}
	return r;
}

int pair_step_emit_rest(struct pair_session *s, int state, const char *why)
{
	const int checks = s->options->connect_only ? PAIR_WRITE_BW : PAIR_CHECKS;
	size_t rails = s->peer.node ? s->n_rails : s->n_sides, rail;
	int out, check, r = 0;

	for (rail = 0; rail < rails; rail++) {
		for (out = 1; out >= 0; out--) {
			for (check = PAIR_CONNECT; r == 0 && check < checks; check++) {
				struct sample sample;

				if (s->emitted[rail][out][check])
					continue;
				sample = sample_of(s, rail, out, check);
				sample.state = state;
				sample.note = xstrdup(why);
				s->emitted[rail][out][check] = true;
				r = s->emit(s->probe, &sample);
			}
		}
	}
	return r;
}

/* --- one step --- */

static struct pair_want want_of(const struct pair_session *s, const struct pair_step *step)
{
	const struct pair_options *o = s->options;

	return step->rates ? (struct pair_want){ .qps = o->qps,
						 .depth = o->depth,
						 .retries = RETRIES,
						 .mtu = step->mtu,
						 .least = (uint64_t)o->size * o->qps }
			   : (struct pair_want){ .qps = 1,
						 .depth = 1,
						 .retries = PAIR_TRY_RETRIES,
						 .mtu = step->mtu,
						 .least = PAIR_TRY_BYTES };
}

int pair_step_open(struct pair_session *s, const struct pair_step *step, struct pair_verdict *ret)
{
	const struct pair_side *side = &s->sides[step->rail];
	const struct pair_want want = want_of(s, step);
	struct err err = side->err;
	int r = side->err.code ? -side->err.code : 0;

	s->written = (struct pair_written){ 0 };
	s->reading = (struct pair_reading){ .side = NULL };
	numa_go_near(s->host, side->port->numa_node);
	if (r == 0)
		r = pair_lanes_open(&s->lanes, side, &want, &err);
	s->lanes.far = s->peer.node;
	if (r < 0)
		pair_decide(ret, pair_side_state(side), TRI_UNKNOWN, "%s: %s", s->node, err.msg);
	return r;
}

int pair_step_connect(struct pair_session *s, const struct pair_offer *peer,
		      struct pair_verdict *ret)
{
	char address[GID_TEXT_SIZE];
	struct rdma_gid gid = { .index = 0 };
	struct err err = ERR_INIT;
	int r = pair_lanes_connect(&s->lanes, peer, &err);

	if (r == 0 || !pair_is_no_way(r)) {
		if (r < 0)
			pair_decide(ret, SAMPLE_SET_UP, TRI_UNKNOWN, "%s: %s", s->node, err.msg);
		return r;
	}
	memcpy(gid.raw, peer->gid, sizeof(gid.raw));
	gid_format(&gid, address);
	pair_decide(ret, SAMPLE_SET_UP, TRI_UNKNOWN,
		    "%s: %s. No path from %s to %s of %s: check that the route to it uses "
		    "that interface, and that it answers ARP or neighbour discovery there",
		    s->node, err.msg, s->lanes.side->port->device, address, s->peer.node);
	return r;
}

/* A deadline on the engine's clock: in `us`, or at the end of the budget. */
static uint64_t until(const struct pair_session *s, uint64_t us)
{
	return s->engine->ops->now_ns(s->engine) / NSEC_PER_USEC +
	       MIN(us, clock_left_us(s->deadline_us));
}

/* Post one write; returns true if it arrived. */
static bool write_once(struct pair_session *s, uint32_t bytes, const char *what,
		       struct pair_verdict *ret)
{
	struct rdma_done done = { .status = RDMA_OK };
	struct err err = ERR_INIT;
	int r = pair_lanes_post(&s->lanes, bytes, &err);

	if (r == 0)
		r = pair_lanes_wait(&s->lanes, until(s, PAIR_TRY_US), &done, &err);
	if (r < 0 && r != -ETIME)
		pair_decide(ret, SAMPLE_SET_UP, TRI_UNKNOWN, "%s", err.msg);
	else if (r < 0 || done.status != RDMA_OK)
		pair_decide_lost(ret, &s->lanes, r, &done, what);
	return r == 0 && done.status == RDMA_OK;
}

static void write_try(struct pair_session *s, struct pair_outcome *ret)
{
	const struct pair_lanes *l = &s->lanes;
	const unsigned mtu = pair_lanes_mtu(l);
	struct pair_verdict *v = &ret->verdict;

	v->mtu = mtu;
	if (!write_once(s, PAIR_SMALL_BYTES, PAIR_SMALL_WORDS, v))
		return;
	if (!write_once(s, mtu, PAIR_FULL_WORDS, v)) {
		ret->lost_full = v->state != SAMPLE_SET_UP;
		return;
	}
	if (l->mtu == l->peer_mtu)
		pair_decide(v, SAMPLE_MEASURED, TRI_YES, "packets of %u bytes", mtu);
	else
		pair_decide(
			v, SAMPLE_MEASURED, TRI_YES,
			"MTUs differ: %s has %u bytes, but that of %s has %u; packets of %u bytes",
			l->side->port->device, l->mtu, l->far, l->peer_mtu, mtu);
}

static void write_rates(struct pair_session *s, const struct pair_step *step,
			struct pair_outcome *ret)
{
	const struct pair_lanes *lanes = &s->lanes;
	const uint64_t most_us = pair_patience_us(step->us, clock_left_us(s->deadline_us));
	const struct pair_time time = { step->us, until(s, most_us) };
	struct pair_time brief = { .us = step->us / LATENCY_PART };
	struct pair_guard guard, first;

	ret->samples[0] = sample_of(s, step->rail, true, PAIR_WRITE_BW);
	ret->samples[1] = sample_of(s, step->rail, true, PAIR_WRITE_LAT);
	pair_guard_begin(&lanes, 1, &first);
	pair_bandwidth(&lanes, 1, &time, &ret->samples[0]);
	pair_guard_end(&lanes, 1, &first, &ret->samples[0]);
	if (pair_guard_goes_on(&ret->samples[0])) {
		brief.deadline_us =
			until(s, pair_patience_us(step->us, clock_left_us(s->deadline_us)));
		pair_guard_begin(&lanes, 1, &guard);
		pair_latency(lanes, &brief, &ret->samples[1]);
		pair_guard_end(&lanes, 1, &guard, &ret->samples[1]);
	} else {
		ret->samples[1].state = SAMPLE_ABORTED;
		ret->samples[1].note =
			xstrdup("not tried: the queue pairs were lost in the bandwidth test");
	}
	s->written = pair_guard_written(lanes, &first);
}

char *pair_step_heard(struct pair_session *s, const struct pair_written *written)
{
	CLEANUP(freep) char *words = pair_reading_end(&s->reading, written);

	s->reading.side = NULL;
	/* Names may be long, but the message to the other side is bounded. */
	return words ? xasprintf("%.*s: %s", PAIR_NOTE_SIZE / 4, s->node, words) : NULL;
}

void pair_step_write(struct pair_session *s, const struct pair_step *step, struct pair_outcome *ret)
{
	if (step->rates)
		write_rates(s, step, ret);
	else
		write_try(s, ret);
}
