/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/loopback/loopback_mesh.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "probes/loopback/loopback.h"
#include "probes/loopback/loopback_answers.h"
#include "probes/loopback/loopback_known.h"
#include "probes/loopback/loopback_progress.h"
#include "probes/memory/numa.h"
#include "probes/rdma/mesh_groups.h"
#include "probes/rdma/mesh_low.h"
#include "probes/rdma/mesh_quick.h"
#include "probes/rdma/mesh_topology.h"

/* With less time, a cell cannot fill its windows; with more, nothing is gained. */
#define CELL_MIN_US (200 * USEC_PER_MSEC)
#define CELL_MAX_US (8 * USEC_PER_SEC)

/* Divisor of the budget: what is kept for a last round that waits for a dead path. */
enum { MARGIN_PART = 20 };

/* Part of the budget of a quick set kept for follow-up measurements. */
#define REST_SHARE 0.4

struct run {
	const struct loopback_host *host;
	const struct loopback_options *options;
	struct mesh mesh;
	char **subjects; /* by cell of the mesh, like the next two */
	double *values;	 /* the lower of the two bandwidths; NAN: not measured */
	bool *done;	 /* measured or attempted */
	json_t *known;	 /* rates from earlier runs */
	struct answers answers;
	struct progress progress;
};

static void on_sample(const struct cell *cell, const struct sample *sample)
{
	double *value = cell->told_data;

	if (sample->better == BETTER_HIGHER && (isnan(*value) || sample->value < *value))
		*value = sample->value;
}

static struct cell make_cell(struct run *r, const struct rdma_port *port, const struct endpoint *end)
{
	return (struct cell){
		.probe = r->host->probe,
		.engine = r->host->engine,
		.options = r->options,
		.port = port,
		.end = end,
		.topology = r->host->topology,
		.answers = &r->answers,
	};
}

static struct cell cell_of(struct run *r, unsigned number)
{
	const struct mesh_cell *c = &r->mesh.cells[number];
	struct cell cell = make_cell(r, &r->host->ports[c->port], &r->host->ends[c->end]);

	cell.told = on_sample;
	cell.told_data = &r->values[number];
	return cell;
}

/* --- selecting cells -------------------------------------------------------- */

/* Report a port that is down, once for each memory. */
static int tell_down(struct run *r, const struct rdma_port *port, const struct endpoint *end)
{
	CLEANUP(freep)
	char *why = xasprintf("%s port %u: %s", port->device, port->number, port->state);
	const struct cell cell = make_cell(r, port, end);

	return cell_emit_all(&cell, SAMPLE_SET_UP, why);
}

/*
 * Collect the selected cells of active ports into `ends`. Returns their number, or a negative
 * errno. An inactive port is only reported if it was asked for or cannot be queried: a port without
 * a cable is no fault, and rnic-state reports one that used to be active.
 */
static int gather(struct run *r, struct mesh_ends *ends, char **names)
{
	const struct loopback_host *h = r->host;
	size_t i, j;
	int n = 0, error = 0;

	for (i = 0; i < h->n_ports; i++) {
		for (j = 0; error == 0 && j < h->n_ends; j++) {
			CLEANUP(freep) char *subject = cell_subject(&h->ports[i], &h->ends[j], 1);

			if (r->options->cells ? !cells_have(r->options->cells, subject)
					      : !h->ports[i].active && !h->ports[i].unknown)
				continue;
			if (h->ports[i].active)
				ends[n++] = (struct mesh_ends){
					.port = (unsigned)i,
					.end = (unsigned)j,
					.rnic = names[i],
					.to = h->ends[j].id,
					.bytes_per_s = h->ports[i].bytes_per_s,
				};
			else
				error = tell_down(r, &h->ports[i], &h->ends[j]);
		}
	}
	return error < 0 ? error : n;
}

