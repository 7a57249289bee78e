-- How the tables follow from the records. When a record is appended, the statements of its type run
-- in this order; `assay verify` runs them again, for all records in the order of their rows, and
-- compares. Part of the format (FORMAT.md).
--
-- :_record is the record's row in `record`, :NAME its member NAME: a string is TEXT, a whole number
-- INTEGER, another number REAL, true and false are 1 and 0, a reference to a record or blob its
-- digest as 32 bytes, a member that a bundle left out the text '(withheld)', any other object or
-- array its canonical JSON as TEXT; a member that is not there, or null, is NULL.
--
-- A statement that goes through a member (FROM json_each(:NAME)) must make nothing of one that is
-- empty: it is not run then.
--
-- assay_hex(TEXT) gives the bytes of hex digits, assay_real(TEXT) the double nearest to a JSON
-- number, assay_sha256(TEXT) a digest; each gives NULL for anything else.

--- declaration
INSERT INTO declaration (record, kind, name, version, digest, origin)
SELECT :_record, :kind, :name, :version, :json,
       :origin;

--- campaign
INSERT INTO campaign (record, uid, created_utc_ns, plan, protocol, order_seed, command,
                      tool_version, tool_digest)
SELECT :_record, :uid, :created_utc_ns, :plan,
       :protocol, :order_seed,
       :command,
       :tool_version, assay_hex(:tool_digest);
INSERT INTO cell (campaign, ordinal, workload, protocol, workload_name, protocol_name, kind,
                  precision, scenario, implementation, batch, seed, backend, device_index,
                  device_spec, flops, flops_formula, bytes, bytes_formula, items, item_name,
                  device_memory_bytes, working_set_bytes, headline, trials)
SELECT (SELECT id FROM campaign WHERE record = :_record), key + 1, assay_hex(value ->> '$.workload.blob'),
       assay_hex(value ->> '$.protocol.blob'), value ->> '$.workload_name',
       value ->> '$.protocol_name', value ->> '$.kind', value ->> '$.precision',
       value ->> '$.scenario', value ->> '$.implementation', value ->> '$.batch',
       value ->> '$.seed', value ->> '$.backend', value ->> '$.device_index',
       value ->> '$.device_spec', value ->> '$.flops', value ->> '$.flops_formula',
       value ->> '$.bytes', value ->> '$.bytes_formula', value ->> '$.items',
       value ->> '$.item_name', value ->> '$.device_memory_bytes',
       value ->> '$.working_set_bytes', value ->> '$.headline', value ->> '$.trials'
FROM json_each(:cells);
INSERT INTO planned_trial (campaign, sequence, cell)
SELECT g.id, key + 1, (SELECT id FROM cell c WHERE c.campaign = g.id AND c.ordinal = value)
FROM json_each(:order) JOIN campaign g ON g.record = :_record;

--- event
INSERT INTO campaign_event (campaign, utc_ns, event, detail)
SELECT g.id, :utc_ns, :event,
       :detail
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = :campaign;

--- choice
INSERT INTO choice (cell, created_utc_ns, content)
SELECT c.id, :created_utc_ns, :choice
FROM record r JOIN campaign g ON g.record = r.id JOIN cell c ON c.campaign = g.id
WHERE r.digest = :campaign AND c.ordinal = :cell;

--- readings
INSERT INTO reading_set (record) VALUES (:_record);
WITH told (name, body) AS MATERIALIZED (
    SELECT key, iif(json_type(value, '$.withheld') IS NULL, value,
                    '{"reason":"withheld","status":"denied","value":null}')
    FROM json_each(:readings)
)
INSERT INTO reading (digest, name, body)
SELECT assay_sha256(name || char(10) || body), name, body FROM told WHERE true
ON CONFLICT DO NOTHING;
WITH told (name, body) AS MATERIALIZED (
    SELECT key, iif(json_type(value, '$.withheld') IS NULL, value,
                    '{"reason":"withheld","status":"denied","value":null}')
    FROM json_each(:readings)
)
INSERT INTO reading_member (reading_set, reading)
SELECT s.id, r.id FROM told t JOIN reading r ON r.digest = assay_sha256(t.name || char(10) || t.body)
JOIN reading_set s ON s.record = :_record;

