/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actor-driver: runs the controller's actor through a range of seeds. Prints a line per seed: its
 * number, the hash of its trace, the number of violations. tests/actor_driver/run runs many in
 * parallel, keeps records, and compares two builds.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/store/store.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "tests/actor_driver/driver.h"
#include "tests/actor_driver/driver_seam.h"
#include "tests/actor_driver/life.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };
enum { KILLS_FROM = 7 }; /* seeds whose last digit is this or higher have kills */
enum { KEY_SEEDS = 256, KEY_KILLS, KEY_SHOW, KEY_MUTANT, KEY_COVERAGE, KEY_DIRECTORY, KEY_LOG };

static const struct argp_option options[] = {
	{ "seeds", KEY_SEEDS, "A..B", 0, "these worlds, 1..100 by default", 0 },
	{ "kills", KEY_KILLS, NULL, 0,
	  "kill controllers at named points in every seed, not in three of ten", 0 },
	{ "show", KEY_SHOW, NULL, 0, "all that happened, instead of a line a seed", 0 },
	{ "coverage", KEY_COVERAGE, NULL, 0, "at the end, how often each thing occurred", 0 },
	{ "mutant", KEY_MUTANT, "NAME", 0, "break something, to see that it is seen", 0 },
	{ "directory", KEY_DIRECTORY, "DIR", 0, "for stores, /dev/shm by default", 0 },
	{ "log", KEY_LOG, NULL, 0, "what the actor logs, too", 0 },
	{ 0 },
};

struct arguments {
	unsigned long long first, last;
	bool kills, show, coverage, log;
	enum mutant mutant;
	const char *directory;
};

static int parse_seeds(const char *text, struct arguments *a)
{
	char *end = NULL;

	errno = 0;
	a->first = a->last = strtoull(text, &end, 10);
	if (end != text && strncmp(end, "..", 2) == 0)
		a->last = strtoull(end + 2, &end, 10);
	return errno || end == text || *end || a->last < a->first ? -EINVAL : 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;
	int i;

	switch (key) {
	case KEY_SEEDS:
		if (parse_seeds(text, a) < 0)
			argp_error(state, "want A..B");
		return 0;
	case KEY_KILLS:
		a->kills = true;
		return 0;
	case KEY_SHOW:
		a->show = true;
		return 0;
	case KEY_COVERAGE:
		a->coverage = true;
		return 0;
	case KEY_MUTANT:
		for (i = 0; i < MUTANTS; i++) {
			if (streq(text, mutant_names[i]))
				a->mutant = (enum mutant)i;
		}
		if (a->mutant == MUTANT_NONE)
			argp_error(state, "there is no mutant '%s'", text);
		return 0;
	case KEY_DIRECTORY:
		a->directory = text;
		return 0;
	case KEY_LOG:
		a->log = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* An empty store, created once because that takes longer than a seed. */
static int make_template(const char *path, struct err *err)
{
	struct store *store = NULL;
	int r = store_open(path, &store, err);

	if (r == 0)
		r = store_commit(store, err);
	store_close(store);
	return r;
}

static void print_row(const char *what, const char *name, unsigned long long n)
{
	(void)printf("%s %s %llu\n", what, name, n);
}

static void print_coverage(const struct tally *t)
{
	size_t i, j;

	for (i = 0; i < POINTS; i++)
		print_row("kill", point_names[i], t->kills[i]);
	for (i = 0; i < SCRIPT_KINDS; i++)
		print_row("event", event_name((enum event_kind)i), t->events[i]);
	for (i = 0; i < ARRAY_SIZE(t->actions) && seam_kind((int)i); i++) {
		for (j = 0; j < ARRAY_SIZE(t->actions[0]) && seam_state((int)j); j++)
			(void)printf("action %s %s %llu\n", seam_kind((int)i), seam_state((int)j),
				     t->actions[i][j]);
	}
	for (i = 0; i < OPS; i++) {
		for (j = 0; j <= CLUSTER_AGAIN; j++)
			(void)printf("cluster %s %s %llu\n", op_names[i], cluster_result_names[j],
				     t->results[i][j]);
	}
	print_row("breaker", "open", t->breakers);
	print_row("controllers", "two", t->two);
	print_row("violations", "all", t->violations);
}

static void run(const struct arguments *a, const char *directory, const char *template,
		struct tally *tally)
{
	unsigned long long seed;

	/* Stop when the reader of stdout is gone. */
	for (seed = a->first; seed <= a->last && fflush(stdout) == 0; seed++) {
		struct driver *d = xcalloc(1, sizeof(*d));
		unsigned violations;

		d->seed = seed;
		d->kills = a->kills || seed % 10 >= KILLS_FROM;
		d->mutant = a->mutant;
		d->directory = directory;
		d->template = template;
		d->tally = tally;
		d->trace = a->show ? stdout : NULL;
		violations = life_run(d);
		if (!a->show)
			(void)printf("seed %llu %016llx %u\n", seed, (unsigned long long)d->hash,
				     violations);
		free(d);
	}
}

/* Removes a directory of a few files that we created. */
static void remove_all(const char *directory)
{
	static const char *const stores[] = { "empty", "0", "1" };
	static const char *const suffixes[] = { ".db",	       ".db-wal",  ".db-shm",
						".db-journal", ".db.sums", ".db-sums" };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(stores); i++) {
		for (j = 0; j < ARRAY_SIZE(suffixes); j++) {
			CLEANUP(freep)
			char *path = xasprintf("%s/%s%s", directory, stores[i], suffixes[j]);

			(void)unlink(path);
		}
	}
	(void)rmdir(directory);
}

int main(int argc, char **argv)
{
	const struct argp argp = { options, parse, NULL, "The actor's outside driver.",
				   NULL,    NULL,  NULL };
	struct arguments a = { .first = 1, .last = 100, .directory = "/dev/shm" };
	CLEANUP(freep) char *directory = NULL, *template = NULL;
	struct tally *tally = xcalloc(1, sizeof(*tally));
	struct err err = ERR_INIT;
	int status;

	log_init("actor-driver", LOG_ERR);
	(void)signal(SIGPIPE, SIG_IGN);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
		return STATUS_USAGE;
	log_init("actor-driver", a.log ? LOG_INFO : LOG_CRIT);
	directory = xasprintf("%s/actor-driver-XXXXXX", a.directory);
	if (!mkdtemp(directory)) {
		perror(directory);
		return STATUS_USAGE;
	}
	template = xasprintf("%s/empty.db", directory);
	if (make_template(template, &err) < 0) {
		(void)fprintf(stderr, "actor-driver: %s\n", err.msg);
		remove_all(directory);
		return STATUS_USAGE;
	}
	run(&a, directory, template, tally);
	if (a.coverage)
		print_coverage(tally);
	status = tally->violations ? STATUS_FAILED : 0;
	free(tally);
	remove_all(directory);
	return status;
}
