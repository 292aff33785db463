/* SPDX-License-Identifier: Apache-2.0 */
/* The state kept across a restart, and how it is restored. */
#include "agents/assayd/ring_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agents/assayd/process_map.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/sys/file.h"
#include "tests/unit/ring_forge.h"
#include "tests/unit/test.h"

enum {
	RING_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
	ALL_SEALS = RING_SEALS | F_SEAL_WRITE,
	MASK = 70,
	NO_PID = 4194304, /* PID_MAX_LIMIT of Linux: no process has it */
};

#define HOUR_NS (UINT64_C(3600) * 1000000000U)

static const struct ring_limits limits = { .process = 4, .user = 4, .bytes = 64 << 20 };

static struct ring_process a_process(void)
{
	struct ring_process p = { .pid = NO_PID,
				  .uid = 1000,
				  .pidfd = -1,
				  .start_ticks = 123456789,
				  .placed = TRACE_TAKEN,
				  .place = { .run = 3, .rank = 17, .dp = 8, .pp = 4, .tp = 2 } };

	memcpy(p.place.job, "team/\xc3\xa9t\xc3\xa9", sizeof("team/\xc3\xa9t\xc3\xa9"));
	return p;
}

static int sealed(const char *text, size_t n, int seals)
{
	const int fd = memfd_create("rank", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0 && file_write_all(fd, text, n) == 0);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static int a_ring(struct forge **ret)
{
	const int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0 && ftruncate(fd, RING_SIZE) == 0);
	*ret = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(*ret != MAP_FAILED);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, RING_SEALS), 0);
	forge_init(*ret);
	return fd;
}

static void what_is_known_of_a_process_is_read_as_it_was_written(void)
{
	static const enum trace_refusal placed[] = { TRACE_TAKEN, TRACE_JOB, TRACE_SHAPE };
	struct ring_process p = a_process(), back = { .pid = 0 };
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(placed); i++) {
		CLEANUP(closep) int fd = -1;

		p.placed = placed[i];
		fd = ring_store_write_rank(&p);
		CHECK_EQ(ring_store_read_rank(fd, &back, &err), 0);
		CHECK(back.pid == p.pid && back.uid == p.uid && back.start_ticks == p.start_ticks);
		CHECK(back.placed == p.placed && back.pidfd == -1);
		CHECK_STR(back.place.job, p.place.job);
		CHECK(back.place.run == 3 && back.place.rank == 17);
		CHECK(back.place.dp == 8 && back.place.pp == 4 && back.place.tp == 2);
		CHECK(ftruncate(fd, 1) < 0 && pwrite(fd, "x", 1, 0) < 0);
	}
}

