/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_emit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/accel.h"
#include "probes/all_reduce/reduce.h"
#include "probes/all_reduce/reduce_part.h"
#include "probes/coll/coll_data.h"
#include "probes/loopback/loopback.h"
#include "probes/loopback/loopback_gpu.h"
#include "probes/rdma/gid.h"
#include "probes/rdma/ports.h"
#include "probes/rnic_pair/pair_gpu.h"

enum reduce_check { BUSBW, LINK_BW, SKEW, CORRECT, CHECKS };

static const struct {
	const char *name, *unit;
	int better;
} checks[CHECKS] = {
	[BUSBW] = { "busbw", "B/s", BETTER_HIGHER },
	[LINK_BW] = { "link_bw", "B/s", BETTER_HIGHER },
	[SKEW] = { "skew", "s", BETTER_LOWER },
	[CORRECT] = { "correct", "1", BETTER_HIGHER },
};

/*
 * Bounds on the fraction of NCCL's data that left through the port. Ports equally near to the GPU
 * share it; with hardly any of it, the rates are those of another port.
 */
static const double mostly = 0.9, hardly = 0.1;

/* NCCL reports nothing about single links. */
static bool is_told(const struct reduce_session *s, int check)
{
	return check != LINK_BW || s->engine == REDUCE_VERBS;
}

/* Each memory type and engine has checks of its own, so that values are not mixed up. */
static const char *prefix_of(const struct reduce_session *s)
{
	if (s->engine == REDUCE_NCCL)
		return "nccl_";
	return s->sides[0].options->memory == PAIR_MEMORY_GPU ? "gpu_" : "";
}

/* Is data passed on without summing? */
static bool is_gpu(const struct reduce_session *s)
{
	return s->engine == REDUCE_VERBS && s->sides[0].options->memory == PAIR_MEMORY_GPU;
}

static json_t *nccl_params_of(const struct reduce_session *s)
{
	const struct pair_side *side = &s->sides[s->rail];
	const struct accel *accel = side->gpu->gpu[GPU_SOURCE].accel;
	json_t *params = json_pack("{s:s, s:s, s:s, s:i, s:I, s:s}", "engine", "nccl", "version",
				   s->nccl.version, "driver", accel->ops->version(accel), "ranks",
				   (int)s->n, "bytes", (json_int_t)s->bytes, "memory",
				   pair_memory_names[PAIR_MEMORY_GPU]);

	port_params(side->port, params);
	rdma_service_params(&side->options->service, 0, params);
	return params;
}

static json_t *params_of(const struct reduce_session *s)
{
	const struct pair_side *side = &s->sides[s->rail];

	json_t *params;

	if (s->engine == REDUCE_NCCL)
		return nccl_params_of(s);
	params = json_pack("{s:s, s:i, s:I, s:I, s:i, s:i, s:i, s:s, s:s}", "engine", "verbs",
			   "ranks", (int)s->n, "bytes", (json_int_t)s->bytes, "size",
			   (json_int_t)coll_ring_piece(s->ring, s->bytes), "qps", (int)s->qps,
			   "depth", (int)s->depth, "mtu", (int)coll_ring_mtu(s->ring), "gid",
			   side->gid.index < 0 ? "none" : gid_type_names[side->gid.gid.type],
			   "wait", side->wait == FLOW_SPIN ? "spin" : "events");

	port_params(side->port, params);
	rdma_service_params(&side->options->service, 0, params);
	if (!is_gpu(s))
		return params;
	json_object_set_new(params, "memory", json_string(pair_memory_names[PAIR_MEMORY_GPU]));
	json_object_set_new(params, "via", json_string(side->via.how ? side->via.how : "none"));
	json_object_set_new(params, "sums", json_string("none"));
	return params;
}

/* The names of the other nodes. */
static char **others(const struct reduce_session *s)
{
	char **with = xcalloc(s->n, sizeof(*with));
	unsigned rank, n = 0;

	for (rank = 0; rank < s->n; rank++) {
		if (rank != s->rank)
			with[n++] = xstrdup(s->nodes ? s->nodes[rank] : s->addresses[rank]);
	}
	return with;
}

static struct sample sample_of(const struct reduce_session *s, uint64_t rail, int check)
{
	const struct rdma_port *port = s->sides[rail].port;
	const unsigned next = (s->rank + 1) % s->n;
	struct sample sample = sample_init();

	sample.check = xasprintf("all_reduce.%s%s", prefix_of(s), checks[check].name);
	sample.unit = xstrdup(checks[check].unit);
	sample.better = checks[check].better;
	sample.code = xasprintf("rail:%u", (unsigned)rail);
	sample.with = others(s);
	sample.subject = check == LINK_BW
				 ? xasprintf("%s:%u>%s", port->device, port->number,
					     s->nodes ? s->nodes[next] : s->addresses[next])
				 : xasprintf("%s:%u", port->device, port->number);
	return sample;
}

