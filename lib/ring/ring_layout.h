/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of a communicator's collectives, in memory that outlives the job: the layout of a file
 * (memfd_create(2)) that the NCCL profiler plug-in creates, sizes and seals (F_SEAL_SHRINK,
 * F_SEAL_GROW, F_SEAL_SEAL), and passes to assayd over a socket.
 *
 *	ring_head, RING_HEAD_SIZE bytes		who it is, and how far it is
 *	ring_slot[RING_SLOTS]			one operation each: number n is in slot n % RING_SLOTS
 *
 * A slot belongs to an operation from its start until RING_SLOTS others have begun. Operations in
 * flight are in the ring like those that have ended, so a process that is killed, or hangs, leaves
 * its last operation. `stamp` says which operation the slot holds: n + 1; 0: none yet, or it is
 * being written. The writer stores 0, then everything else, then the stamp (release); later events
 * (starts, stops) are stored while the stamp stays. A reader copies the slot between two reads of
 * the stamp that agree and are not 0. It trusts nothing: the writer may be any program.
 *
 * Words are in host byte order, since writer and reader are on the same machine. Host timestamps
 * are CLOCK_MONOTONIC, GPU timestamps its %globaltimer; both in nanoseconds.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define RING_MAGIC UINT64_C(0x01676e6972796173) /* "sayring", and a version of the magic itself */

enum {
	RING_VERSION = 1,
	RING_HEAD_SIZE = 4096,
	RING_SLOT_SIZE = 128,
	RING_SLOTS = 4096,
	RING_NAME_SIZE = 64,
	RING_SIZE = RING_HEAD_SIZE + RING_SLOT_SIZE * RING_SLOTS, /* 516 KiB */
	RING_CHANNELS = 128, /* more than MAXCHANNELS (64) of NCCL 2.28 */
	/* KernelCh in the event mask: without it starts and ends are unknown. */
	RING_MASK_KERNELS = 64,
};

/* Names of operations as NCCL gives them ("AllReduce"); indexes of ring_func_names. */
enum ring_func {
	RING_OTHER,
	RING_ALL_REDUCE,
	RING_ALL_GATHER,
	RING_REDUCE_SCATTER,
	RING_BROADCAST,
	RING_REDUCE,
	RING_SEND,
	RING_RECV,
	RING_ALL_TO_ALL,
	RING_FUNCS
};

enum ring_flag {
	RING_GRAPH = 1,	    /* captured in a graph: it may have been replayed */
	RING_NO_GPU = 2,    /* no GPU timestamps, only those of the host */
	RING_STAMP_BAD = 4, /* a GPU timestamp is of later or earlier work: use none */
	RING_DONE = 8,	    /* all started channels have stopped, and no more can start */
};

/* What a proxy waits for: state numbers of NCCL's profiler interface (nccl_profiler.h). */
enum ring_wait {
	RING_WAIT_NONE = 0,
	RING_WAIT_SEND_GPU = 8,
	RING_WAIT_SEND = 9,
	RING_WAIT_RECV = 10,
	RING_WAIT_RECV_FLUSH = 11,
	RING_WAIT_RECV_GPU = 12,
	RING_WAIT_SEND_PEER = 20,
};

struct ring_control {
	uint64_t magic;
	uint32_t version;
	_Atomic uint32_t mask; /* events wanted now; 0: none */
	/*
	 * CLOCK_MONOTONIC until which that holds, 0: forever. assayd extends it while it lives, so
	 * that nothing is recorded for a reader that is gone.
	 */
	_Atomic uint64_t until_ns;
};

