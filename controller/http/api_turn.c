/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_turn.h"

#include "controller/http/api_inside.h"
#include "lib/base/clock.h"

/*
 * The library reads half of a connection's memory at a time, and signals more data by a timeout of
 * 0: it is run again at once, within TURN_US if others wait. Each round reads a piece of every
 * connection with data, so that they share the time. It signals the same during a TLS handshake,
 * with nothing to read: after a round without progress the next one is a millisecond later.
 */
#define TURN_US (5 * USEC_PER_MSEC)

/* When the library wants to run, in milliseconds from now; false: only on input. */
static bool wants_turn(struct api *api, uint64_t *ret_ms)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms = 0;

	if (MHD_get_timeout(api->daemon, &timeout_ms) != MHD_YES)
		return false;
	*ret_ms = timeout_ms;
	return true;
}

void api_run(struct api *api)
{
	uint64_t end_us = clock_mono_us() + TURN_US, later_ms = 0, steps;
	bool wants, more;

	do {
		steps = api->steps;
		(void)MHD_run(api->daemon);
		wants = wants_turn(api, &later_ms);
		more = wants && later_ms == 0 && api->steps != steps;
	} while (more && clock_mono_us() < end_us);
	(void)sd_event_source_set_enabled(api->timeout, SD_EVENT_OFF);
	if (more) {
		(void)sd_event_source_set_enabled(api->resume, SD_EVENT_ONESHOT);
	} else if (wants) {
		(void)sd_event_source_set_time_relative(api->timeout, later_ms * USEC_PER_MSEC);
		(void)sd_event_source_set_enabled(api->timeout, SD_EVENT_ONESHOT);
	}
}
