/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of one host on several InfiniBand fabrics: for the job, for storage. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "probes/rnic_pair/pair_plan.h"

enum { SUBNETS_TEXT_MAX = PAIR_PORTS_MAX * (RDMA_NAME_SIZE + GID_TEXT_SIZE + 16) };

/* What cannot be looked at may be of any. */
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

/* Is there none of its subnet before it? */
static bool is_first(const struct pair_plan *p, size_t side)
{
	size_t i = 0;

	while (i < side && !(has_subnet(&p->sides[i]) && is_same(&p->sides[i], &p->sides[side])))
		i++;
	return i == side;
}

/* "fe80:: (mlx5_0:1, mlx5_1:1)": the subnet of a side and who is in it. */
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

/* All subnets with their ports. */
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
