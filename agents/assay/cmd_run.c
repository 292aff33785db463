/* SPDX-License-Identifier: Apache-2.0 */
/* assay run: run probes on this host and show the results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/assay/commands.h"
#include "agents/assay/show_burn.h"
#include "agents/assay/show_run.h"
#include "agents/run/run.h"
#include "agents/run/verdict_file.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/json/kv.h"
#include "lib/judge/localise.h"
#include "lib/report/host_parts.h"

static void print_value(const struct run *run)
{
	CLEANUP(json_freep) json_t *value = run_encode(&run->report, &run->verdict);

	if (run->references.parts.n)
		(void)json_object_set_new(value, "parts", host_parts_encode(&run->references.parts));
	if (run->topology)
		(void)json_object_set(value, "topology", run->topology);
	command_print(value, run->options.output);
}

/* 0, or a negative errno if the output could not be written completely. */
static int show(const struct run *run)
{
	const enum exit_style style = run->options.style;
	const struct sample_list samples = { run->report.samples, run->report.n_samples };

	/* NHC takes no output as healthy. */
	if (style == EXIT_NHC && run->verdict.level != VERDICT_FAIL)
		return 0;
	if (run->options.output != OUTPUT_TABLE)
		print_value(run);
	else if (style != EXIT_ASSAY && !run->options.output_given)
		show_line(&run->verdict, style, stdout);
	else {
		show_run(&run->report, &run->verdict, &run->references.parts, stdout,
			 term_wants_colour(stdout), show_width(stdout));
		show_burn(&samples, &run->references.parts, stdout, term_wants_colour(stdout),
			  show_width(stdout));
	}
	/* Output larger than the buffer has failed earlier; then nothing is left to flush. */
	return ferror(stdout) || fflush(stdout) == EOF ? -EIO : 0;
}

int cmd_run(int argc, char **argv)
{
	CLEANUP(run_release) struct run run = { 0 };
	struct err err = ERR_INIT;
	int r = run_options_parse(argc, argv, &run.options, &err);

	if (r == 0)
		r = run_prepare(&run, &err);
	if (r < 0) {
		/* No prefix: it begins with the bad file or option. */
		command_complain("assay run", &err);
		return exit_status_usage(exit_style_peek(argc, argv));
	}
	if (run_disabled())
		return exit_status_of(run.options.style, VERDICT_INCONCLUSIVE);
	r = run_make(&run, &err);
	if (r == 0)
		r = show(&run);
	if (r < 0) {
		log_error("%s", err.msg[0] ? err.msg : "cannot write the result");
		return exit_status_set_up(run.options.style);
	}
	return exit_status_of(run.options.style, (enum verdict_level)run.verdict.level);
}
