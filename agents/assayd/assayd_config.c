/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/assayd_config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/assayd/hang_dumps.h"
#include "agents/assayd/job_log_match.h"
#include "agents/assayd/ras_endpoint.h"
#include "agents/assayd/yaml_child.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/host.h"
#include "lib/sys/paths.h"

enum {
	URL_MAX = 1024,
	INTERVALS_MAX = 8,
	PORT_MAX = 65535,
	PORTS_TEXT_MAX = 11, /* "65535-65535" */
	DECIMAL = 10,
	ADDRESS_MAX = 64,
	PATHS_MAX = HANG_DUMPS_PREFIXES_MAX, /* per list */
	PATH_TEXT_MAX = 4095,
	RINGS_MAX = 4096,
};

#define TRACE_KEEP_MIN (UINT64_C(4) << 20)
#define TRACE_KEEP_MAX (UINT64_C(1) << 30)

#define RINGS_BYTES_MAX (UINT64_C(4) << 30)

#define DIGITS "0123456789"

/* From the controller's default `collectives.port` on, below the kernel's ephemeral ports. */
#define PORTS_FIRST 7400
#define PORTS_LAST 7599

/* --- decoding -------------------------------------------------------------- */

struct document {
	uint64_t v;
	struct assayd_config c;
};

static int decode_version(const struct jval *v, void *member, struct err *err)
{
	*(uint64_t *)member = 1;
	return json_is_integer(v->value) && json_integer_value(v->value) == 1
		       ? 0
		       : jval_fail(v, err, "expected 1: this program reads version 1 only");
}

static int decode_url(const struct jval *v, void *member, struct err *err)
{
	const char *url = json_string_value(v->value);
	char **out = member;
	size_t len;

	if (!url || (!starts_with(url, "https://") && !starts_with(url, "http://")) ||
	    strlen(url) > URL_MAX || strpbrk(url, " \t\r\n?#@"))
		return jval_fail(v, err, "expected a URL such as https://HOST:PORT");
	len = strlen(url);
	while (url[len - 1] == '/')
		len--;
	if (len <= strlen("https:"))
		return jval_fail(v, err, "expected a URL such as https://HOST:PORT");
	free(*out);
	*out = xstrndup(url, len);
	return 0;
}

static int decode_node(const struct jval *v, void *member, struct err *err)
{
	const char *node = json_string_value(v->value);
	char **out = member;

	if (!host_name_ok(node))
		return jval_fail(v, err, HOST_NAME_WANTED);
	free(*out);
	*out = xstrdup(node);
	return 0;
}

#define AT(member) offsetof(struct assayd_config, member)
static const struct interval {
	struct jfield field;
	uint64_t min_us, max_us;
} intervals[] = {
	{ { "orders_wait", J_DURATION, AT(orders_wait_us), 0 }, USEC_PER_SEC, 5 * USEC_PER_MIN },
	{ { "retry_base", J_DURATION, AT(retry_base_us), 0 }, USEC_PER_MSEC, USEC_PER_MIN },
	{ { "retry_max", J_DURATION, AT(retry_max_us), 0 }, USEC_PER_MSEC, USEC_PER_HOUR },
	{ { "deep_max", J_DURATION, AT(deep_max_us), 0 }, USEC_PER_SEC, 6 * USEC_PER_HOUR },
};

static const struct interval turns[] = {
	{ { "passive", J_DURATION, AT(schedule_us[SCHEDULE_PASSIVE]), 0 },
	  USEC_PER_MIN,
	  30 * USEC_PER_DAY },
	{ { "quick", J_DURATION, AT(schedule_us[SCHEDULE_QUICK]), 0 },
	  USEC_PER_MIN,
	  30 * USEC_PER_DAY },
	{ { "full", J_DURATION, AT(schedule_us[SCHEDULE_FULL]), 0 },
	  USEC_PER_MIN,
	  30 * USEC_PER_DAY },
};

static int check_interval(const struct jval *v, const struct interval *interval,
			  const struct assayd_config *c, struct err *err)
{
	char min[CLOCK_DURATION_SIZE], max[CLOCK_DURATION_SIZE];
	struct jval member = jval_get(v, interval->field.key);
	uint64_t value_us;

	if (!member.value)
		return 0;
	memcpy(&value_us, (const char *)c + interval->field.offset, sizeof(value_us));
	if (value_us >= interval->min_us && value_us <= interval->max_us)
		return 0;
	duration_format(interval->min_us, min);
	duration_format(interval->max_us, max);
	return jval_fail(&member, err, "%s is outside %s to %s", json_string_value(member.value),
			 min, max);
}

