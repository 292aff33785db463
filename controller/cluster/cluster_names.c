/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/cluster_names.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/subdomain.h"

/* The member, and what precedes and follows the prefix. */
#define NAMES(ROW)                                                                  \
	ROW(prefix, "", "")                                                         \
	ROW(cordon, "", "/cordon")                                                  \
	ROW(override, "", "/override-until")                                        \
	ROW(drain, "", "/drain")                                                    \
	ROW(managed, "", "/managed")                                                \
	ROW(testing, "", "/testing")                                                \
	ROW(unverified, "", "/unverified")                                          \
	ROW(unhealthy, "", "/unhealthy")                                            \
	ROW(healthy, "", "/Healthy")                                                \
	ROW(ledger, "", "/ledger")                                                  \
	ROW(ledger_writer, "", "/ledger-writer")                                    \
	ROW(stop, "", "/stop")                                                      \
	ROW(not_our_mark, "its annotation ", "/cordon is not one that Assay wrote") \
	ROW(not_our_hold, "its taint ", "/testing is not one that Assay set")       \
	ROW(opted_out, "it has opted out (label ", "/managed)")                     \
	ROW(undo_verified, "kubectl taint node NODE ", "/unverified=:NoSchedule")

#define USUAL(member, before, behind) .member = before CLUSTER_PREFIX behind,
const struct cluster_names cluster_names_usual = { NAMES(USUAL) };

#define FITS(member, before, behind) \
	_Static_assert(sizeof(before behind) + SUBDOMAIN_MAX <= CLUSTER_NAME_SIZE, #member);
NAMES(FITS)

struct cluster_names cluster_names_of(const char *prefix)
{
	static const struct {
		size_t at;
		const char *before, *behind;
	} rows[] = {
#define PLACE(member, before, behind) { offsetof(struct cluster_names, member), before, behind },
		NAMES(PLACE)
	};
	struct cluster_names names = cluster_names_usual;
	size_t i;

	for (i = 0; prefix && i < ARRAY_SIZE(rows); i++)
		(void)snprintf((char *)&names + rows[i].at, CLUSTER_NAME_SIZE, "%s%.*s%s",
			       rows[i].before, SUBDOMAIN_MAX, prefix, rows[i].behind);
	return names;
}

/* Is it `domain` or a subdomain of it? */
static bool is_within(const char *text, const char *domain)
{
	const size_t len = strlen(text), tail = strlen(domain);

	return len >= tail && streq(text + len - tail, domain) &&
	       (len == tail || text[len - tail - 1] == '.');
}

const char *cluster_prefix_wrong(const char *prefix)
{
	/* Used by Kubernetes itself, and by others that cordon nodes (kube/kube_node.c). */
	static const char *const others[] = { "kubernetes.io", "k8s.io", "medik8s.io" };
	size_t i;

	if (strchr(prefix, '/'))
		return "the prefix without a slash: Assay appends the rest";
	if (!is_subdomain(prefix))
		return "a DNS subdomain, \"example.com\": lower-case letters, digits and '-' "
		       "between dots, with a letter or digit at both ends of each part, at most "
		       "253 in total";
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		if (is_within(prefix, others[i]))
			return "a domain of your own: this one is reserved";
	}
	return NULL;
}
