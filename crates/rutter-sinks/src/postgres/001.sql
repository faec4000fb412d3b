-- The collectors that write here, with their positions, which are committed together with the rows.
CREATE TABLE rutter_collectors (
    collector_id serial PRIMARY KEY,
    collector    text NOT NULL UNIQUE,
    run          bigint,
    next_seq     bigint,
    state        text NOT NULL DEFAULT 'loading',
    updated      timestamptz NOT NULL DEFAULT now()
);

-- Every peer ever seen, with its present state.
CREATE TABLE rutter_peers (
    peer_id       serial PRIMARY KEY,
    collector_id  integer NOT NULL REFERENCES rutter_collectors,
    router        text NOT NULL,
    peer_address  inet NOT NULL,
    distinguisher numeric(20, 0) NOT NULL,
    view          text NOT NULL,
    peer_name     text NOT NULL,
    peer_asn      bigint NOT NULL,
    bgp_id        inet,
    source        text NOT NULL,
    state         text NOT NULL,
    since         timestamptz,
    detail        text NOT NULL DEFAULT '',
    UNIQUE (collector_id, router, peer_address, distinguisher, view)
);

-- The current routes of every peer.
CREATE TABLE rutter_routes (
    peer_id              integer NOT NULL,
    prefix               cidr NOT NULL,
    path_id              bigint NOT NULL,
    time                 timestamptz NOT NULL,
    origin               text,
    as_path              text,
    origin_as            bigint,
    next_hop             inet,
    med                  bigint,
    local_pref           bigint,
    communities          text[] NOT NULL,
    extended_communities text[] NOT NULL,
    large_communities    text[] NOT NULL,
    PRIMARY KEY (peer_id, prefix, path_id)
) WITH (fillfactor = 90);
CREATE INDEX rutter_routes_prefix ON rutter_routes (prefix);

-- All events, in the order of (run, seq).
CREATE TABLE rutter_events (
    collector_id         integer NOT NULL,
    run                  bigint NOT NULL,
    seq                  bigint NOT NULL,
    time                 timestamptz NOT NULL,
    peer_id              integer,
    kind                 text NOT NULL,
    prefix               cidr,
    path_id              bigint,
    origin               text,
    as_path              text,
    origin_as            bigint,
    next_hop             inet,
    med                  bigint,
    local_pref           bigint,
    communities          text[],
    extended_communities text[],
    large_communities    text[],
    detail               text NOT NULL
);
CREATE INDEX rutter_events_time ON rutter_events USING brin (time);

-- The same rows with the columns that every schema of Rutter has.
CREATE VIEW rutter_current AS
SELECT r.time, c.collector, p.router, p.peer_name, p.peer_address, p.peer_asn, p.view,
       r.prefix, r.path_id, r.origin, r.as_path, r.origin_as, r.next_hop, r.med, r.local_pref,
       r.communities, r.extended_communities, r.large_communities
FROM rutter_routes r JOIN rutter_peers p USING (peer_id) JOIN rutter_collectors c USING (collector_id);

CREATE VIEW rutter_history AS
SELECT e.run, e.seq, e.time, c.collector, p.router, p.peer_name, p.peer_address, p.peer_asn, p.view,
       e.kind, e.prefix, e.path_id, e.origin, e.as_path, e.origin_as, e.next_hop, e.med, e.local_pref,
       e.communities, e.extended_communities, e.large_communities, e.detail
FROM rutter_events e JOIN rutter_collectors c USING (collector_id) LEFT JOIN rutter_peers p USING (peer_id);
