-- The load of the benches, for wrk. Arguments: none; or "key" or "path", and a file with an API key
-- or a path in each line: then every request takes a line of the file at random.

local lines = {}

function init(args)
  local kind, file = args[1], args[2]
  if not file then return end
  for line in io.lines(file) do lines[#lines + 1] = line end
  math.randomseed(20261121)
  -- The request is made once, and cut where the line belongs.
  if kind == "key" then wrk.headers["authorization"] = "Bearer /CUT" end
  local whole = wrk.format(nil, kind == "path" and "/CUT" or nil)
  local first, last = whole:find("/CUT", 1, true)
  local head, tail = whole:sub(1, first - 1), whole:sub(last + 1)
  local random, count = math.random, #lines
  request = function() return head .. lines[random(count)] .. tail end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nsummary={"requests":%d,"micros":%d,"bytes":%d,"failed":%d,"refused":%d,"p50":%d}\n',
    summary.requests, summary.duration, summary.bytes,
    errors.connect + errors.read + errors.write + errors.timeout, errors.status,
    latency:percentile(50)))
end
