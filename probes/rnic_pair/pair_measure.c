/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_measure.h"

#include <errno.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/flow_latency.h"
#include "probes/rdma/flow_many.h"
#include "probes/rdma/flow_sink.h"
#include "probes/rdma/ports.h"
#include "probes/rdma/words.h"
#include "probes/rnic_pair/pair_gpu.h"
#include "probes/rnic_pair/pair_lost.h"
#include "probes/rnic_pair/pair_sample.h"

enum {
	LATENCY_BYTES = 8,
	LATENCY_WARM = 20,
	LATENCY_MAX = 2000,
	NSEC_PER_USEC = 1000,
};

/* Parts of a check's time for warm-up and for counting; the rest is for draining. */
#define WARM_SHARE 0.15
#define COUNT_SHARE 0.75

/* On one host we can access the other end's memory: a trip ends when its data is visible there. */
static bool is_seen(const struct pair_lanes *l)
{
	return l->other && l->way == PAIR_WAY_HOST && !l->side->engine->ops->hollow;
}

/* Host memory is the default and is not recorded. */
static void add_memory(const struct pair_lanes *l, json_t *params)
{
	const char *own = pair_way_names[l->way], *other = pair_way_names[MAX(l->peer_way, 0)];
	CLEANUP(freep)
	char *via = l->way == l->peer_way ? xstrdup(own) : xasprintf("%s>%s", own, other);

	if (l->way == PAIR_WAY_HOST)
		return;
	json_object_set_new(params, "memory", json_string(pair_memory_names[PAIR_MEMORY_GPU]));
	json_object_set_new(params, "via", json_string(via));
}

static void set_params(const struct pair_lanes *l, int check, struct sample *s)
{
	json_decref(s->params);
	s->params = pair_params(l, check);
}

json_t *pair_params(const struct pair_lanes *l, int check)
{
	const struct pair_options *o = l->side->options;
	const bool latency = check == PAIR_WRITE_LAT;
	json_t *params =
		json_pack("{s:i, s:s, s:s}", "mtu", (int)pair_lanes_mtu(l), "gid",
			  l->side->gid.index < 0 ? "none" : gid_type_names[l->side->gid.gid.type],
			  "wait", l->side->wait == FLOW_SPIN ? "spin" : "events");

	port_params(l->side->port, params);
	rdma_service_params(&o->service, l->pkey, params);
	add_memory(l, params);
	if (latency)
		json_object_set_new(params, "until", json_string(is_seen(l) ? "seen" : "completed"));
	json_object_set_new(params, "size", json_integer(latency ? LATENCY_BYTES : o->size));
	json_object_set_new(params, "qps", json_integer(latency ? 1 : (json_int_t)l->flow.n_queues));
	json_object_set_new(params, "depth", json_integer(latency ? 1 : o->depth));
	return params;
}

/* The end that is down now; NULL if both are up. */
static const struct pair_side *down_side(const struct pair_lanes *l)
{
	if (!pair_side_is_up(l->side))
		return l->side;
	return l->other && !pair_side_is_up(l->other) ? l->other : NULL;
}

static void set_sick(struct sample *s, char *note)
{
	s->ok = TRI_NO;
	if (s->better == BETTER_HIGHER)
		s->value = 0;
	s->note = note;
}

/* Nothing arrives between active ports: a bad path. Any other failure is a set-up error. */
static void set_failed(const struct pair_lanes *l, const struct flow_result *result,
		       struct sample *s)
{
	CLEANUP(freep) char *words = rdma_done_words(&result->failed);
	const struct pair_side *down = down_side(l);

	if (!rdma_status_is_sick(result->status)) {
		s->state = SAMPLE_SET_UP;
		s->note = TAKE(words);
	} else if (down) {
		set_sick(s, xasprintf("%s port %u went down during the measurement: %s",
				      down->port->device, down->port->number, words));
	} else {
		set_sick(s, xasprintf("the path was lost during the measurement: %s", words));
	}
}

