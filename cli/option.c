/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/option.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum { LIMIT_MOST = 1000000 };

#define WATCH_LEAST_US (200 * USEC_PER_MSEC)
#define DURATION_MOST_US (1 * USEC_PER_DAY)
#define SPAN_LEAST_US (1 * USEC_PER_SEC)
#define SPAN_MOST_US (366 * USEC_PER_DAY)

static const char *const outputs[] = { "table", "json", "kv", NULL };
static const char *const kinds[] = { "allreduce", "pair", NULL };
static const char *const plans[] = { "two-pass", "tournament", "bisect", NULL };
static const char *const verdicts[] = { "pass", "warn", "fail", "inconclusive", NULL };

#define AT(member) offsetof(struct settings, member)

const struct option_row option_rows[N_OPTIONS] = {
	[OPTION_CONTROLLER] = { "controller", 0, OPTION_IS_TEXT, "URL", NULL, false, AT(controller),
				"ASSAY_CONTROLLER",
				"where the controller is (default: http://127.0.0.1:9470)" },
	[OPTION_TOKEN_FILE] = { "token-file", 0, OPTION_IS_FILE, "FILE", NULL, false,
				AT(token_file), "ASSAY_TOKEN_FILE", "the token to show, one line" },
	[OPTION_CACERT] = { "cacert", 0, OPTION_IS_FILE, "FILE", NULL, false, AT(ca_file),
			    "ASSAY_CACERT",
			    "trust certificates signed by these (default: the system's)" },
	[OPTION_CERT] = { "cert", 0, OPTION_IS_FILE, "FILE", NULL, false, AT(cert_file), NULL,
			  "the client certificate to show, with --key" },
	[OPTION_KEY] = { "key", 0, OPTION_IS_FILE, "FILE", NULL, false, AT(key_file), NULL,
			 "its key" },
	[OPTION_TIMEOUT] = { "timeout", 0, OPTION_IS_DURATION, "DURATION", NULL, false,
			     AT(timeout_us), NULL,
			     "how long a whole answer may take (default: 30s)" },
	[OPTION_OUTPUT] = { "output", 'o', OPTION_IS_OUTPUT, "FORMAT", outputs, false, AT(output),
			    NULL, "table for people, json or kv for programs" },
	[OPTION_WATCH] = { "watch", 'w', OPTION_IS_DURATION, "INTERVAL", NULL, true, AT(watch_us),
			   NULL,
			   "show it again at every change; asks every INTERVAL (default: 2s)" },
	[OPTION_LIMIT] = { "limit", 'n', OPTION_IS_COUNT, "N", NULL, false, AT(limit), NULL,
			   "show the first N only" },
	[OPTION_VERDICT] = { "verdict", 0, OPTION_IS_CHOICE, "LEVEL", verdicts, false, AT(verdict),
			     NULL, "only hosts judged so" },
	[OPTION_STALE] = { "stale", 0, OPTION_IS_FLAG, NULL, NULL, false, AT(stale), NULL,
			   "only hosts that stopped reporting" },
	[OPTION_SKU] = { "sku", 0, OPTION_IS_TEXT, "SKU", NULL, false, AT(sku), NULL,
			 "only this model of host" },
	[OPTION_ALL] = { "all", 'a', OPTION_IS_FLAG, NULL, NULL, false, AT(all), NULL,
			 "closed ones too" },
	[OPTION_NODE] = { "node", 0, OPTION_IS_NODE, "NODE", NULL, false, AT(node), NULL,
			  "only of this host" },
	[OPTION_REASON] = { "reason", 'r', OPTION_IS_TEXT, "TEXT", NULL, false, AT(reason), NULL,
			    "why, for those who find it so; it is kept" },
	[OPTION_BREAK_GLASS] = { "break-glass", 0, OPTION_IS_FLAG, NULL, NULL, false,
				 AT(break_glass), NULL,
				 "past budgets and an open breaker; wants the role admin, and is "
				 "kept" },
	[OPTION_UNTIL] = { "until", 0, OPTION_IS_MOMENT, "TIME", NULL, false, AT(until), NULL,
			   "when it ends: 2026-11-22T08:00:00Z, or from now on: 12h" },
	[OPTION_FOR] = { "for", 0, OPTION_IS_SPAN, "DURATION", NULL, false, AT(for_us), NULL,
			 "how long from now on, as 4h; 0s ends what stands" },
	[OPTION_SINCE] = { "since", 0, OPTION_IS_SPAN, "DURATION", NULL, false, AT(since_us), NULL,
			   "how far back, as 7d" },
	[OPTION_DOMAIN] = { "domain", 0, OPTION_IS_TEXT, "NAME", NULL, false, AT(domain), NULL,
			    "all hosts below this leaf switch, or of this domain of the budgets" },
	[OPTION_NODES] = { "nodes", 0, OPTION_IS_TEXT, "NODE,NODE", NULL, false, AT(nodes), NULL,
			   "these hosts, 2 to 256" },
	[OPTION_KIND] = { "kind", 0, OPTION_IS_CHOICE, "KIND", kinds, false, AT(kind), NULL,
			  "allreduce (default), or pair: writes from host to host" },
	[OPTION_PLAN] = { "plan", 0, OPTION_IS_CHOICE, "PLAN", plans, false, AT(plan), NULL,
			  "two-pass (default), tournament: everybody with everybody, or bisect: "
			  "large "
			  "groups, halved" },
	[OPTION_CORDONED] = { "cordoned", 0, OPTION_IS_FLAG, NULL, NULL, false, AT(cordoned), NULL,
			      "only hosts out of service: cordoned, held for a test, not ready" },
	[OPTION_HELP] = { "help", 'h', OPTION_IS_FLAG, NULL, NULL, false, AT(help), NULL,
			  "say what there is" },
	[OPTION_VERSION] = { "version", 'V', OPTION_IS_FLAG, NULL, NULL, false, AT(version), NULL,
			     "say which version this is" },
};

