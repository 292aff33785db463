/* SPDX-License-Identifier: Apache-2.0 */
/* assay-attribute: explains what slows a job from a trace of its operations. */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attribution/attribution.h"
#include "attribution/crew.h"
#include "attribution/description.h"
#include "attribution/forms.h"
#include "attribution/hang_command.h"
#include "attribution/outlook.h"
#include "attribution/summary.h"
#include "attribution/trace_reader.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/sys/usage.h"

enum { STATUS_GOOD = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* Operations per window: about 1 GB. */
enum { MAX_OPS = 1 << 24, MAX_OPS_LEAST = 1000 };

/*
 * Limits of options: the slowdown at which a job counts as slow, and the gain relative to a step.
 */
#define MIN_SLOWDOWN_MAX 100.0
#define MIN_GAIN_MAX 1.0
#define SHARE_MAX 1.0

/* Limit of the distance of a slow host from good ones. */
#define BEYOND_MAX 100.0

enum {
	OPT_META = 0x100,
	OPT_ALIGN,
	OPT_MAX_OPS,
	OPT_REMEDIES,
	OPT_SUMMARY,
	OPT_MIN_SLOWDOWN,
	OPT_MIN_GAIN,
	OPT_SPREAD,
	OPT_SPEEDS,
	OPT_BEYOND,
	OPT_SHARE,
	OPT_BOOTSTRAP,
};

static const struct argp_option option_table[] = {
	{ "meta", OPT_META, "FILE", 0, "The shape of the job (YAML), for a trace in CSV", 0 },
	{ "align", OPT_ALIGN, "none|auto", 0,
	  "Correct clocks that are off (default auto), or leave all times as recorded", 0 },
	{ "max-ops", OPT_MAX_OPS, "N", 0,
	  "Cut a longer trace into windows of whole steps (default 16777216)", 0 },
	{ "summary", OPT_SUMMARY, NULL, 0,
	  "Print one line of JSON: the slowdown, its cause, and which hosts to suspect", 0 },
	{ "min-slowdown", OPT_MIN_SLOWDOWN, "S", 0,
	  "Slowdown from which a job counts as slow (default 1.1, with --summary 1.03)", 0 },
	{ "min-gain", OPT_MIN_GAIN, "X", 0,
	  "Fraction of a step that replacing a suspect must gain for it to count (default 0.03)",
	  0 },
	{ "spread", OPT_SPREAD, "X",
	  0, "How far the speeds of good hosts differ: their relative standard deviation (default 0.034)",
	  0 },
	{ "speeds", OPT_SPEEDS, "FILE", 0,
	  "Speeds of the hosts in their own tests (JSON), to compare them with the fleet", 0 },
	{ "beyond", OPT_BEYOND, "N", 0,
	  "How many standard deviations slower a host must be to count (default 6)", 0 },
	{ "share", OPT_SHARE, "X", 0,
	  "Fraction of the loss that suspects must explain to count (default 0.5)", 0 },
	{ "bootstrap", OPT_BOOTSTRAP, "N", 0, "Bootstrap draws for the intervals (default 200)", 0 },
	{ "remedies", OPT_REMEDIES, "FILE", 0,
	  "Show what moving layers, micro-batches and hosts would gain, given a description of the "
	  "job "
	  "(YAML; experimental)",
	  0 },
	{ "output", 'o', FORM_NAMES, 0, "Output format (default json)", 0 },
	{ 0 },
};

struct options {
	const char *trace, *meta, *remedies, *speeds;
	const struct form *form;
	size_t max_ops;
	bool summary;
	bool spread_said;		       /* takes precedence over that of the speeds */
	const struct description *description; /* of --remedies; NULL: not given */
	struct attribution_options how;
};

static double read_real(const char *name, const char *text, double least, double most,
			struct argp_state *state)
{
	char *end = NULL;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= least && value <= most))
		argp_error(state, "--%s: '%s' is not a number from %g to %g", name, text, least,
			   most);
	return value;
}

static size_t read_draws(const char *text, struct argp_state *state)
{
	double value = read_real("bootstrap", text, BOOTSTRAP_DRAWS_MIN, BOOTSTRAP_DRAWS_MAX, state);

	if (value != floor(value))
		argp_error(state, "--bootstrap: '%s' is not a whole number", text);
	return (size_t)value;
}

