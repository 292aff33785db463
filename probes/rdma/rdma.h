/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface to RDMA devices: a table of operations, implemented over libibverbs (verbs*.c) and
 * by a simulated fabric in tests/fakes. The code above it (flows, cells, probes) does not know
 * which one it uses.
 *
 * A queue is a reliable connected queue pair with its completion queue. It is connected to another
 * queue, in this process or on another host, or to itself, so that what it writes comes back
 * through its own port.
 *
 *	list -> open -> region_add, queue_open -> queue_connect -> post, poll, wait
 *
 * Errors are about set-up only. poll() reports the outcome of posted work in struct rdma_done: a
 * failing path is a bad link, not an error.
 *
 * Sources: ibv_*(3) of rdma-core; InfiniBand Architecture Specification Volume 1 (queue pair
 * states, timeouts).
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct rdma_device;
struct rdma_engine;
struct rdma_queue;

enum {
	RDMA_NAME_SIZE = 64,
	RDMA_STATE_SIZE = 160,
	RDMA_MODEL_SIZE = 24,
	RDMA_PORTS_MAX = 64,	  /* per host */
	RDMA_GIDS_MAX = 1024,	  /* per port */
	RDMA_GID_INDEX_MAX = 255, /* struct ibv_global_route has 8 bits for it */
	RDMA_QUEUES_MAX = 16,	  /* that share one completion queue */
	RDMA_BATCH_MAX = 64,	  /* work requests of one post(), completions of one poll() */
};

enum rdma_layer { RDMA_ETHERNET, RDMA_INFINIBAND };

struct rdma_port {
	char device[RDMA_NAME_SIZE]; /* "mlx5_0" */
	unsigned number;	     /* from 1 */
	char pci[RDMA_NAME_SIZE];    /* "0000:1b:00.0"; "" if none */
	char model[RDMA_MODEL_SIZE]; /* "15b3:1021"; "" if none */
	char state[RDMA_STATE_SIZE]; /* "down", or why it is unknown */
	bool active;
	bool unknown;	       /* could not be queried; `state` says why */
	int layer;	       /* enum rdma_layer */
	bool wants_grh;	       /* InfiniBand that requires a GRH: reached by GID, not LID alone */
	unsigned mtu, mtu_max; /* bytes: active and largest */
	double bytes_per_s;    /* nominal rate, one way; of one member for a bond */
	unsigned members;      /* of a bond; 0 or 1: not a bond */
	bool unconnected;      /* the device has no reliable connections (EFA, usNIC, iWARP) */
	int numa_node;	       /* -1 unknown */
};

enum rdma_gid_type { RDMA_GID_IB, RDMA_GID_ROCE_V1, RDMA_GID_ROCE_V2 };

struct rdma_gid {
	unsigned char raw[16];
	unsigned index;
	int type; /* enum rdma_gid_type */
};

/* Memory that a device may read and write. */
struct rdma_region {
	void *handle; /* owned by the engine */
	void *at;
	uint64_t bytes;
	uint32_t lkey, rkey;
};

/* Memory of another device, exported by its driver. */
struct rdma_dmabuf {
	int fd;		 /* borrowed; may be closed after registration */
	uint64_t offset; /* within the dmabuf */
	uint64_t bytes;
	void *at; /* address to use in requests */
};

/* What the other side needs to connect to a queue. */
struct rdma_end {
	uint32_t number; /* of the queue pair */
	uint32_t psn;	 /* first packet sequence number, 24 bits */
	uint16_t lid;	 /* InfiniBand within a subnet */
	unsigned char gid[16];
	unsigned mtu;  /* bytes */
	uint16_t pkey; /* of this side; not sent to the peer */
};

/* Full membership bit: limited members of a partition cannot talk to each other (IBTA 10.9.1.1). */
#define RDMA_PKEY_FULL 0x8000
#define RDMA_PKEY_DEFAULT 0xffff
/* device, port */
#define RDMA_PKEY_LIMITED_WORDS                                                                 \
	"%s port %u is a limited member of each of its partitions, and limited members do not " \
	"reach each "                                                                           \
	"other: ask for full membership of one (--pkey-index takes a limited one anyway)"

struct rdma_queue_options {
	unsigned port;
	/*
	 * A queue of the same device to share a completion queue with; poll() and wait() on either
	 * then serve both. NULL: its own. Lets one thread drive several queues from one place.
	 */
	struct rdma_queue *with;
	unsigned sharers;  /* queues that will share its completions, itself included; 0 is 1 */
	int gid_index;	   /* local; -1: none (InfiniBand within a subnet) */
	unsigned depth;	   /* maximum outstanding work requests */
	unsigned receives; /* maximum outstanding receives; 0: nothing is sent to this queue */
	bool events;	   /* wait() will be called */
	unsigned retries;  /* per packet, 0 to 7 */
	unsigned timeout;  /* per try: 4.096 us x 2^timeout, 1 to 31 */
	unsigned mtu;	   /* bytes; 0: the port's */
	uint8_t traffic_class;
	uint8_t sl;	/* service level of InfiniBand, priority of RoCE */
	int pkey_index; /* in the port's table; -1: the first with full membership */
};

enum rdma_opcode {
	RDMA_WRITE,
	RDMA_READ,
	RDMA_SEND,
	RDMA_WRITE_TELL, /* write with immediate: also consumes a receive, so the peer notices */
};

