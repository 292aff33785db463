/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A main() for fuzz targets without libFuzzer: replays the seeds, or the files
 * given, each whole and truncated at several places. One test per file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 1 << 20, CUTS = 16, STATUS_USAGE = 2 };

/* Prints the name before each input, so that after a crash the log ends with it. */
static int play(const char *path)
{
	CLEANUP(freep) char *text = NULL;
	struct err err = ERR_INIT;
	size_t length, i;

	(void)printf("%s\n", path);
	(void)fflush(stdout);
	if (file_read(AT_FDCWD, path, INPUT_MAX, &text, &length, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	for (i = 0; i < CUTS; i++)
		(void)LLVMFuzzerTestOneInput((const uint8_t *)text, length * i / CUTS);
	(void)LLVMFuzzerTestOneInput((const uint8_t *)text, length);
	return 0;
}

/* "fuzz_report" replays tests/fuzz/corpus/report of the sources ($srcdir under make check). */
static char *corpus_of(const char *program)
{
	const char *name = strrchr(program, '/'), *srcdir = getenv("srcdir");

	name = name ? name + 1 : program;
	return starts_with(name, "fuzz_") ? xasprintf("%s/tests/fuzz/corpus/%s",
						      srcdir ? srcdir : ".", name + strlen("fuzz_"))
					  : NULL;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	CLEANUP(freep) char *corpus = corpus_of(argv[0]);
	struct dirent **entries = NULL;
	int passed = 0, failed = 0, n, i;

	for (i = 1; i < argc; i++)
		*(play(argv[i]) == 0 ? &passed : &failed) += 1;
	n = argc > 1 ? 0 : scandir(corpus ? corpus : ".", &entries, visible, alphasort);
	if (n < 0) {
		(void)fprintf(stderr, "cannot read %s: %s\n", corpus, strerror(errno));
		return STATUS_USAGE;
	}
	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", corpus, entries[i]->d_name);

		*(play(path) == 0 ? &passed : &failed) += 1;
		free(entries[i]);
	}
	free(entries);
	(void)printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed || passed == 0;
}
