/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the fakes in the environment, their clock, and what they print at exit. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fakes/gpu_fake.h"

_Atomic int fake_alive; /* streams, events, allocations and contexts */

long fake_setting(const char *name, long otherwise)
{
	const char *text = getenv("ASSAY_FAKE_GPUS"), *at;
	size_t len = strlen(name);

	for (at = text ? strstr(text, name) : NULL; at; at = strstr(at + 1, name)) {
		if ((at == text || at[-1] == ' ') && at[len] == '=')
			return strtol(at + len + 1, NULL, 10);
	}
	return otherwise;
}

bool fake_is(const char *fault, unsigned gpu)
{
	return fake_setting(fault, -1) == (long)gpu;
}

double fake_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void fake_launch(unsigned gpu)
{
	struct timespec delay = { .tv_nsec = fake_setting("delay", 0) * 1000 };

	if (delay.tv_nsec)
		(void)ppoll(NULL, 0, &delay, NULL);
	fake_launch_cost(gpu);
}

static void tell(const char *line, int n)
{
	if (n > 0)
		(void)!write(STDERR_FILENO, line, (size_t)n);
}

/* Destroys the remaining contexts, as the library does at exit(). */
static void end_contexts(void)
{
	unsigned gpu;

	for (gpu = 0; gpu < FAKE_GPUS_MAX; gpu++) {
		if (fake_gpu_has_context(gpu))
			fake_take("closems");
	}
}

static void __attribute__((destructor)) tell_end(void)
{
	char line[80];

	if (fake_alive)
		tell(line, snprintf(line, sizeof(line), "fake GPUs: %d objects were not freed\n",
				    fake_alive));
	end_contexts();
}
