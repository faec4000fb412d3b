-- The time of the row before the position. If the position goes back, the gap names the time from which rows are missing.
SET @todo = IF(EXISTS (SELECT * FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'rutter_collectors' AND column_name = 'time'),
    'DO 0', 'ALTER TABLE rutter_collectors ADD COLUMN time datetime(6)');
PREPARE todo FROM @todo;
EXECUTE todo;
DEALLOCATE PREPARE todo;
