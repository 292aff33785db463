/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/option.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/job_exclude.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum { LIMIT_MOST = 1000000, PARTS_MOST = 16384 };

#define STEP_MOST UINT64_C(1000000000000)

#define WATCH_LEAST_US (200 * USEC_PER_MSEC)
#define DURATION_MOST_US (1 * USEC_PER_DAY)
#define SPAN_LEAST_US (1 * USEC_PER_SEC)
#define SPAN_MOST_US (366 * USEC_PER_DAY)
#define AGE_MOST_S (366 * 86400.0)

static const char *const outputs[] = { "table", "wide", "json", "kv", NULL };
static const char *const kinds[] = { "allreduce", "pair", NULL };
static const char *const memories[] = { "host", "gpu", NULL };
static const char *const engines[] = { "verbs", "nccl", NULL };
static const char *const plans[] = { "two-pass", "tournament", "bisect", "every-two", NULL };
static const char *const verdicts[] = { "pass", "warn", "fail", "inconclusive", NULL };

#define AT(member) offsetof(struct settings, member)

const struct option_row option_rows[N_OPTIONS] = {
	[OPTION_CONTROLLER] = { "controller", 0, OPTION_IS_TEXT, "URL", NULL, 0, AT(controller),
				"ASSAY_CONTROLLER",
				"where the controller is (default: http://127.0.0.1:9470)" },
	[OPTION_TOKEN_FILE] = { "token-file", 0, OPTION_IS_FILE, "FILE", NULL, 0, AT(token_file),
				"ASSAY_TOKEN_FILE", "the file with the token, one line" },
	[OPTION_CACERT] = { "cacert", 0, OPTION_IS_FILE, "FILE", NULL, 0, AT(ca_file),
			    "ASSAY_CACERT", "trust the CAs in FILE (default: the system's)" },
	[OPTION_CERT] = { "cert", 0, OPTION_IS_FILE, "FILE", NULL, 0, AT(cert_file), NULL,
			  "client certificate, with --key" },
	[OPTION_KEY] = { "key", 0, OPTION_IS_FILE, "FILE", NULL, 0, AT(key_file), NULL,
			 "key of the client certificate" },
	[OPTION_TIMEOUT] = { "timeout", 0, OPTION_IS_DURATION, "DURATION", NULL, 0, AT(timeout_us),
			     NULL, "time limit for one answer (default: 30s)" },
	[OPTION_OUTPUT] = { "output", 'o', OPTION_IS_OUTPUT, "FORMAT", outputs, 0, AT(output), NULL,
			    "table (default), wide for more detail, json or kv for programs" },
	[OPTION_WATCH] = { "watch", 'w', OPTION_IS_DURATION, "INTERVAL", NULL, WATCH_DEFAULT_US,
			   AT(watch_us), NULL,
			   "show every change; asks every INTERVAL (default: 2s)" },
	[OPTION_LIMIT] = { "limit", 'n', OPTION_IS_COUNT, "N", NULL, 0, AT(limit), NULL,
			   "show only the first N" },
	[OPTION_VERDICT] = { "verdict", 0, OPTION_IS_CHOICE, "LEVEL", verdicts, 0, AT(verdict),
			     NULL, "only hosts with this verdict" },
	[OPTION_STALE] = { "stale", 0, OPTION_IS_FLAG, NULL, NULL, 0, AT(stale), NULL,
			   "only hosts that stopped reporting" },
	[OPTION_SKU] = { "sku", 0, OPTION_IS_TEXT, "SKU", NULL, 0, AT(sku), NULL,
			 "only hosts of this SKU" },
	[OPTION_ALL] = { "all", 'a', OPTION_IS_FLAG, NULL, NULL, 0, AT(all), NULL,
			 "closed incidents too" },
	[OPTION_NODE] = { "node", 0, OPTION_IS_NODE, "NODE", NULL, 0, AT(node), NULL,
			  "only this host" },
	[OPTION_REASON] = { "reason", 'r', OPTION_IS_TEXT, "TEXT", NULL, 0, AT(reason), NULL,
			    "the reason, recorded and shown to others" },
	[OPTION_BREAK_GLASS] = { "break-glass", 0, OPTION_IS_FLAG, NULL, NULL, 0, AT(break_glass),
				 NULL,
				 "ignore the budgets and an open breaker; needs the role admin, "
				 "and is recorded" },
	[OPTION_UNTIL] = { "until", 0, OPTION_IS_MOMENT, "TIME", NULL, 0, AT(until), NULL,
			   "when it ends: 2026-11-22T08:00:00Z, or 12h from now" },
	[OPTION_FOR] = { "for", 0, OPTION_IS_SPAN, "DURATION", NULL, 0, AT(for_us), NULL,
			 "for how long, such as 4h; 0s ends one now" },
	[OPTION_SINCE] = { "since", 0, OPTION_IS_SPAN, "DURATION", NULL, 0, AT(since_us), NULL,
			   "how far back to go, such as 7d" },
	[OPTION_DOMAIN] = { "domain", 0, OPTION_IS_TEXT, "NAME", NULL, 0, AT(domain), NULL,
			    "all hosts below this leaf switch, or in this domain of the budgets" },
	[OPTION_NODES] = { "nodes", 0, OPTION_IS_TEXT, "NODE,NODE", NULL, 0, AT(nodes), NULL,
			   "these hosts, 2 to 256" },
	[OPTION_KIND] = { "kind", 0, OPTION_IS_CHOICE, "KIND", kinds, 0, AT(kind), NULL,
			  "allreduce (default), or pair: writes from host to host" },
	[OPTION_MEMORY] = { "memory", 0, OPTION_IS_CHOICE, "MEMORY", memories, 0, AT(memory), NULL,
			    "host, or gpu: from the memory of a GPU, as jobs do (default: "
			    "collectives.memory of the controller)" },
	[OPTION_ENGINE] = { "engine", 0, OPTION_IS_CHOICE, "ENGINE", engines, 0, AT(engine), NULL,
			    "verbs (default), or nccl: an allreduce by NCCL, with --memory gpu" },
	[OPTION_PLAN] = { "plan", 0, OPTION_IS_CHOICE, "PLAN", plans, 0, AT(plan), NULL,
			  "two-pass (default), tournament (all pairs below a switch), bisect "
			  "(halves of large groups) or every-two (each pair once, at most 64 "
			  "hosts)" },
	[OPTION_CORDONED] = { "cordoned", 0, OPTION_IS_FLAG, NULL, NULL, 0, AT(cordoned), NULL,
			      "only hosts out of service: cordoned, held, not ready, unverified" },
	[OPTION_JOB] = { "job", 0, OPTION_IS_JOB, "NAME", NULL, 0, AT(job), NULL,
			 "name of the job, as others know it" },
	[OPTION_META] = { "meta", 0, OPTION_IS_FILE, "FILE", NULL, 0, AT(meta_file), NULL,
			  "the shape of the job (YAML), for a trace in CSV" },
	[OPTION_RUN] = { "run", 0, OPTION_IS_COUNT, "N", NULL, 0, AT(run), NULL,
			 "number of the run, incremented at each restart (default: the last "
			 "known)" },
	[OPTION_PART] = { "part", 0, OPTION_IS_PART, "K/M", NULL, 0, AT(part), NULL,
			  "this file is part K of M of one trace" },
	[OPTION_AGES] = { "ages", 0, OPTION_IS_AGES, "FIRST,LAST", NULL, 0, AT(ages), NULL,
			  "how many seconds ago the trace's first step began and its last step "
			  "ended; without it the time is unknown" },
	[OPTION_WAIT] = { "wait", 0, OPTION_IS_DURATION, "DURATION", NULL, WAIT_DEFAULT_US,
			  AT(wait_us), NULL,
			  "wait for the analysis, and show the job (default: 2m)" },
	[OPTION_RANKS] = { "ranks", 0, OPTION_IS_FLAG, NULL, NULL, 0, AT(ranks), NULL,
			   "show where each rank is instead: which have stopped, and which wait "
			   "for which" },
	[OPTION_WINDOWS] = { "windows", 0, OPTION_IS_FLAG, NULL, NULL, 0, AT(windows), NULL,
			     "list its windows instead, newest first, with their results" },
	[OPTION_EXCLUDE_AS] = { "exclude-as", 0, OPTION_IS_CHOICE, "FORM", job_exclude_forms, 0,
				AT(exclude_as), NULL,
				"print only the hosts to exclude: kube (a node affinity), slurm "
				"(--exclude=) or file (one per line); nothing if there are none" },
	[OPTION_YES] = { "yes", 'y', OPTION_IS_FLAG, NULL, NULL, 0, AT(yes), NULL, "do not ask" },
	[OPTION_STEP] = { "step", 0, OPTION_IS_STEP, "N", NULL, 0, AT(step), NULL,
			  "number of the last completed step" },
	[OPTION_SECONDS] = { "seconds", 0, OPTION_IS_TEXT, "S,S", NULL, 0, AT(seconds), NULL,
			     "durations of the last steps, oldest first, at most 64" },
	[OPTION_AGE] = { "age", 0, OPTION_IS_AGE, "S", NULL, 0, AT(age_s), NULL,
			 "how many seconds ago that step ended (default: 0)" },
	[OPTION_DONE] = { "done", 0, OPTION_IS_FLAG, NULL, NULL, 0, AT(done), NULL,
			  "it was the last step of the job" },
	[OPTION_HOSTS] = { "hosts", 0, OPTION_IS_COUNT, "N", NULL, 0, AT(hosts), NULL,
			   "how many hosts may join with it (default: 1)" },
	[OPTION_NAMES] = { "names", 0, OPTION_IS_TEXT, "NAMES", NULL, 0, AT(names), NULL,
			   "hosts that may join, a pattern like 'gpu-*' (default: any); for setup: "
			   "the controller's, NAME,ADDRESS (default: this host's)" },
	[OPTION_DIR] = { "dir", 0, OPTION_IS_FILE, "DIR", NULL, 0, AT(dir), NULL,
			 "directory of these files (default: /etc/assay)" },
	[OPTION_SELECTOR] = { "selector", 'l', OPTION_IS_SELECTOR, "SELECTOR", NULL, 0,
			      AT(selector), NULL,
			      "only hosts whose labels match: key=value, key!=value, key or !key, "
			      "separated by commas" },
	[OPTION_RACK] = { "rack", 0, OPTION_IS_TEXT, "RACK", NULL, 0, AT(rack), NULL,
			  "only hosts of this rack, by the label that the policy's "
			  "budget.domain.label names" },
	[OPTION_FILE] = { "file", 'f', OPTION_IS_FILE, "FILE", NULL, 0, AT(file), NULL,
			  "hosts listed in FILE, one per line; - is standard input" },
	[OPTION_DRY_RUN] = { "dry-run", 0, OPTION_IS_FLAG, NULL, NULL, 0, AT(dry_run), NULL,
			     "show what would be done, and do nothing" },
	[OPTION_WITHOUT] = { "without", 0, OPTION_IS_TEXT, "NODE,NODE", NULL, 0, AT(without), NULL,
			     "show what happens to the job without these hosts" },
	[OPTION_STEPS] = { "steps", 0, OPTION_IS_COUNT, "N", NULL, 0, AT(steps), NULL,
			   "how many steps the job has left" },
	[OPTION_HELP] = { "help", 'h', OPTION_IS_FLAG, NULL, NULL, 0, AT(help), NULL,
			  "show this help" },
	[OPTION_VERSION] = { "version", 'V', OPTION_IS_FLAG, NULL, NULL, 0, AT(version), NULL,
			     "show the version" },
	[OPTION_SUBJECT] = { "subject", 0, OPTION_IS_TEXT, "PART", NULL, 0, AT(subject), NULL,
			     "only this part: 'gpu 3', its UUID, PCI address or serial, mlx5_3" },
};

