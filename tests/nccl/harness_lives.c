/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "plugins/nccl/profiler_comm.h"
#include "tests/nccl/harness.h"

enum {
	CHANNELS = 2,
	CALLS = 5 + 3 * CHANNELS, /* calls per collective in version 5: see play_one() */
	QUEUE = 256,
	RANKS_MAX = 64,
	RSS_SLACK = 4 << 20,
};

/* ---- fork, dlclose, finalize ----------------------------------------------------------------- */

static void child_calls(struct harness *h, struct fake_comm *comm, void *op, void *kernel)
{
	struct fake_comm own;
	int before = fake_assayd_rings();

	CHECK(harness_mapped() == 0);
	CHECK(!fake_start(comm, op, 1, 50) && !fake_event(comm, PROFILER_COLL, NULL));
	fake_stop(&h->nccl, kernel, 60);
	CHECK(!fake_proxy(comm, op, getpid(), comm->rank, 0));
	fake_comm_close(comm);
	/* A child that uses NCCL itself starts afresh; its parent's thread answers it. */
	fake_comm_open(&h->nccl, &own, 0xc0ffee, 3, 16, 2);
	CHECK(own.context && fake_assayd_rings() == before); /* counted in the parent */
	CHECK(!fake_start(&own, op, 1, 50));
	CHECK(harness_coll(&own, "AllGather", 1, 1));
	fake_comm_close(&own);
}

static void forked(struct harness *h)
{
	struct fake_comm comm;
	const struct ring_head *head;
	void *op, *kernel;
	int status;
	pid_t pid;

	harness_open(h, &comm, MASK_ALL);
	head = harness_ring();
	op = harness_coll(&comm, "AllReduce", 1, 2);
	kernel = fake_start(&comm, op, 0, 10);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		child_calls(h, &comm, op, kernel);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(head->next == 1 && !head->late_calls && !head->finalized);
	CHECK(harness_slot(head, 0).started == 1 && harness_slot(head, 0).stopped == 0);
	CHECK(fake_assayd_rings() == 2 && harness_ring()->next == 1 &&
	      harness_ring()->pid == (int)pid);
	fake_stop(&h->nccl, kernel, 20);
	CHECK(harness_slot(head, 0).stopped == 1);
	fake_comm_close(&comm);
}

static void unloaded(struct harness *h)
{
	struct fake_nccl gone;
	struct fake_comm comm;
	void *op, *kernel;
	uint64_t rss = 0;
	int i;

	for (i = 0; i < 100; i++) {
		harness_open(h, &comm, MASK_ALL);
		op = harness_coll(&comm, "AllReduce", 1, 1);
		kernel = fake_start(&comm, op, 0, 10);
		fake_comm_close(&comm);
		gone = h->nccl;
		fake_unload(&h->nccl);
		/* A late thread of NCCL: the code is still mapped, and finds nothing. */
		fake_stop(&gone, kernel, 20);
		CHECK(harness_slot(harness_ring(), 0).stopped == 0);
		fake_assayd_forget();
		CHECK(fake_load(&h->nccl, h->plugin, h->api));
		if (i == 20)
			rss = harness_rss();
	}
	CHECK(harness_rss() <= rss + RSS_SLACK);
}

static void open_events(struct harness *h)
{
	struct fake_comm comm;
	const struct ring_head *head;
	void *op, *kernel[2], *proxy, *step;

	harness_open(h, &comm, MASK_ALL);
	head = harness_ring();
	op = harness_coll(&comm, "AllReduce", 1, 2);
	kernel[0] = fake_start(&comm, op, 0, 10);
	kernel[1] = fake_start(&comm, op, 1, 10);
	proxy = fake_proxy(&comm, op, getpid(), comm.rank, 0);
	step = fake_step(&comm, proxy);
	fake_state(&h->nccl, step, RING_WAIT_RECV, 0);
	fake_stop(&h->nccl, kernel[0], 20);
	fake_comm_close(&comm);
	fake_stop(&h->nccl, kernel[1], 30);
	fake_state(&h->nccl, step, RING_WAIT_SEND, 0);
	fake_end(&h->nccl, step);
	fake_end(&h->nccl, proxy);
	CHECK(head->finalized && harness_slot(head, 0).started == 2 &&
	      harness_slot(head, 0).stopped == 1);
	CHECK(harness_slot(head, 0).wait == RING_WAIT_RECV && head->late_calls >= 2);
}

