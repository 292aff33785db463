/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"

enum { NAME_COLUMNS = 24, OPTION_COLUMNS = 28, EXAMPLE_COLUMNS = 44 };

char *help_option(const struct option_row *row)
{
	CLEANUP(freep)
	char *letter = row->letter ? xasprintf("-%c, ", row->letter) : xstrdup("    ");

	if (!row->value)
		return xasprintf("%s--%s", letter, row->name);
	if (row->without_us)
		return xasprintf("%s--%s[=%s]", letter, row->name, row->value);
	return xasprintf("%s--%s=%s", letter, row->name, row->value);
}

/* "  NAME   text", with the text wrapped beside the name. */
static void print_pair(const char *name, unsigned columns, const char *text, FILE *out,
		       unsigned width)
{
	CLEANUP(freep) char *wrapped = NULL;
	const unsigned before = columns + 3;
	size_t length = 0;
	FILE *lines = open_memstream(&wrapped, &length);

	if (!lines)
		return;
	text_wrap(text, lines, before, width);
	(void)fclose(lines);
	(void)fprintf(out, "  %-*s %s", (int)columns, name,
		      length > before ? wrapped + before : "\n");
}

static void print_options(uint64_t options, FILE *out, unsigned width)
{
	size_t i;

	(void)fputs("\nOptions:\n", out);
	for (i = 0; i < N_OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];
		CLEANUP(freep) char *name = help_option(row);
		CLEANUP(freep)
		char *text = xasprintf("%s%s%s", row->summary, row->environment ? ", else $" : "",
				       row->environment ? row->environment : "");

		if (options & OPTION_BIT(i))
			print_pair(name, OPTION_COLUMNS, text, out, width);
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

	(void)fputs("Usage: assayctl COMMAND [OPTION...]\n", out);
	text_wrap("Shows the verdicts on a fleet's hosts and the reasons for them, and what slows "
		  "jobs down; takes hosts out of service and puts them back.",
		  out, 0, width);
	for (c = commands; c->words[0]; c++) {
		CLEANUP(freep) char *name = command_name(c);
		CLEANUP(freep)
		char *line = xasprintf("%s%s%s", name, c->argument.name ? " " : "",
				       c->argument.name ? c->argument.name : "");

		if (c->group)
			(void)fprintf(out, "\n%s:\n", c->group);
		if (!c->hidden)
			print_pair(line, NAME_COLUMNS, c->summary, out, width);
	}
	print_options(OPTIONS_LINK | OPTIONS_ALWAYS, out, width);
	(void)fputs("\nSee `assayctl COMMAND --help`.\n", out);
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
	print_options(command->options | OPTIONS_ALWAYS, out, width);
	(void)fputs("\nExamples:\n", out);
	for (i = 0; i < EXAMPLES_MAX && command->examples[i].line; i++)
		print_pair(command->examples[i].line, EXAMPLE_COLUMNS, command->examples[i].what,
			   out, width);
	print_status(out, width);
}
