/** The Lua scripts of the state: each is one atomic step in Redis. */

/**
 * KEYS: the format, the writer. ARGV: the expected format, the batch's number, the writer's time to live, and
 * as JSON the batch: each CountRequest with the count's key and time to live. Returns the CountReplies as
 * JSON.
 *
 * A reply can be lost after its batch was counted. Redis therefore keeps each writer's last number and reply,
 * and answers a batch that is sent again from there. If the format is gone, the state is also gone: the
 * script then counts nothing and returns an empty text.
 */
export const COUNT_SCRIPT = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return '' end
local last = redis.call('HMGET', KEYS[2], 'batch', 'reply')
if last[1] == ARGV[2] then return last[2] end
local replies = {}
for i, request in ipairs(cjson.decode(ARGV[4])) do
  local stored = tonumber(redis.call('GET', request.key) or '0')
  local used = math.max(0, math.max(stored, request.known) + request.added)
  local granted = request.wanted
  if request.follows then granted = replies[i - 1].granted end
  if request.limit ~= cjson.null then
    granted = math.max(0, math.min(granted, request.limit - used))
  end
  used = used + granted
  if used ~= stored then redis.call('SET', request.key, used, 'EX', request.ttl) end
  replies[i] = { granted = granted, used = used }
end
local reply = cjson.encode(replies)
redis.call('HSET', KEYS[2], 'batch', ARGV[2], 'reply', reply)
redis.call('EXPIRE', KEYS[2], ARGV[3])
return reply
`;

/**
 * KEYS: the format, the version. ARGV: the expected format, the state's purpose ("fill": the format may be
 * missing, and is written), the expected version ("": none), and as JSON a list of key, value ("": remove
 * it) and time to live (none: for ever). Returns 1; without a change 0 if the version differs, -1 if the
 * format does.
 */
export const WRITE_SCRIPT = `
if ARGV[2] ~= 'fill' and redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[3] then return 0 end
for _, entry in ipairs(cjson.decode(ARGV[4])) do
  if entry[2] == '' then redis.call('DEL', entry[1])
  elseif entry[3] then redis.call('SET', entry[1], entry[2], 'EX', entry[3])
  else redis.call('SET', entry[1], entry[2]) end
end
redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1])
return 1
`;
