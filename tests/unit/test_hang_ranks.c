/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are real processes; the test controls the time. */
#include "agents/assayd/hang_ranks.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define JOB "research/llm-7"
#define S USEC_PER_SEC

static void end(pid_t pid)
{
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static struct process_entry entry_of(pid_t pid, const char *job, const char *run, const char *rank)
{
	struct process_entry entry = { .pod = "" };

	CHECK_EQ(process_map_entry(pid, &entry), 0);
	memset(&entry.env, 0, sizeof(entry.env));
	(void)snprintf(entry.env.values[PROCESS_ENV_JOB], PROCESS_ENV_VALUE_SIZE, "%s", job);
	(void)snprintf(entry.env.values[PROCESS_ENV_RUN], PROCESS_ENV_VALUE_SIZE, "%s", run);
	(void)snprintf(entry.env.values[PROCESS_ENV_RANK], PROCESS_ENV_VALUE_SIZE, "%s", rank);
	(void)snprintf(entry.env.values[PROCESS_ENV_WORLD], PROCESS_ENV_VALUE_SIZE, "4");
	return entry;
}

/* Until a look at the real time says so: a process is stopped a moment after the signal. */
static void wait_for(pid_t pid, char state)
{
	const uint64_t deadline_us = clock_mono_us() + USEC_PER_MIN;
	struct process_entry entry = entry_of(pid, JOB, "1", "0");
	const int fd = hang_sight_open(pid, entry.start_ticks);
	struct hang_sight sight;

	do {
		hang_sight_look(fd, 1, &sight);
		(void)poll(NULL, 0, 1);
	} while (sight.noted[0].state != state && clock_mono_us() < deadline_us);
	CHECK_EQ(sight.noted[0].state, state);
	(void)close(fd);
}

/* One that has come to its pause: a busy host may let it wait for its first turn. */
static pid_t start(void)
{
	const pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	wait_for(pid, 'S');
	return pid;
}

static uint8_t doing(const struct hang_ranks *r, int64_t rank)
{
	size_t i;

	for (i = 0; i < r->n; i++) {
		if (r->all[i].rank == rank)
			return r->all[i].doing.process;
	}
	return HANG_PROCESSES;
}

static void one_that_is_stopped_stands_after_a_minute_and_no_longer_when_it_goes_on(void)
{
	CLEANUP(hang_ranks_release) struct hang_ranks r = { .all = NULL };
	const pid_t pid = start();
	const struct process_entry entry = entry_of(pid, JOB, "2", "3");

	CHECK_EQ(kill(pid, SIGSTOP), 0);
	wait_for(pid, 'T');
	hang_ranks_set(&r, &entry, 1, 1 * S);
	CHECK_EQ(r.n, 1);
	CHECK(hang_ranks_unsure(&r, JOB));
	CHECK(!hang_ranks_unsure(&r, "other"));
	hang_ranks_look(&r, 1 * S);
	CHECK_EQ(doing(&r, 3), HANG_PROCESS_STOPPED);
	CHECK(!hang_ranks_unsure(&r, JOB));
	CHECK(!hang_ranks_stand(&r, JOB, 61 * S));
	hang_ranks_look(&r, 61 * S);
	CHECK(hang_ranks_stand(&r, JOB, 61 * S + 1));
	CHECK(!hang_ranks_stand(&r, "other", 61 * S + 1));
	CHECK_EQ(kill(pid, SIGCONT), 0);
	wait_for(pid, 'S');
	hang_ranks_look(&r, 70 * S);
	hang_ranks_look(&r, 72 * S);
	CHECK_EQ(doing(&r, 3), HANG_PROCESS_SLEEPING);
	CHECK(!hang_ranks_stand(&r, JOB, 1000 * S));
	/* A look that comes too soon is none. */
	CHECK_EQ(r.all[0].after.at_us, 72 * S);
	hang_ranks_look(&r, 72 * S + 1);
	CHECK_EQ(r.all[0].after.at_us, 72 * S);
	end(pid);
}

static void one_that_has_ended_is_remembered_and_stands_while_another_lives(void)
{
	CLEANUP(hang_ranks_release) struct hang_ranks r = { .all = NULL };
	const pid_t first = start(), second = start();
	const struct process_entry entries[] = { entry_of(first, JOB, "1", "0"),
						 entry_of(second, JOB, "1", "1") };
	CLEANUP(json_freep) json_t *told = NULL;
	CLEANUP(freep) char *line = NULL;
	int64_t world = 0;

	hang_ranks_set(&r, entries, 2, 1 * S);
	hang_ranks_look(&r, 1 * S);
	hang_ranks_look(&r, 3 * S);
	CHECK_EQ(doing(&r, 0), HANG_PROCESS_SLEEPING);
	end(first);
	hang_ranks_look(&r, 10 * S);
	CHECK_EQ(doing(&r, 0), HANG_PROCESS_GONE);
	CHECK(!hang_ranks_stand(&r, JOB, 70 * S));
	CHECK(hang_ranks_stand(&r, JOB, 70 * S + 1));
	told = hang_ranks_tell(&r, JOB, 1, 30 * S, &world);
	CHECK_EQ(world, 4);
	CHECK_EQ(json_array_size(told), 2);
	line = json_line(json_array_get(told, 0));
	CHECK_HAS(line, "\"process\":{\"state\":\"gone\",\"for_s\":20.0");
	/* Nobody is left who waits for it. */
	end(second);
	hang_ranks_look(&r, 80 * S);
	CHECK(!hang_ranks_stand(&r, JOB, 200 * S));
	CHECK_EQ(hang_ranks_run(&r, JOB), 1);
	hang_ranks_look(&r, 10 * S + HANG_RANKS_FORGET_US);
	CHECK_EQ(r.n, 1);
	hang_ranks_look(&r, 80 * S + HANG_RANKS_FORGET_US);
	CHECK_EQ(r.n, 0);
	CHECK_EQ(hang_ranks_run(&r, JOB), -1);
}

static void a_run_that_is_started_again_takes_the_place_of_the_one_before(void)
{
	CLEANUP(hang_ranks_release) struct hang_ranks r = { .all = NULL };
	const pid_t first = start();
	struct process_entry entry = entry_of(first, JOB, "1", "0");
	CLEANUP(json_freep) json_t *told = NULL;
	int64_t world;
	pid_t second;

	hang_ranks_set(&r, &entry, 1, 1 * S);
	end(first);
	hang_ranks_look(&r, 2 * S);
	CHECK_EQ(hang_ranks_run(&r, JOB), 1);
	second = start();
	entry = entry_of(second, JOB, "2", "0");
	hang_ranks_set(&r, &entry, 1, 3 * S);
	CHECK_EQ(r.n, 1);
	CHECK_EQ(hang_ranks_run(&r, JOB), 2);
	told = hang_ranks_tell(&r, JOB, 1, 4 * S, &world);
	CHECK_EQ(json_array_size(told), 0);
	end(second);
}

static void who_was_gone_before_anybody_looked_is_told_for_its_time(void)
{
	const pid_t pid = start();
	const struct process_entry lives = entry_of(pid, JOB, "1", "0");
	struct hang_here gone = { .job = JOB,
				  .run = 1,
				  .rank = 1,
				  .world = 4,
				  .pid = 4194304, /* no process has it */
				  .start_ticks = 7,
				  .since_us = 100 * S };
	CLEANUP(hang_ranks_release) struct hang_ranks r = { .all = NULL };
	CLEANUP(json_freep) json_t *told = NULL;
	int64_t world = 0;

	hang_ranks_set(&r, &lives, 1, 100 * S);
	hang_ranks_add_gone(&r, &gone, 100 * S);
	hang_ranks_add_gone(&r, &gone, 101 * S);
	CHECK_EQ(r.n, 2);
	CHECK_EQ(doing(&r, 1), HANG_PROCESS_GONE);
	hang_ranks_look(&r, 100 * S);
	CHECK_EQ(doing(&r, 1), HANG_PROCESS_GONE);
	CHECK(!hang_ranks_stand(&r, JOB, 130 * S));
	CHECK(hang_ranks_stand(&r, JOB, 161 * S));
	told = hang_ranks_tell(&r, JOB, 1, 130 * S, &world);
	CHECK(json_array_size(told) == 2 && world == 4);
	/* Not known for longer than others that have ended, nor after another took its place. */
	hang_ranks_set(&r, &lives, 1, 100 * S + HANG_RANKS_FORGET_US);
	hang_ranks_add_gone(&r, &gone, 100 * S + HANG_RANKS_FORGET_US);
	CHECK_EQ(r.n, 1);
	gone.rank = 0;
	hang_ranks_add_gone(&r, &gone, 101 * S);
	CHECK_EQ(r.n, 1);
	end(pid);
}

static void who_does_not_say_a_job_is_nobody_and_there_is_a_limit(void)
{
	CLEANUP(hang_ranks_release) struct hang_ranks r = { .all = NULL };
	const pid_t pid = start();
	struct process_entry entry = entry_of(pid, "", "1", "0");
	size_t i;

	hang_ranks_set(&r, &entry, 1, 1);
	CHECK_EQ(r.n, 0);
	entry = entry_of(pid, JOB, "1", "0");
	entry.start_ticks++; /* another process with this number */
	hang_ranks_set(&r, &entry, 1, 1);
	CHECK_EQ(r.n, 0);
	entry = entry_of(pid, JOB, "1", "0");
	for (i = 0; i < 3; i++)
		hang_ranks_set(&r, &entry, 1, 1);
	CHECK_EQ(r.n, 1);
	end(pid);
}

static void who_loads_another_profiler_is_said(void)
{
	static const struct {
		const char *job, *rank, *profiler;
	} ranks[] = {
		{ JOB, "0", "assay" },	     { JOB, "1", "inspector" },
		{ JOB, "2", "inspector" },   { JOB, "3", "libassay-nccl-profiler.so" },
		{ JOB, "4", "none" },	     { JOB, "5", "" },
		{ "r/other", "6", "gpusd" },
	};
	CLEANUP(hang_ranks_release) struct hang_ranks r = { .all = NULL };
	CLEANUP(json_freep) json_t *missing = json_array();
	struct process_entry entries[ARRAY_SIZE(ranks)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ranks); i++) {
		entries[i] = entry_of(start(), ranks[i].job, "1", ranks[i].rank);
		(void)snprintf(entries[i].env.values[PROCESS_ENV_PROFILER], PROCESS_ENV_VALUE_SIZE,
			       "%s", ranks[i].profiler);
	}
	hang_ranks_set(&r, entries, ARRAY_SIZE(entries), 1);
	hang_ranks_tell_profilers(&r, JOB, 1, missing);
	CHECK_EQ(json_array_size(missing), 2);
	CHECK_STR(json_string_value(json_array_get(missing, 0)),
		  "ring of rank 1 (and of 1 more): NCCL was told to load the profiler 'inspector', "
		  "and loads no other");
	CHECK_HAS(json_string_value(json_array_get(missing, 1)), "ring of rank 4 (and of 0 more)");
	for (i = 0; i < ARRAY_SIZE(ranks); i++)
		end(entries[i].pid);
}

static const struct test tests[] = {
	TEST(one_that_is_stopped_stands_after_a_minute_and_no_longer_when_it_goes_on),
	TEST(one_that_has_ended_is_remembered_and_stands_while_another_lives),
	TEST(a_run_that_is_started_again_takes_the_place_of_the_one_before),
	TEST(who_was_gone_before_anybody_looked_is_told_for_its_time),
	TEST(who_does_not_say_a_job_is_nobody_and_there_is_a_limit),
	TEST(who_loads_another_profiler_is_said),
};

TEST_SUITE(tests);
