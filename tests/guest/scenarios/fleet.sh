# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The whole chain on hosts below one switch, all of $GUESTS: assayd on each with a token of its own, assay-controller on
# the first. Campaigns order tests between hosts, the real probes meet over Soft-RoCE, and their reports are all that the
# controller knows. $PART is what is tried: slow (what leaves $SLOW, b, is shaped, then no more; hosts find each other by
# name) or gone (the last host loses its power in the middle of a test; by the addresses of a file).

# Mbit/s that leave each: far less than an emulated processor sends, so that it is the links that are measured. Nor can
# they be much slower: with 12 and 6 some groups broke off, what was sent being called invalid by the other side.
link=20 slow=12
SLOW=${SLOW:-b}
base=/tmp/assay
controller=http://10.1.0.1:9470
export ASSAY_STATE_DIR=$base/state ASSAY_RUN_DIR=$base/run ASSAY_CONF_DIR=$base/conf
mkdir -p $base/state $base/run $base/conf
host "$GUEST" 4200
shape eth0 ${link}mbit
wait_for 30 active rxe0
trap 'tail -n 40 $base/*.log' EXIT
# shellcheck disable=SC2086
set -- $GUESTS
hosts=$# last=${GUESTS##* } rest=${GUESTS#* }

# Their clocks do not agree: one is a day ahead, one ten minutes behind.
case $GUEST in
b) date -s "@$(($(date +%s) + 86400))" >/dev/null ;;
c) date -s "@$(($(date +%s) - 600))" >/dev/null ;;
esac

# token WHO: a secret that the guests need not tell each other.
token()
{
	echo "the-token-of-$1-in-all-guests"
}

sum_of()
{
	token "$1" | tr -d '\n' | sha256sum | cut -d ' ' -f 1
}

write_controller()
{
	{
		echo "v: 1"
		echo "tokens:"
		for letter in $GUESTS; do
			echo "  - {sha256: $(sum_of "node-$letter"), node: node-$letter}"
		done
		echo "  - {sha256: $(sum_of operator), role: operate, name: operator}"
	} >$base/conf/tokens.yaml
	{
		echo "v: 1"
		echo "switches:"
		echo "  - {name: leaf-1, nodes: [\"node-*\"]}"
		echo "addresses:"
		for letter in $GUESTS; do
			echo "  node-$letter: 10.1.0.$(number "$letter")"
		done
	} >$base/conf/neighbors.yaml
	cat >$base/conf/controller.yaml <<END
v: 1
listen: 10.1.0.1:9470
insecure: true # no TLS here; the tokens count
tokens: $base/conf/tokens.yaml
policy: $base/conf/policy.yaml
mode: enforce
collectives: {address: $address, file: $base/conf/neighbors.yaml, timeout: ${TIMEOUT:-60s}}
END
	cat >$base/conf/policy.yaml <<END
v: 1
mode: enforce
budget: {total: {percent: 50}}
coverage: {max_age: 3650d} # no full runs by itself
rules:
  - {name: slow-collective, match: {check: "all_*"}, windows: {k: 2, n: 3}, action: retest}
END
	token operator >$base/conf/operator
}

write_agent()
{
	token "node-$GUEST" >$base/conf/token
	echo "{v: 1, controller: \"$controller\", token_file: $base/conf/token}" >$base/conf/assayd.yaml
	cat >$base/conf/profiles.yaml <<END
v: 1
profiles:
  quick:
    budget: 60s
    probes:
      - {name: host-state, budget: 20s, active: false}
      - {name: rnic-state, budget: 20s, active: false}
      - {name: rnic-pair, budget: 20s, active: true, args: [--connect-only]}
END
}

ctl()
{
	assayctl "$@" --controller $controller --token-file $base/conf/operator 2>>$base/ctl.log
}

# ready COUNT: so many hosts hold their call for orders, and have passed their own tests.
ready()
{
	ctl nodes -o json >$base/nodes
	[ "$(grep -c '"connection": "connected"' $base/nodes)" = "$1" ] && [ "$(grep -c '"verdict": "pass"' $base/nodes)" = "$1" ]
}

