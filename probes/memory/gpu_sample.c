/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/gpu_sample.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "probes/accel/watch.h"
#include "probes/memory/gpu_device.h"
#include "probes/memory/gpu_link.h"

static const char *const checks[GPU_KINDS] = {
	[GPU_H2D] = "memory.h2d_bw",	  [GPU_D2H] = "memory.d2h_bw",
	[GPU_BIDIR] = "memory.bidir_bw",  [GPU_OWN] = "memory.device_bw",
	[GPU_P2P] = "memory.p2p_bw",	  [GPU_H2D_LAT] = "memory.h2d_lat",
	[GPU_D2H_LAT] = "memory.d2h_lat",
};

/* A copy within a GPU reads and writes the same memory, so its bytes count twice. */
static double factor(const struct gpu_job *job)
{
	return job->kind == GPU_OWN ? 2 : 1;
}

/* "numa:0>gpu:GPU-...*8": the ends, and how many run at once. */
static char *subject_of(const struct gpu_job *job, size_t at_once)
{
	const char *gpu = job->device->info.subject;
	const int node = job->device->pages[job->place].node;
	CLEANUP(freep) char *alone = NULL;

	if (job->kind == GPU_OWN)
		alone = xstrdup(gpu);
	else if (job->kind == GPU_P2P)
		alone = xasprintf("%s>%s", gpu, job->peer->info.subject);
	else if (gpu_kind_goes_out(job->kind))
		alone = xasprintf("%s>numa:%d", gpu, node);
	else
		alone = xasprintf("numa:%d>%s", node, gpu);
	return at_once > 1 ? xasprintf("%s*%zu", alone, at_once) : TAKE(alone);
}

static bool is_near(const struct gpu_job *job)
{
	return job->kind == GPU_P2P ? job->device->info.numa == job->peer->info.numa
				    : job->place == GPU_NEAR;
}

/* A guest does not see the PCIe bridges, but may still know that a GPU is not next to a node. */
static enum locality seen_closer(const struct gpu_job *job, enum locality locality)
{
	const bool far = job->kind != GPU_P2P && job->device->info.numa >= 0 && !is_near(job);

	return locality == LOCALITY_VIRTUAL && far ? LOCALITY_SYS : locality;
}

/* Set the ends, their class, and the links between them if the topology knows. */
static void set_ends(const struct gpu_job *job, struct sample *s)
{
	const struct gpu_device *d = job->device;
	const struct topology *t = d->plan->topology;
	enum locality locality;

	if (job->kind == GPU_OWN) {
		s->locality = xstrdup("self");
		return;
	}
	s->from = job->kind == GPU_P2P ? xstrdup(job->peer->id)
				       : xasprintf("numa:%d", d->pages[job->place].node);
	s->to = xstrdup(d->id);
	if (gpu_kind_goes_out(job->kind) || job->kind == GPU_P2P) {
		char *node = s->from;

		s->from = s->to;
		s->to = node;
	}
	if (t && topology_class(t, s->from, s->to, &locality) == 0)
		s->locality = xstrdup(locality_names[seen_closer(job, locality)]);
	else
		s->locality = xstrdup(is_near(job) ? "node" : "sys");
	/* Between GPUs it may be NVLink, and to a processor C2C; the topology has neither. */
	if (t && job->kind != GPU_P2P && !d->info.c2c)
		(void)topology_path(t, s->from, s->to, &s->path);
}

static json_t *params_of(const struct gpu_job *job, size_t at_once)
{
	const struct gpu_device *d = job->device;
	const struct gpu_plan *plan = d->plan;
	json_t *p = json_pack("{s:s, s:s, s:I}", "engine", plan->ops->name, "version",
			      plan->ops->version(plan->accel), "size",
			      (json_int_t)job->lanes[0].bytes);

	if (at_once > 1)
		(void)json_object_set_new(p, "at_once", json_integer((json_int_t)at_once));
	if (gpu_kind_needs_host(job->kind) && d->pages[job->place].source.pages)
		(void)json_object_set_new(p, "pages",
					  json_string(d->pages[job->place].source.pages));
	if (job->kind == GPU_P2P)
		(void)json_object_set_new(p, "direct", json_boolean(job->direct));
	plan->ops->device_params(plan->accel, d->index, p);
	return p;
}

