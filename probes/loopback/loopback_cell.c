/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "probes/accel/watch.h"
#include "probes/loopback/session.h"
#include "probes/rdma/flow_latency.h"
#include "probes/rdma/flow_many.h"
#include "probes/rdma/ports.h"

enum { WRITE_BW, READ_BW, WRITE_LAT, READ_LAT, N_CHECKS };

static const struct check {
	const char *name;
	int opcode;
	bool latency;
	double share; /* of the cell's time */
} checks[N_CHECKS] = {
	[WRITE_BW] = { "loopback.write_bw", RDMA_WRITE, false, 0.40 },
	[READ_BW] = { "loopback.read_bw", RDMA_READ, false, 0.40 },
	[WRITE_LAT] = { "loopback.write_lat", RDMA_WRITE, true, 0.08 },
	[READ_LAT] = { "loopback.read_lat", RDMA_READ, true, 0.08 },
};

enum {
	LATENCY_BYTES = 8,
	LATENCY_WARM = 20,
	LATENCY_MAX = 2000,
};

/* Parts of a check's time for warm-up and for counting; the rest is for draining. */
#define WARM_SHARE 0.15
#define COUNT_SHARE 0.75

/* Everything that must be equal for two values to be comparable. */
static json_t *params_of(const struct session *s, bool latency)
{
	char *const *with = s->cell->with;
	const struct loopback_options *o = s->cell->options;
	json_t *params = json_pack("{s:i, s:s, s:s}", "mtu", (int)s->mtu, "gid",
				   s->gid.index < 0 ? "none" : gid_type_names[s->gid.gid.type],
				   "wait", "spin");

	if (!s->software)
		json_object_set_new(params, "line_rate",
				    json_integer((json_int_t)port_payload(s->cell->port, s->mtu)));
	port_params(s->cell->port, params);
	rdma_service_params(&o->service, s->pkey, params);
	if (s->cell->end->pages)
		json_object_set_new(params, "pages", json_string(s->cell->end->pages));
	if (s->via.how) {
		json_object_set_new(params, "via", json_string(s->via.how));
		json_object_set_new(params, "via_why", json_string(s->via.why));
	}
	if (latency)
		json_object_set_new(params, "until",
				    json_string(session_sees(s) ? "seen" : "completed"));
	json_object_set_new(params, "size", json_integer(latency ? LATENCY_BYTES : o->size));
	json_object_set_new(params, "qps", json_integer(latency ? 1 : (json_int_t)s->flow.n_queues));
	json_object_set_new(params, "depth", json_integer(latency ? 1 : o->depth));
	if (with)
		json_object_set_new(params, "at_once", json_integer((json_int_t)strv_len(with)));
	return params;
}

char *cell_subject(const struct rdma_port *port, const struct endpoint *end, size_t at_once)
{
	CLEANUP(freep)
	char *alone = xasprintf("%s:%u>%s", port->device, port->number,
				end->subject ? end->subject : end->id);

	return at_once > 1 ? xasprintf("%s*%zu", alone, at_once) : TAKE(alone);
}

/*
 * Locality class of the two ends. A guest does not see the PCIe bridges, but may still know that
 * the node is not the port's.
 */
static bool class_of(const struct cell *cell, const char *device, enum locality *ret)
{
	const struct endpoint *end = cell->end;
	const int node = cell->port->numa_node;

	if (!cell->topology || topology_class(cell->topology, device, end->id, ret) < 0)
		return false;
	if (*ret == LOCALITY_VIRTUAL && end->buffer && node >= 0 && (unsigned)node != end->node)
		*ret = LOCALITY_SYS;
	return true;
}

/* Identify what the sample is about: the ends, and the path if the topology knows it. */
static struct sample sample_of(const struct cell *cell, const struct check *check)
{
	struct sample s = sample_init();
	CLEANUP(freep) char *device = xasprintf("rnic:%s", cell->port->device);
	enum locality locality;
	size_t i;

	s.check = xstrdup(check->name);
	s.subject = cell_subject(cell->port, cell->end, cell->with ? strv_len(cell->with) : 1);
	s.unit = xstrdup(check->latency ? "s" : "B/s");
	s.better = check->latency ? BETTER_LOWER : BETTER_HIGHER;
	s.from = xstrdup(device);
	s.to = xstrdup(cell->end->id);
	if (class_of(cell, device, &locality))
		s.locality = xstrdup(locality_names[locality]);
	if (cell->topology)
		(void)topology_path(cell->topology, device, cell->end->id, &s.path);
	s.with = cell->with ? xcalloc(strv_len(cell->with) + 1, sizeof(char *)) : NULL;
	for (i = 0; cell->with && cell->with[i]; i++)
		s.with[i] = xstrdup(cell->with[i]);
	return s;
}

