/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/lease_server.h"

#include "controller/cluster/kube/lease_state.h"
#include "lib/base/duration.h"
#include "tests/unit/test.h"

void lease_server_keep(struct lease_server *server, json_t *object)
{
	json_t *metadata = json_object_get(object, "metadata");

	(void)json_object_set_new(metadata, "resourceVersion",
				  json_sprintf("%llu", (unsigned long long)++server->version));
	(void)json_object_set_new(metadata, "uid", json_string("uid-1"));
	json_decref(server->object);
	server->object = object;
}

/* The API server's MicroTime: exactly six digits of the fraction. */
static bool is_stamp(const json_t *text)
{
	const char *s = json_string_value(text), *dot = s ? strchr(s, '.') : NULL;
	uint64_t at_us;

	return dot && strlen(dot) == strlen(".123456Z") && clock_parse_stamp(s, &at_us) == 0;
}

int lease_server_ask(struct lease_server *server, int step, const json_t *body)
{
	const json_t *spec = json_object_get(body, "spec");
	const char *version = json_string_value(
		json_object_get(json_object_get(body, "metadata"), "resourceVersion"));
	const char *ours = json_string_value(
		json_object_get(json_object_get(server->object, "metadata"), "resourceVersion"));

	if (step == LEASE_READ)
		return server->object ? LEASE_OK : LEASE_ABSENT;
	CHECK(is_stamp(json_object_get(spec, "renewTime")));
	CHECK(is_stamp(json_object_get(spec, "acquireTime")));
	if (step == LEASE_CREATE && server->object)
		return LEASE_CONFLICT;
	if (step != LEASE_CREATE) {
		CHECK(version != NULL);
		if (!server->object)
			return LEASE_ABSENT;
		if (!streq(version, ours))
			return LEASE_CONFLICT;
	}
	lease_server_keep(server, json_deep_copy(body));
	return LEASE_OK;
}

void lease_server_release(struct lease_server *server)
{
	json_decref(TAKE(server->object));
}
