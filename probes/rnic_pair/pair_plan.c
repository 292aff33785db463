/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_plan.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/circle.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/port_guard.h"
#include "probes/rdma/ports.h"
#include "probes/rnic_pair/pair_rounds.h"
#include "probes/rnic_state/nic.h"

/* Larger than the caches and what a device may write into them (DDIO). */
#define MEMORY_BYTES (UINT64_C(64) << 20)
#define MEMORY_BYTES_SOFTWARE (UINT64_C(4) << 20)
#define MEMORY_BYTES_CONNECT (UINT64_C(1) << 20)

enum { GPU_OPEN_PART = 2 /* of the time, at most half: eight contexts take seconds */ };

static const struct pair_options *options_of(const struct pair_plan *p)
{
	return p->probe->options;
}

void pair_plan_release(struct pair_plan *p)
{
	size_t i;

	for (i = 0; i < p->n_sides; i++)
		pair_side_close(&p->sides[i]);
	pair_gpus_release(&p->gpus);
	free(p->jobs);
	free(p->left_out);
	numa_host_release(&p->host);
	if (p->has_topology)
		topology_release(&p->topology);
}

static char *port_name(const struct rdma_port *port)
{
	return xasprintf("%s:%u", port->device, port->number);
}

static bool is_wanted_port(const struct pair_plan *p, const struct rdma_port *port)
{
	CLEANUP(freep) char *name = port_name(port);

	return options_of(p)->cells ? cells_have_port(options_of(p)->cells, name)
				    : port->active || port->unknown;
}

static void keep_left_out(struct pair_plan *p, const char *left)
{
	char *before = p->left_out;

	if (!left[0])
		return;
	log_info("%s", left);
	p->left_out = before ? xasprintf("%s; %s", before, left) : xstrdup(left);
	free(before);
}

/* Keep the ports that jobs use, unless pairs are named. */
static int choose_ports(struct pair_plan *p, int n)
{
	const char *devices = rdma_service_devices(&options_of(p)->service);
	char left[PORTS_WORDS_SIZE];

	if (options_of(p)->cells)
		return n;
	n = (int)ports_choose(p->ports, (size_t)n, devices, left);
	keep_left_out(p, left);
	return n;
}

static int find_ports(struct pair_plan *p, struct err *err)
{
	char left[PORTS_WORDS_SIZE];
	int n = ports_list(p->engine, p->ports, left, err), rail = 0, i;

	if (n < 0)
		return n;
	keep_left_out(p, left);
	n = choose_ports(p, n);
	for (i = 0; i < n; i++) {
		struct rdma_port *port = &p->ports[i];

		if (is_wanted_port(p, port) && p->n_sides == PAIR_PORTS_MAX)
			log_warning("more than %d ports: %s port %u and later ones are left out",
				    PAIR_PORTS_MAX, port->device, port->number);
		else if (is_wanted_port(p, port))
			p->sides[p->n_sides++] = (struct pair_side){ .engine = p->engine,
								     .options = options_of(p),
								     .port = port,
								     .rail = (unsigned)rail };
		rail += port->active || port->unknown;
	}
	return 0;
}

char *pair_job_subject(const struct pair_job *job)
{
	CLEANUP(freep) char *source = port_name(job->from->port);
	CLEANUP(freep) char *target = port_name(job->to->port);

	return xasprintf("%s>%s", source, target);
}

static void add_job(struct pair_plan *p, const struct match *m, bool back)
{
	const struct pair_job job = { .from = &p->sides[back ? m->b : m->a],
				      .to = &p->sides[back ? m->a : m->b] };
	CLEANUP(freep) char *subject = pair_job_subject(&job);
	/* A host may have both InfiniBand and Ethernet RNICs; no cable connects those. */
	const bool may_meet = job.from->port->layer == job.to->port->layer ||
			      job.from->port->unknown || job.to->port->unknown;

	if (options_of(p)->cells ? cells_have(options_of(p)->cells, subject) : may_meet)
		p->jobs[p->n_jobs++] = job;
}

