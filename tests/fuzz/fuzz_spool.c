/* SPDX-License-Identifier: Apache-2.0 */
/* The spool of assayd: a file's name up to the first newline, then its contents. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/run/spool.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/fuzz/fuzz.h"

/* The file is complete and has the number in its name, or was moved away. */
static void check_read(uint64_t seq, const char *content)
{
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) uint64_t *seqs = NULL;
	struct err err = ERR_INIT;
	size_t length = 0, n = 0;
	int r = spool_read(seq, &text, &length, &err);

	if (r == 0) {
		FUZZ_CHECK(strlen(content) == length && streq(text, content));
		FUZZ_CHECK(spool_done(seq, &err) == 0);
	} else {
		fuzz_refused(r, &err);
	}
	FUZZ_CHECK(spool_list(&seqs, &n, &err) == 0 && n == 0);
}

static void check_file(const char *name, const char *content)
{
	CLEANUP(freep) uint64_t *seqs = NULL;
	struct err err = ERR_INIT;
	char again[40];
	size_t n = 0;

	FUZZ_CHECK(spool_list(&seqs, &n, &err) == 0 && n <= 1);
	if (n == 0)
		return;
	(void)snprintf(again, sizeof(again), "%" PRIu64 ".json", seqs[0]);
	FUZZ_CHECK(streq(again, name)); /* a number has only one name */
	check_read(seqs[0], content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_text(data, size);
	CLEANUP(freep) char *spool = xasprintf("%s/spool", fuzz_dir());
	char *content = strchr(text, '\n');
	CLEANUP(freep) char *path = NULL;
	size_t length;

	(void)setenv("ASSAY_STATE_DIR", fuzz_dir(), 1);
	(void)mkdir(spool, 0700);
	if (content)
		*content++ = 0;
	length = strlen(text);
	if (length == 0 || length > 255 || strchr(text, '/') || text[0] == '.')
		return 0;
	path = xasprintf("spool/%s", text);
	content = content ? content : text + length;
	fuzz_write(path, (const uint8_t *)content, strlen(content));
	check_file(text, content);
	free(path);
	path = xasprintf("%s/%s", spool, text);
	(void)unlink(path);
	return 0;
}
