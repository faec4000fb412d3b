-- The time of the row before the position. If the position goes back, the gap names the time from which rows are missing.
ALTER TABLE rutter_collectors ADD COLUMN time timestamptz;
