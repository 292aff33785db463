/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in any compression: read, analysed and printed in every form. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attribution/forms.h"
#include "attribution/summary.h"
#include "attribution/trace_build.h"
#include "attribution/trace_reader.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/fuzz/fuzz.h"

enum {
	WORKERS_MAX = 64, /* larger traces are only read: analysis takes too long */
	CELLS_MAX = 20000,
	MAX_OPS = 4000,
	META_SIZE = 1024,
};

static const char meta[] = "trial_name: fuzz\ndp_size: 2\npp_size: 2\ntp_size: 1\nvpp_size: 2\n"
			   "dsp_size: 1\nworld_size: 4\n";

static bool is_csv(const uint8_t *data, size_t size)
{
	return size >= 4 && memcmp(data, "step", 4) == 0;
}

static void show(const struct attribution *attribution, const char *name)
{
	const struct form *form = form_find(name);
	CLEANUP(freep) char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	FUZZ_CHECK(form && out);
	form->write(attribution, 0, false, out);
	FUZZ_CHECK(fclose(out) == 0 && length > 0);
	if (streq(name, "json") || streq(name, "timeline")) {
		json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);

		FUZZ_CHECK(value);
		json_decref(value);
	}
}

/* The summary keeps its limits for any trace. */
static void summarise(const struct attribution *attribution)
{
	CLEANUP(json_freep) json_t *doc = summary_document(attribution);
	char *text = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(ATTRIBUTION_DIGITS));

	FUZZ_CHECK(text && strlen(text) <= SUMMARY_SIZE_MAX);
	free(text);
}

static void analyse(struct trace *trace)
{
	CLEANUP(attribution_freep) struct attribution *attribution = NULL;
	struct attribution_options options = ATTRIBUTION_OPTIONS;
	struct err err = ERR_INIT;
	int r;

	FUZZ_CHECK(trace->n_keys > 0 && trace->n_steps >= TRACE_STEPS_MIN);
	if ((size_t)trace->job.dp * trace->job.pp > WORKERS_MAX ||
	    trace->n_keys * trace->n_lanes > CELLS_MAX) {
		trace_free(trace);
		return;
	}
	r = attribution_new(trace, &options, &attribution, &err);
	if (r < 0) {
		fuzz_refused(r, &err);
		return;
	}
	show(attribution, "json");
	show(attribution, "table");
	show(attribution, "heatmap");
	show(attribution, "timeline");
	summarise(attribution);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(trace_reader_freep) struct trace_reader *reader = NULL;
	CLEANUP(freep) char *beside = NULL;
	struct err err = ERR_INIT;
	struct trace *trace;
	int r, windows = 0;

	if (is_csv(data, size)) {
		fuzz_write("meta.yaml", (const uint8_t *)meta, sizeof(meta) - 1);
		beside = xasprintf("%s/meta.yaml", fuzz_dir());
	}
	r = trace_reader_open(fuzz_file(data, size), beside, &reader, &err);
	while (r >= 0 && (r = trace_reader_next(reader, MAX_OPS, &trace, &err)) == 1) {
		analyse(trace);
		windows++;
	}
	if (r < 0)
		fuzz_refused(r, &err);
	FUZZ_CHECK(r < 0 || windows > 0);
	return 0;
}
