/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/paths.h"
#include "probes/rdma/ports.h"

/* The integer keys of the file. */
static const struct number {
	const char *key;
	int max;
} numbers[] = {
	{ "gid_index", RDMA_GID_INDEX_MAX },
	{ "pkey_index", RDMA_PKEY_INDEX_MAX },
	{ "sl", RDMA_SL_MAX },
	{ "tclass", RDMA_TCLASS_MAX },
};

struct site {
	char *devices;
	int gid_index, pkey_index, sl, tclass;
};

static void site_release(struct site *s)
{
	free(s->devices);
}

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	if (!json_is_integer(v->value) || json_integer_value(v->value) != 1)
		return jval_fail(v, err, "expected 1: this program reads rdma/1");
	return 0;
}

static int decode_number(const struct jval *v, void *member, struct err *err)
{
	int *number = member, max = 0;
	const json_int_t value = json_integer_value(v->value);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		max = streq(numbers[i].key, v->key) ? numbers[i].max : max;
	if (!json_is_integer(v->value) || value < 0 || value > max)
		return jval_fail(v, err, "expected a whole number from 0 to %d", max);
	*number = (int)value;
	return 0;
}

static int decode_devices(const struct jval *v, void *member, struct err *err)
{
	struct err why = ERR_INIT;
	char **devices = member;

	if (!json_is_string(v->value))
		return jval_fail(v, err,
				 "expected a list of devices in one string, as in NCCL_IB_HCA");
	if (ports_list_check(json_string_value(v->value), &why) < 0)
		return jval_fail(v, err, "%s", why.msg);
	*devices = xstrdup(json_string_value(v->value));
	return 0;
}

#define SITE(m) offsetof(struct site, m)

static const struct jfield fields[] = {
	{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
	{ "devices", J_CUSTOM, SITE(devices), 0, .decode = decode_devices },
	{ "gid_index", J_CUSTOM, SITE(gid_index), 0, .decode = decode_number },
	{ "pkey_index", J_CUSTOM, SITE(pkey_index), 0, .decode = decode_number },
	{ "sl", J_CUSTOM, SITE(sl), 0, .decode = decode_number },
	{ "tclass", J_CUSTOM, SITE(tclass), 0, .decode = decode_number },
};

const char *rdma_service_devices(const struct rdma_service *s)
{
	return s->devices[0] ? s->devices : NULL;
}

void rdma_service_params(const struct rdma_service *s, uint16_t pkey, json_t *params)
{
	if (s->sl > 0)
		(void)json_object_set_new(params, "sl", json_integer(s->sl));
	if (s->tclass > 0)
		(void)json_object_set_new(params, "tclass", json_integer(s->tclass));
	if (pkey != 0 && pkey != RDMA_PKEY_DEFAULT)
		(void)json_object_set_new(params, "pkey", json_sprintf("0x%04x", pkey));
}

static void fill(int *said, int site)
{
	if (*said < 0)
		*said = site;
}

int rdma_site_fill(struct rdma_service *s, int *gid_index, struct err *err)
{
	CLEANUP(freep) char *conf = paths_conf();
	CLEANUP(freep) char *path = xasprintf("%s/rdma.yaml", conf);
	CLEANUP(json_freep) json_t *doc = NULL;
	CLEANUP(site_release)
	struct site site = { .gid_index = -1, .pkey_index = -1, .sl = -1, .tclass = -1 };
	struct jval root;
	int r;

	if (access(path, F_OK) < 0)
		return 0;
	r = yaml_read_file(path, &doc, err);
	if (r < 0)
		return r;
	root = jval_root(doc, path);
	r = jval_decode(&root, fields, ARRAY_SIZE(fields), JVAL_STRICT, &site, err);
	if (r < 0)
		return -EINVAL;
	if (!s->devices[0] && site.devices)
		(void)snprintf(s->devices, sizeof(s->devices), "%s", site.devices);
	fill(gid_index, site.gid_index);
	fill(&s->pkey_index, site.pkey_index);
	fill(&s->sl, site.sl);
	fill(&s->tclass, site.tclass);
	return 0;
}
