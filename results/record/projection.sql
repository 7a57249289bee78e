-- How the tables follow from the records. When a record is appended, the statements of its type run
-- in this order; `assay verify` runs them again, for all records in the order of their rows, and
-- compares. Part of the format (FORMAT.md).
--
-- "--- TYPE: PATHS" begins a type. PATHS are the members that can be withheld, with blanks between; a
-- path's parts with '/' between, where * stands for any name and # for any position. "--- TYPE shared":
-- equal content is one record, which others refer to, whatever campaign they are of.
--
-- :_record is the record's row in `record`, :NAME its member NAME: a string is TEXT, a whole number
-- INTEGER, another number REAL, true and false are 1 and 0, a reference to a record or blob its
-- digest as 32 bytes, a member that a bundle left out the text '(withheld)', any other object or
-- array its canonical JSON as TEXT; a member that is not there, or null, is NULL.
--
-- A statement after "-- each NAME" runs for each element of the array or object :NAME, in their order:
-- :_each is the element, :_key its name, or its position from 0, and :_each_NAME its member NAME.
--
-- assay_hex(TEXT) gives the bytes of hex digits, assay_sha256(TEXT) a digest; each gives NULL for
-- anything else.

--- declaration shared: origin
INSERT INTO declaration (record, kind, name, version, digest, origin)
SELECT :_record, :kind, :name, :version, :json,
       :origin;

--- campaign: command
INSERT INTO campaign (record, uid, created_utc_ns, plan, protocol, order_seed, command,
                      tool_version, tool_digest)
SELECT :_record, :uid, :created_utc_ns, :plan,
       :protocol, :order_seed,
       :command,
       :tool_version, assay_hex(:tool_digest);
-- each cells
INSERT INTO cell (campaign, ordinal, workload, protocol, workload_name, protocol_name, kind,
                  precision, scenario, implementation, batch, seed, backend, device_index,
                  device_spec, flops, flops_formula, bytes, bytes_formula, items, item_name,
                  device_memory_bytes, working_set_bytes, headline, trials)
SELECT id, :_key + 1, :_each_workload, :_each_protocol, :_each_workload_name,
       :_each_protocol_name, :_each_kind, :_each_precision, :_each_scenario,
       :_each_implementation, :_each_batch, :_each_seed, :_each_backend, :_each_device_index,
       :_each_device_spec, :_each_flops, :_each_flops_formula, :_each_bytes,
       :_each_bytes_formula, :_each_items, :_each_item_name, :_each_device_memory_bytes,
       :_each_working_set_bytes, :_each_headline, :_each_trials
FROM campaign WHERE record = :_record;
-- each order
INSERT INTO planned_trial (campaign, sequence, cell)
SELECT g.id, :_key + 1, (SELECT id FROM cell c WHERE c.campaign = g.id AND c.ordinal = :_each)
FROM campaign g WHERE g.record = :_record;

--- event: detail
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

