/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/authz.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/http/api.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

static int read_text(const char *agents, const char *identities, struct authz *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *a = NULL;
	CLEANUP(json_freep) json_t *i = NULL;
	struct jval root;
	int r = 0;

	CHECK_EQ(yaml_parse(agents ? agents : "[]", strlen(agents ? agents : "[]"), "f", &a, err),
		 0);
	CHECK_EQ(yaml_parse(identities ? identities : "[]", strlen(identities ? identities : "[]"),
			    "f", &i, err),
		 0);
	root = jval_root(a, "f");
	if (agents)
		r = authz_decode_agents(&root, ret, err);
	root = jval_root(i, "f");
	return r == 0 && identities ? authz_decode_identities(&root, ret, err) : r;
}

static int role_of(const struct authz *authz, const char *user)
{
	const struct trusted *one = authz_find(authz, user);

	return one ? one->role : -1;
}

static void users_have_the_roles_that_the_settings_say(void)
{
	CLEANUP(authz_release) struct authz authz = { 0 };
	CLEANUP(authz_release) struct authz copy = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(read_text("[assay:assay-agent, 'system:serviceaccount:b.c:d']",
			   "[{user: ann@example, role: operate},\n"
			   " {user: 'system:serviceaccount:ops:robot', role: admin, name: robot}]",
			   &authz, &err),
		 0);
	CHECK_EQ(role_of(&authz, "system:serviceaccount:assay:assay-agent"), ROLE_NODE);
	CHECK_EQ(role_of(&authz, "system:serviceaccount:b.c:d"), ROLE_NODE);
	CHECK_EQ(role_of(&authz, "ann@example"), ROLE_OPERATE);
	CHECK_EQ(role_of(&authz, "system:serviceaccount:ops:robot"), ROLE_ADMIN);
	CHECK_STR(authz_find(&authz, "system:serviceaccount:ops:robot")->name, "robot");
	CHECK_EQ(role_of(&authz, "assay:assay-agent"), -1);
	CHECK_EQ(role_of(&authz, "system:serviceaccount:assay:assay-agent2"), -1);
	CHECK_EQ(role_of(&authz, ""), -1);
	copy = authz_copy(&authz);
	CHECK(authz_same(&authz, &copy));
	CHECK_STR(authz_find(&copy, "system:serviceaccount:ops:robot")->name, "robot");
	copy.users[3].role = ROLE_READ;
	CHECK(!authz_same(&authz, &copy));
	/* Agents were named: there is no usual one beside them. */
	authz_usual(&authz, "assay");
	CHECK_EQ(authz.n, 4);
}

static void unless_told_otherwise_the_agent_is_that_of_our_namespace(void)
{
	CLEANUP(authz_release) struct authz authz = { 0 };

	authz_usual(&authz, "health");
	authz_usual(&authz, "health");
	CHECK_EQ(authz.n, 1);
	CHECK_EQ(role_of(&authz, "system:serviceaccount:health:assay-agent"), ROLE_NODE);
}

static void an_empty_list_of_agents_means_none(void)
{
	CLEANUP(authz_release) struct authz authz = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(read_text("[]", NULL, &authz, &err), 0);
	authz_usual(&authz, "assay");
	CHECK_EQ(authz.n, 0);
}

static void bad_settings_are_refused_with_the_place(void)
{
	static const struct {
		const char *agents, *identities, *words;
	} rows[] = {
		{ "{}", NULL, "expected" },
		{ "[3]", NULL, "[0]: expected NAMESPACE:NAME" },
		{ "[a]", NULL, "[0]: expected NAMESPACE:NAME" },
		{ "['a:']", NULL, "[0]: expected NAMESPACE:NAME" },
		{ "[':a']", NULL, "[0]: expected NAMESPACE:NAME" },
		{ "['a:b:c']", NULL, "[0]: expected NAMESPACE:NAME" },
		{ "['a/x:b']", NULL, "[0]: expected NAMESPACE:NAME" },
		{ "['a:b', 'a:b']", NULL, "[1]: system:serviceaccount:a:b is listed twice" },
		{ "['a:b']", "[{user: 'system:serviceaccount:a:b', role: read}]", "[0]: system" },
		{ NULL, "[{user: a}]", "[0].role" },
		{ NULL, "[{role: read}]", "[0].user" },
		{ NULL, "[{user: '', role: read}]", "[0].user: expected" },
		{ NULL, "[{user: a, role: node}]", "[0].role: expected read, operate or admin" },
		{ NULL, "[{user: a, role: read, name: 'b c'}]", "[0].name: expected" },
		{ NULL, "[{user: a, role: read, more: 1}]", "[0].more" },
		{ NULL, "[{user: a, role: read}, {user: a, role: admin}]",
		  "[1]: a is listed twice" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(authz_release) struct authz authz = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(read_text(rows[i].agents, rows[i].identities, &authz, &err), -EINVAL);
		CHECK_HAS(err.msg, rows[i].words);
	}
}

static void there_is_a_limit(void)
{
	CLEANUP(authz_release) struct authz authz = { 0 };
	CLEANUP(json_freep) json_t *list = json_array();
	struct err err = ERR_INIT;
	struct jval root;
	int i;

	for (i = 0; i <= AUTHZ_MAX; i++)
		(void)json_array_append_new(list, json_sprintf("a:b%d", i));
	root = jval_root(list, "f");
	CHECK_EQ(authz_decode_agents(&root, &authz, &err), -EINVAL);
	CHECK_HAS(err.msg, "[256]: more than 256");
}

static void a_service_account_has_two_parts(void)
{
	static const struct {
		const char *user, *namespace, *name;
	} rows[] = {
		{ "system:serviceaccount:assay:assay-agent", "assay", "assay-agent" },
		{ "system:serviceaccount:a:b.c", "a", "b.c" },
		{ "system:serviceaccount:a", NULL, NULL },
		{ "system:serviceaccount:a:b:c", NULL, NULL },
		{ "system:serviceaccount:a/..:b", NULL, NULL },
		{ "system:serviceaccount::b", NULL, NULL },
		{ "system:node:a", NULL, NULL },
		{ "", NULL, NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *namespace = NULL;
		CLEANUP(freep) char *name = NULL;

		CHECK_EQ(authz_account(rows[i].user, &namespace, &name), rows[i].namespace != NULL);
		CHECK_STR(namespace, rows[i].namespace);
		CHECK_STR(name, rows[i].name);
	}
}

static const struct test tests[] = {
	TEST(users_have_the_roles_that_the_settings_say),
	TEST(unless_told_otherwise_the_agent_is_that_of_our_namespace),
	TEST(an_empty_list_of_agents_means_none),
	TEST(bad_settings_are_refused_with_the_place),
	TEST(there_is_a_limit),
	TEST(a_service_account_has_two_parts),
};

TEST_SUITE(tests);
