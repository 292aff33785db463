/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/loopback/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/accel.h"
#include "probes/accel/watch.h"
#include "probes/loopback/data.h"
#include "probes/loopback/loopback_answers.h"
#include "probes/loopback/loopback_gpu.h"
#include "probes/memory/buffer.h"
#include "probes/rdma/port_guard.h"
#include "probes/rdma/ports.h"
#include "probes/rdma/region_accel.h"
#include "probes/rdma/words.h"
#include "probes/rnic_state/nic.h"

enum {
	/* A dead path is reported after 4.096 us x 2^14 x 8 tries, about half a second. */
	TIMEOUT = 14,
	RETRIES = 7,
};

/* Bytes of each queue's part that are compared. */
#define CHECKED_BYTES (UINT64_C(1) << 20)

void session_close(struct session *s)
{
	flow_close(&s->flow);
	if (s->source.handle)
		s->ops->region_remove(&s->source);
	if (s->target.handle)
		s->ops->region_remove(&s->target);
	if (s->device)
		s->ops->close(s->device);
}

static int choose_gid(struct session *s, struct err *err)
{
	CLEANUP(freep) struct rdma_gid *gids = xcalloc(RDMA_GIDS_MAX, sizeof(*gids));
	const struct rdma_port *port = s->cell->port;
	int n = s->ops->gids(s->device, port->number, gids, RDMA_GIDS_MAX, err);

	if (n < 0)
		return n;
	return gid_choose(port, gids, (size_t)n, s->cell->options->gid_index, &s->gid, err);
}

/* Larger packets than the port's MTU would be lost, which looks like a dead path. */
static int check_mtu(const struct session *s, struct err *err)
{
	const struct rdma_port *port = s->cell->port;
	unsigned wanted = s->cell->options->mtu;

	if (wanted <= port->mtu)
		return 0;
	return err_set(err, EMSGSIZE,
		       "MTU mismatch: --mtu is %u, but %s port %u has %u: raise the MTU of its "
		       "network interface, or use a smaller one",
		       wanted, port->device, port->number, port->mtu);
}

/* Queues connected to themselves: what they send comes back through their own port. */
static int open_queues(struct session *s, struct err *err)
{
	const struct loopback_options *o = s->cell->options;
	const struct rdma_queue_options options = {
		.port = s->cell->port->number,
		.gid_index = s->gid.index,
		.depth = o->depth,
		.retries = RETRIES,
		.timeout = TIMEOUT,
		.mtu = o->mtu,
		.traffic_class = (uint8_t)MAX(o->service.tclass, 0),
		.sl = (uint8_t)MAX(o->service.sl, 0),
		.pkey_index = o->service.pkey_index,
	};
	struct rdma_end end;
	size_t i;
	int r = flow_open(&s->flow, s->device, &options,
			  o->qps ? o->qps : port_queues(s->cell->port), err);

	for (i = 0; r == 0 && i < s->flow.n_queues; i++) {
		s->ops->queue_end(s->flow.queues[i], &end);
		s->mtu = end.mtu;
		s->pkey = end.pkey;
		r = s->ops->queue_connect(s->flow.queues[i], &end, err);
	}
	return r;
}

static int add_gpu_memory(struct session *s, struct err *err)
{
	struct accel_region *memory = s->cell->end->gpu;
	int r;

	if (s->cell->end->broken)
		return err_set(err, -s->cell->end->failed, "%s", s->cell->end->broken);
	r = region_add_accel(s->ops, s->device, &memory[GPU_SOURCE], &s->source, &s->via, err);
	if (r == 0)
		r = region_add_accel(s->ops, s->device, &memory[GPU_TARGET], &s->target, &s->via,
				     err);
	return r;
}

static int add_memory(struct session *s, struct err *err)
{
	const struct endpoint *end = s->cell->end;
	int r;

	if (!end->buffer)
		return add_gpu_memory(s, err);
	r = s->ops->region_add(s->device, end->buffer->arrays[0], end->bytes, &s->source, err);
	if (r == 0)
		r = s->ops->region_add(s->device, end->buffer->arrays[1], end->bytes, &s->target,
				       err);
	return r;
}

static int set_up(struct session *s, struct err *err)
{
	const struct cell *cell = s->cell;
	int r = s->ops->open(cell->engine, cell->port->device, &s->device, err);

	if (r == 0)
		r = check_mtu(s, err);
	if (r == 0)
		r = choose_gid(s, err);
	if (r == 0)
		r = add_memory(s, err);
	return r == 0 ? open_queues(s, err) : r;
}

int session_open(struct session *s, const struct cell *cell, struct err *err)
{
	bool watched = !cell->engine->ops->hollow && !cell->probe->run_busy;
	struct traffic first = { 0 };
	int r = 0;

	*s = (struct session){ .cell = cell,
			       .ops = cell->engine->ops,
			       .flow = { .engine = cell->engine } };
	s->software = !cell->port->pci[0];
	if (watched) {
		traffic_read_fresh(cell->port, &nic_kernel, &first);
		r = port_check_users(cell->port, err);
	}
	if (r == 0)
		r = set_up(s, err);
	return r == 0 && watched ? port_check_traffic(cell->port, &first, err) : r;
}

