/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/kernel_rules.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/sys/kernel_match.h"

enum { MATCH_MAX = 1024, COPIES_MAX = 65536 };

static const char *const severities[] = { "info", "warn", "fail", "fatal", NULL };

/* Their values. */
static const int severity_of[] = { SEVERITY_INFO, SEVERITY_WARN, SEVERITY_FAIL, SEVERITY_FATAL };

#define AT(m) offsetof(struct kernel_pattern, m)
static const struct jfield pattern_fields[] = {
	{ "name", J_STRING, AT(name), J_REQUIRED },
	{ "match", J_STRING, AT(match), J_REQUIRED },
	{ "severity", J_ENUM, AT(severity), J_REQUIRED, .names = severities },
	{ "code", J_STRING, AT(code), J_REQUIRED },
	{ "subject", J_U64, AT(subject), 0, .min = 1, .max = KERNEL_GROUPS_MAX - 1 },
	{ "xid", J_U64, AT(xid), 0, .min = 1, .max = KERNEL_GROUPS_MAX - 1 },
	{ "note", J_STRING, AT(note), J_REQUIRED },
};
#undef AT

#define AT(m) offsetof(struct kernel_xid, m)
static const struct jfield xid_fields[] = {
	{ "xid", J_U64, AT(xid), J_REQUIRED, .min = 0, .max = 1e6 },
	{ "severity", J_ENUM, AT(severity), J_REQUIRED, .names = severities },
	{ "action", J_STRING, AT(action), J_REQUIRED },
	{ "note", J_STRING, AT(note), J_REQUIRED },
	{ "nvidia", J_STRING, AT(nvidia), 0 },
	{ "azure", J_STRING, AT(azure), 0 },
};
#undef AT

/* --- reading -------------------------------------------------------------- */

static int check_group(const struct jval *v, const char *key, uint64_t group,
		       const struct kernel_pattern *p, struct err *err)
{
	struct jval at = jval_get(v, key);

	if (group <= p->regex.re_nsub)
		return 0;
	return jval_fail(&at, err, "capture %u is not in match, which has %zu", (unsigned)group,
			 p->regex.re_nsub);
}

/* Checks that every "\N" of the code is a capture. */
static int check_code(const struct jval *v, const struct kernel_pattern *p, struct err *err)
{
	const char *at;
	int r = 0;

	if (!p->code[0]) {
		struct jval code = jval_get(v, "code");

		return jval_fail(&code, err, "must not be empty");
	}
	for (at = strchr(p->code, '\\'); at && r == 0; at = strchr(at + 1, '\\')) {
		struct jval code = jval_get(v, "code");

		if (at[1] < '1' || at[1] > '9')
			return jval_fail(&code, err, "expected \\1 to \\9 after a backslash");
		r = check_group(v, "code", (uint64_t)(at[1] - '0'), p, err);
	}
	return r;
}

/* Skips a bracket expression, whose first character may be ']'. */
static const char *past_brackets(const char *at)
{
	at += at[0] == '^';
	at += at[0] == ']';
	return at + strcspn(at, "]");
}

static unsigned long largest_in_braces(const char *at)
{
	unsigned long largest = 0;

	while (*at && *at != '}') {
		char *end;
		unsigned long value = strtoul(at, &end, 10);

		largest = MAX(largest, value);
		at = end > at ? end : at + 1;
	}
	return largest;
}

/*
 * Upper bound for how often regcomp() copies a part of the regular expression: it expands x+ to xx*
 * and x{n} to n copies, multiplied when nested.
 */
static double copies_of(const char *regex)
{
	double copies = 1;

	for (; *regex; regex++) {
		if (*regex == '\\' && regex[1])
			regex++;
		else if (*regex == '[')
			regex = past_brackets(regex + 1);
		else if (*regex == '+')
			copies *= 2;
		else if (*regex == '{')
			copies *= 1 + (double)largest_in_braces(regex + 1);
		if (!*regex)
			break;
	}
	return copies;
}

static int compile(const struct jval *v, struct kernel_pattern *p, struct err *err)
{
	struct jval match = jval_get(v, "match");
	char why[128];
	int r;

	if (!p->match[0] || strlen(p->match) > MATCH_MAX)
		return jval_fail(&match, err, "expected 1 to %d bytes", MATCH_MAX);
	if (copies_of(p->match) > COPIES_MAX)
		return jval_fail(&match, err, "too many repetitions: '+' and '{n}' multiply");
	r = regcomp(&p->regex, p->match, REG_EXTENDED);
	if (r != 0) {
		(void)regerror(r, &p->regex, why, sizeof(why));
		return jval_fail(&match, err, "not a regular expression: %s", why);
	}
	p->compiled = true;
	p->literal = kernel_literal(p->match);
	/* A pattern that matches the empty text matches every line. */
	if (regexec(&p->regex, "", 0, NULL, 0) == 0)
		return jval_fail(&match, err, "matches the empty line");
	r = check_group(v, "subject", p->subject, p, err);
	if (r == 0)
		r = check_group(v, "xid", p->xid, p, err);
	return r < 0 ? r : check_code(v, p, err);
}