--- device
INSERT INTO device (record, digest, backend, device_index, name, vendor, uuid, type, simulated,
                    readings)
SELECT :_record, r.digest, :backend, :index,
       :name,
       :vendor,
       :uuid,
       :device_type, :simulated,
       (SELECT s.id FROM record x JOIN reading_set s ON s.record = x.id
        WHERE x.digest = :readings)
FROM record r WHERE r.id = :_record;

--- stack
INSERT INTO stack (record) VALUES (:_record);
INSERT INTO component (digest, path, kind, version, build_id, size, sha256, missing_reason, manager,
                       package, package_version)
SELECT assay_sha256(value),
       iif(json_type(value, '$.path') = 'object', '(withheld)', value ->> '$.path'),
       value ->> '$.kind', value ->> '$.version', value ->> '$.build_id', value ->> '$.size',
       assay_hex(value ->> '$.sha256'),
       iif(json_type(value, '$.missing_reason') = 'object', '(withheld)',
           value ->> '$.missing_reason'),
       value ->> '$.manager', value ->> '$.package', value ->> '$.package_version'
FROM json_each(:components) WHERE true ON CONFLICT DO NOTHING;
INSERT INTO stack_member (stack, component)
SELECT s.id, c.id FROM json_each(:components) m
JOIN component c ON c.digest = assay_sha256(m.value) JOIN stack s ON s.record = :_record
WHERE true ON CONFLICT DO NOTHING;

--- trial_begin
INSERT INTO trial (record, campaign, sequence, attempt, cell, started_utc_ns)
SELECT :_record, g.id, :sequence, :attempt,
       (SELECT c.id FROM cell c WHERE c.campaign = g.id AND c.ordinal = :cell),
       :started_utc_ns
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = :campaign;

--- trial
INSERT INTO trial_end (trial, record, ended_utc_ns, status, message, orphan, iterations_per_sample,
                       window_first, samples, facts, exit_code, signal, max_rss_bytes)
SELECT t.id, :_record, :ended_utc_ns, :status,
       :message,
       :orphan, :iterations_per_sample, :window_first,
       :samples, iif(:facts = '(withheld)', '{"withheld":true}', :facts), :exit_code, :signal,
       :max_rss_bytes
FROM record r JOIN trial t ON t.record = r.id WHERE r.digest = :begin;
INSERT INTO trial_device (trial, device)
SELECT e.trial, d.id FROM trial_end e
JOIN record r ON r.digest = :device JOIN device d ON d.record = r.id
WHERE e.record = :_record;
INSERT INTO phase (trial, name, begin_ns, end_ns)
SELECT e.trial, value ->> '$.name', value ->> '$.begin_ns', value ->> '$.end_ns'
FROM json_each(:phases) JOIN trial_end e ON e.record = :_record;
INSERT INTO verification (trial, phase, output, metric, error, error_text, tolerance, compared,
                          passed, reason)
SELECT e.trial, value ->> '$.phase', value ->> '$.output', value ->> '$.metric',
       assay_real(value -> '$.error'), iif(json_type(value, '$.error') = 'text',
                                           value ->> '$.error', NULL),
       assay_real(value -> '$.tolerance'), value ->> '$.compared', value ->> '$.passed',
       value ->> '$.reason'
FROM json_each(:checks) JOIN trial_end e ON e.record = :_record;
INSERT INTO environment (trial, at, readings)
SELECT e.trial, key, s.id FROM json_each(:environment)
JOIN record r ON r.digest = assay_hex(value ->> '$.record') JOIN reading_set s ON s.record = r.id
JOIN trial_end e ON e.record = :_record;
INSERT INTO trial_stack (trial, at, stack)
SELECT e.trial, value ->> '$.at', s.id FROM json_each(:stacks)
JOIN record r ON r.digest = assay_hex(value ->> '$.stack.record') JOIN stack s ON s.record = r.id
JOIN trial_end e ON e.record = :_record WHERE true ON CONFLICT DO NOTHING;
INSERT INTO artifact (trial, content)
SELECT e.trial, assay_hex(value ->> '$.blob')
FROM json_each(:artifacts) JOIN trial_end e ON e.record = :_record
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
FROM json_each(:telemetry) JOIN trial_end e ON e.record = :_record;

