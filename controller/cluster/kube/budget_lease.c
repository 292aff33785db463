/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/budget_lease.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube_ledger.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

void budget_lease_release(struct budget_lease *lease)
{
	free(lease->version);
	free(lease->text);
	free(lease->writer);
	free(lease->stop);
	json_decref(lease->metadata);
	json_decref(lease->spec);
	*lease = (struct budget_lease){ 0 };
}

static char *text_of(const json_t *object, const char *key)
{
	return xstrdup(json_string_value(json_object_get(object, key)));
}

/* "false" means not set. */
static char *stop_of(const json_t *annotations, const char *key)
{
	const char *value = json_string_value(json_object_get(annotations, key));

	return value && value[0] && !streq(value, "false") ? xstrdup(value) : NULL;
}

int budget_lease_read(const json_t *object, const struct cluster_names *names,
		      struct budget_lease *ret, struct err *err)
{
	json_t *metadata = json_object_get(object, "metadata");
	const json_t *annotations = json_object_get(metadata, "annotations");

	if (!json_is_string(json_object_get(metadata, "resourceVersion")))
		return err_set(err, EINVAL, "the Lease " KUBE_LEDGER_NAME " has no version");
	*ret = (struct budget_lease){
		.version = text_of(metadata, "resourceVersion"),
		.text = text_of(annotations, names->ledger),
		.writer = text_of(annotations, names->ledger_writer),
		.stop = stop_of(annotations, names->stop),
		.metadata = json_deep_copy(metadata),
		.spec = json_deep_copy(json_object_get(object, "spec")),
	};
	/* Maintained by the server; without it in a PUT the server keeps its own. */
	(void)json_object_del(ret->metadata, "managedFields");
	return 0;
}

json_t *budget_lease_write(const struct budget_lease *lease, const struct cluster_names *names,
			   const char *namespace, const char *text, const char *writer)
{
	json_t *metadata = lease->version ? json_deep_copy(lease->metadata) : json_object();
	json_t *spec = lease->spec ? json_deep_copy(lease->spec) : json_object();
	json_t *annotations = json_object_get(metadata, "annotations");

	if (!json_is_object(annotations)) {
		annotations = json_object();
		(void)json_object_set_new(metadata, "annotations", annotations);
	}
	(void)json_object_set_new(annotations, names->ledger, json_string(text));
	(void)json_object_set_new(annotations, names->ledger_writer, json_string(writer));
	(void)json_object_set_new(metadata, "name", json_string(KUBE_LEDGER_NAME));
	(void)json_object_set_new(metadata, "namespace", json_string(namespace));
	return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "coordination.k8s.io/v1", "kind",
			 "Lease", "metadata", metadata, "spec", spec);
}
