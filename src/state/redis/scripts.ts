/** The Lua scripts of the state: each is one atomic step in Redis. */

/**
 * KEYS: the format, the writer, then a count for each request. ARGV: the expected format, the
 * batch's number, the writer's time to live, then for each request the known count, calls to add,
 * calls wanted (-1: those that the request before it granted), the limit (-1: none), and the count's
 * time to live. Returns granted and used for each.
 *
 * A reply can be lost after its batch was counted. Redis therefore keeps each writer's last number
 * and reply, and answers a batch that is sent again from there. If the format is gone, the state is
 * gone, too: the script then counts nothing and returns an empty list.
 */
export const COUNT_SCRIPT = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {} end
local last = redis.call('HMGET', KEYS[2], 'batch', 'reply')
if last[1] == ARGV[2] then return cjson.decode(last[2]) end
local reply = {}
for i = 3, #KEYS do
  local at = 4 + (i - 3) * 5
  local stored = tonumber(redis.call('GET', KEYS[i]) or '0')
  local used = math.max(stored, tonumber(ARGV[at])) + tonumber(ARGV[at + 1])
  local granted = tonumber(ARGV[at + 2])
  if granted < 0 then granted = reply[#reply - 1] end
  local limit = tonumber(ARGV[at + 3])
  if limit >= 0 then granted = math.max(0, math.min(granted, limit - used)) end
  used = used + granted
  if used ~= stored then redis.call('SET', KEYS[i], used, 'EX', ARGV[at + 4]) end
  reply[#reply + 1] = granted
  reply[#reply + 1] = used
end
redis.call('HSET', KEYS[2], 'batch', ARGV[2], 'reply', cjson.encode(reply))
redis.call('EXPIRE', KEYS[2], ARGV[3])
return reply
`;

/**
 * KEYS: the format, the version. ARGV: the expected format, "fill" (the format may be missing, and is
 * written) or "", the expected version ("": none), and as JSON a list of key, value ("": remove it) and
 * time to live (none: for ever). Returns 1; without a change 0 if the version differs, -1 if the format
 * does.
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
