/* SPDX-License-Identifier: Apache-2.0 */
/* The records of parts: which serial was cordoned for, and when. */
#include <search.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct part *)a)->serial, ((const struct part *)b)->serial);
}

struct part *fleet_part(struct fleet *f, const char *serial)
{
	CLEANUP(freep) char *copy = xstrdup(serial);
	struct part wanted = { .serial = copy }, *part;
	struct part **found = tfind(&wanted, &f->parts, compare);

	if (found)
		return *found;
	part = xcalloc(1, sizeof(*part));
	part->serial = TAKE(copy);
	if (!tsearch(part, &f->parts, compare))
		abort(); /* out of memory */
	return part;
}

static void part_free(void *p)
{
	struct part *part = p;

	free(part->serial);
	free(part);
}

void fleet_release_parts(struct fleet *f)
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
