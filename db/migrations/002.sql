-- Names that changed on the wire, in what is stored as JSON.
UPDATE trial SET diagnostics = json_remove(json_set(diagnostics, '$.fit_ms', json_extract(diagnostics, '$.fit_milliseconds'),
    '$.acquisition', replace(json_extract(diagnostics, '$.acquisition'), 'scalarised', 'scalarized')), '$.fit_milliseconds')
    WHERE diagnostics IS NOT NULL;
UPDATE study_spec SET spec = json_remove(json_set(spec, '$.algorithm.seat', json_extract(spec, '$.algorithm.agent')),
    '$.algorithm.agent') WHERE json_extract(spec, '$.algorithm.agent') IS NOT NULL;
