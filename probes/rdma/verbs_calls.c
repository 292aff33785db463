/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of infiniband/verbs.h that the engine or its inline functions call are defined here
 * and forward to the loaded library, so the engine reads as if it were linked. The compiler checks
 * each against its prototype.
 */
#include "probes/rdma/verbs_calls.h"

#include <dirent.h>
#include <errno.h>
#include <infiniband/verbs.h>

#include "lib/base/err.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/accel/library.h"

#define SONAME "libibverbs.so.1"

/* Macros that select between functions below. */
#undef ibv_query_port
#undef ibv_reg_mr

/* X(result, name, parameters, arguments); V for those that return nothing. */
#define CALLS(X, V)                                                                                \
	X(struct ibv_device **, ibv_get_device_list, (int *n), (n))                                \
	V(ibv_free_device_list, (struct ibv_device * *list), (list))                               \
	X(const char *, ibv_get_device_name, (struct ibv_device * device), (device))               \
	X(struct ibv_context *, ibv_open_device, (struct ibv_device * device), (device))           \
	X(int, ibv_close_device, (struct ibv_context * context), (context))                        \
	X(int, ibv_query_device, (struct ibv_context * context, struct ibv_device_attr * ret),     \
	  (context, ret))                                                                          \
	X(int, ibv_query_port,                                                                     \
	  (struct ibv_context * context, uint8_t port, struct _compat_ibv_port_attr * ret),        \
	  (context, port, ret))                                                                    \
	X(const char *, ibv_port_state_str, (enum ibv_port_state state), (state))                  \
	X(int, ibv_query_gid,                                                                      \
	  (struct ibv_context * context, uint8_t port, int index, union ibv_gid *ret),             \
	  (context, port, index, ret))                                                             \
	X(int, ibv_query_pkey,                                                                     \
	  (struct ibv_context * context, uint8_t port, int index, __be16 *ret),                    \
	  (context, port, index, ret))                                                             \
	X(ssize_t, _ibv_query_gid_table,                                                           \
	  (struct ibv_context * context, struct ibv_gid_entry * ret, size_t max, uint32_t flags,   \
	   size_t size),                                                                           \
	  (context, ret, max, flags, size))                                                        \
	X(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context * context), (context))                \
	X(int, ibv_dealloc_pd, (struct ibv_pd * pd), (pd))                                         \
	X(struct ibv_mr *, ibv_reg_mr, (struct ibv_pd * pd, void *at, size_t length, int access),  \
	  (pd, at, length, access))                                                                \
	X(struct ibv_mr *, ibv_reg_mr_iova2,                                                       \
	  (struct ibv_pd * pd, void *at, size_t length, uint64_t iova, unsigned access),           \
	  (pd, at, length, iova, access))                                                          \
	X(struct ibv_mr *, ibv_reg_dmabuf_mr,                                                      \
	  (struct ibv_pd * pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access), \
	  (pd, offset, length, iova, fd, access))                                                  \
	X(int, ibv_dereg_mr, (struct ibv_mr * mr), (mr))                                           \
	X(struct ibv_comp_channel *, ibv_create_comp_channel, (struct ibv_context * context),      \
	  (context))                                                                               \
	X(int, ibv_destroy_comp_channel, (struct ibv_comp_channel * channel), (channel))           \
	X(struct ibv_cq *, ibv_create_cq,                                                          \
	  (struct ibv_context * context, int n, void *of_caller, struct ibv_comp_channel *channel, \
	   int vector),                                                                            \
	  (context, n, of_caller, channel, vector))                                                \
	X(int, ibv_destroy_cq, (struct ibv_cq * cq), (cq))                                         \
	X(int, ibv_get_cq_event,                                                                   \
	  (struct ibv_comp_channel * channel, struct ibv_cq * *ret, void **ret_of_caller),         \
	  (channel, ret, ret_of_caller))                                                           \
	V(ibv_ack_cq_events, (struct ibv_cq * cq, unsigned n), (cq, n))                            \
	X(struct ibv_qp *, ibv_create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr * attr),    \
	  (pd, attr))                                                                              \
	X(int, ibv_modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr * attr, int mask),           \
	  (qp, attr, mask))                                                                        \
	X(int, ibv_destroy_qp, (struct ibv_qp * qp), (qp))

#define MEMBER(result, name, parameters, arguments) result(*name) parameters;
#define MEMBER_VOID(name, parameters, arguments) void(*name) parameters;
static struct {
	CALLS(MEMBER, MEMBER_VOID)
} calls;

#define HAND_ON(result, name, parameters, arguments) \
	result name parameters                       \
	{                                            \
		return calls.name arguments;         \
	}
#define HAND_ON_VOID(name, parameters, arguments) \
	void name parameters                      \
	{                                         \
		calls.name arguments;             \
	}
CALLS(HAND_ON, HAND_ON_VOID)

#define SYMBOL(result, function, parameters, arguments) \
	{ .name = #function, .needed = true, .member = &calls.function },
#define SYMBOL_VOID(function, parameters, arguments) SYMBOL(void, function, parameters, arguments)
static const struct library_symbol symbols[] = { CALLS(SYMBOL, SYMBOL_VOID) };

static bool has_devices(void)
{
	CLEANUP(closep) int fd = paths_open_sys("/sys/class/infiniband");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry = NULL;

	if (!dir)
		return false;
	fd = -1;
	do
		entry = readdir(dir);
	while (entry && entry->d_name[0] == '.');
	(void)closedir(dir);
	return entry != NULL;
}

int verbs_calls_load(struct err *err)
{
	static bool loaded;
	struct err why = ERR_INIT;
	void *library = NULL;
	int r = 0;

	if (loaded)
		return 0;
	r = library_load(SONAME, &library, &why);
	if (r == 0)
		r = library_find(library, SONAME, symbols, ARRAY_SIZE(symbols), &why);
	loaded = r == 0;
	if (loaded)
		return 0;
	if (!has_devices())
		return err_set(err, ENODEV, "no RDMA device here, and %s", why.msg);
	return err_set(err, ENOTSUP,
		       "this host has RDMA devices, but %s: install libibverbs (part of rdma-core) "
		       "and the "
		       "provider of the devices",
		       why.msg);
}
