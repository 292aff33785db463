/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/watch_fixture.h"

#include "lib/json/json.h"
#include "lib/sys/clock_pair.h"
#include "lib/sys/kmsg.h"
#include "tests/unit/test.h"

void watch_rules(struct kernel_rules *ret)
{
	static const char text[] =
		"{\"v\":1,\"patterns\":["
		"{\"name\":\"bad\",\"match\":\"bad (dev[0-9]+)\",\"severity\":\"warn\","
		"\"code\":\"bad\",\"subject\":1,\"note\":\"a device is bad\"},"
		"{\"name\":\"dead\",\"match\":\"dead (dev[0-9]+)\",\"severity\":\"fatal\","
		"\"code\":\"xid:79\",\"subject\":1,\"note\":\"a device is dead\"},"
		"{\"name\":\"meh\",\"match\":\"meh\",\"severity\":\"info\",\"code\":\"meh\","
		"\"note\":\"so what\"}]}";
	CLEANUP(json_freep) json_t *doc = NULL;

	*ret = (struct kernel_rules){ .n_patterns = 0 };
	CHECK_EQ(json_parse(text, strlen(text), "rules", &doc, NULL), 0);
	CHECK_EQ(kernel_rules_take_patterns(ret, doc, "rules", NULL), 0);
}

void watch_say(struct log_watch *w, const struct kernel_rules *rules, const char *text,
	       uint64_t now_us)
{
	const struct kmsg_record record = { .sequence = w->next_sequence,
					    .time_us = now_us,
					    .text = text };

	log_watch_record(w, rules, &record, false, now_us);
}

struct report watch_report(struct log_watch *log, struct link_watch *links, uint64_t now_us)
{
	const struct clock_pair now = { .real_us = now_us + 1000000 * SEC, .up_us = now_us };
	struct report report = { .seq = 1 };

	if (log)
		log_watch_tell(log, &now, &report);
	if (links)
		link_watch_tell(links, &now, &report);
	return report;
}

const struct sample *watch_sample(const struct report *report, const char *check,
				  const char *subject)
{
	size_t i;

	for (i = 0; i < report->n_samples; i++) {
		if (streq(report->samples[i].check, check) &&
		    streq(report->samples[i].subject, subject))
			return &report->samples[i];
	}
	return NULL;
}

void watch_see(struct link_watch *w, enum link_state state, uint64_t downs, uint64_t now_us)
{
	const struct link_seen seen = {
		.port = "mlx5_0:1",
		.netdev = "eth2",
		.state = state,
		.counted = true,
		.downs = downs,
	};

	link_watch_see(w, &seen, now_us);
}
