/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/loopback/loopback_answers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/flow.h"
#include "probes/rdma/gid.h"
#include "probes/rdma/words.h"

enum { UNKNOWN, ANSWERS, SILENT };

enum {
	ASK_BYTES = 64,
	PAGE = 4096,
	TIMEOUT = 14,
	RETRIES = 1,
	NSEC_PER_USEC = 1000,
	ADDRESSES_MAX = 3, /* other addresses of a port to try */
};

/* A round trip within a host takes microseconds, but a virtual CPU may be descheduled. */
#define ASK_US (250 * USEC_PER_MSEC)
/* Do not ask with less time left, so that the result can still be reported. */
#define ASK_LEFT_US (2 * ASK_US)

/* One write in flight. */
struct call {
	const struct rdma_ops *ops;
	struct rdma_device *device;
	struct rdma_region region;
	struct flow flow;
	void *memory;
};

static void call_release(struct call *c)
{
	flow_close(&c->flow);
	if (c->region.handle)
		c->ops->region_remove(&c->region);
	if (c->device)
		c->ops->close(c->device);
	free(c->memory);
}

static int call_open(struct call *c, struct rdma_engine *engine, const struct rdma_port *port,
		     int gid_index)
{
	const struct rdma_queue_options options = { .port = port->number,
						    .gid_index = gid_index,
						    .depth = 1,
						    .retries = RETRIES,
						    .timeout = TIMEOUT,
						    .pkey_index = -1 };
	struct rdma_end end;
	int r = posix_memalign(&c->memory, PAGE, PAGE) ? -ENOMEM : 0;

	if (r == 0) {
		memset(c->memory, 0, PAGE);
		r = c->ops->open(engine, port->device, &c->device, NULL);
	}
	if (r == 0)
		r = c->ops->region_add(c->device, c->memory, PAGE, &c->region, NULL);
	if (r == 0)
		r = flow_open(&c->flow, c->device, &options, 1, NULL);
	if (r < 0)
		return r;
	c->ops->queue_end(c->flow.queues[0], &end);
	return c->ops->queue_connect(c->flow.queues[0], &end, NULL);
}

static int call_post(const struct call *c)
{
	const struct rdma_work work = {
		.opcode = RDMA_WRITE,
		.id = 1,
		.local = c->region.at,
		.lkey = c->region.lkey,
		.length = ASK_BYTES,
		.remote = (uintptr_t)c->region.at + PAGE / 2,
		.rkey = c->region.rkey,
		.signalled = true,
	};

	return c->ops->post(c->flow.queues[0], &work, 1, NULL);
}

static uint64_t now_us(const struct answers *a)
{
	return a->engine->ops->now_ns(a->engine) / NSEC_PER_USEC;
}

/* Does a port answer itself, with host memory, from this address? */
static bool ask(const struct answers *a, const struct rdma_port *port, int gid_index)
{
	CLEANUP(call_release)
	struct call c = { .ops = a->engine->ops, .flow = { .engine = a->engine } };
	const uint64_t deadline_us = now_us(a) + ASK_US;
	struct rdma_done done = { .status = RDMA_FLUSHED };
	int n = 0;

	if (!port->active || now_us(a) + ASK_LEFT_US > a->deadline_us ||
	    call_open(&c, a->engine, port, gid_index) < 0 || call_post(&c) < 0)
		return false;
	while (n == 0 && now_us(a) < deadline_us)
		n = c.ops->poll(c.flow.queues[0], &done, 1, NULL);
	return n > 0 && done.status == RDMA_OK;
}

/* Get the addresses of a port into `ret`, which the caller frees. Returns their number. */
static size_t addresses_of(const struct answers *a, const struct rdma_port *port,
			   struct rdma_gid **ret)
{
	struct rdma_gid *gids = xcalloc(RDMA_GIDS_MAX, sizeof(*gids));
	struct rdma_device *device = NULL;
	int n = a->engine->ops->open(a->engine, port->device, &device, NULL);

	if (n == 0) {
		n = a->engine->ops->gids(device, port->number, gids, RDMA_GIDS_MAX, NULL);
		a->engine->ops->close(device);
	}
	*ret = gids;
	return n > 0 ? (size_t)n : 0;
}

/* Find another address of the port that answers; false if there is none. */
static bool find_address(const struct answers *a, const struct rdma_port *port,
			 const struct gid_choice *gid, struct rdma_gid *ret, size_t *ret_tried)
{
	CLEANUP(freep) struct rdma_gid *gids = NULL;
	size_t n = gid->index < 0 ? 0 : addresses_of(a, port, &gids), i;

	*ret_tried = 0;
	for (i = 0; i < n && *ret_tried < ADDRESSES_MAX; i++) {
		if (gids[i].index == (unsigned)gid->index || gids[i].type != gid->gid.type)
			continue;
		++*ret_tried;
		*ret = gids[i];
		if (ask(a, port, (int)gids[i].index))
			return true;
	}
	return false;
}

