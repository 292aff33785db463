/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/evidence.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/link.h"
#include "cli/parts.h"
#include "cli/view.h"
#include "cli/why.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* --- from samples --- */

static void add_part(json_t *parts, const char *part, const char *id, const char *what)
{
	size_t i;

	for (i = 0; i < json_array_size(parts); i++) {
		const json_t *have = json_array_get(parts, i);

		if (streq(raw_at(have, "part"), part) && streq(raw_at(have, "id"), id) &&
		    streq(raw_at(have, "what"), what))
			return;
	}
	(void)json_array_append_new(
		parts, json_pack("{s:s, s:s, s:s}", "part", part, "id", id, "what", what));
}

static void add_nodes(json_t *parts, const json_t *topology)
{
	const json_t *nodes = json_object_get(topology, "nodes");
	size_t i;

	for (i = 0; i < json_array_size(nodes); i++) {
		const json_t *one = json_array_get(nodes, i);
		const char *type = raw_at(one, "type");
		CLEANUP(freep)
		char *what = xasprintf("%s%s%s", raw_at(one, "name"),
				       *raw_at(one, "pci") ? " at PCI " : "", raw_at(one, "pci"));

		if (streq(type, "gpu") || streq(type, "rnic"))
			add_part(parts, type, raw_at(one, "id"), what);
	}
}

static void add_neighbors(json_t *parts, const json_t *topology)
{
	const json_t *neighbors = json_object_get(topology, "neighbors");
	size_t i;

	for (i = 0; i < json_array_size(neighbors); i++) {
		const json_t *one = json_array_get(neighbors, i);
		CLEANUP(freep)
		char *what = xasprintf("%s port %s", raw_at(one, "switch"), raw_at(one, "port"));

		if (!streq(raw_at(one, "switch"), "-")) /* no neighbor was seen */
			add_part(parts, "switch port", raw_at(one, "rnic"), what);
	}
}

/* Probes that read a serial number put it into the note. */
static void add_notes(json_t *parts, const json_t *samples)
{
	size_t i;

	for (i = 0; i < json_array_size(samples); i++) {
		const json_t *sample = json_array_get(samples, i);
		const char *note = raw_at(sample, "note");

		if (strstr(note, "serial "))
			add_part(parts, "module", raw_at(sample, "subject"), note);
	}
}

/* "GPU-..." from "gpu:GPU-..." or from one end of "mlx5_0:1>gpu:GPU-...". */
static void add_gpus(json_t *parts, const json_t *samples)
{
	size_t i;

	for (i = 0; i < json_array_size(samples); i++) {
		const char *subject = raw_at(json_array_get(samples, i), "subject");
		const char *at = strstr(subject, "gpu:GPU-");
		CLEANUP(freep) char *id = at ? xstrndup(at, strcspn(at, ">*, ")) : NULL;

		if (id)
			add_part(parts, "gpu", id, "the UUID that the driver reads from the board");
	}
}

/* Names that people use, and labels; false if the host never reported them. */
static bool add_named(json_t *parts, const json_t *named)
{
	size_t i;

	for (i = 0; i < json_array_size(named); i++) {
		const json_t *one = json_array_get(named, i);
		CLEANUP(json_freep) json_t *list = json_pack("[O]", one);
		CLEANUP(freep) char *line = parts_line(list);

		if (line)
			add_part(parts, raw_at(one, "kind"), raw_at(one, "name"), line);
	}
	return json_array_size(named) > 0;
}

json_t *evidence_parts(const json_t *samples, const json_t *topology, const json_t *named)
{
	json_t *parts = json_array();
	const bool any = add_named(parts, named);

	add_nodes(parts, topology);
	if (!any)
		add_gpus(parts, samples);
	add_notes(parts, samples);
	add_neighbors(parts, topology);
	return parts;
}

