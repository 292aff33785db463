/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_set.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/assayd/process_map.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

enum { RINGS_AT_FIRST = 16 };

#define CONTROL_NS (30 * UINT64_C(1000000000)) /* what a control page says holds for so long */

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

		/* Its number is its own as long as it has not ended. */
		if (p->pid == owner->pid && !p->ended_us && !has_ended(p->pidfd))
			return p;
	}
	return NULL;
}

static void forget_process(struct ring_set *set, size_t i)
{
	struct ring_process *p = set->processes[i];

	set->processes[i] = set->processes[--set->n_processes];
	if (set->forget && p->of_user)
		set->forget(p->of_user);
	closep(&p->pidfd);
	free(p);
}

/* Those without a ring: theirs was refused, or has been let go. */
static void forget_idle(struct ring_set *set)
{
	size_t i = set->n_processes;

	while (i-- > 0) {
		if (set->processes[i]->n_rings == 0)
			forget_process(set, i);
	}
}

/* --- rings --- */

/* Who it is of, and how far it is, as it says now. */
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

/* Which processes have ended, and which communicators were given up, since it was seen last. */
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

static void drop(struct ring_set *set, size_t i)
{
	struct ring_entry *ring = &set->rings[i];

	ring->process->n_rings--;
	atomic_store(&ring->control->mask, 0);
	ring_memory_unmap(ring->memory);
	ring_memory_unmap_control(ring->control);
	*ring = set->rings[--set->n_rings];
}

/* Let go of the process that ended longest ago. */
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
	struct ring_process *p;
	int pidfd;

	*ret = has_ended(owner->pidfd) ? NULL : find_process(set, owner);
	if (*ret)
		return RING_TAKEN;
	/* What was read is of who asks, if he has not ended by then. */
	if (process_map_of(owner->pid, &entry) < 0 || has_ended(owner->pidfd))
		return RING_STRANGER;
	if (set->n_processes >= RING_PROCESSES_MAX && !make_place(set))
		return RING_OF_HOST;
	pidfd = fcntl(owner->pidfd, F_DUPFD_CLOEXEC, 0);
	if (pidfd < 0)
		return RING_RESOURCES;
	p = xcalloc(1, sizeof(*p));
	p->pid = owner->pid;
	p->uid = owner->uid;
	p->pidfd = pidfd;
	p->placed = trace_rules_place(&entry.env, &p->place);
	if (!set->processes)
		set->processes = xcalloc(RING_PROCESSES_MAX, sizeof(struct ring_process *));
	set->processes[set->n_processes++] = p;
	*ret = p;
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

/* Since when nobody needs it as much as a new one; 0: it is of use. */
static uint64_t spare_since(const struct ring_entry *ring)
{
	return ring->process->ended_us ? ring->process->ended_us : ring->finalized_us;
}

/* Let go of the ring that is spare for the longest, of those of the same process or user, as it is
 * them who have too many. */
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
	if (why == RING_TAKEN && ring_memory_control(&ring.control, ret_control_fd) < 0)
		why = RING_RESOURCES;
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

enum ring_refusal ring_set_add(struct ring_set *set, const struct ring_owner *owner, int fd,
			       int *ret_control_fd)
{
	struct ring_process *p;
	enum ring_refusal why = meet(set, owner, &p);

	if (why == RING_TAKEN)
		why = add(set, p, fd, ret_control_fd);
	forget_idle(set);
	return why;
}

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
	const uint32_t was = atomic_load(&ring->control->mask);

	atomic_store(&ring->control->until_ns, now_ns + CONTROL_NS);
	if (was == mask)
		return;
	if (!(mask & RING_MASK_KERNELS))
		ring->since_ns = 0;
	else if (!(was & RING_MASK_KERNELS))
		ring->since_ns = now_ns;
	atomic_store(&ring->control->mask, mask);
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

void ring_set_release(struct ring_set *set)
{
	while (set->n_rings)
		drop(set, set->n_rings - 1);
	forget_idle(set);
	free(TAKE(set->rings));
	free(TAKE(set->processes));
	set->rings_alloc = 0;
}
