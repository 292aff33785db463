/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/verdict_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/standing.h"
#include "lib/report/report.h"
#include "lib/sys/clock_pair.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/lock.h"
#include "lib/sys/machine.h"
#include "lib/sys/paths.h"
#include "lib/sys/state.h"
#include "lib/sys/writers.h"

#define VERDICT_LOCK_WAIT_US (5 * USEC_PER_SEC)

static const char verdict_name[] = "verdict.json";

/* The verdicts in last/ of one node and this machine. */
struct runs {
	const char *node, *machine;
	struct verdict verdicts[VERDICT_FILE_RUNS_MAX];
	bool active[VERDICT_FILE_RUNS_MAX];
	size_t n;
};

static void runs_freep(struct runs **runs)
{
	size_t i;

	for (i = 0; i < (*runs)->n; i++)
		verdict_release(&(*runs)->verdicts[i]);
	free(*runs);
}

json_t *run_encode(const struct report *report, const struct verdict *verdict)
{
	return json_pack("{s:i, s:s, s:o, s:o}", "v", 1, "kind", "run", "report",
			 report_encode(report), "verdict", verdict_encode(verdict));
}

/* Results of another machine with this name or disk do not apply to this one. */
static bool is_of(const struct verdict *v, const char *node, const char *machine)
{
	return streq(v->node, node) && !machine_differs(v->machine, machine);
}

/* Add the items of an earlier verdict that are still valid to `kept`. */
static void add_standing(json_t *kept, const struct jval *earlier, const struct report *report,
			 const struct verdict *now)
{
	CLEANUP(verdict_release) struct verdict v = { 0 };

	if (verdict_decode(earlier, &v, NULL) < 0)
		return;
	if (!is_of(&v, report->node, now->machine))
		return;
	standing_keep(&v, report, now);
	if (v.n_items > 0 && json_array_size(kept) < VERDICT_FILE_KEPT_MAX)
		json_array_append_new(kept, verdict_encode(&v));
}

/* The same for the file that is about to be replaced. */
static json_t *standing(const char *name, const struct report *report, const struct verdict *now)
{
	CLEANUP(json_freep) json_t *run = NULL;
	json_t *kept = json_array();
	struct jval root, verdict, list;
	size_t i;

	if (state_load(name, &run, NULL) < 0)
		return kept;
	root = jval_root(run, name);
	verdict = jval_get(&root, "verdict");
	list = jval_get(&root, "kept");
	add_standing(kept, &verdict, report, now);
	for (i = 0; i < json_array_size(list.value); i++) {
		struct jval earlier = jval_at(&list, i);

		add_standing(kept, &earlier, report, now);
	}
	return kept;
}

/*
 * Concurrent runs of one profile end in any order: keep the one with the higher number and later
 * start. Both, so that a restarted seq file or a clock set back does not keep an old run for
 * ever; and only if the file is readable and of this node, because another gives no verdict.
 */
static bool is_overtaken(const char *name, const struct report *report)
{
	CLEANUP(json_freep) json_t *run = NULL;
	CLEANUP(verdict_release) struct verdict last = { 0 };
	struct jval root, verdict;
	const json_t *kept;
	const char *time;

	if (state_load(name, &run, NULL) < 0)
		return false;
	root = jval_root(run, name);
	verdict = jval_get(&root, "verdict");
	if (verdict_decode(&verdict, &last, NULL) < 0 || !streq(last.node, report->node))
		return false;
	kept = json_object_get(run, "report");
	time = json_string_value(json_object_get(kept, "time"));
	return time && strcmp(time, report->time) >= 0 &&
	       json_integer_value(json_object_get(kept, "seq")) > (json_int_t)report->seq;
}

static int save_last(const struct report *report, const struct verdict *verdict, bool active,
		     struct err *err)
{
	CLEANUP(json_freep) json_t *run = NULL;
	CLEANUP(freep) char *name = xasprintf("last/%s.json", report->profile);

	if (is_overtaken(name, report))
		return 0;
	run = run_encode(report, verdict);
	json_object_set_new(run, "kept", standing(name, report, verdict));
	json_object_set_new(run, "active", json_boolean(active));
	return state_save(name, run, err);
}

int verdict_file_trusted(struct err *err)
{
	CLEANUP(freep) char *dir = paths_state();
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, verdict_name);

	return writers_check(path, err);
}

int verdict_file_read(struct verdict *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = state_load(verdict_name, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, verdict_name);
	return verdict_decode(&root, ret, err);
}

/* Append the items of `earlier` to those of `v`. */
static void append_items(struct verdict *v, const struct jval *earlier)
{
	CLEANUP(verdict_release) struct verdict more = { 0 };
	struct verdict_item *all;

	if (verdict_decode(earlier, &more, NULL) < 0)
		return;
	all = xcalloc(v->n_items + more.n_items + 1, sizeof(*all));
	memcpy(all, v->items, v->n_items * sizeof(*all));
	memcpy(all + v->n_items, more.items, more.n_items * sizeof(*all));
	free(v->items);
	v->items = all;
	v->n_items += more.n_items;
	more.n_items = 0;
}

int verdict_file_last(const char *profile, const char *machine, struct verdict *ret)
{
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(freep) char *name = xasprintf("last/%s.json", profile);
	struct jval root, verdict, kept;
	int r = state_load(name, &value, NULL);
	size_t i;

	if (r < 0)
		return r;
	root = jval_root(value, name);
	verdict = jval_get(&root, "verdict");
	kept = jval_get(&root, "kept");
	r = verdict_decode(&verdict, ret, NULL);
	if (r == 0 && machine_differs(ret->machine, machine)) {
		verdict_release(ret);
		return -ENOENT;
	}
	for (i = 0; r == 0 && i < json_array_size(kept.value); i++) {
		struct jval earlier = jval_at(&kept, i);

		append_items(ret, &earlier);
	}
	return r;
}

