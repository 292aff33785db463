/* SPDX-License-Identifier: Apache-2.0 */
/* The options of assayctl: one table for parsing, help, completion and the manual. */
#pragma once

#include <stdint.h>

#include "cli/selector.h"
#include "lib/base/macro.h"
#include "lib/sys/term.h"

struct err;

enum option_id {
	OPTION_CONTROLLER,
	OPTION_TOKEN_FILE,
	OPTION_CACERT,
	OPTION_CERT,
	OPTION_KEY,
	OPTION_TIMEOUT,
	OPTION_OUTPUT,
	OPTION_WATCH,
	OPTION_LIMIT,
	OPTION_VERDICT,
	OPTION_STALE,
	OPTION_SKU,
	OPTION_ALL,
	OPTION_NODE,
	OPTION_REASON,
	OPTION_BREAK_GLASS,
	OPTION_UNTIL,
	OPTION_FOR,
	OPTION_SINCE,
	OPTION_DOMAIN,
	OPTION_NODES,
	OPTION_KIND,
	OPTION_MEMORY,
	OPTION_ENGINE,
	OPTION_PLAN,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_CORDONED,
	OPTION_JOB,
	OPTION_META,
	OPTION_RUN,
	OPTION_PART,
	OPTION_AGES,
	OPTION_WAIT,
	OPTION_WINDOWS,
	OPTION_RANKS,
	OPTION_EXCLUDE_AS,
	OPTION_YES,
	OPTION_STEP,
	OPTION_SECONDS,
	OPTION_AGE,
	OPTION_DONE,
	OPTION_HOSTS,
	OPTION_NAMES,
	OPTION_DIR,
	OPTION_SUBJECT,
	OPTION_SELECTOR,
	OPTION_RACK,
	OPTION_FILE,
	OPTION_DRY_RUN,
	OPTION_WITHOUT,
	OPTION_STEPS,
	N_OPTIONS,
};

#define OPTION_BIT(id) (UINT64_C(1) << (id))

/* Options of every command that talks to the controller. */
#define OPTIONS_CALL                                                                    \
	(OPTION_BIT(OPTION_CONTROLLER) | OPTION_BIT(OPTION_TOKEN_FILE) |                \
	 OPTION_BIT(OPTION_CACERT) | OPTION_BIT(OPTION_CERT) | OPTION_BIT(OPTION_KEY) | \
	 OPTION_BIT(OPTION_TIMEOUT) | OPTION_BIT(OPTION_OUTPUT))

/* Options of every command whose output can be watched. */
#define OPTIONS_LINK (OPTIONS_CALL | OPTION_BIT(OPTION_WATCH))

/* Options that select hosts by what the controller knows about them. */
#define OPTIONS_WHICH \
	(OPTION_BIT(OPTION_SELECTOR) | OPTION_BIT(OPTION_RACK) | OPTION_BIT(OPTION_SKU))

/* Options of every command that acts on one or many hosts (targets.h). */
#define OPTIONS_HOSTS                                                                         \
	(OPTIONS_CALL | OPTIONS_WHICH | OPTION_BIT(OPTION_FILE) | OPTION_BIT(OPTION_REASON) | \
	 OPTION_BIT(OPTION_YES) | OPTION_BIT(OPTION_DRY_RUN))

/*
 * Options that every command accepts. Those that say where the controller is are accepted even by
 * commands that do not need one, because a shell alias may add them to every command.
 */
#define OPTIONS_WHERE                                                                   \
	(OPTION_BIT(OPTION_CONTROLLER) | OPTION_BIT(OPTION_TOKEN_FILE) |                \
	 OPTION_BIT(OPTION_CACERT) | OPTION_BIT(OPTION_CERT) | OPTION_BIT(OPTION_KEY) | \
	 OPTION_BIT(OPTION_TIMEOUT))
#define OPTIONS_ALWAYS (OPTION_BIT(OPTION_HELP) | OPTION_BIT(OPTION_VERSION))

#define SPAN_NOT_SAID UINT64_MAX

