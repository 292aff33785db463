/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/cuda_nvml.h"

/* NVML in a worker (worker.h), with a single request slot, which a hung thread keeps. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/cuda.h"
#include "probes/accel/nvml_field.h"
#include "probes/accel/nvml_process.h"
#include "probes/accel/worker.h"

enum {
	LINKS_US = 5000000,  /* how long an answer about links remains valid */
	MEMORY_US = 1000000, /* the same for memory temperature */
	HEAT_MAX_C = 200,    /* anything higher is not a temperature */
	LATE_MAX = 3,	     /* calls that were given up and came back, before NVML is left alone */
};
enum { QUESTION_START = -1, QUESTION_FACTS = -2 }; /* otherwise a GPU number */

struct nvml {
	struct cuda_nvml call; /* a copy, as the engine may be freed before the thread ends */
	struct worker *worker;
	pthread_mutex_t lock; /* of the callers: one at a time */
	int question;
	unsigned what;	 /* enum nvml_what of the request */
	unsigned result; /* enum nvml_result of the answer */
	struct nvml_state state;
	char driver[80];
	unsigned n;
	char uuids[CUDA_DEVICES_MAX][64];
	struct nvml_device *devices[CUDA_DEVICES_MAX]; /* NULL: unknown to NVML */
	struct nvml_facts facts[CUDA_DEVICES_MAX];
	bool has_facts; /* they were read */
	unsigned n_late;
	struct {
		uint64_t until_us; /* monotonic; 0: not known yet */
		struct accel_condition condition;
	} links[CUDA_DEVICES_MAX]; /* as last read */
	struct {
		uint64_t until_us;
		double memory_c;
	} heat[CUDA_DEVICES_MAX];
};

static void add_process(struct nvml_state *s, unsigned pid)
{
	unsigned i;

	for (i = 0; i < s->n_pids && s->pids[i] != pid; i++)
		;
	if (i == s->n_pids && i < NVML_PROCESSES_MAX)
		s->pids[s->n_pids++] = pid;
}

static bool ask_processes(struct nvml *n, struct nvml_device *device,
			  unsigned (*call)(struct nvml_device *, unsigned *, struct nvml_process *))
{
	struct nvml_wide_process processes[NVML_PROCESSES_MAX];
	const bool wide = nvml_process_is_wide(n->driver);
	unsigned count = NVML_PROCESSES_MAX, i;

	if (!call || call(device, &count, &processes[0].process) != NVML_OK)
		return false;
	for (i = 0; i < MIN(count, (unsigned)NVML_PROCESSES_MAX); i++)
		add_process(&n->state, nvml_process_pid(processes, wide, i));
	return true;
}

static int mode(unsigned (*call)(struct nvml_device *, unsigned *, unsigned *),
		struct nvml_device *device)
{
	unsigned current = 0, pending = 0;

	return call && call(device, &current, &pending) == NVML_OK ? (int)current : -1;
}

/* A link that does not exist returns an error; one that is down does not. */
static void ask_links(const struct nvml *n, struct nvml_device *device, struct accel_condition *ret)
{
	unsigned link, to_switch = 0, to_gpu = 0;

	for (link = 0; n->call.nvlink && link < NVML_NVLINKS_MAX; link++) {
		unsigned active = 0, remote = NVML_REMOTE_UNKNOWN;

		if (n->call.nvlink(device, link, &active) != NVML_OK)
			continue;
		if (!active) {
			ret->links_down |= UINT64_C(1) << link;
			continue;
		}
		ret->links_up++;
		if (n->call.nvlink_remote)
			(void)n->call.nvlink_remote(device, link, &remote);
		to_switch += remote == NVML_REMOTE_SWITCH;
		to_gpu += remote == NVML_REMOTE_GPU;
	}
	if (ret->links_up > 0 && to_switch == ret->links_up)
		ret->links_to = ACCEL_LINKS_SWITCH;
	else if (ret->links_up > 0 && to_gpu == ret->links_up)
		ret->links_to = ACCEL_LINKS_GPU;
}

static void know_links(struct nvml *n, unsigned i)
{
	const struct accel_condition *links = &n->links[i].condition;
	struct accel_condition *c = &n->state.condition;

	if (clock_mono_us() >= n->links[i].until_us) {
		n->links[i].condition = (struct accel_condition){ 0 };
		ask_links(n, n->devices[i], &n->links[i].condition);
		n->links[i].until_us = clock_mono_us() + LINKS_US;
	}
	c->links_up = links->links_up;
	c->links_down = links->links_down;
	c->links_to = links->links_to;
}

