/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/accel/accel.h"
#include "probes/harness/probe.h"
#include "probes/memory/cell.h"
#include "probes/memory/cgroup.h"
#include "probes/memory/contention.h"
#include "probes/memory/numa.h"
#include "probes/memory/plan.h"
#include "probes/memory/ready.h"
#include "probes/memory/team.h"

enum { CPUINFO_MAX = 16 * 1024 * 1024 };

struct session {
	struct probe *probe;
	struct numa_host host;
	struct plan plan;
	struct contention contention;
	const struct kernel *kernel;
	struct team **teams; /* by node, created when first needed; owned */
	json_t *kept;	     /* from the last run: sizes by node; owned */
	uint64_t left_bytes; /* allowed by our control group */
	bool caches_known;   /* sysfs has the real cache sizes */
	uint64_t prepare_us; /* for nodes still to prepare */
	size_t parts;	     /* left to do */
	struct work *work;   /* by cell of the plan; owned */
};

/* The progress of a cell. */
struct work {
	bool done;   /* its samples are emitted, or nothing more can be done */
	double rate; /* of its slowest check: used to plan the pattern check */
};

static void session_release(struct session *s)
{
	size_t i;

	for (i = 0; s->teams && i < s->host.n; i++)
		if (s->teams[i])
			team_free(s->teams[i]);
	free(s->teams);
	free(s->work);
	contention_close(&s->contention);
	plan_release(&s->plan);
	numa_host_release(&s->host);
	json_decref(s->kept);
}

static bool caches_are_real(void)
{
	CLEANUP(freep) char *path = xasprintf("%s/proc/cpuinfo", paths_sysroot());
	CLEANUP(freep) char *text = NULL;

	(void)file_read(AT_FDCWD, path, CPUINFO_MAX, &text, NULL, NULL);
	return numa_caches_are_real(text);
}

static int read_host(struct session *s, struct err *err)
{
	int r = numa_read_here(&s->host, err);

	if (r < 0)
		return r;
	/* Without GPUs this is memory of the host, measured by the nearest processors. */
	if (accel_gpu_present())
		numa_leave_out_bare(&s->host);
	if (s->host.more)
		log_warning("more than %d NUMA nodes: the rest is left out", NUMA_NODES_MAX);
	s->caches_known = caches_are_real();
	s->left_bytes = cgroup_memory_left(paths_sysroot());
	return 0;
}

static const struct numa_node *cpu_node(const struct session *s, const struct plan_cell *cell)
{
	return &s->host.nodes[cell->cpu];
}

static const struct numa_node *memory_node(const struct session *s, const struct plan_cell *cell)
{
	return &s->host.nodes[cell->memory];
}

static bool only_memory(const struct session *s)
{
	size_t n = 0, i;

	for (i = 0; i < s->host.n; i++)
		n += s->host.nodes[i].total_bytes > 0;
	return n == 1;
}

static int team_of(struct session *s, size_t node, struct team **ret, struct err *err)
{
	const struct numa_node *n = &s->host.nodes[node];

	if (!s->teams[node]) {
		int r = team_new(n->cores.v, n->cores.n, &s->teams[node], err);

		if (r < 0)
			return r;
	}
	*ret = s->teams[node];
	return 0;
}

static struct work *work_of(struct session *s, const struct plan_cell *cell)
{
	return &s->work[cell - s->plan.cells];
}

/* Time for the next part. */
static uint64_t take_part(struct session *s)
{
	const size_t parts = MAX(s->parts, (size_t)1);

	s->parts = parts - 1;
	return plan_next_us(probe_left_us(s->probe), s->prepare_us, parts);
}

/* Give up on a cell: all its samples say why. */
static int give_up(struct session *s, const struct plan_cell *cell, int state, const char *why)
{
	if (cell->why == PLAN_MEASURE)
		s->parts -= MIN(s->parts, (size_t)PLAN_PARTS);
	work_of(s, cell)->done = true;
	return cell_emit_all(s->probe, cpu_node(s, cell), memory_node(s, cell), state, why);
}

static int give_up_unplanned(struct session *s, const struct plan_cell *cell)
{
	CLEANUP(freep) char *why = NULL;

	if (cell->why == PLAN_NO_TIME) {
		why = xasprintf("a budget of %" PRIu64 " ms is too short for memory across nodes",
				s->probe->budget_us / USEC_PER_MSEC);
		return give_up(s, cell, SAMPLE_TIMEOUT, why);
	}
	why = xasprintf("this process may not use any CPU of numa:%u", cpu_node(s, cell)->id);
	return give_up(s, cell, SAMPLE_SET_UP, why);
}

/* Give up on a cell if others use its cores, or those next to its memory. */
static int give_up_busy(struct session *s, const struct plan_cell *cell)
{
	CLEANUP(freep) char *why = NULL;

	if (s->probe->run_busy)
		return 0;
	why = contention_before(&s->contention, cpu_node(s, cell));
	if (!why)
		why = contention_before(&s->contention, memory_node(s, cell));
	return why ? give_up(s, cell, SAMPLE_BUSY, why) : 0;
}

static uint64_t kept_size(const struct session *s, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(s->kept, key));

	return value > 0 ? (uint64_t)value : 0;
}

