/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/ingest/host_identity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/fleet/hosts.h"
#include "controller/fleet/report_clock.h"
#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

/* Longest overlap of runs when a host reboots. */
#define SLACK_US (10 * USEC_PER_SEC)

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void set_text(char **at, const char *text)
{
	free(*at);
	*at = xstrdup(text);
}

static void set_machine(struct host *host, const char *machine)
{
	/* Not every run may read the hardware's serial numbers. */
	if (machine && !(host->machine[0] == 'b' && machine[0] == 'm'))
		(void)snprintf(host->machine, sizeof(host->machine), "%s", machine);
}

void host_identity_recall(struct host *host, const json_t *node, bool told)
{
	const char *seen = text_of(node, "seen");
	uint64_t seen_us = 0;

	if (!seen || clock_parse_stamp(seen, &seen_us) < 0)
		return;
	host->known = true;
	host->told = told;
	set_machine(host, text_of(json_object_get(node, "env"), "machine"));
	set_text(&host->sku, text_of(node, "sku"));
	set_text(&host->boot_id, text_of(node, "boot_id"));
	host->since_us = host->last_us = seen_us;
	host->two_until_us = told ? seen_us + HOST_IDENTITY_TWO_US : 0;
}

/* This boot is the host from now on. */
static void settle(struct host *host, const struct report *report,
		   const struct report_clock *arrival)
{
	set_text(&host->boot_id, report->boot_id);
	host->since_us = arrival->measured_us;
	host->known = true;
}

/* Is the known state about other hardware? */
static bool replaced(const struct host *host, const struct report *report)
{
	const bool other_sku = host->sku && report->sku && !streq(host->sku, report->sku);

	return host->known &&
	       (other_sku || machine_differs(host->machine, text_of(report->env, "machine")));
}

static void learn(struct host *host, const struct report *report,
		  const struct report_clock *arrival, bool other)
{
	if (other)
		host->machine[0] = '\0';
	set_machine(host, text_of(report->env, "machine"));
	if (report->sku)
		set_text(&host->sku, report->sku);
	host->last_us = MAX(host->last_us, arrival->measured_us);
}

static int note_newest(struct host *host, const struct report *report,
		       const struct report_clock *arrival)
{
	const bool other = replaced(host, report);

	if (!host->known || !streq(host->boot_id, report->boot_id))
		settle(host, report, arrival);
	learn(host, report, arrival, other);
	host->replaced += other;
	return other ? HOST_IDENTITY_REPLACED : HOST_IDENTITY_SAME;
}

/* A report of an earlier boot, by sequence number or boot. */
static int note_late(struct host *host, const struct report *report,
		     const struct report_clock *arrival, int *place)
{
	if (!host->known || !arrival->timed || streq(host->boot_id, report->boot_id) ||
	    arrival->measured_us <= host->since_us + SLACK_US)
		return HOST_IDENTITY_SAME;
	if (arrival->measured_us > host->last_us + HOST_IDENTITY_TWO_US) {
		*place = PLACE_NEWEST;
		return note_newest(host, report, arrival);
	}
	host->two_until_us = arrival->measured_us + HOST_IDENTITY_TWO_US;
	return HOST_IDENTITY_TWO;
}

int host_identity_note(struct host *host, const struct report *report,
		       const struct report_clock *arrival, int *place)
{
	int identity = HOST_IDENTITY_SAME;

	if (*place == PLACE_NEWEST)
		identity = note_newest(host, report, arrival);
	else if (*place == PLACE_LATE)
		identity = note_late(host, report, arrival, place);
	return host_identity_two(host, arrival->measured_us) ? HOST_IDENTITY_TWO : identity;
}

bool host_identity_two(const struct host *host, uint64_t now_us)
{
	return host && host->two_until_us > now_us;
}

char *host_identity_two_sentence(const struct host *host)
{
	return xasprintf("two machines report as %s: give each its own name (its host name, or "
			 "node in assayd.yaml); until then neither is judged",
			 host->node);
}

char *host_identity_replaced_sentence(const struct host *host)
{
	return xasprintf("%s is another machine now (%s, %s): its windows and incidents start over",
			 host->node, host->machine[0] ? host->machine : "number unknown",
			 host->sku ? host->sku : "no SKU");
}

void host_identity_verdict(const struct host *host, const struct report *report, struct verdict *ret)
{
	struct verdict v = {
		.node = xstrdup(report->node),
		.time = xstrdup(report->time),
		.seq = report->seq,
		.profile = xstrdup(report->profile),
		.items = xcalloc(1, sizeof(*v.items)),
		.n_items = 1,
	};

	v.items[0] = (struct verdict_item){
		.check = xstrdup("host.identity"),
		.subject = xstrdup(report->node),
		.level = VERDICT_INCONCLUSIVE,
		.value = NAN,
		.expected = NAN,
		.floor = NAN,
		.source = SOURCE_SELF,
		.sentence = host_identity_two_sentence(host),
	};
	verdict_conclude(&v);
	*ret = v;
}
