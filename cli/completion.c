/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl completion SHELL: a script made from the tables of commands and options.
 *
 * Names of hosts and jobs come from the controller at completion time, so they are untrusted:
 * only those of letters, digits, '.', '_' and '-' are offered (for jobs also '/', ':', '@' and
 * '+'), and the shell never expands them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

static const char *const shells[] = { "bash", "zsh", "fish", NULL };

/* How scripts get names: member `key` of the items of `list`. */
#define NAMES(list, key, characters)                                 \
	"assayctl " list " -o kv --timeout 2s 2>/dev/null | sed -n " \
	"'s,^items\\.[0-9]*\\." key "=\\([" characters "]*\\)$,\\1,p'"
#define NAMES_OF_NODES NAMES("nodes", "node", "A-Za-z0-9._-")
#define NAMES_OF_JOBS NAMES("jobs", "job", "A-Za-z0-9._/:@+-")

/* Completions of an option's value or an argument. */
enum values { VALUES_NONE, VALUES_WORDS, VALUES_FILES, VALUES_NODES, VALUES_JOBS };

static enum values values_of_option(const struct option_row *row)
{
	if (row->choices)
		return VALUES_WORDS;
	if (row->kind == OPTION_IS_FILE)
		return VALUES_FILES;
	if (row->kind == OPTION_IS_JOB)
		return VALUES_JOBS;
	return row->kind == OPTION_IS_NODE ? VALUES_NODES : VALUES_NONE;
}

static void put_words(const char *const *words, FILE *out)
{
	for (; *words; words++)
		(void)fprintf(out, "%s%s", *words, words[1] ? " " : "");
}

static void put_options(uint64_t options, FILE *out)
{
	const char *space = "";
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		if (!(options & OPTION_BIT(i)))
			continue;
		(void)fprintf(out, "%s--%s", space, option_rows[i].name);
		space = " ";
	}
}

/* Is it the first command with this first word? */
static bool is_first_word(const struct command *command)
{
	const struct command *c;

	for (c = commands; c != command; c++) {
		if (streq(c->words[0], command->words[0]))
			return false;
	}
	return !command->hidden;
}

/* Single-quote for any shell; fish and the others both escape a quote as '\''. */
static void put_quoted(const char *text, FILE *out)
{
	(void)fputc('\'', out);
	for (; *text; text++)
		(void)fputs(*text == '\'' ? "'\\''" : (char[]){ *text, '\0' }, out);
	(void)fputc('\'', out);
}

/* --- bash and zsh: common core, which sets `words`, `kind` and `from` --- */

/* Patterns of options that take the next word as value: "--output|-o|--cacert". */
static void put_taking(FILE *out)
{
	const char *bar = "";
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];

		if (!row->value || row->without_us)
			continue;
		(void)fprintf(out, "%s--%s", bar, row->name);
		bar = "|";
		if (row->letter)
			(void)fprintf(out, "|-%c", row->letter);
	}
}

static void put_case_values(FILE *out)
{
	static const char *const kinds[] = { "none", "words", "files", "nodes", "jobs" };
	size_t i;

	(void)fputs("\tcase $1 in\n", out);
	for (i = 0; i < N_OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];

		if (!row->value || row->without_us)
			continue;
		(void)fprintf(out, "\t--%s", row->name);
		if (row->letter)
			(void)fprintf(out, "|-%c", row->letter);
		(void)fprintf(out, ") kind=%s; list='", kinds[values_of_option(row)]);
		if (row->choices)
			put_words(row->choices, out);
		(void)fputs("'; return ;;\n", out);
	}
	(void)fputs("\tesac\n", out);
}

static void put_case_words(FILE *out)
{
	const struct command *c, *other;

	(void)fputs("\tcase $2 in\n\t'') list='", out);
	for (c = commands; c->words[0]; c++) {
		if (is_first_word(c))
			(void)fprintf(out, "%s%s", c == commands ? "" : " ", c->words[0]);
	}
	(void)fputs("' ;;\n", out);
	for (c = commands; c->words[0]; c++) {
		if (!c->words[1] || !is_first_word(c))
			continue;
		(void)fprintf(out, "\t' %s') list='", c->words[0]);
		for (other = c; other->words[0]; other++) {
			if (other->words[1] && streq(other->words[0], c->words[0]))
				(void)fprintf(out, "%s%s", other == c ? "" : " ", other->words[1]);
		}
		(void)fputs("' ;;\n", out);
	}
	(void)fputs("\tesac\n", out);
}