/* Make rounds of disjoint pairs, each in both directions. */
static int make_jobs(struct pair_plan *p, struct err *err)
{
	struct match matches[PAIR_PORTS_MAX / 2];
	size_t round, i;
	int back;

	p->jobs = xcalloc(p->n_sides * p->n_sides + 1, sizeof(*p->jobs));
	for (round = 0; round < circle_rounds(p->n_sides); round++) {
		size_t n = circle_round(p->n_sides, round, matches);

		for (back = 0; back < 2; back++) {
			for (i = 0; i < n; i++)
				add_job(p, &matches[i], back);
		}
	}
	if (p->n_jobs > 0)
		return 0;
	if (options_of(p)->cells)
		return err_set(err, EINVAL, "--cells: none of these pairs is on this host");
	return err_set(err, ENODEV,
		       "fewer than two active RDMA ports of the same kind on this host%s%s",
		       p->left_out ? ": " : "", p->left_out ? p->left_out : "");
}

bool pair_plan_is_software(const struct pair_plan *p)
{
	size_t i;

	for (i = 0; i < p->n_sides; i++) {
		if (p->sides[i].port->pci[0])
			return false;
	}
	return true;
}

/* Contended is busy, never slow: check for others' queue pairs, and for traffic during set-up. */
static void check_others(struct pair_side *s, const struct traffic *first)
{
	int r = s->err.code ? 0 : port_check_users(s->port, &s->err);

	if (r == 0 && !s->err.code)
		(void)port_check_traffic(s->port, first, &s->err);
}

static void take_gpus(struct pair_plan *p)
{
	const struct pair_memory_want want = { .probe = p->probe,
					       .topology = p->has_topology ? &p->topology : NULL,
					       .bytes = p->bytes,
					       .open_us = probe_left_us(p->probe) / GPU_OPEN_PART };

	pair_gpus_take(&p->gpus, options_of(p), &want, p->sides, p->n_sides);
}

static void open_all(struct pair_plan *p)
{
	CLEANUP(freep) struct traffic *first = xcalloc(p->n_sides + 1, sizeof(*first));
	const bool watched = !p->probe->run_busy && !p->engine->ops->hollow;
	size_t i;

	if (options_of(p)->memory == PAIR_MEMORY_GPU)
		take_gpus(p);
	for (i = 0; watched && i < p->n_sides; i++)
		traffic_read_fresh(p->sides[i].port, &nic_kernel, &first[i]);
	for (i = 0; i < p->n_sides; i++)
		pair_side_open(&p->sides[i], &p->host, p->bytes);
	for (i = 0; watched && i < p->n_sides; i++)
		check_others(&p->sides[i], &first[i]);
}

static int open_sides(struct pair_plan *p, struct err *err)
{
	/* The listening side does what the other one asks for, which may be more. */
	const bool connects = options_of(p)->connect_only && !options_of(p)->listen;
	int r = numa_read_here(&p->host, err);

	p->bytes = connects		      ? MEMORY_BYTES_CONNECT
		   : pair_plan_is_software(p) ? MEMORY_BYTES_SOFTWARE
					      : MEMORY_BYTES;
	if (r == 0) {
		numa_leave_out_bare(&p->host);
		open_all(p);
	}
	return r;
}

/* Settle the memory type first. The listening side uses host memory until told otherwise. */
static int check_memory(struct pair_options *o, struct err *err)
{
	if (o->listen)
		o->memory = PAIR_MEMORY_HOST;
	/*
	 * With two hosts, a missing GPU must be reported to the other side: in `err` of the sides.
	 */
	return o->memory == PAIR_MEMORY_GPU && !o->peer ? pair_gpus_check(o, err) : 0;
}

