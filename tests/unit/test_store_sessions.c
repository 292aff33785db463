/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_sessions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define NOW_US (100 * USEC_PER_DAY)

static struct store *open_store(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	struct err err = ERR_INIT;
	struct store *s = NULL;

	CHECK_EQ(store_open(path, &s, &err), 0);
	CHECK_STR(err.msg, "");
	return s;
}

/* The session `cookie` of `token`; its number, or a negative errno. */
static int64_t add(struct store *s, const char *cookie, const char *token, uint64_t now_us)
{
	const struct store_session session = { .sha256 = cookie,
					       .token = token,
					       .role = "read",
					       .origin = "127.0.0.1:1",
					       .made_us = now_us,
					       .until_us = now_us + 12 * USEC_PER_HOUR,
					       .idle_us = USEC_PER_HOUR };
	struct err err = ERR_INIT;
	int64_t id = 0;
	int r = store_add_session(s, &session, &id, &err);

	return r < 0 ? r : id;
}

static struct store_session_found find(struct store *s, const char *cookie)
{
	struct store_session_found found;

	CHECK_EQ(store_find_session(s, cookie, &found, NULL), 0);
	return found;
}

static void a_session_is_kept_until_it_is_ended(void)
{
	CLEANUP(store_closep) struct store *s = open_store("kept.db");
	const int64_t id = add(s, "a", "t", NOW_US);
	struct store_session_found found = find(s, "a");

	CHECK(id > 0);
	CHECK_EQ(found.id, id);
	CHECK_STR(found.token, "t");
	CHECK_STR(found.role, "read");
	CHECK_EQ(found.used_us, NOW_US);
	CHECK_EQ(found.until_us, NOW_US + 12 * USEC_PER_HOUR);
	CHECK_EQ(store_use_session(s, id, NOW_US + 5, NULL), 0);
	CHECK_EQ(store_use_session(s, id, NOW_US + 3, NULL), 0); /* never back */
	CHECK_EQ(find(s, "a").used_us, NOW_US + 5);
	CHECK_EQ(find(s, "b").id, 0);
	CHECK_EQ(store_end_session(s, id, NULL), 0);
	CHECK_EQ(store_end_session(s, id, NULL), -ENOENT);
	CHECK_EQ(find(s, "a").id, 0);
	CHECK(add(s, "a", "t", NOW_US) > id); /* no number twice */
}

static void what_has_ended_makes_room(void)
{
	CLEANUP(store_closep) struct store *s = open_store("room.db");

	CHECK(add(s, "old", "t", NOW_US) > 0);
	CHECK(add(s, "new", "u", NOW_US + USEC_PER_HOUR) > 0);
	CHECK_EQ(find(s, "old").id, 0);
	CHECK(find(s, "new").id > 0);
}

static void no_token_takes_the_room_of_others(void)
{
	CLEANUP(store_closep) struct store *s = open_store("full.db");
	unsigned i, kept = 0;
	char cookie[32], token[32];

	for (i = 0; i < 2 * STORE_SESSIONS_TOKEN; i++) {
		(void)snprintf(cookie, sizeof(cookie), "greedy-%u", i);
		CHECK(add(s, cookie, "greedy", NOW_US + i) > 0);
	}
	for (i = 0; i < 2 * STORE_SESSIONS_TOKEN; i++) {
		(void)snprintf(cookie, sizeof(cookie), "greedy-%u", i);
		kept += find(s, cookie).id > 0;
	}
	CHECK_EQ(kept, STORE_SESSIONS_TOKEN);
	CHECK(find(s, cookie).id > 0);
	for (i = 0; i <= STORE_SESSIONS_MAX; i++) {
		(void)snprintf(cookie, sizeof(cookie), "c-%u", i);
		(void)snprintf(token, sizeof(token), "t-%u", i);
		if (add(s, cookie, token, NOW_US + 100) < 0)
			break;
	}
	CHECK(i > STORE_SESSIONS_MAX - 3 * STORE_SESSIONS_TOKEN && i < STORE_SESSIONS_MAX);
	CHECK_EQ(add(s, "one more", "one more", NOW_US + 100), -EDQUOT);
	CHECK(add(s, "again", "greedy", NOW_US + 100) > 0); /* who is in may come again */
}

static const struct test tests[] = {
	TEST(a_session_is_kept_until_it_is_ended),
	TEST(what_has_ended_makes_room),
	TEST(no_token_takes_the_room_of_others),
};

TEST_SUITE(tests);
