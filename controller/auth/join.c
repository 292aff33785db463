/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/join.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/glob.h"
#include "lib/base/sha256.h"

bool join_sum_ok(const char *sha256)
{
	return sha256 && strlen(sha256) == SHA256_HEX_SIZE - 1 &&
	       strspn(sha256, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}

static bool is_unknown(const struct join_facts *f)
{
	return !f->token_known;
}

static bool is_again(const struct join_facts *f)
{
	return f->has_joined && f->joined_token == f->token && streq(f->joined_sha256, f->sha256);
}

static bool is_revoked(const struct join_facts *f)
{
	return f->revoked;
}

static bool is_expired(const struct join_facts *f)
{
	return f->expires_us <= f->now_us;
}

static bool is_used_up(const struct join_facts *f)
{
	return f->used >= f->hosts;
}

static bool is_other_name(const struct join_facts *f)
{
	return !glob_match(f->names, f->node);
}

static bool is_listed(const struct join_facts *f)
{
	return f->listed;
}

static bool has_joined(const struct join_facts *f)
{
	return f->has_joined;
}

static bool has_reported(const struct join_facts *f)
{
	return f->reported && !f->was_reset;
}

static bool is_sum_taken(const struct join_facts *f)
{
	return f->sum_taken;
}

/* The first that holds decides. Without a valid join token nothing is revealed about names. */
static const struct {
	bool (*holds)(const struct join_facts *f);
	enum join_answer answer;
	const char *why; /* follows the name */
} rules[] = {
	{ is_unknown, JOIN_UNKNOWN, "unknown join token: make one with `assayctl token create`" },
	{ is_revoked, JOIN_OVER, "this join token was revoked" },
	{ is_again, JOIN_AGAIN, NULL },
	{ is_expired, JOIN_OVER,
	  "this join token has expired: make another with `assayctl token create`" },
	{ is_used_up, JOIN_OVER,
	  "this join token is used up: make another with `assayctl token create --hosts N`" },
	{ is_other_name, JOIN_NAME, "this join token does not allow that name" },
	{ is_listed, JOIN_TAKEN,
	  "tokens.yaml has a token for that name: use it, or remove its row" },
	{ has_joined, JOIN_TAKEN,
	  "already joined: if its disk was wiped or it was replaced, an admin can let it join "
	  "again: "
	  "assayctl token reset NODE" },
	{ has_reported, JOIN_TAKEN,
	  "a host of that name has already reported: if this is that host, an admin can let it "
	  "join: "
	  "assayctl token reset NODE" },
	{ is_sum_taken, JOIN_TAKEN, "another host uses the same token: each host needs its own" },
};

enum join_answer join_decide(const struct join_facts *facts, struct err *ret_why)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		if (!rules[i].holds(facts))
			continue;
		if (rules[i].why)
			(void)err_set(ret_why, EACCES, "%s: %s", facts->node, rules[i].why);
		return rules[i].answer;
	}
	return JOIN_LET_IN;
}
