/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_to_all/all_to_all_gpus.h"

/* All GPUs of the host, through NCCL. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/all_to_all/all_to_all.h"
#include "probes/all_to_all/all_to_all_run.h"
#include "probes/coll/nccl_load.h"

/* Divisor of a GPU's memory for its two buffers. */
enum { MEMORY_PART = 8, BUFFERS = 2 };

/* NCCL has this operation since 2.28; before, it is composed of sends and receives. */
static const char *call_of(const struct all_to_all *t)
{
	return t->plan->library.call.all_to_all ? "ncclAlltoAll" : "ncclSend";
}

/* Under confidential computing, copies between GPUs are encrypted. */
static void say_cc(const struct accel *a, json_t *params)
{
	struct accel_device_info info = { .cc = false };

	if (a->ops->device_info(a, 0, &info, NULL) == 0 && info.cc)
		(void)json_object_set_new(params, "cc", json_string("on"));
}

static json_t *params(const struct all_to_all *t, uint64_t bytes)
{
	const struct all_to_all_plan *plan = t->plan;
	json_t *p = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "engine", "nccl", "version",
			      plan->library.version, "driver",
			      plan->accel->ops->version(plan->accel), "ranks", (json_int_t)t->n,
			      "bytes", (json_int_t)bytes, "call", call_of(t));

	say_cc(plan->accel, p);
	return p;
}

/*
 * Name the ends as in the topology, by PCI slot. With switches, a pair uses all NVLinks of both
 * GPUs; without, those between the two.
 */
static void place(const struct all_to_all *t, const struct coll_move *m, struct sample *s)
{
	const bool forth = m->from < m->to;

	s->from = xasprintf("gpu:%s", t->ends[m->from].pci);
	s->to = xasprintf("gpu:%s", t->ends[m->to].pci);
	if (t->links_to == ACCEL_LINKS_UNKNOWN)
		return;
	s->path = xcalloc(3, sizeof(*s->path));
	if (t->links_to == ACCEL_LINKS_GPU) {
		s->path[0] = xasprintf("%s^%s", forth ? s->from : s->to, forth ? s->to : s->from);
		return;
	}
	s->path[0] = xasprintf("%s^nvswitch", s->from);
	s->path[1] = xasprintf("%s^nvswitch", s->to);
}

/* One GPU in use by others disturbs the operation of all. */
static void look_busy(struct all_to_all *t)
{
	struct accel *a = t->plan->accel;
	unsigned i;

	for (i = 0; i < t->n && !t->busy[0]; i++) {
		char command[64] = "";
		double share = 0;
		long pid = 0;

		if (a->ops->others(a, i, &pid, command, &share, NULL) == 0 && pid)
			(void)snprintf(t->busy, sizeof(t->busy), "pid %ld (%s) computes on %s", pid,
				       command, t->ends[i].subject);
	}
}

/* If other users have come meanwhile, the value is invalid, and nothing more is measured. */
static void end(struct all_to_all *t, struct sample *s)
{
	if (t->plan->run_busy || s->state != SAMPLE_MEASURED || s->ok == TRI_NO)
		return;
	look_busy(t);
	if (!t->busy[0])
		return;
	all_to_all_forget(s);
	s->state = SAMPLE_BUSY;
	free(s->note);
	s->note = xstrdup(t->busy);
}

const struct all_to_all_kind all_to_all_gpus = {
	.busbw = "all_to_all.busbw",
	.size_bw = "all_to_all.size_bw",
	.pair_bw = "all_to_all.pair_bw",
	.correct = "all_to_all.correct",
	.all = "gpus",
	.ends = "GPUs",
	.params = params,
	.place = place,
	.end = end,
};

static int open_devices(struct all_to_all *t, struct err *err)
{
	struct accel *a = t->plan->accel;
	uint64_t most = t->plan->size;
	unsigned i;

	t->n = MIN(a->ops->n_devices(a), (unsigned)COLL_RANKS_MAX);
	if (t->n < 2)
		return err_set(err, ENODEV,
			       "an all-to-all needs at least two GPUs, and there is %u", t->n);
	for (i = 0; i < t->n; i++) {
		struct all_to_all_end *end = &t->ends[i];
		struct accel_device_info info;
		int r = a->ops->device_info(a, i, &info, err);

		if (r < 0)
			return r;
		(void)snprintf(end->subject, sizeof(end->subject), "%s", info.subject);
		(void)snprintf(end->pci, sizeof(end->pci), "%s", info.pci);
		most = MIN(most, info.memory_bytes / (MEMORY_PART * BUFFERS));
	}
	t->bytes = most / (16 * t->n) * 16 * t->n;
	return 0;
}

struct entering {
	struct accel *accel;
	unsigned device;
};

static int enter(void *context, struct err *err)
{
	const struct entering *e = context;

	return e->accel->ops->device_enter(e->accel, e->device, err);
}

/* Create the contexts of all GPUs in parallel; NCCL would create missing ones one by one. */
static int start_all(const struct all_to_all *t, struct err *err)
{
	struct entering *all = xcalloc(t->n, sizeof(*all)); /* late threads still use it */
	struct watched_part *parts = xcalloc(t->n, sizeof(*parts));
	unsigned i, late;
	int r = 0;

	for (i = 0; i < t->n; i++) {
		all[i] = (struct entering){ t->plan->accel, i };
		parts[i].context = &all[i];
	}
	late = accel_start_all(t->plan->accel, enter, parts, t->n, t->plan->ready_us);
	for (i = 0; i < t->n && r == 0; i++) {
		r = parts[i].r;
		if (r < 0)
			(void)err_set(err, -r, "%s%s%s",
				      starts_with(parts[i].err.msg, t->ends[i].subject)
					      ? ""
					      : t->ends[i].subject,
				      starts_with(parts[i].err.msg, t->ends[i].subject) ? "" : ": ",
				      parts[i].err.msg);
	}
	free(parts);
	if (late == 0)
		free(all);
	return r;
}

int all_to_all_run_gpus(struct all_to_all_plan *plan, struct err *err)
{
	CLEANUP(all_to_all_release)
	struct all_to_all t = { .plan = plan, .total = sample_init() };
	struct nccl_setup setup = {
		.library = &plan->library,
		.accel = plan->accel,
	};
	struct err why = ERR_INIT;
	int r = open_devices(&t, err);

	if (r < 0)
		return r;
	look_busy(&t);
	if (t.busy[0] && !plan->run_busy)
		r = all_to_all_tell_busy(&t);
	else
		r = all_to_all_links(&t);
	if (r < 0 || (t.busy[0] && !plan->run_busy))
		return r < 0 ? err_errno(err, -r, "cannot print samples") : 0;
	setup.n = t.n;
	setup.bytes = t.bytes;
	r = start_all(&t, &why);
	setup.deadline_us =
		MIN(plan->accel->ops->now_us(plan->accel) + NCCL_READY_US, plan->deadline_us);
	if (r == 0)
		r = nccl_coll_new(&setup, &t.coll, &why);
	r = r < 0 ? all_to_all_tell_failure(&t, r, why.msg) : all_to_all_measure(&t);
	return r < 0 ? err_errno(err, -r, "cannot print samples") : 0;
}
