/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_hang [RANKS]: measures how long judging a hung job blocks the controller's loop when all of
 * its hosts have answered, compared with the time jansson takes to read the same documents. Prints
 * one line per shape: its name, KiB held, microseconds to accept one document (already parsed),
 * milliseconds to judge (a median), that as a fraction of reading all documents, and the result.
 *
 *	rings    each of 20 groups has all ranks; a host knows only its own ranks
 *	dumps    each of 20 groups has all ranks, and each host lists them all
 *	mesh     tensor, pipeline and data groups of 8, 10 and 25, and one of all, from rings: three
 *		 functions per communicator, 8 operations per ring
 *	fabric	 as rings, but all ranks have started the same in each group, and wait for the network
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/job/hang_job.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/json/json.h"
#include "lib/ring/ring_layout.h"

enum { TIMES = 11, EACH = 8, GROUPS = 20, RANKS = 2000, STALLED = 9, SEQ = 410 };
enum { TENSOR = 8, STAGES = 10, FUNCTIONS = 3, OPS = 8, BASE = 10 };

#define NOW (1000000 * USEC_PER_SEC)

struct shape {
	const char *name;
	void (*fill)(json_t *doc, size_t host, size_t world);
};

static json_t *list(json_t *object, const char *key)
{
	return json_object_get(object, key);
}

static json_t *add_rank(json_t *doc, size_t rank)
{
	json_t *one = json_pack("{s:I, s:[s, s], s:{s:s, s:f}, s:[], s:[]}", "rank",
				(json_int_t)rank, "sources", "ring", "process", "process", "state",
				"futex", "for_s", 100.0, "positions", "ops");

	(void)json_array_append_new(list(doc, "ranks"), one);
	return one;
}

/* The rank has not completed its last launch; a stalled rank did not even launch it. */
static void add_position(json_t *rank, size_t group, size_t place, bool stalled)
{
	const json_int_t ended = SEQ - stalled;

	(void)json_array_append_new(list(rank, "positions"),
				    json_pack("{s:I, s:I, s:I, s:I}", "group", (json_int_t)group,
					      "place", (json_int_t)place, "enqueued",
					      ended + !stalled, "completed", ended));
}

static void add_op(json_t *rank, size_t group, json_int_t seq, const char *state)
{
	(void)json_array_append_new(list(rank, "ops"),
				    json_pack("{s:I, s:I, s:s, s:I, s:s, s:s, s:f}", "group",
					      (json_int_t)group, "seq", seq, "op", "AllReduce",
					      "count", (json_int_t)1024, "dtype", "Float", "state",
					      state, "for_s", 100.0));
}

static void add_ranks(json_t *doc, size_t host)
{
	size_t i, g;

	for (i = host * EACH; i < (host + 1) * EACH; i++) {
		json_t *rank = add_rank(doc, i);

		for (g = 0; g < GROUPS; g++)
			add_position(rank, g, i, i == STALLED);
		if (i != STALLED)
			add_op(rank, 0, SEQ + 1, "enqueued");
	}
}

static void add_groups(json_t *doc, size_t world)
{
	size_t g;

	for (g = 0; g < GROUPS; g++)
		(void)json_array_append_new(list(doc, "groups"),
					    json_pack("{s:o, s:s, s:I, s:n}", "name",
						      json_sprintf("%zu", g), "desc", "dp", "size",
						      (json_int_t)world, "ranks"));
}

static void fill_rings(json_t *doc, size_t host, size_t world)
{
	add_groups(doc, world);
	add_ranks(doc, host);
}

static void fill_dumps(json_t *doc, size_t host, size_t world)
{
	size_t g, i;

	for (g = 0; g < GROUPS; g++) {
		json_t *ranks = json_array();

		for (i = 0; i < world; i++)
			(void)json_array_append_new(ranks, json_integer((json_int_t)i));
		(void)json_array_append_new(list(doc, "groups"),
					    json_pack("{s:o, s:s, s:I, s:o}", "name",
						      json_sprintf("%zu", g), "desc", "dp", "size",
						      (json_int_t)world, "ranks", ranks));
	}
	add_ranks(doc, host);
}

/* No rank is behind: the proxies wait. */
static void fill_fabric(json_t *doc, size_t host, size_t world)
{
	json_t *ranks = list(doc, "ranks");
	size_t i, g;

	add_groups(doc, world);
	for (i = 0; i < EACH; i++) {
		json_t *rank = add_rank(doc, host * EACH + i);

		for (g = 0; g < GROUPS; g++) {
			add_position(rank, g, host * EACH + i, false);
			add_op(rank, g, SEQ + 1, "started");
		}
	}
	for (i = 0; i < EACH * GROUPS; i++) {
		json_t *rank = json_array_get(ranks, i / GROUPS);
		json_t *op = json_array_get(list(rank, "ops"), i % GROUPS);
		json_t *position = json_array_get(list(rank, "positions"), i % GROUPS);

		(void)json_object_set_new(op, "wait", json_integer(RING_WAIT_RECV));
		(void)json_object_set_new(position, "started", json_integer(SEQ + 1));
	}
}

/* Each function of the communicator is a group of its own. Returns the index of the first. */
static size_t add_comm(json_t *doc, const char *kind, size_t number, size_t size)
{
	const size_t first = json_array_size(list(doc, "groups"));
	size_t f;

	for (f = 0; f < FUNCTIONS; f++)
		(void)json_array_append_new(list(doc, "groups"),
					    json_pack("{s:o, s:s, s:I, s:n}", "name",
						      json_sprintf("%s%08zx %zu", kind, number, f),
						      "desc", "", "size", (json_int_t)size,
						      "ranks"));
	return first;
}

