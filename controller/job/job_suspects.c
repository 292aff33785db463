/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_suspects.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/job/placement.h"
#include "controller/job/summary.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/blame.h"

static double number(const json_t *value, const char *key)
{
	return json_number_value(json_object_get(value, key));
}

int job_suspects_class(const json_t *value)
{
	const char *name = json_string_value(json_object_get(value, "class"));
	int i = 0;

	while (i < BLAME_CLASSES && !streq(name, blame_class_names[i]))
		i++;
	return i;
}

bool job_suspects_accuses(const json_t *summary, const json_t *suspect)
{
	return job_suspects_class(summary) != BLAME_JOB &&
	       json_is_true(json_object_get(suspect, "counts")) &&
	       blame_may_accuse(job_suspects_class(suspect));
}

/* A suspect without known hosts is represented by its place in the job, `name`. Returns their
 * number. */
static size_t hosts_of(const json_t *suspect, const char *name,
		       const char *ret[static SUSPICION_HOSTS_MAX])
{
	const json_t *hosts = json_object_get(suspect, "hosts");
	const size_t n = json_array_size(hosts);
	size_t i;

	for (i = 0; i < MIN(n, (size_t)SUSPICION_HOSTS_MAX); i++)
		ret[i] = json_string_value(json_array_get(hosts, i));
	if (n == 0)
		ret[0] = name;
	return n == 0 ? 1 : n;
}

/* Content of a window, for suspicion_add(). */
struct said {
	struct suspicion_suspect suspects[SUSPICION_SUSPECTS_MAX];
	const char *hosts[SUSPICION_SUSPECTS_MAX][SUSPICION_HOSTS_MAX];
	char *names[SUSPICION_SUSPECTS_MAX];
	size_t n;
};

static void said_release(struct said *said)
{
	size_t i;

	for (i = 0; i < said->n; i++)
		free(said->names[i]);
}

static void read_suspects(const json_t *summary, struct said *ret)
{
	const json_t *all = json_object_get(summary, "suspects");
	size_t i;

	for (i = 0; i < json_array_size(all) && ret->n < SUSPICION_SUSPECTS_MAX; i++) {
		const json_t *one = json_array_get(all, i);
		struct suspicion_suspect *to = &ret->suspects[ret->n];

		if (!job_suspects_accuses(summary, one))
			continue;
		ret->names[ret->n] = summary_suspect_name(one);
		*to = (struct suspicion_suspect){
			.hosts = ret->hosts[ret->n],
			.n_hosts = hosts_of(one, ret->names[ret->n], ret->hosts[ret->n]),
			.class = job_suspects_class(one),
			.counts = true,
			.identifiable = !json_is_false(json_object_get(one, "identifiable")),
			.share = number(json_object_get(one, "share"), "value"),
		};
		ret->n++;
	}
}

/* Only the trace says where a suspect was: a claim by its sender, enough for a test and no more. */
static bool is_claimed(const struct said *said, const json_t *summary)
{
	const json_t *all = json_object_get(summary, "suspects");
	size_t i;

	for (i = 0; said->n > 0 && i < json_array_size(all); i++) {
		const json_t *placed = json_object_get(json_array_get(all, i), "placed");

		if (streq(json_string_value(json_object_get(placed, "source")),
			  placement_source_names[PLACEMENT_TRACE]))
			return true;
	}
	return false;
}

/* Without ages its time is only known to be before its arrival. */
static void add_window(struct suspicion *s, const struct job_window *w)
{
	CLEANUP(said_release) struct said said = { .n = 0 };
	const bool dated = w->from_us && w->from_us < w->until_us;
	struct suspicion_window window = {
		.id = w->id,
		.from_us = dated ? w->from_us : w->received_us - MIN(w->received_us, UINT64_C(1)),
		.until_us = dated ? w->until_us : w->received_us,
		.steps = (uint64_t)json_integer_value(json_object_get(w->summary, "steps")),
		.coarse = !dated,
		.suspects = said.suspects,
	};

	read_suspects(w->summary, &said);
	window.n_suspects = said.n;
	window.coarse |= is_claimed(&said, w->summary);
	/* Windows that contradict themselves, as by naming a host twice, blame nobody. */
	if (suspicion_add(s, &window, NULL) == -EINVAL) {
		window.n_suspects = 0;
		(void)suspicion_add(s, &window, NULL);
	}
}

static bool is_of(const struct suspicion_found *found, const char *const *hosts, size_t n, int class)
{
	size_t i;

	if (found->class != class || found->n_hosts != n)
		return false;
	for (i = 0; i < n; i++) {
		if (!streq(found->hosts[i], hosts[i]))
			return false;
	}
	return true;
}

const struct suspicion_found *job_suspects_find(const struct suspicion_list *list,
						const json_t *suspect, const char *name)
{
	const char *hosts[SUSPICION_HOSTS_MAX];
	const size_t n = hosts_of(suspect, name, hosts);
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (is_of(&list->items[i], hosts, n, job_suspects_class(suspect)))
			return &list->items[i];
	}
	return NULL;
}

/* Suspects in `before` that are kept, for this run. */
struct kept {
	struct suspicion_extension items[SUSPICION_LIST_MAX];
	const char *hosts[SUSPICION_LIST_MAX][SUSPICION_HOSTS_MAX];
	size_t n;
};

static void read_kept(const json_t *before, int64_t run, struct kept *ret)
{
	const json_t *all = json_object_get(before, "suspects");
	size_t i;

	if (json_integer_value(json_object_get(before, "run")) != run)
		return;
	for (i = 0; i < json_array_size(all) && ret->n < SUSPICION_LIST_MAX; i++) {
		const json_t *one = json_array_get(all, i);
		const uint64_t until_us = json_stamp_us(json_object_get(one, "kept"));
		struct suspicion_extension *kept = &ret->items[ret->n];

		/* Without known hosts there is nothing to test. */
		if (until_us == 0 || json_array_size(json_object_get(one, "hosts")) == 0)
			continue;
		*kept = (struct suspicion_extension){ .hosts = ret->hosts[ret->n],
						      .n_hosts =
							      hosts_of(one, "", ret->hosts[ret->n]),
						      .class = job_suspects_class(one),
						      .until_us = until_us };
		ret->n++;
	}
}

void job_suspects_read(const struct job_window *windows, size_t n, const struct policy_jobs *jobs,
		       const json_t *before, uint64_t now_us, struct job_suspects *ret)
{
	CLEANUP(freep) struct kept *kept = xcalloc(1, sizeof(*kept));
	struct suspicion_extensions extensions;
	size_t i;

	*ret = (struct job_suspects){ .list = { .n = 0 } };
	for (i = 0; i < n; i++)
		add_window(&ret->windows, &windows[i]);
	if (n > 0)
		read_kept(before, windows[0].run, kept);
	extensions = (struct suspicion_extensions){ kept->items, kept->n };
	suspicion_read(&ret->windows, jobs, &extensions, now_us, &ret->list);
	suspicion_read(&ret->windows, jobs, NULL, 0, &ret->ever);
}

void job_suspects_release(struct job_suspects *suspects)
{
	suspicion_release(&suspects->windows);
}