/* The options of a command that was typed without or, with " '*", with an argument. */
static void put_case_options(const struct command *c, const char *name, const char *more, FILE *out)
{
	(void)fprintf(out, "\t' %s%s) options='", name, *more ? more : "'");
	put_options(c->options | OPTIONS_ALWAYS, out);
	(void)fputs("'", out);
}

static void put_case_commands(FILE *out)
{
	const struct command *c;

	(void)fputs("\tcase $2 in\n", out);
	for (c = commands; c->words[0]; c++) {
		CLEANUP(freep) char *name = command_name(c);

		if (c->hidden)
			continue;
		put_case_options(c, name, "", out);
		if (c->argument.kind == ARGUMENT_NODE && c->argument.name)
			(void)fputs("; kind=nodes", out);
		if (c->argument.kind == ARGUMENT_JOB)
			(void)fputs("; kind=jobs", out);
		if (c->argument.kind == ARGUMENT_FILE)
			(void)fputs("; kind=files", out);
		if (c->argument.kind == ARGUMENT_SHELL) {
			(void)fputs("; list='", out);
			put_words(shells, out);
			(void)fputs("'", out);
		}
		(void)fputs(" ;;\n", out);
		if (c->argument.name) {
			put_case_options(c, name, " '*", out);
			(void)fputs(" ;;\n", out);
		}
	}
	(void)fputs("\tesac\n", out);
}

/*
 * _assayctl_ask OPTION COMMAND: sets `kind`, `list` and `options` to what may follow the option
 * (or "") and the words so far; _assayctl_command WORD...: the words of the command among those
 * typed.
 */
static void put_core(FILE *out)
{
	(void)fputs("_assayctl_ask() {\n\tkind=words list= options='", out);
	put_options(OPTIONS_LINK | OPTIONS_ALWAYS, out);
	(void)fputs("'\n", out);
	put_case_values(out);
	put_case_words(out);
	put_case_commands(out);
	(void)fputs(
		"}\n_assayctl_command() {\n\tlocal word skip=\n\tcommand=\n"
		"\tfor word in \"$@\"; do\n\t\tif [[ $word == '=' ]]; then skip=1; continue; fi\n"
		"\t\tif [[ -n $skip ]]; then skip=; continue; fi\n\t\tcase $word in\n\t\t",
		out);
	put_taking(out);
	(void)fputs(") skip=1 ;;\n\t\t-*) ;;\n\t\t*) command=\"$command $word\" ;;\n\t\tesac\n"
		    "\tdone\n}\n_assayctl_nodes() {\n\t" NAMES_OF_NODES "\n}\n"
		    "_assayctl_jobs() {\n\t" NAMES_OF_JOBS "\n}\n",
		    out);
}

static void put_bash(FILE *out)
{
	(void)fputs("# Completion of assayctl for bash: source <(assayctl completion bash)\n", out);
	put_core(out);
	(void)fputs("_assayctl() {\n"
		    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
		    "kind list options command name\n"
		    "\tCOMPREPLY=()\n"
		    "\tif [[ $cur == '=' ]]; then cur=\n"
		    "\telif [[ $prev == '=' ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
		    "\t_assayctl_command \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"\n"
		    "\t_assayctl_ask \"$prev\" \"$command\"\n"
		    "\tif [[ $cur == -* ]]; then kind=words list=$options; fi\n"
		    "\tcase $kind in\n"
		    "\twords) COMPREPLY=($(compgen -W \"$list\" -- \"$cur\")) ;;\n"
		    "\tfiles) compopt -o filenames 2>/dev/null\n"
		    "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
		    "\tnodes|jobs) COMPREPLY=($(compgen -W \"$list\" -- \"$cur\"))\n"
		    "\t\twhile IFS= read -r name; do\n"
		    "\t\t\tif [[ $name == \"$cur\"* ]]; then COMPREPLY+=(\"$name\"); fi\n"
		    "\t\tdone < <(_assayctl_\"$kind\") ;;\n"
		    "\tesac\n"
		    "}\n"
		    "complete -F _assayctl assayctl\n",
		    out);
}

