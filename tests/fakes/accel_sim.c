/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fakes/accel_sim.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/fakes/accel_sim_inside.h"

struct accel_stream {
	struct sim_engine *engine;
	unsigned device;
	double free_at_us;
};

struct accel_event {
	struct sim_engine *engine;
	double at_us; /* NAN: not recorded */
};

static struct accel_sim *next_sim;

struct sim_engine *sim_engine(const struct accel *a)
{
	union {
		const struct accel *from;
		struct sim_engine *to;
	} same = { .from = a };

	return same.to;
}

void *sim_make(struct sim_engine *e, size_t size)
{
	e->sim->alive++;
	return xcalloc(1, size);
}

void sim_unmake(struct sim_engine *e, void *object)
{
	e->sim->alive--;
	free(object);
}

static int sim_open(struct accel **ret, struct err *err)
{
	struct sim_engine *e;
	unsigned i;

	if (next_sim->n_devices == 0)
		return err_set(err, ENODEV, "no simulated device");
	e = xcalloc(1, sizeof(*e));
	e->sim = next_sim;
	e->sim->alive++;
	e->accel.ops = accel_sim_ops(next_sim);
	e->random = random_seeded(next_sim->seed);
	e->now_us = 1e9;
	for (i = 0; i < e->sim->n_devices; i++)
		e->rate[i] = e->sim->flop_per_s * random_normal(&e->random, 1, e->sim->spread) *
			     (e->sim->slow[i] > 0 ? e->sim->slow[i] : 1);
	*ret = &e->accel;
	return 0;
}

static void sim_close(struct accel *a)
{
	sim_unmake(sim_engine(a), sim_engine(a));
}

static unsigned sim_n_devices(const struct accel *a)
{
	return sim_engine(a)->sim->n_devices;
}

static int sim_device_info(const struct accel *a, unsigned device, struct accel_device_info *ret,
			   struct err *err UNUSED)
{
	const struct accel_sim *sim = sim_engine(a)->sim;
	struct accel_device_info info = { .numa = 0,
					  .cpu = device,
					  .memory_bytes = sim->memory_bytes ? sim->memory_bytes
									    : UINT64_C(1) << 34,
					  .units = 1,
					  .cc = sim->cc };

	(void)snprintf(info.subject, sizeof(info.subject), "cpu:%u", device);
	(void)snprintf(info.name, sizeof(info.name), "simulated core");
	*ret = info;
	return 0;
}

static void sim_device_params(const struct accel *a UNUSED, unsigned device UNUSED, json_t *params)
{
	(void)json_object_set_new(params, "capacity", json_integer(1024));
}

static int sim_condition(struct accel *a, unsigned device, struct accel_condition *ret,
			 struct err *err UNUSED)
{
	const struct sim_engine *e = sim_engine(a);

	*ret = (struct accel_condition){
		.clock_hz = 2e9,
		.power_w = NAN,
		.temperature_c = NAN,
		.run_delay_ns = (uint64_t)(e->sim->delay[device] * e->now_us * 1e3),
		.steal_ns = (uint64_t)(e->sim->steal[device] * e->now_us * 1e3),
		.sibling_ns = (uint64_t)(e->sim->sibling[device] * e->now_us * 1e3),
	};
	return 0;
}

static int sim_device_enter(struct accel *a UNUSED, unsigned device UNUSED, struct err *err UNUSED)
{
	return 0;
}

static void *sim_stream_handle(const struct accel_stream *s UNUSED)
{
	return NULL;
}

static const char *sim_version(const struct accel *a UNUSED)
{
	return "simblas 1.0";
}

static const char *sim_asked(const struct accel *a UNUSED)
{
	return "";
}

/* Reading the clock takes a microsecond, so a loop that waits on it terminates. */
static uint64_t sim_now_us(const struct accel *a)
{
	return (uint64_t)(sim_engine(a)->now_us += 1);
}