static int take_pattern(struct kernel_rules *rules, const struct jval *v, struct err *err)
{
	/* Counted before it is complete, so that releasing finds what it owns. */
	struct kernel_pattern *p = &rules->patterns[rules->n_patterns++];
	int r = jval_decode(v, pattern_fields, ARRAY_SIZE(pattern_fields), JVAL_STRICT, p, err);

	if (r < 0)
		return r;
	p->severity = severity_of[p->severity];
	return compile(v, p, err);
}

static int take_xid(struct kernel_rules *rules, const struct jval *v, struct err *err)
{
	struct kernel_xid *x = &rules->xids[rules->n_xids++];
	int r = jval_decode(v, xid_fields, ARRAY_SIZE(xid_fields), JVAL_STRICT, x, err);
	size_t i;

	if (r < 0)
		return r;
	x->severity = severity_of[x->severity];
	for (i = 0; i + 1 < rules->n_xids; i++) {
		if (rules->xids[i].xid == x->xid)
			return jval_fail(v, err, "Xid %u is given twice", (unsigned)x->xid);
	}
	return 0;
}

/* What both documents have in common. */
struct document {
	uint64_t version;
	char *source; /* origin of the rows, for people */
	json_t *rows; /* list */
};

static void document_release(struct document *d)
{
	free(d->source);
	json_decref(d->rows);
}

static int open_rows(const struct jval *root, const char *key, size_t max, struct document *d,
		     struct err *err)
{
	const struct jfield fields[] = {
		{ "v", J_U64, offsetof(struct document, version), J_REQUIRED },
		{ "source", J_STRING, offsetof(struct document, source), 0 },
		{ key, J_JSON, offsetof(struct document, rows), J_REQUIRED },
	};
	struct jval version = jval_get(root, "v");
	struct jval list = jval_get(root, key);
	int r = jval_decode(root, fields, ARRAY_SIZE(fields), JVAL_STRICT, d, err);

	if (r < 0)
		return r;
	if (d->version != 1)
		return jval_fail(&version, err, "expected 1: this program reads no other version");
	r = jval_need_array(&list, err);
	if (r < 0)
		return r;
	if (json_array_size(list.value) > max)
		return jval_fail(&list, err, "%zu rows, more than %zu", json_array_size(list.value),
				 max);
	return 0;
}

int kernel_rules_take_patterns(struct kernel_rules *rules, const json_t *doc, const char *file,
			       struct err *err)
{
	CLEANUP(document_release) struct document d = { 0 };
	struct jval root = jval_root(doc, file);
	struct jval list = jval_get(&root, "patterns");
	int r = open_rows(&root, "patterns", KERNEL_PATTERNS_MAX, &d, err);
	size_t n = json_array_size(list.value), i;

	if (r < 0)
		return r;
	rules->patterns = xcalloc(n + 1, sizeof(*rules->patterns));
	for (i = 0; i < n && r == 0; i++) {
		struct jval row = jval_at(&list, i);

		r = take_pattern(rules, &row, err);
	}
	return r;
}

int kernel_rules_take_xids(struct kernel_rules *rules, const json_t *doc, const char *file,
			   struct err *err)
{
	CLEANUP(document_release) struct document d = { 0 };
	struct jval root = jval_root(doc, file);
	struct jval list = jval_get(&root, "xids");
	int r = open_rows(&root, "xids", KERNEL_XIDS_MAX, &d, err);
	size_t n = json_array_size(list.value), i;

	if (r < 0)
		return r;
	rules->xids = xcalloc(n + 1, sizeof(*rules->xids));
	for (i = 0; i < n && r == 0; i++) {
		struct jval row = jval_at(&list, i);

		r = take_xid(rules, &row, err);
	}
	return r;
}

void kernel_rules_release(struct kernel_rules *rules)
{
	size_t i;

	for (i = 0; i < rules->n_patterns; i++) {
		struct kernel_pattern *p = &rules->patterns[i];

		free(p->name);
		free(p->match);
		free(p->code);
		free(p->note);
		free(p->literal);
		if (p->compiled)
			regfree(&p->regex);
	}
	for (i = 0; i < rules->n_xids; i++) {
		free(rules->xids[i].action);
		free(rules->xids[i].note);
		free(rules->xids[i].nvidia);
		free(rules->xids[i].azure);
	}
	free(rules->patterns);
	free(rules->xids);
	*rules = (struct kernel_rules){ 0 };
}
