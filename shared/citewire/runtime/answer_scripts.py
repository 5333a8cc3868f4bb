"""The writes of the answer log, each one atomic step in Redis; `answer_log` calls them and says what they promise.

The hash: user, fingerprint (of the question), deadline (unix seconds), grace (seconds that a disconnect lets the
answer run; absent: to its end), lease (token of the writer), stop, ended (1, and 2 once stored), bytes (of the log).
"""

from citewire.runtime.pipeline import Script

# Bytes of all entries of a log; beyond it only the end is taken.
MAX_LOG_BYTES = 8_000_000
# Bytes of new entries that travel with the wake-up; readers of larger ones fetch them at their own pace.
MAX_NEWS_BYTES = 32_768

OPEN = Script("""
local state = redis.call('HMGET', KEYS[1], 'user', 'fingerprint', 'lease', 'stop', 'ended')
local is_new = 1
if state[1] then
  is_new = 0
  if state[2] then
    return {0, state[1], state[2], state[3] and 1 or 0, state[4] and 1 or 0, state[5] and 1 or 0}
  end
end
redis.call('HSETNX', KEYS[1], 'user', ARGV[1])
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[2])
redis.call('HSETNX', KEYS[1], 'deadline', ARGV[3])
if ARGV[4] ~= '' then redis.call('HSETNX', KEYS[1], 'grace', ARGV[4]) end
if is_new == 1 then redis.call('EXPIRE', KEYS[1], ARGV[5]) end
return {is_new, state[1] or ARGV[1], ARGV[2], state[3] and 1 or 0, state[4] and 1 or 0, state[5] and 1 or 0}
""")

# Takes an opening back, unless somebody works on it.
FORGET = Script("""
if redis.call('HEXISTS', KEYS[1], 'lease') == 1 then return 0 end
return redis.call('DEL', KEYS[1])
""")

CLAIM = Script("""
redis.call('HSET', KEYS[1], 'lease', ARGV[1])
redis.call('HSETNX', KEYS[1], 'user', ARGV[2])
redis.call('HSETNX', KEYS[1], 'deadline', ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('EXPIRE', KEYS[2], ARGV[4])
local state = redis.call('HMGET', KEYS[1], 'stop', 'user', 'fingerprint', 'deadline', 'grace')
return {state, redis.call('LRANGE', KEYS[2], 0, -1)}
""")

# Answers the log's new length, or a negative number that says why nothing was written. Lua can unpack some thousands
# of values at most, hence the steps.
_PUSH = """
local function push(from)
  for first = from, #ARGV, 1000 do
    redis.call('RPUSH', KEYS[2], unpack(ARGV, first, math.min(first + 999, #ARGV)))
  end
end
local function size(from)
  local bytes = 0
  for index = from, #ARGV do bytes = bytes + #ARGV[index] end
  return bytes
end
"""

APPEND = Script(
    _PUSH
    + f"local MOST, NEWS = {MAX_LOG_BYTES}, {MAX_NEWS_BYTES}"
    + """
local state = redis.call('HMGET', KEYS[1], 'lease', 'stop', 'ended', 'bytes')
if not state[1] then return -1 end
if state[1] ~= ARGV[1] then return -2 end
local is_end, after, count = ARGV[2] == '1', tonumber(ARGV[3]), #ARGV - 5
local length = redis.call('LLEN', KEYS[2])
if state[3] then
  if is_end and length >= after + count then return after + count end
  return -4
end
if length < after then return -1 end
if length > after + count then return -2 end
local first = 6 + length - after
if first > #ARGV then return length end
if state[2] and not is_end then return -3 end
local new = size(first)
local bytes = (tonumber(state[4]) or 0) + new
if bytes > MOST and not is_end then return -5 end
push(first)
if is_end then
  redis.call('HSET', KEYS[1], 'bytes', bytes, 'ended', 1)
  redis.call('EXPIRE', KEYS[1], ARGV[4])
  redis.call('EXPIRE', KEYS[2], ARGV[4])
else
  redis.call('HSET', KEYS[1], 'bytes', bytes)
  if length == 0 then redis.call('PEXPIRE', KEYS[2], redis.call('PTTL', KEYS[1])) end
end
local news = tostring(length + 1)
if new <= NEWS then news = news .. '\\n' .. table.concat(ARGV, '\\n', first) end
redis.call('PUBLISH', ARGV[5], news)
return after + count
"""
)

RESTORE = Script(
    _PUSH
    + """
local lease = redis.call('HGET', KEYS[1], 'lease')
if lease and lease ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'lease', ARGV[1], 'bytes', size(9))
for index, field in ipairs({'user', 'fingerprint', 'deadline', 'grace', 'stop'}) do
  if ARGV[index + 1] ~= '' then redis.call('HSETNX', KEYS[1], field, ARGV[index + 1]) end
end
redis.call('DEL', KEYS[2])
push(9)
redis.call('EXPIRE', KEYS[1], ARGV[7])
redis.call('EXPIRE', KEYS[2], ARGV[7])
redis.call('PUBLISH', ARGV[8], '1')
return 1
"""
)

STORED = Script("""
local ended = redis.call('HGET', KEYS[1], 'ended')
if not ended then return -redis.call('EXISTS', KEYS[1]) end
if ended ~= '1' then return 0 end
redis.call('HSET', KEYS[1], 'ended', 2)
local length = redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('PUBLISH', ARGV[2], length .. '\\n' .. ARGV[1])
return length
""")

STOP = Script("""
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'stop', 1)
return 1
""")
