/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/nccl/profiler_again.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "plugins/nccl/profiler_handover.h"

#define NS_PER_S UINT64_C(1000000000)

enum { NONE = 0, IN_USE = -1, GIVEN_UP = -2 /* while in use */ };

static uint64_t clock_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/*
 * A job may close all descriptors, including ours, and its number is then reused for another file.
 */
static bool is_ours(const struct again_offer *offer, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == offer->device && st.st_ino == offer->inode;
}

static void close_ours(const struct again_offer *offer, int fd)
{
	if (is_ours(offer, fd))
		close(fd);
}

/* If a call still uses this place's previous descriptor, the new ring cannot be offered again. */
void profiler_again_keep(struct again_offer *offer, const struct sockaddr_un *where, int ring)
{
	struct stat st = { 0 };
	int none = NONE;

	if (fstat(ring, &st) < 0 || !atomic_compare_exchange_strong(&offer->ring, &none, IN_USE)) {
		close(ring);
		return;
	}
	offer->where = *where;
	offer->device = st.st_dev;
	offer->inode = st.st_ino;
	profiler_again_taken(offer);
	atomic_store(&offer->ring, ring + 1);
}

void profiler_again_forget(struct again_offer *offer)
{
	int was = atomic_load(&offer->ring);

	/* Retries only if another call starts or ends meanwhile, at most twice a second. */
	while (was != NONE &&
	       !atomic_compare_exchange_strong(&offer->ring, &was, was > 0 ? NONE : GIVEN_UP))
		;
	if (was > 0)
		close_ours(offer, was - 1);
}

void profiler_again_taken(struct again_offer *offer)
{
	atomic_store(&offer->due_ns, 0);
	atomic_store(&offer->wait_s, 0);
}

/* Take the descriptor for exclusive use until put_back(); -1 if there is none now. */
static int take(struct again_offer *offer)
{
	int was = atomic_load(&offer->ring);

	return was > 0 && atomic_compare_exchange_strong(&offer->ring, &was, IN_USE) ? was - 1 : -1;
}

static void put_back(struct again_offer *offer, int fd)
{
	int was = IN_USE;

	if (atomic_compare_exchange_strong(&offer->ring, &was, fd + 1))
		return;
	close_ours(offer, fd); /* it was given up meanwhile */
	atomic_store(&offer->ring, NONE);
}

/* Set the time of the next attempt, and double the wait after that. */
static void wait_longer(_Atomic uint64_t *due_ns, _Atomic uint32_t *wait_s, uint64_t now_ns)
{
	const uint32_t s = MAX(atomic_load(wait_s), (uint32_t)AGAIN_WAIT_S);

	atomic_store(due_ns, now_ns + s * NS_PER_S);
	atomic_store(wait_s, MIN(2 * s, (uint32_t)AGAIN_WAIT_MAX_S));
}

/* Claim this turn for the call. */
static bool take_turn(struct again_pace *pace, uint64_t now_ns)
{
	uint64_t due_ns = atomic_load_explicit(&pace->due_ns, memory_order_relaxed);

	return now_ns >= due_ns && atomic_compare_exchange_strong(&pace->due_ns, &due_ns,
								  now_ns + AGAIN_PAUSE_S * NS_PER_S);
}

static void count(struct ring_head *head, uint64_t took_ns)
{
	atomic_fetch_add_explicit(&head->offers, 1, memory_order_relaxed);
	if (took_ns > atomic_load_explicit(&head->offer_longest_ns, memory_order_relaxed))
		atomic_store_explicit(&head->offer_longest_ns, took_ns, memory_order_relaxed);
}

void profiler_again(struct again_offer *offer, struct again_pace *pace, struct ring_head *head,
		    uint64_t now_ns)
{
	uint64_t began_ns;
	int fd;

	if (now_ns < atomic_load_explicit(&offer->due_ns, memory_order_relaxed) ||
	    !take_turn(pace, now_ns))
		return;
	fd = take(offer);
	if (fd < 0)
		return;
	began_ns = clock_ns();
	if (!is_ours(offer, fd)) {
		atomic_store(&offer->ring, NONE);
		return;
	}
	wait_longer(&offer->due_ns, &offer->wait_s, now_ns);
	if (profiler_handover_again(&offer->where, fd) < 0)
		wait_longer(&pace->due_ns, &pace->wait_s, now_ns);
	else
		atomic_store(&pace->wait_s, 0);
	put_back(offer, fd);
	count(head, clock_ns() - began_ns);
}
