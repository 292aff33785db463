/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_investigations.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define NOW (1000 * USEC_PER_DAY)

static struct store *open_store(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	struct err err = ERR_INIT;
	struct store *s = NULL;

	CHECK_EQ(store_open(path, &s, &err), 0);
	CHECK_STR(err.msg, "");
	return s;
}

static json_t *body_of(const char *host, const char *state)
{
	return json_pack("{s:i, s:s, s:[{s:s, s:s}], s:[i]}", "id", 0, "state", state, "hosts",
			 "node", host, "state", state, "tests", 1);
}

static int add(struct store *s, int64_t job, uint64_t ended_us, const char *host, int64_t *ret)
{
	CLEANUP(json_freep) json_t *body = body_of(host, ended_us ? "watch" : "testing");
	const struct store_investigation one = {
		.job = job, .began_us = NOW, .ended_us = ended_us, .body = body
	};
	struct err err = ERR_INIT;

	return store_add_investigation(s, &one, ret, &err);
}

static void end(struct store *s, int64_t id, int64_t job, uint64_t ended_us)
{
	CLEANUP(json_freep) json_t *body = body_of("gpu-1", "withdrawn");
	const struct store_investigation one = { id, job, NOW, ended_us, body };

	CHECK_EQ(store_put_investigation(s, &one, NULL), 0);
}

static size_t count_of(struct store *s, int64_t job, uint64_t since_us)
{
	CLEANUP(json_freep) json_t *all = NULL;

	CHECK_EQ(store_investigations_of(s, job, since_us, &all, NULL), 0);
	return json_array_size(all);
}

static void a_job_has_one_that_goes_on(void)
{
	CLEANUP(store_closep) struct store *s = open_store("one.db");
	int64_t first = 0, other = 0, none = 0;

	CHECK_EQ(add(s, 1, 0, "gpu-1", &first), 0);
	CHECK_EQ(add(s, 2, 0, "gpu-2", &other), 0);
	CHECK_EQ(store_commit(s, NULL), 0);
	CHECK(first > 0 && other > first);
	CHECK(add(s, 1, 0, "gpu-3", &none) < 0); /* and takes all since the commit back */
	CHECK_EQ(none, 0);
	end(s, first, 1, NOW + 1);
	CHECK_EQ(add(s, 1, 0, "gpu-3", &none), 0);
	CHECK_EQ(count_of(s, 1, 0), 2);
	CHECK_EQ(count_of(s, 1, NOW + 2), 1);
	CHECK_EQ(store_commit(s, NULL), 0);
}

static void it_has_its_number_and_a_list_has_no_tests(void)
{
	CLEANUP(store_closep) struct store *s = open_store("list.db");
	const struct store_range range = { NULL, 10 };
	CLEANUP(json_freep) json_t *one = NULL;
	struct store_page page = { 0 };
	struct err err = ERR_INIT;
	int64_t id = 0;

	CHECK_EQ(add(s, 1, NOW, "gpu-1", &id), 0);
	CHECK_EQ(add(s, 1, 0, "gpu-1", &id), 0);
	CHECK_EQ(store_investigations(s, &range, &page, NULL), 0);
	CHECK_EQ(json_array_size(page.items), 2);
	CHECK_EQ(json_integer_value(json_object_get(json_array_get(page.items, 0), "id")), id);
	CHECK(!json_object_get(json_array_get(page.items, 0), "tests"));
	json_decref(page.items);
	free(page.next);
	CHECK_EQ(store_investigation(s, id, &one, NULL), 0);
	CHECK_EQ(json_integer_value(json_object_get(one, "id")), id);
	CHECK_EQ(json_array_size(json_object_get(one, "tests")), 1);
	CHECK_EQ(store_investigation(s, id + 1, &one, &err), -ENOENT);
	CHECK_STR(err.msg, "no investigation 3");
}

static void a_host_is_found_in_that_of_another_job_while_it_goes_on(void)
{
	CLEANUP(store_closep) struct store *s = open_store("host.db");
	json_t *found = NULL;
	int64_t id = 0;

	CHECK_EQ(add(s, 1, 0, "gpu-1", &id), 0);
	CHECK_EQ(store_investigation_of_host(s, 2, "gpu-1", &found, NULL), 0);
	CHECK_EQ(json_integer_value(json_object_get(found, "id")), id);
	json_decref(found);
	CHECK_EQ(store_investigation_of_host(s, 1, "gpu-1", &found, NULL), 0);
	CHECK(!found);
	CHECK_EQ(store_investigation_of_host(s, 2, "gpu-2", &found, NULL), 0);
	CHECK(!found);
	end(s, id, 1, NOW);
	CHECK_EQ(store_investigation_of_host(s, 2, "gpu-1", &found, NULL), 0);
	CHECK(!found);
}

static void note_job(void *context, int64_t job)
{
	int64_t *sum = context;

	*sum = *sum * 10 + job;
}

static void what_is_old_goes_but_none_that_goes_on(void)
{
	CLEANUP(store_closep) struct store *s = open_store("old.db");
	int64_t id = 0, jobs = 0;
	unsigned i;

	CHECK_EQ(add(s, 2, 0, "gpu-2", &id), 0);
	for (i = 0; i < STORE_INVESTIGATIONS_OF_JOB + 5; i++)
		CHECK_EQ(add(s, 1, NOW + i, "gpu-1", &id), 0);
	CHECK_EQ(count_of(s, 1, 0), STORE_INVESTIGATIONS_OF_JOB);
	CHECK_EQ(count_of(s, 2, 0), 1);
	CHECK_EQ(store_thin_investigations(s, NOW + 10, NULL), 1);
	CHECK_EQ(count_of(s, 1, 0), STORE_INVESTIGATIONS_OF_JOB + 5 - 10);
	CHECK_EQ(store_thin_investigations(s, NOW + 10, NULL), 0);
	CHECK_EQ(store_thin_investigations(s, NOW + USEC_PER_DAY, NULL), 1);
	CHECK_EQ(count_of(s, 1, 0), 0);
	CHECK_EQ(store_jobs_investigated(s, note_job, &jobs, NULL), 0);
	CHECK_EQ(jobs, 2);
}

static const struct test tests[] = {
	TEST(a_job_has_one_that_goes_on),
	TEST(it_has_its_number_and_a_list_has_no_tests),
	TEST(a_host_is_found_in_that_of_another_job_while_it_goes_on),
	TEST(what_is_old_goes_but_none_that_goes_on),
};

TEST_SUITE(tests);
