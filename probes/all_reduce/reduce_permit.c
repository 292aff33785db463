/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_permit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "probes/coll/coll.h"
#include "probes/rdma/oob_lookup.h"

enum { FILE_MAX = 64 * 1024 };

static const char passed_word[] = "passed ";

static bool has(char *const *list, const char *text)
{
	size_t i;

	for (i = 0; list[i]; i++) {
		if (streq(list[i], text))
			return true;
	}
	return false;
}

/* Take one line of the file; the first is the token. */
static int take_line(struct reduce_permit *p, size_t number, char *line, const char *path,
		     struct err *err)
{
	const size_t n = strv_len(p->passed);
	const char *peer = line + sizeof(passed_word) - 1;

	if (number == 1 && line[0]) {
		p->token = xstrdup(line);
		return 0;
	}
	if (number == 1 || strncmp(line, passed_word, sizeof(passed_word) - 1) != 0 || !*peer)
		return err_set(err, EINVAL, "%s: line %zu: expected %s", path, number,
			       number == 1 ? "a token" : "\"passed HOST:PORT\"");
	if (n == COLL_RANKS_MAX)
		return err_set(err, EINVAL, "%s: line %zu: more than %d hosts", path, number,
			       COLL_RANKS_MAX);
	p->passed = xrealloc(p->passed, n + 2, sizeof(*p->passed));
	p->passed[n] = xstrdup(peer);
	p->passed[n + 1] = NULL;
	return 0;
}

int reduce_permit_read(const char *path, struct reduce_permit *ret, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	struct reduce_permit p = { .passed = xcalloc(1, sizeof(*p.passed)) };
	size_t length, number = 0;
	int r = file_read(AT_FDCWD, path, FILE_MAX, &text, &length, err);
	char *at = text, *line;

	if (r == 0 && strlen(text) != length)
		r = err_set(err, EINVAL, "%s: not a text", path);
	while (r == 0 && (line = strsep(&at, "\n")) && (*line || at)) {
		line[strcspn(line, "\r")] = '\0';
		r = take_line(&p, ++number, line, path, err);
	}
	if (r == 0 && !p.token)
		r = err_set(err, EINVAL, "%s: expected a line with a token", path);
	if (r < 0) {
		reduce_permit_release(&p);
		return r;
	}
	*ret = p;
	return 0;
}

void reduce_permit_release(struct reduce_permit *p)
{
	free(p->token);
	strv_free(p->passed);
	*p = (struct reduce_permit){ .token = NULL };
}

int reduce_permit_check(const struct reduce_permit *p, char *const *peers, struct err *err)
{
	size_t i;

	for (i = 0; peers[i]; i++) {
		if (!has(p->passed, peers[i]))
			return err_set(err, EPERM,
				       "%s is not known to have passed its own tests: the token "
				       "file has no line \"passed %s\" (--force runs anyway)",
				       peers[i], peers[i]);
	}
	return 0;
}

int reduce_peers_parse(const char *text, char ***ret_peers, struct err *err)
{
	CLEANUP(freep) char *copy = xstrdup(text);
	char **peers = xcalloc(COLL_RANKS_MAX + 1, sizeof(*peers)), *at = copy, *peer;
	size_t n = 0;
	int r = 0;

	while (r == 0 && (peer = strsep(&at, ","))) {
		if (oob_lookup_check(peer, NULL) < 0 || strlen(peer) > REDUCE_PEER_MAX)
			r = err_set(err, EINVAL, "--peers: '%.100s' is not HOST:PORT", peer);
		else if (n == COLL_RANKS_MAX)
			r = err_set(err, EINVAL, "--peers: more than %d", COLL_RANKS_MAX);
		else if (has(peers, peer))
			r = err_set(err, EINVAL, "--peers: %s appears twice", peer);
		else
			peers[n++] = xstrdup(peer);
	}
	if (r == 0 && n < 2)
		r = err_set(err, EINVAL, "--peers: expected two or more, HOST:PORT,HOST:PORT");
	if (r < 0) {
		strv_free(peers);
		return r;
	}
	*ret_peers = peers;
	return 0;
}
