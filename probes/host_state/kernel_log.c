/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/kernel_match.h"
#include "lib/sys/kernel_rules.h"
#include "lib/sys/kmsg.h"
#include "lib/sys/paths.h"
#include "probes/host_state/host_state.h"
#include "probes/host_state/standing.h"

#define CHECK "host.kernel_log"

enum {
	RECORDS_MAX = 65536,  /* new records per run; the rest is left for the next run */
	KINDS_MAX = 256,      /* different (pattern, code, device) per run */
	DEADLINE_EVERY = 256, /* new records between checks of the limits */
	LINE_SHOWN = 240,     /* bytes of the first line in the note */
};

/* All lines with the same pattern, code and device. */
struct kind {
	struct kernel_match match;
	uint64_t count;
	char *first; /* the first such line */
};

struct scan {
	struct host *h;
	struct kmsg kmsg;
	struct kind kinds[KINDS_MAX];
	size_t n_kinds;
	uint64_t next_sequence; /* of the first record not seen yet */
	uint64_t n_new;		/* records processed */
	uint64_t n_lost;	/* overwritten before they were read */
	uint64_t n_bad;		/* lines of severity warn or worse */
	uint64_t n_untold;	/* lines past KINDS_MAX */
	bool stopped;		/* stopped at a limit: there may be more */
};

static struct kind *find_kind(struct scan *scan, const struct kernel_match *m)
{
	size_t i;

	for (i = 0; i < scan->n_kinds; i++) {
		const struct kernel_match *have = &scan->kinds[i].match;

		if (have->pattern == m->pattern && streq(have->code, m->code) &&
		    streq(have->subject, m->subject))
			return &scan->kinds[i];
	}
	if (scan->n_kinds == KINDS_MAX)
		return NULL;
	scan->kinds[scan->n_kinds] = (struct kind){ .match = *m };
	return &scan->kinds[scan->n_kinds++];
}

static void look_at(struct scan *scan, const char *text)
{
	struct kernel_match m;
	struct kind *kind;

	if (!kernel_match_line(scan->h->rules, text, &m))
		return;
	scan->n_bad += m.severity != SEVERITY_INFO;
	kind = find_kind(scan, &m);
	if (!kind) {
		scan->n_untold++;
		return;
	}
	if (kind->count++ == 0)
		kind->first = xstrndup(text, LINE_SHOWN);
}

/*
 * Only records written by the kernel count: user space may write the same text to /dev/kmsg, for
 * example a journal that forwards our own output.
 */
static void take_record(struct scan *scan, const struct kmsg_record *record)
{
	if (record->sequence < scan->next_sequence)
		return;
	/* Nothing can be lost before the first run in a boot. */
	if (scan->next_sequence > 0)
		scan->n_lost += record->sequence - scan->next_sequence;
	scan->next_sequence = record->sequence + 1;
	scan->n_new++;
	if (record->facility == 0)
		look_at(scan, record->text);
}

/*
 * Old records are skipped without a limit (the log is bounded), so that each run makes progress,
 * however short its budget.
 */
static bool at_limit(const struct scan *scan)
{
	const struct probe *probe = scan->h->probe;

	if (scan->n_new == 0 || scan->n_new % DEADLINE_EVERY)
		return false;
	return scan->n_new >= RECORDS_MAX || probe_left_us(probe) < probe->budget_us / 4;
}

static int scan_all(struct scan *scan)
{
	struct kmsg_record record;
	int r = 1;

	while (r > 0 && !scan->stopped) {
		r = kmsg_next(&scan->kmsg, &record);
		if (r <= 0)
			return r;
		take_record(scan, &record);
		scan->stopped = at_limit(scan);
	}
	return 0;
}

/* The position of the last run in this boot; 0 at the first. */
static uint64_t last_position(const struct host *h)
{
	json_int_t next = json_integer_value(json_object_get(h->past, "kmsg_next"));

	return h->same_boot && next > 0 ? (uint64_t)next : 0;
}

/* The log cannot be read, which is no fault of a device. */
static int emit_unreadable(struct host *h, const char *path, int error)
{
	struct sample s = host_sample(CHECK, "host", NAN);
	bool denied = error == EPERM || error == EACCES;

	s.state = SAMPLE_SET_UP;
	return host_emit(h, &s, FINDING_NOTE, "cannot read %s: %s%s", path, strerror(error),
			 denied ? "; run as root or with CAP_SYSLOG" : "");
}

