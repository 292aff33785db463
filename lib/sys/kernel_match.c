/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/kernel_match.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/kernel_rules.h"
#include "lib/sys/pci_address.h"

enum { LITERAL_MIN = 3 };

/* --- the text contained in every match ------------------------------------ */

/* Skips the bracket expression or group that begins at `at`. */
static const char *skip_bracket(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	at += *at == ']';
	while (*at && *at != ']')
		at++;
	return *at ? at + 1 : at;
}

static const char *skip_group(const char *at)
{
	unsigned depth = 0;

	while (*at) {
		if (*at == '\\' && at[1]) {
			at += 2;
			continue;
		}
		if (*at == '[') {
			at = skip_bracket(at);
			continue;
		}
		depth += *at == '(';
		if (*at == ')' && --depth == 0)
			return at + 1;
		at++;
	}
	return at;
}

/*
 * The literal character at `at`, NUL if it is something else; `ret_next` is after it in both cases.
 */
static char literal_char(const char *at, const char **ret_next)
{
	*ret_next = at + 1;
	if (*at == '\\' && at[1]) {
		*ret_next = at + 2;
		return strchr("().[]*+?{}^$|\\/-:", at[1]) ? at[1] : '\0';
	}
	if (*at == '[')
		*ret_next = skip_bracket(at);
	else if (*at == '(')
		*ret_next = skip_group(at);
	else if (!strchr(".^$*+?{}\\", *at))
		return *at;
	return '\0';
}

char *kernel_literal(const char *regex)
{
	CLEANUP(freep) char *run = xcalloc(strlen(regex) + 1, 1);
	CLEANUP(freep) char *best = xstrdup("");
	const char *at = regex, *next;
	size_t len = 0;

	while (*at && *at != '|') {
		char c = literal_char(at, &next);

		/* A quantified character is optional, and ends the run. */
		if (c && !(*next && strchr("*+?{", *next))) {
			run[len++] = c;
		} else {
			len = 0;
			if (*at == '{')
				next = at + strcspn(at, "}");
		}
		if (len > strlen(best)) {
			free(best);
			best = xstrndup(run, len);
		}
		at = next;
	}
	return *at == '|' || strlen(best) < LITERAL_MIN ? NULL : TAKE(best);
}

/* --- matching --------------------------------------------------------------- */

/* Capture `group` of `text`, "" if unset; new memory. */
static char *capture(const char *text, const regmatch_t *groups, uint64_t group)
{
	const regmatch_t *at = &groups[group];

	if (at->rm_so < 0)
		return xstrdup("");
	return xstrndup(text + at->rm_so, (size_t)(at->rm_eo - at->rm_so));
}

/* PCI addresses in the format of sysfs, other names unchanged. */
static void put_subject(const char *device, struct kernel_match *m)
{
	char address[PCI_ADDRESS_SIZE];

	if (pci_find_address(device, address))
		(void)snprintf(m->subject, sizeof(m->subject), "pci:%s", address);
	else
		(void)snprintf(m->subject, sizeof(m->subject), "%.80s", *device ? device : "host");
}

static void put_code(const struct kernel_pattern *p, const char *text, const regmatch_t *groups,
		     struct kernel_match *m)
{
	const char *at;
	size_t len = 0;

	for (at = p->code; *at && len + 1 < sizeof(m->code); at++) {
		CLEANUP(freep) char *part = NULL;
		size_t n;

		if (*at == '\\')
			part = capture(text, groups, (uint64_t)(*++at - '0'));
		else
			part = xstrndup(at, 1);
		n = MIN(strlen(part), sizeof(m->code) - 1 - len);
		memcpy(m->code + len, part, n);
		len += n;
	}
	m->code[len] = '\0';
}

static const struct kernel_xid *find_xid(const struct kernel_rules *rules, const char *number)
{
	char *end = NULL;
	unsigned long xid = strtoul(number, &end, 10);
	size_t i;

	for (i = 0; end != number && i < rules->n_xids; i++) {
		if (rules->xids[i].xid == xid)
			return &rules->xids[i];
	}
	return NULL;
}

static void describe(const struct kernel_rules *rules, size_t pattern, const char *text,
		     const regmatch_t *groups, struct kernel_match *ret)
{
	const struct kernel_pattern *p = &rules->patterns[pattern];
	struct kernel_match m = { .pattern = pattern, .severity = p->severity };
	CLEANUP(freep) char *device = p->subject ? capture(text, groups, p->subject) : xstrdup("");
	CLEANUP(freep) char *number = p->xid ? capture(text, groups, p->xid) : NULL;

	m.xid = number ? find_xid(rules, number) : NULL;
	if (m.xid)
		m.severity = m.xid->severity;
	put_subject(device, &m);
	put_code(p, text, groups, &m);
	*ret = m;
}

bool kernel_match_line(const struct kernel_rules *rules, const char *text, struct kernel_match *ret)
{
	regmatch_t groups[KERNEL_GROUPS_MAX];
	size_t i;

	for (i = 0; i < rules->n_patterns; i++) {
		const struct kernel_pattern *p = &rules->patterns[i];

		if (p->literal && !strstr(text, p->literal))
			continue;
		if (regexec(&p->regex, text, KERNEL_GROUPS_MAX, groups, 0) != 0)
			continue;
		describe(rules, i, text, groups, ret);
		return true;
	}
	return false;
}

char *kernel_match_note(const struct kernel_rules *rules, const struct kernel_match *match)
{
	const char *note = rules->patterns[match->pattern].note;
	const struct kernel_xid *xid = match->xid;

	if (!xid)
		return xstrdup(note);
	return xasprintf("%s: %s (do: %s; NVIDIA: %s; Azure: %s)", note, xid->note, xid->action,
			 xid->nvidia ? xid->nvidia : "-", xid->azure ? xid->azure : "-");
}
