/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Xids since the last run, from the kernel log and from NVML events (an Xid received while
 * reading), classified by the table in policies/xid.yaml. A fatal one stands until the next boot,
 * saved as xids: [{line}]. One known only from an event is saved as told: ["CODE SUBJECT"], so that
 * its log line, which the kernel may write later, is not counted again by the next run.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/kernel_match.h"
#include "lib/sys/kernel_rules.h"
#include "lib/sys/kmsg.h"
#include "lib/sys/paths.h"
#include "probes/gpu_state/gpu_state.h"

#define CHECK_XID "gpu.xid"

enum {
	RECORDS_MAX = 65536, /* new records per run; the rest is left for the next run */
	KINDS_MAX = 128,     /* different (code, GPU) pairs per run */
	LINE_SIZE = 240,
};

struct kind {
	struct kernel_match match;
	char subject[GPU_SUBJECT_SIZE]; /* the GPU's; "pci:..." if no GPU has that address */
	uint64_t count;
	char first[LINE_SIZE];
	bool standing; /* from an earlier run */
	bool by_event; /* not in the kernel log */
};

struct xids {
	struct gpu_state *state;
	struct kmsg kmsg;
	struct kind kinds[KINDS_MAX];
	size_t n;
	uint64_t next; /* sequence number of the first record not seen yet */
	uint64_t n_new;
	json_t *told; /* the last run's events, minus lines seen since; owned */
};

static void xids_free(struct xids *x)
{
	json_decref(x->told);
	free(x);
}
DEFINE_CLEANUP(struct xids *, xids_free, xids_freep);

/* --- kinds ---------------------------------------------------------------------------------- */

static struct kind *find_kind(struct xids *x, const char *code, const char *subject)
{
	size_t i;

	for (i = 0; i < x->n; i++) {
		if (streq(x->kinds[i].match.code, code) && streq(x->kinds[i].subject, subject))
			return &x->kinds[i];
	}
	if (x->n == KINDS_MAX)
		return NULL;
	x->kinds[x->n] = (struct kind){ .count = 0 };
	return &x->kinds[x->n++];
}

static void subject_of(const struct gpus *gpus, const char *pci, char ret[static GPU_SUBJECT_SIZE])
{
	size_t i = 0;

	while (i < gpus->n && !(starts_with(pci, "pci:") && streq(gpus->all[i].pci, pci + 4)))
		i++;
	(void)snprintf(ret, GPU_SUBJECT_SIZE, "%.79s", i < gpus->n ? gpus->all[i].subject : pci);
}

/* Did an event report it in the last run? Its first line is then not new. */
static bool was_told(struct xids *x, const char *code, const char *subject)
{
	CLEANUP(freep) char *key = xasprintf("%s %s", code, subject);
	size_t i;

	for (i = 0; i < json_array_size(x->told); i++) {
		const char *at = json_string_value(json_array_get(x->told, i));

		if (at && streq(at, key))
			return json_array_remove(x->told, i) == 0;
	}
	return false;
}

/* Take a line that is an Xid. With `again` false, ignore it if there is one of its kind already. */
static void take_line(struct xids *x, const char *line, bool again)
{
	char subject[GPU_SUBJECT_SIZE];
	struct kernel_match m;
	struct kind *kind;

	if (!kernel_match_line(x->state->rules, line, &m) || !starts_with(m.code, "xid:"))
		return;
	subject_of(x->state->gpus, m.subject, subject);
	if (again && was_told(x, m.code, subject))
		return;
	kind = find_kind(x, m.code, subject);
	if (!kind || (kind->count && !again))
		return;
	if (kind->count++)
		return;
	kind->match = m;
	(void)snprintf(kind->subject, sizeof(kind->subject), "%s", subject);
	(void)snprintf(kind->first, sizeof(kind->first), "%.239s", line);
}

/* --- sources -------------------------------------------------------------------------------- */

/* Only records written by the kernel count, because anybody may write to its log. */
static int scan(struct xids *x)
{
	struct kmsg_record record;
	int r;

	while ((r = kmsg_next(&x->kmsg, &record)) > 0 && x->n_new < RECORDS_MAX) {
		if (record.sequence < x->next)
			continue;
		x->next = record.sequence + 1;
		x->n_new++;
		if (record.facility == 0)
			take_line(x, record.text, true);
	}
	return r < 0 ? r : 0;
}

