/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-rhythm: samples counters of RNICs and GPUs for a while, to show how long a step of the
 * running job takes and whether it still makes progress. A separate program, started by `assay
 * rhythm`, because a read may hang forever on a faulty device.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/term.h"
#include "lib/sys/usage.h"
#include "probes/rhythm/rhythm_hosts.h"
#include "probes/rhythm/rhythm_words.h"

enum { STATUS_GOOD = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

enum {
	SECONDS_MIN = 1,
	SECONDS_MAX = 120,
	EVERY_MS_MIN = 10,
	EVERY_MS_MAX = 100,
	DECIMALS = 9,
};
/* A read that takes this much longer than all samples hangs. */
#define LATE_US (2 * USEC_PER_SEC)

struct options {
	unsigned seconds, every_ms;
	bool json;
	bool compare;
	char *files[RHYTHM_HOSTS_MAX]; /* borrowed; output from other hosts */
	size_t n_files;
};

static unsigned read_count(const char *name, const char *text, unsigned least, unsigned most,
			   struct argp_state *state)
{
	char *end = NULL;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || n < least || n > most)
		argp_error(state, "--%s: '%s' is not a whole number from %u to %u", name, text,
			   least, most);
	return (unsigned)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 's':
		options->seconds = read_count("seconds", arg, SECONDS_MIN, SECONDS_MAX, state);
		return 0;
	case 'e':
		options->every_ms = read_count("every", arg, EVERY_MS_MIN, EVERY_MS_MAX, state);
		return 0;
	case 'o':
		options->json = streq(arg, "json");
		if (!options->json && !streq(arg, "table"))
			argp_error(state, "-o: '%s' is neither table nor json", arg);
		return 0;
	case 'c':
		options->compare = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!options->compare)
			argp_error(state, "unexpected argument '%s'", arg);
		if (options->n_files == RHYTHM_HOSTS_MAX)
			argp_error(state, "more than %d files", RHYTHM_HOSTS_MAX);
		options->files[options->n_files++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->compare && options->n_files == 0)
			argp_error(state, "--compare: which files?");
		if (options->seconds * 1000 / options->every_ms < RHYTHM_SAMPLES_LEAST)
			argp_error(state, "--seconds %u: fewer than %d samples of %u ms",
				   options->seconds, RHYTHM_SAMPLES_LEAST, options->every_ms);
		if (options->seconds * 1000 / options->every_ms > RHYTHM_SAMPLES_MAX)
			argp_error(state, "--every %u: more than %d samples in %u s",
				   options->every_ms, RHYTHM_SAMPLES_MAX, options->seconds);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_table[] = {
	{ "seconds", 's', "N", 0, "How long to sample, in seconds (default 30; 1 to 120)", 0 },
	{ "every", 'e', "MS", 0, "Milliseconds between samples (default 20; 10 to 100)", 0 },
	{ "compare", 'c', NULL, 0,
	  "Take no samples; compare the hosts of one job from what this "
	  "program printed on each with -o json",
	  0 },
	{ "output", 'o', "table|json", 0, "Output format (default table)", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.args_doc = "[--compare FILE...]",
	.doc = "Estimates how long a step of the job on this host takes, and whether the job still "
	       "makes progress, from the counters of its RNICs and GPUs. Only reads counters.\v"
	       "Exit status: 0 answered, 1 no counter could be read, 2 usage.",
};

static void print_json(const json_t *document)
{
	(void)json_dumpf(document, stdout, JSON_COMPACT | JSON_REAL_PRECISION(DECIMALS));
	(void)fputc('\n', stdout);
}

/* Compare hosts. */
static int compare(const struct options *options)
{
	CLEANUP(json_freep) json_t *document = NULL;
	struct err err = ERR_INIT;

	if (rhythm_hosts_read(options->files, options->n_files, &document, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg); /* it starts with the file's name */
		return STATUS_USAGE;
	}
	if (options->json)
		print_json(document);
	else
		rhythm_hosts_table(document, stdout, term_wants_colour(stdout), term_width(stdout));
	return fflush(stdout) == 0 ? STATUS_GOOD : STATUS_FAILED;
}

/* If a set hangs in a read, it is abandoned: its thread keeps the memory. */
static void sample(const struct options *options, json_t *rows, json_t *missing)
{
	const uint64_t every_us = options->every_ms * USEC_PER_MSEC;
	const uint64_t begin_us = clock_mono_us();
	const uint64_t until_us = begin_us + options->seconds * USEC_PER_SEC + LATE_US;
	struct rhythm_set *sets[RHYTHM_KINDS];
	bool begun[RHYTHM_KINDS];
	int kind;

	for (kind = 0; kind < RHYTHM_KINDS; kind++) {
		sets[kind] = xcalloc(1, sizeof(*sets[kind]));
		sets[kind]->kind = (enum rhythm_kind)kind;
		sets[kind]->every_us = every_us;
		sets[kind]->samples = options->seconds * 1000 / options->every_ms;
		sets[kind]->begin_us = begin_us;
		begun[kind] = rhythm_counters_begin(sets[kind]) == 0;
	}
	for (kind = 0; kind < RHYTHM_KINDS; kind++) {
		const bool ended = begun[kind] && rhythm_counters_end(sets[kind], until_us);

		rhythm_words_rows((enum rhythm_kind)kind, ended ? sets[kind] : NULL, rows, missing);
		if (ended || !begun[kind])
			free(sets[kind]);
	}
}

int main(int argc, char **argv)
{
	struct options options = { .seconds = 30, .every_ms = 20 };
	CLEANUP(json_freep) json_t *document = NULL;
	json_t *rows, *missing;
	bool any;

	argp_err_exit_status = STATUS_USAGE;
	argp_program_version = "assay rhythm " PACKAGE_VERSION;
	log_init("assay rhythm", LOG_INFO);
	(void)usage_parse(&argp, argc, argv, 0, NULL, &options);
	if (options.compare)
		return compare(&options);
	rows = json_array();
	missing = json_array();
	sample(&options, rows, missing);
	any = json_array_size(rows) > 0;
	document = rhythm_words_document(options.seconds, options.every_ms * USEC_PER_MSEC, rows,
					 missing);
	if (options.json)
		print_json(document);
	else
		rhythm_words_table(document, stdout, term_wants_colour(stdout), term_width(stdout));
	if (fflush(stdout) != 0) {
		log_error("standard output cannot be written");
		return STATUS_FAILED;
	}
	return any ? STATUS_GOOD : STATUS_FAILED;
}
