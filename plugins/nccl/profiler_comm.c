/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/nccl/profiler_comm.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "plugins/nccl/profiler_handover.h"
#include "plugins/nccl/profiler_version.h"

#define NS_PER_S UINT64_C(1000000000)
#define LOCAL_RANKS 8 /* per host, if the interface does not say */

enum { PLACE_EMPTY, PLACE_OPENING, PLACE_LIVE, PLACE_GONE };
enum { ROUND_LIMIT = 4 }; /* times to search the table while others take places */

struct table {
	_Atomic int pid;
	_Atomic uint64_t n_gone;
	_Atomic bool no_room; /* in /dev/shm, at some time: no more kernel events */
	struct again_pace again;
	struct profiler_comm comms[HANDLE_COMMS];
};

static _Atomic(struct table *) the_table;
static _Atomic bool told, told_full;

/* Write one line to NCCL's log, which is off unless the user enables it. */
static void tell(const struct comm_who *who, const char *text)
{
	if (who->log)
		who->log(PROFILER_LOG_INFO, PROFILER_LOG_INIT, "assay", 0, "PROFILER/Assay: %s",
			 text);
}

/* The table of this process, created if necessary. NULL if there is no memory that fork() wipes. */
static struct table *table_get(void)
{
	struct table *table = atomic_load(&the_table), *none = NULL;
	void *memory;
	int nobody = 0;

	if (!table) {
		memory = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			return NULL;
		if (madvise(memory, sizeof(*table), MADV_WIPEONFORK) < 0 ||
		    !atomic_compare_exchange_strong(&the_table, &none, (struct table *)memory))
			munmap(memory, sizeof(*table));
		table = atomic_load(&the_table);
	}
	if (table)
		atomic_compare_exchange_strong(&table->pid, &nobody, (int)getpid());
	return table;
}

int profiler_comm_pid(void)
{
	struct table *table = atomic_load_explicit(&the_table, memory_order_relaxed);

	return table ? atomic_load_explicit(&table->pid, memory_order_relaxed) : 0;
}

uint32_t profiler_comm_place(const struct profiler_comm *comm)
{
	return (uint32_t)(comm - atomic_load_explicit(&the_table, memory_order_relaxed)->comms);
}

struct profiler_comm *profiler_comm_find(struct handle h)
{
	struct table *table = atomic_load_explicit(&the_table, memory_order_relaxed);
	struct profiler_comm *comm;
	struct ring_head *head;

	if (!table)
		return NULL;
	comm = &table->comms[h.comm];
	if (h.generation &&
	    atomic_load_explicit(&comm->generation, memory_order_acquire) == h.generation)
		return comm;
	head = atomic_load_explicit(&comm->head, memory_order_acquire);
	if (head)
		atomic_fetch_add_explicit(&head->late_calls, 1, memory_order_relaxed);
	return NULL;
}

struct profiler_comm *profiler_comm_of(const void *context)
{
	const struct handle h = handle_unpack(context);

	return h.kind == HANDLE_CONTEXT && !h.channel && h.number == HANDLE_CONTEXT_NUMBER
		       ? profiler_comm_find(h)
		       : NULL;
}

/* The entry that went first, if enough followed or none is unused; otherwise an unused one. */
static struct profiler_comm *choose(struct table *table)
{
	const uint64_t n_gone = atomic_load(&table->n_gone);
	struct profiler_comm *oldest = NULL, *empty = NULL;
	size_t i;

	for (i = 0; i < HANDLE_COMMS; i++) {
		struct profiler_comm *comm = &table->comms[i];
		const uint32_t state = atomic_load(&comm->state);

		if (state == PLACE_EMPTY && !empty)
			empty = comm;
		if (state == PLACE_GONE &&
		    (!oldest || atomic_load(&comm->gone) < atomic_load(&oldest->gone)))
			oldest = comm;
	}
	if (oldest && (!empty || n_gone - atomic_load(&oldest->gone) >= COMM_QUARANTINE))
		return oldest;
	return empty;
}

/* Take an entry to fill in; NULL if all are in use. */
static struct profiler_comm *take(struct table *table, uint32_t *ret_was)
{
	int round;