static int decode_rows(const struct jval *v, const struct interval *rows, size_t n, void *member,
		       struct err *err)
{
	struct jfield fields[INTERVALS_MAX] = { { .key = NULL } };
	size_t i;
	int r;

	for (i = 0; i < n; i++)
		fields[i] = rows[i].field;
	r = jval_decode(v, fields, n, JVAL_STRICT, member, err);
	for (i = 0; r == 0 && i < n; i++)
		r = check_interval(v, &rows[i], member, err);
	return r;
}

static int decode_intervals(const struct jval *v, void *member, struct err *err)
{
	return decode_rows(v, intervals, ARRAY_SIZE(intervals), member, err);
}

static int decode_schedule(const struct jval *v, void *member, struct err *err)
{
	return decode_rows(v, turns, ARRAY_SIZE(turns), member, err);
}

static const struct jfield watch_fields[] = {
	{ "links", J_BOOL, AT(watch_links), 0 },
	{ "kernel_log", J_BOOL, AT(watch_kernel_log), 0 },
};

/* "7400-7599", or one port. */
static int decode_ports(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);
	struct port_range range = { 0 };
	char *end = NULL;

	if (json_is_integer(v->value)) {
		const json_int_t port = json_integer_value(v->value);

		range.first = range.last = port > 0 && port <= PORT_MAX ? (unsigned)port : 0;
	} else if (text && strlen(text) <= PORTS_TEXT_MAX && strchr(DIGITS, text[0])) {
		range.first = (unsigned)strtoul(text, &end, DECIMAL);
		if (*end == '-' && end[1] && end[1 + strspn(end + 1, DIGITS)] == '\0')
			range.last = (unsigned)strtoul(end + 1, NULL, DECIMAL);
	}
	if (range.first < 1 || range.last < range.first || range.last > PORT_MAX)
		return jval_fail(v, err, "expected a range of ports such as 7400-7599, or one port");
	memcpy(member, &range, sizeof(range));
	return 0;
}

/* "64MiB"; 0: invalid. */
static uint64_t read_size(const struct jval *v, uint64_t max)
{
	const char *text = json_string_value(v->value);
	uint64_t mib;
	char *end = NULL;

	if (!text || !strchr(DIGITS, text[0]))
		return 0;
	mib = strtoull(text, &end, DECIMAL);
	return mib <= max >> 20 && streq(end, "MiB") ? mib << 20 : 0;
}

static int decode_keep(const struct jval *v, void *member, struct err *err)
{
	const uint64_t bytes = read_size(v, TRACE_KEEP_MAX);

	if (bytes < TRACE_KEEP_MIN)
		return jval_fail(v, err, "expected a size from 4MiB to 1024MiB, such as 64MiB");
	memcpy(member, &bytes, sizeof(bytes));
	return 0;
}

static bool is_path(const char *text)
{
	return text[0] == '/' && strlen(text) <= PATH_TEXT_MAX;
}

/* Without the rank: "/tmp/nccl_trace_rank_", "~/.cache/torch/comm_lib_trace_rank_". */
static bool is_dump(const char *text)
{
	return is_path(starts_with(text, "~/") ? text + 1 : text);
}

/* A list of strings that all satisfy `is_one`. */
static int decode_paths(const struct jval *v, bool (*is_one)(const char *text), const char *want,
			void *member, struct err *err)
{
	char **paths = NULL;
	size_t i;
	int r = jval_strv(v, PATHS_MAX, &paths, err);

	for (i = 0; r == 0 && paths[i]; i++) {
		const struct jval item = jval_at(v, i);

		if (!is_one(paths[i]))
			r = jval_fail(&item, err, "expected the %s", want);
	}
	if (r < 0) {
		strv_free(paths);
		return r;
	}
	strv_free(*(char ***)member);
	*(char ***)member = paths;
	return 0;
}

static int decode_dirs(const struct jval *v, void *member, struct err *err)
{
	return decode_paths(v, is_path, "absolute path of a directory", member, err);
}

/* One, or a list. */
static int decode_globs(const struct jval *v, void *member, struct err *err)
{
	CLEANUP(json_freep) json_t *list = json_is_string(v->value) ? json_array() : NULL;
	struct jval all = *v;

	if (list) {
		(void)json_array_append_new(list, json_string(json_string_value(v->value)));
		all.value = list;
	}
	return decode_paths(&all, is_path, "absolute path of files, such as /logs/*.log", member,
			    err);
}

