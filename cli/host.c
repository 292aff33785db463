/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/link.h"
#include "cli/near.h"
#include "cli/ticket.h"
#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

static void suggest(struct link *link, const char *name, struct err *err)
{
	CLEANUP(json_freep) json_t *all = NULL;
	CLEANUP(freep) char *near = NULL;

	if (link_list(link, "/v1/nodes", &all, NULL) < 0)
		return;
	near = near_names(all, "node", name);
	if (*near)
		(void)err_set(err, ENOENT, "unknown host '%.80s'; did you mean %s?", name, near);
	else
		(void)err_set(err, ENOENT,
			      "unknown host '%.80s'; `assayctl nodes` lists the %zu known "
			      "hosts",
			      name, json_array_size(all));
}

int host_explain(struct link *link, const char *name, int r, struct err *err)
{
	if (r == -ENOENT)
		suggest(link, name, err);
	return r;
}

int host_get(struct link *link, const char *name, const char *path, json_t **ret, struct err *err)
{
	return host_explain(link, name, link_get(link, path, ret, err), err);
}

/* --- the verdict --- */

void host_head(const json_t *host, const struct page *page)
{
	const char *level = raw_at(host, "verdict"), *last = raw_at(host, "last_verdict");
	bool stale = json_is_true(json_object_get(host, "stale"));
	CLEANUP(freep) char *name = text_at(host, "node");
	CLEANUP(freep) char *shown = utf8_clean(level);
	CLEANUP(freep) char *age = age_of_seconds(number_at(host, "age_s"));
	CLEANUP(freep) char *words = utf8_clean(sentence_of(host, last));
	CLEANUP(freep) char *line = NULL;

	if (stale)
		line = xasprintf("%s: %s: stopped reporting (last report %s); was %s: %s", name,
				 shown, age, last, words);
	else
		line = xasprintf("%s: %s: %s", name, shown, words);
	(void)fputs(paint_on(page->colour, (enum paint)paint_of_level(level)), page->out);
	text_wrap(line, page->out, 0, page->width);
	(void)fputs(paint_off(page->colour), page->out);
}

/* --- drift --- */

/* Host `name`'s value in this item of the drift list, or NULL. */
static const char *value_in(const json_t *item, const char *name)
{
	const json_t *nodes = json_object_get(item, "nodes");
	size_t i;

	for (i = 0; i < json_array_size(nodes); i++) {
		const json_t *one = json_array_get(nodes, i);

		if (streq(raw_at(one, "node"), name))
			return raw_at(one, "value");
	}
	return NULL;
}

int host_add_drift(struct link *link, json_t *host, struct err *err)
{
	CLEANUP(json_freep) json_t *all = NULL;
	json_t *drift, *item;
	size_t i;
	int r = link_list(link, "/v1/drift", &all, err);

	if (r < 0)
		return r;
	drift = json_array();
	json_array_foreach(all, i, item)
	{
		const char *value = value_in(item, raw_at(host, "node"));

		if (!value || !streq(raw_at(item, "sku"), raw_at(host, "sku")))
			continue;
		(void)json_array_append_new(drift,
					    json_pack("{s:s, s:s, s:O?, s:O?, s:O?}", "key",
						      raw_at(item, "key"), "value", value,
						      "majority", json_object_get(item, "majority"),
						      "hosts", json_object_get(item, "hosts"),
						      "agree", json_object_get(item, "agree")));
	}
	(void)json_object_set_new(host, "drift", drift);
	return 0;
}

/* --- facts --- */

static void fact(const struct page *page, const char *label, const json_t *host, const char *key)
{
	ticket_line(page, label, raw_at(host, key));
}

static void facts_env(const json_t *host, const struct page *page)
{
	static const char *const keys[] = { "product", "cpu",		"microcode",   "bios",
					    "kernel",  "driver.nvidia", "driver.mlx5", "machine" };
	json_t *env = json_object_get(host, "env"), *value;
	bool labelled = false;
	const char *key;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		fact(page, keys[i], env, keys[i]);
	json_object_foreach(env, key, value)
	{
		for (i = 0; i < ARRAY_SIZE(keys) && !streq(keys[i], key); i++)
			;
		if (i == ARRAY_SIZE(keys) && json_is_string(value)) {
			CLEANUP(freep)
			char *line = xasprintf("%s %s", key, json_string_value(value));

			ticket_line(page, labelled ? "" : "settings", line);
			labelled = true;
		}
	}
}

static void facts_drift(const json_t *host, const struct page *page)
{
	const json_t *drift = json_object_get(host, "drift");
	size_t i;

	for (i = 0; i < json_array_size(drift); i++) {
		const json_t *item = json_array_get(drift, i);
		const char *majority = raw_at(item, "majority");
		CLEANUP(freep) char *line = NULL;

		if (*majority)
			line = xasprintf("%s is %s; %.0f of %.0f hosts of its SKU have %s",
					 raw_at(item, "key"), raw_at(item, "value"),
					 number_at(item, "agree"), number_at(item, "hosts"),
					 majority);
		else
			line = xasprintf("%s is %s; the %.0f hosts of its SKU do not agree",
					 raw_at(item, "key"), raw_at(item, "value"),
					 number_at(item, "hosts"));
		ticket_line(page, "drift", line);
	}
	if (json_is_array(drift) && json_array_size(drift) == 0)
		ticket_line(page, "drift", "none: set up like most hosts of its SKU");
}

void host_facts(const json_t *host, const struct page *page)
{
	CLEANUP(freep) char *age = age_of_seconds(number_at(host, "age_s"));
	const char *agent = raw_at(host, "connection");
	CLEANUP(freep)
	char *seen = xasprintf(
		"%s (%s)%s", raw_at(host, "seen"), age,
		json_is_true(json_object_get(host, "stale")) ? "; everything below is old" : "");
	CLEANUP(freep)
	char *report = xasprintf("boot %s, report %.0f (%s) of %s", raw_at(host, "boot_id"),
				 number_at(host, "seq"), raw_at(host, "profile"),
				 raw_at(host, "time"));
	CLEANUP(freep)
	char *daemon = xasprintf("assayd %s, %s", raw_at(host, "agent"),
				 streq(agent, "none") ? "not connected" : agent);

	fact(page, "sku", host, "sku");
	ticket_line(page, "heard", seen);
	ticket_line(page, "newest", report);
	ticket_line(page, "agent", daemon);
	if (json_is_false(json_object_get(host, "in_cluster")))
		ticket_line(page, "cluster",
			    "not a node of the cluster: judged, but never acted on");
	facts_env(host, page);
	facts_drift(host, page);
}
