# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# All RDMA ports of one host send to all others: four of Soft-RoCE on a router.

PORTS=4

# The far end of each cable is a port of a router, this same kernel, so that everybody
# reaches everybody: wireN is the router's end of ethN.
on_router()
{
	for key in all default; do
		echo 1 >/proc/sys/net/ipv4/conf/$key/accept_local
		echo 0 >/proc/sys/net/ipv4/conf/$key/rp_filter
		echo 0 >/proc/sys/net/ipv4/conf/$key/send_redirects
	done
	echo 1 >/proc/sys/net/ipv4/ip_forward
	ip rule add pref 20 lookup 100
	ip rule add pref 30 lookup local
	i=0
	while [ $i -lt "$1" ]; do
		cable $i "$1"
		i=$((i + 1))
	done
	ip rule del pref 0
	i=0
	while [ $i -lt "$1" ]; do
		ways $i "$1"
		rdma link add "rxe$i" type rxe netdev "eth$i" || fail "no Soft-RoCE on eth$i"
		i=$((i + 1))
	done
}

cable()
{
	ip link add "eth$1" mtu 4200 type veth peer name "wire$1" mtu 4200
	for end in "eth$1" "wire$1"; do
		echo 1 >"/proc/sys/net/ipv4/conf/$end/accept_local"
		echo 0 >"/proc/sys/net/ipv4/conf/$end/rp_filter"
		ip link set "$end" up
	done
	ip addr add "10.0.0.$(($1 + 1))/32" dev "eth$1"
	# What comes out of a cable is for us; what goes into the router goes on.
	ip rule add pref 10 iif "eth$1" lookup local
	ip rule add pref 5 iif "wire$1" lookup 200
	ip route add "10.0.0.$(($1 + 1))/32" dev "wire$1" table 200
	neighbour "wire$1" "10.0.0.$(($1 + 1))" "eth$1"
}

# ways PORT PORTS: from this one to all others, by its own cable.
ways()
{
	j=0
	while [ $j -lt "$2" ]; do
		if [ $j != "$1" ]; then
			ip route add "10.0.0.$((j + 1))/32" dev "eth$1" src "10.0.0.$(($1 + 1))" \
				table 100 metric $(($1 + 1))
			neighbour "eth$1" "10.0.0.$((j + 1))" "wire$1"
		fi
		j=$((j + 1))
	done
}

step()
{
	echo "== $1"
	shift
	assay-probe-all-to-all --engine verbs --size 262144 --depth 4 "$@" 2>&1
	echo "status $?"
}

step none --budget 5s
on_router $PORTS
i=0
while [ $i -lt $PORTS ]; do
	wait_for 10 active rxe$i
	i=$((i + 1))
done
resources
step good --budget 30s

# What one port sends is slow, to everybody.
shape eth2 8mbit
step shaped --budget 40s
tc qdisc del dev eth2 root

# One port has lost its cable, and says that it is up.
tc qdisc add dev eth1 root netem loss 100%
tc qdisc add dev wire1 root netem loss 100%
step dead --budget 30s --set quick
tc qdisc del dev eth1 root
tc qdisc del dev wire1 root

# Somebody else on one of the ports.
ib_write_bw -d rxe1 -s 16384 -t 8 -D 60 -F >/dev/null 2>&1 &
server=$!
wait_for 30 listening
ib_write_bw -d rxe0 -s 16384 -t 8 -D 60 -F 127.0.0.1 >/dev/null 2>&1 &
client=$!
wait_for 30 uses ib_write_bw
step busy --budget 20s
kill $client $server
wait $client $server
resources
