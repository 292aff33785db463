/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fakes/rdma_sim.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/fakes/rdma_sim_inside.h"

enum { NSEC_PER_USEC = 1000 };

/* The time until a device reports a timeout: 8 tries of 67 ms. */
#define TRIES_NS UINT64_C(537000000)

static struct rdma_sim *sim_of(struct rdma_engine *e)
{
	return (struct rdma_sim *)e; /* engine is its first member */
}

static int sim_list(struct rdma_engine *e, struct rdma_port *ret, size_t max, struct err *err)
{
	struct rdma_sim *sim = sim_of(e);
	size_t n = MIN(sim->n_ports, max);

	(void)err;
	memcpy(ret, sim->ports, n * sizeof(*ret));
	return (int)n;
}

static int sim_open(struct rdma_engine *e, const char *name, struct rdma_device **ret,
		    struct err *err)
{
	struct rdma_sim *sim = sim_of(e);

	if (sim->open_error)
		return err_errno(err, sim->open_error, "open %s", name);
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->sim = sim;
	(void)snprintf((*ret)->name, RDMA_NAME_SIZE, "%s", name);
	sim->open_devices++;
	return 0;
}

static void sim_close(struct rdma_device *d)
{
	d->sim->open_devices--;
	free(d);
}

static int sim_gids(struct rdma_device *d, unsigned port, struct rdma_gid *ret, size_t max,
		    struct err *err)
{
	(void)port;
	(void)max;
	(void)err;
	if (d->sim->gid_count == 0)
		return 0;
	ret[0] = (struct rdma_gid){ .index = 3, .type = RDMA_GID_ROCE_V2 };
	ret[0].raw[10] = ret[0].raw[11] = 0xff;
	ret[0].raw[12] = 10;
	return 1;
}

static int keep_region(struct rdma_device *d, void *at, uint64_t bytes, struct rdma_region *ret)
{
	*ret = (struct rdma_region){
		.handle = d->sim, .at = at, .bytes = bytes, .lkey = 1, .rkey = 2
	};
	d->sim->open_regions++;
	return 0;
}

static int sim_region_add(struct rdma_device *d, void *at, uint64_t bytes, struct rdma_region *ret,
			  struct err *err)
{
	if (d->sim->no_address)
		return err_set(err, EFAULT, "%s: bad address", d->name);
	return keep_region(d, at, bytes, ret);
}

static int sim_region_add_dmabuf(struct rdma_device *d, const struct rdma_dmabuf *memory,
				 struct rdma_region *ret, struct err *err)
{
	if (d->sim->no_dmabuf)
		return err_set(err, EOPNOTSUPP, "%s takes no dmabuf", d->name);
	d->sim->dmabufs++;
	return keep_region(d, memory->at, memory->bytes, ret);
}

static void sim_region_remove(struct rdma_region *r)
{
	((struct rdma_sim *)r->handle)->open_regions--;
	r->handle = NULL;
}

/* As a device chooses: by index in the port's table, or the first with full membership. */
static uint16_t sim_pkey(const struct rdma_sim *sim, int index)
{
	size_t i;

	if (!sim->pkeys[0])
		return RDMA_PKEY_DEFAULT;
	if (index >= 0)
		return index < SIM_PKEYS_MAX ? sim->pkeys[index] : 0;
	for (i = 0; i < SIM_PKEYS_MAX && sim->pkeys[i]; i++) {
		if (sim->pkeys[i] & RDMA_PKEY_FULL)
			return sim->pkeys[i];
	}
	return sim->pkeys[0];
}

/* The same partition, and at least one full member. */
static bool pkeys_meet(uint16_t a, uint16_t b)
{
	return ((a ^ b) & ~RDMA_PKEY_FULL) == 0 && ((a | b) & RDMA_PKEY_FULL);
}

static uint64_t place_of(const struct rdma_sim *sim, const char *device)
{
	size_t i = 0;

	while (i < sim->n_ports && !streq(sim->ports[i].device, device))
		i++;
	return UINT64_C(1) << i;
}

