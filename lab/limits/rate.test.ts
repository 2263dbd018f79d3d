import { describe, expect, it } from '@jest/globals'
import { Pool } from 'pg'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server } from '../../test/kit/servers/server.ts'
import { rateOf } from '../../test/redis/limit-processes.ts'

/** `LIMIT_SECONDS=60 npm run lab -- limits` measures a minute. */
const SECONDS = Number(process.env['LIMIT_SECONDS'] ?? 15)

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
    return Math.abs(rate.perSecond / perSecond - 1)
  }

  it.each([50, 500])(
    'is kept within 2 %% by three processes, at %p a second',
    async (perSecond) => {
      expect(await measured(3, perSecond)).toBeLessThan(0.02)
    },
    (SECONDS + 60) * 1_000,
  )

  it(
    'is all of one process that is alone',
    async () => {
      expect(await measured(1, 100)).toBeLessThan(0.02)
    },
    (SECONDS + 60) * 1_000,
  )
})
