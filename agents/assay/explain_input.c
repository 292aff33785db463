/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/explain_input.h"

#include <stdlib.h>

#include "agents/run/run.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"

static char *text_of(const json_t *object, const char *key)
{
	return xstrdup(json_string_value(json_object_get(object, key)));
}

static const struct host_parts *parts_of(void *context)
{
	return context;
}

/* Only samples: judge them by each other. */
static void judge_samples(struct explain_input *in)
{
	const struct report report = {
		.node = in->node,
		.time = in->time,
		.profile = in->profile,
		.samples = in->file.v,
		.n_samples = MIN(in->file.n, (size_t)SAMPLE_COUNT_MAX),
	};

	const struct judge_inputs inputs = { .parts = parts_of, .parts_context = &in->parts };

	verdict_judge(&report, &inputs, &in->verdict);
}

/* The links of this host are those of the run if the digests match. */
static void take_local_topology(const char *digest, struct explain_input *in)
{
	struct topology here = { 0 };

	if (!digest || topology_load(&here, NULL) < 0)
		return;
	if (streq(here.digest, digest))
		in->topology = here;
	else
		topology_release(&here);
}

static int take_object(const char *name, struct explain_input *in, struct err *err)
{
	struct jval root = jval_root(in->file.object, name);
	struct jval verdict = jval_get(&root, "verdict"), topology = jval_get(&root, "topology");
	const json_t *report = json_object_get(in->file.object, "report");
	int r = 0;

	report = report ? report : in->file.object;
	in->node = text_of(report, "node");
	in->time = text_of(report, "time");
	in->profile = text_of(report, "profile");
	if (json_is_object(verdict.value))
		r = verdict_decode(&verdict, &in->verdict, err);
	else
		judge_samples(in);
	if (r == 0 && json_is_object(topology.value))
		r = topology_decode(&topology, &in->topology, err);
	else if (r == 0)
		take_local_topology(json_string_value(json_object_get(report, "topology")), in);
	return r;
}

int explain_input_read(const char *path, struct explain_input *ret, struct err *err)
{
	struct explain_input in = { .samples = { .n = 0 } };
	const char *name = streq(path, "-") ? "standard input" : path;
	int r = sample_file_read(path, &in.file, err);

	if (r == 0)
		sample_file_parts(&in.file, &in.parts);
	if (r == 0 && in.file.object)
		r = take_object(name, &in, err);
	else if (r == 0)
		judge_samples(&in);
	in.samples = (struct sample_list){ in.file.v, in.file.n };
	if (r < 0)
		explain_input_release(&in);
	else
		*ret = in;
	return r;
}

void explain_input_take(struct run *run, struct explain_input *ret)
{
	struct explain_input in = {
		.samples = { run->report.samples, run->report.n_samples },
		.verdict = run->verdict,
		.node = xstrdup(run->report.node),
		.time = xstrdup(run->report.time),
		.profile = xstrdup(run->report.profile),
		.parts = run->references.parts,
	};
	struct jval topology = jval_root(run->topology, "topology");

	run->verdict = (struct verdict){ 0 };
	run->references.parts = (struct host_parts){ 0 };
	if (run->topology && topology_decode(&topology, &in.topology, NULL) < 0)
		in.topology = (struct topology){ 0 };
	*ret = in;
}

void explain_input_release(struct explain_input *in)
{
	verdict_release(&in->verdict);
	topology_release(&in->topology);
	sample_file_release(&in->file);
	host_parts_release(&in->parts);
	free(in->node);
	free(in->time);
	free(in->profile);
	*in = (struct explain_input){ .samples = { .n = 0 } };
}
