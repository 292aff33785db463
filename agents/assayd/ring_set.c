/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_set.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agents/assayd/process_map.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

enum { RINGS_AT_FIRST = 16 };

#define UNTIL_NOW 1			       /* CLOCK_MONOTONIC in ns: in the past */
#define LEAVE_NS (5 * UINT64_C(1000000000))    /* shutdown: the next one starts by then */
#define CONTROL_NS (30 * UINT64_C(1000000000)) /* validity of a control page */

/* --- processes --- */

static bool has_ended(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return poll(&ended, 1, 0) > 0;
}

static struct ring_process *find_process(const struct ring_set *set, const struct ring_owner *owner)
{
	size_t i;

	for (i = 0; i < set->n_processes; i++) {
		struct ring_process *p = set->processes[i];

		/* Its PID cannot be reused before it has ended. */
		if (p->pid == owner->pid && !p->ended_us && !has_ended(p->pidfd))
			return p;
	}
	return NULL;
}

static struct ring_process *add_process(struct ring_set *set, const struct ring_process *one)
{
	struct ring_process *p = xcalloc(1, sizeof(*p));

	*p = *one;
	if (!set->processes)
		set->processes = xcalloc(RING_PROCESSES_MAX, sizeof(struct ring_process *));
	set->processes[set->n_processes++] = p;
	return p;
}

static void forget_process(struct ring_set *set, size_t i)
{
	struct ring_process *p = set->processes[i];

	set->processes[i] = set->processes[--set->n_processes];
	if (set->forget && p->of_user)
		set->forget(p->of_user);
	if (set->let_go && p->kept)
		set->let_go(p, NULL);
	closep(&p->pidfd);
	free(p);
}

/* Drop processes without rings: theirs were refused or dropped. */
static void forget_idle(struct ring_set *set)
{
	size_t i = set->n_processes;

	while (i-- > 0) {
		if (set->processes[i]->n_rings == 0)
			forget_process(set, i);
	}
}

/* --- rings --- */

/* Read the communicator and its progress from the head. */
static enum ring_refusal read_head(struct ring_entry *ring)
{
	struct err err = ERR_INIT;
	int r;

	if (!ring_memory_ready(ring->memory, RING_HEAD_SIZE))
		return RING_RESOURCES;
	r = ring_read_head(ring->memory, &ring->comm, &err);
	ring_memory_rest(ring->memory);
	return r < 0 ? RING_HEAD : RING_TAKEN;
}

/* Check which processes have ended and which communicators were finalized since the last time. */
static void see(struct ring_set *set, uint64_t now_us)
{
	size_t i;

	for (i = 0; i < set->n_processes; i++) {
		struct ring_process *p = set->processes[i];

		if (!p->ended_us && has_ended(p->pidfd))
			p->ended_us = now_us;
	}
	for (i = 0; i < set->n_rings; i++) {
		struct ring_entry *ring = &set->rings[i];

		if (!ring->finalized_us && read_head(ring) == RING_TAKEN && ring->comm.finalized)
			ring->finalized_us = now_us;
	}
}

/* Write a request with its expiry. */
static void say(struct ring_entry *ring, uint32_t mask, uint64_t until_ns)
{
	ring->mask = mask;
	if (!ring->control || (ring->in_head && !ring_memory_wants_ready(ring->control)))
		return;
	atomic_store(&ring->control->until_ns, until_ns);
	atomic_store(&ring->control->mask, mask);
}

static void unmap(struct ring_set *set, size_t i)
{
	struct ring_entry *ring = &set->rings[i];

	ring->process->n_rings--;
	ring_memory_unmap(ring->memory);
	ring_memory_unmap_control(ring->control);
	*ring = set->rings[--set->n_rings];
}

static void drop(struct ring_set *set, size_t i)
{
	struct ring_entry *ring = &set->rings[i];

	say(ring, 0, UNTIL_NOW);
	if (set->let_go)
		set->let_go(ring->process, ring);
	unmap(set, i);
}

/* Drop the process that ended longest ago. */
static bool make_place(struct ring_set *set)
{
	const struct ring_process *found = NULL;
	size_t i;

	see(set, clock_mono_us());
	for (i = 0; i < set->n_processes; i++) {
		const struct ring_process *p = set->processes[i];

		if (p->ended_us && (!found || p->ended_us < found->ended_us))
			found = p;
	}
	i = found ? set->n_rings : 0;
	while (i-- > 0) {
		if (set->rings[i].process == found)
			drop(set, i);
	}
	forget_idle(set);
	return found;
}

