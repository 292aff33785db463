/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "controller/cluster/kube/kube_credentials.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define PEM "-----BEGIN CERTIFICATE-----\n"

/* Write over a file so that stat(2) sees no other one: same inode, size and time. */
static void write_unseen(const char *path, const char *text)
{
	struct stat before;
	struct timespec times[2];
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fstat(fd, &before) == 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	times[0] = before.st_atim;
	times[1] = before.st_mtim;
	CHECK(futimens(fd, times) == 0);
	(void)close(fd);
}

static void a_token_in_a_file_is_read_again_when_the_file_is_another(void)
{
	CLEANUP(freep) char *path = test_file("token", "first\n");
	CLEANUP(freep) char *new_path = test_file("token.new", "other\n");
	const struct kube_config config = { .token_file = path };
	struct kube_credentials c;
	struct err err = ERR_INIT;

	CHECK_EQ(kube_credentials_init(&c, &config, 0, &err), 0);
	CHECK_STR(kube_credentials_header(&c, 1), "Authorization: Bearer first");
	CHECK(rename(new_path, path) == 0);
	CHECK_STR(kube_credentials_header(&c, 2), "Authorization: Bearer other");
	kube_credentials_release(&c);
}

static void a_token_is_never_older_than_a_minute(void)
{
	CLEANUP(freep) char *path = test_file("token", "first");
	const struct kube_config config = { .token_file = path };
	struct kube_credentials c;
	struct err err = ERR_INIT;

	CHECK_EQ(kube_credentials_init(&c, &config, 1000, &err), 0);
	write_unseen(path, "other");
	CHECK_STR(kube_credentials_header(&c, 1000 + 60 * USEC_PER_SEC - 1),
		  "Authorization: Bearer first");
	CHECK_STR(kube_credentials_header(&c, 1000 + 60 * USEC_PER_SEC),
		  "Authorization: Bearer other");
	kube_credentials_release(&c);
}

static void a_refused_token_is_read_at_once(void)
{
	CLEANUP(freep) char *path = test_file("token", "first");
	const struct kube_config config = { .token_file = path };
	struct kube_credentials c;
	struct err err = ERR_INIT;

	CHECK_EQ(kube_credentials_init(&c, &config, 0, &err), 0);
	write_unseen(path, "other");
	CHECK(kube_credentials_refused(&c, 1));
	CHECK_STR(kube_credentials_header(&c, 1), "Authorization: Bearer other");
	kube_credentials_release(&c);
}

static void the_old_token_is_kept_while_the_file_cannot_be_read(void)
{
	CLEANUP(freep) char *path = test_file("token", "first");
	const struct kube_config config = { .token_file = path };
	struct kube_credentials c;
	struct err err = ERR_INIT;

	CHECK_EQ(kube_credentials_init(&c, &config, 0, &err), 0);
	CHECK(unlink(path) == 0);
	CHECK_STR(kube_credentials_header(&c, 120 * USEC_PER_SEC), "Authorization: Bearer first");
	CHECK(!kube_credentials_refused(&c, 120 * USEC_PER_SEC));
	free(test_file("token", "two tokens"));
	CHECK_STR(kube_credentials_header(&c, 240 * USEC_PER_SEC), "Authorization: Bearer first");
	free(test_file("token", "second"));
	CHECK_STR(kube_credentials_header(&c, 360 * USEC_PER_SEC), "Authorization: Bearer second");
	kube_credentials_release(&c);
}

static void a_token_may_be_as_long_as_a_directory_makes_it(void)
{
	enum { LONG = 200 * 1024 };
	CLEANUP(freep) char *token = xcalloc(LONG + 1, 1);
	CLEANUP(freep) char *path = NULL;
	struct kube_config config = { 0 };
	struct kube_credentials c;
	struct err err = ERR_INIT;
	const char *header;

	memset(token, 'x', LONG);
	path = test_file("token", token);
	config.token_file = path;
	CHECK_EQ(kube_credentials_init(&c, &config, 0, &err), 0);
	header = kube_credentials_header(&c, 1);
	CHECK(header && streq(header + strlen("Authorization: Bearer "), token));
	kube_credentials_release(&c);
}

static void a_token_that_is_no_file_stays(void)
{
	char token[] = "t";
	const struct kube_config config = { .token = token }, none = { 0 };
	struct kube_credentials c;
	struct err err = ERR_INIT;

	CHECK_EQ(kube_credentials_init(&c, &config, 0, &err), 0);
	CHECK_STR(kube_credentials_header(&c, 1), "Authorization: Bearer t");
	CHECK(!kube_credentials_refused(&c, 1));
	kube_credentials_release(&c);
	CHECK_EQ(kube_credentials_init(&c, &none, 0, &err), 0);
	CHECK(!kube_credentials_header(&c, 1));
	CHECK(!kube_credentials_ca(&c, true, 1));
	kube_credentials_release(&c);
}

static void a_ca_is_read_again_each_minute_and_when_asked(void)
{
	CLEANUP(freep) char *path = test_file("ca.crt", PEM "one");
	const struct kube_config config = { .ca_file = path };
	struct kube_credentials c;
	struct err err = ERR_INIT;

	CHECK_EQ(kube_credentials_init(&c, &config, 0, &err), 0);
	CHECK_STR(c.ca_pem, PEM "one");
	CHECK(!kube_credentials_ca(&c, true, 1)); /* the same */
	free(test_file("ca.crt", PEM "two"));
	CHECK(!kube_credentials_ca(&c, false, 60 * USEC_PER_SEC));
	CHECK(kube_credentials_ca(&c, false, 60 * USEC_PER_SEC + 1));
	CHECK_STR(c.ca_pem, PEM "two");
	free(test_file("ca.crt", PEM "three"));
	CHECK(kube_credentials_ca(&c, true, 60 * USEC_PER_SEC + 2));
	CHECK_STR(c.ca_pem, PEM "three");
	free(test_file("ca.crt", "half a fi"));
	CHECK(!kube_credentials_ca(&c, true, 60 * USEC_PER_SEC + 3));
	CHECK(unlink(path) == 0);
	CHECK(!kube_credentials_ca(&c, true, 60 * USEC_PER_SEC + 4));
	CHECK_STR(c.ca_pem, PEM "three");
	kube_credentials_release(&c);
}

static void what_is_not_there_at_first_is_named(void)
{
	char nowhere[] = "/nowhere/token";
	CLEANUP(freep) char *path = test_file("ca.crt", "no certificate");
	const struct kube_config token = { .token_file = nowhere }, ca = { .ca_file = path };
	struct kube_credentials c;
	struct err err = ERR_INIT;

	CHECK_EQ(kube_credentials_init(&c, &token, 0, &err), -ENOENT);
	CHECK_HAS(err.msg, "/nowhere/token");
	CHECK_EQ(kube_credentials_init(&c, &ca, 0, &err), -EINVAL);
	CHECK_HAS(err.msg, "ca.crt: expected certificates in PEM");
}

static const struct test tests[] = {
	TEST(a_token_in_a_file_is_read_again_when_the_file_is_another),
	TEST(a_token_is_never_older_than_a_minute),
	TEST(a_refused_token_is_read_at_once),
	TEST(the_old_token_is_kept_while_the_file_cannot_be_read),
	TEST(a_token_may_be_as_long_as_a_directory_makes_it),
	TEST(a_token_that_is_no_file_stays),
	TEST(a_ca_is_read_again_each_minute_and_when_asked),
	TEST(what_is_not_there_at_first_is_named),
};

TEST_SUITE(tests);