/* Not rounded: it measures intervals of microseconds. */
static uint64_t sim_now_ns(const struct accel *a)
{
	return (uint64_t)(sim_engine(a)->now_us * 1e3);
}

/* The host time of a launch, with the same noise as the rates. */
static void pass_launch(struct sim_engine *e, unsigned device)
{
	const struct accel_sim *sim = e->sim;
	const bool late = sim->launch_late_us > 0 && sim->products[device] % 100 == 99;

	if (sim->launch_us[device] > 0)
		e->now_us +=
			late ? sim->launch_late_us
			     : sim->launch_us[device] * random_normal(&e->random, 1, sim->spread);
}

static int sim_stream_new(struct accel *a, unsigned device, struct accel_stream **ret,
			  struct err *err UNUSED)
{
	struct accel_stream *s = sim_make(sim_engine(a), sizeof(*s));

	s->engine = sim_engine(a);
	s->device = device;
	*ret = s;
	return 0;
}

static void sim_stream_free(struct accel_stream *s)
{
	if (s)
		sim_unmake(s->engine, s);
}

/* Advances the clock to `at_us`, or to the deadline if that is earlier. */
static int wait_until(struct sim_engine *e, double at_us, uint64_t deadline_us, struct err *err)
{
	if (at_us <= (double)deadline_us) {
		e->now_us = fmax(e->now_us, at_us);
		return 0;
	}
	e->now_us = fmax(e->now_us, (double)deadline_us);
	return err_set(err, ETIMEDOUT, "simulated work did not end in time");
}

static int sim_stream_wait(struct accel_stream *s, uint64_t deadline_us, struct err *err)
{
	return wait_until(s->engine, s->free_at_us, deadline_us, err);
}

static int sim_event_new(struct accel *a, unsigned device UNUSED, struct accel_event **ret,
			 struct err *err UNUSED)
{
	struct accel_event *event = sim_make(sim_engine(a), sizeof(*event));

	event->engine = sim_engine(a);
	event->at_us = NAN;
	*ret = event;
	return 0;
}

static void sim_event_free(struct accel_event *event)
{
	if (event)
		sim_unmake(event->engine, event);
}

static double begin(const struct accel_stream *s)
{
	return fmax(s->free_at_us, s->engine->now_us);
}

void sim_stream_busy(struct accel_stream *s, double us)
{
	uint64_t hang_at_us = s->engine->sim->hang_at_us[s->device];

	s->free_at_us = begin(s) + us;
	if (us > 0 && hang_at_us && s->free_at_us >= (double)hang_at_us)
		s->free_at_us = INFINITY;
}

double sim_copy_factor(const struct accel_stream *s)
{
	double slow = s->engine->sim->slow_copy[s->device];

	return (slow > 0 ? slow : 1) * random_normal(&s->engine->random, 1, s->engine->sim->spread);
}

struct sim_engine *sim_stream_engine(const struct accel_stream *s)
{
	return s->engine;
}

static int sim_event_record(struct accel_event *event, struct accel_stream *s,
			    struct err *err UNUSED)
{
	event->at_us = begin(s);
	return 0;
}

static int sim_event_wait(struct accel_event *event, uint64_t deadline_us, struct err *err)
{
	if (isnan(event->at_us))
		return err_set(err, EINVAL, "the event was never recorded");
	return wait_until(event->engine, event->at_us, deadline_us, err);
}

static int sim_event_seconds(const struct accel_event *from, const struct accel_event *to,
			     double *ret, struct err *err)
{
	if (!(from->at_us <= from->engine->now_us && to->at_us <= to->engine->now_us))
		return err_set(err, EAGAIN, "an event has not passed");
	*ret = (to->at_us - from->at_us) * 1e-6;
	return 0;
}

static int sim_gemm_new(struct accel *a, unsigned device, const struct accel_gemm_shape *shape,
			struct accel_gemm **ret, struct err *err)
{
	struct accel_gemm *g;

