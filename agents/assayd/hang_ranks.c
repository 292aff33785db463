/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/sys/file.h"

enum { DECIMAL = 10 };

static bool has_ended(const struct hang_here *h)
{
	return h->doing.process == HANG_PROCESS_GONE || h->doing.process == HANG_PROCESS_ZOMBIE;
}

static void let_go(struct hang_here *h)
{
	closep(&h->proc_fd);
	h->proc_fd = -1;
}

static void drop(struct hang_ranks *r, size_t i)
{
	let_go(&r->all[i]);
	r->n--;
	memmove(&r->all[i], &r->all[i + 1], (r->n - i) * sizeof(r->all[0]));
}

void hang_ranks_release(struct hang_ranks *r)
{
	while (r->n)
		drop(r, r->n - 1);
	free(r->all);
	*r = (struct hang_ranks){ .all = NULL };
}

/* --- identity --- */

static struct hang_here *find(struct hang_ranks *r, pid_t pid, uint64_t start_ticks)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		if (r->all[i].pid == pid && r->all[i].start_ticks == start_ticks)
			return &r->all[i];
	}
	return NULL;
}

/* Drop the rank that ended longest ago. False: all are alive. */
static bool make_room(struct hang_ranks *r)
{
	size_t oldest = r->n, i;

	if (r->n < HANG_RANKS_HERE_MAX)
		return true;
	for (i = 0; i < r->n; i++) {
		if (has_ended(&r->all[i]) &&
		    (oldest == r->n || r->all[i].since_us < r->all[oldest].since_us))
			oldest = i;
	}
	if (oldest == r->n)
		return false;
	drop(r, oldest);
	return true;
}

static void put(struct hang_ranks *r, const struct hang_here *here)
{
	if (!r->all)
		r->all = xcalloc(HANG_RANKS_HERE_MAX, sizeof(*r->all));
	r->all[r->n++] = *here;
}

/* By name, or by the path of the installed or mounted file. */
static bool is_ours(const char *profiler)
{
	return streq(profiler, "assay") || starts_with(profiler, "libassay-nccl-profiler") ||
	       starts_with(profiler, "libnccl-profiler-assay");
}

static void add(struct hang_ranks *r, const struct process_entry *entry)
{
	const char *profiler = entry->env.values[PROCESS_ENV_PROFILER];
	struct hang_here here = { .pid = entry->pid, .start_ticks = entry->start_ticks };
	struct trace_place place;
	const enum trace_refusal why = trace_rules_place(&entry->env, &place);

	/* Its shape does not matter here. */
	if ((why != TRACE_TAKEN && why != TRACE_SHAPE) || !make_room(r))
		return;
	here.proc_fd = hang_sight_open(entry->pid, entry->start_ticks);
	if (here.proc_fd < 0)
		return;
	memcpy(here.job, place.job, sizeof(here.job));
	here.run = place.run;
	here.rank = place.rank;
	here.uid = entry->uid;
	memcpy(here.pod, entry->pod, sizeof(here.pod));
	here.world = strtoll(entry->env.values[PROCESS_ENV_WORLD], NULL, DECIMAL);
	if (!is_ours(profiler))
		memcpy(here.profiler, profiler, sizeof(here.profiler));
	put(r, &here);
}

/* Was the rank restarted, in this run of its job or a later one? */
static bool is_replaced(const struct hang_ranks *r, const struct hang_here *gone)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct hang_here *h = &r->all[i];

		if (!has_ended(h) && h->rank == gone->rank && h->run >= gone->run &&
		    streq(h->job, gone->job))
			return true;
	}
	return false;
}

static void forget(struct hang_ranks *r, uint64_t now_us)
{
	size_t i = r->n;

	while (i-- > 0) {
		const struct hang_here *h = &r->all[i];

		if (has_ended(h) &&
		    (now_us >= h->since_us + HANG_RANKS_FORGET_US || is_replaced(r, h)))
			drop(r, i);
	}
}

static int compare(const void *a, const void *b)
{
	const struct hang_here *x = a, *y = b;
	int r = strcmp(x->job, y->job);

	if (r == 0)
		r = (x->run > y->run) - (x->run < y->run);
	if (r == 0)
		r = (x->rank > y->rank) - (x->rank < y->rank);
	/* Of duplicate ranks the live one first, and of those the older. */
	if (r == 0)
		r = (int)has_ended(x) - (int)has_ended(y);
	return r ? r : (x->start_ticks > y->start_ticks) - (x->start_ticks < y->start_ticks);
}

void hang_ranks_set(struct hang_ranks *r, const struct process_entry *entries, size_t n,
		    uint64_t now_us)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!find(r, entries[i].pid, entries[i].start_ticks))
			add(r, &entries[i]);
	}
	forget(r, now_us);
	if (r->n)
		qsort(r->all, r->n, sizeof(*r->all), compare);
}

void hang_ranks_add_gone(struct hang_ranks *r, const struct hang_here *gone, uint64_t now_us)
{
	struct hang_here here = *gone;

	if (now_us >= here.since_us + HANG_RANKS_FORGET_US || find(r, here.pid, here.start_ticks) ||
	    is_replaced(r, &here) || !make_room(r))
		return;
	here.proc_fd = -1;
	here.doing = (struct hang_doing){ .process = HANG_PROCESS_GONE };
	put(r, &here);
	qsort(r->all, r->n, sizeof(*r->all), compare);
}

