/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/usage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/macro.h"

/* The parser passed to usage_parse(): argp has no place for it besides its input. */
static argp_parser_t inner;

/* getopt has printed its own messages; argp's begin here. */
static ssize_t write_complaint(void *cookie UNUSED, const char *text, size_t size)
{
	const char *end = memchr(text, '\n', size);
	size_t length = end ? (size_t)(end - text) + 1 : size;

	if (size < 4 || memcmp(text, "Try ", 4) != 0)
		(void)fwrite(text, 1, length, stderr);
	return (ssize_t)size;
}

static error_t begin(int key, char *arg, struct argp_state *state)
{
	const cookie_io_functions_t functions = { .write = write_complaint };

	if (key == ARGP_KEY_INIT && state->err_stream == stderr) {
		FILE *complaints = fopencookie(NULL, "w", functions);

		/* Without memory argp prints its own two lines. */
		state->err_stream = complaints ? complaints : stderr;
	}
	if (key == ARGP_KEY_FINI && state->err_stream != stderr) {
		(void)fclose(state->err_stream);
		state->err_stream = stderr;
	}
	return inner ? inner(key, arg, state) : ARGP_ERR_UNKNOWN;
}

error_t usage_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *ret_index,
		    void *input)
{
	struct argp with = *argp;

	inner = argp->parser;
	with.parser = begin;
	return argp_parse(&with, argc, argv, flags, ret_index, input);
}

error_t usage_one_file(int key, char *arg, struct argp_state *state)
{
	const char **file = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*file)
			argp_error(state, "'%.80s': takes only one file", arg);
		*file = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which file?");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
