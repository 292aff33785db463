/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/doctor/doctor.h"

#include <argp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "agents/doctor/doctor_ask.h"
#include "agents/doctor/doctor_host.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/term.h"
#include "lib/sys/usage.h"

enum { STATUS_GOOD = 0, STATUS_BAD = 1, STATUS_USAGE = 2 };

enum { ITEM_WIDTH = 11, SENTENCE_MAX = 2048 };

/* In the order in which they are told: what stops all the rest comes first. */
static void (*const checks[])(struct doctor *d) = {
	doctor_host_switch, doctor_host_config, doctor_host_token,   doctor_host_state,
	doctor_host_spool,  doctor_host_probes, doctor_host_devices, doctor_host_units,
	doctor_host_runs,   doctor_ask,
};

static const struct {
	const char *word;
	enum paint paint;
} states[] = {
	[DOCTOR_OK] = { "ok", PAINT_GOOD },
	[DOCTOR_SKIPPED] = { "-", PAINT_DIM },
	[DOCTOR_WARN] = { "warn", PAINT_UNSURE },
	[DOCTOR_BAD] = { "bad", PAINT_BAD },
};

void doctor_say(struct doctor *d, enum doctor_state state, const char *item, const char *fmt, ...)
{
	const bool colour = isatty(STDOUT_FILENO);
	CLEANUP(freep) char *clean = NULL;
	char text[SENTENCE_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	clean = utf8_clean(text);
	d->counts[state]++;
	(void)printf("%s%-4s%s  %-*s %s\n", paint_on(colour, states[state].paint),
		     states[state].word, paint_off(colour), ITEM_WIDTH, item, clean);
}

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
		.doc = "Is this host set up to be measured, and to report? One line a check, with "
		       "what "
		       "to do where it is not. Changes nothing.\v"
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
	(void)printf("\n%u bad, %u to look at, %u good\n", d.counts[DOCTOR_BAD],
		     d.counts[DOCTOR_WARN], d.counts[DOCTOR_OK]);
	return d.counts[DOCTOR_BAD] > 0 ? STATUS_BAD : STATUS_GOOD;
}
