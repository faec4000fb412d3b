# Runs a route server with each of the two configurations of a guide, and compares the routes that each member receives.
# $1 is the guide: bird, openbgpd or arouteserver. The folder has the files of the guide.
set -eu
export LC_ALL=C

step() {
    echo "== $*"
}

# The route server and a validator are on the bridge, and each member in a network namespace of its own.
network() {
    ip link set lo up
    ip link add lan type bridge
    ip link set lan up
    ip address add 192.0.2.1/24 dev lan
    for member in 11 12 13; do
        ip netns add member$member
        ip link add port$member type veth peer name lan0 netns member$member
        ip link set port$member master lan up
        ip -n member$member address add 192.0.2.$member/24 dev lan0
        ip -n member$member link set lan0 up
    done
}

# member NUMBER ROUTES CHANGES: a BIRD that announces routes, with changes in its export filter.
member() {
    cat >member$1.conf <<END
log "member$1.log" all;
router id 192.0.2.$1;
protocol device { }
protocol static { ipv4; $2 }
protocol bgp exchange {
    local as 33$1;
    neighbor 192.0.2.1 as 64500;
    connect delay time 1;
    connect retry time 1;
    error wait time 1, 2;
    ipv4 { import all; export filter { $3 accept; }; };
}
END
    ip netns exec member$1 bird -c member$1.conf -s member$1.ctl
}

# Waits until each member has exactly the routes that it should have, and writes them to files, one on a line. The
# first AS number is part of it: until the last member has announced its routes, others are the best.
received() {
    for member in 11 12 13; do
        tries=0
        until routes $member >"$1.$member" && first_as "$1.$member" | cmp -s - expected.$member; do
            tries=$((tries + 1))
            if [ $tries -gt 1200 ]; then
                echo "$1: member $member has these routes:"
                cat "$1.$member" "$1.log"
                exit 1
            fi
            sleep 0.1
        done
    done
}

# The routes of a member with their attributes, without the ages of routes.
routes() {
    birdc -s member$1.ctl show route all protocol exchange |
        sed -n 's/^\([0-9.]*\/[0-9]*\).*/\n\1/p; s/^\t\(BGP\.\)/\1/p' | tr '\n' ' ' | sed 's/  */ /g; s/ \(45\.\)/\n\1/g' |
        sed '/^ *$/d; s/ *$//' | sort
}

# The prefix and the first AS number of each route of a file.
first_as() {
    sed 's/^\([^ ]*\) .*BGP\.as_path: \([0-9]*\).*/\1 \2/' "$1"
}

# Without those that the checks reject, that communities keep away, and that are the member's own. AS3312 may not have
# the best route to 45.2.0.0/24, so it receives the second. The arguments are what AS3311 receives for destinations
# where the best route is its own.
expect() {
    printf '%s\n' "$@" '45.12.0.0/24 3312' '45.13.0.0/24 3313' '45.67.1.0/24 3312' | sort >expected.11
    printf '%s\n' '45.1.0.0/24 3311' '45.13.0.0/24 3313' '45.2.0.0/24 3313' '45.66.0.0/24 3311' >expected.12
    printf '%s\n' '45.1.0.0/24 3311' '45.12.0.0/24 3312' '45.2.0.0/24 3311' '45.3.0.0/24 3311' '45.66.0.0/24 3311' \
        '45.67.1.0/24 3312' >expected.13
}

network
cat >vrps.json <<END
{"roas": [{"asn": "AS3311", "prefix": "45.66.0.0/16", "maxLength": 24, "ta": "test"},
          {"asn": "AS3312", "prefix": "45.67.0.0/16", "maxLength": 24, "ta": "test"}]}
END
stayrtr -bind 127.0.0.1:3323 -metrics.addr 127.0.0.1:3324 -cache vrps.json -checktime=false >rtr.log 2>&1 &

member 11 '
    route 45.1.0.0/24 blackhole;
    route 45.2.0.0/24 blackhole;
    route 45.3.0.0/24 blackhole;
    route 45.66.0.0/24 blackhole;
    route 45.67.0.0/24 blackhole;
    route 45.8.0.0/24 blackhole;
    route 10.1.0.0/16 blackhole;
    route 45.9.0.0/25 blackhole;' '
    if net = 45.2.0.0/24 then bgp_large_community.add((64500, 0, 3312));
    if net = 45.3.0.0/24 then { bgp_large_community.add((64500, 0, 0)); bgp_large_community.add((64500, 1, 3313)); }
    if net = 45.8.0.0/24 then bgp_path.prepend(64512);
    if net = 45.1.0.0/24 then { bgp_med = 7; bgp_community.add((3311, 9)); }'
member 12 '
    route 45.1.0.0/24 blackhole;
    route 45.12.0.0/24 blackhole;
    route 45.67.1.0/24 blackhole;
    route 45.10.0.0/24 blackhole;' '
    if net = 45.1.0.0/24 then bgp_path.prepend(3312);
    if net = 45.10.0.0/24 then bgp_path.prepend(64500);'
member 13 '
    route 45.2.0.0/24 blackhole;
    route 45.13.0.0/24 blackhole;
    route 45.14.0.0/24 blackhole;' '
    if net = 45.2.0.0/24 then bgp_path.prepend(3313);
    if net = 45.14.0.0/24 then bgp_next_hop = 192.0.2.12;'

# Makes BIRD's configuration from the files of ARouteServer, without a question to any server.
generate() {
    files=$(python3 -c 'import os, pierky.arouteserver as a; print(os.path.dirname(a.__file__))')
    cat >arouteserver.yml <<END
cfg_dir: "$PWD"
logging_config_file: "$files/config.d/log.ini"
cfg_bogons: "$files/config.d/bogons.yml"
templates_dir: "$files/templates"
check_new_release: False
END
    mkdir cache
    arouteserver bird --cfg arouteserver.yml --ip-ver 4 --target-version 2.0.11 --local-files-dir "$PWD" -o generated.conf
}

# Becomes the other daemon.
other() {
    case $1 in
    bird) exec bird -f -c bird.conf -s server.ctl ;;
    arouteserver)
        generate
        exec bird -f -c generated.conf -s server.ctl
        ;;
    openbgpd)
        mkdir -p /run/openbgpd
        chmod 600 openbgpd.conf
        exec bgpd -d -f openbgpd.conf
        ;;
    esac
}

# OpenBGPD does not send a member the second best route if the best one is the member's own.
step "$1"
case $1 in
openbgpd) expect ;;
*) expect '45.1.0.0/24 3312' '45.2.0.0/24 3313' ;;
esac
other "$1" 2>"$1.log" &
server=$!
received "$1"
kill $server
wait $server || true

step Rutter
expect '45.1.0.0/24 3312' '45.2.0.0/24 3313'
case $1 in
arouteserver) set -- "$1" --arouteserver general.yml clients.yml --lan 192.0.2.0/24 --rtr 127.0.0.1:3323 ;;
*) set -- "$1" rutter.toml ;;
esac
other=$1
shift
rutter run "$@" 2>rutter.log &
server=$!
received rutter
for member in 11 12 13; do
    if grep -vxFf rutter.$member "$other.$member"; then
        echo "$other sends these routes to member $member, and Rutter does not"
        exit 1
    fi
    cat rutter.$member
done
kill $server
step all steps passed