static int run_open(struct run *r, const struct loopback_host *h)
{
	CLEANUP(freep) struct mesh_ends *ends = xcalloc(h->n_ports * h->n_ends + 1, sizeof(*ends));
	char *names[RDMA_PORTS_MAX] = { NULL };
	size_t i;
	int n;

	*r = (struct run){ .host = h, .options = h->probe->options };
	for (i = 0; i < h->n_ports; i++)
		names[i] = xasprintf("rnic:%s", h->ports[i].device);
	n = gather(r, ends, names);
	if (n >= 0)
		mesh_from_topology(h->topology, ends, (size_t)n, &r->mesh);
	for (i = 0; i < h->n_ports; i++)
		free(names[i]);
	if (n > (int)r->mesh.n_cells)
		log_warning("%d cells are more than %d: the last are left out", n, MESH_CELLS_MAX);
	r->known = known_load(h->probe, r->options);
	r->answers = (struct answers){ .engine = h->engine,
				       .ports = h->ports,
				       .n_ports = h->n_ports,
				       .known = r->known,
				       .deadline_us = h->probe->deadline_us };
	r->subjects = xcalloc(r->mesh.n_cells + 1, sizeof(*r->subjects));
	r->values = xcalloc(r->mesh.n_cells + 1, sizeof(*r->values));
	r->done = xcalloc(r->mesh.n_cells + 1, sizeof(*r->done));
	for (i = 0; i < r->mesh.n_cells; i++) {
		const struct mesh_cell *c = &r->mesh.cells[i];

		r->subjects[i] = cell_subject(&h->ports[c->port], &h->ends[c->end], 1);
		r->values[i] = NAN;
	}
	return MIN(n, 0);
}

static void run_close(struct run *r)
{
	progress_end(&r->progress);
	strv_free(r->subjects);
	free(r->values);
	free(r->done);
	answers_release(&r->answers);
	json_decref(r->known);
	mesh_release(&r->mesh);
}

/* --- measuring ----------------------------------------------------------------- */

/* Make the cells of a set; `with` is that of a group, otherwise NULL. */
static struct cell *cells_of(struct run *r, const struct mesh_set *set, char *const *with)
{
	struct cell *cells = xcalloc(set->n, sizeof(*cells));
	size_t i;

	for (i = 0; i < set->n; i++) {
		cells[i] = cell_of(r, set->cells[i]);
		cells[i].with = with;
		if (with)
			cells[i].told = NULL;
	}
	return cells;
}

/* NULL-terminated subjects of a group; NULL if it is not a group. */
static char **names_of(const struct run *r, const struct mesh_set *set, bool group)
{
	char **names = group ? xcalloc(set->n + 1, sizeof(*names)) : NULL;
	size_t i;

	for (i = 0; group && i < set->n; i++) {
		const struct mesh_cell *c = &r->mesh.cells[set->cells[i]];

		names[i] = cell_subject(&r->host->ports[c->port], &r->host->ends[c->end], set->n);
	}
	return names;
}

static int give_up(const struct cell *cells, size_t n)
{
	size_t i;
	int error = 0;

	for (i = 0; error == 0 && i < n; i++)
		error = cell_emit_all(&cells[i], SAMPLE_TIMEOUT,
				      "no time left in the budget for this cell");
	return error;
}

static int run_set(struct run *r, const struct mesh_set *set, bool group, uint64_t us)
{
	CLEANUP(strv_freep) char **with = names_of(r, set, group);
	CLEANUP(freep) struct cell *cells = cells_of(r, set, with);
	size_t i;

	for (i = 0; !group && i < set->n; i++)
		r->done[set->cells[i]] = true;
	if (us == 0)
		return give_up(cells, set->n);
	/* A single thread drives all flows of a round. */
	numa_go_near(r->host->numa, r->host->ports[r->mesh.cells[set->cells[0]].port].numa_node);
	return cells_run(cells, set->n, us);
}

static uint64_t left_us(const struct run *r)
{
	const struct probe *probe = r->host->probe;
	uint64_t now_us = r->host->engine->ops->now_ns(r->host->engine) / 1000;
	uint64_t end_us = probe->deadline_us - probe->budget_us / MARGIN_PART;

	return now_us < end_us ? end_us - now_us : 0;
}

/*
 * Measure the sets one after the other. Each gets an equal share of the time left, except `keep_us`
 * and the shares of `others` later sets; a third of a share is for set-up and teardown. If that is
 * too short for a cell, the first sets still get the minimum and the last ones nothing.
 */