static enum ring_refusal meet(struct ring_set *set, const struct ring_owner *owner,
			      struct ring_process **ret)
{
	struct process_entry entry;
	struct ring_process one;
	int pidfd;

	*ret = has_ended(owner->pidfd) ? NULL : find_process(set, owner);
	if (*ret)
		return RING_TAKEN;
	/* The data belongs to this process only if it has not ended by now. */
	if (process_map_of(owner->pid, &entry) < 0 || has_ended(owner->pidfd))
		return RING_STRANGER;
	if (set->n_processes >= RING_PROCESSES_MAX && !make_place(set))
		return RING_OF_HOST;
	pidfd = fcntl(owner->pidfd, F_DUPFD_CLOEXEC, 0);
	if (pidfd < 0)
		return RING_RESOURCES;
	one = (struct ring_process){ .pid = owner->pid,
				     .uid = owner->uid,
				     .start_ticks = entry.start_ticks,
				     .pidfd = pidfd };
	one.placed = trace_rules_place(&entry.env, &one.place);
	*ret = add_process(set, &one);
	return RING_TAKEN;
}

static struct ring_held count(const struct ring_set *set, const struct ring_process *p)
{
	struct ring_held held = { .process = p->n_rings, .host = (unsigned)set->n_rings };
	size_t i;

	for (i = 0; i < set->n_rings; i++)
		held.user += set->rings[i].process->uid == p->uid;
	return held;
}

/* Since when the ring is less useful than a new one; 0: it is in use. */
static uint64_t spare_since(const struct ring_entry *ring)
{
	return ring->process->ended_us ? ring->process->ended_us : ring->finalized_us;
}

/*
 * Drop the ring that has been spare the longest; only of the same process or user if that is the
 * one with too many.
 */
static bool make_room(struct ring_set *set, const struct ring_process *p, enum ring_refusal why)
{
	size_t found = set->n_rings, i;

	see(set, clock_mono_us());
	for (i = 0; i < set->n_rings; i++) {
		const struct ring_entry *ring = &set->rings[i];
		const bool fits = why == RING_OF_HOST ||
				  (why == RING_OF_USER && ring->process->uid == p->uid) ||
				  ring->process == p;

		if (fits && spare_since(ring) &&
		    (found == set->n_rings || spare_since(ring) < spare_since(&set->rings[found])))
			found = i;
	}
	if (found == set->n_rings)
		return false;
	drop(set, found);
	return true;
}

static enum ring_refusal find_room(struct ring_set *set, const struct ring_process *p)
{
	enum ring_refusal why;

	do {
		const struct ring_held held = count(set, p);

		why = ring_rules_room(&set->limits, &held);
	} while (why != RING_TAKEN && make_room(set, p, why));
	return why;
}

static bool is_held(const struct ring_set *set, const struct ring_identity *identity)
{
	size_t i;

	for (i = 0; i < set->n_rings; i++) {
		if (set->rings[i].identity.device == identity->device &&
		    set->rings[i].identity.inode == identity->inode)
			return true;
	}
	return false;
}

static enum ring_refusal add(struct ring_set *set, struct ring_process *p, int fd,
			     int *ret_control_fd)
{
	struct ring_entry ring = { .process = p };
	enum ring_refusal why = ring_memory_map(fd, &ring.memory, &ring.identity);

	if (why == RING_TAKEN)
		why = is_held(set, &ring.identity) ? RING_TWICE : read_head(&ring);
	if (why == RING_TAKEN)
		why = find_room(set, p);
	if (why == RING_TAKEN && ret_control_fd &&
	    ring_memory_control(&ring.control, ret_control_fd) < 0)
		why = RING_RESOURCES;
	if (why == RING_TAKEN && !ret_control_fd)
		ring.in_head = ring_memory_wants(fd, &ring.control) == 0;
	if (why != RING_TAKEN) {
		ring_memory_unmap(ring.memory);
		return why;
	}
	if (set->n_rings == set->rings_alloc) {
		set->rings_alloc = MAX(2 * set->rings_alloc, (size_t)RINGS_AT_FIRST);
		set->rings = xrealloc(set->rings, set->rings_alloc, sizeof(ring));
	}
	set->rings[set->n_rings++] = ring;
	p->n_rings++;
	return RING_TAKEN;
}

/* The process first: a ring is useless without its data. */
static void keep(const struct ring_set *set, const struct ring_entry *ring, int fd)
{
	if (!ring->process->kept)
		set->keep(ring->process, NULL, -1);
	ring->process->kept = true;
	set->keep(ring->process, ring, fd);
}

