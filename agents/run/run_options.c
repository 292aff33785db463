/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/run_options.h"

#include <argp.h>
#include <errno.h>

#include "agents/assayd/order_id.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "lib/sys/usage.h"

static const struct argp_option option_table[] = {
	{ "profile", RUN_OPT_PROFILE, "NAME", 0, "passive, quick (default) or full", 0 },
	{ "probe", RUN_OPT_PROBE, "NAME", 0, "Run only this probe; may be repeated", 0 },
	{ "budget", RUN_OPT_BUDGET, "DURATION", 0, "Time for the whole run, such as 45s", 0 },
	{ "wait", RUN_OPT_WAIT, "DURATION", 0, "Wait this long for another active run to end", 0 },
	{ "busy", RUN_OPT_BUSY, "skip|run", 0,
	  "What to do while a device is in use by others (default skip)", 0 },
	{ "policy", RUN_OPT_POLICY, "FILE", 0, "Judge by this policy", 0 },
	{ "sku", RUN_OPT_SKU, "FILE", 0,
	  "Judge by this SKU: a file, or a name of `assay list --skus`", 0 },
	{ "profiles", RUN_OPT_PROFILES, "FILE", 0,
	  "Read the profiles from this file instead of the installed ones", 0 },
	{ "report", RUN_OPT_REPORT, NULL, 0, "Send the report to the controller", 0 },
	{ "order", RUN_OPT_ORDER, "ID", OPTION_HIDDEN,
	  "The controller's order that this run answers", 0 },
	{ "order-kind", RUN_OPT_ORDER_KIND, "KIND", OPTION_HIDDEN,
	  "deep (default), pair or allreduce", 0 },
	{ "decline", RUN_OPT_DECLINE, "CODE:WHY", OPTION_HIDDEN,
	  "Run nothing; answer the order with a report of this problem", 0 },
	{ "exit-style", RUN_OPT_EXIT_STYLE, "STYLE", 0, "assay (default), nhc, nagios or npd", 0 },
	{ "output", 'o', "FORMAT", 0, "table (default), json or kv", 0 },
	{ 0 },
};

static const char deep_kind[] = "deep";

struct parsing {
	struct run_options *options;
	struct err *err;
};

static int parse_duration(const char *option, const char *arg, uint64_t *ret_us, struct err *err)
{
	int r = duration_parse(arg, ret_us, err);

	return r < 0 ? err_wrap(err, r, "%s", option) : 0;
}

static int parse_budget(const char *arg, struct run_options *o, struct err *err)
{
	int r = parse_duration("--budget", arg, &o->budget_us, err);

	if (r == 0 && o->budget_us == 0)
		return err_set(err, EINVAL, "--budget: must be longer than 0");
	return r;
}

static int parse_probe(const char *arg, struct run_options *o, struct err *err)
{
	if (o->n_probes == RUN_PROBES_MAX)
		return err_set(err, EINVAL, "--probe: given more than %d times", RUN_PROBES_MAX);
	o->probes[o->n_probes++] = arg;
	return 0;
}

static int parse_busy(const char *arg, struct run_options *o, struct err *err)
{
	o->run_busy = streq(arg, "run");
	if (!o->run_busy && !streq(arg, "skip"))
		return err_set(err, EINVAL, "--busy: '%.40s' is neither skip nor run", arg);
	return 0;
}

static int parse_style(const char *arg, struct run_options *o, struct err *err)
{
	if (exit_style_parse(arg, &o->style) < 0)
		return err_set(err, EINVAL,
			       "--exit-style: '%.40s' is not one of assay, nhc, nagios, npd", arg);
	return 0;
}

static int parse_output(const char *arg, struct run_options *o, struct err *err)
{
	o->output_given = true;
	return output_option(arg, &o->output, err);
}

static int parse_order(const char *arg, struct run_options *o, struct err *err)
{
	if (!order_id_ok(arg))
		return err_set(err, EINVAL, "--order: expected 1 to %d printable characters",
			       ORDER_ID_MAX);
	o->order = arg;
	return 0;
}

static int parse_order_kind(const char *arg, struct run_options *o, struct err *err)
{
	static const char *const kinds[] = { deep_kind, "pair", "allreduce" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (streq(arg, kinds[i])) {
			o->order_kind = kinds[i];
			return 0;
		}
	}
	return err_set(err, EINVAL, "--order-kind: '%.40s' is not one of deep, pair, allreduce",
		       arg);
}

