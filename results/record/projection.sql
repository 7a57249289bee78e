-- How the tables follow from the records. A record's row in `record` is ?1, its body ?2; these
-- statements run in this order when it is appended, and `assay verify` runs them again, for all
-- records in the order of their rows, and compares. Part of the format (FORMAT.md).
--
-- assay_hex(TEXT) gives the bytes of hex digits, assay_real(TEXT) the double nearest to a JSON
-- number, assay_sha256(TEXT) a digest; each gives NULL for anything else. A member that a bundle
-- left out is {"withheld": ...}, which the tables show as '(withheld)'.

--- declaration
INSERT INTO declaration (record, kind, name, version, digest, origin)
SELECT ?1, ?2 ->> '$.kind', ?2 ->> '$.name', ?2 ->> '$.version', assay_hex(?2 ->> '$.json.blob'),
       iif(json_type(?2, '$.origin') = 'object', '(withheld)', ?2 ->> '$.origin');

--- campaign
INSERT INTO campaign (record, uid, created_utc_ns, plan, protocol, order_seed, command,
                      tool_version, tool_digest)
SELECT ?1, ?2 ->> '$.uid', ?2 ->> '$.created_utc_ns', assay_hex(?2 ->> '$.plan.blob'),
       assay_hex(?2 ->> '$.protocol.blob'), ?2 ->> '$.order_seed',
       iif(json_type(?2, '$.command') = 'object', '(withheld)', ?2 ->> '$.command'),
       ?2 ->> '$.tool_version', assay_hex(?2 ->> '$.tool_digest');
INSERT INTO cell (campaign, ordinal, workload, protocol, workload_name, protocol_name, kind,
                  precision, scenario, implementation, batch, seed, backend, device_index,
                  device_spec, flops, flops_formula, bytes, bytes_formula, items, item_name,
                  device_memory_bytes, working_set_bytes, headline, trials)
SELECT (SELECT id FROM campaign WHERE record = ?1), key + 1, assay_hex(value ->> '$.workload.blob'),
       assay_hex(value ->> '$.protocol.blob'), value ->> '$.workload_name',
       value ->> '$.protocol_name', value ->> '$.kind', value ->> '$.precision',
       value ->> '$.scenario', value ->> '$.implementation', value ->> '$.batch',
       value ->> '$.seed', value ->> '$.backend', value ->> '$.device_index',
       value ->> '$.device_spec', value ->> '$.flops', value ->> '$.flops_formula',
       value ->> '$.bytes', value ->> '$.bytes_formula', value ->> '$.items',
       value ->> '$.item_name', value ->> '$.device_memory_bytes',
       value ->> '$.working_set_bytes', value ->> '$.headline', value ->> '$.trials'
FROM json_each(?2, '$.cells');
INSERT INTO planned_trial (campaign, sequence, cell)
SELECT g.id, key + 1, (SELECT id FROM cell c WHERE c.campaign = g.id AND c.ordinal = value)
FROM json_each(?2, '$.order') JOIN campaign g ON g.record = ?1;

--- event
INSERT INTO campaign_event (campaign, utc_ns, event, detail)
SELECT g.id, ?2 ->> '$.utc_ns', ?2 ->> '$.event',
       iif(json_type(?2, '$.detail') = 'object', '(withheld)', ?2 ->> '$.detail')
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = assay_hex(?2 ->> '$.campaign.record');

--- choice
INSERT INTO choice (cell, created_utc_ns, content)
SELECT c.id, ?2 ->> '$.created_utc_ns', assay_hex(?2 ->> '$.choice.blob')
FROM record r JOIN campaign g ON g.record = r.id JOIN cell c ON c.campaign = g.id
WHERE r.digest = assay_hex(?2 ->> '$.campaign.record') AND c.ordinal = ?2 ->> '$.cell';

