/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/node_record.h"

#include <stdlib.h>

#include "controller/store/store.h"
#include "controller/store/store_actions.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define RECORD(m) offsetof(struct node_record, m)

/* The record's counters are unsigned; the JSON tables need 64-bit numbers. */
struct counts {
	uint64_t passes, aborted;
};

static const struct jfield record_fields[] = {
	{ "state", J_ENUM, RECORD(life.state), J_REQUIRED, .names = life_state_names },
	{ "since", J_U64, RECORD(life.since_us), J_REQUIRED },
	{ "manual", J_BOOL, RECORD(life.manual), 0 },
	{ "override", J_U64, RECORD(override_us), 0 },
	{ "override_until", J_U64, RECORD(override_until_us), 0 },
	{ "silence_until", J_U64, RECORD(silence_until_us), 0 },
	{ "hold_until", J_U64, RECORD(hold_until_us), 0 },
	{ "ordered", J_U64, RECORD(ordered_us), 0 },
	{ "wanted", J_U64, RECORD(wanted_us), 0 },
	{ "born", J_U64, RECORD(born_us), 0 },
	{ "tested", J_U64, RECORD(tested_us), 0 },
	{ "marked", J_U64, RECORD(marked_us), 0 },
	{ "clear", J_U64, RECORD(clear_us), 0 },
	{ "asked", J_U64, RECORD(asked_us), 0 },
	{ "drain", J_U64, RECORD(drain_us), 0 },
	{ "drained", J_U64, RECORD(drained_us), 0 },
};

static const struct jfield count_fields[] = {
	{ "passes", J_U64, offsetof(struct counts, passes), 0 },
	{ "aborted", J_U64, offsetof(struct counts, aborted), 0 },
};

static json_t *record_encode(const struct node_record *record)
{
	const struct counts counts = { record->passes, record->aborted };
	json_t *value = jval_encode(record_fields, ARRAY_SIZE(record_fields), record);
	CLEANUP(json_freep)
	json_t *more = jval_encode(count_fields, ARRAY_SIZE(count_fields), &counts);

	(void)json_object_update(value, more);
	return value;
}

static int record_decode(const char *text, struct node_record *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct counts counts = { 0 };
	struct jval root;
	int r = json_parse(text, strlen(text), "record", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "record");
	r = jval_decode(&root, record_fields, ARRAY_SIZE(record_fields), 0, ret, err);
	if (r == 0)
		r = jval_decode(&root, count_fields, ARRAY_SIZE(count_fields), 0, &counts, err);
	ret->passes = (unsigned)counts.passes;
	ret->aborted = (unsigned)counts.aborted;
	return r;
}

/* Is it the record of a new host? Since when the host is clear is determined anew. */
static bool is_plain(const struct node_record *record)
{
	return record->life.state == LIFE_HEALTHY && !record->override_until_us &&
	       !record->silence_until_us && !record->hold_until_us && !record->ordered_us &&
	       !record->wanted_us && !record->born_us && !record->passes && !record->aborted;
}

static bool node_is_plain(const struct fleet_node *node)
{
	return !node->findings && is_plain(&node->record);
}

/* --- findings --- */

static bool finding_is_plain(const struct finding *f)
{
	return !f->reached_us && !f->reproduced && !f->passed && !f->exonerated && !f->tested_us &&
	       !f->fatal_us;
}

static json_t *findings_encode(const struct fleet_node *node)
{
	json_t *list = json_array();
	const struct finding *f;

	for (f = node->findings; f; f = f->next) {
		if (finding_is_plain(f))
			continue;
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:I, s:i, s:i, s:i, s:I, s:I, s:s*}", "check",
					f->check, "subject", f->subject, "reached",
					(json_int_t)f->reached_us, "reproduced", (int)f->reproduced,
					"passed", (int)f->passed, "exonerated", (int)f->exonerated,
					"tested", (json_int_t)f->tested_us, "fatal",
					(json_int_t)f->fatal_us, "partner", f->partner));
	}
	return list;
}

static uint64_t number_of(const json_t *value, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(value, key));
}