/*
 * Emit all checks with the same reason. `failed` != 0 is the error of the GPU whose memory it is.
 */
static int emit_each(const struct cell *cell, int state, int failed, const char *why)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < N_CHECKS; i++) {
		struct sample s;

		if (checks[i].latency && cell->with)
			continue;
		s = sample_of(cell, &checks[i]);
		if (failed) {
			accel_failure_fill(&s, cell->end->subject, failed, why); /* and the state */
		} else {
			s.state = state;
			s.note = xstrdup(why);
		}
		r = probe_emit(cell->probe, &s);
	}
	return r;
}

int cell_emit_all(const struct cell *cell, int state, const char *why)
{
	return emit_each(cell, state, 0, why);
}

static struct flow flow_of(struct session *s, const struct check *check)
{
	const struct loopback_options *o = s->cell->options;
	struct flow flow = {
		.engine = s->cell->engine,
		.n_queues = check->latency ? 1 : s->flow.n_queues,
		.local = check->opcode == RDMA_READ ? s->target : s->source,
		.remote = (uintptr_t)(check->opcode == RDMA_READ ? s->source.at : s->target.at),
		.rkey = check->opcode == RDMA_READ ? s->source.rkey : s->target.rkey,
		.opcode = check->opcode,
		.size = check->latency ? LATENCY_BYTES : o->size,
		.depth = check->latency ? 1 : o->depth,
		.batch = check->latency ? 1 : flow_batch(o->depth),
		/*
		 * Also for a software device: sleeping takes more calls than spinning and yielding.
		 */
		.wait = FLOW_SPIN,
		.stays = s->software,
	};

	if (check->latency && check->opcode == RDMA_WRITE) {
		/* Inline data is read by the core, which cannot read GPU memory. */
		flow.inlined = s->cell->end->buffer != NULL;
		flow.lands = session_sees(s) ? (unsigned char *)s->target.at + LATENCY_BYTES - 1
					     : NULL;
		flow.watched = s->software;
	}
	memcpy(flow.queues, s->flow.queues, sizeof(flow.queues));
	return flow;
}

static void set_bandwidth(struct sample *ret, const struct flow_result *result)
{
	sample_set_windows(ret, result->windows, result->n);
	/* The mean: the best or the median window would hide the cost of slow ones. */
	ret->value = (double)result->bytes / result->seconds;
	ret->seconds = result->seconds;
	if (result->n < FLOW_WINDOWS_MIN)
		ret->w.n = 0;
}

/* The outcome of a check. */
struct attempt {
	const struct check *check;
	const struct flow *flow;
	const struct flow_result *result;
	const struct flow_trips *trips; /* for latency */
	int error;			/* of set-up, or -ETIME */
	const char *why;
};

static void set_value(const struct attempt *a, struct sample *sample)
{
	if (!a->trips)
		set_bandwidth(sample, a->result);
	else
		sample_set_windows(sample, a->trips->seconds, a->trips->made);
}

/* There is no value, and the device is not to blame. */
static bool set_error(const struct attempt *a, struct sample *sample)
{
	bool late = a->error == -ETIME || (a->trips && a->trips->made < FLOW_WINDOWS_MIN);

	if (a->error == 0 && !late)
		return false;
	sample->state = late ? SAMPLE_TIMEOUT : SAMPLE_SET_UP;
	sample->note = xstrdup(late ? "too few requests completed in time" : a->why);
	return true;
}

static char *note_of(const struct session *s, const char *words)
{
	if (s->gid.index < 0)
		return words[0] ? xstrdup(words) : NULL;
	return xasprintf("GID %s%s%s", s->gid.reason, words[0] ? "; " : "", words);
}

/* Complete and emit the sample of a check. */
static int finish(struct session *s, const struct attempt *a)
{
	struct sample sample = sample_of(s->cell, a->check);
	char words[TRAFFIC_WORDS_SIZE];

	sample.params = params_of(s, a->check->latency);
	if (!session_judge(s, a->flow, a->result, &sample, words) && !set_error(a, &sample)) {
		set_value(a, &sample);
		session_check_data(s, a->flow, a->result, &sample);
	}
	if (!sample.note)
		sample.note = note_of(s, words);
	if (s->cell->told && sample.state == SAMPLE_MEASURED)
		s->cell->told(s->cell, &sample);
	return probe_emit(s->cell->probe, &sample);
}

/* An earlier check failed and was reported; its queues are broken. */
static int skip(const struct session *s, const struct check *check)
{
	struct sample sample = sample_of(s->cell, check);

	sample.params = params_of(s, check->latency);
	sample.state = SAMPLE_SET_UP;
	sample.note = xstrdup("not measured: an earlier check of this cell failed");
	return probe_emit(s->cell->probe, &sample);
}

