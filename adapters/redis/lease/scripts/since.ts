import { script, type Script } from './script.ts'

/**
 * Reads the time of the first claim of a scope.
 *
 * - KEYS: that time
 * - ARGV: '1': write the current time if there is none
 * - Returns the time, empty if there is none, and the current time; both in ms of the server's clock
 */
export const SINCE: Script = script(`
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
if ARGV[1] == '1' then redis.call('SET', KEYS[1], now, 'NX') end
return { redis.call('GET', KEYS[1]) or '', now }
`)