struct settings settings_init(void)
{
	struct settings s = {
		.controller = "http://127.0.0.1:9470",
		.timeout_us = TIMEOUT_DEFAULT_US,
		.output = OUTPUT_TABLE,
		.for_us = SPAN_NOT_SAID,
		.ages = { NAN, NAN },
	};
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		const char *value = NULL;

		if (option_rows[i].environment)
			value = secure_getenv(option_rows[i].environment);
		if (value && *value)
			memcpy((char *)&s + option_rows[i].offset, &value, sizeof(value));
	}
	return s;
}

enum option_id option_find(const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		if (strlen(option_rows[i].name) == length &&
		    memcmp(option_rows[i].name, name, length) == 0)
			break;
	}
	return (enum option_id)i;
}

enum option_id option_find_letter(char letter)
{
	size_t i;

	for (i = 0; i < N_OPTIONS; i++) {
		if (letter && option_rows[i].letter == letter)
			break;
	}
	return (enum option_id)i;
}

static bool is_choice(const struct option_row *row, const char *value)
{
	size_t i;

	for (i = 0; row->choices[i]; i++) {
		if (streq(row->choices[i], value))
			return true;
	}
	return false;
}

static int refuse_choice(const struct option_row *row, const char *value, struct err *err)
{
	CLEANUP(freep) char *all = xstrdup(row->choices[0]);
	size_t i;

	for (i = 1; row->choices[i]; i++) {
		CLEANUP(freep) char *before = all;

		all = xasprintf("%s, %s", before, row->choices[i]);
	}
	return err_set(err, EINVAL, "--%s: '%.40s' is not one of %s", row->name, value, all);
}