enum ring_refusal ring_set_add(struct ring_set *set, const struct ring_owner *owner, int fd,
			       int *ret_control_fd)
{
	struct ring_process *p;
	enum ring_refusal why = meet(set, owner, &p);

	if (why == RING_TAKEN)
		why = add(set, p, fd, ret_control_fd);
	if (why == RING_TAKEN && set->keep)
		keep(set, &set->rings[set->n_rings - 1], fd);
	forget_idle(set);
	return why;
}

/* --- restored after a restart --- */

struct ring_process *ring_set_find(const struct ring_set *set, const struct ring_process *said)
{
	size_t i;

	for (i = 0; i < set->n_processes; i++) {
		if (set->processes[i]->pid == said->pid &&
		    set->processes[i]->start_ticks == said->start_ticks)
			return set->processes[i];
	}
	return NULL;
}

/*
 * A pidfd if the process still runs. Opened before reading the start time, so that both are of
 * the same process.
 */
static int find_running(const struct ring_process *said)
{
	CLEANUP(closep) int pidfd = (int)syscall(SYS_pidfd_open, said->pid, 0);
	struct process_entry entry;

	if (pidfd < 0 || process_map_entry(said->pid, &entry) < 0 || has_ended(pidfd) ||
	    entry.start_ticks != said->start_ticks)
		return -1;
	return TAKE_FD(pidfd);
}

enum ring_refusal ring_set_adopt(struct ring_set *set, const struct ring_process *said, int fd)
{
	struct ring_process *p = ring_set_find(set, said);
	struct ring_process one = { .pid = said->pid,
				    .uid = said->uid,
				    .start_ticks = said->start_ticks,
				    .place = said->place,
				    .placed = said->placed,
				    .kept = true };

	if (!p && set->n_processes >= RING_PROCESSES_MAX)
		return RING_OF_HOST;
	if (!p) {
		one.pidfd = find_running(said);
		one.ended_us = one.pidfd < 0 ? clock_mono_us() : 0;
		p = add_process(set, &one);
	}
	return add(set, p, fd, NULL);
}

/* --- requests --- */

void ring_set_look(struct ring_set *set, uint64_t now_us, uint64_t hold_us)
{
	size_t i = set->n_rings;

	see(set, now_us);
	while (i-- > 0) {
		const struct ring_entry *ring = &set->rings[i];
		const uint64_t ended_us = ring->process->ended_us;

		if ((ended_us && now_us >= ended_us + hold_us) ||
		    (ring->finalized_us && now_us >= ring->finalized_us + RING_SET_FINALIZED_US))
			drop(set, i);
	}
	forget_idle(set);
}

void ring_set_mask(struct ring_entry *ring, uint32_t mask, uint64_t now_ns)
{
	/*
	 * A plug-in that does not know the words in the head ignores them; one that does responds
	 * with its own mask.
	 */
	const bool kernels = (mask & RING_MASK_KERNELS) && ring->control &&
			     (!ring->in_head || ring->comm.mask);

	if (!kernels)
		ring->since_ns = 0;
	else if (ring->in_head && ring->comm.since_ns)
		ring->since_ns = MIN(ring->comm.since_ns, now_ns); /* it went on without us */
	else if (!ring->since_ns)
		ring->since_ns = now_ns;
	say(ring, mask, now_ns + CONTROL_NS);
}

size_t ring_set_read(struct ring_entry *ring, uint64_t from, uint64_t now_ns,
		     struct ring_op ret[static RING_SLOTS], struct ring_read_counts *counts)
{
	struct err err = ERR_INIT;
	size_t n = 0;

	if (!ring_memory_ready(ring->memory, RING_SIZE))
		return 0;
	if (ring_read_head(ring->memory, &ring->comm, &err) < 0)
		counts->absurd++;
	else
		n = ring_read_ops(ring->memory, from, now_ns, ret, counts);
	ring_memory_rest(ring->memory);
	return n;
}

void ring_set_leave(struct ring_set *set, uint64_t now_ns)
{
	set->let_go = NULL;
	while (set->n_rings) {
		struct ring_entry *ring = &set->rings[set->n_rings - 1];

		say(ring, ring->mask, now_ns + LEAVE_NS);
		unmap(set, set->n_rings - 1);
	}
	ring_set_release(set);
}

void ring_set_release(struct ring_set *set)
{
	while (set->n_rings)
		drop(set, set->n_rings - 1);
	forget_idle(set);
	free(TAKE(set->rings));
	free(TAKE(set->processes));
	set->rings_alloc = 0;
}
