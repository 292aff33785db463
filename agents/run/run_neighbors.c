/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/run_neighbors.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/topology/topology.h"

enum { DEVICE_MAX = 128 };

/* "mlx5_0:1" is a port of rnic:mlx5_0. */
static json_t *plugged(const struct sample *s, const char *swtch, const char *port)
{
	CLEANUP(freep)
	char *rnic = xasprintf("rnic:%.*s", (int)MIN(strcspn(s->subject, ":"), (size_t)DEVICE_MAX),
			       s->subject);

	return json_pack("{s:s, s:s, s:s, s:s}", "rnic", rnic, "switch", swtch, "port", port,
			 "source", "lldp");
}

static json_t *neighbor_of(const struct sample *s)
{
	const char *swtch = json_string_value(json_object_get(s->params, "switch"));
	const char *port = json_string_value(json_object_get(s->params, "port"));

	return swtch && port ? plugged(s, swtch, port) : NULL;
}

static bool is_heard(const struct report *report, const char *subject)
{
	size_t i = 0;

	while (i < report->n_samples && !(streq(report->samples[i].check, "rnic.neighbor") &&
					  streq(report->samples[i].subject, subject)))
		i++;
	return i < report->n_samples;
}

/* Rails are numbered over all ports that are up: a silent one must not shift the others. */
static void add_silent(json_t *list, const struct report *report)
{
	size_t i;

	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];

		if (streq(s->check, "rnic.port") && s->value > 0 && !is_heard(report, s->subject))
			(void)json_array_append_new(
				list, plugged(s, TOPO_NEIGHBOR_SILENT, TOPO_NEIGHBOR_SILENT));
	}
}

static json_t *with_neighbors(const struct report *report, const json_t *topology, size_t *ret_n)
{
	json_t *copy = json_deep_copy(topology), *list = json_object_get(copy, "neighbors");
	size_t i;

	if (!json_is_array(list)) {
		list = json_array();
		(void)json_object_set_new(copy, "neighbors", list);
	}
	for (i = 0; i < report->n_samples; i++) {
		json_t *one = streq(report->samples[i].check, "rnic.neighbor")
				      ? neighbor_of(&report->samples[i])
				      : NULL;

		if (one && json_array_append_new(list, one) == 0)
			*ret_n += 1;
	}
	if (*ret_n > 0)
		add_silent(list, report);
	return copy;
}

void run_report_neighbors(struct report *report, json_t **topology)
{
	CLEANUP(topology_releasep) struct topology t = { 0 };
	CLEANUP(json_freep) json_t *wide = NULL;
	struct jval root;
	size_t n = 0;

	if (!*topology)
		return;
	wide = with_neighbors(report, *topology, &n);
	root = jval_root(wide, "topology");
	if (n == 0 || topology_decode(&root, &t, NULL) < 0)
		return;
	json_decref(*topology);
	*topology = topology_encode(&t);
	free(report->topology);
	report->topology = xstrdup(t.digest);
}
