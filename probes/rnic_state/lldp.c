/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/lldp.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/paths.h"
#include "probes/harness/child.h"
#include "probes/rnic_state/rnic_state.h"

#define LLDPCLI_US (2 * USEC_PER_SEC)

/* --- decoding, pure --------------------------------------------------------------------- */

/* json0 wraps everything in arrays: get the first object under `key`. */
static const json_t *first(const json_t *object, const char *key)
{
	return json_array_get(json_object_get(object, key), 0);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(first(object, key), "value"));

	return text ? text : "";
}

static void take(char to[static LLDP_TEXT_SIZE], const char *text)
{
	(void)snprintf(to, LLDP_TEXT_SIZE, "%s", text);
	ascii_clean(to);
}

static bool decode_interface(const json_t *interface, struct lldp_neighbor *ret)
{
	const json_t *chassis = first(interface, "chassis"), *port = first(interface, "port");
	const char *netdev = json_string_value(json_object_get(interface, "name"));
	const char *id_type = json_string_value(json_object_get(first(port, "id"), "type"));
	const char *name = text_of(chassis, "name"), *id = text_of(port, "id");
	const char *description = text_of(port, "descr");

	if (!*name)
		name = text_of(chassis, "id");
	if (*description && (!*id || streq(id_type, "mac")))
		id = description;
	if (!netdev || !*netdev || strlen(netdev) >= IF_NAMESIZE || !*name || !*id)
		return false;
	(void)snprintf(ret->netdev, sizeof(ret->netdev), "%.15s", netdev);
	take(ret->chassis, name);
	take(ret->port, id);
	return true;
}

static bool has(const struct lldp_neighbor *all, size_t n, const char *netdev)
{
	size_t i;

	for (i = 0; i < n && !streq(all[i].netdev, netdev); i++)
		;
	return i < n;
}

size_t lldp_decode(const char *text, size_t len, struct lldp_neighbor *ret, size_t max)
{
	CLEANUP(json_freep) json_t *root = NULL;
	const json_t *interfaces;
	size_t n = 0, i;

	if (json_parse(text, len, "lldpcli", &root, NULL) < 0)
		return 0;
	interfaces = json_object_get(first(root, "lldp"), "interface");
	for (i = 0; i < json_array_size(interfaces) && n < max; i++) {
		struct lldp_neighbor one;

		if (decode_interface(json_array_get(interfaces, i), &one) &&
		    !has(ret, n, one.netdev))
			ret[n++] = one;
	}
	return n;
}

/* --- running lldpcli -------------------------------------------------------------------- */

static size_t ask(uint64_t deadline_us, struct lldp_neighbor *ret, size_t max)
{
	static const char *const places[] = { "/usr/sbin/lldpcli", "/usr/bin/lldpcli" };
	static char format[] = "-f", json0[] = "json0", show[] = "show", what[] = "neighbors",
		    details[] = "details";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LLDP_OUTPUT_MAX);
		CLEANUP(freep) char *path = xasprintf("%s%s", paths_sysroot(), places[i]);
		char *const argv[] = { path, format, json0, show, what, details, NULL };

		if (child_read(argv, deadline_us, &text) == 0)
			return lldp_decode(strbuf_text(&text), text.len, ret, max);
	}
	return 0;
}

static int emit(struct rnic_state *state, const struct port *port, const struct lldp_neighbor *n)
{
	struct sample s = finding_sample("rnic.neighbor", port->subject, 1);

	s.params = json_pack("{s:s, s:s}", "switch", n->chassis, "port", n->port);
	return rnic_emit(state, &s, FINDING_NOTE, "plugged into %s of %s (LLDP)", n->port,
			 n->chassis);
}

int rnic_neighbors(struct rnic_state *state)
{
	CLEANUP(freep) struct lldp_neighbor *all = xcalloc(LLDP_NEIGHBORS_MAX, sizeof(*all));
	uint64_t deadline_us = MIN(state->deadline_us, clock_mono_us() + LLDPCLI_US);
	size_t n = ask(deadline_us, all, LLDP_NEIGHBORS_MAX), i, k;
	int r = 0;

	for (i = 0; i < state->ports->n && r == 0; i++) {
		const struct port *port = &state->ports->all[i];

		for (k = 0; k < n && !(port->netdev[0] && streq(all[k].netdev, port->netdev)); k++)
			;
		if (k < n)
			r = emit(state, port, &all[k]);
	}
	return r;
}
