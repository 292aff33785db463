/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/watch_draft.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "lib/sys/state.h"

struct draft {
	uint64_t seq;
	char *time, *boot_id;
	double uptime_s;
	json_t *samples; /* list */
};

#define AT(m) offsetof(struct draft, m)
static const struct jfield fields[] = {
	{ "seq", J_U64, AT(seq), J_REQUIRED, .min = 1, .max = 1e15 },
	{ "time", J_STRING, AT(time), J_REQUIRED },
	{ "boot_id", J_STRING, AT(boot_id), J_REQUIRED },
	{ "uptime_s", J_REAL, AT(uptime_s), J_REQUIRED, .min = 0, .max = 1e10 },
	{ "samples", J_JSON, AT(samples), J_REQUIRED },
};
#undef AT

static void draft_release(struct draft *draft)
{
	free(draft->time);
	free(draft->boot_id);
	json_decref(draft->samples);
}

static int add_samples(const struct jval *list, struct report *report, struct err *err)
{
	size_t i;
	int r = jval_need_array(list, err);

	for (i = 0; r == 0 && i < json_array_size(list->value); i++) {
		const struct jval row = jval_at(list, i);
		struct sample sample = sample_init();

		r = sample_decode(&row, &sample, err);
		if (r == 0)
			r = report_add_sample(report, &sample);
		sample_release(&sample);
	}
	return r;
}

static int take_draft(const struct jval *v, struct report *report, struct err *err)
{
	CLEANUP(draft_release) struct draft draft = { .seq = 0 };
	const struct jval samples = jval_get(v, "samples");
	int r = jval_decode(v, fields, ARRAY_SIZE(fields), 0, &draft, err);

	if (r < 0)
		return r;
	report->seq = draft.seq;
	report->uptime_s = draft.uptime_s;
	free(report->time);
	report->time = TAKE(draft.time);
	free(report->boot_id);
	report->boot_id = TAKE(draft.boot_id);
	return add_samples(&samples, report, err);
}

int watch_draft_read(const char *file, struct report *report, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root, draft;
	int r = json_read_file(file, STATE_FILE_MAX, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, file);
	draft = jval_get(&root, "report");
	return take_draft(&draft, report, err);
}
