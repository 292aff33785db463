/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/log_watch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "agents/assayd/watch_pace.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/sys/clock_pair.h"
#include "lib/sys/kernel_match.h"
#include "lib/sys/kernel_rules.h"
#include "lib/sys/kmsg.h"

static void kind_release(struct log_kind *kind)
{
	free(kind->pattern);
	free(kind->code);
	free(kind->subject);
	free(kind->note);
	free(kind->first);
}

static void drop(struct log_watch *w, size_t i)
{
	kind_release(&w->kinds[i]);
	memmove(&w->kinds[i], &w->kinds[i + 1], (w->n - i - 1) * sizeof(*w->kinds));
	w->n--;
}

void log_watch_init(struct log_watch *w)
{
	*w = (struct log_watch){ .since_us = WATCH_NEVER };
}

void log_watch_release(struct log_watch *w)
{
	while (w->n > 0)
		drop(w, w->n - 1);
	log_watch_init(w);
}

int64_t log_watch_fatal_xid(const struct log_watch *w, const char *subject, uint64_t since_us)
{
	static const char code[] = "xid:";
	uint64_t newest_us = 0;
	int64_t xid = -1;
	size_t i;

	for (i = 0; i < w->n; i++) {
		const struct log_kind *kind = &w->kinds[i];

		if (kind->severity != SEVERITY_FATAL || kind->last_us < since_us ||
		    kind->last_us < newest_us || !streq(kind->subject, subject) ||
		    !starts_with(kind->code, code))
			continue;
		newest_us = kind->last_us;
		xid = strtoll(kind->code + strlen(code), NULL, 10);
	}
	return xid;
}

void log_watch_forget(struct log_watch *w)
{
	while (w->n > 0)
		drop(w, w->n - 1);
	w->since_us = 0;
}

/* --- input --------------------------------------------------------------------- */

/* Lines were lost, or there is no room: report at once, then once a minute. */
static void note_trouble(struct log_watch *w, uint64_t now_us)
{
	const uint64_t again_us = w->trouble_us ? w->trouble_us + LOG_AGAIN_US : 0;

	w->since_us = MIN(w->since_us, MAX(now_us, again_us));
}

/* Drop the kind with the oldest last line; those that stay until the next boot are kept. */
static bool make_room(struct log_watch *w)
{
	size_t oldest = w->n, i;

	for (i = 0; i < w->n; i++) {
		if (w->kinds[i].severity != SEVERITY_FATAL &&
		    (oldest == w->n || w->kinds[i].last_us < w->kinds[oldest].last_us))
			oldest = i;
	}
	if (oldest == w->n)
		return false;
	w->untold += w->kinds[oldest].fresh;
	drop(w, oldest);
	return true;
}

static struct log_kind *find(struct log_watch *w, const char *pattern, const struct kernel_match *m)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		struct log_kind *kind = &w->kinds[i];

		if (streq(kind->subject, m->subject) && streq(kind->code, m->code) &&
		    streq(kind->pattern, pattern))
			return kind;
	}
	return NULL;
}

/* Only a fatal kind displaces others, so that a storm of them cannot hide it. */
static struct log_kind *add(struct log_watch *w, const struct kernel_rules *rules,
			    const struct kernel_match *m, const char *text, uint64_t at_us)
{
	if (w->n == LOG_KINDS_MAX && (m->severity != SEVERITY_FATAL || !make_room(w)))
		return NULL;
	w->kinds[w->n] = (struct log_kind){
		.pattern = xstrdup(rules->patterns[m->pattern].name),
		.code = xstrdup(m->code),
		.subject = xstrdup(m->subject),
		.note = kernel_match_note(rules, m),
		.first = xstrndup(text, LOG_LINE_SHOWN),
		.severity = m->severity,
		.since_us = at_us,
	};
	return &w->kinds[w->n++];
}

