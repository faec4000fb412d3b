-- The collectors that write here, with their positions, which are committed together with the rows.
CREATE TABLE IF NOT EXISTS rutter_collectors (
    collector_id int NOT NULL AUTO_INCREMENT PRIMARY KEY,
    collector    varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL UNIQUE,
    run          bigint,
    next_seq     bigint,
    state        varchar(16) NOT NULL DEFAULT 'loading',
    updated      datetime(6) NOT NULL DEFAULT (utc_timestamp(6))
) ENGINE = InnoDB;

-- Every peer ever seen, with its present state.
CREATE TABLE IF NOT EXISTS rutter_peers (
    peer_id       int NOT NULL AUTO_INCREMENT PRIMARY KEY,
    collector_id  int NOT NULL,
    router        varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    peer_address  varchar(45) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    distinguisher bigint unsigned NOT NULL,
    view          varchar(16) CHARACTER SET ascii NOT NULL,
    peer_name     text CHARACTER SET utf8mb4 NOT NULL,
    peer_asn      int unsigned NOT NULL,
    bgp_id        varchar(15) CHARACTER SET ascii,
    source        varchar(8) CHARACTER SET ascii NOT NULL,
    state         varchar(16) CHARACTER SET ascii NOT NULL,
    since         datetime(6),
    detail        mediumtext CHARACTER SET utf8mb4 NOT NULL,
    UNIQUE (collector_id, router, peer_address, distinguisher, view)
) ENGINE = InnoDB;

-- The current routes of every peer. Addresses are 4 or 16 bytes, so that they sort and compare as numbers do.
CREATE TABLE IF NOT EXISTS rutter_routes (
    peer_id              int NOT NULL,
    network              varbinary(16) NOT NULL,
    length               tinyint unsigned NOT NULL,
    path_id              int unsigned NOT NULL,
    prefix               varchar(43) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    time                 datetime(6) NOT NULL,
    origin               varchar(10) CHARACTER SET ascii,
    as_path              mediumtext CHARACTER SET ascii,
    origin_as            int unsigned,
    next_hop             varchar(45) CHARACTER SET ascii,
    med                  int unsigned,
    local_pref           int unsigned,
    communities          mediumtext CHARACTER SET ascii,
    extended_communities mediumtext CHARACTER SET ascii,
    large_communities    mediumtext CHARACTER SET ascii,
    PRIMARY KEY (peer_id, network, length, path_id),
    KEY rutter_routes_network (network, length)
) ENGINE = InnoDB;

-- All events, in the order of (run, seq).
CREATE TABLE IF NOT EXISTS rutter_events (
    collector_id         int NOT NULL,
    run                  bigint NOT NULL,
    seq                  bigint NOT NULL,
    time                 datetime(6) NOT NULL,
    peer_id              int,
    kind                 varchar(16) CHARACTER SET ascii NOT NULL,
    network              varbinary(16),
    length               tinyint unsigned,
    path_id              int unsigned,
    prefix               varchar(43) CHARACTER SET ascii COLLATE ascii_bin,
    origin               varchar(10) CHARACTER SET ascii,
    as_path              mediumtext CHARACTER SET ascii,
    origin_as            int unsigned,
    next_hop             varchar(45) CHARACTER SET ascii,
    med                  int unsigned,
    local_pref           int unsigned,
    communities          mediumtext CHARACTER SET ascii,
    extended_communities mediumtext CHARACTER SET ascii,
    large_communities    mediumtext CHARACTER SET ascii,
    detail               mediumtext CHARACTER SET utf8mb4 NOT NULL,
    PRIMARY KEY (collector_id, run, seq)
) ENGINE = InnoDB;

-- The same rows with the columns that every schema of Rutter has.
CREATE OR REPLACE VIEW rutter_current AS
SELECT r.time, c.collector, p.router, p.peer_name, p.peer_address, p.peer_asn, p.view,
       r.prefix, r.network, r.length, r.path_id, r.origin, r.as_path, r.origin_as, r.next_hop, r.med, r.local_pref,
       r.communities, r.extended_communities, r.large_communities
FROM rutter_routes r JOIN rutter_peers p USING (peer_id) JOIN rutter_collectors c USING (collector_id);

CREATE OR REPLACE VIEW rutter_history AS
SELECT e.run, e.seq, e.time, c.collector, p.router, p.peer_name, p.peer_address, p.peer_asn, p.view,
       e.kind, e.prefix, e.network, e.length, e.path_id, e.origin, e.as_path, e.origin_as, e.next_hop, e.med,
       e.local_pref, e.communities, e.extended_communities, e.large_communities, e.detail
FROM rutter_events e JOIN rutter_collectors c USING (collector_id) LEFT JOIN rutter_peers p USING (peer_id);