/* Prepare the memory of a node with the cores of the first cell that needs it. */
static int make_ready(struct session *s, const struct plan_cell *cell, uint64_t us,
		      struct ready *ret, struct err *err)
{
	const struct numa_node *node = memory_node(s, cell);
	CLEANUP(freep) char *key = xasprintf("numa:%u", node->id);
	const struct ready_wish wish = {
		.node = node,
		.only_node = only_memory(s),
		.free_bytes = MIN(node->free_bytes, s->left_bytes),
		.llc_bytes = s->caches_known ? cpu_node(s, cell)->llc_bytes : 0,
		.last_bytes = kept_size(s, key),
		.deadline_us = clock_mono_us() + MIN(us, probe_left_us(s->probe)),
	};
	struct team *team;
	int r = team_of(s, cell->cpu, &team, err);

	if (r == 0)
		r = ready_open(&wish, team, s->kernel, ret, err);
	if (r == 0 && ret->settled)
		(void)json_object_set_new(s->kept, key, json_integer((json_int_t)ret->array_bytes));
	return r;
}

/* Run the checks [first, end) of a cell whose memory is ready. */
static int measure(struct session *s, const struct plan_cell *plan_cell, const struct ready *ready,
		   unsigned first, unsigned end)
{
	struct work *work = work_of(s, plan_cell);
	struct err err = ERR_INIT;
	struct arena arena;
	struct cell cell = {
		.probe = s->probe,
		.contention = &s->contention,
		.kernel = s->kernel,
		.cpu = cpu_node(s, plan_cell),
		.memory = memory_node(s, plan_cell),
		.ready = ready,
		.arena = &arena,
		.rate = work->rate,
	};
	struct team *team;
	int r;

	if (work->done)
		return 0;
	if (team_of(s, plan_cell->cpu, &team, &err) < 0)
		return give_up(s, plan_cell, SAMPLE_SET_UP, err.msg);
	arena_init(&arena, team, &ready->buffer);
	arena.array_bytes = ready->array_bytes;
	for (r = 0; r == 0 && first < end; first++)
		r = cell_measure(&cell, first, take_part(s));
	arena_release(&arena);
	work->rate = cell.rate;
	return r;
}

/* All rates before all patterns, whose values some processors are slow to compute with. */
static int measure_ready(struct session *s, size_t first, size_t end, const struct ready *ready)
{
	const struct plan_cell *cells = s->plan.cells;
	size_t i;
	int r = 0;

	for (i = first; r == 0 && i < end; i++)
		r = measure(s, &cells[i], ready, 0, KERNEL_CHECKS);
	for (i = first; r == 0 && i < end; i++)
		r = measure(s, &cells[i], ready, CELL_PATTERN, CELL_CHECKS);
	return r;
}

/* Emit what needs no measuring: cells not planned, or busy. */
static int settle_unmeasured(struct session *s, size_t first, size_t end)
{
	size_t i;
	int r = 0;

	for (i = first; r == 0 && i < end; i++) {
		const struct plan_cell *cell = &s->plan.cells[i];

		r = cell->why == PLAN_MEASURE ? give_up_busy(s, cell) : give_up_unplanned(s, cell);
	}
	return r;
}

static int give_up_all(struct session *s, size_t first, size_t end, int error, const char *why)
{
	const int state = error == -ETIME ? SAMPLE_TIMEOUT : SAMPLE_SET_UP;
	int r = 0;

	for (; r == 0 && first < end; first++)
		if (!s->work[first].done)
			r = give_up(s, &s->plan.cells[first], state, why);
	return r;
}

/* Run the cells [first, end) of one memory node. */
static int run_memory_node(struct session *s, size_t first, size_t end)
{
	uint64_t us = s->plan.cells[first].prepare_us;
	struct err err = ERR_INIT;
	struct ready ready;
	size_t i;
	int r = settle_unmeasured(s, first, end);

	for (i = first; i < end; i++)
		us = MAX(us, s->plan.cells[i].prepare_us);
	s->prepare_us -= MIN(s->prepare_us, us);
	for (i = first; i < end && s->work[i].done; i++)
		;
	if (r < 0 || i == end)
		return r;
	r = make_ready(s, &s->plan.cells[i], us, &ready, &err);
	if (r < 0)
		return give_up_all(s, first, end, r, err.msg);
	r = measure_ready(s, first, end, &ready);
	ready_close(&ready);
	return r;
}

static int run_all(struct session *s)
{
	size_t first, end;
	int r = 0;

	for (first = 0; r == 0 && first < s->plan.n; first = end) {
		for (end = first + 1; end < s->plan.n; end++)
			if (s->plan.cells[end].memory != s->plan.cells[first].memory)
				break;
		r = run_memory_node(s, first, end);
	}
	return r;
}

static void begin(struct session *s)
{
	size_t i;

	s->plan = plan_make(&s->host, probe_left_us(s->probe));
	s->parts = plan_parts(&s->plan);
	for (i = 0; i < s->plan.n; i++)
		s->prepare_us += s->plan.cells[i].prepare_us;
	s->work = xcalloc(s->plan.n + 1, sizeof(*s->work));
	s->teams = xcalloc(s->host.n, sizeof(struct team *));
	s->kept = probe_load(s->probe, true);
	s->kernel = kernel_best();
	contention_open(&s->contention, s->plan.look_us);
}

int session_run(struct probe *probe, struct err *err)
{
	CLEANUP(session_release)
	struct session s = { .probe = probe, .contention = { .proc_fd = -1, .self_fd = -1 } };
	int r = read_host(&s, err);

	if (r < 0)
		return r;
	begin(&s);
	r = run_all(&s);
	if (r < 0)
		return err_errno(err, -r, "writing the samples");
	/*
	 * The saved sizes only keep later samples comparable, so failing to save them is no error.
	 */
	(void)probe_save(probe, s.kept, NULL);
	return 0;
}