static void what_was_not_written_so_is_refused(void)
{
	static const char good[] = "{\"v\":1,\"pid\":7,\"uid\":0,\"start\":1,\"placed\":\"all\","
				   "\"job\":\"a\",\"run\":1,\"rank\":0,\"dp\":1,\"pp\":1,\"tp\":1}";
	static const struct {
		const char *text;
		int seals;
		const char *why; /* NULL: it is taken */
	} rows[] = {
		{ good, ALL_SEALS, NULL },
		{ good, RING_SEALS, "not sealed" },
		{ good, F_SEAL_WRITE | F_SEAL_SEAL, "not sealed" },
		{ "", ALL_SEALS, "0 bytes" },
		{ "[]", ALL_SEALS, "object" },
		{ "{}", ALL_SEALS, "missing" },
		{ "{\"v\":2,\"pid\":7,\"uid\":0,\"start\":1,\"placed\":\"all\",\"job\":\"a\","
		  "\"run\":1,"
		  "\"rank\":0,\"dp\":1,\"pp\":1,\"tp\":1}",
		  ALL_SEALS, "version 2" },
		{ "{\"v\":1,\"pid\":0,\"uid\":0,\"start\":1,\"placed\":\"all\",\"job\":\"a\","
		  "\"run\":1,"
		  "\"rank\":0,\"dp\":1,\"pp\":1,\"tp\":1}",
		  ALL_SEALS, "pid" },
		{ "{\"v\":1,\"pid\":7,\"uid\":0,\"start\":1,\"placed\":\"all\",\"job\":null,"
		  "\"run\":1,"
		  "\"rank\":0,\"dp\":1,\"pp\":1,\"tp\":1}",
		  ALL_SEALS, "job" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(closep)
		int fd = sealed(rows[i].text, strlen(rows[i].text), rows[i].seals);
		struct ring_process back = { .pid = 0 };
		struct err err = ERR_INIT;
		const int r = ring_store_read_rank(fd, &back, &err);

		CHECK_EQ(r, rows[i].why ? -EPROTO : 0);
		CHECK_EQ(back.pid, rows[i].why ? 0 : 7);
		if (rows[i].why)
			CHECK_HAS(err.msg, rows[i].why);
	}
}

static void who_has_ended_is_known_to_have_and_a_number_alone_is_nobody(void)
{
	struct ring_process gone = a_process(), other = a_process(), self = a_process();
	struct ring_set set = { .limits = limits };
	struct process_entry entry;
	struct forge *rings[3];
	int fds[3], i;

	for (i = 0; i < 3; i++)
		fds[i] = a_ring(&rings[i]);
	CHECK_EQ(process_map_entry(getpid(), &entry), 0);
	self.pid = other.pid = getpid();
	self.start_ticks = entry.start_ticks;
	other.start_ticks = entry.start_ticks - 1; /* its number is that of a later process */
	CHECK_EQ(ring_set_adopt(&set, &gone, fds[0]), RING_TAKEN);
	CHECK_EQ(ring_set_adopt(&set, &other, fds[1]), RING_TAKEN);
	CHECK_EQ(ring_set_adopt(&set, &self, fds[2]), RING_TAKEN);
	CHECK_EQ(ring_set_adopt(&set, &self, fds[2]), RING_TWICE);
	CHECK_EQ(set.n_processes, 3);
	CHECK(set.processes[0]->ended_us && set.processes[0]->pidfd < 0);
	CHECK(set.processes[1]->ended_us && set.processes[1]->pidfd < 0);
	CHECK(!set.processes[2]->ended_us && set.processes[2]->pidfd >= 0);
	/* After its time what is left of those who ended goes. */
	ring_set_look(&set, clock_mono_us() + USEC_PER_HOUR, USEC_PER_HOUR / 2);
	CHECK(set.n_rings == 1 && set.n_processes == 1 && set.processes[0]->pid == getpid());
	ring_set_release(&set);
	for (i = 0; i < 3; i++) {
		(void)munmap(rings[i], RING_SIZE);
		(void)close(fds[i]);
	}
}

static void what_is_wanted_is_said_in_the_head(void)
{
	const struct ring_process gone = a_process();
	const uint64_t now_ns = clock_mono_us() * 1000;
	struct ring_set set = { .limits = limits };
	struct ring_head *head;
	struct forge *f;
	CLEANUP(closep) int fd = a_ring(&f);

	head = forge_head(f);
	CHECK_EQ(ring_set_adopt(&set, &gone, fd), RING_TAKEN);
	CHECK(set.rings[0].in_head && head->wants.magic == RING_MAGIC);
	CHECK_EQ(head->wants.until_ns, 0);
	/* A plug-in that records nothing says so, and nothing is taken for recorded. */
	atomic_store(&head->mask, 0);
	ring_set_look(&set, clock_mono_us(), USEC_PER_HOUR);
	ring_set_mask(&set.rings[0], MASK, now_ns);
	CHECK_EQ(head->wants.mask, MASK);
	CHECK(head->wants.until_ns > now_ns);
	CHECK_EQ(set.rings[0].since_ns, 0);
	/* One that went on all the time says since when. */
	atomic_store(&head->mask, MASK);
	atomic_store(&head->since_ns, now_ns - 5);
	ring_set_look(&set, clock_mono_us(), USEC_PER_HOUR);
	ring_set_mask(&set.rings[0], MASK, now_ns);
	CHECK_EQ(set.rings[0].since_ns, now_ns - 5);
	atomic_store(&head->since_ns, now_ns + HOUR_NS); /* or lies */
	ring_set_look(&set, clock_mono_us(), USEC_PER_HOUR);
	ring_set_mask(&set.rings[0], MASK, now_ns);
	CHECK_EQ(set.rings[0].since_ns, now_ns);
	/* What the job writes there is not read. */
	atomic_store(&head->wants.mask, 1);
	ring_set_mask(&set.rings[0], MASK, now_ns);
	CHECK_EQ(head->wants.mask, MASK);
	/* Who ends leaves it as it is, but not for long; who lets go takes it back. */
	ring_set_leave(&set, now_ns);
	CHECK(head->wants.mask == MASK && head->wants.until_ns > now_ns);
	CHECK_EQ(ring_set_adopt(&set, &gone, fd), RING_TAKEN);
	ring_set_release(&set);
	CHECK(head->wants.mask == 0 && head->wants.until_ns < now_ns);
	(void)munmap(f, RING_SIZE);
}

/* A job may have sealed its ring against all writing, or passed a descriptor for reading. */
static void what_cannot_be_written_is_read_all_the_same(void)
{
	const struct ring_process gone = a_process();
	struct ring_set set = { .limits = limits };
	struct forge *f;
	CLEANUP(closep) int fd = a_ring(&f);
	CLEANUP(closep) int again = -1;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(again >= 0);
	CHECK_EQ(ring_set_adopt(&set, &gone, again), RING_TAKEN);
	CHECK(!set.rings[0].in_head && !set.rings[0].control);
	ring_set_mask(&set.rings[0], MASK, clock_mono_us() * 1000);
	CHECK_EQ(set.rings[0].since_ns, 0);
	CHECK_EQ(forge_head(f)->wants.until_ns, 0);
	ring_set_release(&set);
	(void)munmap(f, RING_SIZE);
}

static const struct test tests[] = {
	TEST(what_is_known_of_a_process_is_read_as_it_was_written),
	TEST(what_was_not_written_so_is_refused),
	TEST(who_has_ended_is_known_to_have_and_a_number_alone_is_nobody),
	TEST(what_is_wanted_is_said_in_the_head),
	TEST(what_cannot_be_written_is_read_all_the_same),
};

TEST_SUITE(tests);
