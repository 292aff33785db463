/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/ingest.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/baseline.h"
#include "controller/findings.h"
#include "controller/rules.h"
#include "controller/store.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/xalloc.h"

static bool word_ok(const char *text, size_t max)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t length = text ? strlen(text) : 0;

	return length > 0 && length <= max && strspn(text, allowed) == length;
}

bool node_name_ok(const char *name)
{
	return word_ok(name, NODE_NAME_MAX) && name[0] != '.' && name[0] != '-';
}

static int check_identity(const struct jval *root, const struct report *report, struct err *err)
{
	const struct {
		const char *key;
		bool ok;
		const char *want;
	} rows[] = {
		{ "node", node_name_ok(report->node),
		  "want a host name of letters, digits, '.', '-', '_'" },
		{ "boot_id", word_ok(report->boot_id, BOOT_ID_MAX),
		  "want the host's boot id, as d1f6c2f0-..." },
		{ "seq", report->seq >= 1 && report->seq <= INT64_MAX, "want a number from 1" },
		{ "profile", word_ok(report->profile, PROFILE_NAME_MAX),
		  "want the name of a profile" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jval at = jval_get(root, rows[i].key);

		if (!rows[i].ok)
			return jval_fail(&at, err, "%s", rows[i].want);
	}
	return 0;
}

static int decode_text(const char *text, size_t length, struct report *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = json_parse(text, length, "report", &value, err);

	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	root = jval_root(value, "report");
	r = report_decode(&root, ret, err);
	return r == 0 ? check_identity(&root, ret, err) : r;
}

/* What is kept: gzip as it was sent, text packed. */
static int choose_body(const struct packed *sent, const char *text, size_t length, struct ingest *in)
{
	if (sent->coding != PACK_PLAIN) {
		in->body = *sent;
		return 0;
	}
	return pack_close(text, length, &in->memory, &in->body);
}

int ingest_decode(const struct packed *sent, struct ingest *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf unpacked = STRBUF_INIT(REPORT_MAX);
	CLEANUP(ingest_release) struct ingest in = { 0 };
	const char *text = sent->bytes;
	size_t length = sent->length;
	int r = 0;

	if (sent->coding != PACK_PLAIN) {
		r = pack_open(sent, &unpacked, err);
		text = unpacked.data;
		length = unpacked.len;
	}
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	if (length == 0)
		return err_set(err, EBADMSG, "report: it is empty");
	r = decode_text(text, length, &in.report, err);
	if (r == 0)
		r = choose_body(sent, text, length, &in);
	if (r == 0) {
		*ret = in;
		in = (struct ingest){ 0 };
	}
	return r;
}

void ingest_release(struct ingest *in)
{
	report_release(&in->report);
	free(in->memory);
	*in = (struct ingest){ 0 };
}

/* Runs of the host as the judge wants them. */
struct runs {
	struct verdict list[STORE_PROFILES_MAX + 1]; /* room for the new one */
	bool active[STORE_PROFILES_MAX + 1];
	size_t n;
};

static void runs_release(struct runs *runs)
{
	size_t i;

	for (i = 0; i < runs->n; i++)
		verdict_release(&runs->list[i]);
	runs->n = 0;
}

static const struct verdict *run_of(const struct runs *runs, const char *profile)
{
	size_t i;

	for (i = 0; i < runs->n; i++) {
		if (streq(runs->list[i].profile, profile))
			return &runs->list[i];
	}
	return NULL;
}

/* The verdict over all profiles: that of `fresh` in place of the last of its profile. */
static void merge(struct runs *runs, const struct verdict *fresh, struct verdict *ret)
{
	struct verdict all[STORE_PROFILES_MAX + 1];
	size_t n = 0, i;

	all[n++] = *fresh;
	for (i = 0; i < runs->n; i++) {
		if (!streq(runs->list[i].profile, fresh->profile))
			all[n++] = runs->list[i];
	}
	for (i = 0; i < n; i++)
		runs->active[i] = !streq(all[i].profile, "passive");
	verdict_merge(all, runs->active, n, ret);
}

static int keep(struct store *store, struct rules_view *view, const struct ingest *in,
		struct store_report *row, struct err *err)
{
	struct judge_inputs inputs = rules_inputs(view);
	CLEANUP(runs_release) struct runs runs = { .n = 0 };
	CLEANUP(verdict_release) struct verdict verdict = { 0 };
	CLEANUP(verdict_release) struct verdict merged = { 0 };
	int r = store_runs(store, in->report.node, runs.list, STORE_PROFILES_MAX, err);

	if (r < 0)
		return r;
	runs.n = (size_t)r;
	inputs.before = row->late ? NULL : run_of(&runs, in->report.profile);
	verdict_judge(&in->report, &inputs, &verdict);
	merge(&runs, &verdict, &merged);
	row->verdict = &verdict;
	row->merged = &merged;
	r = store_add(store, row, err);
	if (r == 0 && !row->late)
		r = findings_note(store, view, &verdict, row->seen_us, err);
	if (r == 0 && !row->late)
		baselines_learn(view->baselines, &in->report, &verdict, &merged);
	return r;
}

int ingest_keep(struct store *store, const struct rules *rules, struct baselines *baselines,
		const struct ingest *in, uint64_t now_us, struct err *err)
{
	struct rules_view view = rules_view(rules, &in->report, baselines);
	struct store_report row = { .report = &in->report, .body = &in->body, .seen_us = now_us };
	int place = store_place(store, &in->report, err), r;

	if (place < 0 || place == PLACE_DUPLICATE)
		return place;
	row.late = place == PLACE_LATE;
	r = keep(store, &view, in, &row, err);
	return r < 0 ? r : place;
}