over()
{
	ctl campaign show "$1" -o json >$base/campaign && ! grep -q '"state": "running"' $base/campaign
}

# show NAME: what everybody can see now.
show()
{
	echo "== $1.took"
	echo "$(($(date +%s) - begin)) s"
	echo "== $1"
	cat $base/campaign
	for what in nodes incidents actions; do
		echo "== $1.$what"
		ctl $what -o json
	done
	for letter in $GUESTS; do
		echo "== $1.why.$letter"
		ctl why "node-$letter"
	done
}

campaigns=0
# campaign NAME [COMMAND...]: one, from its begin to its end, and what came of it; meanwhile the command, but not on
# the first host. Those that are there at the end wait for it without a look: what a host does besides slows its test.
campaign()
{
	name=$1
	shift
	together
	if [ "$GUEST" != a ]; then
		"$@"
		nc -l -p 9400 >/dev/null
		return
	fi
	campaigns=$((campaigns + 1)) begin=$(date +%s)
	ctl campaign start --domain leaf-1 --reason "$name" >/dev/null || fail "no campaign"
	pace=2000000 wait_for 400 over $campaigns
	show "$name"
	for letter in $rest; do
		wait_for 60 nc "10.1.0.$(number "$letter")" 9400 </dev/null
	done
}

# admits ANSWER: to a job, here.
admits()
{
	assay admit -o kv >$base/admit
	grep -q "^answer=$1\$" $base/admit
}

start_controller()
{
	write_controller
	assay-controller --check --config $base/conf/controller.yaml || fail "bad configuration"
	assay-controller --config $base/conf/controller.yaml 2>$base/controller.log &
	served=$!
	wait_for 60 ctl nodes
}

# together: all guests have come here.
together()
{
	# shellcheck disable=SC2086
	meet $GUESTS
}

start_agent()
{
	write_agent
	assayd --check || fail "bad configuration"
	assayd 2>$base/assayd.log &
	daemon=$!
	assay run --profile quick --profiles $base/conf/profiles.yaml --report -o kv >$base/own 2>$base/run.log ||
		fail "its own tests: $(cat $base/own)"
}

on_slow()
{
	campaign clean :
	admits ok || fail "not admitted when all is well: $(cat $base/admit)"
	[ "$GUEST" = "$SLOW" ] && shape eth0 ${slow}mbit
	campaign slow :
	[ "$GUEST" = "$SLOW" ] && wait_for 60 admits bad
	together
	assay admit -o json >$base/admit
	echo "== admit"
	cat $base/admit
	echo
	[ "$GUEST" = "$SLOW" ] && shape eth0 ${link}mbit
	campaign mended :
}

measures()
{
	pidof assay-probe-all-reduce && [ "$(sent)" -gt $((begin_sent + 200)) ]
}

dies()
{
	[ "$GUEST" = "$last" ] || return 0
	wait_for 200 measures
	power_off
}

on_gone()
{
	begin_sent=$(sent)
	[ "$GUEST" = a ] && rest=${rest% *}
	campaign gone dies
}

# As Debian writes it: a host's own name is at an address that only it can reach.
write_hosts()
{
	for letter in $GUESTS; do
		[ "$letter" = "$GUEST" ] && echo "127.0.1.1 node-$letter" || echo "10.1.0.$(number "$letter") node-$letter"
	done >/etc/hosts
}

address="file"
if [ "$PART" = slow ]; then
	address=auto
	write_hosts
fi
[ "$GUEST" = a ] && start_controller
together
start_agent
together
[ "$GUEST" = a ] && wait_for 120 ready $hosts
"on_$PART"

kill "$daemon"
wait "$daemon"
status=$?
echo "== assayd"
echo "status $status, left of the order: $(ls $base/run/order)"
cat $base/assayd.log
if [ "$GUEST" = a ]; then
	kill "$served"
	wait "$served"
	status=$?
	echo "== controller"
	echo "status $status"
	cat $base/controller.log
fi
trap - EXIT
