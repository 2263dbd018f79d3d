import { describe, expect, it } from '@jest/globals'
import { Pool } from 'pg'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server } from '../../test/kit/servers/server.ts'
import { rateOf } from '../../test/redis/limit-processes.ts'

/** `LIMIT_SECONDS=60 npm run lab -- limits` measures a minute. */
const SECONDS = Number(process.env['LIMIT_SECONDS'] ?? 15)
const MOST = 1.02
/** A minute is measured on a machine that does nothing else. Beside other tests the processes may not come to use what they have. */
const LEAST = SECONDS >= 60 ? 0.98 : 0.75

describe.each(['redis', 'postgres'] as const)('a limit that processes share over %s', (kind) => {
  async function measured(processes: number, perSecond: number): Promise<number> {
    const { url } = await server(kind)
    const name = uniqueName('limits')
    const rate = await rateOf({ url, name, processes, perSecond, seconds: SECONDS })
    process.stdout.write(
      `${kind}, ${processes} processes, ${perSecond}/s over ${SECONDS} s: ${rate.perSecond.toFixed(2)}/s, at most ${rate.most} within a second, parts ${rate.parts.join(' + ')}\n`,
    )
    if (kind === 'postgres') {
      const pool = new Pool({ connectionString: url, max: 1 })
      await pool.query(`drop table public.${name}`)
      await pool.end()
    }
    return rate.perSecond / perSecond
  }

  it.each([50, 500])(
    'is kept within 2 %% by three processes, at %p a second',
    async (perSecond) => {
      const share = await measured(3, perSecond)
      expect(share).toBeLessThan(MOST)
      expect(share).toBeGreaterThan(LEAST)
    },
    (SECONDS + 60) * 1_000,
  )

  it(
    'is all of one process that is alone',
    async () => {
      const share = await measured(1, 100)
      expect(share).toBeLessThan(MOST)
      expect(share).toBeGreaterThan(LEAST)
    },
    (SECONDS + 60) * 1_000,
  )
})