--- doctor
INSERT INTO doctor (campaign, utc_ns, worst, body)
SELECT g.id, :utc_ns, :worst, :report
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = :campaign;

--- dump
INSERT INTO dump (campaign, utc_ns, tool, command, status, message, exit_code, output)
SELECT g.id, :utc_ns, :tool, :command, :status,
       :message,
       :exit_code, :output
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = :campaign;

--- estimate
INSERT INTO estimate (cell, version, created_utc_ns, verdict, body)
SELECT c.id, :version, :created_utc_ns, :body ->> '$.verdict', :body
FROM record r JOIN campaign g ON g.record = r.id JOIN cell c ON c.campaign = g.id
WHERE r.digest = :campaign AND c.ordinal = :cell;

--- comparison
INSERT INTO comparison (created_utc_ns, kind, a, b, version, verdict, body)
SELECT :created_utc_ns, :kind,
       (SELECT c.id FROM record r JOIN campaign g ON g.record = r.id
        JOIN cell c ON c.campaign = g.id AND c.ordinal = :a ->> '$.cell'
        WHERE r.digest = assay_hex(:a ->> '$.campaign.record')),
       (SELECT c.id FROM record r JOIN campaign g ON g.record = r.id
        JOIN cell c ON c.campaign = g.id AND c.ordinal = :b ->> '$.cell'
        WHERE r.digest = assay_hex(:b ->> '$.campaign.record')),
       :version, :verdict, iif(:body = '(withheld)', '{"withheld":true}', :body);

--- amendment
INSERT INTO amendment (cell, utc_ns, author, reason)
SELECT c.id, :utc_ns,
       :author,
       :reason
FROM record r JOIN campaign g ON g.record = r.id JOIN cell c ON c.campaign = g.id
WHERE r.digest = :campaign AND c.ordinal = :cell;

--- import
INSERT INTO import (campaign, sha256, file, size, format, program, program_version)
SELECT g.id, coalesce(assay_hex(:sha256), assay_sha256(:file || :sha256)),
       :file, :size,
       :format, :program, :program_version
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = :campaign;

--- claim
INSERT INTO claim (cell, readings, body)
SELECT c.id, (SELECT s.id FROM record x JOIN reading_set s ON s.record = x.id
              WHERE x.digest = :readings), iif(:body = '(withheld)', '{"withheld":true}', :body)
FROM record r JOIN campaign g ON g.record = r.id JOIN cell c ON c.campaign = g.id
WHERE r.digest = :campaign AND c.ordinal = :cell;

--- bundle
INSERT INTO bundle (campaign, record, imported_utc_ns, file, sha256, origin, size, root, note, proof)
SELECT g.id, :_record, :imported_utc_ns,
       :file,
       assay_hex(:sha256), :origin, :size, assay_hex(:root),
       :note, :proof
FROM json_each(:campaigns) JOIN campaign g ON g.uid = value;

--- checkpoint
INSERT INTO checkpoint (record, log, size, root, utc_ns, kind, campaign, frontier)
SELECT :_record, r.log, :size, assay_hex(:root), :utc_ns, :kind,
       (SELECT g.id FROM record x JOIN campaign g ON g.record = x.id
        WHERE x.digest = :campaign),
       assay_hex(:frontier)
FROM record r WHERE r.id = :_record;

--- signature
INSERT INTO signature (checkpoint, utc_ns, role, name, public_key, signature)
SELECT c.id, :utc_ns, :role, :name, assay_hex(:public_key),
       assay_hex(:signature)
FROM record r JOIN checkpoint c ON c.record = r.id
WHERE r.digest = :checkpoint;

--- timestamp
INSERT INTO timestamp_token (checkpoint, utc_ns, token)
SELECT c.id, :utc_ns, assay_hex(:token)
FROM record r JOIN checkpoint c ON c.record = r.id
WHERE r.digest = :checkpoint;
