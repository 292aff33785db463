/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl job NAME: what slows a job, and how certain that is; with --windows, the traces it
 * sent; with --ranks, where each rank stands.
 */
#include "cli/view_job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/heat.h"
#include "cli/items.h"
#include "cli/job_exclude.h"
#include "cli/job_name.h"
#include "cli/job_outlook.h"
#include "cli/job_ranks.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { SUSPECTS_SHOWN = 3, TESTS_SHOWN = 5 };

/* --- fetching --- */

int view_job_fetch(struct link *link, const char *id, json_t **ret, struct err *err)
{
	CLEANUP(freep) char *segment = link_segment(id);
	CLEANUP(freep) char *path = xasprintf("/v1/jobs/%s", segment);

	return link_get(link, path, ret, err);
}

static bool any(const json_t *window UNUSED, const struct settings *s UNUSED)
{
	return true;
}

static int fetch_windows(struct link *link, const char *id, const struct request *request,
			 struct picture *ret, struct err *err)
{
	CLEANUP(freep) char *segment = link_segment(id);
	CLEANUP(freep) char *path = xasprintf("/v1/jobs/%s/windows", segment);
	const struct items_query query = { path, any, NULL };
	int r = items_fetch(link, &query, &request->settings, ret, err);

	if (r < 0)
		return r;
	(void)json_object_set_new(ret->document, "job", json_string(request->argument));
	(void)json_object_set_new(ret->document, "id", json_string(id));
	return 0;
}

/* Replace the job by its excluded hosts. */
static int keep_excluded(const char *form, struct picture *ret, struct err *err)
{
	json_t *exclude = NULL;
	int r = job_exclude_of(ret->document, form, &exclude, err);

	if (r < 0)
		return r;
	json_decref(ret->document);
	ret->document = exclude;
	return 0;
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	CLEANUP(freep) char *id = NULL;
	int r;

	if (request->settings.exclude_as && request->settings.windows)
		return err_set(err, EINVAL, "--exclude-as and --windows cannot be combined");
	if (request->settings.ranks && (request->settings.windows || request->settings.exclude_as))
		return err_set(err, EINVAL, "--ranks and %s cannot be combined",
			       request->settings.windows ? "--windows" : "--exclude-as");
	if (request->settings.limit && !request->settings.windows)
		return err_set(err, EINVAL, "--limit requires --windows");
	r = job_name_resolve(link, request->argument, &id, err);
	if (r < 0)
		return r;
	if (request->settings.windows)
		return fetch_windows(link, id, request, ret, err);
	if (request->settings.ranks)
		return job_ranks_fetch(link, id, &ret->document, err);
	r = view_job_fetch(link, id, &ret->document, err);
	return r < 0 || !request->settings.exclude_as
		       ? r
		       : keep_excluded(request->settings.exclude_as, ret, err);
}

/* --- labelled lines --- */

