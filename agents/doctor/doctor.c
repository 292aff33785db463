/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/doctor/doctor.h"

#include <argp.h>
#include <signal.h>

#include "agents/doctor/doctor_ask.h"
#include "agents/doctor/doctor_host.h"
#include "lib/sys/usage.h"

enum { STATUS_GOOD = 0, STATUS_BAD = 1, STATUS_USAGE = 2 };

/* In output order: what blocks all other checks comes first. */
static void (*const checks[])(struct doctor *d) = {
	doctor_host_switch, doctor_host_config, doctor_host_token,   doctor_host_state,
	doctor_host_spool,  doctor_host_probes, doctor_host_devices, doctor_host_units,
	doctor_host_runs,   doctor_ask,
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **config = state->input;

	if (key != 'c')
		return ARGP_ERR_UNKNOWN;
	*config = arg;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "config", 'c', "FILE", 0,
		  "assayd's configuration (default: /etc/assay/assayd.yaml)", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Checks that this host is set up to measure and to report. One line per "
		       "check, and what to do where something is wrong. Changes nothing.\v"
		       "Exit status: 0 nothing is bad, 1 something is, 2 usage.",
	};
	struct doctor d = { 0 };
	size_t i;

	argp_err_exit_status = STATUS_USAGE;
	(void)signal(SIGPIPE, SIG_IGN);
	if (usage_parse(&argp, argc, argv, 0, NULL, &d.config_path) != 0)
		return STATUS_USAGE;
	for (i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](&d);
	assayd_config_release(&d.config);
	return checklist_end(&d.list) ? STATUS_BAD : STATUS_GOOD;
}