static int decode_dumps(const struct jval *v, void *member, struct err *err)
{
	return decode_paths(v, is_dump, "path of a dump up to its rank, from / or ~/", member, err);
}

static int decode_path(const struct jval *v, const char *what, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);
	char **out = member;

	if (!text || !is_path(text))
		return jval_fail(v, err, "expected the absolute path of %s", what);
	free(*out);
	*out = xstrdup(text);
	return 0;
}

static int decode_patterns(const struct jval *v, void *member, struct err *err)
{
	return decode_path(v, "a file", member, err);
}

static int decode_program(const struct jval *v, void *member, struct err *err)
{
	return decode_path(v, "a program", member, err);
}

static const char *const converters[] = { "pytorch", "ndtimeline", "none", NULL };

static int decode_traces(const struct jval *v, void *member, struct err *err)
{
	static const struct jfield rows[] = {
		{ "dirs", J_CUSTOM, AT(trace_dirs), 0, .decode = decode_dirs },
		{ "converter", J_ENUM, AT(trace_converter), 0, .names = converters },
		{ "keep", J_CUSTOM, AT(trace_keep_bytes), 0, .decode = decode_keep },
		{ "logs", J_CUSTOM, AT(trace_logs), 0, .decode = decode_globs },
		{ "patterns", J_CUSTOM, AT(trace_patterns), 0, .decode = decode_patterns },
	};
	const struct assayd_config *c = member;
	int r = jval_decode(v, rows, ARRAY_SIZE(rows), JVAL_STRICT, member, err);

	if (r == 0 && !c->trace_dirs && !c->trace_logs) {
		const struct jval dirs = jval_get(v, "dirs");

		return jval_fail(&dirs, err, "missing, and so is logs");
	}
	if (r == 0 && c->trace_patterns && !c->trace_logs)
		return jval_fail(v, err, "patterns apply to logs, and none are named");
	return r;
}

/* "127.0.0.1:28028", "[::1]:28028": no host name, so that nothing is resolved while a job hangs. */
static int decode_address(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);
	struct sockaddr_storage address;
	socklen_t size;
	char **out = member;

	if (!text || strlen(text) > ADDRESS_MAX || !ras_endpoint_parse(text, &address, &size))
		return jval_fail(v, err, "expected ADDRESS:PORT such as 127.0.0.1:28028");
	free(*out);
	*out = xstrdup(text);
	return 0;
}

static const char *const switches[] = { "off", "on", NULL };

static int decode_hang(const struct jval *v, void *member, struct err *err)
{
	static const struct jfield rows[] = {
		{ "dumps", J_CUSTOM, AT(hang_dumps), 0, .decode = decode_dumps },
		{ "ras", J_ENUM, AT(hang_ras), 0, .names = switches },
		{ "ras_address", J_CUSTOM, AT(hang_ras_address), 0, .decode = decode_address },
		{ "pyspy", J_ENUM, AT(hang_pyspy), 0, .names = switches },
		{ "pyspy_path", J_CUSTOM, AT(hang_pyspy_path), 0, .decode = decode_program },
	};

	return jval_decode(v, rows, ARRAY_SIZE(rows), JVAL_STRICT, member, err);
}

static int decode_memory(const struct jval *v, void *member, struct err *err)
{
	const uint64_t bytes = read_size(v, RINGS_BYTES_MAX);

	if (!bytes)
		return jval_fail(v, err, "expected a size from 1MiB to 4096MiB, such as 256MiB");
	memcpy(member, &bytes, sizeof(bytes));
	return 0;
}

static const struct interval sample_every = { { "every", J_DURATION, AT(rings_every_us), 0 },
					      USEC_PER_MIN,
					      USEC_PER_DAY };
static const struct interval rings_hold = { { "hold", J_DURATION, AT(rings_hold_us), 0 },
					    USEC_PER_SEC,
					    USEC_PER_DAY };

static int decode_sample(const struct jval *v, void *member, struct err *err)
{
	const struct jfield rows[] = {
		{ "steps", J_U64, AT(rings_steps), 0, .min = 3, .max = 64 },
		sample_every.field,
	};
	int r = jval_decode(v, rows, ARRAY_SIZE(rows), JVAL_STRICT, member, err);

	return r == 0 ? check_interval(v, &sample_every, member, err) : r;
}