json_t *evidence_kernel_log(const json_t *samples)
{
	json_t *log = json_array();
	size_t i;

	for (i = 0; i < json_array_size(samples); i++) {
		const json_t *s = json_array_get(samples, i);

		if (!streq(raw_at(s, "check"), "host.kernel_log") || !*raw_at(s, "note"))
			continue;
		(void)json_array_append_new(
			log,
			json_pack("{s:O?, s:O?, s:O?, s:O?, s:O?, s:O?}", "subject",
				  json_object_get(s, "subject"), "code", json_object_get(s, "code"),
				  "severity", json_object_get(s, "severity"), "lines",
				  json_object_get(s, "value"), "note", json_object_get(s, "note"),
				  "time", json_object_get(s, "time")));
	}
	return log;
}

/* --- requests --- */

/* Set a member of the document; takes over `value`. */
static void put(json_t *document, const char *key, json_t *value)
{
	(void)json_object_set_new(document, key, value ? value : json_null());
}

static int put_list(struct link *link, json_t *document, const char *key, const char *path,
		    struct err *err)
{
	json_t *items = NULL;
	int r = link_list(link, path, &items, err);

	if (r == 0)
		put(document, key, items);
	return r;
}

static int put_verdicts(struct link *link, json_t *document, const char *path, struct err *err)
{
	CLEANUP(json_freep) json_t *page = NULL;
	int r = link_get(link, path, &page, err);

	if (r == 0)
		(void)json_object_set(document, "verdicts", json_object_get(page, "items"));
	return r;
}

/* A topology that was not uploaded, or is gone, is not an error. */
static int put_topology(struct link *link, json_t *document, const char *digest, struct err *err)
{
	CLEANUP(freep) char *segment = link_segment(digest);
	CLEANUP(freep) char *path = xasprintf("/v1/topologies/%s", segment);
	json_t *topology = NULL;
	int r = *digest ? link_get(link, path, &topology, err) : -ENOENT;

	put(document, "topology", topology);
	return r == -ENOENT ? 0 : r;
}

/* Incidents of all hosts were fetched: keep only this host's. */
static void keep_own(json_t *document, const char *node)
{
	json_t *all = json_object_get(document, "incidents"), *own = json_array();
	size_t i;

	for (i = 0; i < json_array_size(all); i++) {
		if (streq(raw_at(json_array_get(all, i), "node"), node))
			(void)json_array_append(own, json_array_get(all, i));
	}
	put(document, "incidents", own);
}

static int ask(struct link *link, json_t *document, const char *node, struct err *err)
{
	CLEANUP(freep) char *name = link_segment(node);
	CLEANUP(freep) char *samples = xasprintf("/v1/nodes/%s/samples", name);
	CLEANUP(freep)
	char *verdicts = xasprintf("/v1/nodes/%s/verdicts?limit=%d", name, EVIDENCE_VERDICTS);
	CLEANUP(freep) char *acted = xasprintf("/v1/nodes/%s/evidence", name);
	const json_t *why;
	json_t *value = NULL;
	int r = why_fetch(link, node, &value, err);

	if (r < 0)
		return r;
	put(document, "why", value);
	why = json_object_get(document, "why");
	r = put_list(link, document, "samples", samples, err);
	if (r == 0)
		r = put_verdicts(link, document, verdicts, err);
	if (r == 0)
		r = put_list(link, document, "incidents", "/v1/incidents?state=all", err);
	if (r == 0 && (r = link_get(link, acted, &value, err)) == 0)
		put(document, "acted", value);
	return r == 0 ? put_topology(link, document, raw_at(why, "topology"), err) : r;
}

int evidence_fetch(struct link *link, const char *node, json_t **ret, struct err *err)
{
	char now[CLOCK_STAMP_SIZE];
	CLEANUP(json_freep) json_t *document = NULL;
	const json_t *samples;
	int r;

	clock_stamp(clock_real_us(), now);
	document = json_pack("{s:i, s:s, s:s, s:s, s:s}", "v", 1, "kind", "evidence", "node", node,
			     "made", now, "by", "assayctl " PACKAGE_VERSION);
	r = ask(link, document, node, err);
	if (r < 0)
		return r;
	keep_own(document, node);
	samples = json_object_get(document, "samples");
	put(document, "parts",
	    evidence_parts(samples, json_object_get(document, "topology"),
			   json_object_get(json_object_get(document, "why"), "parts")));
	put(document, "kernel_log", evidence_kernel_log(samples));
	*ret = TAKE(document);
	return 0;
}