/* Some devices never complete a send through a port that is down. */
static void set_late(const struct pair_lanes *l, struct sample *s)
{
	const struct pair_side *down = down_side(l);

	if (down) {
		set_sick(s, xasprintf("%s port %u went down during the measurement",
				      down->port->device, down->port->number));
		return;
	}
	s->state = SAMPLE_TIMEOUT;
	s->note = xstrdup("too few writes completed in time");
}

/* Counts of lost packets so far at both ends, if on this host. */
struct losses {
	struct pair_lost own, other;
};

static struct losses losses_before(const struct pair_lanes *l)
{
	struct losses before = { .own = { { 0 } } };

	pair_lost_read(l->side, &before.own);
	if (l->other)
		pair_lost_read(l->other, &before.other);
	return before;
}

/* Lost or late packets are resent, which costs speed; no other value shows why. */
static void add_losses(const struct pair_side *side, const struct pair_lost *before,
		       struct sample *s)
{
	CLEANUP(freep) char *words = pair_lost_words(side, before);
	CLEANUP(freep) char *note = NULL;

	if (!words || s->state != SAMPLE_MEASURED)
		return;
	note = TAKE(s->note);
	s->note = note ? xasprintf("%s; packets had to be retransmitted: %s", note, words)
		       : xasprintf("packets had to be retransmitted: %s", words);
}

/* Complete a sample whose flow ended with `r` and `result`. */
static void finish(const struct pair_lanes *l, int r, const struct flow_result *result,
		   const struct losses *before, struct sample *s)
{
	if (r == -ETIME)
		set_late(l, s);
	else if (r < 0)
		s->state = SAMPLE_SET_UP;
	else if (result->status != RDMA_OK)
		set_failed(l, result, s);
	add_losses(l->side, &before->own, s);
	if (l->other)
		add_losses(l->other, &before->other, s);
}

/* Running out of time is fine if all windows were taken and only the drain did not end. */
static int flow_outcome(const struct flow_one *one, size_t windows)
{
	return one->error == -ETIME && one->result.n == windows ? 0 : one->error;
}

/* One direction of lanes that is measured together with others. */
struct course {
	const struct pair_lanes *lanes;
	struct flow flow;
	struct flow_sink sink;
	struct losses before;
};

/* The flow points to the sink, so `c` must not move. */
static void set_course(struct course *c, const struct pair_lanes *l, int check)
{
	const struct pair_options *o = l->side->options;

	c->lanes = l;
	c->flow = pair_lanes_flow(l, FLOW_QUEUES_MAX, o->size, o->depth);
	c->before = losses_before(l);
	if (check != PAIR_SEND_BW)
		return;
	c->sink = (struct flow_sink){
		.engine = l->side->engine,
		.queues = l->opposite->flow.queues,
		.n_queues = l->opposite->flow.n_queues,
		.target = l->other->target,
		.size = o->size,
		.depth = SINK_SPARE * o->depth,
	};
	c->flow.opcode = RDMA_SEND;
	c->flow.sink = &c->sink;
}

static void finish_bandwidth(const struct pair_lanes *l, const struct flow_one *one, size_t windows,
			     const struct losses *before, struct sample *s)
{
	const struct flow_result *result = &one->result;
	int r = flow_outcome(one, windows);

	set_params(l, PAIR_WRITE_BW, s);
	if (r == 0 && result->status == RDMA_OK) {
		sample_set_windows(s, result->windows, result->n);
		/* The mean: a typical window would hide the cost of slow ones. */
		s->value = (double)result->bytes / result->seconds;
		s->seconds = result->seconds;
		if (result->n < FLOW_WINDOWS_MIN)
			s->w.n = 0;
		s->note = xasprintf("%llu bytes %s",
				    (unsigned long long)(result->requests * one->flow->size),
				    one->flow->opcode == RDMA_SEND ? "sent" : "written");
	} else if (r < 0 && r != -ETIME) {
		s->note = xstrdup(one->err.msg);
	}
	finish(l, r, result, before, s);
}