static void stand(json_t *rank, size_t first, size_t place, bool stalled)
{
	size_t f, i;

	for (f = 0; f < FUNCTIONS; f++) {
		add_position(rank, first + f, place, stalled);
		for (i = 0; i < OPS; i++)
			add_op(rank, first + f, SEQ + 1 - stalled - (OPS - 1) + (json_int_t)i,
			       i == OPS - 1 && !stalled ? "enqueued" : "ended");
	}
}

/* A host has the ranks of one tensor group. */
static void fill_mesh(json_t *doc, size_t host, size_t world)
{
	const size_t stages = MIN((size_t)STAGES, world / TENSOR), dp = world / TENSOR / stages;
	const size_t stage = host % stages, replica = host / stages;
	const size_t all = add_comm(doc, "all", 0, world), tp = add_comm(doc, "tp", host, EACH);
	size_t i;

	for (i = 0; i < EACH; i++) {
		json_t *rank = add_rank(doc, host * EACH + i);
		const bool stalled = host * EACH + i == STALLED;

		stand(rank, all, host * EACH + i, stalled);
		stand(rank, tp, i, stalled);
		stand(rank, add_comm(doc, "pp", replica * TENSOR + i, stages), stage, stalled);
		stand(rank, add_comm(doc, "dp", stage * TENSOR + i, dp), replica, stalled);
	}
}

static const struct shape shapes[] = {
	{ "rings", fill_rings },
	{ "dumps", fill_dumps },
	{ "mesh", fill_mesh },
	{ "fabric", fill_fabric },
};

/* --- accepting and judging --- */

static struct hang_places places_of(size_t world)
{
	struct hang_places p = { .n_nodes = world / EACH, .n_ranks = world, .run = 1 };
	size_t i;

	p.nodes = xcalloc(p.n_nodes, sizeof(char *));
	p.of = xcalloc(world, sizeof(*p.of));
	for (i = 0; i < p.n_nodes; i++)
		p.nodes[i] = xasprintf("gpu-%04zu", i);
	for (i = 0; i < world; i++)
		p.of[i] = (uint16_t)(i / EACH + 1);
	return p;
}

static void take(struct hang_job *job, json_t *doc, const char *node)
{
	struct hang_docs_words words = { .logs = NULL };
	struct hang_doc_facts facts;
	struct err err = ERR_INIT;

	hang_doc_cut(doc, &job->places, node, &facts);
	if (hang_docs_read(doc, &words, &err) < 0)
		(void)fprintf(stderr, "judge_hang: %s: %s\n", node, err.msg);
	hang_docs_put(&job->docs, node, &words, &facts, NOW);
}

/* Adds the documents of all hosts. `ret_read_us` is the time jansson takes to read them,
 * `ret_take_us` the time to accept them. */
static void fill(struct hang_job *job, const struct shape *shape, size_t world,
		 uint64_t *ret_read_us, uint64_t *ret_take_us)
{
	uint64_t began_us;
	size_t i;

	for (i = 0; i < world / EACH; i++) {
		json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:i, s:I, s:f, s:[], s:[], s:[]}",
					"format", "assay-hang/1", "node", job->places.nodes[i],
					"boot_id", "b", "job", "j", "run", 1, "world",
					(json_int_t)world, "age_s", 0.5, "groups", "ranks",
					"missing");
		CLEANUP(freep) char *text = NULL;

		shape->fill(doc, i, world);
		text = json_line(doc);
		json_decref(doc);
		began_us = clock_mono_us();
		doc = json_loads(text, 0, NULL);
		*ret_read_us += clock_mono_us() - began_us;
		began_us = clock_mono_us();
		take(job, doc, job->places.nodes[i]);
		*ret_take_us += clock_mono_us() - began_us;
		json_decref(doc);
	}
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int run(const struct shape *shape, size_t world, struct err *err)
{
	struct hang_job job = { .name = (char *)(uintptr_t) "j", .places = places_of(world) };
	uint64_t took_us[TIMES], read_us = 0, take_us = 0;
	int r = 0, i;

	fill(&job, shape, world, &read_us, &take_us);
	job.quiet = true;
	for (i = 0; r == 0 && i < TIMES; i++) {
		took_us[i] = clock_mono_us();
		r = hang_job_judge(&job, NOW + (uint64_t)i, err);
		took_us[i] = clock_mono_us() - took_us[i];
	}
	if (r == 0) {
		const json_t *verdict = json_object_get(job.found, "verdict");

		qsort(took_us, TIMES, sizeof(*took_us), by_time);
		(void)printf("%s %zu %zu %.3f %.3f %s\n", shape->name, job.docs.bytes / 1024,
			     (size_t)take_us / job.docs.hosts.n,
			     (double)took_us[TIMES / 2] / USEC_PER_MSEC,
			     (double)took_us[TIMES / 2] / (double)read_us,
			     json_string_value(json_object_get(verdict, "class")));
	}
	hang_job_release(&job);
	return r;
}

int main(int argc, char **argv)
{
	const size_t world = argc > 1 ? strtoul(argv[1], NULL, BASE) : RANKS;
	struct err err = ERR_INIT;
	size_t i;

	if (argc > 2 || world < EACH || world > HANG_RANKS_MAX || world % EACH) {
		(void)fprintf(stderr, "judge_hang: RANKS are a multiple of %d\n", EACH);
		return 2;
	}
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (run(&shapes[i], world, &err) < 0) {
			(void)fprintf(stderr, "judge_hang: %s: %s\n", shapes[i].name, err.msg);
			return 1;
		}
	}
	return 0;
}