--- readings
INSERT INTO reading_set (record) VALUES (?1);
WITH told (name, body) AS MATERIALIZED (
    SELECT key, iif(json_type(value, '$.withheld') IS NULL, value,
                    '{"reason":"withheld","status":"denied","value":null}')
    FROM json_each(?2, '$.readings')
)
INSERT INTO reading (digest, name, body)
SELECT assay_sha256(name || char(10) || body), name, body FROM told WHERE true
ON CONFLICT DO NOTHING;
WITH told (name, body) AS MATERIALIZED (
    SELECT key, iif(json_type(value, '$.withheld') IS NULL, value,
                    '{"reason":"withheld","status":"denied","value":null}')
    FROM json_each(?2, '$.readings')
)
INSERT INTO reading_member (reading_set, reading)
SELECT s.id, r.id FROM told t JOIN reading r ON r.digest = assay_sha256(t.name || char(10) || t.body)
JOIN reading_set s ON s.record = ?1;

--- device
INSERT INTO device (record, digest, backend, device_index, name, vendor, uuid, type, simulated,
                    readings)
SELECT ?1, r.digest, ?2 ->> '$.backend', ?2 ->> '$.index',
       iif(json_type(?2, '$.name') = 'object', '(withheld)', ?2 ->> '$.name'),
       iif(json_type(?2, '$.vendor') = 'object', '(withheld)', ?2 ->> '$.vendor'),
       iif(json_type(?2, '$.uuid') = 'object', '(withheld)', ?2 ->> '$.uuid'),
       ?2 ->> '$.device_type', ?2 ->> '$.simulated',
       (SELECT s.id FROM record x JOIN reading_set s ON s.record = x.id
        WHERE x.digest = assay_hex(?2 ->> '$.readings.record'))
FROM record r WHERE r.id = ?1;

--- stack
INSERT INTO stack (record) VALUES (?1);
INSERT INTO component (digest, path, kind, version, build_id, size, sha256, missing_reason, manager,
                       package, package_version)
SELECT assay_sha256(value),
       iif(json_type(value, '$.path') = 'object', '(withheld)', value ->> '$.path'),
       value ->> '$.kind', value ->> '$.version', value ->> '$.build_id', value ->> '$.size',
       assay_hex(value ->> '$.sha256'),
       iif(json_type(value, '$.missing_reason') = 'object', '(withheld)',
           value ->> '$.missing_reason'),
       value ->> '$.manager', value ->> '$.package', value ->> '$.package_version'
FROM json_each(?2, '$.components') WHERE true ON CONFLICT DO NOTHING;
INSERT INTO stack_member (stack, component)
SELECT s.id, c.id FROM json_each(?2, '$.components') m
JOIN component c ON c.digest = assay_sha256(m.value) JOIN stack s ON s.record = ?1
WHERE true ON CONFLICT DO NOTHING;

--- trial_begin
INSERT INTO trial (record, campaign, sequence, attempt, cell, started_utc_ns)
SELECT ?1, g.id, ?2 ->> '$.sequence', ?2 ->> '$.attempt',
       (SELECT c.id FROM cell c WHERE c.campaign = g.id AND c.ordinal = ?2 ->> '$.cell'),
       ?2 ->> '$.started_utc_ns'
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = assay_hex(?2 ->> '$.campaign.record');

--- trial
INSERT INTO trial_end (trial, record, ended_utc_ns, status, message, orphan, iterations_per_sample,
                       window_first, samples, facts, exit_code, signal, max_rss_bytes)
SELECT t.id, ?1, ?2 ->> '$.ended_utc_ns', ?2 ->> '$.status',
       iif(json_type(?2, '$.message') = 'object', '(withheld)', ?2 ->> '$.message'),
       ?2 ->> '$.orphan', ?2 ->> '$.iterations_per_sample', ?2 ->> '$.window_first',
       ?2 ->> '$.samples', ?2 -> '$.facts', ?2 ->> '$.exit_code', ?2 ->> '$.signal',
       ?2 ->> '$.max_rss_bytes'
FROM record r JOIN trial t ON t.record = r.id WHERE r.digest = assay_hex(?2 ->> '$.begin.record');
INSERT INTO trial_device (trial, device)
SELECT e.trial, d.id FROM trial_end e
JOIN record r ON r.digest = assay_hex(?2 ->> '$.device.record') JOIN device d ON d.record = r.id
WHERE e.record = ?1;
INSERT INTO phase (trial, name, begin_ns, end_ns)
SELECT e.trial, value ->> '$.name', value ->> '$.begin_ns', value ->> '$.end_ns'
FROM json_each(?2, '$.phases') JOIN trial_end e ON e.record = ?1;
INSERT INTO verification (trial, phase, output, metric, error, error_text, tolerance, compared,
                          passed, reason)
