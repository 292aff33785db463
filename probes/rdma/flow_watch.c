/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/flow_watch.h"

#include <sched.h>

#include "lib/base/err.h"
#include "probes/rdma/rdma.h"

enum {
	POLLS_PER_LOOK = 64,	   /* between looks at `stop` */
	POLLS_PER_YIELD = 1 << 16, /* longer than any trip worth timing */
};

/* Wait for a value other than `than`. Returns false if stopped first. */
static bool await_other(const struct watch *w, unsigned char than)
{
	unsigned polls = 0;

	while (*w->at == than) {
		if (++polls % POLLS_PER_LOOK)
			continue;
		if (atomic_load_explicit(&w->stop, memory_order_relaxed))
			return false;
		if (polls % POLLS_PER_YIELD == 0)
			(void)sched_yield();
	}
	return true;
}

static void *run(void *context)
{
	struct watch *w = context;
	unsigned char mark = atomic_load_explicit(&w->mark, memory_order_relaxed);

	while (await_other(w, mark)) {
		uint64_t now = rdma_ticks(w->engine);

		mark = *w->at;
		atomic_store_explicit(&w->ticks, now, memory_order_relaxed);
		atomic_store_explicit(&w->mark, mark, memory_order_release);
	}
	return NULL;
}

/* With affinity from the start, it never shares the caller's core until rebalanced. */
static int start_on(struct watch *w, const cpu_set_t *cores)
{
	pthread_attr_t attr;
	int r;

	(void)pthread_attr_init(&attr);
	r = pthread_attr_setaffinity_np(&attr, sizeof(*cores), cores);
	if (r == 0)
		r = pthread_create(&w->thread, &attr, run, w);
	(void)pthread_attr_destroy(&attr);
	w->runs = r == 0;
	return r;
}

int watch_start(struct watch *w, const struct core_keep *keep, struct err *err)
{
	cpu_set_t others;
	int r;

	w->runs = false;
	if (!keep->kept)
		return 0;
	others = core_others(keep);
	if (CPU_COUNT(&others) == 0)
		return 0;
	atomic_init(&w->mark, *w->at);
	atomic_init(&w->stop, false);
	r = start_on(w, &others);
	return r != 0 ? err_errno(err, r, "cannot start a thread that watches memory") : 0;
}

void watch_stop(struct watch *w)
{
	if (!w->runs)
		return;
	atomic_store_explicit(&w->stop, true, memory_order_relaxed);
	(void)pthread_join(w->thread, NULL);
	w->runs = false;
}