/* Nothing reaches a port of another network, or a partition that the port is not a member of. */
static bool is_cut(const struct rdma_queue *q)
{
	const struct rdma_sim *sim = q->sim;
	const struct rdma_queue *peer = q->peer;

	if (!peer)
		return false;
	if (!pkeys_meet(q->pkey, peer->pkey))
		return true;
	return !streq(q->device, peer->device) &&
	       (sim->apart & (place_of(sim, q->device) | place_of(sim, peer->device)));
}

/* Like EFA, which has no connected queue pairs. */
static bool is_unconnected(const struct rdma_device *d)
{
	size_t i;

	for (i = 0; i < d->sim->n_ports; i++) {
		if (streq(d->sim->ports[i].device, d->name) && d->sim->ports[i].unconnected)
			return true;
	}
	return false;
}

static int sim_queue_open(struct rdma_device *d, const struct rdma_queue_options *o,
			  struct rdma_queue **ret, struct err *err)
{
	if (o->depth > QUEUE_MAX)
		return err_set(err, EINVAL, "depth %u", o->depth);
	if (is_unconnected(d))
		return err_set(err, EOPNOTSUPP, "%s: queue pair: not supported", d->name);
	if (o->pkey_index < 0 && !(sim_pkey(d->sim, -1) & RDMA_PKEY_FULL))
		return err_set(err, EACCES, RDMA_PKEY_LIMITED_WORDS, d->name, o->port);
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->sim = d->sim;
	(*ret)->options = *o;
	(*ret)->pkey = sim_pkey(d->sim, o->pkey_index);
	d->sim->sl = o->sl;
	d->sim->traffic_class = o->traffic_class;
	memcpy((*ret)->device, d->name, RDMA_NAME_SIZE);
	(*ret)->home = o->with ? o->with->home : *ret;
	(*ret)->number = ++d->sim->numbers;
	(*ret)->next = d->sim->queues;
	d->sim->queues = *ret;
	d->sim->open_queues++;
	return 0;
}

static void sim_queue_close(struct rdma_queue *q)
{
	struct rdma_queue **at = &q->sim->queues, *other;

	for (other = q->sim->queues; other; other = other->next) {
		other->gone = other->gone || (other->peer == q && other != q);
		other->peer = other->peer == q ? NULL : other->peer;
	}

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	q->sim->open_queues--;
	free(q);
}

static void sim_queue_end(const struct rdma_queue *q, struct rdma_end *ret)
{
	*ret = (struct rdma_end){ .number = q->number,
				  .pkey = q->pkey,
				  .mtu = q->options.mtu ? q->options.mtu : SIM_MTU };
}

static int sim_queue_connect(struct rdma_queue *q, const struct rdma_end *peer, struct err *err)
{
	(void)err;
	for (q->peer = q->sim->queues; q->peer && q->peer->number != peer->number;)
		q->peer = q->peer->next;
	q->connected = true;
	return 0;
}

static void append(struct rdma_queue *home, const struct pending *pending)
{
	home->pending[(home->first + home->n++) % QUEUE_MAX] = *pending;
}

static void end_with(struct rdma_queue *q, uint64_t id, uint64_t at_ns, int status)
{
	append(q->home, &(struct pending){
				.at_ns = at_ns,
				.done = { .id = id, .status = status, .raw = (uint32_t)status },
				.queue = q,
				.weight = q->unsignalled,
			});
	q->unsignalled = 0;
}

/* The peer receives a send, or is notified of a write, if it has posted receives. */
static int take_in(struct rdma_queue *q, const struct rdma_work *work, uint64_t at_ns)
{
	const struct rdma_receive *room;

	if (!q || q->n_receives == 0)
		return RDMA_RNR_EXCEEDED;
	room = &q->receives[q->first_receive];
	q->first_receive = (q->first_receive + 1) % QUEUE_MAX;
	q->n_receives--;
	if (work->opcode == RDMA_SEND && room->length < work->length)
		return RDMA_REMOTE_ERROR;
	if (q->sim->moves && work->opcode == RDMA_SEND)
		memcpy(room->local, work->local, work->length);
	append(q->home, &(struct pending){
				.at_ns = at_ns,
				.done = { .id = room->id, .status = RDMA_OK, .received = true },
				.queue = q,
			});
	return RDMA_OK;
}

