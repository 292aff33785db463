/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/fleet.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>

#include "lib/base/fnv.h"
#include "lib/base/xalloc.h"
#include "lib/policy/decide.h"
#include "lib/policy/fleet_jobs.h"
#include "lib/report/report.h"

enum { SETTING_LENGTH_MAX = 200 }; /* longer ones are not compared */

/* --- parts: which serial was cordoned for, and when --- */

static int part_order(const void *a, const void *b)
{
	return strcmp(((const struct part *)a)->serial, ((const struct part *)b)->serial);
}

struct part *fleet_part(struct fleet *f, const char *serial)
{
	const struct part wanted = { .serial = (char *)(uintptr_t)serial };
	struct part **found = tfind(&wanted, &f->parts, part_order), *part;

	if (found)
		return *found;
	part = xcalloc(1, sizeof(*part));
	part->serial = xstrdup(serial);
	if (!tsearch(part, &f->parts, part_order))
		abort(); /* out of memory */
	return part;
}

static void part_free(void *p)
{
	struct part *part = p;

	free(part->serial);
	free(part);
}

static void release_parts(struct fleet *f)
{
	tdestroy(f->parts, part_free);
}

void part_count(struct part *part, uint64_t at_us)
{
	part->cordons_us[part->n_cordons++ % PART_CORDONS_MAX] = at_us;
}

size_t part_stamps(const struct part *part, uint64_t ret_us[static PART_CORDONS_MAX])
{
	uint64_t kept = MIN(part->n_cordons, (uint64_t)PART_CORDONS_MAX), i;

	for (i = 0; i < kept; i++)
		ret_us[i] = part->cordons_us[(part->n_cordons - kept + i) % PART_CORDONS_MAX];
	return kept;
}

char *fleet_host_serial(const char *node)
{
	return xasprintf("host:%s", node);
}

void fleet_set_parts(struct fleet *f, struct fleet_node *node, const char *const *serials, size_t n)
{
	CLEANUP(freep) char *host = fleet_host_serial(node->name);
	size_t i;

	n = MIN(n, (size_t)FLEET_PARTS_MAX);
	node->parts = xrealloc(node->parts, n + 1, sizeof(struct part *));
	node->parts[0] = fleet_part(f, host);
	for (i = 0; i < n; i++)
		node->parts[i + 1] = fleet_part(f, serials[i]);
	node->n_parts = n + 1;
}

unsigned fleet_repeats(const struct fleet_node *node, uint64_t since_us)
{
	unsigned repeats = 0;
	size_t i;

	for (i = 0; i < node->n_parts; i++) {
		uint64_t stamps[PART_CORDONS_MAX];
		size_t n = part_stamps(node->parts[i], stamps), j;

		for (j = 0; j < n; j++)
			repeats += stamps[j] >= since_us;
	}
	return repeats;
}

/* --- nodes --- */

