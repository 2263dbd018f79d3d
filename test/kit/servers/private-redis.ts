import { answers, untilAnswers } from './answers.ts'
import { withRedis } from './clients.ts'
import { placeOf } from './debian/place.ts'
import { freePort } from './ports.ts'
import { newFolder, startInstance, type PrivateInstance } from './private-instance.ts'
import { needInstalled } from './programs.ts'
import type { VersionOf } from './versions.ts'

export interface PrivateRedis extends PrivateInstance {
  readonly url: string
  readonly port: number
}

export interface PrivateRedisOptions {
  /** Further words of its command line. */
  readonly args?: readonly string[]
  /**
   * When the append-only file is synced. It is written before each reply in any case, which outlives the process.
   * @defaultValue 'no', since no test takes the power away
   */
  readonly appendfsync?: 'always' | 'everysec' | 'no'
  /** It has all that this one has before it is handed out. Whenever it is restarted it follows again, if need be in vain. */
  readonly replicaOf?: PrivateRedis
  /** @defaultValue that which the environment asks for (versions.ts), or any */
  readonly version?: VersionOf<'redis'>
}

/** A Redis, or a Valkey, that keeps its data over `kill` and `restart`. */
export async function startPrivateRedis(options: PrivateRedisOptions = {}): Promise<PrivateRedis> {
  const { args = [], appendfsync = 'no', replicaOf, version } = options
  const { root, server } = await needInstalled('redis', version)
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const folder = newFolder('redis')
  const place = placeOf(root, folder)
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', place.folder]
  words.push('--save', '', '--appendonly', 'yes', '--appendfsync', appendfsync)
  // After a diskless sync a replica is `online` a second before the primary sends it writes, which is when it first sends an
  // ACK. After a sync by file both are at once.
  words.push('--repl-diskless-sync', 'no')
  if (replicaOf) words.push('--replicaof', '127.0.0.1', String(replicaOf.port))
  const instance = await startInstance({
    folder,
    ...place.command(server, ...words, ...args),
    env: place.env,
    answers: () => answers('redis', url),
    readyWithinMs: 10_000,
    shutdownSignal: 'SIGTERM',
    endSignal: 'SIGKILL',
  })
  const redis: PrivateRedis = Object.assign(instance, { url, port })
  if (replicaOf) await untilInStep(redis, replicaOf)
  return redis
}

/** As both see it: a primary knows a moment later. */
async function untilInStep(replica: PrivateRedis, primary: PrivateRedis): Promise<void> {
  const check = async (): Promise<void> => {
    const state = await withRedis(replica.url, (redis) => redis.info('replication'))
    if (!/^master_link_status:up\r?$/m.test(state)) throw new Error(`not in step with its primary: ${state}`)
    const known = await withRedis(primary.url, (redis) => redis.info('replication'))
    if (!new RegExp(`port=${replica.port},state=online`).test(known)) throw new Error(`its primary waits: ${known}`)
  }
  try {
    await untilAnswers(check, { withinMs: 10_000, died: () => undefined })
  } catch (error) {
    await replica.stop()
    throw error
  }
}