#define WATCH_DEFAULT_US (2 * USEC_PER_SEC)
#define WAIT_DEFAULT_US (2 * USEC_PER_MIN)
#define TIMEOUT_DEFAULT_US (30 * USEC_PER_SEC)

/* Part `k` of a trace in `of` files; 0 of 0: the whole trace, or not given. */
struct submit_part {
	uint64_t k, of;
};

/* How many seconds ago the first step of a trace began and its last one ended; NAN: not given. */
struct submit_ages {
	double first_s, last_s;
};

/* The values of all options. Strings are borrowed from the command line or the environment. */
struct settings {
	const char *controller;
	const char *token_file, *ca_file, *cert_file, *key_file; /* NULL: none */
	uint64_t timeout_us;					 /* for a whole picture */
	uint64_t watch_us;					 /* 0: show once */
	uint64_t limit;						 /* 0: all */
	enum output output;
	bool wide;			  /* table with more detail, not cut to the terminal */
	const char *verdict, *sku, *node; /* filters; NULL: any */
	struct selector selector;	  /* n 0: any */
	const char *rack;		  /* NULL: any */
	const char *file; /* with host names; "-": standard input; NULL: not given */
	bool stale, all, cordoned, dry_run;
	const char *reason, *until; /* of an order; NULL: not given */
	uint64_t for_us;	    /* SPAN_NOT_SAID: not given; 0: end the current one */
	uint64_t since_us;	    /* 0: not given */
	bool break_glass;
	const char *domain, *nodes, *kind, *memory, *engine,
		*plan;		     /* of a campaign; NULL: not given */
	const char *job, *meta_file; /* of a trace; NULL: not given */
	uint64_t run;		     /* 0: not given */
	struct submit_part part;
	struct submit_ages ages;
	uint64_t wait_us; /* 0: do not wait */
	bool windows;
	bool ranks;
	const char *exclude_as; /* NULL: not given */
	const char *without;	/* hosts, "NAME,NAME"; NULL: not given */
	uint64_t steps;		/* that a job has left; 0: not given */
	bool yes;
	uint64_t step; /* for job beat */
	const char *seconds;
	double age_s;
	bool done;
	uint64_t hosts;	     /* of a join token; 0: not given */
	const char *names;   /* of hosts: a pattern or a list; NULL: not given */
	const char *dir;     /* NULL: the one in the configuration */
	const char *subject; /* a part of a host, as a person writes it; NULL: not given */
	bool help, version;
};

enum option_kind {
	OPTION_IS_FLAG,
	OPTION_IS_TEXT,
	OPTION_IS_FILE,
	OPTION_IS_NODE,
	OPTION_IS_CHOICE,
	OPTION_IS_COUNT,
	OPTION_IS_DURATION,
	OPTION_IS_SPAN,
	OPTION_IS_MOMENT,
	OPTION_IS_JOB,
	OPTION_IS_PART,
	OPTION_IS_AGES,
	OPTION_IS_STEP,
	OPTION_IS_AGE,
	OPTION_IS_SELECTOR,
	OPTION_IS_OUTPUT,
};

struct option_row {
	const char *name; /* "token-file" */
	char letter;	  /* 0: none */
	enum option_kind kind;
	const char *value;	    /* "FILE" */
	const char *const *choices; /* NULL-terminated, for CHOICE and OUTPUT */
	uint64_t without_us;	    /* the duration if the value is omitted; 0: it is required */
	size_t offset;		    /* in struct settings */
	const char *environment;    /* environment variable with the default, or NULL */
	const char *summary;
};

extern const struct option_row option_rows[N_OPTIONS];

/* Returns the defaults, overridden by the environment. */
struct settings settings_init(void);

/*
 * Sets option `id` to `value` (NULL: omitted). Returns -EINVAL with a sentence that names the
 * option.
 */
int option_set(struct settings *settings, enum option_id id, const char *value, struct err *err);

/* Returns the option with this long name (`length` bytes) or letter, or N_OPTIONS. */
enum option_id option_find(const char *name, size_t length);
enum option_id option_find_letter(char letter);
