-- The time of the row before the position: a gap says from when on rows are missing where the position goes back.
ALTER TABLE rutter_collectors ADD COLUMN time timestamptz;
