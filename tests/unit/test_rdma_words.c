/* SPDX-License-Identifier: Apache-2.0 */
/* The attribution of a failure, and its message. */
#include <math.h>

#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "probes/rdma/words.h"
#include "tests/unit/test.h"

static const struct {
	const char *name;
	struct rdma_scene scene;
	int state, ok, severity;
	double value; /* of a bandwidth; NAN: none */
	const char *code, *words;
} cases[] = {
	{ "a dead path",
	  { .failed = { .status = RDMA_RETRY_EXCEEDED, .raw = 12, .vendor = 0x81 } },
	  SAMPLE_MEASURED,
	  TRI_NO,
	  SEVERITY_FAIL,
	  0,
	  "rdma:retry-exceeded",
	  "does not answer (retry exceeded), status 12, vendor error 0x81" },
	{ "one that never answered",
	  { .known = "though others do", .failed = { .status = RDMA_RETRY_EXCEEDED, .raw = 12 } },
	  SAMPLE_MEASURED,
	  TRI_NO,
	  SEVERITY_FAIL,
	  0,
	  "rdma:retry-exceeded",
	  "(retry exceeded), status 12; though others do" },
	{ "one of which nothing says that it ever could",
	  { .known = "nor do others",
	    .set_up = true,
	    .failed = { .status = RDMA_RETRY_EXCEEDED, .raw = 12 } },
	  SAMPLE_SET_UP,
	  TRI_UNKNOWN,
	  SEVERITY_FAIL,
	  NAN,
	  "rdma:retry-exceeded",
	  "(retry exceeded), status 12; nor do others" },
	{ "a port that went down, whatever the request says",
	  { .down = true, .failed = { .status = RDMA_RETRY_EXCEEDED, .raw = 12 } },
	  SAMPLE_MEASURED,
	  TRI_NO,
	  SEVERITY_WARN,
	  NAN,
	  "rdma:port-down",
	  "mlx5_0 port 1 went down during the measurement" },
	{ "a port that went down though nothing failed",
	  { .down = true },
	  SAMPLE_MEASURED,
	  TRI_NO,
	  SEVERITY_WARN,
	  NAN,
	  "rdma:port-down",
	  "went down" },
	{ "a port that an operator took down",
	  { .down = true,
	    .taken_down = true,
	    .failed = { .status = RDMA_RETRY_EXCEEDED, .raw = 12 } },
	  SAMPLE_ABORTED,
	  TRI_UNKNOWN,
	  SEVERITY_FAIL,
	  NAN,
	  "rdma:taken-down",
	  "mlx5_0 port 1 was taken down by an operator during the measurement" },
	{ "a device that is gone",
	  { .gone = true, .down = true, .failed = { .status = RDMA_LOCAL_ERROR, .raw = 2 } },
	  SAMPLE_SET_UP,
	  TRI_UNKNOWN,
	  SEVERITY_FAIL,
	  NAN,
	  "rdma:removed",
	  "mlx5_0 was removed during the measurement" },
	{ "an access that is refused",
	  { .failed = { .status = RDMA_REMOTE_ACCESS, .raw = 10 } },
	  SAMPLE_SET_UP,
	  TRI_UNKNOWN,
	  SEVERITY_FAIL,
	  NAN,
	  "rdma:remote-access",
	  "refused the access" },
	{ "a request that is refused as none",
	  { .failed = { .status = RDMA_REMOTE_INVALID, .raw = 9 } },
	  SAMPLE_SET_UP,
	  TRI_UNKNOWN,
	  SEVERITY_FAIL,
	  NAN,
	  "rdma:remote-invalid",
	  "rejected the request as invalid" },
	{ "nobody ready to receive",
	  { .failed = { .status = RDMA_RNR_EXCEEDED, .raw = 13 } },
	  SAMPLE_SET_UP,
	  TRI_UNKNOWN,
	  SEVERITY_FAIL,
	  NAN,
	  "rdma:rnr-exceeded",
	  "not ready to receive" },
	{ "an error of this side",
	  { .failed = { .status = RDMA_LOCAL_ERROR, .raw = 4 } },
	  SAMPLE_SET_UP,
	  TRI_UNKNOWN,
	  SEVERITY_FAIL,
	  NAN,
	  "rdma:local-error",
	  "status 4" },
};

static void check_case(size_t i, int better)
{
	struct rdma_scene scene = cases[i].scene;
	struct sample s = sample_init();

	scene.device = "mlx5_0";
	scene.port = 1;
	s.better = better;
	s.note = xstrdup("before");
	if (!rdma_explain(&scene, &s))
		CU_FAIL(cases[i].name);
	CHECK_EQ(s.state, cases[i].state);
	CHECK_EQ(s.ok, cases[i].ok);
	CHECK_EQ(s.severity, cases[i].severity);
	CHECK_STR(s.code, cases[i].code);
	CHECK_HAS(s.note, cases[i].words);
	if (better == BETTER_LOWER || isnan(cases[i].value))
		CHECK(isnan(s.value));
	else
		CHECK_NEAR(s.value, cases[i].value, 0);
	sample_release(&s);
}

static void failures_accuse_the_path_or_the_set_up(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case(i, BETTER_HIGHER);
		check_case(i, BETTER_LOWER);
	}
}

static void what_went_well_is_left_alone(void)
{
	const struct rdma_scene scene = {
		.device = "mlx5_0", .port = 1, .known = "x", .set_up = true
	};
	struct sample s = sample_init();

	s.value = 5;
	CHECK(!rdma_explain(&scene, &s));
	CHECK_NEAR(s.value, 5, 0);
	CHECK(!s.note);
	sample_release(&s);
}

static const struct test tests[] = {
	TEST(failures_accuse_the_path_or_the_set_up),
	TEST(what_went_well_is_left_alone),
};

TEST_SUITE(tests);