static const char *text_of(const json_t *value, const char *key)
{
	return json_string_value(json_object_get(value, key));
}

/* Returns the finding of a record. One that had passed its test has no window, but must be kept. */
static struct finding *finding_kept(struct fleet *fleet, struct fleet_node *node, const json_t *one)
{
	const char *check = text_of(one, "check"), *subject = text_of(one, "subject");
	const struct windows none = { 0 };
	const struct finding_news news = {
		.check = check, .subject = subject, .severity = SEVERITY_FAIL, .windows = &none
	};
	struct finding *f = check && subject ? fleet_finding(node, check, subject) : NULL;

	if (f || !check || !subject || number_of(one, "exonerated") == 0)
		return f;
	return fleet_note(fleet, node, &news);
}

static void findings_restore(struct fleet *fleet, struct fleet_node *node, const char *text)
{
	CLEANUP(json_freep) json_t *list = json_loads(text, 0, NULL);
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		struct finding *f = finding_kept(fleet, node, one);

		if (!f)
			continue;
		/* Its window may be older than fatal_us: it may have been slow first. */
		if (f->fatal_us > 0)
			f->fatal_us = MAX(f->fatal_us, number_of(one, "fatal"));
		f->reached_us = number_of(one, "reached");
		f->reproduced = (unsigned)number_of(one, "reproduced");
		f->passed = (unsigned)number_of(one, "passed");
		f->exonerated = (unsigned)number_of(one, "exonerated");
		f->tested_us = number_of(one, "tested");
		free(f->partner);
		f->partner = xstrdup(text_of(one, "partner"));
	}
}

/* --- stored records --- */

/* A host with a stored record, and its text. */
struct node_record_kept {
	char *node, *text;
};

static char *text_kept(const char *record, const char *findings)
{
	return xasprintf("%s\n%s", record, findings);
}

/* Returns its index, or where to insert it: sorted by name. */
static size_t place_of(const struct node_records *records, const char *node)
{
	size_t low = 0, high = records->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(records->kept[middle].node, node) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct node_records *records, size_t at, const char *node)
{
	return at < records->n && streq(records->kept[at].node, node);
}

static void set_kept(struct node_records *records, const char *node, char *text)
{
	const size_t at = place_of(records, node);

	if (is_at(records, at, node)) {
		free(records->kept[at].text);
		records->kept[at].text = text;
		return;
	}
	if (records->n == records->room) {
		records->room = MAX(records->room * 2, (size_t)64);
		records->kept =
			xrealloc(records->kept, records->room, sizeof(struct node_record_kept));
	}
	memmove(&records->kept[at + 1], &records->kept[at],
		(records->n - at) * sizeof(struct node_record_kept));
	records->kept[at] = (struct node_record_kept){ xstrdup(node), text };
	records->n++;
}

static int drop_at(struct node_records *records, size_t at, struct err *err)
{
	struct node_record_kept kept = records->kept[at];
	int r = store_drop_life(records->store, kept.node, err);

	records->n--;
	memmove(&records->kept[at], &records->kept[at + 1],
		(records->n - at) * sizeof(struct node_record_kept));
	free(kept.node);
	free(kept.text);
	return r < 0 ? r : 1;
}

void node_records_release(struct node_records *records)
{
	size_t i;

	for (i = 0; i < records->n; i++) {
		free(records->kept[i].node);
		free(records->kept[i].text);
	}
	free(records->kept);
	*records = (struct node_records){ .store = records->store };
}

const char *node_records_at(const struct node_records *records, size_t i)
{
	return i < records->n ? records->kept[i].node : NULL;
}

int node_records_drop(struct node_records *records, const char *node, struct err *err)
{
	const size_t at = place_of(records, node);

	return is_at(records, at, node) ? drop_at(records, at, err) : 0;
}