static bool is_beyond(const struct rdma_sim *sim, const void *at)
{
	const char *const byte = at;

	return sim->beyond && byte >= sim->beyond && byte < sim->beyond + sim->beyond_bytes;
}

static void take_request(struct rdma_queue *q, const struct rdma_work *work)
{
	struct rdma_sim *sim = q->sim;
	int status = q->broken ? RDMA_FLUSHED : RDMA_OK;
	uint64_t served_ns = sim_pass(q, work);

	sim->requests++;
	sim->died += work->inlined && is_beyond(sim, work->local);
	q->posted.requests++;
	q->posted.bytes += work->length;
	q->outstanding++;
	q->unsignalled++;
	if (sim->requests == sim->fail_at) {
		status = sim->fail_status;
		q->broken = true;
	}
	if ((q->gone || is_cut(q)) && status == RDMA_OK) {
		status = RDMA_RETRY_EXCEEDED;
		served_ns += TRIES_NS;
		q->broken = true;
	}
	if ((work->opcode == RDMA_SEND || work->opcode == RDMA_WRITE_TELL) && status == RDMA_OK)
		status = take_in(q->peer, work, served_ns);
	if (sim->moves && status == RDMA_OK &&
	    (work->opcode == RDMA_WRITE || work->opcode == RDMA_WRITE_TELL))
		memcpy((void *)(uintptr_t)work->remote, work->local, work->length);
	sim->signalled += work->signalled;
	if (work->signalled || status != RDMA_OK)
		end_with(q, work->id, served_ns + (uint64_t)(sim->latency_s * 1e9), status);
	sim->most_outstanding = MAX(sim->most_outstanding, q->outstanding);
}

static int sim_post(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err)
{
	size_t i;

	if (!q->connected)
		return err_set(err, EINVAL, "not connected");
	if (q->outstanding + n > q->options.depth)
		return err_set(err, ENOMEM, "the queue is full");
	q->sim->doorbells++;
	for (i = 0; i < n; i++)
		take_request(q, &work[i]);
	return 0;
}

static struct rdma_posted sim_posted(const struct rdma_queue *q)
{
	return q->posted;
}

static int sim_receive(struct rdma_queue *q, const struct rdma_receive *receives, size_t n,
		       struct err *err)
{
	size_t i;

	if (q->n_receives + n > q->options.receives)
		return err_set(err, ENOMEM, "no room for receives");
	q->sim->receive_doorbells++;
	for (i = 0; i < n; i++)
		q->receives[(q->first_receive + q->n_receives++) % QUEUE_MAX] = receives[i];
	return 0;
}