static double celsius(double value)
{
	return value > 0 && value < HEAT_MAX_C ? value : (double)NAN;
}

static void know_memory(struct nvml *n, unsigned i)
{
	struct nvml_field field = { .id = NVML_FIELD_MEMORY_TEMPERATURE };
	struct nvml_device *device = n->devices[i];
	const struct cuda_nvml *call = &n->call;

	if (clock_mono_us() >= n->heat[i].until_us) {
		n->heat[i].memory_c = (double)NAN;
		if (call->fields && call->fields(device, 1, &field) == NVML_OK &&
		    field.result == NVML_OK)
			n->heat[i].memory_c = celsius((double)nvml_field_number(&field));
		n->heat[i].until_us = clock_mono_us() + MEMORY_US;
	}
	n->state.condition.memory_c = n->heat[i].memory_c;
}

/* What is unknown stays NAN. If the GPU is gone, any call says so. */
static void ask_numbers(struct nvml *n, struct nvml_device *device)
{
	struct nvml_state *s = &n->state;
	const struct cuda_nvml *call = &n->call;
	unsigned value = 0;
	unsigned long long bits = 0;

	n->result = call->clock ? call->clock(device, NVML_CLOCK_SM, &value) : NVML_OK;
	if (call->clock && n->result == NVML_OK)
		s->condition.clock_hz = 1e6 * value;
	s->lost = n->result == NVML_GPU_IS_LOST;
	if (s->lost || !(n->what & NVML_ASK_NUMBERS))
		return;
	if (call->clock_max && call->clock_max(device, NVML_CLOCK_SM, &value) == NVML_OK)
		s->clock_max_hz = 1e6 * value;
	if (call->power && call->power(device, &value) == NVML_OK)
		s->condition.power_w = 1e-3 * value;
	if (call->power_limit && call->power_limit(device, &value) == NVML_OK)
		s->power_limit_w = 1e-3 * value;
	if (call->temperature && call->temperature(device, NVML_TEMPERATURE_GPU, &value) == NVML_OK)
		s->condition.temperature_c = value;
	if (call->reasons && call->reasons(device, &bits) == NVML_OK)
		s->condition.throttle_reasons = bits;
}

static void answer_state(struct nvml *n, unsigned i)
{
	struct nvml_device *device = n->devices[i];

	n->state = (struct nvml_state){
		.condition = { .clock_hz = NAN,
			       .power_w = NAN,
			       .temperature_c = NAN,
			       .memory_c = NAN },
		.clock_max_hz = NAN,
		.power_limit_w = NAN,
		.ecc = -1,
		.mig = -1,
	};
	n->result = NVML_FUNCTION_NOT_FOUND;
	if (!device)
		return;
	ask_numbers(n, device);
	if (n->state.lost)
		return;
	if (n->what & NVML_ASK_LINKS)
		know_links(n, i);
	if (n->what & NVML_ASK_MEMORY)
		know_memory(n, i);
	if (n->what & NVML_ASK_MODES) {
		n->state.ecc = mode(n->call.ecc, device);
		n->state.mig = mode(n->call.mig, device);
	}
	if (n->what & NVML_ASK_USERS) {
		(void)ask_processes(n, device, n->call.processes);
		n->state.knows_clients = ask_processes(n, device, n->call.mps_clients);
	}
	n->result = NVML_OK;
}

static void answer_start(struct nvml *n)
{
	unsigned i;

	n->result = n->call.init();
	if (n->result != NVML_OK)
		return;
	if (n->call.driver_version(n->driver, sizeof(n->driver)) != NVML_OK)
		n->driver[0] = '\0';
	for (i = 0; i < n->n; i++) {
		if (n->call.by_uuid(n->uuids[i], &n->devices[i]) != NVML_OK)
			n->devices[i] = NULL;
	}
}