SELECT e.trial, value ->> '$.phase', value ->> '$.output', value ->> '$.metric',
       assay_real(value -> '$.error'), iif(json_type(value, '$.error') = 'text',
                                           value ->> '$.error', NULL),
       assay_real(value -> '$.tolerance'), value ->> '$.compared', value ->> '$.passed',
       value ->> '$.reason'
FROM json_each(?2, '$.checks') JOIN trial_end e ON e.record = ?1;
INSERT INTO environment (trial, at, readings)
SELECT e.trial, key, s.id FROM json_each(?2, '$.environment')
JOIN record r ON r.digest = assay_hex(value ->> '$.record') JOIN reading_set s ON s.record = r.id
JOIN trial_end e ON e.record = ?1;
INSERT INTO trial_stack (trial, at, stack)
SELECT e.trial, value ->> '$.at', s.id FROM json_each(?2, '$.stacks')
JOIN record r ON r.digest = assay_hex(value ->> '$.stack.record') JOIN stack s ON s.record = r.id
JOIN trial_end e ON e.record = ?1 WHERE true ON CONFLICT DO NOTHING;
INSERT INTO artifact (trial, content)
SELECT e.trial, assay_hex(value ->> '$.blob')
FROM json_each(?2, '$.artifacts') JOIN trial_end e ON e.record = ?1
WHERE true ON CONFLICT DO NOTHING;
INSERT INTO telemetry (trial, part, status, message, channels, interval_ns, ticks, late_ticks,
                       cpu_ns, reading_ns, readings_begin, readings_end, dump)
SELECT e.trial, value ->> '$.part', value ->> '$.status',
       iif(json_type(value, '$.message') = 'object', '(withheld)', value ->> '$.message'),
       assay_hex(value ->> '$.channels.blob'), value ->> '$.interval_ns', value ->> '$.ticks',
       value ->> '$.late_ticks', value ->> '$.cpu_ns', value ->> '$.reading_ns',
       (SELECT s.id FROM record x JOIN reading_set s ON s.record = x.id
        WHERE x.digest = assay_hex(value ->> '$.begin.record')),
       (SELECT s.id FROM record x JOIN reading_set s ON s.record = x.id
        WHERE x.digest = assay_hex(value ->> '$.end.record')),
       assay_hex(value ->> '$.dump.blob')
FROM json_each(?2, '$.telemetry') JOIN trial_end e ON e.record = ?1;

--- doctor
INSERT INTO doctor (campaign, utc_ns, worst, body)
SELECT g.id, ?2 ->> '$.utc_ns', ?2 ->> '$.worst', assay_hex(?2 ->> '$.report.blob')
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = assay_hex(?2 ->> '$.campaign.record');

--- dump
INSERT INTO dump (campaign, utc_ns, tool, command, status, message, exit_code, output)
SELECT g.id, ?2 ->> '$.utc_ns', ?2 ->> '$.tool', ?2 ->> '$.command', ?2 ->> '$.status',
       iif(json_type(?2, '$.message') = 'object', '(withheld)', ?2 ->> '$.message'),
       ?2 ->> '$.exit_code', assay_hex(?2 ->> '$.output.blob')
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = assay_hex(?2 ->> '$.campaign.record');

--- estimate
INSERT INTO estimate (cell, version, created_utc_ns, verdict, body)
SELECT c.id, ?2 ->> '$.version', ?2 ->> '$.created_utc_ns', ?2 ->> '$.body.verdict', ?2 -> '$.body'
FROM record r JOIN campaign g ON g.record = r.id JOIN cell c ON c.campaign = g.id
WHERE r.digest = assay_hex(?2 ->> '$.campaign.record') AND c.ordinal = ?2 ->> '$.cell';

