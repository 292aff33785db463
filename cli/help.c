/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <stdlib.h>

#include "cli/command.h"
#include "lib/table.h"
#include "lib/xalloc.h"

enum { NAME_COLUMNS = 24 };

char *help_option(const struct option_row *row)
{
	CLEANUP(freep)
	char *letter = row->letter ? xasprintf("-%c, ", row->letter) : xstrdup("    ");

	if (!row->value)
		return xasprintf("%s--%s", letter, row->name);
	if (row->optional)
		return xasprintf("%s--%s[=%s]", letter, row->name, row->value);
	return xasprintf("%s--%s=%s", letter, row->name, row->value);
}

static void print_options(uint32_t options, FILE *out)
{
	size_t i;

	(void)fputs("\nOptions:\n", out);
	for (i = 0; i < N_OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];
		CLEANUP(freep) char *name = help_option(row);

		if (!(options & OPTION_BIT(i)))
			continue;
		(void)fprintf(out, "  %-28s %s", name, row->summary);
		if (row->environment)
			(void)fprintf(out, ", else $%s", row->environment);
		(void)fputc('\n', out);
	}
}

static void print_status(FILE *out, unsigned width)
{
	(void)fputc('\n', out);
	text_wrap("Exit status: " STATUS_WORDS ".", out, 0, width);
}

void help_all(FILE *out, unsigned width)
{
	const struct command *c;

	(void)fputs("Usage: assayctl COMMAND [OPTION...]\n"
		    "Shows what the fleet's hosts are judged to be, and why; takes them out of "
		    "service and gives them back.\n\n",
		    out);
	for (c = commands; c->words[0]; c++) {
		CLEANUP(freep) char *name = command_name(c);
		CLEANUP(freep)
		char *line = xasprintf("%s%s%s", name, c->argument.name ? " " : "",
				       c->argument.name ? c->argument.name : "");

		if (!c->hidden)
			(void)fprintf(out, "  %-*s %s\n", NAME_COLUMNS, line, c->summary);
	}
	print_options(OPTIONS_LINK | OPTIONS_ALWAYS, out);
	(void)fputs("\n`assayctl COMMAND --help` says more.\n", out);
	print_status(out, width);
}

void help_command(const struct command *command, FILE *out, unsigned width)
{
	CLEANUP(freep) char *name = command_name(command);
	const char *argument = command->argument.name;
	size_t i;

	(void)fprintf(out, "Usage: assayctl %s%s%s", name, argument ? " " : "",
		      argument ? argument : "");
	for (i = 0; i < N_OPTIONS; i++) {
		if (command->needs & OPTION_BIT(i))
			(void)fprintf(out, " --%s=%s", option_rows[i].name, option_rows[i].value);
	}
	(void)fputs(" [OPTION...]\n", out);
	text_wrap(command->description, out, 0, width);
	print_options(command->options | OPTIONS_ALWAYS, out);
	(void)fputs("\nExamples:\n", out);
	for (i = 0; i < EXAMPLES_MAX && command->examples[i].line; i++)
		(void)fprintf(out, "  %-44s %s\n", command->examples[i].line,
			      command->examples[i].what);
	print_status(out, width);
}
