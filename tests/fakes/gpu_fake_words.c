/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the fakes that are not numbers, and the variation among healthy GPUs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakes/gpu_fake.h"

/* Returns the text after at=, which ends at a space; NULL if there is no at=. */
static const char *name_of_call(void)
{
	const char *text = getenv("ASSAY_FAKE_GPUS"), *at;

	for (at = text ? strstr(text, "at=") : NULL; at; at = strstr(at + 1, "at=")) {
		if (at == text || at[-1] == ' ')
			return at + strlen("at=");
	}
	return NULL;
}

bool fake_named(const char *call)
{
	const char *name = name_of_call();
	size_t len = strlen(call);

	return name && strncmp(name, call, len) == 0 && (name[len] == ' ' || name[len] == '\0');
}

bool fake_may(const char *call)
{
	return !name_of_call() || fake_named(call);
}

/* Even steps, shuffled; the same in each process, so both runs of a pair agree. */
double fake_share(unsigned gpu)
{
	static const unsigned steps[] = { 3, 7, 0, 5, 1, 6, 2, 4 };
	static const double percent = 0.01, step_max = 7;
	const double of = steps[gpu % (sizeof(steps) / sizeof(steps[0]))] / step_max;

	return 1 - percent * of * (double)fake_setting("spread", 0);
}

void fake_block(const char *call, long gpu)
{
	const long blocked = fake_setting("block", FAKE_NO_GPU);
	const bool named = name_of_call() ? fake_named(call) : strcmp(call, "cuMemAlloc_v2") == 0;

	while (named && blocked >= 0 && (gpu == FAKE_NO_GPU || gpu == blocked))
		(void)pause();
}