static int measure_latency(struct session *s, const struct check *check, uint64_t us)
{
	struct flow flow = flow_of(s, check);
	struct flow_result result;
	double seconds[LATENCY_MAX];
	struct flow_trips trips = { .warm = LATENCY_WARM, .n = LATENCY_MAX, .seconds = seconds };
	struct err err = ERR_INIT;
	struct attempt attempt = {
		.check = check, .flow = &flow, .result = &result, .trips = &trips, .why = err.msg
	};

	session_guard(s, &flow);
	attempt.error =
		flow_latency(&flow, &trips, s->ops->now_ns(flow.engine) / 1000 + us, &result, &err);
	s->requests = result.requests;
	return finish(s, &attempt);
}

/* Sum up the requests per port, as sessions may share one. */
static void count_requests(struct session *sessions, const struct flow_one *ones, size_t n)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++) {
			if (sessions[i].cell->port == sessions[k].cell->port)
				sessions[i].requests += ones[k].result.requests;
		}
	}
}

/* Run the same check in all sessions at once. */
static int measure_bandwidth(struct session *sessions, size_t n, const struct check *check,
			     uint64_t us)
{
	CLEANUP(freep) struct flow_one *ones = xcalloc(n, sizeof(*ones));
	CLEANUP(freep) struct flow *flows = xcalloc(n, sizeof(*flows));
	const struct cell *first = sessions[0].cell;
	struct flow_time time = { .warm_us = (uint64_t)((double)us * WARM_SHARE) };
	size_t i;
	int r = 0;

	for (i = 0; i < n; i++) {
		flows[i] = flow_of(&sessions[i], check);
		ones[i].flow = &flows[i];
		session_guard(&sessions[i], &flows[i]);
	}
	flow_time_set_windows(&time, (uint64_t)((double)us * COUNT_SHARE));
	time.deadline_us = first->engine->ops->now_ns(first->engine) / 1000 + us;
	flow_run_many(ones, n, &time);
	count_requests(sessions, ones, n);
	for (i = 0; r == 0 && i < n; i++) {
		const struct attempt attempt = {
			.check = check,
			.flow = &flows[i],
			.result = &ones[i].result,
			.error = ones[i].error,
			.why = ones[i].err.msg,
		};

		r = finish(&sessions[i], &attempt);
	}
	return r;
}

/* Move sessions with working queues to the front; returns their number. */
static size_t put_working_first(struct session *sessions, size_t n)
{
	size_t working = 0, i;

	for (i = 0; i < n; i++) {
		struct session s = sessions[i];

		if (s.broken)
			continue;
		sessions[i] = sessions[working];
		sessions[working++] = s;
	}
	return working;
}

/* Run every check in the open sessions: bandwidth together, latency in turn. */
static int measure_all(struct session *sessions, size_t n, uint64_t us)
{
	size_t i, k;
	int r = 0;

	for (k = 0; r == 0 && k < N_CHECKS; k++) {
		const struct check *check = &checks[k];
		uint64_t part_us = (uint64_t)((double)us * check->share);
		size_t working = put_working_first(sessions, n);

		if (!check->latency && working > 0)
			r = measure_bandwidth(sessions, working, check, part_us);
		for (i = check->latency ? 0 : working; r == 0 && i < n; i++) {
			if (check->latency && sessions[i].cell->with)
				continue;
			r = i < working ? measure_latency(&sessions[i], check, part_us / n)
					: skip(&sessions[i], check);
		}
	}
	return r;
}

/* A lost GPU is a finding, whichever cell needed its memory. */
static int emit_unopened(const struct cell *cell, int opened, const char *why)
{
	if (opened == -EBUSY)
		return cell_emit_all(cell, SAMPLE_BUSY, why);
	return emit_each(cell, SAMPLE_SET_UP, opened == cell->end->failed ? opened : 0, why);
}

int cells_run(const struct cell *cells, size_t n, uint64_t us)
{
	CLEANUP(freep) struct session *sessions = xcalloc(n, sizeof(*sessions));
	size_t n_open = 0, i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++) {
		struct err err = ERR_INIT;
		int opened = session_open(&sessions[n_open], &cells[i], &err);

		if (opened == 0) {
			n_open++;
			continue;
		}
		session_close(&sessions[n_open]);
		r = emit_unopened(&cells[i], opened, err.msg);
	}
	if (r == 0)
		r = measure_all(sessions, n_open, us);
	for (i = 0; i < n_open; i++)
		session_close(&sessions[i]);
	return r;
}