bool run_options_meet(const struct run_options *o)
{
	return o->order && !streq(o->order_kind, deep_kind);
}

/* Only reasons that blame nobody or can be fixed; not what a probe did, as none was run. */
static int parse_decline(const char *arg, struct run_options *o, struct err *err)
{
	static const int codes[] = { PROBLEM_BUSY, PROBLEM_SET_UP, PROBLEM_NOT_APPLICABLE,
				     PROBLEM_TIMEOUT };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		const char *name = problem_code_names[codes[i]];
		const size_t length = strlen(name);

		if (strncmp(arg, name, length) != 0 || arg[length] != ':')
			continue;
		o->decline = arg + length + 1;
		o->decline_code = codes[i];
		if (o->decline[0] && strlen(o->decline) <= RUN_DECLINE_MAX)
			return 0;
	}
	return err_set(err, EINVAL,
		       "--decline: expected busy, set-up, not-applicable or timeout, a colon and "
		       "the reason");
}

static int keep(const char *arg, const char **ret)
{
	*ret = arg;
	return 0;
}

int run_options_take(int key, const char *arg, struct run_options *o, struct err *err)
{
	switch (key) {
	case RUN_OPT_PROFILE:
		return keep(arg, &o->profile);
	case RUN_OPT_POLICY:
		return keep(arg, &o->policy);
	case RUN_OPT_SKU:
		return keep(arg, &o->sku);
	case RUN_OPT_PROFILES:
		return keep(arg, &o->profiles);
	case RUN_OPT_PROBE:
		return parse_probe(arg, o, err);
	case RUN_OPT_BUDGET:
		return parse_budget(arg, o, err);
	case RUN_OPT_WAIT:
		return parse_duration("--wait", arg, &o->wait_us, err);
	case RUN_OPT_BUSY:
		return parse_busy(arg, o, err);
	case RUN_OPT_ORDER:
		return parse_order(arg, o, err);
	case RUN_OPT_ORDER_KIND:
		return parse_order_kind(arg, o, err);
	case RUN_OPT_DECLINE:
		return parse_decline(arg, o, err);
	case RUN_OPT_EXIT_STYLE:
		return parse_style(arg, o, err);
	case 'o':
		return parse_output(arg, o, err);
	case RUN_OPT_REPORT:
		o->report = true;
		return 0;
	case ARGP_KEY_ARG:
		return err_set(err, EINVAL, "'%.80s': takes no arguments; see --help", arg);
	default:
		return 1; /* not ours */
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;
	int r;

	/* Everything after "--" is for the probe. */
	if (key == ARGP_KEY_ARG && state->quoted) {
		parsing->options->args = state->argv + state->quoted;
		state->next = state->argc;
		return 0;
	}
	r = run_options_take(key, arg, parsing->options, parsing->err);
	return r > 0 ? ARGP_ERR_UNKNOWN : -r;
}

static int check_args(const struct run_options *o, struct err *err)
{
	if (o->args && o->n_probes != 1)
		return err_set(
			err, EINVAL,
			"--: the arguments after it are passed to one probe: name it with --probe");
	if (o->args && strv_len(o->args) > RUN_ARGS_MAX)
		return err_set(err, EINVAL, "--: more than %d arguments for the probe",
			       RUN_ARGS_MAX);
	return 0;
}

int run_options_parse(int argc, char **argv, struct run_options *ret, struct err *err)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.args_doc = "[-- ARGUMENT...]",
		.doc = "Runs the probes of a profile on this host and judges what they find.\v"
		       "Arguments after -- are passed to the one probe that --probe names. "
		       "Exit status: 0 pass or warn, 1 fail, 2 usage or bad input, 3 could not "
		       "tell; other styles have their own.",
	};
	struct run_options options = { .style = exit_style_peek(argc, argv),
				       .order_kind = deep_kind };
	struct parsing parsing = { .options = &options, .err = err };
	error_t r;

	argp_err_exit_status = exit_status_usage(options.style);
	r = usage_parse(&argp, argc, argv, 0, NULL, &parsing);
	if (r == 0)
		r = -check_args(&options, err);
	if (r == 0)
		*ret = options;
	return -r;
}
