/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/hang_command.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>

#include "attribution/hang_input.h"
#include "attribution/hang_table.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_words.h"
#include "lib/json/json.h"
#include "lib/sys/usage.h"

enum { STATUS_GOOD = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

struct options {
	char **paths; /* owned array of borrowed names */
	size_t n;
	bool json;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'o':
		options->json = streq(arg, "json");
		if (!options->json && !streq(arg, "table"))
			argp_error(state, "-o: '%s' is neither table nor json", arg);
		return 0;
	case ARGP_KEY_ARG:
		options->paths[options->n++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->n == 0)
			argp_error(state,
				   "which files? Give dumps, documents, or a directory of them");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_table[] = {
	{ "output", 'o', "table|json", 0, "Output format (default table)", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "FILE|DIR ...",
	.doc = "Shows which ranks have stopped a hung job.\vFILEs are dumps of PyTorch's flight "
	       "recorder (pickle or JSON), assay-hang/1 documents, answers of NCCL's RAS, stacks "
	       "of py-spy; of a DIR, all files of these kinds. "
	       "Exit status: 0 answered, 1 failed, 2 usage or unusable input.",
};

static int answer(const struct options *options, struct err *err)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	CLEANUP(json_freep) json_t *document = NULL;
	int r = hang_input_read(options->paths, options->n, &c, err);

	if (r == 0)
		r = hang_judge(&c, verdict, err);
	if (r < 0)
		return r;
	if (options->json) {
		document = hang_words_json(&c, verdict);
		(void)json_dumpf(document, stdout, JSON_COMPACT);
		(void)fputc('\n', stdout);
	} else {
		hang_table_write(&c, verdict, stdout);
	}
	if (fflush(stdout) != 0 || ferror(stdout))
		return err_set(err, EIO, "standard output cannot be written");
	return 0;
}

int hang_command(int argc, char **argv)
{
	CLEANUP(freep) char **paths = xcalloc((size_t)argc + 1, sizeof(*paths));
	char name[] = "assay-attribute hang";
	struct options options = { .paths = paths };
	struct err err = ERR_INIT;
	int r;

	argv[0] = name;
	(void)usage_parse(&argp, argc, argv, 0, NULL, &options);
	r = answer(&options, &err);
	if (r == 0)
		return STATUS_GOOD;
	if (r == -ENOMEM || r == -EIO) {
		log_error("%s", err.msg);
		return STATUS_FAILED;
	}
	(void)fprintf(stderr, "%s\n", err.msg);
	return STATUS_USAGE;
}