static int run_sets(struct run *r, const struct mesh_sets *sets, bool groups, size_t others,
		    uint64_t keep_us)
{
	size_t i;
	int error = 0;

	for (i = 0; error == 0 && i < sets->n; i++) {
		uint64_t left = left_us(r), us;

		left = left > keep_us ? left - keep_us : 0;
		us = MIN(MAX(3 * left / (3 * (sets->n - i + others) + 1), CELL_MIN_US), CELL_MAX_US);
		if (left < us)
			us = 0;
		progress_tell(&r->progress, i, sets->n, groups ? "groups" : "rounds", left_us(r));
		error = run_set(r, &sets->v[i], groups, us);
	}
	return error;
}

/* Measure the cells not tried yet, in rounds. */
static int run_rest(struct run *r, const double *weight, size_t others)
{
	CLEANUP(freep) unsigned *rest = xcalloc(r->mesh.n_cells + 1, sizeof(*rest));
	CLEANUP(mesh_sets_release) struct mesh_sets rounds = { .n = 0 };
	size_t n = 0, i;

	for (i = 0; i < r->mesh.n_cells; i++) {
		if (!r->done[i])
			rest[n++] = (unsigned)i;
	}
	mesh_rounds(&r->mesh, rest, n, weight, &rounds);
	return run_sets(r, &rounds, false, others, 0);
}

/* The first cell of the set gets the highest weight; cells outside it get 0. */
static void weigh_set(const struct mesh_set *set, double *weight)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		weight[set->cells[i]] = (double)(set->n - i);
}

static int run_full(struct run *r)
{
	CLEANUP(freep) double *weight = xcalloc(r->mesh.n_cells + 1, sizeof(*weight));
	CLEANUP(mesh_set_release) struct mesh_set quick = { .n = 0 };
	CLEANUP(mesh_sets_release) struct mesh_sets groups = { .n = 0 };
	int error;

	mesh_quick(&r->mesh, &quick);
	weigh_set(&quick, weight);
	mesh_groups(&r->mesh, &groups);
	error = run_rest(r, weight, groups.n);
	return error < 0 ? error : run_sets(r, &groups, true, 0, 0);
}

/* Lower what cells are expected to reach to the known rates. */
static void expect_known(struct run *r)
{
	size_t i;

	for (i = 0; i < r->mesh.n_cells; i++) {
		double known = known_rate(r->known, r->subjects[i]);

		if (known < r->mesh.cells[i].expected)
			r->mesh.cells[i].expected = known;
	}
}

static void keep_known(struct run *r)
{
	size_t i, n = 0;

	for (i = 0; i < r->mesh.n_cells; i++) {
		known_note(r->known, r->subjects[i], r->values[i]);
		n += isnan(r->values[i]) ? 0 : 1;
	}
	if (n > 0)
		known_save(r->host->probe, r->options, r->known);
}

static int run_quick(struct run *r)
{
	CLEANUP(freep) double *weight = xcalloc(r->mesh.n_cells + 1, sizeof(*weight));
	CLEANUP(freep) bool *low = xcalloc(r->mesh.n_cells + 1, sizeof(*low));
	CLEANUP(mesh_set_release) struct mesh_set quick = { .n = 0 };
	CLEANUP(mesh_sets_release) struct mesh_sets rounds = { .n = 0 };
	size_t n_low;
	int error;

	mesh_quick(&r->mesh, &quick);
	weigh_set(&quick, weight);
	mesh_rounds(&r->mesh, quick.cells, quick.n, weight, &rounds);
	error = run_sets(r, &rounds, false, 0, (uint64_t)((double)left_us(r) * REST_SHARE));
	expect_known(r);
	n_low = mesh_low(&r->mesh, r->values, low);
	if (error < 0 || n_low == 0)
		return error;
	progress_end(&r->progress);
	log_info("%zu of %zu cells low: the others are measured too", n_low, quick.n);
	mesh_weigh(&r->mesh, r->values, low, weight);
	return run_rest(r, weight, 0);
}

int loopback_mesh(const struct loopback_host *host)
{
	CLEANUP(run_close) struct run r;
	int error = run_open(&r, host);

	if (error < 0)
		return error;
	progress_begin(&r.progress, "loopback");
	error = r.options->set == SET_QUICK && !r.options->cells ? run_quick(&r) : run_full(&r);
	keep_known(&r);
	return error;
}
