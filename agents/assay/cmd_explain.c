/* SPDX-License-Identifier: Apache-2.0 */
/* assay explain: which link is slow, as a matrix and a sentence. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/assay/commands.h"
#include "agents/assay/explain.h"
#include "agents/assay/explain_input.h"
#include "agents/assay/show_burn.h"
#include "agents/run/run.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/term.h"
#include "lib/sys/usage.h"

enum { STATUS_USAGE = 2, STATUS_UNSURE = 3, OPT_REFERENCE = RUN_OPT_END };

struct explain_options {
	const char *file, *reference; /* NULL: run on this host, no reference */
	bool runs;		      /* an option for the run was given */
	struct run_options run;
	struct err err;
};

static const struct argp_option option_table[] = {
	{ "reference", OPT_REFERENCE, "FILE",
	  0, "Compare with these cells of a good host of this model, instead of the medians of similar cells",
	  0 },
	{ "output", 'o', "FORMAT", 0, "table (default), json or kv", 0 },
	{ NULL, 0, NULL, 0, "For the run, without FILE:", 1 },
	{ "profile", RUN_OPT_PROFILE, "NAME", 0, "passive, quick (default) or full", 1 },
	{ "probe", RUN_OPT_PROBE, "NAME", 0, "Run only this probe; may be repeated", 1 },
	{ "budget", RUN_OPT_BUDGET, "DURATION", 0, "Time for the whole run, such as 45s", 1 },
	{ "wait", RUN_OPT_WAIT, "DURATION", 0, "Wait this long for another active run to end", 1 },
	{ "busy", RUN_OPT_BUSY, "skip|run", 0,
	  "What to do while a device is in use by others (default skip)", 1 },
	{ "policy", RUN_OPT_POLICY, "FILE", 0, "Judge by this policy", 1 },
	{ "sku", RUN_OPT_SKU, "FILE", 0, "Judge by this SKU file", 1 },
	{ "profiles", RUN_OPT_PROFILES, "FILE", 0,
	  "Read the profiles from this file instead of the installed ones", 1 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct explain_options *o = state->input;
	int r;

	switch (key) {
	case OPT_REFERENCE:
		o->reference = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			return -err_set(&o->err, EINVAL, "'%.80s': takes one file; see --help", arg);
		o->file = arg;
		return 0;
	default:
		r = run_options_take(key, arg, &o->run, &o->err);
		o->runs |= r == 0 && key != 'o';
		return r > 0 ? ARGP_ERR_UNKNOWN : -r;
	}
}

static int parse_all(int argc, char **argv, struct explain_options *o)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.args_doc = "[FILE|-]",
		.doc = "Shows the transfers between the parts of this host as heat maps, and names "
		       "the links that make some of them slow. Without FILE, it first measures as "
		       "`assay run` does; FILE is a report or a run of `assay run -o json`, or "
		       "JSON "
		       "lines as the probes print them.\v"
		       "Exit status: 0 nothing is slow, 1 a link is named or something else "
		       "fails, 2 usage or bad input, 3 nothing was measured.",
	};
	int r = -usage_parse(&argp, argc, argv, 0, NULL, o);

	if (r == 0 && o->file && o->runs)
		r = err_set(&o->err, EINVAL,
			    "%.80s applies to a run, but with a file nothing is run: omit one of "
			    "the two",
			    o->file);
	return r;
}

static int read_reference(struct explain_options *o, struct sample_file *ret)
{
	int r = o->reference ? sample_file_read(o->reference, ret, &o->err) : 0;

	if (r == 0 && o->reference && ret->n == 0)
		r = err_set(&o->err, EINVAL, "%s: no samples to compare with", o->reference);
	return r;
}

static int explain(const struct explain_options *o, const struct explain_input *input,
		   const struct sample_list *reference)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct explanation e;
	int status;

	explain_make(input, reference, &e);
	if (o->run.output == OUTPUT_TABLE) {
		explain_show(&e, stdout, term_wants_colour(stdout), term_width(stdout));
		show_burn(&input->samples, &input->parts, stdout, term_wants_colour(stdout),
			  term_width(stdout));
	} else {
		value = explain_encode(&e);
		command_print(value, o->run.output);
	}
	status = explain_status(&e);
	explanation_release(&e);
	return command_written() != 0 ? 1 : status;
}

/* Fails only before the run; `ret_status` is the command's exit status. */
static int explain_run(struct explain_options *o, const struct sample_list *reference,
		       int *ret_status)
{
	CLEANUP(run_release) struct run run = { .options = o->run };
	struct explain_input input;
	int r = run_prepare(&run, &o->err);

	if (r < 0)
		return r;
	*ret_status = STATUS_UNSURE;
	if (run_disabled())
		return 0;
	if (run_make(&run, &o->err) < 0)
		return -EIO;
	explain_input_take(&run, &input);
	*ret_status = explain(o, &input, reference);
	explain_input_release(&input);
	return 0;
}

static int explain_file(struct explain_options *o, const struct sample_list *reference,
			int *ret_status)
{
	struct explain_input input;
	int r = explain_input_read(o->file, &input, &o->err);

	if (r < 0)
		return r;
	*ret_status = explain(o, &input, reference);
	explain_input_release(&input);
	return 0;
}

int cmd_explain(int argc, char **argv)
{
	CLEANUP(sample_file_release) struct sample_file reference = { .n = 0 };
	struct explain_options o = { .err = ERR_INIT };
	struct sample_list good;
	int status = STATUS_USAGE;
	int r = parse_all(argc, argv, &o);

	if (r == 0)
		r = read_reference(&o, &reference);
	good = (struct sample_list){ reference.v, reference.n };
	if (r == 0)
		r = o.file ? explain_file(&o, &good, &status) : explain_run(&o, &good, &status);
	if (r < 0) {
		command_complain("assay explain", &o.err);
		return STATUS_USAGE;
	}
	return status;
}
