/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl man: generates the manual page assayctl(1), in man(7), from the tables. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/help.h"
#include "lib/base/xalloc.h"

/* Date of the last change that matters to readers. */
#define MANUAL_DATE "2026-11-26"

enum { LINE_COLUMNS = 72 };

/* Literal text: escapes characters that are special in roff. */
static void put(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\\')
			(void)fputs("\\e", out);
		else if (*text == '-')
			(void)fputs("\\-", out);
		else if (*text == '\'')
			(void)fputs("\\(aq", out);
		else
			(void)fputc(*text, out);
	}
}

/* The same, wrapped at spaces. */
static void fill(const char *text, FILE *out)
{
	size_t column = 0;

	while (*text) {
		size_t length = strcspn(text, " ");
		CLEANUP(freep) char *word = xstrndup(text, length);

		if (column && column + length > LINE_COLUMNS) {
			(void)fputc('\n', out);
			column = 0;
		}
		(void)fputs(column ? " " : "", out);
		(void)fputs(column == 0 && *word == '.' ? "\\&" : "", out);
		put(word, out);
		column += length + 1;
		text += length + strspn(text + length, " ");
	}
}

/* Paragraphs, separated by empty lines. */
static void paragraphs(const char *text, FILE *out)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t length = end ? (size_t)(end - text) : strlen(text);
		CLEANUP(freep) char *one = xstrndup(text, length);

		fill(one, out);
		(void)fputs(end ? "\n.PP\n" : "\n", out);
		text += length + (end ? 2 : 0);
	}
}

static void option(const struct option_row *row, FILE *out)
{
	CLEANUP(freep) char *name = help_option(row);

	(void)fputs(".TP\n\\fB", out);
	put(name + strspn(name, " "), out);
	(void)fputs("\\fR\n", out);
	fill(row->summary, out);
	if (row->environment)
		(void)fprintf(out, ";\nelse the environment variable \\fB%s\\fR", row->environment);
	(void)fputs(".\n", out);
}

static void options(uint64_t bits, FILE *out)
{
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		if (bits & OPTION_BIT(i))
			option(&option_rows[i], out);
	}
}

static void command(const struct command *c, FILE *out)
{
	CLEANUP(freep) char *name = command_name(c);
	size_t i;

	(void)fprintf(out, ".SS \"%s%s%s\"\n", name, c->argument.name ? " " : "",
		      c->argument.name ? c->argument.name : "");
	paragraphs(c->description, out);
	options(c->options & ~OPTIONS_LINK, out);
	for (i = 0; i < EXAMPLES_MAX && c->examples[i].line; i++) {
		(void)fputs(".PP\nExample, ", out);
		put(c->examples[i].what, out);
		(void)fputs(":\n.PP\n.RS 4\n.nf\n\\&", out);
		put(c->examples[i].line, out);
		(void)fputs("\n.fi\n.RE\n", out);
	}
}

static void environment(FILE *out)
{
	size_t i;

	(void)fputs(".SH ENVIRONMENT\n", out);
	for (i = 0; i < N_OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];

		if (!row->environment)
			continue;
		(void)fprintf(out, ".TP\n.B %s\nDefault of ", row->environment);
		(void)fputs("\\fB", out);
		put("--", out);
		put(row->name, out);
		(void)fputs("\\fR.\n", out);
	}
	(void)fputs(".TP\n.B NO_COLOR\nNo colours, if set and not empty.\n", out);
}

static const char head[] =
	".SH NAME\nassayctl \\- show the state of a fleet's hosts, and act on it\n"
	".SH SYNOPSIS\n.B assayctl\n.I COMMAND\n.RI [ OPTION .\\|.\\|.]\n"
	".SH DESCRIPTION\n";

static const char description[] =
	"Asks an assay-controller and prints the answer as a table, or as JSON or key=value lines "
	"for "
	"programs. Options may stand before or after the command.\n\n"
	"Text that hosts send cannot control the terminal: control characters, marks that change "
	"the "
	"direction of writing and characters without a glyph are shown as a question mark, in JSON "
	"and key=value lines as \\u and their number.\n\n"
	"With --watch the terminal is redrawn in place and changes are marked with an asterisk; "
	"elsewhere each change is printed below the one before, in JSON as one line. A controller "
	"that does not answer is retried less and less often, and the display says since when it "
	"has been stale. Ctrl-C ends it.";

static const char tail[] =
	".SH SEE ALSO\n"
	"docs/openapi.yaml of the sources: the API of the controller, whose answers\n"
	"\\fB\\-o json\\fR prints. docs/formats.md: what the keys mean. docs/jobs.md: traces of\n"
	"jobs, and what follows from them. docs/glossary.md: every word.\n";

int run_manual(const struct request *request UNUSED)
{
	const struct command *c;
	FILE *out = stdout;

	(void)fprintf(out, ".TH ASSAYCTL 1 %s \"assay %s\" \"User Commands\"\n", MANUAL_DATE,
		      PACKAGE_VERSION);
	(void)fputs(head, out);
	paragraphs(description, out);
	(void)fputs(".SH COMMANDS\n", out);
	for (c = commands; c->words[0]; c++) {
		if (!c->hidden)
			command(c, out);
	}
	(void)fputs(".SH OPTIONS\nFor every command that asks the controller:\n", out);
	options(OPTIONS_LINK | OPTIONS_ALWAYS, out);
	environment(out);
	(void)fputs(".SH EXIT STATUS\n", out);
	fill(STATUS_WORDS ".", out);
	(void)fputc('\n', out);
	(void)fputs(tail, out);
	return STATUS_GOOD;
}