/* ---- many communicators ---------------------------------------------------------------------- */

static void ten(struct harness *h)
{
	struct fake_comm comms[10];
	int i, k;

	for (i = 0; i < 10; i++)
		harness_open(h, &comms[i], i % 2 ? MASK_RECORD : 0);
	CHECK(h->nccl.mask == MASK_RECORD);
	for (k = 0; k < 1000; k++) {
		for (i = 0; i < 10; i++) {
			void *op = harness_coll(&comms[i], "AllReduce", (uint64_t)(i * 1000 + k), 1);

			CHECK(!op == !(i % 2));
			fake_stop(&h->nccl, fake_start(&comms[i], op, 0, (uint64_t)k * 10 + 1),
				  (uint64_t)k * 10 + 5);
		}
	}
	for (i = 0; i < 10; i++) {
		const struct ring_head *head = fake_assayd_ring(i);

		CHECK(head->next == (i % 2 ? 1000U : 0U));
		if (i % 2)
			CHECK(harness_slot(head, 999).count == (uint64_t)(i * 1000 + 999) &&
			      !head->bad_stamps);
	}
	for (i = 1; i < 10; i += 2)
		fake_comm_close(&comms[i]);
	CHECK(h->nccl.mask == PROFILER_COLL);
	for (i = 0; i < 10; i += 2)
		fake_comm_close(&comms[i]);
	CHECK(h->nccl.mask == 0);
}

static void too_many(struct harness *h)
{
	struct fake_comm comms[RANKS_MAX], more;
	int i, lines;

	for (i = 0; i < RANKS_MAX; i++)
		harness_open(h, &comms[i], MASK_RECORD);
	lines = fake_log_lines;
	for (i = 0; i < 3; i++) {
		fake_comm_open(&h->nccl, &more, 1, 0, 2, 1);
		CHECK(!more.context && h->nccl.mask == MASK_RECORD);
		CHECK(!harness_coll(&more, "AllReduce", 1, 1));
		fake_comm_close(&more);
	}
	CHECK(fake_log_lines == lines + (h->api > 3) && fake_assayd_rings() == RANKS_MAX);
	fake_comm_close(&comms[7]);
	harness_open(h, &more, MASK_RECORD);
	fake_comm_close(&more);
	for (i = 0; i < RANKS_MAX; i++)
		fake_comm_close(&comms[i]); /* the seventh's descriptor is detected as foreign */
	CHECK(h->nccl.mask == 0 && harness_mapped() == 8);
}

