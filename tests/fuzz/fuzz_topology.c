/* SPDX-License-Identifier: Apache-2.0 */
/* topology/1: read, queried for pairs of nodes, written again. */
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "tests/fuzz/fuzz.h"

enum { PAIRS_OF = 12 }; /* nodes whose pairs are all queried */

static void check_pair(const struct topology *t, const char *from, const char *to)
{
	CLEANUP(strv_freep) char **links = NULL;
	enum locality class;
	size_t i;

	if (topology_class(t, from, to, &class) == 0)
		FUZZ_CHECK(class <= LOCALITY_VIRTUAL);
	if (topology_path(t, from, to, &links) < 0)
		return;
	FUZZ_CHECK(strv_len(links) <= TOPOLOGY_PATH_MAX);
	for (i = 0; i < strv_len(links); i++)
		FUZZ_CHECK(topology_find_link(t, links[i]));
}

static void check_again(const struct topology *t)
{
	CLEANUP(json_freep) json_t *value = topology_encode(t);
	CLEANUP(topology_releasep) struct topology copy = { 0 };
	struct jval root = jval_root(value, "again");
	struct err err = ERR_INIT;

	FUZZ_CHECK(topology_decode(&root, &copy, &err) == 0);
	FUZZ_CHECK(copy.n_nodes == t->n_nodes && copy.n_links == t->n_links);
	FUZZ_CHECK(streq(copy.digest, t->digest));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_bytes(data, size);
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(topology_releasep) struct topology t = { 0 };
	struct err err = ERR_INIT;
	struct jval root;
	size_t n, i;
	int r = json_parse(text, size, "topology", &value, &err);

	if (r == 0) {
		root = jval_root(value, "topology");
		r = topology_decode(&root, &t, &err);
	}
	if (r < 0) {
		fuzz_refused(r, &err);
		return 0;
	}
	check_again(&t);
	n = MIN(t.n_nodes, (size_t)PAIRS_OF);
	for (i = 0; i < n * n; i++)
		check_pair(&t, t.nodes[i / n].id, t.nodes[i % n].id);
	return 0;
}