static int set_duration(const struct option_row *row, const char *value, uint64_t *ret_us,
			struct err *err)
{
	uint64_t us = row->without_us;
	int r = value ? duration_parse(value, &us, err) : 0;

	if (r < 0)
		return err_wrap(err, r, "--%s", row->name);
	if (us < WATCH_LEAST_US || us > DURATION_MOST_US)
		return err_set(err, EINVAL, "--%s: '%.40s' is not between 200ms and 1d", row->name,
			       value);
	*ret_us = us;
	return 0;
}

static int set_span(const struct option_row *row, const char *value, uint64_t *ret_us,
		    struct err *err)
{
	uint64_t us = 0;
	int r = duration_parse(value, &us, err);

	if (r < 0)
		return err_wrap(err, r, "--%s", row->name);
	if (us == 0 && row == &option_rows[OPTION_FOR]) {
		*ret_us = 0;
		return 0;
	}
	if (us < SPAN_LEAST_US || us > SPAN_MOST_US)
		return err_set(err, EINVAL, "--%s: '%.40s' is not between 1s and 366d", row->name,
			       value);
	*ret_us = us;
	return 0;
}

/* Does not check that the time is in the future: that is up to the controller's clock. */
static int check_moment(const struct option_row *row, const char *value, struct err *err)
{
	uint64_t us;

	if (clock_parse_stamp(value, &us) == 0 || (duration_parse(value, &us, NULL) == 0 && us > 0))
		return 0;
	return err_set(err, EINVAL,
		       "--%s: '%.40s' is neither a time in UTC like 2026-11-22T08:00:00Z nor a "
		       "duration like 12h",
		       row->name, value);
}

