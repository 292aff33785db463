/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/request.h"

#include <errno.h>

#include "lib/base/distance.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum { PLAIN_MAX = WORDS_MAX + ARGUMENTS_MAX + 1 };

struct reading {
	int argc, at;
	char *const *argv;
	const char *plain[PLAIN_MAX]; /* non-option words, in order */
	size_t n_plain;
	uint64_t given; /* bits of enum option_id */
	bool ended;	/* "--" was seen */
	struct settings settings;
};

/* An optional value is the next word only if it looks like one. */
static bool is_value(const struct option_row *row, const char *word)
{
	uint64_t us;

	if (!word)
		return false;
	return !row->without_us ||
	       ('0' <= word[0] && word[0] <= '9' && duration_parse(word, &us, NULL) == 0);
}

static int take(struct reading *r, enum option_id id, const char *value, struct err *err)
{
	const struct option_row *row = &option_rows[id];

	if (!row->value && value)
		return err_set(err, EINVAL, "--%s takes no value", row->name);
	if (row->value && !value && is_value(row, r->argv[r->at]))
		value = r->argv[r->at++];
	if (row->value && !value && !row->without_us)
		return err_set(err, EINVAL, "--%s requires a %s", row->name, row->value);
	r->given |= OPTION_BIT(id);
	return option_set(&r->settings, id, value, err);
}

/* Make `name` the suggestion for `word` if it is more similar than `*near` (NULL: none yet). */
static void choose(const char *word, const char *name, const char **near)
{
	if (distance_is_near(word, name) &&
	    (!*near || distance_between(word, name) < distance_between(word, *near)))
		*near = name;
}

static int refuse_option(const char *word, size_t length, struct err *err)
{
	CLEANUP(freep) char *given = xstrndup(word, MIN(length, (size_t)40));
	const char *near = NULL;
	size_t i;

	for (i = 0; i < N_OPTIONS; i++)
		choose(given, option_rows[i].name, &near);
	if (near)
		return err_set(err, EINVAL, "unknown option '--%s'; did you mean --%s?", given,
			       near);
	return err_set(err, EINVAL, "unknown option '--%s'; see assayctl --help", given);
}

static int take_long(struct reading *r, const char *word, struct err *err)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	enum option_id id = option_find(word, length);

	if (id == N_OPTIONS)
		return refuse_option(word, length, err);
	return take(r, id, equals ? equals + 1 : NULL, err);
}

/* "-o json", "-ojson", "-ah": a letter with a value takes the rest. */
static int take_letters(struct reading *r, const char *letters, struct err *err)
{
	int e = 0;

	while (e == 0 && *letters) {
		enum option_id id = option_find_letter(*letters == '?' ? 'h' : *letters);

		if (id == N_OPTIONS)
			return err_set(err, EINVAL, "unknown option '-%c'; see assayctl --help",
				       *letters);
		letters++;
		if (option_rows[id].value && *letters)
			return take(r, id, letters + (*letters == '='), err);
		e = take(r, id, NULL, err);
	}
	return e;
}

static int take_word(struct reading *r, struct err *err)
{
	const char *word = r->argv[r->at++];

	if (!r->ended && streq(word, "--")) {
		r->ended = true;
		return 0;
	}
	if (!r->ended && starts_with(word, "--"))
		return take_long(r, word + 2, err);
	if (!r->ended && word[0] == '-' && word[1])
		return take_letters(r, word + 1, err);
	if (r->n_plain == PLAIN_MAX)
		return err_set(err, EINVAL, "too many arguments: '%.80s'", word);
	r->plain[r->n_plain++] = word;
	return 0;
}

static size_t count_words(const struct command *command)
{
	return command->words[1] ? 2 : 1;
}

static bool has_words(const struct command *command, const struct reading *r)
{
	size_t i, n = count_words(command);

	for (i = 0; i < n; i++) {
		if (i >= r->n_plain || !streq(command->words[i], r->plain[i]))
			return false;
	}
	return true;
}

/* "investigation 41 cancel" means "investigation cancel 41". */
static void put_word_first(const struct command *command, struct reading *r)
{
	const char *argument = r->n_plain == 3 ? r->plain[1] : NULL;

	if (!command->word_last || !argument || !streq(command->words[0], r->plain[0]) ||
	    !streq(command->words[1], r->plain[2]))
		return;
	r->plain[1] = r->plain[2];
	r->plain[2] = argument;
}

static int refuse(const struct reading *r, struct err *err)
{
	const char *word = r->plain[0], *near = NULL;
	CLEANUP(freep) char *known = xstrdup("");
	size_t i;

	for (i = 0; commands[i].words[0]; i++) {
		CLEANUP(freep) char *before = known;

		known = commands[i].words[1] && streq(commands[i].words[0], word)
				? xasprintf("%s '%s %s'", before, word, commands[i].words[1])
				: xstrdup(before);
	}
	if (*known)
		return err_set(err, EINVAL, "'%s' is incomplete; there is%s", word, known);
	for (i = 0; commands[i].words[0]; i++) {
		if (!commands[i].hidden)
			choose(word, commands[i].words[0], &near);
	}
	if (near)
		return err_set(err, EINVAL, "unknown command '%.64s'; did you mean %s?", word, near);
	return err_set(err, EINVAL, "unknown command '%.64s'; see assayctl --help", word);
}

