# SPDX-License-Identifier: Apache-2.0
# agents/assayd: the daemon: spool, upload, orders, watchers, profiles of jobs. Included by Makefile.am.

# Code that needs neither the event loop nor the network, as a library that tests use too.
noinst_LIBRARIES += libassaydcore.a
libassaydcore_a_SOURCES = agents/assayd/assayd_config.c agents/assayd/assayd_config.h agents/assayd/delivery.c \
	agents/assayd/delivery.h agents/assayd/gzip.h agents/assayd/link_message.c agents/assayd/link_message.h agents/assayd/job_log_match.c agents/assayd/job_log_match.h \
	agents/assayd/job_log_owner.c agents/assayd/job_log_owner.h \
	agents/assayd/link_watch.c agents/assayd/link_watch.h agents/assayd/log_watch.c agents/assayd/log_watch.h \
	agents/assayd/hang_call.c agents/assayd/hang_call.h agents/assayd/hang_document.c \
	agents/assayd/hang_document.h agents/assayd/hang_sight.c agents/assayd/hang_sight.h \
	agents/assayd/hang_ranks.c agents/assayd/hang_ranks.h \
	agents/assayd/order_id.h agents/assayd/order_meeting.c agents/assayd/order_meeting.h agents/assayd/orders.c \
	agents/assayd/orders.h agents/assayd/permit_file.c agents/assayd/permit_file.h agents/assayd/process_env.c \
	agents/assayd/process_env.h agents/assayd/nccl_version.c agents/assayd/nccl_version.h agents/assayd/process_map.c agents/assayd/process_map.h agents/assayd/ras_endpoint.c \
	agents/assayd/ras_endpoint.h agents/assayd/report_age.c agents/assayd/report_age.h agents/assayd/schedule_time.c agents/assayd/schedule_time.h agents/assayd/trace_queue.c \
	agents/assayd/trace_queue.h agents/assayd/trace_rules.c agents/assayd/trace_rules.h agents/assayd/trace_sandbox.c \
	agents/assayd/trace_sandbox.h agents/assayd/watch_pace.c \
	agents/assayd/watch_pace.h agents/assayd/yaml_child.c agents/assayd/yaml_child.h
libassaydcore_a_SOURCES += agents/assayd/ring_hang.c agents/assayd/ring_hang.h agents/assayd/ring_memory.c \
	agents/assayd/ring_memory.h agents/assayd/ring_rules.c agents/assayd/ring_rules.h agents/assayd/ring_set.c \
	agents/assayd/ring_set.h agents/assayd/ring_window.c agents/assayd/ring_window.h
if HAVE_ZLIB
libassaydcore_a_SOURCES += agents/assayd/gzip.c
GZIP_LIBS = $(ZLIB_LIBS)
else
libassaydcore_a_SOURCES += agents/assayd/gzip_none.c
endif
if HAVE_SYSTEMD
if HAVE_CURL
sbin_PROGRAMS += assayd
assayd_SOURCES = agents/assayd/assayd.c agents/assayd/assayd_check.c agents/assayd/assayd_check.h \
	agents/assayd/child.c agents/assayd/child.h agents/assayd/collective.c agents/assayd/collective.h \
	agents/assayd/daemon.c agents/assayd/daemon.h agents/assayd/deep.c agents/assayd/deep.h \
	agents/assayd/identity_files.c agents/assayd/identity_files.h agents/assayd/job_logs.c agents/assayd/job_logs.h agents/assayd/order_executor.c \
	agents/assayd/hang_child.c agents/assayd/hang_child.h agents/assayd/hang_send.c agents/assayd/hang_send.h agents/assayd/hang_touch.c \
	agents/assayd/hang_touch.h agents/assayd/hang_watch.c agents/assayd/hang_watch.h \
	agents/assayd/order_executor.h agents/assayd/orders_link.c agents/assayd/orders_link.h \
	agents/assayd/process_link.c agents/assayd/process_link.h agents/assayd/pyspy.c agents/assayd/pyspy.h \
	agents/assayd/ras_client.c agents/assayd/ras_client.h agents/assayd/schedule.c \
	agents/assayd/schedule.h agents/assayd/spool_metrics.c agents/assayd/spool_metrics.h agents/assayd/topology_link.c agents/assayd/topology_link.h \
	agents/assayd/trace_converter.c agents/assayd/trace_converter.h \
	agents/assayd/trace_send.c agents/assayd/trace_send.h agents/assayd/trace_watch.c \
	agents/assayd/trace_watch.h agents/assayd/traces.c agents/assayd/traces.h agents/assayd/uplink.c \
	agents/assayd/uplink.h agents/assayd/upload_batch.c agents/assayd/upload_batch.h agents/assayd/watch.c \
	agents/assayd/watch.h agents/assayd/watch_kmsg.c agents/assayd/watch_kmsg.h agents/assayd/watch_link.c \
	agents/assayd/watch_link.h agents/run/verdict_file.c
assayd_SOURCES += agents/assayd/ring_sample.c agents/assayd/ring_sample.h \
	agents/assayd/ring_socket.c agents/assayd/ring_socket.h agents/assayd/ring_store.c agents/assayd/ring_store.h \
	agents/assayd/rings.c agents/assayd/rings.h
assayd_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
assayd_LDADD = libassaydcore.a $(HANG_LIBS) $(RING_LIBS) $(KEEP_LIBS) $(HTTP_LIBS) $(GZIP_LIBS) $(CORE_LIBS)
endif
endif

# Helper of assayd for hung jobs.
probes_PROGRAMS += assay-hang-look
assay_hang_look_SOURCES = agents/assayd/hang_device.c agents/assayd/hang_device.h agents/assayd/hang_dumps.c \
	agents/assayd/hang_dumps.h agents/assayd/hang_look_main.c
assay_hang_look_LDADD = libassaydcore.a $(HANG_LIBS) $(KEEP_LIBS) $(CORE_LIBS)
