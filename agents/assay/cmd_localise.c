/* SPDX-License-Identifier: Apache-2.0 */
/* assay localise: which link explains the slow paths in a file of samples. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/assay/commands.h"
#include "agents/assay/show_localise.h"
#include "agents/run/sample_file.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/localise.h"
#include "lib/report/host_parts.h"
#include "lib/sys/term.h"
#include "lib/sys/usage.h"

enum { STATUS_USAGE = 2, STATUS_UNSURE = 3, OPT_REFERENCE = 0x100 };

struct localise_options {
	const char *file, *reference; /* "-": stdin; `reference` may be NULL */
	enum output output;
	struct err err;
};

static const struct argp_option option_table[] = {
	{ "reference", OPT_REFERENCE, "FILE",
	  0, "Compare with these cells of a good host of this model, instead of the medians of similar cells",
	  0 },
	{ "output", 'o', "FORMAT", 0, "table (default), json or kv", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct localise_options *o = state->input;

	switch (key) {
	case OPT_REFERENCE:
		o->reference = arg;
		return 0;
	case 'o':
		return -output_option(arg, &o->output, &o->err);
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			return -err_set(&o->err, EINVAL, "'%.80s': takes one file; see --help", arg);
		o->file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void show(const struct localised *l, const struct host_parts *parts, enum output output)
{
	CLEANUP(json_freep) json_t *value = localised_encode(l);

	if (output == OUTPUT_TABLE)
		show_localised(l, parts, stdout, term_wants_colour(stdout), term_width(stdout));
	else
		command_print(value, output);
}

static int localise_files(struct localise_options *o, struct localised *ret,
			  struct host_parts *ret_parts)
{
	CLEANUP(sample_file_release) struct sample_file samples = { .n = 0 };
	CLEANUP(sample_file_release) struct sample_file reference = { .n = 0 };
	int r = sample_file_read(o->file ? o->file : "-", &samples, &o->err);

	if (r == 0 && o->reference)
		r = sample_file_read(o->reference, &reference, &o->err);
	if (r == 0 && o->reference && reference.n == 0)
		r = err_set(&o->err, EINVAL, "%s: no samples to compare with", o->reference);
	if (r == 0)
		localise(&(struct localise_input){ .samples = { samples.v, samples.n },
						   .reference = { reference.v, reference.n } },
			 ret);
	if (r == 0)
		sample_file_parts(&samples, ret_parts);
	return r;
}

int cmd_localise(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.args_doc = "[FILE|-]",
		.doc = "Names the links that explain the slow paths among samples: JSON lines as "
		       "the probes print them, or a report or run of `assay run -o json`.\v"
		       "Exit status: 0 done, 1 the result could not be written, 2 usage or bad "
		       "input, 3 no sample with a path could be compared.",
	};
	struct localise_options o = { .output = OUTPUT_TABLE, .err = ERR_INIT };
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	struct localised found = { .n = 0 };
	int status;

	if (usage_parse(&argp, argc, argv, 0, NULL, &o) != 0 ||
	    localise_files(&o, &found, &parts) < 0) {
		command_complain("assay localise", &o.err);
		return STATUS_USAGE;
	}
	show(&found, &parts, o.output);
	status = found.cells > 0 ? 0 : STATUS_UNSURE;
	localised_release(&found);
	return command_written() != 0 ? 1 : status;
}
