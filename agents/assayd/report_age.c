/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/report_age.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/json/json.h"
#include "lib/sys/clock_pair.h"

void report_age_header(const char *text, size_t len, const struct clock_pair *now,
		       char ret_line[static REPORT_AGE_SIZE])
{
	CLEANUP(json_freep) json_t *report = NULL;
	struct clock_pair then = { 0 };
	const char *time;
	double uptime_s;
	uint64_t age_us;

	(void)json_parse(text, len, "report", &report, NULL);
	time = json_string_value(json_object_get(report, "time"));
	uptime_s = json_number_value(json_object_get(report, "uptime_s"));
	if (time)
		(void)clock_parse_stamp(time, &then.real_us);
	then.boot_id = json_string_value(json_object_get(report, "boot_id"));
	then.up_us = clock_pair_up_us(uptime_s);
	if (clock_pair_age(&then, now, &age_us))
		(void)snprintf(ret_line, REPORT_AGE_SIZE, "Assay-Age: %" PRIu64 ".%03" PRIu64,
			       age_us / USEC_PER_SEC, age_us % USEC_PER_SEC / USEC_PER_MSEC);
	else
		(void)snprintf(ret_line, REPORT_AGE_SIZE, "Assay-Age: unknown");
}

void report_time_header(uint64_t real_us, char ret_line[static REPORT_AGE_SIZE])
{
	char stamp[CLOCK_STAMP_SIZE];

	clock_stamp(real_us, stamp);
	(void)snprintf(ret_line, REPORT_AGE_SIZE, "Assay-Time: %s", stamp);
}
