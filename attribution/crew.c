/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct crew {
	void (*task)(void *context, size_t i, size_t thread);
	void *context;
	size_t n;
	atomic_size_t next;
};

struct member {
	struct crew *crew;
	size_t thread;
	pthread_t id;
};

size_t crew_threads(void)
{
	cpu_set_t cpus;
	int n = 1;

	CPU_ZERO(&cpus);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		n = CPU_COUNT(&cpus);
	return (size_t)MIN(MAX(n, 1), CREW_THREADS_MAX);
}

static void *work(void *argument)
{
	const struct member *member = argument;
	struct crew *crew = member->crew;
	size_t i;

	while ((i = atomic_fetch_add(&crew->next, 1)) < crew->n)
		crew->task(crew->context, i, member->thread);
	return NULL;
}

void crew_run(size_t n_threads, size_t n, void (*task)(void *context, size_t i, size_t thread),
	      void *context)
{
	struct crew crew = { .task = task, .context = context, .n = n };
	struct member members[CREW_THREADS_MAX];
	size_t i, started = 1;

	n_threads = MIN(n_threads, (size_t)CREW_THREADS_MAX);
	n_threads = MIN(n_threads, n);
	members[0] = (struct member){ .crew = &crew };
	for (i = 1; i < n_threads; i++) {
		members[i] = (struct member){ .crew = &crew, .thread = i };
		if (pthread_create(&members[i].id, NULL, work, &members[i]) != 0)
			break;
		started++;
	}
	(void)work(&members[0]);
	for (i = 1; i < started; i++)
		(void)pthread_join(members[i].id, NULL);
}
