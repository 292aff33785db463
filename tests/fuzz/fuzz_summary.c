/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis of an untrusted trace, and the view of a job with such windows. */
#include <errno.h>
#include <stdlib.h>

#include "controller/job/job_view.h"
#include "controller/job/summary.h"
#include "controller/job/trace_files.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/policy_jobs.h"
#include "lib/report/node_name.h"
#include "tests/fuzz/fuzz.h"

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void check_hosts(const json_t *suspect)
{
	const json_t *hosts = json_object_get(suspect, "hosts");
	size_t i;

	FUZZ_CHECK(json_array_size(hosts) <= SUMMARY_HOSTS_MAX);
	for (i = 0; i < json_array_size(hosts); i++)
		FUZZ_CHECK(node_name_ok(json_string_value(json_array_get(hosts, i))));
}

/* Checks what the list, the rows and the web page rely on. */
static void check_summary(const json_t *summary)
{
	const json_t *suspects = json_object_get(summary, "suspects");
	const json_t *values = json_object_get(json_object_get(summary, "heat"), "values");
	const size_t columns = json_array_size(json_array_get(values, 0));
	CLEANUP(freep) char *line = json_line(summary);
	const char *cause = text_of(summary, "cause");
	size_t i;

	FUZZ_CHECK(strlen(line) <= ANALYSIS_MAX);
	FUZZ_CHECK(strlen(text_of(summary, "sentence")) <= SUMMARY_SENTENCE_MAX);
	FUZZ_CHECK(!strpbrk(text_of(summary, "sentence"), "\n\r\033"));
	FUZZ_CHECK(!cause || strlen(cause) <= SUMMARY_CAUSE_MAX);
	FUZZ_CHECK(json_array_size(suspects) <= SUMMARY_SUSPECTS_MAX);
	for (i = 0; i < json_array_size(suspects); i++)
		check_hosts(json_array_get(suspects, i));
	FUZZ_CHECK(json_array_size(values) * columns <= SUMMARY_CELLS_MAX);
}

/* Two equal windows at different times: no host is suspected that they do not blame. */
static void check_view(const json_t *summary)
{
	const struct policy_jobs jobs = policy_jobs_init();
	const struct job_window windows[] = {
		{ .summary = summary, .id = 2, .run = 1, .received_us = 2 * USEC_PER_HOUR },
		{ .summary = summary,
		  .id = 1,
		  .run = 1,
		  .received_us = 2 * USEC_PER_HOUR - jobs.apart_us },
	};
	CLEANUP(job_suspects_release) struct job_suspects suspects;
	const struct job_view_input input = { windows, ARRAY_SIZE(windows), false, &suspects, NULL };
	CLEANUP(json_freep) json_t *view = NULL;
	size_t n;

	job_suspects_read(windows, ARRAY_SIZE(windows), &jobs, NULL, windows[0].received_us,
			  &suspects);
	view = job_view(&input);
	n = json_array_size(json_object_get(view, "suspects"));

	FUZZ_CHECK(n == 0 || json_is_string(json_object_get(summary, "suspect")));
	FUZZ_CHECK(n > 0 || !streq(text_of(view, "state"), "suspected"));
	FUZZ_CHECK(json_is_object(json_object_get(view, "decision")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_text(data, size);
	CLEANUP(json_freep) json_t *summary = NULL;
	struct err err = ERR_INIT;
	const int r = summary_read(text, &summary, &err);

	if (r < 0) {
		FUZZ_CHECK(r == -EINVAL || r == -ERANGE);
		fuzz_refused(r, &err);
		return 0;
	}
	check_summary(summary);
	check_view(summary);
	return 0;
}
