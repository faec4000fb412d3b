-- Peers of a router may differ only in their type (RFC 7854 section 4.2). The type of an existing peer follows from its other columns.
ALTER TABLE rutter_peers ADD COLUMN peer_type text;
UPDATE rutter_peers SET peer_type = CASE
    WHEN source <> 'bmp' THEN 'global'
    WHEN view = 'loc-rib' THEN 'loc-rib'
    WHEN peer_name LIKE '% local' THEN 'local'
    WHEN distinguisher <> 0 THEN 'rd'
    ELSE 'global' END;
ALTER TABLE rutter_peers ALTER COLUMN peer_type SET NOT NULL;
ALTER TABLE rutter_peers DROP CONSTRAINT rutter_peers_collector_id_router_peer_address_distinguisher_key;
ALTER TABLE rutter_peers ADD CONSTRAINT rutter_peers_key
    UNIQUE (collector_id, router, peer_address, distinguisher, view, peer_type);
