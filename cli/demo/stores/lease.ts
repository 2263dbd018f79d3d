import { memoryStore, type Store } from '../../../src/index.ts'
import { redisLease } from '../../../adapters/redis/index.ts'
import { CommandError, EXIT } from '../../exit.ts'
import { installed } from '../installed.ts'
import { effectOf, ProviderFile } from '../effects.ts'
import { serverUrl, withoutPassword } from '../server-url.ts'
import type { DemoState } from '../state.ts'
import type { DemoStore } from './demo-store.ts'

export function memoryDemoStore(state: DemoState): DemoStore {
  return leaseDemoStore(memoryStore(), state, 'records in memory, which are gone now', async () => {})
}

export async function redisDemoStore(state: DemoState): Promise<DemoStore> {
  const url = serverUrl('REDIS_URL', 'redis://127.0.0.1:6379')
  const { Redis } = await installed('ioredis', import('ioredis'))
  const redis = new Redis(url, { lazyConnect: true, commandTimeout: 5_000, connectTimeout: 5_000 })
  redis.on('error', () => {})
  try {
    await redis.connect()
  } catch (cause) {
    redis.disconnect()
    throw new CommandError(
      EXIT.unreachable,
      `no usable Redis answers at ${withoutPassword(url)} (${String(cause)}). Start one, or set REDIS_URL. Nothing was produced.`,
      { cause },
    )
  }
  const store = redisLease({ redis, prefix: state.namespace })
  return leaseDemoStore(store, state, `records in Redis under ${state.namespace}:`, async () => redis.disconnect())
}

/** Without a transaction the effect is a line in the provider's file, written before the mark. */
function leaseDemoStore(
  store: Store<unknown>,
  state: DemoState,
  records: string,
  close: () => Promise<void>,
): DemoStore {
  const provider = new ProviderFile(state.path('provider.ndjson'))
  return {
    store,
    handle: (context) => provider.send(effectOf(context)),
    effects: async () => provider.effects(),
    place: `${records}; effects in ${state.path('provider.ndjson')}`,
    close: async () => {
      provider.close()
      await close()
    },
  }
}