int node_records_keep(struct node_records *records, const struct fleet_node *node, struct err *err)
{
	const size_t at = place_of(records, node->name);
	CLEANUP(json_freep) json_t *record = NULL;
	CLEANUP(json_freep) json_t *findings = NULL;
	CLEANUP(freep) char *record_text = NULL;
	CLEANUP(freep) char *findings_text = NULL;
	CLEANUP(freep) char *all = NULL;
	int r;

	if (node_is_plain(node))
		return is_at(records, at, node->name) ? drop_at(records, at, err) : 0;
	record = record_encode(&node->record);
	findings = findings_encode(node);
	record_text = json_line(record);
	findings_text = json_line(findings);
	all = text_kept(record_text, findings_text);
	if (is_at(records, at, node->name) && streq(records->kept[at].text, all))
		return 0;
	set_kept(records, node->name, TAKE(all));
	r = store_put_life(records->store,
			   &(struct store_life){ .node = node->name,
						 .record = record_text,
						 .findings = findings_text },
			   err);
	return r < 0 ? r : 1;
}

int node_records_keep_all(struct node_records *records, const struct fleet *fleet, struct err *err)
{
	bool written = false;
	size_t i;
	int r = 0;

	for (i = 0; r >= 0 && i < fleet->n; i++) {
		if (node_is_plain(fleet->nodes[i]))
			continue;
		r = node_records_keep(records, fleet->nodes[i], err);
		written |= r > 0;
	}
	for (i = records->n; r >= 0 && i-- > 0;) {
		const struct fleet_node *node = fleet_find(fleet, records->kept[i].node);

		if (!node || !node_is_plain(node))
			continue;
		r = drop_at(records, i, err);
		written |= r > 0;
	}
	return r < 0 ? r : written;
}

int node_records_keep_part(struct node_records *records, struct fleet *fleet, const char *serial,
			   struct err *err)
{
	uint64_t stamps[PART_CORDONS_MAX];
	size_t n = part_stamps(fleet_part(fleet, serial), stamps), i;
	CLEANUP(json_freep) json_t *list = json_array();
	CLEANUP(freep) char *text = NULL;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, json_integer((json_int_t)stamps[i]));
	text = json_line(list);
	return store_put_part(records->store, serial, text, err);
}

/* --- load --- */

struct loading {
	struct node_records *records;
	struct fleet *fleet;
	uint64_t now_us;
	int r;
	struct err *err;
};

static void load_part(void *context, const char *serial, const char *cordons)
{
	struct loading *l = context;
	CLEANUP(json_freep) json_t *list = json_loads(cordons, 0, NULL);
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		part_count(fleet_part(l->fleet, serial),
			   (uint64_t)json_integer_value(json_array_get(list, i)));
}

static void load_brief(void *context, const struct store_brief *brief)
{
	struct loading *l = context;
	struct fleet_node *node = fleet_need(l->fleet, brief->node, l->now_us);

	if (!node)
		return;
	fleet_set_sku(l->fleet, node, brief->sku);
	node->reported_us = brief->seen_us;
	node->deep_us = brief->deep_us;
	node->known_us = brief->first_us;
	node->unverified = brief->unverified;
}

int node_records_load_hosts(struct node_records *records, struct fleet *fleet, uint64_t now_us,
			    struct err *err)
{
	struct loading l = { records, fleet, now_us, 0, err };
	int r = store_parts(records->store, load_part, &l, err);

	return r == 0 ? store_briefs(records->store, load_brief, &l, err) : r;
}

static void load_life(void *context, const struct store_life *life)
{
	struct loading *l = context;
	struct fleet_node *node = fleet_need(l->fleet, life->node, l->now_us);
	int r;

	if (!node)
		return;
	r = record_decode(life->record, &node->record, l->err);
	if (r < 0) {
		l->r = err_wrap(l->err, r, "life of %s", life->node);
		return;
	}
	if (life_holds(node->record.life.state))
		node->out |= OUT_OURS;
	if (node->record.hold_until_us)
		node->out |= OUT_HOLD;
	findings_restore(l->fleet, node, life->findings);
	set_kept(l->records, life->node, text_kept(life->record, life->findings));
}

int node_records_load(struct node_records *records, struct fleet *fleet, uint64_t now_us,
		      struct err *err)
{
	struct loading l = { records, fleet, now_us, 0, err };
	int r = store_lives(records->store, load_life, &l, err);

	return r == 0 ? l.r : r;
}
