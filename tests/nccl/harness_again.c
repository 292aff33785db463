/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "plugins/nccl/profiler_again.h"
#include "plugins/nccl/profiler_comm.h"
#include "tests/nccl/harness.h"

enum { THREADS = 4, SOME = 3, FD_MAX = 4096 };

#define NS_PER_S UINT64_C(1000000000)

/* The writer of the page is gone: its request expires. */
static void end_page(int i)
{
	atomic_store(&fake_assayd_page(i)->until_ns, harness_now_ns() - 1);
}

/* With version 3 of the interface the plug-in does not request proxy steps. */
static int all_of(const struct harness *h)
{
	return h->api == 3 ? MASK_RECORD : MASK_ALL;
}

/* Calls as NCCL does until the rings were handed over again `times` times. */
static void call_until(struct fake_comm *comm, int times)
{
	const uint64_t end = harness_now_ns() + (uint64_t)WAIT_LIMIT_MS * 1000000;

	while (fake_assayd_agains() < times) {
		CHECK(harness_now_ns() < end);
		(void)harness_coll(comm, "AllReduce", 1, 1);
		poll(NULL, 0, 1);
	}
}

static void taken(struct harness *h)
{
	struct fake_comm comm;
	const struct ring_head *head;
	struct ring_control *wants;
	uint64_t before;

	harness_open(h, &comm, MASK_RECORD);
	head = harness_ring();
	CHECK(harness_coll(&comm, "AllReduce", 1, 1));
	end_page(0);
	CHECK(!harness_coll(&comm, "AllReduce", 1, 1) && head->mask == 0);
	call_until(&comm, 1);
	wants = fake_assayd_wants(0);
	CHECK(wants && head->offers == 1 && head->offer_longest_ns > 0);
	before = head->next;
	CHECK(harness_coll(&comm, "AllReduce", 2, 1));
	CHECK(head->next == before + 1 && harness_slot(head, before).count == 2);
	CHECK(head->mask == MASK_RECORD && h->nccl.mask == MASK_RECORD);
	/* The old page is ignored from now on. */
	atomic_store(&fake_assayd_page(0)->mask, 0);
	atomic_store(&fake_assayd_page(0)->until_ns, harness_now_ns() + 3600 * NS_PER_S);
	CHECK(harness_coll(&comm, "AllReduce", 1, 1));
	atomic_store(&wants->mask, MASK_ALL);
	CHECK(harness_coll(&comm, "AllReduce", 1, 1) && h->nccl.mask == all_of(h));
	atomic_store(&wants->mask, 0);
	CHECK(!harness_coll(&comm, "AllReduce", 1, 1) && h->nccl.mask == PROFILER_COLL);
	atomic_store(&wants->mask, MASK_RECORD);
	CHECK(harness_coll(&comm, "AllReduce", 1, 1));
	/* And a second time, because that one expires too. */
	atomic_store(&wants->until_ns, harness_now_ns() - 1);
	call_until(&comm, 2);
	CHECK(harness_coll(&comm, "AllReduce", 1, 1) && head->offers == 2);
	fake_comm_close(&comm);
	CHECK(head->finalized && h->nccl.mask == 0);
}

/* An application that makes few calls is handed over too. */
static void idle(struct harness *h)
{
	struct fake_comm comm;
	int i;

	harness_open(h, &comm, 0);
	fake_assayd_manner(FAKE_TAKES, MASK_RECORD);
	for (i = 0; i < SOME * COMM_IDLE_CALLS; i++)
		CHECK(!harness_coll(&comm, "AllReduce", 1, 1));
	CHECK(harness_ring()->offers == 0);
	end_page(0);
	call_until(&comm, 1);
	for (i = 0; i < COMM_IDLE_CALLS; i++)
		(void)harness_coll(&comm, "AllReduce", 1, 1);
	CHECK(harness_coll(&comm, "AllReduce", 1, 1) && h->nccl.mask == MASK_RECORD);
	fake_comm_close(&comm);
}

/* An assayd that got the rings from the service manager says so before it is asked. */
static void adopted(struct harness *h)
{
	struct fake_comm comm;
	struct ring_head *head;

	harness_open(h, &comm, MASK_RECORD);
	head = (struct ring_head *)(uintptr_t)harness_ring();
	CHECK(harness_coll(&comm, "AllReduce", 1, 1));
	CHECK(mprotect(head, RING_HEAD_SIZE, PROT_READ | PROT_WRITE) == 0);
	atomic_store(&head->wants.mask, MASK_ALL);
	atomic_store(&head->wants.until_ns, harness_now_ns() + 3600 * NS_PER_S);
	CHECK(harness_coll(&comm, "AllReduce", 1, 1) && h->nccl.mask == all_of(h));
	end_page(0);
	CHECK(harness_coll(&comm, "AllReduce", 1, 1));
	CHECK(head->offers == 0 && head->next == 3);
	fake_comm_close(&comm);
}

static uint64_t count_offers(void)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < fake_assayd_rings(); i++)
		n += atomic_load(&fake_assayd_ring(i)->offers);
	return n;
}

static void call_all(struct fake_comm comms[static SOME])
{
	int i;

	for (i = 0; i < SOME; i++)
		CHECK(!harness_coll(&comms[i], "AllReduce", 1, 1));
}

