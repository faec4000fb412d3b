-- Peers of a router may differ only in their type (RFC 7854 section 4.2). The type of an existing peer follows from its other columns.
SET @todo = IF(EXISTS (SELECT * FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'rutter_peers' AND column_name = 'peer_type'),
    'DO 0', 'ALTER TABLE rutter_peers ADD COLUMN peer_type varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL');
PREPARE todo FROM @todo;
EXECUTE todo;

UPDATE rutter_peers SET peer_type = CASE
    WHEN source <> 'bmp' THEN 'global'
    WHEN view = 'loc-rib' THEN 'loc-rib'
    WHEN peer_name LIKE '% local' THEN 'local'
    WHEN distinguisher <> 0 THEN 'rd'
    ELSE 'global' END
WHERE peer_type = '';

SET @todo = IF(EXISTS (SELECT * FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'rutter_peers' AND index_name = 'rutter_peers_key'),
    'DO 0', 'ALTER TABLE rutter_peers DROP INDEX collector_id, ADD UNIQUE KEY rutter_peers_key
        (collector_id, router, peer_address, distinguisher, view, peer_type)');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;