static void answer_facts(struct nvml *n)
{
	const struct cuda_nvml *call = &n->call;
	struct nvml_cc state = { 0 };
	const bool cc = call->cc && call->cc(&state) == NVML_OK && state.on == NVML_CC_ENABLED;
	unsigned i;

	for (i = 0; i < n->n; i++) {
		struct nvml_c2c_mode c2c = { 0 };
		unsigned mode = 0, limit = 0;

		n->facts[i] = (struct nvml_facts){ .cc = cc };
		if (!n->devices[i])
			continue;
		n->facts[i].vgpu = call->virtual_mode &&
				   call->virtual_mode(n->devices[i], &mode) == NVML_OK &&
				   mode == NVML_VIRTUAL_VGPU;
		n->facts[i].c2c = call->c2c && call->c2c(n->devices[i], &c2c) == NVML_OK &&
				  c2c.enabled != 0;
		if (call->threshold &&
		    call->threshold(n->devices[i], NVML_THRESHOLD_MEMORY_MAX, &limit) == NVML_OK &&
		    limit < HEAT_MAX_C)
			n->facts[i].memory_limit_c = limit;
	}
	n->result = NVML_OK;
}

static void answer(struct worker *w UNUSED, void *context)
{
	struct nvml *n = context;

	if (n->question == QUESTION_START)
		answer_start(n);
	else if (n->question == QUESTION_FACTS)
		answer_facts(n);
	else
		answer_state(n, (unsigned)n->question);
}

static int ask(struct nvml *n, int question, unsigned what, struct err *err)
{
	struct err why = ERR_INIT;
	bool stuck = worker_stuck_at(n->worker) != NULL;
	int r;

	/* A slow driver may answer later: try again once the call has come back. */
	if (stuck && n->n_late < LATE_MAX)
		stuck = !worker_came_back(n->worker, clock_mono_us());
	/* A thread that hangs still uses the last request. */
	if (!stuck) {
		n->question = question;
		n->what = what;
	}
	r = worker_do(n->worker, answer, n, &why);
	n->n_late += r < 0 && !stuck;
	return r < 0 ? err_set(err, -r, "NVML does not answer: %s", why.msg) : 0;
}

int cuda_nvml_new(const struct cuda *c, struct nvml **ret, struct err *err)
{
	struct nvml *n = xcalloc(1, sizeof(*n));
	unsigned i;
	int r;

	(void)pthread_mutex_init(&n->lock, NULL);
	n->call = c->libs.nvml;
	n->n = c->n_devices;
	for (i = 0; i < n->n; i++)
		(void)snprintf(n->uuids[i], sizeof(n->uuids[i]), "%.63s",
			       c->devices[i].info.subject + strlen("gpu:"));
	r = worker_new(NVML_CALL_US, &n->worker, err);
	if (r < 0) {
		(void)pthread_mutex_destroy(&n->lock);
		free(n);
		return r;
	}
	r = ask(n, QUESTION_START, 0, err);
	if (r == 0 && n->result != NVML_OK)
		r = err_set(err, ENOTSUP, "NVML does not start: %s",
			    n->call.error_string(n->result));
	if (r < 0) {
		cuda_nvml_free(n);
		return r;
	}
	n->has_facts = ask(n, QUESTION_FACTS, 0, NULL) == 0;
	*ret = n;
	return 0;
}

void cuda_nvml_free(struct nvml *n)
{
	bool stuck;

	if (!n)
		return;
	stuck = worker_stuck_at(n->worker) != NULL;
	worker_free(n->worker);
	if (stuck)
		return;
	(void)pthread_mutex_destroy(&n->lock);
	free(n);
}

struct nvml_facts cuda_nvml_facts(const struct nvml *n, unsigned device)
{
	return n && n->has_facts && device < n->n ? n->facts[device] : (struct nvml_facts){ 0 };
}

const char *cuda_nvml_driver(const struct nvml *n)
{
	return n->driver;
}

static int look(struct nvml *n, unsigned device, unsigned what, struct nvml_state *ret,
		struct err *err)
{
	int r = ask(n, (int)device, what, err);

	if (r < 0)
		return r;
	if (n->result != NVML_OK && n->result != NVML_GPU_IS_LOST)
		return err_set(err, ENOTSUP, "NVML: %s", n->call.error_string(n->result));
	*ret = n->state;
	return 0;
}

int cuda_nvml_look(struct nvml *n, unsigned device, unsigned what, struct nvml_state *ret,
		   struct err *err)
{
	int r;

	(void)pthread_mutex_lock(&n->lock);
	r = look(n, device, what, ret, err);
	(void)pthread_mutex_unlock(&n->lock);
	return r;
}