static double number_at_place(const json_t *array, size_t i)
{
	const json_t *value = json_array_get(array, i);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* "ranks 56-63", or "". The caller frees it. */
static char *ranks_of(const json_t *suspect)
{
	const json_t *ranks = json_object_get(suspect, "ranks");
	double first = number_at_place(ranks, 0), last = number_at_place(ranks, 1);

	if (isnan(first) || isnan(last))
		return xstrdup("");
	return last > first ? xasprintf("ranks %.0f-%.0f", first, last)
			    : xasprintf("rank %.0f", first);
}

/* "dp 3 stage 1, ranks 56-63", as far as known. The caller frees it. */
static char *place_of(const json_t *suspect)
{
	double dp = number_at(suspect, "dp"), stage = number_at(suspect, "stage");
	CLEANUP(freep) char *d = isnan(dp) ? xstrdup("") : xasprintf("dp %.0f", dp);
	CLEANUP(freep) char *s = isnan(stage) ? xstrdup("") : xasprintf("stage %.0f", stage);
	CLEANUP(freep) char *r = ranks_of(suspect);
	CLEANUP(freep) char *both = xasprintf("%s%s%s", d, *d && *s ? " " : "", s);

	if (!*both && !*r)
		return xstrdup("");
	return xasprintf(" (%s%s%s)", both, *both && *r ? ", " : "", r);
}

/* Number of windows, if known. The caller frees it. */
static char *hits_of(const json_t *suspect)
{
	double hits = number_at(suspect, "hits"), of = number_at(suspect, "of");

	if (isnan(hits) || isnan(of))
		return xstrdup("");
	return xasprintf(", %.0f of %.0f window%s", hits, of, of > 1 ? "s" : "");
}

/* A reservation about the suspect, or "". */
static const char *doubt_of(const json_t *suspect)
{
	if (json_is_false(json_object_get(suspect, "identifiable")))
		return "; no other host does the same work: a heavy stage looks the same";
	if (json_is_false(json_object_get(suspect, "counts")))
		return "; too little or too uncertain to suspect it: some host is always slowest";
	return "";
}

static void put_suspect(const json_t *suspect, const struct page *page)
{
	bool suspected = job_words_is_suspected(suspect);
	bool lapsed = json_is_true(json_object_get(suspect, "lapsed"));
	CLEANUP(freep) char *hosts = job_words_hosts(json_object_get(suspect, "hosts"));
	CLEANUP(freep) char *place = place_of(suspect);
	CLEANUP(freep) char *share = job_words_range(json_object_get(suspect, "share"), 2);
	CLEANUP(freep) char *gain = job_words_range(json_object_get(suspect, "gain"), 3);
	CLEANUP(freep) char *hits = hits_of(suspect);
	CLEANUP(freep) char *class = text_at(suspect, "class");
	CLEANUP(freep) char *speed = job_words_speed(suspect);
	CLEANUP(freep)
	char *text = xasprintf("%s%s: share %s, gain %s of the step%s; %s%s%s", hosts, place, share,
			       gain, hits, class, speed, doubt_of(suspect));

	job_words_put(page,
		      lapsed	  ? "lapsed"
		      : suspected ? "suspect"
				  : "slowest",
		      text, suspected && !lapsed ? (int)PAINT_BAD : (int)PAINT_DIM);
}

/* The last tests of the suspects since they became suspects. */
static void put_tests(const json_t *suspects, const struct page *page)
{
	size_t n, i, j;

	for (i = 0; i < MIN(json_array_size(suspects), (size_t)SUSPECTS_SHOWN); i++) {
		const json_t *tests = json_object_get(json_array_get(suspects, i), "tests");

		n = json_array_size(tests);
		for (j = n - MIN(n, (size_t)TESTS_SHOWN); j < n; j++) {
			CLEANUP(freep)
			char *words = job_words_test(json_array_get(tests, j), "under way", page);

			job_words_put(page, "tests", words, TABLE_NONE);
		}
	}
}

/* Hosts acquitted by its tests, including former suspects. */
static void put_acquitted(const json_t *accused, const struct page *page)
{
	size_t n = json_array_size(accused), i, shown = 0;

	for (i = n; i-- > 0 && shown < SUSPECTS_SHOWN;) {
		const json_t *one = json_array_get(accused, i);
		CLEANUP(freep) char *node = text_at(one, "node");
		CLEANUP(freep) char *class = text_at(one, "class");
		CLEANUP(freep) char *when = age_of_stamp(raw_at(one, "acquitted"), page->now_us);
		CLEANUP(freep) char *text = xasprintf("%s: of %s, %s", node, class, when);

		if (!*raw_at(one, "acquitted"))
			continue;
		job_words_put(page, "acquitted", text, TABLE_NONE);
		shown++;
	}
}

/* Incidents of the first suspects. */
static void put_incidents(const json_t *suspects, const struct page *page)
{
	size_t i;

	for (i = 0; i < MIN(json_array_size(suspects), (size_t)SUSPECTS_SHOWN); i++) {
		const json_t *one = json_array_get(suspects, i);
		CLEANUP(freep) char *hosts = job_words_hosts(json_object_get(one, "hosts"));
		CLEANUP(freep) char *incident = text_at(one, "incident");
		CLEANUP(freep) char *tells = text_at(one, "tells");
		const bool known = *raw_at(one, "tells");
		CLEANUP(freep)
		char *text = xasprintf("%s: %s%s%s", hosts, incident,
				       known ? "; what would tell: " : "", known ? tells : "");

		if (*raw_at(one, "incident"))
			job_words_put(page, "incident", text, PAINT_WARN);
	}
}

/* Is it still a suspect? */
static bool is_suspect(const json_t *suspect)
{
	return job_words_is_suspected(suspect) && !json_is_true(json_object_get(suspect, "lapsed"));
}

static void put_suspects(const json_t *suspects, const struct page *page)
{
	size_t n = MIN(json_array_size(suspects), (size_t)SUSPECTS_SHOWN), i;
	bool any_suspected = false;

	for (i = 0; i < n; i++)
		any_suspected |= is_suspect(json_array_get(suspects, i));
	if (!any_suspected)
		job_words_put(page, "suspect", "nobody", PAINT_DIM);
	for (i = 0; i < n; i++)
		put_suspect(json_array_get(suspects, i), page);
}

/* "seqlen: the sentence". */
static void put_cause(const json_t *job, const struct page *page)
{
	const char *cause = raw_at(job, "cause"), *sentence = raw_at(job, "sentence");
	CLEANUP(freep)
	char *text = xasprintf("%s%s%s", *cause ? cause : "none", *sentence ? ": " : "", sentence);

	job_words_put(page, "cause", text, TABLE_NONE);
}

/* Late ranks, slow links and stalls: evidence, not a verdict. */
static void put_lateness(const json_t *job, const struct page *page)
{
	const json_t *lateness = json_object_get(job, "lateness");
	CLEANUP(freep) char *sentence = text_at(lateness, "sentence");

	if (json_is_true(json_object_get(lateness, "told")))
		job_words_put(page, "lateness", sentence, TABLE_NONE);
}

static void put_decision(const json_t *job, const struct page *page)
{
	const json_t *decision = json_object_get(job, "decision");
	const char *action = raw_at(decision, "action"), *reason = raw_at(decision, "reason");
	CLEANUP(freep)
	char *text = xasprintf("%s%s%s", *action ? action : "none", *reason ? ": " : "", reason);

	job_words_put(page, "decision", text, TABLE_NONE);
}

static void put_investigation(const json_t *job, const struct page *page)
{
	CLEANUP(freep) char *id = job_words_count(job, "investigation");
	CLEANUP(freep)
	char *text = xasprintf("%s: see `assayctl investigation %s`; add cancel to withdraw "
			       "it",
			       id, id);

	if (json_is_integer(json_object_get(job, "investigation")))
		job_words_put(page, "looked into", text, TABLE_NONE);
}

/* "stands still: no step for 14m; its steps took 8.3 s: step 1204", and when it was reported. */
static void put_beats(const json_t *job, const struct page *page)
{
	const json_t *beats = json_object_get(job, "beats");
	CLEANUP(freep) char *state = text_at(beats, "state");
	CLEANUP(freep) char *sentence = text_at(beats, "sentence");
	CLEANUP(freep) char *heard = age_of_stamp(raw_at(beats, "heard"), page->now_us);
	CLEANUP(freep)
	char *text = xasprintf("%s: %s%s%s", state, sentence,
			       *raw_at(beats, "heard") ? "; heard " : "",
			       *raw_at(beats, "heard") ? heard : "");

	if (json_is_object(beats))
		job_words_put(page, "beats", text,
			      streq(raw_at(beats, "state"), "stands still") ? (int)PAINT_BAD
									    : TABLE_NONE);
}

static void put_outlook(const json_t *job, const struct page *page)
{
	CLEANUP(freep) char *prediction = job_outlook_prediction(job);
	CLEANUP(freep) char *verified = job_outlook_verified(job);
	CLEANUP(freep) char *advice = job_outlook_advice(job, page->now_us);

	if (prediction)
		job_words_put(page, "prediction", prediction, TABLE_NONE);
	if (verified)
		job_words_put(page, "verified", verified, TABLE_NONE);
	if (advice)
		job_words_put(page, "advice", advice, TABLE_NONE);
}

static void put_counts(const json_t *job, const struct page *page)
{
	const json_t *windows = json_object_get(job, "windows");
	CLEANUP(freep) char *analysed = job_words_count(windows, "analysed");
	CLEANUP(freep) char *rejected = job_words_count(windows, "rejected");
	CLEANUP(freep) char *failed = job_words_count(windows, "failed");
	CLEANUP(freep) char *queued = job_words_count(windows, "queued");
	CLEANUP(freep)
	char *text =
		xasprintf("%s analysed, %s rejected, %s failed, %s queued; the latest:", analysed,
			  rejected, failed, queued);

	job_words_put(page, "windows", text, TABLE_NONE);
}

/* --- windows --- */

enum {
	COL_ID,
	COL_RUN,
	COL_STATE,
	COL_CAME,
	COL_STEPS,
	COL_SLOWDOWN,
	COL_CAUSE,
	COL_SUSPECT,
	N_COLS
};

static const struct table_column columns[N_COLS] = {
	[COL_ID] = { "WINDOW", .right = true },
	[COL_RUN] = { "RUN", .right = true, .leave = 2 },
	[COL_STATE] = { "STATE" },
	[COL_CAME] = { "CAME" },
	[COL_STEPS] = { "STEPS", .right = true, .leave = 1 },
	[COL_SLOWDOWN] = { "SLOWDOWN" },
	[COL_CAUSE] = { "CAUSE" },
	[COL_SUSPECT] = { "SUSPECT", .min = 8 },
};

static int paint_of_window(const char *state)
{
	if (streq(state, "rejected") || streq(state, "failed"))
		return PAINT_BAD;
	return streq(state, "analysed") ? TABLE_NONE : (int)PAINT_UNSURE;
}

static void add_window(struct table *t, const json_t *window, const struct page *page)
{
	struct table_row *row = table_add(t);
	const char *state = raw_at(window, "state"), *reason = raw_at(window, "reason");
	bool coarse = json_is_true(json_object_get(window, "coarse"));
	CLEANUP(freep) char *clean = text_at(window, "state");

	row->paint = paint_of_window(state);
	row->cells[COL_ID] = job_words_count(window, "id");
	row->cells[COL_RUN] = job_words_count(window, "run");
	row->cells[COL_STATE] = xasprintf("%s%s", clean, coarse ? ", coarse" : "");
	row->cells[COL_CAME] = age_of_stamp(raw_at(window, "received"), page->now_us);
	row->cells[COL_STEPS] = job_words_count(window, "steps");
	row->cells[COL_SLOWDOWN] = job_words_slowdown(window);
	row->cells[COL_CAUSE] = text_at(window, "cause");
	row->cells[COL_SUSPECT] = text_at(window, "suspect");
	row->note = *reason ? xstrdup(reason) : NULL;
}

static void show_windows(const json_t *items, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	items_show(items, &t, add_window, page);
}

/* --- output --- */

char *view_job_head(const json_t *job)
{
	CLEANUP(freep) char *name = text_at(job, "job");
	CLEANUP(freep) char *id = text_at(job, "id");
	CLEANUP(freep) char *run = job_words_count(job, "run");
	CLEANUP(freep) char *hosts = job_words_count(job, "hosts");
	CLEANUP(freep) char *step = quantity(number_at(job, "step_s"), "s");
	CLEANUP(freep) char *slowdown = job_words_slowdown(job);

	return xasprintf("%s (%s), run %s: %s hosts, %s a step, slowdown %s", name, id, run, hosts,
			 step, slowdown);
}

void view_job_show(const json_t *job, struct page *page)
{
	const json_t *suspects = json_object_get(job, "suspects");

	heat_show(json_object_get(job, "heat"), suspects, page);
	put_suspects(suspects, page);
	put_tests(suspects, page);
	put_acquitted(json_object_get(job, "accused"), page);
	put_incidents(suspects, page);
	put_cause(job, page);
	put_lateness(job, page);
	put_decision(job, page);
	put_investigation(job, page);
	put_outlook(job, page);
	put_beats(job, page);
	job_ranks_put_hang(json_object_get(job, "hang"), page);
	put_counts(job, page);
	show_windows(json_object_get(job, "latest"), page);
}

/* Only the list of windows has items. */
static const json_t *windows_of(const struct picture *picture)
{
	return json_object_get(picture->document, "items");
}

/* The result for --exclude-as. */
static bool is_excluded(const struct picture *picture)
{
	return json_is_array(json_object_get(picture->document, "exclude"));
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *windows = windows_of(picture);
	size_t n = json_array_size(windows);
	CLEANUP(freep)
	char *head = windows ? NULL : view_job_head(picture->document);
	CLEANUP(freep) char *name = text_at(picture->document, "job");
	CLEANUP(freep) char *state = text_at(picture->document, "state");

	if (is_excluded(picture))
		return NULL; /* output is for a program */
	if (job_ranks_is(picture->document))
		return job_ranks_summary(picture->document);
	if (windows && n < picture->total)
		return xasprintf("%s: %zu of %zu windows", name, n, picture->total);
	if (windows)
		return xasprintf("%s: %zu window%s", name, n, n == 1 ? "" : "s");
	return xasprintf("%s: %s", head, state);
}

static void show(const struct picture *picture, struct page *page)
{
	if (is_excluded(picture))
		job_exclude_print(picture->document, page->out);
	else if (job_ranks_is(picture->document))
		job_ranks_show(picture->document, page);
	else if (windows_of(picture))
		show_windows(windows_of(picture), page);
	else
		view_job_show(picture->document, page);
}

const struct view view_job = { fetch, summary, show, NULL };
