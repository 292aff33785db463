/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum { STACK_BYTES = 256 * 1024, CPU_NUMBERS_MAX = 8192 };

struct member {
	struct team *team;
	size_t index;
	pthread_t thread;
	pid_t tid;
};

/* `lock` protects everything except `index` and `thread` of the members. */
struct team {
	pthread_mutex_t lock;
	pthread_cond_t begin, done;
	uint64_t job; /* number of the current or last job */
	bool quit;
	size_t busy; /* members still working */
	team_work *work;
	void *context;
	struct member *members;
	size_t n;
};

/* Wait for a job after `seen`; returns false if there will be none. */
static bool next_job(struct team *team, uint64_t *seen)
{
	bool go;

	(void)pthread_mutex_lock(&team->lock);
	while (team->job == *seen && !team->quit)
		(void)pthread_cond_wait(&team->begin, &team->lock);
	go = !team->quit;
	*seen = team->job;
	(void)pthread_mutex_unlock(&team->lock);
	return go;
}

static void end_job(struct team *team)
{
	(void)pthread_mutex_lock(&team->lock);
	if (--team->busy == 0)
		(void)pthread_cond_signal(&team->done);
	(void)pthread_mutex_unlock(&team->lock);
}

static void *member_main(void *argument)
{
	struct member *self = argument;
	struct team *team = self->team;
	uint64_t seen = 0;

	self->tid = gettid(); /* others read it only after end_job() */
	end_job(team);
	while (next_job(team, &seen)) {
		team->work(team->context, self->index, team->n);
		end_job(team);
	}
	return NULL;
}

static int pin(pthread_attr_t *attr, unsigned cpu)
{
	size_t size = CPU_ALLOC_SIZE(CPU_NUMBERS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPU_NUMBERS_MAX);
	int r;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	r = pthread_attr_setaffinity_np(attr, size, set);
	CPU_FREE(set);
	return -r;
}

static int start_member(struct team *team, unsigned cpu, struct err *err)
{
	struct member *member = &team->members[team->n];
	pthread_attr_t attr;
	int r;

	*member = (struct member){ .team = team, .index = team->n };
	r = -pthread_attr_init(&attr);
	if (r < 0)
		return err_errno(err, -r, "thread for CPU %u", cpu);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	r = pin(&attr, cpu);
	(void)pthread_mutex_lock(&team->lock);
	if (r == 0)
		r = -pthread_create(&member->thread, &attr, member_main, member);
	if (r == 0) {
		team->n++;
		team->busy++;
	}
	(void)pthread_mutex_unlock(&team->lock);
	(void)pthread_attr_destroy(&attr);
	return r < 0 ? err_errno(err, -r, "thread for CPU %u", cpu) : 0;
}

static void wait_all(struct team *team)
{
	(void)pthread_mutex_lock(&team->lock);
	while (team->busy)
		(void)pthread_cond_wait(&team->done, &team->lock);
	(void)pthread_mutex_unlock(&team->lock);
}

int team_new(const unsigned *cpus, size_t n, struct team **ret, struct err *err)
{
	CLEANUP(team_freep) struct team *team = NULL;
	size_t i;

	if (n == 0 || n > TEAM_THREADS_MAX)
		return err_set(err, E2BIG, "%zu threads: expected 1 to %d", n, TEAM_THREADS_MAX);
	team = xcalloc(1, sizeof(*team));
	team->members = xcalloc(n, sizeof(*team->members));
	(void)pthread_mutex_init(&team->lock, NULL);
	(void)pthread_cond_init(&team->begin, NULL);
	(void)pthread_cond_init(&team->done, NULL);
	for (i = 0; i < n; i++) {
		int r = start_member(team, cpus[i], err);

		if (r < 0)
			return r;
	}
	wait_all(team);
	*ret = TAKE(team);
	return 0;
}

void team_free(struct team *team)
{
	size_t i;

	(void)pthread_mutex_lock(&team->lock);
	team->quit = true;
	(void)pthread_cond_broadcast(&team->begin);
	(void)pthread_mutex_unlock(&team->lock);
	for (i = 0; i < team->n; i++)
		(void)pthread_join(team->members[i].thread, NULL);
	(void)pthread_cond_destroy(&team->done);
	(void)pthread_cond_destroy(&team->begin);
	(void)pthread_mutex_destroy(&team->lock);
	free(team->members);
	free(team);
}

size_t team_size(const struct team *team)
{
	return team->n;
}

pid_t team_tid(const struct team *team, size_t i)
{
	return team->members[i].tid;
}

void team_run(struct team *team, team_work *work, void *context)
{
	(void)pthread_mutex_lock(&team->lock);
	team->work = work;
	team->context = context;
	team->busy = team->n;
	team->job++;
	(void)pthread_cond_broadcast(&team->begin);
	(void)pthread_mutex_unlock(&team->lock);
	wait_all(team);
}