/* The flow to report if bidirectional: the opposite one if only that failed, else its own. */
static const struct flow_one *telling(const struct flow_one *own, const struct flow_one *back,
				      size_t windows)
{
	const bool fine = flow_outcome(own, windows) == 0 && own->result.status == RDMA_OK;
	const bool failed = flow_outcome(back, windows) < 0 || back->result.status != RDMA_OK;

	return fine && failed ? back : own;
}

void pair_bandwidth_by(int check, const struct pair_lanes *const *lanes, size_t n,
		       const struct pair_time *time, struct sample *samples)
{
	const size_t both = check == PAIR_BIDIR_BW ? 2 * n : n;
	CLEANUP(freep) struct course *courses = xcalloc(both, sizeof(*courses));
	CLEANUP(freep) struct flow_one *ones = xcalloc(both, sizeof(*ones));
	struct flow_time flow_time = {
		.warm_us = (uint64_t)((double)time->us * WARM_SHARE),
		.deadline_us = time->deadline_us,
	};
	size_t i;

	for (i = 0; i < both; i++) {
		set_course(&courses[i], i < n ? lanes[i] : lanes[i - n]->opposite, check);
		ones[i].flow = &courses[i].flow;
	}
	flow_time_set_windows(&flow_time, (uint64_t)((double)time->us * COUNT_SHARE));
	flow_run_many(ones, both, &flow_time);
	for (i = 0; i < n; i++)
		finish_bandwidth(lanes[i],
				 both > n ? telling(&ones[i], &ones[n + i], flow_time.windows)
					  : &ones[i],
				 flow_time.windows, &courses[i].before, &samples[i]);
}

void pair_bandwidth(const struct pair_lanes *const *lanes, size_t n, const struct pair_time *time,
		    struct sample *samples)
{
	pair_bandwidth_by(PAIR_WRITE_BW, lanes, n, time, samples);
}

/*
 * First make the minimum number of trips for a value, however long they take, then as many more as
 * fit, the last of which may run into the deadline.
 */
static int make_trips(const struct flow *flow, const struct pair_time *time,
		      struct flow_trips *trips, struct flow_result *result, struct err *err)
{
	const uint64_t begin_us = flow->engine->ops->now_ns(flow->engine) / NSEC_PER_USEC;
	struct flow_trips more = { .n = LATENCY_MAX - FLOW_WINDOWS_MIN,
				   .seconds = trips->seconds + FLOW_WINDOWS_MIN };
	int r;

	trips->warm = LATENCY_WARM;
	trips->n = FLOW_WINDOWS_MIN;
	r = flow_latency(flow, trips, time->deadline_us, result, err);
	if (r < 0 || result->status != RDMA_OK)
		return r;
	if (trips->made < FLOW_WINDOWS_MIN)
		return -ETIME;
	r = flow_latency(flow, &more, MIN(begin_us + time->us, time->deadline_us), result, err);
	trips->made += more.made;
	return r == -ETIME ? 0 : r;
}

void pair_latency(const struct pair_lanes *l, const struct pair_time *time, struct sample *s)
{
	struct flow flow = pair_lanes_flow(l, 1, LATENCY_BYTES, 1);
	CLEANUP(freep) double *seconds = xcalloc(LATENCY_MAX, sizeof(*seconds));
	struct flow_trips trips = { .seconds = seconds };
	const struct losses before = losses_before(l);
	struct flow_result result = { .status = RDMA_OK };
	struct err err = ERR_INIT;
	int r;

	flow.wait = FLOW_SPIN;
	flow.watched = l->side->wait == FLOW_EVENTS;
	if (is_seen(l))
		flow.lands = (unsigned char *)l->other->target.at + LATENCY_BYTES - 1;
	r = make_trips(&flow, time, &trips, &result, &err);
	set_params(l, PAIR_WRITE_LAT, s);
	if (r == 0 && result.status == RDMA_OK)
		sample_set_windows(s, seconds, trips.made);
	else if (r < 0 && r != -ETIME)
		s->note = xstrdup(err.msg);
	finish(l, r, &result, &before, s);
}