static int decode_limits(const struct jval *v, void *member, struct err *err)
{
	static const struct jfield rows[] = {
		{ "process", J_U64, AT(rings_of_process), 0, .min = 1, .max = RINGS_MAX },
		{ "user", J_U64, AT(rings_of_user), 0, .min = 1, .max = RINGS_MAX },
		{ "memory", J_CUSTOM, AT(rings_bytes), 0, .decode = decode_memory },
	};

	return jval_decode(v, rows, ARRAY_SIZE(rows), JVAL_STRICT, member, err);
}

static const char *const rings_modes[] = { "off", "sample", "on", NULL };

static int decode_rings(const struct jval *v, void *member, struct err *err)
{
	const struct jfield rows[] = {
		{ "mode", J_ENUM, AT(rings_mode), 0, .names = rings_modes },
		{ "sample", J_CUSTOM, 0, 0, .decode = decode_sample },
		{ "limits", J_CUSTOM, 0, 0, .decode = decode_limits },
		rings_hold.field,
	};
	int r = jval_decode(v, rows, ARRAY_SIZE(rows), JVAL_STRICT, member, err);

	return r == 0 ? check_interval(v, &rings_hold, member, err) : r;
}

static const struct interval collective_max = { { "max", J_DURATION, AT(collective_max_us), 0 },
						10 * USEC_PER_SEC,
						USEC_PER_HOUR };

static int decode_collectives(const struct jval *v, void *member, struct err *err)
{
	const struct jfield rows[] = {
		{ "enabled", J_BOOL, AT(collectives), 0 },
		{ "ports", J_CUSTOM, AT(ports), 0, .decode = decode_ports },
		collective_max.field,
	};
	int r = jval_decode(v, rows, ARRAY_SIZE(rows), JVAL_STRICT, member, err);

	return r == 0 ? check_interval(v, &collective_max, member, err) : r;
}
#undef AT

static int decode_watch(const struct jval *v, void *member, struct err *err)
{
	return jval_decode(v, watch_fields, ARRAY_SIZE(watch_fields), JVAL_STRICT, member, err);
}

#define AT(member) offsetof(struct document, member)
static const struct jfield fields[] = {
	{ "v", J_CUSTOM, AT(v), J_REQUIRED, .decode = decode_version },
	{ "controller", J_CUSTOM, AT(c.controller), 0, .decode = decode_url },
	{ "node", J_CUSTOM, AT(c.node), 0, .decode = decode_node },
	{ "token_file", J_STRING, AT(c.token_file), 0 },
	{ "ca", J_STRING, AT(c.ca), 0 },
	{ "cert", J_STRING, AT(c.cert), 0 },
	{ "key", J_STRING, AT(c.key), 0 },
	{ "intervals", J_CUSTOM, AT(c), 0, .decode = decode_intervals },
	{ "watch", J_CUSTOM, AT(c), 0, .decode = decode_watch },
	{ "schedule", J_CUSTOM, AT(c), 0, .decode = decode_schedule },
	{ "collectives", J_CUSTOM, AT(c), 0, .decode = decode_collectives },
	{ "traces", J_CUSTOM, AT(c), 0, .decode = decode_traces },
	{ "hang", J_CUSTOM, AT(c), 0, .decode = decode_hang },
	{ "rings", J_CUSTOM, AT(c), 0, .decode = decode_rings },
};
#undef AT

static struct assayd_config defaults(void)
{
	return (struct assayd_config){
		.orders_wait_us = 30 * USEC_PER_SEC,
		.retry_base_us = 1 * USEC_PER_SEC,
		.retry_max_us = 1 * USEC_PER_MIN,
		.deep_max_us = 15 * USEC_PER_MIN,
		.collectives = true,
		.ports = { PORTS_FIRST, PORTS_LAST },
		.collective_max_us = 5 * USEC_PER_MIN,
		.watch_links = true,
		.watch_kernel_log = true,
		.trace_keep_bytes = UINT64_C(64) << 20,
		.rings_mode = RINGS_SAMPLE,
		.rings_steps = 10,
		.rings_every_us = 10 * USEC_PER_MIN,
		.rings_of_process = 64,
		.rings_of_user = 512,
		.rings_bytes = UINT64_C(256) << 20,
		.rings_hold_us = 10 * USEC_PER_MIN,
	};
}

int assayd_config_decode(const struct jval *root, struct assayd_config *ret, struct err *err)
{
	struct document document = { .c = defaults() };
	int r = jval_decode(root, fields, ARRAY_SIZE(fields), JVAL_STRICT, &document, err);

	if (r < 0)
		assayd_config_release(&document.c);
	else
		*ret = document.c;
	return r;
}