struct rdma_work {
	int opcode; /* enum rdma_opcode */
	uint64_t id;
	void *local;
	uint32_t lkey, length;
	uint64_t remote;
	uint32_t rkey;
	bool signalled; /* produces a struct rdma_done; failures always do */
	bool inlined;	/* small: copied into the request */
};

/*
 * A buffer for incoming sends, which carry no address. RDMA_WRITE_TELL consumes one but does not
 * write to it.
 */
struct rdma_receive {
	uint64_t id;
	void *local;
	uint32_t lkey, length;
};

enum rdma_status {
	RDMA_OK,
	RDMA_RETRY_EXCEEDED, /* the peer does not answer: the path is dead */
	RDMA_RNR_EXCEEDED,   /* the peer is not ready to receive */
	RDMA_REMOTE_ACCESS,  /* the peer does not allow this access */
	RDMA_REMOTE_INVALID, /* the peer rejects the request as invalid */
	RDMA_REMOTE_ERROR,   /* other failure at the peer */
	RDMA_LOCAL_ERROR,    /* local: protection, length, a broken queue pair */
	RDMA_FLUSHED,	     /* dropped because an earlier request failed */
};

struct rdma_done {
	uint64_t id;
	int status;	      /* enum rdma_status */
	uint32_t raw, vendor; /* codes of the library and of the device */
	bool received;	      /* a receive; only valid on success */
};

/* Totals posted on a queue so far. */
struct rdma_posted {
	uint64_t requests, bytes;
};

struct rdma_ops {
	const char *name; /* "verbs", "simulated" */
	/*
	 * List all ports, by device and number. Returns their number, at most `max`; logs a warning
	 * if there are more. Leaves out virtual functions: they belong to guests, and their
	 * physical port is listed itself. -ENOSYS: no RDMA in this kernel.
	 */
	int (*list)(struct rdma_engine *e, struct rdma_port *ret_ports, size_t max, struct err *err);
	int (*open)(struct rdma_engine *e, const char *device, struct rdma_device **ret,
		    struct err *err);
	void (*close)(struct rdma_device *d);
	/* List the usable, non-empty GIDs of a port. Returns their number. */
	int (*gids)(struct rdma_device *d, unsigned port, struct rdma_gid *ret_gids, size_t max,
		    struct err *err);
	int (*region_add)(struct rdma_device *d, void *at, uint64_t bytes, struct rdma_region *ret,
			  struct err *err);
	void (*region_remove)(struct rdma_region *r);
	int (*queue_open)(struct rdma_device *d, const struct rdma_queue_options *options,
			  struct rdma_queue **ret, struct err *err);
	void (*queue_close)(struct rdma_queue *q);
	/* What the peer needs to connect. */
	void (*queue_end)(const struct rdma_queue *q, struct rdma_end *ret);
	/* -ETIMEDOUT: the peer's address could not be resolved. */
	int (*queue_connect)(struct rdma_queue *q, const struct rdma_end *peer, struct err *err);
	/*
	 * Post `n` (at most RDMA_BATCH_MAX) requests with one doorbell. -ENOMEM: the queue is full.
	 */
	int (*post)(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err);
	/* The same for receives. A send or an RDMA_WRITE_TELL of the peer consumes one. */
	int (*receive)(struct rdma_queue *q, const struct rdma_receive *receives, size_t n,
		       struct err *err);
	/* Poll all queues that share completions. Returns the number of completions, or 0. */
	int (*poll)(struct rdma_queue *q, struct rdma_done *ret, size_t max, struct err *err);
	/* Sleep until poll() may return something. -ETIME at the deadline. Needs `events`. */
	int (*wait)(struct rdma_queue *q, uint64_t deadline_us, struct err *err);
	/*
	 * As wait(), for up to 64 queues that share nothing; `ret_ready` has a bit for each queue
	 * whose poll() may return something. A queue that was not yet armed is armed and counts as
	 * ready. NULL: not supported.
	 */
	int (*wait_any)(struct rdma_queue *const *queues, size_t n, uint64_t deadline_us,
			uint64_t *ret_ready, struct err *err);
	uint64_t (*now_ns)(struct rdma_engine *e); /* monotonic */
	/*
	 * A counter of constant rate, cheaper to read where the clock takes a system call (as in a
	 * guest). NULL: use now_ns().
	 */
	uint64_t (*ticks)(struct rdma_engine *e);
	/* The current state of a port of an open device. -ENODEV: the device is gone. */
	int (*port_now)(struct rdma_device *d, unsigned port, struct rdma_port *ret,
			struct err *err);
	/* NULL: the engine does not count. */
	struct rdma_posted (*posted)(const struct rdma_queue *q);
	/*
	 * Register memory of another device. -EOPNOTSUPP: this one cannot. NULL: the engine cannot.
	 */
	int (*region_add_dmabuf)(struct rdma_device *d, const struct rdma_dmabuf *memory,
				 struct rdma_region *ret, struct err *err);
	/* Requests take time but move no data: a fabric for testing schedules only. */
	bool hollow;
};

/* Implementations embed this first. */
struct rdma_engine {
	const struct rdma_ops *ops;
};

/* The finest clock of the engine, in ticks of constant rate; nanoseconds if it has no other. */
static inline uint64_t rdma_ticks(struct rdma_engine *e)
{
	return e->ops->ticks ? e->ops->ticks(e) : e->ops->now_ns(e);
}

/* The libibverbs engine; a static object, not to be freed. */
struct rdma_engine *rdma_verbs(void);
