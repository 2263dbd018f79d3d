import { createHash } from 'node:crypto'
import { defineConsumer, messageId, runInline } from 'consume-once'
import { type ClaimItem } from 'consume-once/spi'
import { redisLease } from 'consume-once/redis'
import type { Redis } from 'ioredis'
import type { Job, Measurement } from '../../suite.ts'
import { ID_HEADER, Tally } from '../../tally.ts'
import { messagesOf } from '../in-process/messages.ts'
import { onRedis } from '../clients/redis-client.ts'
import { LEASE_MS, RETENTION_MS } from '../clients/redis-times.ts'
import { atOnce, claimItems, claimsIn, expectAll, inBatches, itemsOf, newToken } from './store-items.ts'

/** Batches at the server at once. */
const WIDTH = 2

type Run = (job: Job) => Promise<Measurement>

/** Claims and marks through the store. */
export function pairsThroughStore(batchSize: number): Run {
  return (job) =>
    onRedis(job, async (redis) => {
      const store = redisLease({ redis, prefix: job.name })
      await store.open()
      return timed(job, batchSize, async (batch) => {
        const claims = claimsIn(await claimItems(store, batch, job.name))
        expectAll(await store.mark(claims), 'marked')
      })
    })
}

/** The same records by the same client, without a library: one script claims a batch, one marks it. */
export function pairsByScript(batchSize: number): Run {
  return (job) =>
    onRedis(job, async (redis) => {
      const [claim, mark] = [await load(redis, CLAIM), await load(redis, MARK)]
      return timed(job, batchSize, async (batch) => {
        const keys = batch.map(({ key }) => `${job.name}:{07}:${key}`)
        const digests = batch.map(({ digest }) => digest)
        const token = newToken()
        const claimed = await redis.evalsha(claim, keys.length, ...keys, token, LEASE_MS, RETENTION_MS, 0, ...digests)
        expectAll(claimed as string[], 'claimed|1|1')
        const marked = await redis.evalsha(mark, keys.length, ...keys, token, RETENTION_MS, ...digests)
        expectAll((marked as number[]).map(String), '1')
      })
    })
}

/** Messages that were done before: all answers are `done`. */
export function duplicatesThroughStore(batchSize: number): Run {
  return (job) =>
    onRedis(job, async (redis) => {
      const store = redisLease({ redis, prefix: job.name })
      await store.open()
      for (const batch of inBatches(itemsOf(job.name, job.messages), 1_000)) {
        await store.mark(claimsIn(await claimItems(store, batch, job.name)))
      }
      return timedAgain(job, batchSize, async (batch) => {
        const answers = await claimItems(store, batch, job.name)
        expectAll(
          answers.map(({ verdict }) => verdict),
          'done',
        )
      })
    })
}

/** The bare read of the same records. */
export function duplicatesByMget(batchSize: number): Run {
  return (job) =>
    onRedis(job, async (redis) => {
      const nameOf = ({ key }: ClaimItem): string => `${job.name}:{07}:${key}`
      for (const batch of inBatches(itemsOf(job.name, job.messages), 1_000)) {
        const pipeline = redis.pipeline()
        for (const item of batch) pipeline.set(nameOf(item), `D|1|1|0|${item.digest}|abcdefghijkl|`, 'PX', RETENTION_MS)
        await pipeline.exec()
      }
      return timedAgain(job, batchSize, async (batch) => {
        const values = await redis.mget(batch.map(nameOf))
        if (values.some((value) => value === null)) throw new Error('expected a record under each key')
      })
    })
}

/** Single messages, several in flight: SET NX before the handler, SET after. */
export function setNxInFlight(inFlight: number): Run {
  return (job) =>
    onRedis(job, async (redis) => {
      const tally = new Tally(job)
      tally.arrived()
      await atOnce(idsOf(job), inFlight, async (id) => {
        const key = `${job.name}:${id}`
        if ((await redis.set(key, 'processing', 'PX', LEASE_MS, 'NX')) !== 'OK') throw new Error('expected a claim')
        tally.started(id)
        await redis.set(key, 'done', 'PX', RETENTION_MS)
        tally.ended(1)
      })
      return tally.measurement()
    })
}