/* --- reading ------------------------------------------------------------------ */

static int read_file(const char *path, struct assayd_config *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = yaml_child_read(path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	return assayd_config_decode(&root, ret, err);
}

/* The environment's value of `name` if the file has none, else NULL. */
static const char *from_environment(const char *name, const char *file_says)
{
	const char *value = secure_getenv(name);

	return !file_says && value && *value ? value : NULL;
}

/*
 * The file takes precedence: assayctl uses two of these variables too, and in the shell of one of
 * its users they hold that person's token.
 */
static int read_environment(struct assayd_config *c, struct err *err)
{
	const char *url = from_environment("ASSAY_CONTROLLER", c->controller);
	const char *token = from_environment("ASSAY_TOKEN_FILE", c->token_file);
	const char *node = from_environment("ASSAY_NODE", c->node);
	CLEANUP(json_freep) json_t *url_value = url ? json_string(url) : NULL;
	CLEANUP(json_freep) json_t *node_value = node ? json_string(node) : NULL;
	const struct jval url_at = jval_root(url_value, "ASSAY_CONTROLLER");
	const struct jval node_at = jval_root(node_value, "ASSAY_NODE");
	int r = url ? decode_url(&url_at, &c->controller, err) : 0;

	if (r == 0 && node)
		r = decode_node(&node_at, &c->node, err);
	if (r == 0 && token)
		c->token_file = xstrdup(token);
	c->controller_set = url;
	c->node_set = node;
	c->token_set = token;
	return r;
}

static int check(struct assayd_config *c, const char *path, struct err *err)
{
	CLEANUP(json_freep) json_t *host = NULL;
	struct jval v;
	int r = 0;

	if (!c->controller && access(path, F_OK) < 0 && errno == ENOENT)
		return err_set(err, EINVAL, "%s: no such file, and ASSAY_CONTROLLER is not set",
			       path);
	if (!c->controller)
		return err_set(err, EINVAL, "%s: controller: missing (or set ASSAY_CONTROLLER)",
			       path);
	if (!c->cert != !c->key)
		return err_set(err, EINVAL, "%s: %s: missing: cert and key must be given together",
			       path, c->cert ? "key" : "cert");
	if (c->retry_base_us > c->retry_max_us)
		return err_set(err, EINVAL, "%s: intervals.retry_base: longer than retry_max", path);
	if (!c->node) {
		CLEANUP(freep) char *name = host_name();

		host = json_string(name);
		v = jval_root(host, "the host's name");
		r = decode_node(&v, &c->node, err);
	}
	return r;
}

int assayd_config_read(const char *given, struct assayd_config *ret, struct err *err)
{
	CLEANUP(freep) char *dir = paths_conf();
	CLEANUP(freep) char *usual = xasprintf("%s/assayd.yaml", dir);
	const char *path = given ? given : usual;
	CLEANUP(assayd_config_release) struct assayd_config c = defaults();
	int r = 0;

	if (given || access(path, F_OK) == 0)
		r = read_file(path, &c, err);
	if (r == 0)
		r = read_environment(&c, err);
	if (r == 0)
		r = check(&c, path, err);
	if (r < 0)
		return r;
	*ret = c;
	c = (struct assayd_config){ 0 };
	return 0;
}

int assayd_config_check_files(const struct assayd_config *c, struct err *err)
{
	const struct {
		const char *key, *path;
	} files[] = {
		{ "token_file", c->token_file },
		{ "ca", c->ca },
		{ "cert", c->cert },
		{ "key", c->key },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		if (files[i].path && access(files[i].path, R_OK) < 0)
			return err_errno(err, errno, "%s: cannot read %s", files[i].key,
					 files[i].path);
	}
	return 0;
}

int assayd_config_check_patterns(const struct assayd_config *c, struct err *err)
{
	struct job_log_patterns patterns = { 0 };
	int r = c->trace_logs ? job_log_match_read(c->trace_patterns, &patterns, err) : 0;

	job_log_match_release(&patterns);
	return r < 0 ? err_wrap(err, r, "traces.patterns") : 0;
}

void assayd_config_release(struct assayd_config *c)
{
	free(c->controller);
	free(c->node);
	free(c->token_file);
	free(c->ca);
	free(c->cert);
	free(c->key);
	strv_free(c->trace_dirs);
	strv_free(c->trace_logs);
	free(c->trace_patterns);
	strv_free(c->hang_dumps);
	free(c->hang_ras_address);
	free(c->hang_pyspy_path);
	*c = (struct assayd_config){ 0 };
}