/* --- activity --- */

/* Was it in this state since the earlier of two samples, as states that need two samples are? */
static bool is_from_before(const struct hang_here *h)
{
	return h->before.at_us && h->doing.process != HANG_PROCESS_STOPPED &&
	       h->doing.process != HANG_PROCESS_TRACED && !has_ended(h);
}

static void look(struct hang_here *h, uint64_t now_us)
{
	const uint8_t was = h->doing.process;

	h->before = h->after;
	hang_sight_look(h->proc_fd, now_us, &h->after);
	hang_sight_judge(&h->before, &h->after, &h->doing);
	if (h->doing.process != was || !h->since_us)
		h->since_us = is_from_before(h) ? h->before.at_us : now_us;
	if (h->doing.process == HANG_PROCESS_GONE)
		let_go(h);
}

void hang_ranks_look(struct hang_ranks *r, uint64_t now_us)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		struct hang_here *h = &r->all[i];

		if (h->proc_fd >= 0 &&
		    (!h->after.at_us || now_us >= h->after.at_us + HANG_SIGHT_APART_US))
			look(h, now_us);
	}
	forget(r, now_us);
}

bool hang_ranks_unsure(const struct hang_ranks *r, const char *job)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		if (r->all[i].doing.process == HANG_PROCESS_UNKNOWN && r->all[i].proc_fd >= 0 &&
		    streq(r->all[i].job, job))
			return true;
	}
	return false;
}

/* --- jobs --- */

int64_t hang_ranks_run(const struct hang_ranks *r, const char *job)
{
	int64_t lives = -1, any = -1;
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct hang_here *h = &r->all[i];

		if (!streq(h->job, job))
			continue;
		any = MAX(any, h->run);
		if (!has_ended(h))
			lives = MAX(lives, h->run);
	}
	return lives >= 0 ? lives : any;
}

bool hang_ranks_stand(const struct hang_ranks *r, const char *job, uint64_t now_us)
{
	const int64_t run = hang_ranks_run(r, job);
	bool one_lives = false, one_ended = false;
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct hang_here *h = &r->all[i];
		const bool long_so = now_us > h->since_us + HANG_RANKS_STANDS_US;

		if (h->run != run || !streq(h->job, job))
			continue;
		if (long_so && hang_sight_stands(&h->doing))
			return true;
		one_lives |= !has_ended(h);
		one_ended |= long_so && has_ended(h);
	}
	return one_lives && one_ended;
}

static json_t *tell_process(const struct hang_here *h, uint64_t now_us)
{
	json_t *process = json_pack("{s:s}", "state", hang_process_names[h->doing.process]);

	if (h->since_us)
		(void)json_object_set_new(process, "for_s",
					  json_real((double)(now_us - h->since_us) / USEC_PER_SEC));
	if (h->doing.wchan[0])
		(void)json_object_set_new(process, "wchan", json_string(h->doing.wchan));
	if (h->doing.call[0])
		(void)json_object_set_new(process, "syscall", json_string(h->doing.call));
	(void)json_object_set_new(process, "threads", json_integer((json_int_t)h->doing.n_threads));
	(void)json_object_set_new(process, "spinning",
				  json_integer((json_int_t)h->doing.n_spinning));
	return process;
}

json_t *hang_ranks_tell(const struct hang_ranks *r, const char *job, int64_t run, uint64_t now_us,
			int64_t *ret_world)
{
	json_t *ranks = json_array();
	int64_t last = -1;
	size_t i;

	*ret_world = 0;
	for (i = 0; i < r->n; i++) {
		const struct hang_here *h = &r->all[i];

		/* Of two with the same rank the live one comes first. */
		if (h->run != run || h->rank == last || !streq(h->job, job))
			continue;
		last = h->rank;
		*ret_world = MAX(*ret_world, h->world);
		(void)json_array_append_new(ranks, json_pack("{s:I, s:[s], s:i, s:o}", "rank",
							     (json_int_t)h->rank, "sources",
							     "process", "pid", (int)h->pid,
							     "process", tell_process(h, now_us)));
	}
	return ranks;
}

/* Does this process of the run use another profiler? */
static bool has_other(const struct hang_here *h, const char *job, int64_t run)
{
	return h->run == run && !has_ended(h) && h->profiler[0] && streq(h->job, job);
}

void hang_ranks_tell_profilers(const struct hang_ranks *r, const char *job, int64_t run,
			       json_t *missing)
{
	size_t i, k, more;
	bool told;

	for (i = 0; i < r->n; i++) {
		const struct hang_here *h = &r->all[i];

		if (!has_other(h, job, run))
			continue;
		for (k = 0, more = 0, told = false; k < r->n; k++) {
			const struct hang_here *other = &r->all[k];
			const bool same = has_other(other, job, run) &&
					  streq(other->profiler, h->profiler);

			told |= same && k < i;
			more += same && k > i;
		}
		if (!told)
			(void)json_array_append_new(
				missing,
				json_sprintf("ring of rank %" PRId64 " (and of %zu more): NCCL was "
					     "told to load the profiler '%s', and loads no other",
					     h->rank, more, h->profiler));
	}
}