/** Single messages, several in flight, each through `handle()` of a consumer without a source. */
export function handleInFlight(inFlight: number): Run {
  return (job) =>
    onRedis(job, async (redis) => {
      const tally = new Tally(job)
      const consumer = defineConsumer({
        name: 'bench',
        id: messageId.header(ID_HEADER),
        decode: (bytes) => bytes,
        store: redisLease({ redis, prefix: job.name }),
        concurrency: inFlight,
        handle: async ({ message }) => tally.started(message.headers[ID_HEADER]),
      })
      const running = runInline(consumer, { group: job.name })
      await running.open()
      const messages = messagesOf(job)
      tally.arrived()
      await atOnce(messages, inFlight, async (message) => {
        const { outcome } = await running.handle(message)
        if (outcome !== 'handled') throw new Error(`expected handled, got ${outcome}`)
        tally.ended(1)
      })
      await running.stop()
      return tally.measurement()
    })
}

/** Having read all of it once: what made the records may have warmed more or less of the code that reads them. */
async function timedAgain(...read: Parameters<typeof timed>): Promise<Measurement> {
  await timed(...read)
  return timed(...read)
}

async function timed(
  job: Job,
  batchSize: number,
  run: (batch: readonly ClaimItem[]) => Promise<void>,
): Promise<Measurement> {
  const batches = inBatches(itemsOf(job.name, job.messages), batchSize)
  const tally = new Tally(job)
  for (let n = 0; n < job.messages; n++) tally.started(String(n))
  tally.arrived()
  await atOnce(batches, WIDTH, async (batch) => {
    await run(batch)
    tally.ended(batch.length)
  })
  return tally.measurement()
}

function idsOf({ messages }: Job): readonly string[] {
  return Array.from({ length: messages }, (_, n) => String(n))
}

async function load(redis: Redis, lua: string): Promise<string> {
  await redis.script('LOAD', lua)
  return createHash('sha1').update(lua).digest('hex')
}

/** With the whole record: state, fence, attempts, doubt, digest, token, deadline. */
const CLAIM = `
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
local tok, lease, keep, out = ARGV[1], tonumber(ARGV[2]), ARGV[3], {}
for i, k in ipairs(KEYS) do
  local v, fp = redis.call('GET', k), ARGV[4 + i]
  local s, f, a, doubt, p, own, rest = string.match(v or 'R|0|0|0|||', '^(%u)|(%d+)|(%d+)|([01])|([^|]*)|([^|]*)|(.*)$')
  local mine = (s == 'P' and own == tok)
  if v and p ~= fp then out[i] = 'conflict'
  elseif s == 'D' then out[i] = 'done|' .. rest
  elseif s == 'P' and not mine and tonumber(rest) > now then out[i] = 'busy|' .. string.format('%.0f', rest - now)
  elseif not mine and (s == 'P' or doubt == '1') and ARGV[4] ~= '1' then out[i] = 'in-doubt'
  else
    if not mine then f, a = f + 1, a + 1 end
    redis.call('SET', k, 'P|' .. f .. '|' .. a .. '|' .. doubt .. '|' .. fp .. '|' .. tok .. '|' .. string.format('%.0f', now + lease), 'PX', keep)
    out[i] = 'claimed|' .. f .. '|' .. a
  end
end
return out`

const MARK = `
local out = {}
for i, k in ipairs(KEYS) do
  local s, f, a, doubt, p, own = string.match(redis.call('GET', k) or 'A|0|0|0|||', '^(%u)|(%d+)|(%d+)|([01])|([^|]*)|([^|]*)|')
  if s == 'P' and own == ARGV[1] then
    redis.call('SET', k, 'D|' .. f .. '|' .. a .. '|0|' .. ARGV[2 + i] .. '|' .. own .. '|', 'PX', ARGV[2])
    out[i] = 1
  else out[i] = -1 end
end
return out`
