#compdef rutter

autoload -U is-at-least

_rutter() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_rutter_commands" \
"*::: :->rutter" \
&& ret=0
    case $state in
    (rutter)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:rutter-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
'()*--arouteserver=[Run an exchange from the files general.yml and clients.yml of ARouteServer]:GENERAL:_files:GENERAL:_files' \
'--bogons=[The file \`bogons.yml\`]:FILE:_files' \
'--peeringdb=[A dump of PeeringDB'\''s networks as JSON, from its API at /api/net]:FILE:_files' \
'--rtt-file=[A file with the round-trip times of clients\: lines of address and milliseconds, or JSON]:FILE:_files' \
'*--lan=[A peering LAN; may be repeated \[default\: taken from the black list and the clients\]]:PREFIX:_default' \
'*--rtr=[An RTR cache, host\:port; may be repeated]:HOST:PORT:_default' \
'*--irr-server=[An IRRd server; may be repeated \[default\: rr.ntt.net\]]:HOST:_default' \
'*--irr-source=[A database of the IRR server; may be repeated \[default\: those of the server\]]:NAME:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--end-with-stdin[End when standard input is closed\: for programs that start a daemon of their own]' \
'(--end-with-stdin)--take-over[Take over from the daemon at standard input, which started this process\: see \`rutter upgrade\`]' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'::file -- The configuration:_files' \
&& ret=0
;;
(init)
_arguments "${_arguments_options[@]}" : \
'--asn=[The AS number of the route server]:ASN:_default' \
'--router-id=[The BGP Identifier\: an IPv4 address of the route server]:ADDRESS:_default' \
'*--lan=[A peering LAN; may be repeated]:PREFIX:_default' \
'*--member=[A member\: AS number, addresses and AS-SETs; may be repeated]:ASN,ADDRESS,…:_default' \
'*--rtr=[A validator that serves RTR; may be repeated]:HOST:PORT:_default' \
'--irr-server=[An IRRd server for filters by AS-SET]:HOST:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'::file -- The file to write, which must not exist yet; `-` prints it:_files' \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'::file -- The configuration; - is standard input:_files' \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_rutter__subcmd__import_commands" \
"*::: :->import" \
&& ret=0

    case $state in
    (import)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:rutter-import-command-$line[1]:"
        case $line[1] in
            (arouteserver)
_arguments "${_arguments_options[@]}" : \
'--bogons=[The file \`bogons.yml\`]:FILE:_files' \
'--peeringdb=[A dump of PeeringDB'\''s networks as JSON, from its API at /api/net]:FILE:_files' \
'--rtt-file=[A file with the round-trip times of clients\: lines of address and milliseconds, or JSON]:FILE:_files' \
'*--lan=[A peering LAN; may be repeated \[default\: taken from the black list and the clients\]]:PREFIX:_default' \
'*--rtr=[An RTR cache, host\:port; may be repeated]:HOST:PORT:_default' \
'*--irr-server=[An IRRd server; may be repeated \[default\: rr.ntt.net\]]:HOST:_default' \
'*--irr-source=[A database of the IRR server; may be repeated \[default\: those of the server\]]:NAME:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':general -- The policy\: general.yml:_files' \
':clients -- The members\: clients.yml:_files' \
&& ret=0
;;
        esac
    ;;
esac
;;
(diff)
_arguments "${_arguments_options[@]}" : \
'--against=[The old configuration\: a file, or \`running\` for the one in force in the daemon]:FILE:_files' \
'--limit=[List this many of these routes, with --routes or --sources]:N:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--routes[Also count the routes that would be accepted and rejected, by neighbor]' \
'(--against --routes)--sources[Count the routes that would change if you accepted the data which a source refused]' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'::file -- The new configuration; - is standard input:_files' \
&& ret=0
;;
(shadow)
_arguments "${_arguments_options[@]}" : \
'*--received=[MRT files or folders with the routes that the other route server receives, in order of time]:PATH:_files' \
'*--advertised=[MRT files, folders or BIRD'\''s text with the routes that the other route server advertises to a member; without \`MEMBER=\`, MRT files with a peer for each member]:MEMBER=PATH:_default' \
'*--member=[Compare only this member\: name, address or AS number]:MEMBER:_default' \
'--limit=[List this many differences of each member \[default\: 10; all with --json\]]:N:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'::file -- The configuration that Rutter would have:_files' \
&& ret=0
;;
(reload)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(upgrade)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(apply)
_arguments "${_arguments_options[@]}" : \
'--confirm=[Go back after this time, unless \`rutter confirm\` comes first\: 90s, 10m, 1h]:TIME:_default' \
'--max-loss=[Go back if a neighbor loses more than this part of its routes\: 2%]:PERCENT:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':file -- The new configuration, which the daemon must be able to read; - or a pipe is read here:_files' \
&& ret=0
;;
(confirm)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(rollback)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'::number -- Its number in `rutter history` \[default\: the one before that in force\]:_default' \
&& ret=0
;;
(history)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_rutter__subcmd__show_commands" \
"*::: :->show" \
&& ret=0

    case $state in
    (show)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:rutter-show-command-$line[1]:"
        case $line[1] in
            (status)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(peers)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(peer)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':peer -- Name, address or AS number:_default' \
&& ret=0
;;
(routes)
_arguments "${_arguments_options[@]}" : \
'(--rejected)--advertised-to=[As sent to this client\: name, address or AS number]:CLIENT:_default' \
'--why=[Withheld for this reason\: own-route, communities, blackhole, …]:REASON:_default' \
'--peer=[Routes from this neighbor\: name, address or AS number]:PEER:_default' \
'--family=[Routes of this family\: ipv4 or ipv6]:FAMILY:((ipv4\:"IPv4 unicast"
ipv6\:"IPv6 unicast"))' \
'--within=[Routes to this prefix and to all prefixes inside it]:PREFIX:_default' \
'--origin-as=[Routes that this AS originates]:AS:_default' \
'--path-as=[Routes with this AS anywhere in the path]:AS:_default' \
'--community=[Routes with this community\: 64500\:1, 64500\:1\:2 or a name (no-export, blackhole, graceful-shutdown)]:COMMUNITY:_default' \
'--limit=[Limit the number of rows]:N:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--rejected[Rejected routes only]' \
'--best[The best route of each destination only]' \
'--withheld[The better routes that the client is not sent, each with the reason]' \
'(--withheld)--count[The number of routes that the client is sent and not sent]' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(route)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':target -- A prefix, or an address, which finds the longest match:_default' \
&& ret=0
;;
(rejected)
_arguments "${_arguments_options[@]}" : \
'--reason=[Routes rejected for this reason\: name or number]:REASON:_default' \
'--peer=[Routes from this neighbor\: name, address or AS number]:PEER:_default' \
'--family=[Routes of this family\: ipv4 or ipv6]:FAMILY:((ipv4\:"IPv4 unicast"
ipv6\:"IPv6 unicast"))' \
'--within=[Routes to this prefix and to all prefixes inside it]:PREFIX:_default' \
'--origin-as=[Routes that this AS originates]:AS:_default' \
'--path-as=[Routes with this AS anywhere in the path]:AS:_default' \
'--community=[Routes with this community\: 64500\:1, 64500\:1\:2 or a name (no-export, blackhole, graceful-shutdown)]:COMMUNITY:_default' \
'--limit=[Limit the number of rows]:N:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(attributes)
_arguments "${_arguments_options[@]}" : \
'--limit=[Limit the number of rows]:N:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(memory)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(sinks)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(sources)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(stations)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(routers)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
        esac
    ;;
esac
;;
(explain)
_arguments "${_arguments_options[@]}" : \
'--from=[Assume that this neighbor announces the prefix\: name, address or AS number]:PEER:_default' \
'*--path=[The AS_PATH of the assumed route \[default\: the AS of the neighbor\]]:AS NUMBERS:_default' \
'*--community=[The communities of the assumed route, standard or large]:COMMUNITY:_default' \
'--next-hop=[The next hop of the assumed route \[default\: the address of the neighbor\]]:ADDRESS:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':target -- A prefix, or an address, which finds the longest match:_default' \
&& ret=0
;;
(lookup)
_arguments "${_arguments_options[@]}" : \
'*--peer=[Use routes of this neighbor\: name, address, AS number or a monitored router; may be repeated]:PEER:_default' \
'*--next-hop=[Use routes with this next hop; may be repeated]:ADDRESS:_default' \
'--mrt=[Use this MRT table dump instead of the daemon'\''s table; plain or compressed, a folder, or \`-\` for standard input]:FILE:_files' \
'--vrps=[Validate origins with the VRPs in this JSON file (of Routinator, rpki-client, FORT and others)]:FILE:_files' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--or-best[If none of the selected routes matches, show the best of all routes, marked (not for \`-\`)]' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'*::addresses -- Addresses; or `-` to read them from standard input, one a line:_default' \
&& ret=0
;;
(enrich)
_arguments "${_arguments_options[@]}" : \
'-c+[The column with the address\: its name, or its number from 1 with --no-header]:NAME:_default' \
'--column=[The column with the address\: its name, or its number from 1 with --no-header]:NAME:_default' \
'--format=[csv, or json for one object a line \[default\: by the first file'\''s extension, else csv\]]:FORMAT:((csv\:"Comma-separated values"
json\:"An object a line"))' \
'--delimiter=[The byte between CSV fields; \`\\t\` for a tab]:C:_default' \
'*--add=[Columns to add\: asn, prefix, as_path, next_hop, rov \[default\: all; rov only with --vrps\]]:NAMES:((asn\:"Origin AS"
prefix\:"Prefix"
as_path\:"AS path"
next_hop\:"Next hop"
rov\:"Origin validation"))' \
'--label=[Prefix the names of the new columns with NAME_]:NAME:_default' \
'*--peer=[Use routes of this neighbor\: name, address, AS number or a monitored router; may be repeated]:PEER:_default' \
'*--next-hop=[Use routes with this next hop; may be repeated]:ADDRESS:_default' \
'--mrt=[Use this MRT table dump instead of the daemon'\''s table; plain or compressed, a folder, or \`-\` for standard input]:FILE:_files' \
'--vrps=[Validate origins with the VRPs in this JSON file (of Routinator, rpki-client, FORT and others)]:FILE:_files' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--no-header[The first CSV row is data, not column names]' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'*::files -- Input files; `-` or no file means standard input:_files' \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_rutter__subcmd__export_commands" \
"*::: :->export" \
&& ret=0

    case $state in
    (export)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:rutter-export-command-$line[1]:"
        case $line[1] in
            (mmdb)
_arguments "${_arguments_options[@]}" : \
'*--peer=[Use routes of this neighbor\: name, address, AS number or a monitored router; may be repeated]:PEER:_default' \
'*--next-hop=[Use routes with this next hop; may be repeated]:ADDRESS:_default' \
'--mrt=[Use this MRT table dump instead of the daemon'\''s table; plain or compressed, a folder, or \`-\` for standard input]:FILE:_files' \
'--vrps=[Validate origins with the VRPs in this JSON file (of Routinator, rpki-client, FORT and others)]:FILE:_files' \
'--database-type=[The database type in the metadata; some readers refuse unknown types]:NAME:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':file -- The file to write, `-` for standard output; an existing file is replaced atomically:_files' \
&& ret=0
;;
        esac
    ;;
esac
;;
(clear)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'(--soft-out)--soft-in[Keep the session and re-evaluate the import policy for the received routes]' \
'--soft-out[Keep the session and advertise all routes to the neighbor again]' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':peer -- Name, address or AS number of the neighbor, or `all`:_default' \
&& ret=0
;;
(source)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':action -- `refresh` or `accept`:((refresh\:"Ask for new data now"
accept\:"Accept the data that were refused because they shrank too much"))' \
':name -- The name of the source, as `rutter show sources` prints it:_default' \
&& ret=0
;;
(log)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'-f[Wait for new lines and print them]' \
'--follow[Wait for new lines and print them]' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(stop)
_arguments "${_arguments_options[@]}" : \
'--text=[Text for the neighbors (RFC 9003)]:TEXT:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
'--interval=[Seconds between two pictures, from 0.1]:SECONDS:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(completion)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':shell -- The shell:((bash\:"Bash"
zsh\:"Z shell"
fish\:"fish"))' \
&& ret=0
;;
(demo)
_arguments "${_arguments_options[@]}" : \
'--speakers=[Speakers; each announces a part of the table and receives the rest]:N:_default' \
'--routes-per-destination=[Routes for each destination, on average]:N:_default' \
'(--prefixes --mrt)--destinations=[Destinations of the generated table (15 in 100 are IPv6)]:N:_default' \
'(--mrt)--prefixes=[Take the destinations from this list, one prefix a line, plain or .gz]:FILE:_files' \
'--mrt=[Take the destinations from this MRT table dump (TABLE_DUMP_V2), plain or .gz]:FILE:_files' \
'--threads=[I/O threads of the route server; 0\: one per core]:N:_default' \
'--seed=[Seed of the generated table]:N:_default' \
'--socket=[The daemon'\''s management socket \[default\: /run/rutter/rutter.sock, else that of a running demo\]]:PATH:_files' \
'--color=[Use colors\: auto, always or never. NO_COLOR in the environment turns them off]:WHEN:((auto\:"On a terminal"
always\:"Always"
never\:"Never"))' \
'--once[Exit after the report]' \
'--json[Print JSON, one object a line, for programs]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(collect)
_arguments "${_arguments_options[@]}" : \
'--socket=[The daemon'\''s management socket, in place of the configured one]: :_files' \
'--mrt=[Load these MRT files into the table first\: files, folders, or - for standard input]: :_files' \
'--mrt-router=[Name of the collector or router of the MRT files]: :_default' \
'--feeds=[With --demo\: the number of speakers, half of them with all IPv4 prefixes, half with all]: :_default' \
'--destinations=[With --demo\: the number of prefixes of a full feed (15 in 100 are IPv6)]: :_default' \
'--prefixes=[With --demo\: take the prefixes from this list, one a line, plain or .gz]: :_files' \
'--demo[Collect from built-in speakers, with a generated configuration]' \
'--once[With --demo\: end after the report instead of staying up]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'::FILE -- The configuration:_files' \
&& ret=0
;;
(grpc)
_arguments "${_arguments_options[@]}" : \
'--listen=[Serve clients at this address]: :_default' \
'--socket=[Ask the daemon on this socket]: :_files' \
'--control-socket=[Also serve the methods that change the daemon, on this socket]: :_files' \
'--token-file=[A file with tokens\: a line each, with a role and the SHA-256 of the token]: :_files' \
'--anonymous=[The role of clients without a token \[default\: read; with --token-file nothing\]]: :_default' \
'--tls-cert=[The certificate chain of this server (PEM)\: clients connect with TLS]: :_files' \
'--tls-key=[Its private key (PEM)]: :_files' \
'--client-ca=[Accept only clients with a certificate of these authorities (PEM)]: :_files' \
'--requests-per-second=[The requests a second of one address (IPv6\: of a /64); after a pause five times as many at]: :_default' \
'--insecure-listen[Serve other machines without TLS]' \
'-h[Print help (see a summary with '\''-h'\'')]' \
'--help[Print help (see a summary with '\''-h'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(mrt)
_arguments "${_arguments_options[@]}" : \
'--json[Print a JSON object a line, for programs]' \
'--count[Print only the number of records and routes]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'*::FILE -- Files, folders with all files inside, or - for standard input:_files' \
&& ret=0
;;
(sql)
_arguments "${_arguments_options[@]}" : \
'--server=[The collector to query]: :_default' \
'--user=[User name]: :_default' \
'--password=[The password, if the collector requires one]: :_default' \
'--tls-root=[Use TLS and verify the collector\: this PEM file has its certificate, or the authority that]: :_files' \
'--mrt=[Query these MRT files, folders, or - for standard input\: they become the tables \`routes\`,]: :_files' \
'--history=[Query this archive of a collector\: its tables are \`events\` and \`snapshots\`]: :_files' \
'--at=[The table as of this time, UTC\: \`routes\`, and \`events\` up to then]: :_default' \
'--parquet=[Query Parquet files\: each file or folder is a table with its name; may be repeated]: :_files' \
'--files[Let the query name files as tables\: FROM '\''events.parquet'\'']' \
'--json[Print a JSON object for each row]' \
'--csv[Print comma-separated values]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'::QUERY -- The query, or - for standard input:_default' \
&& ret=0
;;
(replay)
_arguments "${_arguments_options[@]}" : \
'--to=[The BGP daemon; the port is 179 unless given]: :_default' \
'--asn=[Our AS number \[default\: that of the peer in the file\]]: :_default' \
'--peer=[Play only the routes of this peer of the files]: :_default' \
'--from=[Our address\: the source of the session]: :_default' \
'--each-from=[Open a session for each peer of the files, from addresses in this prefix]: :_default' \
'--speed=[\`recorded\`, \`full\`, or how many times as fast as recorded]: :_default' \
'--end[End the sessions after the last route, instead of keeping them up]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'*::FILE -- Files, folders with all files inside, or - for standard input:_files' \
&& ret=0
;;
(bench)
_arguments "${_arguments_options[@]}" : \
'-V[Print version]' \
'--version[Print version]' \
'*::arguments -- A workload and options:_default' \
&& ret=0
;;
        esac
    ;;
esac
}

(( $+functions[_rutter_commands] )) ||
_rutter_commands() {
    local commands; commands=(
'run:Run the daemon in the foreground until SIGTERM or Ctrl-C' \
'init:Write the first configuration of an exchange, from options and questions' \
'check:Check a configuration and report every error in it' \
'import:Convert the files of another program to a configuration' \
'diff:Compare two configurations\: the changes, and the sessions that they reset' \
'shadow:Compare what another route server advertises with what Rutter would' \
'reload:Reload the daemon'\''s configuration, all or nothing' \
'upgrade:Let the installed version take over from the running daemon; no session ends' \
'apply:Put another configuration in force, and go back by itself if nobody confirms it' \
'confirm:Keep the configuration that \`rutter apply --confirm\` put in force' \
'rollback:Go back to an earlier configuration' \
'history:List the last configurations that ran\: when, and who put them in force' \
'show:Show sessions, routes, attributes, memory, sinks' \
'explain:Explain a destination\: all candidates, the deciding step, the clients that receive each route' \
'lookup:Look up addresses\: the longest match, its origin, AS path and next hop' \
'enrich:Add columns to CSV or JSON lines\: origin AS, prefix, AS path and next hop of an address' \
'export:Write the table as a file for other programs' \
'clear:Reset a session, or evaluate or advertise its routes again' \
'source:Ask a source of outside data for new data, or accept data that it refused' \
'log:Print the latest log lines of the daemon' \
'stop:Stop the daemon; every session ends with a Cease' \
'top:Show sessions, sources, memory and the log in the terminal, always up to date' \
'completion:Print a script with which a shell completes commands and options' \
'demo:Start a route server and built-in speakers that announce a full table' \
'collect:Run a collector in the foreground until SIGTERM or Ctrl-C' \
'grpc:Answer gRPC from the sockets of a daemon' \
'mrt:Print the routes of MRT files' \
'sql:Answer one SQL query' \
'replay:Play MRT files to a BGP daemon' \
'bench:Measure this program or another BGP daemon under load' \
    )
    _describe -t commands 'rutter commands' commands "$@"
}
(( $+functions[_rutter__subcmd__apply_commands] )) ||
_rutter__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'rutter apply commands' commands "$@"
}
(( $+functions[_rutter__subcmd__bench_commands] )) ||
_rutter__subcmd__bench_commands() {
    local commands; commands=()
    _describe -t commands 'rutter bench commands' commands "$@"
}
(( $+functions[_rutter__subcmd__check_commands] )) ||
_rutter__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'rutter check commands' commands "$@"
}
(( $+functions[_rutter__subcmd__clear_commands] )) ||
_rutter__subcmd__clear_commands() {
    local commands; commands=()
    _describe -t commands 'rutter clear commands' commands "$@"
}
(( $+functions[_rutter__subcmd__collect_commands] )) ||
_rutter__subcmd__collect_commands() {
    local commands; commands=()
    _describe -t commands 'rutter collect commands' commands "$@"
}
(( $+functions[_rutter__subcmd__completion_commands] )) ||
_rutter__subcmd__completion_commands() {
    local commands; commands=()
    _describe -t commands 'rutter completion commands' commands "$@"
}
(( $+functions[_rutter__subcmd__confirm_commands] )) ||
_rutter__subcmd__confirm_commands() {
    local commands; commands=()
    _describe -t commands 'rutter confirm commands' commands "$@"
}
(( $+functions[_rutter__subcmd__demo_commands] )) ||
_rutter__subcmd__demo_commands() {
    local commands; commands=()
    _describe -t commands 'rutter demo commands' commands "$@"
}
(( $+functions[_rutter__subcmd__diff_commands] )) ||
_rutter__subcmd__diff_commands() {
    local commands; commands=()
    _describe -t commands 'rutter diff commands' commands "$@"
}
(( $+functions[_rutter__subcmd__enrich_commands] )) ||
_rutter__subcmd__enrich_commands() {
    local commands; commands=()
    _describe -t commands 'rutter enrich commands' commands "$@"
}
(( $+functions[_rutter__subcmd__explain_commands] )) ||
_rutter__subcmd__explain_commands() {
    local commands; commands=()
    _describe -t commands 'rutter explain commands' commands "$@"
}
(( $+functions[_rutter__subcmd__export_commands] )) ||
_rutter__subcmd__export_commands() {
    local commands; commands=(
'mmdb:Write the table as a MaxMind DB file, for flow and log tools' \
    )
    _describe -t commands 'rutter export commands' commands "$@"
}
(( $+functions[_rutter__subcmd__export__subcmd__mmdb_commands] )) ||
_rutter__subcmd__export__subcmd__mmdb_commands() {
    local commands; commands=()
    _describe -t commands 'rutter export mmdb commands' commands "$@"
}
(( $+functions[_rutter__subcmd__grpc_commands] )) ||
_rutter__subcmd__grpc_commands() {
    local commands; commands=()
    _describe -t commands 'rutter grpc commands' commands "$@"
}
(( $+functions[_rutter__subcmd__history_commands] )) ||
_rutter__subcmd__history_commands() {
    local commands; commands=()
    _describe -t commands 'rutter history commands' commands "$@"
}
(( $+functions[_rutter__subcmd__import_commands] )) ||
_rutter__subcmd__import_commands() {
    local commands; commands=(
'arouteserver:Print the files of ARouteServer as TOML' \
    )
    _describe -t commands 'rutter import commands' commands "$@"
}
(( $+functions[_rutter__subcmd__import__subcmd__arouteserver_commands] )) ||
_rutter__subcmd__import__subcmd__arouteserver_commands() {
    local commands; commands=()
    _describe -t commands 'rutter import arouteserver commands' commands "$@"
}
(( $+functions[_rutter__subcmd__init_commands] )) ||
_rutter__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'rutter init commands' commands "$@"
}
(( $+functions[_rutter__subcmd__log_commands] )) ||
_rutter__subcmd__log_commands() {
    local commands; commands=()
    _describe -t commands 'rutter log commands' commands "$@"
}
(( $+functions[_rutter__subcmd__lookup_commands] )) ||
_rutter__subcmd__lookup_commands() {
    local commands; commands=()
    _describe -t commands 'rutter lookup commands' commands "$@"
}
(( $+functions[_rutter__subcmd__mrt_commands] )) ||
_rutter__subcmd__mrt_commands() {
    local commands; commands=()
    _describe -t commands 'rutter mrt commands' commands "$@"
}
(( $+functions[_rutter__subcmd__reload_commands] )) ||
_rutter__subcmd__reload_commands() {
    local commands; commands=()
    _describe -t commands 'rutter reload commands' commands "$@"
}
(( $+functions[_rutter__subcmd__replay_commands] )) ||
_rutter__subcmd__replay_commands() {
    local commands; commands=()
    _describe -t commands 'rutter replay commands' commands "$@"
}
(( $+functions[_rutter__subcmd__rollback_commands] )) ||
_rutter__subcmd__rollback_commands() {
    local commands; commands=()
    _describe -t commands 'rutter rollback commands' commands "$@"
}
(( $+functions[_rutter__subcmd__run_commands] )) ||
_rutter__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'rutter run commands' commands "$@"
}
(( $+functions[_rutter__subcmd__shadow_commands] )) ||
_rutter__subcmd__shadow_commands() {
    local commands; commands=()
    _describe -t commands 'rutter shadow commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show_commands] )) ||
_rutter__subcmd__show_commands() {
    local commands; commands=(
'status:The daemon\: version, uptime, CPU, memory' \
'peers:All sessions\: state, time in this state, route counts' \
'peer:One session\: negotiated capabilities, counters, timers, last error' \
'routes:Routes as received or as sent to a client, in no particular order' \
'route:The routes to one destination, best first, with all attributes' \
'rejected:Rejected routes with every reason and the evidence' \
'attributes:Distinct attribute sets, the most used first' \
'memory:Memory by purpose' \
'sinks:A collector'\''s databases and brokers\: state, delay, pending rows, gaps, last error' \
'sources:Outside data that filters use\: RPKI caches, IRR servers, files; with age, size and last error' \
'stations:BMP stations to which this daemon reports\: state, sessions, sent messages, waiting changes, last error' \
'routers:Routers that report to a collector by BMP\: sessions, messages, skipped messages' \
    )
    _describe -t commands 'rutter show commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__attributes_commands] )) ||
_rutter__subcmd__show__subcmd__attributes_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show attributes commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__memory_commands] )) ||
_rutter__subcmd__show__subcmd__memory_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show memory commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__peer_commands] )) ||
_rutter__subcmd__show__subcmd__peer_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show peer commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__peers_commands] )) ||
_rutter__subcmd__show__subcmd__peers_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show peers commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__rejected_commands] )) ||
_rutter__subcmd__show__subcmd__rejected_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show rejected commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__route_commands] )) ||
_rutter__subcmd__show__subcmd__route_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show route commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__routers_commands] )) ||
_rutter__subcmd__show__subcmd__routers_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show routers commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__routes_commands] )) ||
_rutter__subcmd__show__subcmd__routes_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show routes commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__sinks_commands] )) ||
_rutter__subcmd__show__subcmd__sinks_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show sinks commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__sources_commands] )) ||
_rutter__subcmd__show__subcmd__sources_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show sources commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__stations_commands] )) ||
_rutter__subcmd__show__subcmd__stations_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show stations commands' commands "$@"
}
(( $+functions[_rutter__subcmd__show__subcmd__status_commands] )) ||
_rutter__subcmd__show__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'rutter show status commands' commands "$@"
}
(( $+functions[_rutter__subcmd__source_commands] )) ||
_rutter__subcmd__source_commands() {
    local commands; commands=()
    _describe -t commands 'rutter source commands' commands "$@"
}
(( $+functions[_rutter__subcmd__sql_commands] )) ||
_rutter__subcmd__sql_commands() {
    local commands; commands=()
    _describe -t commands 'rutter sql commands' commands "$@"
}
(( $+functions[_rutter__subcmd__stop_commands] )) ||
_rutter__subcmd__stop_commands() {
    local commands; commands=()
    _describe -t commands 'rutter stop commands' commands "$@"
}
(( $+functions[_rutter__subcmd__top_commands] )) ||
_rutter__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'rutter top commands' commands "$@"
}
(( $+functions[_rutter__subcmd__upgrade_commands] )) ||
_rutter__subcmd__upgrade_commands() {
    local commands; commands=()
    _describe -t commands 'rutter upgrade commands' commands "$@"
}

if [ "$funcstack[1]" = "_rutter" ]; then
    _rutter "$@"
else
    compdef _rutter rutter
fi
