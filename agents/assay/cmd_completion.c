/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay completion SHELL: a script that calls `assay --help` and `assay COMMAND --help` for
 * completion, so that it only offers commands of this build.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>

#include "agents/assay/commands.h"
#include "lib/base/macro.h"
#include "lib/sys/usage.h"

enum { STATUS_USAGE = 2 };

#define COMMANDS "assay --help 2>/dev/null | sed -n 's/^  \\([a-z]*\\)  .*/\\1/p'"
#define OPTIONS "--help 2>/dev/null | sed -n 's/.*  *\\(--[a-z-]*\\).*/\\1/p'"
#define PROBES "assay list -o kv 2>/dev/null | sed -n 's/^probes\\.[0-9]*\\.probe=//p'"

static const char bash[] =
	"# bash completion of assay: source <(assay completion bash)\n"
	"_assay()\n"
	"{\n"
	"	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} some=\n"
	"	COMPREPLY=()\n"
	"	[ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"	[ \"$cur\" != = ] || { before=${COMP_WORDS[COMP_CWORD - 1]}; cur=; }\n"
	"	case $before in\n"
	"	assay | help) [ \"$COMP_CWORD\" -gt 2 ] || some=\"$(" COMMANDS
	") help version\" ;;\n"
	"	--profile) some=\"passive quick full\" ;;\n"
	"	--probe) some=$(" PROBES ") ;;\n"
	"	--busy) some=\"skip run\" ;;\n"
	"	--exit-style) some=\"assay nhc nagios npd\" ;;\n"
	"	-o | --output) some=\"table json kv\" ;;\n"
	"	completion) some=\"bash zsh fish\" ;;\n"
	"	esac\n"
	"	[ -n \"$some\" ] || [ \"${cur#-}\" = \"$cur\" ] ||\n"
	"		some=$(assay \"${COMP_WORDS[1]}\" " OPTIONS ")\n"
	"	mapfile -t COMPREPLY < <(compgen -W \"$some\" -- \"$cur\")\n"
	"}\n"
	"complete -o default -F _assay assay\n";

static const char zsh[] = "#compdef assay\n"
			  "_assay()\n"
			  "{\n"
			  "	case ${words[CURRENT - 1]} in\n"
			  "	--profile) compadd passive quick full; return ;;\n"
			  "	--probe) compadd ${(f)\"$(" PROBES ")\"}; return ;;\n"
			  "	--busy) compadd skip run; return ;;\n"
			  "	--exit-style) compadd assay nhc nagios npd; return ;;\n"
			  "	-o | --output) compadd table json kv; return ;;\n"
			  "	completion) compadd bash zsh fish; return ;;\n"
			  "	esac\n"
			  "	if ((CURRENT == 2)); then\n"
			  "		compadd help version ${(f)\"$(" COMMANDS ")\"}\n"
			  "	elif [[ $PREFIX == -* ]]; then\n"
			  "		compadd -- ${(f)\"$(assay ${words[2]} " OPTIONS ")\"}\n"
			  "	else\n"
			  "		_files\n"
			  "	fi\n"
			  "}\n"
			  "_assay \"$@\"\n";

static const char fish[] =
	"# fish completion of assay: assay completion fish | source\n"
	"complete -c assay -n __fish_use_subcommand -f -a \"help version (" COMMANDS ")\"\n"
	"complete -c assay -n 'not __fish_use_subcommand' -a \"(assay (commandline -opc)[2] "
	"" OPTIONS ")\"\n"
	"complete -c assay -l profile -x -a 'passive quick full'\n"
	"complete -c assay -l busy -x -a 'skip run'\n"
	"complete -c assay -l exit-style -x -a 'assay nhc nagios npd'\n"
	"complete -c assay -s o -l output -x -a 'table json kv'\n"
	"complete -c assay -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";

static const struct {
	const char *name, *script;
} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **script = state->input;
	size_t i;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*script)
			argp_error(state, "'%.80s': name only one shell", arg);
		for (i = 0; i < ARRAY_SIZE(shells); i++) {
			if (streq(arg, shells[i].name))
				*script = shells[i].script;
		}
		if (!*script)
			argp_error(state, "'%.80s' is not one of bash, zsh, fish", arg);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which shell? bash, zsh or fish");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_completion(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "bash|zsh|fish",
		.doc = "Prints a script that completes the commands and options of assay.\v"
		       "For bash: source <(assay completion bash). Exit status: 0 done, 2 usage.",
	};
	const char *script = NULL;

	if (usage_parse(&argp, argc, argv, 0, NULL, &script) != 0 || !script)
		return STATUS_USAGE;
	(void)fputs(script, stdout);
	return command_written();
}
