/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/random.h"

#include <sys/random.h>

#include "lib/clock.h"

uint64_t random_u64(void)
{
	uint64_t value;

	/* Only before the kernel's pool is ready, early at boot. */
	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != (ssize_t)sizeof(value))
		value = clock_mono_us() * UINT64_C(0x9e3779b97f4a7c15);
	return value;
}