int pair_plan_make(struct pair_plan *p, struct err *err)
{
	struct pair_options *o = p->probe->options;
	int r = rdma_site_fill(&o->service, &o->gid_index, err);

	if (r == 0)
		r = check_memory(o, err);
	if (r == 0)
		r = find_ports(p, err);
	if (r == 0 && (o->listen || o->peer)) {
		if (p->n_sides == 0)
			r = err_set(err, ENODEV, "no active RDMA port on this host");
	} else if (r == 0) {
		r = make_jobs(p, err);
	}
	if (r == 0) {
		p->has_topology = topology_load(&p->topology, NULL) == 0;
		r = open_sides(p, err);
	}
	if (r == 0)
		r = pair_leave_out_subnets(p, err);
	if (r == 0)
		pair_rounds(p);
	return r;
}

/* --- ports of one host on several InfiniBand fabrics: for jobs, for storage --- */

enum { SUBNETS_TEXT_MAX = PAIR_PORTS_MAX * (RDMA_NAME_SIZE + GID_TEXT_SIZE + 16) };

/* A port that cannot be queried may be in any subnet. */
static bool has_subnet(const struct pair_side *s)
{
	return s->port->layer == RDMA_INFINIBAND && s->err.code == 0;
}

static bool is_same(const struct pair_side *a, const struct pair_side *b)
{
	return memcmp(a->subnet, b->subnet, sizeof(a->subnet)) == 0;
}

static bool may_meet(const struct pair_side *a, const struct pair_side *b)
{
	return !has_subnet(a) || !has_subnet(b) || is_same(a, b);
}

/* Is it the first side of its subnet? */
static bool is_first(const struct pair_plan *p, size_t side)
{
	size_t i = 0;

	while (i < side && !(has_subnet(&p->sides[i]) && is_same(&p->sides[i], &p->sides[side])))
		i++;
	return i == side;
}

/* Append "fe80:: (mlx5_0:1, mlx5_1:1)": the subnet of a side and its ports. */
static void add_members(const struct pair_plan *p, const struct pair_side *of, struct strbuf *to)
{
	struct rdma_gid gid = { .index = 0 };
	char prefix[GID_TEXT_SIZE];
	size_t i, n = 0;

	memcpy(gid.raw, of->subnet, sizeof(of->subnet));
	gid_format(&gid, prefix);
	(void)strbuf_printf(to, "%s (", prefix);
	for (i = 0; i < p->n_sides; i++) {
		const struct pair_side *s = &p->sides[i];

		if (has_subnet(s) && is_same(s, of))
			(void)strbuf_printf(to, "%s%s:%u", n++ ? ", " : "", s->port->device,
					    s->port->number);
	}
	(void)strbuf_puts(to, ")");
}

/* Append all subnets with their ports. */
static void add_subnets(const struct pair_plan *p, struct strbuf *to)
{
	size_t i, n = 0;

	for (i = 0; i < p->n_sides; i++) {
		if (!has_subnet(&p->sides[i]) || !is_first(p, i))
			continue;
		(void)strbuf_puts(to, n++ ? ", " : "");
		add_members(p, &p->sides[i], to);
	}
}

int pair_leave_out_subnets(struct pair_plan *p, struct err *err)
{
	const struct pair_options *o = p->probe->options;
	CLEANUP(strbuf_release) struct strbuf subnets = STRBUF_INIT(SUBNETS_TEXT_MAX);
	size_t n = 0, i;

	for (i = 0; !o->cells && i < p->n_jobs; i++) {
		if (may_meet(p->jobs[i].from, p->jobs[i].to))
			p->jobs[n++] = p->jobs[i];
	}
	if (o->cells || n == p->n_jobs)
		return 0;
	add_subnets(p, &subnets);
	if (n == 0)
		return err_set(err, ENODEV,
			       "no two active RDMA ports are in the same InfiniBand subnet: %s",
			       strbuf_text(&subnets));
	free(p->left_out);
	p->left_out = xasprintf("%zu pairs between InfiniBand subnets are left out: %s; name them "
				"(--cells) if they should reach each other",
				p->n_jobs - n, strbuf_text(&subnets));
	log_info("%s", p->left_out);
	p->n_jobs = n;
	return 0;
}