static void put_zsh(FILE *out)
{
	(void)fputs("#compdef assayctl\n"
		    "# Completion of assayctl for zsh: source <(assayctl completion zsh)\n",
		    out);
	put_core(out);
	(void)fputs(
		"_assayctl() {\n"
		"\temulate -L zsh\n"
		"\tlocal cur=${words[CURRENT]} prev=${words[CURRENT-1]} kind list options command\n"
		"\t_assayctl_command \"${(@)words[2,CURRENT-1]}\"\n"
		"\tif [[ $cur == --*=* ]]; then prev=${cur%%=*}; compset -P '*='; fi\n"
		"\t_assayctl_ask \"$prev\" \"$command\"\n"
		"\tif [[ $cur == -* && $cur != *=* ]]; then kind=words list=$options; fi\n"
		"\tcase $kind in\n"
		"\twords) compadd -- ${=list} ;;\n"
		"\tfiles) _files ;;\n"
		"\tnodes|jobs) compadd -- ${=list} ${(f)\"$(_assayctl_$kind)\"} ;;\n"
		"\tesac\n"
		"}\n"
		"if [[ $funcstack[1] == _assayctl ]]; then _assayctl \"$@\"; "
		"else compdef _assayctl assayctl; fi\n",
		out);
}

/* --- fish --- */

/* The condition that this command is being typed. */
static void put_fish_condition(const struct command *command, FILE *out)
{
	(void)fprintf(out, "-n '__fish_seen_subcommand_from %s", command->words[0]);
	if (command->words[1])
		(void)fprintf(out, "; and __fish_seen_subcommand_from %s", command->words[1]);
	(void)fputs("'", out);
}

static void put_fish_option(const struct command *command, const struct option_row *row, FILE *out)
{
	(void)fputs("complete -c assayctl ", out);
	put_fish_condition(command, out);
	(void)fprintf(out, " -l %s", row->name);
	if (row->letter)
		(void)fprintf(out, " -s %c", row->letter);
	if (row->value && !row->without_us)
		(void)fputs(values_of_option(row) == VALUES_FILES ? " -r -F" : " -x", out);
	if (values_of_option(row) == VALUES_NODES)
		(void)fputs(" -a '(__assayctl_nodes)'", out);
	if (values_of_option(row) == VALUES_JOBS)
		(void)fputs(" -a '(__assayctl_jobs)'", out);
	if (row->choices) {
		(void)fputs(" -a '", out);
		put_words(row->choices, out);
		(void)fputs("'", out);
	}
	(void)fputs(" -d ", out);
	put_quoted(row->summary, out);
	(void)fputc('\n', out);
}

static void put_fish_command(const struct command *c, FILE *out)
{
	size_t i;

	if (is_first_word(c)) {
		(void)fprintf(out, "complete -c assayctl -n __fish_use_subcommand -a %s -d ",
			      c->words[0]);
		put_quoted(c->words[1] ? "" : c->summary, out);
		(void)fputc('\n', out);
	}
	if (c->words[1]) {
		(void)fprintf(out,
			      "complete -c assayctl -n '__fish_seen_subcommand_from %s' -a %s -d ",
			      c->words[0], c->words[1]);
		put_quoted(c->summary, out);
		(void)fputc('\n', out);
	}
	if (c->argument.name) {
		(void)fputs("complete -c assayctl ", out);
		put_fish_condition(c, out);
		if (c->argument.kind == ARGUMENT_NODE)
			(void)fputs(" -a '(__assayctl_nodes)'", out);
		if (c->argument.kind == ARGUMENT_JOB)
			(void)fputs(" -a '(__assayctl_jobs)'", out);
		if (c->argument.kind == ARGUMENT_FILE)
			(void)fputs(" -F", out);
		if (c->argument.kind == ARGUMENT_SHELL)
			(void)fputs(" -a 'bash zsh fish'", out);
		(void)fputc('\n', out);
	}
	for (i = 0; i < N_OPTIONS; i++) {
		if ((c->options | OPTIONS_ALWAYS) & OPTION_BIT(i))
			put_fish_option(c, &option_rows[i], out);
	}
}

static void put_fish(FILE *out)
{
	const struct command *c;

	(void)fputs("# Completion of assayctl for fish: assayctl completion fish | source\n"
		    "function __assayctl_nodes\n\t" NAMES_OF_NODES "\nend\n"
		    "function __assayctl_jobs\n\t" NAMES_OF_JOBS "\nend\n"
		    "complete -c assayctl -f\n",
		    out);
	for (c = commands; c->words[0]; c++) {
		if (!c->hidden)
			put_fish_command(c, out);
	}
}

int run_completion(const struct request *request)
{
	static void (*const put[])(FILE *) = { put_bash, put_zsh, put_fish };
	size_t i;

	for (i = 0; shells[i]; i++) {
		if (streq(shells[i], request->argument)) {
			put[i](stdout);
			return STATUS_GOOD;
		}
	}
	log_error("completion: '%.40s' is not one of bash, zsh, fish", request->argument);
	return STATUS_USAGE;
}