	for (round = 0; round < ROUND_LIMIT; round++) {
		struct profiler_comm *comm = choose(table);
		uint32_t was = comm ? atomic_load(&comm->state) : PLACE_LIVE;

		if (!comm)
			return NULL;
		if ((was == PLACE_EMPTY || was == PLACE_GONE) &&
		    atomic_compare_exchange_strong(&comm->state, &was, PLACE_OPENING)) {
			*ret_was = was;
			return comm;
		}
	}
	return NULL;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/*
 * NCCL's event pools for kernels are in /dev/shm, 44 MiB per process. If there is no room it
 * crashes (github.com/NVIDIA/nccl/pull/2326), with an operation of any communicator since there is
 * only one mask. All processes of the host may share /dev/shm.
 */
static void look_for_room(struct table *table, int n_ranks, int n_nodes)
{
	const uint64_t local = n_nodes > 0 ? (uint64_t)MAX(n_ranks / n_nodes, 1) : LOCAL_RANKS;
	struct statvfs fs;

	if (statvfs("/dev/shm", &fs) < 0 ||
	    (uint64_t)fs.f_bavail * fs.f_frsize < COMM_SHM_BYTES * local)
		atomic_store(&table->no_room, true);
}

/* The union of requests of all live communicators with this NCCL mask. */
static int all_want(struct table *table, const int *mask)
{
	uint32_t all = 0;
	size_t i;

	for (i = 0; i < HANDLE_COMMS; i++) {
		struct profiler_comm *comm = &table->comms[i];

		if (atomic_load(&comm->state) == PLACE_LIVE && atomic_load(&comm->mask) == mask)
			all |= atomic_load(&comm->wanted);
	}
	return (int)(atomic_load(&table->no_room) ? all & ~(uint32_t)PROFILER_KERNEL_CH : all);
}

/* Checks again after writing, because another thread may have written an outdated value. */
static void set_mask(struct table *table, int *mask)
{
	int round;

	for (round = 0; round < ROUND_LIMIT; round++) {
		const int all = all_want(table, mask);

		if (__atomic_load_n(mask, __ATOMIC_SEQ_CST) == all)
			return;
		__atomic_store_n(mask, all, __ATOMIC_SEQ_CST);
	}
}

static void want(struct profiler_comm *comm, uint32_t mask)
{
	struct ring_head *head = profiler_comm_head(comm);

	if (atomic_load(&atomic_load(&the_table)->no_room))
		mask &= ~(uint32_t)PROFILER_KERNEL_CH;
	atomic_store(&comm->wanted, mask | COMM_MASK_IDLE);
	if (!(mask & PROFILER_KERNEL_CH))
		atomic_store(&head->since_ns, 0);
	else if (!(atomic_load(&head->mask) & PROFILER_KERNEL_CH))
		atomic_store(&head->since_ns, now_ns(CLOCK_MONOTONIC));
	atomic_store_explicit(&head->mask, mask, memory_order_relaxed);
	set_mask(atomic_load(&the_table), atomic_load(&comm->mask));
}

void profiler_comm_ask(struct profiler_comm *comm)
{
	const struct ring_control *control = atomic_load(&comm->control);
	const uint32_t wants = atomic_load_explicit(&control->mask, memory_order_relaxed);

	atomic_store(&comm->seen, wants);
	atomic_store(&comm->expired, false);
	if (wants & PROFILER_KERNEL_CH)
		look_for_room(atomic_load(&the_table), comm->n_ranks, comm->n_nodes);
	want(comm, wants & comm->allowed);
}

/* If another assayd than the page's writer has the ring, requests are in the ring's head. */
static const struct ring_control *find_control(struct profiler_comm *comm)
{
	const struct ring_control *control =
		atomic_load_explicit(&comm->control, memory_order_relaxed);
	const struct ring_control *wants = &profiler_comm_head(comm)->wants;

	if (control == wants || !atomic_load_explicit(&wants->until_ns, memory_order_acquire))
		return control;
	atomic_store(&comm->control, wants);
	profiler_again_taken(&comm->offer);
	profiler_comm_ask(comm);
	return wants;
}

bool profiler_comm_expired(struct profiler_comm *comm, uint64_t now_ns)
{
	const struct ring_control *control = find_control(comm);
	const uint64_t until_ns = atomic_load_explicit(&control->until_ns, memory_order_relaxed);
	const bool expired = until_ns && now_ns > until_ns;

	if (expired)
		profiler_again(&comm->offer, &atomic_load(&the_table)->again,
			       profiler_comm_head(comm), now_ns);
	if (expired == atomic_load_explicit(&comm->expired, memory_order_relaxed))
		return expired;
	if (expired) {
		atomic_store(&comm->expired, true);
		want(comm, 0);
	} else {
		profiler_again_taken(&comm->offer);
		profiler_comm_ask(comm);
	}
	return expired;
}

void profiler_comm_idle(struct profiler_comm *comm)
{
	(void)profiler_comm_expired(comm, now_ns(CLOCK_MONOTONIC_COARSE));
}

/* Map a ring over this entry's previous one. Populated, so that callbacks do not page-fault. */
static int map_ring(struct profiler_comm *comm, int fd)
{
	struct ring_head *old = atomic_load(&comm->head);
	void *memory = mmap(old, RING_SIZE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE | (old ? MAP_FIXED : 0), fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	if (madvise(memory, RING_SIZE, MADV_DONTFORK) < 0)
		return -errno;
	atomic_store_explicit(&comm->head, (struct ring_head *)memory, memory_order_release);
	return 0;
}

/* Clear the state of the previous communicator in this entry. */
static void clear(struct profiler_comm *comm)
{
	size_t i;

	atomic_store_explicit(&comm->plan, 0, memory_order_relaxed);
	atomic_store_explicit(&comm->plan_started, 0, memory_order_relaxed);
	atomic_store_explicit(&comm->looked, 0, memory_order_relaxed);
	for (i = 0; i < RING_FUNCS; i++) {
		atomic_store_explicit(&comm->func_seq[i], 0, memory_order_relaxed);
		atomic_store_explicit(&comm->func_number[i], 0, memory_order_relaxed);
	}
	for (i = 0; i < RING_CHANNELS; i++) {
		atomic_store_explicit(&comm->channels[i].number, 0, memory_order_relaxed);
		atomic_store_explicit(&comm->channels[i].number_before, 0, memory_order_relaxed);
	}
	for (i = 0; i < RING_SLOTS; i++) {
		atomic_store_explicit(&comm->plans[i], 0, memory_order_relaxed);
		atomic_store_explicit(&comm->proxies[i], 0, memory_order_relaxed);
	}
}

/* Never 0, and random at first, so that handles of another process are unlikely to match. */
static uint32_t next_generation(struct profiler_comm *comm)
{
	uint32_t start = (uint32_t)getpid();

	if (!comm->last_generation) {
		if (getrandom(&start, sizeof(start), GRND_NONBLOCK) != (ssize_t)sizeof(start))
			start = (uint32_t)getpid();
		comm->last_generation = start;
	}
	comm->last_generation = comm->last_generation % (HANDLE_GENERATIONS - 1) + 1;
	return comm->last_generation;
}

static void fill_head(const struct comm_who *who, uint32_t nccl, struct ring_head *head)
{
	*head = (struct ring_head){
		.magic = RING_MAGIC,
		.version = RING_VERSION,
		.head_size = RING_HEAD_SIZE,
		.slot_size = RING_SLOT_SIZE,
		.n_slots = RING_SLOTS,
		.comm_id = who->comm_id,
		.n_nodes = who->n_nodes,
		.n_ranks = who->n_ranks,
		.rank = who->rank,
		.pid = profiler_comm_pid(),
		.api = (uint32_t)who->api,
		.nccl = nccl,
		.mono_ns = now_ns(CLOCK_MONOTONIC),
		.real_ns = now_ns(CLOCK_REALTIME),
	};
	if (who->name)
		memcpy(head->name, who->name, strnlen(who->name, sizeof(head->name) - 1));
}

/* Activate the entry for the communicator, whose ring assayd has. */
static void go_live(struct profiler_comm *comm, const struct comm_who *who, void **ret_context)
{
	const uint32_t generation = next_generation(comm);

	comm->api = who->api;
	comm->n_ranks = who->n_ranks;
	comm->n_nodes = who->n_nodes;
	atomic_store(&comm->rank, who->rank);
	atomic_store(&comm->mask, who->mask);
	atomic_store(&comm->seen, 0);
	atomic_store(&comm->wanted, COMM_MASK_IDLE);
	atomic_store_explicit(&comm->generation, generation, memory_order_release);
	atomic_store(&comm->state, PLACE_LIVE);
	profiler_comm_ask(comm);
	*ret_context = handle_pack((struct handle){ .kind = HANDLE_CONTEXT,
						    .comm = profiler_comm_place(comm),
						    .generation = generation,
						    .number = HANDLE_CONTEXT_NUMBER });
}

/* Log what became of the first communicator of the process, in one line. */
static void tell_once(const struct comm_who *who, uint32_t nccl,
		      const struct profiler_version *version, int r)
{
	char text[256];

	if (atomic_exchange(&told, true))
		return;
	if (r < 0 && !version->mask)
		snprintf(text, sizeof(text), "NCCL %u.%u.%u is not recorded: %s", nccl / 10000,
			 nccl / 100 % 100, nccl % 100, version->why);
	else if (r == -ENOENT || r == -ECONNREFUSED)
		snprintf(text, sizeof(text),
			 "nothing is recorded: no assayd is listening on its socket");
	else if (r < 0)
		snprintf(text, sizeof(text), "nothing is recorded: %s",
			 strerrordesc_np(-r) ? strerrordesc_np(-r) : "?");
	else
		snprintf(text, sizeof(text),
			 "NCCL %u.%u.%u through interface v%d: assayd has the ring%s%s",
			 nccl / 10000, nccl / 100 % 100, nccl % 100, who->api,
			 version->why ? "; " : "", version->why ? version->why : "");
	tell(who, text);
}

static int open_place(struct profiler_comm *comm, const struct comm_who *who, uint32_t nccl,
		      void **ret_context)
{
	struct sockaddr_un where;
	struct ring_head head;
	int fd = -1, r;

	fill_head(who, nccl, &head);
	r = profiler_handover_where(&where);
	if (r == 0)
		r = profiler_handover(&where, &head, &fd, &comm->page);
	if (r < 0)
		return r;
	atomic_store(&comm->control, comm->page);
	clear(comm);
	r = map_ring(comm, fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	profiler_again_keep(&comm->offer, &where, fd);
	go_live(comm, who, ret_context);
	return 0;
}

/*
 * Called before any communicator is created, recorded or not: recording of others must not make
 * NCCL crash in it.
 */
static void make_sure(struct table *table, const struct comm_who *who)
{
	size_t i;

	if (!(__atomic_load_n(who->mask, __ATOMIC_SEQ_CST) & PROFILER_KERNEL_CH))
		return;
	look_for_room(table, who->n_ranks, who->n_nodes);
	for (i = 0; atomic_load(&table->no_room) && i < HANDLE_COMMS; i++) {
		if (atomic_load(&table->comms[i].state) == PLACE_LIVE)
			profiler_comm_ask(&table->comms[i]);
	}
}

void profiler_comm_open(const struct comm_who *who, void **ret_context)
{
	const uint32_t nccl = profiler_version_of(who->mask);
	const struct profiler_version *version = profiler_version_find(nccl);
	struct table *table = version->mask ? table_get() : NULL;
	struct profiler_comm *comm = NULL;
	uint32_t was = PLACE_EMPTY;
	int r = version->mask ? -ENOMEM : -EPERM;

	*ret_context = NULL;
	if (table) {
		make_sure(table, who);
		comm = take(table, &was);
		if (!comm && !atomic_exchange(&told_full, true))
			tell(who, "no more communicators are recorded: this process has as many as "
				  "there is room for");
	}
	if (comm) {
		comm->allowed = version->mask;
		r = open_place(comm, who, nccl, ret_context);
		if (r < 0)
			atomic_store(&comm->state, was);
	}
	tell_once(who, nccl, version, r);
}

/* Free the memory of the ring that has been gone longest. Late calls still find memory there. */
static void let_go(struct table *table, uint64_t n_gone)
{
	size_t i;

	for (i = 0; n_gone > COMM_QUARANTINE && i < HANDLE_COMMS; i++) {
		struct profiler_comm *comm = &table->comms[i];
		uint32_t gone = PLACE_GONE;

		if (atomic_load(&comm->gone) != n_gone - COMM_QUARANTINE ||
		    !atomic_compare_exchange_strong(&comm->state, &gone, PLACE_OPENING))
			continue;
		mmap(profiler_comm_head(comm), RING_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		atomic_store(&comm->state, PLACE_GONE);
	}
}

void profiler_comm_close(void *context)
{
	struct profiler_comm *comm = profiler_comm_of(context);
	struct table *table = atomic_load(&the_table);
	struct ring_head *head;
	uint32_t live = PLACE_LIVE;
	uint64_t n_gone;

	if (!comm || !atomic_compare_exchange_strong(&comm->state, &live, PLACE_OPENING))
		return;
	atomic_store_explicit(&comm->generation, 0, memory_order_release);
	head = profiler_comm_head(comm);
	atomic_store_explicit(&head->mask, 0, memory_order_relaxed);
	atomic_store_explicit(&head->finalized, 1, memory_order_release);
	profiler_again_forget(&comm->offer);
	set_mask(table, atomic_load(&comm->mask));
	madvise(head, RING_SIZE, MADV_DONTNEED); /* the file keeps the content */
	n_gone = atomic_fetch_add(&table->n_gone, 1) + 1;
	atomic_store(&comm->gone, n_gone);
	atomic_store(&comm->state, PLACE_GONE);
	let_go(table, n_gone);
}