static size_t read_count(const char *text, struct argp_state *state)
{
	char *end = NULL;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || n < MAX_OPS_LEAST || n > SIZE_MAX / 2)
		argp_error(state, "--max-ops: '%s' is not a whole number of at least %d", text,
			   MAX_OPS_LEAST);
	return (size_t)n;
}

/* Parse options with a numeric value. */
static error_t parse_number(int key, const char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPT_MIN_SLOWDOWN:
		options->how.min_slowdown =
			read_real("min-slowdown", arg, 1, MIN_SLOWDOWN_MAX, state);
		return 0;
	case OPT_MIN_GAIN:
		options->how.min_gain = read_real("min-gain", arg, 0, MIN_GAIN_MAX, state);
		return 0;
	case OPT_SPREAD:
		options->spread_said = true;
		options->how.spread =
			read_real("spread", arg, SILICON_SPREAD_LEAST, SPEEDS_SPREAD_MOST, state);
		return 0;
	case OPT_BEYOND:
		options->how.beyond = read_real("beyond", arg, 0, BEYOND_MAX, state);
		return 0;
	case OPT_SHARE:
		options->how.share = read_real("share", arg, 0, SHARE_MAX, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPT_META:
		options->meta = arg;
		return 0;
	case OPT_ALIGN:
		options->how.align = strcmp(arg, "auto") == 0;
		if (!options->how.align && strcmp(arg, "none") != 0)
			argp_error(state, "--align: '%s' is neither none nor auto", arg);
		return 0;
	case OPT_MAX_OPS:
		options->max_ops = read_count(arg, state);
		return 0;
	case OPT_REMEDIES:
		options->remedies = arg;
		return 0;
	case OPT_SUMMARY:
		options->summary = true;
		return 0;
	case OPT_SPEEDS:
		options->speeds = arg;
		return 0;
	case OPT_BOOTSTRAP:
		options->how.draws = read_draws(arg, state);
		return 0;
	case 'o':
		options->form = form_find(arg);
		if (!options->form)
			argp_error(state, "-o: '%s' is not one of " FORM_NAMES, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (options->trace)
			argp_error(state, "unexpected argument '%s': give one trace", arg);
		options->trace = arg;
		return 0;
	case ARGP_KEY_END:
		if (!options->trace)
			argp_error(state, "which trace? A file, or - for standard input");
		if (options->summary && options->remedies)
			argp_error(state, "--remedies: not with --summary");
		return 0;
	default:
		return parse_number(key, arg, state);
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "TRACE\nhang FILE|DIR ...",
	.doc = "Finds what slows down a training job: a host, a link, or the job itself.\vTRACE is "
	       "optrace/1 (JSON lines) or the CSV of its columns, plain, gzip or zstd; - is "
	       "standard input. The command hang shows which ranks have stopped a hung job: see "
	       "hang --help. "
	       "Exit status: 0 answered, 1 failed, 2 usage or an impossible trace.",
};

/* Bad input is the user's to fix; other errors are ours or the system's. */
static int status_of(int r)
{
	return r == -ENOMEM || r == -EIO ? STATUS_FAILED : STATUS_USAGE;
}

/* Returns 1, or an error after freeing the window. */
static int look_out(const struct options *options, struct trace_reader *reader,
		    struct attribution **window, struct err *err)
{
	int r = outlook_find(*window, options->description, trace_reader_name(reader),
			     &(*window)->remedies, err);

	if (r == 0)
		return 1;
	attribution_free(*window);
	*window = NULL;
	return r;
}

/* Read the next window: 1, or 0 if there is none. */
static int next_window(const struct options *options, struct trace_reader *reader,
		       struct attribution **ret_window, struct err *err)
{
	struct trace *trace = NULL;
	int r = trace_reader_next(reader, options->max_ops, &trace, err);

	if (r == -ENODATA) {
		log_warning("%s; the rest is ignored", err->msg);
		return 0;
	}
	if (r <= 0)
		return r;
	r = attribution_new(trace, &options->how, ret_window, err);
	if (r < 0)
		return err_wrap(err, r, "%s", trace_reader_name(reader));
	return options->description ? look_out(options, reader, ret_window, err) : 1;
}

/* Write each window once it is known whether another one follows. */
static int answer(const struct options *options, struct trace_reader *reader, struct err *err)
{
	CLEANUP(attribution_freep) struct attribution *window = NULL;
	struct attribution *next = NULL;
	size_t i = 0;
	int r = next_window(options, reader, &window, err);

	if (r == 0)
		return err_set(err, EINVAL, "%s: no operation", trace_reader_name(reader));
	while (r > 0) {
		r = next_window(options, reader, &next, err);
		if (r < 0)
			break;
		if (i == 0 && r > 0)
			log_warning("the trace is longer than --max-ops %zu: it is cut into "
				    "windows of whole steps, each with its own ideal times",
				    options->max_ops);
		options->form->write(window, i++, r > 0, stdout);
		attribution_free(window);
		window = TAKE(next);
	}
	return r;
}

/* For a trace with a single window: a summary is one object. */
static int summarise(const struct options *options, struct trace_reader *reader, struct err *err)
{
	CLEANUP(attribution_freep) struct attribution *window = NULL;
	CLEANUP(attribution_freep) struct attribution *next = NULL;
	CLEANUP(json_freep) json_t *doc = NULL;
	int r = next_window(options, reader, &window, err);

	if (r == 0)
		return err_set(err, EINVAL, "%s: no operation", trace_reader_name(reader));
	if (r > 0)
		r = next_window(options, reader, &next, err);
	if (r > 0)
		return err_set(err, E2BIG,
			       "%s: more than %zu operations: a summary covers one window, see "
			       "--max-ops",
			       trace_reader_name(reader), options->max_ops);
	if (r < 0)
		return r;
	doc = summary_document(window);
	(void)json_dumpf(doc, stdout, JSON_COMPACT | JSON_REAL_PRECISION(ATTRIBUTION_DIGITS));
	(void)fputc('\n', stdout);
	return 0;
}

static int take_speeds(struct options *options, struct speeds *speeds, struct err *err)
{
	int r = options->speeds ? speeds_read(options->speeds, speeds, err) : 0;

	if (r < 0 || !options->speeds)
		return r;
	options->how.speeds = speeds;
	if (speeds->good.spread > 0 && !options->spread_said)
		options->how.spread = speeds->good.spread;
	return 0;
}

static int run(const struct options *options, struct err *err)
{
	CLEANUP(trace_reader_freep) struct trace_reader *reader = NULL;
	int r;

	r = trace_reader_open(options->trace, options->meta, &reader, err);
	if (r == 0)
		r = options->summary ? summarise(options, reader, err)
				     : answer(options, reader, err);
	if (r < 0)
		return r;
	if (fflush(stdout) != 0 || ferror(stdout))
		return err_set(err, EIO, "standard output cannot be written");
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {
		.form = form_default(),
		.max_ops = MAX_OPS,
		.how = ATTRIBUTION_OPTIONS,
	};
	struct speeds speeds = { .n = 0 };
	struct description description = { .path = NULL };
	struct err err = ERR_INIT;
	int r;

	argp_err_exit_status = STATUS_USAGE;
	argp_program_version = "assay-attribute " PACKAGE_VERSION;
	log_init("assay-attribute", LOG_INFO);
	if (argc > 1 && strcmp(argv[1], "hang") == 0)
		return hang_command(argc - 1, argv + 1);
	options.how.n_threads = crew_threads();
	options.how.min_slowdown = 0;
	(void)usage_parse(&argp, argc, argv, 0, NULL, &options);
	options.how.nodes = !options.summary;
	if (options.how.min_slowdown < 1)
		options.how.min_slowdown = options.summary ? SUMMARY_STRAGGLING : CAUSE_STRAGGLING;
	r = take_speeds(&options, &speeds, &err);
	if (r == 0 && options.remedies) {
		r = description_read(options.remedies, &description, &err);
		options.description = &description;
	}
	if (r == 0)
		r = run(&options, &err);
	speeds_release(&speeds);
	description_release(&description);
	if (r == 0)
		return STATUS_GOOD;
	if (status_of(r) == STATUS_USAGE)
		/* No prefix: it begins with the name of the bad file. */
		(void)fprintf(stderr, "%s\n", err.msg);
	else
		log_error("%s", err.msg);
	return status_of(r);
}