/* Events are turned into log lines, so that the same table applies. */
static void take_events(struct xids *x)
{
	const struct gpus *gpus = x->state->gpus;
	size_t i;

	for (i = 0; i < gpus->n_events; i++) {
		size_t before = x->n;
		char line[LINE_SIZE];

		(void)snprintf(line, sizeof(line), "NVRM: Xid (PCI:%s): %u, reported by NVML",
			       gpus->all[gpus->events[i].gpu].pci, gpus->events[i].xid);
		take_line(x, line, false);
		if (x->n > before)
			x->kinds[x->n - 1].by_event = true;
	}
}

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Add standing Xids that were not reported again. */
static void take_standing(struct xids *x)
{
	const json_t *list = x->state->same_boot ? json_object_get(x->state->past, "xids") : NULL;
	size_t i;

	for (i = 0; i < json_array_size(list) && i < KINDS_MAX; i++) {
		size_t before = x->n;

		take_line(x, text_at(json_array_get(list, i), "line"), false);
		if (x->n > before)
			x->kinds[x->n - 1].standing = true;
	}
}

static void keep(const struct xids *x)
{
	json_t *list = json_array(), *told = json_array();
	size_t i;

	for (i = 0; i < x->n; i++) {
		if (x->kinds[i].by_event)
			(void)json_array_append_new(
				told,
				json_sprintf("%s %s", x->kinds[i].match.code, x->kinds[i].subject));
		if (x->kinds[i].match.severity == SEVERITY_FATAL)
			(void)json_array_append_new(list,
						    json_pack("{s:s}", "line", x->kinds[i].first));
	}
	(void)json_object_set_new(x->state->next, "xids", list);
	(void)json_object_set_new(x->state->next, "told", told);
}

/* --- samples -------------------------------------------------------------------------------- */

static int tell_kind(struct gpu_state *state, const struct kind *kind)
{
	static const enum finding findings[] = {
		[SEVERITY_FAIL] = FINDING_FAIL,
		[SEVERITY_INFO] = FINDING_INFO,
		[SEVERITY_WARN] = FINDING_WARN,
		[SEVERITY_FATAL] = FINDING_FATAL,
	};
	CLEANUP(freep) char *note = kernel_match_note(state->rules, &kind->match);
	const struct gpu_words words = { .check = CHECK_XID,
					 .value = kind->standing ? 0 : (double)kind->count,
					 .code = kind->match.code };

	return gpu_tell(state, kind->subject, &words, findings[kind->match.severity], "%s. %s: %s",
			note,
			kind->standing ? "Reported earlier; it remains until the next boot"
				       : "First of them",
			kind->first);
}

static bool has_kind(const struct xids *x, const char *subject)
{
	size_t i = 0;

	while (i < x->n && !streq(x->kinds[i].subject, subject))
		i++;
	return i < x->n;
}

/* Each GPU without an Xid gets a good sample, which ends an earlier finding. */
static int tell_all(struct xids *x)
{
	static const struct gpu_words none = { .check = CHECK_XID };
	struct gpu_state *state = x->state;
	size_t i;
	int r = 0;

	for (i = 0; i < x->n && r == 0; i++)
		r = tell_kind(state, &x->kinds[i]);
	for (i = 0; i < state->gpus->n && r == 0; i++) {
		const char *subject = state->gpus->all[i].subject;

		if (!has_kind(x, subject))
			r = gpu_tell(state, subject, &none, FINDING_GOOD,
				     "no Xid since the last run");
	}
	return r;
}

/* If the log cannot be read, host-state reports that; "no Xid" would be wrong here. */
static bool can_read(struct xids *x, int fd)
{
	return fd >= 0 && (scan(x) == 0 || x->n_new > 0);
}

int gpu_xids(struct gpu_state *state)
{
	CLEANUP(xids_freep) struct xids *x = xcalloc(1, sizeof(*x));
	CLEANUP(freep) char *path = paths_kmsg();
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	json_int_t next = json_integer_value(json_object_get(state->past, "kmsg_next"));
	bool readable;

	x->state = state;
	x->next = state->same_boot && next > 0 ? (uint64_t)next : 0;
	x->told = state->same_boot ? json_deep_copy(json_object_get(state->past, "told")) : NULL;
	kmsg_init(&x->kmsg, &fd);
	readable = can_read(x, fd);
	take_events(x);
	take_standing(x);
	keep(x);
	(void)json_object_set_new(state->next, "kmsg_next", json_integer((json_int_t)x->next));
	if (!readable && x->n == 0)
		return 0;
	return tell_all(x);
}