static void set_with(const struct gpu_job *jobs, size_t n, size_t i, struct sample *s)
{
	size_t j, k = 0;

	if (n < 2)
		return;
	s->with = xcalloc(n, sizeof(*s->with));
	for (j = 0; j < n; j++) {
		if (j != i)
			s->with[k++] = xstrdup(jobs[j].device->info.subject);
	}
}

static void set_rates(const struct gpu_job *job, struct sample *s)
{
	double rates[GPU_WINDOWS];
	unsigned n = GPU_WINDOWS, i, j;

	for (j = 0; j < job->n_lanes; j++)
		n = MIN(n, job->lanes[j].n_rates);
	for (i = 0; i < n; i++) {
		rates[i] = 0;
		for (j = 0; j < job->n_lanes; j++)
			rates[i] += factor(job) * job->lanes[j].rates[i];
	}
	if (n > 0)
		sample_set_windows(s, rates, n);
	else
		s->state = SAMPLE_TIMEOUT;
}

/* The data that came back from a GPU must be what was sent. */
static void check_data(const struct gpu_job *job, struct sample *s)
{
	const struct gpu_pages *pages = &job->device->pages[job->place];
	const unsigned char *sent = pages->source.ptr, *back = pages->target.ptr;
	size_t i;

	if (job->kind != GPU_D2H || !job->device->sent ||
	    memcmp(sent, back, job->lanes[0].bytes) == 0)
		return;
	for (i = 0; sent[i] == back[i]; i++)
		;
	s->ok = TRI_NO;
	s->code = xstrdup("copy:wrong-data");
	s->note = xasprintf("the GPU returned wrong data, first at byte 0x%zx of %zu", i,
			    (size_t)job->lanes[0].bytes);
}

static void set_outcome(const struct gpu_job *job, bool late, struct sample *s)
{
	const struct gpu_device *d = gpu_live(job->device) && job->peer ? job->peer : job->device;
	const struct gpu_pages *pages = &d->pages[job->place];

	if (d->failed) {
		accel_failure_fill(s, d->info.subject, d->failed, d->why);
	} else if (!gpu_live(d)) {
		s->state = SAMPLE_BUSY;
		s->note = xstrdup(d->busy);
	} else if (pages->failed && gpu_kind_needs_host(job->kind)) {
		accel_failure_fill(s, d->info.subject, pages->failed, pages->why);
	} else if (late) {
		s->state = SAMPLE_TIMEOUT;
		s->note = xstrdup("the budget left too little time for this check");
	} else {
		set_rates(job, s);
		check_data(job, s);
		if (gpu_kind_is_latency(job->kind) && job->bound) {
			s->code = xstrdup("host-bound");
			s->note =
				xstrdup("the host launches too slowly to tell: its time is in it");
		}
		if (d->busy[0] && !s->note)
			s->note = xasprintf("measured although %s", d->busy);
		if (gpu_link_part(d) < 1 && gpu_kind_needs_host(job->kind) && !s->note)
			s->note = gpu_link_words(d);
	}
}

int gpu_job_emit(const struct gpu_job *jobs, size_t n, size_t i, const struct gpu_times *times,
		 bool late)
{
	const struct gpu_job *job = &jobs[i];
	const struct gpu_plan *plan = job->device->plan;
	struct sample s = sample_init();
	int r;

	s.check = xstrdup(checks[job->kind]);
	s.subject = subject_of(job, n);
	s.unit = xstrdup(gpu_kind_is_latency(job->kind) ? "s" : "B/s");
	/* How much small copies differ between good GPUs is not known. */
	s.better = gpu_kind_is_latency(job->kind) ? BETTER_NONE : BETTER_HIGHER;
	s.params = params_of(job, n);
	s.start = ((double)times->start_us + (double)plan->epoch_us) * 1e-6;
	s.seconds = (double)(times->end_us - times->start_us) * 1e-6;
	set_ends(job, &s);
	set_with(jobs, n, i, &s);
	set_outcome(job, late, &s);
	r = plan->emit(plan->context, &s);
	return r < 0 ? r : 0;
}
