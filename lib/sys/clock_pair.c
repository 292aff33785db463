/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/clock_pair.h"

/* a hundred years */
#define UPTIME_MAX_S 3153600000.0

static bool known(const char *boot_id)
{
	return boot_id && *boot_id;
}

uint64_t clock_pair_up_us(double uptime_s)
{
	return uptime_s > 0 && uptime_s < UPTIME_MAX_S ? (uint64_t)(uptime_s * 1e6) : 0;
}

bool clock_pair_age(const struct clock_pair *then, const struct clock_pair *now,
		    uint64_t *ret_age_us)
{
	const bool boots = known(then->boot_id) && known(now->boot_id);
	const bool same_boot = boots && streq(then->boot_id, now->boot_id);
	uint64_t age_us;

	if (same_boot && then->up_us && now->up_us) {
		if (then->up_us > now->up_us)
			return false;
		*ret_age_us = now->up_us - then->up_us;
		return true;
	}
	if (!then->real_us || !now->real_us || then->real_us > now->real_us + CLOCK_PAIR_FUTURE_US)
		return false;
	age_us = now->real_us > then->real_us ? now->real_us - then->real_us : 0;
	*ret_age_us = boots && !same_boot ? MAX(age_us, now->up_us) : age_us;
	return true;
}