/* The position of the node, or where it belongs. */
static size_t place_of(const struct fleet *f, const char *name)
{
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(f->nodes[mid]->name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct fleet_node *fleet_find(const struct fleet *f, const char *name)
{
	size_t at = place_of(f, name);

	return at < f->n && streq(f->nodes[at]->name, name) ? f->nodes[at] : NULL;
}

struct fleet_node *fleet_need(struct fleet *f, const char *name, uint64_t now_us)
{
	size_t at = place_of(f, name);
	struct fleet_node *node;

	if (at < f->n && streq(f->nodes[at]->name, name))
		return f->nodes[at];
	if (f->n == FLEET_NODES_MAX)
		return NULL;
	if (f->n == f->room) {
		f->room = MAX(f->room * 2, (size_t)64);
		f->nodes = xrealloc(f->nodes, f->room, sizeof(struct fleet_node *));
	}
	node = xcalloc(1, sizeof(*node));
	node->name = xstrdup(name);
	node->domain = NAME_NONE;
	node->sku = NAME_NONE;
	node->managed = true;
	node->known_us = now_us;
	node->record.clear_us = now_us;
	memmove(&f->nodes[at + 1], &f->nodes[at], (f->n - at) * sizeof(struct fleet_node *));
	f->nodes[at] = node;
	f->n++;
	fleet_set_parts(f, node, NULL, 0);
	return node;
}

static void finding_free(struct finding *finding)
{
	free(finding->check);
	free(finding->subject);
	free(finding->locality);
	free(finding->code);
	free(finding->serial);
	free(finding->sentence);
	free(finding->partner);
	free(finding);
}

void fleet_drop_findings(struct fleet_node *node)
{
	while (node->findings) {
		struct finding *finding = node->findings;

		node->findings = finding->next;
		finding_free(finding);
	}
	node->n_findings = 0;
}

static void drop_jobs(struct fleet *f, struct fleet_node *node)
{
	while (node->n_jobs > 0)
		names_drop(&f->jobs, node->jobs[--node->n_jobs]);
}

static void drop_settings(struct fleet *f, struct fleet_node *node)
{
	while (node->n_settings > 0)
		names_drop(&f->settings, node->settings[--node->n_settings]);
}

static void node_free(struct fleet *f, struct fleet_node *node)
{
	fleet_drop_findings(node);
	drop_jobs(f, node);
	fleet_jobs_release(f, node);
	drop_settings(f, node);
	names_drop(&f->domains, node->domain);
	names_drop(&f->skus, node->sku);
	free(node->jobs);
	free(node->settings);
	free(node->parts);
	free(node->hands_off);
	blame_release(&node->blame);
	free(node->name);
	free(node);
}

void fleet_remove(struct fleet *f, struct fleet_node *node)
{
	size_t at = place_of(f, node->name);

	f->n--;
	memmove(&f->nodes[at], &f->nodes[at + 1], (f->n - at) * sizeof(struct fleet_node *));
	node_free(f, node);
}

void fleet_release(struct fleet *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		node_free(f, f->nodes[i]);
	free(f->nodes);
	for (i = 0; i < f->n_notices; i++) {
		free(f->notices[i].key);
		free(f->notices[i].sentence);
	}
	free(f->notices);
	names_release(&f->domains);
	names_release(&f->skus);
	names_release(&f->jobs);
	names_release(&f->settings);
	release_parts(f);
	free(f->stale);
	*f = (struct fleet){ 0 };
}

void fleet_set_blame(struct fleet_node *node, const struct blame *blame)
{
	struct blame next = blame ? blame_copy(blame) : (struct blame){ 0 };

	blame_release(&node->blame);
	node->blame = next;
}

void fleet_set_hands_off(struct fleet_node *node, const char *why)
{
	if (streq(node->hands_off, why))
		return;
	free(node->hands_off);
	node->hands_off = xstrdup(why);
}

static void set_name(struct names *names, int *number, const char *text)
{
	int before = *number;

	if (streq(names_text(names, before), text))
		return;
	*number = names_hold(names, text);
	names_drop(names, before);
}

void fleet_set_domain(struct fleet *f, struct fleet_node *node, const char *domain)
{
	set_name(&f->domains, &node->domain, domain);
}

void fleet_set_sku(struct fleet *f, struct fleet_node *node, const char *sku)
{
	set_name(&f->skus, &node->sku, sku);
}

/* Holds the first texts, at most `max`; returns how many. Their numbers are in new memory. */
static size_t hold_all(struct names *names, const char *const *texts, size_t n, size_t max,
		       int **ret)
{
	int *held;
	size_t i;

	n = MIN(n, max);
	held = xcalloc(n + 1, sizeof(*held));
	for (i = 0; i < n; i++)
		held[i] = names_hold(names, texts[i]);
	*ret = held;
	return n;
}

void fleet_set_jobs(struct fleet *f, struct fleet_node *node, const char *const *jobs, size_t n)
{
	int *held;

	node->jobs_known = true;
	if (n == 0 && node->n_jobs == 0)
		return;
	n = hold_all(&f->jobs, jobs, n, FLEET_JOBS_MAX, &held);
	drop_jobs(f, node);
	free(node->jobs);
	node->jobs = held;
	node->n_jobs = n;
}

void fleet_forget_jobs(struct fleet *f, struct fleet_node *node)
{
	fleet_set_jobs(f, node, NULL, 0);
	node->jobs_known = false;
}

static int compare_numbers(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

void fleet_set_settings(struct fleet *f, struct fleet_node *node, const char *const *settings,
			size_t n)
{
	int *held;

	n = hold_all(&f->settings, settings, n, FLEET_SETTINGS_MAX, &held);
	qsort(held, n, sizeof(*held), compare_numbers);
	drop_settings(f, node);
	free(node->settings);
	node->settings = held;
	node->n_settings = n;
}

static bool is_setting(const char *key, const json_t *value)
{
	return json_is_string(value) && !streq(key, "machine") &&
	       strlen(key) + json_string_length(value) < SETTING_LENGTH_MAX;
}

static uint32_t sum_of(json_t *env)
{
	const char *key;
	json_t *value;
	uint32_t sum = 1;

	json_object_foreach(env, key, value)
	{
		if (is_setting(key, value))
			sum += fnv1a(key, strlen(key)) * 31 +
			       fnv1a(json_string_value(value), json_string_length(value));
	}
	return sum;
}

void fleet_set_env(struct fleet *f, struct fleet_node *node, const json_t *env)
{
	json_t *all = (json_t *)(uintptr_t)env, *value;
	char *texts[FLEET_SETTINGS_MAX] = { NULL };
	const uint32_t sum = sum_of(all);
	const char *key;
	size_t n = 0;

	/* They rarely change, but come with each report. */
	if (node->settings_sum == sum)
		return;
	json_object_foreach(all, key, value)
	{
		if (is_setting(key, value) && n < FLEET_SETTINGS_MAX)
			texts[n++] = xasprintf("%s=%s", key, json_string_value(value));
	}
	fleet_set_settings(f, node, (const char *const *)texts, n);
	node->settings_sum = sum;
	while (n > 0)
		free(texts[--n]);
}

/* How many hosts of the SKU have each setting, by its number. New memory. */
static size_t *count_settings(const struct fleet *f, int sku)
{
	size_t *counts = xcalloc(MAX(f->settings.n, (size_t)1), sizeof(*counts)), i, j;

	for (i = 0; i < f->n; i++) {
		const struct fleet_node *node = f->nodes[i];

		for (j = 0; node->sku == sku && j < node->n_settings; j++)
			counts[node->settings[j]]++;
	}
	return counts;
}

/* True if more than half of them have another value for this setting's key. */
static bool is_outvoted(const struct fleet *f, const size_t *counts, int setting)
{
	const char *text = names_text(&f->settings, setting);
	const size_t key = strcspn(text, "=") + 1;
	size_t hosts = 0, most = 0, i;

	for (i = 0; i < f->settings.n; i++) {
		if (counts[i] == 0 || strncmp(names_text(&f->settings, (int)i), text, key) != 0)
			continue;
		hosts += counts[i];
		most = MAX(most, counts[i]);
	}
	return hosts >= FLEET_ALIKE_MIN && 2 * most > hosts && 2 * counts[setting] <= hosts;
}

static void add_unlike(const char *setting, struct fleet_unlike *unlike)
{
	int class;

	for (class = 0; class < BLAME_CLASSES; class ++) {
		unlike->alone[class] |= blame_may_slow(class, setting);
		unlike->group[class] |= blame_may_slow_group(class, setting);
	}
}

struct fleet_unlike fleet_differs(const struct fleet *f, const struct fleet_node *node)
{
	CLEANUP(freep) size_t *counts = NULL;
	struct fleet_unlike unlike = { .alone = { false } };
	size_t i;

	if (node->sku == NAME_NONE)
		return unlike;
	counts = count_settings(f, node->sku);
	for (i = 0; i < node->n_settings; i++) {
		if (is_outvoted(f, counts, node->settings[i]))
			add_unlike(names_text(&f->settings, node->settings[i]), &unlike);
	}
	return unlike;
}

static int finding_order(const struct finding *finding, const char *check, const char *subject)
{
	int order = strcmp(finding->check, check);

	return order != 0 ? order : strcmp(finding->subject, subject);
}

struct finding *fleet_finding(const struct fleet_node *node, const char *check, const char *subject)
{
	struct finding *finding = node->findings;

	while (finding && finding_order(finding, check, subject) < 0)
		finding = finding->next;
	return finding && finding_order(finding, check, subject) == 0 ? finding : NULL;
}

/* Removes the least severe finding to make room for a fatal one; none if all are fatal. */
static void make_room(struct fleet_node *node)
{
	struct finding *finding, *least = NULL;

	for (finding = node->findings; finding; finding = finding->next) {
		if (finding->severity != SEVERITY_FATAL &&
		    (!least || finding->seen_us < least->seen_us))
			least = finding;
	}
	if (least)
		fleet_drop_finding(node, least);
}

static struct finding *need_finding(struct fleet_node *node, const char *check, const char *subject,
				    int severity)
{
	struct finding **at = &node->findings, *finding;

	finding = fleet_finding(node, check, subject);
	if (finding)
		return finding;
	if (node->n_findings == FLEET_FINDINGS_MAX && severity == SEVERITY_FATAL)
		make_room(node);
	if (node->n_findings == FLEET_FINDINGS_MAX)
		return NULL;
	while (*at && finding_order(*at, check, subject) < 0)
		at = &(*at)->next;
	finding = xcalloc(1, sizeof(*finding));
	finding->check = xstrdup(check);
	finding->subject = xstrdup(subject);
	finding->score = NAN;
	finding->next = *at;
	*at = finding;
	node->n_findings++;
	return finding;
}

static void set_text(char **text, const char *news)
{
	if (streq(*text, news))
		return;
	free(*text);
	*text = xstrdup(news);
}

bool fleet_is_of_parts(const struct finding *finding)
{
	return finding->parts > 1 &&
	       (finding->parts_bad == 0 || (finding->parts_bad - 1) * 2 < finding->parts - 1);
}

struct finding *fleet_note(struct fleet *f UNUSED, struct fleet_node *node,
			   const struct finding_news *news)
{
	struct finding *finding = need_finding(node, news->check, news->subject, news->severity);

	if (!finding)
		return NULL;
	set_text(&finding->locality, news->locality);
	set_text(&finding->code, news->code);
	set_text(&finding->serial, news->serial);
	finding->incident = news->incident;
	set_text(&finding->sentence, news->sentence);
	finding->severity = news->severity;
	if (news->severity != SEVERITY_FATAL)
		finding->fatal_us = 0;
	else if (finding->fatal_us == 0)
		/* New here, as after a restart: as old as the caller says. */
		finding->fatal_us = finding->seen_us == 0 && news->since_us ? news->since_us
									    : news->seen_us;
	finding->source = news->source;
	if (news->windows)
		finding->windows = *news->windows;
	else
		windows_push(&finding->windows, true);
	if (news->since_us > 0)
		finding->since_us = news->since_us;
	else if (finding->since_us == 0)
		finding->since_us = news->seen_us;
	if (news->seen_us > finding->seen_us)
		finding->was_born = finding->born && fleet_is_of_parts(finding);
	finding->seen_us = news->seen_us;
	finding->born = news->born;
	finding->parts_bad = news->parts_bad;
	finding->parts = news->parts;
	finding->score = news->score;
	return finding;
}

bool fleet_share_job(const struct fleet_node *a, const struct fleet_node *b)
{
	size_t i, j;

	for (i = 0; i < a->n_jobs; i++) {
		for (j = 0; j < b->n_jobs; j++) {
			if (a->jobs[i] == b->jobs[j])
				return true;
		}
	}
	return false;
}

void fleet_clear(struct fleet *f UNUSED, struct fleet_node *node, struct finding *finding)
{
	if (finding->exonerated > 0)
		fleet_quieten(finding);
	else
		fleet_drop_finding(node, finding);
}

void fleet_drop_finding(struct fleet_node *node, struct finding *finding)
{
	struct finding **at = &node->findings;

	while (*at != finding)
		at = &(*at)->next;
	*at = finding->next;
	node->n_findings--;
	finding_free(finding);
}

void fleet_quieten(struct finding *finding)
{
	finding->windows = (struct windows){ 0 };
	finding->since_us = 0;
	finding->reached_us = 0;
	finding->reproduced = 0;
	finding->passed = 0;
	finding->asks_us = finding->told_us = finding->run_us = 0;
	finding->runs_since = 0;
	finding->shared = false;
	finding->severity = SEVERITY_FAIL;
	finding->fatal_us = 0;
}