static uint64_t mono_ns(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Advances a simulated clock to `to_ns`. With the real clock, sleeps until then if `waits`. */
static void pass(struct rdma_sim *sim, uint64_t to_ns, bool waits)
{
	struct timespec left;

	if (!sim->real_ns) {
		sim->now_ns = MAX(sim->now_ns, to_ns);
		return;
	}
	sim->now_ns = mono_ns() - sim->real_ns;
	while (waits && sim->now_ns < to_ns) {
		left = (struct timespec){ .tv_sec = (time_t)((to_ns - sim->now_ns) / 1000000000),
					  .tv_nsec = (long)((to_ns - sim->now_ns) % 1000000000) };
		(void)ppoll(NULL, 0, &left, NULL);
		sim->now_ns = mono_ns() - sim->real_ns;
	}
}

static int sim_poll(struct rdma_queue *q, struct rdma_done *ret, size_t max, struct err *err)
{
	size_t n = 0;

	(void)err;
	q = q->home;
	pass(q->sim, q->sim->now_ns + (uint64_t)(q->sim->poll_s * 1e9), false);
	while (n < max && q->n > 0 && q->pending[q->first].at_ns <= q->sim->now_ns) {
		const struct pending *p = &q->pending[q->first];

		ret[n++] = p->done;
		p->queue->outstanding -= p->weight;
		q->first = (q->first + 1) % QUEUE_MAX;
		q->n--;
	}
	q->sim->empty_polls += n == 0;
	return (int)n;
}

/* Like the real one: the first call arms the notification, the next sleeps. */
static int sim_wait(struct rdma_queue *q, uint64_t deadline_us, struct err *err)
{
	(void)err;
	q = q->home;
	if (!q->armed) {
		q->armed = true;
		q->sim->notifications++;
		return 0;
	}
	q->sim->waits++;
	if (q->n == 0 || q->pending[q->first].at_ns > deadline_us * NSEC_PER_USEC) {
		pass(q->sim, deadline_us * NSEC_PER_USEC, true);
		return -ETIME;
	}
	pass(q->sim, q->pending[q->first].at_ns, true);
	q->armed = false;
	return 0;
}

static int sim_wait_any(struct rdma_queue *const *queues, size_t n, uint64_t deadline_us,
			uint64_t *ret_ready, struct err *err)
{
	uint64_t next_ns = UINT64_MAX;
	struct rdma_sim *sim = queues[0]->sim;
	size_t i;

	(void)err;
	*ret_ready = 0;
	for (i = 0; i < n; i++) {
		struct rdma_queue *q = queues[i]->home;

		if (!q->armed)
			*ret_ready |= UINT64_C(1) << i;
		sim->notifications += !q->armed;
		q->armed = true;
		if (q->n > 0)
			next_ns = MIN(next_ns, q->pending[q->first].at_ns);
	}
	if (*ret_ready)
		return 0;
	sim->waits++;
	pass(sim, MIN(next_ns, deadline_us * NSEC_PER_USEC), true);
	if (next_ns > sim->now_ns)
		return -ETIME;
	for (i = 0; i < n; i++) {
		struct rdma_queue *q = queues[i]->home;

		if (q->n == 0 || q->pending[q->first].at_ns > sim->now_ns)
			continue;
		q->armed = false;
		*ret_ready |= UINT64_C(1) << i;
	}
	return 0;
}

static int sim_port_now(struct rdma_device *d, unsigned port, struct rdma_port *ret, struct err *err)
{
	size_t i;

	for (i = 0; i < d->sim->n_ports; i++) {
		if (!streq(d->sim->ports[i].device, d->name) || d->sim->ports[i].number != port)
			continue;
		*ret = d->sim->ports[i];
		return 0;
	}
	return err_set(err, ENODEV, "%s was removed", d->name);
}

static uint64_t sim_now_ns(struct rdma_engine *e)
{
	struct rdma_sim *sim = sim_of(e);

	if (sim->real_ns)
		pass(sim, 0, false);
	return sim->now_ns;
}

void rdma_sim_go_real(struct rdma_sim *sim)
{
	sim->real_ns = mono_ns() - sim->now_ns;
}

const char *rdma_sim_from(const struct rdma_queue *q)
{
	return q->device;
}

const char *rdma_sim_to(const struct rdma_queue *q)
{
	return q->peer ? q->peer->device : "";
}

struct rdma_sim rdma_sim_make(void)
{
	static const struct rdma_ops ops = {
		.name = "simulated",
		.list = sim_list,
		.open = sim_open,
		.close = sim_close,
		.gids = sim_gids,
		.region_add = sim_region_add,
		.region_add_dmabuf = sim_region_add_dmabuf,
		.region_remove = sim_region_remove,
		.queue_open = sim_queue_open,
		.queue_close = sim_queue_close,
		.queue_end = sim_queue_end,
		.queue_connect = sim_queue_connect,
		.post = sim_post,
		.receive = sim_receive,
		.poll = sim_poll,
		.wait = sim_wait,
		.wait_any = sim_wait_any,
		.now_ns = sim_now_ns,
		.port_now = sim_port_now,
		.posted = sim_posted,
		.hollow = true,
	};
	struct rdma_sim sim = {
		.engine = { .ops = &ops },
		.n_ports = 1,
		.bytes_per_s = 50e9,
		.latency_s = 2e-6,
		.poll_s = 50e-9,
		.gid_count = 1,
	};

	sim.ports[0] = (struct rdma_port){ .number = 1,
					   .active = true,
					   .layer = RDMA_ETHERNET,
					   .mtu = 4096,
					   .mtu_max = 4096,
					   .numa_node = 0 };
	(void)snprintf(sim.ports[0].device, RDMA_NAME_SIZE, "sim0");
	(void)snprintf(sim.ports[0].pci, RDMA_NAME_SIZE, "0000:1b:00.0");
	return sim;
}