--- comparison
INSERT INTO comparison (created_utc_ns, kind, a, b, version, verdict, body)
SELECT ?2 ->> '$.created_utc_ns', ?2 ->> '$.kind',
       (SELECT c.id FROM record r JOIN campaign g ON g.record = r.id
        JOIN cell c ON c.campaign = g.id AND c.ordinal = ?2 ->> '$.a.cell'
        WHERE r.digest = assay_hex(?2 ->> '$.a.campaign.record')),
       (SELECT c.id FROM record r JOIN campaign g ON g.record = r.id
        JOIN cell c ON c.campaign = g.id AND c.ordinal = ?2 ->> '$.b.cell'
        WHERE r.digest = assay_hex(?2 ->> '$.b.campaign.record')),
       ?2 ->> '$.version', ?2 ->> '$.verdict', ?2 -> '$.body';

--- amendment
INSERT INTO amendment (cell, utc_ns, author, reason)
SELECT c.id, ?2 ->> '$.utc_ns',
       iif(json_type(?2, '$.author') = 'object', '(withheld)', ?2 ->> '$.author'),
       iif(json_type(?2, '$.reason') = 'object', '(withheld)', ?2 ->> '$.reason')
FROM record r JOIN campaign g ON g.record = r.id JOIN cell c ON c.campaign = g.id
WHERE r.digest = assay_hex(?2 ->> '$.campaign.record') AND c.ordinal = ?2 ->> '$.cell';

--- import
INSERT INTO import (campaign, sha256, file, size, format, program, program_version)
SELECT g.id, iif(json_type(?2, '$.sha256') = 'object', assay_hex(?2 ->> '$.sha256.withheld'),
                 assay_hex(?2 ->> '$.sha256')),
       iif(json_type(?2, '$.file') = 'object', '(withheld)', ?2 ->> '$.file'), ?2 ->> '$.size',
       ?2 ->> '$.format', ?2 ->> '$.program', ?2 ->> '$.program_version'
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = assay_hex(?2 ->> '$.campaign.record');

--- claim
INSERT INTO claim (cell, readings, body)
SELECT c.id, (SELECT s.id FROM record x JOIN reading_set s ON s.record = x.id
              WHERE x.digest = assay_hex(?2 ->> '$.readings.record')), ?2 -> '$.body'
FROM record r JOIN campaign g ON g.record = r.id JOIN cell c ON c.campaign = g.id
WHERE r.digest = assay_hex(?2 ->> '$.campaign.record') AND c.ordinal = ?2 ->> '$.cell';

--- bundle
INSERT INTO bundle (campaign, record, imported_utc_ns, file, sha256, origin, size, root, note, proof)
SELECT g.id, ?1, ?2 ->> '$.imported_utc_ns',
       iif(json_type(?2, '$.file') = 'object', '(withheld)', ?2 ->> '$.file'),
       assay_hex(?2 ->> '$.sha256'), ?2 ->> '$.origin', ?2 ->> '$.size', assay_hex(?2 ->> '$.root'),
       ?2 ->> '$.note', assay_hex(?2 ->> '$.proof.blob')
FROM json_each(?2, '$.campaigns') JOIN campaign g ON g.uid = value;

--- checkpoint
INSERT INTO checkpoint (record, log, size, root, utc_ns, kind, campaign, frontier)
SELECT ?1, r.log, ?2 ->> '$.size', assay_hex(?2 ->> '$.root'), ?2 ->> '$.utc_ns', ?2 ->> '$.kind',
       (SELECT g.id FROM record x JOIN campaign g ON g.record = x.id
        WHERE x.digest = assay_hex(?2 ->> '$.campaign.record')),
       assay_hex(?2 ->> '$.frontier')
FROM record r WHERE r.id = ?1;

--- signature
INSERT INTO signature (checkpoint, utc_ns, role, name, public_key, signature)
SELECT c.id, ?2 ->> '$.utc_ns', ?2 ->> '$.role', ?2 ->> '$.name', assay_hex(?2 ->> '$.public_key'),
       assay_hex(?2 ->> '$.signature')
FROM record r JOIN checkpoint c ON c.record = r.id
WHERE r.digest = assay_hex(?2 ->> '$.checkpoint.record');

--- timestamp
INSERT INTO timestamp_token (checkpoint, utc_ns, token)
SELECT c.id, ?2 ->> '$.utc_ns', assay_hex(?2 ->> '$.token')
FROM record r JOIN checkpoint c ON c.record = r.id
WHERE r.digest = assay_hex(?2 ->> '$.checkpoint.record');