static void take(struct log_watch *w, const struct kernel_rules *rules,
		 const struct kernel_match *m, const char *text, uint64_t at_us, uint64_t now_us)
{ /* lint: allow parameters: a line, what it means and when it came */
	struct log_kind *kind = find(w, rules->patterns[m->pattern].name, m);

	if (!kind)
		kind = add(w, rules, m, text, at_us);
	if (!kind) {
		w->untold++;
		note_trouble(w, now_us);
		return;
	}
	kind->count++;
	kind->fresh++;
	kind->last_us = at_us;
	if (kind->told_us == 0)
		w->since_us = MIN(w->since_us, now_us);
}

/* The kernel's log clock differs slightly from ours: clamp to the present. */
static uint64_t time_of(const struct kmsg_record *record, uint64_t now_us)
{
	return MIN(record->time_us, now_us);
}

void log_watch_record(struct log_watch *w, const struct kernel_rules *rules,
		      const struct kmsg_record *record, bool backlog, uint64_t now_us)
{
	const uint64_t at_us = backlog ? time_of(record, now_us) : now_us;
	struct kernel_match m;

	if (record->sequence < w->next_sequence)
		return;
	/* Before the first record of a boot nothing can be lost. */
	if (w->next_sequence > 0 && record->sequence > w->next_sequence) {
		w->lost += record->sequence - w->next_sequence;
		note_trouble(w, now_us);
	}
	w->next_sequence = record->sequence + 1;
	w->lines++;
	/* User space can write the same text. */
	if (record->facility != 0 || !kernel_match_line(rules, record->text, &m))
		return;
	if (m.severity == SEVERITY_FATAL || now_us - at_us < LOG_HOLD_US)
		take(w, rules, &m, record->text, at_us, now_us);
}

/* --- output ---------------------------------------------------------------------- */

/* When the kind itself needs a report. */
static uint64_t kind_due(const struct log_kind *kind)
{
	if (kind->fresh > 0)
		return kind->told_us ? kind->told_us + LOG_AGAIN_US : kind->last_us;
	return kind->severity == SEVERITY_FATAL ? WATCH_NEVER : kind->last_us + LOG_HOLD_US;
}

uint64_t log_watch_due(const struct log_watch *w)
{
	uint64_t due_us = w->since_us;
	size_t i;

	for (i = 0; i < w->n; i++)
		due_us = MIN(due_us, kind_due(&w->kinds[i]));
	return due_us;
}

static struct sample sample_of(const char *check, const char *subject, double value)
{
	struct sample s = sample_init();

	s.check = xstrdup(check);
	s.subject = xstrdup(subject);
	s.value = value;
	s.unit = xstrdup("1");
	return s;
}

static char *kind_note(const struct log_kind *kind, const struct clock_pair *now)
{
	const uint64_t ago_us = now->up_us - MIN(kind->since_us, now->up_us);
	char since[CLOCK_STAMP_SIZE];

	clock_stamp(now->real_us - MIN(ago_us, now->real_us), since);
	return xasprintf(
		"%s. %" PRIu64 " line%s since %s, the first: %s%s", kind->note, kind->count,
		kind->count == 1 ? "" : "s", since, kind->first,
		kind->severity == SEVERITY_FATAL
			? "; it counts until a reboot, or until the device is reset and the state "
			  "files watch.json and probe/host-state.json are deleted"
			: "");
}

static struct sample kind_sample(const struct log_kind *kind, bool over,
				 const struct clock_pair *now)
{
	struct sample s = sample_of(LOG_CHECK, kind->subject, (double)kind->fresh);
	const uint64_t ago_us = now->up_us - MIN(kind->since_us, now->up_us);

	s.code = xstrdup(kind->code);
	s.params = json_pack("{s:s}", "pattern", kind->pattern);
	s.ok = over ? TRI_YES : TRI_NO;
	s.severity = over ? SEVERITY_FAIL : kind->severity;
	s.start = (double)(now->real_us - MIN(ago_us, now->real_us)) / 1e6;
	s.seconds = (double)ago_us / 1e6;
	if (over)
		s.note = xasprintf("no such line for %u min: %s",
				   (unsigned)(LOG_HOLD_US / USEC_PER_MIN), kind->note);
	else
		s.note = kind_note(kind, now);
	return s;
}

