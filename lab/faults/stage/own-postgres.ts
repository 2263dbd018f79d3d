import { startPrivatePostgres, type PrivatePostgres } from '../../../test/kit/servers/private-postgres.ts'
import { PostgresSide } from './postgres-side.ts'

/** Postgres records the time of each commit. */
export const SETTINGS: Readonly<Record<string, string>> = { track_commit_timestamp: 'on', max_connections: '200' }

/** A private Postgres that a fault can restart or replace by its replica. */
export class OwnPostgres implements AsyncDisposable {
  readonly primary: PrivatePostgres
  readonly replica: PrivatePostgres | undefined
  readonly side: PostgresSide

  private constructor(primary: PrivatePostgres, replica: PrivatePostgres | undefined, side: PostgresSide) {
    this.primary = primary
    this.replica = replica
    this.side = side
  }

  static async start(replicas: 'alone' | 'with a replica'): Promise<OwnPostgres> {
    const primary = await startPrivatePostgres({ settings: SETTINGS })
    const side = await PostgresSide.open(primary.url)
    if (replicas === 'alone') return new OwnPostgres(primary, undefined, side)
    const replica = await startPrivatePostgres({ settings: SETTINGS, replicaOf: primary })
    return new OwnPostgres(primary, replica, side)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.side[Symbol.asyncDispose]()
    await Promise.all([this.primary.stop(), this.replica?.stop()])
  }
}
