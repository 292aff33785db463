/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/topology_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"

enum { FIXTURE_MAX = 1024 * 1024 };

char *fixture_text(const char *name)
{
	CLEANUP(freep) char *file = xasprintf("tests/fixtures/%s", name);
	CLEANUP(freep) char *path = test_source(file);
	struct err err = ERR_INIT;
	char *text = NULL;

	if (file_read(AT_FDCWD, path, FIXTURE_MAX, &text, NULL, &err) < 0)
		CHECK_STR(err.msg, "");
	return text ? text : xstrdup("");
}

char *fixture_edit(const char *text, const char *after, const char *from, const char *to)
{
	struct strbuf out = STRBUF_INIT(4 * FIXTURE_MAX);
	const char *at = after ? strstr(text, after) : text;
	const char *hit = at ? strstr(at, from) : NULL;

	CHECK(hit); /* without a match the fixture would test nothing */
	at = text;
	while (hit) {
		(void)strbuf_add(&out, at, (size_t)(hit - at));
		(void)strbuf_puts(&out, to);
		at = hit + strlen(from);
		hit = after ? NULL : strstr(at, from);
	}
	(void)strbuf_puts(&out, at);
	CHECK(strbuf_ok(&out));
	return out.data;
}

bool fixture_read_at(const char *name, const char *xml, int sys_fd, struct topology *ret)
{
	CLEANUP(freep) char *path = test_file(name, xml);
	struct err err = ERR_INIT;
	int r = topology_from_xml(path, sys_fd, ret, &err);

	if (r == -ENOTSUP) {
		test_skip("built without hwloc");
		return false;
	}
	CHECK_STR(err.msg, "");
	CHECK_EQ(r, 0);
	return r == 0;
}

bool fixture_read(const char *name, const char *xml, struct topology *ret)
{
	return fixture_read_at(name, xml, -1, ret);
}

bool fixture_load(const char *name, struct topology *ret)
{
	CLEANUP(freep) char *text = fixture_text(name);

	return fixture_read(name, text, ret);
}

size_t fixture_count(const struct topology *t, enum topo_type type)
{
	size_t n = 0, i;

	for (i = 0; i < t->n_nodes; i++)
		n += t->nodes[i].type == (int)type;
	return n;
}

char *fixture_path(const struct topology *t, const char *from, const char *to)
{
	struct strbuf out = STRBUF_INIT(FIXTURE_MAX);
	CLEANUP(strv_freep) char **links = NULL;
	int r = topology_path(t, from, to, &links);
	size_t i;

	if (r < 0)
		return xasprintf("%d", r);
	for (i = 0; links[i]; i++)
		(void)strbuf_printf(&out, "%s%s", i ? " " : "", links[i]);
	return out.data ? out.data : xstrdup("");
}