static enum finding finding_of(int severity)
{
	static const enum finding findings[] = {
		[SEVERITY_FAIL] = FINDING_FAIL,
		[SEVERITY_INFO] = FINDING_INFO,
		[SEVERITY_WARN] = FINDING_WARN,
		[SEVERITY_FATAL] = FINDING_FATAL,
	};

	return findings[severity];
}

static int emit_kind(struct host *h, const struct kind *kind)
{
	const struct kernel_match *m = &kind->match;
	const struct kernel_pattern *p = &h->rules->patterns[m->pattern];
	CLEANUP(freep) char *note = kernel_match_note(h->rules, m);
	struct sample s = host_sample(CHECK, m->subject, (double)kind->count);

	s.code = xstrdup(m->code);
	s.params = json_pack("{s:s}", "pattern", p->name);
	return host_emit(h, &s, finding_of(m->severity), "%s. First of %" PRIu64 ": %s", note,
			 kind->count, kind->first);
}

static int emit_lost(struct scan *scan)
{
	struct sample s = host_sample(CHECK, "host", (double)scan->n_lost);

	s.code = xstrdup("overrun");
	s.params = json_pack("{s:s}", "pattern", "overrun");
	return host_emit(scan->h, &s, FINDING_NOTE,
			 "%" PRIu64 " lines were overwritten before they were read: enlarge the "
			 "log (log_buf_len=) or run this more often",
			 scan->n_lost);
}

/* One sample for the whole log: good if no line was bad. */
static int emit_summary(struct scan *scan)
{
	struct sample s = host_sample(CHECK, "host", (double)scan->n_bad);

	s.n = scan->n_new;
	s.params = json_pack("{s:s}", "pattern", "any");
	return host_emit(scan->h, &s, scan->n_bad ? FINDING_NOTE : FINDING_GOOD,
			 "%" PRIu64 " of %" PRIu64 " new lines report a fault%s%s", scan->n_bad,
			 scan->n_new, scan->stopped ? "; the next run reads the rest" : "",
			 scan->n_untold ? "; too many kinds to name them all" : "");
}

/* The fatal findings of this run, which stand until the next boot. Returns a new reference. */
static json_t *fatal_kinds(const struct scan *scan)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < scan->n_kinds; i++) {
		const struct kind *kind = &scan->kinds[i];

		if (kind->match.severity == SEVERITY_FATAL)
			standing_add(list, kind->match.code, kind->match.subject, kind->first);
	}
	return list;
}

static int emit_scan(struct scan *scan)
{
	CLEANUP(json_freep) json_t *standing = standing_load(scan->h);
	CLEANUP(json_freep) json_t *told = fatal_kinds(scan);
	size_t i;
	int r = emit_summary(scan);

	if (r == 0 && scan->n_lost)
		r = emit_lost(scan);
	for (i = 0; i < scan->n_kinds && r == 0; i++)
		r = emit_kind(scan->h, &scan->kinds[i]);
	if (r == 0)
		r = standing_emit(scan->h, CHECK, standing, told);
	standing_save(scan->h, standing, told);
	return r;
}

/* Standing findings are emitted even if the log can no longer be read. */
static int emit_standing_only(struct host *h)
{
	CLEANUP(json_freep) json_t *standing = standing_load(h);

	standing_save(h, standing, NULL);
	return standing_emit(h, CHECK, standing, NULL);
}

static void scan_free(struct scan *scan)
{
	size_t i;

	for (i = 0; i < scan->n_kinds; i++)
		free(scan->kinds[i].first);
	free(scan);
}
DEFINE_CLEANUP(struct scan *, scan_free, scan_freep);

int host_kernel_log(struct host *h, struct err *err UNUSED)
{
	CLEANUP(scan_freep) struct scan *scan = xcalloc(1, sizeof(*scan));
	CLEANUP(freep) char *path = paths_kmsg();
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	int r = fd < 0 ? -errno : 0;

	scan->h = h;
	scan->next_sequence = last_position(h);
	kmsg_init(&scan->kmsg, &fd);
	if (r == 0)
		r = scan_all(scan);
	/* Saved even if reading failed midway: unread records are left for the next run. */
	(void)json_object_set_new(h->next, "kmsg_next",
				  json_integer((json_int_t)scan->next_sequence));
	if (r < 0 && scan->n_new == 0) {
		r = emit_unreadable(h, path, -r);
		return r < 0 ? r : emit_standing_only(h);
	}
	return emit_scan(scan);
}
