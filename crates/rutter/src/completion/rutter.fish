# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_rutter_global_optspecs
    string join \n socket= json color= h/help V/version
end

function __fish_rutter_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_rutter_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_rutter_using_subcommand
    set -l cmd (__fish_rutter_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c rutter -n "__fish_rutter_needs_command" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_needs_command" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_needs_command" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_needs_command" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_needs_command" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "run" -d 'Run the daemon in the foreground until SIGTERM or Ctrl-C'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "init" -d 'Write the first configuration of an exchange, from options and questions'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "check" -d 'Check a configuration and report every error in it'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "import" -d 'Convert the files of another program to a configuration'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "diff" -d 'Compare two configurations: the changes, and the sessions that they reset'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "shadow" -d 'Compare what another route server advertises with what Rutter would'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "reload" -d 'Reload the daemon\'s configuration, all or nothing'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "upgrade" -d 'Let the installed version take over from the running daemon; no session ends'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "apply" -d 'Put another configuration in force, and go back by itself if nobody confirms it'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "confirm" -d 'Keep the configuration that `rutter apply --confirm` put in force'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "rollback" -d 'Go back to an earlier configuration'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "history" -d 'List the last configurations that ran: when, and who put them in force'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "show" -d 'Show sessions, routes, attributes, memory, sinks'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "explain" -d 'Explain a destination: all candidates, the deciding step, the clients that receive each route'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "lookup" -d 'Look up addresses: the longest match, its origin, AS path and next hop'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "enrich" -d 'Add columns to CSV or JSON lines: origin AS, prefix, AS path and next hop of an address'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "export" -d 'Write the table as a file for other programs'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "clear" -d 'Reset a session, or evaluate or advertise its routes again'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "source" -d 'Ask a source of outside data for new data, or accept data that it refused'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "log" -d 'Print the latest log lines of the daemon'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "stop" -d 'Stop the daemon; every session ends with a Cease'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "top" -d 'Show sessions, sources, memory and the log in the terminal, always up to date'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "completion" -d 'Print a script with which a shell completes commands and options'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "demo" -d 'Start a route server and built-in speakers that announce a full table'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "collect" -d 'Run a collector in the foreground until SIGTERM or Ctrl-C'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "grpc" -d 'Answer gRPC from the sockets of a daemon'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "mrt" -d 'Print the routes of MRT files'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "sql" -d 'Answer one SQL query'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "replay" -d 'Play MRT files to a BGP daemon'
complete -c rutter -n "__fish_rutter_needs_command" -f -a "bench" -d 'Measure this program or another BGP daemon under load'
complete -c rutter -n "__fish_rutter_using_subcommand run" -l arouteserver -d 'Run an exchange from the files general.yml and clients.yml of ARouteServer' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand run" -l bogons -d 'The file `bogons.yml`' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand run" -l peeringdb -d 'A dump of PeeringDB\'s networks as JSON, from its API at /api/net' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand run" -l rtt-file -d 'A file with the round-trip times of clients: lines of address and milliseconds, or JSON' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand run" -l lan -d 'A peering LAN; may be repeated [default: taken from the black list and the clients]' -r
complete -c rutter -n "__fish_rutter_using_subcommand run" -l rtr -d 'An RTR cache, host:port; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand run" -l irr-server -d 'An IRRd server; may be repeated [default: rr.ntt.net]' -r
complete -c rutter -n "__fish_rutter_using_subcommand run" -l irr-source -d 'A database of the IRR server; may be repeated [default: those of the server]' -r
complete -c rutter -n "__fish_rutter_using_subcommand run" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand run" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand run" -l end-with-stdin -d 'End when standard input is closed: for programs that start a daemon of their own'
complete -c rutter -n "__fish_rutter_using_subcommand run" -l take-over -d 'Take over from the daemon at standard input, which started this process: see `rutter upgrade`'
complete -c rutter -n "__fish_rutter_using_subcommand run" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand run" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand run" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand init" -l asn -d 'The AS number of the route server' -r
complete -c rutter -n "__fish_rutter_using_subcommand init" -l router-id -d 'The BGP Identifier: an IPv4 address of the route server' -r
complete -c rutter -n "__fish_rutter_using_subcommand init" -l lan -d 'A peering LAN; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand init" -l member -d 'A member: AS number, addresses and AS-SETs; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand init" -l rtr -d 'A validator that serves RTR; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand init" -l irr-server -d 'An IRRd server for filters by AS-SET' -r
complete -c rutter -n "__fish_rutter_using_subcommand init" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand init" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand init" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand init" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand init" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand check" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand check" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand check" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand check" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand check" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand import; and not __fish_seen_subcommand_from arouteserver" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand import; and not __fish_seen_subcommand_from arouteserver" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand import; and not __fish_seen_subcommand_from arouteserver" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand import; and not __fish_seen_subcommand_from arouteserver" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand import; and not __fish_seen_subcommand_from arouteserver" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand import; and not __fish_seen_subcommand_from arouteserver" -f -a "arouteserver" -d 'Print the files of ARouteServer as TOML'
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -l bogons -d 'The file `bogons.yml`' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -l peeringdb -d 'A dump of PeeringDB\'s networks as JSON, from its API at /api/net' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -l rtt-file -d 'A file with the round-trip times of clients: lines of address and milliseconds, or JSON' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -l lan -d 'A peering LAN; may be repeated [default: taken from the black list and the clients]' -r
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -l rtr -d 'An RTR cache, host:port; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -l irr-server -d 'An IRRd server; may be repeated [default: rr.ntt.net]' -r
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -l irr-source -d 'A database of the IRR server; may be repeated [default: those of the server]' -r
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand import; and __fish_seen_subcommand_from arouteserver" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand diff" -l against -d 'The old configuration: a file, or `running` for the one in force in the daemon' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand diff" -l limit -d 'List this many of these routes, with --routes or --sources' -r
complete -c rutter -n "__fish_rutter_using_subcommand diff" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand diff" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand diff" -l routes -d 'Also count the routes that would be accepted and rejected, by neighbor'
complete -c rutter -n "__fish_rutter_using_subcommand diff" -l sources -d 'Count the routes that would change if you accepted the data which a source refused'
complete -c rutter -n "__fish_rutter_using_subcommand diff" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand diff" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand diff" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand shadow" -l received -d 'MRT files or folders with the routes that the other route server receives, in order of time' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand shadow" -l advertised -d 'MRT files, folders or BIRD\'s text with the routes that the other route server advertises to a member; without `MEMBER=`, MRT files with a peer for each member' -r
complete -c rutter -n "__fish_rutter_using_subcommand shadow" -l member -d 'Compare only this member: name, address or AS number' -r
complete -c rutter -n "__fish_rutter_using_subcommand shadow" -l limit -d 'List this many differences of each member [default: 10; all with --json]' -r
complete -c rutter -n "__fish_rutter_using_subcommand shadow" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand shadow" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand shadow" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand shadow" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand shadow" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand reload" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand reload" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand reload" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand reload" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand reload" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand upgrade" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand upgrade" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand upgrade" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand upgrade" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand upgrade" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand apply" -l confirm -d 'Go back after this time, unless `rutter confirm` comes first: 90s, 10m, 1h' -r
complete -c rutter -n "__fish_rutter_using_subcommand apply" -l max-loss -d 'Go back if a neighbor loses more than this part of its routes: 2%' -r
complete -c rutter -n "__fish_rutter_using_subcommand apply" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand apply" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand apply" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand apply" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand apply" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand confirm" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand confirm" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand confirm" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand confirm" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand confirm" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand rollback" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand rollback" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand rollback" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand rollback" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand rollback" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand history" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand history" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand history" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand history" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand history" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "status" -d 'The daemon: version, uptime, CPU, memory'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "peers" -d 'All sessions: state, time in this state, route counts'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "peer" -d 'One session: negotiated capabilities, counters, timers, last error'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "routes" -d 'Routes as received or as sent to a client, in no particular order'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "route" -d 'The routes to one destination, best first, with all attributes'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "rejected" -d 'Rejected routes with every reason and the evidence'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "attributes" -d 'Distinct attribute sets, the most used first'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "memory" -d 'Memory by purpose'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "sinks" -d 'A collector\'s databases and brokers: state, delay, pending rows, gaps, last error'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "sources" -d 'Outside data that filters use: RPKI caches, IRR servers, files; with age, size and last error'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "stations" -d 'BMP stations to which this daemon reports: state, sessions, sent messages, waiting changes, last error'
complete -c rutter -n "__fish_rutter_using_subcommand show; and not __fish_seen_subcommand_from status peers peer routes route rejected attributes memory sinks sources stations routers" -f -a "routers" -d 'Routers that report to a collector by BMP: sessions, messages, skipped messages'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from status" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from status" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from status" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from peers" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from peers" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from peers" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from peers" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from peers" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from peer" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from peer" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from peer" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from peer" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from peer" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l advertised-to -d 'As sent to this client: name, address or AS number' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l why -d 'Withheld for this reason: own-route, communities, blackhole, …' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l peer -d 'Routes from this neighbor: name, address or AS number' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l family -d 'Routes of this family: ipv4 or ipv6' -r -f -a "ipv4\t'IPv4 unicast'
ipv6\t'IPv6 unicast'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l within -d 'Routes to this prefix and to all prefixes inside it' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l origin-as -d 'Routes that this AS originates' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l path-as -d 'Routes with this AS anywhere in the path' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l community -d 'Routes with this community: 64500:1, 64500:1:2 or a name (no-export, blackhole, graceful-shutdown)' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l limit -d 'Limit the number of rows' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l rejected -d 'Rejected routes only'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l best -d 'The best route of each destination only'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l withheld -d 'The better routes that the client is not sent, each with the reason'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l count -d 'The number of routes that the client is sent and not sent'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routes" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from route" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from route" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from route" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from route" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from route" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l reason -d 'Routes rejected for this reason: name or number' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l peer -d 'Routes from this neighbor: name, address or AS number' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l family -d 'Routes of this family: ipv4 or ipv6' -r -f -a "ipv4\t'IPv4 unicast'
ipv6\t'IPv6 unicast'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l within -d 'Routes to this prefix and to all prefixes inside it' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l origin-as -d 'Routes that this AS originates' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l path-as -d 'Routes with this AS anywhere in the path' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l community -d 'Routes with this community: 64500:1, 64500:1:2 or a name (no-export, blackhole, graceful-shutdown)' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l limit -d 'Limit the number of rows' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from rejected" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from attributes" -l limit -d 'Limit the number of rows' -r
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from attributes" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from attributes" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from attributes" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from attributes" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from attributes" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from memory" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from memory" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from memory" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from memory" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from memory" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from sinks" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from sinks" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from sinks" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from sinks" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from sinks" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from sources" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from sources" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from sources" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from sources" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from sources" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from stations" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from stations" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from stations" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from stations" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from stations" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routers" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routers" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routers" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routers" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand show; and __fish_seen_subcommand_from routers" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand explain" -l from -d 'Assume that this neighbor announces the prefix: name, address or AS number' -r
complete -c rutter -n "__fish_rutter_using_subcommand explain" -l path -d 'The AS_PATH of the assumed route [default: the AS of the neighbor]' -r
complete -c rutter -n "__fish_rutter_using_subcommand explain" -l community -d 'The communities of the assumed route, standard or large' -r
complete -c rutter -n "__fish_rutter_using_subcommand explain" -l next-hop -d 'The next hop of the assumed route [default: the address of the neighbor]' -r
complete -c rutter -n "__fish_rutter_using_subcommand explain" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand explain" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand explain" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand explain" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand explain" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand lookup" -l peer -d 'Use routes of this neighbor: name, address, AS number or a monitored router; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand lookup" -l next-hop -d 'Use routes with this next hop; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand lookup" -l mrt -d 'Use this MRT table dump instead of the daemon\'s table; plain or compressed, a folder, or `-` for standard input' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand lookup" -l vrps -d 'Validate origins with the VRPs in this JSON file (of Routinator, rpki-client, FORT and others)' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand lookup" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand lookup" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand lookup" -l or-best -d 'If none of the selected routes matches, show the best of all routes, marked (not for `-`)'
complete -c rutter -n "__fish_rutter_using_subcommand lookup" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand lookup" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand lookup" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -s c -l column -d 'The column with the address: its name, or its number from 1 with --no-header' -r
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l format -d 'csv, or json for one object a line [default: by the first file\'s extension, else csv]' -r -f -a "csv\t'Comma-separated values'
json\t'An object a line'"
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l delimiter -d 'The byte between CSV fields; `\\t` for a tab' -r
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l add -d 'Columns to add: asn, prefix, as_path, next_hop, rov [default: all; rov only with --vrps]' -r -f -a "asn\t'Origin AS'
prefix\t'Prefix'
as_path\t'AS path'
next_hop\t'Next hop'
rov\t'Origin validation'"
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l label -d 'Prefix the names of the new columns with NAME_' -r
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l peer -d 'Use routes of this neighbor: name, address, AS number or a monitored router; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l next-hop -d 'Use routes with this next hop; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l mrt -d 'Use this MRT table dump instead of the daemon\'s table; plain or compressed, a folder, or `-` for standard input' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l vrps -d 'Validate origins with the VRPs in this JSON file (of Routinator, rpki-client, FORT and others)' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l no-header -d 'The first CSV row is data, not column names'
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand enrich" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand export; and not __fish_seen_subcommand_from mmdb" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand export; and not __fish_seen_subcommand_from mmdb" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand export; and not __fish_seen_subcommand_from mmdb" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand export; and not __fish_seen_subcommand_from mmdb" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand export; and not __fish_seen_subcommand_from mmdb" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand export; and not __fish_seen_subcommand_from mmdb" -f -a "mmdb" -d 'Write the table as a MaxMind DB file, for flow and log tools'
complete -c rutter -n "__fish_rutter_using_subcommand export; and __fish_seen_subcommand_from mmdb" -l peer -d 'Use routes of this neighbor: name, address, AS number or a monitored router; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand export; and __fish_seen_subcommand_from mmdb" -l next-hop -d 'Use routes with this next hop; may be repeated' -r
complete -c rutter -n "__fish_rutter_using_subcommand export; and __fish_seen_subcommand_from mmdb" -l mrt -d 'Use this MRT table dump instead of the daemon\'s table; plain or compressed, a folder, or `-` for standard input' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand export; and __fish_seen_subcommand_from mmdb" -l vrps -d 'Validate origins with the VRPs in this JSON file (of Routinator, rpki-client, FORT and others)' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand export; and __fish_seen_subcommand_from mmdb" -l database-type -d 'The database type in the metadata; some readers refuse unknown types' -r
complete -c rutter -n "__fish_rutter_using_subcommand export; and __fish_seen_subcommand_from mmdb" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand export; and __fish_seen_subcommand_from mmdb" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand export; and __fish_seen_subcommand_from mmdb" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand export; and __fish_seen_subcommand_from mmdb" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand export; and __fish_seen_subcommand_from mmdb" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand clear" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand clear" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand clear" -l soft-in -d 'Keep the session and re-evaluate the import policy for the received routes'
complete -c rutter -n "__fish_rutter_using_subcommand clear" -l soft-out -d 'Keep the session and advertise all routes to the neighbor again'
complete -c rutter -n "__fish_rutter_using_subcommand clear" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand clear" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand clear" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand source" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand source" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand source" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand source" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rutter -n "__fish_rutter_using_subcommand source" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand log" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand log" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand log" -s f -l follow -d 'Wait for new lines and print them'
complete -c rutter -n "__fish_rutter_using_subcommand log" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand log" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand log" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand stop" -l text -d 'Text for the neighbors (RFC 9003)' -r
complete -c rutter -n "__fish_rutter_using_subcommand stop" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand stop" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand stop" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand stop" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand stop" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand top" -l interval -d 'Seconds between two pictures, from 0.1' -r
complete -c rutter -n "__fish_rutter_using_subcommand top" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand top" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand top" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rutter -n "__fish_rutter_using_subcommand top" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand completion" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand completion" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand completion" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand completion" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rutter -n "__fish_rutter_using_subcommand completion" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l speakers -d 'Speakers; each announces a part of the table and receives the rest' -r
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l routes-per-destination -d 'Routes for each destination, on average' -r
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l destinations -d 'Destinations of the generated table (15 in 100 are IPv6)' -r
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l prefixes -d 'Take the destinations from this list, one prefix a line, plain or .gz' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l mrt -d 'Take the destinations from this MRT table dump (TABLE_DUMP_V2), plain or .gz' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l threads -d 'I/O threads of the route server; 0: one per core' -r
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l seed -d 'Seed of the generated table' -r
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l socket -d 'The daemon\'s management socket [default: /run/rutter/rutter.sock, else that of a running demo]' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l color -d 'Use colors: auto, always or never. NO_COLOR in the environment turns them off' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l once -d 'Exit after the report'
complete -c rutter -n "__fish_rutter_using_subcommand demo" -l json -d 'Print JSON, one object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand demo" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand demo" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand collect" -l socket -d 'The daemon\'s management socket, in place of the configured one' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand collect" -l mrt -d 'Load these MRT files into the table first: files, folders, or - for standard input' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand collect" -l mrt-router -d 'Name of the collector or router of the MRT files' -r
complete -c rutter -n "__fish_rutter_using_subcommand collect" -l feeds -d 'With --demo: the number of speakers, half of them with all IPv4 prefixes, half with all' -r
complete -c rutter -n "__fish_rutter_using_subcommand collect" -l destinations -d 'With --demo: the number of prefixes of a full feed (15 in 100 are IPv6)' -r
complete -c rutter -n "__fish_rutter_using_subcommand collect" -l prefixes -d 'With --demo: take the prefixes from this list, one a line, plain or .gz' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand collect" -l demo -d 'Collect from built-in speakers, with a generated configuration'
complete -c rutter -n "__fish_rutter_using_subcommand collect" -l once -d 'With --demo: end after the report instead of staying up'
complete -c rutter -n "__fish_rutter_using_subcommand collect" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand collect" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -l listen -d 'Serve clients at this address' -r
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -l socket -d 'Ask the daemon on this socket' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -l control-socket -d 'Also serve the methods that change the daemon, on this socket' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -l token-file -d 'A file with tokens: a line each, with a role and the SHA-256 of the token' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -l anonymous -d 'The role of clients without a token [default: read; with --token-file nothing]' -r
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -l tls-cert -d 'The certificate chain of this server (PEM): clients connect with TLS' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -l tls-key -d 'Its private key (PEM)' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -l client-ca -d 'Accept only clients with a certificate of these authorities (PEM)' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -l requests-per-second -d 'The requests a second of one address (IPv6: of a /64); after a pause five times as many at' -r
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -l insecure-listen -d 'Serve other machines without TLS'
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -s h -l help -d 'Print help (see a summary with \'-h\')'
complete -c rutter -n "__fish_rutter_using_subcommand grpc" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand mrt" -l json -d 'Print a JSON object a line, for programs'
complete -c rutter -n "__fish_rutter_using_subcommand mrt" -l count -d 'Print only the number of records and routes'
complete -c rutter -n "__fish_rutter_using_subcommand mrt" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand mrt" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l server -d 'The collector to query' -r
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l user -d 'User name' -r
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l password -d 'The password, if the collector requires one' -r
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l tls-root -d 'Use TLS and verify the collector: this PEM file has its certificate, or the authority that' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l mrt -d 'Query these MRT files, folders, or - for standard input: they become the tables `routes`,' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l history -d 'Query this archive of a collector: its tables are `events` and `snapshots`' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l at -d 'The table as of this time, UTC: `routes`, and `events` up to then' -r
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l parquet -d 'Query Parquet files: each file or folder is a table with its name; may be repeated' -r -F
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l files -d 'Let the query name files as tables: FROM \'events.parquet\''
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l json -d 'Print a JSON object for each row'
complete -c rutter -n "__fish_rutter_using_subcommand sql" -l csv -d 'Print comma-separated values'
complete -c rutter -n "__fish_rutter_using_subcommand sql" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand sql" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand replay" -l to -d 'The BGP daemon; the port is 179 unless given' -r
complete -c rutter -n "__fish_rutter_using_subcommand replay" -l asn -d 'Our AS number [default: that of the peer in the file]' -r
complete -c rutter -n "__fish_rutter_using_subcommand replay" -l peer -d 'Play only the routes of this peer of the files' -r
complete -c rutter -n "__fish_rutter_using_subcommand replay" -l from -d 'Our address: the source of the session' -r
complete -c rutter -n "__fish_rutter_using_subcommand replay" -l each-from -d 'Open a session for each peer of the files, from addresses in this prefix' -r
complete -c rutter -n "__fish_rutter_using_subcommand replay" -l speed -d '`recorded`, `full`, or how many times as fast as recorded' -r
complete -c rutter -n "__fish_rutter_using_subcommand replay" -l end -d 'End the sessions after the last route, instead of keeping them up'
complete -c rutter -n "__fish_rutter_using_subcommand replay" -s h -l help -d 'Print help'
complete -c rutter -n "__fish_rutter_using_subcommand replay" -s V -l version -d 'Print version'
complete -c rutter -n "__fish_rutter_using_subcommand bench" -s V -l version -d 'Print version'