static bool read_whole(const char *text, const char end, uint64_t most, uint64_t *ret,
		       const char **ret_after)
{
	char *after = NULL;
	unsigned long long n;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoull(text, &after, 10);
	if (errno || *after != end || n > most)
		return false;
	*ret = n;
	*ret_after = after;
	return true;
}

static int set_part(const struct option_row *row, const char *value, struct submit_part *ret,
		    struct err *err)
{
	struct submit_part part;
	const char *at = value;

	if (!read_whole(at, '/', PARTS_MOST, &part.k, &at) ||
	    !read_whole(at + 1, '\0', PARTS_MOST, &part.of, &at) || part.k < 1 || part.k > part.of)
		return err_set(err, EINVAL, "--%s: '%.40s' is not a part like 2/8, of at most %d",
			       row->name, value, PARTS_MOST);
	*ret = part;
	return 0;
}

/* Reads decimal seconds, with or without a fraction, up to the character `end`. */
static bool read_age(const char *text, const char end, double *ret, const char **ret_after)
{
	char *after = NULL;

	if (*text < '0' || *text > '9' || (text[strspn(text, "0123456789.")] != end))
		return false;
	*ret = strtod(text, &after);
	*ret_after = after;
	return *after == end && *ret <= AGE_MOST_S;
}

