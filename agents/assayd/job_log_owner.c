/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/job_log_owner.h"

bool job_log_owner_has(const struct job_log_owner *owner, uid_t uid, const char *pod)
{
	if (owner->pod[0])
		return streq(owner->pod, pod);
	return owner->uid == uid && (uid != 0 || !pod[0]);
}

bool job_log_owner_find(const struct process_entry *entries, size_t n, const char *path, uid_t uid,
			struct job_log_owner *ret)
{
	struct job_log_owner owner = { .uid = 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		if (entries[i].pod[0] && strstr(path, entries[i].pod)) {
			memcpy(owner.pod, entries[i].pod, sizeof(owner.pod));
			*ret = owner;
			return true;
		}
	}
	owner.uid = uid;
	for (i = 0; i < n && !job_log_owner_has(&owner, entries[i].uid, entries[i].pod); i++)
		;
	if (i == n)
		return false;
	*ret = owner;
	return true;
}