/* However often NCCL calls, the plug-in tries to connect once per AGAIN_WAIT_S, then less often. */
static void nobody_there(struct harness *h)
{
	struct fake_comm comms[SOME];
	uint64_t begin;
	int i;

	for (i = 0; i < SOME; i++)
		harness_open(h, &comms[i], i ? MASK_RECORD : 0);
	fake_assayd_leave();
	begin = harness_now_ns();
	for (i = 0; i < SOME; i++)
		end_page(i);
	while (count_offers() == 0) { /* the process may have tried a second ago */
		CHECK(harness_now_ns() - begin < (uint64_t)WAIT_LIMIT_MS * 1000000);
		call_all(comms);
	}
	for (i = 0; i < 20000; i++)
		call_all(comms);
	CHECK(count_offers() <= 1 + (harness_now_ns() - begin) / (AGAIN_WAIT_S * NS_PER_S));
	fake_assayd_return();
	for (i = 0; i < SOME; i++)
		fake_comm_close(&comms[i]);
	CHECK(h->nccl.mask == 0);
}

/* All rings of a process are handed over again, one after the other. */
static void several(struct harness *h)
{
	struct fake_comm comms[SOME];
	const uint64_t begin = harness_now_ns();
	uint64_t longest_ns = 0;
	int i;

	for (i = 0; i < SOME; i++)
		harness_open(h, &comms[i], MASK_RECORD);
	for (i = 0; i < SOME; i++)
		end_page(i);
	for (i = 0; i < SOME; i++) {
		call_until(&comms[i], i + 1);
		CHECK(harness_coll(&comms[i], "AllReduce", 1, 1) &&
		      fake_assayd_ring(i)->offers == 1);
	}
	CHECK(harness_now_ns() - begin >= (SOME - 1) * AGAIN_PAUSE_S * NS_PER_S);
	for (i = 0; i < SOME; i++)
		longest_ns = MAX(longest_ns, fake_assayd_ring(i)->offer_longest_ns);
	printf("handed over again in %llu ns at most\n", (unsigned long long)longest_ns);
	for (i = 0; i < SOME; i++)
		fake_comm_close(&comms[i]);
}

/* Returns the descriptor of this process's ring; -1: none. */
static int find_ring(void)
{
	DIR *all = opendir("/proc/self/fd");
	const struct dirent *one;
	int found = -1;

	CHECK(all);
	while ((one = readdir(all))) {
		char path[64], to[128] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%.20s", one->d_name);
		if (readlink(path, to, sizeof(to) - 1) > 0 && strstr(to, "memfd:assay-ring"))
			found = (int)strtol(one->d_name, NULL, 10);
	}
	closedir(all);
	return found;
}

/* A job closes a descriptor it did not open: the number then belongs to another file. */
static void closed(struct harness *h)
{
	struct fake_comm comm;
	int fd, other, i;

	CHECK(find_ring() < 0);
	harness_open(h, &comm, MASK_RECORD);
	fd = find_ring();
	other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && other >= 0 && dup3(other, fd, O_CLOEXEC) == fd);
	close(other);
	end_page(0);
	for (i = 0; i < 1000; i++)
		CHECK(!harness_coll(&comm, "AllReduce", 1, 1));
	CHECK(harness_ring()->offers == 0 && fake_assayd_agains() == 0);
	fake_comm_close(&comm);
	CHECK(fcntl(fd, F_GETFD) >= 0);
	close(fd);
	/* An untouched descriptor is closed with the communicator. */
	harness_open(h, &comm, MASK_RECORD);
	CHECK(find_ring() >= 0);
	fake_comm_close(&comm);
	CHECK(find_ring() < 0);
}

struct caller {
	struct fake_comm comm; /* each has its own sequence numbers */
	_Atomic bool *over;
	pthread_t thread;
};

static void *call(void *arg)
{
	struct caller *c = arg;

	while (!atomic_load(c->over))
		(void)harness_coll(&c->comm, "AllReduce", 1, 1);
	return NULL;
}

/* Threads keep calling while the request expires and returns, and the communicator is destroyed. */
static void beside(struct harness *h)
{
	struct caller callers[THREADS];
	struct fake_comm comm;
	_Atomic bool over = false;
	int i;

	harness_open(h, &comm, MASK_RECORD);
	for (i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){ .comm = comm, .over = &over };
		CHECK(pthread_create(&callers[i].thread, NULL, call, &callers[i]) == 0);
	}
	end_page(0);
	for (i = 1; i <= SOME; i++) {
		const uint64_t end = harness_now_ns() + (uint64_t)WAIT_LIMIT_MS * 1000000;

		while (fake_assayd_agains() < i) {
			CHECK(harness_now_ns() < end);
			poll(NULL, 0, 1);
		}
		atomic_store(&fake_assayd_wants(0)->until_ns, harness_now_ns() - 1);
	}
	fake_comm_close(&comm);
	atomic_store(&over, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(callers[i].thread, NULL);
	CHECK(harness_ring()->finalized && find_ring() < 0);
}

const struct scenario harness_again[] = {
	{ "again", taken },	      { "again-idle", idle },
	{ "again-adopted", adopted }, { "again-nobody", nobody_there },
	{ "again-several", several }, { "again-closed", closed },
	{ "again-beside", beside },   { NULL, NULL },
};
