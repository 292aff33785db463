/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.json, which may be truncated or from another version: the state of the kernel log and of
 * links that assayd restores from it, its report, and the draft that assay keep makes a report of.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "agents/assayd/link_watch.h"
#include "agents/assayd/log_watch.h"
#include "agents/run/watch_draft.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "lib/sys/clock_pair.h"
#include "lib/sys/state.h"
#include "tests/fuzz/fuzz.h"

static char boot[] = "b1";
static const struct clock_pair now = { UINT64_C(1800000000) * USEC_PER_SEC, 3600 * USEC_PER_SEC,
				       boot };

/* The report can be sent, whatever the input. */
static void check_report(const struct report *report)
{
	size_t i;

	for (i = 0; i < report->n_samples; i++) {
		CLEANUP(json_freep) json_t *value = sample_encode(&report->samples[i]);
		const struct jval root = jval_root(value, "again");
		struct sample copy = sample_init();
		struct err err = ERR_INIT;

		FUZZ_CHECK(sample_decode(&root, &copy, &err) == 0);
		sample_release(&copy);
	}
}

/* The restored state is the same after writing and reading it. */
static void read_log(const json_t *value)
{
	CLEANUP(freep) struct log_watch *w = xcalloc(1, sizeof(*w));
	CLEANUP(freep) struct log_watch *copy = xcalloc(1, sizeof(*copy));
	CLEANUP(report_release) struct report report = { 0 };
	CLEANUP(json_freep) json_t *first = NULL;
	CLEANUP(json_freep) json_t *second = NULL;

	log_watch_init(w);
	log_watch_init(copy);
	log_watch_decode(w, value);
	FUZZ_CHECK(w->n <= LOG_KINDS_MAX);
	first = log_watch_encode(w);
	log_watch_decode(copy, first);
	second = log_watch_encode(copy);
	FUZZ_CHECK(json_equal(first, second));
	log_watch_tell(w, &now, &report);
	check_report(&report);
	(void)log_watch_due(w);
	log_watch_release(w);
	log_watch_release(copy);
}

static void read_links(const json_t *value)
{
	CLEANUP(freep) struct link_watch *w = xcalloc(1, sizeof(*w));
	CLEANUP(freep) struct link_watch *copy = xcalloc(1, sizeof(*copy));
	CLEANUP(report_release) struct report report = { 0 };
	CLEANUP(json_freep) json_t *first = NULL;
	CLEANUP(json_freep) json_t *second = NULL;

	link_watch_init(w);
	link_watch_init(copy);
	link_watch_decode(w, value);
	FUZZ_CHECK(w->n <= LINK_PORTS_MAX);
	first = link_watch_encode(w);
	link_watch_decode(copy, first);
	second = link_watch_encode(copy);
	FUZZ_CHECK(json_equal(first, second));
	link_watch_tell(w, &now, &report);
	check_report(&report);
	(void)link_watch_due(w);
}

static void read_draft(const char *file)
{
	CLEANUP(report_release) struct report report = { 0 };
	struct err err = ERR_INIT;
	int r = watch_draft_read(file, &report, &err);

	if (r < 0) {
		fuzz_refused(r, &err);
		return;
	}
	FUZZ_CHECK(report.seq > 0 && report.time && report.boot_id);
	FUZZ_CHECK(isfinite(report.uptime_s) && report.n_samples <= SAMPLE_COUNT_MAX);
	check_report(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_text(data, size);
	CLEANUP(json_freep) json_t *value = NULL;
	struct err err = ERR_INIT;

	read_draft(fuzz_file(data, size));
	if (json_parse(text, size, "watch.json", &value, &err) < 0)
		return 0;
	read_log(json_object_get(value, "log"));
	read_links(json_object_get(value, "links"));
	return 0;
}