	if (shape->dtype != ACCEL_F32 && shape->dtype != ACCEL_F64)
		return err_set(err, ENOTSUP, "%s is not simulated", accel_dtype_names[shape->dtype]);
	g = sim_make(sim_engine(a), sizeof(*g));
	g->engine = sim_engine(a);
	g->device = device;
	g->shape = *shape;
	*ret = g;
	return 0;
}

static void sim_gemm_free(struct accel_gemm *g)
{
	if (g)
		sim_unmake(g->engine, g);
}

static const char *sim_gemm_algorithm(const struct accel_gemm *g UNUSED)
{
	return "triple loop";
}

static unsigned sim_gemm_pieces(const struct accel_gemm *g UNUSED)
{
	return 1;
}

static int sim_gemm_run(struct accel_gemm *g, struct accel_stream *s, const struct accel_region *x,
			const struct accel_region *y, struct accel_region *out, struct err *err)
{
	struct sim_engine *e = g->engine;
	uint64_t hang_at_us = e->sim->hang_at_us[g->device];
	double flop = 2.0 * g->shape.m * g->shape.n * g->shape.k;
	double rate = e->rate[g->device] * random_normal(&e->random, 1, e->sim->spread);

	if (e->sim->fail[g->device])
		return err_set(err, -e->sim->fail[g->device], "simulated failure");
	pass_launch(e, g->device);
	rate *= 1 - e->sim->delay[g->device] - e->sim->steal[g->device];
	if (e->sim->later[g->device] > 0 && begin(s) >= (double)e->sim->later_us)
		rate *= e->sim->later[g->device];
	s->free_at_us = begin(s) + flop / rate * 1e6;
	if (hang_at_us && s->free_at_us >= (double)hang_at_us)
		s->free_at_us = INFINITY;
	*(struct sim_content *)out->backend =
		(struct sim_content){ .pending = true, .shape = g->shape, .x = x->ptr, .y = y->ptr };
	e->sim->products[g->device]++;
	return 0;
}

static int sim_others(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		      double *ret_share, struct err *err UNUSED)
{
	const struct accel_sim *sim = sim_engine(a)->sim;

	*ret_pid = sim->user_pid[device];
	*ret_share = sim->user_share[device];
	(void)snprintf(ret_command, 64, "%s", *ret_pid ? "stress" : "");
	return 0;
}

static int sim_peer_open(struct accel *a, unsigned device UNUSED, unsigned peer UNUSED,
			 struct err *err)
{
	return sim_engine(a)->sim->no_peers ? err_set(err, ENOTSUP, "no simulated peers") : 0;
}

const struct accel_ops *accel_sim_ops(struct accel_sim *sim)
{
	static const struct accel_ops ops = {
		.name = "sim",
		.open = sim_open,
		.close = sim_close,
		.n_devices = sim_n_devices,
		.device_info = sim_device_info,
		.device_params = sim_device_params,
		.condition = sim_condition,
		.device_enter = sim_device_enter,
		.version = sim_version,
		.asked = sim_asked,
		.now_us = sim_now_us,
		.now_ns = sim_now_ns,
		.region_new = sim_region_new,
		.region_free = sim_region_free,
		.region_export = sim_region_export,
		.stream_new = sim_stream_new,
		.stream_free = sim_stream_free,
		.stream_handle = sim_stream_handle,
		.stream_wait = sim_stream_wait,
		.event_new = sim_event_new,
		.event_free = sim_event_free,
		.event_record = sim_event_record,
		.event_wait = sim_event_wait,
		.event_seconds = sim_event_seconds,
		.peer_open = sim_peer_open,
		.copy = sim_copy,
		.upload = sim_upload,
		.download = sim_download,
		.gemm_new = sim_gemm_new,
		.gemm_free = sim_gemm_free,
		.gemm_algorithm = sim_gemm_algorithm,
		.gemm_pieces = sim_gemm_pieces,
		.gemm_run = sim_gemm_run,
		.others = sim_others,
	};

	next_sim = sim;
	return &ops;
}