/* The log as a whole, so that no report is without samples. */
static struct sample summary(const struct log_watch *w)
{
	CLEANUP(freep) char *lost = NULL;
	CLEANUP(freep) char *untold = NULL;
	struct sample s = sample_of("host.watch", "kernel-log", (double)w->lines);

	s.ok = w->lost || w->untold ? TRI_UNKNOWN : TRI_YES;
	s.code = w->lost ? xstrdup("overrun") : NULL;
	lost = w->lost ? xasprintf("; %" PRIu64 " were overwritten before they were read", w->lost)
		       : xstrdup("");
	untold = w->untold ? xasprintf("; %" PRIu64
				       " are of kinds left out because there are too many",
				       w->untold)
			   : xstrdup("");
	s.note = xasprintf("new lines in the kernel log: %" PRIu64 "%s%s", w->lines, lost, untold);
	return s;
}

void log_watch_tell(struct log_watch *w, const struct clock_pair *now, struct report *report)
{
	struct sample s = summary(w);
	size_t i = 0;

	(void)report_add_sample(report, &s);
	while (i < w->n) {
		struct log_kind *kind = &w->kinds[i];
		const bool over = kind->fresh == 0 && kind_due(kind) <= now->up_us;

		s = kind_sample(kind, over, now);
		(void)report_add_sample(report, &s);
		if (over) {
			drop(w, i);
			continue;
		}
		kind->told_us = MAX(now->up_us, (uint64_t)1);
		kind->fresh = 0;
		i++;
	}
	if (w->lost || w->untold)
		w->trouble_us = MAX(now->up_us, (uint64_t)1);
	w->lines = w->lost = w->untold = 0;
	w->since_us = WATCH_NEVER;
}

/* --- state across restarts --------------------------------------------------- */

#define TIME_MAX 1e15 /* microseconds: 31 years */

#define AT(m) offsetof(struct log_kind, m)
static const struct jfield kind_fields[] = {
	{ "pattern", J_STRING, AT(pattern), J_REQUIRED },
	{ "code", J_STRING, AT(code), J_REQUIRED },
	{ "subject", J_STRING, AT(subject), J_REQUIRED },
	{ "note", J_STRING, AT(note), J_REQUIRED },
	{ "first", J_STRING, AT(first), J_REQUIRED },
	{ "severity", J_ENUM, AT(severity), J_REQUIRED, .names = severity_names },
	{ "since_us", J_U64, AT(since_us), J_REQUIRED, .max = TIME_MAX },
	{ "last_us", J_U64, AT(last_us), J_REQUIRED, .max = TIME_MAX },
	{ "told_us", J_U64, AT(told_us), J_REQUIRED, .max = TIME_MAX },
	{ "count", J_U64, AT(count), J_REQUIRED },
	{ "fresh", J_U64, AT(fresh), J_REQUIRED },
};
#undef AT

json_t *log_watch_encode(const struct log_watch *w)
{
	json_t *kinds = json_array();
	size_t i;

	for (i = 0; i < w->n; i++)
		json_array_append_new(
			kinds, jval_encode(kind_fields, ARRAY_SIZE(kind_fields), &w->kinds[i]));
	return json_pack("{s:I, s:o}", "next", (json_int_t)w->next_sequence, "kinds", kinds);
}

void log_watch_decode(struct log_watch *w, const json_t *value)
{
	const struct jval root = jval_root(value, "watch.json");
	const struct jval kinds = jval_get(&root, "kinds");
	json_int_t next = json_integer_value(json_object_get(value, "next"));
	size_t i;

	w->next_sequence = next > 0 ? (uint64_t)next : 0;
	for (i = 0; i < json_array_size(kinds.value) && w->n < LOG_KINDS_MAX; i++) {
		const struct jval row = jval_at(&kinds, i);
		struct log_kind kind = { 0 };

		if (jval_decode(&row, kind_fields, ARRAY_SIZE(kind_fields), 0, &kind, NULL) == 0 &&
		    kind.pattern[0] && kind.subject[0])
			w->kinds[w->n++] = kind;
		else
			kind_release(&kind);
	}
}