/* True for "quick.json", false for a temporary file left by a crash. */
static bool is_run_file(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && name[0] != '.' && strcmp(name + len - 5, ".json") == 0;
}

int verdict_file_visit(void (*visit)(void *context, const char *name, const json_t *run),
		       void *context, struct err *err)
{
	CLEANUP(freep) char *state = paths_state();
	CLEANUP(freep) char *path = xasprintf("%s/last", state);
	CLEANUP(closedirp) DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir)
		return err_errno(err, errno, "cannot read %s", path);
	while ((entry = readdir(dir))) {
		CLEANUP(json_freep) json_t *run = NULL;
		CLEANUP(freep) char *name = xasprintf("last/%s", entry->d_name);

		if (is_run_file(entry->d_name) && state_load(name, &run, NULL) == 0)
			visit(context, name, run);
	}
	return 0;
}

static void load_verdict(struct runs *runs, const struct jval *verdict, bool active)
{
	struct verdict *v = &runs->verdicts[runs->n];

	if (runs->n == VERDICT_FILE_RUNS_MAX || verdict_decode(verdict, v, NULL) < 0)
		return;
	if (!is_of(v, runs->node, runs->machine)) {
		verdict_release(v);
		return;
	}
	runs->active[runs->n++] = active;
}

/* Items kept from earlier runs count, but not their profile and time. */
static void load_run(void *context, const char *name, const json_t *run)
{
	struct jval root = jval_root(run, name), verdict = jval_get(&root, "verdict");
	struct jval kept = jval_get(&root, "kept");
	size_t i;

	load_verdict(context, &verdict, json_is_true(json_object_get(run, "active")));
	for (i = 0; i < json_array_size(kept.value); i++) {
		struct jval earlier = jval_at(&kept, i);

		load_verdict(context, &earlier, false);
	}
}

/* Take the lock for replacing verdict.json. */
static int take_lock(int *ret_fd, struct err *err)
{
	CLEANUP(freep) char *dir = paths_state();
	CLEANUP(freep) char *path = xasprintf("%s/verdict.lock", dir);
	int r = file_mkdirs(dir, err);

	return r < 0 ? r : lock_take(path, clock_mono_us() + VERDICT_LOCK_WAIT_US, ret_fd, err);
}

static int save_verdict(const struct verdict *v, struct err *err)
{
	CLEANUP(json_freep) json_t *value = verdict_encode(v);

	return state_save(verdict_name, value, err);
}

int verdict_file_keep(const struct report *report, const struct verdict *verdict, bool active,
		      struct err *err)
{
	CLEANUP(closep) int lock = -1;
	CLEANUP(runs_freep) struct runs *runs = xcalloc(1, sizeof(*runs));
	CLEANUP(verdict_release) struct verdict merged = { 0 };
	CLEANUP(verdict_release) struct verdict old = { 0 };
	int r = take_lock(&lock, err);

	runs->node = report->node;
	runs->machine = verdict->machine;
	if (r == 0)
		r = save_last(report, verdict, active, err);
	if (r == 0)
		r = verdict_file_visit(load_run, runs, err);
	if (r < 0)
		return r;
	verdict_merge(runs->verdicts, runs->active, runs->n, &merged);
	if (verdict_file_read(&old, NULL) == 0 && is_of(&old, report->node, verdict->machine)) {
		json_decref(merged.fleet);
		merged.fleet = TAKE(old.fleet);
	}
	return save_verdict(&merged, err);
}

/* The verdict on a host where nothing was run. */
static struct verdict verdict_of_nothing(void)
{
	char stamp[CLOCK_STAMP_SIZE];

	clock_stamp(clock_real_us(), stamp);
	return (struct verdict){
		.node = host_name(),
		.time = xstrdup(stamp),
		.profile = xstrdup(""),
		.level = VERDICT_INCONCLUSIVE,
		.sentence = xstrdup("no verdict yet: assay run has not been run on this host"),
	};
}

void verdict_file_date_fleet(json_t *fleet, const struct clock_pair *now)
{
	const char *expires = json_string_value(json_object_get(fleet, "expires"));
	uint64_t expires_us, left_us;

	if (!expires || clock_parse_stamp(expires, &expires_us) < 0 || !now->up_us)
		return;
	left_us = expires_us > now->real_us ? expires_us - now->real_us : 0;
	json_object_set_new(fleet, "boot_id", json_string(now->boot_id));
	json_object_set_new(fleet, "until_s", json_real((double)(now->up_us + left_us) / 1e6));
}

int verdict_file_set_fleet(json_t *fleet, struct err *err)
{
	CLEANUP(closep) int lock = -1;
	CLEANUP(verdict_release) struct verdict v = { 0 };
	struct err why = ERR_INIT;
	int r = take_lock(&lock, err);

	if (r < 0)
		return r;
	r = verdict_file_read(&v, &why);
	if (r < 0 && r != -ENOENT && r != -EINVAL)
		return err_set(err, -r, "%s", why.msg);
	if (r < 0)
		v = verdict_of_nothing();
	json_decref(v.fleet);
	v.fleet = json_incref(fleet);
	return save_verdict(&v, err);
}
