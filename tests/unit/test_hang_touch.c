/* SPDX-License-Identifier: Apache-2.0 */
/* When NCCL's RAS may be queried: a socket listens in its place, and counts connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/assayd_config.h"
#include "agents/assayd/hang_ranks.h"
#include "agents/assayd/hang_touch.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "tests/unit/test.h"

enum { RANKS = 3, ADDRESS_SIZE = 32, OTHER_RUN = 7 };

#define PATIENCE_US (60 * USEC_PER_SEC)
#define LISTED "2.29.7"

/* A job of which all ranks here have stood still for long, and began long ago; */
struct job {
	struct hang_here all[RANKS];
	struct hang_ranks ranks;
	int ras; /* enum assayd_config_switch */
	const char *nccl;
};

/* ... but for this. */
static void as_it_is(struct job *job)
{
	(void)job;
}

static void switched_off(struct job *job)
{
	job->ras = ASSAYD_OFF;
}

static void one_works(struct job *job)
{
	job->all[1].doing.process = HANG_PROCESS_RUNNING;
}

static void one_stands_only_now(struct job *job)
{
	job->all[1].since_us = clock_mono_us();
}

static void one_is_gone(struct job *job)
{
	job->all[1].proc_fd = -1;
}

static void one_is_held(struct job *job)
{
	job->all[1].doing.process = HANG_PROCESS_TRACED;
}

static void one_has_just_begun(struct job *job)
{
	const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	job->all[1].start_ticks = clock_boot_us() * hz / USEC_PER_SEC;
}

static void nobody_is_of_the_run(struct job *job)
{
	size_t i;

	for (i = 0; i < RANKS; i++)
		job->all[i].run = OTHER_RUN;
}

static void its_nccl_is_not_known(struct job *job)
{
	job->nccl = NULL;
}

static void its_nccl_may_not_be_asked(struct job *job)
{
	job->nccl = "2.27.3";
}

static void another_job_works(struct job *job)
{
	(void)snprintf(job->all[1].job, sizeof(job->all[1].job), "r/other");
	one_works(job);
}

static const struct {
	const char *name;
	void (*change)(struct job *job);
	bool asked;
} cases[] = {
	{ "as it is", as_it_is, true },
	{ "another job works", another_job_works, true },
	{ "switched off", switched_off, false },
	{ "one works", one_works, false },
	{ "one stands only now", one_stands_only_now, false },
	{ "one is gone", one_is_gone, false },
	{ "one is held", one_is_held, false },
	{ "one has just begun", one_has_just_begun, false },
	{ "nobody is of the run", nobody_is_of_the_run, false },
	{ "its NCCL is not known", its_nccl_is_not_known, false },
	{ "its NCCL may not be asked", its_nccl_may_not_be_asked, false },
};

static int listen_here(char address[static ADDRESS_SIZE])
{
	struct sockaddr_in here = { .sin_family = AF_INET };
	socklen_t length = sizeof(here);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(fd, (struct sockaddr *)&here, sizeof(here)), 0);
	CHECK_EQ(listen(fd, 1), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&here, &length), 0);
	(void)snprintf(address, ADDRESS_SIZE, "127.0.0.1:%u", ntohs(here.sin_port));
	return fd;
}

static void make_job(struct job *job)
{
	size_t i;

	*job = (struct job){ .ranks = { job->all, RANKS }, .ras = ASSAYD_ON, .nccl = LISTED };
	for (i = 0; i < RANKS; i++) {
		struct hang_here *h = &job->all[i];

		(void)snprintf(h->job, sizeof(h->job), "r/llm");
		h->run = 1;
		h->rank = (int64_t)i;
		h->pid = getpid();
		h->proc_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
		h->doing.process = HANG_PROCESS_FUTEX;
	}
}

static void count_done(void *context)
{
	++*(unsigned *)context;
}

/* Look at the job; has somebody come to ask? He is told nothing. */
static bool is_asked(struct job *job)
{
	const uint64_t deadline_us = clock_mono_us() + PATIENCE_US;
	CLEANUP(freep) struct assayd_config *config = xcalloc(1, sizeof(*config));
	char address[ADDRESS_SIZE];
	int door = listen_here(address), guest;
	struct hang_touch *t;
	sd_event *loop = NULL;
	unsigned done = 0;
	bool asked = false;

	config->hang_ras = job->ras;
	config->hang_ras_address = address;
	CHECK(sd_event_new(&loop) >= 0);
	t = hang_touch_new(loop, config, count_done, &done);
	hang_touch_start(t, &job->ranks, "r/llm", 1, job->nccl);
	while (!done && clock_mono_us() < deadline_us) {
		(void)sd_event_run(loop, USEC_PER_MSEC);
		guest = accept4(door, NULL, NULL, SOCK_CLOEXEC);
		asked |= guest >= 0;
		if (guest >= 0)
			(void)close(guest);
	}
	guest = accept4(door, NULL, NULL, SOCK_CLOEXEC);
	asked |= guest >= 0;
	if (guest >= 0)
		(void)close(guest);
	CHECK_EQ(done, 1);
	hang_touch_free(t);
	(void)sd_event_unref(loop);
	(void)close(door);
	return asked;
}

static void ras_is_asked_only_of_a_job_that_stands_still_past_its_start(void)
{
	struct job job;
	size_t i, k;

	if (clock_mono_us() < 2 * HANG_TOUCH_AGE_US) {
		test_skip("nothing here has run for long enough: the machine has just started");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bool asked;

		make_job(&job);
		cases[i].change(&job);
		asked = is_asked(&job);
		if (asked != cases[i].asked)
			printf("  %s: %s\n", cases[i].name, asked ? "asked" : "not asked");
		CHECK_EQ(asked, cases[i].asked);
		for (k = 0; k < RANKS; k++)
			if (job.all[k].proc_fd >= 0)
				(void)close(job.all[k].proc_fd);
	}
}

static const struct test tests[] = {
	TEST(ras_is_asked_only_of_a_job_that_stands_still_past_its_start),
};

TEST_SUITE(tests);