--- readings shared: readings/*
INSERT INTO reading_set (record) VALUES (:_record);
-- each readings
INSERT INTO reading (digest, name, body)
SELECT assay_sha256(:_key || char(10) || body), :_key, body
FROM (SELECT iif(:_each = '(withheld)', '{"reason":"withheld","status":"denied","value":null}',
                 :_each) AS body)
WHERE true ON CONFLICT DO NOTHING;
-- each readings
INSERT INTO reading_member (reading_set, reading)
SELECT s.id, r.id FROM reading_set s JOIN reading r ON r.digest = assay_sha256(:_key || char(10) ||
    iif(:_each = '(withheld)', '{"reason":"withheld","status":"denied","value":null}', :_each))
WHERE s.record = :_record;

--- device shared: name uuid vendor
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

--- stack shared: components/#/path components/#/missing_reason
INSERT INTO stack (record) VALUES (:_record);
-- each components
INSERT INTO component (digest, path, kind, version, build_id, size, sha256, missing_reason, manager,
                       package, package_version)
VALUES (assay_sha256(:_each), :_each_path, :_each_kind, :_each_version, :_each_build_id,
        :_each_size, assay_hex(:_each_sha256), :_each_missing_reason, :_each_manager,
        :_each_package, :_each_package_version) ON CONFLICT DO NOTHING;
-- each components
INSERT INTO stack_member (stack, component)
SELECT s.id, c.id FROM stack s JOIN component c ON c.digest = assay_sha256(:_each)
WHERE s.record = :_record ON CONFLICT DO NOTHING;

--- trial_begin
INSERT INTO trial (record, campaign, sequence, attempt, cell, started_utc_ns)
SELECT :_record, g.id, :sequence, :attempt,
       (SELECT c.id FROM cell c WHERE c.campaign = g.id AND c.ordinal = :cell),
       :started_utc_ns
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = :campaign;

--- trial: facts message telemetry/#/message
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
-- each phases
INSERT INTO phase (trial, name, begin_ns, end_ns)
SELECT trial, :_each_name, :_each_begin_ns, :_each_end_ns FROM trial_end WHERE record = :_record;
-- each checks
INSERT INTO verification (trial, phase, output, metric, error, error_text, tolerance, compared,
                          passed, reason)
SELECT trial, :_each_phase, :_each_output, :_each_metric,
       iif(typeof(:_each_error) = 'text', NULL, :_each_error),
       iif(typeof(:_each_error) = 'text', :_each_error, NULL), :_each_tolerance,
       :_each_compared, :_each_passed, :_each_reason
FROM trial_end WHERE record = :_record;
-- each environment
INSERT INTO environment (trial, at, readings)
SELECT e.trial, :_key, s.id FROM trial_end e JOIN record r ON r.digest = :_each
JOIN reading_set s ON s.record = r.id WHERE e.record = :_record;
-- each stacks
INSERT INTO trial_stack (trial, at, stack)
SELECT e.trial, :_each_at, s.id FROM trial_end e JOIN record r ON r.digest = :_each_stack
JOIN stack s ON s.record = r.id WHERE e.record = :_record ON CONFLICT DO NOTHING;
-- each artifacts
INSERT INTO artifact (trial, content)
SELECT trial, :_each FROM trial_end WHERE record = :_record ON CONFLICT DO NOTHING;
-- each telemetry
INSERT INTO telemetry (trial, part, status, message, channels, interval_ns, ticks, late_ticks,
                       cpu_ns, reading_ns, readings_begin, readings_end, dump)
SELECT trial, :_each_part, :_each_status, :_each_message, :_each_channels, :_each_interval_ns,
       :_each_ticks, :_each_late_ticks, :_each_cpu_ns, :_each_reading_ns,
       (SELECT s.id FROM record x JOIN reading_set s ON s.record = x.id
        WHERE x.digest = :_each_begin),
       (SELECT s.id FROM record x JOIN reading_set s ON s.record = x.id
        WHERE x.digest = :_each_end), :_each_dump
FROM trial_end WHERE record = :_record;

--- doctor
INSERT INTO doctor (campaign, utc_ns, worst, body)
SELECT g.id, :utc_ns, :worst, :report
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = :campaign;

--- dump: message
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

--- comparison: body
INSERT INTO comparison (created_utc_ns, kind, a, b, version, verdict, body)
SELECT :created_utc_ns, :kind,
       (SELECT c.id FROM record r JOIN campaign g ON g.record = r.id
        JOIN cell c ON c.campaign = g.id AND c.ordinal = :a ->> '$.cell'
        WHERE r.digest = assay_hex(:a ->> '$.campaign.record')),
       (SELECT c.id FROM record r JOIN campaign g ON g.record = r.id
        JOIN cell c ON c.campaign = g.id AND c.ordinal = :b ->> '$.cell'
        WHERE r.digest = assay_hex(:b ->> '$.campaign.record')),
       :version, :verdict, iif(:body = '(withheld)', '{"withheld":true}', :body);

--- amendment: author reason
INSERT INTO amendment (cell, utc_ns, author, reason)
SELECT c.id, :utc_ns,
       :author,
       :reason
FROM record r JOIN campaign g ON g.record = r.id JOIN cell c ON c.campaign = g.id
WHERE r.digest = :campaign AND c.ordinal = :cell;

--- import: file sha256
INSERT INTO import (campaign, sha256, file, size, format, program, program_version)
SELECT g.id, coalesce(assay_hex(:sha256), assay_sha256(:file || :sha256)),
       :file, :size,
       :format, :program, :program_version
FROM record r JOIN campaign g ON g.record = r.id
WHERE r.digest = :campaign;

--- claim: body
INSERT INTO claim (cell, readings, body)
SELECT c.id, (SELECT s.id FROM record x JOIN reading_set s ON s.record = x.id
              WHERE x.digest = :readings), iif(:body = '(withheld)', '{"withheld":true}', :body)
FROM record r JOIN campaign g ON g.record = r.id JOIN cell c ON c.campaign = g.id
WHERE r.digest = :campaign AND c.ordinal = :cell;

--- bundle: file
-- each campaigns
INSERT INTO bundle (campaign, record, imported_utc_ns, file, sha256, origin, size, root, note, proof)
SELECT id, :_record, :imported_utc_ns, :file, assay_hex(:sha256), :origin, :size,
       assay_hex(:root), :note, :proof
FROM campaign WHERE uid = :_each;

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

--- log
