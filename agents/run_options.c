/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run_options.h"

#include <argp.h>
#include <errno.h>

#include "agents/order_id.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/usage.h"

static const struct argp_option option_table[] = {
	{ "profile", RUN_OPT_PROFILE, "NAME", 0, "passive, quick (default) or full", 0 },
	{ "probe", RUN_OPT_PROBE, "NAME", 0, "Only this probe; may be given several times", 0 },
	{ "budget", RUN_OPT_BUDGET, "DURATION", 0, "Wall clock of the whole run, as 45s", 0 },
	{ "wait", RUN_OPT_WAIT, "DURATION", 0, "Wait this long for another active run to end", 0 },
	{ "busy", RUN_OPT_BUSY, "skip|run", 0, "When others use a device (default skip)", 0 },
	{ "policy", RUN_OPT_POLICY, "FILE", 0, "Judge by this policy", 0 },
	{ "sku", RUN_OPT_SKU, "FILE", 0, "Judge by this SKU file", 0 },
	{ "profiles", RUN_OPT_PROFILES, "FILE", 0, "Profiles other than those installed", 0 },
	{ "report", RUN_OPT_REPORT, NULL, 0, "Hand the report to the controller", 0 },
	{ "order", RUN_OPT_ORDER, "ID", 0, "The controller's order that this run answers", 0 },
	{ "exit-style", RUN_OPT_EXIT_STYLE, "STYLE", 0, "assay (default), nhc, nagios or npd", 0 },
	{ "output", 'o', "FORMAT", 0, "table (default), json or kv", 0 },
	{ 0 },
};

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
			       "--exit-style: '%.40s' is none of assay, nhc, nagios, npd", arg);
	return 0;
}

static int parse_output(const char *arg, struct run_options *o, struct err *err)
{
	o->output_given = true;
	if (output_parse(arg, &o->output) < 0)
		return err_set(err, EINVAL, "-o: '%.40s' is none of table, json, kv", arg);
	return 0;
}

static int parse_order(const char *arg, struct run_options *o, struct err *err)
{
	if (!order_id_ok(arg))
		return err_set(err, EINVAL, "--order: want 1 to %d printable characters",
			       ORDER_ID_MAX);
	o->order = arg;
	return 0;
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
	int r = run_options_take(key, arg, parsing->options, parsing->err);

	return r > 0 ? ARGP_ERR_UNKNOWN : -r;
}

int run_options_parse(int argc, char **argv, struct run_options *ret, struct err *err)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.doc = "Run the probes of a profile on this host and judge what they found.\v"
		       "Exit status: 0 pass or warn, 1 fail, 2 usage or bad input, 3 could not "
		       "tell; other styles have their own.",
	};
	struct run_options options = { .style = exit_style_peek(argc, argv) };
	struct parsing parsing = { .options = &options, .err = err };
	error_t r;

	argp_err_exit_status = exit_status_set_up(options.style);
	r = usage_parse(&argp, argc, argv, 0, NULL, &parsing);
	if (r == 0)
		*ret = options;
	return -r;
}