struct ring_head {
	uint64_t magic;
	uint32_t version, head_size, slot_size, n_slots;
	uint64_t comm_id;		/* the same on all ranks of the communicator */
	int32_t n_nodes, n_ranks, rank; /* `rank` in the communicator */
	int32_t pid;			/* as the process sees itself: unverified */
	uint32_t api;			/* version of the profiler interface: 3 to 6 */
	uint32_t nccl;			/* version of NCCL as 22809; 0: unknown */
	uint64_t mono_ns, real_ns;	/* CLOCK_MONOTONIC and CLOCK_REALTIME, read together */
	char name[RING_NAME_SIZE];	/* name given by the job, or "" */
	/*
	 * With api 3, comm_id, rank (-1 until then) and name come only with the first operation,
	 * and n_ranks and n_nodes (0) never.
	 */
	_Atomic uint64_t next;			       /* number of operations begun */
	_Atomic uint64_t bad_stamps, late_calls, lost; /* left out; for events long gone; no room */
	_Atomic uint64_t beat_ns; /* CLOCK_MONOTONIC: last begin, first start, last stop, or wait */
	_Atomic uint32_t mask;	  /* events requested now */
	_Atomic uint32_t finalized; /* 1: the communicator was destroyed properly */
	/*
	 * Wishes of an assayd that was not there when the ring was handed over, and so cannot write
	 * its page: once until_ns is not 0, this replaces the page. Only assayd writes these words;
	 * the job could change them, but would only lose its own record.
	 */
	struct ring_control wants;
	_Atomic uint64_t since_ns; /* CLOCK_MONOTONIC since which kernels are requested without
				      interruption; 0: not requested, or not reported */
	_Atomic uint64_t offers,
		offer_longest_ns; /* number of renewed hand-overs, and attempts; longest duration */
};

struct ring_slot {
	_Atomic uint64_t stamp;
	uint64_t seq;	/* NCCL's number, by communicator and function; 0 for send and receive. In a
			   captured graph (RING_GRAPH) each replay has the number of the first */
	uint64_t count; /* elements */
	uint64_t enqueued_ns;
	_Atomic uint64_t gpu_start_ns,
		gpu_stop_ns; /* least start, largest stop of its channels; 0 */
	_Atomic uint64_t host_start_ns, host_stop_ns; /* when the first and last were reported */
	_Atomic uint64_t wait_ns;		      /* since when `wait` */
	int32_t peer;				      /* peer of send or receive; root; -1 */
	_Atomic uint16_t channels;		      /* from NCCL: an upper bound for P2P */
	_Atomic uint16_t started, stopped;	      /* channels */
	_Atomic uint8_t wait;			      /* enum ring_wait */
	_Atomic uint8_t func;			      /* enum ring_func */
	_Atomic uint8_t flags;			      /* enum ring_flag */
	uint8_t algo, proto;  /* first letters of NCCL's names: 'R'ing, 'T'ree ...; 0 */
	uint8_t element_size; /* bytes; 0: unknown */
	char func_name[20];   /* from NCCL, truncated */
};

_Static_assert(sizeof(struct ring_head) <= RING_HEAD_SIZE, "the head outgrew its page");
_Static_assert(sizeof(struct ring_slot) <= RING_SLOT_SIZE, "a slot outgrew its place");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_CHAR_LOCK_FREE == 2, "atomics need locks");

/*
 * The socket, SOCK_SEQPACKET: for each communicator the plug-in sends one ring_hello with the
 * descriptor of its ring (SCM_RIGHTS); assayd answers with one ring_welcome and the descriptor of a
 * sealed page that it alone writes, ring_control. Both sides check seals (there may be more than
 * these) and size before mapping. The peer is identified by SO_PEERCRED, not by anything it says.
 * The plug-in waits for the answer for 100 ms in all and then closes the connection: the end of a
 * job is detected from its process, never from the socket.
 *
 * If the page has not been extended for as long as it was valid, assayd is gone or was restarted.
 * Then a call of NCCL hands the ring over again, with `again`, and neither waits for an answer nor
 * accepts one: whoever takes the ring writes its wishes into the ring's head.
 */
#define RING_SOCKET_NAME "jobs/ring.sock" /* in $RUN */

struct ring_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t again; /* 1: it was taken before, and the answer has no page */
};

struct ring_welcome {
	uint64_t magic;
	uint32_t version;
	uint32_t taken; /* 1; 0: too many, or of nobody: it is not read, and the mask is 0 */
};

enum { RING_CONTROL_SIZE = 4096 };
