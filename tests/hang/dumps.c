/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang-dumps FOLDER SEED FAULT CULPRITS: writes the dumps of a hung job, one file per rank:
 * pickles, or JSON for ranks divisible by 5. Prints the culprits.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/hang/hang_writer.h"

enum { ARGUMENTS = 5, BASE = 10, JSON_EVERY = 5 };

static int find_fault(const char *name)
{
	int i;

	for (i = 0; i < WORLD_FAULTS; i++)
		if (streq(world_fault_names[i], name))
			return i;
	return -1;
}

static int write_dump(const struct world *w, size_t rank, const char *folder)
{
	CLEANUP(strbuf_release) struct strbuf dump = STRBUF_INIT(HANG_WRITER_MAX);
	CLEANUP(freep) char *path = xasprintf("%s/_dump_%zu", folder, rank);
	struct err err = ERR_INIT;
	int r;

	if (rank % JSON_EVERY == JSON_EVERY - 1)
		hang_writer_json(w, rank, &dump);
	else
		hang_writer_dump(w, rank, &dump);
	r = file_replace(AT_FDCWD, path, dump.data, dump.len, &err);
	if (r < 0)
		(void)fprintf(stderr, "%s\n", err.msg);
	return r;
}

int main(int argc, char **argv)
{
	CLEANUP(world_freep) struct world *w = NULL;
	int fault = argc == ARGUMENTS ? find_fault(argv[3]) : -1;
	size_t i;

	if (fault < 0) {
		(void)fprintf(stderr, "usage: hang-dumps FOLDER SEED FAULT CULPRITS\n");
		return 2;
	}
	w = world_new(strtoull(argv[2], NULL, BASE), (enum world_fault)fault,
		      strtoull(argv[4], NULL, BASE));
	for (i = 0; i < w->n_ranks; i++) {
		if (w->ranks[i].guilty)
			(void)printf("%zu\n", i);
		if (fault == WORLD_KILLED && w->ranks[i].guilty)
			continue;
		if (write_dump(w, i, argv[1]) < 0)
			return 1;
	}
	return 0;
}