struct settings settings_init(void)
{
	struct settings s = {
		.controller = "http://127.0.0.1:9470",
		.timeout_us = TIMEOUT_DEFAULT_US,
		.output = OUTPUT_TABLE,
		.for_us = SPAN_NOT_SAID,
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
	return err_set(err, EINVAL, "--%s: '%.40s' is none of %s", row->name, value, all);
}

static int set_duration(const struct option_row *row, const char *value, uint64_t *ret_us,
			struct err *err)
{
	uint64_t us = WATCH_DEFAULT_US;
	int r = value ? duration_parse(value, &us, err) : 0;

	if (r < 0)
		return err_wrap(err, r, "--%s", row->name);
	if (us < WATCH_LEAST_US || us > DURATION_MOST_US)
		return err_set(err, EINVAL, "--%s: '%.40s' is outside 200ms to 1d", row->name,
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
		return err_set(err, EINVAL, "--%s: '%.40s' is outside 1s to 366d", row->name, value);
	*ret_us = us;
	return 0;
}

/* Whether it is past is for the clock that will end it: the controller's. */
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

static int set_count(const struct option_row *row, const char *value, uint64_t *ret, struct err *err)
{
	char *end = NULL;
	unsigned long long n;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (errno || end == value || *end || value[0] == '-' || n < 1 || n > LIMIT_MOST)
		return err_set(err, EINVAL, "--%s: '%.40s' is none of 1 to %d", row->name, value,
			       LIMIT_MOST);
	*ret = n;
	return 0;
}

int option_set(struct settings *settings, enum option_id id, const char *value, struct err *err)
{
	const struct option_row *row = &option_rows[id];
	char *member = (char *)settings + row->offset;
	const bool yes = true;

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
	case OPTION_IS_COUNT:
		return set_count(row, value, (uint64_t *)(void *)member, err);
	case OPTION_IS_OUTPUT:
		if (output_parse(value, (enum output *)(void *)member) < 0)
			return err_set(err, EINVAL, "--%s: '%.40s' is none of table, json, kv",
				       row->name, value);
		return 0;
	case OPTION_IS_CHOICE:
		if (!is_choice(row, value))
			return refuse_choice(row, value, err);
		break;
	case OPTION_IS_TEXT:
	case OPTION_IS_FILE:
	case OPTION_IS_NODE:
		if (!*value)
			return err_set(err, EINVAL, "--%s: want a %s", row->name, row->value);
		break;
	}
	memcpy(member, &value, sizeof(value));
	return 0;
}
