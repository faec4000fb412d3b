# The life of the packages in a clean Debian root, as root of it. Each step ends the script if it fails.
set -eu

step() {
    echo "== $*"
}

# Starts the daemon as the unit does: the same user, folders and command.
start() {
    mkdir -p /run/rutter /var/lib/rutter
    chown rutter:rutter /run/rutter /var/lib/rutter
    command=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/rutter.service)
    # The user has no privileges, so the unit's port needs this of the kernel.
    echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
    setpriv --reuid rutter --regid rutter --clear-groups $command 2>/tmp/daemon.log &
    daemon=$!
    tries=0
    until rutter show status >/tmp/status 2>&1; do
        tries=$((tries + 1))
        if [ $tries -gt 1200 ] || ! kill -0 $daemon 2>/dev/null; then
            cat /tmp/status /tmp/daemon.log
            exit 1
        fi
        sleep 0.1
    done
}

step install
dpkg --install /rutter_0.1.0~test1_*.deb
getent passwd rutter
test "$(rutter --version)" != ""
test -e /usr/share/man/man1/rutter.1.gz
test -e /usr/share/bash-completion/completions/rutter
test ! -e /etc/rutter/rutter.toml
grep -q '^ConditionPathExists=/etc/rutter/rutter.toml$' /usr/lib/systemd/system/rutter.service
test -e /etc/systemd/system/multi-user.target.wants/rutter.service

step configure and start
rutter init /etc/rutter/rutter.toml --asn 64500 --router-id 192.0.2.1 --lan 192.0.2.0/24 --member 3333,192.0.2.11
# The other addresses are the member's.
printf '[daemon]\nlisten = ["192.0.2.1:179"]\n' >>/etc/rutter/rutter.toml
start
rutter show peers | grep -q 3333

step upgrade, which keeps the configuration and the state
before=$(sha256sum /etc/rutter/rutter.toml)
dpkg --install /rutter_0.1.0~test2_*.deb
test "$before" = "$(sha256sum /etc/rutter/rutter.toml)"
kill -0 $daemon
kill $daemon
wait $daemon
start

step a member connects
cat >/tmp/bird.conf <<'END'
router id 192.0.2.11;
log "/tmp/bird.log" all;
protocol device { }
protocol static one { ipv4; route 45.10.0.0/24 blackhole; }
protocol static two { disabled; ipv4; route 45.20.0.0/24 blackhole; }
protocol bgp server {
    debug { states, events };
    strict bind;
    multihop;
    local 192.0.2.11 as 3333;
    neighbor 192.0.2.1 as 64500;
    connect delay time 1;
    ipv4 { import all; export all; };
}
END
member() {
    birdc -s /tmp/bird.ctl "$@"
}
# Waits until the daemon has a route.
receives() {
    tries=0
    until rutter show routes --within "$1" | grep -q 3333; do
        tries=$((tries + 1))
        if [ $tries -gt 1200 ]; then
            cat /tmp/bird.log
            rutter show peers
            exit 1
        fi
        sleep 0.1
    done
}
bird -c /tmp/bird.conf -s /tmp/bird.ctl
receives 45.10.0.0/24
states=$(grep -c 'server: State changed' /tmp/bird.log)

step upgrade under a service manager, of which only this script knows
mkdir -p /run/systemd/system /usr/local/bin
cat >/usr/local/bin/systemctl <<'END'
#!/bin/sh
echo "$*" >>/tmp/requests
case "$*" in *MainPID*) cat /tmp/main-process ;; esac
END
printf '#!/bin/sh\necho "$*" >>/tmp/requests\n' >/usr/local/bin/deb-systemd-invoke
chmod +x /usr/local/bin/systemctl /usr/local/bin/deb-systemd-invoke
process() {
    rutter show status --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p'
}
# The socket is that of another unit's daemon: that one stays, and the own unit restarts.
echo 1 >/tmp/main-process
/var/lib/dpkg/info/rutter.postinst configure 0.1.0~test1
test "$(process)" = $daemon
grep -q '^try-restart rutter.service$' /tmp/requests
# It is that of the own unit's daemon: the new version takes over, and the member does not notice.
echo $daemon >/tmp/main-process
: >/tmp/requests
dpkg --install /rutter_0.1.0~test2_*.deb
wait $daemon
successor=$(process)
test "$successor" != $daemon
test "$(readlink /proc/$successor/exe)" = /usr/bin/rutter
if grep try-restart /tmp/requests; then exit 1; fi
receives 45.10.0.0/24
member enable two
receives 45.20.0.0/24
test "$(grep -c 'server: State changed' /tmp/bird.log)" = "$states"
member down
rutter stop
while [ -e /proc/$successor/exe ]; do sleep 0.1; done
rm -r /run/systemd/system /usr/local/bin/systemctl /usr/local/bin/deb-systemd-invoke
start

step install the collector, which needs the same version of the command
dpkg --install /rutter-collector_0.1.0~test2_*.deb
rutter sql --help >/dev/null
test -e /usr/share/man/man1/rutter-collect.1.gz

step install the gRPC server
dpkg --install /rutter-grpc_0.1.0~test2_*.deb
rutter grpc --help >/dev/null
test -e /usr/share/man/man1/rutter-grpc.1.gz
grep -q '^ConditionPathExists=/etc/rutter/grpc.env$' /usr/lib/systemd/system/rutter-grpc.service

step remove and purge
kill $daemon
wait $daemon
dpkg --remove rutter-grpc rutter-collector rutter
test ! -e /usr/bin/rutter
test -e /etc/rutter/rutter.toml
dpkg --purge rutter-grpc rutter-collector rutter
test ! -e /etc/systemd/system/multi-user.target.wants/rutter.service
test -e /etc/rutter/rutter.toml

echo all steps passed