/* Options of other commands are errors, as they would have no effect. */
static int check_options(const struct reading *r, const struct command *command, struct err *err)
{
	uint64_t over = r->given & ~(command->options | OPTIONS_ALWAYS | OPTIONS_WHERE);
	CLEANUP(freep) char *name = command_name(command);
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		if (over & OPTION_BIT(i))
			return err_set(err, EINVAL, "%s has no --%s; see assayctl %s --help", name,
				       option_rows[i].name, name);
	}
	return 0;
}

static int check_needs(const struct reading *r, const struct command *command, struct err *err)
{
	uint64_t missing = command->needs & ~r->given;
	CLEANUP(freep) char *name = command_name(command);
	size_t i;

	for (i = 0; i < N_OPTIONS && !r->settings.help; i++) {
		if (missing & OPTION_BIT(i))
			return err_set(err, EINVAL, "%s requires --%s %s: %s", name,
				       option_rows[i].name, option_rows[i].value,
				       option_rows[i].summary);
	}
	return 0;
}

static int check_one_of(const struct reading *r, const struct command *command, struct err *err)
{
	CLEANUP(freep) char *name = command_name(command);
	CLEANUP(freep) char *all = xstrdup("");
	size_t i, given = 0;

	for (i = 0; i < N_OPTIONS; i++) {
		CLEANUP(freep) char *before = NULL;

		if (!(command->one_of & OPTION_BIT(i)))
			continue;
		given += (r->given & OPTION_BIT(i)) != 0;
		before = all;
		all = xasprintf("%s%s--%s %s", before, *before ? " or " : "", option_rows[i].name,
				option_rows[i].value);
	}
	if (!command->one_of || given == 1 || r->settings.help)
		return 0;
	return err_set(err, EINVAL, "%s requires %s%s", name, all, given ? ", not both" : "");
}

/* Hosts must be selected in exactly one way. */
static int check_which(const struct reading *r, const struct command *command, size_t n,
		       struct err *err)
{
	const uint64_t ways = command->argument.many ? r->given & command->options : 0;
	const bool file = ways & OPTION_BIT(OPTION_FILE), match = ways & OPTIONS_WHICH;
	CLEANUP(freep) char *name = command_name(command);

	if ((n > 0) + file + match > 1)
		return err_set(
			err, EINVAL,
			"%s: name the hosts, or give --file, or --selector, --rack and --sku: "
			"one of these three",
			name);
	if (n + file + match > 0 || !command->argument.name || r->settings.help)
		return 0;
	return err_set(err, EINVAL, "%s: no %.*s given", name,
		       (int)strcspn(command->argument.name, "."), command->argument.name);
}

static int finish(const struct reading *r, const struct command *command, struct request *ret,
		  struct err *err)
{
	CLEANUP(freep) char *name = command_name(command);
	size_t n = r->n_plain - count_words(command);
	const char *const *arguments = &r->plain[count_words(command)];
	const char *argument = n ? arguments[0] : NULL;
	size_t most = command->argument.many ? ARGUMENTS_MAX : command->argument.name ? 1 : 0;
	int e = check_options(r, command, err);
	size_t i;

	if (e < 0)
		return e;
	/*
	 * An empty argument, from an unset variable in a script, is neither a host nor "no
	 * argument".
	 */
	for (i = 0; command->argument.many && i < n; i++) {
		if (!*arguments[i])
			return err_set(err, EINVAL, "%s: argument %zu is empty", name, i + 1);
	}
	if (n > most)
		return err_set(err, EINVAL, "%s: unexpected argument '%.80s'", name,
			       r->plain[count_words(command) + most]);
	e = check_which(r, command, argument && *argument ? n : 0, err);
	if (e == 0)
		e = check_needs(r, command, err);
	if (e == 0)
		e = check_one_of(r, command, err);
	if (e < 0)
		return e;
	*ret = (struct request){ .command = command,
				 .argument = argument,
				 .n_arguments = n,
				 .settings = r->settings,
				 .given = r->given };
	memcpy(ret->arguments, arguments, n * sizeof(*arguments));
	return 0;
}

int request_parse(int argc, char *const *argv, struct request *ret, struct err *err)
{
	struct reading r = { .argc = argc, .argv = argv, .at = 1, .settings = settings_init() };
	size_t i;
	int e;

	while (r.at < argc) {
		e = take_word(&r, err);
		if (e < 0)
			return e;
	}
	if (r.n_plain && streq(r.plain[0], "help")) {
		r.settings.help = true;
		memmove(&r.plain[0], &r.plain[1], --r.n_plain * sizeof(r.plain[0]));
	}
	if (r.n_plain == 0 && (r.settings.help || r.settings.version)) {
		*ret = (struct request){ .settings = r.settings };
		return 0;
	}
	if (r.n_plain == 0)
		return err_set(err, EINVAL, "no command given; see assayctl --help");
	for (i = 0; commands[i].words[0]; i++) {
		put_word_first(&commands[i], &r);
		if (has_words(&commands[i], &r))
			return finish(&r, &commands[i], ret, err);
	}
	return refuse(&r, err);
}