static bool answers(struct answers *a, size_t port)
{
	CLEANUP(freep) struct rdma_gid *gids = NULL;
	struct gid_choice gid;
	size_t n;

	if (a->of[port].said != UNKNOWN)
		return a->of[port].said == ANSWERS;
	n = addresses_of(a, &a->ports[port], &gids);
	a->of[port].said = gid_choose(&a->ports[port], gids, n, -1, &gid, NULL) == 0 &&
					   ask(a, &a->ports[port], gid.index)
				   ? ANSWERS
				   : SILENT;
	return a->of[port].said == ANSWERS;
}

/* Ports of one kind: what works with one should work with the other. */
static bool is_of_a_kind(const struct rdma_port *x, const struct rdma_port *y)
{
	return x->layer == y->layer && !x->pci[0] == !y->pci[0];
}

static const struct rdma_port *find_other(struct answers *a, size_t port)
{
	size_t i;

	for (i = 0; i < a->n_ports; i++) {
		if (i != port && is_of_a_kind(&a->ports[i], &a->ports[port]) && answers(a, i))
			return &a->ports[i];
	}
	return NULL;
}

static bool did_before(const struct answers *a, const struct rdma_port *port)
{
	CLEANUP(freep) char *start = xasprintf("%s:%u>", port->device, port->number);
	const char *subject;
	json_t *rate;

	json_object_foreach(a->known, subject, rate)
	{
		if (starts_with(subject, start) && json_number_value(rate) > 0)
			return true;
	}
	return false;
}

static size_t place_of(const struct answers *a, const struct rdma_port *port)
{
	size_t i = 0;

	while (i < a->n_ports && &a->ports[i] != port)
		i++;
	return i;
}

void answers_heard(struct answers *a, const struct rdma_port *port)
{
	const size_t i = place_of(a, port);

	if (i < a->n_ports)
		a->of[i].said = ANSWERS;
}

static char *say_address(const struct gid_choice *gid, const struct rdma_gid *other)
{
	char own[GID_TEXT_SIZE], better[GID_TEXT_SIZE];

	gid_format(&gid->gid, own);
	gid_format(other, better);
	return xasprintf("not one request was ever answered from GID index %d (%s), while one from "
			 "index %u (%s) was: check the VLAN, the route and the neighbours of the "
			 "first, or use the other one (--gid-index %u)",
			 gid->index, own, other->index, better, other->index);
}

static char *say_nobody(const struct rdma_port *port, size_t tried)
{
	return xasprintf(
		"not one request was ever answered, from %zu address%s, "
		"nor in an earlier run, and "
		"no other port here answers itself: a faulty port, or loopback that is not set "
		"up; check that the RNIC may loop its own traffic back%s",
		1 + tried, tried ? "es" : "",
		port->layer == RDMA_ETHERNET ? ", that its address has an existing network and "
					       "VLAN, and that a switch sends it back (hairpin)"
					     : "");
}

/* Find out why a port does not answer, whatever the memory. The caller frees the result. */
static char *look_into(struct answers *a, size_t i, const struct gid_choice *gid, bool *ret_set_up)
{
	const struct rdma_port *port = &a->ports[i], *other;
	struct rdma_gid better;
	size_t tried;

	*ret_set_up = find_address(a, port, gid, &better, &tried);
	if (*ret_set_up)
		return say_address(gid, &better);
	if (did_before(a, port))
		return xstrdup("not one request was answered, unlike in an earlier run: the "
			       "port is faulty");
	other = find_other(a, i);
	*ret_set_up = !other;
	if (!other)
		return say_nobody(port, tried);
	return xasprintf("not one request was ever answered, though %s port %u answers itself: "
			 "if both are set up alike, this port is faulty",
			 other->device, other->number);
}

void answers_explain(struct answers *a, const struct rdma_port *port, const struct gid_choice *gid,
		     struct rdma_scene *scene)
{
	const size_t i = place_of(a, port);

	if (i == a->n_ports)
		return;
	if (a->of[i].said == UNKNOWN)
		a->of[i].said = ask(a, port, gid->index) ? ANSWERS : SILENT;
	if (a->of[i].said == ANSWERS) {
		scene->known = "not one request was ever answered, though the port answers with "
			       "other memory: the path to this memory is faulty";
		return;
	}
	if (!a->of[i].words)
		a->of[i].words = look_into(a, i, gid, &a->of[i].set_up);
	scene->known = a->of[i].words;
	scene->set_up = a->of[i].set_up;
}

void answers_release(struct answers *a)
{
	size_t i;

	for (i = 0; i < RDMA_PORTS_MAX; i++)
		free(a->of[i].words);
}