static int set_ages(const struct option_row *row, const char *value, struct submit_ages *ret,
		    struct err *err)
{
	struct submit_ages ages;
	const char *at = value;

	if (!read_age(at, ',', &ages.first_s, &at) || !read_age(at + 1, '\0', &ages.last_s, &at) ||
	    ages.first_s < ages.last_s)
		return err_set(err, EINVAL,
			       "--%s: '%.40s' is not a pair of ages like 930,12: seconds since the "
			       "first step "
			       "began and since the last one ended, at most 366 days",
			       row->name, value);
	*ret = ages;
	return 0;
}

static int set_age(const struct option_row *row, const char *value, double *ret, struct err *err)
{
	const char *at;
	double age_s;

	if (!read_age(value, '\0', &age_s, &at))
		return err_set(err, EINVAL, "--%s: '%.40s' is not an age in seconds like 3 or 0.5",
			       row->name, value);
	*ret = age_s;
	return 0;
}

static int set_step(const struct option_row *row, const char *value, uint64_t *ret, struct err *err)
{
	const char *at;
	uint64_t step;

	if (!read_whole(value, '\0', STEP_MOST, &step, &at))
		return err_set(err, EINVAL, "--%s: '%.40s' is not the number of a step", row->name,
			       value);
	*ret = step;
	return 0;
}

static int set_count(const struct option_row *row, const char *value, uint64_t *ret, struct err *err)
{
	char *end = NULL;
	unsigned long long n;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (errno || end == value || *end || value[0] == '-' || n < 1 || n > LIMIT_MOST)
		return err_set(err, EINVAL, "--%s: '%.40s' is not between 1 and %d", row->name,
			       value, LIMIT_MOST);
	*ret = n;
	return 0;
}

int option_set(struct settings *settings, enum option_id id, const char *value, struct err *err)
{
	const struct option_row *row = &option_rows[id];
	char *member = (char *)settings + row->offset;
	const bool yes = true;
	int r;

	switch (row->kind) {
	case OPTION_IS_FLAG:
		memcpy(member, &yes, sizeof(yes));
		return 0;
	case OPTION_IS_DURATION:
		return set_duration(row, value, (uint64_t *)(void *)member, err);
	case OPTION_IS_SPAN:
		return set_span(row, value, (uint64_t *)(void *)member, err);
	case OPTION_IS_MOMENT:
		if (check_moment(row, value, err) < 0)
			return -EINVAL;
		break;
	case OPTION_IS_PART:
		return set_part(row, value, (struct submit_part *)(void *)member, err);
	case OPTION_IS_AGES:
		return set_ages(row, value, (struct submit_ages *)(void *)member, err);
	case OPTION_IS_AGE:
		return set_age(row, value, (double *)(void *)member, err);
	case OPTION_IS_STEP:
		return set_step(row, value, (uint64_t *)(void *)member, err);
	case OPTION_IS_SELECTOR:
		r = selector_parse(value, (struct selector *)(void *)member, err);
		return r < 0 ? err_wrap(err, r, "--%s", row->name) : 0;
	case OPTION_IS_COUNT:
		return set_count(row, value, (uint64_t *)(void *)member, err);
	case OPTION_IS_OUTPUT:
		settings->wide = streq(value, "wide");
		if (output_parse(settings->wide ? "table" : value, (enum output *)(void *)member) <
		    0)
			return err_set(err, EINVAL,
				       "--%s: '%.40s' is not one of table, wide, json, kv",
				       row->name, value);
		return 0;
	case OPTION_IS_CHOICE:
		if (!is_choice(row, value))
			return refuse_choice(row, value, err);
		break;
	case OPTION_IS_TEXT:
	case OPTION_IS_FILE:
	case OPTION_IS_NODE:
	case OPTION_IS_JOB:
		if (!*value)
			return err_set(err, EINVAL, "--%s requires a %s", row->name, row->value);
		break;
	}
	memcpy(member, &value, sizeof(value));
	return 0;
}
