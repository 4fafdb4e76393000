-- What was measured of a running trial where there are several metrics: the value of each that is modelled, as doubles.  value is
-- still that of the first objective.  NULL: there is one metric.
ALTER TABLE measurement ADD COLUMN outcome BLOB;
