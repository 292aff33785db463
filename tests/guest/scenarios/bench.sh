# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# A probe against perftest, both through the same Soft-RoCE devices, in turns.
# $PART (loopback or pair), $FIRST and $LAST pair, $TURNS in a pair, $SECONDS_MAX, $SIZE,
# $QPS, $DEPTH, $COUNT and $BUDGET come from the bench. Prints a line of "PAIR WHAT HOW VALUE" for each
# yardstick, and the samples of the probe after the number of their pair.
rnics 2
wait_for 10 active rxe0
wait_for 10 active rxe1
[ "$PART" = loopback ] && far=rxe0 || far=rxe1

listening()
{
	netstat -ltn | grep -q ":18515 "
}

# yardstick TOOL OPTION...: its line of numbers, from rxe0 to $far. A failed run has none.
yardstick()
{
	tool=$1
	shift
	"$tool" -d "$far" -F "$@" >/tmp/server 2>&1 &
	server=$!
	wait_for 30 listening
	if "$tool" -d rxe0 -F "$@" 127.0.0.1 >/tmp/client 2>&1; then
		grep -E '^ *[0-9]+ +[0-9]+ ' /tmp/client
	else
		kill "$server" 2>/dev/null
	fi
	wait "$server"
}

# bandwidth PAIR WHAT HOW TOOL OPTION...: its average.
bandwidth()
{
	echo "$1 $2 $3 $(shift 3 && yardstick "$@" -s "$SIZE" -q "$QPS" -t "$DEPTH" -n "$COUNT" | awk '{ print $4 }')"
}

# typical PAIR WHAT TOOL: its median.
typical()
{
	echo "$1 $2 polling $(yardstick "$3" -s 8 -n 1000 | awk '{ print $5 }')"
}

yardsticks_of_loopback()
{
	bandwidth "$1" write_bw polling ib_write_bw
	bandwidth "$1" read_bw polling ib_read_bw
	bandwidth "$1" read_bw events ib_read_bw -e
	typical "$1" write_lat ib_write_lat
	typical "$1" read_lat ib_read_lat
}

yardsticks_of_pair()
{
	bandwidth "$1" write_bw polling ib_write_bw
	typical "$1" write_lat ib_write_lat
}

probe()
{
	if [ "$PART" = loopback ]; then
		set -- "$1" assay-probe-loopback --cells 'rxe0:1>numa:0'
	else
		set -- "$1" assay-probe-rnic-pair --cells 'rxe0:1>rxe1:1'
	fi
	pair=$1
	shift
	"$@" --size "$SIZE" --qps "$QPS" --depth "$DEPTH" --budget "$BUDGET" | sed "s/^/$pair /"
}

# Of writes perftest knows no events, and says so.
ib_write_bw -d rxe0 -F -e 2>&1 | grep -i events
end=$(($(date +%s) + SECONDS_MAX))
number=$FIRST
turn=1
while [ "$number" -le "$LAST" ] && [ "$(date +%s)" -lt "$end" ]; do
	# Which comes first changes from turn to turn and from pair to pair, so that a drift of the machine cancels.
	if [ $(((number + turn) % 2)) = 0 ]; then
		"yardsticks_of_$PART" "$number"
		probe "$number"
	else
		probe "$number"
		"yardsticks_of_$PART" "$number"
	fi
	turn=$((turn + 1))
	[ "$turn" -le "$TURNS" ] && continue
	echo "$number done"
	number=$((number + 1))
	turn=1
done