/* Many communicators in sequence: memory is bounded by those in use and the last few. */
static void many_lives(struct harness *h)
{
	struct fake_comm comm;
	uint32_t places[COMM_QUARANTINE] = { 0 }; /* of the latest ones, from 1 */
	void *before = NULL;
	uint64_t rss = 0;
	int i, k;

	for (i = 0; i < 500; i++) {
		void *op;

		harness_open(h, &comm, MASK_RECORD);
		for (k = 0; k < COMM_QUARANTINE; k++)
			CHECK(places[k] != handle_unpack(comm.context).comm + 1);
		places[i % COMM_QUARANTINE] = handle_unpack(comm.context).comm + 1;
		CHECK(!fake_start(&comm, before, 0, 10));
		op = harness_coll(&comm, "AllReduce", 1, 1);
		fake_stop(&h->nccl, fake_start(&comm, op, 0, 10), 20);
		CHECK(harness_slot(harness_ring(), 0).flags & RING_DONE);
		before = op;
		fake_comm_close(&comm);
		fake_assayd_forget();
		if (i == 100)
			rss = harness_rss();
	}
	CHECK(harness_rss() <= rss + RSS_SLACK);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* A queue from the job's thread to the proxy's, like NCCL's pool of operations. */
struct queue {
	void *ops[QUEUE];
	_Atomic uint64_t put, got;
	_Atomic bool end;
};

struct rank {
	struct harness *h;
	struct fake_comm comm;
	struct queue queue;
	uint64_t n;
	pthread_t job, proxy;
};

static uint64_t count_of(int rank, uint64_t i)
{
	return i * 64 + (uint64_t)rank;
}

static void put(struct queue *q, void *op)
{
	const uint64_t i = atomic_load_explicit(&q->put, memory_order_relaxed);

	while (i - atomic_load_explicit(&q->got, memory_order_acquire) >= QUEUE)
		sched_yield();
	q->ops[i % QUEUE] = op;
	atomic_store_explicit(&q->put, i + 1, memory_order_release);
}

static void *run_job(void *arg)
{
	struct rank *r = arg;
	uint64_t i;

	for (i = 0; i < r->n; i++)
		put(&r->queue, harness_coll(&r->comm, i % 3 ? "AllReduce" : "ReduceScatter",
					    count_of(r->comm.rank, i), CHANNELS));
	atomic_store_explicit(&r->queue.end, true, memory_order_release);
	return NULL;
}

static void *run_proxy(void *arg)
{
	struct rank *r = arg;
	struct queue *q = &r->queue;
	uint64_t i = 0;

	for (;;) {
		void *kernel[CHANNELS];
		int c;

		if (i == atomic_load_explicit(&q->put, memory_order_acquire)) {
			if (atomic_load_explicit(&q->end, memory_order_acquire) &&
			    i == atomic_load(&q->put))
				return NULL;
			sched_yield();
			continue;
		}
		for (c = 0; c < CHANNELS; c++)
			kernel[c] = fake_start(&r->comm, q->ops[i % QUEUE], c, i * 100 + 1);
		for (c = 0; c < CHANNELS; c++)
			fake_stop(&r->h->nccl, kernel[c], i * 100 + 50);
		i++;
		atomic_store_explicit(&q->got, i, memory_order_release);
	}
}

/* Checks all operations still in the ring; nothing was dropped. */
static void check_rank(const struct ring_head *head, uint64_t n)
{
	uint64_t i;

	CHECK(head->next == n && !head->lost && !head->late_calls && !head->bad_stamps);
	for (i = n > RING_SLOTS ? n - RING_SLOTS : 0; i < n; i++) {
		const struct fake_slot slot = harness_slot(head, i);

		CHECK(slot.count == count_of(head->rank, i) && (slot.flags & RING_DONE) &&
		      slot.stopped == CHANNELS);
		if (head->api > 3)
			CHECK(slot.gpu_start_ns == i * 100 + 1 && slot.gpu_stop_ns == i * 100 + 50);
	}
}

/* Each rank is a thread, with a proxy thread; --events in all. */
static void ranks(struct harness *h)
{
	static struct rank all[RANKS_MAX];
	const int n = MIN(h->ranks, (int)RANKS_MAX);
	const uint64_t each = h->events / (uint64_t)n / CALLS + 1;
	uint64_t rss = 0;
	int i, half;

	CHECK(n >= 2);
	for (half = 0; half < 2; half++) {
		for (i = 0; i < n; i++) {
			all[i] = (struct rank){ .h = h, .n = each / 2 + 1 };
			fake_assayd_manner(FAKE_TAKES, MASK_RECORD);
			fake_comm_open(&h->nccl, &all[i].comm, 7, i, n, n);
			CHECK(all[i].comm.context);
		}
		for (i = 0; i < n; i++) {
			CHECK(pthread_create(&all[i].job, NULL, run_job, &all[i]) == 0);
			CHECK(pthread_create(&all[i].proxy, NULL, run_proxy, &all[i]) == 0);
		}
		for (i = 0; i < n; i++) {
			pthread_join(all[i].job, NULL);
			pthread_join(all[i].proxy, NULL);
		}
		for (i = 0; i < n; i++) {
			fake_comm_close(&all[i].comm);
			check_rank(fake_assayd_ring(half * n + i), each / 2 + 1);
		}
		fake_assayd_forget();
		if (half == 0)
			rss = harness_rss();
	}
	CHECK(harness_rss() <= rss + RSS_SLACK);
	printf("%d ranks, %llu events\n", n,
	       (unsigned long long)(each / 2 + 1) * 2 * CALLS * (unsigned)n);
}

/* Several threads of the job launch into one communicator, as when they replay graphs. */
static void crowd(struct harness *h)
{
	static struct rank all[4];
	struct fake_comm comm;
	const struct ring_head *head;
	uint64_t n = h->events / CALLS / 4 + 1, i, found = 0;
	struct fake_slot slot;
	int k;

	harness_open(h, &comm, MASK_RECORD);
	head = harness_ring();
	for (k = 0; k < 4; k++) {
		all[k] = (struct rank){ .h = h, .n = n, .comm = comm };
		CHECK(pthread_create(&all[k].job, NULL, run_job, &all[k]) == 0);
		CHECK(pthread_create(&all[k].proxy, NULL, run_proxy, &all[k]) == 0);
	}
	for (k = 0; k < 4; k++) {
		pthread_join(all[k].job, NULL);
		pthread_join(all[k].proxy, NULL);
	}
	CHECK(head->next == 4 * n);
	for (i = head->next > RING_SLOTS ? head->next - RING_SLOTS : 0; i < head->next; i++)
		found += fake_assayd_read(head, i, &slot) && slot.started == CHANNELS &&
			 slot.stopped == CHANNELS;
	CHECK(found + head->lost >= MIN(head->next, (uint64_t)RING_SLOTS));
	fake_comm_close(&comm);
}

/* The mask changes while all threads are running. */
static void while_running(struct harness *h)
{
	static struct rank rank;
	const uint32_t masks[] = { 0, MASK_RECORD, MASK_ALL, PROFILER_COLL };
	uint64_t i;

	rank = (struct rank){ .h = h, .n = h->events / CALLS + 1 };
	harness_open(h, &rank.comm, MASK_RECORD);
	CHECK(pthread_create(&rank.job, NULL, run_job, &rank) == 0);
	CHECK(pthread_create(&rank.proxy, NULL, run_proxy, &rank) == 0);
	for (i = 0; !atomic_load(&rank.queue.end); i++) {
		atomic_store(&harness_page()->mask, masks[i % ARRAY_SIZE(masks)]);
		sched_yield();
	}
	pthread_join(rank.job, NULL);
	pthread_join(rank.proxy, NULL);
	CHECK(harness_ring()->next <= rank.n && !harness_ring()->late_calls);
	fake_comm_close(&rank.comm);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* The main of a separate process: endless collectives of a rank. */
void harness_play(struct harness *h, int rank)
{
	struct fake_comm comm;
	uint64_t i;

	CHECK(fake_load(&h->nccl, h->plugin, h->api));
	fake_comm_open(&h->nccl, &comm, 7, rank, 16, 16);
	CHECK(comm.context);
	for (i = 0;; i++) {
		void *op = harness_coll(&comm, "AllReduce", count_of(rank, i), CHANNELS),
		     *kernel[CHANNELS];
		int c;

		for (c = 0; c < CHANNELS; c++)
			kernel[c] = fake_start(&comm, op, c, i * 100 + 1);
		for (c = 0; c < CHANNELS; c++)
			fake_stop(&h->nccl, kernel[c], i * 100 + 50);
	}
}

static pid_t start_process(const struct harness *h, int rank)
{
	char api[16], who[16];
	pid_t pid;

	snprintf(api, sizeof(api), "%d", h->api);
	snprintf(who, sizeof(who), "%d", rank);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed check leaves no process behind */
		execl(h->self, "harness", "--plugin", h->plugin, "--api", api, "--play", who,
		      (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void wait_for(const _Atomic uint64_t *value, uint64_t at_least)
{
	const uint64_t end = harness_now_ns() + (uint64_t)WAIT_LIMIT_MS * 1000000;

	while (atomic_load(value) < at_least) {
		CHECK(harness_now_ns() < end);
		poll(NULL, 0, 1);
	}
}

static void wait_for_rings(int n)
{
	const uint64_t end = harness_now_ns() + (uint64_t)WAIT_LIMIT_MS * 1000000;

	while (fake_assayd_rings() < n) {
		CHECK(harness_now_ns() < end);
		poll(NULL, 0, 1);
	}
}

/* Checks the last operation, or the one before if the process died while writing it. */
static void check_last(const struct ring_head *head)
{
	struct fake_slot slot;
	uint64_t last = head->next;

	CHECK(last >= 2 && !head->finalized);
	last -= fake_assayd_read(head, last - 1, &slot) ? 1 : 2;
	slot = harness_slot(head, last);
	CHECK(slot.count == count_of(head->rank, last) && streq(slot.func_name, "AllReduce"));
	CHECK(slot.enqueued_ns >= head->mono_ns && slot.enqueued_ns <= harness_now_ns());
	CHECK(slot.stopped <= slot.started && slot.started <= CHANNELS);
	CHECK(!slot.gpu_start_ns || slot.gpu_start_ns == last * 100 + 1);
}

/* A process killed at any moment leaves its last operation; repeated --times times. */
static void killed(struct harness *h)
{
	int i, status;

	fake_assayd_manner(FAKE_TAKES, MASK_RECORD);
	for (i = 0; i < h->times; i++) {
		const pid_t pid = start_process(h, i % 16);
		const struct ring_head *head;

		wait_for_rings(i + 1);
		head = fake_assayd_ring(i);
		wait_for(&head->next, 2 + (uint64_t)i * 7919 % 5000);
		CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid &&
		      WIFSIGNALED(status));
		check_last(head);
		if (i % 64 == 63)
			fake_assayd_forget();
	}
	printf("%d of %d left a readable last record\n", i, h->times);
}

/* Each rank is a process, as in a job. */
static void processes(struct harness *h)
{
	const int n = MIN(h->ranks, 16);
	pid_t pids[16];
	int i, status;

	fake_assayd_manner(FAKE_TAKES, MASK_RECORD);
	for (i = 0; i < n; i++)
		pids[i] = start_process(h, i);
	wait_for_rings(n);
	for (i = 0; i < n; i++)
		wait_for(&fake_assayd_ring(i)->next, RING_SLOTS + 100);
	for (i = 0; i < n; i++)
		CHECK(kill(pids[i], SIGKILL) == 0 && waitpid(pids[i], &status, 0) == pids[i]);
	for (i = 0; i < n; i++)
		check_last(fake_assayd_ring(i));
}

/* The process caches what it found, so this is one of the last scenarios. */
static void small_shm(struct harness *h)
{
	struct fake_comm comm, second;

	harness_open(h, &comm, MASK_RECORD);
	CHECK(h->nccl.mask == MASK_RECORD && harness_coll(&comm, "AllReduce", 1, 2));
	fake_shm_free = UINT64_C(64)
			<< 20; /* a container's default; enough for one rank of eight */
	fake_assayd_manner(FAKE_REFUSES, 0); /* not recorded, but NCCL's mask applies to it too */
	fake_comm_open(&h->nccl, &second, 2, 0, 8, 1);
	CHECK(!second.context && h->nccl.mask == (PROFILER_COLL | PROFILER_P2P));
	fake_shm_free = UINT64_C(1) << 40;
	harness_page()->mask = 0;
	harness_coll(&comm, "AllReduce", 1, 2);
	harness_page()->mask = MASK_RECORD;
	CHECK(harness_coll(&comm, "AllReduce", 1, 2) &&
	      h->nccl.mask == (PROFILER_COLL | PROFILER_P2P));
	CHECK(harness_ring()->mask == (PROFILER_COLL | PROFILER_P2P) && harness_ring()->next == 2);
	fake_comm_close(&comm);
}

/* A stopped assayd costs a job 100 ms, twice; then it is no longer tried. Last, because that
 * persists. */
static void silent(struct harness *h)
{
	struct fake_comm comm;
	uint64_t begin;
	int i;

	unsetenv("ASSAY_RING_LIMIT_MS");
	fake_assayd_manner(FAKE_SILENT, MASK_RECORD);
	for (i = 0; i < 5; i++) {
		begin = harness_now_ns();
		fake_comm_open(&h->nccl, &comm, 1, 0, 2, 1);
		CHECK(!comm.context && h->nccl.mask == 0);
		if (i >= 2)
			CHECK(harness_now_ns() - begin < UINT64_C(10000000000));
	}
	fake_assayd_manner(FAKE_TAKES, MASK_RECORD);
	fake_comm_open(&h->nccl, &comm, 1, 0, 2, 1);
	CHECK(!comm.context && fake_assayd_rings() == 0);
}

const struct scenario harness_lives[] = {
	{ "fork", forked },
	{ "dlclose", unloaded },
	{ "open-events", open_events },
	{ "ten", ten },
	{ "too-many", too_many },
	{ "many-lives", many_lives },
	{ "ranks", ranks },
	{ "crowd", crowd },
	{ "while-running", while_running },
	{ "killed", killed },
	{ "processes", processes },
	{ "small-shm", small_shm },
	{ "silent", silent },
	{ NULL, NULL },
};
