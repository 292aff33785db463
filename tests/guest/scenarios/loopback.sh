# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The loopback probe on real libibverbs: a good run, then what goes wrong.
rnics 4
wait_for 10 active rxe0
wait_for 10 active rxe3

# step NAME [OPTION...]: run the probe; its samples, words and status.
step()
{
	echo "== $1"
	shift
	assay-probe-loopback --size 16384 --depth 16 "$@" 2>&1
	echo "status $?"
}

# begin [OPTION...]: the probe beside what follows, once its queue pairs are connected.
begin()
{
	assay-probe-loopback --size 16384 --depth 16 "$@" >/tmp/probe 2>&1 &
	probe=$!
	wait_for 20 uses assay-probe
}

# finish NAME: what the probe that was begun printed.
finish()
{
	wait "$probe"
	status=$?
	echo "== $1"
	cat /tmp/probe
	echo "status $status"
}

# Somebody else's, through rxe0 alone, until it is killed.
foreign_begin()
{
	ib_write_bw -d rxe0 -F -s 65536 -t 8 -n 1000000 >/tmp/server 2>&1 &
	wait_for 30 listening
	ib_write_bw -d rxe0 -F -s 65536 -t 8 -n 1000000 127.0.0.1 >/tmp/client 2>&1 &
	foreign=$!
	wait_for 30 uses ib_write_bw
}

foreign_end()
{
	kill "$foreign"
	wait_for 30 quiet
}

quiet()
{
	! rdma resource show qp | grep -q 'comm ib_write_bw'
}

gone()
{
	[ ! -e "/sys/class/infiniband/$1" ]
}

# A smaller MTU on the second cable.
ip link set eth2 mtu 1500
ip link set eth3 mtu 1500
resources
step good --budget 6s --cells 'rxe0:1>numa:0,rxe1:1>numa:0'
step wrong-gid --budget 20s --cells 'rxe0:1>numa:0' --gid-index 77
step mtu-mismatch --budget 20s --cells 'rxe2:1>numa:0' --mtu 4096
step no-such-cell --budget 20s --cells 'rxe7:1>numa:0'

# Pages of 2 MiB that somebody reserved are used while it runs, and are free again afterwards.
echo 16 >/proc/sys/vm/nr_hugepages
begin --budget 6s --cells 'rxe0:1>numa:0'
echo "== huge-meanwhile"
grep -E '^HugePages_(Total|Free)' /proc/meminfo
finish in-huge-pages
echo "== huge-afterwards"
grep -E '^HugePages_(Total|Free)' /proc/meminfo
echo 0 >/proc/sys/vm/nr_hugepages

foreign_begin
step busy --budget 20s --cells 'rxe0:1>numa:0'
step foreign-before --budget 4s --cells 'rxe0:1>numa:0' --busy run
# Stopped, so that it goes on only when the probe is under way.
kill -STOP "$foreign"
begin --budget 6s --cells 'rxe0:1>numa:0' --busy run
kill -CONT "$foreign"
finish foreign-meanwhile
foreign_end

# The other end of its cable goes down, and nobody took down the port.
begin --budget 8s --cells 'rxe0:1>numa:0'
ip link set eth1 down
finish port-went-down
ip link set eth1 up
wait_for 10 active rxe1
begin --budget 8s --cells 'rxe1:1>numa:0'
ip link set eth1 down
finish port-taken-down
ip link set eth1 up

# A port without any address: not even a link-local one.
echo 1 >/proc/sys/net/ipv6/conf/eth1/disable_ipv6
ip addr flush dev eth1
step no-address --budget 20s --cells 'rxe1:1>numa:0'

# As an ordinary user: the device node, then the limit of locked memory.
add_user
user()
{
	echo "== $1"
	as_user "assay-probe-loopback --size 16384 --depth 16 --budget 20s --cells 'rxe0:1>numa:0'"
	echo "status $?"
}
user no-permission
chmod 666 /dev/infiniband/uverbs*
# shellcheck disable=SC3045 # the shell of busybox knows it
(ulimit -l 64 && user small-memlock)

ip link set eth0 down
step port-down --budget 20s --cells 'rxe0:1>numa:0'
resources

begin --budget 8s --cells 'rxe3:1>numa:0'
rdma link delete rxe3 &
finish removed
wait_for 10 gone rxe3
echo "== left"
rdma resource show
