/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/actor_driver/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "tests/actor_driver/check.h"
#include "tests/actor_driver/draw.h"
#include "tests/actor_driver/driver.h"
#include "tests/actor_driver/driver_seam.h"
#include "tests/actor_driver/life.h"
#include "tests/actor_driver/script.h"

enum { LINE_MAX_BYTES = 16384 };

/* An incident as of the last commit. */
struct kept_incident {
	int64_t id;
	bool closed;
	char *name; /* "n3/gpu.xid#2" */
};

double trace_time(uint64_t us)
{
	return us ? ((double)us - (double)START_US) / (double)USEC_PER_SEC : -1;
}

/* --- lines --- */

static void add_line(struct driver *d, const char *who, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

static void add_line(struct driver *d, const char *who, const char *fmt, va_list args)
{
	char *text = NULL, *line;

	if (vasprintf(&text, fmt, args) < 0)
		abort(); /* out of memory */
	line = xasprintf("%11.3f %s %s", trace_time(d->now_us), who, text);
	free(text);
	if (d->n_lines == d->room_lines) {
		d->room_lines = 2 * d->room_lines + 64;
		d->lines = xrealloc(d->lines, d->room_lines, sizeof(*d->lines));
	}
	d->lines[d->n_lines++] = line;
}

void trace_line(struct controller *c, const char *fmt, ...)
{
	const char *const who[CONTROLLERS_MAX] = { "A", "B" };
	va_list args;

	va_start(args, fmt);
	add_line(c->driver, who[c->number], fmt, args);
	va_end(args);
}

void trace_world(struct driver *d, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_line(d, "-", fmt, args);
	va_end(args);
}

void trace_violation(struct driver *d, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_line(d, "VIOLATION", fmt, args);
	va_end(args);
	d->violations++;
	d->tally->violations++;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void trace_flush(struct driver *d)
{
	size_t i;

	if (d->n_lines > 0)
		qsort(d->lines, d->n_lines, sizeof(*d->lines), by_text);
	for (i = 0; i < d->n_lines; i++) {
		d->hash = draw_text(d->hash, d->lines[i]);
		if (d->trace)
			(void)fprintf(d->trace, "%s\n", d->lines[i]);
		free(d->lines[i]);
	}
	d->n_lines = 0;
}

/* --- names --- */

static const struct row *row_of(const struct controller *c, int64_t id)
{
	size_t i;

	for (i = c->n_rows; i-- > 0;) {
		if (c->rows[i].id == id)
			return &c->rows[i];
	}
	return NULL;
}

const char *trace_action(const struct controller *c, const char *number)
{
	const struct row *row = number ? row_of(c, strtoll(number, NULL, 10)) : NULL;

	return row ? row->name : "?";
}

static const char *incident_name(const struct controller *c, int64_t id)
{
	size_t i;

	for (i = 0; i < c->n_incidents; i++) {
		if (c->incidents[i].id == id)
			return c->incidents[i].name;
	}
	return id ? "?" : "-";
}

char *trace_text(const struct controller *c, const char *text)
{
	static const char word[] = "incident ";
	struct strbuf sb = STRBUF_INIT(LINE_MAX_BYTES);
	const char *at = text ? text : "-", *next;
	char *copy;

	while ((next = strstr(at, word))) {
		char *end = NULL;

		next += strlen(word);
		(void)strbuf_add(&sb, at, (size_t)(next - at));
		at = next;
		if (*at < '0' || *at > '9')
			continue;
		(void)strbuf_puts(&sb, incident_name(c, strtoll(at, &end, 10)));
		at = end;
	}
	(void)strbuf_puts(&sb, at);
	copy = xstrdup(strbuf_text(&sb));
	strbuf_release(&sb);
	return copy;
}

/* --- actions --- */

static uint64_t progress_of(const struct seam_action *a)
{
	return draw_text((uint64_t)a->state * 31 + a->done_us, a->result ? a->result : "");
}

static struct row *add_row(struct controller *c, const struct seam_action *a)
{
	const unsigned node = driver_node(c->driver, a->node);
	struct row *row;
	unsigned nth = 1;
	size_t i;

	for (i = 0; i < c->n_rows; i++)
		nth += c->rows[i].node == node;
	c->rows = xrealloc(c->rows, c->n_rows + 1, sizeof(*c->rows));
	row = &c->rows[c->n_rows++];
	*row = (struct row){ .id = a->id,
			     .node = node,
			     .nth = nth,
			     .kind = a->kind,
			     .glass = a->glass,
			     .automatic = streq(a->who, "automatic"),
			     .decided_us = a->decided_us,
			     .name = xasprintf("%s#%u", a->node[0] ? a->node : "fleet", nth) };
	return row;
}

static void reach(struct controller *c, const struct row *row)
{
	static const enum point points[] = {
		[SEAM_UNDER_WAY] = POINT_RECORDED,  [SEAM_DONE] = POINT_COMPLETED,
		[SEAM_FAILED] = POINT_FAILED,	    [SEAM_DROPPED] = POINT_DROPPED,
		[SEAM_REHEARSED] = POINT_REHEARSED, [SEAM_REFUSED] = POINT_REFUSED,
	};

	c->driver->tally->actions[row->kind][row->state]++;
	if (seam_is_cordon(row->kind) && seam_progress(row->state) == SEAM_UNDER_WAY)
		script_race(c->driver, row->node, row->nth);
	life_point(c, points[seam_progress(row->state)], row->node);
}

static void on_action(void *context, const struct seam_action *a)
{
	struct controller *c = context;
	struct row *row = (struct row *)(uintptr_t)row_of(c, a->id);
	const uint64_t progress = progress_of(a);
	CLEANUP(freep) char *text = NULL, *reason = NULL;

	if (row && row->progress == progress)
		return;
	text = trace_text(c, a->text);
	reason = trace_text(c, a->reason);
	if (!row) {
		row = add_row(c, a);
		trace_line(c,
			   "row %s %s by %s rule %s incident %s epoch %" PRIu64
			   "%s until %.3f decided %.3f: %s (%s)",
			   row->name, seam_kind(a->kind), a->who, a->rule ? a->rule : "-",
			   incident_name(c, a->incident), a->epoch, a->glass ? " glass" : "",
			   trace_time(a->until_us), trace_time(a->decided_us), reason, text);
	}
	row->progress = progress;
	row->state = a->state;
	row->over = a->done_us > 0;
	trace_line(c, "row %s %s %s at %.3f: %s", row->name, seam_kind(a->kind),
		   seam_state(a->state), trace_time(a->done_us), a->result ? a->result : "-");
	reach(c, row);
}

static int64_t first_open(const struct controller *c)
{
	size_t i;

	for (i = 0; i < c->n_rows; i++) {
		/* A dry run is answered by the cluster after its row has ended. */
		if (!c->rows[i].over || seam_progress(c->rows[i].state) == SEAM_REHEARSED)
			return c->rows[i].id;
	}
	return c->n_rows > 0 ? c->rows[c->n_rows - 1].id + 1 : 0;
}

/* --- the rest of the store --- */

static void on_transition(void *context, const struct seam_transition *t)
{
	struct controller *c = context;
	CLEANUP(freep) char *why = trace_text(c, t->why);

	c->last_transition = t->id;
	trace_line(c, "life %s %d to %d by %s of %s at %.3f: %s", t->node, t->before, t->after,
		   t->event, t->who, trace_time(t->at_us), why);
}

static struct kept_incident *add_incident(struct controller *c, const struct seam_incident *i)
{
	struct kept_incident *kept;

	c->incidents = xrealloc(c->incidents, c->n_incidents + 1, sizeof(*c->incidents));
	kept = &c->incidents[c->n_incidents++];
	*kept = (struct kept_incident){ .id = i->id,
					.name = xasprintf("%s/%s@%.3f", i->node, i->check,
							  trace_time(i->opened_us)) };
	c->last_incident = i->id;
	return kept;
}

static void on_incident(void *context, const struct seam_incident *i)
{
	struct controller *c = context;
	struct kept_incident *kept = NULL;
	size_t n;

	for (n = 0; n < c->n_incidents && !kept; n++)
		kept = c->incidents[n].id == i->id ? &c->incidents[n] : NULL;
	if (!kept) {
		kept = add_incident(c, i);
		trace_line(c, "incident %s: %s", kept->name, i->sentence);
	}
	if (!kept->closed && i->closed_us)
		trace_line(c, "incident %s closed at %.3f", kept->name, trace_time(i->closed_us));
	kept->closed = i->closed_us > 0;
}

static void trace_budgets(struct controller *c)
{
	char *used = seam_budgets(c);

	if (!streq(used, c->used))
		trace_line(c, "%s", used);
	free(c->used);
	c->used = used;
}

void trace_commit(struct controller *c)
{
	/* First, because the lines of actions name incidents. */
	seam_incidents(c, c->last_incident, on_incident, c);
	seam_actions(c, first_open(c), on_action, c);
	seam_transitions(c, c->last_transition, on_transition, c);
	trace_budgets(c);
}

void trace_forget(struct controller *c)
{
	free(TAKE(c->used));
}

void trace_release(struct driver *d)
{
	unsigned i;
	size_t j;

	for (i = 0; i < d->n_controllers; i++) {
		struct controller *c = &d->controllers[i];

		for (j = 0; j < c->n_rows; j++)
			free(c->rows[j].name);
		for (j = 0; j < c->n_incidents; j++)
			free(c->incidents[j].name);
		free(TAKE(c->rows));
		free(TAKE(c->incidents));
		free(TAKE(c->used));
	}
	free(d->lines);
}