static void set_correct(const struct reduce_session *s, struct sample *sample)
{
	const struct coll_wrong *w = &s->first_wrong;

	sample->value = s->wrong == 0;
	sample->ok = s->wrong == 0 ? TRI_YES : TRI_NO;
	sample->n = s->checks;
	if (s->wrong)
		sample->note = xasprintf("%llu wrong %s; the first is element %llu, in the chunk "
					 "of rank %u: %.9g instead of %.9g",
					 (unsigned long long)s->wrong,
					 is_gpu(s) ? "elements" : "sums", (unsigned long long)w->at,
					 w->from, (double)w->is, (double)w->wanted);
}

/*
 * The time of an operation is from the first arrival to the last end of all ranks, not this rank's
 * own. A late rank finds the first chunk already there and would need less time for the rest, and
 * not every rank waits for the last step of a slow one.
 */
static void set_busbw(const struct reduce_session *s, const struct reduce_message *result,
		      struct sample *sample)
{
	const struct coll_op op = reduce_op(s);
	const double *behind = result->behind.v + s->rank * s->n_windows;
	double busbw[REDUCE_WINDOWS];
	size_t i;

	for (i = 0; i < s->n_windows; i++)
		busbw[i] =
			coll_busbw(&op, s->n, (s->window_s[i] + behind[i]) / (double)s->window_ops);
	sample_set_windows(sample, busbw, s->n_windows);
}

static void fill(const struct reduce_session *s, const struct reduce_message *result, int check,
		 struct sample *sample)
{
	switch (check) {
	case BUSBW:
		set_busbw(s, result, sample);
		break;
	case LINK_BW:
		sample->value = (double)s->sent_bytes / s->sent_s;
		sample->n = s->n_windows;
		break;
	case SKEW:
		sample->value = result->late.v[s->rank];
		sample->n = s->n_windows;
		break;
	default:
		set_correct(s, sample);
		return;
	}
	if (result->why[0])
		sample->note = xstrdup(result->why);
}

/* Fraction of NCCL's data that left through the port; NAN: unknown, or not NCCL. */
static double share_of_port(const struct reduce_session *s)
{
	return s->engine == REDUCE_NCCL ? reduce_guard_share(&s->guard) : NAN;
}

/*
 * The reason why the rates of a rail are meaningless, and the sample state for it; or NULL. The
 * caller frees it.
 */
static char *why_nothing(const struct reduce_session *s, const struct reduce_message *result,
			 int *ret_state)
{
	const double share = share_of_port(s);

	*ret_state = SAMPLE_FOREIGN_TRAFFIC;
	if (result->foreign[0])
		return xstrdup(result->foreign);
	*ret_state = SAMPLE_TIMEOUT;
	if (s->n_windows == 0 || (s->engine == REDUCE_VERBS && !(s->sent_s > 0)))
		return xstrdup("no time was left to measure");
	*ret_state = SAMPLE_SET_UP;
	return share < hardly ? xasprintf("NCCL sent its data another way: %.0f %% of it through "
					  "this port",
					  100 * share)
			      : NULL;
}

/* NCCL may use several ports that are equally near to the GPU. */
static void note_port(const struct reduce_session *s, struct sample *sample)
{
	const double share = share_of_port(s);

	if (share < mostly && !sample->note)
		sample->note =
			xasprintf("NCCL sent %.0f %% of its data through this port, the rest "
				  "another way",
				  100 * share);
}

int reduce_emit(struct reduce_session *s, const struct reduce_message *result)
{
	int check, r = 0;

	s->emitted[s->rail] = true;
	for (check = 0; r == 0 && check < CHECKS; check++) {
		struct sample sample;

		if (!is_told(s, check))
			continue;
		sample = sample_of(s, s->rail, check);
		sample.params = params_of(s);
		if (check != CORRECT)
			sample.note = why_nothing(s, result, &sample.state);
		if (!sample.note) {
			sample.state = SAMPLE_MEASURED;
			fill(s, result, check, &sample);
			note_port(s, &sample);
		}
		r = s->emit(s->probe, &sample);
	}
	return r;
}

int reduce_emit_rest(struct reduce_session *s, int state, const char *why)
{
	const uint64_t rails = s->nodes ? s->rails : s->n_sides;
	uint64_t rail;
	int check, r = 0;

	for (rail = 0; rail < rails; rail++) {
		for (check = 0; r == 0 && !s->emitted[rail] && check < CHECKS; check++) {
			struct sample sample;

			if (!is_told(s, check))
				continue;
			sample = sample_of(s, rail, check);
			sample.state = state;
			sample.note = xstrdup(why);
			r = s->emit(s->probe, &sample);
		}
		s->emitted[rail] = true;
	}
	return r;
}