bool session_sees(const struct session *s)
{
	return !s->ops->hollow && s->cell->end->buffer;
}

/* Zero the memory where data will arrive. */
static void clear(const struct session *s, uint64_t offset, uint64_t bytes)
{
	struct accel_region *gpu = s->cell->end->gpu;
	CLEANUP(freep) void *zeros = NULL;

	if (session_sees(s)) {
		memset((char *)s->target.at + offset, 0, bytes);
		return;
	}
	zeros = xcalloc(1, bytes);
	(void)gpu->accel->ops->upload(&gpu[GPU_TARGET], offset, zeros, bytes, NULL);
}

void session_guard(struct session *s, const struct flow *flow)
{
	size_t i;

	s->requests = 0;
	if (s->ops->hollow)
		return;
	for (i = 0; i < flow->n_queues; i++)
		clear(s, i * flow_part(flow), MIN(CHECKED_BYTES, flow_part(flow)));
	traffic_read_fresh(s->cell->port, &nic_kernel, &s->before);
}

/*
 * Compare part of source and target, copied from the GPU if need be. Fails only as that copy does.
 */
static int compare(const struct session *s, uint64_t offset, uint64_t bytes, bool *ret_wrong,
		   char ret_words[static DATA_WORDS_SIZE], struct err *err)
{
	const struct accel_region *gpu = s->cell->end->gpu;
	CLEANUP(freep) char *copies = NULL;
	int r;

	if (session_sees(s)) {
		*ret_wrong = data_differs((char *)s->target.at + offset,
					  (char *)s->source.at + offset, bytes, ret_words);
		return 0;
	}
	copies = xcalloc(2, bytes);
	r = gpu->accel->ops->download(copies, &gpu[GPU_TARGET], offset, bytes, err);
	if (r == 0)
		r = gpu->accel->ops->download(copies + bytes, &gpu[GPU_SOURCE], offset, bytes, err);
	if (r == 0)
		*ret_wrong = data_differs(copies, copies + bytes, bytes, ret_words);
	return r;
}

/* A GPU that failed meanwhile is a finding; other failures to read its data are not. */
static void tell_failed(const struct session *s, int failed, const char *why, struct sample *sample)
{
	if (failed != -ENODEV && failed != -EIO)
		return;
	free(sample->note);
	accel_failure_fill(sample, s->cell->end->subject, failed, why);
}

void session_check_data(const struct session *s, const struct flow *flow,
			const struct flow_result *result, struct sample *sample)
{
	uint64_t bytes = MIN(CHECKED_BYTES, result->covered);
	char words[DATA_WORDS_SIZE];
	struct err err = ERR_INIT;
	bool wrong = false;
	size_t i;
	int r = 0;

	for (i = 0; !s->ops->hollow && bytes > 0 && i < flow->n_queues && r == 0; i++) {
		r = compare(s, i * flow_part(flow), bytes, &wrong, words, &err);
		if (r < 0)
			tell_failed(s, r, err.msg, sample);
		if (!wrong)
			continue;
		sample->ok = TRI_NO;
		sample->code = xstrdup("rdma:wrong-data");
		sample->note = xasprintf("%s port %u: %s", s->cell->port->device,
					 s->cell->port->number, words);
		return;
	}
}

static struct rdma_scene scene_of(struct session *s, const struct flow_result *result)
{
	const struct rdma_port *port = s->cell->port;
	struct rdma_scene scene = { .device = port->device,
				    .port = port->number,
				    .failed = result->failed };

	s->answered = s->answered || result->answered;
	scene.failed.status = result->status;
	port_look(s->cell->engine, s->device, port, &scene);
	if (s->answered && s->cell->answers)
		answers_heard(s->cell->answers, port);
	else if (scene.failed.status == RDMA_RETRY_EXCEEDED && s->cell->answers && !scene.gone &&
		 !scene.down)
		answers_explain(s->cell->answers, port, &s->gid, &scene);
	return scene;
}

bool session_judge(struct session *s, const struct flow *flow, const struct flow_result *result,
		   struct sample *sample, char ret_words[static TRAFFIC_WORDS_SIZE])
{
	struct traffic_own own = { .requests = s->requests,
				   .size = flow->size,
				   .mtu = s->mtu,
				   .window = flow->depth * flow->n_queues };
	struct rdma_scene scene = scene_of(s, result);
	struct traffic_finding finding;
	struct traffic after;

	ret_words[0] = '\0';
	s->broken = s->broken || result->left || scene.gone || scene.down || scene.taken_down;
	if (rdma_explain(&scene, sample))
		return true;
	if (s->ops->hollow)
		return false;
	traffic_read(s->cell->port, &nic_kernel, &after);
	own.others = port_has_others(s->cell->port);
	traffic_judge(&s->before, &after, &own, s->cell->port->bytes_per_s, &finding);
	(void)snprintf(ret_words, TRAFFIC_WORDS_SIZE, "%s", finding.words);
	if (!finding.foreign)
		return false;
	sample->state = SAMPLE_FOREIGN_TRAFFIC;
	free(sample->note);
	sample->note = xstrdup(finding.words);
	return true;
}
